//! What a check costs after an edit of one function, beside a check of the whole program.
//!
//! The program is captured by its own build. Each edit is made in the captured copy of the sources,
//! its unit compiled as the build compiled it, and the source put back. Every edit starts from what
//! a whole check of the program as it was has kept. Both times are processor time up to the finished
//! report; that reports are written out to be held against each other is not part of them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use racewarden_capture::Unit;

use super::{Arguments, Checked, Subject, programs, run_worker, worker};

struct Edit {
    what: &'static str,
    /// The end of the source's path.
    file: &'static str,
    from: &'static str,
    to: &'static str,
}

/// Edits of functions of redis, from what the engine cannot tell to what it must look at.
const EDITS: [Edit; 13] = [
    Edit {
        what: "a comment, lines moved",
        file: "t_string.c",
        from: "void incrbyCommand(client *c) {",
        to: "/* INCRBY key increment. */\n\nvoid incrbyCommand(client *c) {",
    },
    Edit {
        what: "another number stored",
        file: "t_zset.c",
        from: "zsl->level--;",
        to: "zsl->level -= 2;",
    },
    Edit {
        what: "another condition",
        file: "t_string.c",
        from: "if (incr == LLONG_MIN) {",
        to: "if (incr <= LLONG_MIN+1) {",
    },
    Edit {
        what: "another amount added",
        file: "t_string.c",
        from: "    server.dirty++;",
        to: "    server.dirty += 2;",
    },
    Edit {
        what: "another factor",
        file: "t_string.c",
        from: "*milliseconds *= 1000;",
        to: "*milliseconds *= 1024;",
    },
    Edit {
        what: "another result returned",
        file: "t_string.c",
        from: "        return C_ERR;",
        to: "        return C_ERR-1;",
    },
    Edit {
        what: "another number passed",
        file: "t_string.c",
        from: "incrDecrCommand(c,1);",
        to: "incrDecrCommand(c,2);",
    },
    Edit {
        what: "another constant stored",
        file: "networking.c",
        from: "    c->reqtype = 0;",
        to: "    c->reqtype = 7;",
    },
    Edit {
        what: "a local variable added",
        file: "t_string.c",
        from: "    incrDecrCommand(c,-incr);",
        to: "    long long step = incr * 3;\n    incrDecrCommand(c,-step);",
    },
    Edit {
        what: "a branch added",
        file: "t_string.c",
        from: "    incrDecrCommand(c,-incr);",
        to: "    int large = 0;\n    if (incr > 1000) large = 1;\n    incrDecrCommand(c,-incr);",
    },
    Edit {
        what: "a variable above assertions",
        file: "blocked.c",
        from: "        listRewind(clients,&li);",
        to: "        listRewind(clients,&li);\n        int others = 3;\n        others *= 2;",
    },
    Edit {
        what: "a call added",
        file: "t_string.c",
        from: "    incrDecrCommand(c,-incr);",
        to: "    serverLog(LL_DEBUG, \"decrement\");\n    incrDecrCommand(c,-incr);",
    },
    Edit {
        what: "an access added",
        file: "t_string.c",
        from: "    incrDecrCommand(c,-incr);",
        to: "    server.stat_numcommands++;\n    incrDecrCommand(c,-incr);",
    },
];

pub fn run(arguments: &Arguments, scratch: &Path) -> anyhow::Result<()> {
    let known = programs::find("redis").context("a known program")?;
    let subject = programs::capture(known, &arguments.places, scratch)?;
    let units = programs::units(known, &arguments.places, scratch)?;
    let cache = scratch.join("cache");
    // What checks of the program as it was have left behind, by the unit that is compiled here.
    let mut left: Vec<(&str, PathBuf)> = Vec::new();
    let threads = arguments.threads;
    println!(
        "{:32} {:>9} {:>9} {:>8} {:>7}",
        "redis, re-check after", "full", "re-check", "", "reused"
    );
    for edit in &EDITS {
        let (before, edited) = edited(&subject, &units, edit, scratch)?;
        let known = left.iter().find(|(file, _)| *file == edit.file);
        let kept = match known {
            Some((_, kept)) => kept.clone(),
            None => {
                let kept = scratch.join(format!("kept-{}", left.len()));
                checked(&before, threads, Some(&kept))?;
                left.push((edit.file, kept.clone()));
                kept
            }
        };
        let _ = std::fs::remove_dir_all(&cache);
        let copied = Command::new("cp").arg("-a").arg(&kept).arg(&cache).status()?;
        ensure!(copied.success(), "cannot copy {}", kept.display());
        let again = checked(&edited, threads, Some(&cache))?;
        let full = checked(&edited, threads, None)?;
        ensure!(
            again.said["digest"] == full.said["digest"],
            "{}: the report is not that of a whole check",
            edit.what
        );
        let processor = |checked: &Checked| {
            checked.said["processor"].as_f64().context("the processor time of the check")
        };
        let seconds = (processor(&again)?, processor(&full)?);
        println!(
            "{:32} {:>8.2}s {:>8.2}s {:>7.1}% {:>7}",
            edit.what,
            seconds.1,
            seconds.0,
            100.0 * seconds.0 / seconds.1,
            if again.said["reused"] == true { "yes" } else { "no" },
        );
    }
    Ok(())
}

/// One check that also says what its whole report is, in one number.
fn checked(subject: &Subject, threads: usize, cache: Option<&Path>) -> anyhow::Result<Checked> {
    let mut command = worker(subject, threads)?;
    command.arg("--digest");
    if let Some(cache) = cache {
        command.arg("--cache").arg(cache);
    }
    run_worker(&mut command)
}

/// The program with one unit compiled from its source as it is, and as it is after the edit.
fn edited(
    subject: &Subject,
    units: &[Unit],
    edit: &Edit,
    scratch: &Path,
) -> anyhow::Result<(Subject, Subject)> {
    let (index, unit) = units
        .iter()
        .enumerate()
        .find(|(_, unit)| unit.source.ends_with(edit.file))
        .with_context(|| format!("no unit is made of {}", edit.file))?;
    let source = unit.directory.join(&unit.source);
    let text = std::fs::read_to_string(&source).with_context(|| source.display().to_string())?;
    ensure!(text.contains(edit.from), "{}: no `{}` in it", source.display(), edit.from);
    let name =
        |state: &str| scratch.join(format!("{}-{state}.bc", edit.what.replace([' ', ','], "-")));
    let (before, after) = (name("before"), name("after"));
    compile(unit, &before)?;
    std::fs::write(&source, text.replacen(edit.from, edit.to, 1))?;
    let compiled = compile(unit, &after);
    std::fs::write(&source, text)?;
    compiled?;
    let with = |bitcode: PathBuf| {
        let mut files = subject.files.clone();
        files[index] = bitcode;
        Subject { name: subject.name.clone(), files, api: subject.api }
    };
    Ok((with(before), with(after)))
}

/// Compiles the unit as the capture did.
fn compile(unit: &Unit, bitcode: &Path) -> anyhow::Result<()> {
    let status = Command::new("clang-22")
        .current_dir(&unit.directory)
        .args(&unit.arguments)
        .args(["-O2", "-Xclang", "-disable-llvm-passes", "-g", "-w", "-emit-llvm", "-c"])
        .arg(&unit.source)
        .arg("-o")
        .arg(bitcode)
        .status()
        .context("clang-22")?;
    ensure!(status.success(), "{}: clang failed", unit.source.display());
    Ok(())
}
