//! Runs the gated program under an assignment and reads what its gates reported.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use racewarden_proto::{
    Assignment, AvoidedOrder, NotEnforced, Order, Outcome, Violation, ViolationKind,
};
use racewarden_schedule::gate;
use ring::digest;

/// How the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Exit(i32),
    Signal(i32),
}

#[derive(Debug)]
pub struct ProgramRun {
    pub ended: Ended,
    /// `None` when nothing was asked of the run.
    pub outcome: Option<Outcome>,
    pub executed_gates: Vec<u32>,
}

/// The target's number in the orders file; avoided orders follow it.
const TARGET: u32 = 0;

/// Runs `program` to its end. `scratch` is a folder of this run's own.
pub fn run_program(
    program: &Path,
    arguments: &[OsString],
    assignment: Option<&Assignment>,
    avoid: &[AvoidedOrder],
    scratch: &Path,
) -> std::io::Result<ProgramRun> {
    let mut command = Command::new(program);
    command.args(arguments);
    let report = scratch.join("report");
    if assignment.is_some() || !avoid.is_empty() {
        let orders = scratch.join("orders");
        fs::write(&orders, orders_for(assignment, avoid).to_string())?;
        let mut value = orders.into_os_string();
        value.push(":");
        value.push(&report);
        command.env("RACEWARDEN_GATE", value);
    } else {
        command.env_remove("RACEWARDEN_GATE");
    }
    let status = command.status()?;
    let ended = match status.signal() {
        Some(signal) => Ended::Signal(signal),
        None => Ended::Exit(status.code().unwrap_or(0)),
    };
    let events: Vec<gate::Event> = fs::read_to_string(&report)
        .unwrap_or_default()
        .lines()
        .filter_map(gate::Event::parse)
        .collect();
    let mut executed_gates: Vec<u32> = events
        .iter()
        .filter_map(|event| match event {
            gate::Event::Reached { gate, .. } => Some(*gate),
            _ => None,
        })
        .collect();
    executed_gates.sort_unstable();
    executed_gates.dedup();
    let outcome = assignment.map(|assignment| outcome_of(assignment, &events));
    Ok(ProgramRun { ended, outcome, executed_gates })
}

fn orders_for(assignment: Option<&Assignment>, avoid: &[AvoidedOrder]) -> gate::Orders {
    let mut orders = gate::Orders::default();
    if let Some(assignment) = assignment {
        orders.wait_us = u64::from(assignment.wait_ms) * 1000;
        orders.targets.push(gate::TargetOrder {
            number: TARGET,
            order: gate_order(assignment.order),
            sides: [assignment.target.first.clone(), assignment.target.second.clone()],
            avoid: false,
        });
    }
    for (number, avoided) in (TARGET + 1..).zip(avoid) {
        orders.targets.push(gate::TargetOrder {
            number,
            order: gate_order(avoided.order),
            sides: [avoided.target.first.clone(), avoided.target.second.clone()],
            avoid: true,
        });
    }
    orders
}

fn gate_order(order: Order) -> gate::Order {
    match order {
        Order::Primary => gate::Order::Forward,
        Order::Alternate => gate::Order::Backward,
    }
}

fn outcome_of(assignment: &Assignment, events: &[gate::Event]) -> Outcome {
    let wanted = gate_order(assignment.order);
    let sides = [assignment.target.first.clone(), assignment.target.second.clone()];
    let meeting = events.iter().find_map(|event| match event {
        gate::Event::Met { target: TARGET, order, leader, follower } if *order == wanted => {
            Some(context_of(leader.gate, follower.gate))
        }
        _ => None,
    });
    let violation = events.iter().find_map(|event| match event {
        gate::Event::Violation { kind, detail, .. } => Some(Violation {
            kind: match kind {
                gate::ViolationKind::Crash => ViolationKind::Crash,
                gate::ViolationKind::Assertion => ViolationKind::Assertion,
                gate::ViolationKind::Hang => ViolationKind::Hang,
                gate::ViolationKind::Reported => ViolationKind::User,
            },
            what: detail.chars().take(200).collect(),
            stack: Vec::new(),
        }),
        _ => None,
    });
    match (meeting, violation) {
        (Some(context), Some(violation)) => Outcome::Violation { context, violation },
        (Some(context), None) => Outcome::Enforced { context, same_instant: true },
        (None, _) => {
            let mut tally = gate::Tally::default();
            tally.add_run(TARGET, wanted, &sides, events);
            let reason = match tally.why_not() {
                gate::NotEnforced::NeverMet => NotEnforced::NeverMet,
                gate::NotEnforced::OneSideOnly => NotEnforced::OneSideOnly,
                gate::NotEnforced::TimedOut => NotEnforced::TimedOut,
                gate::NotEnforced::DifferentAddresses => NotEnforced::DifferentAddresses,
                gate::NotEnforced::OrderedBySynchronisation => NotEnforced::Ordered,
            };
            Outcome::NotEnforced { reason }
        }
    }
}

/// The context of a meeting: which gates met, whichever of them led. Threads' numbers are left
/// out, as they differ from run to run in programs that size their pools by the machine.
fn context_of(one: u32, other: u32) -> String {
    let text = format!("{} {}", one.min(other), one.max(other));
    let hash = digest::digest(&digest::SHA256, text.as_bytes());
    hash.as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
