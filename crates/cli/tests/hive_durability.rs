//! Nothing that a hive has acknowledged is lost, whatever dies.

use std::path::Path;
use std::time::Duration;

use racewarden_pod::HiveClient;
use racewarden_testkit::{HiveProcess, Postgres, collect_tickets, send_reports};

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
    let (result, hive) = std::thread::scope(|scope| {
        let load = scope.spawn(|| send_reports(&pods));
        std::thread::sleep(Duration::from_millis(300));
        let hive = disaster(hive);
        (load.join().unwrap(), hive)
    });
    let kept = hive.report_count("app", "1.0").unwrap();
    assert!(kept >= result.acknowledged, "{kept} kept, {} acknowledged", result.acknowledged);
    assert!(result.acknowledged > 0, "the load never got through");
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
