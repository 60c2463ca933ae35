//! `racewarden replay`: brings a confirmed race about again, under a debugger if wanted.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, bail};
use racewarden_finding::Race;
use racewarden_schedule::Schedule;
use racewarden_schedule::gate::Linger;

use crate::commands::confirm::read_report;
use crate::gate::{
    Program, ReplayOutcome, ReplayRequest, build_gated, exact_orders, heap_checks, parse_linger,
    replay,
};
use crate::inputs::InputArgs;
use crate::ledger_sink::LedgerArgs;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    inputs: InputArgs,

    /// The schedule to follow (`rw1:…`), as a report prints it
    #[arg(long, value_name = "SCHEDULE", conflicts_with_all = ["race", "report"])]
    schedule: Option<String>,

    /// The race to replay (`R3` or a fingerprint) from the report
    #[arg(long, value_name = "RACE", requires = "report")]
    race: Option<String>,

    /// The report that has the race
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    #[command(flatten)]
    ledger: LedgerArgs,

    /// Which thread stays behind, and for how many microseconds (`follower 100000`)
    #[arg(long, value_name = "WHO US")]
    linger: Option<String>,

    /// The schedule is known to do harm: try again when a run shows none
    #[arg(long)]
    harmful: bool,

    /// Start gdb on the program with the schedule in force
    #[arg(long)]
    gdb: bool,

    /// Most runs to bring it about
    #[arg(long, value_name = "N", default_value_t = 6)]
    attempts: u32,

    /// Most seconds for one run
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    run_time: u64,

    /// Standard input for the program
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,

    /// Arguments for the program
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<String>,
}

pub fn run(mut args: Args) -> anyhow::Result<ExitCode> {
    if let [name] = args.inputs.inputs.as_slice()
        && let Some(name) = race_id(name)
    {
        recall(&mut args, &name)?;
    }
    let Wanted { schedule, linger, harmful } = wanted(&args)?;
    if schedule.steps.len() < 2 {
        bail!("a schedule needs at least the two steps of the racing pair");
    }
    let capture = args.inputs.resolve()?;
    let gated = build_gated(&capture, &[], &[&schedule])?;
    let program = Program {
        path: gated.path.clone(),
        arguments: args.arguments.clone(),
        input: args.stdin.clone(),
        show_output: true,
    };
    let request = ReplayRequest {
        program: &program,
        gated: &gated,
        schedule: &schedule,
        linger,
        harmful,
        patience: Duration::from_secs(5),
        limit: Duration::from_secs(args.run_time),
        attempts: args.attempts,
    };
    if args.gdb {
        return debug(&request);
    }
    let outcome = replay(&request)?;
    tell(&outcome, harmful);
    Ok(ExitCode::from(u8::from(outcome.reached)))
}

/// `R3`, unless there is a file of that name.
fn race_id(input: &Path) -> Option<String> {
    let name = input.to_str()?;
    let number = name.strip_prefix(['R', 'r'])?;
    let is_id = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_id && !input.exists()).then(|| name.to_uppercase())
}

/// Takes the schedule of a race, and how its program ran, from the ledger.
fn recall(args: &mut Args, name: &str) -> anyhow::Result<()> {
    let ledger = args.ledger.open()?;
    let race = ledger.race(name)?.race;
    let program = ledger.program(name)?.with_context(|| {
        format!("the ledger does not say how {name}'s program ran; name its sources instead")
    })?;
    if args.schedule.is_none() {
        let wanted = schedule_of(&race).with_context(|| {
            format!("{name} has no schedule yet; `racewarden confirm` finds one")
        })?;
        args.schedule = Some(wanted.schedule.to_string());
        args.linger = args.linger.take().or_else(|| linger_text(wanted.linger));
        args.harmful = wanted.harmful;
    }
    let directory = PathBuf::from(program.directory);
    std::env::set_current_dir(&directory).with_context(|| directory.display().to_string())?;
    args.inputs.inputs = program.inputs.into_iter().map(PathBuf::from).collect();
    args.inputs.cflags = program.cflags;
    if args.arguments.is_empty() {
        args.arguments = program.arguments;
    }
    if args.stdin.is_none() {
        args.stdin = program.stdin.map(PathBuf::from);
    }
    Ok(())
}

/// What `--linger` takes.
fn linger_text(linger: Linger) -> Option<String> {
    match linger {
        Linger::Nobody => None,
        Linger::Leader { us } => Some(format!("leader {us}")),
        Linger::Follower { us } => Some(format!("follower {us}")),
    }
}

/// What to bring about.
pub struct Wanted {
    pub schedule: Schedule,
    pub linger: Linger,
    /// The schedule is known to do harm.
    pub harmful: bool,
}

fn wanted(args: &Args) -> anyhow::Result<Wanted> {
    let given = match &args.linger {
        Some(text) => Some(parse_linger(text).with_context(|| {
            format!("--linger={text}: expected `leader` or `follower` and microseconds")
        })?),
        None => None,
    };
    if let Some(text) = &args.schedule {
        let schedule = text.parse().with_context(|| format!("--schedule={text}"))?;
        let linger = given.unwrap_or_default();
        return Ok(Wanted { schedule, linger, harmful: args.harmful });
    }
    let (Some(name), Some(file)) = (&args.race, &args.report) else {
        bail!(
            "say what to replay: R1 of the ledger, --schedule SCHEDULE, or --race RACE with --report FILE.json"
        );
    };
    let report = read_report(file)?;
    let race = report
        .races
        .iter()
        .find(|race| race.id == *name || race.fingerprint.0 == *name)
        .with_context(|| format!("{}: no race {name}", file.display()))?;
    let wanted = schedule_of(race)
        .with_context(|| format!("{name} has no schedule yet; `racewarden confirm` finds one"))?;
    Ok(Wanted { linger: given.unwrap_or(wanted.linger), ..wanted })
}

/// The latest schedule among a race's evidence, with who stays behind.
pub fn schedule_of(race: &Race) -> Option<Wanted> {
    race.evidence.iter().rev().find_map(|evidence| {
        let schedule = evidence.detail.get("schedule")?.as_str()?.parse().ok()?;
        let linger = evidence.detail.get("linger").and_then(|value| value.as_str());
        let linger = linger.and_then(parse_linger).unwrap_or_default();
        Some(Wanted { schedule, linger, harmful: evidence.detail.contains_key("harm") })
    })
}

fn tell(outcome: &ReplayOutcome, harmful: bool) {
    let tries = outcome.attempts;
    let steps = outcome.steps;
    if outcome.reached {
        eprintln!("replay: both threads stood at their accesses (run {tries})");
    } else {
        eprintln!("replay: the racing pair was not reached in {tries} runs ({steps} steps)");
    }
    if harmful && outcome.end.violation.is_none() {
        eprintln!("replay: no harm came of it this time");
    }
    if let Some(violation) = &outcome.end.violation {
        eprintln!("replay: {}: {}", violation.kind.as_str(), violation.detail);
    }
}

/// Becomes gdb. The orders stay in a file that gdb's program reads; gdb sets them only for it.
fn debug(request: &ReplayRequest) -> anyhow::Result<ExitCode> {
    let folder = tempfile::tempdir()?.keep();
    let (orders, report) = (folder.join("orders"), folder.join("report"));
    std::fs::write(&orders, exact_orders(request)?.to_string())?;
    let value = format!("RACEWARDEN_GATE {}:{}", orders.display(), report.display());
    let error = Command::new("gdb")
        .args(["-q", "-ex", &format!("set environment {value}")])
        .args(["-ex", &format!("set environment GLIBC_TUNABLES {}", heap_checks())])
        // The runtime's own signal tells stacks to a controlling process; there is none here.
        .args(["-ex", "handle SIG62 nostop noprint pass"])
        .arg("--args")
        .arg(&request.program.path)
        .args(&request.program.arguments)
        .exec();
    Err(error).context("cannot start gdb")
}
