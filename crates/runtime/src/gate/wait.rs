//! A thread at a gate: asks what to do, and waits as it is told.

use std::sync::atomic::{AtomicU64, Ordering};

use racewarden_schedule::gate::{Answer, Arrival, Event, Linger, StepAnswer, Visit, Wake};

use crate::common::clock::{monotonic_nanos, processor_nanos, thread_nanos};
use crate::common::futex::futex_wait;

use super::threads::{self, Activity, Pending, ThreadState};
use super::{files, joins, signals, state};

/// How often a waiting thread looks whether the others are blocked…
const LOOK_NANOS: u64 = 5_000_000;
/// …and how rarely while they are busy: waking up takes the processor from them.
const RARE_LOOK_NANOS: u64 = 8 * LOOK_NANOS;
/// When the program used so much processor time since the last look, somebody works; asking the kernel
/// about each thread costs a hundred times more than that.
const WORK_NANOS: u64 = 100_000;
/// A leader performs one instruction; this is for one that never comes back.
const FOLLOW_US: u64 = 2_000_000;
/// How long a step may be entered without finishing before the next one may go.
const NUDGE_US: u64 = 50_000;

pub fn before(gate: u32, memory: (u64, u64), writes: bool, atomic: bool) {
    let Some(thread) = threads::current() else { return };
    let Some(slot) = state::slot(gate) else { return };
    let occurrence = thread.count_visit(slot);
    if state::passes_quietly(gate, memory) {
        return;
    }
    thread.busy = true;
    // A call that is a step may call back into code with steps of its own.
    let meets = matches!(thread.pending.last(), Some(Pending::Meeting { .. }));
    if !meets && !follow_schedule(thread, gate, occurrence, memory) {
        let visit = Visit { thread: thread.path(), gate, occurrence };
        let (address, size) = memory;
        let living = threads::living();
        let unjoined = joins::unjoined();
        let id = thread.id;
        let arrival =
            Arrival { thread: id, visit, address, size, writes, atomic, living, unjoined };
        meet(thread, arrival);
    }
    thread.busy = false;
}

pub fn after(gate: u32) {
    let Some(thread) = threads::current() else { return };
    let Some(at) = thread.pending.iter().rposition(|pending| pending.gate() == gate) else {
        return;
    };
    thread.busy = true;
    let pending = thread.pending[at];
    // What stands above it was left by a jump.
    thread.pending.truncate(at);
    match pending {
        Pending::Meeting { .. } => finish_access(thread, gate),
        Pending::Step { step, .. } => finish_step(step),
    }
    thread.busy = false;
}

fn meet(thread: &mut ThreadState, arrival: Arrival) {
    let gate = arrival.visit.gate;
    let (writes, atomic) = (arrival.writes, arrival.atomic);
    let seen = state::word(thread.id).load(Ordering::Acquire);
    let decision = state::with(|shared| {
        let answer = shared.orchestrator.arrive(arrival);
        let partner = match answer {
            Answer::Lead | Answer::Follow => shared.orchestrator.held_partner(thread.id),
            _ => None,
        };
        state::refresh(shared, gate);
        state::set_apart(shared, gate, writes, atomic);
        let released = shared.orchestrator.take_released();
        let idle_us = shared.orders.idle_us;
        (answer, partner, released, shared.orchestrator.is_avoiding(), idle_us)
    });
    let Some((mut answer, partner, released, avoiding, idle_us)) = decision else { return };
    released.into_iter().for_each(state::wake);
    // Told before the partner can go on: the access may end the program.
    let mut told = avoiding;
    tell_stack(&answer, thread, &mut told);
    if let Some(partner) = partner {
        state::wake(partner);
    }
    let mut seen = seen;
    loop {
        let (wake, waited) = match answer {
            Answer::Pass => return,
            Answer::Lead | Answer::Perform => {
                thread.pending.push(Pending::Meeting { gate });
                return;
            }
            Answer::Hold { wait_us } => wait(thread.id, seen, wait_us, Some(idle_us)),
            Answer::Follow => wait(thread.id, seen, FOLLOW_US, None),
            Answer::Linger { us } => linger(us),
        };
        seen = state::word(thread.id).load(Ordering::Acquire);
        let next = state::with(|shared| {
            let answer = shared.orchestrator.wake(thread.id, wake, waited);
            state::refresh(shared, gate);
            answer
        });
        answer = next.unwrap_or(Answer::Pass);
        tell_stack(&answer, thread, &mut told);
    }
}

/// Tells once where a thread stands that has come into a meeting.
fn tell_stack(answer: &Answer, thread: &ThreadState, told: &mut bool) {
    if !*told && matches!(answer, Answer::Lead | Answer::Follow) {
        *told = true;
        let stack = signals::stack();
        files::report(&[Event::Stood { thread: thread.path(), stack }]);
    }
}

fn finish_access(thread: &ThreadState, gate: u32) {
    let decision = state::with(|shared| {
        let answer = shared.orchestrator.performed(thread.id);
        state::refresh(shared, gate);
        answer
    });
    let Some((answer, partner)) = decision else { return };
    if let Some(partner) = partner {
        state::wake(partner);
    }
    if let Answer::Linger { us } = answer {
        linger(us);
        state::with(|shared| shared.orchestrator.wake(thread.id, Wake::TimedOut, us));
    }
}

/// Waits until the thread's word changes, the time is over, or, if asked, all others are blocked
/// at three looks in a row or idle for as long as `idle_us` says (0: whatever long).
fn wait(thread: u32, seen: u32, limit_us: u64, idle_us: Option<u64>) -> (Wake, u64) {
    let word = state::word(thread);
    let begin = now_us();
    let (mut looks, mut last_busy, mut pause) = (0, begin, LOOK_NANOS);
    let mut work = Work::new();
    let _held = idle_us.map(|_| threads::count_as_blocked());
    loop {
        if word.load(Ordering::Acquire) != seen {
            return (Wake::Called, now_us() - begin);
        }
        let waited = now_us() - begin;
        if waited >= limit_us {
            return (Wake::TimedOut, waited);
        }
        let slice = ((limit_us - waited) * 1000).min(pause);
        futex_wait(word, seen, Some(slice));
        if let Some(idle_us) = idle_us
            && word.load(Ordering::Acquire) == seen
        {
            let others = if work.goes_on() { Activity::Busy } else { threads::others() };
            let now = now_us();
            looks = if others == Activity::Blocked { looks + 1 } else { 0 };
            let is_busy = others == Activity::Busy;
            if is_busy {
                last_busy = now;
            }
            pause = if is_busy { (2 * pause).min(RARE_LOOK_NANOS) } else { LOOK_NANOS };
            if looks >= 3 {
                return (Wake::OthersBlocked, now - begin);
            }
            if idle_us > 0 && now - last_busy >= idle_us {
                return (Wake::OthersIdle, now - begin);
            }
        }
    }
}

/// Processor time of the program, without what held threads take to look around.
struct Work {
    own: u64,
    done: u64,
}

/// What all held threads have taken so far.
static HELD_NANOS: AtomicU64 = AtomicU64::new(0);

impl Work {
    fn new() -> Self {
        let held = HELD_NANOS.load(Ordering::Relaxed);
        Work { own: thread_nanos(), done: processor_nanos().saturating_sub(held) }
    }

    /// Whether the program got on since this was asked last.
    fn goes_on(&mut self) -> bool {
        let own = std::mem::replace(&mut self.own, thread_nanos());
        let looked = self.own - own;
        let held = HELD_NANOS.fetch_add(looked, Ordering::Relaxed) + looked;
        let done = processor_nanos().saturating_sub(held);
        done.saturating_sub(std::mem::replace(&mut self.done, done)) >= WORK_NANOS
    }
}

/// Stays for a while, or until all others are blocked: then nothing more can happen meanwhile.
fn linger(us: u64) -> (Wake, u64) {
    let alone = std::sync::atomic::AtomicU32::new(0);
    let begin = now_us();
    let mut looks = 0;
    loop {
        let waited = now_us() - begin;
        if waited >= us || looks >= 3 {
            return (Wake::TimedOut, waited);
        }
        futex_wait(&alone, 0, Some(((us - waited) * 1000).min(LOOK_NANOS)));
        looks = if threads::others() == Activity::Blocked { looks + 1 } else { 0 };
    }
}

/// Handles a visit that is a step of the schedule; `false` when it is none.
fn follow_schedule(
    thread: &mut ThreadState,
    gate: u32,
    occurrence: u64,
    memory: (u64, u64),
) -> bool {
    let path = thread.path();
    let id = thread.id;
    let seen = state::word(id).load(Ordering::Acquire);
    let decision = state::with(|shared| {
        if shared.enforcement.is_empty() {
            return (StepAnswer::NotMine, 0, Vec::new());
        }
        let answer = shared.enforcement.arrive(&path, gate, occurrence, memory);
        if matches!(answer, StepAnswer::Wait { .. }) {
            shared.standing.push(id);
        }
        // Whoever leads the pair may have waited for this very arrival.
        (answer, shared.orders.wait_us, shared.standing.clone())
    });
    let Some((mut answer, patience_us, standing)) = decision else { return false };
    for other in standing.into_iter().filter(|other| *other != id) {
        state::wake(other);
    }
    let begin = now_us();
    let mut seen = seen;
    loop {
        match answer {
            StepAnswer::NotMine => return false,
            StepAnswer::Go { step } => {
                if let Some(us) = lingers(step, Side::Follower) {
                    linger(us);
                }
                thread.pending.push(Pending::Step { gate, step });
                state::with(|shared| shared.standing.retain(|other| *other != id));
                return true;
            }
            StepAnswer::Wait { step } => {
                let (wake, _) = wait(id, seen, NUDGE_US, None);
                seen = state::word(id).load(Ordering::Acquire);
                let over = now_us() - begin >= patience_us;
                let next = state::with(|shared| match wake {
                    _ if over => shared.enforcement.give_up(step),
                    Wake::TimedOut => shared.enforcement.nudge(step),
                    Wake::Called | Wake::OthersBlocked | Wake::OthersIdle => {
                        shared.enforcement.woken(step)
                    }
                });
                answer = next.unwrap_or(StepAnswer::NotMine);
                if over {
                    wake_standing(id);
                }
            }
        }
    }
}

fn finish_step(step: usize) {
    state::with(|shared| shared.enforcement.performed(step));
    wake_standing(u32::MAX);
    if let Some(us) = lingers(step, Side::Leader) {
        linger(us);
    }
}

#[derive(PartialEq, Eq)]
enum Side {
    Leader,
    Follower,
}

/// How long the orders make this step's thread stay, if it is that side of the racing pair.
fn lingers(step: usize, side: Side) -> Option<u64> {
    state::with(|shared| {
        let from_end = shared.orders.steps.len().checked_sub(step);
        match (shared.orders.linger, side, from_end) {
            (Linger::Leader { us }, Side::Leader, Some(2))
            | (Linger::Follower { us }, Side::Follower, Some(1)) => Some(us),
            _ => None,
        }
    })
    .flatten()
}

fn wake_standing(except: u32) {
    let standing = state::with(|shared| shared.standing.clone()).unwrap_or_default();
    for thread in standing.into_iter().filter(|thread| *thread != except) {
        state::wake(thread);
    }
}

fn now_us() -> u64 {
    monotonic_nanos() / 1000
}
