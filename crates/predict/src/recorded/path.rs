//! What walking a recording gives: each thread's path program (paper 3, Table I and section
//! III.A), in the order of the thread.

use racewarden_ir::{FunctionId, InstId};
use racewarden_trace::binary::SyncOp;

use super::expr::{Arena, ExprId, Val};
use super::locations::PlaceId;

/// One instruction of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spot {
    pub function: FunctionId,
    pub inst: InstId,
}

/// A piece of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes {
    pub address: u64,
    pub size: u64,
}

impl Bytes {
    pub fn overlaps(self, other: Bytes) -> bool {
        self.address < other.address.saturating_add(other.size)
            && other.address < self.address.saturating_add(self.size)
    }
}

/// Where an access goes: `count` pieces of `size` bytes, `stride` bytes apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    pub address: u64,
    pub size: u64,
    pub stride: i64,
    pub count: u64,
}

impl Extent {
    pub fn one(address: u64, size: u64) -> Self {
        Extent { address, size, stride: 0, count: 1 }
    }

    /// The number of the first piece that touches the bytes.
    pub fn piece_at(self, bytes: Bytes) -> Option<u64> {
        let (address, stride) = (i128::from(self.address), i128::from(self.stride));
        let (start, end) =
            (i128::from(bytes.address), i128::from(bytes.address) + bytes.size as i128);
        // A piece touches when it begins after `start - size` and before `end`.
        let low = start - i128::from(self.size) + 1 - address;
        let high = end - 1 - address;
        let number = match stride.signum() {
            0 => (low <= 0 && high >= 0).then_some(0)?,
            1 => low.max(0).div_euclid(stride) + i128::from(low.max(0).rem_euclid(stride) != 0),
            _ => {
                let (low, stride) = ((-high).max(0), -stride);
                low.div_euclid(stride) + i128::from(low.rem_euclid(stride) != 0)
            }
        };
        let at = number * stride;
        let inside = number < i128::from(self.count) && at >= low && at <= high;
        u64::try_from(number).ok().filter(|_| inside)
    }

    /// What it touches of the bytes of a place.
    pub fn within(self, place: Bytes) -> Option<Bytes> {
        let first = self.piece_at(place)?;
        let piece =
            |number: u64| self.address.wrapping_add_signed(self.stride.wrapping_mul(number as i64));
        // Pieces that leave no gap are one.
        let gapless = self.stride.unsigned_abs() <= self.size;
        let last = match gapless {
            true => {
                let more = place.size / self.stride.unsigned_abs().max(1) + 1;
                (first + more).min(self.count - 1)
            }
            false => first,
        };
        let (low, high) = (piece(first).min(piece(last)), piece(first).max(piece(last)));
        let address = low.max(place.address);
        let end = (high + self.size).min(place.address + place.size);
        Some(Bytes { address, size: end.saturating_sub(address) })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// A shared read; `result` is its symbol.
    Read {
        place: PlaceId,
        result: ExprId,
        atomic: bool,
    },
    Write {
        place: PlaceId,
        value: Val,
        recorded: u64,
        atomic: bool,
    },
    /// A read-modify-write: both at once.
    Update {
        place: PlaceId,
        result: ExprId,
        value: Val,
        recorded: u64,
    },
    /// An access whose value is not followed.
    Whole {
        places: Vec<PlaceId>,
        /// What it touches, of which the places are whole words.
        extent: Extent,
        writes: bool,
        atomic: bool,
    },
    /// The block of these places is freed: whoever accesses it must have done so before.
    Free {
        places: Vec<PlaceId>,
    },
    /// Code outside may read and write these places.
    Outside {
        places: Vec<PlaceId>,
    },
    Sync {
        op: SyncOp,
        object: u64,
        extra: u64,
    },
    /// The condition keeps this truth value (or switch value).
    Branch {
        condition: ExprId,
        taken: u64,
    },
    /// The expression keeps the number it had: base addresses, indices, arguments of code outside.
    Pin {
        expr: ExprId,
    },
}

impl EventKind {
    /// Whether other threads can tell that it happened.
    pub fn is_visible(&self) -> bool {
        !matches!(self, EventKind::Branch { .. } | EventKind::Pin { .. })
    }
}

#[derive(Debug, Clone)]
pub struct PathEvent {
    pub spot: Spot,
    /// This thread's visits to the instruction so far, from 1.
    pub occurrence: u64,
    /// The place in the order of the run; 0 for what did not happen in it.
    pub sequence: u64,
    pub kind: EventKind,
}

impl PathEvent {
    /// The first visit that it stands for.
    pub fn first_occurrence(&self) -> u64 {
        match self.kind {
            EventKind::Whole { extent, .. } if extent.count > 1 => {
                (self.occurrence + 1).saturating_sub(extent.count)
            }
            _ => self.occurrence,
        }
    }

    /// The visit in which it touches the bytes; a loop that was recorded as a whole counts all its
    /// rounds.
    pub fn occurrence_at(&self, bytes: Bytes) -> u64 {
        match self.kind {
            EventKind::Whole { extent, .. } if extent.count > 1 => {
                let piece = extent.piece_at(bytes).unwrap_or(extent.count - 1);
                (self.occurrence + piece + 1).saturating_sub(extent.count)
            }
            _ => self.occurrence,
        }
    }
}

/// A side of a branch that the run did not take (section IV).
#[derive(Debug, Clone)]
pub struct Detour {
    /// Events of the thread that come before the branch.
    pub after: usize,
    /// The branch: its condition must differ from what it was.
    pub condition: ExprId,
    pub taken: u64,
    pub spot: Spot,
    /// What the thread would do instead.
    pub events: Vec<PathEvent>,
}

#[derive(Debug, Clone, Default)]
pub struct ThreadPath {
    pub name: String,
    pub number: u32,
    pub arena: Arena,
    pub events: Vec<PathEvent>,
    pub detours: Vec<Detour>,
    /// What went into computations that keep their recorded operands.
    pub not_computed: super::walk::NotComputed,
    /// Why the path ends before the recording does.
    pub cut: Option<String>,
}

impl ThreadPath {
    /// The event that read the symbol.
    pub fn reads(&self) -> impl Iterator<Item = (ExprId, usize)> + '_ {
        self.events.iter().enumerate().filter_map(|(number, event)| match event.kind {
            EventKind::Read { result, .. } | EventKind::Update { result, .. } => {
                Some((result, number))
            }
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Bytes, Extent};

    /// By looking at every piece.
    fn naive(extent: Extent, place: Bytes) -> Option<u64> {
        (0..extent.count).find(|number| {
            let address = extent.address.wrapping_add_signed(extent.stride * *number as i64);
            Bytes { address, size: extent.size }.overlaps(place)
        })
    }

    #[test]
    fn pieces_are_found_where_they_are() {
        for stride in [-24i64, -8, -4, 0, 4, 8, 12, 16, 40] {
            for size in [4, 8] {
                for count in [1, 2, 7] {
                    let extent = Extent { address: 1000, size, stride, count };
                    for address in (800..1400).step_by(8) {
                        let place = Bytes { address, size: 8 };
                        let expected = match stride {
                            0 => naive(Extent { count: 1, ..extent }, place),
                            _ => naive(extent, place),
                        };
                        assert_eq!(extent.piece_at(place), expected, "{extent:?} {place:?}");
                        let within = extent.within(place);
                        assert_eq!(within.is_some(), expected.is_some());
                        assert!(within.is_none_or(|bytes| bytes.size > 0 && bytes.overlaps(place)));
                    }
                }
            }
        }
    }
}
