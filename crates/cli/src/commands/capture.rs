//! `racewarden capture`.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use racewarden_capture::{
    BuildOutcome, BuildRequest, Capture, Interception, Store, TargetKind, capture_build,
    capture_database, capture_into, is_capturable,
};

use crate::inputs::{InputArgs, cache_directory};
use crate::progress::CaptureBar;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    inputs: InputArgs,

    /// Put the shims on PATH and into CC and CXX instead of preloading a library into the build;
    /// for builds that statically linked programs drive
    #[arg(long)]
    path_shims: bool,

    /// The build command to run under capture
    #[arg(last = true, value_name = "BUILD", conflicts_with_all = ["inputs", "compile_commands"])]
    build: Vec<OsString>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    if !args.build.is_empty() {
        return run_build(&args);
    }
    if let Some(database) = &args.inputs.compile_commands {
        return run_database(database);
    }
    if args.inputs.inputs.is_empty() {
        bail!("nothing to capture: give sources, or a build command after `--`");
    }
    let directory = std::env::current_dir().context("the current directory is gone")?;
    let sources = args.inputs.inputs.iter().all(|input| is_capturable(input));
    if let Some(store) = Store::find(&directory).filter(|_| sources) {
        let cflags = args.inputs.split_cflags()?;
        let outcome = capture_into(&store, &args.inputs.inputs, &cflags, &CaptureBar::new())?;
        tell_notes(&outcome.capture);
        tell_outcome(&outcome);
        return Ok(ExitCode::SUCCESS);
    }
    let (capture, target) = args.inputs.target()?;
    eprintln!("capture: {} units; target: {}", capture.units.len(), target.name);
    for unit in &capture.units {
        println!("{} {}", unit.source.display(), unit.bitcode.display());
    }
    tell_notes(&capture);
    Ok(ExitCode::SUCCESS)
}

fn run_build(args: &Args) -> anyhow::Result<ExitCode> {
    let directory = std::env::current_dir().context("the current directory is gone")?;
    let store = Store::find_or_create(&directory)?;
    let request = BuildRequest {
        command: args.build.clone(),
        cache: cache_directory(),
        interception: if args.path_shims { Interception::Path } else { Interception::Preload },
    };
    let outcome = capture_build(&store, &request, &CaptureBar::new())?;
    tell_notes(&outcome.capture);
    tell_outcome(&outcome);
    match outcome.status {
        Some(status) if !status.success() => {
            bail!("{}: the build ended with {status}", args.build[0].to_string_lossy())
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn run_database(database: &Path) -> anyhow::Result<ExitCode> {
    let directory = std::env::current_dir().context("the current directory is gone")?;
    if !database.is_file() {
        bail!("{}: no such file", database.display());
    }
    let store = Store::find_or_create(&directory)?;
    let outcome = capture_database(&store, database, &CaptureBar::new())?;
    tell_notes(&outcome.capture);
    tell_outcome(&outcome);
    Ok(ExitCode::SUCCESS)
}

fn tell_notes(capture: &Capture) {
    for note in &capture.notes {
        eprintln!("note: {}", note.text);
    }
}

fn tell_outcome(outcome: &BuildOutcome) {
    if outcome.resumed {
        eprintln!("capture: finished an interrupted capture on the way");
    }
    if outcome.seen == 0 {
        eprintln!("capture: the build compiled nothing; if it was up to date, clean it first");
    }
    let targets: Vec<String> = outcome
        .capture
        .targets
        .iter()
        .map(|target| match target.kind {
            TargetKind::Executable => target.name.clone(),
            TargetKind::SharedLibrary => format!("{} (shared)", target.name),
            TargetKind::StaticLibrary => format!("{} (archive)", target.name),
        })
        .collect();
    eprintln!(
        "capture: {} units captured, {} failed, {} unchanged; {} targets: {}",
        outcome.seen - outcome.failed,
        outcome.failed,
        outcome.reused,
        targets.len(),
        targets.join(", ")
    );
}
