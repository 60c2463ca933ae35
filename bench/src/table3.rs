//! Paper 3's Table III for our programs: one recording each, three detectors over it (order only,
//! values, values and branches not taken), every race replayed.
//!
//! The small programs are ports of the paper's, in `bench/predict`. Real programs come in where
//! their sources are at hand (`bench/fetch`), each with a short workload.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::Value;

const PORTS: [&str; 8] = [
    "critical",
    "airline",
    "account",
    "pingpong",
    "bbuffer",
    "bubblesort",
    "bufwriter",
    "mergesort",
];

/// One real program: its folder, what builds it, and what the recorded run is given. `INPUT`
/// stands for a file of a few hundred kilobytes, `SOCKET` for the place of a socket.
struct Real {
    name: &'static str,
    /// Run first, without being captured.
    configure: Option<&'static [&'static str]>,
    make: &'static [&'static str],
    arguments: &'static [&'static str],
    /// What a client says to each run: its lines, over two connections in turn.
    client: &'static [&'static str],
}

const REAL: [Real; 4] = [
    Real {
        name: "pbzip2",
        configure: None,
        make: &["make", "CXX=clang++-22 -Wno-reserved-user-defined-literal", "pbzip2"],
        arguments: &["-k", "-f", "-p2", "-b1", "INPUT"],
        client: &[],
    },
    Real {
        name: "pigz",
        configure: None,
        make: &["make", "CC=clang-22", "pigz"],
        arguments: &["-k", "-f", "-p", "2", "-b", "32", "-1", "INPUT"],
        client: &[],
    },
    Real {
        name: "memcached",
        configure: Some(&["./configure", "CC=clang-22"]),
        make: &["make", "memcached", "CFLAGS=-O1 -g -pthread"],
        arguments: &["-u", "root", "-A", "-t", "2", "-s", "SOCKET"],
        client: &[
            "set k 0 0 5\r\nhello\r\n",
            "get k\r\n",
            "append k 0 0 1\r\n!\r\n",
            "get k\r\n",
            "delete k\r\n",
            "stats\r\n",
            "shutdown\r\n",
        ],
    },
    Real {
        name: "redis",
        configure: None,
        make: &[
            "sh",
            "-c",
            "CFLAGS=-I/usr/include/liblzf LDFLAGS='-latomic -llzf' make -j2 MALLOC=libc",
        ],
        arguments: &[
            "--port",
            "0",
            "--unixsocket",
            "SOCKET",
            "--save",
            "",
            "--io-threads",
            "2",
            "--io-threads-do-reads",
            "yes",
        ],
        client: &["SET k hello\r\n", "GET k\r\n", "DEL k\r\n", "SHUTDOWN NOSAVE\r\n"],
    },
];

struct Options {
    sources: PathBuf,
    racewarden: PathBuf,
    /// Only these rows.
    only: Vec<String>,
}

pub fn run() -> anyhow::Result<()> {
    let options = options()?;
    let folder = tempfile::tempdir()?;
    println!(
        "{:11} {:>3} {:>6} {:>6} {:>5} {:>5} {:>5} {:>8} | {:>5} {:>6} {:>4} {:>8} {:>4} {:>5} | \
         {:>7} {:>7} | {:>8} {:>7}",
        "program",
        "Th",
        "Reads",
        "Writes",
        "Base",
        "Br",
        "Sync",
        "Total",
        "order",
        "values",
        "full",
        "variants",
        "Diff",
        "Diff'",
        "order s",
        "full s",
        "replayed",
        "unknown"
    );
    let mut sums = Sums::default();
    for name in PORTS {
        if options.wants(name) {
            let source =
                Path::new(env!("CARGO_MANIFEST_DIR")).join("predict").join(format!("{name}.c"));
            let row = measure(&options, folder.path(), &source.to_string_lossy(), &[])
                .with_context(|| name.to_owned())?;
            sums.print(name, &row);
        }
    }
    sums.print_sums("the ports");
    for real in REAL {
        if !options.wants(real.name) {
            continue;
        }
        if !options.sources.join(real.name).is_dir() {
            eprintln!("{}: no sources in {}", real.name, options.sources.display());
            continue;
        }
        match measure_real(&options, folder.path(), &real) {
            Ok(row) => sums.print(real.name, &row),
            Err(error) => println!("{:11} failed: {error:#}", real.name),
        }
    }
    sums.print_sums("all");
    Ok(())
}

fn options() -> anyhow::Result<Options> {
    let mut options = Options {
        sources: Path::new(env!("CARGO_MANIFEST_DIR")).join("programs"),
        racewarden: std::env::current_exe()?.with_file_name("racewarden"),
        only: Vec::new(),
    };
    let mut arguments = std::env::args().skip(2);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().with_context(|| format!("{argument} needs a value"))?;
        match argument.as_str() {
            "--sources" => options.sources = value.into(),
            "--racewarden" => options.racewarden = value.into(),
            "--only" => options.only = value.split(',').map(str::to_owned).collect(),
            _ => anyhow::bail!(
                "usage: table3 [--sources FOLDER] [--racewarden FILE] [--only NAME,…]"
            ),
        }
    }
    Ok(options)
}

impl Options {
    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }
}

/// A report with the seconds that it took.
struct Found {
    report: Value,
    seconds: f64,
}

impl Found {
    fn stat(&self, name: &str) -> u64 {
        self.report["stats"][name].as_u64().unwrap_or(0)
    }

    /// The pairs of source lines and what they do there.
    fn pairs(&self) -> Vec<String> {
        let races = self.report["races"].as_array().map_or(&[][..], Vec::as_slice);
        let mut pairs: Vec<String> = races
            .iter()
            .map(|race| {
                let mut sites: Vec<String> = race["sites"]
                    .as_array()
                    .map_or(&[][..], Vec::as_slice)
                    .iter()
                    .map(|site| format!("{}:{}:{}", site["file"], site["line"], site["access"]))
                    .collect();
                sites.sort();
                sites.join(" ")
            })
            .collect();
        pairs.sort();
        pairs.dedup();
        pairs
    }
}

struct Row {
    order: Found,
    values: Found,
    full: Found,
    variants: u64,
}

fn measure_real(options: &Options, folder: &Path, real: &Real) -> anyhow::Result<Row> {
    let place = folder.join(real.name);
    let copied =
        Command::new("cp").arg("-r").arg(options.sources.join(real.name)).arg(&place).status()?;
    ensure!(copied.success(), "the sources were not copied");
    // What an earlier build left would not be built again.
    let _ = Command::new("make").arg("clean").current_dir(&place).output()?;
    if let Some(configure) = real.configure {
        let configured =
            Command::new(configure[0]).args(&configure[1..]).current_dir(&place).output()?;
        ensure!(configured.status.success(), "it could not be configured");
    }
    let captured = Command::new(&options.racewarden)
        .args(["capture", "--"])
        .args(real.make)
        .current_dir(&place)
        .output()?;
    ensure!(
        captured.status.success(),
        "the build failed: {}",
        String::from_utf8_lossy(&captured.stderr)
    );
    let input = place.join("input");
    std::fs::write(&input, crate::real::noise(300_000))?;
    let socket = place.join("socket");
    let arguments: Vec<String> = real
        .arguments
        .iter()
        .map(|text| text.replace("INPUT", &input.to_string_lossy()))
        .map(|text| text.replace("SOCKET", &socket.to_string_lossy()))
        .collect();
    let over = Arc::new(AtomicBool::new(false));
    let client = (!real.client.is_empty()).then(|| {
        let (lines, over) = (real.client, Arc::clone(&over));
        std::thread::spawn(move || serve_runs(&socket, lines, &over))
    });
    let target = if real.name == "redis" { "redis-server" } else { real.name };
    let row = measure(options, &place, target, &arguments);
    over.store(true, Ordering::Relaxed);
    if let Some(client) = client {
        let _ = client.join();
    }
    row
}

/// Plays the client of every run of a server until all are over.
fn serve_runs(socket: &Path, lines: &[&str], over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        // A server that went away, or that a schedule stopped, ends the talk; the next run has
        // another.
        let _ = talk(socket, lines);
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn talk(socket: &Path, lines: &[&str]) -> std::io::Result<()> {
    let mut connections = [UnixStream::connect(socket)?, UnixStream::connect(socket)?];
    for connection in &connections {
        connection.set_read_timeout(Some(Duration::from_secs(5)))?;
    }
    let mut answer = [0; 4096];
    for (number, line) in lines.iter().enumerate() {
        let connection = &mut connections[number % 2];
        connection.write_all(line.as_bytes())?;
        if connection.read(&mut answer)? == 0 {
            return Ok(());
        }
    }
    Ok(())
}

/// Records once in `folder`, and asks the three detectors.
fn measure(
    options: &Options,
    folder: &Path,
    program: &str,
    arguments: &[String],
) -> anyhow::Result<Row> {
    let trace = folder.join("run.rwt");
    let mut record = Command::new(&options.racewarden);
    record.args(["record", program, "-o"]).arg(&trace).arg("--").args(arguments);
    let recorded = record.current_dir(folder).stdin(Stdio::null()).output()?;
    ensure!(
        recorded.status.success(),
        "recording failed: {}",
        String::from_utf8_lossy(&recorded.stderr)
    );
    let ask = |flags: &[&str]| -> anyhow::Result<Found> {
        let start = Instant::now();
        let output = Command::new(&options.racewarden)
            .arg("predict")
            .arg(&trace)
            .args(["--format", "json", "--no-ledger"])
            .args(flags)
            .current_dir(folder)
            .output()?;
        let seconds = start.elapsed().as_secs_f64();
        let report = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("no report: {}", String::from_utf8_lossy(&output.stderr)))?;
        Ok(Found { report, seconds })
    };
    let order = ask(&["--order-only", "--no-replay"])?;
    let values = ask(&["--no-branches", "--no-replay"])?;
    let timed = ask(&["--no-replay"])?;
    // Counting variants asks again for what is known, which only the small ones are quick enough for.
    let variants = match timed.seconds < 20.0 {
        true => ask(&["--no-replay", "--variants"])?.stat("branch variants"),
        false => timed.stat("branch variants"),
    };
    let replayed = ask(&[])?;
    let full = Found { report: replayed.report, seconds: timed.seconds };
    Ok(Row { order, values, full, variants })
}

#[derive(Default)]
struct Sums {
    order: usize,
    values: usize,
    full: usize,
    variants: u64,
    replayed: u64,
    predicted: u64,
}

impl Sums {
    fn print(&mut self, name: &str, row: &Row) {
        let (order, values, full) = (row.order.pairs(), row.values.pairs(), row.full.pairs());
        let only = |these: &[String], those: &[String]| {
            these.iter().filter(|pair| !those.contains(pair)).count()
        };
        let stat = |key: &str| row.full.stat(key);
        let replayed = stat("replayed");
        let predicted = replayed + stat("not replayed");
        println!(
            "{name:11} {:>3} {:>6} {:>6} {:>5} {:>5} {:>5} {:>8} | {:>5} {:>6} {:>4} {:>8} {:>4} \
             {:>5} | {:>7.1} {:>7.1} | {:>8} {:>7}",
            stat("threads"),
            stat("shared reads"),
            stat("shared writes"),
            stat("base reads"),
            stat("branches"),
            stat("synchronisations"),
            stat("events"),
            order.len(),
            values.len(),
            full.len(),
            row.variants,
            only(&full, &order),
            only(&order, &full),
            row.order.seconds,
            row.full.seconds,
            format!("{replayed}/{predicted}"),
            stat("unknown")
        );
        self.order += order.len();
        self.values += values.len();
        self.full += full.len();
        self.variants += row.variants;
        self.replayed += replayed;
        self.predicted += predicted;
    }

    fn print_sums(&self, of: &str) {
        println!(
            "{of}: order-only {}, values {}, full {} pairs ({} with branch variants): {:.2}x; \
             {} of {} replayed",
            self.order,
            self.values,
            self.full,
            self.variants,
            self.full as f64 / self.order.max(1) as f64,
            self.replayed,
            self.predicted
        );
    }
}
