//! The packed shadow cell: sixteen bytes for eight bytes of program memory.
//!
//! Most granules are touched by one thread at a time, by accesses of one shape. Their whole state
//! is the last write and the last read, each one word:
//!
//! ```text
//!  63        52 51          28 27      22  21    20        0
//! +------------+--------------+----------+------+-----------+
//! | slot + 1   | time         | range    |atomic| site      |
//! +------------+--------------+----------+------+-----------+
//! ```
//!
//! `range` numbers the 36 runs of bytes within a granule. The word is zero when there is no such
//! access. Slot and time together in the top 36 bits are what a thread compares with its
//! [`crate::ThreadState::tag`]: equal means "by me, in this segment".
//!
//! Whatever does not fit (several readers, several runs, a shared state of the state machine, large
//! numbers) is an interned [`crate::GranuleState`]: the read word's slot field is all ones and its
//! low half is the [`crate::StateId`]; the write word is then zero. Nothing is ever evicted.
//!
//! Why it is fast: a repeated access costs one load, one shift and one compare; granules of an
//! array that several threads read in the same way share one interned state.

use crate::access::{Access, ByteMask, Kind, SiteId};
use crate::clock::{Epoch, SlotId};
use crate::slots::PACKED_TIME_END;
use crate::state::{Record, StateId};

const TAG_SHIFT: u32 = 28;
const SLOT_SHIFT: u32 = 52;
const RANGE_SHIFT: u32 = 22;
const ATOMIC: u64 = 1 << 21;
const SITE_END: u32 = 1 << 21;
const TABLE_SLOT: u64 = 0xfff;
/// Slots below this have a packed form.
const SLOT_END: u32 = 0xffe;

/// Byte mask of each range number; 0 is unused.
const RANGES: [u8; 64] = {
    let mut table = [0_u8; 64];
    let mut number = 1;
    let mut length = 1;
    while length <= 8 {
        let mut start = 0;
        while start + length <= 8 {
            table[number] = (((1_u32 << length) - 1) << start) as u8;
            number += 1;
            start += 1;
        }
        length += 1;
    }
    table
};

/// Range number of each byte mask; 0 where the mask is not one run.
const RANGE_OF: [u8; 256] = {
    let mut table = [0_u8; 256];
    let mut number = 1;
    while number <= 36 {
        table[RANGES[number] as usize] = number as u8;
        number += 1;
    }
    table
};

/// One access in one word, or nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PackedAccess(pub u64);

const _: () = assert!(size_of::<PackedAccess>() == 8);

impl PackedAccess {
    pub const NONE: Self = Self(0);

    /// The thread's segment in the form that [`Self::matches`] compares; `None` if slot or time
    /// are too large for the packed form (the thread should then ask for a new slot).
    pub fn tag_of(epoch: Epoch) -> Option<u64> {
        (epoch.slot.0 < SLOT_END && epoch.time < PACKED_TIME_END)
            .then(|| (u64::from(epoch.slot.0) + 1) << 24 | epoch.time)
    }

    /// Packs an access of the segment `tag`, if its bytes are one run and its site is small.
    #[inline]
    pub fn new(tag: u64, access: &Access) -> Option<Self> {
        let range = u64::from(RANGE_OF[access.bytes.0 as usize]);
        if range == 0 || access.site.0 >= SITE_END {
            return None;
        }
        let atomic = if access.kind.atomic { ATOMIC } else { 0 };
        Some(Self(tag << TAG_SHIFT | range << RANGE_SHIFT | atomic | u64::from(access.site.0)))
    }

    pub(crate) fn from_record(record: &Record) -> Option<Self> {
        let tag = Self::tag_of(record.epoch)?;
        Self::new(tag, &Access { bytes: record.bytes, kind: record.kind, site: record.site })
    }

    #[inline]
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    #[inline]
    pub fn is_table(self) -> bool {
        self.0 >> SLOT_SHIFT == TABLE_SLOT
    }

    #[inline]
    pub fn epoch(self) -> Epoch {
        let time = (self.0 >> TAG_SHIFT) & (PACKED_TIME_END - 1);
        Epoch::new(SlotId(((self.0 >> SLOT_SHIFT) as u32).wrapping_sub(1)), time)
    }

    #[inline]
    pub fn bytes(self) -> ByteMask {
        ByteMask(RANGES[(self.0 >> RANGE_SHIFT) as usize & 63])
    }

    #[inline]
    pub fn atomic(self) -> bool {
        self.0 & ATOMIC != 0
    }

    #[inline]
    pub fn site(self) -> SiteId {
        SiteId(self.0 as u32 & (SITE_END - 1))
    }

    /// Whether this word is a plain access of the segment `tag` to all of `bytes`. Inline this.
    #[inline(always)]
    pub fn matches(self, tag: u64, bytes: ByteMask) -> bool {
        self.0 >> TAG_SHIFT == tag && !self.atomic() && self.bytes().contains(bytes)
    }

    pub(crate) fn record(self, write: bool) -> Record {
        Record {
            bytes: self.bytes(),
            kind: Kind { write, atomic: self.atomic() },
            epoch: self.epoch(),
            site: self.site(),
        }
    }
}

impl core::fmt::Debug for PackedAccess {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if self.is_none() {
            f.write_str("none")
        } else if self.is_table() {
            write!(f, "state {}", self.0 as u32)
        } else {
            write!(f, "{:?} {:?} site {}", self.epoch(), self.bytes(), self.site().0)
        }
    }
}

/// The state of one granule. All zeroes is "never accessed", so fresh shadow memory needs no setup.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Cell {
    pub write: PackedAccess,
    pub read: PackedAccess,
}

const _: () = assert!(size_of::<Cell>() == 16);

impl Cell {
    pub const NEW: Self = Self { write: PackedAccess::NONE, read: PackedAccess::NONE };

    /// A plain read that the current segment has already read or written: nothing to do. Inline
    /// this; loading the two words without a lock is fine, because only the thread itself writes
    /// words with its own tag, and a stale word merely leads to the slow path.
    #[inline(always)]
    pub fn read_is_known(self, tag: u64, bytes: ByteMask) -> bool {
        self.read.matches(tag, bytes) || self.write.matches(tag, bytes)
    }

    /// A plain write to what the current segment has already written: nothing to do. Inline this.
    #[inline(always)]
    pub fn write_is_known(self, tag: u64, bytes: ByteMask) -> bool {
        self.write.matches(tag, bytes)
    }

    /// The table entry of a granule that does not fit the packed form.
    #[inline]
    pub fn state(self) -> Option<StateId> {
        self.read.is_table().then_some(StateId(self.read.0 as u32))
    }

    pub(crate) fn from_state(id: StateId) -> Self {
        Self {
            write: PackedAccess::NONE,
            read: PackedAccess(TABLE_SLOT << SLOT_SHIFT | u64::from(id.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cell, PackedAccess};
    use crate::access::{Access, ByteMask, Kind, SiteId};
    use crate::clock::{Epoch, SlotId};

    #[test]
    fn every_run_of_bytes_packs_and_comes_back() {
        let epoch = Epoch::new(SlotId(4093), (1 << 24) - 1);
        let tag = PackedAccess::tag_of(epoch).unwrap();
        for offset in 0..8 {
            for size in 1..=8 - offset {
                let bytes = ByteMask::span(offset, size);
                let access = Access { bytes, kind: Kind::ATOMIC_READ, site: SiteId((1 << 21) - 1) };
                let packed = PackedAccess::new(tag, &access).unwrap();
                assert_eq!(packed.epoch(), epoch);
                assert_eq!(packed.bytes(), bytes);
                assert_eq!(packed.site(), access.site);
                assert!(packed.atomic() && !packed.is_table() && !packed.is_none());
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let tag = PackedAccess::tag_of(Epoch::new(SlotId(0), 1)).unwrap();
        let split = Access { bytes: ByteMask(0b101), kind: Kind::READ, site: SiteId(1) };
        assert_eq!(PackedAccess::new(tag, &split), None);
        let far = Access { bytes: ByteMask::ALL, kind: Kind::READ, site: SiteId(1 << 21) };
        assert_eq!(PackedAccess::new(tag, &far), None);
        assert_eq!(PackedAccess::tag_of(Epoch::new(SlotId(4094), 1)), None);
        assert_eq!(PackedAccess::tag_of(Epoch::new(SlotId(0), 1 << 24)), None);
    }

    #[test]
    fn a_new_cell_knows_nothing() {
        let tag = PackedAccess::tag_of(Epoch::new(SlotId(0), 1)).unwrap();
        assert!(!Cell::NEW.read_is_known(tag, ByteMask::ALL));
        assert!(!Cell::NEW.write_is_known(tag, ByteMask::ALL));
        assert_eq!(Cell::NEW.state(), None);
    }
}
