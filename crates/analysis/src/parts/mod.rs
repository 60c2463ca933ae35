//! Parts of memory that the threads of one root share out among them, whatever way they come there.
//!
//! [`Shares`](crate::shares) and [`Ranges`](crate::ranges) tell apart what an address says in linear
//! forms. Here addresses are [polynomials](poly) over what is read on each [way](ways) to the access, and
//! two accesses of threads of one root are apart when they are on each pair of ways: because only one
//! thread gets there (its number is compared with one number), because the pointers come from different
//! allocations, because a barrier lies between the calls on the ways, or because the addresses
//! [differ](differ).
//!
//! Indices are taken not to overflow and to stay in their object, as everywhere; neither the sign of a
//! size nor the number of threads matters, because bounds that turn around leave a loop without a round.
//!
//! Only threads that are created in one loop, and the members of one team, have numbers that are known to
//! differ; what the first thread does beside those that it creates is not looked at.

mod bases;
mod callers;
mod conditions;
mod differ;
mod poly;
mod powers;
mod teams;
mod ways;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use racewarden_finding::AccessKind;
use racewarden_ir::{FunctionId, InstId, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::contexts::GuardedAccess;
use crate::digests::{Digest, Whole};
use crate::pointsto::{Location, ObjectKind};
use crate::sharing::MOST_WRITES;
use crate::threads::{MAIN, RootId};
use callers::Callers;
use differ::differ;
pub use poly::Own;
use poly::{Poly, Var};
use ways::{Base, Way, ways};

pub struct Parts;

/// What was found of accesses so far.
#[derive(Default)]
pub struct KnownWays {
    callers: OnceLock<FxHashMap<RootId, Callers>>,
    ways: Mutex<FxHashMap<Key, Option<Arc<Vec<Way>>>>>,
    apart: Mutex<FxHashMap<(Sized, Sized), bool>>,
}

/// An instruction that a root's threads run, and whether it writes there.
type Key = (RootId, FunctionId, u32, bool);

/// The same with the number of its bytes.
type Sized = (Key, u64);

fn key(access: &GuardedAccess) -> Key {
    (access.root, access.function, access.inst, access.kind == AccessKind::Write)
}

impl Digest for Parts {
    fn name(&self) -> &'static str {
        "part"
    }

    fn excludes(&self, a: &GuardedAccess, b: &GuardedAccess, whole: &Whole<'_>) -> Option<String> {
        if a.root != b.root || a.root == MAIN || whole.root(a.root).create.is_none() {
            return None;
        }
        // Contexts are not looked at: there may be many pairs of the same two instructions.
        let pair = ((key(a), a.size), (key(b), b.size));
        let known = || whole.ways.apart.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known().get(&pair).copied();
        let apart = found.unwrap_or_else(|| {
            let apart = whole.are_apart(a, b).unwrap_or(false);
            known().insert(pair, apart);
            apart
        });
        apart.then(|| "each thread works on a part of its own in this phase".to_owned())
    }
}

/// Whether both accesses are made by the one thread with a certain number.
fn is_same_number(a: &Way, b: &Way) -> bool {
    a.zeros.iter().any(|zero| is_of_number(zero) && b.zeros.contains(zero))
}

/// Whether one access is to the copy of who started the team and the other to a member's own.
fn are_other_copies(a: &Way, b: &Way) -> bool {
    let apart = |a: &Way, b: &Way| a.copied.is_some() && a.copied == b.original;
    apart(a, b) || apart(b, a)
}

/// A number's multiple and what is the same in all threads.
fn is_of_number(poly: &Poly) -> bool {
    let is_number = |var: &Var| matches!(var, Var::Number(_));
    let mut own = poly.terms().filter(|(product, _)| !product.iter().all(Var::is_common));
    match (own.next(), own.next()) {
        (Some((product, _)), None) => product.len() == 1 && is_number(&product[0]),
        _ => false,
    }
}

impl Whole<'_> {
    /// Whether the accesses of two threads of one root are, whatever way they come there.
    fn are_apart(&self, a: &GuardedAccess, b: &GuardedAccess) -> Option<bool> {
        let (x, y) = (self.ways(a)?, self.ways(b)?);
        let apart = |one: &Way, two: &Way| {
            is_same_number(one, two)
                || are_other_copies(one, two)
                || self.are_other_objects(one, two)
                || self.take_turns(a.root, one, two)
                || self.differ((one, a), (two, b))
                || self.orders.in_phases(self, a.root, &one.sites, &two.sites)
        };
        Some(x.iter().all(|one| y.iter().all(|two| apart(one, two))))
    }

    fn ways(&self, access: &GuardedAccess) -> Option<Arc<Vec<Way>>> {
        let key = key(access);
        let known = || self.ways.ways.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(&key) {
            return found.clone();
        }
        let callers = self.ways.callers.get_or_init(|| Callers::new(self)).get(&access.root)?;
        let found = ways(self, callers, access).map(Arc::new);
        known().insert(key, found.clone());
        found
    }

    /// Whether two threads' pointers lead to different objects.
    fn are_other_objects(&self, a: &Way, b: &Way) -> bool {
        self.are_other_bases(&a.base, &b.base)
    }

    fn are_other_bases(&self, a: &Base, b: &Base) -> bool {
        match (a, b) {
            // What a thread has allocated is none of what was there when it began, nor another's.
            (Base::Fresh, Base::Fresh | Base::Global | Base::Loaded(_))
            | (Base::Global | Base::Loaded(_), Base::Fresh) => true,
            (Base::Loaded(one), Base::Loaded(two)) => {
                let (one, two) = (self.allocations(one), self.allocations(two));
                one.zip(two).is_some_and(|(one, two)| one.is_disjoint(&two))
            }
            _ => false,
        }
    }

    /// The calls whose results a global pointer holds, where it holds nothing else.
    fn allocations(&self, place: &Poly) -> Option<FxHashSet<(FunctionId, u32)>> {
        let instantiation = self.instantiation;
        let Some(Var::Global(global)) = place.as_var() else { return None };
        let objects = &instantiation.points.locations().objects;
        let object = objects.iter().position(|kind| *kind == ObjectKind::Global(*global))? as u32;
        let initial = instantiation.bodies.global(*global).initializer.as_ref()?;
        let plain = initial.pointers.is_empty() && initial.bytes.iter().all(|byte| *byte == 0);
        if !plain || instantiation.points.in_blob(object) {
            return None;
        }
        let writes = instantiation.writes_of(object)?;
        if writes.len() > MOST_WRITES {
            return None;
        }
        let mut found = FxHashSet::default();
        for &(function, inst) in writes {
            let body = instantiation.bodies.of(function);
            let Op::Store { address, value: Value::Inst(call), size: 8, order: None, .. } =
                &body.inst(InstId(inst)).op
            else {
                return None;
            };
            let places = instantiation.points.value(&instantiation.bodies, function, address);
            let exact = *places == [Location { object, offset: 0, stride: 0 }];
            if !exact || !instantiation.is_allocation(function, call.0) {
                return None;
            }
            found.insert((function, call.0));
        }
        Some(found)
    }

    fn differ(&self, (x, a): (&Way, &GuardedAccess), (y, b): (&Way, &GuardedAccess)) -> bool {
        if x.address.is_none() || y.address.is_none() {
            return false;
        }
        let size = |access: &GuardedAccess| i64::try_from(access.size).ok();
        let (Some(own), Some(other)) = (size(a), size(b)) else { return false };
        let apart = |number: Own| self.own_numbers(a.root, number);
        let mut shared = Vec::new();
        for phi in &x.counters {
            if y.counters.contains(phi) && self.are_in_step(a.root, *phi, x, y) {
                shared.push(*phi);
            }
        }
        if let (Base::Turned(one, _), Base::Turned(other, _)) = (&x.base, &y.base)
            && one == other
            && self.are_in_round(a.root, *one, x, y)
        {
            shared.push(*one);
        }
        match (x.in_step(&shared), y.in_step(&shared)) {
            (Some(x), Some(y)) => is_same_number(&x, &y) || differ((&x, own), (&y, other), &apart),
            _ => false,
        }
    }

    /// Whether the counter is the same in two threads that are on these ways at once.
    fn are_in_step(&self, root: RootId, phi: u32, x: &Way, y: &Way) -> bool {
        let counter = Var::Local(0, phi);
        let start = |way: &Way| Some(way.bounds.get(&counter)?.0.clone());
        start(x).is_some() && start(x) == start(y) && self.are_in_round(root, phi, x, y)
    }

    /// Whether two threads that are on these ways at once are in one round of the loop that the value
    /// begins, in the function that they start in.
    fn are_in_round(&self, root: RootId, phi: u32, x: &Way, y: &Way) -> bool {
        let (Some(first), Some(second)) = (x.sites.first(), y.sites.first()) else { return false };
        let function = first.0;
        let flow = self.flow(function);
        let cfg = &flow.0;
        let block = cfg.block_of[phi as usize];
        let Some(around) = cfg.loop_at(block) else { return false };
        let is_nested = cfg.loops.iter().filter(|own| own.contains(block)).count() > 1;
        let header = self.instantiation.bodies.blocks(function)[block as usize].start.0;
        let is_inside = |inst: u32| around.contains(cfg.block_of[inst as usize]);
        let places = (x.sites.as_slice(), y.sites.as_slice());
        second.0 == function
            && !is_nested
            && is_inside(first.1)
            && is_inside(second.1)
            && self.orders.in_step(self, root, (function, header), &is_inside, places)
    }

    /// Whether the two pointers are kept in variables that change places from round to round of a loop
    /// that all threads go through in step.
    fn take_turns(&self, root: RootId, a: &Way, b: &Way) -> bool {
        let (Base::Turned(one, states), Base::Turned(other, _)) = (&a.base, &b.base) else {
            return false;
        };
        let of = |state: &[(u32, Base)], phi: u32| {
            state.iter().find(|(own, _)| *own == phi).map(|(_, base)| base.clone())
        };
        let differ = |state: &Vec<(u32, Base)>| {
            let (Some(x), Some(y)) = (of(state, *one), of(state, *other)) else { return false };
            self.are_other_bases(&x, &y)
        };
        states.iter().all(differ) && self.are_in_round(root, *one, a, b)
    }
}

impl Way {
    /// The same with counters that are shared.
    fn in_step(&self, shared: &[u32]) -> Option<Way> {
        if shared.is_empty() {
            return Some(self.clone());
        }
        let by = |var: &Var| match var {
            Var::Local(0, phi) if shared.contains(phi) => Some(Poly::var(Var::Shared(*phi))),
            _ => None,
        };
        let mut way = self.clone();
        way.address = match &self.address {
            Some(address) => Some(address.replaced(&by)?),
            None => None,
        };
        way.zeros = self.zeros.iter().filter_map(|zero| zero.replaced(&by)).collect();
        way.bounds.clear();
        for (var, (low, high)) in &self.bounds {
            let var =
                by(var).and_then(|poly| poly.as_var().cloned()).unwrap_or_else(|| var.clone());
            let high = high.as_ref().and_then(|high| high.replaced(&by));
            way.bounds.insert(var, (low.replaced(&by)?, high));
        }
        Some(way)
    }
}
