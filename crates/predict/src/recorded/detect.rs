//! The three detectors over one recording, each a step of the ladder: order only, values along the
//! recorded paths, and sides of branches that were not taken.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use racewarden_finding::AccessKind;
use racewarden_ir::Program;
use racewarden_trace::Location;
use racewarden_trace::binary::Recording;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::locations::{PlaceId, Places, extent_of};
use super::model::{self, Answer, MOST_NODES};
use super::order::order_with;
use super::outside;
use super::path::{EventKind, Extent, PathEvent, Spot, ThreadPath};
use super::scene::{Scene, access_of, follow_locks};
use super::shape::{KnownPairs, Shape, SiteFilter};
use super::tracks::End;
use super::walk::{Image, expanded, walk};
use crate::order;

/// How far the ladder is climbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detector {
    OrderOnly,
    NoBranches,
    Full,
}

/// Which step found a race.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FoundBy {
    Order,
    Values,
    Branch,
}

impl FoundBy {
    pub fn as_str(self) -> &'static str {
        match self {
            FoundBy::Order => "another order of the same events",
            FoundBy::Values => "other values on the same path",
            FoundBy::Branch => "a branch that the run did not take",
        }
    }
}

/// One access of a predicted race.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RacingAccess {
    pub thread: usize,
    pub spot: Spot,
    pub occurrence: u64,
    pub access: AccessKind,
    /// Numbers of the held locks.
    pub held: Vec<u32>,
}

#[derive(Debug, Clone)]
pub struct ValueRace {
    pub found_by: FoundBy,
    pub accesses: [RacingAccess; 2],
    pub place: PlaceId,
    /// What happens before, in order: thread, instruction, visit; of each turn of a thread only
    /// the first and the last.
    pub before: Vec<(usize, Spot, u64)>,
    pub witness_events: usize,
}

#[derive(Debug, Default, Clone)]
pub struct ValueCounts {
    pub pairs: u64,
    pub candidates: u64,
    pub queries: u64,
    pub unknown: u64,
    pub no_schedule: u64,
    pub detours: u64,
    /// Later visits of an instruction to a place that were not tried.
    pub skipped: u64,
    /// Whether there were more candidates than are looked at.
    pub cut_short: bool,
    /// Pairs that were known before.
    pub known: u64,
    /// Races counted once for each branch that has to turn for them.
    pub variants: u64,
}

/// What was found in a recording.
pub struct RecordedPrediction {
    pub races: Vec<ValueRace>,
    pub counts: ValueCounts,
    pub order_counts: order::Counts,
    pub paths: Vec<ThreadPath>,
    pub places: Places,
    pub locks: Vec<Box<str>>,
    pub events: usize,
    pub shape: Shape,
    /// How many lines the candidates were filtered to.
    pub filtered_to: Option<usize>,
    /// OpenMP's runtime did not tell its order, so nothing is predicted.
    pub is_silent: bool,
    /// Calls whose order was kept because they may synchronise.
    pub unknown_calls: usize,
}

#[derive(Debug, Clone, Copy)]
pub struct ValueLimits {
    pub order: order::Limits,
    pub query: Duration,
    pub total: Duration,
    /// Candidates tried per pair of instructions.
    pub per_pair: usize,
    /// Events before the earlier access that a query looks back over.
    pub window: usize,
    /// Counts, for each pair, the branches by which it can be reached, as paper 3 does.
    pub count_variants: bool,
}

impl Default for ValueLimits {
    fn default() -> Self {
        ValueLimits {
            order: order::Limits::default(),
            query: Duration::from_secs(3),
            total: Duration::from_secs(60),
            per_pair: 24,
            window: MOST_NODES,
            count_variants: false,
        }
    }
}

/// Predicts the races of a recording of `program`.
pub fn predict_recording(
    program: &Program,
    recording: &Recording,
    detector: Detector,
    limits: &ValueLimits,
    filter: Option<&SiteFilter>,
    known: &KnownPairs,
) -> RecordedPrediction {
    let image = Image::new(program, recording);
    let (made, cuts) = expanded(&image, recording).unzip();
    let recording = made.as_ref().unwrap_or(recording);
    let mut places = Places::new(recording);
    let detours = detector == Detector::Full;
    let mut paths = walk(&image, recording, &places, detours);
    if share_more_places(&paths, &mut places) {
        paths = walk(&image, recording, &places, detours);
    }
    for (path, cut) in paths.iter_mut().zip(cuts.into_iter().flatten()) {
        path.cut = cut.or(path.cut.take());
    }
    let allowed = |spot: Spot| filter.is_none_or(|filter| filter.allows(program, spot));
    let spots = Spots::new(&paths, &allowed);
    let outside = outside_touches(&paths);
    let order = order_with(recording, &places, &outside, &mut |thread, record| {
        let sequence = super::locations::sequence_of(&recording.threads[thread].records[record])?;
        spots.location(thread, sequence)
    });
    // A mixed place is a whole word, of which two accesses may touch different bytes.
    let bytes = |event: u32| {
        let (thread, record) = order.origin[event as usize];
        let writes = order.trace.events[event as usize].kind.writes();
        let record = &recording.threads[thread as usize].records[record as usize];
        let place = places.get(PlaceId(order.trace.events[event as usize].object));
        let bytes = extent_of(record, writes)?.within(place.bytes())?;
        Some((bytes.address, bytes.size))
    };
    let ordered = order::predict_bytes(&order.trace, &limits.order, &bytes);
    let scene = Scene::new(&paths, &places, &order);
    let mut races: Vec<ValueRace> = Vec::new();
    let mut found: FxHashSet<PairKey> = FxHashSet::default();
    let mut counts = ValueCounts {
        detours: paths.iter().map(|path| path.detours.len() as u64).sum(),
        ..ValueCounts::default()
    };
    for race in &ordered.races {
        if let Some(race) = order_race(&scene, &spots, race)
            && found.insert(key_of(&race))
        {
            match known.has(program, key_of(&race)) {
                true => counts.known += 1,
                false => races.push(race),
            }
        }
    }
    let is_known = |pair: PairKey| known.has(program, pair);
    let is_silent = outside::is_silent(program, recording);
    if is_silent {
        races.clear();
    } else if detector >= Detector::NoBranches {
        let mut all = accesses(&scene, detector == Detector::Full);
        all.retain(|access| allowed(access.spot));
        value_steps(&scene, &all, limits, &is_known, &mut races, &mut found, &mut counts);
    }
    let unknown_calls = outside::unknown_calls(recording);
    counts.variants += races.len() as u64;
    let locks = order.trace.locks.clone();
    let events = recording.threads.iter().map(|thread| thread.records.len()).sum();
    let order_counts = ordered.counts;
    let shape = Shape::of(&paths);
    let filtered_to = filter.map(SiteFilter::len);
    RecordedPrediction {
        races,
        counts,
        order_counts,
        paths,
        places,
        locks,
        events,
        shape,
        filtered_to,
        is_silent,
        unknown_calls,
    }
}

/// Places that a side not taken or code outside would touch, and another thread does, become
/// shared.
fn share_more_places(paths: &[ThreadPath], places: &mut Places) -> bool {
    let mut changed = false;
    let detours = paths.iter().flat_map(|path| &path.detours).flat_map(|detour| &detour.events);
    let outside = paths
        .iter()
        .flat_map(|path| &path.events)
        .filter(|event| matches!(event.kind, EventKind::Outside { .. }));
    for event in detours.chain(outside) {
        if let Some((touched, ..)) = access_of(&event.kind) {
            for place in touched.iter().copied() {
                changed |= places.share(place);
            }
        }
    }
    changed
}

/// What code outside may have touched, by sequence number and thread.
fn outside_touches(paths: &[ThreadPath]) -> Vec<(u64, usize, PlaceId)> {
    let mut touches = Vec::new();
    for (thread, path) in paths.iter().enumerate() {
        for event in &path.events {
            if let EventKind::Outside { places } = &event.kind {
                touches.extend(places.iter().map(|place| (event.sequence, thread, *place)));
            }
        }
    }
    touches.sort_unstable();
    touches
}

/// Two instructions and what they do, in order.
type PairKey = [(Spot, AccessKind); 2];

fn key(a: (Spot, AccessKind), b: (Spot, AccessKind)) -> PairKey {
    if b < a { [b, a] } else { [a, b] }
}

fn key_of(race: &ValueRace) -> PairKey {
    let [a, b] = &race.accesses;
    key((a.spot, a.access), (b.spot, b.access))
}

fn kind_of(writes: bool) -> AccessKind {
    if writes { AccessKind::Write } else { AccessKind::Read }
}

/// Finds path events by thread and sequence number, and numbers instructions as locations.
struct Spots {
    by_sequence: FxHashMap<(usize, u64), (usize, Option<Location>)>,
    visible: FxHashMap<(usize, u64), usize>,
}

impl Spots {
    fn new(paths: &[ThreadPath], allowed: &dyn Fn(Spot) -> bool) -> Self {
        let mut numbers: BTreeMap<Spot, u32> = BTreeMap::new();
        let mut by_sequence = FxHashMap::default();
        let mut visible = FxHashMap::default();
        for (thread, path) in paths.iter().enumerate() {
            for (number, event) in path.events.iter().enumerate() {
                if event.kind.is_visible() {
                    visible.insert((thread, event.sequence), number);
                }
                let Some((_, _, atomic)) = access_of(&event.kind) else { continue };
                let next = numbers.len() as u32;
                let location = *numbers.entry(event.spot).or_insert(next);
                let candidate = !atomic && allowed(event.spot);
                let location = Location::number(location).filter(|_| candidate);
                by_sequence.insert((thread, event.sequence), (number, location));
            }
        }
        Spots { by_sequence, visible }
    }

    /// `None` for an atomic access, one that is filtered out, and one beyond the walked path.
    fn location(&self, thread: usize, sequence: u64) -> Option<Location> {
        self.by_sequence.get(&(thread, sequence)).and_then(|(_, location)| *location)
    }

    fn event(&self, thread: usize, sequence: u64) -> Option<usize> {
        self.by_sequence.get(&(thread, sequence)).map(|(number, _)| *number)
    }
}

fn order_race(scene: &Scene, spots: &Spots, race: &order::OrderRace) -> Option<ValueRace> {
    let candidate = race.witness.candidate;
    let place = PlaceId(scene.order.trace.events[candidate.first as usize].object);
    let bytes = scene.places.get(place).bytes();
    let side = |event: u32| {
        let (thread, _) = scene.order.origin[event as usize];
        let thread = thread as usize;
        let number = spots.event(thread, scene.order.sequences[event as usize])?;
        let path_event = &scene.paths[thread].events[number];
        let writes = scene.order.trace.events[event as usize].kind.writes();
        let held = scene.facts[thread][number].held.iter().map(|(lock, _)| *lock).collect();
        Some(RacingAccess {
            thread,
            spot: path_event.spot,
            occurrence: path_event.occurrence_at(bytes),
            access: kind_of(writes),
            held,
        })
    };
    let accesses = [side(candidate.first)?, side(candidate.second)?];
    let mut before = Turns::default();
    for event in race.witness.events(&scene.order.trace) {
        let thread = scene.order.origin[event as usize].0 as usize;
        let sequence = scene.order.sequences[event as usize];
        let Some(number) = spots.visible.get(&(thread, sequence)) else { continue };
        before.push(thread, &scene.paths[thread].events[*number]);
    }
    let Turns { steps: before, events: witness_events } = before;
    Some(ValueRace { found_by: FoundBy::Order, accesses, place, before, witness_events })
}

/// A witness, thinned to where turns begin and end: nothing between needs enforcing.
#[derive(Default)]
struct Turns {
    steps: Vec<(usize, Spot, u64)>,
    events: usize,
}

impl Turns {
    fn push(&mut self, thread: usize, event: &PathEvent) {
        let step = (thread, event.spot, event.occurrence);
        if self.steps.last() == Some(&step) {
            return;
        }
        self.events += 1;
        // What stands outside every function cannot be waited at.
        let inner = |number: usize| {
            self.steps
                .len()
                .checked_sub(number)
                .and_then(|at| self.steps.get(at))
                .is_some_and(|(other, _, occurrence)| *other == thread && *occurrence > 0)
        };
        if event.occurrence > 0 && inner(1) && inner(2) {
            self.steps.pop();
        }
        self.steps.push(step);
    }
}

/// One access that may race.
#[derive(Clone)]
struct Access {
    end: End,
    spot: Spot,
    occurrence: u64,
    access: AccessKind,
    places: Vec<PlaceId>,
    extent: Option<Extent>,
    held: Vec<(u32, bool)>,
    /// The last recorded event before it, for what must precede.
    anchor: usize,
}

fn accesses(scene: &Scene, detours: bool) -> Vec<Access> {
    let mut list = Vec::new();
    for (thread, path) in scene.paths.iter().enumerate() {
        for (number, event) in path.events.iter().enumerate() {
            let held = &scene.facts[thread][number].held;
            let end = End { thread, detour: None, event: number };
            list.extend(access(event, end, held.clone(), number));
        }
        if !detours {
            continue;
        }
        for (number, detour) in path.detours.iter().enumerate() {
            let before = detour.after.checked_sub(1);
            let mut held = before.map_or(Vec::new(), |at| scene.facts[thread][at].held.clone());
            for (event_number, event) in detour.events.iter().enumerate() {
                for act in scene.acts_of_new(event) {
                    follow_locks(&mut held, &act);
                }
                let end = End { thread, detour: Some(number), event: event_number };
                list.extend(access(event, end, held.clone(), before.unwrap_or(0)));
            }
        }
    }
    list
}

fn access(event: &PathEvent, end: End, held: Vec<(u32, bool)>, anchor: usize) -> Option<Access> {
    let (places, writes, atomic) = access_of(&event.kind)?;
    if atomic {
        return None;
    }
    Some(Access {
        end,
        spot: event.spot,
        occurrence: event.occurrence,
        access: kind_of(writes),
        places: places.to_vec(),
        extent: match event.kind {
            EventKind::Whole { extent, .. } => Some(extent),
            _ => None,
        },
        held,
        anchor,
    })
}

/// Visits of one instruction to one place, by one thread, that are tried.
const MOST_VISITS: u32 = 32;

/// Candidates of one pair of instructions.
struct Group {
    key: PairKey,
    candidates: Vec<(usize, usize, PlaceId)>,
    left_out: bool,
}

/// Candidates looked at in all.
const MOST_CANDIDATES: u64 = 20_000_000;

fn value_steps(
    scene: &Scene,
    all: &[Access],
    limits: &ValueLimits,
    is_known: &dyn Fn(PairKey) -> bool,
    races: &mut Vec<ValueRace>,
    found: &mut FxHashSet<PairKey>,
    counts: &mut ValueCounts,
) {
    let mut by_place: BTreeMap<PlaceId, Vec<usize>> = BTreeMap::new();
    let mut visits: FxHashMap<(PlaceId, usize, Spot, AccessKind, bool), u32> = FxHashMap::default();
    for (number, access) in all.iter().enumerate() {
        for place in &access.places {
            let taken = access.end.detour.is_none();
            let visit = (*place, access.end.thread, access.spot, access.access, taken);
            let seen = visits.entry(visit).or_default();
            *seen += 1;
            if *seen <= MOST_VISITS {
                by_place.entry(*place).or_default().push(number);
            } else {
                counts.skipped += 1;
            }
        }
    }
    let mut groups: BTreeMap<(PairKey, Option<Spot>), Group> = BTreeMap::new();
    for (place, list) in by_place {
        for (at, &a) in list.iter().enumerate() {
            for &b in &list[at + 1..] {
                let numbers = (a, b);
                let (a, b) = (&all[a], &all[b]);
                let pair = key((a.spot, a.access), (b.spot, b.access));
                let variant = branch_of(scene, a, b).filter(|_| limits.count_variants);
                let known = variant.is_none() && found.contains(&pair);
                if counts.cut_short || known || !may_race(scene, a, b, place) {
                    continue;
                }
                counts.candidates += 1;
                counts.cut_short = counts.candidates >= MOST_CANDIDATES;
                let group = groups.entry((pair, variant)).or_insert_with(|| Group {
                    key: pair,
                    candidates: Vec::new(),
                    left_out: false,
                });
                add_candidate(group, (numbers.0, numbers.1, place), limits.per_pair);
            }
        }
    }
    groups.retain(|(pair, _), _| {
        let known = is_known(*pair);
        counts.known += u64::from(known);
        !known
    });
    counts.pairs = groups.len() as u64;
    let end = Instant::now() + limits.total;
    let groups: Vec<Group> = groups.into_values().collect();
    let decided: Vec<(PairKey, Decided)> = groups
        .into_par_iter()
        .map(|group| (group.key, decide(scene, all, group, limits, end)))
        .collect();
    for (pair, decision) in decided {
        counts.queries += decision.queries;
        match decision.race {
            Some(race) if found.insert(pair) => races.push(race),
            Some(_) => counts.variants += 1,
            None if found.contains(&pair) => {}
            None if decision.unknown => counts.unknown += 1,
            None => counts.no_schedule += 1,
        }
    }
}

/// The branch that has to turn for one of the accesses.
fn branch_of(scene: &Scene, a: &Access, b: &Access) -> Option<Spot> {
    [a, b].into_iter().find_map(|access| {
        let detour = access.end.detour?;
        Some(scene.paths[access.end.thread].detours[detour].spot)
    })
}

/// Keeps the first and the last candidates: the early ones have the smallest prefixes, the late
/// ones the most to read from.
fn add_candidate(group: &mut Group, candidate: (usize, usize, PlaceId), most: usize) {
    if group.candidates.len() < most {
        group.candidates.push(candidate);
    } else if let Some(last) = group.candidates.last_mut() {
        *last = candidate;
        group.left_out = true;
    }
}

fn may_race(scene: &Scene, a: &Access, b: &Access, place: PlaceId) -> bool {
    if a.end.thread == b.end.thread || !a.access.conflicts_with(b.access) {
        return false;
    }
    // Both in sides not taken: two branches would have to turn at once, which is left to a run
    // that takes one of them.
    if a.end.detour.is_some() && b.end.detour.is_some() {
        return false;
    }
    // Without an extent of its own, an access covers its place, as every other access of that does.
    if let (Some(x), Some(y)) = (a.extent, b.extent) {
        let bytes = scene.places.get(place).bytes();
        let (x, y) = (x.within(bytes), y.within(bytes));
        if !x.zip(y).is_some_and(|(x, y)| x.overlaps(y)) {
            return false;
        }
    }
    let common = a.held.iter().any(|(lock, alone)| {
        b.held.iter().any(|(other, other_alone)| lock == other && (*alone || *other_alone))
    });
    if common {
        return false;
    }
    let (x, y) = ((a.end.thread, a.anchor), (b.end.thread, b.anchor));
    !scene.must_precede(x, y) && !scene.must_precede(y, x)
}

struct Decided {
    race: Option<ValueRace>,
    unknown: bool,
    queries: u64,
}

fn decide(
    scene: &Scene,
    all: &[Access],
    group: Group,
    limits: &ValueLimits,
    end: Instant,
) -> Decided {
    let mut decided = Decided { race: None, unknown: group.left_out, queries: 0 };
    for (a, b, place) in group.candidates {
        let (a, b) = (&all[a], &all[b]);
        match look_back(scene, [a.end, b.end], limits, end, &mut decided.queries) {
            (cut, Answer::Race(events)) => {
                let branch = a.end.detour.is_some() || b.end.detour.is_some();
                let mut before = Turns::default();
                for (thread, event) in scene.before_cut(cut) {
                    before.push(thread, &scene.paths[thread].events[event]);
                }
                for (thread, event) in &events {
                    before.push(*thread, event);
                }
                decided.race = Some(ValueRace {
                    found_by: if branch { FoundBy::Branch } else { FoundBy::Values },
                    accesses: [a, b].map(|access| racing(scene, access, place)),
                    place,
                    before: before.steps,
                    witness_events: before.events,
                });
                return decided;
            }
            (_, Answer::NoSchedule) => {}
            (_, Answer::Unknown) => decided.unknown = true,
        }
        if Instant::now() >= end {
            decided.unknown = true;
            break;
        }
    }
    decided
}

/// Asks with more and more of the run free; the cut at which the answer was found.
fn look_back(
    scene: &Scene,
    ends: [End; 2],
    limits: &ValueLimits,
    end: Instant,
    queries: &mut u64,
) -> (u64, Answer) {
    for cut in scene.cuts(ends, limits.window) {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        *queries += 1;
        match model::solve(scene, ends, cut, limits.query.min(left)) {
            // Only the whole run settles that there is none.
            Answer::NoSchedule if cut > 0 => {}
            answer => return (cut, answer),
        }
    }
    (0, Answer::Unknown)
}

fn racing(scene: &Scene, access: &Access, place: PlaceId) -> RacingAccess {
    let path = &scene.paths[access.end.thread];
    let occurrence = match access.end.detour {
        None => path.events[access.end.event].occurrence_at(scene.places.get(place).bytes()),
        Some(_) => access.occurrence,
    };
    RacingAccess {
        thread: access.end.thread,
        spot: access.spot,
        occurrence,
        access: access.access,
        held: access.held.iter().map(|(lock, _)| *lock).collect(),
    }
}
