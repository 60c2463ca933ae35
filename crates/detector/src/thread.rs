//! What the detector knows about one thread. Owned by that thread; nobody else looks inside.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::access::SiteId;
use crate::cell::PackedAccess;
use crate::clock::{ClockPair, Epoch, Time, VectorClock};
use crate::lockset::{LockId, LocksetId, LocksetTable, Mode};
use crate::slots::{PACKED_TIME_END, Slots};

/// A thread of the program; never reused, unlike slots.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ThreadId(pub u32);

/// A lock that the thread holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    pub lock: LockId,
    pub mode: Mode,
    /// How often it is held (recursive mutexes, repeated read locks).
    pub depth: u32,
    /// Where it was first taken.
    pub site: SiteId,
}

/// The times between which the thread last held a lock: what it wrote then may be what a signal is
/// about (section 5.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Region {
    pub(crate) from: Time,
    pub(crate) to: Time,
}

/// Clocks, locks and fences of a thread.
#[derive(Debug)]
pub struct ThreadState {
    id: ThreadId,
    epoch: Epoch,
    tag: Option<u64>,
    pub(crate) clocks: ClockPair,
    held: Vec<Held>,
    all_locks: LocksetId,
    write_locks: LocksetId,
    /// Lockset transitions seen before: (set, lock) to set with it. Spares the table's lock.
    transitions: Vec<(LocksetId, LockId, LocksetId)>,
    /// What relaxed loads have read, waiting for an acquire fence.
    pub(crate) pending_acquire: Option<Box<ClockPair>>,
    /// The clocks at the last release fence.
    pub(crate) release_fence: Option<Box<ClockPair>>,
    pub(crate) region: Option<Region>,
}

const TRANSITIONS_KEPT: usize = 16;

impl ThreadState {
    /// The program's first thread.
    pub fn main(slots: &mut Slots) -> Self {
        let epoch = slots.allocate(None);
        let mut clocks = ClockPair::new();
        clocks.raise(epoch);
        Self::with_clocks(ThreadId(0), epoch, clocks)
    }

    fn with_clocks(id: ThreadId, epoch: Epoch, clocks: ClockPair) -> Self {
        Self {
            id,
            epoch,
            tag: PackedAccess::tag_of(epoch),
            clocks,
            held: Vec::new(),
            all_locks: LocksetId::EMPTY,
            write_locks: LocksetId::EMPTY,
            transitions: Vec::new(),
            pending_acquire: None,
            release_fence: None,
            region: None,
        }
    }

    /// `Fork`: the child knows what its creator knows, and the creator starts a new segment.
    pub fn fork(&mut self, child: ThreadId, slots: &mut Slots) -> Self {
        let epoch = slots.allocate(Some(&self.clocks));
        let mut clocks = self.clocks.clone();
        clocks.raise(epoch);
        self.tick();
        Self::with_clocks(child, epoch, clocks)
    }

    /// The thread ends: its clocks wait for whoever joins it, its slot may be reused.
    pub fn end(self, slots: &mut Slots) -> ClockPair {
        slots.end(self.epoch);
        self.clocks
    }

    /// `Join`: this thread learns what the ended one knew. `last` is the ended thread's last
    /// segment ([`ThreadState::epoch`] before [`ThreadState::end`]).
    pub fn join(&mut self, last: Epoch, ended: &ClockPair, slots: &mut Slots) {
        self.clocks.join(ended);
        slots.join(last);
    }

    pub(crate) fn rename(&mut self, id: ThreadId) {
        self.id = id;
    }

    pub fn id(&self) -> ThreadId {
        self.id
    }

    /// The current segment.
    #[inline(always)]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The current segment as packed cells hold it; `None` once it no longer fits. A runtime that
    /// wants a plain word uses `tag().unwrap_or(u64::MAX)`, which matches no cell.
    #[inline(always)]
    pub fn tag(&self) -> Option<u64> {
        self.tag
    }

    #[inline]
    pub fn full(&self) -> &VectorClock {
        &self.clocks.full
    }

    #[inline]
    pub fn hybrid(&self) -> &VectorClock {
        &self.clocks.hybrid
    }

    /// Locks that protect a read.
    #[inline]
    pub fn all_locks(&self) -> LocksetId {
        self.all_locks
    }

    /// Locks that protect a write: those held for writing.
    #[inline]
    pub fn write_locks(&self) -> LocksetId {
        self.write_locks
    }

    /// The locks held, in the order in which they were taken.
    pub fn held(&self) -> &[Held] {
        &self.held
    }

    /// `NewSegment`: done after every release, so that what follows is not taken for released.
    pub fn tick(&mut self) {
        self.epoch.time += 1;
        self.clocks.raise(self.epoch);
        self.tag = PackedAccess::tag_of(self.epoch);
    }

    /// Whether [`ThreadState::renew`] should be called soon: cells of this thread no longer pack,
    /// which costs time but loses nothing.
    pub fn wants_new_slot(&self) -> bool {
        self.epoch.time + 1 >= PACKED_TIME_END
    }

    /// Goes on in another slot, as if the thread had ended and its successor been forked.
    pub fn renew(&mut self, slots: &mut Slots) {
        slots.end(self.epoch);
        self.epoch = slots.allocate(Some(&self.clocks));
        self.clocks.raise(self.epoch);
        self.tag = PackedAccess::tag_of(self.epoch);
    }

    /// Learns `clocks` in both relations.
    pub fn acquire(&mut self, clocks: &ClockPair) {
        self.clocks.join(clocks);
    }

    pub(crate) fn hold(
        &mut self,
        lock: LockId,
        mode: Mode,
        site: SiteId,
        locksets: &mut LocksetTable,
    ) -> bool {
        self.region = Some(Region { from: self.epoch.time, to: Time::MAX });
        if let Some(held) = self.held.iter_mut().find(|h| h.lock == lock && h.mode == mode) {
            held.depth += 1;
            return false;
        }
        self.held.push(Held { lock, mode, depth: 1, site });
        self.all_locks = self.transition(self.all_locks, lock, locksets);
        if mode == Mode::Write {
            self.write_locks = self.transition(self.write_locks, lock, locksets);
        }
        true
    }

    fn transition(
        &mut self,
        set: LocksetId,
        lock: LockId,
        locksets: &mut LocksetTable,
    ) -> LocksetId {
        let known = self.transitions.iter().find(|(from, by, _)| *from == set && *by == lock);
        if let Some((_, _, to)) = known {
            return *to;
        }
        let to = locksets.with(set, lock);
        if self.transitions.len() == TRANSITIONS_KEPT {
            self.transitions.remove(0);
        }
        self.transitions.push((set, lock, to));
        to
    }

    /// Lets go of a lock. Returns the mode it was held in if this was the last level, `None` with
    /// `false` if it was not held at all.
    pub(crate) fn drop_lock(
        &mut self,
        lock: LockId,
        locksets: &mut LocksetTable,
    ) -> Result<Option<Mode>, NotHeld> {
        if let Some(region) = &mut self.region {
            region.to = region.to.min(self.epoch.time);
        }
        let position = self.held.iter().rposition(|h| h.lock == lock).ok_or(NotHeld)?;
        let held = &mut self.held[position];
        held.depth -= 1;
        if held.depth > 0 {
            return Ok(None);
        }
        let mode = held.mode;
        self.held.remove(position);
        self.rebuild_locksets(locksets);
        Ok(Some(mode))
    }

    fn rebuild_locksets(&mut self, locksets: &mut LocksetTable) {
        let (mut all, mut write) = (LocksetId::EMPTY, LocksetId::EMPTY);
        for index in 0..self.held.len() {
            let held = self.held[index];
            all = self.transition(all, held.lock, locksets);
            if held.mode == Mode::Write {
                write = self.transition(write, held.lock, locksets);
            }
        }
        (self.all_locks, self.write_locks) = (all, write);
    }
}

/// The lock was not held by this thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NotHeld;
