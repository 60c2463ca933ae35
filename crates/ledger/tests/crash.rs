//! A writer that is killed loses nothing it was told is stored, and leaves a ledger that works.
//!
//! Without the test harness, as the program starts itself as the writer to be killed.

mod support;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use racewarden_finding::{AccessKind, Engine, Evidence, Race, Report, Site, Verdict};
use racewarden_ledger::{Backend, BlockingLedger, Filter, RunInfo};

fn race(number: u64) -> Race {
    let site = |function: &str| Site {
        file: "a.c".into(),
        line: 1 + number as u32,
        column: 1,
        function: function.into(),
        access: AccessKind::Write,
        lvalue: format!("x{number}"),
        atomic: false,
        locks: vec![],
        thread: "worker".into(),
        stack: Default::default(),
    };
    let mut race = Race::new(site("f"), site("g"), format!("x{number}"), Verdict::Observed);
    race.evidence.push(Evidence::new(Engine::Run).with("schedule", "rw1:main@f+1#1"));
    race
}

/// Stores race after race and says so after each, until it is killed.
fn write_forever(place: &str, start: u64) {
    let ledger = BlockingLedger::open(place).unwrap();
    for number in start.. {
        let report = Report { races: vec![race(number)], ..Report::default() };
        ledger.record_report(&report, &RunInfo::new(Engine::Run, "t")).unwrap();
        println!("{number}");
        std::io::stdout().flush().unwrap();
    }
}

fn kill_writers(backend: Backend) {
    let place = support::place(backend);
    let mut start = 0;
    // Killed at different moments of its work: after few and after more acknowledgements.
    for acknowledged in [1, 2, 7, 3, 12] {
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args(["writer", &place.url, &start.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
        let mut last = 0;
        for _ in 0..acknowledged {
            last = lines.next().expect("the writer lives").unwrap().parse().unwrap();
        }
        writer.kill().unwrap();
        writer.wait().unwrap();
        let ledger = BlockingLedger::open(&place.url).unwrap();
        let page = ledger.races(&Filter::default()).unwrap();
        assert!(page.total > last, "{backend:?}: {} of {} are there", page.total, last + 1);
        for number in 0..page.total {
            let entry = ledger.race(&format!("R{}", number + 1)).unwrap();
            assert_eq!(entry.race.object, format!("x{number}"), "whole, and numbered in order");
            assert_eq!(entry.race.evidence.len(), 1);
            assert_eq!(ledger.schedules(&entry.race.id).unwrap().len(), 1);
        }
        start = page.total;
    }
    println!("{backend:?}: {start} races, none lost");
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.as_slice() {
        [_, mode, place, start] if mode == "writer" => {
            write_forever(place, start.parse().unwrap());
        }
        _ => {
            kill_writers(Backend::Sqlite);
            kill_writers(Backend::Postgres);
        }
    }
}
