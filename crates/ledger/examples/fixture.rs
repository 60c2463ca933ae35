//! Fills the ledger named on the command line with a little of everything: what the frozen
//! fixtures under `tests/fixtures` are made of. See `tests/frozen.rs`.

use racewarden_finding::{
    AccessKind, Engine, Evidence, Frame, HeldLock, LockMode, Note, Race, Report, Site, Verdict,
};
use racewarden_ledger::{BlockingLedger, CaptureInfo, Mark, Program, RunInfo, UnitInfo};

fn main() {
    let place = std::env::args().nth(1).expect("the ledger to fill");
    let ledger = BlockingLedger::open(&place).expect("the ledger opens");
    let mut site = Site {
        file: "src/bank.c".into(),
        line: 41,
        column: 9,
        function: "deposit".into(),
        access: AccessKind::Write,
        lvalue: "accounts[i].balance".into(),
        atomic: false,
        locks: vec![],
        thread: "teller".into(),
        stack: vec![Frame { function: "deposit".into(), file: "src/bank.c".into(), line: 41 }]
            .into(),
    };
    let first = site.clone();
    (site.line, site.function, site.access) = (58, "audit".into(), AccessKind::Read);
    let lock = HeldLock {
        name: "bank_lock".into(),
        mode: LockMode::Read,
        acquired_at: "src/bank.c:56".into(),
    };
    site.locks.push(lock);
    let mut race = Race::new(first.clone(), site, "accounts", Verdict::Potential);
    race.reasons.push("no lock in common".into());
    race.evidence.push(Evidence::new(Engine::Check));
    let mut other = Race::new(first.clone(), first, "ledger", Verdict::Potential);
    other.evidence.push(Evidence::new(Engine::Check));
    let mut report = Report { races: vec![race.clone(), other], ..Report::default() };
    report.notes.push(Note::weakens(Engine::Check, "a note"));
    let run = |engine, capture: &str, at| RunInfo {
        at,
        command: "racewarden".into(),
        complete: true,
        program: Some(Program { inputs: vec!["src/bank.c".into()], ..Program::default() }),
        capture: Some(CaptureInfo {
            hash: capture.into(),
            label: "v1".into(),
            units: vec![UnitInfo { source: "src/bank.c".into(), hash: capture.into() }],
        }),
        ..RunInfo::new(engine, "bank")
    };
    ledger.record_report(&report, &run(Engine::Check, "aaaa", 1_000)).expect("recorded");
    race.verdict = Verdict::Confirmed;
    race.evidence = vec![Evidence::new(Engine::Confirm).with("schedule", "rw1:main@audit+9#3")];
    let confirmed = Report { races: vec![race.clone()], ..Report::default() };
    ledger.record_report(&confirmed, &run(Engine::Confirm, "aaaa", 2_000)).expect("recorded");
    race.evidence = vec![Evidence::new(Engine::Check)];
    race.verdict = Verdict::Potential;
    let fixed = Report { races: vec![race], ..Report::default() };
    ledger.record_report(&fixed, &run(Engine::Check, "bbbb", 3_000)).expect("recorded");
    ledger.mark("R1", Mark::Benign, "a reason", "ada").expect("marked");
    ledger.assign("R1", "bob", "ada").expect("assigned");
}
