//! `racewarden check`: the static engine.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use racewarden_analysis::Options;
use racewarden_capture::Capture;
use racewarden_finding::{Engine, Note, Report, conclude};
use racewarden_models::Models;
use racewarden_recheck::Request;

use crate::inputs::{InputArgs, cache_directory};
use crate::ledger_sink::FoundBy;
use crate::output::{OutputArgs, write_to_stdout};

mod filters;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    inputs: InputArgs,

    #[command(flatten)]
    output: OutputArgs,

    /// Check a library: its exported functions may be called from any thread
    #[arg(long)]
    api: bool,

    /// Show every candidate, those in system headers and of low rank too
    #[arg(long)]
    all: bool,

    /// Say which analysis excluded the accesses at two places, or that none did
    #[arg(long, num_args = 2, value_names = ["FILE:LINE", "FILE:LINE"])]
    why: Option<Vec<String>>,

    /// Set aside the races that are in this earlier JSON report
    #[arg(long, value_name = "REPORT")]
    baseline: Option<PathBuf>,

    /// Set aside the races that this file names, by fingerprint, place or object
    #[arg(long, value_name = "FILE")]
    suppress: Option<PathBuf>,

    /// Show only races with an access in a file below this path
    #[arg(long, value_name = "PATH")]
    only: Vec<String>,

    /// Leave out races with an access in a file below this path
    #[arg(long, value_name = "PATH")]
    skip: Vec<String>,

    /// More models of functions, in a racewarden.toml
    #[arg(long, value_name = "FILE")]
    models: Option<PathBuf>,

    /// Keep nothing for the next check, and use nothing that an earlier one kept
    #[arg(long)]
    no_cache: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let capture = args.inputs.resolve()?;
    let subject = Subject::new(args.models.clone(), args.api)?;
    let units: Vec<PathBuf> = capture.units.iter().map(|unit| unit.bitcode.clone()).collect();
    if let Some([first, second]) = args.why.as_deref() {
        let modelled = |symbol: &str| subject.models().for_function(symbol, true).is_some();
        let program = racewarden_ir::link(racewarden_bitcode::lower_units_flat(&units, &modelled)?);
        let (models, options) = (subject.models(), &subject.options);
        let lines = racewarden_analysis::why(&program, models, options, first, second);
        write_to_stdout(&(lines.join("\n") + "\n"))?;
        return Ok(ExitCode::SUCCESS);
    }

    let mut report = subject.check(&capture, !args.no_cache)?;
    report.finish();
    // The ledger takes all of it, so that a race which it does not get any more is gone.
    let mut found_by =
        FoundBy::new(Engine::Check, &capture).program(&args.inputs, &[], None).complete();
    if args.api {
        found_by = found_by.variant("api");
    }
    args.output.ledger.record(&mut report, &found_by);
    let filters = filters::Filters {
        all: args.all,
        only: &args.only,
        skip: &args.skip,
        baseline: args.baseline.as_deref(),
        suppress: args.suppress.as_deref(),
    };
    filters.apply(&mut report)?;
    report.finish();
    args.output.emit(&report)
}

/// Checks a captured target and shows everything, for commands that go on from there.
pub fn check_capture(capture: &Capture) -> anyhow::Result<Report> {
    check_capture_with(capture, None, false)
}

/// As [`check_capture`], with more models or as a library.
pub fn check_capture_with(
    capture: &Capture,
    models: Option<PathBuf>,
    api: bool,
) -> anyhow::Result<Report> {
    let mut report = Subject::new(models, api)?.check(capture, true)?;
    report.finish();
    Ok(report)
}

/// How programs are checked here.
pub struct Subject {
    /// `None` when the user adds nothing to the built-in ones.
    own_models: Option<Models>,
    /// The user's models as they were written.
    models_text: String,
    options: Options,
}

impl Subject {
    pub fn new(models: Option<PathBuf>, api: bool) -> anyhow::Result<Self> {
        let file = models.or_else(|| {
            let own = PathBuf::from("racewarden.toml");
            own.is_file().then_some(own)
        });
        let own_models = file.as_deref().map(Models::with_user_file).transpose()?;
        let models_text = file.as_deref().map(read).transpose()?.unwrap_or_default();
        Ok(Subject { own_models, models_text, options: Options { api } })
    }

    fn models(&self) -> &Models {
        self.own_models.as_ref().unwrap_or_else(|| Models::builtin())
    }

    /// What is to be asked about these units.
    pub fn request<'a>(&'a self, units: &'a [PathBuf], cached: bool) -> Request<'a> {
        Request {
            units,
            models: self.models(),
            models_text: &self.models_text,
            options: &self.options,
            cache: cached.then(|| cache_directory().join("check")),
        }
    }

    /// What is later set aside still exists: the conclusion is about all of it.
    fn check(&self, capture: &Capture, cached: bool) -> anyhow::Result<Report> {
        let units: Vec<PathBuf> = capture.units.iter().map(|unit| unit.bitcode.clone()).collect();
        let request = self.request(&units, cached);
        let mut report = racewarden_recheck::check(&request, &|_| {})?.report;
        for note in &capture.notes {
            report.notes.push(if note.incomplete {
                Note::weakens(Engine::Capture, note.text.clone())
            } else {
                Note::info(Engine::Capture, note.text.clone())
            });
        }
        report.conclusion = conclude(&report.races, &report.notes, true);
        Ok(report)
    }
}

/// Reads a file that the user named.
fn read(path: &std::path::Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("{}", path.display()))
}
