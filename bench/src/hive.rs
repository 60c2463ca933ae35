//! Durable report round trips per second, simulated pods on the loopback address.
//!
//! Each report is one request, answered once it is on disk. Needs a release build of the command:
//! `cargo build --release -p racewarden`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use racewarden_pod::HiveClient;
use racewarden_testkit::{HiveProcess, Postgres, collect_tickets, send_reports};

const PODS: usize = 64;
const REPORTS_PER_POD: usize = 200;

pub fn run() -> anyhow::Result<()> {
    let racewarden = release_binary()?;
    let folder = tempfile::tempdir()?;
    let sqlite = format!("sqlite:{}", folder.path().join("hive.db").display());
    let server = Postgres::start()?;
    println!("{:<12} {:>8} {:>8} {:>12} {:>6}", "store", "sent", "kept", "per second", "lost");
    measure(&racewarden, "SQLite", &sqlite)?;
    measure(&racewarden, "PostgreSQL", &server.url())
}

fn measure(racewarden: &Path, name: &str, database: &str) -> anyhow::Result<()> {
    let hive = HiveProcess::start(racewarden, database)?;
    hive.create_project("load")?;
    hive.publish_dummy("load", "1.0", 200)?;
    let pods = (0..PODS)
        .map(|_| {
            let client = HiveClient::with(&hive.url, "load", &hive.token("load", "pod")?, None);
            let tickets = collect_tickets(&client, "1.0", REPORTS_PER_POD)?;
            Ok((client, tickets))
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    let result = send_reports(&pods);
    let kept = hive.report_count("load", "1.0")?;
    let sent = PODS * REPORTS_PER_POD;
    let rate = result.acknowledged as f64 / result.elapsed.as_secs_f64();
    let lost = result.acknowledged.saturating_sub(kept);
    println!("{name:<12} {sent:>8} {kept:>8} {rate:>12.0} {lost:>6}");
    Ok(())
}

/// The release binary beside this benchmark's own.
fn release_binary() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let path = own.with_file_name("racewarden");
    path.exists()
        .then_some(path)
        .context("build the command first: cargo build --release -p racewarden")
}
