//! Reports that repeat what the ledger knows, in part or whole: what is recorded with the help of
//! memos is what is recorded without them, and only what is another is written.

mod support;

use racewarden_finding::{
    AccessKind, Engine, Evidence, HeldLock, LockMode, Race, Report, Site, Verdict,
};
use racewarden_ledger::{
    Backend, CaptureInfo, Filter, Ledger, Mark, Recorded, RunInfo, Sort, Status,
};
use sqlx::any::AnyPoolOptions;
use support::{on_both, place};

/// More races than one blob of memos and one statement hold.
const MANY: u32 = 1_100;

fn site(line: u32, function: &str, lvalue: &str, access: AccessKind) -> Site {
    Site {
        file: "src/a.c".into(),
        line,
        column: 5,
        function: function.into(),
        access,
        lvalue: lvalue.into(),
        atomic: false,
        locks: vec![],
        thread: "worker".into(),
        stack: Default::default(),
    }
}

/// Every third race shares its fingerprint with its neighbours.
fn race(number: u32, line: u32) -> Race {
    let object = format!("object_{}", number / 3);
    let first = site(line, "f", &object, AccessKind::Write);
    let second = site(line + 100_000, "g", &object, AccessKind::Read);
    let mut race = Race::new(first, second, object, Verdict::Potential);
    race.evidence.push(Evidence::new(Engine::Check));
    race.reasons.push("no lock".into());
    race
}

fn many() -> Vec<Race> {
    (0..MANY).map(|number| race(number, 10 + number)).collect()
}

async fn record(
    ledger: &Ledger,
    engine: Engine,
    capture: &str,
    at: i64,
    races: Vec<Race>,
) -> Recorded {
    let report = Report { races, ..Report::default() };
    let capture = CaptureInfo { hash: capture.into(), ..CaptureInfo::default() };
    let run = RunInfo {
        capture: Some(capture),
        complete: engine == Engine::Check,
        at,
        ..RunInfo::new(engine, "bank")
    };
    ledger.record_report(&report, &run).await.unwrap()
}

/// Runs a statement beside the ledger; gives the number it asks for.
async fn number(url: &str, sql: &'static str) -> i64 {
    let url = match url.contains("://") {
        true => url.to_owned(),
        false => format!("sqlite://{}", url.replace('%', "%25").replace('?', "%3F")),
    };
    let pool = AnyPoolOptions::new().max_connections(1).connect(&url).await.unwrap();
    let found: Option<(i64,)> = sqlx::query_as(sql).fetch_optional(&pool).await.unwrap();
    pool.close().await;
    found.map_or(0, |(number,)| number)
}

#[test]
fn a_repeated_report_writes_no_more_than_that_it_was_seen() {
    on_both(|ledger, url| async move {
        let first = record(&ledger, Engine::Check, "c1", 1_000, many()).await;
        assert_eq!(first.new.len() as u32, MANY);
        for (capture, at) in [("c1", 2_000), ("c2", 3_000)] {
            let again = record(&ledger, Engine::Check, capture, at, many()).await;
            assert_eq!(again.races, first.races, "each has the name that it had");
            assert!(again.new.is_empty() && again.fixed.is_empty());
        }
        let others = "SELECT COUNT(*) FROM race_rows WHERE written_in <> first_run";
        assert_eq!(number(&url, others).await, 0, "no text was written again");
        assert_eq!(number(&url, "SELECT COUNT(*) FROM spans").await, 3, "one for each run");
        let seen = number(&url, "SELECT COUNT(*) FROM sightings").await;
        assert_eq!(seen, 3 * i64::from(MANY));
        assert_eq!(number(&url, "SELECT COUNT(*) FROM evidence").await, i64::from(MANY));
        assert_eq!(number(&url, "SELECT COUNT(*) FROM history").await, i64::from(MANY));
        let page = ledger.races(&Filter::default()).await.unwrap();
        assert!(
            page.entries.iter().all(|entry| (entry.first_seen, entry.last_seen) == (1_000, 3_000))
        );
    });
}

#[test]
fn after_an_edit_only_what_it_touched_is_written() {
    on_both(|ledger, url| async move {
        let first = record(&ledger, Engine::Check, "c1", 1_000, many()).await;
        let mut edited = many();
        // The last three share a fingerprint: the order says which is which.
        for number in 600..603 {
            edited[number as usize] = race(number, 50_000 + number);
        }
        edited[9].rank = 99;
        edited[12].sites[0].locks.push(HeldLock {
            name: "lock".into(),
            mode: LockMode::Write,
            acquired_at: String::new(),
        });
        edited[15].evidence = vec![Evidence::new(Engine::Check).with("loop", true)];
        edited.truncate(MANY as usize - 2);
        edited.push(race(90_000, 90_000));
        let second = record(&ledger, Engine::Check, "c2", 2_000, edited.clone()).await;
        assert_eq!(second.new, [format!("R{}", MANY + 1)]);
        assert_eq!(second.fixed, [format!("R{}", MANY - 1), format!("R{MANY}")]);
        let kept = MANY as usize - 2;
        assert_eq!(second.races[..kept], first.races[..kept]);
        let written = "SELECT COUNT(*) FROM race_rows WHERE written_in = 2 AND first_run = 1";
        assert_eq!(number(&url, written).await, 6);
        let last_seen = |id: u32| {
            let ledger = ledger.clone();
            async move { ledger.race(&format!("R{id}")).await.unwrap() }
        };
        let moved = last_seen(601).await;
        assert_eq!((moved.race.sites[0].line, moved.last_seen), (50_600, 2_000));
        assert_eq!(last_seen(10).await.race.rank, 99);
        assert_eq!(last_seen(13).await.race.sites[0].locks.len(), 1);
        assert_eq!(ledger.evidence("R16").await.unwrap().len(), 2);
        assert_eq!(ledger.evidence("R17").await.unwrap().len(), 1);
        assert_eq!(last_seen(MANY).await.last_seen, 1_000, "it was not seen again");
        let again = record(&ledger, Engine::Check, "c2", 3_000, edited).await;
        assert_eq!(again.races, second.races);
        assert_eq!(number(&url, "SELECT COUNT(*) FROM race_rows WHERE written_in = 3").await, 0);
        let all = Filter { status: vec![Status::Fixed], ..Filter::default() };
        assert_eq!(ledger.races(&all).await.unwrap().total, 2);
    });
}

#[test]
fn what_a_person_said_in_between_holds() {
    on_both(|ledger, _| async move {
        record(&ledger, Engine::Check, "c1", 1_000, many()).await;
        ledger.mark("R5", Mark::Suppressed, "known", "ada").await.unwrap();
        ledger.mark("R6", Mark::Fixed, "in review", "ada").await.unwrap();
        ledger.assign("R7", "bob", "ada").await.unwrap();
        let again = record(&ledger, Engine::Check, "c1", 2_000, many()).await;
        assert_eq!(again.races[4].verdict, Verdict::Suppressed);
        assert_eq!(again.regressions, ["R6"], "what is reported is not fixed");
        let state = ledger.race("R6").await.unwrap().state;
        assert_eq!((state.status, state.regression), (Status::Open, true));
        assert_eq!(ledger.race("R7").await.unwrap().state.assignee, "bob");
        assert_eq!(ledger.history("R5").await.unwrap().len(), 2);
    });
}

#[test]
fn engines_that_take_turns_add_to_the_same_races() {
    on_both(|ledger, url| async move {
        let some = |engine: Engine| {
            let mut races = many();
            races.truncate(30);
            for race in &mut races {
                race.evidence = vec![Evidence::new(engine)];
                race.object = "heap block".into();
                race.sites[0].thread = "T1".into();
                race.sites[1].lvalue.clear();
                if engine == Engine::Run {
                    race.verdict = Verdict::Observed;
                }
            }
            races
        };
        for (at, turn) in [(1_000, "check"), (2_000, "run"), (3_000, "check"), (4_000, "run")] {
            match turn {
                "check" => record(&ledger, Engine::Check, "c1", at, many()).await,
                _ => record(&ledger, Engine::Run, "c1", at, some(Engine::Run)).await,
            };
        }
        let entry = ledger.race("R2").await.unwrap();
        assert_eq!(entry.race.verdict, Verdict::Observed);
        assert_eq!(entry.race.object, "object_0", "what the check calls it");
        assert_eq!(entry.race.sites[0].thread, "worker");
        assert_eq!(entry.race.evidence.len(), 2);
        assert_eq!(entry.last_seen, 4_000);
        assert_eq!(ledger.race("R31").await.unwrap().last_seen, 3_000);
        assert_eq!(ledger.evidence("R2").await.unwrap().len(), 2, "nothing is said twice");
        assert_eq!(number(&url, "SELECT COUNT(*) FROM races").await, i64::from(MANY));
    });
}

/// A generator that always gives the same numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// Some of five accesses in each of four functions. Lines depend on the capture, so that places
/// move, meet others' old places and come back.
fn rolled(dice: &mut Dice, engine: Engine, capture: u64) -> Vec<Race> {
    let mut races = Vec::new();
    for object in 0..4_u32 {
        let shift = if u64::from(object) == capture { 2 } else { 0 };
        for nth in (0..5_u32).filter(|_| dice.below(4) > 0).collect::<Vec<_>>() {
            let name = format!("object_{object}");
            let function = format!("f{object}");
            let lines = [object * 100 + nth + shift, 1_000 + nth / 2];
            let mut first = site(lines[0], &function, &name, AccessKind::Write);
            let second = site(lines[1], "g", &name, AccessKind::Write);
            first.column = [5, 5, 9, 0][dice.below(4) as usize];
            let heap = engine != Engine::Check && dice.below(2) == 0;
            let called = if heap { "heap block" } else { &name };
            let verdict =
                if engine == Engine::Run { Verdict::Observed } else { Verdict::Potential };
            let mut race = Race::new(first, second, called, verdict);
            race.rank = 50 + dice.below(2) as u32;
            race.evidence.push(Evidence::new(engine).with("runs", dice.below(2)));
            races.push(race);
        }
    }
    races
}

/// Everything that the ledger says, but for the times at which persons spoke.
async fn everything(ledger: &Ledger) -> Vec<String> {
    let filter = Filter { sort: Sort::Number, ..Filter::default() };
    let mut lines = Vec::new();
    for entry in ledger.races(&filter).await.unwrap().entries {
        let id = entry.race.id.clone();
        lines.push(format!("{entry:?}"));
        for item in ledger.evidence(&id).await.unwrap() {
            let at = if item.run.is_some() { item.at } else { 0 };
            lines.push(format!("{at} {:?} {:?}", item.run, item.evidence));
        }
        for item in ledger.history(&id).await.unwrap() {
            let at = if item.actor == "ada" { 0 } else { item.at };
            lines.push(format!("{at} {} {} {:?}", item.actor, item.action, item.after));
        }
    }
    let captures = ledger.captures().await.unwrap();
    for pair in captures.windows(2) {
        let diff = ledger.capture_diff(pair[1].id, pair[0].id).await.unwrap();
        lines.push(format!("{:?}", [diff.new, diff.gone, diff.kept].map(|list| list.len())));
    }
    lines.push(format!("{:?}", ledger.counts().await.unwrap()));
    lines
}

#[test]
fn memos_change_nothing_but_the_time_it_takes() {
    on_both(|ledger, url| async move {
        let backend = match url.contains("://") {
            true => Backend::Postgres,
            false => Backend::Sqlite,
        };
        let other = place(backend);
        let slow = Ledger::open(&other.url).await.unwrap();
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
        let mut report = Vec::new();
        for at in 1..=60 {
            let engine = [Engine::Check, Engine::Check, Engine::Run, Engine::Predict]
                [dice.below(4) as usize];
            let capture = dice.below(4);
            if at == 1 || dice.below(3) > 0 {
                report = rolled(&mut dice, engine, capture);
            }
            let name = format!("c{capture}");
            assert_eq!(number(&other.url, "DELETE FROM memos").await, 0);
            let expected = record(&slow, engine, &name, at, report.clone()).await;
            let recorded = record(&ledger, engine, &name, at, report.clone()).await;
            assert_eq!(recorded, expected, "step {at}");
            if dice.below(3) == 0 {
                let id = format!("R{}", 1 + dice.below(20));
                let mark = Mark::ALL[dice.below(Mark::ALL.len() as u64) as usize];
                let (one, two) = (
                    ledger.mark(&id, mark, "so", "ada").await,
                    slow.mark(&id, mark, "so", "ada").await,
                );
                assert_eq!(one.ok(), two.ok());
            }
            if at % 6 == 0 {
                assert_eq!(everything(&ledger).await, everything(&slow).await, "step {at}");
            }
        }
        let used = number(&url, "SELECT COUNT(*) FROM race_rows WHERE written_in < 60").await;
        assert!(used > 0, "some race was not written the last time");
        slow.close().await;
    });
}
