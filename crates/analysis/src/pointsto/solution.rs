//! Points-to sets as they are kept whole, for programs that differ in what functions compute and compare.
//!
//! Constraints are made of which values instructions take, which the [skeleton](crate::view) has, and of
//! operators and numbers in computations, of which it has none: no other number leads anywhere. So two
//! programs of one skeleton whose functions compute the same have the same sets, and so have those that
//! compute otherwise with values that lead nowhere, or that were never moved from one certain place to
//! another ([`Solution::holds_for`]): what is to be done with what comes to a value is never done when
//! nothing does, and what is anywhere in an object is so after any step.

use racewarden_ir::{BinaryOp, Function, FunctionId, Op, TypeId, Value};
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
    moved: Vec<Node>,
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
            moved,
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
            moved: moved.clone(),
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
            moved: self.moved,
            targets,
            entries,
            ends,
        }
    }

    /// Whether the function leads to the same sets as the one with the same skeleton that was there when
    /// this was solved. `carries` says whether values of a type can hold an address.
    pub fn holds_for(
        &self,
        id: FunctionId,
        before: &Function,
        now: &Function,
        carries: &dyn Fn(TypeId) -> bool,
    ) -> bool {
        let mut both = (0..).zip(before.instructions.iter().zip(&now.instructions));
        before.instructions.len() == now.instructions.len()
            && both.all(|(index, (before, after))| match (&before.op, &after.op) {
                (Op::Binary { op, left, right }, Op::Binary { op: other, left: a, right: b }) => {
                    let leads_nowhere = || {
                        [left, right, a, b].into_iter().all(|value| self.is_empty(id, now, value))
                    };
                    (op, left, right) == (other, a, b)
                        || !carries(after.ty)
                        || match (moves(*op), moves(*other)) {
                            (true, true) => !self.is_moved(id, index),
                            (false, false) => true,
                            _ => leads_nowhere(),
                        }
                }
                (Op::Binary { .. }, _) | (_, Op::Binary { .. }) => false,
                _ => true,
            })
    }

    /// Whether an instruction has moved something by the distance that it says.
    fn is_moved(&self, id: FunctionId, index: u32) -> bool {
        let Some(base) = self.bases.get(id.index()) else { return true };
        self.moved.binary_search(&base.saturating_add(index)).is_ok()
    }

    /// Whether the value in the function leads nowhere.
    fn is_empty(&self, id: FunctionId, function: &Function, value: &Value) -> bool {
        let node = match value {
            Value::Inst(inst) => inst.index(),
            Value::Arg(argument) => function.instructions.len() + argument.index(),
            Value::Int { .. } | Value::Float { .. } => return true,
            _ => return false,
        };
        let base = self.bases.get(id.index()).map_or(usize::MAX, |base| *base as usize);
        let set = self.nodes.get(base.saturating_add(node));
        self.blob_set != set.copied()
            && set.and_then(|set| self.sets.get(*set as usize)).is_some_and(Vec::is_empty)
    }
}

/// Whether addresses come out of the computation, moved.
fn moves(op: BinaryOp) -> bool {
    use BinaryOp::{Add, And, Or, Sub, Xor};
    matches!(op, Add | Sub | And | Or | Xor)
}
