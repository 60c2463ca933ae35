//! Which places of a large object are in candidates, and with each other, as bits.
//!
//! Once an object has enough candidates most pairs of its places only count: both are listed, and not
//! with each other. redis asks that ninety million times, which is half of what its pairs cost when
//! each is looked up in a table of pairs.

use rustc_hash::FxHashMap;

use super::bundles::SpotId;

/// Listed places for which bits are kept: a square of them.
const MOST: usize = 1 << 13;

const NONE: u16 = u16::MAX;

/// Empty until [`Dense::begin`], and for objects with too many places.
#[derive(Default)]
pub struct Dense {
    /// The number of each listed place.
    numbers: Vec<u16>,
    /// By number: the places that it is in a candidate with.
    rows: Vec<Vec<u64>>,
    full: bool,
}

impl Dense {
    /// Takes over what is known; once.
    pub fn begin(&mut self, spot_count: usize, partners: &FxHashMap<SpotId, Vec<SpotId>>) {
        if !self.numbers.is_empty() || self.full {
            return;
        }
        self.numbers = vec![NONE; spot_count];
        for (&spot, others) in partners {
            others.iter().for_each(|&other| self.add((spot, other)));
        }
    }

    pub fn add(&mut self, (first, second): (SpotId, SpotId)) {
        if self.numbers.is_empty() {
            return;
        }
        let (Some(x), Some(y)) = (self.number(first), self.number(second)) else {
            *self = Dense { full: true, ..Dense::default() };
            return;
        };
        for (own, other) in [(x, y), (y, x)] {
            let row = &mut self.rows[own];
            if row.len() <= other / 64 {
                row.resize(other / 64 + 1, 0);
            }
            row[other / 64] |= 1 << (other % 64);
        }
    }

    /// The listed place's number; `None` when there are too many.
    fn number(&mut self, spot: SpotId) -> Option<usize> {
        let number = self.numbers.get_mut(spot as usize)?;
        if *number == NONE {
            if self.rows.len() >= MOST {
                return None;
            }
            *number = self.rows.len() as u16;
            self.rows.push(Vec::new());
        }
        Some(usize::from(*number))
    }

    /// Whether both are listed for certain, and not with each other.
    pub fn are_apart(&self, first: SpotId, second: SpotId) -> bool {
        let number = |spot: SpotId| self.numbers.get(spot as usize).copied().unwrap_or(NONE);
        let (x, y) = (number(first), number(second));
        let Some(row) = self.rows.get(usize::from(x)).filter(|_| y != NONE) else { return false };
        row.get(usize::from(y) / 64).is_none_or(|word| word >> (y % 64) & 1 == 0)
    }
}
