//! Which gates come to common memory, whether any engine lists them as a candidate or not.
//!
//! In a large program an engine cannot list every pair of accesses that may race. In a watched run it
//! can be seen which of them come to the same memory, and at which visits.
//!
//! What it may miss: what is forgotten because there is too much of it; a large access (a block that
//! is copied or freed) is remembered for a while only.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::events::{Event, Visit};
use super::orchestrator::Arrival;
use super::orders::TargetOrder;
use super::survey::Threads;

/// Accesses up to this many bytes are found by their address.
const SMALL: u64 = 64;
/// How many larger accesses are remembered.
const MOST_LARGE: usize = 64;
/// Different addresses remembered; when there are more, all are forgotten.
const MOST_ADDRESSES: usize = 1 << 16;
/// Accesses remembered for one address, of different gates or threads.
const MOST_AT_ONE: usize = 8;
/// Partners told of a gate: of a gate that everybody comes to, a few will do, and rare ones shall not be
/// crowded out.
const MOST_PARTNERS: u32 = 8;

#[derive(Debug, Clone)]
struct Access {
    address: u64,
    size: u64,
    writes: bool,
    atomic: bool,
    visit: Visit,
    at: u64,
}

#[derive(Debug, Default)]
pub(super) struct Common {
    /// Pairs of gates that targets stand for, the smaller first.
    listed: BTreeSet<(u32, u32)>,
    /// The smallest distance told, by pair of gates.
    told: BTreeMap<(u32, u32), u64>,
    /// How many partners were told, by gate.
    partners: BTreeMap<u32, u32>,
    small: BTreeMap<u64, Vec<Access>>,
    large: VecDeque<Access>,
}

impl Common {
    pub fn new(targets: &[TargetOrder]) -> Self {
        let mut listed = BTreeSet::new();
        for target in targets {
            for a in &target.sides[0] {
                listed.extend(target.sides[1].iter().map(|b| (*a.min(b), *a.max(b))));
            }
        }
        Common { listed, ..Common::default() }
    }

    /// Takes note of a visit at time `at`; pairs that nobody lists go to `events`.
    pub fn visit(
        &mut self,
        arrival: &Arrival,
        at: u64,
        threads: &Threads,
        events: &mut Vec<Event>,
    ) {
        for earlier in self.partners(arrival, threads) {
            let (a, b) = (earlier.visit.gate, arrival.visit.gate);
            let pair = (a.min(b), a.max(b));
            if self.listed.contains(&pair) {
                continue;
            }
            let distance = at - earlier.at;
            let is_news = match self.told.get(&pair) {
                Some(told) => distance < told / 2,
                None => self.may_tell(pair),
            };
            if is_news {
                self.told.insert(pair, distance);
                let ended = threads.has_ended(&earlier.visit.thread);
                let later = arrival.visit.clone();
                events.push(Event::Common { earlier: earlier.visit, later, ended });
            }
        }
        self.remember(arrival, at);
    }

    /// Whether one of two gates has not been told with many others; if so, counts them.
    fn may_tell(&mut self, (a, b): (u32, u32)) -> bool {
        let count = |gate: u32| self.partners.get(&gate).copied().unwrap_or(0);
        let is_wanted = count(a).min(count(b)) < MOST_PARTNERS;
        if is_wanted {
            *self.partners.entry(a).or_default() += 1;
            *self.partners.entry(b).or_default() += 1;
        }
        is_wanted
    }

    /// Conflicting accesses of other threads to overlapping memory, the latest of each gate.
    fn partners(&self, arrival: &Arrival, threads: &Threads) -> Vec<Access> {
        let end = arrival.address.saturating_add(arrival.size);
        let near = self.small.range(arrival.address.saturating_sub(SMALL)..end);
        let mut latest: BTreeMap<u32, &Access> = BTreeMap::new();
        for access in near.flat_map(|(_, list)| list).chain(&self.large) {
            let overlaps = access.address < end
                && arrival.address < access.address.saturating_add(access.size);
            let conflicts = (access.writes || arrival.writes) && !(access.atomic && arrival.atomic);
            let other = access.visit.thread != arrival.visit.thread;
            if overlaps
                && conflicts
                && other
                && !threads.are_ordered(&access.visit.thread, access.at, &arrival.visit.thread)
            {
                let known = latest.entry(access.visit.gate).or_insert(access);
                if known.at < access.at {
                    *known = access;
                }
            }
        }
        latest.into_values().cloned().collect()
    }

    fn remember(&mut self, arrival: &Arrival, at: u64) {
        let access = Access {
            address: arrival.address,
            size: arrival.size,
            writes: arrival.writes,
            atomic: arrival.atomic,
            visit: arrival.visit.clone(),
            at,
        };
        if arrival.size > SMALL {
            if self.large.len() >= MOST_LARGE {
                self.large.pop_front();
            }
            self.large.push_back(access);
            return;
        }
        if self.small.len() >= MOST_ADDRESSES {
            self.small.clear();
        }
        let list = self.small.entry(arrival.address).or_default();
        let (gate, thread) = (arrival.visit.gate, &arrival.visit.thread);
        list.retain(|one| one.visit.gate != gate || one.visit.thread != *thread);
        if list.len() >= MOST_AT_ONE {
            list.remove(0);
        }
        list.push(access);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::Order;

    fn arrival(thread: &str, gate: u32, address: u64, size: u64) -> Arrival {
        Arrival {
            thread: 1,
            visit: Visit { thread: thread.into(), gate, occurrence: 1 },
            address,
            size,
            writes: gate > 1,
            atomic: false,
            living: 2,
            unjoined: 1,
        }
    }

    /// The pairs of gates that are told when these arrive one after the other.
    fn told(targets: &[TargetOrder], arrivals: &[Arrival]) -> Vec<(u32, u32)> {
        let mut common = Common::new(targets);
        let mut events = Vec::new();
        for (at, arrival) in (1..).zip(arrivals) {
            common.visit(arrival, at, &Threads::default(), &mut events);
        }
        let pair = |event: &Event| match event {
            Event::Common { earlier, later, .. } => (earlier.gate, later.gate),
            other => panic!("{other:?}"),
        };
        events.iter().map(pair).collect()
    }

    #[test]
    fn gates_that_come_to_common_memory_are_told_once() {
        let block = arrival("main", 3, 0, 4096);
        let read = arrival("main.1", 1, 128, 8);
        let write = arrival("main.2", 2, 130, 1);
        let all = [read.clone(), write.clone(), block, read.clone(), write, read];
        assert_eq!(told(&[], &all), [(1, 2), (1, 3), (2, 3), (2, 1), (3, 1), (3, 2)][..3]);
    }

    #[test]
    fn what_a_target_stands_for_is_not_told() {
        let sides = [vec![2], vec![1]];
        let target = TargetOrder { number: 0, order: Order::Forward, sides, avoid: false };
        let all = [arrival("main.1", 1, 64, 8), arrival("main.2", 2, 64, 8)];
        assert_eq!(told(&[target], &all), []);
    }

    #[test]
    fn two_reads_and_other_memory_and_one_thread_are_no_pair() {
        let all = [
            arrival("main.1", 1, 64, 8),
            arrival("main.2", 1, 64, 8),
            arrival("main.2", 2, 72, 8),
            arrival("main.2", 3, 72, 8),
        ];
        assert_eq!(told(&[], &all), []);
    }
}
