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
mod locations;
mod solve;

use racewarden_ir::{ArgId, FunctionId, GlobalId, InstId, Program, Value};
use rustc_hash::FxHashMap;

pub use build::build;
pub use locations::{Location, LocationId, Locations, ObjectId, ObjectKind, gcd, may_overlap};
use solve::{Node, Solver};

/// A call instruction, by function and ordinal.
pub type CallSite = (FunctionId, u32);

#[derive(Debug)]
pub struct PointsTo {
    solver: Solver,
    /// First node of each function: instructions, then parameters, result, variadic arguments.
    bases: Vec<Node>,
    blob: Location,
    globals: Vec<LocationId>,
    functions: Vec<LocationId>,
    /// Targets of indirect calls, sorted.
    pub targets: FxHashMap<CallSite, Vec<FunctionId>>,
    /// Functions that a modelled call starts, calls back or registers, sorted.
    pub entries: FxHashMap<CallSite, Vec<FunctionId>>,
}

impl PointsTo {
    pub fn locations(&self) -> &Locations {
        &self.solver.locations
    }

    pub fn location(&self, id: LocationId) -> Location {
        self.solver.locations.get(id)
    }

    pub fn inst(&self, function: FunctionId, inst: InstId) -> Vec<Location> {
        self.node(self.bases[function.index()] + inst.0)
    }

    pub fn argument(
        &self,
        program: &Program,
        function: FunctionId,
        argument: ArgId,
    ) -> Vec<Location> {
        let count = program.module.function(function).instructions.len() as u32;
        self.node(self.bases[function.index()] + count + argument.0)
    }

    fn node(&self, node: Node) -> Vec<Location> {
        if self.solver.is_blob(node) {
            return vec![self.blob];
        }
        self.get_all(self.solver.set(node))
    }

    /// The location that stands for everything a pointer with too many targets leads to.
    pub fn blob(&self) -> Location {
        self.blob
    }

    /// Whether the object is among those that the blob stands for.
    pub fn in_blob(&self, object: ObjectId) -> bool {
        object == self.blob.object || self.solver.blob_objects().contains(&object)
    }

    /// The objects that the blob stands for, sorted.
    pub fn blob_objects(&self) -> Vec<ObjectId> {
        let mut list: Vec<ObjectId> = self.solver.blob_objects().iter().copied().collect();
        list.sort_unstable();
        list
    }

    /// The locations a value may point to.
    pub fn value(&self, program: &Program, function: FunctionId, value: &Value) -> Vec<Location> {
        match value {
            Value::Inst(inst) => self.inst(function, *inst),
            Value::Arg(argument) => self.argument(program, function, *argument),
            Value::Global(global) => vec![self.location(self.globals[global.index()])],
            Value::Function(target) => vec![self.location(self.functions[target.index()])],
            Value::Offset { base, offset } => {
                let mut locations = self.value(program, function, base);
                for location in &mut locations {
                    location.offset = location.offset.wrapping_add(*offset);
                }
                locations
            }
            _ => Vec::new(),
        }
    }

    fn get_all(&self, set: &[LocationId]) -> Vec<Location> {
        set.iter().map(|&id| self.location(id)).collect()
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
        if self.solver.blob_objects().contains(&object) {
            return vec![self.blob.object];
        }
        self.solver.successors(object)
    }

    /// The functions a call may run; empty for a call of a function without a body.
    pub fn callees(&self, program: &Program, site: CallSite) -> &[FunctionId] {
        let _ = program;
        self.targets.get(&site).map_or(&[], Vec::as_slice)
    }

    /// What memory at these places may point to.
    pub fn contents(&self, places: &[Location]) -> Vec<Location> {
        if places.iter().any(|place| self.in_blob(place.object)) {
            return vec![self.blob];
        }
        let mut found = self.solver.contents(places);
        found.sort_unstable();
        found.dedup();
        found.into_iter().map(|id| self.location(id)).collect()
    }
}
