//! A candidate looked at from a cut on: everything before it happens as observed, which is a prefix
//! of the real run, and only the events after it are reordered.
//!
//! The part after the cut is a trace of its own, so the whole ladder works on it: locks that are
//! held at the cut are taken by events at its start that everything else waits for, and a read of a
//! write before the cut reads an initial value. A race that is found so is one of the whole trace.
//! That none is found says nothing; then the whole cone is looked at.

use racewarden_trace::{Event, Kind, OrderTrace};
use rustc_hash::FxHashMap;

use super::cone::Candidate;
use super::index::{Index, NONE};
use super::witness::{self, Witness};

/// How far beyond the later access the part goes, so that sections can be closed.
const AHEAD: u32 = 2_000;
/// Accesses further apart than this are not near each other.
const MOST_APART: u32 = 50_000;

/// The events of a trace from a cut on.
pub struct Part {
    trace: OrderTrace,
    /// The event of the whole trace, per event of the part; `NONE` for those at its start.
    whole: Vec<u32>,
    cut: u32,
    candidate: Candidate,
}

impl Part {
    /// The part that starts `look_back` events before the earlier access.
    pub fn new(index: &Index, candidate: Candidate, look_back: u32) -> Option<Part> {
        let cut = candidate.first.saturating_sub(look_back);
        if cut == 0 || candidate.second - candidate.first > MOST_APART {
            return None;
        }
        let end = (candidate.second + AHEAD).min(index.trace.events.len() as u32);
        let mut builder = Builder::new(index, cut);
        builder.held_locks(index, cut);
        for number in cut..end {
            builder.event(number, *index.event(number));
        }
        let Builder { trace, whole, .. } = builder;
        let find = |wanted: u32| whole.iter().position(|&number| number == wanted);
        let (first, second) = (find(candidate.first)?, find(candidate.second)?);
        let candidate = Candidate { first: first as u32, second: second as u32 };
        Some(Part { trace, whole, cut, candidate })
    }

    pub fn trace(&self) -> &OrderTrace {
        &self.trace
    }

    pub fn candidate(&self) -> Candidate {
        self.candidate
    }

    /// A witness of the part, behind everything before the cut.
    pub fn witness(&self, index: &Index, candidate: Candidate, found: &Witness) -> Option<Witness> {
        let mut order: Vec<u32> = (0..self.cut).collect();
        let part = found.events(&self.trace).into_iter().map(|event| self.whole[event as usize]);
        order.extend(part.filter(|&event| event != NONE));
        let witness = witness::from_events(index, candidate, order);
        witness.is_valid(index).then_some(witness)
    }
}

/// The token that everything waits for.
const START: u32 = u32::MAX;

struct Builder {
    trace: OrderTrace,
    whole: Vec<u32>,
    variables: FxHashMap<u32, u32>,
    locks: FxHashMap<u32, u32>,
    seen: Vec<bool>,
    any_held: bool,
}

impl Builder {
    fn new(index: &Index, cut: u32) -> Self {
        let threads = index.thread_count();
        let rest = index.trace.events.len() - cut as usize;
        let trace = OrderTrace { threads: vec![Box::default(); threads], ..OrderTrace::default() };
        Builder {
            trace,
            whole: Vec::with_capacity(rest.min(64 << 10)),
            variables: FxHashMap::default(),
            locks: FxHashMap::default(),
            seen: vec![false; threads],
            any_held: false,
        }
    }

    fn push(&mut self, event: Event, whole: u32) {
        self.trace.events.push(event);
        self.whole.push(whole);
    }

    fn held_locks(&mut self, index: &Index, cut: u32) {
        for events in &index.threads {
            let before = events.partition_point(|&event| event < cut);
            let Some(&last) = before.checked_sub(1).and_then(|at| events.get(at)) else { continue };
            let held = index.held_after(last);
            for &acquire in held {
                let event = *index.event(acquire);
                let object = local(&mut self.locks, &mut self.trace.locks, event.object);
                self.push(Event { object, ..event }, NONE);
            }
            if let Some(&acquire) = held.first() {
                self.any_held = true;
                let start = Event { kind: Kind::Notify, object: START, ..*index.event(acquire) };
                self.push(start, NONE);
            }
        }
    }

    fn event(&mut self, number: u32, event: Event) {
        let thread = event.thread.index();
        if self.any_held && !std::mem::replace(&mut self.seen[thread], true) {
            self.push(Event { kind: Kind::Await, object: START, ..event }, NONE);
        }
        let object = match event.kind {
            kind if kind.reads() || kind.writes() => {
                local(&mut self.variables, &mut self.trace.variables, event.object)
            }
            kind if kind.acquires() || kind.releases() => {
                local(&mut self.locks, &mut self.trace.locks, event.object)
            }
            _ => event.object,
        };
        self.push(Event { object, ..event }, number);
    }
}

/// The number in the part of an object of the whole trace.
fn local(numbers: &mut FxHashMap<u32, u32>, names: &mut Vec<Box<str>>, object: u32) -> u32 {
    *numbers.entry(object).or_insert_with(|| {
        names.push(Box::default());
        names.len() as u32 - 1
    })
}
