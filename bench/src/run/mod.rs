//! What watching a run costs: processor time and peak memory of `racewarden run`'s programs beside
//! the plain ones and beside clang's ThreadSanitizer, all built from the same sources with the same
//! flags. A round runs all of them side by side on one processor, which turns from one to the other
//! every few milliseconds: whatever slows it down, slows down all, and what else the machine does hardly
//! shows. Helgrind runs the plain program once.
//!
//! The kernels are in `bench/kernels`; real programs are measured when their sources were fetched
//! (`bench/fetch`). With `--scaling`, instead: how the cost grows from 1 to 8 threads.
//!
//! All of it takes long. `--programs FOLDER` keeps the built programs for the next run, which
//! `--build-only` makes without measuring; `--rows FILE` keeps what was measured, so that some
//! programs may be measured now and others later. The table has all rows of the file.

mod build;
mod cost;
mod programs;
mod rows;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use build::{Built, Tools};
use cost::Cost;
use programs::Program;
pub use programs::words;
use rows::{Row, Table};

const USAGE: &str = "usage: run [--sources FOLDER] [--racewarden FILE] [--programs FOLDER] \
                     [--build-only] [--rows FILE] [--rounds N] [--threads N] [--no-helgrind] \
                     [--scaling] [NAME...]";

struct Options {
    sources: PathBuf,
    racewarden: PathBuf,
    programs: Option<PathBuf>,
    build_only: bool,
    rows: Option<PathBuf>,
    rounds: usize,
    threads: u32,
    helgrind: bool,
    scaling: bool,
    names: Vec<String>,
}

impl Options {
    fn read() -> anyhow::Result<Options> {
        let mut options = Options {
            sources: Path::new(env!("CARGO_MANIFEST_DIR")).join("programs"),
            racewarden: std::env::current_exe()?.with_file_name("racewarden"),
            programs: None,
            build_only: false,
            rows: None,
            rounds: 3,
            threads: 2,
            helgrind: true,
            scaling: false,
            names: Vec::new(),
        };
        let mut arguments = std::env::args().skip(2);
        while let Some(argument) = arguments.next() {
            let mut value =
                || arguments.next().with_context(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--sources" => options.sources = value()?.into(),
                "--racewarden" => options.racewarden = value()?.into(),
                "--programs" => options.programs = Some(value()?.into()),
                "--build-only" => options.build_only = true,
                "--rows" => options.rows = Some(value()?.into()),
                "--rounds" => options.rounds = value()?.parse()?,
                "--threads" => options.threads = value()?.parse()?,
                "--no-helgrind" => options.helgrind = false,
                "--scaling" => options.scaling = true,
                flag if flag.starts_with('-') => anyhow::bail!(USAGE),
                name => options.names.push(name.to_owned()),
            }
        }
        ensure!(options.rounds > 0, USAGE);
        let racewarden = options.racewarden.display();
        ensure!(options.racewarden.is_file(), "{racewarden}: build racewarden first");
        Ok(options)
    }

    fn wants(&self, program: &Program) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| name == program.name)
    }
}

pub fn run() -> anyhow::Result<()> {
    let options = Options::read()?;
    let scratch = tempfile::Builder::new().prefix("racewarden-bench-").tempdir()?;
    let place = options.programs.as_deref().unwrap_or(scratch.path());
    let tools = Tools::new(&options.racewarden, place)?;
    let mut table = Table::read(options.rows.as_deref())?;
    if options.scaling {
        println!("{SCALING_HEAD}");
    }
    let mut failures = 0;
    let programs = programs::all(&options.sources);
    for program in programs.iter().filter(|program| options.wants(program)) {
        if !program.present() {
            eprintln!("{}: not fetched, run bench/fetch", program.name);
            continue;
        }
        let measured = tools.build(program).and_then(|built| {
            if options.build_only {
                return Ok(());
            }
            if options.scaling {
                return scaling(&options, program, &built);
            }
            table.add(measure(&options, program, &built)?, options.rows.as_deref())
        });
        if let Err(error) = measured.with_context(|| program.name.to_owned()) {
            eprintln!("{error:#}");
            failures += 1;
        }
        if options.programs.is_none() {
            // Each program's builds take some hundred megabytes.
            let _ = std::fs::remove_dir_all(scratch.path().join(program.name));
        }
    }
    if !options.scaling && !options.build_only {
        table.tell(&programs.iter().map(|program| program.name).collect::<Vec<_>>());
    }
    ensure!(failures == 0, "{failures} programs failed");
    Ok(())
}

const SCALING_HEAD: &str = "| program | threads | native | TSan | racewarden | of TSan |\n\
    |---|---|---|---|---|---|";

fn measure(options: &Options, program: &Program, built: &Built) -> anyhow::Result<Row> {
    let variants = [&built.tsan, &built.plain, &built.pruned, &built.whole];
    let arguments = program.arguments(options.threads, &built.folder)?;
    let [tsan, plain, pruned, whole] = rounds(options.rounds, program, variants, &arguments)?;
    let helgrind = match options.helgrind {
        true => {
            let mut command = Command::new("valgrind");
            command.args(["-q", "--tool=helgrind"]).arg(&built.plain);
            Some(program.run(command, &arguments)?)
        }
        false => None,
    };
    Ok(Row { name: program.name.to_owned(), plain, tsan, pruned, whole, helgrind })
}

/// What each variant costs: in each round all run side by side (one after the other where threads spin), and of the rounds' ratios to the first
/// variant the median counts.
fn rounds<const N: usize>(
    rounds: usize,
    program: &Program,
    variants: [&PathBuf; N],
    arguments: &[String],
) -> anyhow::Result<[Cost; N]> {
    let mut costs = [const { Vec::new() }; N];
    for _ in 0..rounds {
        let run = |variant: &PathBuf| program.run(Command::new(variant), arguments);
        if program.spins {
            for (variant, costs) in variants.iter().zip(&mut costs) {
                costs.push(run(variant)?);
            }
            continue;
        }
        let round = std::thread::scope(|scope| {
            let running = variants.map(|variant| scope.spawn(move || run(variant)));
            running.map(|one| match one.join() {
                Ok(cost) => cost,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        });
        for (cost, costs) in round.into_iter().zip(&mut costs) {
            costs.push(cost?);
        }
    }
    let first: Vec<f64> = costs[0].iter().map(|cost| cost.cpu.max(0.001)).collect();
    let base = median(first.clone());
    Ok(costs.map(|costs| Cost {
        cpu: base
            * median(costs.iter().zip(&first).map(|(cost, first)| cost.cpu / first).collect()),
        memory: median(costs.iter().map(|cost| cost.memory).collect()),
        output: String::new(),
    }))
}

/// Cost against the number of threads, for the same work: relative to one thread.
fn scaling(options: &Options, program: &Program, built: &Built) -> anyhow::Result<()> {
    for threads in [1, 2, 4, 8] {
        let arguments = program.arguments(threads, &built.folder)?;
        let variants = [&built.tsan, &built.plain, &built.pruned];
        let [tsan, plain, ours] = rounds(options.rounds, program, variants, &arguments)?;
        println!(
            "| {} | {threads} | {:.2} s | {:.2} s | {:.2} s | {:.2}x |",
            program.name,
            plain.cpu,
            tsan.cpu,
            ours.cpu,
            ours.cpu / tsan.cpu.max(0.01)
        );
    }
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
