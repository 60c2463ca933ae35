//! The constraint system of paper 3, section III.B, in z3.
//!
//! Two threads run exactly up to their racing accesses; the others may run as far as they like
//! along their recorded paths. Unknowns are the order `O'` of the visible events, whether the
//! optional ones happen, and the values `θ'` of the shared reads, as bit-vectors.
//!
//! - *Race condition*: both accesses are next, so neither they nor anything after them happens.
//! - *Intra-thread*: the order of the thread; every branch keeps its truth value; expressions are
//!   what the instructions compute; pinned expressions (base objects, indices, arguments of code
//!   outside) keep their number. A constraint binds as soon as the thread goes beyond it.
//! - *Inter-thread values*: each read that anything depends on sees the latest write before it, or
//!   the initial value.
//! - *Synchronisation*, which the paper leaves out: sections of one lock exclude each other unless
//!   both only read; fork, join, and the tokens of conditions, barriers, semaphores and once.
//!
//! Reads that nothing before the accesses depends on are free, which is what makes the model
//! weaker than one that keeps the write each read saw.

use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};
use z3::ast::{BV, Bool, Int};
use z3::{Params, SatResult, Solver};

use super::expr::{ExprId, ExprKind, Val};
use super::locations::PlaceId;
use super::operators::{binary, cast, compare};
use super::path::{EventKind, PathEvent};
use super::scene::{Act, Scene, access_of};

/// More visible events than this are not put to the solver.
const MOST_NODES: usize = 4_000;
const MOST_ALTERNATIVES: usize = 150_000;

/// One side of a candidate: an access of a thread's path, or of a side not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End {
    pub thread: usize,
    /// The detour, and the access's place in it; or the place in the path.
    pub detour: Option<usize>,
    pub event: usize,
}

pub enum Answer {
    /// The visible events that happen, in order.
    Race(Vec<(usize, PathEvent)>),
    NoSchedule,
    Unknown,
}

/// What one thread does in the query.
struct Track<'s> {
    thread: usize,
    events: Vec<&'s PathEvent>,
    acts: Vec<Vec<Act>>,
    /// Runs exactly to its end; otherwise as far as wanted.
    required: bool,
    /// The negated branch: after this many events.
    flipped: Option<(usize, ExprId, u64)>,
    /// Index in the recorded path of each event, for what must precede; `None` for new ones.
    recorded: usize,
}

impl Track<'_> {
    /// Where the read with this number stands.
    fn read_event(&self, number: usize) -> Option<usize> {
        let at = match self.flipped {
            // Numbers of a side count its branch as one event.
            Some(_) if number > self.recorded => number - 1,
            _ => number,
        };
        (at < self.events.len()).then_some(at)
    }
}

struct Node {
    track: usize,
    event: usize,
    order: Int,
    happens: Option<Bool>,
}

/// Decides whether both accesses can be next at once.
pub fn solve(scene: &Scene, ends: [End; 2], deadline: Duration) -> Answer {
    let Some(tracks) = tracks(scene, ends) else { return Answer::Unknown };
    let mut query = Query::new(scene, tracks);
    if query.nodes.len() > MOST_NODES {
        return Answer::Unknown;
    }
    query.thread_orders();
    query.synchronisation();
    query.locks();
    query.whole_places();
    query.paths_and_values();
    if query.alternatives > MOST_ALTERNATIVES {
        return Answer::Unknown;
    }
    if query.impossible {
        return Answer::NoSchedule;
    }
    let mut params = Params::new();
    params.set_u32("timeout", u32::try_from(deadline.as_millis()).unwrap_or(u32::MAX));
    query.solver.set_params(&params);
    match query.solver.check() {
        SatResult::Unsat => Answer::NoSchedule,
        SatResult::Unknown => Answer::Unknown,
        SatResult::Sat => query.witness().map_or(Answer::Unknown, Answer::Race),
    }
}

/// The threads that take part: the two, and whoever they need or may read from.
fn tracks<'s>(scene: &Scene<'s>, ends: [End; 2]) -> Option<Vec<Track<'s>>> {
    let mut tracks: Vec<Track> = Vec::new();
    for end in ends {
        tracks.push(required_track(scene, end)?);
    }
    let last = ends
        .iter()
        .filter_map(|end| {
            let path = &scene.paths[end.thread];
            let at = match end.detour {
                Some(detour) => path.detours[detour].after,
                None => end.event + 1,
            };
            path.events[..at].iter().map(|event| event.sequence).max()
        })
        .max()
        .unwrap_or(0);
    loop {
        let mut more = FxHashSet::default();
        for track in &tracks {
            needs(scene, track, &mut more);
        }
        let writers = writers_of_reads(scene, &tracks);
        more.extend(writers);
        let mut new: Vec<usize> = more
            .into_iter()
            .filter(|thread| tracks.iter().all(|track| track.thread != *thread))
            .collect();
        if new.is_empty() {
            break;
        }
        new.sort_unstable();
        for thread in new {
            tracks.push(optional_track(scene, thread, last));
        }
    }
    Some(tracks)
}

fn required_track<'s>(scene: &Scene<'s>, end: End) -> Option<Track<'s>> {
    let path = &scene.paths[end.thread];
    let facts = &scene.facts[end.thread];
    let recorded = end.detour.map_or(end.event, |detour| path.detours[detour].after);
    let mut events: Vec<&PathEvent> = path.events[..recorded].iter().collect();
    let mut acts: Vec<Vec<Act>> =
        facts[..recorded].iter().map(|facts| facts.acts.clone()).collect();
    let mut flipped = None;
    if let Some(detour) = end.detour {
        let detour = &path.detours[detour];
        flipped = Some((recorded, detour.condition, detour.taken));
        for event in &detour.events[..end.event] {
            // Its order towards the recorded accesses is not known.
            if matches!(event.kind, EventKind::Whole { .. }) {
                return None;
            }
            events.push(event);
            acts.push(scene.acts_of_new(event));
        }
    }
    Some(Track { thread: end.thread, events, acts, required: true, flipped, recorded })
}

fn optional_track<'s>(scene: &Scene<'s>, thread: usize, last: u64) -> Track<'s> {
    let path = &scene.paths[thread];
    // A little beyond the later access, so that sections can be closed.
    let end = path
        .events
        .iter()
        .position(|event| event.sequence > last + 64)
        .unwrap_or(path.events.len());
    Track {
        thread,
        events: path.events[..end].iter().collect(),
        acts: scene.facts[thread][..end].iter().map(|facts| facts.acts.clone()).collect(),
        required: false,
        flipped: None,
        recorded: end,
    }
}

fn needs(scene: &Scene, track: &Track, more: &mut FxHashSet<usize>) {
    if let Some((parent, _)) = scene.forks[track.thread] {
        more.insert(parent);
    }
    for act in track.acts.iter().flatten() {
        match act {
            Act::Join { thread } => {
                more.insert(*thread);
            }
            Act::Await { token } => {
                for (thread, _) in scene.notifiers.get(token).into_iter().flatten() {
                    more.insert(*thread);
                }
            }
            _ => {}
        }
    }
}

/// The places whose values the constraints of the tracks depend on.
fn relevant_places(scene: &Scene, tracks: &[Track]) -> FxHashSet<PlaceId> {
    let mut work: Vec<(usize, ExprId)> = Vec::new();
    for (number, track) in tracks.iter().enumerate() {
        work.extend(track.flipped.map(|(_, condition, _)| (number, condition)));
        for event in &track.events {
            match event.kind {
                EventKind::Branch { condition: expr, .. } | EventKind::Pin { expr } => {
                    work.push((number, expr));
                }
                _ => {}
            }
        }
    }
    let mut seen: FxHashSet<(usize, ExprId)> = FxHashSet::default();
    let mut places: FxHashSet<PlaceId> = FxHashSet::default();
    while let Some((number, expr)) = work.pop() {
        if !seen.insert((number, expr)) {
            continue;
        }
        let track = &tracks[number];
        match scene.paths[track.thread].arena.get(expr).kind {
            ExprKind::Const => {}
            ExprKind::Read(event) => {
                let Some(event) = track.read_event(event as usize) else { continue };
                let (EventKind::Read { place, .. } | EventKind::Update { place, .. }) =
                    track.events[event].kind
                else {
                    continue;
                };
                if places.insert(place) {
                    push_written(tracks, place, &mut work);
                }
            }
            ExprKind::Binary(_, a, b) | ExprKind::Compare(_, a, b) => {
                work.extend([(number, a), (number, b)]);
            }
            ExprKind::Cast(_, a) => work.push((number, a)),
            ExprKind::Select(c, a, b) => work.extend([(number, c), (number, a), (number, b)]),
        }
    }
    places
}

/// What the tracks write to the place.
fn push_written(tracks: &[Track], place: PlaceId, work: &mut Vec<(usize, ExprId)>) {
    for (number, track) in tracks.iter().enumerate() {
        for event in &track.events {
            if let EventKind::Write { place: other, value: Val::Symbolic(expr), .. }
            | EventKind::Update { place: other, value: Val::Symbolic(expr), .. } = event.kind
                && other == place
            {
                work.push((number, expr));
            }
        }
    }
}

/// Threads that write what a read that matters may see.
fn writers_of_reads(scene: &Scene, tracks: &[Track]) -> FxHashSet<usize> {
    let read = relevant_places(scene, tracks);
    let whole: FxHashSet<PlaceId> = tracks
        .iter()
        .flat_map(|track| &track.events)
        .filter_map(|event| match &event.kind {
            EventKind::Whole { places, .. } | EventKind::Outside { places } => Some(places),
            _ => None,
        })
        .flatten()
        .copied()
        .collect();
    let mut threads = FxHashSet::default();
    for (thread, path) in scene.paths.iter().enumerate() {
        let touches = path.events.iter().any(|event| match access_of(&event.kind) {
            Some((places, writes, _)) => {
                places.iter().any(|place| (writes && read.contains(place)) || whole.contains(place))
            }
            None => false,
        });
        if touches {
            threads.insert(thread);
        }
    }
    threads
}

struct Query<'q, 's> {
    scene: &'q Scene<'s>,
    tracks: Vec<Track<'s>>,
    solver: Solver,
    nodes: Vec<Node>,
    /// Node of each event of each track.
    node_of: Vec<Vec<Option<usize>>>,
    values: FxHashMap<(usize, ExprId), BV>,
    alternatives: usize,
    impossible: bool,
}

impl<'q, 's> Query<'q, 's> {
    fn new(scene: &'q Scene<'s>, tracks: Vec<Track<'s>>) -> Self {
        let mut nodes = Vec::new();
        let mut node_of = Vec::new();
        for (number, track) in tracks.iter().enumerate() {
            let mut list = vec![None; track.events.len()];
            for (event, slot) in list.iter_mut().enumerate() {
                if track.acts[event].is_empty() {
                    continue;
                }
                *slot = Some(nodes.len());
                let happens = (!track.required).then(|| Bool::fresh_const("h"));
                nodes.push(Node { track: number, event, order: Int::fresh_const("o"), happens });
            }
            node_of.push(list);
        }
        Query {
            scene,
            tracks,
            solver: Solver::new(),
            nodes,
            node_of,
            values: FxHashMap::default(),
            alternatives: 0,
            impossible: false,
        }
    }

    fn event(&self, node: usize) -> &'s PathEvent {
        self.tracks[self.nodes[node].track].events[self.nodes[node].event]
    }

    fn before(&self, a: usize, b: usize) -> Bool {
        self.nodes[a].order.lt(&self.nodes[b].order)
    }

    /// Asserts that one of `choices` holds if all of `nodes` happen.
    fn assert_if(&mut self, nodes: &[usize], mut choices: Vec<Bool>) {
        choices.extend(
            nodes.iter().filter_map(|&node| self.nodes[node].happens.as_ref()).map(Bool::not),
        );
        self.alternatives += 1;
        self.solver.assert(Bool::or(&choices));
    }

    /// `node` needs `on` to have happened before it.
    fn needs(&mut self, node: usize, on: usize) {
        let mut all = vec![self.before(on, node)];
        all.extend(self.nodes[on].happens.clone());
        self.assert_if(&[node], vec![Bool::and(&all)]);
    }

    fn never(&mut self, node: usize) {
        match &self.nodes[node].happens {
            Some(happens) => self.solver.assert(happens.not()),
            None => self.impossible = true,
        }
    }

    fn thread_orders(&mut self) {
        for list in self.node_of.clone() {
            let nodes: Vec<usize> = list.into_iter().flatten().collect();
            for pair in nodes.windows(2) {
                self.needs(pair[1], pair[0]);
            }
        }
    }

    fn track_of(&self, thread: usize) -> Option<usize> {
        self.tracks.iter().position(|track| track.thread == thread)
    }

    /// The node of an event of a recorded path, when the query has it.
    fn node(&self, thread: usize, event: usize) -> Option<usize> {
        let track = self.track_of(thread)?;
        if event >= self.tracks[track].recorded {
            return None;
        }
        self.node_of[track][event]
    }

    fn synchronisation(&mut self) {
        for track in 0..self.tracks.len() {
            let first = self.node_of[track].iter().flatten().next().copied();
            let Some((parent, fork)) = self.scene.forks[self.tracks[track].thread] else {
                continue;
            };
            match (first, self.node(parent, fork)) {
                (Some(first), Some(fork)) => self.needs(first, fork),
                (Some(first), None) => self.never(first),
                // The thread's access is its first event: the fork must still have happened.
                (None, Some(fork)) => {
                    if let Some(happens) = self.nodes[fork].happens.clone()
                        && self.tracks[track].required
                    {
                        self.solver.assert(happens);
                    }
                }
                (None, None) => self.impossible |= self.tracks[track].required,
            }
        }
        for node in 0..self.nodes.len() {
            let Node { track, event, .. } = self.nodes[node];
            for act in self.tracks[track].acts[event].clone() {
                match act {
                    Act::Join { thread } => self.join(node, thread),
                    Act::Await { token } => self.wait(node, token),
                    _ => {}
                }
            }
        }
    }

    fn join(&mut self, node: usize, thread: usize) {
        let length = self.scene.paths[thread].events.len();
        let Some(track) = self.track_of(thread) else { return };
        let whole = !self.tracks[track].required && self.tracks[track].recorded == length;
        if !whole {
            return self.never(node);
        }
        if let Some(last) = self.node_of[track].iter().rev().flatten().next().copied() {
            self.needs(node, last);
        }
    }

    fn wait(&mut self, node: usize, token: u32) {
        let own = self.event(node).sequence;
        let notifiers = self.scene.notifiers.get(&token).cloned().unwrap_or_default();
        for (thread, event) in notifiers {
            if self.scene.paths[thread].events[event].sequence > own {
                continue;
            }
            match self.node(thread, event) {
                Some(notify) if notify != node => self.needs(node, notify),
                Some(_) => {}
                None => self.never(node),
            }
        }
    }

    fn locks(&mut self) {
        // Sections: acquire, release if the query has it, whether shared.
        let mut sections: FxHashMap<u32, Vec<(usize, Option<usize>, bool)>> = FxHashMap::default();
        for track in 0..self.tracks.len() {
            let mut open: Vec<(u32, usize)> = Vec::new();
            for node in self.node_of[track].iter().flatten().copied() {
                for act in &self.tracks[track].acts[self.nodes[node].event] {
                    match *act {
                        Act::Acquire { lock, shared } => {
                            let list = sections.entry(lock).or_default();
                            open.push((lock, list.len()));
                            list.push((node, None, shared));
                        }
                        Act::Release { lock } => {
                            if let Some(at) = open.iter().rposition(|(other, _)| *other == lock) {
                                let (_, section) = open.remove(at);
                                if let Some(list) = sections.get_mut(&lock) {
                                    list[section].1 = Some(node);
                                }
                            }
                        }
                        _ => {}
                    }
                }
            }
        }
        let mut locks: Vec<_> = sections.into_iter().collect();
        locks.sort_unstable_by_key(|(lock, _)| *lock);
        for (_, list) in locks {
            for (number, a) in list.iter().enumerate() {
                for b in &list[number + 1..] {
                    if self.nodes[a.0].track == self.nodes[b.0].track || (a.2 && b.2) {
                        continue;
                    }
                    let choices = [self.ends_before(a, b.0), self.ends_before(b, a.0)];
                    self.assert_if(&[a.0, b.0], choices.into_iter().flatten().collect());
                }
            }
        }
    }

    fn ends_before(&self, section: &(usize, Option<usize>, bool), next: usize) -> Option<Bool> {
        let release = section.1?;
        let mut all = vec![self.before(release, next)];
        all.extend(self.nodes[release].happens.clone());
        Some(Bool::and(&all))
    }

    /// Places whose values are not followed keep the order of the run between conflicting accesses.
    fn whole_places(&mut self) {
        let mut touches: FxHashMap<PlaceId, Vec<(u64, usize, bool)>> = FxHashMap::default();
        let mut mixed: FxHashSet<PlaceId> = FxHashSet::default();
        for node in 0..self.nodes.len() {
            let event = self.event(node);
            let Some((places, writes, _)) = access_of(&event.kind) else { continue };
            for place in places {
                touches.entry(*place).or_default().push((event.sequence, node, writes));
                if matches!(event.kind, EventKind::Whole { .. } | EventKind::Outside { .. }) {
                    mixed.insert(*place);
                }
            }
        }
        let mut mixed: Vec<PlaceId> = mixed.into_iter().collect();
        mixed.sort_unstable();
        for place in mixed {
            let Some(list) = touches.get_mut(&place) else { continue };
            list.sort_unstable();
            let mut last_write: Option<usize> = None;
            let mut reads: Vec<usize> = Vec::new();
            for (_, node, writes) in list.clone() {
                if let Some(write) = last_write {
                    self.needs(node, write);
                }
                if writes {
                    for read in std::mem::take(&mut reads) {
                        self.needs(node, read);
                    }
                    last_write = Some(node);
                } else {
                    reads.push(node);
                }
            }
            self.whole_accesses_outside(place, &list_nodes(&touches, place));
        }
    }

    /// An access of the run that the query leaves out must not have come before one that it has.
    fn whole_accesses_outside(&mut self, place: PlaceId, inside: &[(u64, usize, bool)]) {
        for (thread, path) in self.scene.paths.iter().enumerate() {
            for (number, event) in path.events.iter().enumerate() {
                let Some((places, writes, _)) = access_of(&event.kind) else { continue };
                if !places.contains(&place) || self.node(thread, number).is_some() {
                    continue;
                }
                for (sequence, node, inner_writes) in inside {
                    if *sequence > event.sequence && (writes || *inner_writes) {
                        self.never(*node);
                    }
                }
            }
        }
    }

    /// Branches, pins and, for every read that they depend on, what it may see.
    fn paths_and_values(&mut self) {
        let mut work: Vec<(usize, ExprId)> = Vec::new();
        for track in 0..self.tracks.len() {
            let mut guard: Option<usize> = None;
            // From the end, so that the next node is at hand.
            for event in (0..self.tracks[track].events.len()).rev() {
                if let Some((at, condition, taken)) = self.tracks[track].flipped
                    && at == event + 1
                {
                    self.assert_value(track, condition, taken, false, None);
                    work.push((track, condition));
                }
                if let Some(node) = self.node_of[track][event] {
                    guard = Some(node);
                }
                let (expr, value) = match self.tracks[track].events[event].kind {
                    EventKind::Branch { condition, taken } => (condition, taken),
                    EventKind::Pin { expr } => {
                        (expr, self.scene.paths[self.tracks[track].thread].arena.get(expr).value)
                    }
                    _ => continue,
                };
                if !self.tracks[track].required && guard.is_none() {
                    continue;
                }
                let guard = if self.tracks[track].required { None } else { guard };
                self.assert_value(track, expr, value, true, guard);
                work.push((track, expr));
            }
            if let Some((0, condition, taken)) = self.tracks[track].flipped {
                self.assert_value(track, condition, taken, false, None);
                work.push((track, condition));
            }
        }
        let mut seen: FxHashSet<(usize, ExprId)> = FxHashSet::default();
        while let Some((track, expr)) = work.pop() {
            if !seen.insert((track, expr)) || self.alternatives > MOST_ALTERNATIVES {
                continue;
            }
            let arena = &self.scene.paths[self.tracks[track].thread].arena;
            match arena.get(expr).kind {
                ExprKind::Const => {}
                ExprKind::Read(event) => self.read(track, event as usize, &mut work),
                ExprKind::Binary(_, a, b) | ExprKind::Compare(_, a, b) => {
                    work.extend([(track, a), (track, b)]);
                }
                ExprKind::Cast(_, a) => work.push((track, a)),
                ExprKind::Select(c, a, b) => work.extend([(track, c), (track, a), (track, b)]),
            }
        }
    }

    /// `expr` has (or has not) the value, if the guard happens.
    fn assert_value(
        &mut self,
        track: usize,
        expr: ExprId,
        value: u64,
        equal: bool,
        guard: Option<usize>,
    ) {
        let width = self.scene.paths[self.tracks[track].thread].arena.get(expr).width;
        let term = self.value(track, expr);
        let wanted = term.eq(BV::from_u64(value, width));
        let wanted = if equal { wanted } else { wanted.not() };
        let nodes: Vec<usize> = guard.into_iter().collect();
        self.assert_if(&nodes, vec![wanted]);
    }

    /// Inter-thread value constraint of one read.
    fn read(&mut self, track: usize, number: usize, work: &mut Vec<(usize, ExprId)>) {
        let Some(event) = self.tracks[track].read_event(number) else { return };
        let Some(read) = self.node_of[track][event] else { return };
        let (place, result) = match self.event(read).kind {
            EventKind::Read { place, result, .. } | EventKind::Update { place, result, .. } => {
                (place, result)
            }
            _ => return,
        };
        let value = self.value(track, result);
        let width = value.get_size();
        let writes = self.writes_of(place, read);
        let mut choices = Vec::new();
        if let Some(initial) = self.scene.places.get(place).initial {
            let mut all = vec![value.eq(BV::from_u64(initial, width))];
            for &(other, ..) in &writes {
                all.push(self.happens_only_after(other, read));
            }
            choices.push(Bool::and(&all));
        }
        for &(write, ref written) in &writes {
            if self.known_before(read, write) {
                continue;
            }
            let source = self.nodes[write].track;
            let written = match *written {
                Val::Known(number) => BV::from_u64(number, width),
                Val::Symbolic(expr) => {
                    work.push((source, expr));
                    self.value(source, expr)
                }
                Val::Opaque => continue,
            };
            if written.get_size() != width {
                continue;
            }
            let mut all = vec![value.eq(&written), self.before(write, read)];
            all.extend(self.nodes[write].happens.clone());
            for &(other, _) in &writes {
                if other == write || self.known_before(other, write) {
                    continue;
                }
                let mut either = vec![self.before(other, write), self.before(read, other)];
                either.extend(self.nodes[other].happens.as_ref().map(Bool::not));
                self.alternatives += 1;
                all.push(Bool::or(&either));
            }
            choices.push(Bool::and(&all));
        }
        self.assert_if(&[read], choices);
    }

    /// All writes of the place but `read` itself, with what they write.
    fn writes_of(&self, place: PlaceId, read: usize) -> Vec<(usize, Val)> {
        (0..self.nodes.len())
            .filter(|&node| node != read)
            .filter_map(|node| match self.event(node).kind {
                EventKind::Write { place: other, value, .. }
                | EventKind::Update { place: other, value, .. }
                    if other == place =>
                {
                    Some((node, value))
                }
                _ => None,
            })
            .collect()
    }

    fn happens_only_after(&self, node: usize, after: usize) -> Bool {
        let mut either = vec![self.before(after, node)];
        either.extend(self.nodes[node].happens.as_ref().map(Bool::not));
        Bool::or(&either)
    }

    /// Whether `a` comes before `b` by the order of one thread, or by fork and join.
    fn known_before(&self, a: usize, b: usize) -> bool {
        let (x, y) = (&self.nodes[a], &self.nodes[b]);
        if x.track == y.track {
            return x.event < y.event;
        }
        let recorded =
            |node: &Node| (node.event < self.tracks[node.track].recorded).then_some(node.event);
        match (recorded(x), recorded(y)) {
            (Some(first), Some(second)) => self.scene.must_precede(
                (self.tracks[x.track].thread, first),
                (self.tracks[y.track].thread, second),
            ),
            _ => false,
        }
    }

    fn value(&mut self, track: usize, expr: ExprId) -> BV {
        if let Some(value) = self.values.get(&(track, expr)) {
            return value.clone();
        }
        let arena = &self.scene.paths[self.tracks[track].thread].arena;
        let node = arena.get(expr);
        let width = node.width;
        let term = match node.kind {
            ExprKind::Const => BV::from_u64(node.value, width),
            ExprKind::Read(_) => BV::fresh_const("r", width),
            ExprKind::Binary(op, a, b) => binary(op, &self.value(track, a), &self.value(track, b)),
            ExprKind::Compare(op, a, b) => {
                let truth = compare(op, &self.value(track, a), &self.value(track, b));
                truth.ite(&BV::from_u64(1, 1), &BV::from_u64(0, 1))
            }
            ExprKind::Cast(op, a) => cast(op, &self.value(track, a), width),
            ExprKind::Select(c, a, b) => {
                let condition = self.value(track, c).eq(BV::from_u64(1, 1));
                condition.ite(&self.value(track, a), &self.value(track, b))
            }
        };
        self.values.insert((track, expr), term.clone());
        term
    }

    fn witness(&self) -> Option<Vec<(usize, PathEvent)>> {
        let model = self.solver.get_model()?;
        let mut happening = Vec::new();
        for (number, node) in self.nodes.iter().enumerate() {
            if let Some(happens) = &node.happens
                && !model.eval(happens, true)?.as_bool()?
            {
                continue;
            }
            let at = model.eval(&node.order, true)?.as_i64()?;
            happening.push((at, node.track, node.event, number));
        }
        happening.sort_unstable();
        let events = happening
            .into_iter()
            .map(|(_, track, _, node)| (self.tracks[track].thread, self.event(node).clone()));
        Some(events.collect())
    }
}

fn list_nodes(
    touches: &FxHashMap<PlaceId, Vec<(u64, usize, bool)>>,
    place: PlaceId,
) -> Vec<(u64, usize, bool)> {
    touches.get(&place).cloned().unwrap_or_default()
}
