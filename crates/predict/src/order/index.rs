//! What the ladder looks up about a trace, computed once in one pass.
//!
//! The *clock* of an event says, per thread, how many events must have happened before it in every
//! correct reordering: program order, fork and join, and each read after the write it saw. Locks
//! are left out, because their order is what a reordering may change. Few events change their
//! thread's clock, so clocks are rows shared by all events in between; an event's own thread is
//! never read from its row but from its position.

use racewarden_trace::{Event, Kind, OrderTrace};
use rustc_hash::FxHashMap;

/// No event: the initial value of a variable, an acquisition that is never released.
pub const NONE: u32 = u32::MAX;

/// All acquisitions of one lock by one thread, in order.
pub struct LockUse {
    pub thread: u32,
    pub acquires: Vec<u32>,
}

pub struct Index<'t> {
    pub trace: &'t OrderTrace,
    /// The events of each thread, in order.
    pub threads: Vec<Vec<u32>>,
    /// An event's place among its thread's events.
    pub position: Vec<u32>,
    /// For a read the write it saw, for an acquire its release, for a release its acquire.
    pub partner: Vec<u32>,
    pub lock_uses: Vec<Vec<LockUse>>,
    row_of: Vec<u32>,
    start_row: Vec<u32>,
    rows: Vec<u32>,
    held_after: Vec<u32>,
    held_sets: Vec<Box<[u32]>>,
}

impl<'t> Index<'t> {
    pub fn new(trace: &'t OrderTrace) -> Self {
        let mut builder = Builder::new(trace);
        for (number, event) in trace.events.iter().enumerate() {
            builder.event(number as u32, event);
        }
        builder.index
    }

    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    pub fn event(&self, event: u32) -> &Event {
        &self.trace.events[event as usize]
    }

    pub fn thread_of(&self, event: u32) -> usize {
        self.event(event).thread.index()
    }

    /// The row of everything that must happen before `event`, without its own thread.
    pub fn row_before(&self, event: u32) -> u32 {
        let thread = self.thread_of(event);
        match self.position[event as usize] {
            0 => self.start_row[thread],
            position => self.row_of[self.threads[thread][position as usize - 1] as usize],
        }
    }

    fn row(&self, row: u32) -> &[u32] {
        let width = self.threads.len();
        &self.rows[row as usize * width..][..width]
    }

    /// How many events of `thread` must happen before `event` can.
    pub fn needed_before(&self, event: u32, thread: usize) -> u32 {
        self.row(self.row_before(event))[thread]
    }

    /// Whether `first` happens before `second` in every correct reordering in which both happen.
    pub fn must_precede(&self, first: u32, second: u32) -> bool {
        self.needed_before(second, self.thread_of(first)) > self.position[first as usize]
    }

    /// The acquisitions whose locks the event's thread holds after it.
    pub fn held_after(&self, event: u32) -> &[u32] {
        &self.held_sets[self.held_after[event as usize] as usize]
    }

    /// Equal numbers mean the same acquisitions are held.
    pub fn held_number(&self, event: u32) -> u32 {
        self.held_after[event as usize]
    }

    /// Adds `event` and all it needs to `prefix` (a number of events per thread).
    pub fn include(&self, prefix: &mut [u32], event: u32) {
        let own = self.thread_of(event);
        let wanted = self.position[event as usize] + 1;
        if prefix[own] >= wanted {
            return;
        }
        join(prefix, self.row(self.row_of[event as usize]), own);
        prefix[own] = wanted;
    }

    /// Adds what must happen before `event` to `prefix`.
    pub fn include_before(&self, prefix: &mut [u32], event: u32) {
        let own = self.thread_of(event);
        join(prefix, self.row(self.row_before(event)), own);
        prefix[own] = prefix[own].max(self.position[event as usize]);
    }

    /// Whether the first `done` events of each other thread cover all that `event` needs.
    pub fn needs_are_met(&self, event: u32, done: &[u32]) -> bool {
        let own = self.thread_of(event);
        let row = self.row(self.row_of[event as usize]);
        (0..done.len()).all(|thread| thread == own || done[thread] >= row[thread])
    }

    /// Whether two acquisitions of one lock exclude each other.
    pub fn exclusive(&self, a: u32, b: u32) -> bool {
        self.event(a).kind == Kind::Acquire || self.event(b).kind == Kind::Acquire
    }
}

fn join(into: &mut [u32], from: &[u32], except: usize) {
    let own = into[except];
    for (to, from) in into.iter_mut().zip(from) {
        *to = (*to).max(*from);
    }
    into[except] = own;
}

struct Builder<'t> {
    index: Index<'t>,
    current_row: Vec<u32>,
    last_write: Vec<u32>,
    /// Open acquisitions per thread.
    open: Vec<Vec<u32>>,
    held_number: Vec<u32>,
    held_ids: FxHashMap<Box<[u32]>, u32>,
    tokens: FxHashMap<u32, Vec<u32>>,
    lock_use_of: FxHashMap<(u32, u32), usize>,
}

impl<'t> Builder<'t> {
    fn new(trace: &'t OrderTrace) -> Self {
        let (events, threads) = (trace.events.len(), trace.threads.len());
        let index = Index {
            trace,
            threads: vec![Vec::new(); threads],
            position: Vec::with_capacity(events),
            partner: vec![NONE; events],
            lock_uses: (0..trace.locks.len()).map(|_| Vec::new()).collect(),
            row_of: Vec::with_capacity(events),
            start_row: vec![0; threads],
            rows: vec![0; threads],
            held_after: Vec::with_capacity(events),
            held_sets: vec![Box::default()],
        };
        Builder {
            index,
            current_row: vec![0; threads],
            last_write: vec![NONE; trace.variables.len()],
            open: vec![Vec::new(); threads],
            held_number: vec![0; threads],
            held_ids: FxHashMap::from_iter([(Box::default(), 0)]),
            tokens: FxHashMap::default(),
            lock_use_of: FxHashMap::default(),
        }
    }

    fn event(&mut self, number: u32, event: &Event) {
        let thread = event.thread.index();
        self.index.position.push(self.index.threads[thread].len() as u32);
        self.index.threads[thread].push(number);
        match event.kind {
            Kind::Read | Kind::AtomicRead => {
                let write = self.last_write[event.object as usize];
                self.index.partner[number as usize] = write;
                if write != NONE && self.index.thread_of(write) != thread {
                    self.wait_for(thread, write);
                }
            }
            Kind::Write | Kind::AtomicWrite => self.last_write[event.object as usize] = number,
            Kind::Acquire | Kind::AcquireShared => self.acquire(number, event),
            Kind::Release | Kind::ReleaseShared => self.release(number, event),
            Kind::Fork => {
                let row = self.joined_row(self.current_row[thread], number, event.object as usize);
                self.index.start_row[event.object as usize] = row;
                self.current_row[event.object as usize] = row;
            }
            Kind::Join => {
                if let Some(&last) = self.index.threads[event.object as usize].last() {
                    self.wait_for(thread, last);
                }
            }
            Kind::Notify => self.tokens.entry(event.object).or_default().push(number),
            Kind::Await => {
                for notify in self.tokens.get(&event.object).cloned().unwrap_or_default() {
                    if self.index.thread_of(notify) != thread {
                        self.wait_for(thread, notify);
                    }
                }
            }
            Kind::Begin | Kind::End => {}
        }
        self.index.row_of.push(self.current_row[thread]);
        self.index.held_after.push(self.held_number[thread]);
    }

    /// Makes everything later in `thread` need `event`.
    fn wait_for(&mut self, thread: usize, event: u32) {
        let current = self.current_row[thread];
        let needed = self.index.position[event as usize] + 1;
        if self.index.row(current)[self.index.thread_of(event)] < needed {
            self.current_row[thread] = self.joined_row(current, event, thread);
        }
    }

    /// A new row for `reader`: `base` and everything up to and including `event`.
    fn joined_row(&mut self, base: u32, event: u32, reader: usize) -> u32 {
        let width = self.index.threads.len();
        let other = self.current_row_of(event);
        let number = (self.index.rows.len() / width) as u32;
        let start = self.index.rows.len();
        self.index.rows.extend_from_within(base as usize * width..(base as usize + 1) * width);
        for column in 0..width {
            let value = self.index.rows[other as usize * width + column];
            let cell = &mut self.index.rows[start + column];
            *cell = (*cell).max(value);
        }
        let writer = self.index.thread_of(event);
        self.index.rows[start + writer] = self.index.position[event as usize] + 1;
        self.index.rows[start + reader] = 0;
        number
    }

    fn current_row_of(&self, event: u32) -> u32 {
        match self.index.row_of.get(event as usize) {
            Some(row) => *row,
            None => self.current_row[self.index.thread_of(event)],
        }
    }

    fn acquire(&mut self, number: u32, event: &Event) {
        let uses = &mut self.index.lock_uses[event.object as usize];
        let slot = *self.lock_use_of.entry((event.object, event.thread.0)).or_insert_with(|| {
            uses.push(LockUse { thread: event.thread.0, acquires: Vec::new() });
            uses.len() - 1
        });
        uses[slot].acquires.push(number);
        self.open[event.thread.index()].push(number);
        self.renumber_held(event.thread.index());
    }

    fn release(&mut self, number: u32, event: &Event) {
        let thread = event.thread.index();
        let events = &self.index.trace.events;
        let open = &mut self.open[thread];
        if let Some(at) = open.iter().rposition(|a| events[*a as usize].object == event.object) {
            let acquire = open.remove(at);
            self.index.partner[acquire as usize] = number;
            self.index.partner[number as usize] = acquire;
        }
        self.renumber_held(thread);
    }

    fn renumber_held(&mut self, thread: usize) {
        let set: Box<[u32]> = self.open[thread].as_slice().into();
        let next = self.index.held_sets.len() as u32;
        let sets = &mut self.index.held_sets;
        self.held_number[thread] = *self.held_ids.entry(set).or_insert_with_key(|set| {
            sets.push(set.clone());
            next
        });
    }
}
