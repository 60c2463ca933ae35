//! Objects that other threads may come to know by an atomic access that orders nothing.
//!
//! What a thread does to an object before it publishes it is ordered before everyone who finds the
//! object there: the place where it is published is either synchronised, or races itself and is a
//! candidate. The exception is an atomic access of too weak an order. It does not race, and whoever
//! follows the pointer may still see the object as it was before it was filled in. So for the objects
//! found here, and all that they lead to, not being known yet excludes nothing.
//!
//! Two kinds of weak reads are harmless. One is made under a lock that every write of the place is
//! made under (the second look of double-checked locking). The other is of a place that nothing but
//! releasing read-modify-writes changes, and its value is not followed but only put into an object
//! that is not known yet and is published at the same place (the push of a lock-free stack): whoever
//! gets there by an acquiring read comes after all of those writes, since each continues the release
//! sequences of those before it (C11 5.1.2.4).
//!
//! Fences are not looked at: a relaxed store after a release fence counts as weak, too.

use racewarden_ir::{FunctionId, InstId, Op, Program, RmwOp, Value};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::callgraph::effects_of_call;
use crate::contexts::GuardedAccess;
use crate::digests::Whole;
use crate::effects::Effect;
use crate::pointsto::{CallSite, Location, ObjectId, may_overlap};

/// Bytes of the smallest access that can hold a pointer.
const POINTER: u64 = 8;

struct Scan<'a> {
    whole: &'a Whole<'a>,
    functions: Vec<FunctionId>,
    accesses: FxHashMap<CallSite, Vec<&'a GuardedAccess>>,
}

/// What an atomic access does with a pointer, as far as it orders nothing.
struct Weak<'a> {
    address: &'a Value,
    reads: bool,
    writes: bool,
}

/// Whether there is any such access.
pub fn has_weak_access(program: &Program) -> bool {
    program.module.functions.par_iter().any(|function| {
        let mut all = function.instructions.iter();
        all.any(|inst| weak_place(&inst.op).is_some_and(|weak| weak.reads || weak.writes))
    })
}

pub fn loosely_published(whole: &Whole<'_>) -> FxHashSet<ObjectId> {
    let instantiation = whole.instantiation;
    let bodies = &instantiation.bodies;
    let mut functions: Vec<FunctionId> = bodies.ids().collect();
    functions.retain(|id| !bodies.is_declaration(*id));
    let mut scan = Scan { whole, functions, accesses: FxHashMap::default() };
    let weak_of = |&id: &FunctionId| {
        let scan = &scan;
        bodies.scan(id).filter_map(move |(inst, op)| {
            let found = weak_place(&op).filter(|weak| weak.reads || weak.writes)?;
            Some(((id, inst), scan.points(id, found.address), found.writes))
        })
    };
    let weak: Vec<(CallSite, Vec<Location>, bool)> =
        scan.functions.par_iter().flat_map_iter(weak_of).collect();
    if weak.is_empty() {
        return FxHashSet::default();
    }
    for access in &instantiation.accesses {
        scan.accesses.entry((access.function, access.inst)).or_default().push(access);
    }
    let mut open: Vec<ObjectId> = Vec::new();
    for (site, places, writes) in &weak {
        let harmless = !writes
            && (!scan.is_followed_at_all(*site)
                || scan.is_locked(*site, places)
                || scan.is_stack(*site, places));
        if !harmless {
            let contents = instantiation.points.contents(places);
            open.extend(contents.iter().map(|location| location.object));
        }
    }
    let mut found = FxHashSet::default();
    while let Some(object) = open.pop() {
        if found.insert(object) {
            open.extend(instantiation.points.successors(object));
        }
    }
    found
}

/// What an access does that may pass a pointer on without order.
fn weak_place(op: &Op) -> Option<Weak<'_>> {
    let null = |value: &Value| matches!(value, Value::Null | Value::Int { bits: 0, .. });
    let (address, size, reads, writes) = match op {
        Op::Load { address, size, order: Some(order), .. } => {
            (address, size, !order.acquires(), false)
        }
        Op::Store { address, value, size, order: Some(order), .. } => {
            (address, size, false, !order.releases() && !null(value))
        }
        Op::AtomicRmw { address, op, value, size, order } => {
            let stores = *op != RmwOp::Xchg || !null(value);
            (address, size, !order.acquires(), stores && !order.releases())
        }
        Op::CompareExchange { address, new, size, success, failure, .. } => {
            let reads = !(success.acquires() && failure.acquires());
            (address, size, reads, !success.releases() && !null(new))
        }
        _ => return None,
    };
    (*size >= POINTER).then_some(Weak { address, reads, writes })
}

/// Where the value of a read goes.
struct Uses {
    /// Memory is accessed by it, or it goes where it is not followed.
    followed: bool,
    /// Stores of it.
    stored: Vec<u32>,
}

impl<'a> Scan<'a> {
    fn points(&self, function: FunctionId, value: &Value) -> Vec<Location> {
        let instantiation = self.whole.instantiation;
        instantiation.points.value(&instantiation.bodies, function, value).into_owned()
    }

    fn at(&self, site: CallSite) -> &[&'a GuardedAccess] {
        self.accesses.get(&site).map(Vec::as_slice).unwrap_or_default()
    }

    fn is_followed_at_all(&self, site: CallSite) -> bool {
        let uses = self.uses(site);
        uses.followed || !uses.stored.is_empty()
    }

    fn uses(&self, site: CallSite) -> Uses {
        let bodies = &self.whole.instantiation.bodies;
        let mut uses = Uses { followed: false, stored: Vec::new() };
        let mut known = FxHashSet::from_iter([InstId(site.1)]);
        loop {
            let before = known.len();
            for (inst, op) in bodies.ops(site.0) {
                let has = |value: &Value| {
                    let mut found = false;
                    value.visit(&mut |part| {
                        found |= matches!(part, Value::Inst(inst) if known.contains(inst));
                    });
                    found
                };
                let touched = op.operands().into_iter().any(has);
                if !touched {
                    continue;
                }
                match &*op {
                    Op::Compare { .. } => {}
                    Op::Phi { .. }
                    | Op::Select { .. }
                    | Op::Freeze { .. }
                    | Op::ExtractValue { .. } => {
                        known.insert(InstId(inst));
                    }
                    // Part of a compare-and-exchange's result is whether it succeeded.
                    Op::Branch { .. } => {}
                    Op::CompareExchange { address, .. } => uses.followed |= has(address),
                    Op::Store { address, .. } => {
                        uses.followed |= has(address);
                        if !uses.stored.contains(&inst) {
                            uses.stored.push(inst);
                        }
                    }
                    _ => uses.followed = true,
                }
            }
            if known.len() == before {
                return uses;
            }
        }
    }

    /// Instructions that may change one of the places.
    fn writers(&self, places: &[Location]) -> Option<Vec<CallSite>> {
        let bodies = &self.whole.instantiation.bodies;
        let meets = |function: FunctionId, address: &Value, size: u64| {
            self.points(function, address)
                .iter()
                .any(|at| places.iter().any(|place| may_overlap(*place, POINTER, *at, size.max(1))))
        };
        // `None` of a function where what it changes is not known.
        let of = |&id: &FunctionId| {
            let mut found = Vec::new();
            for (inst, op) in bodies.scan(id) {
                match &*op {
                    Op::Store { address, size, .. }
                    | Op::AtomicRmw { address, size, .. }
                    | Op::CompareExchange { address, size, .. }
                        if meets(id, address, *size) =>
                    {
                        found.push((id, inst));
                    }
                    Op::MemCopy { to, .. } | Op::MemSet { to, .. }
                        if meets(id, to, u64::from(u32::MAX)) =>
                    {
                        return None;
                    }
                    _ => {}
                }
            }
            Some(found)
        };
        let found: Option<Vec<Vec<CallSite>>> = self.functions.par_iter().map(of).collect();
        Some(found?.concat())
    }

    /// Whether every write of the place shares a lock with the read.
    fn is_locked(&self, site: CallSite, places: &[Location]) -> bool {
        let reads = self.at(site);
        let Some(writers) = self.writers(places) else { return false };
        !reads.is_empty()
            && writers.iter().all(|writer| {
                self.at(*writer).iter().all(|write| {
                    reads
                        .iter()
                        .all(|read| self.whole.share_lock(read, write) || self.comes_first(write))
                })
            })
    }

    /// Whether the write is made before there is a second thread.
    fn comes_first(&self, write: &GuardedAccess) -> bool {
        write.root == crate::threads::MAIN && write.state.threads.is_empty()
    }

    /// Whether the value only gets into objects that are published at the same place, which nothing
    /// but releasing read-modify-writes changes.
    fn is_stack(&self, site: CallSite, places: &[Location]) -> bool {
        let [place] = places else { return false };
        let instantiation = self.whole.instantiation;
        let points = instantiation.points;
        if place.stride != 0 || !self.whole.singletons[place.object as usize] {
            return false;
        }
        let uses = self.uses(site);
        if uses.followed {
            return false;
        }
        let Some(writers) = self.writers(places) else { return false };
        let releases = |site: &CallSite| {
            instantiation.bodies.op(*site).is_some_and(|op| {
                matches!(&*op, Op::AtomicRmw { .. } | Op::CompareExchange { .. })
                    && weak_place(&op).is_some_and(|weak| !weak.writes)
            })
        };
        if !writers.iter().all(releases) {
            return false;
        }
        let mut family: FxHashSet<ObjectId> = FxHashSet::default();
        let mut open: Vec<ObjectId> =
            points.contents(places).iter().map(|location| location.object).collect();
        while let Some(object) = open.pop() {
            if family.insert(object) {
                open.extend(points.successors(object));
            }
        }
        if family.contains(&points.blob().object) || family.contains(&place.object) {
            return false;
        }
        self.functions.iter().all(|id| self.keeps(*id, *place, &family))
    }

    /// Whether the function lets pointers to the family go nowhere but to the place, to members that
    /// are not known yet, and to memory of its own thread.
    fn keeps(&self, id: FunctionId, place: Location, family: &FxHashSet<ObjectId>) -> bool {
        let instantiation = self.whole.instantiation;
        let points = instantiation.points;
        let leads =
            |value: &Value| self.points(id, value).iter().any(|at| family.contains(&at.object));
        instantiation.bodies.ops(id).all(|(inst, op)| match &*op {
            Op::Store { address, value, .. } if leads(value) => {
                let to = self.points(id, address);
                let inside = to.iter().all(|at| family.contains(&at.object));
                let own = to.iter().all(|at| !instantiation.shared[at.object as usize]);
                let private = self.at((id, inst)).iter().all(|access| access.private);
                (inside && private) || own
            }
            Op::AtomicRmw { address, value, .. }
            | Op::CompareExchange { address, new: value, .. }
                if leads(value) =>
            {
                self.points(id, address) == [place]
            }
            Op::MemCopy { from, .. } => !points
                .contents(&self.points(id, from))
                .iter()
                .any(|at| family.contains(&at.object)),
            Op::Unknown { operands, .. } => !operands.iter().any(leads),
            Op::Call { callee, arguments, .. } => {
                let site = (id, inst);
                effects_of_call(instantiation.effects, points, site, callee).all(|effect| {
                    !matches!(
                        effect,
                        Effect::Publish { .. }
                            | Effect::SetSpecific { .. }
                            | Effect::Create { .. }
                            | Effect::Copy { .. }
                            | Effect::StoreInto { .. }
                            | Effect::KeepContent { .. }
                            | Effect::Partial
                            | Effect::Unknown
                    ) || !arguments.iter().any(leads)
                })
            }
            _ => true,
        })
    }
}
