//! Writes to one object, by their places: whether one meets a place is asked for every load, and an
//! object may be written at tens of thousands of places.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use crate::pointsto::{Location, may_overlap};

#[derive(Debug, Default)]
pub struct Writes {
    /// Short writes to one place each, by offset: the longest of each.
    short: BTreeMap<i64, u64>,
    /// All others.
    others: FxHashSet<(Location, u64)>,
}

/// Bytes of a write that is looked up by where it starts.
const SHORT: u64 = 64;

impl Writes {
    pub fn add(&mut self, at: Location, size: u64) {
        if at.stride == 0 && size <= SHORT {
            let known = self.short.entry(at.offset).or_default();
            *known = size.max(*known);
        } else {
            self.others.insert((at, size));
        }
    }

    /// Whether a write may change something of so many bytes there.
    pub fn meet(&self, at: Location, size: u64) -> bool {
        let meets = |(write, bytes): (Location, u64)| may_overlap(write, bytes, at, size);
        let short =
            |(&offset, &bytes): (&i64, &u64)| meets((Location { offset, stride: 0, ..at }, bytes));
        let found = if at.stride == 0 && size <= SHORT {
            let first = at.offset.saturating_sub(SHORT as i64);
            let end = at.offset.saturating_add(size as i64);
            self.short.range(first..=end).any(short)
        } else {
            self.short.iter().any(short)
        };
        found || self.others.iter().any(|write| meets(*write))
    }
}

#[cfg(test)]
mod tests {
    use super::Writes;
    use crate::pointsto::Location;

    #[test]
    fn writes_meet_what_they_overlap() {
        let at = |offset: i64, stride: u32| Location { object: 0, offset, stride };
        let mut writes = Writes::default();
        writes.add(at(8, 0), 4);
        writes.add(at(8, 0), 1);
        writes.add(at(200, 0), 400);
        writes.add(at(2, 16), 1);
        for (place, size, meets) in [
            (at(8, 0), 1, true),
            (at(11, 0), 1, true),
            (at(12, 0), 4, false),
            (at(4, 0), 4, false),
            (at(4, 0), 5, true),
            (at(590, 0), 4, true),
            (at(18, 0), 1, true),
            (at(0, 4), 1, true),
            (at(0, 4), 100, true),
        ] {
            assert_eq!(writes.meet(place, size), meets, "{size} bytes at {place:?}");
        }
    }
}
