//! `racewarden completions`: what a shell needs to complete the commands.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::output::write_to_stdout;

#[derive(clap::Args)]
pub struct Args {
    /// The shell to complete in
    shell: Shell,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "racewarden", &mut script);
    write_to_stdout(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}
