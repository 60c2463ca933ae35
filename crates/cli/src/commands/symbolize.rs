//! `racewarden symbolize`: what a program linked by `racewarden link` found, as text. The program
//! runs it by itself.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use racewarden_finding::{Report, Verdict};

use crate::dynamic::{Context, Suppressions, parse, races_of};
use crate::output::{sources, text_options};

#[derive(clap::Args)]
pub struct Args {
    /// Findings as the runtime wrote them
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let text = std::fs::read(&args.file).with_context(|| args.file.display().to_string())?;
    let file = parse(&String::from_utf8_lossy(&text));
    let mut suppressions = Suppressions::of_environment()?;
    suppressions.add_program(&file)?;
    let races = races_of(&mut Context::new(&[]), &file.races);
    let mut report = Report { races, ..Report::default() };
    report.races.retain(|race| suppressions.matching(race).is_none());
    report.finish();
    let mut sources = sources();
    for race in &report.races {
        let (first, second) = (&race.sites[0], &race.sites[1]);
        let verdict = if race.verdict == Verdict::Observed { "data race" } else { "possible race" };
        eprintln!("racewarden: {verdict} on {}", race.object);
        eprintln!("  {}:{} x {}:{}", first.file, first.line, second.file, second.line);
        eprint!("{}", racewarden_report::text_of_race(race, text_options(false), &mut sources));
    }
    // The program leaves as if there had been nothing.
    let is_suppressed = report.races.is_empty() && !file.races.is_empty();
    Ok(if is_suppressed { ExitCode::from(SUPPRESSED) } else { ExitCode::SUCCESS })
}

/// The status that tells the program that what it found is suppressed; the runtime knows it.
const SUPPRESSED: u8 = 3;
