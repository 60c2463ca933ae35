//! What a save costs: programs of about fifty lines against compiling them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use super::programs::Places;
use super::{Subject, worker};
use crate::lower::{compile, cost, cost_and_output};

pub fn run(places: &Places, scratch: &Path) -> anyhow::Result<()> {
    let c = of_bitcode(scratch)?;
    from_source(places, &c, "clang-22", scratch)?;
    let cpp = scratch.join("small.cpp");
    std::fs::write(&cpp, WITH_CLASSES)?;
    from_source(places, &cpp, "clang++-22", scratch)
}

const WITH_CLASSES: &str = include_str!("small.cpp");

/// The whole command: it compiles the source to bitcode, checks that and writes the report.
fn from_source(
    places: &Places,
    source: &Path,
    compiler: &str,
    scratch: &Path,
) -> anyhow::Result<()> {
    let racewarden = &places.racewarden;
    ensure!(racewarden.is_file(), "{}: build racewarden first", racewarden.display());
    let object = scratch.join("small.o");
    let compiling = best(|| {
        let mut command = Command::new(compiler);
        Ok(cost(command.args(["-O1", "-c", "-w"]).arg(source).arg("-o").arg(&object))?.seconds)
    })?;
    // It ends with a status that says what it found.
    let report = scratch.join("small.txt");
    let checking = best(|| {
        let mut command = Command::new("sh");
        command.args(["-c", "\"$0\" check --no-cache --no-ledger -o \"$1\" \"$2\"; test $? -lt 2"]);
        let (cost, _) = cost_and_output(command.arg(racewarden).arg(&report).arg(source))
            .context("racewarden check")?;
        Ok(cost.seconds)
    })?;
    let lines = std::fs::read_to_string(source)?.lines().count();
    println!(
        "{lines} lines: {compiler} -O1 -c {compiling:.3}s, check of the source {checking:.3}s, {:.2}x",
        checking / compiling,
    );
    Ok(())
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
fn of_bitcode(scratch: &Path) -> anyhow::Result<PathBuf> {
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
    let subject = Subject { name: "small".to_owned(), files: vec![bitcode], api: false };
    let checking = best(|| Ok(cost(&mut worker(&subject, 1)?)?.seconds))?;
    println!(
        "{} lines: clang-22 -O1 -c {compiling:.3}s, check of the bitcode {checking:.3}s, {:.2}x",
        text.lines().count(),
        checking / compiling,
    );
    Ok(source)
}
