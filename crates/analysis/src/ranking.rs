//! From candidate pairs to ranked races: one race per pair of places, RELAY's filters (4.3) and
//! paper 2's covers (section 4, in [`crate::covers`]) lower the rank and say why; nothing is dropped.

use racewarden_finding::AccessKind;
use racewarden_ir::FunctionId;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::contexts::GuardedAccess;
use crate::digests::Whole;
use crate::draft::{Candidate, Draft, DraftSite, Words};
use crate::naming::Naming;
use crate::pairs::Pairs;
use crate::pointsto::{ObjectId, ObjectKind};
use crate::sym::{Atom, LOCAL};
use crate::threads::MAIN;

/// The candidates in words, with their places left open.
pub fn draft(
    pairs: &Pairs,
    accesses: &[GuardedAccess],
    whole: &Whole<'_>,
    naming: &Naming<'_>,
) -> Draft {
    let mut words = Words::default();
    let mut sites: Vec<DraftSite> = Vec::new();
    let mut numbers: FxHashMap<u32, u32> = FxHashMap::default();
    let mut candidates = Vec::with_capacity(pairs.candidates.len());
    for &(first, second, object) in &pairs.candidates {
        let mut site = |number: u32| {
            *numbers.entry(number).or_insert_with(|| {
                sites.push(naming.site(&accesses[number as usize], &mut words));
                sites.len() as u32 - 1
            })
        };
        let numbers = (site(first), site(second));
        let (a, b) = (&accesses[first as usize], &accesses[second as usize]);
        let name = naming
            .field(a)
            .filter(|field| Some(field) == naming.field(b).as_ref())
            .unwrap_or_else(|| naming.object(object));
        let mut reasons = Vec::new();
        let (a, b) = (Traits::of(a, whole), Traits::of(b, whole));
        let rank = weigh(&a, &b, object, whole, &mut |reason| {
            reasons.push(words.id(reason.to_owned()));
        });
        candidates.push(Candidate { sites: numbers, object: words.id(name), rank, reasons });
    }
    Draft { words: words.into_list(), sites, candidates, ..Draft::default() }
}

/// What a candidate's rank depends on, of one of its accesses.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Traits {
    /// No lock is held.
    free: bool,
    writes: bool,
    atomic: bool,
    /// It is made by a name of its own thread's memory.
    own: bool,
    /// In the program's first thread.
    first: bool,
    targets: Targets,
    /// What its thread runs, unless that is any exported function.
    start: Option<FunctionId>,
    /// Allocations that it may be to and that its address names, ascending.
    allocations: SmallVec<[ObjectId; 2]>,
}

/// How many objects an access may be to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Targets {
    One,
    Few,
    Many,
}

impl Traits {
    /// `own` is what [`Whole::is_own`] says.
    pub fn new(access: &GuardedAccess, own: bool, whole: &Whole<'_>) -> Self {
        let instantiation = whole.instantiation;
        let root = &instantiation.threads.roots[access.root as usize];
        let locations = instantiation.points.locations();
        let mut allocations = SmallVec::new();
        if let Some(address) = &access.address {
            address.visit(&mut |atom| {
                if let Atom::Inst(frame, inst) = atom
                    && *frame != LOCAL
                {
                    let function = instantiation.function_of(*frame);
                    let object = locations.find_object(ObjectKind::Heap(function, *inst));
                    let named = |object: &ObjectId| access.reaches(*object);
                    allocations.extend(object.filter(named));
                }
            });
            allocations.sort_unstable();
            allocations.dedup();
        }
        Traits {
            free: access.state.held.iter().all(|held| instantiation.has_run_once(held)),
            writes: access.kind == AccessKind::Write,
            atomic: access.atomic,
            own,
            first: access.root == MAIN,
            targets: match access.locations.len() {
                1 => Targets::One,
                0..=8 => Targets::Few,
                _ => Targets::Many,
            },
            start: (!root.outside).then_some(root.function),
            allocations,
        }
    }

    fn of(access: &GuardedAccess, whole: &Whole<'_>) -> Self {
        Traits::new(access, whole.is_own(access), whole)
    }
}

/// The rank of a candidate, without its reasons.
pub fn score(a: &Traits, b: &Traits, object: ObjectId, whole: &Whole<'_>) -> u32 {
    weigh(a, b, object, whole, &mut |_| {})
}

fn weigh(
    a: &Traits,
    b: &Traits,
    object: ObjectId,
    whole: &Whole<'_>,
    say: &mut impl FnMut(&'static str),
) -> u32 {
    let mut rank: i32 = 60;
    let mut change = |by: i32, reason: &'static str| {
        rank += by;
        say(reason);
    };
    match (a.free, b.free) {
        (true, true) => change(10, "no lock is held at either access"),
        // Whoever takes a lock at one place meant to take it at the other as well.
        (true, false) | (false, true) => change(10, "a lock is held at one access only"),
        (false, false) => change(0, "no common lock is held"),
    }
    if a.writes && b.writes {
        change(5, "both accesses write");
    }
    let kind = whole.instantiation.points.locations().objects[object as usize];
    let certain = a.targets == Targets::One && b.targets == Targets::One;
    if certain && matches!(kind, ObjectKind::Global(_)) {
        change(10, "both accesses are certain to be to this object");
    }
    if a.targets == Targets::Many || b.targets == Targets::Many {
        change(-20, "the pointers may lead to many objects; they may never meet (RELAY filter 2)");
    }
    if matches!(kind, ObjectKind::Heap(..)) {
        let own = |traits: &Traits| traits.own || traits.allocations.contains(&object);
        if own(a) || own(b) {
            change(-15, "the object is allocated by the thread that accesses it (RELAY filter 1)");
        }
    }
    if a.start.is_some() && a.start == b.start {
        change(-5, "both accesses are in threads of one start function (RELAY filter 4)");
    }
    if a.first || b.first {
        change(-5, "one access is in the program's first thread (RELAY filter 3)");
    }
    if a.atomic != b.atomic {
        change(5, "one access is atomic and the other is not");
    }
    rank.clamp(1, 100) as u32
}
