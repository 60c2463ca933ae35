//! A witness: the events of a cone in an order after which both accesses are enabled.

use super::cone::Candidate;
use super::index::{Index, NONE};
use super::problem::Problem;
use racewarden_trace::{Kind, OrderTrace};

/// The events that happen, in their order; then both accesses can go next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witness {
    pub candidate: Candidate,
    /// How many events of each thread happen.
    pub cone: Box<[u32]>,
    /// The events (numbers in the trace) in their order; `None` when that is the trace's own.
    order: Option<Box<[u32]>>,
}

/// The cone in the order of the trace.
pub fn in_observed_order(candidate: Candidate, prefix: Vec<u32>) -> Witness {
    Witness { candidate, cone: prefix.into(), order: None }
}

/// The events as they are listed.
pub fn from_events(index: &Index, candidate: Candidate, order: Vec<u32>) -> Witness {
    let mut cone = vec![0u32; index.thread_count()];
    for &event in &order {
        cone[index.thread_of(event)] += 1;
    }
    Witness { candidate, cone: cone.into(), order: Some(order.into()) }
}

/// The whole of `prefix` from an order of its nodes: what lies between them follows its thread.
pub fn from_nodes(problem: &Problem, prefix: &[u32], order: &[u32]) -> Witness {
    let index = problem.index;
    let mut emitted = vec![0u32; index.thread_count()];
    let mut events = Vec::new();
    let mut flush = |thread: usize, until: u32, emitted: &mut [u32]| {
        let from = emitted[thread];
        if until > from {
            events.extend_from_slice(&index.threads[thread][from as usize..until as usize]);
            emitted[thread] = until;
        }
    };
    for &node in order {
        let number = problem.nodes[node as usize];
        let event = index.event(number);
        let position = index.position[number as usize];
        flush(event.thread.index(), position, &mut emitted);
        if event.kind == Kind::Join {
            let child = event.object as usize;
            flush(child, prefix[child], &mut emitted);
        }
        flush(event.thread.index(), position + 1, &mut emitted);
    }
    for (thread, &count) in prefix.iter().enumerate() {
        flush(thread, count, &mut emitted);
    }
    Witness { candidate: problem.candidate, cone: emitted.into(), order: Some(events.into()) }
}

impl Witness {
    /// Whether the events keep the order of the trace.
    pub fn is_observed_order(&self) -> bool {
        self.order.is_none()
    }

    /// The events (numbers in the trace) in the order in which they happen.
    pub fn events(&self, trace: &OrderTrace) -> Vec<u32> {
        if let Some(order) = &self.order {
            return order.to_vec();
        }
        let mut left = self.cone.to_vec();
        let mut events = Vec::with_capacity(left.iter().sum::<u32>() as usize);
        for (number, event) in trace.events.iter().enumerate() {
            let left = &mut left[event.thread.index()];
            if *left > 0 {
                *left -= 1;
                events.push(number as u32);
            }
        }
        events
    }

    /// Whether the order is a correct reordering after which both accesses are enabled.
    pub fn is_valid(&self, index: &Index) -> bool {
        let mut done = vec![0u32; index.thread_count()];
        let mut last_write = vec![NONE; index.trace.variables.len()];
        let mut holders: Vec<(u32, bool)> = vec![(0, false); index.trace.locks.len()];
        for number in self.events(index.trace) {
            let event = index.event(number);
            let thread = event.thread.index();
            let object = event.object as usize;
            let in_order = index.position[number as usize] == done[thread]
                && self.started(index, number, &done);
            let allowed = match event.kind {
                Kind::Read | Kind::AtomicRead => {
                    last_write[object] == index.partner[number as usize]
                }
                Kind::Acquire => holders[object].0 == 0,
                Kind::AcquireShared => !holders[object].1,
                Kind::Join | Kind::Await => index.needs_are_met(number, &done),
                _ => true,
            };
            if !in_order || !allowed {
                return false;
            }
            match event.kind {
                Kind::Write | Kind::AtomicWrite => last_write[object] = number,
                Kind::Acquire => holders[object] = (1, true),
                Kind::AcquireShared => holders[object].0 += 1,
                Kind::Release | Kind::ReleaseShared => {
                    holders[object] = (holders[object].0.saturating_sub(1), false);
                }
                _ => {}
            }
            done[thread] += 1;
        }
        [self.candidate.first, self.candidate.second].iter().all(|&access| {
            done[index.thread_of(access)] == index.position[access as usize]
                && self.started(index, access, &done)
        })
    }

    /// Whether everything that the event needs by its clock, forks and tokens included, is done.
    fn started(&self, index: &Index, event: u32, done: &[u32]) -> bool {
        index.position[event as usize] > 0
            || (0..index.thread_count())
                .all(|thread| done[thread] >= index.needed_before(event, thread))
    }
}
