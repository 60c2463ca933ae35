//! A checker of witnesses that shares no code with the predictor: it replays the witness line by
//! line and knows nothing but the rules.

use std::collections::HashMap;

use racewarden_predict::order::{OrderRace, Prediction};
use racewarden_trace::{Kind, OrderTrace};

/// Panics unless every witness of the prediction is right.
pub fn check_all(trace: &OrderTrace, prediction: &Prediction) {
    check_some(trace, prediction, |_| true);
}

/// Panics unless every witness of the races that `wanted` names is right.
pub fn check_some(
    trace: &OrderTrace,
    prediction: &Prediction,
    wanted: impl Fn(&OrderRace) -> bool,
) {
    let writers = observed_writers(trace);
    for race in prediction.races.iter().filter(|race| wanted(race)) {
        if let Err(problem) = check(trace, &writers, race) {
            panic!("{:?}: {problem}", race.witness.candidate);
        }
    }
}

/// The write that each read saw; the initial value is missing.
fn observed_writers(trace: &OrderTrace) -> HashMap<usize, usize> {
    let mut last = HashMap::new();
    let mut writers = HashMap::new();
    for (number, event) in trace.events.iter().enumerate() {
        if event.kind.reads()
            && let Some(&write) = last.get(&event.object)
        {
            writers.insert(number, write);
        }
        if event.kind.writes() {
            last.insert(event.object, number);
        }
    }
    writers
}

pub fn check(
    trace: &OrderTrace,
    writers: &HashMap<usize, usize>,
    race: &OrderRace,
) -> Result<(), String> {
    let threads = trace.threads.len();
    let mut sequence: Vec<Vec<usize>> = vec![Vec::new(); threads];
    let mut forked_by: Vec<Option<usize>> = vec![None; threads];
    for (number, event) in trace.events.iter().enumerate() {
        sequence[event.thread.index()].push(number);
        if event.kind == Kind::Fork {
            forked_by[event.object as usize] = Some(number);
        }
    }
    let mut next = vec![0usize; threads];
    let mut happened = vec![false; trace.events.len()];
    let mut last_write: HashMap<u32, usize> = HashMap::new();
    let mut holder: HashMap<u32, usize> = HashMap::new();
    let mut readers: HashMap<u32, Vec<usize>> = HashMap::new();
    let may_go = |number: usize, next: &[usize], happened: &[bool]| {
        let thread = trace.events[number].thread.index();
        sequence[thread].get(next[thread]) == Some(&number)
            && forked_by[thread].is_none_or(|fork| happened[fork])
    };
    for number in race.witness.events(trace) {
        let number = number as usize;
        let event = &trace.events[number];
        let thread = event.thread.index();
        if !may_go(number, &next, &happened) {
            return Err(format!("event {number} is out of its thread's order or not forked"));
        }
        match event.kind {
            Kind::Read if last_write.get(&event.object) != writers.get(&number) => {
                return Err(format!("read {number} sees another write than in the trace"));
            }
            Kind::Write => {
                last_write.insert(event.object, number);
            }
            Kind::Acquire => {
                if let Some(other) = holder.insert(event.object, thread) {
                    return Err(format!("lock of {number} is held by thread {other}"));
                }
                if readers.get(&event.object).is_some_and(|list| !list.is_empty()) {
                    return Err(format!("lock of {number} is held by readers"));
                }
            }
            Kind::AcquireShared => {
                if let Some(other) = holder.get(&event.object) {
                    return Err(format!("lock of {number} is held by thread {other}"));
                }
                readers.entry(event.object).or_default().push(thread);
            }
            Kind::ReleaseShared => {
                let list = readers.entry(event.object).or_default();
                let Some(at) = list.iter().position(|other| *other == thread) else {
                    return Err(format!("lock of {number} is not read by its thread"));
                };
                list.remove(at);
            }
            Kind::Release if holder.remove(&event.object) != Some(thread) => {
                return Err(format!("lock of {number} is not held by its thread"));
            }
            Kind::Join => {
                let child = event.object as usize;
                if next[child] != sequence[child].len() {
                    return Err(format!("join {number} before its thread ended"));
                }
            }
            _ => {}
        }
        happened[number] = true;
        next[thread] += 1;
    }
    let candidate = race.witness.candidate;
    let [a, b] = [candidate.first, candidate.second].map(|access| access as usize);
    let [first, second] = [a, b].map(|access| trace.events[access]);
    if first.object != second.object
        || first.thread == second.thread
        || !first.kind.is_access()
        || !second.kind.is_access()
        || (first.kind == Kind::Read && second.kind == Kind::Read)
    {
        return Err("the accesses do not conflict".to_owned());
    }
    if !may_go(a, &next, &happened) || !may_go(b, &next, &happened) {
        return Err("an access cannot go next".to_owned());
    }
    Ok(())
}
