//! A linear order of a cone by simulation: always the event that came first in the trace among
//! those that may go next. Fails where a choice leads into a dead end; then the solver decides.

use super::index::NONE;
use super::problem::Problem;
use racewarden_trace::Kind;

/// The nodes in an order that respects every edge, lock and read, or `None`.
pub fn linearize(problem: &Problem) -> Option<Vec<u32>> {
    let mut state = State::new(problem);
    let mut order = Vec::with_capacity(problem.nodes.len());
    let mut cursor = vec![0usize; problem.thread_nodes.len()];
    let threads: Vec<usize> = (0..problem.thread_nodes.len())
        .filter(|&thread| !problem.thread_nodes[thread].is_empty())
        .collect();
    while order.len() < problem.nodes.len() {
        let next = threads
            .iter()
            .filter_map(|&thread| {
                let node = *problem.thread_nodes[thread].get(cursor[thread])?;
                state.enabled(node).then_some((problem.nodes[node as usize], node, thread))
            })
            .min()?;
        state.execute(next.1);
        cursor[next.2] += 1;
        order.push(next.1);
    }
    Some(order)
}

struct State<'p, 'i, 't> {
    problem: &'p Problem<'i, 't>,
    /// Edges into each node that are still to be met.
    waiting: Vec<u32>,
    successors: Vec<Vec<u32>>,
    variable_of: Vec<u32>,
    lock_of: Vec<u32>,
    /// Per variable: the write that a read would see now, and how many reads still need it.
    current: Vec<Option<u32>>,
    pending: Vec<u32>,
    readers: Vec<u32>,
    expected: Vec<Option<u32>>,
    /// Per lock: holders now, whether one holds it alone, and the sections that
    /// are not finished: those that hold it alone, and all.
    holders: Vec<(u32, bool)>,
    unfinished: Vec<(u32, u32)>,
    stays_open: Vec<bool>,
}

impl<'p, 'i, 't> State<'p, 'i, 't> {
    fn new(problem: &'p Problem<'i, 't>) -> Self {
        let nodes = problem.nodes.len();
        let mut state = State {
            problem,
            waiting: vec![0; nodes],
            successors: vec![Vec::new(); nodes],
            variable_of: vec![NONE; nodes],
            lock_of: vec![NONE; nodes],
            current: vec![None; problem.variables.len()],
            pending: vec![0; problem.variables.len()],
            readers: vec![0; nodes],
            expected: vec![None; nodes],
            holders: vec![(0, false); problem.locks.len()],
            unfinished: vec![(0, 0); problem.locks.len()],
            stays_open: vec![false; nodes],
        };
        for &(from, to) in &problem.edges {
            state.successors[from as usize].push(to);
            state.waiting[to as usize] += 1;
        }
        for (number, variable) in problem.variables.iter().enumerate() {
            for &write in variable.writes.iter().flat_map(|(_, writes)| writes) {
                state.variable_of[write as usize] = number as u32;
            }
            for &(read, write) in &variable.reads {
                state.variable_of[read as usize] = number as u32;
                state.expected[read as usize] = write;
                match write {
                    Some(write) => state.readers[write as usize] += 1,
                    None => state.pending[number] += 1,
                }
            }
        }
        for (number, sections) in problem.locks.iter().enumerate() {
            for section in sections {
                state.lock_of[section.acquire as usize] = number as u32;
                match section.release {
                    Some(release) => state.lock_of[release as usize] = number as u32,
                    None => state.stays_open[section.acquire as usize] = true,
                }
                let (alone, all) = &mut state.unfinished[number];
                *alone += u32::from(problem.kind_of(section.acquire) == Kind::Acquire);
                *all += 1;
            }
        }
        state
    }

    fn enabled(&self, node: u32) -> bool {
        let at = node as usize;
        if self.waiting[at] != 0 {
            return false;
        }
        match self.problem.kind_of(node) {
            Kind::Read | Kind::AtomicRead => {
                self.current[self.variable_of[at] as usize] == self.expected[at]
            }
            Kind::Write | Kind::AtomicWrite => self.pending[self.variable_of[at] as usize] == 0,
            Kind::Acquire => {
                let lock = self.lock_of[at] as usize;
                self.holders[lock].0 == 0 && (!self.stays_open[at] || self.unfinished[lock].1 == 1)
            }
            Kind::AcquireShared => {
                let lock = self.lock_of[at] as usize;
                !self.holders[lock].1 && (!self.stays_open[at] || self.unfinished[lock].0 == 0)
            }
            _ => true,
        }
    }

    fn execute(&mut self, node: u32) {
        let at = node as usize;
        match self.problem.kind_of(node) {
            Kind::Read | Kind::AtomicRead => self.pending[self.variable_of[at] as usize] -= 1,
            Kind::Write | Kind::AtomicWrite => {
                let variable = self.variable_of[at] as usize;
                self.current[variable] = Some(node);
                self.pending[variable] = self.readers[at];
            }
            Kind::Acquire | Kind::AcquireShared => {
                let alone = self.problem.kind_of(node) == Kind::Acquire;
                let (count, exclusive) = &mut self.holders[self.lock_of[at] as usize];
                (*count, *exclusive) = (*count + 1, alone);
            }
            // A release whose acquire is outside every table guards nothing here.
            Kind::Release | Kind::ReleaseShared if self.lock_of[at] != NONE => {
                let lock = self.lock_of[at] as usize;
                let (count, exclusive) = &mut self.holders[lock];
                (*count, *exclusive) = (*count - 1, false);
                let (alone, all) = &mut self.unfinished[lock];
                *alone -= u32::from(self.problem.kind_of(node) == Kind::Release);
                *all -= 1;
            }
            _ => {}
        }
        for successor in std::mem::take(&mut self.successors[at]) {
            self.waiting[successor as usize] -= 1;
        }
    }
}
