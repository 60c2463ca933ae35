//! Condition variables by write/read relations (section 5 and Figure 6).
//!
//! All edges here belong to the hybrid relation. The full relation has none: C11 and C++ let a
//! waiter wake for no reason, so only the mutex orders, and its edges are there anyway.
//!
//! # What has to be marked
//!
//! For every loop that contains a call to a wait (also inside a wrapper), the instrumentation
//!
//! * tells the runtime of each read that the loop's condition makes, before every evaluation
//!   (`condition_read`), and
//! * calls the runtime where the loop is left (`loop_exit`) with the address of the condition
//!   variable, *whether or not a wait was executed*: that is what finds the lost signal.
//!
//! At `loop_exit` the runtime looks up, in the shadow, the last write to each location of the last
//! evaluation, and hands these epochs to [`CondVar::wait_done`]. The paper records the write set
//! of every lock region instead; the shadow already knows who wrote a location last and in which
//! segment, so a signal need only remember the times of its lock region: location `d` is in the
//! signaller's write set exactly if its last write lies between them. No access pays for it.
//!
//! A wait outside any marked loop calls [`CondVar::wait_done`] with no epochs.
//!
//! Spin loops on plain flags are marked in the same way, without a condition variable: see
//! [`Relation::spin`].
//!
//! # Deviations
//!
//! * A signal sent right after the unlock counts for the region that was just left, not only one
//!   sent inside it: `unlock(); signal();` is common, and Figure 6 would fall back to the fake
//!   segment for it.
//! * If the last writer of a condition location has not signalled yet (it will, after its unlock),
//!   the waiter is ordered after the write itself rather than after all signallers.

use alloc::vec::Vec;

use crate::clock::{ClockPair, Epoch, SlotId, Time, VectorClock};
use crate::thread::ThreadState;

/// Signals remembered per condition variable; the fake segment stands for older ones.
const SIGNALS: usize = 64;

#[derive(Clone, Debug)]
struct Signal {
    slot: SlotId,
    from: Time,
    to: Time,
    clock: VectorClock,
}

/// How a wait was ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// After the signallers that wrote what the condition reads.
    WriteRead,
    /// After writers of the condition that had not signalled yet.
    Write,
    /// After every signal so far: the fake segment.
    Fake,
    /// Nothing to be ordered after.
    None,
}

impl Relation {
    /// A spin loop on plain flags was left; `writes` are the last writes of what its condition
    /// read. Orders the thread after them in both relations: the race on the flag itself is
    /// reported where the flag is accessed, and what it protects is not reported on top of it.
    /// Only the writers' own past is learnt, not what they had learnt from third threads.
    pub fn spin(thread: &mut ThreadState, writes: &[Epoch]) -> Self {
        let own = thread.epoch().slot;
        let mut relation = Self::None;
        for write in writes.iter().filter(|write| write.slot != own) {
            thread.clocks.raise(*write);
            relation = Self::Write;
        }
        relation
    }
}

/// One condition variable.
#[derive(Clone, Default, Debug)]
pub struct CondVar {
    /// `TS_cv`: ordered after every signaller.
    fake: VectorClock,
    signals: Vec<Signal>,
}

impl CondVar {
    pub const fn new() -> Self {
        Self { fake: VectorClock::new(), signals: Vec::new() }
    }

    /// Before a signal or broadcast.
    pub fn signal(&mut self, thread: &mut ThreadState) {
        let now = thread.epoch().time;
        let clock = thread.clocks.hybrid.clone();
        self.fake.join(&clock);
        if let Some(region) = thread.region {
            // An older signal of the same slot with the same region adds nothing.
            let slot = thread.epoch().slot;
            self.signals.retain(|s| !(s.slot == slot && s.from == region.from));
            if self.signals.len() == SIGNALS {
                self.signals.remove(0);
            }
            self.signals.push(Signal { slot, from: region.from, to: region.to.min(now), clock });
        }
        thread.tick();
    }

    /// After a wait returned or a marked loop around it was left, with the mutex held again.
    /// `writes` are the last writes to what the loop's condition read.
    pub fn wait_done(&self, thread: &mut ThreadState, writes: &[Epoch]) -> Relation {
        let own = thread.epoch().slot;
        let mut relation = Relation::None;
        for write in writes.iter().filter(|write| write.slot != own) {
            let by =
                |s: &&Signal| s.slot == write.slot && s.from <= write.time && write.time <= s.to;
            if let Some(signal) = self.signals.iter().rev().find(by) {
                thread.clocks.hybrid.join(&signal.clock);
                relation = Relation::WriteRead;
            }
        }
        if relation == Relation::WriteRead {
            return relation;
        }
        for write in writes.iter().filter(|write| write.slot != own) {
            thread.clocks.hybrid.raise(*write);
            relation = Relation::Write;
        }
        // A write by nobody's signal says nothing about who was waited for, unless nobody
        // has signalled at all.
        if relation == Relation::None && !self.fake.is_empty() {
            thread.clocks.hybrid.join(&self.fake);
            relation = Relation::Fake;
        }
        relation
    }

    /// What a wait is ordered after if nothing better is known.
    pub fn fake_segment(&self) -> ClockPair {
        ClockPair { full: VectorClock::new(), hybrid: self.fake.clone() }
    }
}
