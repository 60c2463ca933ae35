//! The `racewarden` command: every engine behind one binary.
//!
//! Exit status: 0 nothing found, 1 races found, 2 failure. Findings go to standard output,
//! progress and messages to standard error.

use std::process::ExitCode;

use clap::Parser;

mod commands;
mod dynamic;
mod gate;
mod inputs;
mod interrupt;
mod ledger_sink;
mod output;
mod process;
mod progress;
mod runtime;

/// Finds data races in C and C++ programs, proves which are real, and replays each.
#[derive(Parser)]
#[command(name = "racewarden", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    // Under a compiler's name this is that compiler, in a build being captured.
    if let Some(shim) = racewarden_capture::Shim::from_environment() {
        return shim.run();
    }
    let cli = Cli::parse();
    match commands::run(cli.command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("racewarden: {error:#}");
            ExitCode::from(2)
        }
    }
}
