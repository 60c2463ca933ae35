//! Mutexes, spin locks and reader–writer locks.
//!
//! Their edges belong to the full relation alone; the hybrid relation judges locks by locksets.
//! A reader's release orders later writers, not later readers, hence the two clocks.

use crate::access::SiteId;
use crate::clock::VectorClock;
use crate::lockset::{LockId, LocksetTable, Mode};
use crate::thread::ThreadState;

/// Outcome of an unlock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unlock {
    /// The last level was released.
    Released(Mode),
    /// A recursive lock is still held.
    StillHeld,
    /// This thread did not hold it. The edge is made all the same, as memory is synchronised.
    NotHeld,
}

/// One lock.
#[derive(Clone, Debug)]
pub struct LockObject {
    id: LockId,
    written: VectorClock,
    read: VectorClock,
}

impl LockObject {
    pub const fn new(id: LockId) -> Self {
        Self { id, written: VectorClock::new(), read: VectorClock::new() }
    }

    pub fn id(&self) -> LockId {
        self.id
    }

    /// After a successful lock, trylock or timed lock, in either mode.
    pub fn acquire(
        &self,
        thread: &mut ThreadState,
        mode: Mode,
        site: SiteId,
        locksets: &mut LocksetTable,
    ) {
        if !thread.hold(self.id, mode, site, locksets) {
            return;
        }
        thread.clocks.full.join(&self.written);
        if mode == Mode::Write {
            thread.clocks.full.join(&self.read);
        }
    }

    /// Before an unlock.
    pub fn release(&mut self, thread: &mut ThreadState, locksets: &mut LocksetTable) -> Unlock {
        let outcome = match thread.drop_lock(self.id, locksets) {
            Ok(None) => return Unlock::StillHeld,
            Ok(Some(mode)) => Unlock::Released(mode),
            Err(crate::thread::NotHeld) => Unlock::NotHeld,
        };
        match outcome {
            Unlock::Released(Mode::Write) => {
                // The holder acquired both clocks, so its own contains them.
                self.written.clone_from(&thread.clocks.full);
                self.read.clear();
            }
            Unlock::NotHeld => self.written.join(&thread.clocks.full),
            _ => self.read.join(&thread.clocks.full),
        }
        thread.tick();
        outcome
    }

    /// Release of all levels at once, as `pthread_cond_wait` does; returns the depth to restore.
    pub fn release_all(&mut self, thread: &mut ThreadState, locksets: &mut LocksetTable) -> u32 {
        let mut depth = 1;
        while self.release(thread, locksets) == Unlock::StillHeld {
            depth += 1;
        }
        depth
    }
}
