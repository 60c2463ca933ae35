//! The ledger's one suite, run on SQLite and on a real PostgreSQL.

mod support;

use racewarden_finding::{AccessKind, Conclusion, Engine, Evidence, Race, Report, Site, Verdict};
use racewarden_ledger::{
    Assessment, CaptureInfo, Error, Filter, Ledger, Mark, Program, Recorded, Refusal, RunInfo,
    Sort, Status, UnitInfo,
};
use support::on_both;

fn site(file: &str, line: u32, function: &str, lvalue: &str) -> Site {
    Site {
        file: file.into(),
        line,
        column: 5,
        function: function.into(),
        access: AccessKind::Write,
        lvalue: lvalue.into(),
        atomic: false,
        locks: vec![],
        thread: "worker".into(),
        stack: Default::default(),
    }
}

fn race(object: &str, verdict: Verdict, engine: Engine) -> Race {
    // Another object is accessed at another place, x before y.
    let line = object.bytes().fold(7, |sum: u32, byte| sum.wrapping_mul(31) ^ u32::from(byte));
    let line = u32::from(object.as_bytes()[0]) * 1_000_000 + line % 1_000_000;
    let (a, b) = (site("src/a.c", line, "f", object), site("src/b.c", line, "g", object));
    let mut race = Race::new(a, b, object, verdict);
    race.evidence.push(Evidence::new(engine).with("runs", 1));
    race
}

fn report(races: Vec<Race>) -> Report {
    let mut report = Report { races, ..Report::default() };
    report.finish();
    report
}

fn run(engine: Engine, capture: &str) -> RunInfo {
    let units = vec![UnitInfo { source: "src/a.c".into(), hash: capture.into() }];
    RunInfo {
        capture: Some(CaptureInfo { hash: capture.into(), label: capture.into(), units }),
        complete: engine == Engine::Check,
        at: 1_000,
        ..RunInfo::new(engine, "bank")
    }
}

async fn record(ledger: &Ledger, engine: Engine, capture: &str, races: Vec<Race>) -> Recorded {
    ledger.record_report(&report(races), &run(engine, capture)).await.unwrap()
}

fn potential(object: &str) -> Race {
    race(object, Verdict::Potential, Engine::Check)
}

fn observed(object: &str) -> Race {
    race(object, Verdict::Observed, Engine::Run)
}

#[test]
fn races_meet_by_fingerprint_and_keep_their_names() {
    on_both(|ledger, _| async move {
        let first =
            record(&ledger, Engine::Check, "c1", vec![potential("x"), potential("y")]).await;
        assert_eq!(first.new, ["R1", "R2"]);
        let mut moved = observed("y");
        moved.sites[0].line += 100;
        let line = moved.sites[0].line;
        let second = record(&ledger, Engine::Run, "c2", vec![observed("z"), moved]).await;
        assert_eq!(second.new, ["R3"]);
        let names: Vec<&str> = second.races.iter().map(|race| race.id.as_str()).collect();
        assert_eq!(names, ["R2", "R3"], "found again where the lines moved");
        let entry = ledger.race("R2").await.unwrap();
        assert_eq!(entry.race.verdict, Verdict::Observed);
        assert_eq!(entry.race.sites[0].line, line, "the latest place is shown");
        let engines: Vec<Engine> = entry.race.evidence.iter().map(|e| e.engine).collect();
        assert_eq!(engines, [Engine::Check, Engine::Run]);
        let same = ledger.race(&entry.race.fingerprint.0).await.unwrap();
        assert_eq!(same, entry);
        assert!(matches!(ledger.race("R99").await, Err(Error::NoSuchRace(_))));
        assert!(matches!(ledger.race("nonsense").await, Err(Error::NoSuchRace(_))));
    });
}

#[test]
fn the_same_pair_twice_in_a_report_is_one_race() {
    on_both(|ledger, _| async move {
        let done = record(&ledger, Engine::Run, "c1", vec![observed("x"), potential("x")]).await;
        assert_eq!(done.new, ["R1"]);
        assert_eq!(done.races.len(), 2);
        assert_eq!(ledger.race("R1").await.unwrap().race.evidence.len(), 2);
    });
}

#[test]
fn engines_meet_at_a_place_whatever_they_call_the_object() {
    on_both(|ledger, _| async move {
        let mut known = potential("struct conn.state");
        known.sites[0].locks.push(racewarden_finding::HeldLock {
            name: "lock".into(),
            mode: racewarden_finding::LockMode::Write,
            acquired_at: String::new(),
        });
        record(&ledger, Engine::Check, "c1", vec![known]).await;
        let here = |mut race: Race| {
            let lines = potential("struct conn.state").sites.map(|site| site.line);
            (race.sites[0].line, race.sites[1].line) = (lines[0], lines[1]);
            race
        };
        let done = record(&ledger, Engine::Run, "c1", vec![here(observed("heap block"))]).await;
        assert!(done.new.is_empty());
        let entry = ledger.race("R1").await.unwrap();
        assert_eq!(entry.race.object, "struct conn.state");
        assert_eq!(entry.race.sites[0].locks.len(), 1, "what check knew is kept");
        assert_eq!(entry.state.proof, Verdict::Observed);
        let mut moved = here(observed("heap block"));
        moved.sites.iter_mut().for_each(|site| site.line += 7);
        let later = record(&ledger, Engine::Run, "c2", vec![moved]).await;
        assert!(later.new.is_empty(), "both names are remembered");
    });
}

#[test]
fn several_accesses_of_one_function_are_several_races() {
    on_both(|ledger, _| async move {
        let at = |line| {
            let mut race = potential("x");
            race.sites[0].line = line;
            race
        };
        let done = record(&ledger, Engine::Check, "c1", vec![at(10), at(11)]).await;
        assert_eq!(done.new, ["R1", "R2"]);
        let only_second = record(&ledger, Engine::Run, "c1", vec![at(11)]).await;
        assert_eq!(only_second.races[0].id, "R2", "the place decides within a capture");
        let third = record(&ledger, Engine::Run, "c1", vec![at(12)]).await;
        assert_eq!(third.new, ["R3"]);
        let moved = record(&ledger, Engine::Check, "c2", vec![at(110), at(111), at(112)]).await;
        let names: Vec<&str> = moved.races.iter().map(|race| race.id.as_str()).collect();
        assert_eq!(names, ["R1", "R2", "R3"], "the order decides across captures");
    });
}

#[test]
fn a_verdict_without_evidence_is_not_believed() {
    on_both(|ledger, _| async move {
        let claim = race("x", Verdict::Harmful, Engine::Check);
        let done = record(&ledger, Engine::Check, "c1", vec![claim]).await;
        assert_eq!(done.races[0].verdict, Verdict::Potential);
    });
}

#[test]
fn repeated_evidence_is_stored_once_and_schedules_are_kept() {
    on_both(|ledger, _| async move {
        let mut seen = observed("x");
        seen.evidence.push(Evidence::new(Engine::Predict).with("schedule", "rw1:main@f+1#1"));
        for _ in 0..3 {
            record(&ledger, Engine::Run, "c1", vec![seen.clone()]).await;
        }
        assert_eq!(ledger.evidence("R1").await.unwrap().len(), 2);
        let schedules = ledger.schedules("R1").await.unwrap();
        assert_eq!(schedules.len(), 1);
        assert_eq!(schedules[0].schedule, "rw1:main@f+1#1");
        assert_eq!(ledger.runs(10).await.unwrap().len(), 3);
        assert_eq!(ledger.program("R1").await.unwrap(), None);
        let program = Program { inputs: vec!["a.c".into()], ..Program::default() };
        let last = RunInfo { program: Some(program.clone()), ..run(Engine::Run, "c1") };
        ledger.record_report(&report(vec![seen]), &last).await.unwrap();
        assert_eq!(ledger.program("R1").await.unwrap(), Some(program));
    });
}

#[test]
fn fixed_in_a_newer_capture_and_reopened_as_a_regression() {
    on_both(|ledger, _| async move {
        record(&ledger, Engine::Check, "c1", vec![potential("x"), potential("y")]).await;
        let same = record(&ledger, Engine::Check, "c1", vec![potential("y")]).await;
        assert!(same.fixed.is_empty(), "the same capture cannot contain the fix");
        let mut partial = run(Engine::Check, "c2");
        partial.complete = false;
        let filtered = ledger.record_report(&report(vec![potential("y")]), &partial).await.unwrap();
        assert!(filtered.fixed.is_empty(), "a filtered check shows nothing");
        let other = RunInfo { target: "other".into(), ..run(Engine::Check, "c2") };
        let elsewhere = ledger.record_report(&report(vec![]), &other).await.unwrap();
        assert!(elsewhere.fixed.is_empty(), "another target says nothing");
        let watched = record(&ledger, Engine::Run, "c2", vec![]).await;
        assert!(watched.fixed.is_empty(), "a run that misses it proves nothing");

        let fixed = record(&ledger, Engine::Check, "c2", vec![potential("y")]).await;
        assert_eq!(fixed.fixed, ["R1"]);
        assert_eq!(ledger.race("R1").await.unwrap().race.verdict, Verdict::Fixed);
        let field = record(&ledger, Engine::Hive, "c1", vec![potential("x")]).await;
        assert!(field.regressions.is_empty(), "an old binary in the field");
        let back = record(&ledger, Engine::Run, "c3", vec![observed("x")]).await;
        assert_eq!(back.regressions, ["R1"]);
        let entry = ledger.race("R1").await.unwrap();
        assert_eq!((entry.state.status, entry.state.regression), (Status::Open, true));
        let history = ledger.history("R1").await.unwrap();
        let actions: Vec<&str> = history.iter().map(|item| item.action.as_str()).collect();
        assert_eq!(actions, ["found as potential", "fixed", "regression"]);
        assert!(history[1].reason.contains("c2"));
    });
}

#[test]
fn a_race_that_check_never_saw_is_not_fixed_by_its_silence() {
    on_both(|ledger, _| async move {
        record(&ledger, Engine::Run, "c1", vec![observed("x")]).await;
        let silent = record(&ledger, Engine::Check, "c2", vec![]).await;
        assert!(silent.fixed.is_empty());
    });
}

#[test]
fn obsolete_after_enough_misses_of_newer_captures() {
    on_both(|ledger, _| async move {
        record(&ledger, Engine::Run, "c1", vec![observed("x")]).await;
        for _ in 0..10 {
            let done = record(&ledger, Engine::Run, "c1", vec![]).await;
            assert!(done.obsolete.is_empty(), "the capture that showed it never counts");
        }
        let mut misses = 0;
        let gone = loop {
            misses += 1;
            let done = record(&ledger, Engine::Run, "c2", vec![]).await;
            if !done.obsolete.is_empty() || misses > 50 {
                break done.obsolete;
            }
        };
        assert_eq!((gone.as_slice(), misses), (&["R1".to_owned()][..], 5));
        let back = record(&ledger, Engine::Run, "c2", vec![observed("x")]).await;
        assert_eq!(back.regressions, ["R1"]);
    });
}

#[test]
fn people_mark_assign_and_undo() {
    on_both(|ledger, _| async move {
        record(&ledger, Engine::Check, "c1", vec![potential("x")]).await;
        let no_reason = ledger.mark("R1", Mark::Suppressed, "  ", "ada").await;
        assert!(matches!(no_reason, Err(Error::Refused(Refusal::NoReason))));
        ledger.mark("R1", Mark::Benign, "a statistic", "ada").await.unwrap();
        let state = ledger.assign("R1", "bob", "ada").await.unwrap();
        assert_eq!(state.status, Status::Suppressed);
        assert_eq!((state.assessment, state.assignee.as_str()), (Assessment::Benign, "bob"));
        let state = ledger.undo("R1", "eve").await.unwrap();
        assert_eq!((state.status, state.assignee.as_str()), (Status::Suppressed, ""));
        let state = ledger.undo("R1", "eve").await.unwrap();
        assert_eq!((state.status, state.assessment), (Status::Open, Assessment::None));
        let over = ledger.undo("R1", "eve").await;
        assert!(matches!(over, Err(Error::Refused(Refusal::NothingToUndo))));
        let audit = ledger.audit("R1", 10).await.unwrap();
        let acts: Vec<(&str, &str)> =
            audit.iter().map(|item| (item.actor.as_str(), item.action.as_str())).collect();
        let expected = [
            ("eve", "undo"),
            ("eve", "undo"),
            ("ada", "assigned to bob"),
            ("ada", "marked benign"),
        ];
        assert_eq!(acts, expected);
        assert_eq!(ledger.history("R1").await.unwrap().len(), 5, "undoing forgets nothing");
        let persons = ledger.evidence("R1").await.unwrap();
        assert_eq!(persons[1].evidence.text("reason"), Some("a statistic"));
        assert!(matches!(ledger.undo("R7", "eve").await, Err(Error::NoSuchRace(_))));
    });
}

#[test]
fn undo_keeps_what_was_seen() {
    on_both(|ledger, _| async move {
        record(&ledger, Engine::Check, "c1", vec![potential("x")]).await;
        ledger.mark("R1", Mark::LikelyFalse, "looks guarded", "ada").await.unwrap();
        record(&ledger, Engine::Run, "c1", vec![observed("x")]).await;
        let state = ledger.undo("R1", "ada").await.unwrap();
        assert_eq!((state.status, state.proof), (Status::LikelyFalse, Verdict::Observed));
    });
}

#[test]
fn lists_filter_sort_search_and_page() {
    on_both(|ledger, _| async move {
        let mut races = vec![potential("alpha_one"), observed("beta"), potential("gamma%")];
        races[1].rank = 10;
        races[2].rank = 90;
        races[2].sites[0].file = "lib/special.c".into();
        record(&ledger, Engine::Run, "c1", races).await;
        ledger.mark("R1", Mark::Suppressed, "known", "ada").await.unwrap();
        let names = |filter: Filter| {
            let ledger = ledger.clone();
            async move {
                let page = ledger.races(&filter).await.unwrap();
                let objects = page.entries.iter().map(|e| e.race.object.clone()).collect();
                let objects: Vec<String> = objects;
                (objects.join(" "), page.total)
            }
        };
        let all = Filter::default;
        assert_eq!(names(all()).await, ("gamma% alpha_one beta".into(), 3));
        let open = Filter { status: vec![Status::Open], ..all() };
        assert_eq!(names(open).await, ("gamma% alpha_one".into(), 2));
        let search = |text: &str| Filter { search: text.into(), ..all() };
        assert_eq!(names(search("ALPHA")).await.0, "alpha_one");
        assert_eq!(names(search("a%")).await.0, "gamma%", "a percent sign is itself");
        assert_eq!(names(search("alphaXone")).await.1, 0);
        assert_eq!(names(search("a_one")).await.0, "alpha_one");
        assert_eq!(names(search("b.c beta")).await.0, "beta", "all words must occur");
        assert_eq!(names(search("'; DROP TABLE races; --")).await.1, 0);
        let file = Filter { file: "special".into(), ..all() };
        assert_eq!(names(file).await.0, "gamma%");
        let proof = Filter { at_least: Some(Verdict::Observed), ..all() };
        assert_eq!(names(proof).await.0, "beta");
        let paged = Filter { sort: Sort::Number, limit: 1, offset: 1, ..all() };
        assert_eq!(names(paged).await, ("gamma%".into(), 3));
        let counts = ledger.counts().await.unwrap();
        assert_eq!(counts.get("potential"), Some(&2));
        assert_eq!(counts.get("suppressed"), Some(&1));
        assert_eq!(ledger.snapshots(100).await.unwrap().last().unwrap().counts, counts);
    });
}

#[test]
fn a_report_out_of_the_ledger_is_the_contract() {
    on_both(|ledger, _| async move {
        record(&ledger, Engine::Run, "c1", vec![observed("x"), potential("y")]).await;
        let report = ledger.report(&Filter::default()).await.unwrap();
        assert_eq!(report.conclusion, Conclusion::Racy);
        assert_eq!(report.races[0].evidence.len(), 1);
        let free = Report { conclusion: Conclusion::RaceFree, ..Report::default() };
        ledger.record_report(&free, &run(Engine::Check, "c2")).await.unwrap();
        let none = Filter { search: "nothing".into(), ..Filter::default() };
        let report = ledger.report(&none).await.unwrap();
        assert_eq!(report.conclusion, Conclusion::Unknown, "an open race is only filtered out");
    });
}

#[test]
fn captures_differ_by_units_and_races() {
    on_both(|ledger, _| async move {
        record(&ledger, Engine::Check, "c1", vec![potential("x"), potential("y")]).await;
        record(&ledger, Engine::Check, "c2", vec![potential("y"), potential("z")]).await;
        let captures = ledger.captures().await.unwrap();
        assert_eq!(captures.len(), 2);
        let diff = ledger.capture_diff(captures[1].id, captures[0].id).await.unwrap();
        assert_eq!(diff.changed, ["src/a.c"]);
        let objects = |entries: &[racewarden_ledger::Entry]| -> Vec<String> {
            entries.iter().map(|entry| entry.race.object.clone()).collect()
        };
        assert_eq!(objects(&diff.new), ["z"]);
        assert_eq!(objects(&diff.gone), ["x"]);
        assert_eq!(objects(&diff.kept), ["y"]);
        assert!(matches!(ledger.capture_diff(1, 99).await, Err(Error::NoSuchCapture(_))));
    });
}

#[test]
fn many_writers_lose_nothing_and_number_without_gaps() {
    on_both(|ledger, url| async move {
        let writers = 6;
        let tasks: Vec<_> = (0..writers)
            .map(|writer| {
                let url = url.clone();
                tokio::spawn(async move {
                    let own = Ledger::open(&url).await.unwrap();
                    for turn in 0..5 {
                        let races =
                            vec![observed("shared"), observed(&format!("o{writer}.{turn}"))];
                        record(&own, Engine::Run, "c1", races).await;
                    }
                    own.close().await;
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        let page = ledger.races(&Filter { sort: Sort::Number, ..Filter::default() }).await.unwrap();
        assert_eq!(page.total, 1 + writers * 5);
        let last = page.entries.last().unwrap().race.id.clone();
        assert_eq!(last, format!("R{}", page.total));
        assert_eq!(ledger.runs(100).await.unwrap().len() as u64, writers * 5);
    });
}

#[test]
fn odd_text_comes_back_as_it_went_in() {
    on_both(|ledger, _| async move {
        let odd = "<b>\"'\\ \u{1F512} ünïcode\n%s";
        record(&ledger, Engine::Check, "c1", vec![potential(odd)]).await;
        assert_eq!(ledger.race("R1").await.unwrap().race.object, odd);
        record(&ledger, Engine::Check, "c1", vec![potential("nul\0byte")]).await;
        assert_eq!(ledger.race("R2").await.unwrap().race.object, "nul\u{fffd}byte");
    });
}

#[test]
fn ten_thousand_races_are_listed_and_searched_quickly() {
    on_both(|ledger, _| async move {
        let races = (0..10_000).map(|n| potential(&format!("object_{n}"))).collect();
        record(&ledger, Engine::Check, "c1", races).await;
        for search in ["", "object_99", "src/b.c object_5", "nothing"] {
            let filter = Filter { search: search.into(), limit: 50, ..Filter::default() };
            let start = std::time::Instant::now();
            let page = ledger.races(&filter).await.unwrap();
            let took = start.elapsed();
            assert!(page.entries.len() <= 50);
            // Five times what the list must take at most, as other tests run beside this one.
            assert!(took.as_millis() < 1_000, "{search}: {took:?}");
            eprintln!("{:?} {search:?}: {} of 10000 in {took:?}", ledger.backend(), page.total);
        }
    });
}
