//! Lowering of bitcode: processor time and peak memory relative to LLVM's own verifier
//! (`opt-22 -passes=verify -disable-output`) on the same files.
//!
//! `lower [FILE.bc | FOLDER]…`: each folder's bitcode files (a capture's store, for one) count as
//! one program. Without arguments, sqlite3's amalgamation (from the sources of the
//! `libsqlite3-sys` crate, which the ledger links) alone, and a program of 500 generated units.
//! Build with `--release`, or the ratio says nothing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

pub fn run() -> anyhow::Result<()> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(2).map(PathBuf::from).collect();
    if arguments.first().is_some_and(|first| first == "--worker") {
        return work(&arguments[1..]);
    }
    let scratch = tempfile::tempdir()?;
    let programs = if arguments.is_empty() {
        vec![
            ("sqlite3 amalgamation".to_owned(), vec![sqlite(scratch.path())?]),
            ("500 generated units".to_owned(), generated(scratch.path(), 500)?),
        ]
    } else {
        arguments.iter().map(|path| program(path)).collect::<anyhow::Result<_>>()?
    };
    println!(
        "{:32} {:>6} {:>9} {:>9} {:>6} {:>7}",
        "", "units", "verify", "lower", "time", "memory"
    );
    let empty = scratch.path().join("empty.ll");
    std::fs::write(&empty, "")?;
    let base = verify(&[empty], 0)?.kilobytes;
    for (name, files) in programs {
        let verify = verify(&files, base)?;
        let lower =
            cost(Command::new(std::env::current_exe()?).args(["lower", "--worker"]).args(&files))?;
        println!(
            "{name:32} {:>6} {:>8.2}s {:>8.2}s {:>5.2}x {:>6.2}x",
            files.len(),
            verify.seconds,
            lower.seconds,
            lower.seconds / verify.seconds,
            (lower.kilobytes - base) as f64 / verify.kilobytes as f64,
        );
    }
    Ok(())
}

/// The measured side: lowers the files one after the other on one core and keeps every model.
fn work(files: &[PathBuf]) -> anyhow::Result<()> {
    let models = racewarden_bitcode::lower_units(files, false)?;
    let instructions: usize =
        models.iter().flat_map(|m| &m.functions).map(|f| f.instructions.len()).sum();
    ensure!(instructions > 0, "nothing was lowered");
    Ok(())
}

pub struct Cost {
    pub seconds: f64,
    pub kilobytes: i64,
}

/// LLVM reads one file per process: time and memory are sums, the memory of each process counted
/// above `base`, what a process takes that reads nothing.
pub fn verify(files: &[PathBuf], base: i64) -> anyhow::Result<Cost> {
    let mut total = Cost { seconds: 0.0, kilobytes: 0 };
    for file in files {
        let one =
            cost(Command::new("opt-22").args(["-passes=verify", "-disable-output"]).arg(file))?;
        total.seconds += one.seconds;
        total.kilobytes += one.kilobytes - base;
    }
    Ok(total)
}

/// Processor time and peak memory of a command, as `time` reports them: the wall clock of a busy
/// machine means little.
pub fn cost(command: &mut Command) -> anyhow::Result<Cost> {
    Ok(cost_and_output(command)?.0)
}

/// As [`cost`], with what the command printed.
pub fn cost_and_output(command: &mut Command) -> anyhow::Result<(Cost, String)> {
    let mut timed = Command::new("/usr/bin/time");
    timed.args(["-f", "%U %S %M"]).arg(command.get_program()).args(command.get_args());
    timed.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = timed.stdin(Stdio::null()).output().context("/usr/bin/time")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{:?}: {stderr}", command.get_program());
    let numbers: Vec<f64> = stderr
        .lines()
        .last()
        .unwrap_or_default()
        .split(' ')
        .filter_map(|number| number.parse().ok())
        .collect();
    let [user, system, kilobytes] = numbers[..] else { anyhow::bail!("time said {stderr}") };
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok((Cost { seconds: user + system, kilobytes: kilobytes as i64 }, printed))
}

pub fn program(path: &Path) -> anyhow::Result<(String, Vec<PathBuf>)> {
    let name = path.display().to_string();
    if !path.is_dir() {
        return Ok((name, vec![path.to_owned()]));
    }
    let mut files = Vec::new();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "bc") {
                files.push(path);
            }
        }
    }
    files.sort();
    ensure!(!files.is_empty(), "{name}: no bitcode in it");
    Ok((name, files))
}

pub fn compile(source: &Path, bitcode: &Path, flags: &[&str]) -> anyhow::Result<()> {
    let status = Command::new("clang-22")
        .args(["-O2", "-Xclang", "-disable-llvm-passes", "-g", "-w", "-emit-llvm", "-c"])
        .args(flags)
        .arg(source)
        .arg("-o")
        .arg(bitcode)
        .status()
        .context("clang-22")?;
    ensure!(status.success(), "{}: clang failed", source.display());
    Ok(())
}

pub fn sqlite(scratch: &Path) -> anyhow::Result<PathBuf> {
    let output = Command::new("cargo")
        .args([
            "metadata",
            "--format-version=1",
            "--offline",
            "--filter-platform=x86_64-unknown-linux-gnu",
        ])
        .output()
        .context("cargo metadata")?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("cargo metadata has packages")?;
    let manifest = packages
        .iter()
        .find(|package| package["name"] == "libsqlite3-sys")
        .and_then(|package| package["manifest_path"].as_str())
        .context("libsqlite3-sys is among the dependencies")?;
    let source = Path::new(manifest).with_file_name("sqlite3").join("sqlite3.c");
    let bitcode = scratch.join("sqlite3.bc");
    compile(&source, &bitcode, &[])?;
    Ok(bitcode)
}

/// Units of some fifty functions each, which walk, lock and fill a shared structure.
fn generated(scratch: &Path, units: usize) -> anyhow::Result<Vec<PathBuf>> {
    let mut text = "#include <pthread.h>\n#include <string.h>\n#include <stdio.h>\n\
        struct item { int key; char name[32]; struct item *next; };\n\
        struct table { pthread_mutex_t lock; struct item *slots[64]; long hits; };\n\
        extern struct table *shared;\n#define N2(a, b) a##b\n#define N1(a, b) N2(a, b)\n"
        .to_owned();
    for function in 0..50 {
        text += &format!(
            "int N1(find{function}_, UNIT)(struct table *t, int key) {{\n\
               int found = 0; pthread_mutex_lock(&t->lock);\n\
               for (struct item *i = t->slots[key % 64]; i; i = i->next) {{\n\
                 if (i->key == key) {{ found++; t->hits += {function}; }}\n\
                 snprintf(i->name, sizeof i->name, \"%d\", key); }}\n\
               if (!found && shared) memcpy(t, shared, sizeof *t);\n\
               pthread_mutex_unlock(&t->lock); return found; }}\n"
        );
    }
    let source = scratch.join("unit.c");
    std::fs::write(&source, text)?;
    let mut files = Vec::with_capacity(units);
    for unit in 0..units {
        let bitcode = scratch.join(format!("unit{unit}.bc"));
        compile(&source, &bitcode, &[&format!("-DUNIT={unit}")])?;
        files.push(bitcode);
    }
    Ok(files)
}
