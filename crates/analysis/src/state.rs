//! What is known at a program point, relative to the function's entry.
//!
//! The heart is RELAY's relative lockset (its section 3.2): locks that were certainly acquired
//! since entry, and locks that may have been released since entry. The same scheme carries the
//! acquisition history (paper 2, Definition 6), the threads created and joined, and what escaped:
//!
//! ```text
//!                  since entry, certainly          since entry, possibly
//!   locks          held, acquired                  released
//!   threads        joined                          threads (created), overwritten handles
//!   memory                                         escaped
//!   branches       facts
//! ```
//! Joining two paths intersects the left column and unites the right one.
//!
//! A point has a few [`Path`]s: paths that differ in their locks or threads stay apart, each with
//! the branch conditions it took, so that `if (c) lock(); … if (c) x++;`, `trylock` and functions
//! that lock only when they return non-null are followed (RELAY 4.2, "conditional locking").

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use racewarden_finding::LockMode;
use racewarden_ir::FunctionId;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::keeping;
use crate::lives::{Lives, Parts};
use crate::pointsto::{CallSite, Location, may_overlap};
use crate::shared::{Shared, lend_empty};
use crate::sym::{Atom, LOCAL, Sym};

/// A call that creates threads, with the calls that lead to it from the function (in a summary)
/// or the thread's entry (in a context): two threads started through one helper are two.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CreateId {
    pub site: CallSite,
    /// Outermost call first, at most [`MAX_CHAIN`].
    #[serde(with = "keeping::list")]
    pub chain: Chain,
    /// The chain is not known: this stands for every chain.
    pub any_chain: bool,
}

pub const MAX_CHAIN: usize = 4;

/// Calls, outermost first. States of programs that create threads through helpers have hundreds of
/// them, so none is an allocation of its own.
pub type Chain = SmallVec<[CallSite; MAX_CHAIN]>;

/// The last calls of two chains, one after the other.
pub fn chained(outer: &[CallSite], inner: &[CallSite]) -> Chain {
    let extra = (outer.len() + inner.len()).saturating_sub(MAX_CHAIN);
    outer.iter().chain(inner).skip(extra).copied().collect()
}

impl CreateId {
    pub fn new(site: CallSite) -> Self {
        CreateId { site, chain: SmallVec::new(), any_chain: false }
    }

    pub fn any(site: CallSite) -> Self {
        CreateId { site, chain: SmallVec::new(), any_chain: true }
    }

    /// As seen from further up the stack.
    pub fn called_from(&self, callers: &[CallSite]) -> Self {
        if self.any_chain || callers.is_empty() {
            return self.clone();
        }
        CreateId { site: self.site, chain: chained(callers, &self.chain), any_chain: false }
    }

    pub fn may_be(&self, other: &CreateId) -> bool {
        self.site == other.site && (self.any_chain || other.any_chain || self.chain == other.chain)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Held {
    pub lock: Sym,
    #[serde(with = "keeping::list")]
    pub points: Arc<[Location]>,
    pub mode: LockMode,
    pub size: i64,
    /// How often it was acquired without release (re-entrant locks).
    pub count: u8,
    /// Whether taking it again counts; otherwise that fails, or never returns.
    pub counts: bool,
    /// Locks certainly acquired since this one was.
    pub after: BTreeSet<Sym>,
    pub acquired_at: (FunctionId, u32),
}

/// A lock that may have been released: by name, or only by where the pointer may lead.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Released {
    pub lock: Option<Sym>,
    #[serde(with = "keeping::list")]
    pub points: Arc<[Location]>,
    /// Any lock at all.
    pub any: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Live {
    /// Where the thread's handle is stored, while it is certain that it still is there.
    pub handle: Option<Sym>,
    /// The handle itself, while it is certain that this value is the thread's.
    pub value: Option<Sym>,
    /// The value passed to the thread.
    pub argument: Option<Sym>,
    /// Several threads of this call may be alive.
    pub many: bool,
    /// The thread that got the present value of `argument` may be alive.
    pub current: bool,
    /// Two threads alive may have got the same argument.
    pub repeated: bool,
    /// All threads of this call were joined; those they created may go on.
    pub ended: bool,
    /// All handles of the threads are in this range of an array, but for the newest when it is
    /// `loose`: then `handle` or `value` is that one's.
    #[serde(with = "keeping::optional")]
    pub range: Option<Arc<HandleRange>>,
    pub loose: bool,
}

/// One handle at each of the places `first`, `first + stride`, … below `end`. With a stride of zero
/// it is the container at `first` that the handles are in, wherever it has its elements; `end` is
/// the same place then.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HandleRange {
    pub first: Sym,
    pub end: Sym,
    pub stride: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Fact {
    Equals(i64),
    Differs(i64),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Path {
    pub held: Shared<Vec<Held>>,
    pub released: Shared<BTreeSet<Released>>,
    pub acquired: Shared<BTreeSet<Sym>>,
    pub threads: Lives,
    pub joined: Shared<BTreeSet<Sym>>,
    /// Handles, by value, that were waited for.
    pub joined_values: Shared<BTreeSet<Sym>>,
    pub joined_ranges: Shared<BTreeSet<HandleRange>>,
    pub overwritten: Shared<BTreeSet<Option<Sym>>>,
    /// Allocations and stack slots of this function whose address may be known elsewhere.
    pub escaped: Shared<BTreeSet<u32>>,
    /// Formals whose value may have been stored where others see it.
    pub escaped_arguments: Shared<BTreeSet<u32>>,
    pub facts: Shared<BTreeMap<Sym, Fact>>,
}

lend_empty! {
    Vec<Held> => Vec::new(),
    BTreeSet<Released> => BTreeSet::new(),
    BTreeSet<Sym> => BTreeSet::new(),
    BTreeSet<HandleRange> => BTreeSet::new(),
    BTreeSet<Option<Sym>> => BTreeSet::new(),
    BTreeMap<Sym, Fact> => BTreeMap::new(),
}

pub const NOWHERE: (FunctionId, u32) = (FunctionId(0), 0);

/// What tells where handles are.
const PLACES: Parts = Parts::HANDLE.and(Parts::RANGE);

const MAX_ACQUIRED: usize = 16;
const MAX_FACTS: usize = 24;

impl Path {
    /// Whether the two must be kept apart: their locks or their threads differ.
    pub fn same_shape(&self, other: &Path) -> bool {
        let same_locks = self.held.is_same(&other.held)
            || (self.held.len() == other.held.len()
                && self
                    .held
                    .iter()
                    .zip(&other.held)
                    .all(|(a, b)| a.lock == b.lock && a.mode == b.mode && a.count == b.count));
        let same_threads = self.threads.is_same(&other.threads)
            || (self.threads.len() == other.threads.len()
                && self.threads.iter().zip(&other.threads).all(|((a, x), (b, y))| {
                    a == b
                        && x.ended == y.ended
                        && x.handle == y.handle
                        && x.value == y.value
                        && x.many == y.many
                        && x.range == y.range
                        && x.loose == y.loose
                }));
        same_locks && same_threads && self.released == other.released
    }

    /// The state without what no exclusion looks at: states that are the same without it guard an
    /// access in the same way.
    pub fn guarding(&self) -> Path {
        let mut state = self.clone();
        state.released.clear();
        state.acquired.clear();
        state.overwritten.clear();
        state.escaped.clear();
        state.escaped_arguments.clear();
        state.facts.clear();
        if state.held.iter().any(|held| held.acquired_at != NOWHERE || held.count != 1) {
            for held in &mut state.held {
                held.acquired_at = NOWHERE;
                held.count = 1;
            }
        }
        state
    }

    /// How much is known: locks with what was acquired after them, threads and handles.
    pub fn size(&self) -> usize {
        let held = self.held.iter().map(|held| 1 + held.after.len()).sum::<usize>();
        let handles = self.joined.len() + self.joined_values.len() + self.joined_ranges.len();
        held + self.threads.len() + handles
    }

    pub fn join(&mut self, other: &Path) {
        self.join_locks(other);
        self.released.unite(&other.released);
        self.acquired.intersect(&other.acquired);
        if !self.threads.is_same(&other.threads) && self.threads != other.threads {
            self.threads.unite(&other.threads, |own, live| Some(own.joined(live)));
            self.threads.unify(&other.threads);
        }
        self.joined.intersect(&other.joined);
        self.joined_values.intersect(&other.joined_values);
        self.joined_ranges.intersect(&other.joined_ranges);
        self.overwritten.unite(&other.overwritten);
        self.escaped.unite(&other.escaped);
        self.escaped_arguments.unite(&other.escaped_arguments);
        if !self.facts.is_same(&other.facts) {
            self.facts.keep_entries(|sym, fact| other.facts.get(sym) == Some(fact));
        }
    }

    fn join_locks(&mut self, other: &Path) {
        if self.held.is_same(&other.held) || self.held == other.held {
            return;
        }
        self.held.retain_mut(|held| {
            let Some(twin) = other.held.iter().find(|twin| twin.lock == held.lock) else {
                return false;
            };
            held.count = held.count.min(twin.count);
            held.mode = held.mode.min(twin.mode);
            held.after.retain(|lock| twin.after.contains(lock));
            true
        });
    }

    pub fn acquire(&mut self, lock: Held) {
        for held in &mut self.held {
            if held.after.len() < MAX_ACQUIRED {
                held.after.insert(lock.lock.clone());
            }
        }
        if self.acquired.len() < MAX_ACQUIRED {
            self.acquired.put(lock.lock.clone());
        }
        match self.held.iter_mut().find(|held| held.lock == lock.lock) {
            Some(held) => {
                // A writer that asks to read fails to (`EDEADLK`) and still has to release once.
                if lock.counts && held.mode == lock.mode {
                    held.count = held.count.saturating_add(lock.count).min(8);
                }
                held.mode = held.mode.max(lock.mode);
            }
            None => self.held.push(lock),
        }
        self.held.sort_by(|a, b| a.lock.cmp(&b.lock));
    }

    /// Gives locks that are named by a load the name that is better.
    pub fn rename_locks(&mut self, better: &dyn Fn(&Sym) -> Sym) {
        let loaded = |sym: &Sym| sym.terms.iter().any(|(atom, _)| matches!(atom, Atom::Load(_)));
        let any = |held: &Held| loaded(&held.lock) || held.after.iter().any(loaded);
        if self.held.iter().any(any) {
            for held in &mut self.held {
                held.lock = better(&held.lock);
                held.after = held.after.iter().map(better).collect();
            }
            self.held.sort_by(|a, b| a.lock.cmp(&b.lock));
        }
        if self.acquired.iter().any(loaded) {
            let acquired: BTreeSet<Sym> = self.acquired.iter().map(better).collect();
            self.acquired = acquired.into();
        }
    }

    /// When the lock is held by this very name, the others held are other locks: two of them
    /// cannot be one lock unless it is re-entrant, and then it stays held.
    pub fn release(&mut self, released: Released) {
        if let Some(name) = &released.lock
            && let Some(index) = self.held.iter().position(|held| held.lock == *name)
        {
            self.held[index].count -= 1;
            if self.held[index].count == 0 {
                self.held.remove(index);
            }
            return;
        }
        self.held.keep_items(|held| !released.may_be(held));
        self.released.put(released);
    }

    /// Nothing is known about the value of this atom any more: it is evaluated again.
    pub fn forget(&mut self, inst: u32) {
        let gone = |sym: &Sym| {
            sym.mentions(
                &|atom| matches!(atom, Atom::Inst(LOCAL, i) | Atom::Stack(LOCAL, i) if *i == inst),
            )
        };
        let gone_range = |range: &HandleRange| [&range.first, &range.end].into_iter().any(gone);
        self.held.keep_items(|held| !gone(&held.lock));
        if self.held.iter().any(|held| held.after.iter().any(gone)) {
            for held in &mut self.held {
                held.after.retain(|lock| !gone(lock));
            }
        }
        self.acquired.keep(|lock| !gone(lock));
        if self.released.iter().any(|r| r.lock.as_ref().is_some_and(gone)) {
            let released: BTreeSet<Released> = self
                .released
                .iter()
                .cloned()
                .map(|mut r| {
                    r.lock = r.lock.filter(|lock| !gone(lock));
                    r
                })
                .collect();
            self.released = released.into();
        }
        let stale = |live: &Live| {
            live.handle.as_ref().is_some_and(gone)
                || live.value.as_ref().is_some_and(gone)
                || live.range.as_deref().is_some_and(gone_range)
                || (live.current && live.argument.as_ref().is_some_and(gone))
        };
        self.threads.revise(Parts::NAMED, |_, live| {
            stale(live).then(|| Live {
                handle: live.handle.clone().filter(|handle| !gone(handle)),
                value: live.value.clone().filter(|value| !gone(value)),
                range: live.range.clone().filter(|range| !gone_range(range)),
                current: live.current && !live.argument.as_ref().is_some_and(gone),
                ..live.clone()
            })
        });
        self.joined.keep(|handle| !gone(handle));
        self.joined_values.keep(|value| !gone(value));
        self.joined_ranges.keep(|range| !gone_range(range));
        if self.overwritten.iter().flatten().any(gone) {
            self.overwritten.retain(|handle| !handle.as_ref().is_some_and(gone));
            self.overwritten.insert(None);
        }
        self.facts.keep_entries(|sym, _| !gone(sym));
    }

    /// A thread may have been created whose handle is stored at `handle`.
    pub fn create(&mut self, id: CreateId, new: Live) {
        self.overwrite(new.handle.as_ref(), Some(&id));
        self.threads.insert_or(id, new, |old, new| {
            if old.ended {
                return Some(new.clone());
            }
            let mut both = old.clone();
            both.add(new);
            both.another(new);
            Some(both)
        });
    }

    /// The handle at this place (any place for `None`) may be another thread's from now on.
    pub fn overwrite(&mut self, handle: Option<&Sym>, except: Option<&CreateId>) {
        let is_it = |old: &Sym| handle.is_none_or(|new| may_be_same(old, new));
        let in_it = |range: &Arc<HandleRange>| handle.is_none_or(|new| range.may_hold(new));
        self.threads.revise(PLACES, |id, live| {
            let affected =
                live.handle.as_ref().is_some_and(is_it) || live.range.as_ref().is_some_and(in_it);
            (affected && Some(id) != except).then(|| Live {
                handle: live.handle.clone().filter(|old| !is_it(old)),
                range: live.range.clone().filter(|range| !in_it(range)),
                ..live.clone()
            })
        });
        self.note_overwritten(handle);
    }

    /// The handle at `from` (any, for `None`) goes to `to`, where `keep` says which array or
    /// container it is then in. `inside`: `from` may be an element of some container.
    pub fn move_handle(
        &mut self,
        from: Option<&Sym>,
        to: Option<&Sym>,
        inside: bool,
        keep: &dyn Fn(&CreateId) -> Option<HandleRange>,
    ) {
        let Some(from) = from else { return self.overwrite(None, None) };
        let moved =
            |place: &Sym| may_be_same(place, from) || to.is_none_or(|to| may_be_same(place, to));
        self.threads.revise(PLACES, |id, live| {
            let mut live = live.clone();
            if live.handle.as_ref() == Some(from) && (!live.many || live.loose) {
                live.handle = to.cloned();
                if let Some(range) = keep(id) {
                    live.handle = None;
                    live.put_away(Some(range));
                }
                return Some(live);
            }
            live.handle = live.handle.filter(|place| !moved(place));
            live.range = live.range.filter(|range| match range.is_container() {
                true => !inside,
                false => !range.may_hold(from),
            });
            Some(live)
        });
        for place in [Some(from), to] {
            self.note_overwritten(place);
        }
    }

    /// The handles at the two places change places.
    pub fn swap_handles(&mut self, a: Option<&Sym>, b: Option<&Sym>) {
        let (Some(a), Some(b)) = (a, b) else { return self.overwrite(None, None) };
        let may_be = |place: &Sym| may_be_same(place, a) || may_be_same(place, b);
        self.threads.revise(PLACES, |_, live| {
            let mut live = live.clone();
            live.handle = match live.handle {
                Some(place) if place == *a => Some(b.clone()),
                Some(place) if place == *b => Some(a.clone()),
                place => place.filter(|place| !may_be(place)),
            };
            live.range = live
                .range
                .filter(|range| range.is_container() || !(range.may_hold(a) || range.may_hold(b)));
            Some(live)
        });
        for place in [a, b] {
            self.note_overwritten(Some(place));
        }
    }

    /// Everything in the container at `from` is in the one at `to` now.
    pub fn move_container(&mut self, from: &Sym, to: &Sym, swap: bool) {
        self.threads.revise(Parts::RANGE, |_, live| {
            let range = live.range.clone()?;
            let range = match &range.first {
                _ if !range.is_container() => Some(range),
                at if at == from => Some(Arc::new(HandleRange::container(to.clone()))),
                at if at == to && swap => Some(Arc::new(HandleRange::container(from.clone()))),
                at if may_be_same(at, from) || may_be_same(at, to) => None,
                _ => Some(range),
            };
            Some(Live { range, ..live.clone() })
        });
        for place in [from, to] {
            self.note_overwritten(Some(place));
        }
    }

    /// The state at the end of a container's member function: what it has done to the elements is
    /// said by what the member means. What it was given by its caller stays noted.
    pub fn leave_elements(&mut self) {
        let element = |place: &Sym| place.mentions(&|atom| matches!(atom, Atom::Inst(LOCAL, _)));
        if self.overwritten.len() < MAX_ACQUIRED {
            self.overwritten.keep(|place| place.as_ref().is_some_and(|place| !element(place)));
        }
    }

    fn note_overwritten(&mut self, place: Option<&Sym>) {
        self.joined.keep(|old| place.is_some_and(|new| !may_be_same(old, new)));
        if self.overwritten.len() < MAX_ACQUIRED {
            self.overwritten.put(place.cloned());
        } else {
            self.overwritten.put(None);
        }
    }

    pub fn join_thread(&mut self, handle: &Sym) {
        let named = |live: &Live| live.handle.as_ref() == Some(handle) && !live.many;
        self.threads.revise(Parts::HANDLE, |_, live| named(live).then(|| live.over()));
        if self.joined.len() < MAX_ACQUIRED {
            self.joined.put(handle.clone());
        }
        let joined = &self.joined;
        let covered = |live: &Live| {
            let range = live.range.as_deref().filter(|range| !live.loose && range.may_hold(handle));
            range.is_some_and(|range| {
                range.places().is_some_and(|all| all.iter().all(|at| joined.contains(at)))
            })
        };
        self.threads.revise(Parts::RANGE, |_, live| covered(live).then(|| live.over()));
    }

    /// Waits for the thread whose handle is this value.
    pub fn join_value(&mut self, value: &Sym) {
        let named = |live: &Live| live.value.as_ref() == Some(value) && !live.many;
        self.threads.revise(Parts::VALUE, |_, live| named(live).then(|| live.over()));
        if self.joined_values.len() < MAX_ACQUIRED {
            self.joined_values.put(value.clone());
        }
    }

    /// `since`: the thread may have been created after its place in the range was waited for.
    pub fn join_range(&mut self, range: &HandleRange, since: impl Fn(&CreateId) -> bool) {
        let covered = |live: &Live| {
            !live.loose && live.range.as_deref().is_some_and(|made| range.covers(made))
        };
        self.threads.revise(Parts::RANGE, |_, live| covered(live).then(|| live.over()));
        let named = |id: &CreateId, live: &Live| {
            !live.many && !since(id) && live.handle.as_ref().is_some_and(|at| range.holds(at))
        };
        self.threads.revise(Parts::HANDLE, |id, live| named(id, live).then(|| live.over()));
        self.joined_ranges.put(range.clone());
    }

    /// Notes that the atom has a value; `false` when the path cannot be taken.
    pub fn assume(&mut self, sym: &Sym, fact: Fact) -> bool {
        // Unchanging memory may still change before the first thread starts.
        if sym.mentions(&|atom| matches!(atom, Atom::Load(_))) {
            return true;
        }
        let (atom, fact) = match (sym.terms.as_slice(), fact) {
            ([], Fact::Equals(value)) => return sym.offset == value,
            ([], Fact::Differs(value)) => return sym.offset != value,
            ([(atom, 1)], Fact::Equals(value)) => {
                (Sym::atom(atom.clone()), Fact::Equals(value.wrapping_sub(sym.offset)))
            }
            ([(atom, 1)], Fact::Differs(value)) => {
                (Sym::atom(atom.clone()), Fact::Differs(value.wrapping_sub(sym.offset)))
            }
            _ => return true,
        };
        match (self.facts.get(&atom), fact) {
            (Some(Fact::Equals(old)), Fact::Equals(new)) if *old != new => return false,
            (Some(Fact::Equals(old)), Fact::Differs(new)) => return *old != new,
            (Some(Fact::Differs(old)), Fact::Equals(new)) if *old == new => return false,
            _ => {}
        }
        let known = self.facts.get(&atom);
        if known != Some(&fact) && (self.facts.len() < MAX_FACTS || known.is_some()) {
            self.facts.insert(atom, fact);
        }
        true
    }

    pub fn fact(&self, sym: &Sym) -> Option<Fact> {
        if let Some(value) = sym.as_constant() {
            return Some(Fact::Equals(value));
        }
        match sym.terms.as_slice() {
            [(atom, 1)] => {
                let fact = self.facts.get(&Sym::atom(atom.clone()))?;
                Some(match fact {
                    Fact::Equals(value) => Fact::Equals(value.wrapping_add(sym.offset)),
                    Fact::Differs(value) => Fact::Differs(value.wrapping_add(sym.offset)),
                })
            }
            _ => None,
        }
    }
}

impl Live {
    /// All threads of the call were waited for.
    pub fn over(&self) -> Live {
        Live { ended: true, current: false, ..self.clone() }
    }

    /// Without anything by which it could be waited for, or that it was.
    pub fn of_unknown_end(&self) -> Live {
        Live { handle: None, value: None, range: None, ended: false, ..self.clone() }
    }

    /// What is known when the call that started these threads has started more.
    pub fn add(&mut self, new: &Live) {
        self.many = true;
        if self.argument != new.argument || new.repeated || self.current {
            self.repeated = true;
        }
        self.current = true;
    }

    /// A second thread of the same call is alive: one handle cannot name both. Only when those
    /// before it are all in an array may the new one be about to follow them there.
    pub fn another(&mut self, new: &Live) {
        let arrayed = self.range.is_some() && !self.loose;
        if arrayed && new.range == self.range && !new.loose {
            (self.handle, self.value) = (None, None);
        } else if arrayed && new.range.is_none() && !new.many {
            (self.handle, self.value) = (new.handle.clone(), new.value.clone());
            self.loose = true;
        } else {
            (self.handle, self.value, self.range) = (None, None, None);
        }
    }

    /// The handle is in the container now, and nowhere else.
    pub fn put_into(&self, range: Option<&HandleRange>) -> Live {
        let mut live = Live { handle: None, ..self.clone() };
        live.put_away(range.cloned());
        live
    }

    /// The handle with this value is now in the array, too.
    pub fn put_away(&mut self, range: Option<HandleRange>) {
        let range = range.map(Arc::new);
        let first = self.range.is_none() && !self.many;
        if !first && self.range != range {
            self.range = None;
        } else {
            self.range = range;
        }
        self.loose = false;
    }

    /// What is known when either may be so.
    fn joined(&self, other: &Live) -> Live {
        let mut both = self.clone();
        both.join(other);
        both
    }

    fn join(&mut self, other: &Live) {
        if self.ended && !other.ended {
            let ended = std::mem::replace(self, other.clone());
            self.many |= ended.many && !ended.ended;
            return;
        }
        if other.ended && !self.ended {
            return;
        }
        if self.handle != other.handle {
            self.handle = None;
        }
        if self.value != other.value {
            self.value = None;
        }
        if self.argument != other.argument {
            self.repeated = true;
            self.argument = None;
        }
        if self.range != other.range {
            self.range = None;
        }
        self.loose |= other.loose;
        self.many |= other.many;
        self.current |= other.current;
        self.repeated |= other.repeated;
    }
}

impl Released {
    /// Whether this may be the release of `held`.
    pub fn may_be(&self, held: &Held) -> bool {
        if self.any {
            return true;
        }
        if let Some(name) = &self.lock {
            if *name == held.lock {
                return true;
            }
            if name.distance(&held.lock).is_some()
                || (name.is_constant_address() && held.lock.is_constant_address())
            {
                return false;
            }
        }
        if self.points.is_empty() || held.points.is_empty() {
            return true;
        }
        self.points
            .iter()
            .any(|a| held.points.iter().any(|b| may_overlap(*a, 1, *b, held.size.max(1) as u64)))
    }
}

impl HandleRange {
    pub fn container(at: Sym) -> Self {
        HandleRange { end: at.clone(), first: at, stride: 0 }
    }

    pub fn is_container(&self) -> bool {
        self.stride == 0
    }

    /// Whether the place may be one of these, or the container.
    fn may_hold(&self, place: &Sym) -> bool {
        if self.is_container() {
            return may_be_same(&self.first, place);
        }
        let before = place.distance(&self.first).is_some_and(|by| by <= -8);
        let behind = place.distance(&self.end).is_some_and(|by| by >= self.stride);
        !(before || behind || are_apart(&self.first, place))
    }

    /// Whether the place is certainly one of these.
    fn holds(&self, place: &Sym) -> bool {
        !self.is_container()
            && place.distance(&self.first).is_some_and(|by| by >= 0 && by % self.stride == 0)
            && self.end.distance(place).is_some_and(|by| by > 0)
    }

    /// All of these, when they are few and their number is known.
    fn places(&self) -> Option<Vec<Sym>> {
        let length = self.end.distance(&self.first).filter(|_| !self.is_container())?;
        let count = length.div_euclid(self.stride) + i64::from(length.rem_euclid(self.stride) != 0);
        (1..=MAX_ACQUIRED as i64)
            .contains(&count)
            .then(|| (0..count).map(|k| self.first.clone().shifted(k * self.stride)).collect())
    }

    fn covers(&self, made: &HandleRange) -> bool {
        if self.stride != made.stride {
            return false;
        }
        if self.is_container() {
            return self.first == made.first;
        }
        let before = made.first.distance(&self.first);
        let after = self.end.distance(&made.end);
        before.is_some_and(|by| by >= 0 && by % self.stride == 0) && after.is_some_and(|by| by >= 0)
    }
}

/// Whether two places that hold thread handles may be one.
fn may_be_same(a: &Sym, b: &Sym) -> bool {
    if let Some(distance) = a.distance(b) {
        return distance.abs() < 8;
    }
    !are_apart(a, b)
}

/// Whether the two are in different objects, whatever is added to them. What a function is given is
/// none of its own slots.
fn are_apart(a: &Sym, b: &Sym) -> bool {
    let own = |sym: &Sym| matches!(root(sym), Some(Atom::Stack(LOCAL, _)));
    let given = |sym: &Sym| matches!(root(sym), Some(Atom::Argument(LOCAL, _)));
    (is_object(a) && is_object(b) && root(a) != root(b))
        || (own(a) && given(b))
        || (own(b) && given(a))
}

/// A place in a named object: a global, or a stack slot of this function.
fn is_object(sym: &Sym) -> bool {
    matches!(root(sym), Some(Atom::Global(_) | Atom::Stack(..)))
}

fn root(sym: &Sym) -> Option<&Atom> {
    sym.terms.iter().find(|(_, scale)| *scale == 1).map(|(atom, _)| atom)
}

/// Joins paths of one shape, and all of them when there are too many.
pub fn reduce(paths: &mut Vec<Path>, limit: usize) {
    let mut result: Vec<Path> = Vec::with_capacity(paths.len().min(limit));
    for path in paths.drain(..) {
        match result.iter_mut().find(|known| known.same_shape(&path)) {
            Some(known) => known.join(&path),
            None => result.push(path),
        }
    }
    if result.len() > limit {
        let mut rest = result.into_iter();
        let mut first = rest.next().expect("more than the limit");
        for path in rest {
            first.join(&path);
        }
        result = vec![first];
    }
    *paths = result;
}

/// All paths as one.
pub fn joined(paths: &[Path]) -> Option<Path> {
    let (first, rest) = paths.split_first()?;
    let mut result = first.clone();
    for path in rest {
        result.join(path);
    }
    Some(result)
}
