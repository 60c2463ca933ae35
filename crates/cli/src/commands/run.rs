//! `racewarden run`: builds the target with the detect runtime, runs it, and reports.
//!
//! The program's own output goes to standard error when the report goes to standard output, so
//! that the report stays readable by machines. Whatever ends the program (its own exit, a crash, a
//! signal, the time-out), everything found until then is reported.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use racewarden_capture::Capture;
use racewarden_finding::{Engine, Note, Race, Report, conclude};
use racewarden_instrument::{BuildRequest, Detect, build_target};

use crate::dynamic::prune::{self, Pruned};
use crate::dynamic::{Context, RunFile, Suppressions, parse, races_of};
use crate::inputs::InputArgs;
use crate::interrupt;
use crate::ledger_sink::FoundBy;
use crate::output::OutputArgs;
use crate::process::{spawn_group, wait_at_most};
use crate::runtime::{RuntimeMode, build_cache};

#[derive(clap::ValueEnum, Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DetectorEngine {
    /// Report suspicions at once (MSM-short): for short runs
    #[default]
    Short,
    /// Hold suspicions back until they repeat (MSM-long): for long runs
    Long,
    /// Only what happens-before proves
    Hb,
}

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    inputs: InputArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    run: RunArgs,

    /// Arguments for the program
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<String>,
}

#[derive(clap::Args, Debug, Clone, Default)]
pub struct RunArgs {
    /// How suspicions are judged; what happens-before proves is always reported
    #[arg(long, value_enum, default_value = "short")]
    pub engine: DetectorEngine,

    /// Watch every access, those too that `check` shows to be safe
    #[arg(long)]
    pub no_prune: bool,

    /// Run up to N times with different schedules, until nothing new appears for a while
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub runs: u32,

    /// Seed of the schedule perturbation (0: none); a seed repeats its decisions
    #[arg(long, value_name = "SEED")]
    pub seed: Option<u64>,

    /// Stop the program after this many seconds
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<f64>,

    /// Most memory, in MiB, before new parts of the program's memory go unwatched, which the report
    /// then says [default: half of the machine's]
    #[arg(long, value_name = "MIB")]
    pub memory_limit: Option<u64>,

    /// Suppressions in TSan's format (`race:function_or_file`)
    #[arg(long, value_name = "FILE")]
    pub suppressions: Option<PathBuf>,

    /// Standard input for every run [default: the command's own]
    #[arg(long, value_name = "FILE")]
    pub stdin: Option<PathBuf>,

    /// The program's output goes nowhere and its input is empty: for stages of a hunt.
    #[arg(skip)]
    pub quiet: bool,

    /// No run begins that, taking as long as the one before, would end after this time.
    #[arg(skip)]
    pub time: Option<Duration>,
}

/// How one run ended.
struct Outcome {
    status: Option<ExitStatus>,
    file: RunFile,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let capture = args.inputs.resolve()?;
    let keep_stdout = args.output.output.is_some();
    let mut report = detect(&capture, &args.run, &args.arguments, keep_stdout)?;
    report.finish();
    let found_by = FoundBy::new(Engine::Run, &capture).program(&args.inputs, &args.arguments, None);
    args.output.emit_recorded(&mut report, &found_by)
}

/// Builds, runs as often as asked, and gathers.
pub fn detect(
    capture: &Capture,
    options: &RunArgs,
    arguments: &[String],
    keep_stdout: bool,
) -> anyhow::Result<Report> {
    let archive = RuntimeMode::Detect.archive()?;
    let pruned = match options.no_prune {
        true => None,
        false => Some(prune::prune(capture, locks_order(options))),
    };
    let unwatched = pruned.as_ref().map(|pruned| pruned.places.clone()).unwrap_or_default();
    let pass = Detect { units: capture.units.clone(), unwatched };
    let program = build_target(&BuildRequest::detect(capture, &pass, &archive, &build_cache()))?;
    let mut suppressions = Suppressions::of_environment()?;
    if let Some(path) = &options.suppressions {
        suppressions.add_file(path)?;
    }
    let mut report = Report::default();
    tell_pruned(&mut report, pruned.as_ref());
    for note in &capture.notes {
        report.notes.push(match note.incomplete {
            true => Note::weakens(Engine::Capture, note.text.clone()),
            false => Note::info(Engine::Capture, note.text.clone()),
        });
    }
    let mut context = Context::new(&capture.units);
    let mut quiet_runs = 0;
    let started = Instant::now();
    for round in 0..options.runs.max(1) {
        let begun = Instant::now();
        let seed = match (options.seed, round) {
            (Some(seed), round) => seed + u64::from(round),
            (None, 0) => 0,
            (None, round) => u64::from(round),
        };
        if options.runs > 1 && !options.quiet {
            eprintln!("run {} of {} (seed {seed})", round + 1, options.runs);
        }
        let outcome = run_once(&program, options, arguments, seed, keep_stdout)?;
        suppressions.add_program(&outcome.file)?;
        let races = races_of(&mut context, &outcome.file.races);
        let found = add(&mut report, races, seed, &suppressions);
        describe(&mut report, &outcome, options);
        if interrupt::requested() {
            let text = "interrupted: the runs that were still to come are missing";
            report.notes.push(Note::weakens(Engine::Run, text));
            break;
        }
        quiet_runs = if found { 0 } else { quiet_runs + 1 };
        let late = options.time.is_some_and(|time| started.elapsed() + begun.elapsed() > time);
        if quiet_runs >= PATIENCE || late {
            break;
        }
    }
    report.conclusion = conclude(&report.races, &report.notes, false);
    Ok(report)
}

/// Runs without anything new after which more are not worth their time.
const PATIENCE: u32 = 10;

/// Adds what is not there yet; says whether there was anything.
fn add(report: &mut Report, races: Vec<Race>, seed: u64, suppressions: &Suppressions) -> bool {
    let mut found = false;
    for mut race in races {
        if let Some(pattern) = suppressions.matching(&race) {
            race.verdict = racewarden_finding::Verdict::Suppressed;
            race.reasons.push(format!("suppressed by `{pattern}`"));
        }
        if let Some(evidence) = race.evidence.first_mut() {
            evidence.detail.insert("seed".to_owned(), seed.into());
        }
        let same = |known: &&mut Race| {
            known.sites[0].key() == race.sites[0].key()
                && known.sites[1].key() == race.sites[1].key()
                && known.object == race.object
        };
        match report.races.iter_mut().find(same) {
            Some(known) if known.verdict >= race.verdict => {}
            Some(known) => {
                *known = race;
                found = true;
            }
            None => {
                report.races.push(race);
                found = true;
            }
        }
    }
    found
}

fn run_once(
    program: &Path,
    options: &RunArgs,
    arguments: &[String],
    seed: u64,
    keep_stdout: bool,
) -> anyhow::Result<Outcome> {
    let folder = tempfile::tempdir().context("no temporary folder for the run")?;
    let findings = folder.path().join("findings");
    std::fs::write(&findings, "").with_context(|| findings.display().to_string())?;
    let mut command = Command::new(program);
    command.args(arguments);
    command.env("RACEWARDEN_RUN_FILE", &findings);
    // Archer asks for this option of the runtime it takes us for; ours always does so.
    let tsan = std::env::var("TSAN_OPTIONS").unwrap_or_default();
    let tsan = format!("ignore_noninstrumented_modules=1 {tsan}");
    command.env("TSAN_OPTIONS", tsan.trim_end());
    let given = std::env::var("RACEWARDEN_OPTIONS").unwrap_or_default();
    let engine = match options.engine {
        DetectorEngine::Short => "short",
        DetectorEngine::Long => "long",
        DetectorEngine::Hb => "hb",
    };
    let mut asked = format!("engine={engine} seed={seed} {given}");
    if let Some(megabytes) = options.memory_limit {
        asked.push_str(&format!(" memory_limit_mb={megabytes}"));
    }
    command.env("RACEWARDEN_OPTIONS", asked);
    tell_openmp(&mut command);
    if let Some(input) = &options.stdin {
        let file = std::fs::File::open(input).with_context(|| input.display().to_string())?;
        command.stdin(file);
    } else if options.quiet {
        command.stdin(Stdio::null());
    }
    if options.quiet {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    } else if !keep_stdout {
        let stderr = std::io::stderr().as_fd().try_clone_to_owned()?;
        command.stdout(Stdio::from(stderr));
    }
    let limit = options.timeout.filter(|seconds| *seconds > 0.0);
    let status = match limit {
        None => {
            // The program shares the terminal's group and gets Ctrl-C itself.
            interrupt::heed();
            let mut child =
                command.spawn().with_context(|| format!("cannot run {}", program.display()))?;
            Some(child.wait()?)
        }
        Some(limit) => {
            let limit = Duration::try_from_secs_f64(limit).unwrap_or(Duration::MAX);
            wait_at_most(&mut spawn_group(&mut command)?, limit)?
        }
    };
    let text = std::fs::read(&findings).with_context(|| findings.display().to_string())?;
    Ok(Outcome { status, file: parse(&String::from_utf8_lossy(&text)) })
}

/// Whether the engine takes the order of critical sections for an order.
fn locks_order(options: &RunArgs) -> bool {
    let given = std::env::var("RACEWARDEN_OPTIONS").unwrap_or_default();
    options.engine == DetectorEngine::Hb && !given.contains("engine=")
}

/// How much was left out because `check` shows it to be safe, and why no more.
fn tell_pruned(report: &mut Report, pruned: Option<&Pruned>) {
    let stats = &mut report.stats;
    let left_out = pruned.map_or(0, Pruned::left_out);
    stats.insert("pruned".to_owned(), (left_out > 0).into());
    let Some(pruned) = pruned else { return };
    stats.insert("places".to_owned(), pruned.all.into());
    stats.insert("places_unwatched".to_owned(), left_out.into());
    for (reason, count) in &pruned.reasons {
        stats.insert(format!("unwatched_{}", reason.replace([' ', '-'], "_")), (*count).into());
    }
    if let Some(limit) = &pruned.limit {
        let text = format!("more is watched than need be: {limit}");
        report.notes.push(Note::info(Engine::Run, text));
    }
}

/// LLVM's OpenMP runtime tells its order through Archer, a tool it loads when asked to. Programs
/// without OpenMP never look at the variables.
fn tell_openmp(command: &mut Command) {
    const ARCHER: &str = "/usr/lib/llvm-22/lib/libarcher.so";
    if std::env::var_os("OMP_TOOL_LIBRARIES").is_none() && Path::new(ARCHER).exists() {
        command.env("OMP_TOOL_LIBRARIES", ARCHER);
    }
}

/// How the program ended and what the runtime had to let go of.
fn describe(report: &mut Report, outcome: &Outcome, options: &RunArgs) {
    use std::os::unix::process::ExitStatusExt;
    let stats = &mut report.stats;
    let mut notes = Vec::new();
    match outcome.status {
        None => {
            let seconds = options.timeout.unwrap_or_default();
            notes.push(format!("the program was stopped after {seconds} seconds"));
            stats.insert("timed_out".to_owned(), true.into());
        }
        Some(status) => {
            if let Some(code) = status.code() {
                stats.insert("exit_code".to_owned(), code.into());
            }
            if let Some(signal) = status.signal() {
                stats.insert("signal".to_owned(), signal.into());
                notes.push(format!("the program was ended by signal {signal}"));
            }
        }
    }
    if outcome.file.started == 0 {
        notes.push("the runtime did not start, so nothing was watched".to_owned());
    }
    let total = |name: &str| -> u64 {
        outcome.file.exits.iter().filter_map(|exit| exit.counts.get(name)).sum()
    };
    let lost = [
        ("records_dropped", "accesses were forgotten for lack of room"),
        ("accesses_unwatched", "accesses were not watched because the memory limit was reached"),
        ("stacks_cut", "call stacks were cut short for lack of room"),
        ("locks_forgotten", "times the locks of an old access were not known any more"),
        (
            "slots_forced",
            "thread slots were reused early, so races with those threads may be missed",
        ),
        ("reports_unwritten", "races were not written because too many had been already"),
    ];
    for (name, meaning) in lost {
        if total(name) > 0 {
            notes.push(format!("{} {meaning}", total(name)));
        }
    }
    report.notes.extend(notes.into_iter().map(|text| Note::weakens(Engine::Run, text)));
    let stats = &mut report.stats;
    let runs = stats.get("runs").and_then(serde_json::Value::as_u64).unwrap_or(0);
    stats.insert("runs".to_owned(), (runs + 1).into());
    if total("threads") > 0 {
        stats.insert("threads".to_owned(), total("threads").into());
    }
}
