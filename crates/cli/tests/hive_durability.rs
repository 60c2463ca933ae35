//! Nothing that a hive has acknowledged is lost, whatever dies.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use racewarden_pod::{HiveClient, Spool, SpoolLimits};
use racewarden_proto::{NotEnforced, Outcome, PodReport};
use racewarden_testkit::{HiveProcess, Postgres, collect_tickets, send_reports_counting};

const RACEWARDEN: &str = env!("CARGO_BIN_EXE_racewarden");
const PODS: usize = 6;
const REPORTS: usize = 150;

fn pods(hive: &HiveProcess) -> Vec<(HiveClient, Vec<String>)> {
    hive.create_project("app").unwrap();
    hive.publish_dummy("app", "1.0", 20).unwrap();
    (0..PODS)
        .map(|_| {
            let token = hive.token("app", "pod").unwrap();
            let client = HiveClient::with(&hive.url, "app", &token, None);
            let tickets = collect_tickets(&client, "1.0", REPORTS).unwrap();
            (client, tickets)
        })
        .collect()
}

/// Loads the hive, lets `disaster` strike in the middle, and checks what is there afterwards.
fn survives(database: &str, disaster: impl FnOnce(HiveProcess) -> HiveProcess) {
    let hive = HiveProcess::start(Path::new(RACEWARDEN), database).unwrap();
    let pods = pods(&hive);
    let acknowledged = &AtomicU64::new(0);
    let (result, hive) = std::thread::scope(|scope| {
        let load = scope.spawn(|| send_reports_counting(&pods, acknowledged));
        // The disaster strikes while reports are being acknowledged, however slow the machine is.
        let end = Instant::now() + Duration::from_secs(60);
        while acknowledged.load(Ordering::Relaxed) < 50 {
            assert!(Instant::now() < end, "the load never got through");
            std::thread::sleep(Duration::from_millis(1));
        }
        let hive = disaster(hive);
        (load.join().unwrap(), hive)
    });
    let kept = hive.report_count("app", "1.0").unwrap();
    assert!(kept >= result.acknowledged, "{kept} kept, {} acknowledged", result.acknowledged);
    assert!(result.acknowledged >= 50);
}

#[test]
fn a_killed_hive_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite:{}", folder.path().join("hive.db").display());
    survives(&database, |hive| {
        hive.kill();
        HiveProcess::start(Path::new(RACEWARDEN), &database).unwrap()
    });
}

#[test]
fn a_killed_hive_and_a_crashed_server_on_postgresql() {
    let server = Postgres::start().unwrap();
    let database = server.url();
    survives(&database, |hive| {
        server.crash().unwrap();
        server.resume().unwrap();
        std::thread::sleep(Duration::from_millis(200));
        hive.kill();
        HiveProcess::start(Path::new(RACEWARDEN), &database).unwrap()
    });
}

/// A report every ten minutes for a week: they were kept while the hive was away, and drain when it
/// is back, even if it dies once more in between.
#[test]
fn a_week_of_spooled_reports_drains() {
    const WEEK: usize = 7 * 24 * 6;
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite:{}", folder.path().join("hive.db").display());
    let hive = HiveProcess::start(Path::new(RACEWARDEN), &database).unwrap();
    hive.create_project("app").unwrap();
    hive.publish_dummy("app", "1.0", 20).unwrap();
    let token = hive.token("app", "pod").unwrap();
    let client = HiveClient::with(&hive.url, "app", &token, None);
    let tickets = collect_tickets(&client, "1.0", WEEK).unwrap();
    hive.kill();

    let place = folder.path().join("spool");
    let spool = Spool::open(place.clone(), SpoolLimits::default()).unwrap();
    let now = SystemTime::now();
    for (number, ticket) in tickets.into_iter().enumerate() {
        let id = format!("r{number}");
        let outcome = Outcome::NotEnforced { reason: NotEnforced::NeverMet };
        spool.add(&PodReport { id: id.clone(), ticket, outcome, executed_gates: vec![] }).unwrap();
        let age = Duration::from_secs(600 * (WEEK - number) as u64);
        let file = std::fs::File::options().append(true).open(place.join(format!("{id}.json")));
        file.unwrap().set_modified(now - age).unwrap();
    }
    assert!(spool.drain(&client).is_err(), "there is no hive to drain to");
    assert_eq!(spool.len().unwrap(), WEEK);

    for _ in 0..2 {
        // The second time nothing is left, and what was sent is still there.
        let hive = HiveProcess::start(Path::new(RACEWARDEN), &database).unwrap();
        let client = HiveClient::with(&hive.url, "app", &token, None);
        spool.drain(&client).unwrap();
        assert_eq!(spool.len().unwrap(), 0);
        assert_eq!(hive.report_count("app", "1.0").unwrap(), WEEK as u64);
        hive.kill();
    }
    assert_eq!(spool.dropped(), 0);
}
