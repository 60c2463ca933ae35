//! One file per command.

use std::process::ExitCode;

use clap::Subcommand;

mod capture;

#[derive(Subcommand)]
pub enum Command {
    /// Capture a build, sources or bitcode for the engines
    Capture(capture::Args),
}

pub fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Capture(args) => capture::run(args),
    }
}
