//! A whole result taken over after an edit that adds or takes away instructions.
//!
//! When all that stages after the summaries read is what it was, under other numbers, then so is what they
//! find. What they read is:
//!
//! - functions' summaries. Those of functions that were not edited are made of their bodies, of points-to
//!   sets and of what they see of their callees; edited ones are summarised anew, and held against what is
//!   kept. No summary may be another one;
//! - points-to sets ([`Beside`]), the call graph, what is shared, and effects: all of that is made anew and
//!   held against what is kept;
//! - bodies. Which instructions of which functions were looked at is kept, and edits must be
//!   [quiet](super::quiet) beside them.
//!
//! Objects and instructions that are new, or are there no more, may be mentioned by nothing of this. All
//! numbers rise with the old ones, so all orders are what they were. The draft names instructions by
//! [spots](crate::draft::Spot), which get their new numbers.
//!
//! May miss: nothing; what is not certainly the same is checked.

use std::hash::Hash;
use std::sync::{Arc, OnceLock};

use racewarden_ir::FunctionId;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::quiet::{Body, Edit};
use super::renaming::{Named, Renaming};
use super::{Lengths, Modules, aligned, edited};
use crate::again::{Known, Summaries, encoded};
use crate::bodies::{Bodies, Looks, is_plain};
use crate::check::{Foundation, LARGE_COMPONENT};
use crate::contexts::Instantiation;
use crate::draft::Draft;
use crate::notes::has_own_streams;
use crate::pointsto::{Beside, CallSite, KeptPoints, ObjectId};
use crate::sharing::Sharing;
use crate::summary::{Access, Call, Create, Exit, Lists, Summary};
use crate::view::{Bytes, Digest};

/// Functions that may have been edited. All that stand below an edited line have been when they tell their
/// lines, as assertions do.
const MOST_EDITED: usize = 512;

/// What a result was made of.
#[derive(Serialize, Deserialize)]
pub struct Outline {
    /// Under which names the units' modules are kept.
    units: Vec<String>,
    bodies: Vec<Digest>,
    /// What does not name instructions or objects.
    fixed: Digest,
    graph: Digest,
    points: KeptPoints,
    sharing: KeptSharing,
    summaries: Summaries,
    /// Of all summaries, without what is passed where it does not matter.
    digests: Vec<Digest>,
    /// What was looked at in functions.
    looks: Vec<Looks>,
    /// What is kept under this was found.
    found: Digest,
}

impl Outline {
    pub(crate) fn new(
        foundation: &Foundation<'_>,
        known: &Known<'_>,
        instantiation: &Instantiation<'_>,
        summaries: Summaries,
        found: Digest,
    ) -> Option<Self> {
        let same = Renaming::whole(foundation.points.locations().objects.len());
        let unasked = summaries.unasked();
        let lists = Lists::default();
        let digest = |summary: &Arc<Summary>| summary.digest(unasked, true, &lists);
        let digests = foundation.summaries.par_iter().map(digest).collect();
        Some(Outline {
            digests,
            units: known.units.clone(),
            bodies: known.bodies.clone(),
            fixed: fixed(foundation),
            graph: graph(foundation, &same)?,
            points: foundation.points.keep(),
            sharing: KeptSharing::new(&foundation.sharing, &same),
            summaries,
            looks: instantiation.bodies.looks(),
            found,
        })
    }

    /// What was found, with the instructions' numbers of the program as it is now; `None` when something
    /// else may be found now. Nothing is summarised yet.
    pub(crate) fn draft(&self, foundation: &Foundation<'_>, known: &Known<'_>) -> Option<Draft> {
        let edited = edited(&self.bodies, &known.bodies)?;
        if edited.len() > MOST_EDITED || fixed(foundation) != self.fixed {
            return None;
        }
        let (modules, forth, back, lengths) =
            aligned(&self.units, known, foundation.program, &edited)?;
        // What is not quiet with all that could be matched is not with less; sets cost more to compare.
        let quiet = |forth: &Renaming, back: &Renaming| {
            edited.iter().all(|id| {
                let looks = self.looks.get(id.index());
                let known = (&modules, &lengths);
                let quiet = |edit: &Edit<'_>| edit.is_quiet();
                looks.and_then(|looks| {
                    judged(foundation, (*id, looks), (forth, back), known, &quiet)
                }) == Some(true)
            })
        };
        if !quiet(&forth, &back) {
            return None;
        }
        let mut beside = Beside::new(&self.points, &foundation.points, forth, back)?;
        if !beside.compare(&|id| lengths[&id]) || !beside.same_blob() {
            return None;
        }
        let Beside { forth, back, .. } = beside;
        let both = Both { outline: self, foundation, forth, back };
        let is_same = graph(foundation, &both.back) == Some(self.graph)
            && self.sharing.is_same(&foundation.sharing, &both.forth, &both.back)
            && quiet(&both.forth, &both.back)
            && both.same_summaries(&edited) == Some(true);
        if !is_same {
            return None;
        }
        let mut draft = known.kept.found(&self.found)?.into_draft();
        for spot in &mut draft.spots {
            spot.inst = both.forth.inst(FunctionId(spot.function), spot.inst)?;
        }
        Some(draft)
    }
}

/// What is to be said of an edited function's bodies before and after the edit, beside what was looked at.
pub fn judged(
    foundation: &Foundation<'_>,
    (id, looks): (FunctionId, &Looks),
    (forth, back): (&Renaming, &Renaming),
    (modules, lengths): (&Modules, &Lengths),
    judge: &dyn Fn(&Edit<'_>) -> bool,
) -> Option<bool> {
    let program = foundation.program;
    let module = modules.get(program.function_units.get(id.index())?)?;
    let now = program.module.function(id);
    let symbol = program.module.name_text(now.name);
    let before = module.function(module.function_by_symbol(symbol)?);
    let (old, new) = lengths.get(&id).copied()?;
    let edit = Edit {
        before: Body { function: before, module },
        now: Body { function: now, module: &program.module },
        matches: (forth.insts.get(&id)?.get(..old)?, back.insts.get(&id)?.get(..new)?),
        looks,
        is_plain: &|id| is_plain(&foundation.effects, id),
    };
    Some(judge(&edit))
}

/// What the program's functions do that models speak for.
pub fn effects(foundation: &Foundation<'_>) -> Digest {
    let mut bytes = Bytes::default();
    // Effects are not made to be compared; how they are shown has all of them.
    format!("{:?}", foundation.effects).hash(&mut bytes);
    bytes.digest()
}

/// What a program is known by whatever the numbers of instructions and objects.
fn fixed(foundation: &Foundation<'_>) -> Digest {
    let Foundation { program, effects, graph, reachable, starts, exported, .. } = foundation;
    let mut bytes = Bytes::default();
    self::effects(foundation).hash(&mut bytes);
    (&graph.callees, &graph.levels, &graph.may_create, &graph.may_start).hash(&mut bytes);
    (reachable, starts, exported).hash(&mut bytes);
    let bodies = Bodies::unwatched(program, effects);
    (crate::loose::has_weak_access(program), has_own_streams(&bodies)).hash(&mut bytes);
    bytes.digest()
}

/// What the call graph says of instructions, under other numbers.
pub fn graph(foundation: &Foundation<'_>, renaming: &Renaming) -> Option<Digest> {
    let graph = &foundation.graph;
    let mut bytes = Bytes::default();
    for (id, calls) in graph.calls.iter().enumerate() {
        calls.len().hash(&mut bytes);
        for (inst, targets) in calls {
            (renaming.inst(FunctionId::new(id), *inst)?, targets).hash(&mut bytes);
        }
    }
    for list in [&graph.create_sites, &graph.unresolved] {
        list.len().hash(&mut bytes);
        for site in list {
            renaming.site(*site)?.hash(&mut bytes);
        }
    }
    Some(bytes.digest())
}

/// What is known of memory that threads share, in order.
#[derive(Serialize, Deserialize, PartialEq)]
pub struct KeptSharing {
    shared: Vec<ObjectId>,
    escaped: Vec<ObjectId>,
    stable: Vec<CallSite>,
    written: Vec<(ObjectId, Vec<Option<CallSite>>)>,
    tainted_handles: Vec<ObjectId>,
    emptied_handles: Vec<ObjectId>,
    copied_handles: Vec<(ObjectId, Option<CallSite>)>,
    reset_locks: Vec<ObjectId>,
    attributes: Vec<ObjectId>,
    detached: Vec<FunctionId>,
}

fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut list: Vec<T> = items.collect();
    list.sort_unstable();
    list
}

impl KeptSharing {
    /// Under other numbers, without objects and instructions that have none.
    pub fn new(sharing: &Sharing, renaming: &Renaming) -> Self {
        // Taken apart so that a part added to it is not forgotten here.
        let Sharing {
            shared,
            escaped,
            stable,
            written,
            tainted_handles,
            emptied_handles,
            copied_handles,
            reset_locks,
            detached,
        } = sharing;
        let object = |object: ObjectId| renaming.object(object);
        let set = |list: &mut dyn Iterator<Item = ObjectId>| sorted(list.filter_map(object));
        let flagged = |flags: &[bool]| {
            let all = (0u32..).zip(flags);
            set(&mut all.filter(|(_, flag)| **flag).map(|(object, _)| object))
        };
        KeptSharing {
            shared: flagged(shared),
            escaped: flagged(escaped),
            stable: sorted(stable.iter().filter_map(|site| renaming.site(*site))),
            written: sorted(written.iter().filter_map(|(at, sites)| {
                let sites = sites.iter().map(|site| renaming.site(*site)).collect();
                Some((object(*at)?, sites))
            })),
            tainted_handles: set(&mut tainted_handles.iter().copied()),
            emptied_handles: set(&mut emptied_handles.iter().copied()),
            copied_handles: sorted(
                copied_handles
                    .iter()
                    .filter_map(|(at, site)| Some((object(*at)?, renaming.site(*site)))),
            ),
            reset_locks: set(&mut reset_locks.iter().copied()),
            attributes: set(&mut detached.attributes.iter().copied()),
            detached: sorted(detached.starts.iter().copied()),
        }
    }

    /// As far as summaries are made of it.
    fn for_summaries(self) -> Self {
        KeptSharing { escaped: Vec::new(), written: Vec::new(), ..self }
    }

    /// As [`KeptSharing::is_same`], but for where globals are written that nobody asked for; `asked` knows
    /// those whose places were asked for, by their numbers before.
    pub fn is_same_where_asked(
        &self,
        sharing: &Sharing,
        (forth, back): (&Renaming, &Renaming),
        asked: &dyn Fn(ObjectId) -> bool,
    ) -> bool {
        let written = |own: KeptSharing| KeptSharing {
            written: own.written.into_iter().filter(|(at, _)| asked(*at)).collect(),
            ..own
        };
        let now = written(KeptSharing::new(sharing, back));
        now.written.iter().all(|(_, sites)| sites.iter().all(Option::is_some))
            && now.copied_handles.iter().all(|(_, site)| site.is_some())
            && now == written(self.remaining(forth))
    }

    /// Whether all objects and instructions that are there before and after have what they had, and no
    /// others are shared.
    pub fn is_same(&self, sharing: &Sharing, forth: &Renaming, back: &Renaming) -> bool {
        let shared = || sharing.shared.iter().zip(&sharing.escaped).enumerate();
        let is_new = |object: usize| back.object(object as ObjectId).is_none();
        // A site without a number is one that was not there.
        let named = |sites: &[Option<CallSite>]| sites.iter().all(Option::is_some);
        let now = KeptSharing::new(sharing, back);
        !shared().any(|(object, (shared, escaped))| is_new(object) && (*shared || *escaped))
            && now.written.iter().all(|(_, sites)| named(sites))
            && now.copied_handles.iter().all(|(_, site)| site.is_some())
            && now == self.remaining(forth)
    }

    /// As [`KeptSharing::is_same`], as far as summaries are made of it; what is new is in no summary of
    /// functions that were not edited.
    pub fn is_same_for_summaries(
        &self,
        sharing: &Sharing,
        forth: &Renaming,
        back: &Renaming,
    ) -> bool {
        let now = KeptSharing::new(sharing, back).for_summaries();
        now.copied_handles.iter().all(|(_, site)| site.is_some())
            && now == self.remaining(forth).for_summaries()
    }

    /// Without objects and instructions that are not there any more.
    fn remaining(&self, forth: &Renaming) -> KeptSharing {
        let gone = |object: &ObjectId| forth.object(*object).is_none();
        let stable = self.stable.iter().copied();
        let copied = self.copied_handles.iter();
        KeptSharing {
            stable: stable.filter(|site| forth.site(*site).is_some()).collect(),
            written: self.written.iter().filter(|(at, _)| !gone(at)).cloned().collect(),
            tainted_handles: kept(&self.tainted_handles, &gone),
            emptied_handles: kept(&self.emptied_handles, &gone),
            copied_handles: copied.filter(|(at, _)| !gone(at)).copied().collect(),
            reset_locks: kept(&self.reset_locks, &gone),
            attributes: kept(&self.attributes, &gone),
            shared: self.shared.clone(),
            escaped: self.escaped.clone(),
            detached: self.detached.clone(),
        }
    }
}

fn kept(list: &[ObjectId], gone: &dyn Fn(&ObjectId) -> bool) -> Vec<ObjectId> {
    list.iter().copied().filter(|object| !gone(object)).collect()
}

/// A program before and after an edit.
struct Both<'a> {
    outline: &'a Outline,
    foundation: &'a Foundation<'a>,
    forth: Renaming,
    back: Renaming,
}

impl Both<'_> {
    /// Whether all summaries are what they were.
    fn same_summaries(&self, edited: &[FunctionId]) -> Option<bool> {
        let Both { foundation, outline, .. } = self;
        let kept = &outline.summaries;
        if !kept.is_of(outline.bodies.len()) {
            return None;
        }
        let components = foundation.components();
        let mut reached = vec![false; outline.bodies.len()];
        components.iter().copied().flatten().for_each(|id| reached[id.index()] = true);
        let mut read: Vec<OnceLock<Option<Arc<Summary>>>> = Vec::new();
        read.resize_with(reached.len(), OnceLock::new);
        // What is kept of a function is part of what callers see, under its new numbers; what cannot be
        // read has no callers that could be summarised.
        let effect = |id: FunctionId| -> Option<Arc<Summary>> {
            let read = read[id.index()].get_or_init(|| {
                let named = Named { renaming: &self.forth, function_of: &|_| Some(id) };
                Some(Arc::new(named.summary(&kept.effect(id)?, &[])?))
            });
            read.clone()
        };
        let missing = std::sync::atomic::AtomicBool::new(false);
        let done = |id: FunctionId| {
            let found = reached[id.index()].then(|| effect(id))?;
            missing.fetch_or(found.is_none(), std::sync::atomic::Ordering::Relaxed);
            found
        };
        let env = foundation.env();
        for component in components {
            let own: Vec<FunctionId> =
                edited.iter().copied().filter(|id| component.binary_search(id).is_ok()).collect();
            if own.is_empty() {
                continue;
            }
            let anew = if component.len() <= LARGE_COMPONENT {
                foundation.component(&env, &done, component)
            } else {
                let ends = |id: FunctionId| {
                    reached[id.index()]
                        && component.binary_search(&id).is_err()
                        && kept.ends_thread(id)
                };
                let worst = foundation.worst(&ends, component);
                let named = Named { renaming: &self.back, function_of: &|_| None };
                let bytes = encoded(&named.summary(&worst, &[])?)?;
                if component.iter().any(|id| kept.encoded(*id) != Some(&bytes)) {
                    return Some(false);
                }
                let member =
                    |id: FunctionId| foundation.member(&env, &done, (component, &worst), id);
                own.iter().map(|id| (*id, member(*id))).collect()
            };
            for (id, summary) in anew {
                let named = Named { renaming: &self.back, function_of: &|_| Some(id) };
                let before = named.summary(&summary, kept.unasked())?;
                let digest = before.digest(kept.unasked(), true, &Lists::default());
                if outline.digests.get(id.index()) != Some(&digest)
                    || !before.same_effect(&kept.effect(id)?)
                {
                    return Some(false);
                }
            }
        }
        Some(!missing.into_inner())
    }
}

impl Named<'_> {
    /// The summary under other numbers, without what is passed where it does not matter.
    fn summary(&self, summary: &Summary, unasked: &[u64]) -> Option<Summary> {
        // Taken apart so that a part added to a summary is not forgotten here.
        let Summary {
            exits,
            accesses,
            calls,
            creates,
            result,
            possible,
            ends_thread,
            returns_fresh,
        } = summary;
        let mut states = FxHashMap::default();
        // What is done in one state stays so: digests tell states by that.
        let mut state = |own: &Arc<crate::state::Path>| -> Option<Arc<crate::state::Path>> {
            let renamed =
                states.entry(Arc::as_ptr(own)).or_insert_with(|| self.path(own).map(Arc::new));
            renamed.clone()
        };
        let local = |inst: u32| self.local(inst);
        let list = |list: &[Option<crate::sym::Sym>]| -> Option<Vec<Option<crate::sym::Sym>>> {
            list.iter().map(|sym| self.optional(sym.as_ref())).collect()
        };
        let exit = |exit: &Exit| {
            let Exit { path, result } = exit;
            Some(Exit { path: self.path(path)?, result: *result })
        };
        let mut renamed = Summary {
            exits: exits.iter().map(exit).collect::<Option<_>>()?,
            result: self.optional(result.as_ref())?,
            possible: self.path(possible)?,
            ends_thread: *ends_thread,
            returns_fresh: *returns_fresh,
            ..Summary::default()
        };
        for access in accesses {
            let Access { inst, operand, address, size, kind, atomic, state: own, private } = access;
            renamed.accesses.push(Access {
                inst: local(*inst)?,
                operand: *operand,
                address: self.optional(address.as_ref())?,
                size: *size,
                kind: *kind,
                atomic: *atomic,
                state: state(own)?,
                private: *private,
            });
        }
        for Call { inst, callee, arguments, state: own, apart } in calls {
            let unasked = unasked.get(callee.index()).copied().unwrap_or_default();
            let asked = |index: u32| index >= 63 || unasked & (1 << index) == 0;
            let arguments = (0..)
                .zip(arguments)
                .map(|(index, argument)| self.optional(argument.as_ref().filter(|_| asked(index))));
            renamed.calls.push(Call {
                inst: local(*inst)?,
                callee: *callee,
                arguments: arguments.collect::<Option<_>>()?,
                state: state(own)?,
                apart: apart.clone(),
            });
        }
        for create in creates {
            let Create { inst, argument, passed, handle, state: own, apart, many, any_chain } =
                create;
            renamed.creates.push(Create {
                inst: local(*inst)?,
                argument: self.optional(argument.as_ref())?,
                passed: list(passed)?,
                handle: self.optional(handle.as_ref())?,
                state: state(own)?,
                apart: *apart,
                many: *many,
                any_chain: *any_chain,
            });
        }
        Some(renamed)
    }

    fn local(&self, inst: u32) -> Option<u32> {
        self.renaming.inst((self.function_of)(crate::sym::LOCAL)?, inst)
    }
}
