//! What recording a report costs: 25,000 races that are new, that the ledger knows, and most of
//! which it knows, in an SQLite file. Opening and closing are part of it, as a command does both.
//!
//! The serialised report is the measure beside it: what a command that keeps nothing would spend
//! on writing the same races down once.

use std::path::Path;
use std::time::{Duration, Instant};

use racewarden_finding::{
    AccessKind, Engine, Evidence, Frame, HeldLock, LockMode, Race, Report, Site, Verdict,
};
use racewarden_ledger::{BlockingLedger, CaptureInfo, Recorded, RunInfo, UnitInfo};

const ACCESSES: u32 = 2_500;
const PARTNERS: u32 = 10;
const UNITS: u32 = 60;
/// Each step is repeated on ledgers of its own; the fastest counts.
const TURNS: usize = 5;

pub fn run() -> anyhow::Result<()> {
    let report = generated(0);
    let edited = generated(40);
    let text = fastest(|| serde_json::to_string(&report).map(|text| text.len()))?;
    let races = report.races.len();
    println!("{races} races; as JSON {} ms, {} bytes", milliseconds(text.0), text.1);
    println!("{:<34} {:>8} {:>12} {:>9}", "", "ms", "races/s", "of JSON");
    let mut steps: Vec<(&str, Duration)> = Vec::new();
    for _ in 0..TURNS {
        let folder = tempfile::tempdir()?;
        let place = folder.path().join("ledger.db");
        let turns: [(&str, &Report, &str); 5] = [
            ("first", &report, "a"),
            ("unchanged", &report, "a"),
            ("unchanged, another capture", &report, "b"),
            ("a unit moved, 10 new, 10 gone", &edited, "c"),
            ("and back", &report, "d"),
        ];
        for (at, (name, report, capture)) in turns.into_iter().enumerate() {
            let start = Instant::now();
            let recorded = record(&place, report, capture)?;
            let took = start.elapsed();
            anyhow::ensure!(recorded.races.len() == report.races.len(), "{name}: races are lost");
            match steps.get_mut(at) {
                Some((_, best)) => *best = took.min(*best),
                None => steps.push((name, took)),
            }
        }
    }
    for (name, took) in steps {
        println!(
            "{name:<34} {:>8} {:>12.0} {:>9.2}",
            milliseconds(took),
            races as f64 / took.as_secs_f64(),
            took.as_secs_f64() / text.0.as_secs_f64()
        );
    }
    Ok(())
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1_000.0)
}

fn fastest<T, E>(work: impl Fn() -> Result<T, E>) -> Result<(Duration, T), E> {
    let mut best: Option<(Duration, T)> = None;
    for _ in 1..TURNS {
        let start = Instant::now();
        let result = work()?;
        let took = start.elapsed();
        if best.as_ref().is_none_or(|(least, _)| took < *least) {
            best = Some((took, result));
        }
    }
    let start = Instant::now();
    let result = work()?;
    Ok(best.unwrap_or((start.elapsed(), result)))
}

fn record(place: &Path, report: &Report, capture: &str) -> anyhow::Result<Recorded> {
    let ledger = BlockingLedger::open(&place.display().to_string())?;
    let units = (0..UNITS).map(|unit| UnitInfo { source: file(unit), hash: capture.to_owned() });
    let run = RunInfo {
        capture: Some(CaptureInfo {
            hash: capture.to_owned(),
            label: capture.to_owned(),
            units: units.collect(),
        }),
        complete: true,
        ..RunInfo::new(Engine::Check, "generated")
    };
    Ok(ledger.record_report(report, &run)?)
}

fn file(unit: u32) -> String {
    format!("src/server/unit_{unit}.c")
}

/// A report like one of a server: few accesses, each in many races, under deep stacks. `shift`
/// moves the lines of one unit, and then ten races go and ten others come.
fn generated(shift: u32) -> Report {
    let sites: Vec<Site> = (0..ACCESSES).map(|access| site(access, shift)).collect();
    let mut races = Vec::new();
    for access in 0..ACCESSES {
        for partner in 1..=PARTNERS {
            let gone = shift > 0 && partner == 1 && access % 250 == 100;
            let partner = if gone { 20 } else { partner };
            let other = (access + partner) % ACCESSES;
            races.push(race(&sites[access as usize], &sites[other as usize]));
        }
    }
    let mut report = Report { races, ..Report::default() };
    report.finish();
    report
}

fn site(access: u32, shift: u32) -> Site {
    let unit = access % UNITS;
    let moved = if unit == 7 { shift } else { 0 };
    let frame = |depth: u32| Frame {
        function: format!("caller_{}", (access / 4 + depth * 7) % 400),
        file: file((access + depth) % UNITS),
        line: 40 + (access / 4 + depth * 31) % 2_000,
    };
    let lock = HeldLock {
        name: format!("unit_{unit}_lock"),
        mode: LockMode::Write,
        acquired_at: format!("{}:{}", file(unit), 90 + moved),
    };
    Site {
        file: file(unit),
        line: 100 + access + moved,
        column: 9,
        function: format!("function_{}", access / 3),
        access: if access.is_multiple_of(3) { AccessKind::Read } else { AccessKind::Write },
        lvalue: format!("server->state.field_{}", access % 9),
        atomic: false,
        locks: if access.is_multiple_of(2) { vec![lock] } else { Vec::new() },
        thread: format!("worker_{} (created at {}:310, many)", access % 8, file(1)),
        stack: (0..10).map(frame).collect(),
    }
}

fn race(first: &Site, second: &Site) -> Race {
    let object = format!("struct server.state.field_{}", first.line % 9);
    let mut race = Race::new(first.clone(), second.clone(), object, Verdict::Potential);
    race.rank = 30 + first.line % 60;
    race.reasons.push("no lock is held at both accesses".into());
    race.reasons.push(format!("{} and {} may run at once", first.thread, second.thread));
    race.evidence.push(Evidence::new(Engine::Check));
    race
}
