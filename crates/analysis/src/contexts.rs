//! Guarded accesses of every thread, absolute: the functions' summaries instantiated from the
//! thread roots downwards.
//!
//! RELAY copies a callee's guarded accesses into each caller's summary until they reach the
//! thread's entry. The result is the same, but the copies grow with the depth of the call graph;
//! here each function keeps its own accesses once, relative to its entry, and a calling context
//! (actuals, locks held, threads alive) is pushed down to it. Contexts are kept apart up to
//! [`MAX_CONTEXTS`] per function and root; further ones know no actuals, one for each state that the
//! function is entered in, up to [`MAX_STATES`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use racewarden_finding::AccessKind;
use racewarden_ir::{ArgId, Callee, FunctionId, Op, Program, Value};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::actuals::{Actuals, Formals, frames, named};
use crate::callgraph::{CallGraph, effects_of_call};
use crate::distinct::Distinct;
use crate::effects::{Effect, Effects, Entry, Passed};
use crate::entry::{entry_state, purge};
use crate::flow::{KEPT, compose, kept_at};
use crate::loose::loosely_published;
use crate::pointsto::{CallSite, Location, ObjectId, ObjectKind, PointsTo, gcd};
use crate::state::{CreateId, Live, MAX_CHAIN, Path};
use crate::summary::{Call, Create, Summary};
use crate::sym::{Atom, Frame, LOCAL, Sym};
use crate::threads::{MAIN, RootId, Threads};

pub type ContextId = u32;

#[derive(Debug)]
pub struct Context {
    pub function: FunctionId,
    pub root: RootId,
    pub arguments: Vec<Option<Sym>>,
    /// Where opaque arguments may point, when it is known better than by the formal.
    pub argument_points: Vec<Option<Vec<Location>>>,
    /// Arguments that only this thread knows yet.
    pub private: BTreeSet<u32>,
    /// Arguments without a name here that are addresses of this thread's own stack slots and
    /// allocations, as bits.
    pub own: u64,
    pub entry: Path,
    /// The calls from the thread's entry, where the function may create threads.
    pub chain: SmallVec<[CallSite; 2]>,
    /// Several contexts in one: the chain and the actuals are not known.
    pub merged: bool,
    /// Who called it first, for the stack that reports show.
    pub parent: Option<(ContextId, u32)>,
    /// How often it is entered; more than once when called in a loop.
    pub entered: u32,
}

#[derive(Debug, Clone)]
pub struct GuardedAccess {
    pub root: RootId,
    pub context: ContextId,
    pub function: FunctionId,
    pub inst: u32,
    pub kind: AccessKind,
    pub size: u64,
    pub atomic: bool,
    pub address: Option<Sym>,
    pub locations: Arc<[Location]>,
    pub state: Arc<Path>,
    pub private: bool,
}

pub struct Instantiation<'a> {
    pub program: &'a Program,
    pub effects: &'a Effects,
    pub points: &'a PointsTo,
    pub graph: &'a CallGraph,
    pub summaries: &'a [Arc<Summary>],
    pub shared: &'a [bool],
    pub contexts: Vec<Context>,
    pub threads: Threads,
    pub accesses: Vec<GuardedAccess>,
    /// Whether contexts had to be joined.
    pub joined_contexts: bool,
    index: FxHashMap<(RootId, FunctionId), Vec<ContextId>>,
    /// Contexts that know no actuals, at most [`MAX_STATES`]; the last may join several states.
    generic: FxHashMap<(RootId, FunctionId), Vec<ContextId>>,
    queue: Vec<ContextId>,
    /// Joined contexts that are in the queue.
    queued_generic: FxHashSet<ContextId>,
    total: usize,
    pub(crate) formals: Formals,
    /// An object that only one thread can reach.
    pub(crate) nowhere: Option<ObjectId>,
    /// Objects that others may come to know without being ordered after what was done to them.
    loose: FxHashSet<ObjectId>,
}

const MAX_CONTEXTS: usize = 8;
/// States that are kept apart once actuals are not.
const MAX_STATES: usize = 4;
const MAX_TOTAL: usize = 60_000;

impl<'a> Instantiation<'a> {
    pub fn new(
        program: &'a Program,
        effects: &'a Effects,
        points: &'a PointsTo,
        graph: &'a CallGraph,
        summaries: &'a [Arc<Summary>],
        shared: &'a [bool],
    ) -> Self {
        Instantiation {
            program,
            effects,
            points,
            graph,
            summaries,
            shared,
            contexts: Vec::new(),
            threads: Threads::default(),
            accesses: Vec::new(),
            joined_contexts: false,
            index: FxHashMap::default(),
            generic: FxHashMap::default(),
            queue: Vec::new(),
            queued_generic: FxHashSet::default(),
            total: 0,
            formals: Formals::new(program, effects, points, summaries),
            nowhere: shared.iter().position(|shared| !shared).map(|object| object as ObjectId),
            loose: loosely_published(program, points),
        }
    }

    /// Follows the program from its start functions, in order, as one thread.
    pub fn run(&mut self, starts: &[FunctionId], exported: &[FunctionId]) {
        let mut state = Path::default();
        for (index, &start) in starts.iter().enumerate() {
            if index == 0 {
                self.threads.root(None, start);
            }
            self.enter(MAIN, start, Actuals::default(), state.clone(), None);
            if let Some(summary) = self.summaries.get(start.index())
                && let Some(end) = joined_exit(summary)
            {
                compose(&mut state, &end, &[], &|_| None);
                state.held.clear();
            }
        }
        if starts.is_empty() && !exported.is_empty() {
            self.threads.root(None, FunctionId(u32::MAX));
        }
        // Any number of threads outside, each of which may call any of the functions.
        if !exported.is_empty() {
            let root = self.threads.outside();
            for &function in exported {
                self.enter(root, function, Actuals::default(), Path::default(), None);
            }
        }
        while let Some(context) = self.queue.pop() {
            self.process(context);
        }
        self.mark_ends();
        self.collect();
    }

    fn enter(
        &mut self,
        root: RootId,
        function: FunctionId,
        Actuals { mut arguments, points: argument_points, own, private }: Actuals,
        entry: Path,
        parent: Option<(ContextId, u32)>,
    ) -> ContextId {
        let mut entry = entry_state(entry);
        let chain = self.chain(root, function, parent);
        let frames = frames(&arguments, &entry);
        let count = self.index.entry((root, function)).or_default().len();
        for position in 0..count {
            let id = self.index[&(root, function)][position];
            let frame = id + 1;
            if frames.contains(&frame) {
                purge(&mut arguments, &mut entry, frame);
            }
            let context = &mut self.contexts[id as usize];
            if context.arguments == arguments
                && context.own == own
                && context.private == private
                && context.entry == entry
                && context.chain == chain
                && context.argument_points == argument_points
            {
                context.entered = context.entered.saturating_add(1);
                return id;
            }
        }
        let list = &self.index[&(root, function)];
        if list.len() >= MAX_CONTEXTS || self.total >= MAX_TOTAL {
            return self.enter_generic(root, function, entry, parent);
        }
        let id = self.contexts.len() as ContextId;
        self.contexts.push(Context {
            function,
            root,
            arguments,
            argument_points,
            private,
            own,
            entry,
            chain,
            merged: false,
            parent,
            entered: 1,
        });
        self.total += 1;
        self.index.entry((root, function)).or_default().push(id);
        self.queue.push(id);
        id
    }

    /// The calls that tell threads created below apart; none where no thread is created.
    fn chain(
        &self,
        root: RootId,
        function: FunctionId,
        parent: Option<(ContextId, u32)>,
    ) -> SmallVec<[CallSite; 2]> {
        let mut chain = SmallVec::new();
        if let Some((caller, inst)) = parent
            && self.contexts[caller as usize].root == root
            && self.graph.may_create[function.index()]
        {
            let caller = &self.contexts[caller as usize];
            chain = caller.chain.clone();
            chain.push((caller.function, inst));
            let extra = chain.len().saturating_sub(MAX_CHAIN);
            chain.drain(..extra);
        }
        chain
    }

    fn enter_generic(
        &mut self,
        root: RootId,
        function: FunctionId,
        mut entry: Path,
        parent: Option<(ContextId, u32)>,
    ) -> ContextId {
        self.joined_contexts = true;
        let known = self.generic.get(&(root, function)).cloned().unwrap_or_default();
        for &id in &known {
            purge(&mut [], &mut entry, id + 1);
            let context = &mut self.contexts[id as usize];
            if context.entry == entry {
                context.entered = context.entered.saturating_add(2);
                return id;
            }
        }
        if let Some(&id) = known.get(MAX_STATES - 1) {
            let context = &mut self.contexts[id as usize];
            context.entered = context.entered.saturating_add(2);
            let mut joined = context.entry.clone();
            joined.join(&entry);
            if joined != context.entry {
                context.entry = joined;
                if self.queued_generic.insert(id) {
                    self.queue.push(id);
                }
            }
            return id;
        }
        let id = self.contexts.len() as ContextId;
        self.contexts.push(Context {
            function,
            root,
            arguments: Vec::new(),
            argument_points: Vec::new(),
            private: BTreeSet::new(),
            own: 0,
            entry,
            chain: SmallVec::new(),
            merged: true,
            parent,
            entered: 2,
        });
        self.generic.entry((root, function)).or_default().push(id);
        self.queued_generic.insert(id);
        self.queue.push(id);
        id
    }

    fn process(&mut self, id: ContextId) {
        self.queued_generic.remove(&id);
        let summary = self.summaries[self.contexts[id as usize].function.index()].clone();
        // The state at the last call, relative and absolute: mostly the next one's, too.
        let mut last: Option<(&Arc<Path>, Path, FxHashSet<Atom>)> = None;
        for call in &summary.calls {
            let (entry, named) = match last.take() {
                Some((state, entry, named)) if Arc::ptr_eq(state, &call.state) => (entry, named),
                _ => {
                    let entry = entry_state(self.absolute(id, &call.state));
                    let named = named(&entry);
                    (entry, named)
                }
            };
            self.call(id, call, &entry, &named);
            last = Some((&call.state, entry, named));
        }
        for create in &summary.creates {
            self.create(id, create);
        }
    }

    /// Names a function's relative values in this context.
    pub fn bind(&self, id: ContextId, atom: &Atom) -> Option<Sym> {
        let frame: Frame = id + 1;
        Some(match atom {
            Atom::Argument(LOCAL, index) => {
                match self.contexts[id as usize].arguments.get(*index as usize) {
                    Some(Some(sym)) => sym.clone(),
                    _ => Sym::atom(Atom::Argument(frame, *index)),
                }
            }
            Atom::Inst(LOCAL, inst) => Sym::inst(frame, *inst),
            Atom::Stack(LOCAL, inst) => Sym::atom(Atom::Stack(frame, *inst)),
            other => Sym::atom(other.clone()),
        })
    }

    pub fn absolute(&self, id: ContextId, relative: &Path) -> Path {
        let mut path = self.contexts[id as usize].entry.clone();
        let context = &self.contexts[id as usize];
        if context.merged && !relative.threads.is_empty() {
            let mut relative = relative.clone();
            let threads: BTreeMap<CreateId, Live> = relative
                .threads
                .iter()
                .map(|(id, live)| {
                    let live = live.clone();
                    let many = Live {
                        many: true,
                        repeated: true,
                        handle: None,
                        value: None,
                        range: None,
                        ..live
                    };
                    (CreateId::any(id.site), many)
                })
                .collect();
            relative.threads = threads.into();
            compose(&mut path, &relative, &[], &|atom| self.bind(id, atom));
            return path;
        }
        compose(&mut path, relative, &context.chain, &|atom| self.bind(id, atom));
        path
    }

    fn call(&mut self, id: ContextId, call: &Call, entry: &Path, named: &FxHashSet<Atom>) {
        let arguments: Vec<Option<Sym>> = call
            .arguments
            .iter()
            .map(|argument| argument.as_ref()?.substitute(&|atom| self.bind(id, atom)))
            .collect();
        let mut private = BTreeSet::new();
        for (index, argument) in call.arguments.iter().enumerate() {
            if let Some(sym) = argument
                && self.formals.matters(call.callee, index as u32)
                && self.is_private(id, sym, &call.state)
            {
                private.insert(index as u32);
            }
        }
        let root = self.contexts[id as usize].root;
        let actuals = Actuals { arguments, private, ..Actuals::default() };
        let actuals = self.telling((root, call.callee), actuals, named);
        let parent = Some((id, call.inst));
        let entry = entry.clone();
        let entered = self.enter(root, call.callee, actuals, entry, parent);
        if self.is_repeated(self.contexts[id as usize].function, call.inst) {
            let context = &mut self.contexts[entered as usize];
            context.entered = context.entered.saturating_add(1);
        }
    }

    /// Whether the value points to memory that nobody but this thread knows.
    fn is_private(&self, id: ContextId, sym: &Sym, state: &Path) -> bool {
        let function = self.contexts[id as usize].function;
        sym.terms.iter().any(|(atom, scale)| {
            *scale == 1
                && match atom {
                    Atom::Stack(LOCAL, inst) => !state.escaped.contains(inst),
                    Atom::Inst(LOCAL, inst) => {
                        self.is_allocation(function, *inst) && !state.escaped.contains(inst)
                    }
                    Atom::Argument(LOCAL, index) => {
                        self.contexts[id as usize].private.contains(index)
                            && !state.escaped_arguments.contains(index)
                    }
                    _ => false,
                }
        })
    }

    pub fn is_allocation(&self, function: FunctionId, inst: u32) -> bool {
        let Some(instruction) =
            self.program.module.function(function).instructions.get(inst as usize)
        else {
            return false;
        };
        let Op::Call { callee: Callee::Direct(target), .. } = &instruction.op else { return false };
        match self.effects.of(*target) {
            Some(effects) => {
                effects.iter().any(|effect| matches!(effect, Effect::Allocate { out: None, .. }))
            }
            None => self.summaries[target.index()].returns_fresh,
        }
    }

    fn is_repeated(&self, function: FunctionId, inst: u32) -> bool {
        self.graph.is_in_cycle(function, inst)
    }

    fn create(&mut self, id: ContextId, create: &Create) {
        let function = self.contexts[id as usize].function;
        let state = Arc::new(self.absolute(id, &create.state));
        let parent = self.contexts[id as usize].root;
        let targets = match self.start_of(id, create.inst) {
            Some(start) => vec![start],
            None => self.points.entries.get(&(function, create.inst)).cloned().unwrap_or_default(),
        };
        let argument =
            create.argument.as_ref().and_then(|sym| sym.substitute(&|atom| self.bind(id, atom)));
        let context = &self.contexts[id as usize];
        let merged = context.merged;
        let created = if merged {
            CreateId::any((function, create.inst))
        } else {
            CreateId::new((function, create.inst)).called_from(&context.chain)
        };
        let alive: Vec<&Live> = state
            .threads
            .iter()
            .filter(|(id, live)| id.may_be(&created) && !live.ended)
            .map(|(_, live)| live)
            .collect();
        let again = merged || !alive.is_empty();
        let repeated = merged || alive.iter().any(|live| live.current || live.repeated);
        let kind = self.team_or_task((function, create.inst));
        let apart = create.apart.or_else(|| self.apart_by_caller(id, create.argument.as_ref()?));
        for target in targets {
            let root = self.threads.root(Some(created.clone()), target);
            let entry = &mut self.threads.roots[root as usize];
            entry.many |= again || create.many;
            entry.repeated |= repeated || create.many;
            entry.apart = apart;
            (entry.team, entry.task) = kind;
            let birth = (parent, state.clone());
            if !entry.births.contains(&birth) {
                entry.births.push(birth);
            }
            if self.effects.of(target).is_some() {
                continue;
            }
            let exact =
                argument.clone().filter(|sym| self.is_fixed(sym) && !self.mentions_root(sym, root));
            let points = if exact.is_some() { None } else { self.argument_points(id, create) };
            let mut arguments = vec![exact];
            if !create.passed.is_empty() {
                let fixed = |sym: &Sym| self.is_fixed(sym) && !self.mentions_root(sym, root);
                arguments = create
                    .passed
                    .iter()
                    .map(|sym| sym.as_ref()?.substitute(&|atom| self.bind(id, atom)))
                    .map(|sym| sym.filter(fixed))
                    .collect();
            }
            let actuals = Actuals { arguments, points: vec![points], ..Actuals::default() };
            self.enter(root, target, actuals, Path::default(), Some((id, create.inst)));
        }
    }

    /// How far apart the arguments of threads are that a helper creates, when it was given them.
    fn apart_by_caller(&self, id: ContextId, argument: &Sym) -> Option<i64> {
        let (mut id, mut argument, mut factor) = (id, argument, 1i64);
        for _ in 0..MAX_CHAIN {
            let [(Atom::Argument(LOCAL, index), scale)] = argument.terms.as_slice() else {
                return None;
            };
            let context = &self.contexts[id as usize];
            if context.merged || context.chain.len() >= MAX_CHAIN {
                return None;
            }
            let (parent, inst) = context.parent?;
            let caller = &self.contexts[parent as usize];
            if caller.root != context.root {
                return None;
            }
            let summary = &self.summaries[caller.function.index()];
            let call = summary
                .calls
                .iter()
                .find(|call| call.inst == inst && call.callee == context.function)?;
            factor = factor.checked_mul(*scale)?;
            match call.apart.get(*index as usize)? {
                Some(i64::MAX) => return (factor == 1).then_some(i64::MAX),
                Some(apart) => return apart.checked_mul(factor)?.checked_abs(),
                None => (id, argument) = (parent, call.arguments.get(*index as usize)?.as_ref()?),
            }
        }
        None
    }

    /// The start function, when the create call gets it from its caller and the context knows it:
    /// a wrapper round `pthread_create` starts in each call what it was given there.
    fn start_of(&self, id: ContextId, inst: u32) -> Option<FunctionId> {
        let context = &self.contexts[id as usize];
        let body = self.program.module.function(context.function);
        let Op::Call { callee: Callee::Direct(target), arguments, .. } =
            &body.instructions[inst as usize].op
        else {
            return None;
        };
        let entry = self.effects.of(*target)?.iter().find_map(|effect| match effect {
            Effect::Create { entry: Entry::Argument(index), .. } => Some(*index),
            _ => None,
        })?;
        let Value::Arg(ArgId(index)) = arguments.get(entry as usize)? else { return None };
        let sym = context.arguments.get(*index as usize)?.as_ref()?;
        match (sym.as_atom(), sym.offset) {
            (Some(Atom::Function(function)), 0) => Some(*function),
            _ => None,
        }
    }

    /// Whether the call starts an OpenMP team, or a task.
    fn team_or_task(&self, site: CallSite) -> (bool, bool) {
        let body = self.program.module.function(site.0);
        let Op::Call { callee, .. } = &body.instructions[site.1 as usize].op else {
            return (false, false);
        };
        let mut kind = (false, false);
        for effect in effects_of_call(self.effects, self.points, site, callee) {
            if let Effect::Create { extent, passed, .. } = effect {
                kind.0 |= extent.many && extent.joins;
                kind.1 |= matches!(passed, Passed::Result { .. });
            }
        }
        kind
    }

    /// Whether the value is the same each time its instructions run once.
    fn is_fixed(&self, sym: &Sym) -> bool {
        !sym.mentions(&|atom| match atom {
            Atom::Global(global) => self.program.module.global(*global).thread_local,
            Atom::Function(_) => false,
            Atom::Stack(frame, inst) => {
                *frame == LOCAL || self.is_repeated(self.function_of(*frame), *inst)
            }
            Atom::Inst(frame, inst) => {
                *frame == LOCAL
                    || !self.is_allocation(self.function_of(*frame), *inst)
                    || self.is_repeated(self.function_of(*frame), *inst)
            }
            Atom::Load(_) => false,
            _ => true,
        })
    }

    /// Whether the value names memory of a thread of this root: a thread that creates one of its
    /// own kind must not pass its memory off as the new thread's.
    fn mentions_root(&self, sym: &Sym, root: RootId) -> bool {
        sym.mentions(&|atom| match atom {
            Atom::Stack(frame, _) | Atom::Inst(frame, _) => self.root_of(*frame) == root,
            _ => false,
        })
    }

    pub fn function_of(&self, frame: Frame) -> FunctionId {
        self.contexts[frame as usize - 1].function
    }

    pub fn root_of(&self, frame: Frame) -> RootId {
        self.contexts[frame as usize - 1].root
    }

    fn argument_points(&self, id: ContextId, create: &Create) -> Option<Vec<Location>> {
        let function = self.contexts[id as usize].function;
        let instruction =
            &self.program.module.function(function).instructions[create.inst as usize];
        let Op::Call { callee: Callee::Direct(target), arguments, .. } = &instruction.op else {
            return None;
        };
        let effects = self.effects.of(*target)?;
        let index = effects.iter().find_map(|effect| match effect {
            Effect::Create { argument, .. } => *argument,
            _ => None,
        })?;
        let value = arguments.get(index as usize)?;
        let bound = match value {
            Value::Arg(ArgId(index)) => {
                self.contexts[id as usize].arguments.get(*index as usize).cloned().flatten()
            }
            _ => None,
        };
        match bound {
            Some(sym) => self.locations_of(&sym),
            None => Some(self.points.value(self.program, function, value)),
        }
    }

    fn mark_ends(&mut self) {
        for id in 0..self.contexts.len() as ContextId {
            let context = &self.contexts[id as usize];
            let is_entry = context
                .parent
                .is_none_or(|(parent, _)| self.contexts[parent as usize].root != context.root);
            if !is_entry {
                continue;
            }
            let summary = self.summaries[context.function.index()].clone();
            let root = context.root;
            for exit in &summary.exits {
                let end = Arc::new(self.absolute(id, &exit.path));
                self.threads.roots[root as usize].ends.push(end);
            }
            self.threads.roots[root as usize].ends_anywhere |=
                summary.ends_thread || self.effects.cancels;
        }
        self.threads.finish();
    }

    /// The accesses of all contexts, each that differs in anything that matters once.
    fn collect(&mut self) {
        let mut distinct = Distinct::default();
        let ids: Vec<ContextId> = (0..self.contexts.len() as ContextId).collect();
        // A batch at a time, so that not all contexts' copies are in memory at once.
        for batch in ids.chunks(BATCH) {
            let found: Vec<Vec<(u8, GuardedAccess)>> =
                batch.par_iter().map(|&id| self.accesses_in(id)).collect();
            for (operand, access) in found.into_iter().flatten() {
                distinct.add(operand, access);
            }
        }
        self.accesses = distinct.accesses;
    }

    /// The accesses of one context, with the operand that each goes through.
    fn accesses_in(&self, id: ContextId) -> Vec<(u8, GuardedAccess)> {
        let context = &self.contexts[id as usize];
        let (function, root) = (context.function, context.root);
        // One that knows no actuals makes the same accesses, and more, in the same state.
        let covers = |id: &ContextId| self.contexts[*id as usize].entry == context.entry;
        let generic = self.generic.get(&(root, function));
        if !context.merged && generic.is_some_and(|list| list.iter().any(covers)) {
            return Vec::new();
        }
        let summary = &self.summaries[function.index()];
        let mut states: FxHashMap<*const Path, Arc<Path>> = FxHashMap::default();
        let mut accesses = Vec::new();
        for access in &summary.accesses {
            let address =
                access.address.as_ref().and_then(|sym| sym.substitute(&|atom| self.bind(id, atom)));
            let locations =
                address.as_ref().and_then(|sym| self.locations_of(sym)).unwrap_or_else(|| {
                    let operand = self.operand(function, access.inst, access.operand);
                    self.points.value(self.program, function, &operand)
                });
            if !locations.iter().any(|at| self.shared[at.object as usize]) {
                continue;
            }
            let state = states
                .entry(Arc::as_ptr(&access.state))
                .or_insert_with(|| Arc::new(self.absolute(id, &access.state)))
                .clone();
            let unknown_elsewhere = access.private
                || access
                    .address
                    .as_ref()
                    .is_some_and(|sym| self.is_private(id, sym, &access.state));
            let private = unknown_elsewhere
                && !locations.iter().any(|location| self.loose.contains(&location.object));
            let found = GuardedAccess {
                root,
                context: id,
                function,
                inst: access.inst,
                kind: access.kind,
                size: access.size,
                atomic: access.atomic,
                address,
                locations: locations.into(),
                state,
                private,
            };
            accesses.push((access.operand, found));
        }
        accesses
    }

    fn operand(&self, function: FunctionId, inst: u32, operand: u8) -> Value {
        let body = self.program.module.function(function);
        match &body.instructions[inst as usize].op {
            Op::Load { address, .. }
            | Op::Store { address, .. }
            | Op::AtomicRmw { address, .. }
            | Op::CompareExchange { address, .. } => address.clone(),
            Op::MemCopy { from, .. } if operand == 1 => from.clone(),
            Op::MemCopy { to, .. } | Op::MemSet { to, .. } => to.clone(),
            Op::Call { arguments, .. } => {
                let argument = arguments.get((operand & !KEPT) as usize);
                let place = if operand & KEPT != 0 { kept_at(body, argument) } else { argument };
                place.cloned().unwrap_or(Value::Null)
            }
            _ => Value::Null,
        }
    }

    /// Where a value may point, from the objects its atoms stand for.
    pub fn locations_of(&self, sym: &Sym) -> Option<Vec<Location>> {
        let mut bases: Vec<Location> = Vec::new();
        let mut stride = 0u32;
        for (atom, scale) in &sym.terms {
            let found = if *scale == 1 { self.atom_locations(atom)? } else { Vec::new() };
            if found.is_empty() {
                stride = gcd(stride, u32::try_from(scale.unsigned_abs()).unwrap_or(1));
            } else {
                bases.extend(found);
            }
        }
        if bases.is_empty() {
            return None;
        }
        for base in &mut bases {
            base.offset = base.offset.wrapping_add(sym.offset);
            base.stride = gcd(base.stride, stride);
            if base.stride > 0 {
                base.offset = base.offset.rem_euclid(i64::from(base.stride));
            }
        }
        bases.sort_unstable();
        bases.dedup();
        Some(bases)
    }

    /// `None` when the atom's targets are not kept by the points-to analysis.
    pub(crate) fn atom_locations(&self, atom: &Atom) -> Option<Vec<Location>> {
        Some(match atom {
            Atom::Global(global) => {
                vec![Location { object: self.points.global_object(*global), offset: 0, stride: 0 }]
            }
            Atom::Function(_) => Vec::new(),
            Atom::Argument(frame, index) => {
                let context = &self.contexts[*frame as usize - 1];
                match context.argument_points.get(*index as usize) {
                    Some(Some(points)) => points.clone(),
                    _ => self.points.argument(self.program, context.function, ArgId(*index)),
                }
            }
            Atom::Inst(frame, inst) => {
                self.points.inst(self.function_of(*frame), racewarden_ir::InstId(*inst))
            }
            Atom::Stack(frame, inst) => {
                let kind = ObjectKind::Stack(self.function_of(*frame), *inst);
                let object = self.points.locations().find_object(kind)?;
                vec![Location { object, offset: 0, stride: 0 }]
            }
            Atom::Load(_) | Atom::Expr(_) => return None,
        })
    }
}

/// Contexts whose accesses are instantiated at a time.
const BATCH: usize = 1024;

fn joined_exit(summary: &Summary) -> Option<Path> {
    let paths: Vec<Path> = summary.exits.iter().map(|exit| exit.path.clone()).collect();
    crate::state::joined(&paths)
}
