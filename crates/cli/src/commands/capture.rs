//! `racewarden capture`.

use std::process::ExitCode;

use crate::inputs::InputArgs;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    inputs: InputArgs,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let capture = args.inputs.resolve()?;
    for unit in &capture.units {
        println!("{} {}", unit.source.display(), unit.bitcode.display());
    }
    for note in &capture.notes {
        eprintln!("note: {}", note.text);
    }
    Ok(ExitCode::SUCCESS)
}
