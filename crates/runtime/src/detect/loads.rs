//! Atomic loads that come again and again, as in loops that wait.
//!
//! A load that acquires learns what the releases before it published. When nothing was published since the
//! thread's last load there, and that load was in the same segment, there is nothing to learn and nothing
//! to remember: neither the object's lock nor its clocks are needed. In a server whose threads wait for
//! each other by loads, these are nearly all that it does.
//!
//! Whether something was published is told by the object's version, which whoever changes the object makes
//! odd before it touches the program's memory: a load that sees the new value sees the new version, too.

use std::sync::atomic::Ordering;

use super::sync::Object;

const ENTRIES: usize = 8;

#[derive(Clone, Copy)]
struct Load {
    address: usize,
    object: &'static Object,
    version: u32,
    /// The epoch in which the access was remembered.
    now: u64,
    /// Whether what was published is in the thread's clocks, and not only waiting for a fence.
    acquired: bool,
}

/// The latest loads of one thread, by address.
#[derive(Default)]
pub struct Loads {
    entries: [Option<Load>; ENTRIES],
}

impl Loads {
    const fn place(address: usize) -> usize {
        (address ^ address >> 6) / 4 % ENTRIES
    }

    /// The value, when loading it again tells nothing new.
    #[inline(always)]
    pub fn again<R>(
        &self,
        address: usize,
        now: u64,
        acquires: bool,
        load: impl Fn() -> R,
    ) -> Option<R> {
        let known = self.entries[Self::place(address)].as_ref()?;
        if known.address != address || known.now != now || acquires && !known.acquired {
            return None;
        }
        let value = load();
        (known.object.version.load(Ordering::Acquire) == known.version).then_some(value)
    }

    /// The thread loaded from here and knows what the object of this version published.
    pub fn note(&mut self, address: usize, now: u64, of: (&'static Object, u32), acquired: bool) {
        let (object, version) = of;
        self.entries[Self::place(address)] = Some(Load { address, object, version, now, acquired });
    }
}
