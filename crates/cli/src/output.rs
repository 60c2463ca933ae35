//! How a report leaves a command: format, place and exit status.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use racewarden_finding::Report;

#[derive(clap::ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    Json,
}

#[derive(clap::Args, Debug, Clone)]
pub struct OutputArgs {
    /// How to write the report
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,

    /// Write the report to FILE instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

impl OutputArgs {
    /// Writes the report and gives the exit status it calls for.
    pub fn emit(&self, report: &Report) -> anyhow::Result<ExitCode> {
        let text = match self.format {
            Format::Text => racewarden_report::text(report),
            Format::Json => racewarden_report::json(report),
        };
        match &self.output {
            Some(path) => {
                std::fs::write(path, text).with_context(|| format!("{}", path.display()))?;
            }
            None => write_to_stdout(&text)?,
        }
        Ok(if report.has_open_races() { ExitCode::from(1) } else { ExitCode::SUCCESS })
    }
}

/// A reader that went away (`| head`) is not a failure.
fn write_to_stdout(text: &str) -> anyhow::Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}
