//! Contexts as they are kept, and made again after an edit.
//!
//! Of a hundred thousand contexts most are entered in one of a few states with one of a few lists of
//! actuals: those are kept once.

use std::collections::BTreeSet;
use std::hash::Hash;
use std::sync::Arc;

use racewarden_ir::FunctionId;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::accesses::{KeptAccesses, KnownAccesses};
use super::renaming::{Named, Renaming};
use crate::contexts::{Context, ContextId, Instantiation};
use crate::pairs;
use crate::pointsto::Location;
use crate::state::{Chain, CreateId, Path};
use crate::sym::{Frame, Sym};
use crate::threads::{Root, RootId, Threads};

#[derive(Serialize, Deserialize)]
pub struct Snapshot {
    states: Vec<Path>,
    arguments: Vec<Vec<Option<Sym>>>,
    places: Vec<Vec<Option<Vec<Location>>>>,
    chains: Vec<Vec<(FunctionId, u32)>>,
    contexts: Vec<KeptContext>,
    roots: Vec<KeptRoot>,
    joined: bool,
    accesses: Option<KeptAccesses>,
}

type Number = u32;

/// Threads in all states that are kept.
const MOST_THREADS: usize = 200_000;

#[derive(Serialize, Deserialize)]
struct KeptContext {
    function: FunctionId,
    root: RootId,
    arguments: Number,
    places: Number,
    private: Vec<u32>,
    own: u64,
    entry: Number,
    chain: Number,
    merged: bool,
    parent: Option<(ContextId, u32)>,
    entered: u32,
}

#[derive(Serialize, Deserialize)]
struct KeptRoot {
    create: Option<CreateId>,
    function: FunctionId,
    /// Many, many of one, repeated, team, task, outside.
    flags: [bool; 6],
    apart: Option<i64>,
    births: Vec<(RootId, Number)>,
}

/// Values each once, in the order in which they came.
pub(super) struct Table<T> {
    numbers: FxHashMap<T, Number>,
}

impl<T: Eq + Hash + Clone> Table<T> {
    pub fn new() -> Self {
        Table { numbers: FxHashMap::default() }
    }

    pub fn number(&mut self, value: &T) -> Number {
        if let Some(known) = self.numbers.get(value) {
            return *known;
        }
        let next = self.numbers.len() as Number;
        self.numbers.insert(value.clone(), next);
        next
    }

    pub fn into_list(self) -> Vec<T> {
        let mut list: Vec<(Number, T)> =
            self.numbers.into_iter().map(|(value, number)| (number, value)).collect();
        list.sort_unstable_by_key(|(number, _)| *number);
        list.into_iter().map(|(_, value)| value).collect()
    }
}

impl Snapshot {
    /// The contexts, and the roots as they were when all contexts had been followed. `None` when their
    /// states have too many threads: each state is written down whole.
    pub fn new(instantiation: &Instantiation<'_>) -> Option<Self> {
        let (mut states, mut arguments) = (Table::new(), Table::new());
        let (mut places, mut chains) = (Table::new(), Table::new());
        let contexts = instantiation
            .contexts
            .iter()
            .map(|context| KeptContext {
                function: context.function,
                root: context.root,
                arguments: arguments.number(&context.arguments),
                places: places.number(&context.argument_points),
                private: context.private.iter().copied().collect(),
                own: context.own,
                entry: states.number(&context.entry),
                chain: chains.number(&context.chain),
                merged: context.merged,
                parent: context.parent,
                entered: context.entered,
            })
            .collect();
        let roots = instantiation.followed_roots.iter();
        let roots = roots.map(|root| KeptRoot::new(root, &mut states)).collect();
        let accesses = KeptAccesses::new(instantiation);
        let own = states.numbers.keys().chain(accesses.iter().flat_map(KeptAccesses::states));
        if own.map(|state| state.threads.len()).sum::<usize>() > MOST_THREADS {
            return None;
        }
        let list = |places: &Arc<[Location]>| places.to_vec();
        let lists = places.into_list().into_iter();
        Some(Snapshot {
            states: states.into_list(),
            arguments: arguments.into_list(),
            places: lists.map(|own| own.iter().map(|p| p.as_ref().map(list)).collect()).collect(),
            chains: chains.into_list().into_iter().map(|chain: Chain| chain.to_vec()).collect(),
            contexts,
            roots,
            joined: instantiation.joined_contexts,
            accesses,
        })
    }

    /// The contexts under their numbers after the edit; `None` when something has none. `same` says
    /// which functions make the accesses that they made.
    pub fn renamed(&mut self, renaming: &Renaming, same: Vec<bool>) -> Option<Followed> {
        let kept = self.accesses.take();
        let function_of = |frame: Frame| {
            let context = self.contexts.get((frame as usize).checked_sub(1)?)?;
            Some(context.function)
        };
        let named = Named { renaming, function_of: &function_of };
        let states: Vec<Path> =
            self.states.iter().map(|state| named.path(state)).collect::<Option<_>>()?;
        let list = |list: &Vec<Option<Sym>>| -> Option<Vec<Option<Sym>>> {
            list.iter().map(|sym| named.optional(sym.as_ref())).collect()
        };
        let arguments: Vec<_> = self.arguments.iter().map(list).collect::<Option<_>>()?;
        let at = |places: &Option<Vec<Location>>| -> Option<Option<Arc<[Location]>>> {
            match places {
                Some(places) => Some(Some(renaming.locations(places)?)),
                None => Some(None),
            }
        };
        let places: Vec<Vec<Option<Arc<[Location]>>>> = self
            .places
            .iter()
            .map(|own| own.iter().map(at).collect::<Option<_>>())
            .collect::<Option<_>>()?;
        let chains: Vec<Chain> =
            self.chains.iter().map(|chain| renaming.chain(chain)).collect::<Option<_>>()?;
        let mut contexts = Vec::with_capacity(self.contexts.len());
        for own in &self.contexts {
            let parent = match own.parent {
                Some((parent, inst)) => {
                    let caller = self.contexts.get(parent as usize)?.function;
                    Some((parent, renaming.inst(caller, inst)?))
                }
                None => None,
            };
            contexts.push(Context {
                function: own.function,
                root: own.root,
                arguments: arguments.get(own.arguments as usize)?.clone(),
                argument_points: places.get(own.places as usize)?.clone(),
                private: own.private.iter().copied().collect::<BTreeSet<u32>>(),
                own: own.own,
                entry: states.get(own.entry as usize)?.clone(),
                chain: chains.get(own.chain as usize)?.clone(),
                merged: own.merged,
                parent,
                entered: own.entered,
            });
        }
        let shared: Vec<Arc<Path>> = states.into_iter().map(Arc::new).collect();
        let mut threads = Threads::default();
        for (number, own) in (0..).zip(&self.roots) {
            let create = match &own.create {
                Some(create) => Some(renaming.create(create)?),
                None => None,
            };
            if threads.root(create, own.function) != number {
                return None;
            }
            own.fill(threads.roots.last_mut()?, &shared)?;
        }
        let accesses = kept.map(|kept| kept.renamed(renaming, &named, same)).unwrap_or_default();
        Some(Followed { contexts, threads, joined: self.joined, accesses, before: None })
    }
}

/// What following all contexts has led to.
pub struct Followed {
    pub contexts: Vec<Context>,
    pub threads: Threads,
    pub joined: bool,
    pub accesses: KnownAccesses,
    /// What was found, where it may still hold.
    pub before: Option<pairs::Before>,
}

impl KeptRoot {
    fn new(root: &Root, states: &mut Table<Path>) -> Self {
        // Taken apart so that a part added to it is not forgotten here. What ends it is found later.
        let Root {
            create,
            function,
            many,
            many_of_one,
            repeated,
            apart,
            births,
            ends: _,
            ends_anywhere: _,
            team,
            task,
            outside,
        } = root;
        KeptRoot {
            create: create.clone(),
            function: *function,
            flags: [*many, *many_of_one, *repeated, *team, *task, *outside],
            apart: *apart,
            births: births.iter().map(|(parent, state)| (*parent, states.number(state))).collect(),
        }
    }

    fn fill(&self, root: &mut Root, states: &[Arc<Path>]) -> Option<()> {
        let [many, many_of_one, repeated, team, task, outside] = self.flags;
        (root.many, root.many_of_one, root.repeated) = (many, many_of_one, repeated);
        (root.team, root.task, root.outside) = (team, task, outside);
        root.apart = self.apart;
        let births = self.births.iter();
        root.births = births
            .map(|(parent, state)| Some((*parent, states.get(*state as usize)?.clone())))
            .collect::<Option<_>>()?;
        Some(())
    }
}
