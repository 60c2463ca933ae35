//! Whole traces: small ones written here, one for each thing the ladder must get right, and the
//! published ones where they lie beside the project.

mod common;

use std::path::Path;

use racewarden_predict::order::{self, Limits, Prediction, Step};
use racewarden_trace::{OrderTrace, text};

fn predict(lines: &str) -> (OrderTrace, Prediction) {
    let read = text::read(lines.trim_start().as_bytes()).unwrap();
    let prediction = order::predict(&read.trace, &Limits::default());
    common::check_all(&read.trace, &prediction);
    (read.trace, prediction)
}

fn racy_variables(lines: &str) -> Vec<String> {
    let (trace, prediction) = predict(lines);
    let mut names: Vec<String> = prediction
        .races
        .iter()
        .map(|race| {
            let access = trace.events[race.witness.candidate.first as usize];
            trace.variables[access.object as usize].to_string()
        })
        .collect();
    names.dedup();
    names
}

#[test]
fn happens_before_misses_it_and_another_order_of_the_sections_shows_it() {
    let trace = "A|w(x)|1\nA|acq(l)|2\nA|rel(l)|3\nB|acq(l)|4\nB|rel(l)|5\nB|w(x)|6\n";
    assert_eq!(racy_variables(trace), ["x"]);
}

#[test]
fn a_read_inside_the_section_that_saw_the_other_keeps_the_order() {
    let trace =
        "A|w(x)|1\nA|acq(l)|2\nA|w(y)|3\nA|rel(l)|4\nB|acq(l)|5\nB|r(y)|6\nB|rel(l)|7\nB|w(x)|8\n";
    assert!(racy_variables(trace).is_empty());
}

#[test]
fn fork_and_join_order() {
    let trace = "A|w(x)|1\nA|fork(B)|2\nB|w(x)|3\nA|join(B)|4\nA|w(x)|5\n";
    assert!(racy_variables(trace).is_empty());
    let trace = "A|fork(B)|1\nA|w(x)|2\nB|w(x)|3\nA|join(B)|4\n";
    assert_eq!(racy_variables(trace), ["x"]);
}

#[test]
fn sections_must_swap() {
    // B's write is inside its section of l, A's after one that saw nothing of B: the race needs
    // A's section to come after B's was opened, so A must run first although B did.
    let trace = "B|acq(l)|1\nB|w(x)|2\nB|rel(l)|3\nA|acq(l)|4\nA|rel(l)|5\nA|w(x)|6\n";
    let (_, prediction) = predict(trace);
    assert_eq!(prediction.races.len(), 1);
    assert_eq!(prediction.races[0].step, Step::GraphTest);
}

#[test]
fn a_common_lock_excludes() {
    let trace = "A|acq(l)|1\nA|w(x)|2\nA|rel(l)|3\nB|acq(l)|4\nB|w(x)|5\nB|rel(l)|6\n";
    let (_, prediction) = predict(trace);
    assert!(prediction.races.is_empty());
    assert_eq!(prediction.counts.common_lock, 1);
}

#[test]
fn one_race_per_pair_of_locations() {
    let lines: String = (0..50).map(|_| "A|w(x)|1\nB|w(x)|2\n").collect();
    let (_, prediction) = predict(&lines);
    assert_eq!(prediction.races.len(), 1);
}

/// The published traces have one race by construction each, on a variable of that name.
#[test]
fn published_traces() {
    let folder = match std::env::var_os("RACEWARDEN_TRACES") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces"),
    };
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("not checked: no published traces in {}", folder.display());
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "std") {
            continue;
        }
        let read = text::read(&std::fs::read(&path).unwrap()).unwrap();
        let prediction = order::predict(&read.trace, &Limits::default());
        let variable = |race: &order::OrderRace| {
            let access = read.trace.events[race.witness.candidate.first as usize];
            &*read.trace.variables[access.object as usize]
        };
        let known = |race: &order::OrderRace| variable(race) == "VBUGGY_ADDR";
        assert!(prediction.races.iter().any(known), "{}", path.display());
        // The large one has thousands of races with witnesses as long as itself.
        let small = read.trace.events.len() < 10_000;
        common::check_some(&read.trace, &prediction, |race| small || known(race));
    }
}
