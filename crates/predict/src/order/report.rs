//! An order-only prediction as a report.

use std::collections::BTreeMap;

use racewarden_finding::{
    AccessKind, Conclusion, Engine, Evidence, HeldLock, LockMode, Note, Race, Report, Site, Verdict,
};
use racewarden_trace::{Kind, OrderTrace};
use serde_json::json;

use super::{Index, OrderRace, Prediction, Witness};

/// The report on `trace`, which was read from `file`.
pub fn report(trace: &OrderTrace, file: &str, prediction: &Prediction) -> Report {
    let index = Index::new(trace);
    let mut report = Report::default();
    for race in &prediction.races {
        report.races.push(race_of(&index, file, race));
    }
    let counts = &prediction.counts;
    report.excluded = BTreeMap::from([
        ("common lock".to_owned(), counts.common_lock),
        ("ordered".to_owned(), counts.ordered),
        ("no schedule".to_owned(), counts.no_schedule),
    ]);
    report.notes.push(Note::info(
        Engine::Predict,
        "the trace has no values and no branches: every read keeps the write it saw",
    ));
    if counts.unknown > 0 {
        let text = format!("{} pairs of locations were left undecided by a limit", counts.unknown);
        report.notes.push(Note::weakens(Engine::Predict, text));
    }
    if counts.cut_short {
        let text = format!(
            "{} pairs of accesses were tried; a limit left the rest out",
            counts.candidates
        );
        report.notes.push(Note::weakens(Engine::Predict, text));
    }
    report.stats = BTreeMap::from([
        ("events".to_owned(), json!(trace.events.len())),
        ("threads".to_owned(), json!(trace.threads.len())),
        ("locks".to_owned(), json!(trace.locks.len())),
        ("variables".to_owned(), json!(trace.variables.len())),
        ("candidates".to_owned(), json!(counts.candidates)),
        ("solver queries".to_owned(), json!(counts.solver_queries)),
        ("unknown".to_owned(), json!(counts.unknown)),
    ]);
    report.conclusion = Conclusion::Unknown;
    report.finish();
    report
}

fn race_of(index: &Index, file: &str, race: &OrderRace) -> Race {
    let trace = index.trace;
    let candidate = race.witness.candidate;
    let object = &trace.variables[index.event(candidate.first).object as usize];
    let [first, second] = [candidate.first, candidate.second].map(|e| site(index, file, e));
    let mut result = Race::new(first, second, object.to_string(), Verdict::Predicted);
    let events: u32 = race.witness.cone.iter().sum();
    let line = |event: u32| json!(trace.event_text(index.event(event)));
    let detail = BTreeMap::from([
        ("found by".to_owned(), json!(race.step.as_str())),
        ("witness events".to_owned(), json!(events)),
        ("accesses".to_owned(), json!([line(candidate.first), line(candidate.second)])),
        ("witness".to_owned(), json!(witness_text(index, &race.witness))),
    ]);
    result.evidence.push(Evidence { engine: Engine::Predict, detail });
    result.reasons.push(format!(
        "after {events} events of the trace in another order both accesses can go next ({})",
        race.step.as_str()
    ));
    result
}

/// What happens before the accesses, in full. `T1:3` is the first three events of `T1` where the
/// order is the trace's own; otherwise `T1:0-3 T2:0-2 T1:3-9` is a list of turns, each with the
/// thread's events that happen in it.
fn witness_text(index: &Index, witness: &Witness) -> String {
    let mut turns: Vec<(usize, u32, u32)> = Vec::new();
    if witness.is_observed_order() {
        let threads = witness.cone.iter().enumerate().filter(|(_, count)| **count > 0);
        let counts: Vec<String> = threads
            .map(|(thread, count)| format!("{}:{count}", index.trace.threads[thread]))
            .collect();
        return format!("in the order of the trace: {}", counts.join(" "));
    }
    for event in witness.events(index.trace) {
        let (thread, position) = (index.thread_of(event), index.position[event as usize]);
        match turns.last_mut() {
            Some((last, _, until)) if *last == thread => *until = position + 1,
            _ => turns.push((thread, position, position + 1)),
        }
    }
    let turns: Vec<String> = turns
        .into_iter()
        .map(|(thread, from, until)| format!("{}:{from}-{until}", index.trace.threads[thread]))
        .collect();
    format!("turns: {}", turns.join(" "))
}

fn site(index: &Index, file: &str, event: u32) -> Site {
    let trace = index.trace;
    let access = index.event(event);
    let location = trace.location_text(access.location);
    let locks = index.held_after(event).iter().map(|&acquire| {
        let acquire = index.event(acquire);
        HeldLock {
            name: trace.locks[acquire.object as usize].to_string(),
            mode: if acquire.kind == Kind::Acquire { LockMode::Write } else { LockMode::Read },
            acquired_at: trace.location_text(acquire.location),
        }
    });
    Site {
        file: file.to_owned(),
        // A location that is no number has no line; its text stands as the function.
        line: location.parse().unwrap_or(0),
        column: 0,
        function: location,
        access: if access.kind == Kind::Write { AccessKind::Write } else { AccessKind::Read },
        lvalue: trace.variables[access.object as usize].to_string(),
        atomic: false,
        locks: locks.collect(),
        thread: trace.thread_name(access.thread).to_owned(),
        stack: Default::default(),
    }
}
