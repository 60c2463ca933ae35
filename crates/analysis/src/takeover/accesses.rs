//! Accesses as they are kept: those of each thread in each function, by their context and number.
//!
//! An access's address follows from both; what is kept is what costs to find, its places and its state.

use std::sync::Arc;

use racewarden_ir::FunctionId;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::renaming::{Named, Renaming};
use crate::contexts::{ContextId, GuardedAccess, Instantiation};
use crate::pointsto::Location;
use crate::state::Path;
use crate::threads::RootId;

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
        let states = self.states.iter().map(|state| named.path(state).map(Arc::new)).collect();
        let places = self.places.iter().map(|places| renaming.locations(places)).collect();
        KnownAccesses { states, places, makers: self.makers.into_iter().collect(), same }
    }
}

/// Accesses that need not be made again.
#[derive(Default)]
pub struct KnownAccesses {
    states: Vec<Option<Arc<Path>>>,
    places: Vec<Option<Arc<[Location]>>>,
    makers: FxHashMap<(RootId, FunctionId), Vec<KeptAccess>>,
    /// By function, whether all of its accesses are known.
    same: Vec<bool>,
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
}
