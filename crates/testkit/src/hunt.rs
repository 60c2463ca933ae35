//! `racewarden hunt` held to every annotated program, whichever engine it was written for.
//!
//! A program with a `// RACE!` line is racy, any other is race-free. `unknown` is not right but not
//! wrong either; the opposite conclusion is wrong, and so is a race called proven on a line that
//! bears no `RACE!`.
//!
//! Rows are kept as they come, one JSON object a line, so that a long measurement can be done in
//! slices: programs that have a row are not hunted again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use racewarden_finding::{Conclusion, NoteKind, Report};
use serde::{Deserialize, Serialize};

use crate::command;
use crate::engines::{Strength, lines_of_report};

/// What a hunt is given beyond its own budget: the static engine and builds are not counted in it.
const GRACE: Duration = Duration::from_secs(240);

/// A program as a hunt sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    pub path: PathBuf,
    /// Its path below the root, `static/locks/trylock_racy.c`.
    pub name: String,
    pub flags: Vec<String>,
    pub arguments: Vec<String>,
    pub race_lines: BTreeSet<u32>,
    /// A library without `main`.
    pub api: bool,
}

impl Subject {
    fn parse(path: &Path, name: String, text: &str) -> Self {
        let words = |prefixes: [&str; 2]| -> Vec<String> {
            let rest = text
                .lines()
                .find_map(|line| prefixes.iter().find_map(|prefix| line.strip_prefix(prefix)));
            rest.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
        };
        let race = |line: &str| line.contains("// RACE!") && !line.contains("alarm(");
        let lines = (1..).zip(text.lines());
        Subject {
            path: path.to_owned(),
            name,
            flags: words(["// FLAGS: ", "// flags: "]),
            arguments: words(["// ARGS: ", "// args: "]),
            race_lines: lines.filter(|(_, line)| race(line)).map(|(number, _)| number).collect(),
            api: text.lines().any(|line| line == "// api"),
        }
    }

    pub fn truth(&self) -> Conclusion {
        if self.race_lines.is_empty() { Conclusion::RaceFree } else { Conclusion::Racy }
    }
}

/// Every program below `root`, sorted by name.
pub fn subjects(root: &Path) -> anyhow::Result<Vec<Subject>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "c" || e == "cpp") {
                let text =
                    std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
                let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
                found.push(Subject::parse(&path, name, &text));
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// What a hunt made of one program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub program: String,
    pub truth: Conclusion,
    /// `None` when there was no report.
    pub conclusion: Option<Conclusion>,
    pub seconds: f64,
    /// Lines without `RACE!` that a proven race names.
    #[serde(default)]
    pub innocent: Vec<u32>,
    /// Why there is no report, or what kept the conclusion from being right.
    #[serde(default)]
    pub remarks: Vec<String>,
}

impl Row {
    pub fn is_right(&self) -> bool {
        self.conclusion == Some(self.truth) && self.innocent.is_empty()
    }

    pub fn is_wrong(&self) -> bool {
        let decided = self.conclusion.is_some_and(|found| found != Conclusion::Unknown);
        !self.innocent.is_empty() || (decided && self.conclusion != Some(self.truth))
    }
}

/// How hunts are made.
#[derive(Debug, Clone)]
pub struct HuntOptions {
    pub racewarden: PathBuf,
    pub budget: Duration,
    pub workers: usize,
    /// Begin no other program after this long.
    pub slice: Duration,
}

/// Hunts in every subject that `rows` (the file) has no row for, appending as they come.
pub fn hunt_all(subjects: &[Subject], options: &HuntOptions, rows: &Path) -> anyhow::Result<()> {
    let known: BTreeSet<String> = read_rows(rows)?.into_keys().collect();
    let open: Vec<&Subject> =
        subjects.iter().filter(|subject| !known.contains(&subject.name)).collect();
    let file = std::fs::OpenOptions::new().create(true).append(true).open(rows);
    let file = Mutex::new(file.with_context(|| rows.display().to_string())?);
    let next = AtomicUsize::new(0);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..options.workers.max(1) {
            scope.spawn(|| {
                while begin.elapsed() < options.slice
                    && let Some(subject) = open.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let row = hunt(subject, options);
                    let word = match () {
                        () if row.is_right() => "right",
                        () if row.is_wrong() => "WRONG",
                        () => "unknown",
                    };
                    eprintln!("{word:<8} {:>5.1} s  {}", row.seconds, row.program);
                    let line = serde_json::to_string(&row).unwrap_or_default();
                    let mut file = file.lock().unwrap_or_else(|broken| broken.into_inner());
                    if let Err(error) = writeln!(file, "{line}") {
                        eprintln!("{}: {error}", rows.display());
                    }
                }
            });
        }
    });
    Ok(())
}

/// The rows of a file; a later row of a program replaces an earlier one.
pub fn read_rows(file: &Path) -> anyhow::Result<BTreeMap<String, Row>> {
    if !file.exists() {
        return Ok(BTreeMap::new());
    }
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let rows = text.lines().map(|line| {
        let row: Row = serde_json::from_str(line)
            .with_context(|| format!("{}: not a row: {line}", file.display()))?;
        Ok((row.program.clone(), row))
    });
    rows.collect()
}

/// One hunt.
pub fn hunt(subject: &Subject, options: &HuntOptions) -> Row {
    let begin = Instant::now();
    let report = report_of(subject, options);
    let mut row = Row {
        program: subject.name.clone(),
        truth: subject.truth(),
        conclusion: None,
        seconds: (begin.elapsed().as_secs_f64() * 10.0).round() / 10.0,
        innocent: Vec::new(),
        remarks: Vec::new(),
    };
    match report {
        Ok(report) => {
            row.conclusion = Some(report.conclusion);
            let lines = lines_of_report(&report, &subject.path);
            let proven = lines.iter().filter(|(_, strength)| **strength == Strength::Proven);
            // An access whose line the optimiser lost names none.
            let innocent =
                proven.filter(|(line, _)| **line != 0 && !subject.race_lines.contains(line));
            row.innocent = innocent.map(|(line, _)| *line).collect();
            if !row.is_right() {
                row.remarks = remarks(&report);
            }
        }
        Err(error) => row.remarks.push(format!("{error:#}")),
    }
    row
}

/// What stands between the report and the right conclusion.
fn remarks(report: &Report) -> Vec<String> {
    const SHOWN: usize = 6;
    let notes = report.notes.iter().filter(|note| note.kind == NoteKind::Weakens);
    let notes = notes.map(|note| format!("{}: {}", note.engine.as_str(), note.text));
    let races = report.races.iter().map(|race| {
        let [a, b] = &race.sites;
        format!("{}: {} {}×{}", race.verdict, race.object, a.line, b.line)
    });
    notes.take(SHOWN).chain(races.take(SHOWN)).collect()
}

fn report_of(subject: &Subject, options: &HuntOptions) -> anyhow::Result<Report> {
    let cache = tempfile::tempdir()?;
    let mut command = Command::new(&options.racewarden);
    command.env("RACEWARDEN_CACHE", cache.path());
    command.args(["hunt", "--format", "json", "--no-ledger"]);
    command.args(["--budget", &format!("{}s", options.budget.as_secs())]);
    if subject.api {
        command.arg("--api");
    }
    let mut flags = subject.flags.clone();
    let cpp = subject.path.extension().is_some_and(|extension| extension == "cpp");
    if cpp && !flags.iter().any(|flag| flag.starts_with("-std=")) {
        flags.push("-std=c++20".to_owned());
    }
    flags.push("-pthread".to_owned());
    command.arg(format!("--cflags={}", flags.join(" "))).arg(&subject.path);
    command.arg("--").args(&subject.arguments);
    let output = command::run(&mut command, options.budget + GRACE)?;
    if output.timed_out {
        bail!("timed out");
    }
    serde_json::from_str(&output.stdout).with_context(|| {
        format!("status {:?}, no report; it said: {}", output.status, output.stderr)
    })
}

/// The table by suite and topic, then every program that is not right.
pub fn table(rows: &BTreeMap<String, Row>) -> String {
    let mut sums: BTreeMap<String, [usize; 5]> = BTreeMap::new();
    for row in rows.values() {
        let folder = Path::new(&row.program).parent().map(|folder| folder.display().to_string());
        let racy = row.truth == Conclusion::Racy;
        let counted = [true, racy, racy && row.is_right(), !racy && row.is_right(), row.is_wrong()];
        for topic in [folder.unwrap_or_default(), "~".to_owned()] {
            let sum = sums.entry(topic).or_default();
            for (sum, counts) in sum.iter_mut().zip(counted) {
                *sum += usize::from(counts);
            }
        }
    }
    let mut text = String::from(
        "| programs | all | racy, and so concluded | safe, and so concluded | right | wrong |\n\
         |---|---|---|---|---|---|\n",
    );
    for (topic, [all, racy, racy_right, safe_right, wrong]) in &sums {
        let name = if topic == "~" { "**all**" } else { topic };
        let right = racy_right + safe_right;
        let percent = 100.0 * right as f64 / (*all).max(1) as f64;
        let _ = writeln!(
            text,
            "| {name} | {all} | {racy_right}/{racy} | {safe_right}/{} | {percent:.0} % | {wrong} |",
            all - racy
        );
    }
    let listed = |text: &mut String, title: &str, wanted: &dyn Fn(&Row) -> bool| {
        let _ = writeln!(text, "\n### {title}\n");
        let before = text.len();
        for row in rows.values().filter(|row| wanted(row)) {
            let why = row.remarks.first().map_or("", |remark| remark.lines().next().unwrap_or(""));
            let _ = writeln!(text, "- `{}` ({}): {why}", row.program, row.truth);
        }
        if text.len() == before {
            text.push_str("None.\n");
        }
    };
    listed(&mut text, "Wrong", &Row::is_wrong);
    listed(&mut text, "Not decided", &|row| !row.is_right() && !row.is_wrong());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(truth: Conclusion, conclusion: Option<Conclusion>, innocent: &[u32]) -> Row {
        Row {
            program: "static/a.c".to_owned(),
            truth,
            conclusion,
            seconds: 1.0,
            innocent: innocent.to_vec(),
            remarks: vec!["because".to_owned()],
        }
    }

    #[test]
    fn unknown_is_neither_right_nor_wrong() {
        use Conclusion::{RaceFree, Racy, Unknown};
        assert!(row(Racy, Some(Racy), &[]).is_right());
        assert!(row(Racy, Some(RaceFree), &[]).is_wrong());
        assert!(row(RaceFree, Some(Racy), &[]).is_wrong());
        assert!(row(Racy, Some(Racy), &[7]).is_wrong(), "a proof of what is no race");
        for open in [row(Racy, Some(Unknown), &[]), row(RaceFree, None, &[])] {
            assert!(!open.is_right() && !open.is_wrong());
        }
    }

    #[test]
    fn marks_of_every_suite_are_read() {
        let text = "// FLAGS: -fopenmp\n// args: 3\nx++; // RACE! pair(1 read)\n\
                    y++; // NORACE\nz++; // RACE! alarm(static): not followed\n";
        let subject = Subject::parse(Path::new("a/b.c"), "a/b.c".to_owned(), text);
        assert_eq!(subject.flags, ["-fopenmp"]);
        assert_eq!(subject.arguments, ["3"]);
        assert_eq!(subject.race_lines, BTreeSet::from([3]));
        assert_eq!(subject.truth(), Conclusion::Racy);
    }

    #[test]
    fn the_table_counts_and_lists() {
        let rows = BTreeMap::from([
            ("static/a.c".to_owned(), row(Conclusion::Racy, Some(Conclusion::Unknown), &[])),
            ("static/b.c".to_owned(), row(Conclusion::Racy, Some(Conclusion::Racy), &[])),
        ]);
        let text = table(&rows);
        assert!(text.contains("| static | 2 | 1/2 | 0/0 | 50 % | 0 |"), "{text}");
        assert!(text.contains("- `static/a.c` (racy): because"), "{text}");
    }
}
