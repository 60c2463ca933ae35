//! `cargo xtask hunt`: the conclusion of `racewarden hunt` on every annotated program, as a table.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use racewarden_testkit::hunt::{HuntOptions, hunt_all, read_rows, subjects, table};

use crate::score::default_racewarden;

const USAGE: &str = "\
usage: cargo xtask hunt [--only TEXT] [--jobs N] [--budget SECONDS] [--slice SECONDS]
                        [--programs FOLDER] [--racewarden FILE] [--rows FILE] [--write FILE]

Hunts in every program that --rows has no row for yet, for at most --slice seconds, so that a long
measurement can be done in parts; then prints the table of all rows, or puts it into --write.";

const HEAD: &str = "\
# What `hunt` concludes on the annotated programs

Made by `cargo xtask hunt --write docs/hunt-scores.md`: one hunt in every program below
`tests/programs`, whichever engine it was written for. A program with a `RACE!` line is racy, any
other is safe. `unknown` is not right but not wrong; the opposite conclusion is wrong, and so is a
proven race on a line without `RACE!`.

";

pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    let mut only = String::new();
    let mut programs = PathBuf::from("tests/programs");
    let mut rows = PathBuf::from("target/hunt-rows.jsonl");
    let mut write = None;
    let mut options = HuntOptions {
        racewarden: default_racewarden(),
        budget: Duration::from_secs(15),
        workers: std::thread::available_parallelism().map_or(1, usize::from),
        slice: Duration::MAX,
    };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value =
            || arguments.next().with_context(|| format!("{argument} needs a value\n{USAGE}"));
        let seconds = |text: &String| -> anyhow::Result<Duration> {
            Ok(Duration::from_secs(text.parse().with_context(|| format!("`{text}` seconds"))?))
        };
        match argument.as_str() {
            "--only" => only.clone_from(value()?),
            "--jobs" => options.workers = value()?.parse().context("--jobs needs a number")?,
            "--budget" => options.budget = seconds(value()?)?,
            "--slice" => options.slice = seconds(value()?)?,
            "--programs" => programs = value()?.into(),
            "--racewarden" => options.racewarden = value()?.into(),
            "--rows" => rows = value()?.into(),
            "--write" => write = Some(PathBuf::from(value()?)),
            other => bail!("`{other}` is not an option\n{USAGE}"),
        }
    }
    let mut subjects = subjects(&programs)?;
    let all = subjects.len();
    subjects.retain(|subject| subject.name.contains(&only));
    if let Some(folder) = rows.parent() {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    hunt_all(&subjects, &options, &rows)?;
    let rows = read_rows(&rows)?;
    let text = table(&rows);
    eprintln!("{} of {all} programs have a row", rows.len());
    match write {
        Some(path) => std::fs::write(&path, format!("{HEAD}{text}"))
            .with_context(|| path.display().to_string())?,
        None => print!("{text}"),
    }
    Ok(())
}
