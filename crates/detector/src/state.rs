//! The complete state of a granule, and the table of those that do not fit a cell.
//!
//! The exact part is a list of [`Record`]s. A new access drops the bytes of an older record that it
//! makes superfluous: ordered before it by full happens-before and of a kind whose every conflict
//! is one of the new access too. What remains is an antichain per byte and kind. From this follows
//! the engine's exactness: if access `a` races with some earlier access `r` of byte `b`, then
//! either `r` is still recorded for `b`, or it was dropped for a `c` with `r -> c`; were `c -> a`,
//! then `r -> a`, so `c` races with `a` too, and so on to a record that is there.

use alloc::vec::Vec;

use crate::access::{Access, ByteMask, Kind, SiteId};
use crate::cell::{Cell, PackedAccess};
use crate::clock::Epoch;
use crate::engine::Actor;
use crate::intern::Interner;
use crate::machine::{Machine, Phase};

/// An access that later ones may race with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Record {
    pub bytes: ByteMask,
    pub kind: Kind,
    pub epoch: Epoch,
    pub site: SiteId,
}

/// Everything known about a granule.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct GranuleState {
    /// Oldest first; for every byte the last record that covers it is its latest access.
    pub records: Vec<Record>,
    /// State machines of the bytes that are not simply exclusive to their latest access.
    pub machines: Vec<Machine>,
}

impl GranuleState {
    /// Adds an access of the thread's current segment.
    pub fn record(&mut self, access: &Access, thread: &impl Actor) {
        let epoch = thread.epoch();
        for old in &mut self.records {
            let ordered = old.epoch.slot == epoch.slot || thread.full_covers(old.epoch);
            if ordered && access.kind.subsumes(old.kind) {
                old.bytes = old.bytes.without(access.bytes);
            }
        }
        self.records.retain(|old| !old.bytes.is_empty());
        let same =
            |old: &Record| old.epoch == epoch && old.kind == access.kind && old.site == access.site;
        let mut bytes = access.bytes;
        if let Some(position) = self.records.iter().position(same) {
            bytes = bytes.or(self.records.remove(position).bytes);
        }
        self.records.push(Record { bytes, kind: access.kind, epoch, site: access.site });
    }

    /// Forgets all about some bytes.
    pub fn forget(&mut self, bytes: ByteMask) {
        self.records.iter_mut().for_each(|record| record.bytes = record.bytes.without(bytes));
        self.records.retain(|record| !record.bytes.is_empty());
        self.machines.iter_mut().for_each(|machine| machine.bytes = machine.bytes.without(bytes));
        self.machines.retain(|machine| !machine.bytes.is_empty());
    }

    /// Whether the segment `epoch` has already made an access that stands for `access`.
    pub fn knows(&self, access: &Access, epoch: Epoch) -> bool {
        self.records.iter().any(|old| {
            old.epoch == epoch && old.bytes.contains(access.bytes) && old.kind.subsumes(access.kind)
        })
    }

    /// The latest access to byte mask `byte`.
    pub fn latest(&self, byte: ByteMask) -> Option<&Record> {
        self.records.iter().rev().find(|record| !record.bytes.and(byte).is_empty())
    }

    /// The state machine's state of one byte.
    pub fn phase(&self, byte: ByteMask) -> Phase {
        let explicit = self.machines.iter().find(|machine| !machine.bytes.and(byte).is_empty());
        match (explicit, self.latest(byte)) {
            (Some(machine), _) => machine.phase,
            (None, Some(record)) if record.kind.write => Phase::ExclusiveWrite,
            (None, Some(_)) => Phase::ExclusiveRead,
            (None, None) => Phase::New,
        }
    }

    /// The packed form, if the state has one.
    fn pack(&self) -> Option<Cell> {
        if !self.machines.is_empty() || self.records.len() > 2 {
            return None;
        }
        let mut cell = Cell::NEW;
        for (index, record) in self.records.iter().enumerate() {
            let word = PackedAccess::from_record(record)?;
            let place = if record.kind.write { &mut cell.write } else { &mut cell.read };
            if !place.is_none() {
                return None;
            }
            *place = word;
            // Unpacking puts the write first, so a write that came second must not overlap.
            let overlaps = index == 1 && !self.records[0].bytes.and(record.bytes).is_empty();
            if record.kind.write && overlaps {
                return None;
            }
        }
        Some(cell)
    }
}

/// Index of an interned state within its table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StateId(pub u32);

/// The states of a shadow shard that do not fit their cells. Each cell that names a state holds one
/// reference: whoever overwrites or forgets a cell calls [`StateTable::forget`] first.
pub struct StateTable {
    states: Interner<GranuleState>,
}

impl Default for StateTable {
    fn default() -> Self {
        Self::new()
    }
}

impl StateTable {
    pub const fn new() -> Self {
        Self { states: Interner::new() }
    }

    /// The complete state of a cell.
    pub fn unpack(&self, cell: Cell) -> GranuleState {
        if let Some(id) = cell.state() {
            return self.states.get(id.0).cloned().unwrap_or_default();
        }
        let mut state = GranuleState::default();
        if !cell.write.is_none() {
            state.records.push(cell.write.record(true));
        }
        if !cell.read.is_none() {
            state.records.push(cell.read.record(false));
        }
        state
    }

    /// The interned state itself, without copying it.
    pub fn get(&self, id: StateId) -> Option<&GranuleState> {
        self.states.get(id.0)
    }

    /// Replaces the state of `cell`.
    pub fn store(&mut self, cell: &mut Cell, state: GranuleState) {
        let old = *cell;
        *cell = match state.pack() {
            Some(packed) => packed,
            None => Cell::from_state(StateId(self.states.acquire(state))),
        };
        self.forget(old);
    }

    /// Gives up the reference of a cell that is about to be cleared or overwritten (memory freed,
    /// unmapped, allocated anew). The caller stores [`Cell::NEW`].
    pub fn forget(&mut self, cell: Cell) {
        if let Some(id) = cell.state() {
            self.states.release(id.0);
        }
    }

    /// Makes the state of `from` also that of another cell of the same shard.
    pub fn share(&mut self, from: Cell) -> Cell {
        let state = self.unpack(from);
        let mut cell = Cell::NEW;
        self.store(&mut cell, state);
        cell
    }

    /// Number of states held, for memory accounting.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
