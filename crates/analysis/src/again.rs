//! A check that takes over what an earlier one has found.
//!
//! The earlier program and this one have the same skeleton: they differ in what functions compute and
//! compare, if at all (see [`crate::view`]). Points-to sets are solved anew. When they come out as they
//! were, so does all else that is known before the summaries, which is made of the skeleton and of
//! them. Then only functions with other details are summarised anew, and who calls them where callers
//! can tell the difference. When all summaries are what they were, and no function with other details
//! was looked into after that ([`crate::bodies`]), then so is what was found.
//!
//! An edit that adds, removes or reorders instructions makes another skeleton. From the summaries on it is
//! checked as a whole, but for contexts and accesses that are what they were ([`crate::takeover`]).
//!
//! May miss: nothing.

use std::cell::Cell;
use std::hash::Hash;
use std::sync::Arc;

use racewarden_ir::{FunctionId, Module, Op, Program};
use racewarden_models::Models;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::actuals::Formals;
use crate::bodies::Bodies;
use crate::bottom_up::{Done, bottom_up};
use crate::callgraph::effects_of_call;
use crate::check::{Foundation, LARGE_COMPONENT, Options, without_start};
use crate::draft::Draft;
use crate::effects::Effect;
use crate::flow::Env;
use crate::pointsto::CallSite;
use crate::summary::Summary;
use crate::takeover::Scene;
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
    fn scene(&self, key: &Digest) -> Option<Scene>;
    fn keep_scene(&self, key: &Digest, scene: &Scene);
    fn module(&self, name: &str) -> Option<Module>;
}

/// A program's summaries, as far as a later check asks for them.
#[derive(Serialize, Deserialize)]
pub struct Summaries {
    functions: Vec<Summarised>,
    /// Of each function the formals whose numbers are left out of digests, as bits. They follow from
    /// what is in the digests.
    unasked: Vec<u64>,
}

#[derive(Serialize, Deserialize)]
struct Summarised {
    details: Digest,
    /// The whole summary's digest.
    digest: Digest,
    /// What callers see of it.
    effect: Summary,
}

/// What was found in a program.
#[derive(Serialize, Deserialize)]
pub struct Found {
    draft: Draft,
    /// The functions that were looked into, with their details.
    seen: Vec<(u32, Digest)>,
}

impl Found {
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
    let mut foundation = Foundation::unsummarised(program, models, options, entered);
    entered("summaries");
    // The kind of mutexes is told by a number that is passed.
    let Foundation { effects, points, .. } = &foundation;
    let before = digest_of(&(known.skeleton, effects.checks_errors, points.digest()));
    if known.details.len() == program.module.functions.len()
        && let Some(kept) = known.kept.summaries(&before)
        && let Some(digests) = foundation.digests_after(&kept, &known.details)
        && let Some(found) = known.kept.found(&digest_of(&(before, digests)))
        && found.holds_for(&known.details)
    {
        return (found.draft, true);
    }
    foundation.summaries = foundation.summarise();
    entered("taking over");
    let taken_over = Cell::new(false);
    let instantiation = foundation.instantiate_from(&|new| {
        let scene = foundation.is_kept().then(|| known.kept.scene(&known.frame)).flatten();
        let followed = scene.and_then(|mut scene| scene.followed(&foundation, known, new));
        taken_over.set(followed.is_some());
        entered(if followed.is_some() { "accesses" } else { "contexts" });
        followed
    });
    let (draft, seen) = foundation.draft(&instantiation, entered);
    entered("keeping");
    foundation.keep(known, &before, &draft, &seen);
    // What was taken over will be from the same scene again.
    if !taken_over.get()
        && foundation.is_kept()
        && let Some(scene) = Scene::new(&foundation, known, &instantiation)
    {
        known.kept.keep_scene(&known.frame, &scene);
    }
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
    effect: Arc<Summary>,
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

    fn keep(&self, known: &Known<'_>, before: &Digest, draft: &Draft, seen: &[FunctionId]) {
        if known.details.len() != self.summaries.len() || !self.is_kept() {
            return;
        }
        let unasked = self.unasked();
        let functions: Vec<Summarised> = self
            .summaries
            .par_iter()
            .zip(&known.details)
            .map(|(summary, &details)| Summarised {
                details,
                digest: summary.digest(&unasked),
                effect: summary.effect(),
            })
            .collect();
        let digests: Vec<Digest> = functions.iter().map(|function| function.digest).collect();
        let details = |id: &FunctionId| (id.0, known.details[id.index()]);
        let found = Found { draft: draft.clone(), seen: seen.iter().map(details).collect() };
        known.kept.keep_found(&digest_of(&(before, digests)), &found);
        known.kept.keep_summaries(before, &Summaries { functions, unasked });
    }

    /// Formals whose numbers no later stage asks for. Contexts of teams are told apart by all that
    /// they are passed.
    fn unasked(&self) -> Vec<u64> {
        let is_team = |effect: &Effect| matches!(effect, Effect::Create { extent, .. } if extent.many && extent.joins);
        let body = |site: &CallSite| &self.program.module.function(site.0).instructions;
        let starts_team = |site: &CallSite| match &body(site)[site.1 as usize].op {
            Op::Call { callee, .. } => {
                effects_of_call(&self.effects, &self.points, *site, callee).any(is_team)
            }
            _ => true,
        };
        if self.graph.create_sites.iter().any(starts_team) {
            return vec![0; self.summaries.len()];
        }
        let bodies = Bodies::new(self.program, &self.effects);
        Formals::new(&bodies, &self.effects, &self.points, &self.summaries).unasked(&self.graph)
    }

    /// The digests of all summaries of this program, by those of one that differs from it in
    /// details.
    fn digests_after(&self, kept: &Summaries, details: &[Digest]) -> Option<Vec<Digest>> {
        if kept.functions.len() != details.len() {
            return None;
        }
        let edit = Edit { foundation: self, env: self.env(), kept, details };
        let solve = |component: &[FunctionId], done: &Done<Again>| edit.component(component, done);
        let again = bottom_up(&self.components(), &self.graph.callees, &solve);
        let unreached = Summary::default().digest(&kept.unasked);
        Some(again.into_iter().map(|own| own.map_or(unreached, |own| own.digest)).collect())
    }
}

/// What has changed since summaries were kept.
struct Edit<'a> {
    foundation: &'a Foundation<'a>,
    env: Env<'a>,
    kept: &'a Summaries,
    details: &'a [Digest],
}

impl Edit<'_> {
    fn component(&self, component: &[FunctionId], done: &Done<Again>) -> Vec<(FunctionId, Again)> {
        if component.iter().all(|id| self.is_as_before(*id, component, done)) {
            return component.iter().map(|id| (*id, self.taken_over(*id))).collect();
        }
        let known = |id: FunctionId| Some(done[id.index()].get()?.effect.clone());
        let foundation = self.foundation;
        if component.len() <= LARGE_COMPONENT {
            let anew = foundation.component(&self.env, &known, component);
            return anew.into_iter().map(|(id, summary)| (id, self.anew(id, summary))).collect();
        }
        let worst = foundation.worst(&known, component);
        component
            .par_iter()
            .map(|&id| {
                // What callers see of it is the worst.
                let same = self.is_as_before(id, component, done)
                    && self.kept.functions[id.index()].effect.same_effect(&worst);
                let again = match same {
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

    fn taken_over(&self, id: FunctionId) -> Again {
        let Summarised { effect, digest, .. } = &self.kept.functions[id.index()];
        Again { effect: Arc::new(effect.clone()), digest: *digest, same: true }
    }

    fn anew(&self, id: FunctionId, summary: Arc<Summary>) -> Again {
        let same = summary.same_effect(&self.kept.functions[id.index()].effect);
        Again { digest: summary.digest(&self.kept.unasked), effect: summary, same }
    }
}
