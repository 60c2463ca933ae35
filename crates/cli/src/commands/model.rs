//! `racewarden model`: the program model of the inputs as text.

use std::io::Write;
use std::process::ExitCode;

use crate::inputs::InputArgs;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    inputs: InputArgs,

    /// Print the linked program instead of one model per unit
    #[arg(long)]
    linked: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let capture = args.inputs.resolve()?;
    for note in &capture.notes {
        eprintln!("note: {}", note.text);
    }
    let paths: Vec<_> = capture.units.iter().map(|unit| &unit.bitcode).collect();
    let mut modules = racewarden_bitcode::lower_units(&paths, true)?;
    if args.linked {
        modules = vec![racewarden_ir::link(modules).module];
    }
    let mut out = std::io::stdout().lock();
    for module in &modules {
        out.write_all(racewarden_ir::print(module).as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}
