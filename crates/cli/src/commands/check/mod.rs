//! `racewarden check`: the static engine.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use racewarden_analysis::Options;
use racewarden_capture::Capture;
use racewarden_finding::{Engine, Note, Report, conclude};
use racewarden_ir::Program;
use racewarden_models::Models;

use crate::inputs::InputArgs;
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
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let capture = args.inputs.resolve()?;
    let subject = Subject::load(&capture, args.models.clone(), args.api)?;
    if let Some([first, second]) = args.why.as_deref() {
        let (models, options) = (subject.models(), &subject.options);
        let lines = racewarden_analysis::why(&subject.program, models, options, first, second);
        write_to_stdout(&(lines.join("\n") + "\n"))?;
        return Ok(ExitCode::SUCCESS);
    }

    let mut report = subject.check(&capture);
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
    let mut report = Subject::load(capture, models, api)?.check(capture);
    report.finish();
    Ok(report)
}

/// A program with the models that apply to it.
struct Subject {
    program: Program,
    /// `None` when the user adds nothing to the built-in ones.
    own_models: Option<Models>,
    options: Options,
}

impl Subject {
    fn load(capture: &Capture, models: Option<PathBuf>, api: bool) -> anyhow::Result<Self> {
        let paths: Vec<_> = capture.units.iter().map(|unit| &unit.bitcode).collect();
        let program = racewarden_ir::link(racewarden_bitcode::lower_units(&paths, true)?);
        let file = models.or_else(|| {
            let own = PathBuf::from("racewarden.toml");
            own.is_file().then_some(own)
        });
        let own_models = file.map(|path| Models::with_user_file(&path)).transpose()?;
        Ok(Subject { program, own_models, options: Options { api } })
    }

    fn models(&self) -> &Models {
        self.own_models.as_ref().unwrap_or_else(|| Models::builtin())
    }

    /// What is later set aside still exists: the conclusion is about all of it.
    fn check(&self, capture: &Capture) -> Report {
        let mut report = racewarden_analysis::check(&self.program, self.models(), &self.options);
        for note in &capture.notes {
            report.notes.push(if note.incomplete {
                Note::weakens(Engine::Capture, note.text.clone())
            } else {
                Note::info(Engine::Capture, note.text.clone())
            });
        }
        report.conclusion = conclude(&report.races, &report.notes, true);
        report
    }
}

/// Reads a file that the user named.
fn read(path: &std::path::Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("{}", path.display()))
}
