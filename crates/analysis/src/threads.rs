//! Threads: one root per create call and start function, with where it was created and what was
//! alive then, and from that which roots may run beside which access.
//!
//! A root stands for one thread or for many. Liveness is relative to the creating thread: its
//! state says which of its create calls have threads alive. Joining a thread leaves those that it
//! created itself and did not join.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use racewarden_ir::FunctionId;
use rustc_hash::FxHashMap;

use crate::pointsto::CallSite;
use crate::state::{CreateId, Live, Path};

pub type RootId = u32;
pub const MAIN: RootId = 0;

/// Stands for whichever exported function a thread from outside calls.
const OUTSIDE: FunctionId = FunctionId(u32::MAX - 1);

#[derive(Debug, Clone)]
pub struct Root {
    /// `None` for the program's start.
    pub create: Option<CreateId>,
    pub function: FunctionId,
    /// Several threads of this root may run at once.
    pub many: bool,
    /// Several threads of this root may run at once that one thread created.
    pub many_of_one: bool,
    /// Two of them may have got the same argument.
    pub repeated: bool,
    /// Arguments of two threads differ by at least this much, if they differ.
    pub apart: Option<i64>,
    /// Who created it, and what that root had alive just before.
    pub births: Vec<(RootId, Arc<Path>)>,
    /// States in which the root's own function returns.
    pub ends: Vec<Arc<Path>>,
    /// It may also end elsewhere (`pthread_exit`, cancellation).
    pub ends_anywhere: bool,
    /// An OpenMP team, which ends when its tasks have.
    pub team: bool,
    pub task: bool,
    /// Threads that the program does not create: they call its exported functions at any time.
    pub outside: bool,
}

/// What a point of a thread says about which others run beside it. Many states have the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Standing {
    pub root: RootId,
    /// Roots alive because of what the thread created.
    pub alive: Arc<RootSet>,
    /// Roots that were certainly joined before.
    pub joined: Vec<RootId>,
}

#[derive(Debug, Default)]
pub struct Threads {
    pub roots: Vec<Root>,
    by_site: BTreeMap<CallSite, Vec<RootId>>,
    /// Everything a root may ever have created, itself included.
    descendants: Vec<RootSet>,
    /// What may go on after the root has ended.
    survivors: Vec<RootSet>,
    /// What may run beside the root because it was alive before the root was created.
    inherited: Vec<RootSet>,
}

/// Roots, as bits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct RootSet(Vec<u64>);

impl RootSet {
    pub fn insert(&mut self, root: RootId) {
        let word = root as usize / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (root % 64);
    }

    pub fn contains(&self, root: RootId) -> bool {
        self.0.get(root as usize / 64).is_some_and(|word| word >> (root % 64) & 1 != 0)
    }

    /// Adds the other's; whether there were new ones.
    pub fn unite(&mut self, other: &RootSet) -> bool {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        let mut grown = 0;
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            grown |= other & !*own;
            *own |= other;
        }
        grown != 0
    }

    pub fn iter(&self) -> impl Iterator<Item = RootId> + '_ {
        (0..self.0.len() as RootId * 64).filter(|root| self.contains(*root))
    }
}

impl FromIterator<RootId> for RootSet {
    fn from_iter<I: IntoIterator<Item = RootId>>(roots: I) -> Self {
        let mut set = RootSet::default();
        roots.into_iter().for_each(|root| set.insert(root));
        set
    }
}

/// What was found for branches of lists of threads, by their place in memory: lists have branches in
/// common, and must stay where they are as long as this is used.
pub type Gathered = FxHashMap<usize, RootSet>;

impl Threads {
    pub fn root(&mut self, create: Option<CreateId>, function: FunctionId) -> RootId {
        let is_it = |id: &RootId| {
            let root = &self.roots[*id as usize];
            root.create == create && root.function == function
        };
        let known = match &create {
            Some(create) => {
                self.by_site.get(&create.site).into_iter().flatten().copied().find(is_it)
            }
            None => (0..self.roots.len() as RootId).find(is_it),
        };
        if let Some(known) = known {
            return known;
        }
        let id = self.roots.len() as RootId;
        self.roots.push(Root {
            create: create.clone(),
            function,
            many: false,
            many_of_one: false,
            repeated: false,
            apart: None,
            births: Vec::new(),
            ends: Vec::new(),
            ends_anywhere: false,
            team: false,
            task: false,
            outside: false,
        });
        if let Some(create) = create {
            self.by_site.entry(create.site).or_default().push(id);
        }
        id
    }

    /// The threads that call the program from outside, as one root.
    pub fn outside(&mut self) -> RootId {
        let id = self.root(None, OUTSIDE);
        let root = &mut self.roots[id as usize];
        (root.many, root.repeated, root.outside) = (true, true, true);
        id
    }

    /// Closes the relations once every root is known.
    pub fn finish(&mut self) {
        self.spread_many();
        let count = self.roots.len();
        let mut children: Vec<Vec<RootId>> = vec![Vec::new(); count];
        for (child, root) in (0..).zip(&self.roots) {
            for (parent, _) in &root.births {
                let list = &mut children[*parent as usize];
                if list.last() != Some(&child) {
                    list.push(child);
                }
            }
        }
        self.descendants = (0..count as RootId).map(|id| RootSet::from_iter([id])).collect();
        // Children mostly have higher numbers.
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for id in (0..count).rev() {
                let mut own = std::mem::take(&mut self.descendants[id]);
                for child in children[id].iter().filter(|child| **child != id as RootId) {
                    changed |= own.unite(&self.descendants[*child as usize]);
                }
                self.descendants[id] = own;
            }
        }
        self.survivors = vec![RootSet::default(); count];
        self.fixpoint(|threads, id, gathered| {
            let mut own = threads.survivors[id].clone();
            let root = &threads.roots[id];
            let mut grown = false;
            for end in &root.ends {
                grown |= own.unite(&threads.alive(end, gathered));
            }
            if root.ends_anywhere {
                let below = threads.descendants[id].iter();
                grown |= own.unite(&below.filter(|&child| child != id as RootId).collect());
            }
            threads.survivors[id] = own;
            grown
        });
        self.inherited = vec![RootSet::default(); count];
        for id in 0..count {
            if self.roots[id].outside {
                self.inherited[id] = (0..count as RootId).collect();
            } else if self.roots[id].many_of_one {
                // Threads that one call starts are not there in its own state yet.
                self.inherited[id] = self.descendants[id].clone();
            }
        }
        self.fixpoint(|threads, id, gathered| {
            let mut own = threads.inherited[id].clone();
            let mut grown = false;
            for (parent, state) in &threads.roots[id].births {
                grown |= own.unite(&threads.alive(state, gathered));
                grown |= own.unite(&threads.inherited[*parent as usize]);
            }
            threads.inherited[id] = own;
            grown
        });
    }

    fn fixpoint(&mut self, step: impl Fn(&mut Self, usize, &mut Gathered) -> bool) {
        loop {
            let mut changed = false;
            let mut gathered = Gathered::default();
            for id in 0..self.roots.len() {
                changed |= step(self, id, &mut gathered);
            }
            if !changed {
                return;
            }
        }
    }

    /// A thread created by one of many, or by several others, is many itself.
    fn spread_many(&mut self) {
        for root in &mut self.roots {
            root.many_of_one = root.many;
        }
        loop {
            let mut changed = false;
            for id in 0..self.roots.len() {
                if self.roots[id].many {
                    continue;
                }
                let births = &self.roots[id].births;
                let mut parents: Vec<RootId> = births.iter().map(|(parent, _)| *parent).collect();
                parents.sort_unstable();
                parents.dedup();
                let many = parents.len() > 1
                    || parents.iter().any(|&parent| self.roots[parent as usize].many);
                if many {
                    self.roots[id].many = true;
                    self.roots[id].repeated = true;
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    pub fn of_create<'a>(&'a self, create: &'a CreateId) -> impl Iterator<Item = RootId> + 'a {
        self.by_site.get(&create.site).into_iter().flatten().copied().filter(|&root| {
            self.roots[root as usize].create.as_ref().is_some_and(|own| own.may_be(create))
        })
    }

    /// The roots that may be alive in this state because of what its thread created.
    fn alive(&self, state: &Path, gathered: &mut Gathered) -> RootSet {
        state.threads.gather(gathered, &|result: &mut RootSet, create, live| {
            for root in self.of_create(create) {
                if !live.ended {
                    result.unite(&self.descendants[root as usize]);
                    continue;
                }
                result.unite(&self.after(root));
            }
        })
    }

    /// What may go on after threads of the root have been waited for: a team ends when its tasks have.
    fn after(&self, root: RootId) -> Cow<'_, RootSet> {
        let survivors = &self.survivors[root as usize];
        if !self.roots[root as usize].team {
            return Cow::Borrowed(survivors);
        }
        let goes_on = |other: &RootId| !self.is_task_within(*other, root);
        Cow::Owned(survivors.iter().filter(goes_on).collect())
    }

    /// Whether all tasks of the root are made by members of the team, or by such tasks.
    pub fn is_task_within(&self, task: RootId, team: RootId) -> bool {
        let mut seen = vec![task];
        let mut next = 0;
        while let Some(&root) = seen.get(next) {
            next += 1;
            let data = &self.roots[root as usize];
            if !data.task {
                return false;
            }
            for (parent, _) in &data.births {
                if *parent != team && !seen.contains(parent) {
                    seen.push(*parent);
                }
            }
        }
        true
    }

    /// Whether `other` is among the roots that [`Self::alive`] finds.
    pub fn is_alive(&self, state: &Path, other: RootId) -> bool {
        state.threads.iter().any(|(create, live)| {
            self.of_create(create).any(|root| match live.ended {
                true => self.after(root).contains(other),
                false => self.descendants[root as usize].contains(other),
            })
        })
    }

    /// All roots of which [`Self::is_alive`] holds.
    pub fn all_alive(&self, state: &Path, gathered: &mut Gathered) -> RootSet {
        state.threads.gather(gathered, &|result: &mut RootSet, create, live| {
            for root in self.of_create(create) {
                match live.ended {
                    true => result.unite(&self.after(root)),
                    false => result.unite(&self.descendants[root as usize]),
                };
            }
        })
    }

    /// Whether another root, `other`, may run beside a point with this standing.
    pub fn runs_beside(&self, own: &Standing, other: RootId) -> bool {
        self.inherited[own.root as usize].contains(other) || own.alive.contains(other)
    }

    /// Whether two accesses by one thread of `family`, or by threads it created itself, never
    /// happen at once; threads of other members of the family do not count.
    pub fn apart_in_family(
        &self,
        family: RootId,
        (a, state_a): (RootId, &Path),
        (b, state_b): (RootId, &Path),
    ) -> bool {
        let near = |root: RootId| {
            root == family
                || self.roots[root as usize].births.iter().all(|(parent, _)| *parent == family)
        };
        if !near(a) || !near(b) {
            return false;
        }
        if a == b {
            return a == family || !self.roots[a as usize].many_of_one;
        }
        let born_beside = |root: RootId, other: RootId| {
            root != family
                && self.roots[root as usize]
                    .births
                    .iter()
                    .any(|(_, state)| self.is_alive(state, other))
        };
        !(self.is_alive(state_a, b)
            || self.is_alive(state_b, a)
            || born_beside(a, b)
            || born_beside(b, a))
    }

    /// What the state knows of this root, when one create call stands for it.
    pub fn live_entry<'a>(&self, state: &'a Path, other: RootId) -> Option<&'a Live> {
        let create = self.roots[other as usize].create.as_ref()?;
        let mut entries = state.threads.of_site(create.site).filter(|(id, _)| id.may_be(create));
        let (_, only) = entries.next()?;
        entries.next().is_none().then_some(only)
    }
}
