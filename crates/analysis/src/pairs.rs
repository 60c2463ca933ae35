//! Candidate pairs: accesses that may touch a common byte, at least one of them writing, that no
//! digest excludes. Found through an index by object and place, never by comparing all with all.
//!
//! Most pairs are excluded by what their threads and states are, whatever the accesses: one lock
//! around everything, or one thread that is joined before another starts. Accesses with the same
//! thread, state and flags share a guard; guards are compared first, each two of them once, and
//! only accesses whose guards do not exclude each other are looked at one by one.
//!
//! Of the pairs of one pair of instructions only the one that ranks highest is kept: the others
//! would end in the same race.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicU8, Ordering};

use racewarden_finding::AccessKind;
use racewarden_ir::FunctionId;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::contexts::GuardedAccess;
use crate::digests::{DIGESTS, Reads, Whole, exclusion_by};
use crate::naming::Naming;
use crate::pointsto::{Location, ObjectId, may_overlap};
use crate::ranking::score;
use crate::reaches::{ReachId, Reaches};
use crate::state::{Held, Path};
use crate::threads::{RootId, Standing};

#[derive(Debug, Default)]
pub struct Pairs {
    /// Indices of accesses, smaller first, with the object both may touch.
    pub candidates: Vec<(u32, u32, ObjectId)>,
    /// How many pairs each digest excluded, counted at each place where they may meet.
    pub excluded: BTreeMap<String, u64>,
    /// Accesses through pointers with too many targets.
    pub vague: u64,
    /// Candidates that are not listed because each of their places is listed with others.
    pub more: u64,
    /// Too many pairs to look at each: the object and how many were left out.
    pub left_out: Vec<(ObjectId, u64)>,
}

/// Pairs looked at one by one per object before the rest is left out with a note.
const MAX_PAIRS: u64 = 20_000_000;

/// Candidates of one object after which only those with a place that has none yet are listed.
const MAX_LISTED: usize = 1_000;

/// Candidates of the whole program after which each place is listed with its best partners only.
const MAX_CANDIDATES: usize = 10_000;

/// Partners that a place is then listed with.
const MAX_PARTNERS: u32 = 3;

type GuardId = u32;

/// Guards of all accesses, and which of them exclude each other.
struct Guards {
    of_access: Vec<GuardId>,
    /// The three parts of each guard.
    parts: Vec<[u32; 3]>,
    flags: Part,
    threads: Part,
    locks: Part,
}

/// The different values of one part of the guards, with what digests that look at nothing else
/// say of each two.
struct Part {
    reads: Reads,
    /// One access with each value.
    sample: Vec<u32>,
    /// By pair: 0 unknown, 1 not excluded, else 2 + the digest's number. Empty for too many.
    verdicts: Vec<AtomicU8>,
}

/// Values of a part for which each pair's verdict is kept.
const MAX_TABLE: usize = 8192;

impl Guards {
    fn new(accesses: &[GuardedAccess], whole: &Whole<'_>) -> Self {
        let (mut flags, mut threads, mut locks) =
            (Part::new(Reads::Flags), Part::new(Reads::Thread), Part::new(Reads::Locks));
        let mut flag_ids: FxHashMap<u8, u32> = FxHashMap::default();
        let mut thread_ids: FxHashMap<Standing, u32> = FxHashMap::default();
        let mut lock_ids: FxHashMap<Vec<Held>, u32> = FxHashMap::default();
        let mut ids: FxHashMap<[u32; 3], GuardId> = FxHashMap::default();
        // States are shared by all accesses between two changes of them.
        let mut known: FxHashMap<(*const Path, RootId, u8), GuardId> = FxHashMap::default();
        let mut of_access = Vec::with_capacity(accesses.len());
        let mut parts = Vec::new();
        for (number, access) in (0u32..).zip(accesses) {
            let own = whole.is_own(access);
            let bits = u8::from(access.atomic) | u8::from(access.private) << 1 | u8::from(own) << 2;
            let key = (std::sync::Arc::as_ptr(&access.state), access.root, bits);
            let id = *known.entry(key).or_insert_with(|| {
                let found = [
                    flags.id(&mut flag_ids, bits, number),
                    threads.id(&mut thread_ids, whole.standing(access), number),
                    locks.id(&mut lock_ids, whole.named_locks(&access.state.held), number),
                ];
                *ids.entry(found).or_insert_with(|| {
                    parts.push(found);
                    parts.len() as GuardId - 1
                })
            });
            of_access.push(id);
        }
        for part in [&mut flags, &mut threads, &mut locks] {
            part.make_table();
        }
        Guards { of_access, parts, flags, threads, locks }
    }

    /// The number of the first digest that keeps accesses under these guards apart.
    fn excluded(&self, a: GuardId, b: GuardId, search: &Search<'_>) -> Option<usize> {
        let (x, y) = (self.parts[a as usize], self.parts[b as usize]);
        let found = [&self.flags, &self.threads, &self.locks]
            .into_iter()
            .zip(x.into_iter().zip(y))
            .filter_map(|(part, (x, y))| part.excluded(x, y, search));
        found.min()
    }
}

impl Part {
    fn new(reads: Reads) -> Self {
        Part { reads, sample: Vec::new(), verdicts: Vec::new() }
    }

    fn id<K: Eq + Hash>(&mut self, ids: &mut FxHashMap<K, u32>, key: K, access: u32) -> u32 {
        *ids.entry(key).or_insert_with(|| {
            self.sample.push(access);
            self.sample.len() as u32 - 1
        })
    }

    fn make_table(&mut self) {
        let count = self.sample.len();
        if count <= MAX_TABLE {
            self.verdicts.resize_with(count * (count + 1) / 2, AtomicU8::default);
        }
    }

    fn excluded(&self, a: u32, b: u32, search: &Search<'_>) -> Option<usize> {
        let (low, high) = (a.min(b) as usize, a.max(b) as usize);
        let cell = self.verdicts.get(high * (high + 1) / 2 + low);
        // Every thread computes the same verdict: whichever stores it first is right.
        match cell.map_or(0, |cell| cell.load(Ordering::Relaxed)) {
            0 => {}
            1 => return None,
            found => return Some(usize::from(found) - 2),
        }
        let (a, b) = (search.access(self.sample[low]), search.access(self.sample[high]));
        let found = exclusion_by(self.reads, a, b, search.whole);
        if let Some(cell) = cell {
            cell.store(found.map_or(1, |digest| digest as u8 + 2), Ordering::Relaxed);
        }
        found
    }
}

/// Accesses to one place of one object, with one size, by guard.
struct Cell {
    location: Location,
    size: u64,
    guards: BTreeMap<GuardId, Members>,
}

/// Accesses by what they may reach.
#[derive(Default)]
struct Members {
    reads: Reached,
    writes: Reached,
}

#[derive(Default)]
struct Reached {
    count: u64,
    by_reach: BTreeMap<ReachId, Vec<u32>>,
}

impl Reached {
    fn push(&mut self, reach: ReachId, access: u32) {
        self.count += 1;
        self.by_reach.entry(reach).or_default().push(access);
    }
}

/// A place in the code and what it does there.
type Spot = (FunctionId, u32, AccessKind);

/// What the search of one object found.
#[derive(Default)]
struct Found {
    /// Pairs that each digest excluded.
    excluded: Vec<u64>,
    /// The pair that ranks highest, by the two spots.
    best: FxHashMap<(Spot, Spot), Best>,
    /// Places that are in some candidate.
    listed: FxHashSet<Spot>,
    more: u64,
    left_out: u64,
    looked: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Best {
    rank: u32,
    pair: (u32, u32),
    object: ObjectId,
}

impl Best {
    /// The higher rank, then the accesses that come first.
    fn beats(&self, other: &Best) -> bool {
        (other.rank, self.pair, self.object) < (self.rank, other.pair, other.object)
    }
}

impl Found {
    fn add(&mut self, other: Found) {
        self.excluded.resize(DIGESTS.len(), 0);
        for (own, more) in self.excluded.iter_mut().zip(other.excluded) {
            *own += more;
        }
        for (spots, best) in other.best {
            self.keep(spots, best);
        }
        self.more += other.more;
    }

    fn keep(&mut self, spots: (Spot, Spot), best: Best) {
        match self.best.get(&spots) {
            Some(known) if !best.beats(known) => {}
            _ => {
                self.best.insert(spots, best);
            }
        }
    }

    fn count(&mut self, digest: usize, pairs: u64) {
        self.excluded.resize(DIGESTS.len(), 0);
        self.excluded[digest] += pairs;
    }
}

/// What a search reads.
struct Search<'a> {
    accesses: &'a [GuardedAccess],
    whole: &'a Whole<'a>,
    guards: Guards,
    reaches: Reaches,
}

pub fn find(accesses: &[GuardedAccess], whole: &Whole<'_>) -> Pairs {
    let (guards, reaches) = (Guards::new(accesses, whole), Reaches::new(accesses));
    let search = Search { accesses, whole, guards, reaches };
    let (index, vague) = search.index();
    let objects: Vec<(ObjectId, Found)> = index
        .into_par_iter()
        .map(|(object, cells)| {
            let mut cells: Vec<Cell> = cells.into_values().collect();
            cells.sort_by_key(|cell| (cell.location, cell.size));
            (object, search.object(object, &cells))
        })
        .collect();
    let mut pairs = Pairs { vague, ..Pairs::default() };
    let mut all = Found::default();
    for (object, found) in objects {
        if found.left_out > 0 {
            pairs.left_out.push((object, found.left_out));
        }
        all.add(found);
    }
    if vague > 0 {
        all.add(search.fields());
    }
    pairs.more = all.more;
    for (digest, count) in DIGESTS.iter().zip(&all.excluded) {
        if *count > 0 {
            *pairs.excluded.entry(digest.name().to_owned()).or_default() += count;
        }
    }
    let kept = thinned(all.best.into_iter().collect());
    pairs.more += kept.1;
    pairs.candidates =
        kept.0.into_iter().map(|best| (best.pair.0, best.pair.1, best.object)).collect();
    pairs.candidates.sort_unstable();
    pairs
}

/// When there are more candidates than anyone reads, those that rank highest for each place; and
/// how many that leaves out.
fn thinned(mut found: Vec<((Spot, Spot), Best)>) -> (Vec<Best>, u64) {
    let before = found.len();
    if before > MAX_CANDIDATES {
        found.sort_unstable_by_key(|(spots, best)| (std::cmp::Reverse(best.rank), *spots));
        let mut listed: FxHashMap<Spot, u32> = FxHashMap::default();
        found.retain(|((a, b), _)| {
            let mut is_wanted = |spot: Spot| {
                let times = listed.entry(spot).or_default();
                *times += 1;
                *times <= MAX_PARTNERS
            };
            let (first, second) = (is_wanted(*a), is_wanted(*b));
            first || second
        });
    }
    let left_out = (before - found.len()) as u64;
    (found.into_iter().map(|(_, best)| best).collect(), left_out)
}

type Index = BTreeMap<ObjectId, FxHashMap<(Location, u64), Cell>>;

impl Search<'_> {
    fn access(&self, number: u32) -> &GuardedAccess {
        &self.accesses[number as usize]
    }

    /// Whether pairs are looked for in this object's own cells.
    fn is_indexed(&self, object: ObjectId) -> bool {
        let instantiation = self.whole.instantiation;
        object != instantiation.points.blob().object && instantiation.shared[object as usize]
    }

    fn index(&self) -> (Index, u64) {
        let blob = self.whole.instantiation.points.blob().object;
        let mut index = Index::new();
        let mut vague = 0;
        for (number, access) in self.accesses.iter().enumerate() {
            for &location in access.locations.iter() {
                vague += u64::from(location.object == blob);
                if !self.is_indexed(location.object) {
                    continue;
                }
                let size = access.size;
                let cell = index
                    .entry(location.object)
                    .or_default()
                    .entry((location, size))
                    .or_insert_with(|| Cell { location, size, guards: BTreeMap::new() });
                let members = cell.guards.entry(self.guards.of_access[number]).or_default();
                let list = match access.kind {
                    AccessKind::Read => &mut members.reads,
                    AccessKind::Write => &mut members.writes,
                };
                list.push(self.reaches.of_access[number], number as u32);
            }
        }
        (index, vague)
    }

    fn object(&self, object: ObjectId, cells: &[Cell]) -> Found {
        let mut found = Found::default();
        for (position, a) in cells.iter().enumerate() {
            for (later, b) in cells.iter().enumerate().skip(position) {
                if may_overlap(a.location, a.size, b.location, b.size) {
                    self.cells(object, (a, b), later == position, &mut found);
                }
            }
        }
        found
    }

    fn cells(&self, object: ObjectId, (a, b): (&Cell, &Cell), same: bool, found: &mut Found) {
        for (&first, x) in &a.guards {
            // Each two guards of one cell once.
            let others = b.guards.range(if same { first.. } else { 0.. });
            for (&second, y) in others {
                let itself = same && first == second;
                let lists = [
                    (&x.writes, &y.writes, itself),
                    (&x.writes, &y.reads, false),
                    (&x.reads, &y.writes, false),
                ];
                let different = if itself { 2 } else { 3 };
                let excluded = self.guards.excluded(first, second, self);
                for (left, right, symmetric) in lists.into_iter().take(different) {
                    match excluded {
                        Some(digest) => {
                            let (n, m) = (left.count, right.count);
                            let pairs = if symmetric { n * n.saturating_sub(1) / 2 } else { n * m };
                            found.count(digest, pairs);
                        }
                        None => {
                            let places = (a.location, b.location);
                            self.reached(object, places, (left, right), symmetric, found);
                        }
                    }
                }
            }
        }
    }

    /// Accesses that reach the same meet the same first: whether they are judged here is asked
    /// once for all of them.
    fn reached(
        &self,
        object: ObjectId,
        places: (Location, Location),
        (left, right): (&Reached, &Reached),
        symmetric: bool,
        found: &mut Found,
    ) {
        for (&first, own) in &left.by_reach {
            let others = right.by_reach.range(if symmetric { first.. } else { 0.. });
            for (&second, theirs) in others {
                if self.first_meeting(first, second) == Some(places) {
                    let itself = symmetric && first == second;
                    self.lists(object, (own, theirs), itself, found);
                }
            }
        }
    }

    fn lists(
        &self,
        object: ObjectId,
        (left, right): (&[u32], &[u32]),
        symmetric: bool,
        found: &mut Found,
    ) {
        // Once enough is listed, only accesses that are in no candidate yet are worth a look.
        let spot = |number: u32| {
            let access = self.access(number);
            (access.function, access.inst, access.kind)
        };
        let mut unlisted: Option<Vec<u32>> = None;
        for (i, &first) in left.iter().enumerate() {
            let others = if symmetric { &right[i..] } else { right };
            let full = found.best.len() >= MAX_LISTED && found.listed.contains(&spot(first));
            let wanted = if full {
                let listed = &found.listed;
                let new = unlisted.get_or_insert_with(|| {
                    right.iter().copied().filter(|b| !listed.contains(&spot(*b))).collect()
                });
                found.more += others.len().saturating_sub(new.len()) as u64;
                new.as_slice()
            } else {
                others
            };
            for &second in wanted {
                found.looked += 1;
                if found.looked > MAX_PAIRS {
                    found.left_out += 1;
                } else {
                    self.judge((first.min(second), first.max(second)), object, found);
                }
            }
        }
    }

    /// The first places where accesses with these reaches meet: there they are judged.
    fn first_meeting(&self, first: ReachId, second: ReachId) -> Option<(Location, Location)> {
        let sample = |reach: ReachId| self.access(self.reaches.sample[reach as usize]);
        let (a, b) = (sample(first), sample(second));
        if let (&[x], &[y]) = (&*a.locations, &*b.locations) {
            return Some((x, y));
        }
        self.reaches
            .meeting(first, second, || {
                let own = (0u32..).zip(a.locations.iter());
                for (i, &x) in own.filter(|(_, at)| self.is_indexed(at.object)) {
                    let start = b.locations.partition_point(|y| y.object < x.object);
                    let there = b.locations[start..].iter().take_while(|y| y.object == x.object);
                    for (j, &y) in (start as u32..).zip(there) {
                        if may_overlap(x, a.size, y, b.size) {
                            return Some((i, j));
                        }
                    }
                }
                None
            })
            .map(|(i, j)| (a.locations[i as usize], b.locations[j as usize]))
    }

    fn spots(&self, (first, second): (u32, u32)) -> (Spot, Spot) {
        let spot = |access: &GuardedAccess| (access.function, access.inst, access.kind);
        let (a, b) = (spot(self.access(first)), spot(self.access(second)));
        if a <= b { (a, b) } else { (b, a) }
    }

    fn judge(&self, pair: (u32, u32), object: ObjectId, found: &mut Found) {
        let (a, b) = (self.access(pair.0), self.access(pair.1));
        // One access with itself races only when its thread has several instances.
        if pair.0 == pair.1 && !self.whole.instantiation.threads.roots[a.root as usize].many {
            return;
        }
        let spots = self.spots(pair);
        let known = found.best.get(&spots);
        if known.is_none()
            && found.best.len() >= MAX_LISTED
            && found.listed.contains(&spots.0)
            && found.listed.contains(&spots.1)
        {
            found.more += 1;
            return;
        }
        let rank = score(a, b, object, self.whole);
        let best = Best { rank, pair, object };
        if known.is_some_and(|known| !best.beats(known)) {
            return;
        }
        match exclusion_by(Reads::Access, a, b, self.whole) {
            Some(digest) => found.count(digest, 1),
            None => {
                found.listed.extend([spots.0, spots.1]);
                found.keep(spots, best);
            }
        }
    }

    /// Accesses through the blob may be to any of its objects; only those that the source calls by
    /// the same field of the same type are looked at (RELAY's filter 2 drops them all).
    fn fields(&self) -> Found {
        let points = self.whole.instantiation.points;
        let blob = points.blob().object;
        let naming = Naming::new(self.whole.instantiation);
        let mut fields: BTreeMap<String, Vec<(u32, bool)>> = BTreeMap::new();
        let mut names: FxHashMap<(FunctionId, u32), Option<String>> = FxHashMap::default();
        for (number, access) in self.accesses.iter().enumerate() {
            if !access.locations.iter().any(|at| points.in_blob(at.object)) {
                continue;
            }
            let name = names
                .entry((access.function, access.inst))
                .or_insert_with(|| naming.field(access))
                .clone();
            if let Some(field) = name {
                let through = access.locations.iter().any(|at| at.object == blob);
                fields.entry(field).or_default().push((number as u32, through));
            }
        }
        let lists: Vec<_> = fields.into_values().collect();
        let found: Vec<Found> = lists.par_iter().map(|list| self.field(list, blob)).collect();
        let mut all = Found::default();
        found.into_iter().for_each(|one| all.add(one));
        all
    }

    fn field(&self, list: &[(u32, bool)], blob: ObjectId) -> Found {
        let mut found = Found::default();
        let reach = |number: u32| self.reaches.of_access[number as usize];
        for (position, &(first, vague)) in list.iter().enumerate() {
            for &(second, other_vague) in &list[position..] {
                let (a, b) = (self.access(first), self.access(second));
                if !(vague || other_vague)
                    || !a.kind.conflicts_with(b.kind)
                    || self.first_meeting(reach(first), reach(second)).is_some()
                {
                    continue;
                }
                found.looked += 1;
                if found.looked > MAX_PAIRS_PER_FIELD {
                    return found;
                }
                let guard = |number: u32| self.guards.of_access[number as usize];
                let excluded = self.guards.excluded(guard(first), guard(second), self);
                match excluded {
                    Some(digest) => found.count(digest, u64::from(first != second)),
                    None => self.judge((first.min(second), first.max(second)), blob, &mut found),
                }
            }
        }
        found
    }
}

const MAX_PAIRS_PER_FIELD: u64 = 20_000;
