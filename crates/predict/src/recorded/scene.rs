//! What the solver needs to know about a walked recording, apart from values: which operation each
//! event is, what must come before what in every schedule, and which locks are held.

use racewarden_trace::Kind;
use racewarden_trace::binary::SyncOp;
use rustc_hash::FxHashMap;

use super::locations::{PlaceId, Places};
use super::order::RecordedOrder;
use super::path::{EventKind, PathEvent, ThreadPath};

/// What an event means to other threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    Access,
    Acquire { lock: u32, shared: bool },
    Release { lock: u32 },
    Fork { thread: usize },
    Join { thread: usize },
    Notify { token: u32 },
    Await { token: u32 },
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
        };
        scene.collect(&by_sequence);
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
        EventKind::Whole { places, writes, atomic } => Some((places, *writes, *atomic)),
        EventKind::Outside { places } => Some((places, true, true)),
        _ => None,
    }
}
