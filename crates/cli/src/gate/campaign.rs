//! The campaign that turns candidates into verdicts (paper 5, sections 3.2 to 3.4, on one
//! machine): few runs with many candidates each until every candidate has met in both orders or
//! has been tried enough; then harm is looked for and traced to its race.
//!
//! A violation in a run with several meetings is traced by running each of them alone. It counts
//! as a race's doing when that race's order alone brings it about and the reversed order does not;
//! when no race explains it that way, it counts for those whose meeting alone brings it about in
//! whichever order. The delays alone, without a meeting, are never blamed on a race. Races that
//! seem to do the same harm are then told apart by steering both at once.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use racewarden_schedule::gate::{Event, Linger, Order, Orders};

use super::build::GatedProgram;
use super::plan::{MANY, Plan, harm_runs, meeting_run};
use super::runner::{Program, RunEnd, Violation};
use super::target::{Harm, Target};

/// How many targets one run takes on.
const TOGETHER: usize = 64;

/// How many runs alone a target gets that could not be settled together with others.
const RUNS_ALONE: u64 = 4;

/// What a campaign may cost.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Most runs that look for meetings.
    pub runs: u64,
    /// Most time for everything.
    pub time: Duration,
    /// The first wait at a gate.
    pub wait: Duration,
    /// Most time for one run.
    pub run_time: Duration,
}

pub struct Campaign<'a> {
    pub program: &'a Program,
    pub gated: &'a GatedProgram,
    pub limits: Limits,
    pub targets: Vec<Target>,
    /// What the program does by itself.
    pub natural: Option<RunEnd>,
    pub runs: u64,
    begin: Instant,
    /// When the present phase ends.
    end: Duration,
}

impl<'a> Campaign<'a> {
    pub fn new(
        program: &'a Program,
        gated: &'a GatedProgram,
        targets: Vec<Target>,
        limits: Limits,
    ) -> Self {
        let begin = Instant::now();
        Campaign {
            program,
            gated,
            limits,
            targets,
            natural: None,
            runs: 0,
            begin,
            end: limits.time,
        }
    }

    /// Runs the whole campaign. `progress` is told the state after each run.
    pub fn conduct(&mut self, progress: &mut dyn FnMut(&Campaign)) -> anyhow::Result<()> {
        let natural = self.program.run(&Orders::default(), self.limits.run_time)?;
        self.runs += 1;
        self.natural = Some(natural);
        progress(self);
        // The rest of the time is for finding harm.
        self.end = self.limits.time.mul_f64(0.6);
        let many = self.targets.len() > TOGETHER;
        if many {
            self.see_what_is_reached()?;
        }
        for number in 0..self.limits.runs {
            if self.time_is_over() || self.targets.iter().all(Target::is_settled) {
                break;
            }
            let plan = meeting_run(number, self.limits.wait, self.natural_duration());
            let wanted = |target: &Target, order| {
                target.wants(order) && (!many || target.tally.sides_reached == [true, true])
            };
            self.run_together(plan, wanted, progress)?;
        }
        self.try_alone(progress)?;
        self.end = self.limits.time;
        for plan in harm_runs(self.limits.wait) {
            if self.time_is_over() {
                break;
            }
            let suspects = |target: &Target| target.harm.is_none() && target.tally.is_met();
            self.run_together(plan, |target, _| suspects(target), progress)?;
        }
        self.disentangle()?;
        self.make_repeatable()
    }

    /// A violation that came about by itself may not come again. Where nobody stayed behind, the
    /// delay is looked for under which the same order does the same harm twice in a row.
    fn make_repeatable(&mut self) -> anyhow::Result<()> {
        for at in 0..self.targets.len() {
            let Some(harm) = self.targets[at].harm.clone() else { continue };
            if harm.linger != Linger::Nobody {
                continue;
            }
            for plan in harm_runs(self.limits.wait) {
                if self.time_is_over() {
                    return Ok(());
                }
                let plan = Plan { holds: harm.holds, ..plan };
                if plan.order != harm.order {
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

    /// One run with all targets in which nobody waits: only what the program comes to is worth
    /// waiting for.
    fn see_what_is_reached(&mut self) -> anyhow::Result<()> {
        let all: Vec<usize> =
            (0..self.targets.len()).filter(|&at| self.targets[at].is_gated()).collect();
        let plan = meeting_run(0, self.limits.wait, self.natural_duration());
        let orders = Orders { run_budget_us: 0, waits_at_exit: false, ..self.orders(plan, &all) };
        let end = self.run_orders(&orders)?;
        let reached: HashSet<u32> = end
            .events
            .iter()
            .filter_map(|event| match event {
                Event::Reached { gate, concurrent: true } => Some(*gate),
                _ => None,
            })
            .collect();
        for target in &mut self.targets {
            target.tally.note_reached(&target.sides, |gate| reached.contains(&gate));
        }
        Ok(())
    }

    /// What could not be settled together gets a few runs alone, where no other target takes the
    /// hold.
    fn try_alone(&mut self, progress: &mut dyn FnMut(&Campaign)) -> anyhow::Result<()> {
        for at in 0..self.targets.len() {
            for number in 0..RUNS_ALONE {
                let target = &self.targets[at];
                let alone_helps = target.tally.sides_reached == [true, true];
                if target.is_settled() || !alone_helps || self.time_is_over() {
                    break;
                }
                let plan = meeting_run(number, self.limits.wait, self.natural_duration());
                let holds = if number < 2 { MANY } else { 1 };
                let plan = Plan { seed: number / 2, holds, ..plan };
                self.run_chosen(plan, &[at])?;
                progress(self);
            }
        }
        Ok(())
    }

    /// Two races may both seem to do the same harm because one's order brings the other's about.
    /// With both steered, one to its harmful order and the other to its harmless one, the cause
    /// shows: only the race whose harmful order does the harm keeps the blame.
    fn disentangle(&mut self) -> anyhow::Result<()> {
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
                let only_mine = self.harm_of_both(at, &mine, other, others.order.reversed())?;
                if only_mine != Some(false) {
                    continue;
                }
                let only_others = self.harm_of_both(other, &others, at, mine.order.reversed())?;
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
            let wait = self.limits.wait;
            let plan =
                Plan { order: harm.order, seed, holds: harm.holds, wait, linger: harm.linger };
            let mut orders = self.orders(plan, &[at]);
            orders.targets.push(self.targets[other].order(order));
            let end = self.run_orders(&orders)?;
            let met = |at: usize| self.targets[at].meeting_in(self.gated, &end.events).is_some();
            if met(at) && met(other) {
                return Ok(Some(end.violation.is_some()));
            }
        }
        Ok(None)
    }

    fn time_is_over(&self) -> bool {
        self.begin.elapsed() >= self.end
    }

    fn natural_duration(&self) -> Duration {
        self.natural.as_ref().map_or(Duration::ZERO, |end| end.duration)
    }

    /// Whether the program fails by itself in the same way.
    fn is_natural(&self, violation: &Violation) -> bool {
        let natural = self.natural.as_ref().and_then(|end| end.violation.as_ref());
        natural.is_some_and(|natural| natural.kind == violation.kind)
    }

    fn orders(&self, plan: Plan, chosen: &[usize]) -> Orders {
        let wait_us = plan.wait.as_micros() as u64;
        Orders {
            wait_us,
            run_budget_us: wait_us.saturating_mul(10).max(3_000_000),
            seed: plan.seed,
            holds: plan.holds,
            waits_at_exit: true,
            linger: plan.linger,
            targets: chosen.iter().map(|&at| self.targets[at].order(plan.order)).collect(),
            steps: Vec::new(),
        }
    }

    /// One run with the chosen targets (positions in `targets`).
    fn run_with(&mut self, plan: Plan, chosen: &[usize]) -> anyhow::Result<RunEnd> {
        self.run_orders(&self.orders(plan, chosen))
    }

    fn run_orders(&mut self, orders: &Orders) -> anyhow::Result<RunEnd> {
        // A run may take as long as by itself, several times over, plus all its waits.
        let waits = Duration::from_micros(orders.run_budget_us);
        let limit = (self.natural_duration() * 10 + waits + Duration::from_secs(5))
            .min(self.limits.run_time);
        self.runs += 1;
        self.program.run(orders, limit)
    }

    /// Runs with the wanted targets, as many at a time as one run has waits for.
    fn run_together(
        &mut self,
        plan: Plan,
        wanted: impl Fn(&Target, Order) -> bool,
        progress: &mut dyn FnMut(&Campaign),
    ) -> anyhow::Result<()> {
        let chosen: Vec<usize> =
            (0..self.targets.len()).filter(|&at| wanted(&self.targets[at], plan.order)).collect();
        for part in chosen.chunks(TOGETHER) {
            if self.time_is_over() {
                break;
            }
            self.run_chosen(plan, part)?;
            progress(self);
        }
        Ok(())
    }

    fn run_chosen(&mut self, plan: Plan, chosen: &[usize]) -> anyhow::Result<()> {
        let end = self.run_with(plan, chosen)?;
        let met = self.learn(plan, chosen, &end);
        if let Some(violation) = &end.violation
            && !met.is_empty()
        {
            self.trace(plan, &met, violation)?;
        }
        Ok(())
    }

    /// Lets the chosen targets learn from a run; returns those that met.
    fn learn(&mut self, plan: Plan, chosen: &[usize], end: &RunEnd) -> Vec<usize> {
        let wait_us = plan.wait.as_micros() as u64;
        let gated = self.gated;
        chosen
            .iter()
            .copied()
            .filter(|&at| self.targets[at].learn(gated, plan.order, wait_us, end))
            .collect()
    }

    /// Finds out which of the races that met explains a violation.
    fn trace(&mut self, plan: Plan, met: &[usize], violation: &Violation) -> anyhow::Result<()> {
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
            if self.harm_alone(reversed, at)?.is_none() {
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
        target.tally.violations.push((harm.order, harm.violation.kind));
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
            return Ok(end.violation.map(|violation| Harm {
                order: plan.order,
                holds: plan.holds,
                linger: plan.linger,
                violation,
                meeting,
            }));
        }
        Ok(None)
    }
}
