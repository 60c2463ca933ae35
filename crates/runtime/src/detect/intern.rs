//! Small ids for pairs of words, shared by all threads and never freed.
//!
//! Locksets (rest of the set, one more lock) and sites that stand for several (see `joined`) are such pairs.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::common::real::raw_mmap;

#[repr(C)]
struct Entry {
    a: AtomicU64,
    b: AtomicU64,
    next: AtomicU32,
}

/// Id 0 is the empty pair. Ids are handed out from 1.
pub struct Interner {
    entries: AtomicUsize,
    buckets: AtomicUsize,
    used: AtomicU32,
    /// How many pairs found no room.
    pub refused: AtomicU64,
    capacity: u32,
    /// So many buckets, as a power of two: their pages, too, are only used as ids are handed out.
    bucket_bits: u32,
}

impl Interner {
    /// A bucket for every sixteen pairs when all are used, which they hardly ever are: a page of buckets is
    /// touched by the first pair in it.
    pub const fn new(capacity: u32) -> Self {
        Interner {
            bucket_bits: if capacity >> 22 == 0 { 18 } else { capacity.ilog2() - 4 },
            entries: AtomicUsize::new(0),
            buckets: AtomicUsize::new(0),
            used: AtomicU32::new(1),
            refused: AtomicU64::new(0),
            capacity,
        }
    }

    /// Reserves address space; memory is only used as ids are handed out.
    pub fn initialize(&self) {
        let entries = raw_mmap(self.capacity as usize * std::mem::size_of::<Entry>());
        let buckets = raw_mmap((1usize << self.bucket_bits) * 4);
        if entries.is_null() || buckets.is_null() {
            crate::common::output::fatal("no address space for the detector's tables\n");
        }
        self.buckets.store(buckets as usize, Ordering::Relaxed);
        self.entries.store(entries as usize, Ordering::Release);
    }

    fn entry(&self, id: u32) -> &Entry {
        let base = self.entries.load(Ordering::Relaxed) as *const Entry;
        // SAFETY: ids are below the capacity that was mapped.
        unsafe { &*base.add(id as usize) }
    }

    fn bucket(&self, a: u64, b: u64) -> &AtomicU32 {
        let hash = (a ^ b.rotate_left(31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let base = self.buckets.load(Ordering::Relaxed) as *const AtomicU32;
        // SAFETY: the shift leaves as many bits as there are buckets for.
        unsafe { &*base.add((hash >> (64 - self.bucket_bits)) as usize) }
    }

    /// The id of the pair, or `None` when the table is full and the pair is new.
    pub fn intern(&self, a: u64, b: u64) -> Option<u32> {
        if self.entries.load(Ordering::Acquire) == 0 {
            return None;
        }
        let bucket = self.bucket(a, b);
        let mut head = bucket.load(Ordering::Acquire);
        if let Some(id) = self.find(head, 0, a, b) {
            return Some(id);
        }
        if self.used.load(Ordering::Relaxed) >= self.capacity - 1 {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let id = self.used.fetch_add(1, Ordering::Relaxed);
        if id >= self.capacity {
            self.used.store(self.capacity - 1, Ordering::Relaxed);
            self.refused.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let entry = self.entry(id);
        entry.a.store(a, Ordering::Relaxed);
        entry.b.store(b, Ordering::Relaxed);
        loop {
            entry.next.store(head, Ordering::Relaxed);
            match bucket.compare_exchange(head, id, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return Some(id),
                Err(now) => {
                    // Somebody else may have added the very same pair; then ours stays unused.
                    if let Some(other) = self.find(now, head, a, b) {
                        return Some(other);
                    }
                    head = now;
                }
            }
        }
    }

    fn find(&self, mut id: u32, end: u32, a: u64, b: u64) -> Option<u32> {
        while id != end && id != 0 {
            let entry = self.entry(id);
            if entry.a.load(Ordering::Relaxed) == a && entry.b.load(Ordering::Relaxed) == b {
                return Some(id);
            }
            id = entry.next.load(Ordering::Relaxed);
        }
        None
    }

    pub fn get(&self, id: u32) -> (u64, u64) {
        if id == 0 || id >= self.used.load(Ordering::Relaxed) {
            return (0, 0);
        }
        let entry = self.entry(id);
        (entry.a.load(Ordering::Relaxed), entry.b.load(Ordering::Relaxed))
    }
}

/// (lock address | mode, rest << 32 | site of the acquisition).
pub static LOCKSETS: Interner = Interner::new(1 << 20);

pub fn initialize() {
    super::joined::JOINED.initialize();
    super::chains::CHAINS.initialize();
    super::segments::initialize();
    super::alone::initialize();
    LOCKSETS.initialize();
}

/// Set in a lockset entry when the lock is held for reading only.
pub const READ_MODE: u64 = 1 << 63;

/// One lock of a lockset.
#[derive(Clone, Copy)]
pub struct LockEntry {
    pub address: u64,
    pub read_mode: bool,
    pub site: u32,
}

/// The locks of a lockset, latest first.
pub fn locks_of(mut lockset: u32) -> impl Iterator<Item = LockEntry> {
    std::iter::from_fn(move || {
        if lockset == 0 {
            return None;
        }
        let (a, b) = LOCKSETS.get(lockset);
        lockset = (b >> 32) as u32;
        Some(LockEntry { address: a & !READ_MODE, read_mode: a & READ_MODE != 0, site: b as u32 })
    })
}
