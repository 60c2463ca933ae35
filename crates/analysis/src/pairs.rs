//! Candidate pairs: accesses that may touch a common byte, at least one of them writing, that no
//! digest excludes. Found through an index by object and place, never by comparing all with all.

use std::collections::BTreeMap;

use racewarden_finding::AccessKind;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::contexts::GuardedAccess;
use crate::digests::{Whole, exclusion};
use crate::naming::Naming;
use crate::pointsto::{Location, ObjectId, may_overlap};

#[derive(Debug, Default)]
pub struct Pairs {
    /// Indices of accesses, smaller first, with the object both may touch.
    pub candidates: Vec<(u32, u32, ObjectId)>,
    /// How many pairs each digest excluded.
    pub excluded: BTreeMap<String, u64>,
    /// Accesses through pointers with too many targets.
    pub vague: u64,
    /// Too many pairs to look at each: the object and how many were left out.
    pub left_out: Vec<(ObjectId, u64)>,
}

/// Pairs looked at per object before the rest is left out with a note.
const MAX_PAIRS: u64 = 4_000_000;

/// Accesses to one place of one object, with one size.
struct Cell {
    location: Location,
    size: u64,
    reads: Vec<u32>,
    writes: Vec<u32>,
}

pub fn find(accesses: &[GuardedAccess], whole: &Whole<'_>) -> Pairs {
    let mut index: BTreeMap<ObjectId, FxHashMap<(Location, u64), Cell>> = BTreeMap::new();
    let blob = whole.instantiation.points.blob().object;
    let mut vague = 0;
    for (number, access) in accesses.iter().enumerate() {
        for &location in access.locations.iter() {
            vague += u64::from(location.object == blob);
            if location.object == blob || !whole.instantiation.shared[location.object as usize] {
                continue;
            }
            let cell = index
                .entry(location.object)
                .or_default()
                .entry((location, access.size))
                .or_insert_with(|| Cell {
                    location,
                    size: access.size,
                    reads: Vec::new(),
                    writes: Vec::new(),
                });
            match access.kind {
                AccessKind::Read => cell.reads.push(number as u32),
                AccessKind::Write => cell.writes.push(number as u32),
            }
        }
    }
    let mut pairs = Pairs { vague, ..Pairs::default() };
    let mut seen: FxHashSet<(u32, u32)> = FxHashSet::default();
    for (object, cells) in index {
        let mut cells: Vec<Cell> = cells.into_values().collect();
        cells.sort_by_key(|cell| (cell.location, cell.size));
        search(object, &cells, accesses, whole, &mut pairs, &mut seen);
    }
    if vague > 0 {
        search_fields(accesses, whole, &mut pairs, &mut seen);
    }
    pairs.candidates.sort_unstable();
    pairs
}

/// Accesses through the blob may be to any of its objects; only those that the source calls by
/// the same field of the same type are looked at (RELAY's filter 2 drops them all).
fn search_fields(
    accesses: &[GuardedAccess],
    whole: &Whole<'_>,
    pairs: &mut Pairs,
    seen: &mut FxHashSet<(u32, u32)>,
) {
    let points = whole.instantiation.points;
    let blob = points.blob();
    let naming = Naming { instantiation: whole.instantiation };
    let mut fields: BTreeMap<String, Vec<(u32, bool)>> = BTreeMap::new();
    for (number, access) in accesses.iter().enumerate() {
        let inside = access.locations.iter().any(|at| points.in_blob(at.object));
        if inside && let Some(field) = naming.field(access) {
            let through = access.locations.iter().any(|at| at.object == blob.object);
            fields.entry(field).or_default().push((number as u32, through));
        }
    }
    for list in fields.values() {
        let mut looked = 0;
        for (position, &(first, vague)) in list.iter().enumerate() {
            for &(second, other_vague) in &list[position..] {
                let (a, b) = (&accesses[first as usize], &accesses[second as usize]);
                looked += 1;
                if looked > MAX_PAIRS_PER_FIELD
                    || !(vague || other_vague)
                    || !a.kind.conflicts_with(b.kind)
                {
                    continue;
                }
                if seen.insert((first.min(second), first.max(second))) {
                    judge(
                        (first.min(second), first.max(second)),
                        blob.object,
                        accesses,
                        whole,
                        pairs,
                    );
                }
            }
        }
    }
}

const MAX_PAIRS_PER_FIELD: u64 = 20_000;

fn search(
    object: ObjectId,
    cells: &[Cell],
    accesses: &[GuardedAccess],
    whole: &Whole<'_>,
    pairs: &mut Pairs,
    seen: &mut FxHashSet<(u32, u32)>,
) {
    let mut looked = 0u64;
    let mut left_out = 0u64;
    for (position, a) in cells.iter().enumerate() {
        for (later, b) in cells.iter().enumerate().skip(position) {
            if !may_overlap(a.location, a.size, b.location, b.size) {
                continue;
            }
            let same = later == position;
            let mut visit = |x: &[u32], y: &[u32], symmetric: bool| {
                for (i, &first) in x.iter().enumerate() {
                    let others = if symmetric { &y[i..] } else { y };
                    for &second in others {
                        looked += 1;
                        if looked > MAX_PAIRS {
                            left_out += 1;
                            continue;
                        }
                        let key = (first.min(second), first.max(second));
                        if seen.insert(key) {
                            judge(key, object, accesses, whole, pairs);
                        }
                    }
                }
            };
            visit(&a.writes, &b.writes, same);
            visit(&a.writes, &b.reads, false);
            if !same {
                visit(&a.reads, &b.writes, false);
            }
        }
    }
    if left_out > 0 {
        pairs.left_out.push((object, left_out));
    }
}

fn judge(
    (first, second): (u32, u32),
    object: ObjectId,
    accesses: &[GuardedAccess],
    whole: &Whole<'_>,
    pairs: &mut Pairs,
) {
    let (a, b) = (&accesses[first as usize], &accesses[second as usize]);
    // One access with itself races only when its thread has several instances.
    if first == second && !whole.instantiation.threads.roots[a.root as usize].many {
        return;
    }
    match exclusion(a, b, whole) {
        Some((reason, _)) => *pairs.excluded.entry(reason.to_owned()).or_default() += 1,
        None => pairs.candidates.push((first, second, object)),
    }
}
