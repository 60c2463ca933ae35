//! `racewarden record`: runs the program once and writes down what it did.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::Context;
use racewarden_capture::Capture;
use racewarden_instrument::{BuildRequest, RecordPass, build_target};
use racewarden_predict::recorded::SiteFilter;
use racewarden_trace::binary::Header;
use sha2::{Digest, Sha256};

use crate::commands::predict::read_filter;
use crate::inputs::InputArgs;
use crate::process::{spawn_group, wait_at_most};
use crate::runtime::{RuntimeMode, build_cache};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    inputs: InputArgs,

    /// Where to write the trace
    #[arg(long, short, value_name = "FILE", default_value = "run.rwt")]
    output: PathBuf,

    /// Stop the program after this many seconds; the trace up to then is kept
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    timeout: u64,

    /// Record only the first so many events of the run; the program runs on to its end
    #[arg(long, value_name = "EVENTS", value_parser = clap::value_parser!(u64).range(1..))]
    window: Option<u64>,

    /// Let predictions from the trace look only at lines that this report names (JSON, as
    /// `racewarden check` writes it)
    #[arg(long, value_name = "REPORT")]
    filter: Option<PathBuf>,

    /// Standard input of the program [default: the command's own]
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,

    /// Arguments for the program
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<String>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let capture = args.inputs.resolve()?;
    let filter = args.filter.as_deref().map(read_filter).transpose()?;
    let run = record(&RecordRequest {
        capture: &capture,
        output: &args.output,
        arguments: &args.arguments,
        stdin: args.stdin.as_deref(),
        quiet: false,
        timeout: Duration::from_secs(args.timeout),
        window: args.window,
        size: None,
        filter: filter.as_ref(),
    })?;
    if let Some(trouble) = run.trouble {
        eprintln!("racewarden: {trouble}");
    }
    compress(&args.output)?;
    eprintln!("racewarden: trace written to {}", args.output.display());
    Ok(ExitCode::SUCCESS)
}

/// The recorded program does not spend its own time on compressing.
fn compress(trace: &Path) -> anyhow::Result<()> {
    let named = || trace.display().to_string();
    let bytes = racewarden_trace::binary::compressed(&std::fs::read(trace).with_context(named)?)?;
    let folder = trace.parent().filter(|folder| !folder.as_os_str().is_empty());
    let file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    std::fs::write(file.path(), bytes).with_context(named)?;
    let permissions = std::fs::metadata(trace)?.permissions();
    std::fs::set_permissions(file.path(), permissions)?;
    file.persist(trace).with_context(named)?;
    Ok(())
}

/// What is worth telling about the recorded run.
pub struct RecordedRun {
    pub trouble: Option<String>,
}

/// One run to record.
pub struct RecordRequest<'r> {
    pub capture: &'r Capture,
    pub output: &'r Path,
    pub arguments: &'r [String],
    pub stdin: Option<&'r Path>,
    /// The program's output goes nowhere.
    pub quiet: bool,
    pub timeout: Duration,
    /// Events after which nothing more is recorded.
    pub window: Option<u64>,
    /// Bytes after which nothing more is recorded.
    pub size: Option<u64>,
    pub filter: Option<&'r SiteFilter>,
}

/// Builds the one target of the capture with the recorder and runs it.
pub fn record(request: &RecordRequest) -> anyhow::Result<RecordedRun> {
    let RecordRequest { capture, output, arguments, timeout, .. } = *request;
    let archive = RuntimeMode::Record.archive()?;
    let pass = RecordPass::default();
    let program = build_target(&BuildRequest {
        capture,
        target: 0,
        pass: &pass,
        runtime: &archive,
        cache: &build_cache(),
    })?;
    let mut header = header(capture, arguments);
    header.entries.extend(request.window.map(|window| ("window".to_owned(), window.to_string())));
    let lines = request.filter.into_iter().flat_map(SiteFilter::entries);
    header.entries.extend(lines.map(|line| ("filter".to_owned(), line)));
    std::fs::write(output, header.to_bytes()).with_context(|| output.display().to_string())?;
    let output = std::path::absolute(output)?;
    let mut command = Command::new(&program);
    command.args(arguments).env("RACEWARDEN_RECORD", &output);
    if let Some(window) = request.window {
        command.env("RACEWARDEN_RECORD_WINDOW", window.to_string());
    }
    if let Some(size) = request.size {
        command.env("RACEWARDEN_RECORD_SIZE", size.to_string());
    }
    if let Some(input) = request.stdin {
        let file = std::fs::File::open(input).with_context(|| input.display().to_string())?;
        command.stdin(file);
    }
    if request.quiet {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    } else {
        // Findings own standard output; what the program says goes beside them.
        command.stdout(Stdio::from(std::io::stderr()));
    }
    let trouble = match wait_at_most(&mut spawn_group(&mut command)?, timeout)? {
        Some(status) if status.success() => None,
        Some(status) => Some(format!("the recorded run ended: {status}")),
        None => Some(format!("the recorded run was stopped after {} s", timeout.as_secs())),
    };
    Ok(RecordedRun { trouble })
}

fn header(capture: &Capture, arguments: &[String]) -> Header {
    let mut entries = vec![("build".to_owned(), build_id(capture))];
    if let Some(target) = capture.targets.first() {
        entries.push(("target".to_owned(), target.name.clone()));
    }
    for unit in &capture.units {
        entries.push(("source".to_owned(), unit.source.display().to_string()));
        entries.push(("bitcode".to_owned(), unit.bitcode.display().to_string()));
    }
    // The whole recipe, so that predictions can be replayed wherever the trace is read.
    if let Ok(recipe) = serde_json::to_string(capture) {
        entries.push(("capture".to_owned(), recipe));
    }
    entries.extend(arguments.iter().map(|argument| ("argument".to_owned(), argument.clone())));
    Header { entries }
}

/// What tells one build of a program from another: the content of all its units.
pub fn build_id(capture: &Capture) -> String {
    let mut hash = Sha256::new();
    for unit in &capture.units {
        hash.update(unit.hash.as_bytes());
        hash.update([0]);
    }
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
