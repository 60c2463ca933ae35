//! The campaign that turns candidates into verdicts (paper 5, sections 3.2 to 3.4, on one
//! machine): few runs with many candidates each until every candidate has met in both orders or
//! has been tried enough; then harm is looked for and traced to its race (`harm`).
//!
//! With many candidates, watched runs come first and the time goes to those whose sides come to
//! common memory, one after the other (`stalk`); with few, that comes last, for what is left.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use racewarden_capture::Unit;
use racewarden_schedule::gate::{Event, Order, Orders};

use super::build::GatedProgram;
use super::discover::Discovery;
use super::plan::{MANY, Plan, Stalk, meeting_run};
use super::runner::{Program, RunEnd, Violation};
use super::target::Target;

/// How many targets one run takes on.
const TOGETHER: usize = 64;

/// A hold at a chosen place ends when all others have been waiting for so long.
pub const IDLE_US: u64 = 150_000;

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
    /// What the program was made of.
    pub units: &'a [Unit],
    pub limits: Limits,
    pub targets: Vec<Target>,
    /// Targets that no engine listed.
    pub discovery: Discovery,
    /// What the program does by itself.
    pub natural: Option<RunEnd>,
    pub runs: u64,
    /// Whether the system kept gates from doing anything.
    pub gates_were_shut: bool,
    /// How watched runs failed.
    pub(super) failures: Vec<Violation>,
    /// Gates at which threads were held for long, and which of their visits.
    pub(super) stalked: BTreeSet<(Stalk, Vec<u32>)>,
    /// How many times its own duration the program is taken to last.
    pub(super) patience: u32,
    begin: Instant,
    /// When the present phase ends.
    end: Duration,
}

impl<'a> Campaign<'a> {
    pub fn new(
        program: &'a Program,
        gated: &'a GatedProgram,
        units: &'a [Unit],
        (targets, discovery): (Vec<Target>, Discovery),
        limits: Limits,
    ) -> Self {
        let begin = Instant::now();
        Campaign {
            program,
            gated,
            units,
            limits,
            targets,
            discovery,
            natural: None,
            runs: 0,
            gates_were_shut: false,
            failures: Vec::new(),
            stalked: BTreeSet::new(),
            patience: 1,
            begin,
            end: limits.time,
        }
    }

    /// Runs the whole campaign. `progress` is told the state after each run.
    pub fn conduct(&mut self, progress: &mut dyn FnMut(&Campaign)) -> anyhow::Result<()> {
        let natural = self.program.run(&Orders::default(), self.limits.run_time)?;
        self.runs += 1;
        self.failures.extend(natural.violation.clone());
        self.natural = Some(natural);
        progress(self);
        // The rest of the time is for finding harm.
        self.end = self.limits.time.mul_f64(0.6);
        let many = self.targets.len() > TOGETHER;
        if many {
            self.survey()?;
            let suspected =
                self.failures.iter().flat_map(|failure| self.gates_at(failure)).collect();
            let discovered = self.discovery.targets(&suspected);
            self.targets.extend(discovered);
            self.sort_targets();
            self.end = self.limits.time.mul_f64(0.45);
            self.stalk(progress)?;
            self.end = self.limits.time.mul_f64(0.6);
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
        if !many && (0..self.targets.len()).any(|at| self.wants_long_holds(at)) {
            self.survey()?;
            self.sort_targets();
            self.stalk(progress)?;
        }
        self.try_alone(progress)?;
        self.end = self.limits.time;
        self.look_for_harm(progress)?;
        if many {
            // Harm took less than its share.
            self.stalk(progress)?;
            self.look_for_harm(progress)?;
        }
        self.disentangle()?;
        self.make_repeatable()
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

    pub(super) fn time_is_over(&self) -> bool {
        self.begin.elapsed() >= self.end
    }

    /// Ends the present phase after this share of the campaign's time, if not sooner. Returns when it would
    /// have ended.
    pub(super) fn end_phase_after(&mut self, share: f64) -> Duration {
        let soon = self.begin.elapsed() + self.limits.time.mul_f64(share);
        let end = self.end;
        self.end = end.min(soon);
        end
    }

    pub(super) fn end_phase_at(&mut self, end: Duration) {
        self.end = end;
    }

    pub(super) fn natural_duration(&self) -> Duration {
        self.natural.as_ref().map_or(Duration::ZERO, |end| end.duration)
    }

    pub(super) fn orders(&self, plan: Plan, chosen: &[usize]) -> Orders {
        let wait_us = plan.wait.as_micros() as u64;
        let stalked = plan.stalk.zip(chosen.first());
        let hold_at =
            stalked.map_or(Vec::new(), |(stalk, first)| self.targets[*first].hold_at(stalk));
        Orders {
            idle_us: if hold_at.is_empty() { 0 } else { IDLE_US },
            hold_at,
            survey: false,
            wait_us,
            run_budget_us: match plan.stalk {
                Some(_) => wait_us.saturating_mul(3),
                None => wait_us.saturating_mul(10).max(3_000_000),
            },
            seed: plan.seed,
            holds: plan.holds,
            waits_at_exit: true,
            linger: plan.linger,
            targets: chosen.iter().map(|&at| self.targets[at].order(plan.order)).collect(),
            steps: Vec::new(),
        }
    }

    /// One run with the chosen targets (positions in `targets`).
    pub(super) fn run_with(&mut self, plan: Plan, chosen: &[usize]) -> anyhow::Result<RunEnd> {
        self.run_orders(&self.orders(plan, chosen))
    }

    pub(super) fn run_orders(&mut self, orders: &Orders) -> anyhow::Result<RunEnd> {
        // A run may take as long as by itself, several times over, plus all its waits.
        let waits = Duration::from_micros(orders.run_budget_us);
        let limit = (self.natural_duration() * 10 + waits + Duration::from_secs(5))
            .min(self.limits.run_time);
        self.runs += 1;
        let end = self.program.run(orders, limit)?;
        self.gates_were_shut |= end.events.contains(&Event::Shut);
        Ok(end)
    }

    /// Runs with the wanted targets, as many at a time as one run has waits for. Returns those that met.
    pub(super) fn run_together(
        &mut self,
        plan: Plan,
        wanted: impl Fn(&Target, Order) -> bool,
        progress: &mut dyn FnMut(&Campaign),
    ) -> anyhow::Result<Vec<usize>> {
        let chosen: Vec<usize> =
            (0..self.targets.len()).filter(|&at| wanted(&self.targets[at], plan.order)).collect();
        let mut met = Vec::new();
        for part in chosen.chunks(TOGETHER) {
            if self.time_is_over() {
                break;
            }
            met.extend(self.run_chosen(plan, part)?);
            progress(self);
        }
        Ok(met)
    }

    /// One run with the chosen targets; a violation is traced. Returns those that met.
    pub(super) fn run_chosen(
        &mut self,
        plan: Plan,
        chosen: &[usize],
    ) -> anyhow::Result<Vec<usize>> {
        let end = self.run_with(plan, chosen)?;
        let met = self.learn(plan, chosen, &end);
        match &end.violation {
            Some(violation) if met.is_empty() => self.suspect(violation),
            Some(violation) => self.trace(plan, &met, violation)?,
            None => {}
        }
        Ok(met)
    }

    /// Lets the chosen targets learn from a run; returns those that met.
    pub(super) fn learn(&mut self, plan: Plan, chosen: &[usize], end: &RunEnd) -> Vec<usize> {
        let wait_us = plan.wait.as_micros() as u64;
        let gated = self.gated;
        chosen
            .iter()
            .copied()
            .filter(|&at| self.targets[at].learn(gated, plan.order, wait_us, end))
            .collect()
    }
}
