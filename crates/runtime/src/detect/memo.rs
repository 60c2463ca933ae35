//! What happened to a granule that remembered the same, when the same access came: a thread's own
//! small table.
//!
//! Array code brings granule after granule from one state to the next. What a state and an access
//! lead to depends on the thread's clocks only through "is ordered before", which never becomes
//! false again, so an entry stays right for as long as its access can come, that is, for the
//! thread's segment. A set of cells that keeps coming back gets a shared node: the granules then
//! differ from inline ones in nothing but the price of that one node.

use super::cell::{self, BYTES};
use super::{granule, joined};

/// How often a set of cells must have come before it is shared. Array code brings the same ones by
/// the thousand; tables that are accessed here and there bring many sets a few times each, and
/// shared nodes, which are never freed, would only fill memory.
const OFTEN: u32 = 64;
const SETS: usize = 256;
const ENTRIES: usize = 512;
const JOINED: usize = 32768;
const LATEST: usize = 1024;
const RECENT: usize = 32;

/// The granule's cells before, and the new cell.
type Key = (u64, u64, u64);

#[derive(Clone, Copy)]
pub struct Entry {
    key: Key,
    /// The granule's cells after, once known.
    pub result: (u64, u64),
    pub known: bool,
}

/// A set of cells that came up lately.
#[derive(Clone, Copy)]
struct Set {
    hash: u64,
    count: u32,
    /// The word of its shared node, or 0.
    shared: u64,
}

/// All zeros, it knows nothing yet.
pub struct Memo {
    /// What became of two cells lately: key and result. Few, because they are looked at all the time.
    recent: [(Key, (u64, u64)); RECENT],
    /// Sites that were joined lately: what names them, and the site that stands for both. Those of the last
    /// few moments once more, where the cache has them.
    joined: [(u64, u32); JOINED],
    latest: [(u64, u32); LATEST],
    entries: [Entry; ENTRIES],
    sets: [Set; SETS],
}

impl Memo {
    /// What names the site of both cells, and a number that is as good as random.
    #[inline(always)]
    fn joined_by(older: u64, newer: u64) -> (u64, u64) {
        let sites = u64::from(cell::site_of(older)) << 22 | u64::from(cell::site_of(newer));
        let key = sites << 16 | (older & BYTES) << 8 | newer & !older & BYTES;
        (key, key.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// The site of both cells, the older one's bytes staying where they are from; `None` without room.
    #[inline(always)]
    pub fn joined(&mut self, older: u64, newer: u64) -> Option<u32> {
        let (old, new) = (cell::site_of(older), cell::site_of(newer));
        let added = newer & !older & BYTES;
        let (key, mixed) = Self::joined_by(older, newer);
        let latest = &mut self.latest[(mixed >> (64 - LATEST.ilog2())) as usize];
        if latest.0 != key {
            let known = &mut self.joined[(mixed >> (64 - JOINED.ilog2())) as usize];
            if known.0 != key {
                *known = (key, joined::join(old, older & BYTES, new, added)?);
            }
            *latest = *known;
        }
        Some(latest.1)
    }

    #[inline(always)]
    fn recent_at(first: u64, second: u64, new: u64) -> usize {
        let mixed = first ^ second.rotate_left(21) ^ new.rotate_left(42);
        (mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - RECENT.ilog2())) as usize
    }

    /// What became of these cells lately, when this access came.
    #[inline(always)]
    pub fn recent(&self, first: u64, second: u64, new: u64) -> Option<(u64, u64)> {
        let (key, result) = self.recent[Self::recent_at(first, second, new)];
        (key == (first, second, new)).then_some(result)
    }

    /// Notes what became of cells that are no one granule's own. Array code accesses whole granules; for others,
    /// who seldom do the same twice, writing it down costs more than it saves.
    #[inline(always)]
    pub fn note(&mut self, key: Key, result: (u64, u64)) {
        if key.2 & BYTES == BYTES {
            self.recent[Self::recent_at(key.0, key.1, key.2)] = (key, result);
        }
    }

    /// The entry of a transition, made anew when another one has its place.
    #[inline(always)]
    pub fn entry(&mut self, first: u64, second: u64, new: u64) -> &mut Entry {
        let key = (first, second, new);
        let mixed = first ^ second.rotate_left(21) ^ new.rotate_left(42);
        let at = mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 55;
        let entry = &mut self.entries[at as usize];
        if entry.key != key {
            *entry = Entry { key, result: (0, 0), known: false };
        }
        entry
    }

    /// The word of a shared node with these cells, when they come up often enough to have one.
    pub fn shared(&mut self, cells: &[u64]) -> Option<u64> {
        let mix = |hash: u64, cell: &u64| {
            (hash.rotate_left(23) ^ cell).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        };
        let hash = cells.iter().fold(cells.len() as u64, mix);
        let set = &mut self.sets[(hash >> 56) as usize];
        if set.hash != hash {
            *set = Set { hash, count: 1, shared: 0 };
            return None;
        }
        if set.shared != 0 {
            return granule::holds(set.shared, cells).then_some(set.shared);
        }
        set.count += 1;
        if set.count >= OFTEN {
            set.shared = granule::share(cells)?;
            return Some(set.shared);
        }
        None
    }
}
