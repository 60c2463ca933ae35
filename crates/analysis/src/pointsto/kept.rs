//! Points-to sets as they are kept, to be held against those of the program after an edit.
//!
//! Sets are kept as digests: all that is asked is whether they are what they were, with instructions of
//! edited functions and objects under other numbers.

use std::hash::Hash;

use racewarden_ir::FunctionId;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{
    CallSite, Key, Location, Locations, Node, ObjectId, ObjectKind, PointsTo, SetId, in_order,
};
use crate::takeover::{NONE, Renaming};
use crate::view::{Bytes, Digest};

type Called = Vec<(CallSite, Vec<FunctionId>)>;

#[derive(Serialize, Deserialize)]
pub struct KeptPoints {
    objects: Vec<ObjectKind>,
    sizes: Vec<u64>,
    nodes: Vec<SetId>,
    bases: Vec<Node>,
    sets: Vec<Digest>,
    blob_set: Option<SetId>,
    blob: Location,
    blob_objects: Vec<ObjectId>,
    cells: Vec<(ObjectId, Vec<(Key, SetId)>)>,
    targets: Called,
    entries: Called,
    ends: Called,
}

fn called(table: &FxHashMap<CallSite, Vec<FunctionId>>) -> Called {
    in_order(table.iter().map(|(site, list)| (*site, list.clone())))
}

fn digest_of(set: impl Iterator<Item = Location>) -> Digest {
    let mut bytes = Bytes::default();
    set.for_each(|at| at.hash(&mut bytes));
    bytes.digest()
}

impl PointsTo {
    pub fn keep(&self) -> KeptPoints {
        // Taken apart so that a part added to the result is not forgotten here.
        let PointsTo {
            locations,
            nodes,
            sets,
            blob_set,
            blob_objects,
            cells,
            bases,
            blob,
            globals: _,
            functions: _,
            moved: _,
            targets,
            entries,
            ends,
        } = self;
        let Locations { objects, sizes, .. } = locations;
        KeptPoints {
            objects: objects.clone(),
            sizes: sizes.clone(),
            nodes: nodes.clone(),
            bases: bases.clone(),
            sets: sets.iter().map(|set| digest_of(set.iter().copied())).collect(),
            blob_set: *blob_set,
            blob: *blob,
            blob_objects: in_order(blob_objects.iter().copied()),
            cells: in_order(
                cells.iter().map(|(object, cells)| (*object, in_order(cells.iter().copied()))),
            ),
            targets: called(targets),
            entries: called(entries),
            ends: called(ends),
        }
    }

    /// The nodes of each function begin here.
    fn nodes_of(&self, function: usize) -> std::ops::Range<usize> {
        range_of(&self.bases, self.nodes.len(), function)
    }
}

fn range_of(bases: &[Node], end: usize, function: usize) -> std::ops::Range<usize> {
    bases[function] as usize..bases.get(function + 1).map_or(end, |next| *next as usize)
}

/// A program's points-to sets beside those of one before an edit.
pub struct Beside<'a> {
    pub kept: &'a KeptPoints,
    pub points: &'a PointsTo,
    /// From the numbers before the edit to those after it, and back.
    pub forth: Renaming,
    pub back: Renaming,
    /// Of each set: its digest with the numbers from before the edit, if it has such.
    sets: Vec<Option<Digest>>,
}

impl<'a> Beside<'a> {
    /// `forth` and `back` know instructions; `None` when objects have another order.
    pub fn new(
        kept: &'a KeptPoints,
        points: &'a PointsTo,
        mut forth: Renaming,
        mut back: Renaming,
    ) -> Option<Self> {
        let objects = &points.locations.objects;
        let number = |kind: &ObjectKind| points.locations.find_object(forth.kind(*kind)?);
        forth.objects = kept.objects.iter().map(|kind| number(kind).unwrap_or(NONE)).collect();
        let known = || forth.objects.iter().filter(|object| **object != NONE);
        if !known().is_sorted_by(|a, b| a < b) {
            return None;
        }
        back.objects = vec![NONE; objects.len()];
        for (old, new) in (0u32..).zip(&forth.objects) {
            if *new != NONE {
                back.objects[*new as usize] = old;
            }
        }
        let digest = |set: &[Location]| {
            let old: Option<Vec<Location>> = set.iter().map(|at| back.location(*at)).collect();
            old.map(|set| digest_of(set.into_iter()))
        };
        let sets = points.sets.iter().map(|set| digest(set)).collect();
        Some(Beside { kept, points, forth, back, sets })
    }

    fn same_set(&self, old: SetId, new: SetId) -> bool {
        let old = self.kept.sets.get(old as usize);
        old.is_some() && old == self.sets[new as usize].as_ref()
    }

    fn same_node(&self, old: usize, new: usize) -> bool {
        let (Some(&old), Some(&new)) = (self.kept.nodes.get(old), self.points.nodes.get(new))
        else {
            return false;
        };
        match (Some(old) == self.kept.blob_set, Some(new) == self.points.blob_set) {
            (true, true) => true,
            (false, false) => self.same_set(old, new),
            _ => false,
        }
    }

    /// Forgets instructions of edited functions whose results do not point to what they did; whether
    /// all else points to what it did. `lengths` are how many instructions a function had and has.
    pub fn compare(&mut self, lengths: &dyn Fn(FunctionId) -> (usize, usize)) -> bool {
        let (kept, points) = (self.kept, self.points);
        if kept.bases.len() != points.bases.len() || !self.same_objects() {
            return false;
        }
        let mut other = Vec::new();
        for function in 0..kept.bases.len() {
            let id = FunctionId::new(function);
            let old = range_of(&kept.bases, kept.nodes.len(), function);
            let new = points.nodes_of(function);
            let (before, after) = match self.forth.insts.get(&id) {
                None => (0, 0),
                Some(_) => lengths(id),
            };
            if old.len().checked_sub(before) != new.len().checked_sub(after) {
                return false;
            }
            for inst in 0..before as u32 {
                if let Some(now) = self.forth.inst(id, inst)
                    && !self.same_node(old.start + inst as usize, new.start + now as usize)
                {
                    other.push((id, inst, now));
                }
            }
            let rest = (old.start + before..old.end).zip(new.start + after..new.end);
            if !rest.into_iter().all(|(old, new)| self.same_node(old, new)) {
                return false;
            }
        }
        for (function, inst, now) in other {
            // What the instruction makes would have no name any more.
            let makes = |kind: ObjectKind| points.locations.find_object(kind).is_some();
            if makes(ObjectKind::Stack(function, now)) || makes(ObjectKind::Heap(function, now)) {
                return false;
            }
            for (renaming, at) in [(&mut self.forth, inst), (&mut self.back, now)] {
                if let Some(list) = renaming.insts.get_mut(&function) {
                    list[at as usize] = NONE;
                }
            }
        }
        let tables = [
            (&kept.targets, &points.targets),
            (&kept.entries, &points.entries),
            (&kept.ends, &points.ends),
        ];
        tables.into_iter().all(|(old, new)| self.same_calls(old, new))
    }

    /// Whether what pointers with too many targets lead to is the same, with no object that was not there
    /// and none that is there no more.
    pub fn same_blob(&self) -> bool {
        let now = in_order(self.points.blob_objects.iter().copied());
        let before = self.kept.blob_objects.iter().map(|object| self.forth.object(*object));
        before.collect::<Option<Vec<ObjectId>>>() == Some(now)
            && match (self.kept.blob_set, self.points.blob_set) {
                (Some(old), Some(new)) => self.same_set(old, new),
                (None, None) => true,
                _ => false,
            }
    }

    /// Whether objects are as large as they were, and hold what they held.
    fn same_objects(&self) -> bool {
        let (kept, points) = (self.kept, self.points);
        let cells: FxHashMap<ObjectId, &Vec<(Key, SetId)>> =
            kept.cells.iter().map(|(object, cells)| (*object, cells)).collect();
        let nothing = Vec::new();
        let same = |(old, &new): (u32, &u32)| {
            if new == NONE {
                return true;
            }
            let before = *cells.get(&old).unwrap_or(&&nothing);
            let now = points.cells.get(&new).map(|cells| in_order(cells.iter().copied()));
            let now = now.unwrap_or_default();
            kept.sizes[old as usize] == points.locations.sizes[new as usize]
                && kept.blob_objects.binary_search(&old).is_ok()
                    == points.blob_objects.contains(&new)
                && before.len() == now.len()
                && before
                    .iter()
                    .zip(&now)
                    .all(|((key, set), (other, now))| key == other && self.same_set(*set, *now))
        };
        self.forth.location(kept.blob) == Some(points.blob)
            && (0u32..).zip(&self.forth.objects).all(same)
    }

    /// Whether calls that were there before and are there now lead to the same functions.
    fn same_calls(&self, old: &Called, new: &FxHashMap<CallSite, Vec<FunctionId>>) -> bool {
        let known = |site: &CallSite| {
            old.binary_search_by_key(site, |(own, _)| *own).ok().map(|at| &old[at].1)
        };
        old.iter().all(|(site, list)| match self.forth.site(*site) {
            Some(now) => new.get(&now) == Some(list),
            None => true,
        }) && new.iter().all(|(site, list)| match self.back.site(*site) {
            Some(before) => known(&before) == Some(list),
            None => true,
        })
    }
}
