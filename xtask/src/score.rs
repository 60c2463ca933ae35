//! `cargo xtask score`: recall and false alarms on the annotated programs, as a table.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use racewarden_testkit::engines::Engine;
use racewarden_testkit::marks::programs;
use racewarden_testkit::score::{judge_all, table};

const USAGE: &str = "\
usage: cargo xtask score [--engines racewarden,tsan,helgrind,drd] [--only TEXT] [--jobs N]
                         [--programs FOLDER] [--racewarden FILE] [--write FILE]";

const HEAD: &str = "\
# Scores of the dynamic engines on the annotated programs

Made by `cargo xtask score --write docs/scores.md`; every engine runs once on the same programs
(`tests/programs/dynamic`). A cell reads *racy programs found / racy programs · programs with a
false alarm*. `(Ns)` counts what racewarden merely suspects: among the found ones those not proven,
among the false alarms those it hands on without calling them races.

";

struct Options {
    engines: Vec<String>,
    only: String,
    jobs: usize,
    programs: PathBuf,
    racewarden: PathBuf,
    write: Option<PathBuf>,
}

fn options(arguments: &[String]) -> anyhow::Result<Options> {
    let mut options = Options {
        engines: ["racewarden", "tsan", "helgrind", "drd"].map(str::to_owned).to_vec(),
        only: String::new(),
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
        programs: "tests/programs/dynamic".into(),
        racewarden: default_racewarden(),
        write: None,
    };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value =
            || arguments.next().with_context(|| format!("{argument} needs a value\n{USAGE}"));
        match argument.as_str() {
            "--engines" => options.engines = value()?.split(',').map(str::to_owned).collect(),
            "--only" => options.only = value()?.clone(),
            "--jobs" => options.jobs = value()?.parse().context("--jobs needs a number")?,
            "--programs" => options.programs = value()?.into(),
            "--racewarden" => options.racewarden = value()?.into(),
            "--write" => options.write = Some(value()?.into()),
            other => bail!("`{other}` is not an option\n{USAGE}"),
        }
    }
    Ok(options)
}

/// The binary that was built beside this one.
fn default_racewarden() -> PathBuf {
    let beside =
        std::env::current_exe().ok().and_then(|path| Some(path.parent()?.join("racewarden")));
    beside.unwrap_or_else(|| "racewarden".into())
}

fn engine(name: &str, racewarden: &Path) -> anyhow::Result<Engine> {
    Ok(match name {
        "racewarden" => Engine::Run { racewarden: racewarden.to_owned(), options: Vec::new() },
        "tsan" => Engine::ThreadSanitizer,
        "helgrind" => Engine::Helgrind,
        "drd" => Engine::Drd,
        other => bail!("`{other}` is not an engine\n{USAGE}"),
    })
}

pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    let options = options(arguments)?;
    let mut programs = programs(&options.programs)?;
    programs.retain(|program| program.name.contains(&options.only));
    let engines = options.engines.iter().map(|name| engine(name, &options.racewarden));
    let engines = engines.collect::<anyhow::Result<Vec<Engine>>>()?;
    let scratch = std::env::temp_dir().join(format!("racewarden-score-{}", std::process::id()));
    std::fs::create_dir_all(&scratch)?;
    let scores =
        judge_all(&programs, &engines, &scratch, options.jobs, &|name| eprintln!("{name}"));
    std::fs::remove_dir_all(&scratch)?;
    let names: Vec<&'static str> = engines.iter().map(Engine::name).collect();
    let text = table(&scores, &names);
    match options.write {
        Some(path) => std::fs::write(&path, format!("{HEAD}{text}"))
            .with_context(|| path.display().to_string())?,
        None => print!("{text}"),
    }
    Ok(())
}
