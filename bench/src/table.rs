//! The paper's Table 1 on real programs, and old bugs brought back: `racewarden-bench table1` and
//! `racewarden-bench bugs` (paper 5, section 4.1).
//!
//! For the table each program is checked, and all candidates go through `confirm` with each of its test
//! cases in turn. A candidate counts once, under the strongest thing any case showed. The bugs are left to
//! `confirm` alone, as a user would: it asks all engines.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;
use serde_json::Value;

use crate::real::{Built, Places, SUBJECTS, report_of};

const ROWS: [&str; 9] = [
    "potential races",
    "crashes",
    "deadlocks",
    "failed assertions",
    "no observable effect",
    "likely false",
    "not encountered",
    "executed, not decided",
    "runs",
];

pub fn table1() -> anyhow::Result<()> {
    let places = Places::from_arguments()?;
    let mut columns = Vec::new();
    for subject in SUBJECTS.iter().filter(|subject| places.wants(subject.name)) {
        let begin = Instant::now();
        let built = Built::new(&places, subject, None)?;
        let (report, runs) = confirmed(&places, &built)?;
        eprintln!("{}: {:.0} s", subject.name, begin.elapsed().as_secs_f64());
        let mut counts = counted(&report);
        counts.insert("runs", runs);
        columns.push((subject.name, counts));
    }
    print!("| |");
    columns.iter().for_each(|(name, _)| print!(" {name} |"));
    println!();
    println!("|---|{}", "---|".repeat(columns.len()));
    for row in ROWS {
        print!("| {row} |");
        columns.iter().for_each(|(_, counts)| print!(" {} |", counts.get(row).unwrap_or(&0)));
        println!();
    }
    Ok(())
}

/// The bugs of `bench/confirm/bugs`, by patch, with the program they are put into.
const BUGS: [(&str, &str); 3] = [
    ("pbzip2-queue-destroyed", "pbzip2"),
    ("zstd-lost-shutdown", "zstd"),
    ("leveldb-closed-early", "leveldb"),
];

pub fn bugs() -> anyhow::Result<()> {
    let places = Places::from_arguments()?;
    println!("| bug | candidates | harmful | first harm | runs |");
    println!("|---|---|---|---|---|");
    for (patch, program) in BUGS.into_iter().filter(|(patch, _)| places.wants(patch)) {
        let subject =
            SUBJECTS.iter().find(|subject| subject.name == program).context("no such program")?;
        let built = Built::new(&places, subject, Some(patch))?;
        let (report, runs) = confirmed_by_all(&places, &built)?;
        let races = races(&report);
        let harmful: Vec<&Value> =
            races.iter().filter(|race| race["verdict"] == "harmful").collect();
        let first = harmful.first().map_or("none".to_owned(), |race| {
            let at = |site: usize| {
                let site = &race["sites"][site];
                format!("{}:{}", site["file"].as_str().unwrap_or(""), site["line"])
            };
            format!("{} × {}, {}", at(0), at(1), detail(race, "harm"))
        });
        println!("| {patch} | {} | {} | {first} | {runs} |", races.len(), harmful.len());
    }
    Ok(())
}

/// The candidates after all test cases, and how many runs that took.
fn confirmed(places: &Places, built: &Built) -> anyhow::Result<(Value, u64)> {
    let (mut file, mut report): (PathBuf, Value) = built.candidates(places)?;
    let mut runs = 0;
    for (number, case) in built.subject.cases.iter().enumerate() {
        let next = built.place.join(format!("confirmed{number}.json"));
        let mut confirm = places.tool(&built.place);
        confirm.args(["confirm", built.subject.target, "--no-ledger", "--format", "json"]);
        confirm.args(["--confirm-time", &places.seconds.to_string(), "--report"]).arg(&file);
        confirm.arg("-o").arg(&next).arg("--").args(*case);
        (file, report) = report_of(&mut confirm, &next)?;
        runs += report["stats"]["confirm_runs"].as_u64().unwrap_or(0);
    }
    Ok((report, runs))
}

/// What `confirm` shows by itself, with the candidates of all engines, and how many runs that took.
fn confirmed_by_all(places: &Places, built: &Built) -> anyhow::Result<(Value, u64)> {
    let file = built.place.join("confirmed.json");
    let mut confirm = places.tool(&built.place);
    confirm.args(["confirm", built.subject.target, "--no-ledger", "--format", "json"]);
    confirm.args(["--confirm-time", &places.seconds.to_string(), "-o"]).arg(&file);
    confirm.arg("--").args(built.subject.cases[0]);
    let (_, report) = report_of(&mut confirm, &file)?;
    let runs = report["stats"]["confirm_runs"].as_u64().unwrap_or(0);
    Ok((report, runs))
}

fn races(report: &Value) -> &[Value] {
    report["races"].as_array().map_or(&[], Vec::as_slice)
}

/// A detail of the latest evidence that has it.
fn detail(race: &Value, key: &str) -> String {
    let evidence = race["evidence"].as_array().map_or(&[][..], Vec::as_slice);
    let found = evidence.iter().rev().find_map(|one| one["detail"][key].as_str());
    found.unwrap_or_default().to_owned()
}

/// Whether some test case executed both sides while several threads lived.
fn was_executed(race: &Value) -> bool {
    const EXECUTED: [&str; 3] =
        ["different addresses", "timed out", "ordered by synchronisation seen"];
    let evidence = race["evidence"].as_array().map_or(&[][..], Vec::as_slice);
    let reasons = evidence.iter().filter_map(|one| one["detail"]["not_enforced"].as_str());
    reasons.into_iter().any(|reason| EXECUTED.contains(&reason))
}

fn counted(report: &Value) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    for race in races(report) {
        let row = match race["verdict"].as_str().unwrap_or("") {
            "harmful" => match detail(race, "harm").split([' ', ':']).next() {
                Some("hang") => "deadlocks",
                Some("assertion") => "failed assertions",
                _ => "crashes",
            },
            "confirmed" => "no observable effect",
            "likely-false" => "likely false",
            _ if was_executed(race) => "executed, not decided",
            _ => "not encountered",
        };
        *counts.entry(row).or_default() += 1;
        *counts.entry("potential races").or_default() += 1;
    }
    counts
}
