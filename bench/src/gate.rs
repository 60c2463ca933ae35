//! What gates cost while they are inert, and while one race is being validated (paper 5, section
//! 4.2): processor time relative to the same program without gates, in interleaved runs.
//!
//! Every access on every line of the program's own sources is gated, which is far more than any
//! set of candidates: an upper bound.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde_json::{Value, json};

const ROUNDS: usize = 15;

pub fn run() -> anyhow::Result<()> {
    let mut sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let mut racewarden = std::env::current_exe()?.with_file_name("racewarden");
    let mut arguments = std::env::args().skip(2);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().with_context(|| format!("{argument} needs a value"))?;
        match argument.as_str() {
            "--sources" => sources = value.into(),
            "--racewarden" => racewarden = value.into(),
            _ => anyhow::bail!("usage: gate [--sources FOLDER] [--racewarden FILE]"),
        }
    }
    let folder = tempfile::tempdir()?;
    let place = folder.path().join("pbzip2");
    run_in(folder.path(), Command::new("cp").arg("-r").arg(sources.join("pbzip2")).arg(&place))?;
    run_in(&place, Command::new("make").arg("clean"))?;
    // Old C++ writes literals next to macros without a blank.
    let compiler = "CXX=clang++-22 -Wno-reserved-user-defined-literal";
    run_in(&place, Command::new("make").arg(compiler))?;
    std::fs::rename(place.join("pbzip2"), place.join("plain"))?;
    run_in(&place, Command::new("make").arg("clean"))?;
    let cache = folder.path().join("cache");
    let tool = |arguments: &[&str]| {
        let mut command = Command::new(&racewarden);
        command.args(arguments).env("RACEWARDEN_CACHE", &cache);
        command
    };
    run_in(&place, &mut tool(&["capture", "--", "make", compiler]))?;
    let report = folder.path().join("all.json");
    std::fs::write(&report, all_lines(&place)?.to_string())?;
    let input = folder.path().join("input");
    std::fs::write(&input, noise(4_000_000))?;
    let report = report.to_string_lossy();
    let input = input.to_string_lossy();
    let build = ["confirm", "pbzip2", "--no-ledger", "--confirm-runs", "0", "--confirm-time", "0"];
    let mut build = tool(&build);
    build.args(["--format", "json", "--report", &report, "--", "-V"]);
    // Exit status 1 stands for open candidates.
    build.current_dir(&place).stdout(Stdio::null()).status()?;
    let gated = gated_program(&cache)?;
    let orders = folder.path().join("orders");
    let text =
        "racewarden-gate 1\nwait-us 200000\nrun-budget-us 200000\ntarget 0 forward 0,1 2,3\n";
    std::fs::write(&orders, text)?;
    measure(&place.join("plain"), &gated, &orders, &input)
}

/// A candidate for every line: its read and its write.
fn all_lines(place: &Path) -> anyhow::Result<Value> {
    let mut races = Vec::new();
    for file in ["pbzip2.cpp", "BZ2StreamScanner.cpp", "ErrorContext.cpp"] {
        let lines = std::fs::read_to_string(place.join(file))?.lines().count();
        for line in 1..=lines {
            let site = |access: &str| {
                json!({ "file": file, "line": line, "column": 0, "function": "", "access": access,
                    "lvalue": "", "atomic": false, "locks": [], "thread": "", "stack": [] })
            };
            races.push(json!({ "id": "", "fingerprint": format!("{file}:{line}"),
                "verdict": "potential", "rank": 0, "object": "", "evidence": [], "reasons": [],
                "sites": [site("read"), site("write")] }));
        }
    }
    Ok(json!({ "schema": "racewarden/report/1", "conclusion": "unknown", "races": races,
        "excluded": {}, "notes": [], "stats": {} }))
}

/// Bytes that do not compress well, the same every time.
pub fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 60) as u8
    };
    (0..length).map(|_| next()).collect()
}

fn gated_program(cache: &Path) -> anyhow::Result<PathBuf> {
    let entries = std::fs::read_dir(cache.join("instrumented"))?;
    let programs = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    programs
        .into_iter()
        .find(|path| path.to_string_lossy().ends_with("-pbzip2"))
        .context("no gated pbzip2 was built")
}

fn measure(plain: &Path, gated: &Path, orders: &Path, input: &str) -> anyhow::Result<()> {
    let report = orders.with_file_name("report");
    let value = format!("{}:{}", orders.display(), report.display());
    let mut idle = Vec::new();
    let mut active = Vec::new();
    for _ in 0..ROUNDS {
        let base = cpu(Command::new(plain).args(["-k", "-c", "-p2", "-b1", input]))?;
        idle.push(cpu(Command::new(gated).args(["-k", "-c", "-p2", "-b1", input]))? / base);
        let mut command = Command::new(gated);
        command.args(["-k", "-c", "-p2", "-b1", input]).env("RACEWARDEN_GATE", &value);
        active.push(cpu(&mut command)? / base);
    }
    let count = std::fs::metadata(gated)?.len();
    println!("pbzip2, all its lines gated ({count} bytes), {ROUNDS} interleaved rounds:");
    println!("  gates idle          {}", spread(&mut idle));
    println!("  validating one race {}", spread(&mut active));
    Ok(())
}

fn spread(ratios: &mut [f64]) -> String {
    ratios.sort_by(f64::total_cmp);
    let at = |part: usize| ratios[(ratios.len() - 1) * part / 4];
    format!("{:.3}x (quartiles {:.3} to {:.3})", at(2), at(1), at(3))
}

/// Processor time of a child in seconds, from the kernel's account of waited-for children.
pub fn cpu(command: &mut Command) -> anyhow::Result<f64> {
    let before = children_ticks()?;
    let status = command.stdout(Stdio::null()).status()?;
    ensure!(status.success(), "{command:?} failed");
    Ok((children_ticks()? - before) as f64)
}

/// User and system time of all waited-for children, in clock ticks.
fn children_ticks() -> anyhow::Result<u64> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let rest = text.rsplit(')').next().unwrap_or_default();
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let field = |index: usize| fields.get(index).and_then(|text| text.parse::<u64>().ok());
    // After the name: state is 0, so cutime (16th of all) is 13 and cstime 14.
    field(13).zip(field(14)).map(|(user, system)| user + system).context("no process times")
}

fn run_in(place: &Path, command: &mut Command) -> anyhow::Result<()> {
    let status = command.current_dir(place).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}
