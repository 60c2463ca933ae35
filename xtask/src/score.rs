//! `cargo xtask score`: recall and false alarms on the annotated programs, as a table.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use racewarden_testkit::engines::Engine;
use racewarden_testkit::marks::programs;
use racewarden_testkit::score::{Judgement, Scores, judge_all, table};

const USAGE: &str = "\
usage: cargo xtask score [--engines racewarden,tsan,helgrind,drd,check,predict] [--only TEXT]
                         [--jobs N] [--programs FOLDER] [--racewarden FILE] [--write FILE]
                         [--saved FILE]

With --saved, programs whose results the file has are not run again and new results are added to
it, so that a long measurement can be made in parts.";

const HEAD: &str = "\
# Scores on the annotated programs

Made by `cargo xtask score --write docs/scores.md`; every engine runs once on each program of its
section. A cell reads *racy programs found / racy programs · programs with a false alarm*. `(Ns)`
counts what `racewarden run` merely suspects: among the found ones those not proven, among the false
alarms those it hands on without calling them races.
";

/// Which engines are put before which programs.
struct Section {
    title: &'static str,
    folder: &'static str,
    engines: &'static [&'static str],
}

const SECTIONS: [Section; 3] = [
    Section {
        title: "Dynamic: `racewarden run` and its peers",
        folder: "tests/programs/dynamic",
        engines: &["racewarden", "tsan", "helgrind", "drd"],
    },
    Section {
        title: "Static: `racewarden check`",
        folder: "tests/programs/static",
        engines: &["check"],
    },
    Section {
        title: "Predictive: `racewarden predict`",
        folder: "tests/programs/predict",
        engines: &["predict"],
    },
];

struct Options {
    engines: Vec<String>,
    only: String,
    jobs: usize,
    /// In place of each section's own folder.
    programs: Option<PathBuf>,
    racewarden: PathBuf,
    write: Option<PathBuf>,
    saved: Option<PathBuf>,
}

fn options(arguments: &[String]) -> anyhow::Result<Options> {
    let mut options = Options {
        engines: SECTIONS
            .iter()
            .flat_map(|section| section.engines)
            .map(ToString::to_string)
            .collect(),
        only: String::new(),
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
        programs: None,
        racewarden: default_racewarden(),
        write: None,
        saved: None,
    };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value =
            || arguments.next().with_context(|| format!("{argument} needs a value\n{USAGE}"));
        match argument.as_str() {
            "--engines" => options.engines = value()?.split(',').map(str::to_owned).collect(),
            "--only" => options.only = value()?.clone(),
            "--jobs" => options.jobs = value()?.parse().context("--jobs needs a number")?,
            "--programs" => options.programs = Some(value()?.into()),
            "--racewarden" => options.racewarden = value()?.into(),
            "--saved" => options.saved = Some(value()?.into()),
            "--write" => options.write = Some(value()?.into()),
            other => bail!("`{other}` is not an option\n{USAGE}"),
        }
    }
    Ok(options)
}

/// The binary that was built beside this one.
pub fn default_racewarden() -> PathBuf {
    let beside =
        std::env::current_exe().ok().and_then(|path| Some(path.parent()?.join("racewarden")));
    beside.unwrap_or_else(|| "racewarden".into())
}

fn engine(name: &str, racewarden: &Path) -> anyhow::Result<Engine> {
    Ok(match name {
        "racewarden" => Engine::Run { racewarden: racewarden.to_owned(), options: Vec::new() },
        "check" => Engine::Check { racewarden: racewarden.to_owned() },
        "predict" => Engine::Predict { racewarden: racewarden.to_owned() },
        "tsan" => Engine::ThreadSanitizer,
        "helgrind" => Engine::Helgrind,
        "drd" => Engine::Drd,
        other => bail!("`{other}` is not an engine\n{USAGE}"),
    })
}

pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    let options = options(arguments)?;
    let known = |name: &&String| SECTIONS.iter().any(|s| s.engines.contains(&name.as_str()));
    if let Some(unknown) = options.engines.iter().find(|name| !known(name)) {
        bail!("`{unknown}` is not an engine\n{USAGE}");
    }
    let mut text = HEAD.to_owned();
    for section in &SECTIONS {
        let asked =
            section.engines.iter().filter(|name| options.engines.iter().any(|e| e == *name));
        let engines = asked.map(|name| engine(name, &options.racewarden));
        let engines = engines.collect::<anyhow::Result<Vec<Engine>>>()?;
        if !engines.is_empty() {
            text.push_str(&format!("\n## {}\n\n", section.title));
            text.push_str(&section_table(section, &engines, &options)?);
        }
    }
    match options.write {
        Some(path) => std::fs::write(&path, text).with_context(|| path.display().to_string())?,
        None => print!("{text}"),
    }
    Ok(())
}

fn section_table(
    section: &Section,
    engines: &[Engine],
    options: &Options,
) -> anyhow::Result<String> {
    let folder = options.programs.clone().unwrap_or_else(|| section.folder.into());
    let mut programs = programs(&folder)?;
    programs.retain(|program| program.name.contains(&options.only));
    let scratch = tempfile::tempdir()?;
    let names: Vec<&'static str> = engines.iter().map(Engine::name).collect();
    let mut saved = load(options)?;
    let known = saved.remove(section.folder).unwrap_or_default();
    let mut scores: Scores = known
        .into_iter()
        .filter_map(|(program, row)| Some((program, complete(&row, &names)?)))
        .collect();
    programs.retain(|program| !scores.contains_key(&program.name));
    // A few at a time, so that an interruption loses little.
    for part in programs.chunks(8) {
        let progress = |name: &str| eprintln!("{name}");
        scores.extend(judge_all(part, engines, scratch.path(), options.jobs, &progress));
        if let Some(file) = &options.saved {
            let mut all = serde_json::to_value(&saved)?;
            all[section.folder] = serde_json::to_value(&scores)?;
            std::fs::write(file, all.to_string()).with_context(|| file.display().to_string())?;
        }
    }
    Ok(table(&scores, &names))
}

/// Judgements by section, program and engine.
type Saved = BTreeMap<String, BTreeMap<String, BTreeMap<String, Judgement>>>;

fn load(options: &Options) -> anyhow::Result<Saved> {
    let Some(file) = options.saved.as_ref().filter(|file| file.exists()) else {
        return Ok(Saved::new());
    };
    let context = || file.display().to_string();
    serde_json::from_slice(&std::fs::read(file).with_context(context)?).with_context(context)
}

/// The row, if every engine asked for has judged the program.
fn complete(
    row: &BTreeMap<String, Judgement>,
    names: &[&'static str],
) -> Option<BTreeMap<&'static str, Judgement>> {
    names.iter().map(|name| Some((*name, row.get(*name)?.clone()))).collect()
}
