//! A small report that the tests of every format share.

use racewarden_finding::{
    AccessKind, Conclusion, Engine, Evidence, Frame, HeldLock, LockMode, Note, Race, Report, Site,
    Verdict,
};
use serde_json::json;

use crate::Sources;

pub const SOURCE: &str = include_str!("../tests/bank.c");

pub fn sources() -> Sources {
    Sources::none().with_file("src/bank.c", SOURCE)
}

fn site(line: u32, column: u32, function: &str, access: AccessKind, lvalue: &str) -> Site {
    Site {
        file: "src/bank.c".into(),
        line,
        column,
        function: function.into(),
        access,
        lvalue: lvalue.into(),
        atomic: false,
        locks: vec![],
        thread: "main".into(),
        stack: Default::default(),
    }
}

fn frame(function: &str, line: u32) -> Frame {
    Frame { function: function.into(), file: "src/bank.c".into(), line }
}

/// A harmful race with everything, a potential one with little, a suppressed one.
pub fn report() -> Report {
    let mut deposit = site(41, 29, "deposit", AccessKind::Write, "accounts[i].balance");
    deposit.thread = "teller (created at src/bank.c:76, many)".into();
    deposit.stack = vec![frame("deposit", 41), frame("teller", 66)].into();
    let mut audit = site(58, 18, "audit", AccessKind::Read, "accounts[i].balance");
    audit.locks = vec![HeldLock {
        name: "bank_lock".into(),
        mode: LockMode::Write,
        acquired_at: "src/bank.c:56".into(),
    }];
    audit.stack = vec![frame("audit", 58), frame("main", 80)].into();
    let mut harmful = Race::new(deposit, audit, "accounts", Verdict::Harmful);
    harmful.rank = 95;
    harmful.reasons = vec!["no lock in common".into(), "audit runs before the join".into()];
    harmful.evidence = vec![
        Evidence::new(Engine::Check)
            .with("usual_lock", json!({"name": "bank_lock", "held": 5, "of": 6})),
        Evidence::new(Engine::Run).with("runs", 3).with("seen", 2),
        Evidence::new(Engine::Confirm)
            .with("schedule", "rw1:main.1@deposit+14#1>main@audit+9#3>main.1@deposit+17#1")
            .with("harm", "assertion failed in audit()")
            .with(
                "orders",
                json!([{"first": 0, "outcome": "completed"},
                       {"first": 1, "outcome": "assertion", "detail": "sum == 1000 in audit()"}]),
            ),
    ];
    let mut add = site(47, 5, "count", AccessKind::Write, "served");
    add.thread = "teller (created at src/bank.c:76, many)".into();
    let mut potential = Race::new(add.clone(), add.clone(), "served", Verdict::Potential);
    potential.rank = 60;
    let mut wide = add;
    wide.file = "/usr/src/packages/vendor/third-party/very-long-name/include/counters.h".into();
    wide.lvalue = "<b>statistics</b>->served".into();
    let mut suppressed = Race::new(wide.clone(), wide, "struct statistics", Verdict::Suppressed);
    suppressed.evidence = vec![
        Evidence::new(Engine::Person)
            .with("action", "suppressed")
            .with("author", "ada")
            .with("reason", "statistics may be off by a few"),
    ];
    let mut report = Report {
        conclusion: Conclusion::Racy,
        races: vec![potential, suppressed, harmful],
        notes: vec![
            Note::weakens(Engine::Check, "call through `hook` is not resolved (src/bank.c:70)"),
            Note::info(Engine::Capture, "1 unit"),
        ],
        ..Report::default()
    };
    report.excluded = [("lock", 7), ("joined", 3), ("once", 1)].map(|(k, v)| (k.into(), v)).into();
    report.finish();
    report
}
