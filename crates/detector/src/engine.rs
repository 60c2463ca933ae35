//! One access: what it races with, and what the location's state becomes.

use alloc::vec::Vec;

use crate::access::{Access, ByteMask, Certainty, Conflict, Earlier, Kind};
use crate::cell::{Cell, PackedAccess};
use crate::clock::Epoch;
use crate::lockset::{LocksetId, LocksetTable};
use crate::machine::{
    Candidates, Input, Machine, MachineKind, Outcome, Phase, step_long, step_short,
};
use crate::slots::Slots;
use crate::state::{GranuleState, StateTable};
use crate::thread::ThreadState;

/// The process-wide knowledge that the shared states of the machines ask for. The runtime
/// implements it over its locked tables, so that the locks are taken only when asked.
pub trait World {
    fn intersect(&mut self, a: LocksetId, b: LocksetId) -> LocksetId;
    /// The set with [`crate::BUS_LOCK`] added.
    fn with_bus(&mut self, set: LocksetId) -> LocksetId;
    /// Whether the thread of this segment has been joined.
    fn is_joined(&self, epoch: Epoch) -> bool;
}

impl World for (&mut LocksetTable, &Slots) {
    fn intersect(&mut self, a: LocksetId, b: LocksetId) -> LocksetId {
        self.0.intersect(a, b)
    }

    fn with_bus(&mut self, set: LocksetId) -> LocksetId {
        self.0.with(set, crate::lockset::BUS_LOCK)
    }

    fn is_joined(&self, epoch: Epoch) -> bool {
        self.1.is_joined(epoch)
    }
}

/// What the engine asks about the accessing thread: [`ThreadState`], or a runtime's own state.
pub trait Actor {
    /// The current segment.
    fn epoch(&self) -> Epoch;
    /// Whether the segment happens before now, with lock edges.
    fn full_covers(&self, epoch: Epoch) -> bool;
    /// Whether the segment happens before now in the hybrid relation.
    fn hybrid_covers(&self, epoch: Epoch) -> bool;
    /// The locks that protect a read, or a write.
    fn locks(&self, write: bool) -> LocksetId;
}

impl Actor for ThreadState {
    fn epoch(&self) -> Epoch {
        ThreadState::epoch(self)
    }

    fn full_covers(&self, epoch: Epoch) -> bool {
        self.full().covers(epoch)
    }

    fn hybrid_covers(&self, epoch: Epoch) -> bool {
        self.hybrid().covers(epoch)
    }

    fn locks(&self, write: bool) -> LocksetId {
        if write { self.write_locks() } else { self.all_locks() }
    }
}

/// Answer of [`Engine::quick`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quick {
    /// The current segment has made this access before.
    Known,
    /// No conflict; the cell becomes this. The old cell held no table reference.
    Replace(Cell),
    /// Ask [`Engine::access`].
    Slow,
}

/// The engine is its choice of state machine; all state is in its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Engine {
    pub machine: MachineKind,
}

impl Engine {
    /// The common case without table, allocation or lockset: a packed cell whose accesses are
    /// ordered before this one (in the hybrid relation too, if a machine is on). Its result is
    /// what [`Engine::access`] would leave. Needs the granule's shard lock, or a caller that
    /// installs the two words by compare-and-swap against the cell handed in.
    #[inline]
    pub fn quick(&self, cell: Cell, thread: &ThreadState, access: &Access) -> Quick {
        let Some(tag) = thread.tag() else { return Quick::Slow };
        if cell.state().is_some() || access.kind.atomic {
            return Quick::Slow;
        }
        let known = if access.kind.write {
            cell.write_is_known(tag, access.bytes)
        } else {
            cell.read_is_known(tag, access.bytes)
        };
        if known {
            return Quick::Known;
        }
        let Some(new) = PackedAccess::new(tag, access) else { return Quick::Slow };
        // Overwritten entirely or not at all; partial overlaps are left to the general case.
        let passes = |old: PackedAccess| {
            let epoch = old.epoch();
            old.is_none()
                || epoch.slot == thread.epoch().slot
                || (thread.full().covers(epoch)
                    && (self.machine == MachineKind::Off || thread.hybrid().covers(epoch)))
        };
        if !passes(cell.write) || !passes(cell.read) {
            return Quick::Slow;
        }
        let gone = |old: PackedAccess| old.is_none() || access.bytes.contains(old.bytes());
        if access.kind.write {
            if gone(cell.write) && gone(cell.read) {
                return Quick::Replace(Cell { write: new, read: PackedAccess::NONE });
            }
        } else if gone(cell.read) {
            return Quick::Replace(Cell { write: cell.write, read: new });
        }
        Quick::Slow
    }

    /// The general case. Appends what the access conflicts with to `found`: every recorded access
    /// that full happens-before leaves unordered, and at most one suspicion per group of bytes
    /// that share a state machine.
    pub fn access(
        &self,
        cell: &mut Cell,
        table: &mut StateTable,
        thread: &impl Actor,
        world: &mut impl World,
        access: &Access,
        found: &mut Vec<Conflict>,
    ) {
        let mut state = table.unpack(*cell);
        let first = found.len();
        self.observe(&state, thread, access, found);
        if self.machine == MachineKind::Off {
            if found.len() == first && state.knows(access, thread.epoch()) {
                return;
            }
            state.record(access, thread);
            table.store(cell, state);
            return;
        }
        let observed =
            found[first..].iter().fold(ByteMask::NONE, |sum, conflict| sum.or(conflict.bytes));
        self.suspect(&mut state, thread, world, access, observed, found);
        // The latest record must be this segment's, because the exclusive states are read off it.
        let latest_is_mine =
            state.latest(access.bytes).is_some_and(|record| record.epoch == thread.epoch());
        if !(latest_is_mine && state.knows(access, thread.epoch())) {
            state.record(access, thread);
        }
        table.store(cell, state);
    }

    fn observe(
        &self,
        state: &GranuleState,
        thread: &impl Actor,
        access: &Access,
        found: &mut Vec<Conflict>,
    ) {
        for old in &state.records {
            let bytes = old.bytes.and(access.bytes);
            let ordered = old.epoch.slot == thread.epoch().slot || thread.full_covers(old.epoch);
            if bytes.is_empty() || ordered || !old.kind.conflicts(access.kind) {
                continue;
            }
            let machine = state.machines.iter().find(|m| !m.bytes.and(bytes).is_empty());
            let exclusive =
                if old.kind.write { Phase::ExclusiveWrite } else { Phase::ExclusiveRead };
            found.push(Conflict {
                certainty: Certainty::Observed,
                bytes,
                earlier: Earlier { epoch: old.epoch, site: old.site, kind: old.kind },
                phase: machine.map_or(exclusive, |m| m.phase),
                candidates: machine.map_or(LocksetId::EMPTY, |m| m.candidates),
            });
        }
    }

    /// The hybrid half alone: moves the machine of every byte of the access one step and appends a
    /// suspicion where one enters Race, unless `observed` says that the byte's race is proven
    /// anyway. `state.records` must hold the accesses before this one, the latest last; the caller
    /// records this one itself. For a runtime that keeps the exact half in words of its own: it
    /// need call this only when `state.machines` is not empty or a record is not covered by the
    /// hybrid relation, since otherwise every byte stays exclusive to its latest access.
    pub fn suspect(
        &self,
        state: &mut GranuleState,
        thread: &impl Actor,
        world: &mut impl World,
        access: &Access,
        observed: ByteMask,
        found: &mut Vec<Conflict>,
    ) {
        let mut locks = thread.locks(access.kind.write);
        if access.kind.atomic {
            locks = world.with_bus(locks);
        }
        for before in groups(state, access.bytes) {
            let mut machine = before;
            reset_if_unshared(&mut machine, world);
            let ordered = machine.segment.slot == thread.epoch().slot
                || thread.hybrid_covers(machine.segment);
            let meet = match machine.phase {
                Phase::SharedRead | Phase::SharedModified | Phase::SharedModified2 => {
                    world.intersect(machine.candidates, locks)
                }
                _ => LocksetId::EMPTY,
            };
            let input = Input {
                write: access.kind.write,
                ordered,
                unlocked: locks.is_empty(),
                meet_empty: meet.is_empty(),
            };
            let outcome = match self.machine {
                MachineKind::Long => step_long(machine.phase, machine.kind.write, input),
                _ => step_short(machine.phase, input),
            };
            if outcome.phase == Phase::Race
                && machine.phase != Phase::Race
                && machine.bytes.and(observed).is_empty()
            {
                found.push(suspicion(state, &machine, access));
            }
            apply(&mut machine, outcome, thread, access, locks, meet);
            put_back(state, machine);
        }
    }
}

/// The machines of the bytes in `bytes`, taken out of the state: explicit ones cut to `bytes`, the
/// others as their latest access implies.
fn groups(state: &mut GranuleState, bytes: ByteMask) -> Vec<Machine> {
    let mut result = Vec::new();
    let mut rest = bytes;
    for machine in &mut state.machines {
        let part = machine.bytes.and(bytes);
        if !part.is_empty() {
            rest = rest.without(part);
            result.push(Machine { bytes: part, ..machine.clone() });
            machine.bytes = machine.bytes.without(part);
        }
    }
    state.machines.retain(|machine| !machine.bytes.is_empty());
    for record in state.records.iter().rev() {
        let part = record.bytes.and(rest);
        if !part.is_empty() {
            rest = rest.without(part);
            let phase =
                if record.kind.write { Phase::ExclusiveWrite } else { Phase::ExclusiveRead };
            result.push(Machine {
                bytes: part,
                phase,
                segment: record.epoch,
                site: record.site,
                kind: record.kind,
                candidates: LocksetId::EMPTY,
                threads: Vec::new(),
            });
        }
    }
    // Bytes never accessed need no machine: their first access makes them exclusive.
    result
}

/// "If S_d becomes singleton after the terminated thread was excluded, reset to exclusive": the
/// paper scans all shared variables at a join; asking at the next access gives the same, because
/// nothing looks at a state in between.
fn reset_if_unshared(machine: &mut Machine, world: &impl World) {
    let phase = match machine.phase {
        Phase::SharedRead => Phase::ExclusiveRead,
        Phase::SharedModified => Phase::ExclusiveWrite,
        Phase::SharedModified2 => Phase::ExclusiveSuspect,
        _ => return,
    };
    let alive = machine.threads.iter().filter(|thread| !world.is_joined(**thread)).count();
    if alive <= 1 && alive < machine.threads.len() {
        machine.phase = phase;
        machine.threads.clear();
        machine.candidates = LocksetId::EMPTY;
    }
}

fn apply(
    machine: &mut Machine,
    outcome: Outcome,
    thread: &impl Actor,
    access: &Access,
    locks: LocksetId,
    meet: LocksetId,
) {
    let before = machine.segment;
    if outcome.take_segment {
        machine.segment = thread.epoch();
        machine.site = access.site;
        machine.kind = access.kind;
    }
    machine.phase = outcome.phase;
    machine.candidates = match outcome.candidates {
        Candidates::Unused => LocksetId::EMPTY,
        Candidates::Start => locks,
        Candidates::Refine => meet,
    };
    let is_shared =
        matches!(outcome.phase, Phase::SharedRead | Phase::SharedModified | Phase::SharedModified2);
    if !is_shared {
        machine.threads.clear();
        return;
    }
    if machine.threads.is_empty() {
        machine.threads.push(before);
    }
    // One entry a thread; the first segment will do, because joins concern the whole thread.
    if !machine.threads.iter().any(|member| member.slot == thread.epoch().slot) {
        machine.threads.push(thread.epoch());
    }
}

/// Keeps the machine unless it is what the latest record will imply anyway.
fn put_back(state: &mut GranuleState, machine: Machine) {
    if matches!(machine.phase, Phase::ExclusiveRead | Phase::ExclusiveWrite) {
        return;
    }
    let twin = state.machines.iter_mut().find(|other| {
        other.bytes.is_empty() || Machine { bytes: machine.bytes, ..(*other).clone() } == machine
    });
    match twin {
        Some(other) => other.bytes = other.bytes.or(machine.bytes),
        None => state.machines.push(machine),
    }
}

/// The stored segment is the older access; where that is a read and so is the new access, the
/// latest write to the same bytes tells more.
fn suspicion(state: &GranuleState, machine: &Machine, access: &Access) -> Conflict {
    let stored = Earlier { epoch: machine.segment, site: machine.site, kind: machine.kind };
    let earlier = if stored.kind.conflicts(access.kind) {
        stored
    } else {
        let write = |kind: Kind| kind.conflicts(access.kind);
        state
            .records
            .iter()
            .rev()
            .find(|record| write(record.kind) && !record.bytes.and(machine.bytes).is_empty())
            .map_or(stored, |r| Earlier { epoch: r.epoch, site: r.site, kind: r.kind })
    };
    Conflict {
        certainty: Certainty::Potential,
        bytes: machine.bytes,
        earlier,
        phase: machine.phase,
        candidates: machine.candidates,
    }
}
