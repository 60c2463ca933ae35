//! `racewarden unwatched`: finds what a watched run may leave out and keeps it in the cache.
//!
//! A process of its own, so that `run` can give it up when it takes too long.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::commands::check::Subject;

#[derive(clap::Args)]
pub struct Args {
    /// Bitcode files, in the order of the link
    #[arg(value_name = "FILE")]
    units: Vec<PathBuf>,

    /// Code is linked that is in none of the files
    #[arg(long)]
    foreign: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let subject = Subject::new(None, false)?;
    racewarden_recheck::unwatched(&subject.request(&args.units, true), args.foreign)?;
    Ok(ExitCode::SUCCESS)
}
