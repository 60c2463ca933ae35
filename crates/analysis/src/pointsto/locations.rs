//! Abstract objects and the locations inside them.
//!
//! A location is an object with a byte offset, exact or modulo a stride (an array walked by a
//! variable index). Offsets stay exact while an object has few of them; past [`MAX_LOCATIONS`]
//! a pointer that moves on from one may be at any multiple of its step, and past twice as many the
//! object is one location, which is sound and keeps pointer increments in loops finite.

use racewarden_ir::{FunctionId, GlobalId};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ObjectKind {
    Global(GlobalId),
    Function(FunctionId),
    /// A stack slot.
    Stack(FunctionId, u32),
    /// What a call to an allocator returns.
    Heap(FunctionId, u32),
    /// The arguments of a variadic call.
    Variadic(FunctionId),
    /// What a library function returns to all its callers.
    Library(FunctionId),
    /// Memory that a caller outside the program hands to an exported function.
    Api,
    /// Whatever pointers with too many targets lead to (see the solver).
    Blob,
    /// Memory of a library that is not modelled.
    Unknown,
}

pub type ObjectId = u32;
pub type LocationId = u32;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Location {
    pub object: ObjectId,
    pub offset: i64,
    /// 0: exactly `offset`; s: any offset congruent to it modulo s; 1: anywhere.
    pub stride: u32,
}

#[derive(Debug, Default)]
pub struct Locations {
    pub objects: Vec<ObjectKind>,
    /// Bytes, 0 when unknown.
    pub sizes: Vec<u64>,
    object_ids: FxHashMap<ObjectKind, ObjectId>,
    pub table: Vec<Location>,
    ids: FxHashMap<Location, LocationId>,
    per_object: Vec<u32>,
}

const MAX_LOCATIONS: u32 = 96;

impl Locations {
    pub fn object(&mut self, kind: ObjectKind, size: u64) -> ObjectId {
        if let Some(&id) = self.object_ids.get(&kind) {
            return id;
        }
        let id = self.objects.len() as ObjectId;
        self.objects.push(kind);
        self.sizes.push(size);
        self.per_object.push(0);
        self.object_ids.insert(kind, id);
        id
    }

    /// What was found, where no more will be added.
    pub fn settled(objects: Vec<ObjectKind>, sizes: Vec<u64>, table: Vec<Location>) -> Self {
        let object_ids = objects.iter().copied().zip(0..).collect();
        Locations { objects, sizes, object_ids, table, ..Locations::default() }
    }

    pub fn find_object(&self, kind: ObjectKind) -> Option<ObjectId> {
        self.object_ids.get(&kind).copied()
    }

    pub fn intern(&mut self, mut location: Location) -> LocationId {
        if location.stride > 1 {
            location.offset = location.offset.rem_euclid(i64::from(location.stride));
        } else if location.stride == 1 {
            location.offset = 0;
        }
        if matches!(self.objects[location.object as usize], ObjectKind::Function(_)) {
            location.offset = 0;
            location.stride = 0;
        }
        if let Some(&id) = self.ids.get(&location) {
            return id;
        }
        let count = &mut self.per_object[location.object as usize];
        let limit = if location.stride == 0 { MAX_LOCATIONS } else { 2 * MAX_LOCATIONS };
        if *count >= limit && location.stride != 1 {
            return self.intern(Location { object: location.object, offset: 0, stride: 1 });
        }
        *count += 1;
        let id = self.table.len() as LocationId;
        self.table.push(location);
        self.ids.insert(location, id);
        id
    }

    pub fn get(&self, id: LocationId) -> Location {
        self.table[id as usize]
    }

    /// Whether it matters by how much the location is moved: what is anywhere stays so, and functions
    /// have no inside.
    pub fn is_moved(&self, id: LocationId) -> bool {
        let Location { object, stride, .. } = self.get(id);
        stride != 1 && !matches!(self.objects[object as usize], ObjectKind::Function(_))
    }

    /// The location `by` bytes on, or any multiple of `stride` further.
    pub fn shift(&mut self, id: LocationId, by: i64, stride: u32) -> LocationId {
        let old = self.get(id);
        if by == 0 && stride == 0 {
            return id;
        }
        let stride = gcd(old.stride, stride);
        let mut moved = Location { offset: old.offset.wrapping_add(by), stride, ..old };
        let full = self.per_object[old.object as usize] >= MAX_LOCATIONS;
        if full && stride == 0 && !self.ids.contains_key(&moved) {
            moved.stride = u32::try_from(by.unsigned_abs()).unwrap_or(1);
        }
        self.intern(moved)
    }
}

pub fn gcd(a: u32, b: u32) -> u32 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Whether bytes `[a, a+size_a)` and `[b, b+size_b)` can meet, given the strides.
pub fn may_overlap(a: Location, size_a: u64, b: Location, size_b: u64) -> bool {
    if a.object != b.object {
        return false;
    }
    let stride = i64::from(gcd(a.stride, b.stride));
    let (size_a, size_b) =
        (size_a.min(i64::MAX as u64 / 4) as i64, size_b.min(i64::MAX as u64 / 4) as i64);
    let distance = b.offset.wrapping_sub(a.offset);
    if stride == 0 {
        return distance < size_a && -distance < size_b;
    }
    let residue = distance.rem_euclid(stride);
    residue < size_a || stride - residue < size_b
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(offset: i64, stride: u32) -> Location {
        Location { object: 0, offset, stride }
    }

    #[test]
    fn steps_past_the_limit_keep_to_their_stride() {
        let mut locations = Locations::default();
        let object = locations.object(ObjectKind::Unknown, 0);
        let mut place = locations.intern(Location { object, offset: 8, stride: 0 });
        for _ in 0..2 * MAX_LOCATIONS {
            place = locations.shift(place, 40, 0);
        }
        assert_eq!(locations.get(place), Location { object, offset: 8, stride: 40 });
    }

    #[test]
    fn overlap_respects_offset_size_and_stride() {
        assert!(may_overlap(at(0, 0), 8, at(4, 0), 4));
        assert!(!may_overlap(at(0, 0), 4, at(4, 0), 4));
        assert!(may_overlap(at(0, 16), 4, at(32, 0), 4));
        assert!(!may_overlap(at(0, 16), 4, at(36, 0), 4));
        assert!(may_overlap(at(0, 1), 1, at(36, 0), 4));
        assert!(may_overlap(at(12, 16), 8, at(32, 0), 4));
    }
}
