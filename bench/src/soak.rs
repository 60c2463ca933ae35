//! A soak: memcached and redis under `racewarden run` and under load, for ten minutes each unless
//! told otherwise. Shown at the end: operations done, the process's memory a third of the way and
//! at the end (what grows without bound shows there), and what was reported.
//!
//! The command fails when the server crashed or stopped answering. What it reports is for a reader
//! to judge: both servers have counters that they read without a lock on purpose.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use crate::load::{self, Talk};

struct Server {
    name: &'static str,
    build: &'static str,
    target: &'static str,
    /// The server's arguments; `PORT` stands for the port.
    arguments: &'static [&'static str],
    talk: Talk,
}

const SERVERS: [Server; 2] = [
    Server {
        name: "memcached",
        build: "./configure && make -j2 memcached",
        target: "memcached",
        arguments: &[
            "-l",
            "127.0.0.1",
            "-p",
            "PORT",
            "-U",
            "0",
            "-t",
            "4",
            "-u",
            "root",
            "-m",
            "64",
        ],
        talk: load::talk_memcached,
    },
    Server {
        name: "redis",
        build: "CFLAGS=-I/usr/include/liblzf LDFLAGS='-latomic -llzf' make -j2 MALLOC=libc",
        target: "redis-server",
        arguments: &[
            "--bind",
            "127.0.0.1",
            "--port",
            "PORT",
            "--save",
            "",
            "--io-threads",
            "4",
            "--io-threads-do-reads",
            "yes",
            "--maxmemory",
            "64mb",
        ],
        talk: load::talk_redis,
    },
];

pub fn run() -> anyhow::Result<()> {
    let mut sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let mut racewarden = std::env::current_exe()?.with_file_name("racewarden");
    let (mut seconds, mut only) = (600, String::new());
    let mut arguments = std::env::args().skip(2);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().with_context(|| format!("{argument} needs a value"))?;
        match argument.as_str() {
            "--sources" => sources = value.into(),
            "--racewarden" => racewarden = value.into(),
            "--seconds" => seconds = value.parse().context("--seconds needs a number")?,
            "--only" => only = value,
            _ => bail!(
                "usage: soak [--sources FOLDER] [--racewarden FILE] [--seconds N] [--only NAME]"
            ),
        }
    }
    for server in SERVERS.iter().filter(|server| server.name.contains(&only)) {
        soak(server, &sources, &racewarden, Duration::from_secs(seconds))
            .with_context(|| server.name.to_owned())?;
    }
    Ok(())
}

fn soak(server: &Server, sources: &Path, tool: &Path, time: Duration) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let place = folder.path().join(server.name);
    let copied =
        Command::new("cp").arg("-r").arg(sources.join(server.name)).arg(&place).status()?;
    ensure!(copied.success(), "cannot copy the sources; bench/fetch gets them");
    let tool = |arguments: &[&str]| {
        let mut command = Command::new(tool);
        command.args(arguments).current_dir(&place);
        command.env("RACEWARDEN_CACHE", folder.path().join("cache"));
        command
    };
    let built = tool(&["capture", "--", "sh", "-c", server.build])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    ensure!(built.success(), "the captured build failed");
    let port = load::free_port()?;
    // Started before the build of the instrumented program, so the limit counts from its start.
    let limit = (time.as_secs() + 20).to_string();
    let report = folder.path().join("report.json");
    let mut child = tool(&["run", server.target, "--timeout", &limit, "--format", "json"])
        .arg("--output")
        .arg(&report)
        .arg("--")
        .args(server.arguments.iter().map(|text| text.replace("PORT", &port.to_string())))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let loaded = load(server, port, time);
    let status = child.wait()?;
    let (operations, memory) = loaded?;
    ensure!(status.code().is_some_and(|code| code < 2), "racewarden ended with {status}");
    let text = std::fs::read(&report).context("no report was written")?;
    tell(server, operations, &memory, &serde_json::from_slice(&text)?)
}

/// Loads the server for `time`; returns operations done and samples of its memory in KiB.
fn load(server: &Server, port: u16, time: Duration) -> anyhow::Result<(u64, Vec<u64>)> {
    load::await_server(port, Duration::from_secs(600))?;
    let mut memory = Vec::new();
    let operations = load::clients(port, server.talk, load::CLIENTS, u64::MAX, || {
        let start = Instant::now();
        while start.elapsed() < time {
            std::thread::sleep(Duration::from_secs(1));
            memory.extend(resident(port));
        }
    })?;
    Ok((operations, memory))
}

/// The resident memory of the process whose command line names the port.
fn resident(port: u16) -> Option<u64> {
    // As an argument, or as redis writes it over its arguments.
    let wanted = [format!("\0{port}\0"), format!(":{port}")];
    let ours = |folder: &PathBuf| {
        let line = std::fs::read(folder.join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        wanted.iter().any(|one| line.contains(one)) && !line.contains("\0--timeout\0")
    };
    let folders = std::fs::read_dir("/proc").ok()?.flatten().map(|entry| entry.path());
    let folder = folders.into_iter().find(ours)?;
    let status = std::fs::read_to_string(folder.join("status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn tell(server: &Server, operations: u64, memory: &[u64], report: &Value) -> anyhow::Result<()> {
    let megabytes = |at: usize| memory.get(at).map_or(0, |kilobytes| kilobytes / 1024);
    let stats = &report["stats"];
    ensure!(stats["signal"].is_null() || stats["timed_out"] == true, "it crashed: {stats}");
    println!(
        "{}: {operations} operations, memory {} MiB after a third, {} MiB at the end",
        server.name,
        megabytes(memory.len() / 3),
        megabytes(memory.len().saturating_sub(1)),
    );
    for race in report["races"].as_array().into_iter().flatten() {
        let place = |at: usize| {
            let site = &race["sites"][at];
            format!("{}:{}", site["file"].as_str().unwrap_or("?"), site["line"])
        };
        let (verdict, object) = (&race["verdict"], &race["object"]);
        println!("  {verdict} {object}: {} x {}", place(0), place(1));
    }
    for note in report["notes"].as_array().into_iter().flatten() {
        println!("  note: {}", note["text"].as_str().unwrap_or_default());
    }
    Ok(())
}
