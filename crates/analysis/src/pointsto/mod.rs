//! Points-to sets for the whole program: which objects a pointer may lead to, and through them
//! which functions an indirect call may reach.
//!
//! Paper 2 section 3.1 divides the pointers by Steensgaard's equivalence and looks closer inside
//! each class. Here the close look is an inclusion-based analysis, field-sensitive by byte
//! offset; classes that are too large for it are folded beforehand (see [`build`]). Flow- and
//! context-insensitive; the symbolic values restore both where locks and accesses need them.
//!
//! May miss: pointers made from integers that no pointer went into, pointers split over several
//! stores of less than eight bytes. Both are reported as accesses of unknown origin.

mod build;
mod kept;
mod locations;
mod solution;
mod solve;
mod steps;
mod tables;
mod tasks;

use std::borrow::Cow;
use std::hash::Hash;

use racewarden_ir::{ArgId, FunctionId, GlobalId, InstId, Module, Program, Type, TypeId, Value};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

pub use build::build;
pub use kept::{Beside, KeptPoints};
pub use locations::{Location, LocationId, Locations, ObjectId, ObjectKind, gcd, may_overlap};
pub use solution::Solution;
use solve::{Key, Node, Solver, keys_meet};

use crate::view::{Bytes, Digest};

fn in_order<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut list: Vec<T> = items.collect();
    list.sort_unstable();
    list
}

/// Whether a value of this type can hold an address.
pub fn carries(module: &Module, ty: TypeId) -> bool {
    match module.types.get(ty) {
        Type::Pointer | Type::Struct { .. } | Type::Vector { .. } | Type::Array { .. } => true,
        Type::Int { bits } => *bits >= 64,
        _ => false,
    }
}

/// A call instruction, by function and ordinal.
pub type CallSite = (FunctionId, u32);

type SetId = u32;

/// How many instructions functions have: nodes of parameters come after theirs.
pub trait Lengths {
    fn length(&self, function: FunctionId) -> u32;
}

impl Lengths for Program {
    fn length(&self, function: FunctionId) -> u32 {
        self.module.function(function).instructions.len() as u32
    }
}

/// What the solver found, without what it needed to find it: each set once, in order of places.
#[derive(Debug)]
pub struct PointsTo {
    locations: Locations,
    /// The set of each node; functions' nodes begin at their base.
    nodes: Vec<SetId>,
    sets: Vec<Box<[Location]>>,
    /// The set of pointers with too many targets.
    blob_set: Option<SetId>,
    blob_objects: FxHashSet<ObjectId>,
    /// What the places of an object may hold.
    cells: FxHashMap<ObjectId, Box<[(Key, SetId)]>>,
    /// First node of each function: instructions, then parameters, result, variadic arguments.
    bases: Vec<Node>,
    blob: Location,
    globals: Vec<LocationId>,
    functions: Vec<LocationId>,
    /// Nodes of computations that would have come to other sets with other numbers, sorted.
    moved: Vec<Node>,
    /// Targets of indirect calls, sorted.
    pub targets: FxHashMap<CallSite, Vec<FunctionId>>,
    /// Functions that a modelled call starts, calls back or registers, sorted.
    pub entries: FxHashMap<CallSite, Vec<FunctionId>>,
    /// What a thread that the call starts runs when its function has returned, sorted.
    pub ends: FxHashMap<CallSite, Vec<FunctionId>>,
}

impl PointsTo {
    /// Everything that runs because of a modelled call, on this thread or another.
    pub fn started(&self, site: &CallSite) -> impl Iterator<Item = FunctionId> + '_ {
        let lists = [self.entries.get(site), self.ends.get(site)];
        lists.into_iter().flatten().flatten().copied()
    }

    /// Everything that was found, in one number.
    pub fn digest(&self) -> Digest {
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
            moved: _,
            targets,
            entries,
            ends,
        } = self;
        let mut bytes = Bytes::default();
        (&locations.objects, &locations.sizes, &locations.table).hash(&mut bytes);
        (nodes, sets, blob_set, bases, blob, globals, functions).hash(&mut bytes);
        in_order(blob_objects.iter()).hash(&mut bytes);
        in_order(cells.iter()).hash(&mut bytes);
        for table in [targets, entries, ends] {
            in_order(table.iter()).hash(&mut bytes);
        }
        bytes.digest()
    }

    /// Takes over what the solver found.
    fn freeze(&mut self, solver: Solver) {
        let mut ids: FxHashMap<&[LocationId], SetId> = FxHashMap::default();
        let mut lists: Vec<&[LocationId]> = Vec::new();
        let mut of_node: Vec<SetId> = vec![SetId::MAX; solver.node_count()];
        let mut set_of = |node: Node| {
            let node = solver.find(node);
            if of_node[node as usize] == SetId::MAX {
                let list = solver.set(node);
                of_node[node as usize] = *ids.entry(list).or_insert_with(|| {
                    lists.push(list);
                    lists.len() as SetId - 1
                });
            }
            of_node[node as usize]
        };
        // The nodes after the last function's are of use to the solver alone.
        self.nodes.iter_mut().enumerate().for_each(|(node, set)| *set = set_of(node as Node));
        self.cells = solver
            .cells()
            .map(|(object, cells)| {
                (object, cells.iter().map(|&(key, node)| (key, set_of(node))).collect())
            })
            .collect();
        self.blob_set = solver.blob().map(&mut set_of);
        self.sets = lists
            .into_par_iter()
            .map(|list| {
                let mut places: Box<[Location]> =
                    list.iter().map(|&id| solver.locations.get(id)).collect();
                places.sort_unstable();
                places
            })
            .collect();
        self.blob_objects.clone_from(solver.blob_objects());
        self.locations = solver.locations;
    }

    pub fn locations(&self) -> &Locations {
        &self.locations
    }

    pub fn location(&self, id: LocationId) -> Location {
        self.locations.get(id)
    }

    pub fn inst(&self, function: FunctionId, inst: InstId) -> &[Location] {
        self.node(self.bases[function.index()] + inst.0)
    }

    pub fn argument(
        &self,
        program: &impl Lengths,
        function: FunctionId,
        argument: ArgId,
    ) -> &[Location] {
        self.node(self.bases[function.index()] + program.length(function) + argument.0)
    }

    fn node(&self, node: Node) -> &[Location] {
        let set = self.nodes[node as usize];
        if self.blob_set == Some(set) {
            return std::slice::from_ref(&self.blob);
        }
        &self.sets[set as usize]
    }

    /// The location that stands for everything a pointer with too many targets leads to.
    pub fn blob(&self) -> Location {
        self.blob
    }

    /// Whether the place is in a stack slot, which nobody may free.
    pub fn is_on_stack(&self, at: Location) -> bool {
        matches!(self.locations.objects[at.object as usize], ObjectKind::Stack(..))
    }

    /// Whether the object is among those that the blob stands for.
    pub fn in_blob(&self, object: ObjectId) -> bool {
        object == self.blob.object || self.blob_objects.contains(&object)
    }

    /// The objects that the blob stands for, sorted.
    pub fn blob_objects(&self) -> Vec<ObjectId> {
        let mut list: Vec<ObjectId> = self.blob_objects.iter().copied().collect();
        list.sort_unstable();
        list
    }

    /// The locations a value may point to, sorted.
    pub fn value(
        &self,
        program: &impl Lengths,
        function: FunctionId,
        value: &Value,
    ) -> Cow<'_, [Location]> {
        match value {
            Value::Inst(inst) => Cow::Borrowed(self.inst(function, *inst)),
            Value::Arg(argument) => Cow::Borrowed(self.argument(program, function, *argument)),
            Value::Global(global) => Cow::Owned(vec![self.location(self.globals[global.index()])]),
            Value::Function(target) => {
                Cow::Owned(vec![self.location(self.functions[target.index()])])
            }
            Value::Offset { base, offset } => {
                let mut locations = self.value(program, function, base).into_owned();
                for location in &mut locations {
                    location.offset = location.offset.wrapping_add(*offset);
                }
                Cow::Owned(locations)
            }
            _ => Cow::Borrowed(&[]),
        }
    }

    pub fn global_object(&self, global: GlobalId) -> ObjectId {
        self.location(self.globals[global.index()]).object
    }

    /// Everything each object's memory may point to, as object ids.
    pub fn successors(&self, object: ObjectId) -> Vec<ObjectId> {
        if object == self.blob.object {
            return self.blob_objects();
        }
        // What memory of the blob's objects holds is the blob.
        if self.blob_objects.contains(&object) {
            return vec![self.blob.object];
        }
        let cells = self.cells.get(&object).into_iter().flatten();
        let mut found: Vec<ObjectId> = cells
            .flat_map(|(_, set)| &self.sets[*set as usize])
            .map(|location| location.object)
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The functions a call may run; empty for a call of a function without a body.
    pub fn callees(&self, site: CallSite) -> &[FunctionId] {
        self.targets.get(&site).map_or(&[], Vec::as_slice)
    }

    /// What memory at these places may point to.
    pub fn contents(&self, places: &[Location]) -> Vec<Location> {
        if places.iter().any(|place| self.in_blob(place.object)) {
            return vec![self.blob];
        }
        let mut found: Vec<Location> = Vec::new();
        for place in places {
            let cells = self.cells.get(&place.object).into_iter().flatten();
            for (_, set) in cells.filter(|(key, _)| keys_meet(*key, (place.offset, place.stride))) {
                found.extend_from_slice(&self.sets[*set as usize]);
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}
