//! `racewarden man`: the manual pages.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::CommandFactory;

use crate::output::write_to_stdout;

#[derive(clap::Args)]
pub struct Args {
    /// Write one page for each command into this folder, instead of the main page to standard output
    folder: Option<PathBuf>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let command = crate::Cli::command();
    match args.folder {
        Some(folder) => {
            let place = || folder.display().to_string();
            std::fs::create_dir_all(&folder).with_context(place)?;
            clap_mangen::generate_to(command, &folder).with_context(place)?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            write_to_stdout(&String::from_utf8(page)?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
