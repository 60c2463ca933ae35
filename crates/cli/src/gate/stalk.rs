//! Candidates whose two sides come to common memory, but far apart in time: one thread is held at a
//! well chosen visit for as long as the rest of the program takes.
//!
//! Watched runs, in which nobody is held, tell which candidates these are and which side comes
//! first by itself (`racewarden_schedule::gate`, `Event::Near`). That side's gate is the only one that
//! holds; all candidates with that gate are tried in one run, because one held thread stands for
//! all of them.

use std::collections::BTreeMap;

use racewarden_schedule::gate::{Order, Orders};

use super::campaign::Campaign;
use super::plan::{Stalk, meeting_run, stalking_run};
use super::target::Target;

/// How many watched runs are made. What shares no memory in any of them is doubted.
const WATCHED_RUNS: u64 = 3;

/// How many are made where some fail, and so do not show the whole program.
const MOST_WATCHED_RUNS: u64 = 8;

/// How much longer holds are made, round by round, for what another engine has shown and no hold has brought
/// about.
const PATIENCE: [u32; 2] = [4, 16];

/// The share of the campaign's time that these rounds may take.
const INSISTENCE: f64 = 0.15;

/// Where the program fails now and then by itself, it takes more than one run to see it about to fail.
const TRIES_IF_SUSPECTED: u32 = 6;

impl Campaign<'_> {
    /// Runs in which nobody waits.
    pub(super) fn survey(&mut self) -> anyhow::Result<()> {
        let all: Vec<usize> =
            (0..self.targets.len()).filter(|&at| self.wants_long_holds(at)).collect();
        let mut whole = 0;
        for number in 0..MOST_WATCHED_RUNS {
            if self.time_is_over() || whole == WATCHED_RUNS {
                break;
            }
            let plan = meeting_run(number, self.limits.wait, self.natural_duration());
            let orders = Orders { survey: true, waits_at_exit: false, ..self.orders(plan, &all) };
            let end = self.run_orders(&orders)?;
            for &at in &all {
                self.targets[at].learn_survey(&end);
            }
            self.discovery.learn(&end);
            match end.violation {
                Some(violation) => self.failures.push(violation),
                None => whole += 1,
            }
        }
        Ok(())
    }

    /// The likeliest targets first: those where the program fails by itself, and what an engine has shown.
    pub(super) fn sort_targets(&mut self) {
        for failure in std::mem::take(&mut self.failures) {
            self.suspect(&failure);
        }
        self.targets.sort_by_key(|target| {
            let reached = target.tally.sides_reached == [true, true];
            let near = (target.near.is_some(), target.outlived, target.is_held_freely());
            std::cmp::Reverse((target.shown, near, reached, target.priority))
        });
    }

    /// Whether holding threads for long may show more about a target.
    pub(super) fn wants_long_holds(&self, at: usize) -> bool {
        Order::BOTH.iter().any(|order| self.targets[at].wants_long_holds(*order))
    }

    /// Holds for long at the places that the survey chose, the likeliest first: what another engine has
    /// shown, or where the program failed, is tried in every way before the rest.
    pub(super) fn stalk(&mut self, progress: &mut dyn FnMut(&Campaign)) -> anyhow::Result<()> {
        self.stalk_groups(true, progress)?;
        self.insist(progress)?;
        self.stalk_groups(false, progress)
    }

    fn stalk_groups(
        &mut self,
        shown: bool,
        progress: &mut dyn FnMut(&Campaign),
    ) -> anyhow::Result<()> {
        for stalk in Stalk::ALL {
            while !self.time_is_over()
                && let Some(group) = self.next_group(stalk, shown)
            {
                self.stalk_group(stalk, &group, progress)?;
            }
        }
        Ok(())
    }

    /// What another engine has shown is real: where no hold brought it about, they were too short. On a busy
    /// machine the program takes longer than it did by itself, and uses its waits up before the two come.
    fn insist(&mut self, progress: &mut dyn FnMut(&Campaign)) -> anyhow::Result<()> {
        let end = self.end_phase_after(INSISTENCE);
        for patience in PATIENCE {
            let open = |target: &&Target| target.shown && !target.tally.is_met();
            let holds = self.targets.iter().filter(open).flat_map(|target| {
                Stalk::ALL.map(|stalk| target.holding_gates(stalk).map(|gates| (stalk, gates)))
            });
            let again: Vec<_> = holds.flatten().collect();
            again.iter().for_each(|hold| {
                self.stalked.remove(hold);
            });
            self.patience = patience;
            self.stalk_groups(true, progress)?;
        }
        self.patience = 1;
        self.end_phase_at(end);
        Ok(())
    }

    /// Holds at one gate until that brings nobody any more: a run can prove one target of several,
    /// in one order.
    fn stalk_group(
        &mut self,
        stalk: Stalk,
        group: &[usize],
        progress: &mut dyn FnMut(&Campaign),
    ) -> anyhow::Result<()> {
        for order in Order::BOTH.into_iter().cycle() {
            let chosen: Vec<usize> = group
                .iter()
                .copied()
                .filter(|&at| self.targets[at].wants_long_holds(order))
                .collect();
            if chosen.is_empty() || self.time_is_over() {
                break;
            }
            // What has met is held where that has worked.
            let how = self.targets[chosen[0]].stalk.unwrap_or(stalk);
            let natural = self.natural_duration() * self.patience;
            let plan = stalking_run(order, how, self.limits.wait, natural);
            for &at in &chosen {
                *self.targets[at].stalked.entry(stalk).or_default() += 1;
            }
            let met = self.run_chosen(plan, &chosen)?;
            for &at in &met {
                self.targets[at].has_met_by(stalk);
            }
            progress(self);
            let too_soon = |&at: &usize| self.targets[at].is_doubted_too_soon();
            let tries = |at: usize| self.targets[at].stalked.get(&stalk).copied().unwrap_or(0);
            let suspected =
                |&at: &usize| self.targets[at].suspicion > 0 && tries(at) < TRIES_IF_SUSPECTED;
            let try_again = match stalk {
                Stalk::Either => chosen.iter().any(too_soon),
                Stalk::Second => chosen.iter().any(suspected),
                Stalk::First | Stalk::Closest | Stalk::Late => false,
            };
            if met.is_empty() && !try_again {
                break;
            }
        }
        Ok(())
    }

    /// The most suspected group that has not been tried, else the likeliest; of those with a member that
    /// was shown or is suspected, or of all.
    fn next_group(&mut self, stalk: Stalk, shown: bool) -> Option<Vec<usize>> {
        let holders = |group: &[usize]| self.targets[*group.first()?].holding_gates(stalk);
        let groups = self.groups(stalk, |target| !target.tally.is_met());
        let is_shown = |group: &[usize]| {
            group.iter().any(|&at| {
                let target = &self.targets[at];
                target.shown || target.suspicion > 0
            })
        };
        let open = groups.into_iter().filter(|group| {
            let wanted = !shown || is_shown(group);
            wanted && holders(group).is_some_and(|gates| !self.stalked.contains(&(stalk, gates)))
        });
        let suspicion =
            |group: &Vec<usize>| group.iter().map(|&at| self.targets[at].suspicion).max();
        // Of equal ones the first.
        let chosen = open.min_by_key(|group| std::cmp::Reverse(suspicion(group)))?;
        let gates = holders(&chosen)?;
        self.stalked.insert((stalk, gates));
        Some(chosen)
    }

    /// The wanted targets by the gates that are to hold, in the order of their likeliest member.
    pub(super) fn groups(&self, stalk: Stalk, wanted: impl Fn(&Target) -> bool) -> Vec<Vec<usize>> {
        let mut positions: BTreeMap<Vec<u32>, usize> = BTreeMap::new();
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (at, target) in self.targets.iter().enumerate() {
            let Some(gates) = target.holding_gates(stalk).filter(|_| wanted(target)) else {
                continue;
            };
            let position = *positions.entry(gates).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            groups[position].push(at);
        }
        groups
    }
}
