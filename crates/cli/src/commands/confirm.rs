//! `racewarden confirm`: proves candidate races by bringing their threads together at the two
//! accesses, in both orders, and shows which do harm.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use racewarden_capture::Capture;
use racewarden_finding::{Engine, Note, Report, Verdict, conclude, merge_races, settle_placeless};
use racewarden_schedule::gate::{Judgement, judge};

use super::check;
use super::predict::{PredictArgs, record_and_predict};
use super::run::{RunArgs, detect};
use crate::gate::{Campaign, Discovery, GatedProgram, Limits, Program, Target, build_gated};
use crate::inputs::InputArgs;
use crate::interrupt;
use crate::ledger_sink::FoundBy;
use crate::output::OutputArgs;

/// How much of the time predicting may take before confirming begins.
const PREDICT_SHARE: f64 = 0.15;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    inputs: InputArgs,

    #[command(flatten)]
    output: OutputArgs,

    /// Take the candidates from this report (`--format json` of check, run or predict); may be
    /// given several times. Without it, the engines find them
    #[arg(long, value_name = "FILE")]
    report: Vec<PathBuf>,

    /// Which engines look for candidates when no report is given
    #[arg(long, value_delimiter = ',', default_values = ["check", "run", "predict"])]
    engines: Vec<Finder>,

    #[command(flatten)]
    budget: BudgetArgs,

    /// Standard input for every run; nothing without it
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,

    /// Arguments for the program
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<String>,
}

/// An engine that finds candidates.
#[derive(clap::ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finder {
    Check,
    Run,
    Predict,
}

/// What confirming may cost.
#[derive(clap::Args, Debug, Clone)]
pub struct BudgetArgs {
    /// Most runs that look for the threads to meet
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub confirm_runs: u64,

    /// Most seconds for all runs together
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    pub confirm_time: u64,

    /// Most seconds for one run
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub run_time: u64,

    /// How long a thread waits at its access for the other; later runs wait longer
    #[arg(long, value_name = "MS", default_value_t = 200)]
    pub wait_ms: u64,
}

impl BudgetArgs {
    pub fn limits(&self) -> Limits {
        Limits {
            runs: self.confirm_runs,
            time: Duration::from_secs(self.confirm_time),
            wait: Duration::from_millis(self.wait_ms),
            run_time: Duration::from_secs(self.run_time),
        }
    }
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let capture = args.inputs.resolve()?;
    let mut report = if args.report.is_empty() {
        find_candidates(&capture, &args)?
    } else {
        candidates(&args.report)?
    };
    let request = ConfirmRequest {
        arguments: &args.arguments,
        input: args.stdin.as_deref(),
        limits: args.budget.limits(),
    };
    confirm(&capture, &mut report, &request)?;
    report.finish();
    let found_by = FoundBy::new(Engine::Confirm, &capture).program(
        &args.inputs,
        &args.arguments,
        args.stdin.as_deref(),
    );
    args.output.emit_recorded(&mut report, &found_by)
}

/// What the engines find. The static engine sees the whole program; one that watches a run may
/// fail without taking the others' findings along.
fn find_candidates(capture: &Capture, args: &Args) -> anyhow::Result<Report> {
    let wants = |finder| args.engines.contains(&finder);
    let mut report =
        if wants(Finder::Check) { check::check_capture(capture)? } else { Report::default() };
    let limit = Duration::from_secs(args.budget.run_time);
    if wants(Finder::Run) {
        let options = RunArgs {
            runs: 2,
            timeout: Some(limit.as_secs_f64()),
            quiet: true,
            stdin: args.stdin.clone(),
            ..RunArgs::default()
        };
        let found = detect(capture, &options, &args.arguments, false);
        take(&mut report, Engine::Run, found);
    }
    if wants(Finder::Predict) {
        let budget = Duration::from_secs(args.budget.confirm_time).mul_f64(PREDICT_SHARE);
        let input = args.stdin.clone().unwrap_or_else(|| "/dev/null".into());
        let options = PredictArgs::quick(budget, limit, input);
        let found = record_and_predict(capture, &options, &args.arguments);
        take(&mut report, Engine::Predict, found);
    }
    Ok(report)
}

fn take(report: &mut Report, engine: Engine, found: anyhow::Result<Report>) {
    match found {
        Ok(found) => {
            merge_races(&mut report.races, found.races);
            report.notes.extend(found.notes);
            report.stats.extend(found.stats);
        }
        Err(error) => {
            let text = format!("{} failed: {error:#}", engine.as_str());
            report.notes.push(Note::weakens(engine, text));
        }
    }
    settle_placeless(&mut report.races);
}

/// Everything about confirming but the program and its candidates.
pub struct ConfirmRequest<'a> {
    pub arguments: &'a [String],
    pub input: Option<&'a Path>,
    pub limits: Limits,
}

/// Reads the given reports as one.
pub fn candidates(files: &[PathBuf]) -> anyhow::Result<Report> {
    let mut all = Report::default();
    for file in files {
        let one = read_report(file)?;
        merge_races(&mut all.races, one.races);
        all.notes.extend(one.notes);
        for (reason, count) in one.excluded {
            *all.excluded.entry(reason).or_default() += count;
        }
    }
    Ok(all)
}

pub fn read_report(file: &Path) -> anyhow::Result<Report> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    serde_json::from_str(&text).with_context(|| format!("{}: not a report", file.display()))
}

/// Confirms what it can of `report`'s races: verdicts move, evidence and notes are added.
pub fn confirm(
    capture: &Capture,
    report: &mut Report,
    request: &ConfirmRequest,
) -> anyhow::Result<()> {
    let before = report.conclusion;
    if report.races.is_empty() {
        report.notes.push(Note::info(Engine::Confirm, "there was no candidate to confirm"));
        report.conclusion = before;
        return Ok(());
    }
    let gated = build_gated(capture, &report.races, &[])?;
    note_missing(&gated, report);
    let program = Program {
        path: gated.path.clone(),
        arguments: request.arguments.to_vec(),
        input: request.input.map(Path::to_owned),
        show_output: false,
    };
    let targets = (targets(report, &gated), Discovery::new(&report.races, &gated));
    let mut campaign = Campaign::new(&program, &gated, &capture.units, targets, request.limits);
    let bar = progress_bar(request.limits.runs);
    let ended = campaign.conduct(&mut |campaign| show(&bar, campaign));
    bar.finish_and_clear();
    match ended {
        // What was found until then is kept.
        Err(_) if interrupt::requested() => {
            let text = "interrupted: not every candidate was tried";
            report.notes.push(Note::weakens(Engine::Confirm, text));
        }
        ended => ended?,
    }
    campaign.conclude_into(&mut report.races);
    report.stats.insert("confirm_runs".to_owned(), campaign.runs.into());
    note_hindrances(&campaign, report);
    report.conclusion = conclude(&report.races, &report.notes, false);
    Ok(())
}

/// Two atomic accesses or two reads are no data race, whatever a report says.
fn targets(report: &Report, gated: &GatedProgram) -> Vec<Target> {
    let races = report.races.iter().enumerate();
    races
        .filter(|(_, race)| {
            let [a, b] = &race.sites;
            a.access.conflicts_with(b.access) && !(a.atomic && b.atomic) && race.verdict.is_open()
        })
        .map(|(index, race)| {
            let mut target = Target::new(index, gated.sides(index));
            target.priority = 100 * race.verdict as u32 + race.rank;
            target.shown = race.verdict > Verdict::Potential;
            target.locked = race.sites.each_ref().map(|site| !site.locks.is_empty());
            target
        })
        .collect()
}

fn note_missing(gated: &GatedProgram, report: &mut Report) {
    const SHOWN: usize = 10;
    let missing = &gated.map.missing;
    for one in missing.iter().take(SHOWN) {
        report.notes.push(Note::info(Engine::Confirm, format!("not gated: {one}")));
    }
    if missing.len() > SHOWN {
        let text = format!("not gated: {} more places", missing.len() - SHOWN);
        report.notes.push(Note::info(Engine::Confirm, text));
    }
}

fn note_hindrances(campaign: &Campaign, report: &mut Report) {
    if campaign.gates_were_shut {
        let text = "the system does not let a program change its own code, so not every candidate could be steered";
        report.notes.push(Note::weakens(Engine::Confirm, text));
    }
    let Some(natural) = &campaign.natural else { return };
    if let Some(violation) = &natural.violation {
        let kind = violation.kind.as_str();
        let text = format!("the program fails by itself ({kind}: {})", violation.detail);
        report.notes.push(Note::info(Engine::Confirm, text));
    } else if natural.timed_out {
        let text = "the program did not end within the time for one run; it was stopped each time";
        report.notes.push(Note::info(Engine::Confirm, text));
    }
}

fn progress_bar(runs: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("confirm  {bar:24} {pos}/{len} runs  {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(runs).with_style(style)
}

fn show(bar: &ProgressBar, campaign: &Campaign) {
    let count = |wanted: Judgement| {
        campaign.targets.iter().filter(|target| judge(&target.tally).judgement == wanted).count()
    };
    let (confirmed, harmful) = (count(Judgement::Confirmed), count(Judgement::Harmful));
    let doubted = count(Judgement::LikelyFalse);
    let all = campaign.targets.len();
    bar.set_length(bar.length().unwrap_or(0).max(campaign.runs));
    bar.set_position(campaign.runs);
    bar.set_message(format!(
        "{all} candidates: {} confirmed, {harmful} harmful, {doubted} likely false",
        confirmed + harmful
    ));
}
