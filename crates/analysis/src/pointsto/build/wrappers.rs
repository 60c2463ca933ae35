//! Functions that return memory which they have just allocated: `xmalloc`, `new_node` and the like.
//!
//! What such a function returns is another object at each place that calls it directly, as it would be
//! if the place called the allocator itself. The function's own pointer may be to any of them, so
//! nothing that it does to the memory is missed.
//!
//! May miss nothing; is vague where a function is called from more than [`MOST`] places or by pointer,
//! and where it returns an address inside of what it has allocated: there all callers share one object.

use racewarden_ir::{Callee, Function, FunctionId, Op, Program, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Builder;
use crate::effects::{Effect, Effects};
use crate::pointsto::CallSite;
use crate::pointsto::solve::Node;

/// Places that share out a function's memory. Each is one more object that its own pointer may lead to.
const MOST: usize = 48;

/// The library's templates are made for each type anyway, and are known by the functions that allocate.
const LIBRARY: [&str; 4] = ["_ZNSt", "_ZSt", "_ZNKSt", "_ZN9__gnu_cxx"];

#[derive(Default)]
pub(super) struct Wrappers {
    /// By function: the calls whose memory it returns.
    roots: FxHashMap<FunctionId, Vec<u32>>,
    /// By call that allocates: the places outside to which its memory goes.
    given: FxHashMap<CallSite, Vec<CallSite>>,
}

impl Wrappers {
    pub fn new(program: &Program, effects: &Effects) -> Self {
        let mut wrappers = Wrappers { roots: roots(program, effects), ..Wrappers::default() };
        wrappers.find_places(program, effects);
        wrappers
    }

    /// Finds who calls which, and gives up those that too many call, with all that return what they do:
    /// whose memory it is must be known all the way from the allocator.
    fn find_places(&mut self, program: &Program, effects: &Effects) {
        let mut places: FxHashMap<FunctionId, Vec<CallSite>> = FxHashMap::default();
        for function in program.module.function_ids() {
            let instructions = &program.module.function(function).instructions;
            for (index, instruction) in (0u32..).zip(instructions) {
                if let Some(target) = called(&instruction.op)
                    && self.roots.contains_key(&target)
                {
                    places.entry(target).or_default().push((function, index));
                }
            }
        }
        loop {
            let few = |function: &FunctionId| self.reach(*function, &places, &mut Vec::new());
            let lasting: FxHashSet<FunctionId> = self.roots.keys().copied().filter(few).collect();
            let known = |id: &FunctionId| {
                let instructions = &program.module.function(*id).instructions;
                self.roots[id].iter().all(|inst| {
                    called(&instructions[*inst as usize].op).is_some_and(|target| {
                        effects.of(target).is_some() || lasting.contains(&target)
                    })
                })
            };
            let before = self.roots.len();
            let kept: FxHashSet<FunctionId> = lasting.iter().copied().filter(known).collect();
            self.roots.retain(|function, _| kept.contains(function));
            if self.roots.len() == before {
                break;
            }
        }
        for (&function, roots) in &self.roots {
            let mut reached = Vec::new();
            self.reach(function, &places, &mut reached);
            reached.sort_unstable();
            reached.dedup();
            for root in roots {
                self.given.insert((function, *root), reached.clone());
            }
        }
    }

    /// Adds the places that get what the function returns, however far out; whether they are few.
    fn reach(
        &self,
        function: FunctionId,
        places: &FxHashMap<FunctionId, Vec<CallSite>>,
        reached: &mut Vec<CallSite>,
    ) -> bool {
        for &(caller, inst) in places.get(&function).into_iter().flatten() {
            reached.push((caller, inst));
            let passes_on = self.roots.get(&caller).is_some_and(|roots| roots.contains(&inst));
            if reached.len() > MOST || (passes_on && !self.reach(caller, places, reached)) {
                return false;
            }
        }
        true
    }
}

/// The functions whose every result is null or what a call of theirs has allocated, with those calls.
fn roots(program: &Program, effects: &Effects) -> FxHashMap<FunctionId, Vec<u32>> {
    let module = &program.module;
    let mut found: FxHashMap<FunctionId, Vec<u32>> = FxHashMap::default();
    let mut open: Vec<(FunctionId, Vec<u32>)> = Vec::new();
    for id in module.function_ids() {
        let function = module.function(id);
        let name = module.name_text(function.name);
        if function.is_declaration()
            || effects.of(id).is_some()
            || LIBRARY.iter().any(|prefix| name.starts_with(prefix))
        {
            continue;
        }
        if let Some(calls) = returned_calls(function) {
            open.push((id, calls));
        }
    }
    // A function that returns what another one allocates is found after it.
    loop {
        let known = found.len();
        open.retain(|(id, calls)| {
            let function = module.function(*id);
            let fresh = calls.iter().all(|inst| {
                let target = called(&function.instructions[*inst as usize].op);
                target.is_some_and(|target| match effects.of(target) {
                    Some(effects) => only_allocates(effects),
                    None => found.contains_key(&target),
                })
            });
            if fresh {
                found.insert(*id, calls.clone());
            }
            !fresh
        });
        if found.len() == known {
            return found;
        }
    }
}

fn called(op: &Op) -> Option<FunctionId> {
    match op {
        Op::Call { callee: Callee::Direct(target), .. } => Some(*target),
        _ => None,
    }
}

/// Whether a call returns new memory and nothing else.
fn only_allocates(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::Allocate { out: None, .. }))
        && effects.iter().all(|effect| {
            matches!(effect, Effect::Allocate { out: None, .. } | Effect::Access { .. })
        })
}

/// The calls whose results a function returns; `None` when it returns anything else.
fn returned_calls(function: &Function) -> Option<Vec<u32>> {
    let mut open: Vec<&Value> = Vec::new();
    for instruction in &function.instructions {
        if let Op::Return { value } = &instruction.op {
            open.push(value.as_ref()?);
        }
    }
    let (mut calls, mut seen) = (Vec::new(), FxHashSet::default());
    while let Some(value) = open.pop() {
        let inst = match value {
            Value::Inst(inst) => inst.0,
            Value::Null | Value::Undef { .. } => continue,
            _ => return None,
        };
        if !seen.insert(inst) {
            continue;
        }
        match &function.instructions[inst as usize].op {
            Op::Call { .. } => calls.push(inst),
            Op::Phi { incoming } => open.extend(incoming.iter().map(|edge| &edge.value)),
            Op::Select { then, otherwise, .. } => open.extend([then, otherwise]),
            Op::Freeze { value } => open.push(value),
            _ => return None,
        }
    }
    calls.sort_unstable();
    (!calls.is_empty()).then_some(calls)
}

impl Builder<'_> {
    /// A direct call: what an allocating function returns is an object of the place that calls it.
    pub(super) fn pass_direct(
        &mut self,
        place: CallSite,
        target: FunctionId,
        arguments: &[Value],
        nodes: &[Option<Node>],
        own: Node,
    ) {
        if self.wrappers.roots.contains_key(&target) {
            let location = self.heap(place, 0);
            self.solver.add(own, &[location]);
            let returned = self.solver.node();
            self.pass_to_body(target, nodes, returned);
        } else {
            self.pass(place, target, arguments, nodes, own);
        }
        let Some(given) = self.wrappers.given.get(&place).cloned() else { return };
        let mut locations: Vec<_> =
            given.into_iter().map(|outside| self.heap(outside, 0)).collect();
        locations.sort_unstable();
        self.solver.add(own, &locations);
    }
}
