//! Ledgers that earlier versions wrote are read as they were.
//!
//! `fixtures/0002.db` and `fixtures/0002.sql` (a `pg_dump --inserts --no-owner`) were made by the
//! `fixture` example with the migrations up to that number, as were those before them. They are never made again: a change of
//! the stored format is a new migration and a new pair of fixtures beside them.

mod support;

use racewarden_finding::{Engine, LockMode, Report, Verdict};
use racewarden_ledger::{Assessment, Backend, BlockingLedger, RunInfo, Status};

fn read(place: &str) {
    let ledger = BlockingLedger::open(place).unwrap();
    let entry = ledger.race("R1").unwrap();
    assert_eq!(entry.race.object, "accounts");
    assert_eq!(entry.race.sites.each_ref().map(|site| site.line), [41, 58]);
    assert_eq!(entry.race.sites[1].locks[0].mode, LockMode::Read);
    assert_eq!(entry.race.reasons, ["no lock in common"]);
    assert_eq!((entry.first_seen, entry.last_seen), (1_000, 3_000));
    let state = &entry.state;
    assert_eq!((state.proof, state.status), (Verdict::Confirmed, Status::Suppressed));
    assert_eq!((state.assessment, state.assignee.as_str()), (Assessment::Benign, "bob"));
    let engines: Vec<Engine> = entry.race.evidence.iter().map(|e| e.engine).collect();
    assert_eq!(engines, [Engine::Check, Engine::Confirm, Engine::Person]);
    assert_eq!(ledger.schedules("R1").unwrap()[0].schedule, "rw1:main@audit+9#3");
    assert_eq!(ledger.program("R1").unwrap().unwrap().inputs, ["src/bank.c"]);
    let gone = ledger.race("R2").unwrap();
    assert_eq!(gone.state.status, Status::Fixed);
    assert_eq!(gone.race.verdict, Verdict::Fixed);
    assert_eq!((gone.first_seen, gone.last_seen), (1_000, 1_000));
    let history = ledger.history("R1").unwrap();
    let actions: Vec<&str> = history.iter().map(|item| item.action.as_str()).collect();
    assert_eq!(
        actions,
        ["found as potential", "potential to confirmed", "marked benign", "assigned to bob"]
    );
    let captures = ledger.captures().unwrap();
    let diff = ledger.capture_diff(captures[1].id, captures[0].id).unwrap();
    assert_eq!((diff.kept.len(), diff.gone.len(), diff.changed.len()), (1, 1, 1));
    // It still takes new things in.
    ledger.undo("R1", "eve").unwrap();
    let report = Report { races: vec![gone.race.clone()], ..Report::default() };
    let run = RunInfo { at: 4_000, ..RunInfo::new(Engine::Run, "bank") };
    let again = ledger.record_report(&report, &run).unwrap();
    assert_eq!((again.new.len(), again.races[0].id.as_str()), (0, "R2"));
    let last_seen = |id| ledger.race(id).unwrap().last_seen;
    assert_eq!((last_seen("R1"), last_seen("R2")), (3_000, 4_000));
}

fn read_sqlite(fixture: &str) {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("ledger.db");
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
    std::fs::copy(format!("{fixtures}/{fixture}"), &copy).unwrap();
    read(copy.to_str().unwrap());
}

fn read_postgres(dump: &str) {
    let place = support::place(Backend::Postgres);
    support::load_dump(&place, dump);
    read(&place.url);
}

#[test]
fn sqlite_ledger_of_migration_1() {
    read_sqlite("0001.db");
}

#[test]
fn postgres_ledger_of_migration_1() {
    read_postgres(include_str!("fixtures/0001.sql"));
}

#[test]
fn sqlite_ledger_of_migration_2() {
    read_sqlite("0002.db");
}

#[test]
fn postgres_ledger_of_migration_2() {
    read_postgres(include_str!("fixtures/0002.sql"));
}
