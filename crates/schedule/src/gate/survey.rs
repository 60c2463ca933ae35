//! A run in which nobody waits: which candidates' two sides come to the same memory in different
//! threads, and at which visits they come closest; and which other gates do ([`Common`]).
//!
//! Most candidates of a static engine never touch common memory, and of those that do, one side's
//! last visit before the other's is the one worth waiting at. Distances are counted in visits to
//! gates. A smaller distance is told once it is less than half of the last one, so a hot pair is
//! told a few times and not at each visit.
//!
//! What it may miss: memory that changes its owner between the two visits (told as common), and
//! visits past the first [`MOST_VISITS`] to one gate.

use std::collections::{BTreeMap, BTreeSet};

use super::common::Common;
use super::events::{Event, Visit};
use super::orchestrator::Arrival;
use super::orders::TargetOrder;

/// A gate is watched for so many visits; a loop may come to it millions of times.
const MOST_VISITS: u64 = 20_000;
/// Different addresses remembered for one gate; when there are more, they are forgotten.
const MOST_ADDRESSES: usize = 2048;
/// Different threads remembered for one address.
const MOST_THREADS: usize = 4;

#[derive(Debug, Clone)]
struct Seen {
    size: u64,
    writes: bool,
    atomic: bool,
    visit: Visit,
    at: u64,
}

#[derive(Debug, Default)]
struct GateMemory {
    visits: u64,
    forgot: bool,
    largest: u64,
    by_address: BTreeMap<u64, Vec<Seen>>,
}

/// A target's gates on the other side, by gate.
type Partners = BTreeMap<u32, Vec<(usize, Vec<u32>)>>;

#[derive(Debug)]
pub(super) struct Survey {
    numbers: Vec<u32>,
    /// The smallest distance told, by target.
    told: Vec<u64>,
    partners: Partners,
    gates: BTreeMap<u32, GateMemory>,
    common: Common,
    threads: Threads,
    clock: u64,
}

/// When threads began and ended.
#[derive(Debug, Default)]
pub(super) struct Threads {
    /// When each thread was created.
    births: BTreeMap<String, u64>,
    ended: BTreeSet<String>,
    joined: BTreeSet<String>,
}

impl Survey {
    pub fn new(targets: &[TargetOrder]) -> Self {
        let mut partners = Partners::new();
        for (index, target) in targets.iter().enumerate() {
            for side in 0..2 {
                for gate in &target.sides[side] {
                    let others = target.sides[1 - side].clone();
                    partners.entry(*gate).or_default().push((index, others));
                }
            }
        }
        Survey {
            numbers: targets.iter().map(|target| target.number).collect(),
            told: vec![u64::MAX; targets.len()],
            partners,
            gates: BTreeMap::new(),
            common: Common::new(targets),
            threads: Threads::default(),
            clock: 0,
        }
    }

    /// Whether a gate has been seen often enough.
    pub fn is_done(&self, gate: u32) -> bool {
        self.gates.get(&gate).is_some_and(|memory| memory.visits >= MOST_VISITS)
    }

    pub fn thread_created(&mut self, path: &str) {
        self.threads.births.insert(path.to_owned(), self.clock);
    }

    pub fn thread_ended(&mut self, path: &str) {
        self.threads.ended.insert(path.to_owned());
    }

    /// What it did cannot race with anything that comes now.
    pub fn thread_joined(&mut self, path: &str) {
        self.threads.joined.insert(path.to_owned());
    }

    /// Takes note of a visit; what it shows goes to `events`.
    pub fn visit(&mut self, arrival: &Arrival, events: &mut Vec<Event>) {
        let gate = arrival.visit.gate;
        self.clock += 1;
        if self.is_done(gate) {
            return;
        }
        for (target, others) in self.partners.get(&gate).into_iter().flatten() {
            let nearest = others
                .iter()
                .filter_map(|other| self.gates.get(other)?.nearest(arrival, &self.threads))
                .max_by_key(|seen| seen.at);
            let Some(nearest) = nearest else { continue };
            let distance = self.clock - nearest.at;
            if distance < self.told[*target] / 2 {
                self.told[*target] = distance;
                events.push(Event::Near {
                    target: self.numbers[*target],
                    earlier: nearest.visit.clone(),
                    later: arrival.visit.clone(),
                    ended: self.threads.has_ended(&nearest.visit.thread),
                });
            }
        }
        self.common.visit(arrival, self.clock, &self.threads, events);
        let memory = self.gates.entry(gate).or_default();
        let forgot = memory.forgot;
        memory.remember(arrival, self.clock);
        if memory.forgot && !forgot {
            events.push(Event::Forgot { gate });
        }
    }
}

impl GateMemory {
    /// The latest conflicting access of another thread to overlapping memory.
    fn nearest(&self, arrival: &Arrival, threads: &Threads) -> Option<&Seen> {
        let first = arrival.address.saturating_sub(self.largest);
        let end = arrival.address.saturating_add(arrival.size);
        self.by_address
            .range(first..end)
            .flat_map(|(address, seen)| seen.iter().map(move |one| (*address, one)))
            .filter(|(address, seen)| {
                address.saturating_add(seen.size) > arrival.address
                    && seen.visit.thread != arrival.visit.thread
                    && (seen.writes || arrival.writes)
                    && !(seen.atomic && arrival.atomic)
                    && !threads.are_ordered(&seen.visit.thread, seen.at, &arrival.visit.thread)
            })
            .map(|(_, seen)| seen)
            .max_by_key(|seen| seen.at)
    }

    fn remember(&mut self, arrival: &Arrival, at: u64) {
        self.visits += 1;
        self.forgot |= self.visits >= MOST_VISITS;
        self.largest = self.largest.max(arrival.size);
        if self.by_address.len() >= MOST_ADDRESSES {
            self.by_address.clear();
            self.forgot = true;
        }
        let seen = self.by_address.entry(arrival.address).or_default();
        seen.retain(|one| one.visit.thread != arrival.visit.thread);
        if seen.len() >= MOST_THREADS {
            seen.remove(0);
        }
        seen.push(Seen {
            size: arrival.size,
            writes: arrival.writes,
            atomic: arrival.atomic,
            visit: arrival.visit.clone(),
            at,
        });
    }
}

impl Threads {
    pub fn has_ended(&self, path: &str) -> bool {
        self.ended.contains(path)
    }

    /// Whether what `earlier` did at a time cannot race with what `later` does now: it was joined, or is an
    /// ancestor that did it before it created the other, or the one between them.
    pub fn are_ordered(&self, earlier: &str, at: u64, later: &str) -> bool {
        if self.joined.contains(earlier) {
            return true;
        }
        let below = later.strip_prefix(earlier).and_then(|rest| rest.strip_prefix('.'));
        let Some(below) = below else { return false };
        let child = below.split('.').next().unwrap_or(below);
        self.births.get(&format!("{earlier}.{child}")).is_some_and(|birth| at <= *birth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::Order;

    fn arrival(thread: &str, gate: u32, occurrence: u64, address: u64) -> Arrival {
        Arrival {
            thread: 1,
            visit: Visit { thread: thread.into(), gate, occurrence },
            address,
            size: 8,
            writes: gate == 2,
            atomic: false,
            living: 2,
            unjoined: 1,
        }
    }

    fn survey() -> Survey {
        let sides = [vec![1], vec![2]];
        Survey::new(&[TargetOrder { number: 7, order: Order::Forward, sides, avoid: false }])
    }

    #[test]
    fn the_last_visit_before_the_others_is_told() {
        let (mut survey, mut events) = (survey(), Vec::new());
        for occurrence in 1..=5 {
            survey.visit(&arrival("main.1", 1, occurrence, 64), &mut events);
        }
        assert_eq!(events, []);
        survey.thread_ended("main.1");
        survey.visit(&arrival("main", 2, 1, 60), &mut events);
        let visit =
            |thread: &str, gate, occurrence| Visit { thread: thread.to_owned(), gate, occurrence };
        let (earlier, later) = (visit("main.1", 1, 5), visit("main", 2, 1));
        assert_eq!(events, [Event::Near { target: 7, earlier, later, ended: true }]);
    }

    #[test]
    fn other_memory_the_same_thread_and_two_reads_are_not_near() {
        let (mut survey, mut events) = (survey(), Vec::new());
        survey.visit(&arrival("main.1", 1, 1, 64), &mut events);
        survey.visit(&arrival("main", 2, 1, 72), &mut events);
        survey.visit(&arrival("main.1", 2, 1, 64), &mut events);
        let read = Arrival { writes: false, ..arrival("main", 2, 1, 64) };
        survey.visit(&read, &mut events);
        events.retain(|event| matches!(event, Event::Near { .. }));
        assert_eq!(events, []);
    }

    #[test]
    fn creating_and_joining_a_thread_orders() {
        let (mut survey, mut events) = (survey(), Vec::new());
        survey.visit(&arrival("main", 2, 1, 64), &mut events);
        survey.thread_created("main.1");
        survey.visit(&arrival("main.1", 1, 1, 64), &mut events);
        survey.visit(&arrival("main.1.1", 1, 1, 64), &mut events);
        survey.thread_joined("main.1");
        survey.thread_joined("main.1.1");
        survey.visit(&arrival("main", 2, 2, 64), &mut events);
        assert_eq!(events, []);
        survey.visit(&arrival("main.2", 1, 1, 64), &mut events);
        assert_eq!(events.len(), 1);
    }

    #[test]
    fn a_hot_pair_is_told_a_few_times() {
        let (mut survey, mut events) = (survey(), Vec::new());
        for occurrence in 1..=50_000 {
            survey.visit(&arrival("main.1", 1, occurrence, 64), &mut events);
            survey.visit(&arrival("main.2", 2, occurrence, 64), &mut events);
        }
        assert!(events.len() < 7, "{events:?}");
        assert!(survey.is_done(1) && survey.is_done(2));
    }
}
