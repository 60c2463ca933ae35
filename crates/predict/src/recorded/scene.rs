//! What the solver needs to know about a walked recording, apart from values: which operation each
//! event is, what must come before what in every schedule, and which locks are held.

use racewarden_trace::Kind;
use racewarden_trace::binary::SyncOp;
use rustc_hash::FxHashMap;

use super::locations::{PlaceId, Places};
use super::order::RecordedOrder;
use super::path::{EventKind, PathEvent, ThreadPath};
use super::tracks::End;

/// Events before the earlier access that a query looks at first.
const LOOK_BACK: usize = 250;
/// Events that a query looks at in all, before those that do not matter are left out.
const MOST_VISIBLE: usize = 40_000;

/// What an event means to other threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    Access,
    Acquire {
        lock: u32,
        shared: bool,
    },
    Release {
        lock: u32,
    },
    Fork {
        thread: usize,
    },
    Join {
        thread: usize,
    },
    Notify {
        token: u32,
    },
    Await {
        token: u32,
    },
    /// The thread is over.
    End,
}

/// Facts about one event of a thread's path.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    pub acts: Vec<Act>,
    /// How many events of each thread come before it in every schedule (fork, join and tokens).
    pub clock: u32,
    /// The locks held at it, and whether alone.
    pub held: Vec<(u32, bool)>,
}

pub struct Scene<'s> {
    pub paths: &'s [ThreadPath],
    pub places: &'s Places,
    pub order: &'s RecordedOrder,
    pub facts: Vec<Vec<Facts>>,
    clocks: Vec<Vec<u32>>,
    lock_numbers: FxHashMap<u64, u32>,
    /// Per token, who notifies.
    pub notifiers: FxHashMap<u32, Vec<(usize, usize)>>,
    /// The fork of each thread.
    pub forks: Vec<Option<(usize, usize)>>,
    /// The end of each thread.
    pub ends: Vec<Option<usize>>,
    /// Per event of each thread: the highest sequence number up to it.
    reached: Vec<Vec<u64>>,
    /// Sequence numbers of all events that other threads can tell, in order.
    visible: Vec<u64>,
    /// Per place: what was written to it when.
    written: FxHashMap<PlaceId, Vec<(u64, u64)>>,
}

impl<'s> Scene<'s> {
    pub fn new(paths: &'s [ThreadPath], places: &'s Places, order: &'s RecordedOrder) -> Self {
        let mut by_sequence: FxHashMap<(u32, u64), Vec<Act>> = FxHashMap::default();
        let events = order.trace.events.iter().zip(&order.origin).zip(&order.sequences);
        for ((event, (thread, _)), sequence) in events {
            let act = match event.kind {
                Kind::Acquire => Act::Acquire { lock: event.object, shared: false },
                Kind::AcquireShared => Act::Acquire { lock: event.object, shared: true },
                Kind::Release | Kind::ReleaseShared => Act::Release { lock: event.object },
                Kind::Fork => Act::Fork { thread: event.object as usize },
                Kind::Join => Act::Join { thread: event.object as usize },
                Kind::Notify => Act::Notify { token: event.object },
                Kind::Await => Act::Await { token: event.object },
                Kind::End => Act::End,
                _ => continue,
            };
            by_sequence.entry((*thread, *sequence)).or_default().push(act);
        }
        let lock_numbers = order
            .trace
            .locks
            .iter()
            .enumerate()
            .filter_map(|(number, name)| {
                let address = u64::from_str_radix(name.strip_prefix("0x")?, 16).ok()?;
                Some((address, number as u32))
            })
            .collect();
        let mut scene = Scene {
            paths,
            places,
            order,
            facts: Vec::new(),
            clocks: vec![vec![0; paths.len()]],
            lock_numbers,
            notifiers: FxHashMap::default(),
            forks: vec![None; paths.len()],
            ends: vec![None; paths.len()],
            reached: Vec::new(),
            visible: Vec::new(),
            written: FxHashMap::default(),
        };
        scene.collect(&by_sequence);
        scene.collect_history();
        scene.compute_clocks();
        scene
    }

    fn collect(&mut self, by_sequence: &FxHashMap<(u32, u64), Vec<Act>>) {
        for (thread, path) in self.paths.iter().enumerate() {
            let mut held = Vec::new();
            let mut list = Vec::with_capacity(path.events.len());
            for (number, event) in path.events.iter().enumerate() {
                let acts = match &event.kind {
                    EventKind::Sync { .. } => by_sequence
                        .get(&(thread as u32, event.sequence))
                        .cloned()
                        .unwrap_or_default(),
                    kind if kind.is_visible() => vec![Act::Access],
                    _ => Vec::new(),
                };
                for act in &acts {
                    follow_locks(&mut held, act);
                    match act {
                        Act::Fork { thread: child } => {
                            self.forks[*child] = Some((thread, number));
                        }
                        Act::End => self.ends[thread] = Some(number),
                        Act::Notify { token } => {
                            self.notifiers.entry(*token).or_default().push((thread, number));
                        }
                        _ => {}
                    }
                }
                list.push(Facts { acts, clock: 0, held: held.clone() });
            }
            self.facts.push(list);
        }
    }

    fn collect_history(&mut self) {
        for (path, facts) in self.paths.iter().zip(&self.facts) {
            let mut last = 0;
            let mut reached = Vec::with_capacity(path.events.len());
            for (event, facts) in path.events.iter().zip(facts) {
                last = event.sequence.max(last);
                reached.push(last);
                if !facts.acts.is_empty() {
                    self.visible.push(event.sequence);
                }
                if let EventKind::Write { place, recorded, .. }
                | EventKind::Update { place, recorded, .. } = event.kind
                {
                    self.written.entry(place).or_default().push((event.sequence, recorded));
                }
            }
            self.reached.push(reached);
        }
        self.visible.sort_unstable();
        for list in self.written.values_mut() {
            list.sort_unstable();
        }
    }

    /// The first event of the thread that does not come before `cut`.
    pub fn start(&self, thread: usize, cut: u64) -> usize {
        self.reached[thread].partition_point(|reached| *reached < cut)
    }

    pub fn is_before(&self, thread: usize, event: usize, cut: u64) -> bool {
        self.reached[thread].get(event).is_some_and(|reached| *reached < cut)
    }

    /// The locks that the thread holds at the cut, and whether alone.
    pub fn held_at(&self, thread: usize, cut: u64) -> &[(u32, bool)] {
        match self.start(thread, cut).checked_sub(1) {
            Some(last) => &self.facts[thread][last].held,
            None => &[],
        }
    }

    /// What the place holds at the cut.
    pub fn value_at(&self, place: PlaceId, cut: u64) -> Option<u64> {
        let written = self.written.get(&place).map_or(&[][..], Vec::as_slice);
        match written.partition_point(|(sequence, _)| *sequence < cut).checked_sub(1) {
            Some(last) => Some(written[last].1),
            None => self.places.get(place).initial,
        }
    }

    /// The sequence number that the thread has reached when it comes to the access.
    pub fn reached_before(&self, end: End) -> u64 {
        let after = match end.detour {
            Some(detour) => self.paths[end.thread].detours[detour].after,
            None => end.event + 1,
        };
        after.checked_sub(1).map_or(0, |last| self.reached[end.thread][last])
    }

    /// From where on a query about the access must look: the access, or what its side hangs on.
    fn hangs_on(&self, end: End) -> u64 {
        let path = &self.paths[end.thread];
        let read = end.detour.and_then(|detour| {
            let detour = &path.detours[detour];
            let read = path.arena.latest_read(detour.condition)?;
            path.events.get(read).map(|event| event.sequence)
        });
        read.unwrap_or_else(|| self.reached_before(end))
    }

    /// Cuts to try, each leaving more of the run free, down to 0 if `most` events allow it.
    pub fn cuts(&self, ends: [End; 2], most: usize) -> Vec<u64> {
        let position = |sequence: u64| self.visible.partition_point(|other| *other < sequence);
        let [first, second] = ends.map(|end| position(self.hangs_on(end)));
        let [x, y] = ends.map(|end| position(self.reached_before(end)));
        let (early, late) = (first.min(second), x.max(y));
        let mut cuts = Vec::new();
        for look_back in [LOOK_BACK, LOOK_BACK * 8, most] {
            let from = early.saturating_sub(look_back.min(most));
            if late - from > MOST_VISIBLE {
                break;
            }
            // Little more makes it the whole run, which settles the pair for good.
            let from = if from <= LOOK_BACK { 0 } else { from };
            let cut = if from == 0 { 0 } else { self.visible[from] };
            if cuts.last() != Some(&cut) {
                cuts.push(cut);
            }
            if cut == 0 {
                break;
            }
        }
        cuts
    }

    /// What happens before the cut, in order: thread and event.
    pub fn before_cut(&self, cut: u64) -> Vec<(usize, usize)> {
        let mut list = Vec::new();
        for thread in 0..self.paths.len() {
            for event in 0..self.start(thread, cut) {
                if !self.facts[thread][event].acts.is_empty() {
                    list.push((self.paths[thread].events[event].sequence, thread, event));
                }
            }
        }
        list.sort_unstable();
        list.into_iter().map(|(_, thread, event)| (thread, event)).collect()
    }

    /// In the order of the run, so that what an event waits for is done.
    fn compute_clocks(&mut self) {
        let mut order: Vec<(u64, usize, usize)> = Vec::new();
        for (thread, path) in self.paths.iter().enumerate() {
            let mut last = 0;
            for (number, event) in path.events.iter().enumerate() {
                last = event.sequence.max(last);
                order.push((last, thread, number));
            }
        }
        order.sort_unstable();
        let mut current: Vec<u32> = vec![0; self.paths.len()];
        let mut started = vec![false; self.paths.len()];
        for (_, thread, number) in order {
            if !std::mem::replace(&mut started[thread], true)
                && let Some((parent, fork)) = self.forks[thread]
            {
                current[thread] = self.join_clock(current[thread], parent, fork);
            }
            for act in self.facts[thread][number].acts.clone() {
                match act {
                    Act::Join { thread: child } => {
                        if let Some(last) = self.paths[child].events.len().checked_sub(1) {
                            current[thread] = self.join_clock(current[thread], child, last);
                        }
                    }
                    Act::Await { token } => {
                        let list = self.notifiers.get(&token).cloned().unwrap_or_default();
                        let own = self.paths[thread].events[number].sequence;
                        for (other, notify) in list {
                            if self.paths[other].events[notify].sequence <= own && other != thread {
                                current[thread] = self.join_clock(current[thread], other, notify);
                            }
                        }
                    }
                    _ => {}
                }
            }
            self.facts[thread][number].clock = current[thread];
        }
    }

    fn join_clock(&mut self, base: u32, thread: usize, event: usize) -> u32 {
        if self.clocks[base as usize][thread] > event as u32 {
            return base;
        }
        let other = self.facts[thread][event].clock as usize;
        let mut row = self.clocks[base as usize].clone();
        for (cell, value) in row.iter_mut().zip(&self.clocks[other]) {
            *cell = (*cell).max(*value);
        }
        row[thread] = row[thread].max(event as u32 + 1);
        self.clocks.push(row);
        self.clocks.len() as u32 - 1
    }

    /// Whether event `a` comes before event `b` in every schedule.
    pub fn must_precede(&self, a: (usize, usize), b: (usize, usize)) -> bool {
        if a.0 == b.0 {
            return a.1 < b.1;
        }
        let row = self.facts[b.0].get(b.1).map_or(0, |facts| facts.clock);
        self.clocks[row as usize][a.0] > a.1 as u32
    }

    /// The acts of an event that the run did not have: locks of a side not taken.
    pub fn acts_of_new(&self, event: &PathEvent) -> Vec<Act> {
        match event.kind {
            EventKind::Sync { op, object, .. } => {
                // A lock that the run never took is taken by nobody else.
                let Some(&lock) = self.lock_numbers.get(&object) else { return Vec::new() };
                match op {
                    SyncOp::Acquire => vec![Act::Acquire { lock, shared: false }],
                    SyncOp::Release => vec![Act::Release { lock }],
                    _ => Vec::new(),
                }
            }
            ref kind if kind.is_visible() => vec![Act::Access],
            _ => Vec::new(),
        }
    }
}

/// Changes the held locks as `act` does.
pub fn follow_locks(held: &mut Vec<(u32, bool)>, act: &Act) {
    match *act {
        Act::Acquire { lock, shared } => held.push((lock, !shared)),
        Act::Release { lock } => {
            if let Some(at) = held.iter().rposition(|(other, _)| *other == lock) {
                held.remove(at);
            }
        }
        _ => {}
    }
}

/// The places that an event touches, whether it writes, and whether it is atomic.
pub fn access_of(kind: &EventKind) -> Option<(&[PlaceId], bool, bool)> {
    match kind {
        EventKind::Read { place, atomic, .. } => {
            Some((std::slice::from_ref(place), false, *atomic))
        }
        EventKind::Write { place, atomic, .. } => {
            Some((std::slice::from_ref(place), true, *atomic))
        }
        EventKind::Update { place, .. } => Some((std::slice::from_ref(place), true, true)),
        EventKind::Whole { places, writes, atomic, .. } => Some((places, *writes, *atomic)),
        EventKind::Free { places } => Some((places, true, false)),
        EventKind::Outside { places } => Some((places, true, true)),
        _ => None,
    }
}
