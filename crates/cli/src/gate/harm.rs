//! Looks for harm and traces it to its race.
//!
//! A violation in a run with several meetings is traced by running each of them alone. It counts
//! as a race's doing when that race's order alone brings it about and the reversed order does not (it
//! may bring another one about: what goes on in freed memory fails in either order, but not alike);
//! when no race explains it that way, it counts for those whose meeting alone brings it about in
//! whichever order. The delays alone, without a meeting, are never blamed on a race. Races that
//! seem to do the same harm are then told apart by steering both at once.

use std::collections::BTreeSet;
use std::path::Path;

use racewarden_schedule::gate::{Linger, Order};

use super::campaign::Campaign;
use super::plan::{Plan, Stalk, harm_runs, stalking_run};
use super::runner::Violation;
use super::target::{Harm, Target};
use super::timeline::Frames;

impl Campaign<'_> {
    /// Steers what has met in both orders with either thread staying behind.
    pub(super) fn look_for_harm(
        &mut self,
        progress: &mut dyn FnMut(&Campaign),
    ) -> anyhow::Result<()> {
        let suspects = |target: &Target| {
            target.harm.is_none() && target.tally.is_met() && !target.harm_was_sought
        };
        for plan in harm_runs(self.limits.wait) {
            if self.time_is_over() {
                break;
            }
            let easy = |target: &Target| suspects(target) && target.stalk.is_none();
            let mut met = self.run_together(plan, |target, _| easy(target), progress)?;
            for stalk in Stalk::ALL {
                let hard = |target: &Target| suspects(target) && target.stalk == Some(stalk);
                let plan = self.stalking(plan, stalk);
                for group in self.groups(stalk, hard) {
                    if self.time_is_over() {
                        break;
                    }
                    met.extend(self.run_chosen(plan, &group)?);
                    progress(self);
                }
            }
            self.stalk_missed(plan, suspects, &met, progress)?;
        }
        for target in &mut self.targets {
            target.harm_was_sought |= target.tally.is_met();
        }
        Ok(())
    }

    /// What meets by chance and did not meet this time is held for long at either side.
    fn stalk_missed(
        &mut self,
        plan: Plan,
        suspects: impl Fn(&Target) -> bool,
        met: &[usize],
        progress: &mut dyn FnMut(&Campaign),
    ) -> anyhow::Result<()> {
        let missed: Vec<usize> = (0..self.targets.len())
            .filter(|at| !met.contains(at) && suspects(&self.targets[*at]))
            .collect();
        for at in missed {
            for stalk in [Stalk::First, Stalk::Either] {
                if self.time_is_over() {
                    return Ok(());
                }
                let met = self.run_chosen(self.stalking(plan, stalk), &[at])?;
                progress(self);
                if !met.is_empty() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The plan with threads held for long where the target is stalked.
    fn stalking(&self, plan: Plan, stalk: Stalk) -> Plan {
        let long = stalking_run(plan.order, stalk, self.limits.wait, self.natural_duration());
        Plan { linger: plan.linger, ..long }
    }

    /// A violation that came about by itself may not come again. Where nobody stayed behind, the
    /// delay is looked for under which the same order does the same harm twice in a row.
    pub(super) fn make_repeatable(&mut self) -> anyhow::Result<()> {
        for at in 0..self.targets.len() {
            let Some(harm) = self.targets[at].harm.clone() else { continue };
            if harm.plan.linger != Linger::Nobody {
                continue;
            }
            for plan in harm_runs(self.limits.wait) {
                if self.time_is_over() {
                    return Ok(());
                }
                let plan = Plan { linger: plan.linger, order: plan.order, ..harm.plan };
                if plan.order != harm.plan.order {
                    continue;
                }
                let same = |found: &Option<Harm>| {
                    found.as_ref().is_some_and(|found| found.violation.kind == harm.violation.kind)
                };
                let again = self.harm_alone(plan, at)?;
                if same(&again) && same(&self.harm_alone(plan, at)?) {
                    self.targets[at].harm = again;
                    break;
                }
            }
        }
        Ok(())
    }

    /// Two races may both seem to do the same harm because one's order brings the other's about.
    /// With both steered, one to its harmful order and the other to its harmless one, the cause
    /// shows: only the race whose harmful order does the harm keeps the blame.
    pub(super) fn disentangle(&mut self) -> anyhow::Result<()> {
        let harmed: Vec<usize> =
            (0..self.targets.len()).filter(|&at| self.targets[at].harm.is_some()).collect();
        for &at in &harmed {
            for &other in harmed.iter().filter(|&&other| other != at) {
                if self.time_is_over() {
                    return Ok(());
                }
                let (Some(mine), Some(others)) =
                    (self.targets[at].harm.clone(), self.targets[other].harm.clone())
                else {
                    continue;
                };
                let only_mine =
                    self.harm_of_both(at, &mine, other, others.plan.order.reversed())?;
                if only_mine != Some(false) {
                    continue;
                }
                let only_others =
                    self.harm_of_both(other, &others, at, mine.plan.order.reversed())?;
                if only_others == Some(true) {
                    self.targets[at].harm = None;
                    self.targets[at].tally.violations.clear();
                }
            }
        }
        Ok(())
    }

    /// Steers one target to its harmful order and another to `order`; whether harm was done, if
    /// both met.
    fn harm_of_both(
        &mut self,
        at: usize,
        harm: &Harm,
        other: usize,
        order: Order,
    ) -> anyhow::Result<Option<bool>> {
        for seed in 0..2 {
            let mut orders = self.orders(Plan { seed, ..harm.plan }, &[at]);
            orders.targets.push(self.targets[other].order(order));
            if !orders.hold_at.is_empty() {
                let stalk = self.targets[other].stalk.unwrap_or(Stalk::First);
                orders.hold_at.extend(self.targets[other].hold_at(stalk));
            }
            let end = self.run_orders(&orders)?;
            let met = |at: usize| self.targets[at].meeting_in(self.gated, &end.events).is_some();
            if met(at) && met(other) {
                return Ok(Some(end.violation.is_some()));
            }
        }
        Ok(None)
    }

    /// Whether the program fails by itself in the same way.
    fn is_natural(&self, violation: &Violation) -> bool {
        let natural = self.natural.as_ref().and_then(|end| end.violation.as_ref());
        natural.is_some_and(|natural| natural.kind == violation.kind)
    }

    /// The program failed by itself or by a delay alone. No race is blamed for that, but those with an
    /// access on a line where it failed are tried next.
    pub(super) fn suspect(&mut self, violation: &Violation) {
        let gates = self.gates_at(violation);
        for target in &mut self.targets {
            let stands_there = target.sides.iter().flatten().any(|gate| gates.contains(gate));
            target.suspicion += u32::from(stands_there);
        }
    }

    /// The gates on the lines of a failure's stack.
    pub(super) fn gates_at(&self, violation: &Violation) -> BTreeSet<u32> {
        let frames = Frames::new(&self.gated.path, self.units).of(&violation.stack);
        let place = |file: &str, line: u32| {
            let name = Path::new(file).file_name().unwrap_or_default().to_owned();
            (name, line)
        };
        let places: BTreeSet<_> =
            frames.iter().map(|frame| place(&frame.file, frame.line)).collect();
        let gates = self.gated.map.gates.iter();
        let there = gates.filter(|gate| places.contains(&place(&gate.file, gate.line)));
        there.map(|gate| gate.number).collect()
    }

    /// Finds out which of the races that met explains a violation.
    pub(super) fn trace(
        &mut self,
        plan: Plan,
        met: &[usize],
        violation: &Violation,
    ) -> anyhow::Result<()> {
        let natural = self.is_natural(violation);
        let mut explained = false;
        let mut in_either_order = Vec::new();
        // The last meeting before a violation is the likeliest cause.
        for &at in met.iter().rev() {
            if self.time_is_over() {
                break;
            }
            let Some(harm) = self.harm_alone(plan, at)? else { continue };
            let reversed = Plan { order: plan.order.reversed(), ..plan };
            let other_way = self.harm_alone(reversed, at)?;
            if other_way.is_none_or(|other| !other.violation.is_like(&harm.violation)) {
                self.blame(at, harm);
                explained = true;
            } else {
                in_either_order.push((at, harm));
            }
        }
        if !explained && !natural {
            for (at, harm) in in_either_order {
                self.blame(at, harm);
            }
        }
        Ok(())
    }

    fn blame(&mut self, at: usize, harm: Harm) {
        let target = &mut self.targets[at];
        target.tally.violations.push((harm.plan.order, harm.violation.kind));
        target.harm.get_or_insert(harm);
    }

    /// Runs one target alone; the violation, if it met and the run failed.
    fn harm_alone(&mut self, plan: Plan, at: usize) -> anyhow::Result<Option<Harm>> {
        // A meeting alone may need another try; a violation must follow a meeting.
        for seed in 0..3 {
            let plan = Plan { seed, ..plan };
            let end = self.run_with(plan, &[at])?;
            if self.learn(plan, &[at], &end).is_empty() {
                continue;
            }
            let meeting = self.targets[at].meeting_in(self.gated, &end.events);
            if let Some(code) = end.status.and_then(|status| status.code()) {
                self.targets[at].exit_codes.insert(plan.order, code);
            }
            return Ok(end.violation.map(|violation| Harm { plan, violation, meeting }));
        }
        Ok(None)
    }
}
