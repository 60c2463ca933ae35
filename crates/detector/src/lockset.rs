//! Interned locksets.
//!
//! A read is protected by every lock held, a write only by those held for writing (Eraser's rule
//! for reader–writer locks). Each thread therefore carries two sets, and the state machines see
//! the one that fits the access. An atomic access counts as holding [`BUS_LOCK`] besides, which
//! makes atomics consistent with each other and not with plain accesses.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::intern::Interner;

/// One lock object, one incarnation: a lock that is destroyed and initialised again gets a new id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LockId(pub u32);

/// The lock that every atomic access holds.
pub const BUS_LOCK: LockId = LockId(0);

/// How a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Mode {
    Read,
    Write,
}

/// An interned set of locks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LocksetId(pub u32);

impl LocksetId {
    pub const EMPTY: Self = Self(0);

    pub fn is_empty(self) -> bool {
        self == Self::EMPTY
    }
}

/// All locksets of the process, with the results of earlier operations kept.
pub struct LocksetTable {
    sets: Interner<Vec<LockId>>,
    meets: BTreeMap<(LocksetId, LocksetId), LocksetId>,
    additions: BTreeMap<(LocksetId, LockId), LocksetId>,
}

impl Default for LocksetTable {
    fn default() -> Self {
        Self::new()
    }
}

impl LocksetTable {
    pub fn new() -> Self {
        let mut sets = Interner::new();
        sets.acquire(Vec::new());
        Self { sets, meets: BTreeMap::new(), additions: BTreeMap::new() }
    }

    /// The locks of a set, sorted.
    pub fn locks(&self, set: LocksetId) -> &[LockId] {
        self.sets.get(set.0).map_or(&[], Vec::as_slice)
    }

    /// The id of a set given in any order.
    pub fn intern(&mut self, mut locks: Vec<LockId>) -> LocksetId {
        locks.sort_unstable();
        locks.dedup();
        LocksetId(self.sets.acquire(locks))
    }

    pub fn with(&mut self, set: LocksetId, lock: LockId) -> LocksetId {
        if let Some(known) = self.additions.get(&(set, lock)) {
            return *known;
        }
        let mut locks = self.locks(set).to_vec();
        locks.push(lock);
        let result = self.intern(locks);
        self.additions.insert((set, lock), result);
        result
    }

    pub fn without(&mut self, set: LocksetId, lock: LockId) -> LocksetId {
        let locks = self.locks(set).iter().copied().filter(|held| *held != lock).collect();
        self.intern(locks)
    }

    /// The locks in both sets.
    pub fn intersect(&mut self, a: LocksetId, b: LocksetId) -> LocksetId {
        if a == b || a.is_empty() {
            return a;
        }
        if b.is_empty() {
            return b;
        }
        let key = (a.min(b), a.max(b));
        if let Some(known) = self.meets.get(&key) {
            return *known;
        }
        let other = self.locks(b);
        let locks =
            self.locks(a).iter().copied().filter(|l| other.binary_search(l).is_ok()).collect();
        let result = self.intern(locks);
        self.meets.insert(key, result);
        result
    }

    /// Number of distinct sets, for memory accounting.
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    pub fn is_empty(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::{LockId, LocksetId, LocksetTable};

    #[test]
    fn sets_are_interned_and_operations_agree_with_sets() {
        let mut table = LocksetTable::new();
        let a = table.with(LocksetId::EMPTY, LockId(1));
        let ab = table.with(a, LockId(2));
        let b = table.with(LocksetId::EMPTY, LockId(2));
        assert_eq!(table.with(b, LockId(1)), ab);
        assert_eq!(table.intersect(ab, b), b);
        assert_eq!(table.intersect(a, b), LocksetId::EMPTY);
        assert_eq!(table.without(ab, LockId(2)), a);
        assert_eq!(table.locks(ab), [LockId(1), LockId(2)]);
    }
}
