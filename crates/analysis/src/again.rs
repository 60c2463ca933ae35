//! A check that takes over what an earlier one has found.
//!
//! The earlier program and this one have the same skeleton: they differ in what functions compute and
//! compare, if at all (see [`crate::view`]). Points-to sets are those that were kept, or are solved anew where
//! what is computed may matter to them ([`Solved`]). When they come out as they were, so does all else that is known before the summaries, which is made of the skeleton and of
//! them. Then only functions with other details are summarised anew, and who calls them where callers
//! can tell the difference. When all summaries are what they were, and no function with other details
//! was looked into after that ([`crate::bodies`]), then so is what was found.
//!
//! An edit that adds, removes or reorders instructions makes another skeleton. When all that stages after the
//! summaries read is what it was under other numbers, so is the result; else it is checked as a whole from
//! the summaries on, but for summaries, contexts, accesses and pairs that are what they were
//! ([`crate::takeover`]).
//!
//! May miss: nothing.

use std::cell::Cell;
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use racewarden_ir::{FunctionId, Module, Program};
use racewarden_models::Models;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::bottom_up::{Done, bottom_up};
use crate::check::{Foundation, LARGE_COMPONENT, Options, without_start};
use crate::contexts::Instantiation;
use crate::draft::Draft;
use crate::flow::Env;
use crate::pointsto::{Solution, carries};
use crate::summary::{Lists, Summary};
use crate::takeover::{self, Outline, Scene};
use crate::view::{Bytes, Digest};

/// What is known of a program before it is checked, and what earlier checks have left.
pub struct Known<'a> {
    /// The digest of its skeleton and of all else that a check depends on but details.
    pub skeleton: Digest,
    /// The digests of the functions' details.
    pub details: Vec<Digest>,
    /// The digest of all that a check depends on but what functions do.
    pub frame: Digest,
    /// The digests of all that functions do.
    pub bodies: Vec<Digest>,
    /// The digests of what functions compute.
    pub sums: Vec<Digest>,
    /// Under which names the units' modules are kept.
    pub units: Vec<String>,
    pub kept: &'a dyn Kept,
}

/// Where earlier checks have left what they found, under digests of what it depends on.
pub trait Kept {
    fn summaries(&self, key: &Digest) -> Option<Summaries>;
    fn keep_summaries(&self, key: &Digest, summaries: &Summaries);
    fn found(&self, key: &Digest) -> Option<Found>;
    fn keep_found(&self, key: &Digest, found: &Found);
    fn points(&self, key: &Digest) -> Option<Solved>;
    fn keep_points(&self, key: &Digest, points: &Solved);
    fn outline(&self, key: &Digest) -> Option<Outline>;
    fn keep_outline(&self, key: &Digest, outline: &Outline);
    fn scene(&self, key: &Digest) -> Option<Scene>;
    fn keep_scene(&self, key: &Digest, scene: &Scene);
    fn module(&self, name: &str) -> Option<Module>;
}

/// A program's points-to sets, and what they depend on beside its skeleton.
#[derive(Serialize, Deserialize)]
pub struct Solved {
    /// Under which names the units' modules are kept.
    units: Vec<String>,
    sums: Vec<Digest>,
    solution: Solution,
}

impl Solved {
    /// Whether the program, which has the same skeleton, has the same sets.
    fn holds_for(&self, program: &Program, known: &Known<'_>) -> bool {
        let mut modules: FxHashMap<u32, Option<Module>> = FxHashMap::default();
        let both = self.sums.iter().zip(&known.sums).enumerate();
        let mut others = both.filter(|(_, (before, now))| before != now);
        let mut same = |(id, _): (usize, _)| {
            let unit = *program.function_units.get(id)?;
            let module = modules
                .entry(unit)
                .or_insert_with(|| known.kept.module(self.units.get(unit as usize)?))
                .as_ref()?;
            let now = program.module.functions.get(id)?;
            let symbol = program.module.name_text(now.name);
            let before = module.function(module.function_by_symbol(symbol)?);
            let carries = |ty| carries(&program.module, ty);
            Some(self.solution.holds_for(FunctionId::new(id), before, now, &carries))
        };
        self.sums.len() == known.sums.len() && others.all(|other| same(other) == Some(true))
    }
}

/// A program's summaries, as far as a later check asks for them.
#[derive(Serialize, Deserialize)]
pub struct Summaries {
    functions: Vec<Summarised>,
    /// Of each function the formals whose numbers are left out of digests, as bits. They follow from
    /// what is in the digests.
    unasked: Vec<u64>,
    /// What callers see of each function, one behind the other. Few are looked at again.
    #[serde(with = "crate::keeping::bytes")]
    effects: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct Summarised {
    details: Digest,
    /// The whole summary's digest.
    digest: Digest,
    /// Where what callers see of it ends.
    end: u32,
    ends_thread: bool,
}

impl Summaries {
    fn new(
        summaries: &[Arc<Summary>],
        details: &[Digest],
        digests: &[Digest],
        unasked: Vec<u64>,
    ) -> Option<Self> {
        let mut effects = Vec::new();
        let mut functions = Vec::with_capacity(summaries.len());
        for ((summary, details), digest) in summaries.iter().zip(details).zip(digests) {
            effects.extend(encoded(summary)?);
            let end = u32::try_from(effects.len()).ok()?;
            let ends_thread = summary.ends_thread;
            functions.push(Summarised { details: *details, digest: *digest, end, ends_thread });
        }
        Some(Summaries { functions, unasked, effects })
    }

    pub(crate) fn encoded(&self, id: FunctionId) -> Option<&[u8]> {
        let index = id.index();
        let start = index.checked_sub(1).map_or(0, |before| self.functions[before].end);
        self.effects.get(start as usize..self.functions[index].end as usize)
    }

    /// Whether they are of so many functions.
    pub(crate) fn is_of(&self, functions: usize) -> bool {
        self.functions.len() == functions
    }

    pub(crate) fn unasked(&self) -> &[u64] {
        &self.unasked
    }

    /// Whether the function may end the thread.
    pub(crate) fn ends_thread(&self, id: FunctionId) -> bool {
        self.functions[id.index()].ends_thread
    }

    /// What callers see of the function.
    pub(crate) fn effect(&self, id: FunctionId) -> Option<Summary> {
        postcard::from_bytes(self.encoded(id)?).ok()
    }
}

/// What callers see of a function, as it is kept.
pub(crate) fn encoded(summary: &Summary) -> Option<Vec<u8>> {
    postcard::to_stdvec(&summary.effect()).ok()
}

/// What was found in a program.
#[derive(Serialize, Deserialize)]
pub struct Found {
    draft: Draft,
    /// The functions that were looked into, with their details.
    seen: Vec<(u32, Digest)>,
}

impl Found {
    pub(crate) fn into_draft(self) -> Draft {
        self.draft
    }

    fn holds_for(&self, details: &[Digest]) -> bool {
        self.seen.iter().all(|(id, own)| details.get(*id as usize) == Some(own))
    }
}

/// Checks the program; whether an earlier check's result was taken over.
pub fn draft_again(
    program: &Program,
    models: &Models,
    options: &Options,
    known: &Known<'_>,
    entered: &dyn Fn(&'static str),
) -> (Draft, bool) {
    if let Some(draft) = without_start(program, options) {
        return (draft, false);
    }
    let solved = known.kept.points(&known.skeleton);
    let solved = solved.filter(|solved| solved.holds_for(program, known));
    let solved = solved.map(|solved| (solved.solution.digest, solved.solution.points()));
    let (digest, points) = solved.unzip();
    let mut foundation = Foundation::unsummarised(program, models, options, points, entered);
    entered("summaries");
    // The kind of mutexes is told by a number that is passed.
    let Foundation { effects, points, .. } = &foundation;
    let is_solved = digest.is_some();
    let digest = digest.unwrap_or_else(|| points.digest());
    let before = digest_of(&(known.skeleton, effects.checks_errors, digest));
    if known.details.len() == program.module.functions.len()
        && let Some(kept) = known.kept.summaries(&before)
        && let Some(digests) = foundation.digests_after(&kept, &known.details)
        && let Some(found) = known.kept.found(&digest_of(&(before, digests)))
        && found.holds_for(&known.details)
    {
        return (found.draft, true);
    }
    if known.details.len() == program.module.functions.len()
        && let Some(outline) = known.kept.outline(&known.frame)
        && let Some(draft) = outline.draft(&foundation, known)
    {
        return (draft, true);
    }
    let scene = known.kept.scene(&known.frame);
    let mut kept = scene.and_then(|scene| takeover::Resumed::new(scene, &foundation, known));
    let summarised = kept.as_ref().and_then(|kept| kept.summaries(&foundation));
    let (summaries, anew) = summarised.unzip();
    foundation.summaries = summaries.unwrap_or_else(|| foundation.summarise());
    entered("taking over");
    let followed = Cell::new(kept.take().filter(|_| foundation.is_kept()));
    let taken_over = Cell::new(false);
    let instantiation = foundation.instantiate_from(&|new| {
        let is_new = |id: FunctionId| anew.as_ref().is_none_or(|anew| anew[id.index()]);
        let followed =
            followed.take().and_then(|mut kept| kept.followed(&foundation, new, &is_new));
        taken_over.set(followed.is_some());
        entered(if followed.is_some() { "accesses" } else { "contexts" });
        followed
    });
    // What was taken over will be from the same scene again.
    let keeps = !taken_over.get() && foundation.is_kept();
    let (draft, seen, pairs) = foundation.draft(&instantiation, keeps, entered);
    entered("keeping");
    let kept = foundation.keep(known, &before, (&draft, &seen), &instantiation);
    if let Some((summaries, found)) = kept
        && let Some(outline) = Outline::new(&foundation, known, &instantiation, summaries, found)
    {
        known.kept.keep_outline(&known.frame, &outline);
    }
    if !is_solved {
        let solution = Solution::new(&foundation.points, digest);
        let (units, sums) = (known.units.clone(), known.sums.clone());
        known.kept.keep_points(&known.skeleton, &Solved { units, sums, solution });
    }
    if keeps && let Some(scene) = Scene::new(&foundation, known, &instantiation, pairs) {
        known.kept.keep_scene(&known.frame, &scene);
    }
    instantiation.give_back();
    (draft, false)
}

fn digest_of(value: &impl Hash) -> Digest {
    let mut bytes = Bytes::default();
    value.hash(&mut bytes);
    bytes.digest()
}

/// Threads in all summaries, past which they are not kept: each summary is written down whole, and
/// would take far more room than it does in memory.
const MOST_THREADS: usize = 200_000;

/// A function after the edit.
struct Again {
    /// What callers see; `None` where that is what is kept.
    effect: Option<Arc<Summary>>,
    digest: Digest,
    /// Callers see what they saw.
    same: bool,
}

impl Foundation<'_> {
    /// Whether summaries, and what is made of them, are not too large to be kept.
    fn is_kept(&self) -> bool {
        let threads = self.summaries.iter().map(|summary| summary.possible.threads.len());
        threads.sum::<usize>() <= MOST_THREADS
    }

    /// Keeps what was found, and the summaries; gives them, and what the former is kept under.
    fn keep(
        &self,
        known: &Known<'_>,
        before: &Digest,
        (draft, seen): (&Draft, &[FunctionId]),
        instantiation: &Instantiation<'_>,
    ) -> Option<(Summaries, Digest)> {
        if known.details.len() != self.summaries.len() || !self.is_kept() {
            return None;
        }
        // Contexts of teams are told apart by all that they are passed.
        let unasked = match instantiation.has_teams() {
            true => vec![0; self.summaries.len()],
            false => instantiation.formals.unasked(&self.graph),
        };
        let lists = Lists::default();
        let digest = |summary: &Arc<Summary>| summary.digest(&unasked, false, &lists);
        let digests: Vec<Digest> = self.summaries.par_iter().map(digest).collect();
        let details = |id: &FunctionId| (id.0, known.details[id.index()]);
        let found = Found { draft: draft.clone(), seen: seen.iter().map(details).collect() };
        let key = digest_of(&(before, &digests));
        known.kept.keep_found(&key, &found);
        let kept = Summaries::new(&self.summaries, &known.details, &digests, unasked)?;
        known.kept.keep_summaries(before, &kept);
        Some((kept, key))
    }

    /// The digests of all summaries of this program, by those of one that differs from it in
    /// details.
    fn digests_after(&self, kept: &Summaries, details: &[Digest]) -> Option<Vec<Digest>> {
        if kept.functions.len() != details.len() {
            return None;
        }
        let mut read = Vec::new();
        read.resize_with(details.len(), OnceLock::new);
        let damaged = AtomicBool::new(false);
        let edit = Edit { foundation: self, env: self.env(), kept, details, read, damaged };
        let solve = |component: &[FunctionId], done: &Done<Again>| edit.component(component, done);
        let again = bottom_up(&self.components(), &self.graph.callees, &solve);
        if edit.damaged.into_inner() {
            return None;
        }
        let unreached = Summary::default().digest(&kept.unasked, false, &Lists::default());
        Some(again.into_iter().map(|own| own.map_or(unreached, |own| own.digest)).collect())
    }
}

/// What has changed since summaries were kept.
struct Edit<'a> {
    foundation: &'a Foundation<'a>,
    env: Env<'a>,
    kept: &'a Summaries,
    details: &'a [Digest],
    /// What callers see of functions, as far as somebody asked.
    read: Vec<OnceLock<Arc<Summary>>>,
    /// Something that is kept cannot be read: all that comes out is wrong.
    damaged: AtomicBool,
}

impl Edit<'_> {
    fn component(&self, component: &[FunctionId], done: &Done<Again>) -> Vec<(FunctionId, Again)> {
        if component.iter().all(|id| self.is_as_before(*id, component, done)) {
            return component.iter().map(|id| (*id, self.taken_over(*id))).collect();
        }
        let known = |id: FunctionId| {
            let effect = &done[id.index()].get()?.effect;
            Some(effect.clone().unwrap_or_else(|| self.kept(id)))
        };
        let foundation = self.foundation;
        if component.len() <= LARGE_COMPONENT {
            let anew = foundation.component(&self.env, &known, component);
            return anew.into_iter().map(|(id, summary)| (id, self.anew(id, summary))).collect();
        }
        let ends = |id: FunctionId| match done[id.index()].get() {
            Some(Again { effect: Some(effect), .. }) => effect.ends_thread,
            Some(_) => self.kept.ends_thread(id),
            None => false,
        };
        let worst = foundation.worst(&ends, component);
        let bytes = encoded(&worst);
        component
            .par_iter()
            .map(|&id| {
                // What callers see of it is the worst.
                let is_worst = || {
                    bytes.as_deref() == self.kept.encoded(id) || self.kept(id).same_effect(&worst)
                };
                let again = match self.is_as_before(id, component, done) && is_worst() {
                    true => self.taken_over(id),
                    false => {
                        let group = (component, &worst);
                        self.anew(id, foundation.member(&self.env, &known, group, id))
                    }
                };
                (id, again)
            })
            .collect()
    }

    /// Whether the function computes what it did, and sees the same of functions outside of the
    /// component that it calls.
    fn is_as_before(&self, id: FunctionId, component: &[FunctionId], done: &Done<Again>) -> bool {
        let callees = &self.foundation.graph.callees[id.index()];
        self.details[id.index()] == self.kept.functions[id.index()].details
            && callees
                .iter()
                .filter(|callee| component.binary_search(callee).is_err())
                .all(|callee| done[callee.index()].get().is_none_or(|again| again.same))
    }

    /// What callers saw of the function.
    fn kept(&self, id: FunctionId) -> Arc<Summary> {
        let read = || {
            let effect = self.kept.effect(id);
            self.damaged.fetch_or(effect.is_none(), Ordering::Relaxed);
            Arc::new(effect.unwrap_or_default())
        };
        self.read[id.index()].get_or_init(read).clone()
    }

    fn taken_over(&self, id: FunctionId) -> Again {
        Again { effect: None, digest: self.kept.functions[id.index()].digest, same: true }
    }

    fn anew(&self, id: FunctionId, summary: Arc<Summary>) -> Again {
        let same = summary.same_effect(&self.kept(id));
        Again {
            digest: summary.digest(&self.kept.unasked, false, &Lists::default()),
            effect: Some(summary),
            same,
        }
    }
}
