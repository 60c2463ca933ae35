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

    pub fn inst(&self, function: FunctionId, inst: InstId) -> &[LocationId] {
        self.solver.set(self.bases[function.index()] + inst.0)
    }

    pub fn argument(
        &self,
        program: &Program,
        function: FunctionId,
        argument: ArgId,
    ) -> &[LocationId] {
        let count = program.module.function(function).instructions.len() as u32;
        self.solver.set(self.bases[function.index()] + count + argument.0)
    }

    /// The locations a value may point to.
    pub fn value(&self, program: &Program, function: FunctionId, value: &Value) -> Vec<Location> {
        match value {
            Value::Inst(inst) => self.get_all(self.inst(function, *inst)),
            Value::Arg(argument) => self.get_all(self.argument(program, function, *argument)),
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

    pub fn get_all(&self, set: &[LocationId]) -> Vec<Location> {
        set.iter().map(|&id| self.location(id)).collect()
    }

    pub fn global_object(&self, global: GlobalId) -> ObjectId {
        self.location(self.globals[global.index()]).object
    }

    /// Everything each object's memory may point to, as object ids.
    pub fn successors(&self, object: ObjectId) -> Vec<ObjectId> {
        self.solver.successors(object)
    }

    /// The functions a call may run; empty for a call of a function without a body.
    pub fn callees(&self, program: &Program, site: CallSite) -> &[FunctionId] {
        let _ = program;
        self.targets.get(&site).map_or(&[], Vec::as_slice)
    }

    /// What memory at these places may point to.
    pub fn contents(&self, places: &[Location]) -> Vec<Location> {
        let mut found = self.solver.contents(places);
        found.sort_unstable();
        found.dedup();
        found.into_iter().map(|id| self.location(id)).collect()
    }
}
