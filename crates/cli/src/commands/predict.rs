//! `racewarden predict`: the races that a recorded run implies.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use racewarden_finding::{Engine, Note, Report};
use racewarden_predict::order;
use racewarden_trace::text;

use crate::ledger_sink::FoundBy;
use crate::output::OutputArgs;

#[derive(clap::Args)]
pub struct Args {
    /// A trace in the STD text format
    #[arg(value_name = "TRACE")]
    input: PathBuf,

    /// Seconds that one solver query may take; what it leaves is counted as unknown
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    solver_timeout: Duration,

    /// Seconds that all queries together may take
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    budget: Duration,

    #[command(flatten)]
    output: OutputArgs,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut report =
        predict_text(&args.input, &args).with_context(|| format!("{}", args.input.display()))?;
    let target = args.input.display().to_string();
    args.output.emit_recorded(&mut report, &FoundBy::without_capture(Engine::Predict, target))
}

fn predict_text(path: &Path, args: &Args) -> anyhow::Result<Report> {
    let bytes = std::fs::read(path)?;
    if bytes.is_empty() {
        bail!("the file is empty");
    }
    let read = text::read(&bytes)?;
    let limits = order::Limits {
        query: args.solver_timeout,
        total: args.budget,
        ..order::Limits::default()
    };
    let prediction = order::predict(&read.trace, &limits);
    let mut report = order::report(&read.trace, &path.display().to_string(), &prediction);
    for message in text::repair_messages(&read.repairs) {
        report.notes.push(Note::weakens(Engine::Predict, format!("trace repaired: {message}")));
    }
    report.finish();
    Ok(report)
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}
