//! What all threads share: the decisions, behind one lock that is never held while waiting.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use racewarden_schedule::gate::{Enforcement, Event, Orchestrator, Orders};

use super::{MOST_GATES, copies, files};
use crate::common::futex::{SpinLock, futex_wake};

pub struct Shared {
    pub orchestrator: Orchestrator,
    pub enforcement: Enforcement,
    /// Threads that wait for a step of the schedule.
    pub standing: Vec<u32>,
    pub orders: Orders,
}

struct Global {
    lock: SpinLock,
    shared: UnsafeCell<Option<Shared>>,
}

// SAFETY: `shared` is only touched while `lock` is held.
unsafe impl Sync for Global {}

static GLOBAL: Global = Global { lock: SpinLock::new(), shared: UnsafeCell::new(None) };

/// Set once orders have been taken.
static ACTIVE: AtomicBool = AtomicBool::new(false);

/// One word for each thread to wait on; two threads that share one merely wake once too often.
static WORDS: [AtomicU32; 4096] = [const { AtomicU32::new(0) }; 4096];

/// Where a gate's visits are counted; 0 for none, else the index plus one.
static SLOTS: [AtomicU32; MOST_GATES] = [const { AtomicU32::new(0) }; MOST_GATES];
static SLOT_COUNT: AtomicU32 = AtomicU32::new(0);

/// Someone is held or meets, or a schedule is followed: every arrival matters.
static BUSY: AtomicBool = AtomicBool::new(true);
/// Gates that will hold nobody any more.
static QUIET: [AtomicBool; MOST_GATES] = [const { AtomicBool::new(false) }; MOST_GATES];

/// Visits to a gate that pass while nobody is held: a hot gate must not take the lock for each.
static SKIP: [AtomicU32; MOST_GATES] = [const { AtomicU32::new(0) }; MOST_GATES];

pub fn is_active() -> bool {
    ACTIVE.load(Ordering::Relaxed)
}

/// Whether a thread is held or meets another.
pub fn is_busy() -> bool {
    with(|shared| shared.orchestrator.is_busy()).unwrap_or(false)
}

pub fn word(thread: u32) -> &'static AtomicU32 {
    &WORDS[thread as usize % WORDS.len()]
}

pub fn wake(thread: u32) {
    let word = word(thread);
    word.fetch_add(1, Ordering::Release);
    futex_wake(word, i32::MAX as u32);
}

/// Memory outside of which arrivals do not matter while someone is held, and the hold this is about.
static HELD_FROM: AtomicU64 = AtomicU64::new(0);
static HELD_TO: AtomicU64 = AtomicU64::new(u64::MAX);
static HOLDS_BEGUN: AtomicU32 = AtomicU32::new(0);
/// The last hold that a gate has nothing more to tell about, plus one.
static TOLD: [AtomicU32; MOST_GATES] = [const { AtomicU32::new(0) }; MOST_GATES];
/// The last hold that nobody who comes to a gate can meet, plus one.
static APART: [AtomicU32; MOST_GATES] = [const { AtomicU32::new(0) }; MOST_GATES];

/// Whether an arrival can pass without a decision. A stale answer costs a missed chance, no more.
#[inline]
pub fn passes_quietly(gate: u32, memory: (u64, u64)) -> bool {
    let (Some(quiet), Some(skip)) = (QUIET.get(gate as usize), SKIP.get(gate as usize)) else {
        return false;
    };
    if BUSY.load(Ordering::Relaxed) {
        let (address, size) = memory;
        let elsewhere = address >= HELD_TO.load(Ordering::Relaxed)
            || address.saturating_add(size) <= HELD_FROM.load(Ordering::Relaxed);
        let current = HOLDS_BEGUN.load(Ordering::Relaxed) + 1;
        let is_current =
            |holds: &[AtomicU32]| holds[gate as usize].load(Ordering::Relaxed) == current;
        return is_current(&APART) || elsewhere && is_current(&TOLD);
    }
    let left = skip.load(Ordering::Relaxed);
    // Two threads that count at once let one visit more pass, no more.
    if left > 0 {
        skip.store(left - 1, Ordering::Relaxed);
    }
    left > 0 || quiet.load(Ordering::Relaxed)
}

/// Lets later arrivals at `gate` pass, if accesses of this kind can meet nobody before the next hold.
pub fn set_apart(shared: &Shared, gate: u32, writes: bool, atomic: bool) {
    let Shared { orchestrator, enforcement, .. } = shared;
    if let Some(apart) = APART.get(gate as usize)
        && enforcement.is_empty()
        && orchestrator.cannot_meet(gate, writes, atomic)
    {
        apart.store(orchestrator.holds_begun() + 1, Ordering::Relaxed);
    }
}

/// Brings [`passes_quietly`] up to date after a decision about `gate`.
pub fn refresh(shared: &mut Shared, gate: u32) {
    let Shared { orchestrator, enforcement, .. } = shared;
    // A schedule counts every visit, and a call is a visit without memory: none passes quietly.
    if !enforcement.is_empty() {
        return;
    }
    let (from, to) = orchestrator.held_memory().unwrap_or((0, u64::MAX));
    HELD_FROM.store(from, Ordering::Relaxed);
    HELD_TO.store(to, Ordering::Relaxed);
    HOLDS_BEGUN.store(orchestrator.holds_begun(), Ordering::Relaxed);
    BUSY.store(orchestrator.is_busy(), Ordering::Relaxed);
    let skip = orchestrator.take_skip(gate);
    if let (Some(left), true) = (SKIP.get(gate as usize), skip > 0) {
        left.store(skip.min(u64::from(u32::MAX)) as u32, Ordering::Relaxed);
    }
    let (Some(told), Some(quiet)) = (TOLD.get(gate as usize), QUIET.get(gate as usize)) else {
        return;
    };
    if orchestrator.has_told(gate) {
        told.store(orchestrator.holds_begun() + 1, Ordering::Relaxed);
    }
    quiet.store(orchestrator.is_quiet(gate), Ordering::Relaxed);
    let only = if orchestrator.take_less_to_do() { None } else { Some(gate) };
    copies::retire(only, |gate| orchestrator.is_finished(gate));
}

pub fn slot(gate: u32) -> Option<usize> {
    let slot = SLOTS.get(gate as usize)?.load(Ordering::Relaxed);
    (slot as usize).checked_sub(1)
}

pub fn slot_count() -> usize {
    SLOT_COUNT.load(Ordering::Relaxed) as usize
}

/// Takes the orders. Called once, before the program has a second thread.
pub fn install(orders: Orders, report: Vec<u8>) {
    files::set_report(report);
    for (index, gate) in orders.gates().into_iter().enumerate() {
        if let Some(slot) = SLOTS.get(gate as usize) {
            slot.store(index as u32 + 1, Ordering::Relaxed);
            SLOT_COUNT.store(index as u32 + 1, Ordering::Relaxed);
        }
    }
    {
        let _guard = GLOBAL.lock.lock();
        // SAFETY: the lock is held.
        unsafe { *GLOBAL.shared.get() = Some(fresh(orders)) };
    }
    ACTIVE.store(true, Ordering::Release);
    files::report(&[Event::Started]);
}

fn fresh(orders: Orders) -> Shared {
    Shared {
        orchestrator: Orchestrator::new(&orders),
        enforcement: Enforcement::new(orders.steps.clone()),
        standing: Vec::new(),
        orders,
    }
}

/// Runs `decide` under the lock and reports the events it caused before it returns, so that what
/// happened is on disk before the program can act on it.
pub fn with<R>(decide: impl FnOnce(&mut Shared) -> R) -> Option<R> {
    let (result, events) = {
        let _guard = GLOBAL.lock.lock();
        // SAFETY: the lock is held.
        let shared = unsafe { &mut *GLOBAL.shared.get() }.as_mut()?;
        let result = decide(shared);
        let mut events = shared.orchestrator.take_events();
        events.extend(shared.enforcement.take_events());
        (result, events)
    };
    files::report(&events);
    Some(result)
}

/// In the child of a fork only the forking thread goes on, so every decision starts anew.
pub extern "C" fn reset_after_fork() {
    GLOBAL.lock.reset_after_fork();
    let _guard = GLOBAL.lock.lock();
    // SAFETY: the lock is held.
    let shared = unsafe { &mut *GLOBAL.shared.get() };
    if let Some(old) = shared.take() {
        *shared = Some(fresh(old.orders));
        copies::activate();
    }
}
