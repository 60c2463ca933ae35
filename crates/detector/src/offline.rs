//! The whole detector over named objects: for traces and tests, one event at a time.
//!
//! Events must come in an order in which they could have happened (a trace's global order).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::access::{Access, ByteMask, Conflict, Kind, SiteId};
use crate::cell::Cell;
use crate::clock::{ClockPair, Epoch};
use crate::engine::{Engine, Quick};
use crate::lockset::{LockId, LocksetTable, Mode};
use crate::machine::{MachineKind, Phase};
use crate::slots::Slots;
use crate::state::StateTable;
use crate::sync::atomic::{AtomicCell, Order};
use crate::sync::barrier::Barrier;
use crate::sync::condvar::{CondVar, Relation};
use crate::sync::lock::{LockObject, Unlock};
use crate::sync::plain::SyncClock;
use crate::thread::{ThreadId, ThreadState};

/// Ended threads whose slots are kept although nobody is ordered after their end.
const UNJOINED_KEPT: usize = 1024;

/// A synchronisation object: its address, usually.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObjectId(pub u64);

/// A conflict with both of its ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    pub thread: ThreadId,
    /// Address of the granule that the two accesses share.
    pub granule: u64,
    pub access: Access,
    pub conflict: Conflict,
}

/// The detector over one execution. A thread that was never forked is taken for one that was
/// there from the start, as happens when a trace begins in the middle.
pub struct Detector {
    engine: Engine,
    slots: Slots,
    locksets: LocksetTable,
    table: StateTable,
    shadow: BTreeMap<u64, Cell>,
    threads: BTreeMap<ThreadId, ThreadState>,
    ended: BTreeMap<ThreadId, (Epoch, ClockPair)>,
    locks: BTreeMap<ObjectId, LockObject>,
    clocks: BTreeMap<ObjectId, SyncClock>,
    barriers: BTreeMap<ObjectId, Barrier>,
    atomics: BTreeMap<u64, AtomicCell>,
    condvars: BTreeMap<ObjectId, CondVar>,
    last_lock: u32,
    found: Vec<Found>,
}

impl Detector {
    pub fn new(machine: MachineKind) -> Self {
        Self {
            engine: Engine { machine },
            slots: Slots::new(UNJOINED_KEPT),
            locksets: LocksetTable::new(),
            table: StateTable::new(),
            shadow: BTreeMap::new(),
            threads: BTreeMap::new(),
            ended: BTreeMap::new(),
            locks: BTreeMap::new(),
            clocks: BTreeMap::new(),
            barriers: BTreeMap::new(),
            atomics: BTreeMap::new(),
            condvars: BTreeMap::new(),
            last_lock: 0,
            found: Vec::new(),
        }
    }

    /// Everything found since the last call.
    pub fn take_found(&mut self) -> Vec<Found> {
        core::mem::take(&mut self.found)
    }

    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    pub fn locksets(&self) -> &LocksetTable {
        &self.locksets
    }

    /// The state of a thread that has begun.
    pub fn thread(&self, thread: ThreadId) -> Option<&ThreadState> {
        self.threads.get(&thread)
    }

    fn begin(&mut self, thread: ThreadId) -> &mut ThreadState {
        let slots = &mut self.slots;
        self.threads.entry(thread).or_insert_with(|| {
            let mut stranger = ThreadState::main(slots);
            stranger.rename(thread);
            stranger
        })
    }

    pub fn fork(&mut self, parent: ThreadId, child: ThreadId) {
        self.begin(parent);
        if let Some(parent) = self.threads.get_mut(&parent) {
            let state = parent.fork(child, &mut self.slots);
            self.threads.insert(child, state);
        }
    }

    pub fn end(&mut self, thread: ThreadId) {
        if let Some(state) = self.threads.remove(&thread) {
            let last = state.epoch();
            self.ended.insert(thread, (last, state.end(&mut self.slots)));
        }
    }

    /// Joins a thread, ending it first if the trace did not say so.
    pub fn join(&mut self, thread: ThreadId, ended: ThreadId) {
        self.end(ended);
        self.begin(thread);
        if let (Some(state), Some((last, clocks))) =
            (self.threads.get_mut(&thread), self.ended.remove(&ended))
        {
            state.join(last, &clocks, &mut self.slots);
        }
    }

    fn lock_object(&mut self, lock: ObjectId) {
        let last = &mut self.last_lock;
        self.locks.entry(lock).or_insert_with(|| {
            *last += 1;
            LockObject::new(LockId(*last))
        });
    }

    pub fn lock(&mut self, thread: ThreadId, lock: ObjectId, mode: Mode, site: SiteId) {
        self.begin(thread);
        self.lock_object(lock);
        if let (Some(state), Some(object)) = (self.threads.get_mut(&thread), self.locks.get(&lock))
        {
            object.acquire(state, mode, site, &mut self.locksets);
        }
    }

    pub fn unlock(&mut self, thread: ThreadId, lock: ObjectId) -> Unlock {
        self.begin(thread);
        self.lock_object(lock);
        match (self.threads.get_mut(&thread), self.locks.get_mut(&lock)) {
            (Some(state), Some(object)) => object.release(state, &mut self.locksets),
            _ => Unlock::NotHeld,
        }
    }

    /// Forgets a lock that is destroyed or initialised anew.
    pub fn destroy_lock(&mut self, lock: ObjectId) {
        self.locks.remove(&lock);
    }

    /// Semaphore post, once done, write to a pipe, `AnnotateHappensBefore`.
    pub fn release(&mut self, thread: ThreadId, object: ObjectId) {
        self.begin(thread);
        if let Some(state) = self.threads.get_mut(&thread) {
            self.clocks.entry(object).or_default().release(state);
        }
    }

    /// Semaphore wait, once seen, read from a pipe, `AnnotateHappensAfter`.
    pub fn acquire(&mut self, thread: ThreadId, object: ObjectId) {
        self.begin(thread);
        if let (Some(state), Some(clock)) =
            (self.threads.get_mut(&thread), self.clocks.get(&object))
        {
            clock.acquire(state);
        }
    }

    pub fn barrier_init(&mut self, barrier: ObjectId, count: u32) {
        self.barriers.insert(barrier, Barrier::new(count));
    }

    /// Returns the phase for [`Detector::barrier_leave`].
    pub fn barrier_arrive(&mut self, thread: ThreadId, barrier: ObjectId) -> u64 {
        self.begin(thread);
        match (self.threads.get_mut(&thread), self.barriers.get_mut(&barrier)) {
            (Some(state), Some(object)) => object.arrive(state),
            _ => 0,
        }
    }

    pub fn barrier_leave(&mut self, thread: ThreadId, barrier: ObjectId, phase: u64) {
        if let (Some(state), Some(object)) =
            (self.threads.get_mut(&thread), self.barriers.get_mut(&barrier))
        {
            object.leave(state, phase);
        }
    }

    /// An atomic load: the edge and the access.
    pub fn atomic_load(
        &mut self,
        thread: ThreadId,
        at: u64,
        size: u32,
        order: Order,
        site: SiteId,
    ) {
        // The edge first: what is released happens before the acquiring operation itself.
        self.begin(thread);
        if let Some(state) = self.threads.get_mut(&thread) {
            self.atomics.entry(at).or_default().load(state, order);
        }
        self.access(thread, at, size, Kind::ATOMIC_READ, site);
    }

    pub fn atomic_store(
        &mut self,
        thread: ThreadId,
        at: u64,
        size: u32,
        order: Order,
        site: SiteId,
    ) {
        self.access(thread, at, size, Kind::ATOMIC_WRITE, site);
        if let Some(state) = self.threads.get_mut(&thread) {
            self.atomics.entry(at).or_default().store(state, order);
        }
    }

    pub fn atomic_update(
        &mut self,
        thread: ThreadId,
        at: u64,
        size: u32,
        order: Order,
        site: SiteId,
    ) {
        // The access comes between the two halves: after what it acquires, before what it releases.
        self.begin(thread);
        if let Some(state) = self.threads.get_mut(&thread) {
            self.atomics.entry(at).or_default().load(state, order);
        }
        self.access(thread, at, size, Kind::ATOMIC_WRITE, site);
        if let Some(state) = self.threads.get_mut(&thread) {
            self.atomics.entry(at).or_default().publish(state, order);
        }
    }

    pub fn fence(&mut self, thread: ThreadId, order: Order) {
        AtomicCell::fence(self.begin(thread), order);
    }

    pub fn signal(&mut self, thread: ThreadId, condvar: ObjectId) {
        self.begin(thread);
        if let Some(state) = self.threads.get_mut(&thread) {
            self.condvars.entry(condvar).or_default().signal(state);
        }
    }

    /// A wait returned, or a marked loop around it was left; `reads` are the locations that the
    /// loop's condition read last (address and size).
    pub fn wait_done(
        &mut self,
        thread: ThreadId,
        condvar: ObjectId,
        reads: &[(u64, u32)],
    ) -> Relation {
        let writes: Vec<Epoch> =
            reads.iter().flat_map(|(at, size)| self.last_writes(*at, *size)).collect();
        self.begin(thread);
        match (self.threads.get_mut(&thread), self.condvars.get(&condvar)) {
            (Some(state), Some(object)) => object.wait_done(state, &writes),
            (Some(state), None) => CondVar::new().wait_done(state, &writes),
            _ => Relation::None,
        }
    }

    /// A marked spin loop was left.
    pub fn spin_done(&mut self, thread: ThreadId, reads: &[(u64, u32)]) -> Relation {
        let writes: Vec<Epoch> =
            reads.iter().flat_map(|(at, size)| self.last_writes(*at, *size)).collect();
        Relation::spin(self.begin(thread), &writes)
    }

    /// The segments of the last writes to a location.
    pub fn last_writes(&self, at: u64, size: u32) -> Vec<Epoch> {
        let mut writes = Vec::new();
        for (granule, bytes) in granules(at, size) {
            let Some(cell) = self.shadow.get(&granule) else { continue };
            let state = self.table.unpack(*cell);
            let write = state
                .records
                .iter()
                .rev()
                .find(|record| record.kind.write && !record.bytes.and(bytes).is_empty());
            writes.extend(write.map(|record| record.epoch));
        }
        writes
    }

    pub fn access(&mut self, thread: ThreadId, at: u64, size: u32, kind: Kind, site: SiteId) {
        self.begin(thread);
        let Some(state) = self.threads.get_mut(&thread) else { return };
        if state.wants_new_slot() {
            state.renew(&mut self.slots);
        }
        for (granule, bytes) in granules(at, size) {
            let access = Access { bytes, kind, site };
            let cell = self.shadow.entry(granule).or_default();
            match self.engine.quick(*cell, state, &access) {
                Quick::Known => continue,
                Quick::Replace(new) => {
                    *cell = new;
                    continue;
                }
                Quick::Slow => {}
            }
            let mut conflicts = Vec::new();
            let mut world = (&mut self.locksets, &self.slots);
            self.engine.access(cell, &mut self.table, state, &mut world, &access, &mut conflicts);
            self.found.extend(conflicts.into_iter().map(|conflict| Found {
                thread,
                granule,
                access,
                conflict,
            }));
        }
    }

    /// Memory was freed or handed out anew: its past no longer counts.
    pub fn forget(&mut self, at: u64, size: u64) {
        let end = at.saturating_add(size);
        let granules: Vec<u64> = self.shadow.range(at & !7..end).map(|(g, _)| *g).collect();
        for granule in granules {
            let Some(cell) = self.shadow.get_mut(&granule) else { continue };
            let low = at.saturating_sub(granule).min(8) as u32;
            let high = end.saturating_sub(granule).min(8) as u32;
            let mut state = self.table.unpack(*cell);
            state.forget(ByteMask::span(low, high - low));
            self.table.store(cell, state);
        }
        self.atomics.retain(|address, _| !(at..end).contains(address));
    }

    /// The state machine's state of one byte, as the last access left it.
    pub fn phase(&self, at: u64) -> Phase {
        let byte = ByteMask::span((at & 7) as u32, 1);
        let state = self.shadow.get(&(at & !7)).map(|cell| self.table.unpack(*cell));
        state.map_or(Phase::New, |state| state.phase(byte))
    }

    /// Distinct states beyond the packed cells, for memory accounting.
    pub fn table_len(&self) -> usize {
        self.table.len()
    }
}

/// The granules that `size` bytes from `at` touch, with the bytes of each.
fn granules(at: u64, size: u32) -> impl Iterator<Item = (u64, ByteMask)> {
    let end = at.saturating_add(u64::from(size));
    (at & !7..end).step_by(8).map(move |granule| {
        let low = at.saturating_sub(granule) as u32;
        let high = (end - granule).min(8) as u32;
        (granule, ByteMask::span(low, high - low))
    })
}
