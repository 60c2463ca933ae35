//! Candidate pairs: accesses that may touch a common byte, at least one of them writing, that no
//! digest excludes. Found through an index by object and place, never by comparing all with all.
//!
//! Most pairs are excluded by what their threads and states are, whatever the accesses: one lock
//! around everything, or one thread that is joined before another starts. Accesses with the same
//! thread, state and flags share a guard; guards are compared first, each two of them once, and
//! only accesses whose guards do not exclude each other are looked at. Those of one guard that may
//! reach the same are a bundle, and in a bundle those at one spot that rank alike are a group.
//!
//! Of the pairs of one pair of instructions only the one that ranks highest is kept: the others
//! would end in the same race. So of two groups pairs are looked at one by one only until one is
//! found that nothing excludes.

mod apart;
mod bundles;
mod crowd;
mod dense;
mod guards;
mod kept;
mod spread;

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::contexts::GuardedAccess;
use crate::digests::{DIGESTS, Reads, Whole, exclusion_by};
use crate::naming::Naming;
use crate::pointsto::{Location, ObjectId, may_overlap};
use crate::ranking::score;
use crate::reaches::{ReachId, Reaches};
use bundles::{Bundle, BundleId, Bundles, Group, SpotId};
use dense::Dense;
use guards::{GuardId, Guards};
pub use kept::{Before, KeptPairs};
use kept::{Holding, Keeper};
use spread::Spread;

#[derive(Default)]
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
    /// Of each access, the digests that keep it apart from others, as bits by their numbers; empty
    /// unless asked for.
    pub apart_by: Vec<Reasons>,
    /// How often two places of one object were compared.
    pub compared: u64,
    /// What was found before an edit still holds, but for what other accesses are to.
    pub hold: bool,
    /// For the program after an edit, if that was asked for and is of use.
    pub kept: Option<KeptPairs>,
}

/// A set of digests, as bits by their numbers in [`DIGESTS`].
pub type Reasons = u32;

/// Pairs looked at one by one per object before the rest is left out with a note.
const MAX_PAIRS: u64 = 20_000_000;

/// Candidates of one object after which only those with a place that has none yet are listed.
const MAX_LISTED: usize = 1_000;

/// Candidates of the whole program after which each place is listed with its best partners only.
const MAX_CANDIDATES: usize = 10_000;

/// Partners that a place is then listed with.
const MAX_PARTNERS: u32 = 3;

/// Accesses to one place of one object, with one size.
struct Cell {
    location: Location,
    size: u64,
    /// In the order of the guards.
    guards: Vec<Guarded>,
}

/// The bundles of one guard in a cell, in the order of their reaches.
struct Guarded {
    guard: GuardId,
    bundles: Vec<BundleId>,
    read_count: u64,
    write_count: u64,
}

/// What the search of one object found.
#[derive(Default)]
struct Found {
    /// Pairs that each digest excluded.
    excluded: Vec<u64>,
    /// The pair that ranks highest, by the two spots, the smaller first.
    best: FxHashMap<(SpotId, SpotId), Best>,
    /// Places that are in some candidate.
    listed: FxHashSet<SpotId>,
    /// The places that each is in a candidate with.
    partners: FxHashMap<SpotId, Vec<SpotId>>,
    /// The same once there are enough candidates, to be asked quickly.
    dense: Dense,
    more: u64,
    left_out: u64,
    looked: u64,
    compared: u64,
    /// The digests that excluded pairs of each place, when that is asked for.
    apart_by: Option<FxHashMap<SpotId, Reasons>>,
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
        self.left_out += other.left_out;
        self.compared += other.compared;
        for (spot, reasons) in other.apart_by.into_iter().flatten() {
            self.note(spot, reasons);
        }
    }

    fn note(&mut self, spot: SpotId, reasons: Reasons) {
        if let Some(apart_by) = &mut self.apart_by {
            *apart_by.entry(spot).or_default() |= reasons;
        }
    }

    fn keep(&mut self, spots: (SpotId, SpotId), best: Best) {
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

    /// Notes that the two places are in a candidate with each other.
    fn list(&mut self, spots: (SpotId, SpotId)) {
        self.listed.extend([spots.0, spots.1]);
        if !self.best.contains_key(&spots) {
            self.partners.entry(spots.0).or_default().push(spots.1);
            self.partners.entry(spots.1).or_default().push(spots.0);
            self.dense.add(spots);
        }
    }

    /// Whether a candidate of these two places adds nothing: there are enough, and both are listed.
    fn is_enough(&self, spots: (SpotId, SpotId)) -> bool {
        self.best.len() >= MAX_LISTED
            && self.listed.contains(&spots.0)
            && self.listed.contains(&spots.1)
    }
}

/// What a search reads.
struct Search<'a> {
    accesses: &'a [GuardedAccess],
    whole: &'a Whole<'a>,
    guards: Guards,
    reaches: Reaches,
    bundles: Bundles,
    /// Whether to tell why each access is kept apart from others.
    tells_reasons: bool,
}

/// With `keeps`, what is found is kept as well.
pub fn find(accesses: &[GuardedAccess], whole: &Whole<'_>, keeps: bool) -> Pairs {
    search(accesses, whole, (false, keeps))
}

/// As [`find`], and tells of each access what keeps it apart from others.
pub fn find_with_reasons(accesses: &[GuardedAccess], whole: &Whole<'_>) -> Pairs {
    search(accesses, whole, (true, false))
}

fn search(
    accesses: &[GuardedAccess],
    whole: &Whole<'_>,
    (tells_reasons, keeps): (bool, bool),
) -> Pairs {
    let own: Vec<bool> = accesses.par_iter().map(|access| whole.is_own(access)).collect();
    let (guards, reaches) =
        rayon::join(|| Guards::new(accesses, whole, &own), || Reaches::new(accesses));
    let bundles = Bundles::new(accesses, whole, &own, (&guards, &reaches));
    let search = Search { accesses, whole, guards, reaches, bundles, tells_reasons };
    let mut keeper = keeps.then(Keeper::default);
    let parts = (&search.guards, &search.reaches, &search.bundles);
    let holding = Holding::new((accesses, whole), parts).filter(|_| !tells_reasons && !keeps);
    let known = holding.and_then(|holding| Some((holding.objects()?, holding)));
    let (mut objects, holding) = known.unzip();
    let objects = objects.get_or_insert_default();
    let is_wanted =
        |object| holding.as_ref().is_none_or(|holding: &Holding<'_>| holding.is_changed(object));
    let (index, vague) = search.index(&is_wanted);
    objects.par_extend(
        index.into_par_iter().map(|(object, cells)| (object, search.object(object, &cells))),
    );
    objects.sort_by_key(|(object, _)| *object);
    let mut pairs = Pairs { vague, hold: holding.is_some(), ..Pairs::default() };
    let mut all = search.nothing();
    for (object, found) in std::mem::take(objects) {
        if found.left_out > 0 {
            pairs.left_out.push((object, found.left_out));
        }
        if let Some(keeper) = &mut keeper {
            keeper.object(object, &found);
        }
        all.add(found);
    }
    if vague > 0 {
        keeper.iter_mut().for_each(Keeper::looks_at_fields);
        let fields = search.fields(holding.as_ref(), keeper.as_mut());
        if fields.left_out > 0 {
            pairs.left_out.push((whole.instantiation.points.blob().object, fields.left_out));
        }
        all.add(fields);
    }
    // What was asked of others' accesses may be another after an edit.
    let keeper = keeper.filter(|_| !whole.instantiation.asks_for_others());
    pairs.kept = keeper.map(|keeper| keeper.pairs(whole, &search.guards, &search.reaches));
    pairs.more = all.more;
    pairs.compared = all.compared;
    if let Some(apart_by) = &all.apart_by {
        let of = |access| apart_by.get(&search.bundles.spot(access)).copied().unwrap_or_default();
        pairs.apart_by = (0..accesses.len() as u32).map(of).collect();
    }
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
fn thinned(mut found: Vec<((SpotId, SpotId), Best)>) -> (Vec<Best>, u64) {
    let before = found.len();
    if before > MAX_CANDIDATES {
        found.sort_unstable_by_key(|(spots, best)| (std::cmp::Reverse(best.rank), *spots));
        let mut listed: FxHashMap<SpotId, u32> = FxHashMap::default();
        found.retain(|((a, b), _)| {
            let mut is_wanted = |spot: SpotId| {
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

/// The objects in order, with their cells in the order of places and sizes.
type Index = Vec<(ObjectId, Vec<Cell>)>;

impl Search<'_> {
    fn access(&self, number: u32) -> &GuardedAccess {
        &self.accesses[number as usize]
    }

    fn bundle(&self, id: BundleId) -> &Bundle {
        &self.bundles.list[id as usize]
    }

    /// Whether pairs are looked for in this object's own cells.
    fn is_indexed(&self, object: ObjectId) -> bool {
        let instantiation = self.whole.instantiation;
        object != instantiation.points.blob().object && instantiation.shared[object as usize]
    }

    /// The bundles by object and place, of the objects that are wanted, and how many accesses may be to
    /// anything.
    fn index(&self, is_wanted: &(dyn Fn(ObjectId) -> bool + Sync)) -> (Index, u64) {
        let blob = self.whole.instantiation.points.blob().object;
        let vague = |bundle: &Bundle| {
            let sample = self.access(self.reaches.sample[bundle.reach as usize]);
            let to_blob = sample.locations.iter().filter(|at| at.object == blob).count() as u64;
            to_blob * (bundle.read_count + bundle.write_count)
        };
        let places = |id: BundleId| {
            let sample = self.access(self.reaches.sample[self.bundle(id).reach as usize]);
            let indexed = sample.locations.iter().filter(|at| self.is_indexed(at.object));
            let indexed = indexed.filter(|at| is_wanted(at.object));
            indexed.map(move |at| (*at, sample.size, id))
        };
        let vague = self.bundles.list.par_iter().map(vague).sum();
        let ids = (0..self.bundles.list.len() as BundleId).into_par_iter();
        let mut all: Vec<(Location, u64, BundleId)> = ids.flat_map_iter(places).collect();
        all.par_sort_unstable();
        let objects: Vec<&[(Location, u64, BundleId)]> =
            all.chunk_by(|a, b| a.0.object == b.0.object).collect();
        let index = objects.into_par_iter().map(|own| (own[0].0.object, self.cells_of(own)));
        (index.collect(), vague)
    }

    /// The cells of one object, of its places with sizes and bundles in order.
    fn cells_of(&self, places: &[(Location, u64, BundleId)]) -> Vec<Cell> {
        let cells = places.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1));
        cells
            .map(|own| {
                let (location, size, _) = own[0];
                let mut cell = Cell { location, size, guards: Vec::new() };
                for &(_, _, id) in own {
                    let Bundle { guard, read_count, write_count, .. } = *self.bundle(id);
                    // Bundles come in the order of their guards.
                    if cell.guards.last().is_none_or(|last| last.guard != guard) {
                        let (bundles, read_count, write_count) = (Vec::new(), 0, 0);
                        cell.guards.push(Guarded { guard, bundles, read_count, write_count });
                    }
                    if let Some(last) = cell.guards.last_mut() {
                        last.bundles.push(id);
                        last.read_count += read_count;
                        last.write_count += write_count;
                    }
                }
                cell
            })
            .collect()
    }

    /// What is known before anything was looked at.
    fn nothing(&self) -> Found {
        Found { apart_by: self.tells_reasons.then(FxHashMap::default), ..Found::default() }
    }

    fn object(&self, object: ObjectId, cells: &[Cell]) -> Found {
        let mut found = self.nothing();
        let mut apart = apart::Apart::new(cells, self.tells_reasons);
        let spread = Spread::new(cells);
        for (position, a) in cells.iter().enumerate() {
            for later in spread.from(position, a) {
                let b = &cells[later];
                found.compared += 1;
                if may_overlap(a.location, a.size, b.location, b.size) {
                    let mut told = |first: usize, second: usize, digest: usize| {
                        apart.add((position, a, first), (later, b, second), digest);
                    };
                    self.cells(object, (a, b), later == position, &mut told, &mut found);
                }
            }
        }
        apart.tell(cells, &self.bundles, &mut found);
        found
    }

    fn cells(
        &self,
        object: ObjectId,
        (a, b): (&Cell, &Cell),
        same: bool,
        told: &mut dyn FnMut(usize, usize, usize),
        found: &mut Found,
    ) {
        for (position, x) in a.guards.iter().enumerate() {
            // Each two guards of one cell once.
            let first = if same { position } else { 0 };
            for (later, y) in b.guards.iter().enumerate().skip(first) {
                let itself = same && x.guard == y.guard;
                match self.guards.excluded(x.guard, y.guard, self.accesses, self.whole) {
                    Some(digest) => {
                        told(position, later, digest);
                        let (n, m) = (x.write_count, y.write_count);
                        let pairs = if itself {
                            n * n.saturating_sub(1) / 2 + n * y.read_count
                        } else {
                            n * m + n * y.read_count + x.read_count * m
                        };
                        found.count(digest, pairs);
                    }
                    None => self.guarded(object, (a.location, b.location), (x, y), itself, found),
                }
            }
        }
    }

    /// Accesses that reach the same meet the same first: whether they are judged here is asked
    /// once for all of them.
    fn guarded(
        &self,
        object: ObjectId,
        places: (Location, Location),
        (x, y): (&Guarded, &Guarded),
        itself: bool,
        found: &mut Found,
    ) {
        for (position, &first) in x.bundles.iter().enumerate() {
            let left = self.bundle(first);
            // The pairs of one guard with itself are in the order of the reaches; written ones
            // with read ones both ways.
            for (later, &second) in y.bundles.iter().enumerate() {
                let right = self.bundle(second);
                if self.first_meeting(left.reach, right.reach) != Some(places) {
                    continue;
                }
                let one = itself && first == second;
                if !itself || later >= position {
                    self.groups(object, (&left.writes, &right.writes), one, found);
                }
                self.groups(object, (&left.writes, &right.reads), false, found);
                if !itself {
                    self.groups(object, (&left.reads, &right.writes), false, found);
                }
            }
        }
    }

    fn groups(
        &self,
        object: ObjectId,
        (left, right): (&[Group], &[Group]),
        same: bool,
        found: &mut Found,
    ) {
        if left.len().saturating_mul(right.len()) > crowd::MAX_PLAIN {
            return self.crowd(object, (left, right), same, found);
        }
        let enough = found.best.len() >= MAX_LISTED;
        if enough {
            found.dense.begin(self.bundles.spot_count, &found.partners);
        }
        for (position, a) in left.iter().enumerate() {
            for (later, b) in right.iter().enumerate().skip(if same { position } else { 0 }) {
                // As `group` would find, but most pairs of a large object end here.
                if enough && found.dense.are_apart(a.spot, b.spot) {
                    found.more += a.members.len() as u64 * b.members.len() as u64;
                } else {
                    self.group(object, (a, b), same && later == position, found);
                }
            }
        }
    }

    /// Pairs of two groups are all of one rank, so the first that nothing excludes is the best.
    fn group(&self, object: ObjectId, (a, b): (&Group, &Group), same: bool, found: &mut Found) {
        let spots = (a.spot.min(b.spot), a.spot.max(b.spot));
        let known = found.best.get(&spots).copied();
        if known.is_none() && found.is_enough(spots) {
            found.more += a.members.len() as u64 * b.members.len() as u64;
            return;
        }
        let rank = score(&a.traits, &b.traits, object, self.whole);
        let beats = |pair| {
            let best = Best { rank, pair, object };
            known.is_none_or(|known| best.beats(&known)).then_some(best)
        };
        for (position, &first) in a.members.iter().enumerate() {
            let others = &b.members[if same { position } else { 0 }..];
            for (later, &second) in others.iter().enumerate() {
                // Later pairs come after this one: when it does not beat what is known, neither
                // do they.
                let Some(best) = beats((first.min(second), first.max(second))) else {
                    if later == 0 {
                        return;
                    }
                    break;
                };
                found.looked += 1;
                if found.looked > MAX_PAIRS {
                    found.left_out += 1;
                } else if self.judge(spots, best, found) {
                    return;
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

    /// Whether the pair is a candidate. It is known to be better than what is kept for its spots.
    fn judge(&self, spots: (SpotId, SpotId), best: Best, found: &mut Found) -> bool {
        let (a, b) = (self.access(best.pair.0), self.access(best.pair.1));
        // One access with itself races only when its thread has several instances.
        let itself = best.pair.0 == best.pair.1;
        if itself && !self.whole.instantiation.threads.roots[a.root as usize].many {
            return false;
        }
        match exclusion_by(Reads::Access, a, b, self.whole) {
            Some(digest) => {
                found.count(digest, 1);
                found.note(spots.0, 1 << digest);
                found.note(spots.1, 1 << digest);
            }
            None => {
                found.list(spots);
                found.keep(spots, best);
                return true;
            }
        }
        false
    }

    /// Accesses through the blob may be to any of its objects; only those that the source calls by
    /// the same field of the same type are looked at (RELAY's filter 2 drops them all).
    fn fields(&self, holding: Option<&Holding<'_>>, mut keeper: Option<&mut Keeper>) -> Found {
        let naming = Naming::new(self.whole.instantiation);
        let changed = holding.map(|holding| -> BTreeSet<&str> {
            let sites = holding.changed_sites(self.accesses);
            sites.filter_map(|site| naming.inner_field(site)).collect()
        });
        let is_changed = |field: &str| changed.as_ref().is_none_or(|list| list.contains(field));
        let known = holding.map_or_else(|| Some(Vec::new()), |holding| holding.fields(&is_changed));
        // What cannot be read is found again.
        let is_known = known.is_some();
        let is_wanted = |field: &str| !is_known || is_changed(field);
        let known = known.unwrap_or_default();
        let blob = self.whole.instantiation.points.blob().object;
        let lists = match is_known && changed.as_ref().is_some_and(BTreeSet::is_empty) {
            true => BTreeMap::new(),
            false => self.in_fields(&naming, &is_wanted),
        };
        let lists: Vec<_> = lists.into_iter().collect();
        let found: Vec<Found> = lists.par_iter().map(|(_, list)| self.field(list, blob)).collect();
        let mut all = Found::default();
        known.into_iter().for_each(|one| all.add(one));
        for ((field, _), one) in lists.iter().zip(found) {
            if let Some(keeper) = &mut keeper {
                keeper.field(field, &one);
            }
            all.add(one);
        }
        all
    }

    /// The groups of accesses that may be to any object, by the fields that are wanted.
    fn in_fields<'n>(
        &self,
        naming: &Naming<'n>,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> BTreeMap<&'n str, Vec<InField<'_>>> {
        let points = self.whole.instantiation.points;
        let blob = points.blob().object;
        let mut fields: BTreeMap<&str, Vec<InField<'_>>> = BTreeMap::new();
        let mut names: FxHashMap<SpotId, Option<&str>> = FxHashMap::default();
        for bundle in &self.bundles.list {
            let locations = &self.access(self.reaches.sample[bundle.reach as usize]).locations;
            if !locations.iter().any(|at| points.in_blob(at.object)) {
                continue;
            }
            let vague = locations.iter().any(|at| at.object == blob);
            let (reads, writes) = (bundle.reads.iter(), bundle.writes.iter());
            let kinds = reads.map(|group| (group, false)).chain(writes.map(|group| (group, true)));
            for (group, writes) in kinds {
                let name = names.entry(group.spot).or_insert_with(|| {
                    let access = self.access(group.members[0]);
                    let field = naming.inner_field((access.function, access.inst));
                    field.filter(|field| is_wanted(field))
                });
                if let Some(field) = *name {
                    let list = fields.entry(field).or_default();
                    list.push(InField { bundle, group, writes, vague });
                }
            }
        }
        fields
    }

    fn field(&self, list: &[InField<'_>], blob: ObjectId) -> Found {
        let mut found = Found::default();
        let mut met = 0;
        // By whether it is vague and whether it writes: whom it conflicts with.
        let partners =
            [(false, false), (false, true), (true, false), (true, true)].map(|(vague, writes)| {
                let meets = |one: &InField<'_>| (vague || one.vague) && (writes || one.writes);
                (0..list.len()).filter(|at| meets(&list[*at])).collect::<Vec<usize>>()
            });
        for (position, a) in list.iter().enumerate() {
            let partners = &partners[2 * usize::from(a.vague) + usize::from(a.writes)];
            let start = partners.partition_point(|later| *later < position);
            for &later in &partners[start..] {
                let (b, same) = (&list[later], later == position);
                if self.first_meeting(a.bundle.reach, b.bundle.reach).is_some() {
                    continue;
                }
                met += 1;
                if met > MAX_PAIRS {
                    found.left_out += 1;
                    continue;
                }
                let (x, y) = (a.bundle.guard, b.bundle.guard);
                match self.guards.excluded(x, y, self.accesses, self.whole) {
                    Some(digest) => {
                        let (n, m) = (a.group.members.len() as u64, b.group.members.len() as u64);
                        found.count(digest, if same { n * (n - 1) / 2 } else { n * m });
                    }
                    None => self.group(blob, (a.group, b.group), same, &mut found),
                }
            }
        }
        found
    }
}

/// A group of accesses to a field.
struct InField<'b> {
    bundle: &'b Bundle,
    group: &'b Group,
    writes: bool,
    /// They may be to any object.
    vague: bool,
}
