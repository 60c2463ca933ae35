//! Threads that nobody can wait for, although their handles are at hand.
//!
//! A thread may be created detached, by an attribute, or detach itself. Joining one is an error that
//! comes back at once, and mostly nobody looks. (One that is detached by its handle later is followed
//! where that is done.)

use racewarden_ir::{Callee, Function, FunctionId, Op, Program, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::callgraph::CallGraph;
use crate::pointsto::{ObjectId, PointsTo};

#[derive(Debug, Default)]
pub struct Detached {
    /// Attributes that threads may be created detached by.
    pub attributes: FxHashSet<ObjectId>,
    /// Functions that may detach the thread that runs them.
    pub starts: FxHashSet<FunctionId>,
}

const SET_STATE: &str = "pthread_attr_setdetachstate";
const DETACH: [&str; 2] = ["pthread_detach", "thrd_detach"];
const ITSELF: [&str; 2] = ["pthread_self", "thrd_current"];

impl Detached {
    pub fn new(program: &Program, points: &PointsTo, graph: &CallGraph) -> Self {
        let module = &program.module;
        let mut detached = Detached::default();
        let set_state = module.function_by_symbol(SET_STATE);
        let detach = DETACH.map(|symbol| module.function_by_symbol(symbol));
        if set_state.is_none() && detach == [None; 2] {
            return detached;
        }
        for id in module.function_ids() {
            let function = module.function(id);
            for instruction in &function.instructions {
                let Op::Call { callee: Callee::Direct(target), arguments, .. } = &instruction.op
                else {
                    continue;
                };
                // A model speaks for the function, so that this number is not among the details that a
                // re-check leaves out.
                let joinable = matches!(arguments.get(1), Some(Value::Int { bits: 0, .. }));
                if Some(*target) == set_state && !joinable {
                    let places = arguments.first().map(|value| points.value(program, id, value));
                    let objects = places.iter().flat_map(|list| list.iter()).map(|at| at.object);
                    detached.attributes.extend(objects);
                }
                let itself = arguments.first().is_some_and(|a| is_itself(program, function, a));
                if detach.contains(&Some(*target)) && itself {
                    detached.starts.insert(id);
                }
            }
        }
        detached.spread(graph);
        detached
    }

    /// Adds the callers of functions that are in already.
    fn spread(&mut self, graph: &CallGraph) {
        if self.starts.is_empty() {
            return;
        }
        let mut callers: FxHashMap<FunctionId, Vec<FunctionId>> = FxHashMap::default();
        for (caller, callees) in (0u32..).map(FunctionId).zip(&graph.callees) {
            for callee in callees {
                callers.entry(*callee).or_default().push(caller);
            }
        }
        let mut queue: Vec<FunctionId> = self.starts.iter().copied().collect();
        while let Some(function) = queue.pop() {
            for caller in callers.get(&function).into_iter().flatten() {
                if self.starts.insert(*caller) {
                    queue.push(*caller);
                }
            }
        }
    }
}

/// Whether the value is the handle of the thread that asks.
pub fn is_itself(program: &Program, function: &Function, value: &Value) -> bool {
    let Value::Inst(inst) = value else { return false };
    let Op::Call { callee: Callee::Direct(target), .. } = &function.inst(*inst).op else {
        return false;
    };
    ITSELF.contains(&program.module.name_text(program.module.function(*target).name))
}
