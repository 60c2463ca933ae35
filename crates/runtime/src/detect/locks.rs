//! Locks, condition variables, barriers: what each does to the two relations.

use std::ffi::c_int;

use super::engine::{self, Kind, Thread, check_range, enter};
use super::sync::{self, Barrier};
use super::{modules, options};
use crate::common::cancel;

/// Using a lock reads it, making and destroying one writes it. How a library without
/// instrumentation hands its own locks about cannot be seen, so those are left out.
fn touch(thread: &mut Thread, address: usize, size: usize, kind: Kind, pc: usize) {
    if modules::is_instrumented(pc) {
        check_range(thread, address, size, kind, pc);
    }
}

/// The thread took the lock at `address`.
pub fn locked(address: usize, read_mode: bool, pc: usize) {
    if let Some(mut thread) = enter() {
        locked_in(&mut thread, address, read_mode, pc);
        options::perturb(&mut thread);
    }
}

fn locked_in(thread: &mut Thread, address: usize, read_mode: bool, pc: usize) {
    touch(thread, address, 1, Kind::ATOMIC_READ, pc);
    let site = thread.site(pc);
    if thread.ignore_sync == 0 {
        let clocks = &mut thread.clocks;
        sync::with(address, |state| {
            clocks.full.join(&state.clocks.full);
            clocks.weak.join(&state.clocks.weak);
            if !read_mode {
                clocks.full.join(&state.readers.full);
                clocks.weak.join(&state.readers.weak);
            }
            // What a library guards with its own locks is not watched, so whether its critical
            // sections conflict cannot be seen: its locks order like everything else.
            if !modules::is_instrumented(pc) {
                clocks.weak.join(&state.clocks.full);
                clocks.weak.join(&state.readers.full);
            }
        });
    }
    thread.hold(address, read_mode, site);
}

/// The thread is about to release the lock at `address`.
pub fn unlocking(address: usize, pc: usize) {
    if let Some(mut thread) = enter() {
        options::perturb(&mut thread);
        unlocking_in(&mut thread, address, pc);
    }
}

fn unlocking_in(thread: &mut Thread, address: usize, pc: usize) {
    touch(thread, address, 1, Kind::ATOMIC_READ, pc);
    if let Some(signal) = thread.pending_signal.take() {
        // No write/read relation was found before the region's end: the signal itself orders.
        thread.clocks.join(&signal);
    }
    let was_held = thread.held.iter().any(|held| held.address == address);
    let released = thread.let_go(address);
    if was_held && released.is_none() || thread.ignore_sync > 0 {
        if released.is_some() {
            thread.show_lockset();
        }
        return;
    }
    let read_mode = released.is_some_and(|held| held.read_mode);
    sync::with(address, |state| {
        let clocks = if read_mode { &mut state.readers } else { &mut state.clocks };
        clocks.full.join(&thread.clocks.full);
        clocks.weak.join(&thread.clocks.weak);
        if let Some(held) = released {
            let slot = thread.slot as usize;
            state.add_region(slot, held.since, thread.time, &thread.clocks.weak, &thread.updated);
        }
    });
    if thread.held.is_empty() {
        thread.updated.clear();
    }
    thread.tick();
}

/// A lock, condition variable or the like was made or destroyed at `address`.
pub fn created_or_destroyed(address: usize, size: usize, pc: usize) {
    if let Some(mut thread) = enter() {
        touch(&mut thread, address, size, Kind::WRITE, pc);
        sync::forget(address);
    }
}

/// A wait on `condition`, with `mutex` held; `blocking` returns zero when it was no time-out. A thread that
/// is cancelled there has the mutex again before its clean-up handlers run.
pub fn wait(condition: usize, mutex: usize, pc: usize, blocking: impl FnOnce() -> c_int) -> c_int {
    if let Some(mut thread) = enter() {
        touch(&mut thread, condition, 8, Kind::READ, pc);
        unlocking_in(&mut thread, mutex, pc);
    }
    let result = cancel::repaired_by(|| waited(condition, mutex, false, pc), blocking);
    waited(condition, mutex, result == 0, pc);
    result
}

/// After a wait; `woken` says whether a signal ended it.
fn waited(condition: usize, mutex: usize, woken: bool, pc: usize) {
    let Some(mut thread) = enter() else { return };
    locked_in(&mut thread, mutex, false, pc);
    if woken && thread.ignore_sync == 0 && sync::exists(condition) {
        let mut signal = thread.pending_signal.take().unwrap_or_default();
        sync::with(condition, |state| signal.join(&state.clocks));
        thread.pending_signal = Some(signal);
    }
}

/// Before a signal or broadcast.
pub fn signalling(condition: usize, pc: usize) {
    if let Some(mut thread) = enter() {
        options::perturb(&mut thread);
        touch(&mut thread, condition, 8, Kind::READ, pc);
        engine::release_in(&mut thread, condition);
    }
}

pub fn barrier_made(address: usize, count: u32, pc: usize) {
    created_or_destroyed(address, 8, pc);
    if let Some(_thread) = enter() {
        sync::with(address, |state| {
            let clocks = Default::default();
            state.barrier = Some(Box::new(Barrier { count, arrived: 0, phase: 0, clocks }));
        });
    }
}

/// The thread arrives. Returns the phase, which [`barrier_left`] wants back.
pub fn barrier_arrived(address: usize, pc: usize) -> usize {
    let Some(mut thread) = enter() else { return 0 };
    touch(&mut thread, address, 1, Kind::ATOMIC_READ, pc);
    if thread.ignore_sync > 0 {
        return 0;
    }
    sync::with(address, |state| {
        let Some(barrier) = state.barrier.as_mut() else {
            // Made where it could not be seen: one clock for all rounds.
            thread.release_into(&mut state.clocks);
            return usize::MAX;
        };
        let phase = barrier.phase;
        if barrier.arrived == 0 {
            barrier.clocks[phase].clear();
        }
        thread.release_into(&mut barrier.clocks[phase]);
        barrier.arrived += 1;
        if barrier.arrived >= barrier.count {
            barrier.arrived = 0;
            barrier.phase ^= 1;
        }
        phase
    })
    .unwrap_or(0)
}

pub fn barrier_left(address: usize, phase: usize, pc: usize) {
    let Some(mut thread) = enter() else { return };
    if thread.ignore_sync == 0 && sync::exists(address) {
        let clocks = &mut thread.clocks;
        sync::with(address, |state| match state.barrier.as_ref() {
            Some(barrier) if phase < 2 => clocks.join(&barrier.clocks[phase]),
            _ => clocks.join(&state.clocks),
        });
    }
    // Leaving still uses the barrier: whoever destroys it must come after.
    touch(&mut thread, address, 1, Kind::ATOMIC_READ, pc);
}

/// The thread ends while it holds locks. The next owner of a robust one comes after it.
pub fn abandoned(thread: &mut Thread) {
    for held in std::mem::take(&mut thread.held) {
        sync::with(held.address, |state| state.clocks.join(&thread.clocks));
    }
}
