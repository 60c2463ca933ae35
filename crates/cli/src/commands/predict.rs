//! `racewarden predict`: the races that a recorded run implies.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use racewarden_capture::Capture;
use racewarden_finding::{Engine, Note, Report, Verdict, conclude};
use racewarden_predict::order;
use racewarden_predict::recorded::{
    Detector, KnownPairs, SiteFilter, ValueLimits, predict_recording, report::report,
};
use racewarden_schedule::Schedule;
use racewarden_schedule::gate::Linger;
use racewarden_trace::binary::Recording;
use racewarden_trace::text;
use serde_json::json;

use crate::commands::record::{RecordRequest, build_id, record};
use crate::gate::{Program, ReplayRequest, build_gated, leading_site, replay, timeline};
use crate::inputs::InputArgs;
use crate::ledger_sink::FoundBy;
use crate::output::OutputArgs;

#[derive(clap::Args)]
pub struct Args {
    /// A trace (recorded, or in the STD text format), or what to record: sources, bitcode, or the
    /// name of a captured target
    #[command(flatten)]
    inputs: InputArgs,

    #[command(flatten)]
    predict: PredictArgs,

    #[command(flatten)]
    output: OutputArgs,

    /// Arguments for the program
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<String>,
}

/// How predictions are made.
#[derive(clap::Args, Debug, Clone)]
pub struct PredictArgs {
    /// Only reorder what the run did, with every read keeping the write it saw
    #[arg(long, conflicts_with = "no_branches")]
    pub order_only: bool,

    /// Leave out the sides of branches that the run did not take
    #[arg(long)]
    pub no_branches: bool,

    /// Do not replay the predictions
    #[arg(long)]
    pub no_replay: bool,

    /// Seconds that one solver query may take; what it leaves is counted as unknown
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    pub solver_timeout: Duration,

    /// Seconds that all queries together may take
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub budget: Duration,

    /// Events before the earlier access that a value query looks back over at most; before them
    /// the run stays as it was
    #[arg(long, value_name = "EVENTS", default_value_t = 4000)]
    pub window: usize,

    /// Only look at pairs of lines that this report names (JSON, as `racewarden check` writes it)
    #[arg(long, value_name = "REPORT")]
    pub filter: Option<PathBuf>,

    /// Leave out the races that this report proves (JSON, as `racewarden run` writes it)
    #[arg(long, value_name = "REPORT")]
    pub skip: Option<PathBuf>,

    /// Count each race once for every branch that has to turn for it, too
    #[arg(long)]
    pub variants: bool,

    /// Stop the recorded program after this many seconds
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = seconds)]
    pub run_time: Duration,

    /// Standard input of the recorded program [default: the command's own]
    #[arg(long, value_name = "FILE")]
    pub stdin: Option<PathBuf>,

    /// The program's output goes nowhere: for stages of a hunt.
    #[arg(skip)]
    pub quiet: bool,

    /// Bytes after which nothing more is recorded: a flood of events must not take the hunt's time.
    #[arg(skip)]
    pub size: Option<u64>,

    /// Races that a hunt knows already.
    #[arg(skip)]
    pub known: KnownPairs,
}

/// What is read back in a second on a slow machine, and what is worth it in any case.
const BYTES_PER_SECOND: f64 = 1e6;
const FEWEST_BYTES: u64 = 1 << 20;

impl PredictArgs {
    /// For a command that predicts on its way to something else.
    pub fn quick(budget: Duration, run_time: Duration, stdin: PathBuf) -> Self {
        PredictArgs {
            order_only: false,
            no_branches: false,
            no_replay: false,
            solver_timeout: Duration::from_secs(2),
            budget,
            window: 4000,
            filter: None,
            variants: false,
            run_time,
            stdin: Some(stdin),
            quiet: true,
            skip: None,
            size: Some((budget.as_secs_f64() * BYTES_PER_SECOND) as u64 + FEWEST_BYTES),
            known: KnownPairs::default(),
        }
    }
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.inputs.inputs.split_first() {
        Some((first, rest)) if is_trace(first) => predict_trace(&args, first, rest),
        _ => {
            let capture = args.inputs.resolve()?;
            let mut report = record_and_predict(&capture, &args.predict, &args.arguments)?;
            let found_by = FoundBy::new(Engine::Predict, &capture).program(
                &args.inputs,
                &args.arguments,
                None,
            );
            args.output.emit_recorded(&mut report, &found_by)
        }
    }
}

fn predict_trace(args: &Args, trace: &Path, rest: &[PathBuf]) -> anyhow::Result<ExitCode> {
    let named = || trace.display().to_string();
    let bytes = crate::commands::trace::read(trace)?;
    let (mut report, capture) = if is_binary(trace, &bytes) {
        let recording = Recording::load(&bytes).with_context(named)?;
        let capture = program_of(args, rest, &recording).with_context(named)?;
        let report =
            predict_recorded(&args.predict, &recording, capture.as_ref()).with_context(named)?;
        (report, capture)
    } else {
        (predict_text(trace, &bytes, args).with_context(named)?, None)
    };
    let found_by = match &capture {
        Some(capture) => FoundBy::new(Engine::Predict, capture),
        None => FoundBy::without_capture(Engine::Predict, named()),
    };
    args.output.emit_recorded(&mut report, &found_by)
}

/// Whether the input is a trace and not something to record.
fn is_trace(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    if matches!(extension, Some("rwt" | "std")) {
        return true;
    }
    let is_packed = |kind: &str| path.to_string_lossy().ends_with(&format!(".{kind}.gz"));
    if is_packed("std") || is_packed("rwt") {
        return true;
    }
    path.is_file()
        && !racewarden_capture::is_capturable(path)
        && std::fs::read(path).is_ok_and(|bytes| {
            Recording::is_trace(&bytes)
                || bytes.split(|byte| *byte == b'\n').next().is_some_and(|l| l.contains(&b'|'))
        })
}

fn is_binary(path: &Path, bytes: &[u8]) -> bool {
    Recording::is_trace(bytes) || path.extension().is_some_and(|extension| extension == "rwt")
}

fn limits(options: &PredictArgs) -> order::Limits {
    order::Limits {
        query: options.solver_timeout,
        total: options.budget,
        ..order::Limits::default()
    }
}

fn predict_text(path: &Path, bytes: &[u8], args: &Args) -> anyhow::Result<Report> {
    let read = text::read(bytes)?;
    let prediction = order::predict(&read.trace, &limits(&args.predict));
    let mut report = order::report(&read.trace, &path.display().to_string(), &prediction);
    for message in text::repair_messages(&read.repairs) {
        report.notes.push(Note::weakens(Engine::Predict, format!("trace repaired: {message}")));
    }
    report.finish();
    Ok(report)
}

/// The program that a trace was recorded from: as the trace describes it, or as given, when that
/// is the same build.
fn program_of(
    args: &Args,
    given: &[PathBuf],
    recording: &Recording,
) -> anyhow::Result<Option<Capture>> {
    if given.is_empty() {
        let recipe = recording.header.get("capture");
        return Ok(recipe.and_then(|text| serde_json::from_str(text).ok()));
    }
    let inputs = InputArgs { inputs: given.to_vec(), ..args.inputs.clone() };
    let capture = inputs.resolve()?;
    if recording.header.get("build") != Some(build_id(&capture).as_str()) {
        bail!(
            "the trace was recorded from another build of the program; record it again with \
             `racewarden record`"
        );
    }
    Ok(Some(capture))
}

/// Records one run of the program and predicts from it.
pub fn record_and_predict(
    capture: &Capture,
    options: &PredictArgs,
    arguments: &[String],
) -> anyhow::Result<Report> {
    let file = tempfile::Builder::new().prefix("racewarden-").suffix(".rwt").tempfile()?;
    let run = record(&RecordRequest {
        capture,
        output: file.path(),
        arguments,
        stdin: options.stdin.as_deref(),
        quiet: options.quiet,
        timeout: options.run_time,
        window: None,
        size: options.size,
        filter: None,
    })?;
    let bytes = std::fs::read(file.path())?;
    let recording = Recording::load(&bytes)?;
    let mut report = predict_recorded(options, &recording, Some(capture))?;
    let spent = bytes.len() as u64 + 2 * recording.derived_accesses();
    if options.size.is_some_and(|size| spent >= size) {
        let text =
            format!("only the first {} MB of the run's events were recorded", spent / 1_000_000);
        report.notes.push(Note::weakens(Engine::Predict, text));
    }
    if let Some(trouble) = run.trouble {
        report.notes.push(Note::info(Engine::Predict, trouble));
        report.finish();
    }
    Ok(report)
}

/// The program of a recording, as the trace names its bitcode.
pub fn recorded_program(recording: &Recording) -> anyhow::Result<racewarden_ir::Program> {
    let bitcode: Vec<PathBuf> = recording.header.all("bitcode").map(PathBuf::from).collect();
    if bitcode.is_empty() {
        bail!("the trace names no bitcode");
    }
    if let Some(gone) = bitcode.iter().find(|path| !path.is_file()) {
        bail!("the recorded bitcode {} is gone; record the run again", gone.display());
    }
    Ok(racewarden_ir::link(racewarden_bitcode::lower_units(&bitcode, true)?))
}

fn predict_recorded(
    options: &PredictArgs,
    recording: &Recording,
    capture: Option<&Capture>,
) -> anyhow::Result<Report> {
    let program = recorded_program(recording)?;
    let detector = match (options.order_only, options.no_branches) {
        (true, _) => Detector::OrderOnly,
        (_, true) => Detector::NoBranches,
        _ => Detector::Full,
    };
    let limits = ValueLimits {
        order: limits(options),
        query: options.solver_timeout,
        total: options.budget,
        window: options.window,
        count_variants: options.variants,
        ..ValueLimits::default()
    };
    let recorded = SiteFilter::from_entries(recording.header.all("filter"));
    let filter = match &options.filter {
        Some(path) => Some(read_filter(path)?),
        None => Some(recorded).filter(|filter| !filter.is_empty()),
    };
    let known = match &options.skip {
        Some(path) => KnownPairs::of_races(&read_report(path)?.races),
        None => options.known.clone(),
    };
    let filter = filter.as_ref();
    let prediction = predict_recording(&program, recording, detector, &limits, filter, &known);
    let mut report = report(&program, recording, &prediction);
    match capture {
        Some(capture) if !options.no_replay => {
            let arguments: Vec<String> =
                recording.header.all("argument").map(str::to_owned).collect();
            let time = options.budget.clamp(REPLAY_TIME / 12, REPLAY_TIME);
            replay_all(capture, arguments, &mut report, time)?;
        }
        _ => report.notes.push(Note::info(Engine::Predict, "the predictions were not replayed")),
    }
    report.conclusion = conclude(&report.races, &report.notes, false);
    report.finish();
    Ok(report)
}

/// The lines that a report names.
pub fn read_filter(path: &Path) -> anyhow::Result<SiteFilter> {
    read_report(path).map(|report| SiteFilter::of_report(&report))
}

fn read_report(path: &Path) -> anyhow::Result<Report> {
    let named = || path.display().to_string();
    let bytes = std::fs::read(path).with_context(named)?;
    serde_json::from_slice(&bytes).context("not a report in the JSON format").with_context(named)
}

/// Most time for all replays of one report.
const REPLAY_TIME: Duration = Duration::from_secs(120);

/// Brings every predicted race about; those that come are confirmed.
fn replay_all(
    capture: &Capture,
    arguments: Vec<String>,
    report: &mut Report,
    time: Duration,
) -> anyhow::Result<()> {
    let schedules: Vec<Option<Schedule>> = report
        .races
        .iter()
        .map(|race| race.evidence.first()?.detail.get("schedule")?.as_str()?.parse().ok())
        .collect();
    let all: Vec<&Schedule> = schedules.iter().flatten().collect();
    if all.is_empty() {
        return Ok(());
    }
    let gated = build_gated(capture, &[], &all)?;
    let program = Program { path: gated.path.clone(), arguments, input: None, show_output: false };
    let end = Instant::now() + time;
    let (mut replayed, mut missed) = (0, 0);
    for (race, schedule) in report.races.iter_mut().zip(&schedules) {
        let Some(schedule) = schedule else { continue };
        let outcome = if Instant::now() > end {
            Err(anyhow::anyhow!("no time was left"))
        } else {
            replay(&ReplayRequest {
                program: &program,
                gated: &gated,
                schedule,
                linger: Linger::Nobody,
                harmful: false,
                patience: Duration::from_secs(2),
                limit: Duration::from_secs(20),
                attempts: 3,
            })
        };
        let Some(evidence) = race.evidence.first_mut() else { continue };
        let reason = match outcome {
            Ok(outcome) if outcome.reached => {
                replayed += 1;
                race.verdict = Verdict::Confirmed;
                race.reasons.push("both threads stood at their accesses in a replay".to_owned());
                evidence.detail.insert("replayed".to_owned(), json!(true));
                let leading = leading_site(race, &gated, schedule);
                let steps = timeline(race, &gated, schedule, leading, None);
                if let Some(evidence) = race.evidence.first_mut() {
                    evidence.detail.entry("timeline".to_owned()).or_insert(steps);
                }
                continue;
            }
            Ok(outcome) => format!(
                "the replay came as far as {} of {} steps",
                outcome.steps,
                schedule.steps.len()
            ),
            Err(error) => format!("not replayed: {error:#}"),
        };
        missed += 1;
        evidence.detail.insert("replayed".to_owned(), json!(false));
        race.reasons.push(reason);
    }
    report.stats.insert("replayed".to_owned(), json!(replayed));
    report.stats.insert("not replayed".to_owned(), json!(missed));
    Ok(())
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}
