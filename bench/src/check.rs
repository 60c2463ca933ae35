//! The static engine: its time against LLVM's own work on the same bitcode, how it grows, what a
//! second thread brings, and its memory.
//!
//! `check [--api] [FILE.bc | FOLDER]…`: each folder's bitcode files (a capture's store, for one)
//! count as one program. Without arguments, sqlite3's amalgamation from its exported functions, a
//! program of 50 lines, and a generated family of 10 to 1,000 units. Build with `--release`.
//!
//! - *O1*: `opt-22 -passes='default<O1>' -disable-output`, one process per unit, summed.
//! - *check*: lowering, linking and the whole analysis, in processor time on one thread.
//! - *memory*: the peak above that of a process which reads nothing, against what the bitcode
//!   takes when LLVM has read it (`-passes=verify`), summed over the units.
//! - *2 threads*: elapsed time on one thread over that on two; it needs two idle cores.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, ensure};

use crate::lower::{compile, cost, program, sqlite, verify};

/// A whole program to check.
struct Subject {
    name: String,
    files: Vec<PathBuf>,
    api: bool,
}

pub fn run() -> anyhow::Result<()> {
    let mut arguments: Vec<PathBuf> = std::env::args_os().skip(2).map(PathBuf::from).collect();
    let api = take(&mut arguments, "--api");
    if take(&mut arguments, "--worker") {
        return work(&arguments, api);
    }
    let scratch = tempfile::tempdir()?;
    let given = !arguments.is_empty();
    let subjects = if given {
        arguments
            .iter()
            .map(|path| program(path).map(|(name, files)| Subject { name, files, api }))
            .collect::<anyhow::Result<Vec<_>>>()?
    } else {
        let files = vec![sqlite(scratch.path())?];
        vec![Subject { name: "sqlite3 amalgamation".to_owned(), files, api: true }]
    };
    real_programs(scratch.path(), &subjects)?;
    if !given {
        small_program(scratch.path())?;
        family(scratch.path())?;
    }
    Ok(())
}

fn take(arguments: &mut Vec<PathBuf>, flag: &str) -> bool {
    let before = arguments.len();
    arguments.retain(|argument| argument.as_os_str() != flag);
    arguments.len() < before
}

/// The measured side: checks the files as one program and says what came out.
fn work(files: &[PathBuf], api: bool) -> anyhow::Result<()> {
    let units = racewarden_bitcode::lower_units(files, true)?;
    let program = racewarden_ir::link(units);
    let options = racewarden_analysis::Options { api };
    let models = racewarden_models::Models::builtin();
    let report = racewarden_analysis::check(&program, models, &options);
    let mut bands = [0; 4];
    for race in &report.races {
        bands[(race.rank.min(99) / 25) as usize] += 1;
    }
    let excluded: Vec<String> =
        report.excluded.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
    println!(
        "{} candidates (rank 75+: {}, 50+: {}, 25+: {}, below: {}); excluded: {}; {}",
        report.races.len(),
        bands[3],
        bands[2],
        bands[1],
        bands[0],
        excluded.join(", "),
        report.conclusion,
    );
    Ok(())
}

/// A worker's command; `threads` is for rayon.
fn worker(files: &[PathBuf], api: bool, threads: usize) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["check", "--worker"]).args(api.then_some("--api")).args(files);
    command.env("RAYON_NUM_THREADS", threads.to_string());
    Ok(command)
}

fn real_programs(scratch: &Path, subjects: &[Subject]) -> anyhow::Result<()> {
    let empty = scratch.join("empty.ll");
    std::fs::write(&empty, "")?;
    let base = verify(&[empty], 0)?.kilobytes;
    println!(
        "{:28} {:>5} {:>8} {:>8} {:>6} {:>7} {:>9}",
        "", "units", "O1", "check", "time", "memory", "2 threads"
    );
    for Subject { name, files, api } in subjects {
        let mut optimise = 0.0;
        for file in files {
            let passes = ["-passes=default<O1>", "-disable-output"];
            optimise += cost(Command::new("opt-22").args(passes).arg(file))?.seconds;
        }
        let memory = verify(files, base)?.kilobytes;
        let one = cost(&mut worker(files, *api, 1)?)?;
        println!(
            "{name:28} {:>5} {optimise:>7.2}s {:>7.2}s {:>5.2}x {:>6.2}x {:>8.2}x",
            files.len(),
            one.seconds,
            one.seconds / optimise,
            (one.kilobytes - base) as f64 / memory as f64,
            elapsed(files, *api, 1)? / elapsed(files, *api, 2)?,
        );
        let output = worker(files, *api, 2)?.output()?;
        println!("    {}", String::from_utf8_lossy(&output.stdout).trim());
    }
    Ok(())
}

fn elapsed(files: &[PathBuf], api: bool, threads: usize) -> anyhow::Result<f64> {
    let start = Instant::now();
    let output = worker(files, api, threads)?.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(start.elapsed().as_secs_f64())
}

/// The best of five, because each run takes hundredths of a second.
fn best(mut run: impl FnMut() -> anyhow::Result<f64>) -> anyhow::Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        best = best.min(run()?);
    }
    Ok(best)
}

/// What a save costs: a program of about fifty lines against compiling it.
fn small_program(scratch: &Path) -> anyhow::Result<()> {
    let mut text = "#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\
        struct node { int key; struct node *next; };\nstatic struct node *list;\n"
        .to_owned();
    for number in 0..5 {
        text += &format!(
            "static void add{number}(int key) {{\n\
               struct node *n = malloc(sizeof *n);\n\
               n->key = key + {number};\n\
               pthread_mutex_lock(&lock);\n\
               n->next = list;\n  list = n;\n\
               pthread_mutex_unlock(&lock);\n}}\n"
        );
    }
    text += "static void *work(void *p) { add0(1); add1(2); add2(3); add3(4); return p; }\n\
        int main(void) {\n  pthread_t t;\n  pthread_create(&t, 0, work, 0);\n  add4(5);\n\
          pthread_join(t, 0);\n  printf(\"%d\\n\", list->key);\n  return 0;\n}\n";
    let source = scratch.join("small.c");
    std::fs::write(&source, &text)?;
    let bitcode = scratch.join("small.bc");
    compile(&source, &bitcode, &[])?;
    let object = scratch.join("small.o");
    let compiling = best(|| {
        let mut clang = Command::new("clang-22");
        Ok(cost(clang.args(["-O1", "-c", "-w"]).arg(&source).arg("-o").arg(&object))?.seconds)
    })?;
    let checking =
        best(|| Ok(cost(&mut worker(std::slice::from_ref(&bitcode), false, 1)?)?.seconds))?;
    println!(
        "{} lines: clang-22 -O1 -c {compiling:.3}s, check of the bitcode {checking:.3}s, {:.2}x",
        text.lines().count(),
        checking / compiling,
    );
    Ok(())
}

/// How the time grows with the number of units: constant in the last column is n log n.
fn family(scratch: &Path) -> anyhow::Result<()> {
    let folder = scratch.join("family");
    std::fs::create_dir(&folder)?;
    println!("{:>6} {:>8} {:>16}", "units", "check", "per n log n, µs");
    for units in [10, 30, 100, 300, 1000] {
        let files = generated(&folder, units)?;
        let seconds = cost(&mut worker(&files, false, 1)?)?.seconds;
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
