//! What a thread has said already in its segment where the fast path does not see it.
//!
//! A granule that many threads read remembers each of them, and its first two cells can only be two of
//! theirs. The others find their own by going through all cells, again and again. So a thread remembers
//! for some granules what it found there: that stays true for its segment, because a cell of a segment that
//! goes on is only taken away when the memory becomes new. Then all threads forget, by a number that everyone looks
//! at: granules with many cells become new so seldom that it does not matter which they were.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

use super::cell::{BYTES, WRITE};
use super::shadow::Granule;

const ENTRIES: usize = 1 << 14;
/// Entries of an earlier segment have another number; when there are no more numbers, all of them go.
const ROUNDS: u64 = 1 << 11;

/// How often granules with more than two cells have become new.
static FORGOTTEN: AtomicU32 = AtomicU32::new(0);

/// All zeros, it knows nothing: there is no round 0.
pub struct Seen {
    /// The segment that the present round is about, in a cell's form without locks.
    now: u64,
    forgotten: u32,
    round: u64,
    entries: [u64; ENTRIES],
}

/// Where a granule's entry is, and what it says: which granule, whether written, which bytes. The round is
/// left out.
#[inline(always)]
fn entry(granule: Granule, said: u64) -> (usize, u64) {
    // Cells of granules are 16 bytes apart.
    let number = granule.first() as *const _ as u64 / 16;
    let place = (number ^ number >> ENTRIES.ilog2()) as usize % ENTRIES;
    (place, (number << 1 | u64::from(said & WRITE != 0)) << 8 | said & BYTES)
}

const _: () = assert!(ROUNDS << (47 - 4 + 1 + 8) <= 1 << 63);

impl Seen {
    #[inline(always)]
    fn is_of(&self, now: u64) -> bool {
        self.now == now && self.forgotten == FORGOTTEN.load(Ordering::Relaxed)
    }

    /// Whether the cell, its site and locks left out, was said before.
    #[inline(always)]
    pub fn has(&self, granule: Granule, said: u64) -> bool {
        let (place, entry) = entry(granule, said);
        self.entries[place] == entry | self.round << 52 && self.is_of(said & !(BYTES | WRITE))
    }

    /// Signals must wait meanwhile: a handler may note something, too.
    #[inline(always)]
    pub fn note(&mut self, granule: Granule, said: u64) {
        let now = said & !(BYTES | WRITE);
        if !self.is_of(now) {
            self.begin(now);
        }
        let (place, entry) = entry(granule, said);
        self.entries[place] = entry | self.round << 52;
    }

    #[cold]
    #[inline(never)]
    fn begin(&mut self, now: u64) {
        (self.now, self.forgotten) = (now, FORGOTTEN.load(Ordering::Relaxed));
        self.round += 1;
        if self.round == ROUNDS {
            self.entries.fill(0);
            self.round = 1;
        }
    }
}

/// Whether it pays to look for what was said already, before the granule is locked: where threads read
/// the same again and again, nearly always; where segments are short, hardly ever.
pub struct Looks(Cell<u8>);

impl Looks {
    /// One look that finds something saves as much as this many cost that find nothing.
    const WORTH: u8 = 8;
    const MOST: u8 = 64;

    pub const fn new() -> Looks {
        Looks(Cell::new(Self::MOST))
    }

    #[inline(always)]
    pub fn pays(&self) -> bool {
        self.0.get() > 0
    }

    /// A look was in vain.
    #[inline(always)]
    pub fn failed(&self) {
        self.0.set(self.0.get().saturating_sub(1));
    }

    /// A look found something, or would have.
    #[inline(always)]
    pub fn paid(&self) {
        self.0.set((self.0.get() + Self::WORTH).min(Self::MOST));
    }
}

/// To be called by who makes a granule with more than two cells new.
pub fn forget() {
    FORGOTTEN.fetch_add(1, Ordering::Release);
}
