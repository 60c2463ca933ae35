//! `racewarden report`: what the ledger holds, in any format.

use std::process::ExitCode;

use crate::commands::races::FilterArgs;
use crate::output::OutputArgs;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    filter: FilterArgs,

    #[command(flatten)]
    output: OutputArgs,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let ledger = args.output.ledger.open()?;
    let report = ledger.report(&args.filter.filter())?;
    args.output.emit(&report)
}
