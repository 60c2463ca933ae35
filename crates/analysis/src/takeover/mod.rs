//! Contexts taken over from the program before an edit; whole results are in [`outline`].
//!
//! Which contexts there are follows from what functions call and create, in which states, and from where
//! pointers lead; not from what functions access or compute. All of that is kept as a [`Scene`], with
//! the contexts. After an edit it is held against the program as it is now, with the instructions of
//! edited functions and the objects under their new numbers ([`alignment`], [`renaming`]). When it is
//! what it was, so are the contexts, and nobody follows them again.
//!
//! All numbers rise with the old ones, so whatever order things were looked at in is the order in which
//! they would be now. What following contexts reads, and what it is held against:
//!
//! - who is declared, with which signature, and all globals: the frame of all units, which the scene is
//!   kept under. Models speak of functions by name, but for the kind of mutexes (`checks_errors`);
//! - bodies: the digests of functions that were not edited. Of edited ones nothing is read but which
//!   function a matched instruction calls, whether it is on a cycle (both are part of what instructions
//!   are matched by), and the calls and creations that are in the summary. Who calls through a pointer to
//!   several functions, or creates threads, must not have been edited: there operands are followed;
//! - points-to sets: all of those before the edit ([`crate::pointsto::Beside`]);
//! - summaries: all but accesses, and actuals that no context keeps;
//! - of accesses: which formals matter ([`Formals`](crate::actuals::Formals)), and whether something is
//!   waited for ([`Joins`](crate::entry::Joins)).
//!
//! Summaries are taken over before that, for whatever edit leaves pointers leading where they led
//! ([`summaries`]); and pairs after it, in objects that no other accesses are to ([`crate::pairs::Before`]).
//! What those are judged by beside contexts, accesses and what is compared above: what was looked at of edited
//! functions, the call graph, what is shared, and what edited functions pass to others.

mod accesses;
mod alignment;
mod outline;
mod quiet;
mod renaming;
mod snapshot;
mod summaries;

use std::collections::hash_map::Entry;
use std::hash::Hash;

use racewarden_ir::{FunctionId, Module, Program};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::again::Known;
use crate::bodies::Looks;
use crate::callgraph::effects_of_call;
use crate::check::Foundation;
use crate::contexts::Instantiation;
use crate::effects::{Effect, HandlerKind};
use crate::pairs::{self, KeptPairs};
use crate::pointsto::{Beside, CallSite, KeptPoints};
use crate::summary::{Access, Call, Create, Exit, Lists, States, Summary, hash_state};
use crate::sym::Sym;
use crate::view::{Bytes, Digest};
pub use accesses::{KnownAccesses, Matched};
use outline::KeptSharing;
pub use outline::Outline;
pub use renaming::{NONE, Named, Renaming};
pub use snapshot::{Followed, Snapshot};
pub use summaries::Summarised;
use summaries::{Before, KeptSummaries};

/// What contexts were made of, and the contexts.
#[derive(Serialize, Deserialize)]
pub struct Scene {
    /// Under which names the units' modules are kept.
    units: Vec<String>,
    bodies: Vec<Digest>,
    effects: Digest,
    starts: Vec<FunctionId>,
    exported: Vec<FunctionId>,
    points: KeptPoints,
    sharing: KeptSharing,
    shared: Vec<bool>,
    may_start: Vec<bool>,
    create_sites: Vec<CallSite>,
    formals: Vec<u64>,
    joins: Vec<bool>,
    /// Of each function: what contexts are made of, and what accesses are.
    callings: Vec<Option<Digest>>,
    accesses: Vec<Option<Digest>>,
    /// What was looked at in functions.
    looks: Vec<Looks>,
    summaries: KeptSummaries,
    snapshot: Snapshot,
    graph: Digest,
    pairs: Option<KeptPairs>,
}

impl Scene {
    /// `None` when it is too large to be kept.
    pub(crate) fn new(
        foundation: &Foundation<'_>,
        known: &Known<'_>,
        instantiation: &Instantiation<'_>,
        pairs: Option<KeptPairs>,
    ) -> Option<Scene> {
        let Foundation { points, graph, sharing, .. } = foundation;
        let same = Renaming::whole(points.locations().objects.len());
        Some(Scene {
            snapshot: Snapshot::new(instantiation)?,
            summaries: KeptSummaries::new(foundation)?,
            units: known.units.clone(),
            bodies: known.bodies.clone(),
            effects: outline::effects(foundation),
            starts: foundation.starts.clone(),
            exported: foundation.exported.clone(),
            points: points.keep(),
            sharing: KeptSharing::new(sharing, &same),
            graph: outline::graph(foundation, &same)?,
            pairs,
            shared: sharing.shared.clone(),
            may_start: graph.may_start.clone(),
            create_sites: graph.create_sites.clone(),
            formals: instantiation.formals.masks().to_vec(),
            joins: instantiation.joins.all().to_vec(),
            callings: callings(foundation, instantiation, &same, &|_| true),
            accesses: accesses(foundation, &same, &|_| true),
            looks: instantiation.bodies.looks(),
        })
    }
}

/// A scene and the program after an edit that leaves pointers leading where they led.
pub struct Resumed {
    scene: Scene,
    edited: Vec<FunctionId>,
    forth: Renaming,
    back: Renaming,
    /// What functions' summaries are made of, beside their bodies and callees, is what it was.
    same_environment: bool,
    /// So is all else that pairs are judged by, but for summaries, contexts and accesses.
    same_rest: bool,
}

impl Resumed {
    /// `None` when nothing of the scene can be of use.
    pub(crate) fn new(
        scene: Scene,
        foundation: &Foundation<'_>,
        known: &Known<'_>,
    ) -> Option<Resumed> {
        let Foundation { points, sharing, .. } = foundation;
        let edited = edited(&scene.bodies, &known.bodies)?;
        if edited.len() > MOST_EDITED || scene.effects != outline::effects(foundation) {
            return None;
        }
        let (modules, forth, back, lengths) =
            aligned(&scene.units, known, foundation.program, &edited)?;
        let mut beside = Beside::new(&scene.points, points, forth, back)?;
        if !beside.compare(&|id| lengths[&id]) {
            return None;
        }
        let same_blob = beside.same_blob();
        let Beside { forth, back, .. } = beside;
        let same_environment =
            same_blob && scene.sharing.is_same_for_summaries(sharing, &forth, &back);
        let is_unseen = |id: &FunctionId| {
            let looks = scene.looks.get(id.index())?;
            let (matches, known) = ((&forth, &back), (&modules, &lengths));
            outline::judged(foundation, (*id, looks), matches, known, &|edit| edit.is_unseen())
        };
        let asked = |object| scene.pairs.as_ref().is_some_and(|pairs| pairs.asks_for(object));
        let same_rest = same_environment
            && outline::graph(foundation, &back) == Some(scene.graph)
            && scene.sharing.is_same_where_asked(sharing, (&forth, &back), &asked)
            && edited.iter().all(|id| is_unseen(id) == Some(true));
        Some(Resumed { scene, edited, forth, back, same_environment, same_rest })
    }

    /// All summaries, made anew where they may be others.
    pub(crate) fn summaries(&self, foundation: &Foundation<'_>) -> Option<Summarised> {
        let Resumed { scene, edited, forth, same_environment, .. } = self;
        let before = Before::new(&scene.summaries, foundation, edited, forth);
        before.filter(|_| *same_environment).map(|before| before.summaries())
    }

    /// The contexts of the program as it is now, if they are those that are kept. Nothing was followed in
    /// the instantiation yet. `anew` says which functions' summaries may be others.
    pub(crate) fn followed(
        &mut self,
        foundation: &Foundation<'_>,
        instantiation: &Instantiation<'_>,
        anew: &(dyn Fn(FunctionId) -> bool + Sync),
    ) -> Option<Followed> {
        let Foundation { graph, sharing, .. } = foundation;
        let Resumed { scene, edited, forth, back, same_rest, .. } = self;
        if scene.starts != foundation.starts
            || scene.exported != foundation.exported
            || scene.may_start != graph.may_start
            || scene.formals != instantiation.formals.masks()
            || scene.joins != instantiation.joins.all()
            || runs_at_end(foundation)
            || edited.iter().any(|id| is_followed(foundation, *id))
        {
            return None;
        }
        let shared = |(old, new): (usize, &u32)| {
            *new == NONE || scene.shared.get(old) == sharing.shared.get(*new as usize)
        };
        let nowhere = scene.shared.iter().position(|shared| !shared).map(|object| object as u32);
        let sites: Option<Vec<CallSite>> =
            scene.create_sites.iter().map(|site| forth.site(*site)).collect();
        if !forth.objects.iter().enumerate().all(shared)
            || nowhere.and_then(|object| forth.object(object)) != instantiation.nowhere
            || sites? != graph.create_sites
        {
            return None;
        }
        // What was taken over is what it was.
        let both = |now: Vec<Option<Digest>>, before: &[Option<Digest>]| -> Vec<bool> {
            let ids = foundation.program.module.function_ids();
            let all = ids.zip(before.iter().zip(&now));
            all.map(|(id, (before, now))| !anew(id) || (before.is_some() && before == now))
                .collect()
        };
        if both(callings(foundation, instantiation, back, anew), &scene.callings).contains(&false) {
            return None;
        }
        instantiation.bodies.look_again(&scene.looks, &|site| forth.site(site));
        let mut same = both(accesses(foundation, back, anew), &scene.accesses);
        edited.iter().for_each(|id| same[id.index()] = false);
        let others = (0..).zip(&same).filter(|(_, same)| !**same).map(|(id, _)| FunctionId(id));
        let others: Option<FxHashMap<_, _>> = others
            .map(|id| {
                let named = Named { renaming: forth, function_of: &|_| Some(id) };
                Some((id, scene.summaries.accesses(id, &named)?))
            })
            .collect();
        let mut ids = foundation.program.module.function_ids().filter(|id| anew(*id));
        let passes = ids.all(|id| {
            let named = Named { renaming: forth, function_of: &|_| Some(id) };
            scene.summaries.passes(id, &named, &foundation.summaries[id.index()])
        });
        let mut followed = scene.snapshot.renamed(forth, same)?;
        let kept = scene.pairs.take().filter(|_| *same_rest && passes);
        if let (Some(kept), Some(others)) = (kept, others) {
            followed.accesses.others = others;
            followed.before = Some(pairs::Before { kept, objects: forth.objects.clone() });
        }
        Some(followed)
    }
}

/// The functions whose bodies are others; `None` when there are more or fewer of them.
fn edited(before: &[Digest], now: &[Digest]) -> Option<Vec<FunctionId>> {
    let both = before.iter().zip(now).enumerate();
    let others = both.filter(|(_, (before, now))| before != now);
    let others = others.map(|(function, _)| FunctionId::new(function));
    (before.len() == now.len()).then(|| others.collect())
}

/// Units' modules before an edit, by their numbers.
type Modules = FxHashMap<u32, Module>;

/// The instructions of edited functions before and after the edit, and how many there are. `units` are the
/// names that units were kept under before it.
fn aligned(
    units: &[String],
    known: &Known<'_>,
    program: &Program,
    edited: &[FunctionId],
) -> Option<(Modules, Renaming, Renaming, Lengths)> {
    let mut modules = Modules::default();
    let (mut forth, mut back) = (Renaming::default(), Renaming::default());
    let mut lengths = Lengths::default();
    for id in edited {
        let unit = *program.function_units.get(id.index())?;
        let module = match modules.entry(unit) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(known.kept.module(units.get(unit as usize)?)?),
        };
        let body = program.module.function(*id);
        let symbol = program.module.name_text(body.name);
        let before = module.function(module.function_by_symbol(symbol)?);
        let (there, here) = alignment::aligned((before, &*module), (body, &program.module));
        lengths.insert(*id, (before.instructions.len(), body.instructions.len()));
        forth.insts.insert(*id, there);
        back.insts.insert(*id, here);
    }
    Some((modules, forth, back, lengths))
}

/// How many instructions edited functions had and have.
type Lengths = FxHashMap<FunctionId, (usize, usize)>;

/// Functions that may have been edited for contexts to be taken over.
const MOST_EDITED: usize = 64;

impl Renaming {
    /// Everything keeps its number.
    fn whole(objects: usize) -> Renaming {
        Renaming { insts: FxHashMap::default(), objects: (0..objects as u32).collect() }
    }
}

/// Whether threads run something when they end: it is found by a look through bodies.
fn runs_at_end(foundation: &Foundation<'_>) -> bool {
    let Foundation { program, effects, points, graph, .. } = foundation;
    let at_end =
        |effect: &Effect| matches!(effect, Effect::Handler { kind: HandlerKind::ThreadExit, .. });
    !points.ends.is_empty()
        || graph.create_sites.iter().any(|site| {
            let body = program.module.function(site.0);
            match &body.instructions[site.1 as usize].op {
                racewarden_ir::Op::Call { callee, .. } => {
                    effects_of_call(effects, points, *site, callee).any(at_end)
                }
                _ => true,
            }
        })
}

/// Whether operands in the function are followed to find its contexts.
fn is_followed(foundation: &Foundation<'_>, id: FunctionId) -> bool {
    let Foundation { points, summaries, .. } = foundation;
    let summary = &summaries[id.index()];
    !summary.creates.is_empty()
        || summary.calls.iter().any(|call| points.callees((id, call.inst)).len() > 1)
}

/// Of each function that is asked for, the digest of what contexts are made of, under other numbers; `None`
/// where something has none.
fn callings(
    foundation: &Foundation<'_>,
    instantiation: &Instantiation<'_>,
    renaming: &Renaming,
    of: &(dyn Fn(FunctionId) -> bool + Sync),
) -> Vec<Option<Digest>> {
    let Foundation { program, graph, summaries, .. } = foundation;
    let teams = instantiation.has_teams();
    let kept = |callee: FunctionId, index: u32| {
        teams || graph.may_start[callee.index()] || instantiation.formals.matters(callee, index)
    };
    let (ids, lists) = (program.module.function_ids(), Lists::default());
    let ids: Vec<FunctionId> = ids.collect();
    ids.par_iter()
        .map(|&id| {
            let named = Named { renaming, function_of: &|_| Some(id) };
            of(id).then(|| calling(&summaries[id.index()], id, &named, &kept, &lists)).flatten()
        })
        .collect()
}

/// Of each function that is asked for, the digest of what it accesses, under other numbers.
fn accesses(
    foundation: &Foundation<'_>,
    renaming: &Renaming,
    of: &(dyn Fn(FunctionId) -> bool + Sync),
) -> Vec<Option<Digest>> {
    let Foundation { program, summaries, .. } = foundation;
    let (ids, lists) = (program.module.function_ids(), Lists::default());
    let ids: Vec<FunctionId> = ids.collect();
    ids.par_iter()
        .map(|&id| {
            if !of(id) {
                return None;
            }
            let named = Named { renaming, function_of: &|_| Some(id) };
            let mut bytes = Bytes::default();
            let mut states = States::new(&lists);
            for access in &summaries[id.index()].accesses {
                // Taken apart so that a part added to it is not forgotten here.
                let Access { inst, operand, address, size, kind, atomic, state, private } = access;
                (renaming.inst(id, *inst)?, operand, size, kind).hash(&mut bytes);
                (atomic, private, named.optional(address.as_ref())?).hash(&mut bytes);
                states.hash_renamed(state, &mut bytes, &|state| named.path(state))?;
            }
            Some(bytes.digest())
        })
        .collect()
}

/// The digest of what a function calls and creates, and how it leaves.
fn calling(
    summary: &Summary,
    id: FunctionId,
    named: &Named<'_>,
    kept: &dyn Fn(FunctionId, u32) -> bool,
    lists: &Lists,
) -> Option<Digest> {
    // Taken apart so that a part added to a summary is not forgotten here.
    let Summary {
        exits,
        accesses: _,
        calls,
        creates,
        result: _,
        possible,
        ends_thread,
        returns_fresh,
    } = summary;
    let mut bytes = Bytes::default();
    let mut states = States::new(lists);
    let renaming = named.renaming;
    (ends_thread, returns_fresh).hash(&mut bytes);
    hash_state(&named.path(possible)?, &mut bytes, lists);
    (exits.len(), calls.len(), creates.len()).hash(&mut bytes);
    for Exit { path, result: _ } in exits {
        hash_state(&named.path(path)?, &mut bytes, lists);
    }
    let list = |list: &[Option<Sym>]| -> Option<Vec<Option<Sym>>> {
        list.iter().map(|sym| named.optional(sym.as_ref())).collect()
    };
    for Call { inst, callee, arguments, state, apart } in calls {
        (renaming.inst(id, *inst)?, callee, arguments.len(), apart).hash(&mut bytes);
        for (index, argument) in (0u32..).zip(arguments) {
            match kept(*callee, index) {
                true => (true, named.optional(argument.as_ref())?).hash(&mut bytes),
                false => false.hash(&mut bytes),
            }
        }
        states.hash_renamed(state, &mut bytes, &|state| named.path(state))?;
    }
    for create in creates {
        let Create { inst, argument, passed, handle, state, apart, many, any_chain } = create;
        (renaming.inst(id, *inst)?, named.optional(argument.as_ref())?).hash(&mut bytes);
        (list(passed)?, named.optional(handle.as_ref())?).hash(&mut bytes);
        (apart, many, any_chain).hash(&mut bytes);
        states.hash_renamed(state, &mut bytes, &|state| named.path(state))?;
    }
    Some(bytes.digest())
}
