//! The paper's memory state machines (section 4.2), judging what only the hybrid relation sees.
//!
//! The transitions are `racewarden_detector::machine`'s, MSM-short and MSM-long alike; here is the
//! state of each location. A location is in an exclusive state, without an entry, for as long as
//! its accesses are ordered by the hybrid relation or share a lock. From its first access that is
//! neither, its machine is stepped at every such access: the entry holds the state, the candidate
//! lockset and the way it took, which the report tells.
//!
//! Deviation: an ordered access leaves a shared state as it is instead of taking it back to an
//! exclusive one, and one that holds a common lock does not refine the candidates. Both would cost
//! a look at the table in every slow access; neither changes what is reported of a location whose
//! next unordered access holds no lock, and otherwise the machine only suspects earlier.

use std::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use racewarden_detector::{Candidates, Input, Phase, step_long, step_short};

use super::options;
use super::thread::Held;
use crate::common::futex::SpinLock;

/// Steps that a report can tell; later ones replace the last.
const TRAIL: usize = 6;

struct Machine {
    phase: Phase,
    /// Addresses of the candidate locks.
    candidates: Vec<u64>,
    last_was_write: bool,
    trail: Vec<Phase>,
    /// The segment that stepped it last: what one segment does is one step.
    stepped_by: (u32, u64),
}

struct Table {
    lock: SpinLock,
    machines: UnsafeCell<BTreeMap<usize, Machine>>,
}

// SAFETY: `machines` is only touched while `lock` is held.
unsafe impl Sync for Table {}

static TABLE: Table = Table { lock: SpinLock::new(), machines: UnsafeCell::new(BTreeMap::new()) };

static ANY: AtomicBool = AtomicBool::new(false);

/// Locations with a machine; more than this are judged each on their own, as if new.
const MOST: usize = 1 << 16;

/// One access that the hybrid relation leaves unordered with an earlier one.
pub struct Event<'a> {
    pub location: usize,
    pub earlier_was_write: bool,
    pub write: bool,
    pub held: &'a [Held],
    /// The accessing thread and its time.
    pub segment: (u32, u64),
}

/// What the machine makes of it.
pub struct Judgement {
    /// The machine is in its Race state.
    pub race: bool,
    /// The way there, for the report.
    pub trail: String,
}

fn locks(held: &[Held], write: bool) -> Vec<u64> {
    let counts = |lock: &&Held| !(write && lock.read_mode);
    held.iter().filter(counts).map(|lock| lock.address as u64).collect()
}

/// Steps the location's machine.
pub fn judge(event: &Event) -> Judgement {
    let _guard = TABLE.lock.lock();
    // SAFETY: the lock is held.
    let machines = unsafe { &mut *TABLE.machines.get() };
    let first = if event.earlier_was_write { Phase::ExclusiveWrite } else { Phase::ExclusiveRead };
    let new = || Machine {
        phase: first,
        candidates: Vec::new(),
        last_was_write: event.earlier_was_write,
        trail: vec![first],
        stepped_by: (u32::MAX, 0),
    };
    if machines.len() >= MOST && !machines.contains_key(&event.location) {
        return step(&mut new(), event);
    }
    ANY.store(true, Ordering::Relaxed);
    step(machines.entry(event.location).or_insert_with(new), event)
}

fn step(machine: &mut Machine, event: &Event) -> Judgement {
    if machine.stepped_by != event.segment {
        machine.stepped_by = event.segment;
        advance(machine, event);
    }
    let mut trail = String::new();
    for phase in &machine.trail {
        let arrow = if trail.is_empty() { "" } else { " > " };
        let _ = write!(trail, "{arrow}{phase}");
    }
    Judgement { race: machine.phase == Phase::Race, trail }
}

fn advance(machine: &mut Machine, event: &Event) {
    let held = locks(event.held, event.write);
    let meet: Vec<u64> =
        machine.candidates.iter().copied().filter(|lock| held.contains(lock)).collect();
    let input = Input {
        write: event.write,
        ordered: false,
        unlocked: held.is_empty(),
        meet_empty: meet.is_empty(),
    };
    let outcome = if options::is_long() {
        step_long(machine.phase, machine.last_was_write, input)
    } else {
        step_short(machine.phase, input)
    };
    machine.candidates = match outcome.candidates {
        Candidates::Unused => Vec::new(),
        Candidates::Start => held,
        Candidates::Refine => meet,
    };
    machine.phase = outcome.phase;
    if outcome.take_segment {
        machine.last_was_write = event.write;
    }
    if machine.trail.last() != Some(&outcome.phase) {
        if machine.trail.len() == TRAIL {
            machine.trail.pop();
        }
        machine.trail.push(outcome.phase);
    }
}

/// The memory is gone, and what its machines knew with it.
pub fn forget_range(start: usize, size: usize) {
    // Every allocation asks, and most programs never have a machine.
    if !ANY.load(Ordering::Relaxed) {
        return;
    }
    let _guard = TABLE.lock.lock();
    // SAFETY: the lock is held.
    let machines = unsafe { &mut *TABLE.machines.get() };
    let gone: Vec<usize> = machines.range(start..start + size).map(|(at, _)| *at).collect();
    for at in gone {
        machines.remove(&at);
    }
}

pub fn reset_after_fork() {
    TABLE.lock.reset_after_fork();
}
