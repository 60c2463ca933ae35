//! Runs the gated program under an assignment and reads what its gates reported.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use racewarden_finding::Frame;
use racewarden_proto::{
    Assignment, AvoidedOrder, NotEnforced, Order, Outcome, Violation, ViolationKind,
};
use racewarden_schedule::gate;
use ring::digest;

use crate::{Activity, activity};

/// How often a watched program is looked at, and how long all its threads must be blocked before
/// that counts as a hang. More patient than `confirm`: this is somebody's program.
const LOOK: Duration = Duration::from_millis(250);
const HANG: Duration = Duration::from_secs(2);

/// How long a thread waits to keep a harmful order from happening: a delay is better than a crash.
const IMMUNITY_WAIT_US: u64 = 2_000_000;

/// How the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Exit(i32),
    Signal(i32),
}

/// What a run needs from the command that started it.
pub trait Attendant {
    /// Code addresses, relative to the program's load address, as places in its source.
    fn frames(&self, program: &Path, stack: &[u64]) -> Vec<Frame>;

    /// The program was interrupted: whether its user says that it failed (paper 5, 3.3.3).
    fn saw_failure(&self) -> bool;

    /// How long the program may hang before it is stopped; `None` leaves that to its user.
    fn stops_hanging_after(&self) -> Option<Duration>;
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
    attendant: &dyn Attendant,
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
    let mut child = command.spawn()?;
    let stop_after = attendant.stops_hanging_after();
    let (status, hung) = match assignment {
        None if stop_after.is_none() => (child.wait()?, false),
        _ => watch(&mut child, stop_after)?,
    };
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
    let outcome = assignment.map(|assignment| {
        let seen = match violation_in(&events, program, attendant) {
            None if hung => Some(hang()),
            seen => seen,
        };
        outcome_of(assignment, &events, seen, || {
            ended == Ended::Signal(libc::SIGINT) && attendant.saw_failure()
        })
    });
    Ok(ProgramRun { ended, outcome, executed_gates })
}

fn orders_for(assignment: Option<&Assignment>, avoid: &[AvoidedOrder]) -> gate::Orders {
    let mut orders = gate::Orders { wait_us: IMMUNITY_WAIT_US, ..gate::Orders::default() };
    if let Some(assignment) = assignment {
        orders.wait_us = u64::from(assignment.wait_ms) * 1000;
        if avoid.is_empty() {
            // One wait in vain is the most that a run shall cost its user (paper 5, section 3.4).
            orders.run_budget_us = orders.wait_us;
        }
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

/// Waits for the program's end; whether it hung before. Looking costs a few system calls a second.
fn watch(child: &mut Child, stop_after: Option<Duration>) -> std::io::Result<(ExitStatus, bool)> {
    let mut blocked_since: Option<Instant> = None;
    let mut pause = Duration::from_millis(1);
    let mut looked = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            let hung = blocked_since.is_some_and(|since| since.elapsed() >= HANG);
            return Ok((status, hung));
        }
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            match activity(child.id()) {
                Some(Activity::AllBlocked) => {
                    let since = *blocked_since.get_or_insert(looked);
                    if stop_after.is_some_and(|limit| since.elapsed() >= limit.max(HANG)) {
                        child.kill()?;
                        return Ok((child.wait()?, true));
                    }
                }
                // Gone already: what was seen before stands.
                None => {}
                _ => blocked_since = None,
            }
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

fn hang() -> Violation {
    let what = "all threads are blocked".to_owned();
    Violation { kind: ViolationKind::Hang, what, stack: Vec::new() }
}

fn violation_in(
    events: &[gate::Event],
    program: &Path,
    attendant: &dyn Attendant,
) -> Option<Violation> {
    events.iter().find_map(|event| match event {
        gate::Event::Violation { kind, detail, stack, .. } => Some(Violation {
            kind: match kind {
                gate::ViolationKind::Crash => ViolationKind::Crash,
                gate::ViolationKind::Assertion => ViolationKind::Assertion,
                gate::ViolationKind::Hang => ViolationKind::Hang,
                gate::ViolationKind::Reported => ViolationKind::User,
            },
            what: detail.chars().take(200).collect(),
            stack: attendant.frames(program, stack),
        }),
        _ => None,
    })
}

/// `user_saw_failure` is asked only when the order was enforced and nothing else was seen.
fn outcome_of(
    assignment: &Assignment,
    events: &[gate::Event],
    seen: Option<Violation>,
    user_saw_failure: impl FnOnce() -> bool,
) -> Outcome {
    let wanted = gate_order(assignment.order);
    let sides = [assignment.target.first.clone(), assignment.target.second.clone()];
    let meeting = events.iter().find_map(|event| match event {
        gate::Event::Met { target: TARGET, order, leader, follower } if *order == wanted => {
            Some(context_of(leader.gate, follower.gate))
        }
        _ => None,
    });
    let violation = match seen {
        None if meeting.is_some() && user_saw_failure() => {
            let what = "the user interrupted the program and said that it failed".to_owned();
            Some(Violation { kind: ViolationKind::User, what, stack: Vec::new() })
        }
        seen => seen,
    };
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

#[cfg(test)]
mod tests {
    use super::*;
    use racewarden_proto::GateTarget;

    struct Nobody;

    impl Attendant for Nobody {
        fn frames(&self, _program: &Path, stack: &[u64]) -> Vec<Frame> {
            let frame =
                |pc: &u64| Frame { function: format!("f{pc}"), file: String::new(), line: 1 };
            stack.iter().map(frame).collect()
        }

        fn saw_failure(&self) -> bool {
            false
        }

        fn stops_hanging_after(&self) -> Option<Duration> {
            None
        }
    }

    fn assignment() -> Assignment {
        Assignment {
            ticket: "t".into(),
            candidate: 0,
            target: GateTarget { first: vec![0], second: vec![1] },
            order: Order::Primary,
            wait_ms: 200,
        }
    }

    fn met() -> gate::Event {
        gate::Event::parse("met 0 forward main 0 1 main.1 1 1").unwrap()
    }

    #[test]
    fn an_interrupted_program_failed_only_if_its_user_says_so() {
        let outcome = |events: &[gate::Event], answer: bool| {
            outcome_of(&assignment(), events, None, || answer)
        };
        let Outcome::Violation { violation, .. } = outcome(&[met()], true) else {
            panic!("the user said that it failed")
        };
        assert_eq!(violation.kind, ViolationKind::User);
        assert!(matches!(outcome(&[met()], false), Outcome::Enforced { .. }));
        // Without a meeting nobody is asked: the order had nothing to do with it.
        let never_asked = outcome_of(&assignment(), &[], None, || panic!("asked"));
        assert!(matches!(never_asked, Outcome::NotEnforced { .. }));
    }

    #[test]
    fn a_crash_is_told_with_its_stack_and_the_status_is_the_programs_own() {
        let folder = tempfile::tempdir().unwrap();
        let script = "report=${RACEWARDEN_GATE#*:}\n\
            echo 'met 0 forward main 0 1 main.1 1 1' >>\"$report\"\n\
            echo 'violation crash main.1 1f,20 SIGSEGV' >>\"$report\"\n\
            exit 3\n";
        let file = folder.path().join("program.sh");
        fs::write(&file, script).unwrap();
        let arguments = [file.into_os_string()];
        let shell = Path::new("/bin/sh");
        let run = run_program(shell, &arguments, Some(&assignment()), &[], folder.path(), &Nobody)
            .unwrap();
        assert_eq!(run.ended, Ended::Exit(3));
        let Some(Outcome::Violation { violation, .. }) = run.outcome else {
            panic!("{:?}", run.outcome)
        };
        assert_eq!((violation.kind, violation.what.as_str()), (ViolationKind::Crash, "SIGSEGV"));
        let functions: Vec<&str> = violation.stack.iter().map(|f| f.function.as_str()).collect();
        assert_eq!(functions, ["f31", "f32"]);
    }
}
