//! One file per command.

use std::process::ExitCode;

use clap::Subcommand;

mod capture;
mod run;

#[derive(Subcommand)]
pub enum Command {
    /// Capture a build, sources or bitcode for the engines
    Capture(capture::Args),
    /// Run an instrumented build and report the races seen
    Run(run::Args),
}

pub fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Capture(args) => capture::run(args),
        Command::Run(args) => run::run(args),
    }
}
