//! A naive detector: an explicit graph of events, reachability by search, sets of accesses.
//!
//! Nothing here shares code or ideas with the engine: no clocks, no epochs, no dropping of
//! accesses. Atomics are judged by the modification order written out.

use std::collections::{BTreeMap, BTreeSet};

use racewarden_detector::{Kind, Mode, Order};

/// A write to an atomic object, in modification order.
struct AtomicWrite {
    event: usize,
    thread: u32,
    update: bool,
    order: Order,
    /// The thread's last release fence before it.
    fence: Option<usize>,
}

struct PastAccess {
    event: usize,
    bytes: BTreeSet<u64>,
    kind: Kind,
}

#[derive(Default)]
struct Thread {
    last: Option<usize>,
    release_fence: Option<usize>,
    /// Events that the next acquire fence will be ordered after.
    pending: Vec<usize>,
}

/// Edges into each event, for the two relations.
#[derive(Default)]
pub struct Reference {
    full: Vec<Vec<usize>>,
    hybrid: Vec<Vec<usize>>,
    threads: BTreeMap<u32, Thread>,
    unlocks: BTreeMap<u64, Vec<(usize, Mode)>>,
    releases: BTreeMap<u64, Vec<usize>>,
    arrivals: BTreeMap<(u64, u64), Vec<usize>>,
    atomics: BTreeMap<u64, Vec<AtomicWrite>>,
    accesses: Vec<PastAccess>,
}

impl Reference {
    /// A new event of a thread, ordered after the thread's previous one.
    fn event(&mut self, thread: u32) -> usize {
        let event = self.full.len();
        let thread = self.threads.entry(thread).or_default();
        let before: Vec<usize> = thread.last.into_iter().collect();
        thread.last = Some(event);
        self.full.push(before.clone());
        self.hybrid.push(before);
        event
    }

    fn edge(&mut self, from: usize, to: usize) {
        self.full[to].push(from);
        self.hybrid[to].push(from);
    }

    fn reaches(edges: &[Vec<usize>], from: usize, to: usize) -> bool {
        let mut seen = BTreeSet::new();
        let mut work = vec![to];
        while let Some(event) = work.pop() {
            if event == from {
                return true;
            }
            if event > from && seen.insert(event) {
                work.extend(&edges[event]);
            }
        }
        false
    }

    pub fn ordered(&self, from: usize, to: usize) -> bool {
        Self::reaches(&self.full, from, to)
    }

    pub fn ordered_hybrid(&self, from: usize, to: usize) -> bool {
        Self::reaches(&self.hybrid, from, to)
    }

    pub fn fork(&mut self, parent: u32, child: u32) {
        let fork = self.event(parent);
        let begin = self.event(child);
        self.edge(fork, begin);
    }

    pub fn join(&mut self, thread: u32, ended: u32) {
        let join = self.event(thread);
        if let Some(last) = self.threads.get(&ended).and_then(|t| t.last) {
            self.edge(last, join);
        }
    }

    pub fn lock(&mut self, thread: u32, lock: u64, mode: Mode) {
        let event = self.event(thread);
        for (unlock, unlocked) in self.unlocks.get(&lock).into_iter().flatten() {
            if mode == Mode::Write || *unlocked == Mode::Write {
                self.full[event].push(*unlock);
            }
        }
    }

    pub fn unlock(&mut self, thread: u32, lock: u64, mode: Mode) {
        let event = self.event(thread);
        self.unlocks.entry(lock).or_default().push((event, mode));
    }

    pub fn release(&mut self, thread: u32, object: u64) {
        let event = self.event(thread);
        self.releases.entry(object).or_default().push(event);
    }

    pub fn acquire(&mut self, thread: u32, object: u64) {
        let event = self.event(thread);
        for release in self.releases.get(&object).cloned().unwrap_or_default() {
            self.edge(release, event);
        }
    }

    pub fn barrier_arrive(&mut self, thread: u32, barrier: u64, phase: u64) {
        let event = self.event(thread);
        self.arrivals.entry((barrier, phase)).or_default().push(event);
    }

    pub fn barrier_leave(&mut self, thread: u32, barrier: u64, phase: u64) {
        let event = self.event(thread);
        for arrival in self.arrivals.get(&(barrier, phase)).cloned().unwrap_or_default() {
            self.edge(arrival, event);
        }
    }

    /// The release operations and fences whose sequences the present value belongs to.
    fn synchronizing(&self, object: u64) -> Vec<usize> {
        let writes = self.atomics.get(&object).map_or(&[][..], Vec::as_slice);
        let mut found = Vec::new();
        for (position, head) in writes.iter().enumerate() {
            let continued =
                writes[position + 1..].iter().all(|w| w.update || w.thread == head.thread);
            if continued {
                let source = if head.order.releases() { Some(head.event) } else { head.fence };
                found.extend(source);
            }
        }
        found
    }

    fn read_part(&mut self, thread: u32, object: u64, order: Order, event: usize) {
        for source in self.synchronizing(object) {
            if order.acquires() {
                self.edge(source, event);
            } else {
                self.threads.entry(thread).or_default().pending.push(source);
            }
        }
    }

    fn write_part(&mut self, thread: u32, object: u64, order: Order, event: usize, update: bool) {
        let fence = self.threads.entry(thread).or_default().release_fence;
        let write = AtomicWrite { event, thread, update, order, fence };
        self.atomics.entry(object).or_default().push(write);
    }

    /// Returns what an access as `kind` of the object's first four bytes races with.
    pub fn atomic(
        &mut self,
        thread: u32,
        object: u64,
        order: Order,
        kind: Atomic,
    ) -> (usize, BTreeSet<u64>) {
        let event = self.event(thread);
        if kind != Atomic::Store {
            self.read_part(thread, object, order, event);
        }
        if kind != Atomic::Load {
            self.write_part(thread, object, order, event, kind == Atomic::Update);
        }
        let access = if kind == Atomic::Load { Kind::ATOMIC_READ } else { Kind::ATOMIC_WRITE };
        (event, self.check(event, object, 4, access))
    }

    pub fn fence(&mut self, thread: u32, order: Order) {
        let event = self.event(thread);
        let state = self.threads.entry(thread).or_default();
        let pending = if order.acquires() { std::mem::take(&mut state.pending) } else { vec![] };
        if order.releases() {
            state.release_fence = Some(event);
        }
        for source in pending {
            self.edge(source, event);
        }
    }

    /// Returns the event and the bytes that race with something earlier.
    pub fn access(
        &mut self,
        thread: u32,
        at: u64,
        size: u32,
        kind: Kind,
    ) -> (usize, BTreeSet<u64>) {
        let event = self.event(thread);
        (event, self.check(event, at, size, kind))
    }

    fn check(&mut self, event: usize, at: u64, size: u32, kind: Kind) -> BTreeSet<u64> {
        let bytes: BTreeSet<u64> = (at..at + u64::from(size)).collect();
        let mut racing = BTreeSet::new();
        for past in &self.accesses {
            let conflict = (past.kind.write || kind.write) && !(past.kind.atomic && kind.atomic);
            if conflict && !self.ordered(past.event, event) {
                racing.extend(past.bytes.intersection(&bytes));
            }
        }
        self.accesses.push(PastAccess { event, bytes, kind });
        racing
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Atomic {
    Load,
    Store,
    Update,
}
