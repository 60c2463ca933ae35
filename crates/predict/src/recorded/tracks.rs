//! What a value query looks at: which part of the run, which threads, and which of their events.
//!
//! A query about two accesses deep in a long run cannot put the whole run to the solver. So it
//! starts from a *cut*: everything that was recorded before a sequence number happens as recorded,
//! which is a prefix of a real run, and only what comes after is free. What memory holds and which
//! locks are held at the cut is known. A schedule that is found so is as good as any; that none is
//! found says nothing about earlier cuts, which is why `detect` widens the window step by step and
//! counts what stays open as unknown.
//!
//! Of the events after the cut, accesses to places that no branch, pin or followed value depends
//! on are left out: they can stand anywhere.

use rustc_hash::FxHashSet;

use super::expr::{ExprId, ExprKind, Val};
use super::locations::PlaceId;
use super::path::{EventKind, PathEvent};
use super::scene::{Act, Scene, access_of};

/// One side of a candidate: an access of a thread's path, or of a side not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End {
    pub thread: usize,
    /// The detour, and the access's place in it; or the place in the path.
    pub detour: Option<usize>,
    pub event: usize,
}

/// What one thread does in the query.
pub struct Track<'s> {
    pub thread: usize,
    /// Events of the path before the cut.
    pub from: usize,
    pub events: Vec<&'s PathEvent>,
    pub acts: Vec<Vec<Act>>,
    /// Runs exactly to its end; otherwise as far as wanted.
    pub required: bool,
    /// The negated branch: after this many events.
    pub flipped: Option<(usize, ExprId, u64)>,
    /// Where the recorded events end in the path; what follows them is new.
    pub recorded: usize,
}

impl Track<'_> {
    /// Where the read with this number stands; `None` for one before the cut.
    pub fn read_event(&self, number: usize) -> Option<usize> {
        let at = match self.flipped {
            // Numbers of a side count its branch as one event.
            Some(_) if number > self.recorded => number - 1,
            _ => number,
        };
        at.checked_sub(self.from).filter(|at| *at < self.events.len())
    }

    /// Where an event of the path stands, when the track has it.
    pub fn local(&self, event: usize) -> Option<usize> {
        (event < self.recorded).then(|| event.checked_sub(self.from)).flatten()
    }

    /// The place in the path of an event that was recorded.
    pub fn in_path(&self, event: usize) -> Option<usize> {
        Some(self.from + event).filter(|event| *event < self.recorded)
    }
}

/// The threads that take part: the two, and whoever they need or may read from.
pub fn tracks<'s>(scene: &Scene<'s>, ends: [End; 2], cut: u64) -> Option<Vec<Track<'s>>> {
    let mut tracks: Vec<Track> = Vec::new();
    for end in ends {
        tracks.push(required_track(scene, end, cut)?);
    }
    let last = ends.iter().map(|end| scene.reached_before(*end)).max().unwrap_or(0);
    loop {
        let mut more = FxHashSet::default();
        for track in &tracks {
            needs(scene, track, cut, &mut more);
        }
        holders_at_cut(scene, &tracks, cut, &mut more);
        let touched = Touched::new(scene, &tracks);
        more.extend(writers_of_reads(scene, &touched, cut, last));
        let mut new: Vec<usize> = more
            .into_iter()
            .filter(|thread| tracks.iter().all(|track| track.thread != *thread))
            .collect();
        if new.is_empty() {
            leave_out_irrelevant(&mut tracks, &touched);
            return Some(tracks);
        }
        new.sort_unstable();
        for thread in new {
            tracks.push(optional_track(scene, thread, cut, last));
        }
    }
}

fn required_track<'s>(scene: &Scene<'s>, end: End, cut: u64) -> Option<Track<'s>> {
    let path = &scene.paths[end.thread];
    let facts = &scene.facts[end.thread];
    let recorded = end.detour.map_or(end.event, |detour| path.detours[detour].after);
    let from = scene.start(end.thread, cut).min(recorded);
    let mut events: Vec<&PathEvent> = path.events[from..recorded].iter().collect();
    let mut acts: Vec<Vec<Act>> =
        facts[from..recorded].iter().map(|facts| facts.acts.clone()).collect();
    let mut flipped = None;
    if let Some(detour) = end.detour {
        let detour = &path.detours[detour];
        flipped = Some((recorded - from, detour.condition, detour.taken));
        for event in &detour.events[..end.event] {
            // Its order towards the recorded accesses is not known.
            if matches!(event.kind, EventKind::Whole { .. }) {
                return None;
            }
            events.push(event);
            acts.push(scene.acts_of_new(event));
        }
    }
    Some(Track { thread: end.thread, from, events, acts, required: true, flipped, recorded })
}

/// How far beyond the later access the other threads may go, so that sections can be closed.
const BEYOND: u64 = 64;

fn optional_track<'s>(scene: &Scene<'s>, thread: usize, cut: u64, last: u64) -> Track<'s> {
    let path = &scene.paths[thread];
    let from = scene.start(thread, cut);
    let end = scene.start(thread, last + BEYOND + 1).max(from);
    Track {
        thread,
        from,
        events: path.events[from..end].iter().collect(),
        acts: scene.facts[thread][from..end].iter().map(|facts| facts.acts.clone()).collect(),
        required: false,
        flipped: None,
        recorded: end,
    }
}

fn needs(scene: &Scene, track: &Track, cut: u64, more: &mut FxHashSet<usize>) {
    if let Some((parent, fork)) = scene.forks[track.thread]
        && !scene.is_before(parent, fork, cut)
    {
        more.insert(parent);
    }
    for act in track.acts.iter().flatten() {
        match act {
            Act::Join { thread } => {
                more.insert(*thread);
            }
            Act::Await { token } => {
                for (thread, notify) in scene.notifiers.get(token).into_iter().flatten() {
                    if !scene.is_before(*thread, *notify, cut) {
                        more.insert(*thread);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Threads that hold a lock at the cut that one of the tracks wants.
fn holders_at_cut(scene: &Scene, tracks: &[Track], cut: u64, more: &mut FxHashSet<usize>) {
    if cut == 0 {
        return;
    }
    let wanted: FxHashSet<u32> = tracks
        .iter()
        .flat_map(|track| track.acts.iter().flatten())
        .filter_map(|act| match act {
            Act::Acquire { lock, .. } => Some(*lock),
            _ => None,
        })
        .collect();
    for thread in 0..scene.paths.len() {
        if scene.held_at(thread, cut).iter().any(|(lock, _)| wanted.contains(lock)) {
            more.insert(thread);
        }
    }
}

/// The places that matter to the constraints of the tracks.
struct Touched {
    /// Their values do.
    read: FxHashSet<PlaceId>,
    /// Accessed without their values being followed.
    whole: FxHashSet<PlaceId>,
}

impl Touched {
    fn new(scene: &Scene, tracks: &[Track]) -> Self {
        let whole = tracks
            .iter()
            .flat_map(|track| &track.events)
            .filter_map(|event| match &event.kind {
                EventKind::Whole { places, .. }
                | EventKind::Outside { places }
                | EventKind::Free { places } => Some(places),
                _ => None,
            })
            .flatten()
            .copied()
            .collect();
        Touched { read: relevant_places(scene, tracks), whole }
    }

    fn matters(&self, place: &PlaceId) -> bool {
        self.read.contains(place) || self.whole.contains(place)
    }
}

/// The places whose values the constraints of the tracks depend on.
fn relevant_places(scene: &Scene, tracks: &[Track]) -> FxHashSet<PlaceId> {
    let mut work: Vec<(usize, ExprId)> = Vec::new();
    let mut writes: rustc_hash::FxHashMap<PlaceId, Vec<(usize, ExprId)>> = Default::default();
    for (number, track) in tracks.iter().enumerate() {
        work.extend(track.flipped.map(|(_, condition, _)| (number, condition)));
        for event in &track.events {
            match event.kind {
                EventKind::Branch { condition: expr, .. } | EventKind::Pin { expr } => {
                    work.push((number, expr));
                }
                EventKind::Write { place, value: Val::Symbolic(expr), .. }
                | EventKind::Update { place, value: Val::Symbolic(expr), .. } => {
                    writes.entry(place).or_default().push((number, expr));
                }
                _ => {}
            }
        }
    }
    let mut seen: FxHashSet<(usize, ExprId)> = FxHashSet::default();
    let mut places: FxHashSet<PlaceId> = FxHashSet::default();
    while let Some((number, expr)) = work.pop() {
        let track = &tracks[number];
        let arena = &scene.paths[track.thread].arena;
        if arena.is_settled(expr, track.from) || !seen.insert((number, expr)) {
            continue;
        }
        match arena.get(expr).kind {
            ExprKind::Const => {}
            ExprKind::Read(event) => {
                let Some(event) = track.read_event(event as usize) else { continue };
                let (EventKind::Read { place, .. } | EventKind::Update { place, .. }) =
                    track.events[event].kind
                else {
                    continue;
                };
                if places.insert(place) {
                    work.extend(writes.get(&place).into_iter().flatten());
                }
            }
            kind => work.extend(kind.operands().map(|operand| (number, operand))),
        }
    }
    places
}

/// Threads that write what a read that matters may see.
fn writers_of_reads(scene: &Scene, touched: &Touched, cut: u64, last: u64) -> FxHashSet<usize> {
    let mut threads = FxHashSet::default();
    for (thread, path) in scene.paths.iter().enumerate() {
        let from = scene.start(thread, cut);
        let end = scene.start(thread, last + BEYOND + 1).max(from);
        let touches = path.events[from..end].iter().any(|event| match access_of(&event.kind) {
            Some((places, writes, _)) => places.iter().any(|place| {
                (writes && touched.read.contains(place)) || touched.whole.contains(place)
            }),
            None => false,
        });
        if touches {
            threads.insert(thread);
        }
    }
    threads
}

/// Accesses of places that do not matter are no events of the query.
fn leave_out_irrelevant(tracks: &mut [Track], touched: &Touched) {
    for track in tracks {
        for (event, acts) in track.events.iter().zip(&mut track.acts) {
            if let Some((places, ..)) = access_of(&event.kind)
                && !places.iter().any(|place| touched.matters(place))
            {
                acts.clear();
            }
        }
    }
}
