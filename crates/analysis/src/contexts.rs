//! Guarded accesses of every thread, absolute: the functions' summaries instantiated from the
//! thread roots downwards.
//!
//! RELAY copies a callee's guarded accesses into each caller's summary until they reach the
//! thread's entry. The result is the same, but the copies grow with the depth of the call graph;
//! here each function keeps its own accesses once, relative to its entry, and a calling context
//! (actuals, locks held, threads alive) is pushed down to it. Contexts are kept apart up to
//! [`MAX_CONTEXTS`] per function and root; further ones know no actuals, one for each state that the
//! function is entered in, up to [`MAX_STATES`].

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use racewarden_ir::{Callee, FunctionId, Program};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::actuals::{Actuals, Formals, frames, named};
use crate::bodies::Bodies;
use crate::callgraph::{CallGraph, effects_of_call};
use crate::captures::Field;
use crate::composed::Composed;
use crate::effects::{Effect, Effects};
use crate::entry::{Joins, entry_state, purge, without_handles};
use crate::flow::{add_threads, compose, compose_with, renamed_parts};
pub use crate::guarded::GuardedAccess;
use crate::lives::Lives;
use crate::pairs;
use crate::pointsto::{CallSite, Location, ObjectId, PointsTo};
use crate::shared::Pool;
use crate::sharing::Sharing;
use crate::state::{Chain, Path, chained};
use crate::summary::{Call, Summary};
use crate::sym::{Atom, Frame, LOCAL, Sym};
use crate::takeover::{Followed, KnownAccesses, Matched};
use crate::threads::{MAIN, Root, RootId, Threads};

pub type ContextId = u32;

#[derive(Debug)]
pub struct Context {
    pub function: FunctionId,
    pub root: RootId,
    pub arguments: Vec<Option<Sym>>,
    /// Where opaque arguments may point, when it is known better than by the formal.
    pub argument_points: Vec<Option<Arc<[Location]>>>,
    /// Arguments that only this thread knows yet.
    pub private: BTreeSet<u32>,
    /// Arguments without a name here that are addresses of this thread's own stack slots and
    /// allocations, as bits.
    pub own: u64,
    pub entry: Path,
    /// The calls from the thread's entry, where the function may create threads.
    pub chain: Chain,
    /// Several contexts in one: the chain and the actuals are not known.
    pub merged: bool,
    /// Who called it first, for the stack that reports show.
    pub parent: Option<(ContextId, u32)>,
    /// How often it is entered; more than once when called in a loop.
    pub entered: u32,
}

pub struct Instantiation<'a> {
    pub bodies: Bodies<'a>,
    pub effects: &'a Effects,
    pub points: &'a PointsTo,
    pub graph: &'a CallGraph,
    pub summaries: &'a [Arc<Summary>],
    pub shared: &'a [bool],
    /// What is known of memory that threads share, once that was looked for.
    pub sharing: Option<&'a Sharing>,
    pub contexts: Vec<Context>,
    pub threads: Threads,
    /// The roots as they were when all contexts had been followed.
    pub followed_roots: Vec<Root>,
    pub accesses: Vec<GuardedAccess>,
    /// Whether contexts had to be joined.
    pub joined_contexts: bool,
    index: FxHashMap<(RootId, FunctionId), Vec<ContextId>>,
    /// Contexts that know no actuals, at most [`MAX_STATES`]; the last may join several states.
    pub(crate) generic: FxHashMap<(RootId, FunctionId), Vec<ContextId>>,
    /// What contexts have in common, each once.
    pub(crate) known_places: FxHashSet<Arc<[Location]>>,
    known_states: FxHashSet<Path>,
    composed: Composed,
    queue: VecDeque<ContextId>,
    /// Joined contexts that are in the queue.
    queued_generic: FxHashSet<ContextId>,
    total: usize,
    pub(crate) formals: Formals,
    pub(crate) joins: Joins,
    /// Entries of threads whose objects were seen to be deleted.
    pub(crate) deleted: FxHashSet<ContextId>,
    /// An object that only one thread can reach.
    pub(crate) nowhere: Option<ObjectId>,
    /// What the threads of each root were started with.
    pub(crate) captures: Vec<Vec<Field>>,
    /// Accesses that were taken over, until all are collected.
    pub(crate) known_accesses: KnownAccesses,
    /// Accesses that were found not to be private after all, ascending.
    pub(crate) loosened: Vec<u32>,
    /// What was found before an edit, and its accesses, where contexts were taken over.
    pub(crate) before: Option<pairs::Before>,
    pub(crate) matched: Option<Matched>,
    asked_for_others: AtomicBool,
    /// Words whose accesses somebody asked for, with their sizes.
    asked_words: Mutex<BTreeSet<(Location, u64)>>,
}

const MAX_CONTEXTS: usize = 8;
/// States that are kept apart once actuals are not.
const MAX_STATES: usize = 4;
const MAX_TOTAL: usize = 60_000;
/// Contexts whose calls are followed at a time.
const ROUND: usize = 256;

/// A call as a context makes it.
struct Entering {
    callee: FunctionId,
    inst: u32,
    actuals: Actuals,
    entry: Path,
    chain: Chain,
    /// The activations that the actuals and the state name something of.
    frames: FxHashSet<Frame>,
    /// How many of the function's contexts are known to be others.
    scanned: usize,
}

/// What calls in one state are entered in.
struct Entry<'a> {
    state: &'a Arc<Path>,
    /// Whether the callee may wait for threads.
    joins: bool,
    entry: Path,
    /// What the entry names.
    named: FxHashSet<Atom>,
}

/// What a call leads to, as far as it can be told from the contexts that there are.
enum Entered {
    Known(ContextId),
    New(Box<Entering>),
}

impl<'a> Instantiation<'a> {
    pub fn new(
        program: &'a Program,
        effects: &'a Effects,
        points: &'a PointsTo,
        graph: &'a CallGraph,
        summaries: &'a [Arc<Summary>],
        shared: &'a [bool],
    ) -> Self {
        let bodies = Bodies::new(program, effects);
        let formals = Formals::new(&bodies, effects, points, summaries);
        Instantiation {
            bodies,
            effects,
            points,
            graph,
            summaries,
            shared,
            sharing: None,
            contexts: Vec::new(),
            threads: Threads::default(),
            followed_roots: Vec::new(),
            accesses: Vec::new(),
            joined_contexts: false,
            index: FxHashMap::default(),
            generic: FxHashMap::default(),
            known_places: FxHashSet::default(),
            known_states: FxHashSet::default(),
            composed: Composed::default(),
            queue: VecDeque::new(),
            queued_generic: FxHashSet::default(),
            total: 0,
            formals,
            joins: Joins::new(summaries),
            deleted: FxHashSet::default(),
            nowhere: shared.iter().position(|shared| !shared).map(|object| object as ObjectId),
            captures: Vec::new(),
            known_accesses: KnownAccesses::default(),
            loosened: Vec::new(),
            before: None,
            matched: None,
            asked_for_others: AtomicBool::new(false),
            asked_words: Mutex::default(),
        }
    }

    /// All accesses, for who judges one pair by what others do.
    pub fn all_accesses(&self) -> &[GuardedAccess] {
        self.asked_for_others.store(true, Ordering::Relaxed);
        &self.accesses
    }

    /// The same, for who asks only for those to one word.
    pub fn accesses_for(&self, word: Location, size: u64) -> &[GuardedAccess] {
        self.asked_words.lock().unwrap_or_else(PoisonError::into_inner).insert((word, size));
        &self.accesses
    }

    /// Where the global is written, each place once; `None` where it is not.
    pub fn writes_of(&self, object: ObjectId) -> Option<&'a [CallSite]> {
        // As if all that is done to any of it had been asked for.
        self.accesses_for(Location { object, offset: 0, stride: 1 }, 1);
        self.sharing?.written.get(&object).map(Vec::as_slice)
    }

    /// The words whose accesses somebody asked for.
    pub fn asked_words(&self) -> Vec<(Location, u64)> {
        let words = self.asked_words.lock().unwrap_or_else(PoisonError::into_inner);
        words.iter().copied().collect()
    }

    /// Whether somebody judged one pair by what others do, wherever.
    pub fn asks_for_others(&self) -> bool {
        self.asked_for_others.load(Ordering::Relaxed)
    }

    /// Follows the program from its start functions, in order, as one thread.
    pub fn follow(&mut self, starts: &[FunctionId], exported: &[FunctionId]) {
        let mut state = Path::default();
        for (index, &start) in starts.iter().enumerate() {
            if index == 0 {
                self.threads.root(None, start);
            }
            self.enter(MAIN, start, Actuals::default(), state.clone(), None);
            if let Some(summary) = self.summaries.get(start.index())
                && let Some(end) = joined_exit(summary)
            {
                compose(&mut state, &end, &[], &|_| None, &|_| None);
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
        loop {
            while !self.queue.is_empty() {
                self.round();
            }
            if !self.end_threads() {
                break;
            }
        }
    }

    /// As if all of this had been followed here.
    pub fn take_over(&mut self, followed: Followed) {
        let Followed { contexts, threads, joined, accesses, before } = followed;
        self.before = before;
        self.known_accesses = accesses;
        self.threads = threads;
        self.joined_contexts = joined;
        for (id, context) in (0..).zip(&contexts) {
            let key = (context.root, context.function);
            let list = if context.merged { &mut self.generic } else { &mut self.index };
            list.entry(key).or_default().push(id);
        }
        self.contexts = contexts;
    }

    /// What is found once all contexts are known.
    pub fn finish(&mut self) {
        self.followed_roots.clone_from(&self.threads.roots);
        self.mark_ends();
        self.captures = self.find_captures();
        self.share_entries();
        self.collect();
        self.composed = Composed::default();
    }

    /// Gives its memory back on all threads: by one alone that takes a fiftieth of a check.
    pub fn give_back(self) {
        let Instantiation { accesses, contexts, index, known_states, .. } = self;
        let rest = || drop((index, known_states));
        rayon::join(
            || accesses.into_par_iter().for_each(drop),
            || rayon::join(rest, || contexts.into_par_iter().for_each(drop)),
        );
    }

    /// States that were joined while contexts were followed have come out equal to others.
    fn share_entries(&mut self) {
        self.known_states = FxHashSet::default();
        let (mut threads, mut held) = (Pool::default(), Pool::default());
        for context in &mut self.contexts {
            threads.share(&mut context.entry.threads);
            held.share(&mut context.entry.held);
        }
    }

    /// Follows the calls of the contexts that wait longest. What they pass on is worked out by
    /// all threads, from what is known before any of it counts; so their number changes nothing.
    fn round(&mut self) {
        let count = self.queue.len().min(ROUND);
        let waiting: Vec<ContextId> = self.queue.drain(..count).collect();
        for id in &waiting {
            self.queued_generic.remove(id);
        }
        let entries: Vec<Vec<(Entered, bool)>> =
            waiting.par_iter().map(|&id| self.entries_from(id)).collect();
        for (id, entries) in waiting.into_iter().zip(entries) {
            let root = self.contexts[id as usize].root;
            for (entered, repeated) in entries {
                let entered = match entered {
                    Entered::Known(known) => self.again(known),
                    Entered::New(entering) => {
                        let parent = Some((id, entering.inst));
                        self.enter_as(root, *entering, parent)
                    }
                };
                if repeated {
                    let context = &mut self.contexts[entered as usize];
                    context.entered = context.entered.saturating_add(1);
                }
            }
            let summary = self.summaries[self.contexts[id as usize].function.index()].clone();
            for create in &summary.creates {
                self.create(id, create);
            }
        }
    }

    pub(crate) fn enter(
        &mut self,
        root: RootId,
        function: FunctionId,
        actuals: Actuals,
        entry: Path,
        parent: Option<(ContextId, u32)>,
    ) -> ContextId {
        let entry = entry_state(entry);
        let frames = frames(&actuals.arguments, named(&entry).iter());
        let chain = self.chain(root, function, parent);
        let (callee, inst, scanned) = (function, 0, 0);
        let entering = Entering { callee, inst, actuals, entry, chain, frames, scanned };
        self.enter_as(root, entering, parent)
    }

    /// The context is entered once more.
    fn again(&mut self, id: ContextId) -> ContextId {
        let context = &mut self.contexts[id as usize];
        // One that joins several calls is never entered just once.
        let times = if context.merged { 2 } else { 1 };
        context.entered = context.entered.saturating_add(times);
        id
    }

    /// The context that the call leads to, if it is among those that there are. What it says does
    /// not change when others are added.
    fn known(&self, root: RootId, entering: &mut Entering) -> Option<ContextId> {
        let key = (root, entering.callee);
        let list = self.index.get(&key).map_or(&[][..], Vec::as_slice);
        for &id in &list[entering.scanned..] {
            entering.scanned += 1;
            entering.purge(id);
            if entering.is_into(&self.contexts[id as usize]) {
                return Some(id);
            }
        }
        if !self.is_full(list) {
            return None;
        }
        // The last one may yet be joined with others.
        let generic = self.generic.get(&key).map_or(&[][..], Vec::as_slice);
        generic.iter().take(MAX_STATES - 1).copied().find(|&id| {
            entering.purge(id);
            self.contexts[id as usize].entry == entering.entry
        })
    }

    /// Whether the function's further contexts know no actuals.
    fn is_full(&self, list: &[ContextId]) -> bool {
        list.len() >= MAX_CONTEXTS || self.total >= MAX_TOTAL
    }

    fn enter_as(
        &mut self,
        root: RootId,
        mut entering: Entering,
        parent: Option<(ContextId, u32)>,
    ) -> ContextId {
        if let Some(known) = self.known(root, &mut entering) {
            return self.again(known);
        }
        let key = (root, entering.callee);
        if self.is_full(self.index.get(&key).map_or(&[], Vec::as_slice)) {
            return self.enter_generic(root, entering, parent);
        }
        let Entering { callee: function, actuals, entry, chain, .. } = entering;
        let Actuals { arguments, points: mut argument_points, own, private } = actuals;
        let id = self.contexts.len() as ContextId;
        for places in argument_points.iter_mut().flatten() {
            *places = shared_copy(&mut self.known_places, places);
        }
        let entry = shared_copy(&mut self.known_states, &entry);
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
        self.index.entry(key).or_default().push(id);
        self.queue.push_back(id);
        id
    }

    /// The calls that tell threads created below apart; none where no thread is created.
    fn chain(&self, root: RootId, function: FunctionId, parent: Option<(ContextId, u32)>) -> Chain {
        match parent {
            Some((caller, inst))
                if self.contexts[caller as usize].root == root
                    && self.graph.may_start[function.index()] =>
            {
                let caller = &self.contexts[caller as usize];
                match self.effects.futures.is_machinery(caller.function) {
                    true => caller.chain.clone(),
                    false => chained(&caller.chain, &[(caller.function, inst)]),
                }
            }
            _ => Chain::new(),
        }
    }

    fn enter_generic(
        &mut self,
        root: RootId,
        mut entering: Entering,
        parent: Option<(ContextId, u32)>,
    ) -> ContextId {
        self.joined_contexts = true;
        let function = entering.callee;
        let known = self.generic.get(&(root, function));
        if let Some(id) = known.and_then(|list| list.get(MAX_STATES - 1).copied()) {
            entering.purge(id);
            self.again(id);
            let context = &mut self.contexts[id as usize];
            let mut joined = context.entry.clone();
            joined.join(&entering.entry);
            if joined != context.entry {
                context.entry = joined;
                if self.queued_generic.insert(id) {
                    self.queue.push_back(id);
                }
            }
            return id;
        }
        let entry = entering.entry;
        let id = self.contexts.len() as ContextId;
        self.contexts.push(Context {
            function,
            root,
            arguments: Vec::new(),
            argument_points: Vec::new(),
            private: BTreeSet::new(),
            own: 0,
            entry,
            chain: Chain::new(),
            merged: true,
            parent,
            entered: 2,
        });
        self.generic.entry((root, function)).or_default().push(id);
        self.queued_generic.insert(id);
        self.queue.push_back(id);
        id
    }

    /// How the context enters the functions that it calls, in order.
    fn entries_from(&self, id: ContextId) -> Vec<(Entered, bool)> {
        let Context { root, function, .. } = self.contexts[id as usize];
        let summary = &self.summaries[function.index()];
        let mut entries = Vec::with_capacity(summary.calls.len());
        // The state at the last call, relative and absolute: mostly the next one's, too.
        let mut last: Option<Entry<'_>> = None;
        let mut leads_to = None;
        for call in &summary.calls {
            if self.leads_elsewhere(id, call, &mut leads_to) {
                continue;
            }
            let joins = self.joins.may(call.callee);
            let (entry, named) = match last.take() {
                Some(last) if Arc::ptr_eq(last.state, &call.state) && last.joins == joins => {
                    (last.entry, last.named)
                }
                _ => {
                    let mut entry = entry_state(self.absolute(id, &call.state));
                    if !joins {
                        without_handles(&mut entry);
                    }
                    self.share_threads(id, &mut entry);
                    let named = named(&entry);
                    (entry, named)
                }
            };
            let mut entering = self.entering(id, call, &entry, &named);
            let entered = match self.known(root, &mut entering) {
                Some(known) => Entered::Known(known),
                None => Entered::New(Box::new(entering)),
            };
            entries.push((entered, self.is_repeated(function, call.inst)));
            last = Some(Entry { state: &call.state, joins, entry, named });
        }
        entries
    }

    /// Mostly another context was entered in the state: then both have one list of threads, and are
    /// quickly found to be equal.
    fn share_threads(&self, id: ContextId, entry: &mut Path) {
        if !entry.threads.is_same(&self.contexts[id as usize].entry.threads)
            && let Some(known) = self.known_states.get(entry)
        {
            entry.threads = known.threads.clone();
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
        let bind = |atom: &Atom| self.bind(id, atom);
        let targets = |lock: &Sym| self.lock_targets(lock);
        compose_with(&mut path, relative, &bind, &targets, &|path| {
            let (chain, threads) = match context.merged {
                true => (&[][..], &self.composed.many(&relative.threads)),
                false => (&context.chain[..], &relative.threads),
            };
            let add = |there: &mut Lives| add_threads(there, threads, chain, &bind);
            path.threads = self.composed.added(&path.threads, threads, renamed_parts(chain), add);
        });
        path
    }

    fn entering(
        &self,
        id: ContextId,
        call: &Call,
        entry: &Path,
        named: &FxHashSet<Atom>,
    ) -> Entering {
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
        let frames = frames(&actuals.arguments, named.iter());
        Entering {
            callee: call.callee,
            inst: call.inst,
            actuals,
            entry: entry.clone(),
            chain: self.chain(root, call.callee, Some((id, call.inst))),
            frames,
            scanned: 0,
        }
    }

    /// Whether the value points to memory that nobody but this thread knows.
    pub(crate) fn is_private(&self, id: ContextId, sym: &Sym, state: &Path) -> bool {
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
        let Some(Callee::Direct(target)) = self.bodies.callee((function, inst)) else {
            return false;
        };
        match self.effects.of(*target) {
            Some(effects) => {
                effects.iter().any(|effect| matches!(effect, Effect::Allocate { out: None, .. }))
            }
            None => self.summaries[target.index()].returns_fresh,
        }
    }

    pub(crate) fn is_repeated(&self, function: FunctionId, inst: u32) -> bool {
        self.graph.is_in_cycle(function, inst)
    }

    /// Whether some call starts a team: its contexts keep all actuals.
    pub fn has_teams(&self) -> bool {
        let is_team = |effect: &Effect| matches!(effect, Effect::Create { extent, .. } if extent.many && extent.joins);
        self.graph.create_sites.iter().any(|site| match self.bodies.callee(*site) {
            Some(callee) => effects_of_call(self.effects, self.points, *site, callee).any(is_team),
            None => true,
        })
    }

    pub fn function_of(&self, frame: Frame) -> FunctionId {
        self.contexts[frame as usize - 1].function
    }

    pub fn root_of(&self, frame: Frame) -> RootId {
        self.contexts[frame as usize - 1].root
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
                let mut end = self.absolute(id, &exit.path);
                without_handles(&mut end);
                let end = Arc::new(end);
                self.threads.roots[root as usize].ends.push(end);
            }
            self.threads.roots[root as usize].ends_anywhere |=
                summary.ends_thread || self.effects.cancels;
        }
        self.threads.finish();
    }
}

impl Entering {
    /// The context is entered: what is named by it is named by an activation before.
    fn purge(&mut self, id: ContextId) {
        let frame = id + 1;
        if self.frames.contains(&frame) {
            purge(&mut self.actuals.arguments, &mut self.entry, frame);
        }
    }

    fn is_into(&self, context: &Context) -> bool {
        let Actuals { arguments, points, own, private } = &self.actuals;
        context.own == *own
            && context.arguments == *arguments
            && context.private == *private
            && context.chain == self.chain
            && context.argument_points == *points
            && context.entry == self.entry
    }
}

/// The value that is equal to this one and known already, so that both are one in memory.
fn shared_copy<T: Clone + Eq + std::hash::Hash>(known: &mut FxHashSet<T>, value: &T) -> T {
    match known.get(value) {
        Some(same) => same.clone(),
        None => {
            known.insert(value.clone());
            value.clone()
        }
    }
}

pub(crate) fn joined_exit(summary: &Summary) -> Option<Path> {
    let paths: Vec<Path> = summary.exits.iter().map(|exit| exit.path.clone()).collect();
    crate::state::joined(&paths)
}
