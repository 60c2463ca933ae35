//! What watching a run costs: processor time and peak memory of `racewarden run`'s programs beside
//! the plain ones and beside clang's ThreadSanitizer, all built from the same sources with the same
//! flags and run in turns, so that what else the machine does hits everyone alike. Helgrind runs
//! the plain program once.
//!
//! The kernels are in `bench/kernels`; real programs are measured when their sources were fetched
//! (`bench/fetch`). With `--scaling`, instead: how the cost grows from 1 to 8 threads.

mod build;
mod cost;
mod programs;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use build::{Built, Tools};
use cost::Cost;
use programs::Program;
pub use programs::words;

const USAGE: &str = "usage: run [--sources FOLDER] [--racewarden FILE] [--rounds N] [--threads N] \
                     [--no-helgrind] [--scaling] [NAME...]";

struct Options {
    sources: PathBuf,
    racewarden: PathBuf,
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
    let tools = Tools::new(&options.racewarden, scratch.path())?;
    let mut table = Table::default();
    println!("{}", if options.scaling { SCALING_HEAD } else { HEAD });
    let mut failures = 0;
    for program in programs::all(&options.sources) {
        if !options.wants(&program) {
            continue;
        }
        if !program.present() {
            eprintln!("{}: not fetched, run bench/fetch", program.name);
            continue;
        }
        eprintln!("building {}", program.name);
        let measured = tools.build(&program).and_then(|built| match options.scaling {
            true => scaling(&options, &program, &built),
            false => table.add(&options, &program, &built),
        });
        if let Err(error) = measured.with_context(|| program.name.to_owned()) {
            eprintln!("{error:#}");
            failures += 1;
        }
        // Each program's builds take some hundred megabytes.
        let _ = std::fs::remove_dir_all(scratch.path().join(program.name));
    }
    if !options.scaling {
        table.tell_means();
    }
    ensure!(failures == 0, "{failures} programs failed");
    Ok(())
}

const HEAD: &str = "| program | native | TSan | racewarden | without pruning | of TSan \
    | of TSan, without | memory | TSan's | of TSan | Helgrind | of racewarden |\n\
    |---|---|---|---|---|---|---|---|---|---|---|---|";
const SCALING_HEAD: &str = "| program | threads | native | TSan | racewarden | of TSan |\n\
    |---|---|---|---|---|---|";

/// One program's costs: the median round of each variant.
struct Row {
    plain: Cost,
    tsan: Cost,
    pruned: Cost,
    whole: Cost,
    helgrind: Option<Cost>,
}

/// The ratios of all rows: processor time with and without pruning and memory, of TSan's, and
/// Helgrind's processor time, of racewarden's.
#[derive(Default)]
struct Table {
    ratios: [Vec<f64>; 4],
}

impl Table {
    fn add(&mut self, options: &Options, program: &Program, built: &Built) -> anyhow::Result<()> {
        let row = measure(options, program, built)?;
        let of = |a: f64, b: f64| a / b.max(0.01);
        let (native, tsan) = (row.plain.cpu, row.tsan.cpu);
        let ratios = [
            of(row.pruned.cpu, tsan),
            of(row.whole.cpu, tsan),
            of(row.pruned.memory, row.tsan.memory),
            row.helgrind.as_ref().map_or(f64::NAN, |helgrind| of(helgrind.cpu, row.pruned.cpu)),
        ];
        for (all, ratio) in self.ratios.iter_mut().zip(ratios) {
            all.push(ratio);
        }
        let helgrind = match &row.helgrind {
            Some(cost) => format!("{:.2} s | {:.1}x", cost.cpu, ratios[3]),
            None => "– | –".to_owned(),
        };
        println!(
            "| {} | {native:.2} s | {:.1}x | {:.1}x | {:.1}x | {:.2}x | {:.2}x | {:.0} MB | {:.0} MB | {:.2}x | {helgrind} |",
            program.name,
            of(tsan, native),
            of(row.pruned.cpu, native),
            of(row.whole.cpu, native),
            ratios[0],
            ratios[1],
            row.pruned.memory,
            row.tsan.memory,
            ratios[2],
        );
        Ok(())
    }

    fn tell_means(&self) {
        let mean = self.ratios.each_ref().map(|ratios| geometric_mean(ratios));
        println!(
            "| geometric mean | | | | | {:.2}x | {:.2}x | | | {:.2}x | | {:.1}x |",
            mean[0], mean[1], mean[2], mean[3]
        );
    }
}

fn measure(options: &Options, program: &Program, built: &Built) -> anyhow::Result<Row> {
    let mut costs = [const { Vec::new() }; 4];
    let variants = [&built.plain, &built.tsan, &built.pruned, &built.whole];
    let arguments = program.arguments(options.threads, &built.folder)?;
    for _ in 0..options.rounds {
        for (variant, costs) in variants.into_iter().zip(&mut costs) {
            costs.push(program.run(Command::new(variant), &arguments)?);
        }
    }
    let helgrind = match options.helgrind {
        true => {
            let mut command = Command::new("valgrind");
            command.args(["-q", "--tool=helgrind"]).arg(&built.plain);
            Some(program.run(command, &arguments)?)
        }
        false => None,
    };
    let [plain, tsan, pruned, whole] = costs.map(median);
    Ok(Row { plain, tsan, pruned, whole, helgrind })
}

/// Cost against the number of threads, for the same work: relative to one thread.
fn scaling(options: &Options, program: &Program, built: &Built) -> anyhow::Result<()> {
    for threads in [1, 2, 4, 8] {
        let arguments = program.arguments(threads, &built.folder)?;
        let mut costs = [const { Vec::new() }; 3];
        for _ in 0..options.rounds {
            for (variant, costs) in
                [&built.plain, &built.tsan, &built.pruned].into_iter().zip(&mut costs)
            {
                costs.push(program.run(Command::new(variant), &arguments)?);
            }
        }
        let [plain, tsan, ours] = costs.map(median);
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

fn median(mut costs: Vec<Cost>) -> Cost {
    costs.sort_by(|a, b| a.cpu.total_cmp(&b.cpu));
    let middle = costs.len() / 2;
    costs.swap_remove(middle)
}

/// Of those that were measured.
fn geometric_mean(ratios: &[f64]) -> f64 {
    let logs: Vec<f64> = ratios.iter().filter(|ratio| ratio.is_finite()).map(|r| r.ln()).collect();
    (logs.iter().sum::<f64>() / logs.len() as f64).exp()
}
