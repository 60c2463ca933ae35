//! `racewarden trace`: look into recorded traces, and turn them into the STD text format.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use racewarden_trace::binary::{Record, Recording, SymbolKind};
use racewarden_trace::{OrderTrace, text};

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Print the events of a trace, thread by thread
    Show {
        trace: PathBuf,
        /// Only the thread of this name
        #[arg(long)]
        thread: Option<String>,
    },
    /// Count what a trace holds
    Stats { trace: PathBuf },
    /// Write a trace in the STD text format
    Export {
        trace: PathBuf,
        /// Where to write it; standard output when left out
        #[arg(long, short)]
        output: Option<PathBuf>,
    },
    /// Read a trace in the STD text format, say what is wrong with it, and write it in normal form
    Import {
        trace: PathBuf,
        #[arg(long, short)]
        output: Option<PathBuf>,
    },
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.action {
        Action::Show { trace, thread } => show(&trace, thread.as_deref()),
        Action::Stats { trace } => stats(&trace),
        Action::Export { trace, output } | Action::Import { trace, output } => {
            export(&trace, output.as_deref())
        }
    }
    .map(|()| ExitCode::SUCCESS)
}

/// A trace's bytes; one that was compressed with gzip is unpacked.
pub fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let named = || path.display().to_string();
    let bytes = std::fs::read(path).with_context(named)?;
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    let mut unpacked = flate2::read::MultiGzDecoder::new(bytes.as_slice());
    unpacked.read_to_end(&mut plain).context("it does not unpack").with_context(named)?;
    Ok(plain)
}

fn recording(path: &Path) -> anyhow::Result<Recording> {
    let recording = Recording::load(&read(path)?).with_context(|| path.display().to_string())?;
    if let Some(reason) = &recording.cut_short {
        eprintln!("racewarden: {}: {reason}; what is before it was read", path.display());
    }
    Ok(recording)
}

/// Any trace as an order of events.
fn order(path: &Path) -> anyhow::Result<OrderTrace> {
    let bytes = read(path)?;
    if Recording::is_trace(&bytes) {
        let mut recording = recording(path)?;
        if recording.derived_accesses() > 0 {
            let named = || path.display().to_string();
            let program = super::predict::recorded_program(&recording).with_context(named)?;
            recording = racewarden_predict::with_all_records(&program, recording);
        }
        return Ok(racewarden_predict::recorded_order(&recording).trace);
    }
    let found = text::read(&bytes).with_context(|| path.display().to_string())?;
    for message in text::repair_messages(&found.repairs) {
        eprintln!("racewarden: {}: repaired: {message}", path.display());
    }
    Ok(found.trace)
}

fn show(path: &Path, thread: Option<&str>) -> anyhow::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let result = (|| -> std::io::Result<()> {
        if !Recording::is_trace(&read(path).map_err(std::io::Error::other)?) {
            let Ok(trace) = order(path) else { return Ok(()) };
            return text::write(&trace, &mut out);
        }
        let Ok(recording) = recording(path) else { return Ok(()) };
        let functions: BTreeMap<u64, &str> = recording
            .symbols
            .iter()
            .filter(|symbol| symbol.kind != SymbolKind::LeftOut)
            .map(|symbol| (symbol.address, symbol.name.as_str()))
            .collect();
        for stream in &recording.threads {
            if thread.is_some_and(|wanted| wanted != stream.name) {
                continue;
            }
            writeln!(out, "thread {} ({} records)", stream.name, stream.records.len())?;
            for record in &stream.records {
                match record {
                    Record::Enter { function } => {
                        let name = functions.get(function).copied().unwrap_or("?");
                        writeln!(out, "  enter {name}")?;
                    }
                    other => writeln!(out, "  {other:x?}")?,
                }
            }
        }
        out.flush()
    })();
    match result {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.with_context(|| path.display().to_string()),
    }
}

fn stats(path: &Path) -> anyhow::Result<()> {
    let bytes = read(path)?;
    let mut lines: Vec<(&str, String)> = Vec::new();
    if Recording::is_trace(&bytes) {
        let recording = recording(path)?;
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for record in recording.threads.iter().flat_map(|thread| &thread.records) {
            *counts.entry(name_of(record)).or_default() += 1;
        }
        let records: u64 = counts.values().sum();
        let derived = recording.derived_accesses();
        let told = counts.remove("derived").unwrap_or(0);
        let total = (records - told).saturating_add(derived);
        let header = |key: &str| recording.header.get(key).unwrap_or("?").to_owned();
        let version = recording.version;
        lines.push(("format", format!("racewarden trace, version {version}")));
        lines.push(("target", header("target")));
        lines.push(("build", header("build")));
        lines.push(("threads", recording.threads.len().to_string()));
        lines.push(("events", total.to_string()));
        lines.push(("computed", derived.to_string()));
        lines.push(("bytes", bytes.len().to_string()));
        let per_event = bytes.len() as f64 / total.max(1) as f64;
        lines.push(("per event", format!("{per_event:.2} bytes")));
        lines.extend(counts.into_iter().map(|(name, count)| (name, count.to_string())));
    } else {
        let trace = order(path)?;
        lines.push(("format", "STD text".to_owned()));
        lines.push(("events", trace.events.len().to_string()));
        lines.push(("threads", trace.threads.len().to_string()));
        lines.push(("locks", trace.locks.len().to_string()));
        lines.push(("variables", trace.variables.len().to_string()));
    }
    let text: String = lines.iter().map(|(name, value)| format!("{name:11} {value}\n")).collect();
    print(text.as_bytes())
}

/// A reader that went away is not a failure.
fn print(bytes: &[u8]) -> anyhow::Result<()> {
    match std::io::stdout().lock().write_all(bytes) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

fn name_of(record: &Record) -> &'static str {
    match record {
        Record::Enter { .. } => "enter",
        Record::Branch { .. } => "branch",
        Record::Load { .. } => "load",
        Record::Store { .. } => "store",
        Record::Update { .. } => "update",
        Record::Wide { .. } => "wide",
        Record::Copy { .. } => "copy",
        Record::Set { .. } => "set",
        Record::Slot { .. } => "slot",
        Record::Call { .. } => "call",
        Record::Return { .. } => "return",
        Record::Argument { .. } => "argument",
        Record::Initial { .. } => "initial",
        Record::Sync { .. } => "sync",
        Record::Unwind { .. } => "unwind",
        Record::Jumped { .. } => "jump",
        Record::Loop { .. } => "loop",
        Record::Again { .. } => "again",
        Record::Derived { .. } => "derived",
        Record::Content { .. } => "content",
        Record::Range { .. } => "range",
    }
}

fn export(path: &Path, output: Option<&Path>) -> anyhow::Result<()> {
    let trace = order(path)?;
    let mut bytes = Vec::new();
    text::write(&trace, &mut bytes)?;
    match output {
        Some(output) => std::fs::write(output, bytes).with_context(|| output.display().to_string()),
        None => print(&bytes),
    }
}
