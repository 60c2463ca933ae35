//! One remembered access in one word, its site included.
//!
//! ```text
//!   63     62    44 43    22 21    11   10      9      8       7    0
//!   | lock | time   | site   | slot  | write | tag | atomic | bytes |
//! ```
//! Lock and tag belong to the place, not to the access. The tag means, in a granule's second cell, that
//! the rest is the address of more cells, and in its first cell that two more stand beside. The lock, in
//! the second cell of the first of four granules, is theirs: it is where an access looks anyway, and
//! waiting for memory is what most of the time goes to where accesses go here and there.
//!
//! The site may stand for several, each with some of the bytes: see `joined`.
//!
//! Threads, times and sites beyond these bits have no cell; what they do is remembered in the wide
//! form of a [`Record`], in a list, as exactly and more slowly.

use super::{joined, shadow};

pub const BYTES: u64 = 0xff;
pub const ATOMIC: u64 = 1 << 8;
pub const TAG: u64 = 1 << 9;
pub const WRITE: u64 = 1 << 10;
const SLOT_SHIFT: u32 = 11;
const SITE_SHIFT: u32 = 22;
const TIME_SHIFT: u32 = 44;
const LOCK_SHIFT: u32 = 63;
/// Somebody changes one of the four granules.
pub const LOCK: u64 = 1 << LOCK_SHIFT;
const SLOTS: u32 = 1 << (SITE_SHIFT - SLOT_SHIFT);
pub const SITES: u32 = 1 << (TIME_SHIFT - SITE_SHIFT);
/// The first time that no cell can hold.
pub const TIMES: u64 = 1 << (LOCK_SHIFT - TIME_SHIFT);

/// The bits that say who.
pub const SLOT: u64 = ((SLOTS as u64) - 1) << SLOT_SHIFT;
/// The bits that say who and when.
pub const EPOCH: u64 = (TIMES - 1) << TIME_SHIFT | SLOT;
/// Who, when and what: all but where in the code, and which bytes.
pub const CLASS: u64 = EPOCH | WRITE | ATOMIC;
/// Who and what, and which bytes: all but when, and where in the code.
pub const DEED: u64 = SLOT | WRITE | ATOMIC | BYTES;
/// Everything but the bytes.
pub const IDENTITY: u64 = !(BYTES | TAG | LOCK);

/// Who and when, or 0 when no cell can hold it: times start at 1, so 0 equals no cell's epoch.
pub fn epoch(slot: u32, time: u64) -> u64 {
    match slot < SLOTS && time < TIMES {
        true => time << TIME_SHIFT | u64::from(slot) << SLOT_SHIFT,
        false => 0,
    }
}

/// The site's bits, or `None` when there is no room for them.
#[inline(always)]
pub fn site_bits(site: u32) -> Option<u64> {
    (site < joined::FIRST).then_some(u64::from(site) << SITE_SHIFT)
}

/// The cell with another site.
#[inline(always)]
pub fn with_site(cell: u64, site: u32) -> u64 {
    cell & !(u64::from(SITES - 1) << SITE_SHIFT) | u64::from(site) << SITE_SHIFT
}

#[inline(always)]
pub fn slot_of(cell: u64) -> usize {
    (cell >> SLOT_SHIFT) as usize & (SLOTS as usize - 1)
}

#[inline(always)]
pub fn time_of(cell: u64) -> u64 {
    cell >> TIME_SHIFT
}

#[inline(always)]
pub fn site_of(cell: u64) -> u32 {
    (cell >> SITE_SHIFT) as u32 & (SITES - 1)
}

/// One remembered access in the wide form: a word as `shadow` describes it, tagged when it was a
/// write, and the site.
#[derive(Clone, Copy)]
pub struct Record {
    pub word: u64,
    pub site: u32,
}

impl Record {
    /// What a cell says, once for each of its sites.
    pub fn of_cell(cell: u64) -> impl Iterator<Item = Record> {
        let write = if cell & WRITE != 0 { shadow::TAG } else { 0 };
        let word = shadow::epoch(slot_of(cell) as u32, time_of(cell)) | write | cell & ATOMIC;
        joined::parts_of(site_of(cell), cell & BYTES)
            .map(move |(site, bytes)| Record { word: word | bytes, site })
    }

    pub fn to_cell(self) -> Option<u64> {
        let epoch = epoch(shadow::slot_of(self.word) as u32, shadow::time_of(self.word));
        let write = if self.is_write() { WRITE } else { 0 };
        let site = site_bits(self.site)?;
        (epoch != 0).then_some(epoch | site | write | self.word & (BYTES | ATOMIC))
    }

    pub fn is_write(self) -> bool {
        self.word & shadow::TAG != 0
    }

    /// Without the mark of a write.
    pub fn plain(self) -> Record {
        Record { word: self.word & !shadow::TAG, ..self }
    }
}

const _: () = assert!(BYTES == shadow::BYTES && ATOMIC == shadow::ATOMIC);
