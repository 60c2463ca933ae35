//! The graph test: every order that the known ones force.
//!
//! Rules, applied until nothing new follows (clocks over the nodes answer "is before"):
//! - a read sees its write: another write before the read comes before that write; another write
//!   after that write comes after the read;
//! - two sections of one lock exclude each other: if one starts before the other ends, it also ends
//!   before the other starts;
//! - a section that stays open is the last one of its lock, so one that is known to come before
//!   another must be closed, which makes the cone grow.
//!
//! A cycle shows that no reordering of the cone exists.

use std::time::Instant;

use super::index::NONE;
use super::problem::{Problem, Section};
use racewarden_trace::Kind;

pub enum Saturation {
    /// The orders contradict each other.
    Cycle,
    /// These acquisitions (events) must be released inside the cone.
    Grow(Vec<u32>),
    /// Nothing more follows.
    Stable,
    /// The time is over.
    Late,
}

/// For each node and thread, how many nodes of the thread are before it or are it.
pub struct Clocks {
    width: usize,
    column: Vec<u32>,
    cells: Vec<u32>,
}

impl Clocks {
    /// How many nodes of `thread` come before `node`, counting the node itself.
    pub fn count(&self, node: u32, thread: usize) -> u32 {
        match self.column[thread] {
            NONE => 0,
            column => self.cells[node as usize * self.width + column as usize],
        }
    }

    /// Whether `a` is known to come before `b`.
    pub fn before(&self, problem: &Problem, a: u32, b: u32) -> bool {
        a != b && self.count(b, problem.thread_of(a)) > problem.place[a as usize]
    }
}

pub fn saturate(problem: &mut Problem, end: Instant) -> Saturation {
    loop {
        if Instant::now() > end {
            return Saturation::Late;
        }
        let Some(clocks) = clocks(problem) else { return Saturation::Cycle };
        let mut found = Found { problem, clocks: &clocks, edges: Vec::new(), grow: Vec::new() };
        if !found.apply() {
            return Saturation::Cycle;
        }
        let Found { edges, mut grow, .. } = found;
        if !grow.is_empty() {
            grow.sort_unstable();
            grow.dedup();
            return Saturation::Grow(grow);
        }
        if edges.is_empty() {
            return Saturation::Stable;
        }
        problem.edges.extend(edges);
    }
}

/// `None` when the orders have a cycle.
pub fn clocks(problem: &Problem) -> Option<Clocks> {
    let nodes = problem.nodes.len();
    let mut column = vec![NONE; problem.thread_nodes.len()];
    let mut width = 0;
    for (thread, list) in problem.thread_nodes.iter().enumerate() {
        if !list.is_empty() {
            column[thread] = width as u32;
            width += 1;
        }
    }
    let mut incoming = vec![0u32; nodes];
    let mut heads = vec![NONE; nodes];
    let mut next = vec![NONE; problem.edges.len()];
    for (number, &(from, to)) in problem.edges.iter().enumerate() {
        incoming[to as usize] += 1;
        next[number] = heads[from as usize];
        heads[from as usize] = number as u32;
    }
    for list in &problem.thread_nodes {
        for &node in list.iter().skip(1) {
            incoming[node as usize] += 1;
        }
    }
    let mut clocks = Clocks { width, column, cells: vec![0; nodes * width] };
    let mut ready: Vec<u32> =
        (0..nodes as u32).filter(|&node| incoming[node as usize] == 0).collect();
    let mut done = 0;
    while let Some(node) = ready.pop() {
        done += 1;
        let thread = problem.thread_of(node);
        let own = clocks.column[thread] as usize;
        clocks.cells[node as usize * width + own] = problem.place[node as usize] + 1;
        let follower = problem.thread_nodes[thread].get(problem.place[node as usize] as usize + 1);
        let mut edge = heads[node as usize];
        let targets = std::iter::from_fn(|| {
            let number = edge;
            (number != NONE).then(|| {
                edge = next[number as usize];
                problem.edges[number as usize].1
            })
        });
        for target in follower.copied().into_iter().chain(targets) {
            let (from, to) = (node as usize * width, target as usize * width);
            for column in 0..width {
                let value = clocks.cells[from + column];
                let cell = &mut clocks.cells[to + column];
                *cell = (*cell).max(value);
            }
            incoming[target as usize] -= 1;
            if incoming[target as usize] == 0 {
                ready.push(target);
            }
        }
    }
    (done == nodes).then_some(clocks)
}

struct Found<'a, 'i, 't> {
    problem: &'a Problem<'i, 't>,
    clocks: &'a Clocks,
    edges: Vec<(u32, u32)>,
    grow: Vec<u32>,
}

impl Found<'_, '_, '_> {
    /// Applies every rule once; false when a rule contradicts itself.
    fn apply(&mut self) -> bool {
        let problem = self.problem;
        for variable in &problem.variables {
            for &(read, write) in &variable.reads {
                for (thread, writes) in &variable.writes {
                    if !self.read_rule(read, write, *thread as usize, writes) {
                        return false;
                    }
                }
            }
        }
        for sections in &problem.locks {
            if sections.iter().all(|section| problem.kind_of(section.acquire) == Kind::Acquire) {
                self.exclusive_sections(sections);
                continue;
            }
            for (place, &section) in sections.iter().enumerate() {
                self.section_rule(section, sections, place);
            }
        }
        true
    }

    fn require(&mut self, before: u32, after: u32) {
        if !self.clocks.before(self.problem, before, after) {
            self.edges.push((before, after));
        }
    }

    fn read_rule(&mut self, read: u32, write: Option<u32>, thread: usize, writes: &[u32]) -> bool {
        let place = |node: u32| self.problem.place[node as usize];
        let earlier = self.clocks.count(read, thread);
        let latest = writes.partition_point(|&other| place(other) < earlier).checked_sub(1);
        let next = match write {
            None => 0,
            Some(write) => {
                let (own, at) = (self.problem.thread_of(write), place(write));
                writes
                    .partition_point(|&other| other == write || self.clocks.count(other, own) <= at)
            }
        };
        if let Some(latest) = latest.map(|latest| writes[latest]) {
            match write {
                None => return false,
                Some(write) if write != latest => self.require(latest, write),
                Some(_) => {}
            }
        }
        if let Some(&next) = writes.get(next) {
            self.require(read, next);
        }
        true
    }

    /// The rule of sections for a lock that nobody shares. The sections of a thread are a run of the
    /// list, and what holds of one of them towards another thread's section holds of all before it
    /// (or after it), so the last one is found by halving.
    fn exclusive_sections(&mut self, sections: &[Section]) {
        let problem = self.problem;
        let runs: Vec<&[Section]> = sections.chunk_by(|a, b| a.thread == b.thread).collect();
        for section in sections {
            for run in runs.iter().filter(|run| run[0].thread != section.thread) {
                let Some(release) = section.release else {
                    let last = run[run.len() - 1];
                    let end = last.release.unwrap_or(last.acquire);
                    if self.clocks.before(problem, section.acquire, end) {
                        self.grow.push(problem.nodes[section.acquire as usize]);
                    }
                    continue;
                };
                let started = run
                    .partition_point(|other| self.clocks.before(problem, other.acquire, release));
                let Some(last) = started.checked_sub(1).map(|last| run[last]) else { continue };
                match last.release {
                    Some(release) => self.require(release, section.acquire),
                    None => self.grow.push(problem.nodes[last.acquire as usize]),
                }
            }
        }
    }

    /// The same where some only read.
    fn section_rule(&mut self, section: Section, sections: &[Section], place: usize) {
        let problem = self.problem;
        let conflicts = |other: &Section| {
            other.thread != section.thread
                && problem.index.exclusive(
                    problem.nodes[section.acquire as usize],
                    problem.nodes[other.acquire as usize],
                )
        };
        // Sections of one thread are neighbours in the list, so the last one that matters of each
        // thread implies the rest.
        for (at, other) in sections.iter().enumerate() {
            if at == place || !conflicts(other) {
                continue;
            }
            let starts_before_end = match section.release {
                Some(release) => self.clocks.before(problem, other.acquire, release),
                None => false,
            };
            if starts_before_end {
                let implied = sections.get(at + 1).is_some_and(|next| {
                    next.thread == other.thread
                        && conflicts(next)
                        && section.release.is_some_and(|release| {
                            self.clocks.before(problem, next.acquire, release)
                        })
                });
                if implied {
                    continue;
                }
                match other.release {
                    Some(release) => self.require(release, section.acquire),
                    None => self.grow.push(problem.nodes[other.acquire as usize]),
                }
            }
            if section.release.is_none()
                && self.clocks.before(
                    problem,
                    section.acquire,
                    other.release.unwrap_or(other.acquire),
                )
            {
                self.grow.push(problem.nodes[section.acquire as usize]);
            }
        }
    }
}
