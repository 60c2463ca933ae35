//! The engines that annotated programs are put before: our own and its peers.
//!
//! Every engine is asked the same: which lines of the program did you report? A report's line is
//! the innermost frame of an access that lies in the program itself, so that an access inside a
//! library's header counts where the program called it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use racewarden_finding::{Report, Verdict};

use crate::command;
use crate::marks::Program;

/// Longer than any program takes under the slowest engine.
const LIMIT: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Engine {
    /// `racewarden run`, with the path of the binary and further options.
    Run {
        racewarden: PathBuf,
        options: Vec<String>,
    },
    /// `racewarden check`.
    Check {
        racewarden: PathBuf,
    },
    /// `racewarden predict`, from one recording of the program.
    Predict {
        racewarden: PathBuf,
    },
    ThreadSanitizer,
    Helgrind,
    Drd,
}

/// How strongly a line was reported.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub enum Strength {
    Suspected,
    Proven,
}

/// The lines of the program that an engine reported; line 0 stands for a report without a place in
/// the program.
pub type Lines = BTreeMap<u32, Strength>;

impl Engine {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Run { .. } => "racewarden",
            Self::Check { .. } => "check",
            Self::Predict { .. } => "predict",
            Self::ThreadSanitizer => "TSan",
            Self::Helgrind => "Helgrind",
            Self::Drd => "DRD",
        }
    }

    /// Builds and runs the program under the engine. `scratch` holds what is built.
    pub fn judge(&self, program: &Program, scratch: &Path) -> anyhow::Result<Lines> {
        let context = || format!("{} under {}", program.name, self.name());
        match self {
            Self::Run { racewarden, options } => run(racewarden, options, program),
            Self::Check { racewarden } => candidates(racewarden, "check", program),
            Self::Predict { racewarden } => candidates(racewarden, "predict", program),
            Self::ThreadSanitizer => thread_sanitizer(program, scratch),
            Self::Helgrind => valgrind("helgrind", program, scratch),
            Self::Drd => valgrind("drd", program, scratch),
        }
        .with_context(context)
    }
}

fn run(racewarden: &Path, options: &[String], program: &Program) -> anyhow::Result<Lines> {
    let mut command = ours(racewarden, "run", options, program);
    command.arg("--").args(&program.arguments);
    Ok(lines_of_report(&report_of(&mut command)?, &program.path))
}

/// What a static candidate or a prediction claims is all that its engine claims: it is held to each
/// line that it names.
fn candidates(racewarden: &Path, engine: &str, program: &Program) -> anyhow::Result<Lines> {
    let text = std::fs::read_to_string(&program.path)?;
    let api = text.lines().any(|line| line == "// api").then(|| "--api".to_owned());
    let mut command = ours(racewarden, engine, api.as_slice(), program);
    if engine == "predict" {
        command.arg("--").args(&program.arguments);
    }
    let mut lines = lines_of_report(&report_of(&mut command)?, &program.path);
    lines.values_mut().for_each(|strength| *strength = Strength::Proven);
    Ok(lines)
}

/// A command of ours on `program`, with its flags.
fn ours(racewarden: &Path, engine: &str, options: &[String], program: &Program) -> Command {
    let mut command = Command::new(racewarden);
    command.arg(engine).args(options).args(["--format", "json"]).arg(&program.path);
    let mut flags = program.flags.clone();
    if program.is_cpp() {
        flags.push("-std=c++20".to_owned());
    }
    flags.push("-pthread".to_owned());
    command.arg(format!("--cflags={}", flags.join(" ")));
    command
}

fn report_of(command: &mut Command) -> anyhow::Result<Report> {
    let output = command::run(command, LIMIT)?;
    if output.timed_out {
        bail!("timed out");
    }
    serde_json::from_str(&output.stdout).with_context(|| {
        format!("status {:?}, no report; it said: {}", output.status, output.stderr)
    })
}

/// The lines that a report of ours names.
pub fn lines_of_report(report: &Report, program: &Path) -> Lines {
    let mut lines = Lines::new();
    for race in report.races.iter().filter(|race| race.verdict.is_open()) {
        let strength = match race.verdict {
            Verdict::Potential | Verdict::Predicted => Strength::Suspected,
            _ => Strength::Proven,
        };
        for site in &race.sites {
            let outer = site.stack.iter().map(|frame| (frame.file.as_str(), frame.line));
            let places = std::iter::once((site.file.as_str(), site.line)).chain(outer);
            note(&mut lines, places, program, strength);
        }
    }
    lines
}

/// Notes the first place that lies in the program.
fn note<'a>(
    lines: &mut Lines,
    mut places: impl Iterator<Item = (&'a str, u32)>,
    program: &Path,
    strength: Strength,
) {
    let own = program.file_name();
    let line = places
        .find(|(file, line)| *line != 0 && Path::new(file).file_name() == own)
        .map_or(0, |(_, line)| line);
    let entry = lines.entry(line).or_insert(strength);
    *entry = (*entry).max(strength);
}

/// Compiles the program; the compiler is the one our own capture uses.
fn build(program: &Program, flags: &[&str], to: &Path) -> anyhow::Result<()> {
    let mut command = Command::new(if program.is_cpp() { "clang++-22" } else { "clang-22" });
    if program.is_cpp() {
        command.arg("-std=c++20");
    }
    command.args(["-g", "-O1", "-pthread", "-w"]).args(flags).args(&program.flags);
    command.arg(&program.path).arg("-o").arg(to);
    let output = command::run(&mut command, LIMIT)?;
    if output.status != Some(0) {
        bail!("does not build: {}", output.stderr);
    }
    Ok(())
}

fn executable(program: &Program, suffix: &str, scratch: &Path) -> PathBuf {
    scratch.join(format!("{}.{suffix}", program.name.replace('/', "-")))
}

fn thread_sanitizer(program: &Program, scratch: &Path) -> anyhow::Result<Lines> {
    let file = executable(program, "tsan", scratch);
    build(program, &["-fsanitize=thread"], &file)?;
    let mut options =
        "external_symbolizer_path=/usr/bin/llvm-symbolizer-22 exitcode=0 detect_deadlocks=0"
            .to_owned();
    let mut command = Command::new(&file);
    if program.flags.iter().any(|flag| flag == "-fopenmp") {
        // As its manual asks: Archer tells TSan of OpenMP's order, and libomp itself is left out.
        options.push_str(" ignore_noninstrumented_modules=1");
        command.env("OMP_TOOL_LIBRARIES", "/usr/lib/llvm-22/lib/libarcher.so");
    }
    command.args(&program.arguments).env("TSAN_OPTIONS", options);
    let output = command::run(&mut command, LIMIT)?;
    std::fs::remove_file(&file)?;
    Ok(lines_of_tsan(&output.stderr, &program.path))
}

fn valgrind(tool: &str, program: &Program, scratch: &Path) -> anyhow::Result<Lines> {
    let file = executable(program, tool, scratch);
    build(program, &["-gdwarf-4"], &file)?;
    let mut command = Command::new("valgrind");
    command.arg(format!("--tool={tool}")).args(["--fair-sched=yes", "--error-limit=no"]);
    command.arg(&file).args(&program.arguments);
    let output = command::run(&mut command, LIMIT)?;
    std::fs::remove_file(&file)?;
    Ok(lines_of_valgrind(&output.stderr, &program.path))
}

/// Lines of the access stacks in TSan's report.
fn lines_of_tsan(text: &str, program: &Path) -> Lines {
    let starts = |line: &str| {
        let line = line.trim_start();
        ["Write of", "Read of", "Atomic write", "Atomic read", "Previous", "[failed to restore"]
            .iter()
            .any(|word| line.starts_with(word))
    };
    let races = text.split("WARNING: ThreadSanitizer: ").skip(1);
    let races = races.filter(|report| {
        let title = report.lines().next().unwrap_or_default();
        title.contains("race") || title.contains("use-after-free")
    });
    let mut lines = Lines::new();
    for report in races {
        for stack in stacks(report, starts, |line| line.trim().is_empty()) {
            // `#0 name that may have spaces file:line:column (module+offset) (BuildId: ...)`
            let places =
                stack.iter().filter_map(|line| line.split_whitespace().rev().find_map(place));
            note(&mut lines, places, program, Strength::Proven);
        }
    }
    lines
}

/// Lines of the access stacks in Helgrind's and DRD's report.
fn lines_of_valgrind(text: &str, program: &Path) -> Lines {
    let content = |line: &str| -> String {
        let rest = line.strip_prefix("==").and_then(|line| line.split_once("== "));
        rest.map_or(String::new(), |(_, rest)| rest.to_owned())
    };
    let text: Vec<String> = text.lines().map(content).collect();
    let text = text.join("\n");
    let starts = |line: &str| {
        ["Possible data race during", "This conflicts with a previous", "Conflicting "]
            .iter()
            .any(|word| line.trim_start().starts_with(word))
    };
    let ends = |line: &str| {
        let line = line.trim_start();
        !line.starts_with("at ") && !line.starts_with("by ") && !line.starts_with("Locks held")
    };
    let mut lines = Lines::new();
    for stack in stacks(&text, starts, ends) {
        let places = stack
            .iter()
            .filter_map(|line| place(line.rsplit_once('(')?.1.trim_end().strip_suffix(')')?));
        note(&mut lines, places, program, Strength::Proven);
    }
    lines
}

/// The lines that follow each line that `starts` accepts, up to one that `ends` accepts.
fn stacks(
    text: &str,
    starts: impl Fn(&str) -> bool,
    ends: impl Fn(&str) -> bool,
) -> Vec<Vec<&str>> {
    let mut stacks: Vec<Vec<&str>> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        if starts(line) {
            stacks.push(Vec::new());
            open = true;
        } else if ends(line) {
            open = false;
        } else if open && let Some(stack) = stacks.last_mut() {
            stack.push(line);
        }
    }
    stacks
}

/// `file:line` or `file:line:column`.
fn place(text: &str) -> Option<(&str, u32)> {
    let mut parts = text.split(':');
    let file = parts.next()?;
    let line = parts.next()?.parse().ok()?;
    Some((file, line))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Strength, lines_of_tsan, lines_of_valgrind};

    #[test]
    fn tsan_reports_are_read() {
        let text = "\
==================
WARNING: ThreadSanitizer: data race (pid=1)
  Write of size 4 at 0x5 by thread T2:
    #0 memset <null> (a+0x1)
    #1 second dir/a.c:11:3 (a+0x2)
    #2 main dir/a.c:20 (a+0x3)

  Previous write of size 4 at 0x5 by thread T1:
    #0 main::$_0::operator()() const dir/a.c:5:3 (a+0x2) (BuildId: 0a)

  Location is global 'x' of size 4 at 0x5 (a+0x5)

  Thread T2 (tid=3, running) created by main thread at:
    #0 start dir/program.h:40:7 (a+0x2)
    #1 main dir/a.c:14:18 (a+0x2)

SUMMARY: ThreadSanitizer: data race dir/a.c:11:3 in second
";
        let lines = lines_of_tsan(text, Path::new("dir/a.c"));
        let expected = [(5, Strength::Proven), (11, Strength::Proven)];
        assert!(lines.into_iter().eq(expected));
    }

    #[test]
    fn valgrind_reports_are_read() {
        let text = "\
==7== Thread #2 was created
==7==    at 0x1: clone (clone.S:76)
==7==    by 0x1: main (a.c:14)
==7== 
==7== Possible data race during read of size 4 at 0x10 by thread #3
==7== Locks held: none
==7==    at 0x1: second (a.c:11)
==7==    by 0x2: start_thread (pthread_create.c:4)
==7== 
==7== This conflicts with a previous write of size 4 by thread #2
==7== Locks held: none
==7==    at 0x1: first (a.c:5)
==7==  Address 0x10 is 0 bytes inside data symbol \"x\"
==7== 
==7== Conflicting load by thread 3 at 0x10 size 4
==7==    at 0x1: third (a.c:31)
==7== Other segment start (thread 2)
==7==    at 0x1: main (a.c:77)
";
        let lines = lines_of_valgrind(text, Path::new("dir/a.c"));
        assert!(lines.into_keys().eq([5, 11, 31]));
    }
}
