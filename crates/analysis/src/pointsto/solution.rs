//! Points-to sets as they are kept whole, for programs that differ in what functions compute and compare.
//!
//! Constraints are made of which values instructions take, which the [skeleton](crate::view) has, and of
//! operators and numbers in computations, of which it has none: no other number leads anywhere. So two
//! programs of one skeleton whose functions compute the same have the same sets, and so have those that
//! compute otherwise with values that lead nowhere, or to no certain place in objects
//! ([`Solution::holds_for`]): what is to be done with what comes to a value is never done when nothing does,
//! and moves nothing that is anywhere.

use racewarden_ir::{BinaryOp, Function, FunctionId, Op, Value};
use serde::{Deserialize, Serialize};

use super::{
    CallSite, Key, Location, LocationId, Locations, Node, ObjectId, ObjectKind, PointsTo, SetId,
    in_order,
};
use crate::view::Digest;

type Called = Vec<(CallSite, Vec<FunctionId>)>;

/// All of [`PointsTo`].
#[derive(Serialize, Deserialize)]
pub struct Solution {
    objects: Vec<ObjectKind>,
    sizes: Vec<u64>,
    table: Vec<Location>,
    nodes: Vec<SetId>,
    sets: Vec<Vec<Location>>,
    blob_set: Option<SetId>,
    blob_objects: Vec<ObjectId>,
    cells: Vec<(ObjectId, Vec<(Key, SetId)>)>,
    bases: Vec<Node>,
    blob: Location,
    globals: Vec<LocationId>,
    functions: Vec<LocationId>,
    called: [Called; 3],
    /// Of all of it.
    pub digest: Digest,
}

impl Solution {
    pub fn new(points: &PointsTo, digest: Digest) -> Self {
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
            globals,
            functions,
            targets,
            entries,
            ends,
        } = points;
        let Locations { objects, sizes, table, .. } = locations;
        Solution {
            objects: objects.clone(),
            sizes: sizes.clone(),
            table: table.clone(),
            nodes: nodes.clone(),
            sets: sets.iter().map(|set| set.to_vec()).collect(),
            blob_set: *blob_set,
            blob_objects: in_order(blob_objects.iter().copied()),
            cells: in_order(cells.iter().map(|(object, cells)| (*object, cells.to_vec()))),
            bases: bases.clone(),
            blob: *blob,
            globals: globals.clone(),
            functions: functions.clone(),
            called: [targets, entries, ends]
                .map(|table| in_order(table.iter().map(|(site, list)| (*site, list.clone())))),
            digest,
        }
    }

    pub fn points(self) -> PointsTo {
        let [targets, entries, ends] = self.called.map(|table| table.into_iter().collect());
        let cells = self.cells.into_iter();
        PointsTo {
            locations: Locations::settled(self.objects, self.sizes, self.table),
            nodes: self.nodes,
            sets: self.sets.into_iter().map(Vec::into_boxed_slice).collect(),
            blob_set: self.blob_set,
            blob_objects: self.blob_objects.into_iter().collect(),
            cells: cells.map(|(object, cells)| (object, cells.into_boxed_slice())).collect(),
            bases: self.bases,
            blob: self.blob,
            globals: self.globals,
            functions: self.functions,
            targets,
            entries,
            ends,
        }
    }

    /// Whether the function leads to the same sets as the one with the same skeleton that was there when
    /// this was solved.
    pub fn holds_for(&self, id: FunctionId, before: &Function, now: &Function) -> bool {
        let mut both = before.instructions.iter().zip(&now.instructions);
        before.instructions.len() == now.instructions.len()
            && both.all(|(before, now_inst)| match (&before.op, &now_inst.op) {
                (Op::Binary { op, left, right }, Op::Binary { op: other, left: a, right: b }) => {
                    (op, left, right) == (other, a, b)
                        || [left, right, a, b].into_iter().all(|value| {
                            let leads = self.leads(id, now.instructions.len(), value);
                            leads == Leads::Nowhere
                                || (leads == Leads::Anywhere && moves(*op) && moves(*other))
                        })
                }
                (Op::Binary { .. }, _) | (_, Op::Binary { .. }) => false,
                _ => true,
            })
    }

    /// Where a value leads, in a function of so many instructions.
    fn leads(&self, id: FunctionId, length: usize, value: &Value) -> Leads {
        let base = self.bases.get(id.index()).map_or(usize::MAX, |base| *base as usize);
        let node = match value {
            Value::Inst(inst) => inst.index(),
            Value::Arg(argument) => length + argument.index(),
            Value::Int { .. } | Value::Float { .. } => return Leads::Nowhere,
            _ => return Leads::Somewhere,
        };
        let set = self.nodes.get(base.saturating_add(node));
        match set.and_then(|set| self.sets.get(*set as usize)) {
            None => Leads::Somewhere,
            Some(_) if self.blob_set == set.copied() => Leads::Somewhere,
            Some(places) if places.is_empty() => Leads::Nowhere,
            // Whatever is added, it is anywhere in the same objects.
            Some(places) if places.iter().all(|at| at.stride == 1) => Leads::Anywhere,
            Some(_) => Leads::Somewhere,
        }
    }
}

#[derive(PartialEq, Eq)]
enum Leads {
    Nowhere,
    /// To no certain place in objects.
    Anywhere,
    Somewhere,
}

/// Whether addresses come out of the computation, moved.
fn moves(op: BinaryOp) -> bool {
    use BinaryOp::{Add, And, Or, Sub, Xor};
    matches!(op, Add | Sub | And | Or | Xor)
}
