//! Hands out clock slots to threads and takes them back.
//!
//! A slot may pass from an ended thread to a new one only if the end happens before the start in
//! *both* relations: then a clock that knows the new thread rightly knows the old one too, and
//! nothing is lost however many threads come and go. A thread that ended and was never joined
//! keeps its slot until more than `limit` such slots pile up. Only then the oldest is reused early,
//! those whose end the full relation orders first, and the loss is counted.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::clock::{ClockPair, Epoch, SlotId, Time};

/// The times a packed cell can hold (24 bits). A thread past it moves to another slot.
pub(crate) const PACKED_TIME_END: Time = 1 << 24;

#[derive(Default)]
struct Entry {
    /// Last time that any occupant used.
    last: Time,
    /// Occupants up to this time have been joined by someone.
    joined: Time,
}

/// The table of slots; one per process.
pub struct Slots {
    entries: Vec<Entry>,
    /// Slots without an occupant, oldest end first.
    ended: VecDeque<SlotId>,
    limit: usize,
    reused_early: u64,
}

impl Slots {
    /// `limit` is the number of ended, unordered threads whose slots are kept.
    pub fn new(limit: usize) -> Self {
        Self { entries: Vec::new(), ended: VecDeque::new(), limit, reused_early: 0 }
    }

    /// Takes a slot for a thread whose creator has `creator`'s clocks (`None`: the first thread).
    /// Returns the first segment of the new thread.
    pub fn allocate(&mut self, creator: Option<&ClockPair>) -> Epoch {
        if let Some(index) = self.reusable(creator) {
            let slot = self.ended.remove(index).unwrap_or(SlotId(0));
            let entry = &mut self.entries[slot.0 as usize];
            entry.last += 1;
            return Epoch::new(slot, entry.last);
        }
        let slot = SlotId(self.entries.len() as u32);
        self.entries.push(Entry { last: 1, joined: 0 });
        Epoch::new(slot, 1)
    }

    fn reusable(&mut self, creator: Option<&ClockPair>) -> Option<usize> {
        let creator = creator?;
        let fits = |slot: &SlotId| self.entries[slot.0 as usize].last + 1 < PACKED_TIME_END / 2;
        let end = |slot: &SlotId| Epoch::new(*slot, self.entries[slot.0 as usize].last);
        let ordered = self.ended.iter().position(|slot| {
            fits(slot) && creator.full.covers(end(slot)) && creator.hybrid.covers(end(slot))
        });
        if ordered.is_some() || self.ended.len() < self.limit {
            return ordered;
        }
        let early = self
            .ended
            .iter()
            .position(|slot| fits(slot) && creator.full.covers(end(slot)))
            .or_else(|| self.ended.iter().position(fits));
        self.reused_early += u64::from(early.is_some());
        early
    }

    /// The thread whose last segment is `last` has ended.
    pub fn end(&mut self, last: Epoch) {
        let entry = &mut self.entries[last.slot.0 as usize];
        entry.last = entry.last.max(last.time);
        self.ended.push_back(last.slot);
    }

    /// The thread whose last segment is `last` has been joined.
    pub fn join(&mut self, last: Epoch) {
        let entry = &mut self.entries[last.slot.0 as usize];
        entry.joined = entry.joined.max(last.time);
    }

    /// Whether the thread of `epoch` has been joined.
    pub fn is_joined(&self, epoch: Epoch) -> bool {
        self.entries.get(epoch.slot.0 as usize).is_some_and(|entry| entry.joined >= epoch.time)
    }

    /// How often a slot had to be reused although its old thread was not ordered before the new
    /// one. Each time a race between the old thread and a third one may be missed.
    pub fn reused_early(&self) -> u64 {
        self.reused_early
    }

    /// Slots ever handed out: the width that clocks can reach.
    pub fn width(&self) -> usize {
        self.entries.len()
    }
}
