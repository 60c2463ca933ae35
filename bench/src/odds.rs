//! How much likelier steering makes a bug show (paper 5, section 4.4), and how surely a schedule
//! replays: `racewarden-bench odds` and `racewarden-bench replay`, on annotated programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::real::{Places, report_of};

const PLAIN_RUNS: usize = 10_000;
/// These programs sleep most of their time, so many run at once.
const AT_ONCE: usize = 16;
const REPLAYS: usize = 100;

/// One crash, one hang, one uncaught exception, one double free: all with a window that plain runs
/// never hit.
const RARE: [&str; 4] = ["late_teardown.c", "missed_post.c", "thrown.cpp", "double_free.c"];
const REPLAYED: [&str; 9] = [
    "late_teardown.c",
    "missed_post.c",
    "thrown.cpp",
    "double_free.c",
    "lost_update.c",
    "lost_wakeup.c",
    "pool_closed_unlocked.c",
    "statistics.c",
    "progress.cpp",
];

pub fn odds() -> anyhow::Result<()> {
    let places = Places::from_arguments()?;
    println!("| program | failures in {PLAIN_RUNS} plain runs | steered runs until harm |");
    println!("|---|---|---|");
    for name in RARE.into_iter().filter(|name| places.wants(name)) {
        let program = compiled(&places, name)?;
        let failures = plain_failures(&program)?;
        let report = confirmed(&places, name)?;
        let runs = &report["stats"]["confirm_runs"];
        let verdict = report["races"][0]["verdict"].as_str().unwrap_or("none");
        let shown = if verdict == "harmful" { runs.to_string() } else { verdict.to_owned() };
        println!("| {name} | {failures} | {shown} |");
    }
    Ok(())
}

pub fn replay() -> anyhow::Result<()> {
    let places = Places::from_arguments()?;
    println!("| program | replayed | of |");
    println!("|---|---|---|");
    for name in REPLAYED.into_iter().filter(|name| places.wants(name)) {
        let report = confirmed(&places, name)?;
        let race = &report["races"][0];
        let file = places.scratch().join("replayed.json");
        std::fs::write(&file, report.to_string())?;
        let id = race["id"].as_str().context("a race without a name")?;
        let hits = AtomicUsize::new(0);
        in_parallel(REPLAYS, 2, |_| {
            let mut command = places.tool(places.scratch());
            command.args(["replay", "--race", id, "--report"]).arg(&file).arg(source(name));
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let reached = command.status().is_ok_and(|status| status.code() == Some(1));
            hits.fetch_add(usize::from(reached), Ordering::Relaxed);
        });
        println!("| {name} | {} | {REPLAYS} |", hits.into_inner());
    }
    Ok(())
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/programs/confirm").join(name)
}

fn compiled(places: &Places, name: &str) -> anyhow::Result<PathBuf> {
    let program = places.scratch().join(format!("{name}.plain"));
    let compiler = if name.ends_with(".cpp") { "clang++-22" } else { "clang-22" };
    let status = Command::new(compiler)
        .args(["-O2", "-pthread", "-o"])
        .arg(&program)
        .arg(source(name))
        .status()?;
    ensure!(status.success(), "{name} does not compile");
    Ok(program)
}

/// How many of many plain runs fail: by their status, or by not ending.
fn plain_failures(program: &Path) -> anyhow::Result<usize> {
    let failures = AtomicUsize::new(0);
    in_parallel(PLAIN_RUNS, AT_ONCE, |_| {
        if !ends_well(program).unwrap_or(false) {
            failures.fetch_add(1, Ordering::Relaxed);
        }
    });
    Ok(failures.into_inner())
}

fn ends_well(program: &Path) -> anyhow::Result<bool> {
    let mut child = Command::new(program).stderr(Stdio::null()).spawn()?;
    let begin = Instant::now();
    std::thread::sleep(Duration::from_millis(55));
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if begin.elapsed() > Duration::from_secs(20) {
            child.kill()?;
            child.wait()?;
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(3));
    }
}

fn in_parallel(count: usize, at_once: usize, work: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    work(number);
                }
            });
        }
    });
}

/// Confirms the first marked pair of an annotated program.
fn confirmed(places: &Places, name: &str) -> anyhow::Result<Value> {
    let (candidates, file) =
        (places.scratch().join("candidates.json"), places.scratch().join("confirmed.json"));
    std::fs::write(&candidates, marked_pair(&source(name))?.to_string())?;
    let mut confirm = places.tool(places.scratch());
    confirm.args(["confirm", "--no-ledger", "--format", "json", "--report"]).arg(&candidates);
    confirm.arg("-o").arg(&file).arg(source(name));
    Ok(report_of(&mut confirm, &file)?.1)
}

fn marked_pair(path: &Path) -> anyhow::Result<Value> {
    let text = std::fs::read_to_string(path)?;
    let mut sites = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for mark in line.split("pair(1 ").skip(1) {
            let access = mark.split(')').next().unwrap_or("read");
            sites.push(json!({ "file": path, "line": index + 1, "column": 0, "function": "",
                "access": access, "lvalue": "", "atomic": false, "locks": [], "thread": "",
                "stack": [] }));
        }
    }
    ensure!(sites.len() == 2, "{}: no marked pair", path.display());
    let race = json!({ "id": "R1", "fingerprint": "1", "verdict": "potential", "rank": 50,
        "object": "", "evidence": [], "reasons": [], "sites": sites });
    Ok(json!({ "schema": "racewarden/report/1", "conclusion": "unknown", "races": [race],
        "excluded": {}, "notes": [], "stats": {} }))
}
