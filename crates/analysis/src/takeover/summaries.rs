//! Summaries as they are kept whole, and made anew after an edit only where it can tell.
//!
//! A summary is made of the function's body, of what its pointers lead to, of what is known of the program
//! as a whole ([`Foundation::env`]), and of what it sees of its callees. When all of that is what it was, so is
//! the summary, under other numbers. A recursion is taken over as one, and only when it is of the same functions.
//!
//! States are kept once, however many functions do something in them.
//!
//! May miss: nothing; what is not certainly the same is made anew.

use std::sync::{Arc, OnceLock};

use racewarden_finding::AccessKind;
use racewarden_ir::FunctionId;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::renaming::{Named, Renaming};
use super::snapshot::Table;
use crate::bottom_up::{Done, bottom_up};
use crate::check::{Foundation, LARGE_COMPONENT};
use crate::state::{Fact, Path};
use crate::summary::{Access, Call, Create, Exit, Summary};
use crate::sym::Sym;

type Number = u32;

/// Stands for whichever function has the instructions that it had.
const UNEDITED: FunctionId = FunctionId(u32::MAX);

/// The summaries of all functions.
#[derive(Serialize, Deserialize)]
pub struct KeptSummaries {
    states: Vec<Path>,
    /// By function: one of its recursion, or itself; `None` for those that were not summarised.
    recursions: Vec<Option<FunctionId>>,
    /// By function, where what is written of it ends.
    ends: Vec<u32>,
    /// One behind the other: few are read on the way to the others' callers, but all by who needs them.
    #[serde(with = "crate::keeping::bytes")]
    written: Vec<u8>,
}

/// A summary with its states by their numbers. Things that are done in one state stay so.
#[derive(Serialize, Deserialize)]
struct Written {
    exits: Vec<(Number, Option<Fact>)>,
    result: Option<Sym>,
    possible: Number,
    flags: [bool; 2],
    /// The states below; what follows names them by their place in this list.
    states: Vec<Number>,
    accesses: Vec<WrittenAccess>,
    calls: Vec<WrittenCall>,
    creates: Vec<WrittenCreate>,
}

/// Instruction and operand, address, size, kind, atomic and private, state.
type WrittenAccess = ((u32, u8), Option<Sym>, u64, AccessKind, [bool; 2], Number);

/// Instruction, callee, arguments, how far they are apart, state.
type WrittenCall = (u32, FunctionId, Vec<Option<Sym>>, Vec<Option<i64>>, Number);

#[derive(Serialize, Deserialize)]
struct WrittenCreate {
    inst: u32,
    argument: Option<Sym>,
    passed: Vec<Option<Sym>>,
    handle: Option<Sym>,
    state: Number,
    apart: Option<i64>,
    many: bool,
    any_chain: bool,
}

impl Written {
    fn new(summary: &Summary, states: &mut Table<Path>) -> Self {
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
        let exits = exits.iter().map(|Exit { path, result }| (states.number(path), *result));
        let (exits, possible) = (exits.collect(), states.number(possible));
        let mut list = Vec::new();
        let mut known: FxHashMap<*const Path, Number> = FxHashMap::default();
        let mut state = |own: &Arc<Path>| {
            *known.entry(Arc::as_ptr(own)).or_insert_with(|| {
                list.push(states.number(own));
                list.len() as Number - 1
            })
        };
        let accesses = accesses.iter().map(|access| {
            let Access { inst, operand, address, size, kind, atomic, state: own, private } = access;
            ((*inst, *operand), address.clone(), *size, *kind, [*atomic, *private], state(own))
        });
        let accesses = accesses.collect();
        let calls = calls.iter().map(|call| {
            let Call { inst, callee, arguments, state: own, apart } = call;
            (*inst, *callee, arguments.clone(), apart.clone(), state(own))
        });
        let calls = calls.collect();
        let creates = creates.iter().map(|create| {
            let Create { inst, argument, passed, handle, state: own, apart, many, any_chain } =
                create;
            WrittenCreate {
                inst: *inst,
                argument: argument.clone(),
                passed: passed.clone(),
                handle: handle.clone(),
                state: state(own),
                apart: *apart,
                many: *many,
                any_chain: *any_chain,
            }
        });
        let creates = creates.collect();
        Written {
            exits,
            result: result.clone(),
            possible,
            flags: [*ends_thread, *returns_fresh],
            states: list,
            accesses,
            calls,
            creates,
        }
    }

    /// What callers see of it.
    fn effect(&self, state: &dyn Fn(Number) -> Option<Path>) -> Option<Summary> {
        let exits = self.exits.iter();
        let exits = exits.map(|(path, result)| Some(Exit { path: state(*path)?, result: *result }));
        let [ends_thread, returns_fresh] = self.flags;
        Some(Summary {
            exits: exits.collect::<Option<_>>()?,
            result: self.result.clone(),
            possible: state(self.possible)?,
            ends_thread,
            returns_fresh,
            ..Summary::default()
        })
    }

    /// All of it.
    fn summary(self, state: &dyn Fn(Number) -> Option<Path>) -> Option<Summary> {
        let mut summary = self.effect(state)?;
        let states: Vec<Arc<Path>> =
            self.states.iter().map(|number| state(*number).map(Arc::new)).collect::<Option<_>>()?;
        let state = |number: Number| states.get(number as usize).cloned();
        for ((inst, operand), address, size, kind, [atomic, private], own) in self.accesses {
            let state = state(own)?;
            let access = Access { inst, operand, address, size, kind, atomic, state, private };
            summary.accesses.push(access);
        }
        for (inst, callee, arguments, apart, own) in self.calls {
            summary.calls.push(Call { inst, callee, arguments, state: state(own)?, apart });
        }
        for create in self.creates {
            let WrittenCreate {
                inst,
                argument,
                passed,
                handle,
                state: own,
                apart,
                many,
                any_chain,
            } = create;
            let state = state(own)?;
            let create = Create { inst, argument, passed, handle, state, apart, many, any_chain };
            summary.creates.push(create);
        }
        Some(summary)
    }
}

/// Of each function that is summarised one of its recursion, the first.
fn recursions(foundation: &Foundation<'_>) -> Vec<Option<FunctionId>> {
    let mut found = vec![None; foundation.program.module.functions.len()];
    for component in foundation.components() {
        component.iter().for_each(|id| found[id.index()] = component.first().copied());
    }
    found
}

impl KeptSummaries {
    pub(crate) fn new(foundation: &Foundation<'_>) -> Option<Self> {
        let mut states = Table::new();
        let (mut ends, mut bytes) = (Vec::new(), Vec::new());
        for summary in &foundation.summaries {
            bytes = postcard::to_extend(&Written::new(summary, &mut states), bytes).ok()?;
            ends.push(u32::try_from(bytes.len()).ok()?);
        }
        let recursions = recursions(foundation);
        Some(KeptSummaries { states: states.into_list(), recursions, ends, written: bytes })
    }

    /// What the function accessed, under its new numbers; `None` for what has none.
    pub fn accesses(&self, id: FunctionId, named: &Named<'_>) -> Option<Vec<Option<Access>>> {
        let path = |number: Number| named.path(self.states.get(number as usize)?);
        let written = self.written(id)?;
        let states: Vec<Option<Arc<Path>>> =
            written.states.iter().map(|number| path(*number).map(Arc::new)).collect();
        let renamed = written.accesses.into_iter().map(|access| {
            let ((inst, operand), address, size, kind, [atomic, private], state) = access;
            let inst = named.renaming.inst(id, inst)?;
            let (address, state) =
                (named.optional(address.as_ref())?, states.get(state as usize)?.clone()?);
            Some(Access { inst, operand, address, size, kind, atomic, state, private })
        });
        Some(renamed.collect())
    }

    /// Whether the function passes what it passed, where contexts do not ask for it, too.
    pub fn passes(&self, id: FunctionId, named: &Named<'_>, now: &Summary) -> bool {
        let renamed = |(inst, callee, arguments, apart, _): &WrittenCall| {
            let list = arguments.iter().map(|sym| named.optional(sym.as_ref()));
            let list: Vec<Option<Sym>> = list.collect::<Option<_>>()?;
            Some((named.renaming.inst(id, *inst)?, *callee, list, apart.clone()))
        };
        let now = now.calls.iter().map(|call| {
            let Call { inst, callee, arguments, apart, state: _ } = call;
            Some((*inst, *callee, arguments.clone(), apart.clone()))
        });
        self.written(id).is_some_and(|written| written.calls.iter().map(renamed).eq(now))
    }

    fn written(&self, id: FunctionId) -> Option<Written> {
        let start = match id.index().checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        let end = *self.ends.get(id.index())?;
        postcard::from_bytes(self.written.get(start as usize..end as usize)?).ok()
    }
}

/// A function after the edit.
struct Again {
    summary: Arc<Summary>,
    /// Callers see what they saw.
    same: bool,
    /// It was made anew.
    anew: bool,
}

/// Summaries before an edit, to be those after it.
pub struct Before<'a> {
    kept: &'a KeptSummaries,
    foundation: &'a Foundation<'a>,
    edited: Vec<bool>,
    forth: &'a Renaming,
    /// How many functions each recursion had, by the first of them.
    sizes: FxHashMap<FunctionId, usize>,
    /// Under their new numbers, for functions that were not edited.
    states: Vec<OnceLock<Option<Path>>>,
}

/// The summaries, and which of them were made anew.
pub type Summarised = (Vec<Arc<Summary>>, Vec<bool>);

impl<'a> Before<'a> {
    /// Points-to sets, and all that functions' summaries are made of beside them, must be what they were, but
    /// for the `edited` functions.
    pub fn new(
        kept: &'a KeptSummaries,
        foundation: &'a Foundation<'a>,
        edited: &[FunctionId],
        forth: &'a Renaming,
    ) -> Option<Self> {
        let count = foundation.program.module.functions.len();
        if kept.recursions.len() != count || kept.ends.len() != count {
            return None;
        }
        let mut is_edited = vec![false; count];
        edited.iter().for_each(|id| is_edited[id.index()] = true);
        let mut sizes = FxHashMap::default();
        kept.recursions.iter().flatten().for_each(|first| *sizes.entry(*first).or_default() += 1);
        let mut states = Vec::new();
        states.resize_with(kept.states.len(), OnceLock::new);
        Some(Before { kept, foundation, edited: is_edited, forth, sizes, states })
    }

    pub fn summaries(&self) -> Summarised {
        let foundation = self.foundation;
        let env = foundation.env();
        let solve = |component: &[FunctionId], done: &Done<Again>| {
            let before = match self.is_same_recursion(component) {
                true => component,
                false => &[],
            };
            if component.len() > LARGE_COMPONENT {
                return self.large(component, before, done);
            }
            let kept = || -> Option<Vec<(FunctionId, Again)>> {
                let same = |id: &FunctionId| self.is_as_before(*id, component, done);
                if before.is_empty() || !before.iter().all(same) {
                    return None;
                }
                before.iter().map(|id| Some((*id, self.taken_over(*id)?))).collect()
            };
            if let Some(kept) = kept() {
                return kept;
            }
            let known = |id: FunctionId| Some(done[id.index()].get()?.summary.clone());
            let anew = foundation.component(&env, &known, component);
            anew.into_iter().map(|(id, summary)| (id, self.anew(id, summary))).collect()
        };
        let all = bottom_up(&foundation.components(), &foundation.graph.callees, &solve);
        all.into_iter()
            .map(|own| own.map_or_else(Default::default, |own| (own.summary, own.anew)))
            .unzip()
    }

    fn large(
        &self,
        component: &[FunctionId],
        before: &[FunctionId],
        done: &Done<Again>,
    ) -> Vec<(FunctionId, Again)> {
        let foundation = self.foundation;
        let env = foundation.env();
        let known = |id: FunctionId| Some(done[id.index()].get()?.summary.clone());
        let ends = |id: FunctionId| known(id).is_some_and(|summary| summary.ends_thread);
        let worst = foundation.worst(&ends, component);
        component
            .par_iter()
            .map(|&id| {
                // What callers see of it is the worst.
                let kept = || {
                    let is_kept = !before.is_empty() && self.is_as_before(id, component, done);
                    let again = is_kept.then(|| self.taken_over(id)).flatten()?;
                    again.summary.same_effect(&worst).then_some(again)
                };
                let anew = || {
                    let group = (component, &worst);
                    self.anew(id, foundation.member(&env, &known, group, id))
                };
                (id, kept().unwrap_or_else(anew))
            })
            .collect()
    }

    fn is_same_recursion(&self, component: &[FunctionId]) -> bool {
        let first = self.kept.recursions[component[0].index()];
        first.is_some_and(|first| self.sizes.get(&first) == Some(&component.len()))
            && component.iter().all(|id| self.kept.recursions[id.index()] == first)
    }

    /// Whether the function does what it did, and sees the same of functions outside of the component that
    /// it calls.
    fn is_as_before(&self, id: FunctionId, component: &[FunctionId], done: &Done<Again>) -> bool {
        let callees = &self.foundation.graph.callees[id.index()];
        let outside = |callee: &&FunctionId| component.binary_search(callee).is_err();
        // A callee that was not there for anybody has no summary that was seen.
        let same = |callee: &FunctionId| done[callee.index()].get().is_none_or(|own| own.same);
        !self.edited[id.index()] && callees.iter().filter(outside).all(same)
    }

    /// `None` when it cannot be read, or names something that is not there any more.
    fn taken_over(&self, id: FunctionId) -> Option<Again> {
        let summary = self.kept.written(id)?.summary(&|number| self.state(number))?;
        Some(Again { summary: Arc::new(summary), same: true, anew: false })
    }

    /// A state of functions that were not edited: what they name of themselves keeps its number.
    fn state(&self, number: Number) -> Option<Path> {
        let renamed = self.states.get(number as usize)?.get_or_init(|| {
            let named = Named { renaming: self.forth, function_of: &|_| Some(UNEDITED) };
            named.path(&self.kept.states[number as usize])
        });
        renamed.clone()
    }

    fn anew(&self, id: FunctionId, summary: Arc<Summary>) -> Again {
        let before = || -> Option<Summary> {
            let named = Named { renaming: self.forth, function_of: &|_| Some(id) };
            let path = |number: Number| named.path(self.kept.states.get(number as usize)?);
            self.kept.recursions[id.index()]?;
            let written = self.kept.written(id)?;
            let mut effect = written.effect(&path)?;
            effect.result = named.optional(effect.result.as_ref())?;
            Some(effect)
        };
        let same = before().is_some_and(|before| summary.same_effect(&before));
        Again { summary, same, anew: true }
    }
}
