//! The locks that a thread holds, and the name of all of them together.

use super::{Held, Thread, UNKNOWN};
use crate::detect::intern::{self, LOCKSETS, READ_MODE};

impl Thread {
    pub fn hold(&mut self, address: usize, read_mode: bool, site: u32) {
        if let Some(held) = self.held.iter_mut().find(|held| held.address == address) {
            held.count += 1;
            return;
        }
        let (since, under) = (self.time, self.lockset);
        self.held.push(Held { address, read_mode, site, count: 1, since, under });
        self.rebuild_lockset(self.held.len() - 1);
        self.show_lockset();
    }

    /// Returns how the lock was held when this was the last release of it. The caller ends the segment, or
    /// lets it show.
    pub fn let_go(&mut self, address: usize) -> Option<Held> {
        let at = self.held.iter().rposition(|held| held.address == address)?;
        self.held[at].count -= 1;
        if self.held[at].count > 0 {
            return None;
        }
        let held = self.held.remove(at);
        self.lockset = held.under;
        self.rebuild_lockset(at);
        Some(held)
    }

    /// How often the lock was taken and not released since.
    pub fn times_held(&self, address: usize) -> u32 {
        let held = self.held.iter().find(|held| held.address == address);
        held.map_or(0, |held| held.count)
    }

    /// Names the locks that are held, all before `from` being as they were.
    fn rebuild_lockset(&mut self, from: usize) {
        for held in &mut self.held[from..] {
            held.under = self.lockset;
            let mode = if held.read_mode { READ_MODE } else { 0 };
            let rest = u64::from(held.under) << 32 | u64::from(held.site);
            self.lockset = match held.under {
                UNKNOWN => UNKNOWN,
                _ => LOCKSETS.intern(held.address as u64 | mode, rest).unwrap_or(UNKNOWN),
            };
        }
    }

    /// A lock of the set that the thread holds as well, at least one of the two for writing.
    pub fn common_lock(&self, lockset: u32) -> Option<u64> {
        intern::locks_of(lockset).map(|lock| (lock.address, lock.read_mode)).find_map(
            |(address, read_mode)| {
                let is_same =
                    |held: &&Held| held.address as u64 == address && !(held.read_mode && read_mode);
                self.held.iter().find(is_same).map(|_| address)
            },
        )
    }

    /// The name of the locks that are held; `None` when there was no room for it.
    pub fn own_lockset(&self) -> Option<u32> {
        (self.lockset != UNKNOWN).then_some(self.lockset)
    }
}
