//! How a report leaves a command: format, place and exit status.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use racewarden_capture::Store;
use racewarden_finding::Report;
use racewarden_report::{Sources, TextOptions};

use crate::ledger_sink::{FoundBy, LedgerArgs};

#[derive(clap::ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    Json,
    Sarif,
    Html,
}

#[derive(clap::Args, Debug, Clone)]
pub struct OutputArgs {
    /// How to write the report
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,

    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    pub json: bool,

    /// Write the report to FILE instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    #[command(flatten)]
    pub ledger: LedgerArgs,

    /// Most races that a text report shows in full; the rest gets a line each.
    #[arg(skip)]
    pub blocks: Option<usize>,
}

impl OutputArgs {
    /// Records the report in the ledger, then writes it with the names it got there.
    pub fn emit_recorded(
        &self,
        report: &mut Report,
        found_by: &FoundBy,
    ) -> anyhow::Result<ExitCode> {
        self.ledger.record(report, found_by);
        self.emit(report)
    }

    /// Writes the report and gives the exit status it calls for.
    pub fn emit(&self, report: &Report) -> anyhow::Result<ExitCode> {
        let format = if self.json { Format::Json } else { self.format };
        let text = match format {
            Format::Text => self.text(report),
            Format::Json => racewarden_report::json(report),
            Format::Sarif => racewarden_report::sarif(report),
            Format::Html => racewarden_report::html(report, &mut sources()),
        };
        match &self.output {
            Some(path) => {
                std::fs::write(path, text).with_context(|| format!("{}", path.display()))?;
            }
            None => write_to_stdout(&text)?,
        }
        Ok(if report.has_open_races() { ExitCode::from(1) } else { ExitCode::SUCCESS })
    }

    fn text(&self, report: &Report) -> String {
        let options = TextOptions { blocks: self.blocks, ..text_options(self.output.is_none()) };
        racewarden_report::text_with(report, options, &mut sources())
    }
}

/// Paths in a finding are what the compiler was given, so they are looked up below the folder the
/// command runs in, the project, and the folders that its units were compiled in.
pub fn sources() -> Sources {
    Sources::below(source_roots())
}

/// Folders in which the sources of findings are looked for.
pub fn source_roots() -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = std::env::current_dir().into_iter().collect();
    if let Some(store) = roots.first().and_then(|here| Store::find(here)) {
        roots.push(store.project().to_owned());
        let units = store.load().map(|capture| capture.units).unwrap_or_default();
        for unit in units {
            if !roots.contains(&unit.directory) {
                roots.push(unit.directory);
            }
        }
    }
    roots
}

/// Width and colour of the terminal, if standard output is one; `NO_COLOR` and `TERM=dumb` are
/// heeded, and `COLUMNS` sets the width where there is no terminal to ask.
pub fn text_options(to_stdout: bool) -> TextOptions {
    let terminal = to_stdout && std::io::stdout().is_terminal();
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let asked = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    TextOptions {
        width: terminal
            .then(asked)
            .flatten()
            .or_else(columns)
            .unwrap_or(TextOptions::default().width),
        colour: terminal && !dumb && !set("NO_COLOR"),
        blocks: None,
    }
}

/// A reader that went away (`| head`) is not a failure.
pub fn write_to_stdout(text: &str) -> anyhow::Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}
