//! The whole analysis in its order.

use std::sync::Arc;

use racewarden_finding::{Engine, Note, Report};
use racewarden_ir::{FunctionId, Linkage, Op, Program};
use racewarden_models::Models;
use rayon::prelude::*;

use crate::bottom_up::{Done, bottom_up};
use crate::callgraph::{CallGraph, Phases, effects_of_call};
use crate::cfg::Cfg;
use crate::contexts::Instantiation;
use crate::digests::{DIGESTS, Whole, exclusion, may_meet};
use crate::draft::{Draft, place_in};
use crate::effects::{Effect, Effects, HandlerKind};
use crate::flow::{self, Env};
use crate::loose::{has_weak_access, loosely_published};
use crate::naming::Naming;
use crate::sharing::{self, Sharing};
use crate::state::{CreateId, Path, Released};
use crate::summary::{Exit, Summary};
use crate::takeover::Followed;
use crate::{notes, pairs, pointsto, ranking};

#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Analyse the exported functions as called from any thread, main or not.
    pub api: bool,
}

/// The summaries of functions that are analysed already.
pub(crate) type Summarised<'a> = dyn Fn(FunctionId) -> Option<Arc<Summary>> + Sync + 'a;

/// Everything before the pairs, kept together because later parts borrow from earlier ones.
pub(crate) struct Foundation<'a> {
    pub program: &'a Program,
    pub effects: Effects,
    pub points: pointsto::PointsTo,
    /// Of each function.
    pub cfgs: Vec<Cfg>,
    pub graph: CallGraph,
    pub sharing: Sharing,
    pub reachable: Vec<bool>,
    pub starts: Vec<FunctionId>,
    pub exported: Vec<FunctionId>,
    pub summaries: Vec<Arc<Summary>>,
    /// Whether allocating memory counts as a write to it, as for whoever watches a run.
    pub allocations: bool,
}

/// Checks the program and reports.
pub fn check(program: &Program, models: &Models, options: &Options) -> Report {
    check_in_stages(program, models, options, &|_| {})
}

/// Checks the program; `entered` hears the name of each stage as it begins.
pub fn check_in_stages(
    program: &Program,
    models: &Models,
    options: &Options,
    entered: &dyn Fn(&'static str),
) -> Report {
    let draft = draft(program, models, options, entered);
    entered("report");
    draft.report(&|spot| place_in(program, spot))
}

/// Checks the program, all but for where in the source things stand.
pub fn draft(
    program: &Program,
    models: &Models,
    options: &Options,
    entered: &dyn Fn(&'static str),
) -> Draft {
    if let Some(draft) = without_start(program, options) {
        return draft;
    }
    let foundation = Foundation::new(program, models, options, entered);
    entered("contexts");
    let instantiation = foundation.instantiate();
    let draft = foundation.draft(&instantiation, false, entered).0;
    instantiation.give_back();
    draft
}

/// The draft of a program that cannot be started.
pub(crate) fn without_start(program: &Program, options: &Options) -> Option<Draft> {
    (!options.api && start_functions(program).is_empty()).then(|| {
        let notes = vec![Note::weakens(Engine::Check, NO_START)];
        Draft { notes, ..Draft::default() }
    })
}

/// Locks, threads and handles in the largest state that a function is entered in. With the number
/// of contexts it tells what a program costs, whatever the machine.
fn largest_state(instantiation: &Instantiation<'_>) -> usize {
    instantiation.contexts.iter().map(|context| context.entry.size()).max().unwrap_or_default()
}

/// What the list of pairs does not hold.
fn left_out(pairs: &pairs::Pairs, naming: &Naming<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    for (object, count) in &pairs.left_out {
        let text = format!("{}: {count} pairs of accesses left out", naming.object(*object));
        notes.push(Note::weakens(Engine::Check, text));
    }
    if pairs.more > 0 {
        let text = format!(
            "about {} further pairs of accesses are not listed: each access is in a candidate that is",
            pairs.more
        );
        notes.push(Note::info(Engine::Check, text));
    }
    if pairs.vague > 0 {
        let text = format!(
            "{} accesses go through pointers with too many targets to tell apart; they are \
             compared with accesses to the same field only",
            pairs.vague
        );
        notes.push(Note::weakens(Engine::Check, text));
    }
    notes
}

/// Why the accesses at two places (`file:line`) race or do not, one sentence per pair.
pub fn why(
    program: &Program,
    models: &Models,
    options: &Options,
    first: &str,
    second: &str,
) -> Vec<String> {
    let foundation = Foundation::new(program, models, options, &|_| {});
    let instantiation = foundation.instantiate();
    let whole = Whole::new(&instantiation);
    let naming = Naming::new(&instantiation);
    let at = |place: &str| -> Vec<usize> {
        (0..instantiation.accesses.len())
            .filter(|&index| {
                let access = &instantiation.accesses[index];
                let here = naming.line(access.function, access.inst);
                here == place || here.ends_with(&format!("/{place}"))
            })
            .collect()
    };
    let (left, right) = (at(first), at(second));
    let mut lines = Vec::new();
    for (place, list) in [(first, &left), (second, &right)] {
        if list.is_empty() {
            lines.push(format!("{place}: no access to memory that threads share and change"));
        }
    }
    for &i in &left {
        for &j in &right {
            let (a, b) = (&instantiation.accesses[i], &instantiation.accesses[j]);
            if !a.kind.conflicts_with(b.kind) {
                continue;
            }
            let head = format!("{} × {}", naming.in_words(a), naming.in_words(b));
            let reason = if !may_meet(a, b) {
                "excluded: they never touch the same memory".to_owned()
            } else {
                match exclusion(a, b, &whole) {
                    Some((digest, why)) => {
                        format!("excluded by {}: {why}", DIGESTS[digest].name())
                    }
                    None => "candidate: no digest excludes it".to_owned(),
                }
            };
            lines.push(format!("{head}: {reason}"));
        }
    }
    lines.sort();
    lines.dedup();
    lines
}

impl<'a> Foundation<'a> {
    fn new(
        program: &'a Program,
        models: &Models,
        options: &Options,
        entered: &dyn Fn(&'static str),
    ) -> Self {
        let mut foundation = Foundation::unsummarised(program, models, options, None, entered);
        entered("summaries");
        foundation.summaries = foundation.summarise();
        foundation
    }

    pub fn unsummarised(
        program: &'a Program,
        models: &Models,
        options: &Options,
        points: Option<pointsto::PointsTo>,
        entered: &dyn Fn(&'static str),
    ) -> Self {
        let exported = if options.api { exported_functions(program) } else { Vec::new() };
        Foundation::before_summaries(program, models, exported, points, entered)
    }

    /// What is known of the program as a whole, before its functions are looked into; `exported` are
    /// those that are called from outside. Points-to sets may be known already.
    pub fn before_summaries(
        program: &'a Program,
        models: &Models,
        exported: Vec<FunctionId>,
        points: Option<pointsto::PointsTo>,
        entered: &dyn Fn(&'static str),
    ) -> Self {
        entered("effects");
        let effects = Effects::new(program, models);
        let starts = start_functions(program);
        let mut outside = exported.clone();
        outside.extend(starts.iter().copied());
        entered("points-to");
        // What leads where within functions does not depend on what pointers lead to.
        let (points, cfgs) = rayon::join(
            || points.unwrap_or_else(|| pointsto::build(program, &effects, &outside)),
            || program.module.functions.par_iter().map(Cfg::new).collect::<Vec<Cfg>>(),
        );
        entered("call graph");
        let graph = CallGraph::new(program, &effects, &points, &cfgs);
        let mut starts = starts;
        if effects.ends_in_main && !starts.is_empty() {
            starts.extend(exit_handlers(program, &effects, &points, &graph));
        }
        let entries = graph.create_sites.iter().flat_map(|site| points.started(site));
        let reachable =
            graph.reachable(starts.iter().copied().chain(exported.iter().copied()).chain(entries));
        let phases = Phases::new(program, &graph, &points, (&exported, &starts), &cfgs);
        entered("sharing");
        let sharing = sharing::discover(program, &effects, &points, &graph, &phases, &reachable);
        Foundation {
            program,
            effects,
            points,
            cfgs,
            graph,
            sharing,
            reachable,
            starts,
            exported,
            summaries: Vec::new(),
            allocations: false,
        }
    }

    /// Summaries of all reachable functions, bottom-up.
    pub fn summarise(&self) -> Vec<Arc<Summary>> {
        let env = self.env();
        let solve = |component: &[FunctionId], done: &Done<Arc<Summary>>| {
            self.component(&env, &|id| done[id.index()].get().cloned(), component)
        };
        let summaries = bottom_up(&self.components(), &self.graph.callees, &solve);
        summaries.into_iter().map(Option::unwrap_or_default).collect()
    }

    pub fn env(&self) -> Env<'_> {
        Env {
            program: self.program,
            effects: &self.effects,
            points: &self.points,
            cfgs: &self.cfgs,
            shared: &self.sharing.shared,
            stable: &self.sharing.stable,
            tainted_handles: &self.sharing.tainted_handles,
            emptied_handles: &self.sharing.emptied_handles,
            copied_handles: &self.sharing.copied_handles,
            reset_locks: &self.sharing.reset_locks,
            detached: &self.sharing.detached,
            allocations: self.allocations,
        }
    }

    /// Functions that call each other, of those that are reached.
    pub fn components(&self) -> Vec<&[FunctionId]> {
        let all = self.graph.levels.iter().flatten().map(Vec::as_slice);
        all.filter(|component| component.iter().any(|id| self.reachable[id.index()])).collect()
    }

    /// One component: a single function at once, recursion to its fixpoint.
    pub fn component(
        &self,
        env: &Env<'_>,
        done: &Summarised<'_>,
        component: &[FunctionId],
    ) -> Vec<(FunctionId, Arc<Summary>)> {
        let recursive =
            component.len() > 1 || self.graph.callees[component[0].index()].contains(&component[0]);
        let mut own: Vec<Option<Arc<Summary>>> = vec![None; component.len()];
        if component.len() > LARGE_COMPONENT {
            return self.large_component(env, done, component);
        }
        let limit = MAX_ROUNDS;
        let mut worst = None;
        for round in 0.. {
            let mut changed = false;
            for (index, &id) in component.iter().enumerate() {
                if self.program.module.function(id).is_declaration() {
                    own[index] = Some(Arc::default());
                    continue;
                }
                let lookup = |callee: FunctionId| match component.binary_search(&callee) {
                    Ok(position) => own[position].clone(),
                    Err(_) => done(callee),
                };
                let mut summary = flow::analyse(env, &lookup, id);
                if recursive && round >= limit {
                    let worst = worst.get_or_insert_with(|| self.worst_exit(component));
                    summary.exits = vec![worst.clone()];
                    summary.result = None;
                    summary.returns_fresh = false;
                }
                let same = own[index].as_ref().is_some_and(|old| old.same_effect(&summary));
                changed |= !same;
                own[index] = Some(Arc::new(summary));
            }
            if !recursive || !changed || round > limit + 1 {
                break;
            }
        }
        component.iter().copied().zip(own.into_iter().flatten()).collect()
    }

    /// A huge cycle of calls, mostly through pointers, would take many rounds to settle: each of
    /// its functions is analysed once, with the worst assumed of the others.
    fn large_component(
        &self,
        env: &Env<'_>,
        done: &Summarised<'_>,
        component: &[FunctionId],
    ) -> Vec<(FunctionId, Arc<Summary>)> {
        let ends = |id: FunctionId| done(id).is_some_and(|summary| summary.ends_thread);
        let worst = self.worst(&ends, component);
        let member = |id: &FunctionId| (*id, self.member(env, done, (component, &worst), *id));
        component.par_iter().map(member).collect()
    }

    /// What is assumed of the functions of a huge cycle; `ends` says which functions that they call, and
    /// that are analysed already, may end the thread.
    pub fn worst(
        &self,
        ends: &dyn Fn(FunctionId) -> bool,
        component: &[FunctionId],
    ) -> Arc<Summary> {
        let exit = self.worst_exit(component);
        Arc::new(Summary {
            possible: exit.path.clone(),
            exits: vec![exit],
            ends_thread: component.iter().any(|&id| self.may_end_thread(ends, id)),
            ..Summary::default()
        })
    }

    /// One function of a huge cycle, of which the worst is assumed.
    pub fn member(
        &self,
        env: &Env<'_>,
        done: &Summarised<'_>,
        (component, worst): (&[FunctionId], &Arc<Summary>),
        id: FunctionId,
    ) -> Arc<Summary> {
        if self.program.module.function(id).is_declaration() {
            return Arc::default();
        }
        let lookup = |callee: FunctionId| match component.binary_search(&callee) {
            Ok(_) => Some(worst.clone()),
            Err(_) => done(callee),
        };
        let own = flow::analyse(env, &lookup, id);
        let Summary { exits, possible, ends_thread, .. } = Summary::clone(worst);
        let (result, returns_fresh) = (None, false);
        Arc::new(Summary { exits, possible, ends_thread, result, returns_fresh, ..own })
    }

    /// Whether the function, or one that it calls and that is analysed already, ends the thread.
    fn may_end_thread(&self, ends: &dyn Fn(FunctionId) -> bool, id: FunctionId) -> bool {
        let mut calls = self.graph.callees[id.index()].iter();
        let body = self.program.module.function(id);
        calls.any(|callee| ends(*callee))
            || (0u32..).zip(&body.instructions).any(|(inst, instruction)| {
                let Op::Call { callee, .. } = &instruction.op else { return false };
                effects_of_call(&self.effects, &self.points, (id, inst), callee)
                    .any(|effect| matches!(effect, Effect::ThreadExit))
            })
    }

    /// A recursion that does not settle: any lock may be released, any of its threads created.
    fn worst_exit(&self, component: &[FunctionId]) -> Exit {
        let mut path = Path::default();
        path.released.insert(Released { lock: None, points: Arc::from([]), any: true });
        path.overwritten.insert(None);
        path.escaped_arguments.extend(0..64);
        let inside = self.graph.reachable(component.iter().copied());
        for site in &self.graph.create_sites {
            if inside[site.0.index()] {
                let live = crate::state::Live {
                    many: true,
                    current: true,
                    repeated: true,
                    ..crate::state::Live::default()
                };
                path.threads.insert(CreateId::any(*site), live);
            }
        }
        Exit { path, result: None }
    }

    /// What is found from the summaries on, the functions that were looked into for it, and what a later
    /// search can start from, if that is to be kept.
    pub fn draft(
        &self,
        instantiation: &Instantiation<'_>,
        keeps: bool,
        entered: &dyn Fn(&'static str),
    ) -> (Draft, Vec<FunctionId>, Option<pairs::KeptPairs>) {
        entered("digests");
        let whole = Whole::new(instantiation);
        entered("pairs");
        let mut pairs = pairs::find(&instantiation.accesses, &whole, keeps);
        entered(if pairs.hold { "words of kept pairs" } else { "words" });
        let naming = Naming::new(instantiation);
        let mut draft = ranking::draft(&pairs, &instantiation.accesses, &whole, &naming);
        let threaded = instantiation.threads.roots.len() > 1;
        draft.notes = notes::collect(instantiation, &naming, &self.reachable, threaded);
        draft.notes.extend(left_out(&pairs, &naming));
        let stats = [
            (
                "functions",
                self.program.module.functions.iter().filter(|f| !f.is_declaration()).count(),
            ),
            ("threads", instantiation.threads.roots.len()),
            ("accesses", instantiation.accesses.len()),
            ("contexts", instantiation.contexts.len()),
            ("largest-state", largest_state(instantiation)),
            ("places-compared", pairs.compared as usize),
            ("unresolved-calls", self.graph.unresolved.len()),
        ];
        draft.stats =
            stats.into_iter().map(|(name, value)| (name.to_owned(), value as u64)).collect();
        draft.excluded = std::mem::take(&mut pairs.excluded);
        draft.spots = naming.spots.into_list();
        let seen = instantiation.bodies.seen().collect();
        (draft, seen, pairs.kept.take())
    }

    pub fn instantiate(&self) -> Instantiation<'_> {
        self.instantiate_from(&|_| None)
    }

    /// `followed` may know all contexts already.
    pub fn instantiate_from(
        &self,
        followed: &dyn Fn(&Instantiation<'_>) -> Option<Followed>,
    ) -> Instantiation<'_> {
        let mut instantiation = Instantiation::new(
            self.program,
            &self.effects,
            &self.points,
            &self.graph,
            &self.summaries,
            &self.sharing.shared,
        );
        instantiation.sharing = Some(&self.sharing);
        match followed(&instantiation) {
            Some(known) => instantiation.take_over(known),
            None => instantiation.follow(&self.starts, &self.exported),
        }
        instantiation.finish();
        if !has_weak_access(self.program) {
            return instantiation;
        }
        // Others may come to know these without being ordered after what was done to them.
        let loose = loosely_published(&Whole::new(&instantiation));
        if !loose.is_empty() {
            let accesses = (0u32..).zip(&mut instantiation.accesses);
            for (number, access) in accesses.filter(|(_, access)| access.private) {
                if access.locations.iter().any(|at| loose.contains(&at.object)) {
                    access.private = false;
                    instantiation.loosened.push(number);
                }
            }
        }
        instantiation
    }
}

const NO_START: &str = "there is no main function: use --api to check the exported functions";

/// Rounds of a recursion's fixpoint before the worst is assumed.
const MAX_ROUNDS: usize = 10;

/// Functions in one recursion for which the worst is assumed at once.
pub(crate) const LARGE_COMPONENT: usize = 64;

/// What the program's first thread runs, in order: constructors, main, destructors.
pub(crate) fn start_functions(program: &Program) -> Vec<FunctionId> {
    let module = &program.module;
    let main =
        module.function_by_symbol("main").filter(|id| !module.function(*id).is_declaration());
    let Some(main) = main else { return Vec::new() };
    let mut starts = module.constructors.clone();
    starts.push(main);
    starts.extend(&module.destructors);
    starts
}

/// What runs when `main` has returned; twice what may be registered more than once.
fn exit_handlers(
    program: &Program,
    effects: &Effects,
    points: &pointsto::PointsTo,
    graph: &CallGraph,
) -> Vec<FunctionId> {
    let mut found = Vec::new();
    for site in &graph.create_sites {
        let body = program.module.function(site.0);
        let Op::Call { callee, .. } = &body.instructions[site.1 as usize].op else { continue };
        let at_exit =
            |effect: &Effect| matches!(effect, Effect::Handler { kind: HandlerKind::Exit, .. });
        if effects_of_call(effects, points, *site, callee).any(at_exit) {
            let targets = points.entries.get(site).into_iter().flatten().copied();
            let targets: Vec<FunctionId> = targets.filter(|id| effects.of(*id).is_none()).collect();
            found.extend(&targets);
            found.extend(&targets);
        }
    }
    found
}

pub(crate) fn exported_functions(program: &Program) -> Vec<FunctionId> {
    let module = &program.module;
    module
        .function_ids()
        .filter(|id| {
            let function = module.function(*id);
            !function.is_declaration()
                && function.linkage != Linkage::Internal
                && module.name_text(function.name) != "main"
        })
        .collect()
}
