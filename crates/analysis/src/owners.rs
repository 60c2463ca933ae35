//! What the last owner of a `std::shared_ptr` does comes after what all owners did before.
//!
//! libstdc++ counts the owners of an object in a block. Whoever takes the count to zero destroys the
//! object and frees the block (`_M_dispose`, `_M_destroy`); every owner has then given up its
//! reference, and the count's atomic steps order what each did before that. So what is done there
//! to the object, the block and what containers in the object own cannot race with
//!
//! - what the library does to blocks itself, which it reaches by references only;
//! - accesses by a pointer that was just taken from a `shared_ptr`: as long as nothing is called in
//!   between that may give up a reference, the `shared_ptr` it came from still has its own (whoever
//!   changes that `shared_ptr` at the same time races on it, which is another pair);
//! - accesses by the allocation's own name in a function that gives up a reference to it later, on
//!   every way out.
//!
//! A pointer that is kept elsewhere (`get`) is loaded from another place, and not excluded.
//!
//! Assumed: an aliasing `shared_ptr` points into what it owns. Not seen: functions that are run by the
//! last owner and by others as well, pointers that were passed through functions returning them.

use racewarden_ir::{BlockId, Callee, CompareOp, Function, FunctionId, InstId, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::callgraph::CallGraph;
use crate::cfg::Cfg;
use crate::contexts::{GuardedAccess, Instantiation};
use crate::digests::{Digest, Whole};
use crate::pointsto::{CallSite, ObjectId};

#[derive(Debug, Default)]
pub struct Owners {
    /// Accesses that only the last owner makes, to what it owned.
    last: FxHashSet<CallSite>,
    /// Accesses by owners.
    owned: FxHashSet<CallSite>,
}

pub struct LastOwner;

impl Digest for LastOwner {
    fn name(&self) -> &'static str {
        "last owner"
    }

    fn excludes(&self, a: &GuardedAccess, b: &GuardedAccess, whole: &Whole<'_>) -> Option<String> {
        let owners = &whole.owners;
        if owners.last.is_empty() {
            return None;
        }
        let last = |access: &GuardedAccess| owners.last.contains(&(access.function, access.inst));
        let owned = |access: &GuardedAccess| owners.owned.contains(&(access.function, access.inst));
        let apart = (last(a) && (last(b) || owned(b))) || (last(b) && owned(a));
        apart.then(|| {
            "one is made by the last owner, when the others have given up theirs".to_owned()
        })
    }
}

const BLOCK: &str = "_Sp_counted_";
const RELEASE: &str = "_M_release";
/// What only the last owner runs.
const AT_END: [&str; 4] = ["_M_disposeEv", "_M_destroyEv", "_M_release_last_use", "ED0Ev"];
/// Members of these load the pointers that owners have.
const POINTERS: [&str; 6] = [
    "std::__shared_ptr<",
    "std::__shared_ptr_access<",
    "std::shared_ptr<",
    "std::__shared_count<",
    "std::__weak_ptr<",
    "std::__weak_count<",
];
/// Members of these load pointers to what the container alone owns.
const CONTAINERS: [&str; 9] = [
    "std::vector<",
    "std::_Vector_base<",
    "std::unique_ptr<",
    "std::__uniq_ptr_impl<",
    "std::__cxx11::basic_string<",
    "std::_Rb_tree<",
    "std::__cxx11::list<",
    "std::_Hashtable<",
    "std::_Deque_base<",
];
/// Pointers that a pointer may come from.
const MAX_DEPTH: usize = 12;

impl Owners {
    pub fn new(instantiation: &Instantiation<'_>) -> Self {
        let mut owners = Owners::default();
        let Some(mut search) = Search::new(instantiation) else { return owners };
        let mut objects: FxHashSet<ObjectId> = FxHashSet::default();
        let mut judged: FxHashMap<CallSite, bool> = FxHashMap::default();
        for access in instantiation.all_accesses() {
            let site = (access.function, access.inst);
            let inside = search.at_end[site.0.index()] || search.blocks[site.0.index()];
            let belongs = inside && *judged.entry(site).or_insert_with(|| search.belongs_at(site));
            if belongs && search.at_end[site.0.index()] {
                owners.last.insert(site);
                objects.extend(access.locations.iter().map(|at| at.object));
            } else if belongs {
                owners.owned.insert(site);
            }
        }
        search.objects = objects;
        judged.clear();
        for access in instantiation.all_accesses() {
            let site = (access.function, access.inst);
            let concerned = access.locations.iter().any(|at| search.objects.contains(&at.object));
            if concerned && *judged.entry(site).or_insert_with(|| search.is_owned(site)) {
                owners.owned.insert(site);
            }
        }
        owners
    }
}

struct Search<'a> {
    instantiation: &'a Instantiation<'a>,
    /// The library's functions that work on blocks.
    blocks: Vec<bool>,
    /// Functions that only the last owner runs.
    at_end: Vec<bool>,
    /// Functions that may give up a reference.
    releases: Vec<bool>,
    callers: FxHashMap<FunctionId, Vec<CallSite>>,
    /// What the last owner accesses.
    objects: FxHashSet<ObjectId>,
    bodies: FxHashMap<FunctionId, Body<'a>>,
    /// Whether what a parameter points to is an owner's; `None` while that is being found out. Who asks
    /// meanwhile, in a recursion, gets a no: a yes would be kept though what it rests on may turn out wrong.
    given: FxHashMap<(FunctionId, u32), Option<bool>>,
    belonging: FxHashMap<(FunctionId, u32), Option<bool>>,
}

struct Body<'a> {
    function: &'a Function,
    cfg: Cfg,
    /// Instructions that may give up a reference.
    releasing: Vec<bool>,
}

impl<'a> Search<'a> {
    /// `None` in programs without such blocks.
    fn new(instantiation: &'a Instantiation<'a>) -> Option<Self> {
        let bodies = &instantiation.bodies;
        let symbols: Vec<&str> = bodies.ids().map(|id| bodies.symbol(id)).collect();
        let blocks: Vec<bool> = symbols.iter().map(|symbol| is_block(symbol)).collect();
        if !blocks.contains(&true) {
            return None;
        }
        let names = |wanted: &[&str]| -> Vec<bool> {
            let named = |symbol: &str| wanted.iter().any(|part| symbol.contains(part));
            symbols.iter().zip(&blocks).map(|(symbol, is)| *is && named(symbol)).collect()
        };
        let mut callers: FxHashMap<FunctionId, Vec<CallSite>> = FxHashMap::default();
        for (caller, calls) in bodies.ids().zip(&instantiation.graph.calls) {
            for (inst, targets) in calls {
                for target in targets {
                    callers.entry(*target).or_default().push((caller, *inst));
                }
            }
        }
        let mut at_end = names(&AT_END);
        let mut releases = names(&[RELEASE]);
        spread_to_callees(instantiation.graph, &callers, &entries(instantiation), &mut at_end);
        spread_to_callers(&callers, &mut releases);
        Some(Search {
            instantiation,
            blocks,
            at_end,
            releases,
            callers,
            objects: FxHashSet::default(),
            bodies: FxHashMap::default(),
            given: FxHashMap::default(),
            belonging: FxHashMap::default(),
        })
    }

    fn body(&mut self, id: FunctionId) -> &Body<'a> {
        let (instantiation, releases) = (self.instantiation, &self.releases);
        self.bodies.entry(id).or_insert_with(|| {
            let function = instantiation.bodies.of(id);
            let mut releasing = vec![false; function.instructions.len()];
            for (inst, targets) in &instantiation.graph.calls[id.index()] {
                releasing[*inst as usize] |= targets.iter().any(|to| releases[to.index()]);
            }
            Body { function, cfg: Cfg::new(function), releasing }
        })
    }

    /// Whether all that the instruction accesses belongs to a block.
    fn belongs_at(&mut self, site: CallSite) -> bool {
        let function = self.body(site.0).function;
        let (points, bodies) = (self.instantiation.points, &self.instantiation.bodies);
        let mut all = pointers(&function.inst(InstId(site.1)).op);
        all.retain(|value| !points.value(bodies, site.0, value).is_empty());
        !all.is_empty() && all.into_iter().all(|value| self.belongs(site, value, MAX_DEPTH))
    }

    /// Whether the value points into a block, the object that it owns or what containers in that own.
    fn belongs(&mut self, (id, inst): CallSite, value: &Value, depth: usize) -> bool {
        let function = self.body(id).function;
        let Some(depth) = depth.checked_sub(1) else { return false };
        match base_of(function, value) {
            Value::Arg(argument) if self.blocks[id.index()] => argument.0 == 0,
            Value::Arg(argument) => {
                let key = (id, argument.0);
                if let Some(known) = self.belonging.get(&key) {
                    return known.unwrap_or(false);
                }
                self.belonging.insert(key, None);
                let calls = self.callers.get(&id).cloned().unwrap_or_default();
                let all = !calls.is_empty()
                    && calls.into_iter().all(|call| {
                        let passed = self.passed(call, argument.0);
                        passed.is_some_and(|value| self.belongs(call, value, depth))
                    });
                self.belonging.insert(key, Some(all));
                all
            }
            Value::Inst(load) => match &function.inst(*load).op {
                Op::Load { address, .. } => {
                    let from = self.written_in(id, *load, &[&POINTERS, &CONTAINERS]);
                    (from || self.blocks[id.index()]) && self.belongs((id, load.0), address, depth)
                }
                Op::Phi { incoming } => incoming.iter().all(|edge| {
                    let end = function.block(edge.block).end.0 - 1;
                    // Round a loop the same is asked again.
                    edge.value == Value::Inst(*load) || inst == end || {
                        self.belongs((id, end), &edge.value, depth)
                    }
                }),
                _ => false,
            },
            Value::Null => true,
            _ => false,
        }
    }

    fn is_owned(&mut self, site: CallSite) -> bool {
        let function = self.body(site.0).function;
        let all = pointers(&function.inst(InstId(site.1)).op);
        let concerned: Vec<&Value> =
            all.into_iter().filter(|value| self.concerns(site.0, value)).collect();
        !concerned.is_empty()
            && concerned.into_iter().all(|value| self.keeps(site, value, MAX_DEPTH))
    }

    /// Whether the value may point to what the last owner accesses.
    fn concerns(&self, id: FunctionId, value: &Value) -> bool {
        let places = self.instantiation.points.value(&self.instantiation.bodies, id, value);
        places.iter().any(|at| self.objects.contains(&at.object))
    }

    /// Whether the thread is an owner of what the value points to, or of what contains it, at the
    /// instruction.
    fn keeps(&mut self, (id, inst): CallSite, value: &Value, depth: usize) -> bool {
        let function = self.body(id).function;
        let Some(depth) = depth.checked_sub(1) else { return false };
        match base_of(function, value) {
            Value::Arg(argument) => {
                let known = if self.blocks[id.index()] && argument.0 == 0 {
                    true
                } else {
                    self.is_given(id, argument.0, depth)
                };
                known && self.is_clear(id, None, inst)
            }
            Value::Inst(from) => match &function.inst(*from).op {
                Op::Load { address, .. } => {
                    let pointer = self.written_in(id, *from, &[&POINTERS]);
                    let inside = self.written_in(id, *from, &[&CONTAINERS]);
                    (pointer || (inside && self.keeps((id, from.0), address, depth)))
                        && self.is_clear(id, Some(from.0), inst)
                }
                Op::Phi { incoming } => {
                    self.is_clear(id, Some(from.0), inst)
                        && incoming.iter().all(|edge| {
                            let end = function.block(edge.block).end.0 - 1;
                            let same = matches!(base_of(function, &edge.value),
                                Value::Inst(other) if other == from);
                            if same {
                                return self.is_clear(id, Some(from.0), end);
                            }
                            self.keeps((id, end), &edge.value, depth)
                        })
                }
                Op::Call { .. } if self.instantiation.is_allocation(id, from.0) => {
                    self.gives_up_later(id, inst, from.0)
                }
                _ => false,
            },
            Value::Null => true,
            _ => false,
        }
    }

    /// Whether whoever passes the parameter is an owner of what it points to.
    fn is_given(&mut self, id: FunctionId, index: u32, depth: usize) -> bool {
        if let Some(known) = self.given.get(&(id, index)) {
            return known.unwrap_or(false);
        }
        self.given.insert((id, index), None);
        let calls = self.callers.get(&id).cloned().unwrap_or_default();
        let all = !calls.is_empty()
            && calls.into_iter().all(|call| {
                let passed = self.passed(call, index);
                passed.is_some_and(|value| {
                    !self.concerns(call.0, value) || self.keeps(call, value, depth)
                })
            });
        self.given.insert((id, index), Some(all));
        all
    }

    fn passed(&self, call: CallSite, index: u32) -> Option<&'a Value> {
        let body = self.instantiation.bodies.of(call.0);
        match &body.inst(InstId(call.1)).op {
            Op::Call {
                arguments,
                callee: Callee::Direct(_) | Callee::Indirect(_) | Callee::Virtual { .. },
                ..
            } => arguments.get(index as usize),
            _ => None,
        }
    }

    /// Whether the instruction was written in a member of one of these classes.
    fn written_in(&self, id: FunctionId, inst: InstId, classes: &[&[&str]]) -> bool {
        let bodies = &self.instantiation.bodies;
        let name = match bodies.inlined((id, inst.0)).first() {
            Some(frame) => bodies.text(frame.function),
            None => bodies.display_name(id).unwrap_or_default(),
        };
        classes.iter().any(|list| list.iter().any(|class| name.starts_with(class)))
    }

    /// Whether nothing that may give up a reference comes between the first instruction, or the
    /// function's start, and the second.
    fn is_clear(&mut self, id: FunctionId, from: Option<u32>, to: u32) -> bool {
        let body = self.body(id);
        let first = body.cfg.block_of[to as usize];
        let mut seen: FxHashSet<u32> = FxHashSet::default();
        let mut stack = vec![(first, to)];
        while let Some((block, end)) = stack.pop() {
            let start = body.function.blocks[block as usize].start.0;
            let stop = from.filter(|from| (start..end).contains(from));
            let begin = stop.map_or(start, |from| from + 1);
            if (begin..end).any(|inst| body.releasing[inst as usize]) {
                return false;
            }
            if stop.is_none() {
                for &before in &body.cfg.predecessors[block as usize] {
                    if seen.insert(before) {
                        stack.push((before, body.function.blocks[before as usize].end.0));
                    }
                }
            }
        }
        true
    }

    /// Whether every way from the instruction on gives up a reference to the allocation.
    fn gives_up_later(&mut self, id: FunctionId, inst: u32, allocation: u32) -> bool {
        let (bodies, blocks) = (&self.instantiation.bodies, self.blocks.clone());
        let body = self.body(id);
        let (function, cfg) = (body.function, &body.cfg);
        let names_it = |value: &Value| matches!(base_of(function, value), Value::Inst(base) if base.0 == allocation);
        let gives_up = |op: &Op| match op {
            Op::Call { callee: Callee::Direct(target), arguments, .. } => {
                blocks[target.index()]
                    && bodies.symbol(*target).contains(RELEASE)
                    && arguments.first().is_some_and(&names_it)
            }
            _ => false,
        };
        let mut seen: FxHashSet<u32> = FxHashSet::default();
        let mut stack = vec![(cfg.block_of[inst as usize], inst + 1)];
        while let Some((block, start)) = stack.pop() {
            let end = function.blocks[block as usize].end.0;
            let mut own = (start..end).map(|at| &function.instructions[at as usize].op);
            if own.any(gives_up) {
                continue;
            }
            let open: Vec<u32> = match &function.instructions[end as usize - 1].op {
                Op::Return { .. } | Op::Resume { .. } => return false,
                Op::Branch { condition: Value::Inst(condition), then, otherwise } => {
                    // An allocation is not null.
                    let side = |(left, right): (&Value, &Value), (yes, no): (BlockId, BlockId)| {
                        let null = *right == Value::Null && names_it(left);
                        if null { vec![yes.0] } else { vec![yes.0, no.0] }
                    };
                    match &function.inst(*condition).op {
                        Op::Compare { op: CompareOp::Ne, left, right } => {
                            side((left, right), (*then, *otherwise))
                        }
                        Op::Compare { op: CompareOp::Eq, left, right } => {
                            side((left, right), (*otherwise, *then))
                        }
                        _ => cfg.successors[block as usize].to_vec(),
                    }
                }
                _ => cfg.successors[block as usize].to_vec(),
            };
            for to in open {
                if seen.insert(to) {
                    stack.push((to, function.blocks[to as usize].start.0));
                }
            }
        }
        true
    }
}

/// Whether the symbol is a member of one of the classes that count references.
fn is_block(symbol: &str) -> bool {
    let Some(rest) = symbol.strip_prefix("_ZNKSt").or_else(|| symbol.strip_prefix("_ZNSt")) else {
        return false;
    };
    rest.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(BLOCK)
}

/// Functions that threads start with, or the program.
fn entries(instantiation: &Instantiation<'_>) -> FxHashSet<FunctionId> {
    let contexts = instantiation.contexts.iter();
    let starts = contexts.filter(|context| {
        let caller = context.parent.map(|(parent, _)| &instantiation.contexts[parent as usize]);
        caller.is_none_or(|caller| caller.root != context.root)
    });
    starts.map(|context| context.function).collect()
}

/// Adds functions that nobody else calls.
fn spread_to_callees(
    graph: &CallGraph,
    callers: &FxHashMap<FunctionId, Vec<CallSite>>,
    entries: &FxHashSet<FunctionId>,
    marked: &mut [bool],
) {
    let mut queue: Vec<usize> = (0..marked.len()).filter(|function| marked[*function]).collect();
    while let Some(function) = queue.pop() {
        for callee in &graph.callees[function] {
            let by_marked = |(caller, _): &CallSite| marked[caller.index()];
            let only = callers.get(callee).is_some_and(|calls| calls.iter().all(by_marked));
            if only && !marked[callee.index()] && !entries.contains(callee) {
                marked[callee.index()] = true;
                queue.push(callee.index());
            }
        }
    }
}

fn spread_to_callers(callers: &FxHashMap<FunctionId, Vec<CallSite>>, marked: &mut [bool]) {
    let ids = (0..marked.len() as u32).map(FunctionId);
    let mut queue: Vec<FunctionId> = ids.filter(|id| marked[id.index()]).collect();
    while let Some(function) = queue.pop() {
        for (caller, _) in callers.get(&function).into_iter().flatten() {
            if !std::mem::replace(&mut marked[caller.index()], true) {
                queue.push(*caller);
            }
        }
    }
}

/// The pointers that an instruction may access memory by.
fn pointers(op: &Op) -> Vec<&Value> {
    match op {
        Op::Load { address, .. }
        | Op::Store { address, .. }
        | Op::AtomicRmw { address, .. }
        | Op::CompareExchange { address, .. } => vec![address],
        Op::MemCopy { to, from, .. } => vec![to, from],
        Op::MemSet { to, .. } => vec![to],
        Op::Call { arguments, .. } => {
            arguments.iter().filter(|value| !matches!(value, Value::Int { .. })).collect()
        }
        _ => Vec::new(),
    }
}

/// What a value is an address inside of.
fn base_of<'a>(function: &'a Function, mut value: &'a Value) -> &'a Value {
    loop {
        value = match value {
            Value::Offset { base, .. } => base,
            Value::Inst(inst) => match &function.inst(*inst).op {
                Op::Address { base, .. } => base,
                Op::Cast { value, .. } | Op::Freeze { value } => value,
                _ => return value,
            },
            _ => return value,
        }
    }
}
