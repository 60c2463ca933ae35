//! `racewarden diff OLD NEW`: which races are new, gone or got worse; for continuous integration.
//!
//! Races are the same when their fingerprints are; where several share one, as many of them are
//! the same as both sides have.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use racewarden_finding::{Race, Report};
use racewarden_ledger::{BlockingLedger, CaptureItem};
use racewarden_report::{Baseline, printable, words};

use crate::commands::confirm::read_report;
use crate::ledger_sink::LedgerArgs;
use crate::output::write_to_stdout;

#[derive(clap::ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum FailOn {
    /// A race that OLD has not
    New,
    /// A race that OLD has not, or whose proof is stronger now
    Worse,
    /// Any open race in NEW
    Any,
    /// Nothing: always exit 0
    None,
}

#[derive(clap::ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Text,
    Json,
    Sarif,
}

#[derive(clap::Args)]
pub struct Args {
    /// A report (JSON), or a capture in the ledger by number, revision or hash
    #[arg(value_name = "OLD")]
    old: String,

    /// The same, for the newer side
    #[arg(value_name = "NEW")]
    new: String,

    /// When to exit with status 1
    #[arg(long, value_enum, default_value = "new")]
    fail_on: FailOn,

    /// How to write the difference; SARIF marks each result as new, unchanged or absent
    #[arg(long, value_enum, default_value = "text")]
    format: Format,

    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,

    #[command(flatten)]
    ledger: LedgerArgs,
}

#[derive(Debug, Default, PartialEq)]
struct Difference {
    new: Vec<Race>,
    worse: Vec<(Race, Race)>,
    same: Vec<Race>,
    gone: Vec<Race>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut ledger = None;
    let old = side(&args.old, &args.ledger, &mut ledger)?;
    let new = side(&args.new, &args.ledger, &mut ledger)?;
    let difference = compare(old, new.clone());
    let fails = match args.fail_on {
        FailOn::New => !difference.new.is_empty(),
        FailOn::Worse => !difference.new.is_empty() || !difference.worse.is_empty(),
        FailOn::Any => difference.new.len() + difference.worse.len() + difference.same.len() > 0,
        FailOn::None => false,
    };
    let format = if args.json { Format::Json } else { args.format };
    let text = match format {
        Format::Text => difference.text(),
        Format::Json => difference.json()?,
        Format::Sarif => difference.sarif(new),
    };
    write_to_stdout(&text)?;
    Ok(ExitCode::from(u8::from(fails)))
}

/// One side's report: a file, or what was seen in a capture of the ledger.
fn side(
    name: &str,
    args: &LedgerArgs,
    ledger: &mut Option<BlockingLedger>,
) -> anyhow::Result<Report> {
    if Path::new(name).is_file() {
        return read_report(Path::new(name));
    }
    if ledger.is_none() {
        *ledger = Some(args.open().with_context(|| format!("{name}: no such file"))?);
    }
    let ledger = ledger.as_ref().context("the ledger was just opened")?;
    let captures = ledger.captures()?;
    let matches: Vec<&CaptureItem> = captures
        .iter()
        .filter(|capture| {
            capture.id.to_string() == name
                || capture.label == name
                || (name.len() >= 6 && capture.hash.starts_with(name))
        })
        .collect();
    match matches.as_slice() {
        // Captures come newest first; a revision may have been captured more than once.
        [capture, ..] => {
            let seen = ledger.capture_diff(capture.id, capture.id)?.kept;
            let races = seen.into_iter().map(|entry| entry.race).collect();
            Ok(Report { races, ..Report::default() })
        }
        [] => bail!("{name}: neither a report nor a capture in the ledger"),
    }
}

/// Only open races count: what is suppressed is neither news nor a reason to fail.
fn compare(old: Report, new: Report) -> Difference {
    let mut before: BTreeMap<String, Vec<Race>> = BTreeMap::new();
    for race in old.races {
        before.entry(race.fingerprint.0.clone()).or_default().push(race);
    }
    for races in before.values_mut() {
        races.reverse();
    }
    let mut difference = Difference::default();
    for race in new.races.into_iter().filter(|race| race.verdict.is_open()) {
        match before.get_mut(&race.fingerprint.0).and_then(Vec::pop) {
            None => difference.new.push(race),
            Some(was) if was.verdict < race.verdict && was.verdict.is_open() => {
                difference.worse.push((was, race));
            }
            Some(was) if !was.verdict.is_open() => difference.new.push(race),
            Some(_) => difference.same.push(race),
        }
    }
    difference.gone =
        before.into_values().flatten().filter(|race| race.verdict.is_open()).collect();
    difference
}

impl Difference {
    fn text(&self) -> String {
        let mut out = String::new();
        let mut row = |word: &str, race: &Race, verdict: &str| {
            let line = format!("{word:<6} {:<5} {verdict:<10} {}", race.id, words::headline(race));
            out.push_str(&printable(&line));
            out.push('\n');
        };
        for race in &self.new {
            row("new", race, race.verdict.as_str());
        }
        for (was, race) in &self.worse {
            row("worse", race, &format!("{} (was {})", race.verdict, was.verdict));
        }
        for race in &self.gone {
            row("gone", race, race.verdict.as_str());
        }
        out.push_str(&format!(
            "{} new, {} worse, {} gone, {} unchanged\n",
            self.new.len(),
            self.worse.len(),
            self.gone.len(),
            self.same.len()
        ));
        out
    }

    fn json(&self) -> anyhow::Result<String> {
        let worse: Vec<&Race> = self.worse.iter().map(|(_, race)| race).collect();
        let value = serde_json::json!({
            "schema": "racewarden/diff/1",
            "new": self.new,
            "worse": worse,
            "gone": self.gone,
            "unchanged": self.same,
        });
        Ok(serde_json::to_string_pretty(&value)? + "\n")
    }

    fn sarif(self, mut report: Report) -> String {
        let mut states = Vec::new();
        report.races.clear();
        let mut add = |race: Race, state| {
            report.races.push(race);
            states.push(state);
        };
        self.new.into_iter().for_each(|race| add(race, Baseline::New));
        self.worse.into_iter().for_each(|(_, race)| add(race, Baseline::Updated));
        self.same.into_iter().for_each(|race| add(race, Baseline::Unchanged));
        self.gone.into_iter().for_each(|race| add(race, Baseline::Absent));
        racewarden_report::sarif_with_baseline(&report, &states)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use racewarden_finding::{AccessKind, Site, Verdict};

    fn race(object: &str, line: u32, verdict: Verdict) -> Race {
        let site = Site {
            file: "a.c".into(),
            line,
            column: 1,
            function: "f".into(),
            access: AccessKind::Write,
            lvalue: object.into(),
            atomic: false,
            locks: vec![],
            thread: String::new(),
            stack: Default::default(),
        };
        Race::new(site.clone(), site, object, verdict)
    }

    fn report(races: Vec<Race>) -> Report {
        Report { races, ..Report::default() }
    }

    #[test]
    fn moved_lines_are_no_news() {
        let old = report(vec![race("x", 1, Verdict::Potential), race("y", 2, Verdict::Observed)]);
        let new = report(vec![
            race("x", 11, Verdict::Observed),
            race("z", 12, Verdict::Potential),
            race("s", 13, Verdict::Suppressed),
        ]);
        let difference = compare(old, new);
        let objects = |races: &[Race]| -> Vec<String> {
            races.iter().map(|race| race.object.clone()).collect()
        };
        assert_eq!(objects(&difference.new), ["z"]);
        assert_eq!(objects(&difference.gone), ["y"]);
        assert_eq!(difference.worse.len(), 1);
        assert!(difference.text().ends_with("1 new, 1 worse, 1 gone, 0 unchanged\n"));
    }

    #[test]
    fn a_second_race_with_the_same_fingerprint_is_new() {
        let old = report(vec![race("x", 1, Verdict::Observed)]);
        let twice = report(vec![race("x", 1, Verdict::Observed), race("x", 5, Verdict::Observed)]);
        let difference = compare(old, twice);
        assert_eq!((difference.same.len(), difference.new.len()), (1, 1));
    }

    #[test]
    fn a_fixed_race_that_is_back_is_new() {
        let old = report(vec![race("x", 1, Verdict::Fixed)]);
        let new = report(vec![race("x", 1, Verdict::Potential)]);
        assert_eq!(compare(old, new).new.len(), 1);
    }
}
