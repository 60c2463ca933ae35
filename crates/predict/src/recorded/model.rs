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
use super::tracks::{End, Track, tracks};

/// More events than this are not put to the solver.
pub const MOST_NODES: usize = 4_000;
const MOST_ALTERNATIVES: usize = 150_000;

pub enum Answer {
    /// The visible events that happen, in order.
    Race(Vec<(usize, PathEvent)>),
    NoSchedule,
    Unknown,
}

struct Node {
    track: usize,
    event: usize,
    order: Int,
    happens: Option<Bool>,
}

/// Decides whether both accesses can be next at once.
/// Everything before the sequence number `cut` happens as recorded.
pub fn solve(scene: &Scene, ends: [End; 2], cut: u64, deadline: Duration) -> Answer {
    let Some(tracks) = tracks(scene, ends, cut) else { return Answer::Unknown };
    let mut query = Query::new(scene, tracks, cut);
    if query.nodes.len() > MOST_NODES {
        return Answer::Unknown;
    }
    query.thread_orders();
    query.synchronisation();
    query.locks();
    query.whole_places();
    query.frees();
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

/// One critical section.
struct Section {
    track: usize,
    /// `None` when the lock was held at the cut.
    acquire: Option<usize>,
    release: Option<usize>,
    shared: bool,
}

struct Query<'q, 's> {
    scene: &'q Scene<'s>,
    tracks: Vec<Track<'s>>,
    cut: u64,
    solver: Solver,
    nodes: Vec<Node>,
    /// Node of each event of each track.
    node_of: Vec<Vec<Option<usize>>>,
    values: FxHashMap<(usize, ExprId), BV>,
    alternatives: usize,
    impossible: bool,
}

impl<'q, 's> Query<'q, 's> {
    fn new(scene: &'q Scene<'s>, tracks: Vec<Track<'s>>, cut: u64) -> Self {
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
            cut,
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
        self.node_of[track][self.tracks[track].local(event)?]
    }

    fn synchronisation(&mut self) {
        for track in 0..self.tracks.len() {
            let first = self.node_of[track].iter().flatten().next().copied();
            let Some((parent, fork)) = self.scene.forks[self.tracks[track].thread] else {
                continue;
            };
            if self.scene.is_before(parent, fork, self.cut) {
                continue;
            }
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

    /// The joined thread ran to its very end, on the path that it took.
    fn join(&mut self, node: usize, thread: usize) {
        let path = &self.scene.paths[thread];
        let Some(end) = self.scene.ends[thread] else { return self.never(node) };
        if self.scene.is_before(thread, end, self.cut) {
            return;
        }
        match self.node(thread, end) {
            Some(end) if end != node && path.cut.is_none() => self.needs(node, end),
            _ => self.never(node),
        }
    }

    fn wait(&mut self, node: usize, token: u32) {
        let own = self.event(node).sequence;
        let notifiers = self.scene.notifiers.get(&token).cloned().unwrap_or_default();
        for (thread, event) in notifiers {
            if self.scene.paths[thread].events[event].sequence > own
                || self.scene.is_before(thread, event, self.cut)
            {
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
        let mut locks: Vec<_> = self.sections().into_iter().collect();
        locks.sort_unstable_by_key(|(lock, _)| *lock);
        for (_, list) in locks {
            for (number, a) in list.iter().enumerate() {
                for b in &list[number + 1..] {
                    if a.track == b.track || (a.shared && b.shared) {
                        continue;
                    }
                    let choices = [self.ends_before(a, b), self.ends_before(b, a)];
                    let both: Vec<usize> = [a.acquire, b.acquire].into_iter().flatten().collect();
                    self.assert_if(&both, choices.into_iter().flatten().collect());
                }
            }
        }
    }

    /// The sections of each lock; one that was open at the cut has no acquisition.
    fn sections(&self) -> FxHashMap<u32, Vec<Section>> {
        let mut sections: FxHashMap<u32, Vec<Section>> = FxHashMap::default();
        for (track, list) in self.node_of.iter().enumerate() {
            let mut open: Vec<(u32, usize)> = Vec::new();
            for &(lock, alone) in self.scene.held_at(self.tracks[track].thread, self.cut) {
                let list = sections.entry(lock).or_default();
                open.push((lock, list.len()));
                list.push(Section { track, acquire: None, release: None, shared: !alone });
            }
            for node in list.iter().flatten().copied() {
                for act in &self.tracks[track].acts[self.nodes[node].event] {
                    match *act {
                        Act::Acquire { lock, shared } => {
                            let list = sections.entry(lock).or_default();
                            open.push((lock, list.len()));
                            let acquire = Some(node);
                            list.push(Section { track, acquire, release: None, shared });
                        }
                        Act::Release { lock } => {
                            if let Some(at) = open.iter().rposition(|(other, _)| *other == lock) {
                                let (_, section) = open.remove(at);
                                if let Some(list) = sections.get_mut(&lock) {
                                    list[section].release = Some(node);
                                }
                            }
                        }
                        _ => {}
                    }
                }
            }
        }
        sections
    }

    fn ends_before(&self, section: &Section, next: &Section) -> Option<Bool> {
        let (release, acquire) = (section.release?, next.acquire?);
        let mut all = vec![self.before(release, acquire)];
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

    /// What is freed is not accessed afterwards.
    fn frees(&mut self) {
        let frees: Vec<(usize, &'s [PlaceId])> = (0..self.nodes.len())
            .filter_map(|node| match &self.event(node).kind {
                EventKind::Free { places } => Some((node, places.as_slice())),
                _ => None,
            })
            .collect();
        for (free, freed) in frees {
            for node in 0..self.nodes.len() {
                let touches = node != free
                    && self.nodes[node].track != self.nodes[free].track
                    && access_of(&self.event(node).kind)
                        .is_some_and(|(places, ..)| places.iter().any(|p| freed.contains(p)));
                if touches {
                    let before = self.before(node, free);
                    self.assert_if(&[node, free], vec![before]);
                }
            }
        }
    }

    /// An access of the run that the query leaves out must not have come before one that it has.
    fn whole_accesses_outside(&mut self, place: PlaceId, inside: &[(u64, usize, bool)]) {
        let last = inside.iter().map(|(sequence, ..)| *sequence).max().unwrap_or(0);
        for (thread, path) in self.scene.paths.iter().enumerate() {
            let range = self.scene.start(thread, self.cut)..self.scene.start(thread, last + 1);
            for number in range {
                let event = &path.events[number];
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
            if arena.is_settled(expr, self.tracks[track].from) {
                continue;
            }
            match arena.get(expr).kind {
                ExprKind::Const => {}
                ExprKind::Read(event) => self.read(track, event as usize, &mut work),
                kind => work.extend(kind.operands().map(|operand| (track, operand))),
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
        if let Some(initial) = self.scene.value_at(place, self.cut) {
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
        let recorded = |node: &Node| self.tracks[node.track].in_path(node.event);
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
        let settled = arena.is_settled(expr, self.tracks[track].from);
        let term = match node.kind {
            _ if settled => BV::from_u64(node.value, width),
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
