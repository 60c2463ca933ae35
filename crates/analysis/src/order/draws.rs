//! Numbers that are drawn from a counter: `work[next++]`, by an atomic addition or under a lock.
//!
//! As long as a word only ever grows, whoever draws from it gets a number that nobody else gets. An
//! access at `base + scale·number` is then apart from those of other threads by the step. Atomic
//! draws are additions whose result is used. Under a lock, the number is what a load finds, when the
//! store of something greater follows before any lock is released, in the same function. The first
//! thread may set the word when there is no other.
//!
//! Words of at least four bytes are taken not to come round. Not seen: counters in objects that exist
//! several times, compare-and-exchange loops, chunks of more than one number.

use std::sync::{Arc, Mutex, PoisonError};

use racewarden_finding::AccessKind;
use racewarden_ir::{FunctionId, Op, RmwOp, Value};
use rustc_hash::FxHashMap;

use super::guarded::{Section, exclude_each_other};
use crate::contexts::GuardedAccess;
use crate::digests::{Digest, Whole, fits};
use crate::pointsto::{CallSite, Location, may_overlap};
use crate::sym::{Atom, LOCAL, Sym};
use crate::threads::{MAIN, RootId};

pub struct Draws;

impl Digest for Draws {
    fn name(&self) -> &'static str {
        "argument"
    }

    fn excludes(&self, a: &GuardedAccess, b: &GuardedAccess, whole: &Whole<'_>) -> Option<String> {
        let (x, y) = (whole.draw(a)?, whole.draw(b)?);
        if x.word != y.word || x.scale != y.scale {
            return None;
        }
        let distance = x.rest.distance(&y.rest)?;
        let way = x.step.min(y.step).saturating_mul(x.scale.abs());
        fits(distance, a.size, b.size, way)
            .then(|| "each thread works on what it has drawn from a counter".to_owned())
    }
}

/// `rest + scale·number`.
struct Draw {
    word: Location,
    rest: Sym,
    scale: i64,
    step: i64,
}

/// A word that only grows.
#[derive(Debug, Clone)]
struct Counter {
    step: i64,
    /// Where it grows under a lock; empty when it does so by itself.
    stores: Vec<CallSite>,
}

/// By place and size; `None` for words that do not only grow.
type Counters = FxHashMap<(Location, u64), Option<Arc<Counter>>>;

/// What was found of words that numbers are drawn from.
#[derive(Default)]
pub struct Drawn {
    counters: Mutex<Counters>,
    loads: Mutex<FxHashMap<CallSite, bool>>,
    /// Whether a function stores to a word.
    stored: Mutex<FxHashMap<(FunctionId, Location), bool>>,
}

/// Scales past this are not looked at.
const LARGE: i64 = 1 << 30;

impl Whole<'_> {
    fn draw(&self, access: &GuardedAccess) -> Option<Draw> {
        let address = access.address.as_ref()?;
        let mut found = None;
        for (atom, scale) in &address.terms {
            let Atom::Inst(frame, inst) = atom else { continue };
            if *frame == LOCAL || self.instantiation.root_of(*frame) != access.root {
                continue;
            }
            let function = self.instantiation.function_of(*frame);
            let Some((word, step)) = self.drawn_by((function, *inst)) else { continue };
            if found.is_some() || !(-LARGE..LARGE).contains(scale) {
                return None;
            }
            let rest = address.plus(&Sym::atom(atom.clone()).scaled(-scale));
            found = Some(Draw { word, rest, scale: *scale, step });
        }
        found.filter(|draw| !draw.rest.terms.is_empty() && self.is_invariant(&draw.rest))
    }

    /// The word that the instruction draws a number from, and how far apart the numbers are.
    fn drawn_by(&self, site: CallSite) -> Option<(Location, i64)> {
        let op = self.instantiation.bodies.op(site)?;
        let (address, size, by_itself) = match &*op {
            Op::AtomicRmw { address, size, op: RmwOp::Add, .. } => (address, *size, true),
            Op::Load { address, size, order: None, .. } => (address, *size, false),
            _ => return None,
        };
        let word = self.word_at(site.0, address)?;
        // To look through all accesses is not cheap.
        if !by_itself && !self.is_stored_here(site, word) {
            return None;
        }
        let counter = self.counter(word, size)?;
        if by_itself != counter.stores.is_empty() {
            return None;
        }
        let certain = by_itself || self.is_drawn(site, word, size, &counter);
        certain.then_some((word, counter.step))
    }

    fn word_at(&self, function: FunctionId, address: &Value) -> Option<Location> {
        let instantiation = self.instantiation;
        match &*instantiation.points.value(&instantiation.bodies, function, address) {
            [at] if at.stride == 0 && self.singletons[at.object as usize] => Some(*at),
            _ => None,
        }
    }

    /// Whether the function of the load also stores to the word.
    fn is_stored_here(&self, load: CallSite, word: Location) -> bool {
        let known = || self.drawn.stored.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(&(load.0, word)) {
            return *found;
        }
        let found = self.instantiation.bodies.ops(load.0).any(|(_, op)| {
            matches!(&*op, Op::Store { address, .. }
                if self.word_at(load.0, address) == Some(word))
        });
        known().insert((load.0, word), found);
        found
    }

    fn counter(&self, word: Location, size: u64) -> Option<Arc<Counter>> {
        let known = || self.drawn.counters.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(&(word, size)) {
            return found.clone();
        }
        let found = self.find_counter(word, size).map(Arc::new);
        known().insert((word, size), found.clone());
        found
    }

    /// The accesses that may be to the word.
    fn accesses_to(&self, word: Location, size: u64) -> impl Iterator<Item = &GuardedAccess> {
        let points = self.instantiation.points;
        let in_blob = points.in_blob(word.object);
        let blob = points.blob().object;
        self.instantiation.accesses_for(word, size).iter().filter(move |access| {
            access.locations.iter().any(|at| {
                (in_blob && at.object == blob) || may_overlap(*at, access.size, word, size)
            })
        })
    }

    fn find_counter(&self, word: Location, size: u64) -> Option<Counter> {
        if size < 4 {
            return None;
        }
        let bodies = &self.instantiation.bodies;
        let (mut step, mut by_itself) = (i64::MAX, false);
        let mut stores: Vec<CallSite> = Vec::new();
        for access in self.accesses_to(word, size).filter(|a| a.kind == AccessKind::Write) {
            let threads = &self.instantiation.threads;
            let mut others = 0..threads.roots.len() as RootId;
            if access.root == MAIN && !others.any(|root| threads.is_alive(&access.state, root)) {
                continue;
            }
            let site = (access.function, access.inst);
            let own = match &*bodies.op(site)? {
                Op::AtomicRmw {
                    op: RmwOp::Add, value: Value::Int { bits, .. }, address, ..
                } => {
                    self.word_at(site.0, address).filter(|at| *at == word)?;
                    by_itself = true;
                    i64::try_from(*bits).ok()?
                }
                Op::Store { address, value, size: own, order: None, .. } if *own == size => {
                    self.word_at(site.0, address).filter(|at| *at == word)?;
                    stores.push(site);
                    self.growth(site, value, word, size)?
                }
                _ => return None,
            };
            if !(1..LARGE).contains(&own) {
                return None;
            }
            step = step.min(own);
        }
        stores.sort_unstable();
        stores.dedup();
        let counted = by_itself == stores.is_empty() && step != i64::MAX;
        let alone = |a: &CallSite| stores.iter().all(|b| self.exclude_at(word, size, *a, *b));
        (counted && stores.iter().all(alone)).then(|| Counter { step, stores: stores.clone() })
    }

    /// By how much a stored value is greater than what was loaded in the same section of a lock.
    fn growth(&self, store: CallSite, value: &Value, word: Location, size: u64) -> Option<i64> {
        let bodies = &self.instantiation.bodies;
        let flow = self.flow(store.0);
        let grown = flow.1.value(value, bodies.types())?;
        let [(Atom::Inst(LOCAL, load), 1)] = grown.terms.as_slice() else { return None };
        let op = bodies.op((store.0, *load))?;
        let Op::Load { address, size: own, order: None, .. } = &*op else { return None };
        if *own != size || self.word_at(store.0, address) != Some(word) {
            return None;
        }
        let (function, cfg) = (store.0, &flow.0);
        // Something else that was stored in between would be lost.
        let barred = |inst: u32| {
            inst != store.1
                && matches!(bodies.op((function, inst)).as_deref(), Some(Op::Store { address, .. })
                    if self.word_at(function, address) == Some(word))
        };
        let section = Section { whole: self, function, cfg, look: *load, barred: &barred };
        let follows = section.stems_from_look(store.1, None);
        (follows && self.exclude_at(word, size, (function, *load), store)).then_some(grown.offset)
    }

    fn exclude_at(&self, word: Location, size: u64, a: CallSite, b: CallSite) -> bool {
        let at = |site: CallSite| -> Vec<&GuardedAccess> {
            self.accesses_to(word, size).filter(|x| (x.function, x.inst) == site).collect()
        };
        exclude_each_other(self, &at(a), &at(b))
    }

    /// Whether the counter grows, after the load and before a lock is released, whatever happens.
    fn is_drawn(&self, load: CallSite, word: Location, size: u64, counter: &Counter) -> bool {
        let known = || self.drawn.loads.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(&load) {
            return *found;
        }
        let flow = self.flow(load.0);
        let (function, cfg, barred) = (load.0, &flow.0, &|_: u32| false);
        let section = Section { whole: self, function, cfg, look: load.1, barred };
        let is_store = |inst: u32| counter.stores.contains(&(load.0, inst));
        let found = section.leads_to_take(&is_store, &|_, _| true)
            && counter.stores.iter().all(|store| self.exclude_at(word, size, load, *store));
        known().insert(load, found);
        found
    }
}
