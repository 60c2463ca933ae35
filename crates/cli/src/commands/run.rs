//! `racewarden run`: builds the target with the detect runtime, runs it, and reports.

use std::process::{Command, ExitCode};

use anyhow::Context;
use racewarden_finding::{Engine, Report};
use racewarden_instrument::{BuildRequest, Detect, build_target};

use crate::inputs::InputArgs;
use crate::ledger_sink::FoundBy;
use crate::output::OutputArgs;
use crate::runtime::{RuntimeMode, build_cache};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    inputs: InputArgs,

    #[command(flatten)]
    output: OutputArgs,

    /// Arguments for the program
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<String>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let capture = args.inputs.resolve()?;
    let archive = RuntimeMode::Detect.archive()?;
    let pass = Detect::default();
    let program = build_target(&BuildRequest::detect(&capture, &pass, &archive, &build_cache()))?;
    let status = Command::new(&program)
        .args(&args.arguments)
        .status()
        .with_context(|| format!("cannot run {}", program.display()))?;
    let mut report = Report::default();
    if let Some(code) = status.code() {
        report.stats.insert("exit_code".to_owned(), code.into());
    }
    report.finish();
    let found_by = FoundBy::new(Engine::Run, &capture).program(&args.inputs, &args.arguments, None);
    args.output.emit_recorded(&mut report, &found_by)
}
