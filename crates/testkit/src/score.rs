//! Recall and false alarms of every engine, from the programs' own marks.
//!
//! A racy program counts as found when at least one of its `RACE!` lines is reported; a program
//! counts as a false alarm when a line that is not one of them is. What our engine merely suspects
//! counts as found (it is handed on to be confirmed) but is told apart, and a suspicion on an
//! innocent line has a column of its own: it is never called a race.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::engines::{Engine, Lines, Strength};
use crate::marks::{Program, Truth};

/// How one engine did on one program.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Judgement {
    pub racy: bool,
    pub found: Option<Strength>,
    /// Innocent lines that were called racy.
    pub alarms: Vec<u32>,
    /// Innocent lines that were suspected.
    pub suspicions: Vec<u32>,
    /// `RACE!` lines that were not reported at all.
    pub missed: Vec<u32>,
    /// Why there is no result.
    pub failure: Option<String>,
}

impl Judgement {
    pub fn of(program: &Program, lines: &Lines) -> Self {
        let is_race =
            |line: &u32| program.marks.get(line).is_some_and(|mark| mark.truth == Truth::Race);
        let innocent = |strength: Strength| {
            let lines = lines.iter().filter(|(line, s)| **s == strength && !is_race(line));
            lines.map(|(line, _)| *line).collect()
        };
        let races = program.marks.iter().filter(|(_, mark)| mark.truth == Truth::Race);
        Self {
            racy: program.is_racy(),
            found: lines.iter().filter(|(line, _)| is_race(line)).map(|(_, s)| *s).max(),
            alarms: innocent(Strength::Proven),
            suspicions: innocent(Strength::Suspected),
            missed: races.map(|(line, _)| *line).filter(|line| !lines.contains_key(line)).collect(),
            failure: None,
        }
    }
}

/// Holds an engine of ours (`dynamic`, `static`) to every mark; returns what disagrees.
pub fn disagreements(program: &Program, lines: &Lines, engine: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut problem = |line: u32, text: &str| {
        problems.push(format!("{}:{line}: {text}", program.path.display()));
    };
    for (line, mark) in &program.marks {
        let reported = lines.get(line);
        match (mark.truth, reported, mark.shortfall(engine)) {
            (Truth::Race, None, None) => problem(*line, "the race is missed"),
            (Truth::Race, Some(_), Some(_)) => {
                problem(*line, "marked as missed, but it is found: take the mark away");
            }
            (Truth::NoRace, Some(Strength::Proven), None) => problem(*line, "false alarm"),
            (Truth::NoRace, None | Some(Strength::Suspected), Some(_)) => {
                problem(*line, "marked as a false alarm, but there is none: take the mark away");
            }
            _ => {}
        }
    }
    for (line, strength) in lines {
        if *strength == Strength::Proven && !program.marks.contains_key(line) {
            problem(*line, "a race is reported where no mark is");
        }
    }
    problems
}

/// Judgements by program and engine name.
pub type Scores = BTreeMap<String, BTreeMap<&'static str, Judgement>>;

/// Puts every program before every engine, on `workers` threads.
pub fn judge_all(
    programs: &[Program],
    engines: &[Engine],
    scratch: &Path,
    workers: usize,
    progress: &(dyn Fn(&str) + Sync),
) -> Scores {
    let next = AtomicUsize::new(0);
    let scores = Mutex::new(Scores::new());
    std::thread::scope(|scope| {
        for _ in 0..workers.max(1) {
            scope.spawn(|| {
                while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    progress(&program.name);
                    let row = engines.iter().map(|engine| {
                        let judgement = match engine.judge(program, scratch) {
                            Ok(lines) => Judgement::of(program, &lines),
                            Err(error) => Judgement {
                                racy: program.is_racy(),
                                failure: Some(format!("{error:#}")),
                                ..Judgement::default()
                            },
                        };
                        (engine.name(), judgement)
                    });
                    let row = row.collect();
                    scores
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .insert(program.name.clone(), row);
                }
            });
        }
    });
    scores.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[derive(Default, Clone, Copy)]
struct Sum {
    racy: usize,
    found: usize,
    suspected_only: usize,
    programs: usize,
    alarms: usize,
    suspicions: usize,
    failures: usize,
}

impl Sum {
    fn add(&mut self, judgement: &Judgement) {
        self.programs += 1;
        self.racy += usize::from(judgement.racy);
        self.found += usize::from(judgement.found.is_some());
        self.suspected_only += usize::from(judgement.found == Some(Strength::Suspected));
        self.alarms += usize::from(!judgement.alarms.is_empty());
        self.suspicions += usize::from(!judgement.suspicions.is_empty());
        self.failures += usize::from(judgement.failure.is_some());
    }

    fn cell(&self) -> String {
        let mut cell = format!("{}/{}", self.found, self.racy);
        if self.suspected_only > 0 {
            let _ = write!(cell, " ({}s)", self.suspected_only);
        }
        let _ = write!(cell, " · {}", self.alarms);
        if self.suspicions > 0 {
            let _ = write!(cell, " ({}s)", self.suspicions);
        }
        if self.failures > 0 {
            let _ = write!(cell, " · {} failed", self.failures);
        }
        cell
    }
}

/// The table by topic, then what each engine got wrong.
pub fn table(scores: &Scores, engines: &[&'static str]) -> String {
    let mut sums: BTreeMap<&str, BTreeMap<&str, Sum>> = BTreeMap::new();
    for (program, row) in scores {
        let topic = program.split('/').next().unwrap_or_default();
        for (engine, judgement) in row {
            sums.entry(topic).or_default().entry(engine).or_default().add(judgement);
            sums.entry("~").or_default().entry(engine).or_default().add(judgement);
        }
    }
    let mut text = format!("| topic | programs | {} |\n", engines.join(" | "));
    let _ = writeln!(text, "|---|---|{}", "---|".repeat(engines.len()));
    for (topic, row) in &sums {
        let name = if *topic == "~" { "**all**" } else { topic };
        let programs = row.values().next().map_or(0, |sum| sum.programs);
        let cells = engines.iter().map(|engine| row.get(engine).map_or("–".into(), Sum::cell));
        let cells: Vec<String> = cells.collect();
        let _ = writeln!(text, "| {name} | {programs} | {} |", cells.join(" | "));
    }
    for engine in engines {
        let _ = writeln!(text, "\n### What {engine} gets wrong\n");
        let before = text.len();
        for (program, row) in scores {
            if let Some(judgement) = row.get(engine) {
                mistakes(&mut text, program, judgement);
            }
        }
        if text.len() == before {
            text.push_str("Nothing here.\n");
        }
    }
    text
}

fn mistakes(text: &mut String, program: &str, judgement: &Judgement) {
    if let Some(failure) = &judgement.failure {
        let first = failure.lines().next().unwrap_or_default();
        let _ = writeln!(text, "- `{program}`: failed: {first}");
    } else if judgement.racy && judgement.found.is_none() {
        let _ = writeln!(text, "- `{program}`: missed");
    }
    if !judgement.alarms.is_empty() {
        let lines: Vec<String> = judgement.alarms.iter().map(u32::to_string).collect();
        let _ = writeln!(text, "- `{program}`: false alarm, line {}", lines.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Judgement, Scores, disagreements, table};
    use crate::engines::{Lines, Strength};
    use crate::marks::Program;

    fn program() -> Program {
        let text = "a // RACE!\nb // NORACE\nc // RACE! miss(dynamic): far\nd\n\
                    e // NORACE alarm(dynamic): near\n";
        Program::parse(Path::new("locks/a.c"), text).unwrap()
    }

    #[test]
    fn engines_are_held_to_truth_and_to_known_shortfalls() {
        let (s, p) = (Strength::Suspected, Strength::Proven);
        let right = Lines::from([(1, p), (2, s), (4, s), (5, p)]);
        assert_eq!(disagreements(&program(), &right, "dynamic"), [] as [&str; 0]);
        let wrong = Lines::from([(2, p), (3, s), (4, p)]);
        assert_eq!(
            disagreements(&program(), &wrong, "dynamic"),
            [
                "locks/a.c:1: the race is missed",
                "locks/a.c:2: false alarm",
                "locks/a.c:3: marked as missed, but it is found: take the mark away",
                "locks/a.c:5: marked as a false alarm, but there is none: take the mark away",
                "locks/a.c:4: a race is reported where no mark is",
            ]
        );
    }

    #[test]
    fn the_table_counts_programs() {
        let lines = Lines::from([(1, Strength::Suspected), (2, Strength::Proven)]);
        let judgement = Judgement::of(&program(), &lines);
        assert_eq!(judgement.missed, [3]);
        let missed = Judgement::of(&program(), &Lines::new());
        let scores = Scores::from([
            ("locks/a.c".to_owned(), [("x", judgement)].into()),
            ("locks/b.c".to_owned(), [("x", missed)].into()),
        ]);
        let text = table(&scores, &["x"]);
        assert!(text.contains("| locks | 2 | 1/2 (1s) · 1 |"), "{text}");
        assert!(text.contains("- `locks/a.c`: false alarm, line 2"), "{text}");
        assert!(text.contains("- `locks/b.c`: missed"), "{text}");
    }
}
