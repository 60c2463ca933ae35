//! Accesses as they are kept: those of each thread in each function, by their context and number.
//!
//! An access's address follows from both; what is kept is what costs to find, its places and its state.

use std::sync::Arc;

use racewarden_ir::FunctionId;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::renaming::{NONE, Named, Renaming};
use crate::contexts::{ContextId, GuardedAccess, Instantiation};
use crate::pointsto::{CallSite, Location};
use crate::state::Path;
use crate::summary::Access;
use crate::threads::RootId;

/// How far on the access is looked for that was there before.
const FAR: usize = 64;

/// The accesses of all threads.
#[derive(Serialize, Deserialize)]
pub struct KeptAccesses {
    states: Vec<Path>,
    places: Vec<Vec<Location>>,
    makers: Vec<((RootId, FunctionId), Vec<KeptAccess>)>,
}

/// Context, number, state, places, private.
type KeptAccess = (ContextId, u32, u32, u32, bool);

impl KeptAccesses {
    /// `None` when some were made of what threads were started with.
    pub fn new(instantiation: &Instantiation<'_>) -> Option<Self> {
        if instantiation.captures.iter().any(|fields| !fields.is_empty()) {
            return None;
        }
        let mut loosened = instantiation.loosened.iter().peekable();
        let mut state_ids: FxHashMap<*const Path, u32> = FxHashMap::default();
        let mut place_ids: FxHashMap<*const Location, u32> = FxHashMap::default();
        let mut kept = KeptAccesses { states: Vec::new(), places: Vec::new(), makers: Vec::new() };
        for (index, access) in (0u32..).zip(&instantiation.accesses) {
            let private = access.private || loosened.next_if_eq(&&index).is_some();
            let state = *state_ids.entry(Arc::as_ptr(&access.state)).or_insert_with(|| {
                kept.states.push(Path::clone(&access.state));
                kept.states.len() as u32 - 1
            });
            let places = *place_ids.entry(access.locations.as_ptr()).or_insert_with(|| {
                kept.places.push(access.locations.to_vec());
                kept.places.len() as u32 - 1
            });
            let maker = (access.root, access.function);
            if kept.makers.last().is_none_or(|(last, _)| *last != maker) {
                kept.makers.push((maker, Vec::new()));
            }
            let own = (access.context, access.number, state, places, private);
            kept.makers.last_mut()?.1.push(own);
        }
        Some(kept)
    }

    pub fn states(&self) -> &[Path] {
        &self.states
    }

    /// Those of the functions that make what they made, which are `same`.
    pub fn renamed(self, renaming: &Renaming, named: &Named<'_>, same: Vec<bool>) -> KnownAccesses {
        let order = self.makers.iter().map(|(maker, _)| *maker).collect();
        let states = self.states.iter().map(|state| named.path(state).map(Arc::new)).collect();
        let places = self.places.iter().map(|places| renaming.locations(places)).collect();
        let makers = self.makers.into_iter().collect();
        KnownAccesses { states, places, order, makers, same, others: FxHashMap::default() }
    }
}

/// Accesses that need not be made again.
#[derive(Default)]
pub struct KnownAccesses {
    states: Vec<Option<Arc<Path>>>,
    places: Vec<Option<Arc<[Location]>>>,
    /// All makers in the order of their accesses.
    order: Vec<(RootId, FunctionId)>,
    makers: FxHashMap<(RootId, FunctionId), Vec<KeptAccess>>,
    /// By function, whether all of its accesses are known.
    same: Vec<bool>,
    /// What the other functions accessed before the edit, in their summaries; `None` for what has no number
    /// any more.
    pub others: FxHashMap<FunctionId, Vec<Option<Access>>>,
}

/// Accesses before an edit and after it.
pub struct Matched {
    /// The new numbers by the old ones.
    pub numbers: Vec<u32>,
    /// Accesses that were not there, or others.
    pub changed: Vec<u32>,
    /// Accesses that are there no more, or others now: where they are made and to what.
    pub gone: Vec<(CallSite, Arc<[Location]>)>,
}

impl KnownAccesses {
    pub fn states(&self) -> impl Iterator<Item = &Arc<Path>> {
        self.states.iter().flatten()
    }

    /// What a thread does in a function, if that is known.
    pub fn of(
        &self,
        (root, function): (RootId, FunctionId),
        instantiation: &Instantiation<'_>,
    ) -> Option<Vec<GuardedAccess>> {
        let captures = || instantiation.captures.iter().any(|fields| !fields.is_empty());
        // What works on futures asks of allocations where they were written.
        let machinery = || instantiation.effects.futures.is_machinery(function);
        if self.same.get(function.index()) != Some(&true) || captures() || machinery() {
            return None;
        }
        let summary = &instantiation.summaries[function.index()];
        let makes = self.makers.get(&(root, function)).into_iter().flatten();
        makes
            .map(|&(context, number, state, places, private)| {
                let access = summary.accesses.get(number as usize)?;
                Some(GuardedAccess {
                    root,
                    context,
                    function,
                    inst: access.inst,
                    number,
                    kind: access.kind,
                    size: access.size,
                    atomic: instantiation.is_atomic(function, access),
                    address: instantiation.address(context, access),
                    locations: self.places.get(places as usize)?.clone()?,
                    state: self.states.get(state as usize)?.clone()?,
                    private,
                })
            })
            .collect()
    }

    /// Which accesses are those that there were; `None` when some that are gone have no place any more.
    pub fn matched(&self, instantiation: &Instantiation<'_>) -> Option<Matched> {
        if instantiation.captures.iter().any(|fields| !fields.is_empty()) {
            return None;
        }
        let now = &instantiation.accesses;
        let maker = |number: usize| now.get(number).map(|own| (own.root, own.function));
        let mut matched = Matched { numbers: Vec::new(), changed: Vec::new(), gone: Vec::new() };
        let mut next = 0;
        for own in &self.order {
            while maker(next).is_some_and(|maker| maker < *own) {
                matched.changed.push(next as u32);
                next += 1;
            }
            let function = own.1;
            let is_same = self.same.get(function.index()) == Some(&true);
            for kept in &self.makers[own] {
                let is_here = maker(next) == Some(*own);
                if is_same && !is_here {
                    return None;
                }
                // What was added stands before what comes after it.
                let found = if is_same {
                    Some(next)
                } else {
                    let here = (next..now.len()).take_while(|at| maker(*at) == Some(*own));
                    let mut here = here.take(FAR);
                    here.find(|at| self.is_that(kept, &now[*at], instantiation))
                };
                match found {
                    Some(at) => {
                        matched.changed.extend(next as u32..at as u32);
                        matched.numbers.push(at as u32);
                        next = at + 1;
                    }
                    None => {
                        let access = self.others.get(&function)?.get(kept.1 as usize)?.as_ref()?;
                        let places = self.places.get(kept.3 as usize)?.clone()?;
                        matched.gone.push(((function, access.inst), places));
                        matched.numbers.push(NONE);
                    }
                }
            }
            if is_same && maker(next) == Some(*own) {
                return None;
            }
        }
        matched.changed.extend(next as u32..now.len() as u32);
        Some(matched)
    }

    /// Whether an access of a function with others is the one that was kept.
    fn is_that(
        &self,
        &(context, number, state, places, private): &KeptAccess,
        now: &GuardedAccess,
        instantiation: &Instantiation<'_>,
    ) -> bool {
        let before = self.others.get(&now.function).and_then(|own| own.get(number as usize));
        let summary = &instantiation.summaries[now.function.index()];
        let (Some(Some(before)), Some(own)) = (before, summary.accesses.get(now.number as usize))
        else {
            return false;
        };
        // Taken apart so that a part added to it is not forgotten here. In which state it is made, and
        // whether others may know the memory, is told by the context as well.
        let Access { inst, operand, address, size, kind, atomic, state: _, private: _ } = own;
        let place = self.places.get(places as usize).and_then(Option::as_ref);
        let at = self.states.get(state as usize).and_then(Option::as_ref);
        (before.inst, before.operand, before.size, before.kind, before.atomic)
            == (*inst, *operand, *size, *kind, *atomic)
            && before.address == *address
            && (context, private) == (now.context, now.private)
            && place.is_some_and(|places| *places == now.locations)
            && at.is_some_and(|state| Arc::ptr_eq(state, &now.state) || **state == *now.state)
    }
}
