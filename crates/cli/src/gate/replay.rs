//! Replays a schedule: brings its racing pair to their accesses at one instant again.

use std::time::Duration;

use racewarden_schedule::gate::{Event, HoldAt, Linger, Order, Orders, StepGate, TargetOrder};
use racewarden_schedule::{Schedule, Step};

use super::build::GatedProgram;
use super::campaign::IDLE_US;
use super::runner::{Program, RunEnd};

pub struct ReplayRequest<'a> {
    pub program: &'a Program,
    pub gated: &'a GatedProgram,
    pub schedule: &'a Schedule,
    pub linger: Linger,
    /// Whether the schedule is known to do harm: then a run without it is not the end.
    pub harmful: bool,
    /// How long a thread waits for its turn.
    pub patience: Duration,
    /// Most time for one run.
    pub limit: Duration,
    /// Most runs.
    pub attempts: u32,
}

pub struct ReplayOutcome {
    /// Both threads of the racing pair stood at their accesses to overlapping memory at one
    /// instant, neither having performed it: the race is proved.
    pub reached: bool,
    /// How many steps were performed.
    pub steps: usize,
    pub attempts: u32,
    /// The run that showed it, or the last one.
    pub end: RunEnd,
}

/// Follows the schedule exactly; when its visits do not come that way (a loop went round another
/// number of times), brings the pair together wherever the two threads come by.
pub fn replay(request: &ReplayRequest) -> anyhow::Result<ReplayOutcome> {
    let exact = exact_orders(request)?;
    let mut attempt = 0;
    let mut best: Option<ReplayOutcome> = None;
    loop {
        let relaxed = attempt > 0 && attempt % 2 == 1;
        let orders = match (relaxed, relaxed_orders(request, u64::from(attempt / 2))) {
            (true, Some(orders)) => orders,
            _ => exact.clone(),
        };
        let end = request.program.run(&orders, request.limit)?;
        attempt += 1;
        let reached = end.events.iter().any(|event| {
            matches!(event, Event::PairStands { overlapping: true } | Event::Met { .. })
        });
        let steps =
            end.events.iter().filter(|event| matches!(event, Event::Stepped { .. })).count();
        let complete = reached && (!request.harmful || end.violation.is_some());
        let outcome = ReplayOutcome { reached, steps, attempts: attempt, end };
        if complete || attempt >= request.attempts {
            // A meeting without the harm is still a meeting.
            return Ok(if complete || reached { outcome } else { best.unwrap_or(outcome) });
        }
        if reached {
            best = Some(ReplayOutcome { attempts: request.attempts, ..outcome });
        }
    }
}

/// The orders that follow the schedule to the letter.
pub fn exact_orders(request: &ReplayRequest) -> anyhow::Result<Orders> {
    let steps = request
        .schedule
        .steps
        .iter()
        .map(|step| {
            let mut beside = gates_of(request.gated, &step.function, step.instruction);
            let Some(gate) = beside.pop() else {
                let Step { function, instruction, .. } = step;
                anyhow::bail!("the program has no instruction {function}+{instruction}")
            };
            let thread = step.thread.clone();
            Ok(StepGate { thread, gate, beside, occurrence: step.occurrence })
        })
        .collect::<anyhow::Result<_>>()?;
    Ok(Orders {
        wait_us: request.patience.as_micros() as u64,
        waits_at_exit: true,
        linger: request.linger,
        steps,
        ..Orders::default()
    })
}

/// Orders that bring the pair together wherever the two threads come by. Whoever comes to either side is held
/// at first; later tries hold all visits to one side, because the partner may come after the last of many.
fn relaxed_orders(request: &ReplayRequest, round: u64) -> Option<Orders> {
    let [.., first, second] = request.schedule.steps.as_slice() else { return None };
    let gates = |step: &Step| gates_of(request.gated, &step.function, step.instruction);
    let sides = [gates(first), gates(second)];
    if sides.iter().any(Vec::is_empty) {
        return None;
    }
    let chosen: &[u32] = match round % 3 {
        0 => &[],
        1 => &sides[0],
        _ => &sides[1],
    };
    let everywhere = |gate: &u32| HoldAt { gate: *gate, thread: String::new(), occurrence: 1 };
    let hold_at: Vec<HoldAt> = chosen.iter().map(everywhere).collect();
    let idle_us = if hold_at.is_empty() { 0 } else { IDLE_US };
    let target = TargetOrder { number: 0, order: Order::Forward, sides, avoid: false };
    Some(Orders {
        wait_us: request.patience.as_micros() as u64 / 4,
        run_budget_us: request.patience.as_micros() as u64 * 4,
        linger: request.linger,
        seed: round,
        waits_at_exit: true,
        targets: vec![target],
        hold_at,
        idle_us,
        ..Orders::default()
    })
}

/// The gates of an instruction in the order in which they are passed: one for each place that it
/// accesses.
fn gates_of(gated: &GatedProgram, function: &str, instruction: u32) -> Vec<u32> {
    let gates = gated.map.gates.iter();
    gates
        .filter(|gate| gate.function == function && gate.instruction == instruction)
        .map(|gate| gate.number)
        .collect()
}
