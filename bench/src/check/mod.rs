//! The static engine: its time against LLVM's own work on the same bitcode, how it grows, what a
//! second thread brings, its memory, and what it finds in real programs.
//!
//! - *O1*: `opt-22 -passes='default<O1>' -disable-output`, one process per unit, summed.
//! - *check*: lowering, linking and the whole analysis, in processor time on one thread.
//! - *memory*: the peak above that of a process which reads nothing, against what the bitcode
//!   takes when LLVM has read it (`-passes=verify`), summed over the units.
//! - *2 threads*: elapsed time on one thread over that on two; it needs two idle cores.
//! - *of two*: what two idle cores would give, on whatever machine: the processor time of all threads
//!   of a check on two, over that of the first, which does what is not shared out, and the busiest
//!   other. Waiting for a last large piece does not show in it.
//!
//! Programs of fifty lines are checked from their bitcode, and by the command from their sources.

mod edits;
mod programs;
mod small;
mod table;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::lower::{Cost, compile, cost, program, sqlite, verify};

const USAGE: &str = "\
usage: racewarden-bench check [OPTION]... [PROGRAM | FILE.bc | FOLDER]...

Measures the static engine. A PROGRAM is pbzip2, pigz, memcached, redis, zstd or sqlite3; it is
captured by its own build first. A FOLDER's bitcode files count as one program. Without any:
sqlite3's amalgamation, memcached and redis (where their sources are), a program of fifty lines
against clang, and a generated family of 10 to 1,000 units. Build with --release.

  --sources FOLDER      where bench/fetch put the programs' sources [bench/programs]
  --captures FOLDER     keep the captured programs there, and take those that are there already
  --racewarden FILE     the racewarden that captures [beside this executable]
  --api                 check files and folders as libraries
  --table               the table of what is found in all six programs instead
  --edits               what a check of redis costs after edits of one function instead
  --threads N           with --edits: on so many threads [2]
  --write FILE          with --table: put the table into this file, between its marks
  --help                this text";

/// A whole program to check.
struct Subject {
    name: String,
    files: Vec<PathBuf>,
    api: bool,
}

#[derive(Default)]
struct Arguments {
    places: programs::Places,
    api: bool,
    table: bool,
    edits: bool,
    threads: usize,
    write: Option<PathBuf>,
    names: Vec<String>,
}

pub fn run() -> anyhow::Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(2).collect();
    if words.first().is_some_and(|word| word == "--worker") {
        work(&words[1..])?;
        return Ok(ExitCode::SUCCESS);
    }
    let arguments = match parse(&words) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            println!("{USAGE}");
            return Ok(ExitCode::SUCCESS);
        }
        Err(error) => {
            eprintln!("racewarden-bench check: {error:#}\n\n{USAGE}");
            return Ok(ExitCode::from(2));
        }
    };
    match measure(&arguments) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            eprintln!("racewarden-bench check: {error:#}");
            Ok(ExitCode::from(2))
        }
    }
}

/// `None` when the user asks for help.
fn parse(words: &[String]) -> anyhow::Result<Option<Arguments>> {
    let mut arguments = Arguments { threads: 2, ..Arguments::default() };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value"));
        match word.as_str() {
            "--help" | "-h" => return Ok(None),
            "--sources" => arguments.places.sources = value()?.into(),
            "--captures" => arguments.places.captures = Some(value()?.into()),
            "--racewarden" => arguments.places.racewarden = value()?.into(),
            "--write" => arguments.write = Some(value()?.into()),
            "--api" => arguments.api = true,
            "--table" => arguments.table = true,
            "--edits" => arguments.edits = true,
            "--threads" => arguments.threads = value()?.parse().context("--threads")?,
            option if option.starts_with('-') => bail!("{option}: no such option"),
            name => arguments.names.push(name.to_owned()),
        }
    }
    Ok(Some(arguments))
}

fn measure(arguments: &Arguments) -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    if arguments.table {
        return table::run(arguments, scratch.path());
    }
    if arguments.edits {
        return edits::run(arguments, scratch.path());
    }
    let mut subjects = Vec::new();
    for name in &arguments.names {
        subjects.push(match programs::find(name) {
            Some(known) => programs::capture(known, &arguments.places, scratch.path())?,
            None => {
                let (name, files) = program(Path::new(name))?;
                Subject { name, files, api: arguments.api }
            }
        });
    }
    let all = arguments.names.is_empty();
    if all {
        let files = vec![sqlite(scratch.path())?];
        subjects.push(Subject { name: "sqlite3 amalgamation".to_owned(), files, api: true });
        for known in ["memcached", "redis"].into_iter().filter_map(programs::find) {
            match programs::capture(known, &arguments.places, scratch.path()) {
                Ok(subject) => subjects.push(subject),
                Err(error) => eprintln!("{}: left out: {error:#}", known.name),
            }
        }
    }
    real_programs(scratch.path(), &subjects)?;
    if all {
        small::run(&arguments.places, scratch.path())?;
        family(scratch.path())?;
    }
    Ok(())
}

/// The measured side: checks the files as one program and says what came out, as JSON.
fn work(words: &[String]) -> anyhow::Result<()> {
    let mut words = words.iter();
    let (mut api, mut digested, mut cache, mut units) = (false, false, None, Vec::new());
    while let Some(word) = words.next() {
        match word.as_str() {
            "--api" => api = true,
            "--digest" => digested = true,
            "--cache" => cache = words.next().map(PathBuf::from),
            file => units.push(PathBuf::from(file)),
        }
    }
    let started = Instant::now();
    let stages = std::cell::RefCell::new(Vec::<(&'static str, f64)>::new());
    let peaks = std::cell::RefCell::new(serde_json::Map::new());
    let entered = |stage: &'static str| {
        let seconds = started.elapsed().as_secs_f64();
        if let Some((last, _)) = stages.borrow().last() {
            peaks.borrow_mut().insert((*last).to_owned(), peak_megabytes().into());
        }
        stages.borrow_mut().push((stage, seconds));
    };
    let request = racewarden_recheck::Request {
        units: &units,
        models: racewarden_models::Models::builtin(),
        models_text: "",
        options: &racewarden_analysis::Options { api },
        cache,
    };
    let checked = racewarden_recheck::check(&request, &entered)?;
    entered("end");
    let elapsed = started.elapsed().as_secs_f64();
    let mut said = table::summary(&checked.report, &stages.into_inner());
    said["elapsed"] = elapsed.into();
    said["peaks"] = peaks.into_inner().into();
    said["reused"] = checked.reused.into();
    said["of two"] = shared_out().into();
    said["processor"] = Threads::now().map(|threads| threads.all / 1e9).into();
    if digested {
        let mut digest = std::hash::DefaultHasher::new();
        std::hash::Hash::hash(&serde_json::to_vec(&checked.report)?, &mut digest);
        said["digest"] = std::hash::Hasher::finish(&digest).into();
    }
    println!("{said}");
    // Giving all memory back piece by piece is no part of a check.
    std::process::exit(0);
}

/// The processor time of all threads over that of the first and the busiest other, as far as the
/// system tells.
fn shared_out() -> Option<f64> {
    let Threads { first, busiest, all } = Threads::now()?;
    (first + busiest > 0.0).then(|| all / (first + busiest))
}

/// The processor time of this process's threads, in nanoseconds.
struct Threads {
    first: f64,
    busiest: f64,
    all: f64,
}

impl Threads {
    fn now() -> Option<Threads> {
        let own = std::process::id().to_string();
        let (mut first, mut busiest, mut all) = (0.0, 0.0f64, 0.0);
        for thread in std::fs::read_dir("/proc/self/task").ok()? {
            let thread = thread.ok()?;
            let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
            let nanoseconds: f64 = text.split_whitespace().next()?.parse().ok()?;
            all += nanoseconds;
            if thread.file_name().to_str() == Some(own.as_str()) {
                first = nanoseconds;
            } else {
                busiest = busiest.max(nanoseconds);
            }
        }
        Some(Threads { first, busiest, all })
    }
}

/// The most memory that this process has had, as far as the system tells.
fn peak_megabytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or_default() / 1024
}

/// A worker's command; `threads` is for rayon.
fn worker(subject: &Subject, threads: usize) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["check", "--worker"]).args(subject.api.then_some("--api")).args(&subject.files);
    command.env("RAYON_NUM_THREADS", threads.to_string());
    Ok(command)
}

/// One check: what it cost, how long it took and what it said.
struct Checked {
    cost: Cost,
    elapsed: f64,
    said: Value,
}

fn checked(subject: &Subject, threads: usize) -> anyhow::Result<Checked> {
    run_worker(&mut worker(subject, threads)?)
}

fn run_worker(command: &mut Command) -> anyhow::Result<Checked> {
    let (cost, output) = crate::lower::cost_and_output(command)?;
    let said: Value = serde_json::from_str(&output).context("what the worker said")?;
    let elapsed = said["elapsed"].as_f64().context("how long it took")?;
    Ok(Checked { cost, elapsed, said })
}

/// What a process takes that reads nothing.
fn base_memory(scratch: &Path) -> anyhow::Result<i64> {
    let empty = scratch.join("empty.ll");
    std::fs::write(&empty, "")?;
    Ok(verify(&[empty], 0)?.kilobytes)
}

fn real_programs(scratch: &Path, subjects: &[Subject]) -> anyhow::Result<()> {
    let base = base_memory(scratch)?;
    println!(
        "{:24} {:>5} {:>8} {:>8} {:>6} {:>7} {:>9} {:>6}",
        "", "units", "O1", "check", "time", "memory", "2 threads", "of two"
    );
    for subject in subjects {
        let mut optimise = 0.0;
        for file in &subject.files {
            let passes = ["-passes=default<O1>", "-disable-output"];
            optimise += cost(Command::new("opt-22").args(passes).arg(file))?.seconds;
        }
        let memory = verify(&subject.files, base)?.kilobytes;
        let (one, two) = (checked(subject, 1)?, checked(subject, 2)?);
        println!(
            "{:24} {:>5} {optimise:>7.2}s {:>7.2}s {:>5.2}x {:>6.2}x {:>8.2}x {:>5.2}x",
            subject.name,
            subject.files.len(),
            one.cost.seconds,
            one.cost.seconds / optimise,
            (one.cost.kilobytes - base) as f64 / memory as f64,
            one.elapsed / two.elapsed,
            two.said["of two"].as_f64().unwrap_or_default(),
        );
        println!("    {}", table::in_words(&one.said));
    }
    Ok(())
}

/// How the time grows with the number of units: constant in the last column is n log n.
fn family(scratch: &Path) -> anyhow::Result<()> {
    let folder = scratch.join("family");
    std::fs::create_dir(&folder)?;
    println!("{:>6} {:>8} {:>16}", "units", "check", "per n log n, µs");
    for units in [10, 30, 100, 300, 1000] {
        let files = generated(&folder, units)?;
        let subject = Subject { name: format!("{units} units"), files, api: false };
        let seconds = cost(&mut worker(&subject, 1)?)?.seconds;
        let scale = units as f64 * (units as f64).log2();
        println!("{units:>6} {seconds:>7.2}s {:>16.1}", seconds / scale * 1e6);
    }
    Ok(())
}

/// A program in which each unit has a locked table of its own, works on its neighbour's, and
/// starts a thread; the first unit starts them all.
fn generated(folder: &Path, units: usize) -> anyhow::Result<Vec<PathBuf>> {
    let text = "#include <pthread.h>\n#include <stdlib.h>\n#define N2(a, b) a##b\n\
        #define N1(a, b) N2(a, b)\n#define OWN(name) N1(name, UNIT)\n\
        #define OTHER(name) N1(name, NEXT)\n\
        struct item { int key; struct item *next; };\n\
        struct table { pthread_mutex_t lock; struct item *slots[16]; long hits; };\n\
        struct table OWN(table) = { PTHREAD_MUTEX_INITIALIZER, {0}, 0 };\n\
        extern struct table OTHER(table);\n\
        int OWN(find)(struct table *t, int key) {\n  int found = 0;\n\
          pthread_mutex_lock(&t->lock);\n\
          for (struct item *i = t->slots[key & 15]; i; i = i->next)\n\
            if (i->key == key) { found++; t->hits++; }\n\
          pthread_mutex_unlock(&t->lock);\n  return found;\n}\n\
        void OWN(add)(struct table *t, int key) {\n\
          struct item *i = malloc(sizeof *i);\n  i->key = key;\n\
          pthread_mutex_lock(&t->lock);\n  i->next = t->slots[key & 15];\n\
          t->slots[key & 15] = i;\n  pthread_mutex_unlock(&t->lock);\n}\n\
        void *OWN(run)(void *p) {\n  for (int k = 0; k < 100; k++) {\n\
            OWN(add)(&OWN(table), k);\n    OWN(find)(&OTHER(table), k);\n  }\n  return p;\n}\n\
        void OTHER(start)(void);\n\
        void OWN(start)(void) {\n  pthread_t t;\n\
          pthread_create(&t, 0, OWN(run), 0);\n  pthread_detach(t);\n\
        #ifndef LAST\n  OTHER(start)();\n#endif\n}\n\
        #ifdef FIRST\nint main(void) { OWN(start)(); return 0; }\n#endif\n";
    let source = folder.join("unit.c");
    std::fs::write(&source, text)?;
    let mut files = Vec::with_capacity(units);
    for unit in 0..units {
        let bitcode = folder.join(format!("unit{unit}of{units}.bc"));
        let (own, next) = (format!("-DUNIT={unit}"), format!("-DNEXT={}", (unit + 1) % units));
        let mut flags = vec![own.as_str(), next.as_str()];
        flags.extend((unit == 0).then_some("-DFIRST"));
        flags.extend((unit + 1 == units).then_some("-DLAST"));
        compile(&source, &bitcode, &flags).with_context(|| format!("unit {unit} of the family"))?;
        files.push(bitcode);
    }
    Ok(files)
}
