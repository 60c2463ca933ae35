//! Objects that pass on what the releasing threads know: semaphores, once, function statics,
//! descriptors, `AnnotateHappensBefore/After`, `__tsan_release/acquire`, thread-pool hand-overs.
//!
//! What it may miss: a semaphore with several posts is one clock, so a wait is ordered after all
//! posts so far, not only after the one whose token it took.

use crate::clock::ClockPair;
use crate::thread::ThreadState;

/// What has been released into an object, in both relations.
#[derive(Clone, Default, Debug)]
pub struct SyncClock {
    clocks: ClockPair,
}

impl SyncClock {
    pub const fn new() -> Self {
        Self { clocks: ClockPair::new() }
    }

    /// `sem_post`, the end of a once routine, a write to a pipe.
    pub fn release(&mut self, thread: &mut ThreadState) {
        self.clocks.join(&thread.clocks);
        thread.tick();
    }

    /// The same, but what was released before no longer counts.
    pub fn release_only(&mut self, thread: &mut ThreadState) {
        self.clocks.clone_from(&thread.clocks);
        thread.tick();
    }

    /// A successful `sem_wait`, `sem_trywait` or `sem_timedwait`, a once that is already done.
    pub fn acquire(&self, thread: &mut ThreadState) {
        thread.clocks.join(&self.clocks);
    }

    pub fn clocks(&self) -> &ClockPair {
        &self.clocks
    }

    /// The object is initialised anew.
    pub fn reset(&mut self) {
        self.clocks.clear();
    }
}
