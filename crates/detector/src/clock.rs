//! Vector clocks and epochs.
//!
//! An [`Epoch`] names one thread segment: the slot of the thread and its time in that slot. Both
//! relations share the epochs, so a location stores one epoch and either clock can judge it.
//!
//! Clocks are indexed by *slot*, not by thread: [`crate::Slots`] hands a slot of an ended thread to
//! a new one only if the end happens before the start, so "later time in the slot" always implies
//! "later in the program", and clocks are as long as the number of threads alive together.

use alloc::vec::Vec;

/// Index of a thread's entry in every clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SlotId(pub u32);

/// Logical time within a slot. Zero is before everything.
pub type Time = u64;

/// One thread segment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Epoch {
    pub slot: SlotId,
    pub time: Time,
}

impl Epoch {
    pub fn new(slot: SlotId, time: Time) -> Self {
        Self { slot, time }
    }
}

/// The latest segment of every slot that is known to have happened.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct VectorClock {
    times: Vec<Time>,
}

impl Clone for VectorClock {
    fn clone(&self) -> Self {
        Self { times: self.times.clone() }
    }

    /// Keeps the allocation: sync objects are overwritten at every release.
    fn clone_from(&mut self, source: &Self) {
        self.times.clone_from(&source.times);
    }
}

impl VectorClock {
    pub const fn new() -> Self {
        Self { times: Vec::new() }
    }

    #[inline]
    pub fn get(&self, slot: SlotId) -> Time {
        self.times.get(slot.0 as usize).copied().unwrap_or(0)
    }

    /// Whether `epoch` happens before (or is) the point this clock describes.
    #[inline]
    pub fn covers(&self, epoch: Epoch) -> bool {
        self.get(epoch.slot) >= epoch.time
    }

    /// Learns of `epoch` alone.
    pub fn raise(&mut self, epoch: Epoch) {
        let index = epoch.slot.0 as usize;
        if self.times.len() <= index {
            self.times.resize(index + 1, 0);
        }
        self.times[index] = self.times[index].max(epoch.time);
    }

    /// Learns everything `other` knows.
    pub fn join(&mut self, other: &Self) {
        if self.times.len() < other.times.len() {
            self.times.resize(other.times.len(), 0);
        }
        for (mine, theirs) in self.times.iter_mut().zip(&other.times) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Whether everything this clock knows, `other` knows too.
    pub fn is_within(&self, other: &Self) -> bool {
        self.times.iter().enumerate().all(|(slot, time)| *time <= other.get(SlotId(slot as u32)))
    }

    pub fn is_empty(&self) -> bool {
        self.times.iter().all(|time| *time == 0)
    }

    pub fn clear(&mut self) {
        self.times.clear();
    }

    /// Number of slots stored, for memory accounting.
    pub fn width(&self) -> usize {
        self.times.len()
    }
}

/// The two relations side by side.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct ClockPair {
    /// With lock edges: what it leaves unordered is a race of this run.
    pub full: VectorClock,
    /// Without lock edges, with signal edges: the paper's relation.
    pub hybrid: VectorClock,
}

impl Clone for ClockPair {
    fn clone(&self) -> Self {
        Self { full: self.full.clone(), hybrid: self.hybrid.clone() }
    }

    fn clone_from(&mut self, source: &Self) {
        self.full.clone_from(&source.full);
        self.hybrid.clone_from(&source.hybrid);
    }
}

impl ClockPair {
    pub const fn new() -> Self {
        Self { full: VectorClock::new(), hybrid: VectorClock::new() }
    }

    pub fn join(&mut self, other: &Self) {
        self.full.join(&other.full);
        self.hybrid.join(&other.hybrid);
    }

    pub fn raise(&mut self, epoch: Epoch) {
        self.full.raise(epoch);
        self.hybrid.raise(epoch);
    }

    pub fn clear(&mut self) {
        self.full.clear();
        self.hybrid.clear();
    }
}
