//! Where calls through pointers lead in one context.
//!
//! The points-to sets know no contexts: of two threads that a library's wrapper starts, each with a
//! function pointer in an object of its own, both seem to call both functions. A context knows where
//! its arguments point, so what is loaded through them is looked up again there: the contents of
//! those places alone.

use racewarden_ir::{Callee, FunctionId, Op, Value};

use crate::contexts::{ContextId, Instantiation};
use crate::pointsto::{Location, ObjectKind};
use crate::summary::Call;
use crate::sym::{Atom, LOCAL};

/// Loads and casts between an argument and the function that is called.
const MAX_STEPS: usize = 8;

/// Where a call leads in a context.
pub(crate) struct LeadsTo {
    inst: u32,
    functions: Option<Vec<FunctionId>>,
}

impl Instantiation<'_> {
    /// Whether the call, which may lead to several functions, does not lead to this one when it is
    /// made in the context. A call is listed once for each function that it may lead to, one after the
    /// other; `last` is what is known of the one that was asked for last.
    pub(crate) fn leads_elsewhere(
        &self,
        id: ContextId,
        call: &Call,
        last: &mut Option<LeadsTo>,
    ) -> bool {
        let function = self.contexts[id as usize].function;
        if self.points.callees((function, call.inst)).len() < 2 {
            return false;
        }
        if last.as_ref().is_none_or(|known| known.inst != call.inst) {
            *last =
                Some(LeadsTo { inst: call.inst, functions: self.functions_here(id, call.inst) });
        }
        let functions = last.as_ref().and_then(|known| known.functions.as_ref());
        functions.is_some_and(|list| list.binary_search(&call.callee).is_err())
    }

    /// The functions that the call leads to in the context, sorted; `None` when that is not known.
    fn functions_here(&self, id: ContextId, inst: u32) -> Option<Vec<FunctionId>> {
        let function = self.contexts[id as usize].function;
        let (Callee::Indirect(target) | Callee::Virtual { function: target, .. }) =
            self.bodies.callee((function, inst))?
        else {
            return None;
        };
        let found = self.targets_here(id, target, MAX_STEPS)?;
        let objects = &self.points.locations().objects;
        let named = found.iter().filter_map(|at| match objects[at.object as usize] {
            ObjectKind::Function(function) => Some(function),
            _ => None,
        });
        let mut functions: Vec<FunctionId> = named.collect();
        functions.sort_unstable();
        (!found.is_empty()).then_some(functions)
    }

    /// Where the value may point in the context; `None` when nothing better is known than by the
    /// points-to sets.
    fn targets_here(&self, id: ContextId, value: &Value, steps: usize) -> Option<Vec<Location>> {
        let steps = steps.checked_sub(1)?;
        let function = self.contexts[id as usize].function;
        match value {
            Value::Arg(argument) => {
                let sym = self.bind(id, &Atom::Argument(LOCAL, argument.0))?;
                let found = self.locations_of(&sym)?;
                let lost = |at: &Location| {
                    let any = Some(at.object) == self.nowhere && at.stride == 1;
                    any || self.points.in_blob(at.object)
                };
                (!found.iter().any(lost)).then_some(found)
            }
            Value::Inst(inst) => match &*self.bodies.op((function, inst.0))? {
                Op::Load { address, size: 8, .. } => self.contents_here(id, address, steps),
                // A pointer to a member is loaded as a whole, the function first.
                Op::ExtractValue { aggregate: Value::Inst(whole), path } => {
                    match &*self.bodies.op((function, whole.0))? {
                        Op::Load { address, .. } if matches!(**path, [0]) => {
                            self.contents_here(id, address, steps)
                        }
                        _ => None,
                    }
                }
                Op::Address { base, offset, indices } if indices.is_empty() => {
                    let mut places = self.targets_here(id, base, steps)?;
                    for place in &mut places {
                        place.offset = place.offset.wrapping_add(*offset);
                    }
                    Some(places)
                }
                Op::Cast { value, .. } | Op::Freeze { value } => {
                    self.targets_here(id, value, steps)
                }
                Op::Phi { incoming } => {
                    let mut all = Vec::new();
                    let mut better = false;
                    for edge in incoming {
                        match self.targets_here(id, &edge.value, steps) {
                            Some(found) => {
                                better = true;
                                all.extend(found);
                            }
                            None => all.extend_from_slice(&self.anywhere(function, &edge.value)),
                        }
                    }
                    better.then_some(all)
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn contents_here(&self, id: ContextId, address: &Value, steps: usize) -> Option<Vec<Location>> {
        let places = self.targets_here(id, address, steps)?;
        let found = self.points.contents(&places);
        let lost = |at: &Location| self.points.in_blob(at.object);
        (!found.iter().any(lost)).then_some(found)
    }

    fn anywhere(&self, function: FunctionId, value: &Value) -> Vec<Location> {
        self.points.value(&self.bodies, function, value).into_owned()
    }
}
