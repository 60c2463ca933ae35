//! One remembered access in one word, its site included.
//!
//! ```text
//!   63     62     49 48   47 46    25 24    11   10      9      8       7    0
//!   | lock | number | level | site   | block | write | tag | atomic | bytes |
//! ```
//! Block and number name the segment, see `segments`, and the level which of the segment's locksets the
//! access was under, 0 being none.
//!
//! Lock and tag belong to the place, not to the access. The tag means, in a granule's second cell, that
//! the rest is the address of more cells, and in its first cell that two more stand beside. The lock, in
//! the second cell of the first of four granules, is theirs, and the same bit in the second granule's says
//! that they need it (see `alone`): it is where an access looks anyway, and
//! waiting for memory is what most of the time goes to where accesses go here and there.
//!
//! The site may stand for several, each with some of the bytes: see `joined`.
//!
//! Segments and sites beyond these bits have no cell; what is done there is remembered in the wide
//! form of a [`Record`], in a list, as exactly and more slowly.

use super::{joined, segments, shadow};

pub const BYTES: u64 = 0xff;
pub const ATOMIC: u64 = 1 << 8;
pub const TAG: u64 = 1 << 9;
pub const WRITE: u64 = 1 << 10;
const BLOCK_SHIFT: u32 = 11;
const SITE_SHIFT: u32 = 25;
const LEVEL_SHIFT: u32 = 47;
const NUMBER_SHIFT: u32 = 49;
const LOCK_SHIFT: u32 = 63;
/// Somebody changes one of the four granules.
pub const LOCK: u64 = 1 << LOCK_SHIFT;
pub const BLOCKS: usize = 1 << (SITE_SHIFT - BLOCK_SHIFT);
pub const SITES: u32 = 1 << (LEVEL_SHIFT - SITE_SHIFT);
pub const LEVELS: usize = 1 << (NUMBER_SHIFT - LEVEL_SHIFT);
pub const NUMBERS: usize = 1 << (LOCK_SHIFT - NUMBER_SHIFT);

/// The bits that say who.
pub const BLOCK: u64 = ((BLOCKS as u64) - 1) << BLOCK_SHIFT;
/// The bits that say who and when.
pub const EPOCH: u64 = ((NUMBERS as u64) - 1) << NUMBER_SHIFT | BLOCK;
/// The bits that say under which locks.
pub const LEVEL: u64 = ((LEVELS as u64) - 1) << LEVEL_SHIFT;
const SITE: u64 = ((SITES as u64) - 1) << SITE_SHIFT;
/// Who, when and what, and under which locks: all but where in the code, and which bytes.
pub const CLASS: u64 = EPOCH | LEVEL | WRITE | ATOMIC;
/// What, and to which bytes: all but who and when, and where in the code.
pub const DEED: u64 = WRITE | ATOMIC | BYTES;
/// Everything but the bytes.
pub const IDENTITY: u64 = !(BYTES | TAG | LOCK);

/// Who and when, and under which locks. Not 0, because there is no block 0.
pub fn epoch(block: u32, number: u32, level: u32) -> u64 {
    u64::from(number) << NUMBER_SHIFT
        | u64::from(level) << LEVEL_SHIFT
        | u64::from(block) << BLOCK_SHIFT
}

/// The site's bits, or `None` when there is no room for them.
#[inline(always)]
pub fn site_bits(site: u32) -> Option<u64> {
    (site < joined::FIRST).then_some(u64::from(site) << SITE_SHIFT)
}

/// The cell with another site.
#[inline(always)]
pub fn with_site(cell: u64, site: u32) -> u64 {
    cell & !SITE | u64::from(site) << SITE_SHIFT
}

#[inline(always)]
pub fn block_of(cell: u64) -> usize {
    (cell >> BLOCK_SHIFT) as usize & (BLOCKS - 1)
}

#[inline(always)]
pub fn number_of(cell: u64) -> u64 {
    (cell >> NUMBER_SHIFT) & (NUMBERS as u64 - 1)
}

#[inline(always)]
pub fn level_of(cell: u64) -> usize {
    (cell >> LEVEL_SHIFT) as usize & (LEVELS - 1)
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
    /// The locks that were held when there is no cell for the access; nobody may know.
    pub lockset: Option<u32>,
    /// What a cell says about who and when and the locks; 0 when there is none for it.
    pub epoch: u64,
}

impl Record {
    /// What a cell says, once for each of its sites.
    pub fn of_cell(cell: u64) -> impl Iterator<Item = Record> {
        let write = if cell & WRITE != 0 { shadow::TAG } else { 0 };
        let (slot, time) = segments::slot_and_time(cell);
        let word = shadow::epoch(slot as u32, time) | write | cell & ATOMIC;
        let epoch = cell & (EPOCH | LEVEL);
        joined::parts_of(site_of(cell), cell & BYTES).map(move |(site, bytes)| Record {
            word: word | bytes,
            site,
            lockset: None,
            epoch,
        })
    }

    pub fn to_cell(self) -> Option<u64> {
        let write = if self.is_write() { WRITE } else { 0 };
        let site = site_bits(self.site)?;
        (self.epoch != 0).then_some(self.epoch | site | write | self.word & (BYTES | ATOMIC))
    }

    /// The locks under which it was: `None` when nobody knows any more.
    pub fn locks(&self) -> Option<u32> {
        if self.epoch == 0 { self.lockset } else { segments::lockset_of(self.epoch) }
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
