//! The ordering problem of one cone: the events whose order is not free, and what is known of it.
//!
//! Only events that can constrain another thread become nodes: operations of locks that several
//! threads use, accesses of variables that are written and that several threads touch, and
//! fork/join and their like. Everything else follows its thread.

use rustc_hash::FxHashMap;

use super::cone::Candidate;
use super::index::{Index, NONE};
use racewarden_trace::Kind;

/// A critical section inside the cone, by node.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    pub thread: u32,
    pub acquire: u32,
    /// `None` while the cone does not contain the release.
    pub release: Option<u32>,
}

/// The accesses of one variable inside the cone, by node.
#[derive(Debug, Default)]
pub struct Variable {
    /// Writes per thread, in order.
    pub writes: Vec<(u32, Vec<u32>)>,
    /// Each read with the write it must see; `None` for the initial value.
    pub reads: Vec<(u32, Option<u32>)>,
}

pub struct Problem<'i, 't> {
    pub index: &'i Index<'t>,
    pub candidate: Candidate,
    /// The events of the cone, per thread.
    pub prefix: Vec<u32>,
    /// The event of each node; nodes of a thread are in order.
    pub nodes: Vec<u32>,
    /// The nodes of each thread.
    pub thread_nodes: Vec<Vec<u32>>,
    /// A node's place among its thread's nodes.
    pub place: Vec<u32>,
    /// Edges beyond program order, as (before, after).
    pub edges: Vec<(u32, u32)>,
    pub locks: Vec<Vec<Section>>,
    pub variables: Vec<Variable>,
}

impl<'i, 't> Problem<'i, 't> {
    pub fn new(index: &'i Index<'t>, candidate: Candidate, prefix: Vec<u32>) -> Self {
        let mut problem = Problem {
            index,
            candidate,
            prefix,
            nodes: Vec::new(),
            thread_nodes: vec![Vec::new(); index.thread_count()],
            place: Vec::new(),
            edges: Vec::new(),
            locks: Vec::new(),
            variables: Vec::new(),
        };
        let contended = problem.contended();
        let node_of = problem.make_nodes(&contended);
        problem.make_structure(&node_of);
        problem
    }

    pub fn thread_of(&self, node: u32) -> usize {
        self.index.thread_of(self.nodes[node as usize])
    }

    pub fn kind_of(&self, node: u32) -> Kind {
        self.index.event(self.nodes[node as usize]).kind
    }

    fn events(&self) -> impl Iterator<Item = u32> + '_ {
        self.prefix
            .iter()
            .zip(&self.index.threads)
            .flat_map(|(&count, events)| events[..count as usize].iter().copied())
    }

    fn contended(&self) -> Contended {
        let mut contended = Contended::default();
        for event in self.events() {
            let thread = self.index.thread_of(event) as u32;
            let event = self.index.event(event);
            match event.kind {
                kind if kind.reads() || kind.writes() => {
                    contended.variables.entry(event.object).or_default().add(thread, kind.writes());
                }
                kind if kind.acquires() => {
                    contended.locks.entry(event.object).or_default().add(thread, true);
                }
                _ => {}
            }
        }
        contended
    }

    fn make_nodes(&mut self, contended: &Contended) -> FxHashMap<u32, u32> {
        let mut node_of = FxHashMap::default();
        for thread in 0..self.index.thread_count() {
            for &number in &self.index.threads[thread][..self.prefix[thread] as usize] {
                let event = self.index.event(number);
                let relevant = match event.kind {
                    kind if kind.reads() || kind.writes() => {
                        contended.variables[&event.object].is_contended()
                    }
                    // A lock whose acquisition the trace never shows is in no table.
                    kind if kind.acquires() || kind.releases() => {
                        contended.locks.get(&event.object).is_some_and(Users::is_contended)
                    }
                    Kind::Begin | Kind::End => false,
                    _ => true,
                };
                if relevant {
                    let node = self.nodes.len() as u32;
                    node_of.insert(number, node);
                    self.nodes.push(number);
                    self.place.push(self.thread_nodes[thread].len() as u32);
                    self.thread_nodes[thread].push(node);
                }
            }
        }
        node_of
    }

    fn make_structure(&mut self, node_of: &FxHashMap<u32, u32>) {
        let mut lock_slots = FxHashMap::default();
        let mut variable_slots = FxHashMap::default();
        let mut notifies: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for node in 0..self.nodes.len() as u32 {
            let number = self.nodes[node as usize];
            let event = *self.index.event(number);
            match event.kind {
                Kind::Acquire | Kind::AcquireShared => {
                    let release = match self.index.partner[number as usize] {
                        NONE => None,
                        release => node_of.get(&release).copied(),
                    };
                    let section = Section { thread: event.thread.0, acquire: node, release };
                    slot(&mut self.locks, &mut lock_slots, event.object).push(section);
                }
                Kind::Write | Kind::AtomicWrite => {
                    let variable = slot(&mut self.variables, &mut variable_slots, event.object);
                    match variable.writes.last_mut() {
                        Some((thread, writes)) if *thread == event.thread.0 => writes.push(node),
                        _ => variable.writes.push((event.thread.0, vec![node])),
                    }
                }
                Kind::Read | Kind::AtomicRead => {
                    let write = match self.index.partner[number as usize] {
                        NONE => None,
                        write => Some(node_of[&write]),
                    };
                    if let Some(write) = write {
                        self.edges.push((write, node));
                    }
                    slot(&mut self.variables, &mut variable_slots, event.object)
                        .reads
                        .push((node, write));
                }
                Kind::Fork => {
                    if let Some(&first) = self.thread_nodes[event.object as usize].first() {
                        self.edges.push((node, first));
                    }
                }
                Kind::Join => {
                    if let Some(&last) = self.thread_nodes[event.object as usize].last() {
                        self.edges.push((last, node));
                    }
                }
                Kind::Notify => notifies.entry(event.object).or_default().push(node),
                _ => {}
            }
        }
        self.token_edges(&notifies);
    }

    fn token_edges(&mut self, notifies: &FxHashMap<u32, Vec<u32>>) {
        for node in 0..self.nodes.len() as u32 {
            let number = self.nodes[node as usize];
            let event = self.index.event(number);
            if event.kind != Kind::Await {
                continue;
            }
            for &notify in notifies.get(&event.object).into_iter().flatten() {
                if self.nodes[notify as usize] < number {
                    self.edges.push((notify, node));
                }
            }
        }
    }
}

fn slot<'a, T: Default>(
    items: &'a mut Vec<T>,
    slots: &mut FxHashMap<u32, usize>,
    object: u32,
) -> &'a mut T {
    let slot = slots.entry(object).or_insert(usize::MAX);
    if *slot == usize::MAX {
        *slot = items.len();
        items.push(T::default());
    }
    &mut items[*slot]
}

/// Which threads use an object.
#[derive(Default)]
struct Users {
    first: Option<u32>,
    several: bool,
    written: bool,
}

impl Users {
    fn add(&mut self, thread: u32, writes: bool) {
        self.several |= self.first.is_some_and(|first| first != thread);
        self.first.get_or_insert(thread);
        self.written |= writes;
    }

    fn is_contended(&self) -> bool {
        self.several && self.written
    }
}

#[derive(Default)]
struct Contended {
    variables: FxHashMap<u32, Users>,
    locks: FxHashMap<u32, Users>,
}
