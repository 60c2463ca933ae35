//! `racewarden hunt`: the five engines as one. Each stage is fed by what came before: the static
//! engine's candidates, what a run observed, what a recording predicts; everything that is not yet
//! proved goes to confirm.
//!
//! A stage that fails costs its own findings only: the reason becomes a note and the hunt goes on.
//! Ctrl-C ends the stage under way and keeps what is there.

mod stages;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use racewarden_finding::{Conclusion, Engine, Report, Verdict};

use crate::inputs::InputArgs;
use crate::ledger_sink::FoundBy;
use crate::output::OutputArgs;
use stages::Hunt;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  racewarden hunt bank.c --cflags=-pthread        one source file
  racewarden capture -- make && racewarden hunt   the project's only target
  racewarden hunt server --for 10s -- -p 8080     a server, stopped after ten seconds")]
pub struct Args {
    #[command(flatten)]
    inputs: InputArgs,

    #[command(flatten)]
    output: OutputArgs,

    /// How much time the engines after the check may take together, such as 90s or 5m; so long do
    /// they wait for the check, too
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    budget: Duration,

    /// Stop the program after this time in each run: for servers that never exit
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    run_for: Option<Duration>,

    /// Which engines take part
    #[arg(long, value_delimiter = ',', default_values = ["check", "run", "predict", "confirm"])]
    engines: Vec<HuntEngine>,

    /// Show every race in full, the doubtful ones too
    #[arg(long)]
    all: bool,

    /// Hunt in a library: its exported functions may be called from any thread, and nothing is run
    #[arg(long)]
    api: bool,

    /// More models of functions, in a racewarden.toml
    #[arg(long, value_name = "FILE")]
    models: Option<PathBuf>,

    /// Standard input for every run; nothing without it
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,

    /// Arguments for the program
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<String>,
}

#[derive(clap::ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum HuntEngine {
    Check,
    Run,
    Predict,
    Confirm,
}

/// Races that are shown in full unless `--all` asks for more: what one sitting can take in.
const BLOCKS: usize = 20;

pub fn run(mut args: Args) -> anyhow::Result<ExitCode> {
    args.output.blocks = (!args.all).then_some(BLOCKS);
    let capture = args.inputs.resolve()?;
    let mut hunt = Hunt::new(&capture, &args);
    hunt.conduct()?;
    let alone = hunt.alone;
    let (mut report, checked) = hunt.finish();
    // The static engine saw the whole target, so a race that is absent now is gone.
    let mut found_by = FoundBy::new(Engine::Check, &capture).program(
        &args.inputs,
        &args.arguments,
        args.stdin.as_deref(),
    );
    if checked {
        found_by = found_by.complete();
    }
    if args.api {
        found_by = found_by.variant("api");
    }
    let code = args.output.emit_recorded(&mut report, &found_by)?;
    tell_how_to_go_on(&report, alone);
    Ok(code)
}

fn tell_how_to_go_on(report: &Report, alone: bool) {
    let replayable = report.races.iter().find(|race| race.verdict >= Verdict::Confirmed);
    match (report.conclusion, replayable) {
        (Conclusion::Racy, Some(race)) => {
            eprintln!("replay one with: racewarden replay {}", race.id);
        }
        (Conclusion::Unknown, _) if alone => {
            eprintln!(
                "nothing ran beside anything else: give the program something to do, with \
                 arguments after `--` or with --stdin"
            );
        }
        (Conclusion::Unknown, _) if report.has_open_races() => {
            eprintln!(
                "give it more time with --budget 5m, or look at a candidate: racewarden show R1"
            );
        }
        _ => {}
    }
}

/// `10`, `10s`, `500ms`, `2m`, `1h`.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a time such as 90s, 500ms or 5m");
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let seconds = match unit {
        "ms" => number / 1000.0,
        "" | "s" => number,
        "m" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err(wrong()),
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_and_without_units() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        for wrong in ["", "s", "5 parsecs", "-3s", "1e400s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
