//! What recording costs: processor time of a program with the recorder and with clang's
//! ThreadSanitizer, in interleaved runs, and the size of the trace.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use crate::gate::cpu;

const USAGE: &str = "usage: record [--sources FOLDER] [--racewarden FILE] [NAME...]";
const ROUNDS: usize = 5;
/// Bytes of the compressors' input.
const INPUT: usize = 3_000_000;

/// How a program comes to be.
enum Source {
    /// A file below `bench`.
    File(&'static str),
    /// A folder of fetched sources, and its build, with `{cc}` and `{cxx}` for the compilers.
    Tree(&'static str),
}

struct Program {
    name: &'static str,
    source: Source,
    /// `{input}` is a file to compress.
    arguments: &'static [&'static str],
}

const fn file(
    name: &'static str,
    path: &'static str,
    arguments: &'static [&'static str],
) -> Program {
    Program { name, source: Source::File(path), arguments }
}

const PROGRAMS: [Program; 11] = [
    file("table", "record/table.c", &[]),
    file("matrix", "record/matrix.c", &[]),
    file("queue", "record/queue.c", &[]),
    file("fft", "kernels/fft.c", &["2", "256"]),
    file("lu", "kernels/lu.c", &["2", "256"]),
    file("radix", "kernels/radix.c", &["2", "500000"]),
    file("nbody", "kernels/nbody.c", &["2", "1500"]),
    file("water", "kernels/water.c", &["2", "800"]),
    file("cluster", "kernels/cluster.cpp", &["2", "8000"]),
    Program {
        name: "pbzip2",
        source: Source::Tree("make clean; make CXX='{cxx} -Wno-reserved-user-defined-literal'"),
        arguments: &["-k", "-c", "-p2", "{input}"],
    },
    Program {
        name: "pigz",
        source: Source::Tree("make clean; make pigz CC='{cc} -w'"),
        arguments: &["-k", "-c", "-p", "2", "{input}"],
    },
];

pub fn run() -> anyhow::Result<()> {
    let mut racewarden = std::env::current_exe()?.with_file_name("racewarden");
    let mut sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let mut names = Vec::new();
    let mut arguments = std::env::args().skip(2);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().with_context(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--racewarden" => racewarden = value()?.into(),
            "--sources" => sources = value()?.into(),
            flag if flag.starts_with('-') => anyhow::bail!(USAGE),
            name => names.push(name.to_owned()),
        }
    }
    let racewarden = racewarden.canonicalize().context("build racewarden first")?;
    println!(
        "{:8} {:>9} {:>9} {:>9} {:>14} {:>10} {:>12}",
        "program", "plain s", "tsan s", "record s", "record / tsan", "events", "bytes/event"
    );
    for program in &PROGRAMS {
        if !names.is_empty() && !names.iter().any(|name| name == program.name) {
            continue;
        }
        if matches!(program.source, Source::Tree(_)) && !sources.join(program.name).is_dir() {
            eprintln!("{}: not fetched, run bench/fetch", program.name);
            continue;
        }
        measure(&racewarden, &sources, program).with_context(|| program.name.to_owned())?;
    }
    Ok(())
}

/// The program without and with ThreadSanitizer, and what `racewarden record` is given for it.
struct Built {
    plain: PathBuf,
    tsan: PathBuf,
    record: Command,
}

fn build(
    racewarden: &Path,
    sources: &Path,
    program: &Program,
    folder: &Path,
) -> anyhow::Result<Built> {
    let (plain, tsan) = (folder.join("plain"), folder.join("tsan"));
    let mut record = Command::new(racewarden);
    match program.source {
        Source::File(path) => {
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
            let cxx = path.ends_with(".cpp");
            for (product, flags) in [(&plain, &[][..]), (&tsan, &["-fsanitize=thread"][..])] {
                let mut command = Command::new(if cxx { "clang++-22" } else { "clang-22" });
                command.args(["-O2", "-g", "-pthread"]).args(flags).arg(&source).arg("-lm");
                succeed(command.arg("-o").arg(product))?;
            }
            record.arg("record").arg(&source).arg("--cflags=-O2 -pthread -lm");
        }
        Source::Tree(build) => {
            let place = folder.join("tree");
            succeed(Command::new("cp").arg("-a").arg(sources.join(program.name)).arg(&place))?;
            let command = |flags: &str| {
                build
                    .replace("{cc}", &format!("clang-22 {flags}"))
                    .replace("{cxx}", &format!("clang++-22 {flags}"))
            };
            for (product, flags) in [(&plain, "-g"), (&tsan, "-g -fsanitize=thread")] {
                succeed(Command::new("sh").args(["-c", &command(flags)]).current_dir(&place))?;
                std::fs::copy(place.join(program.name), product)?;
            }
            let mut capture = Command::new(racewarden);
            capture.args(["capture", "--", "sh", "-c", &command("-g")]).current_dir(&place);
            succeed(capture.env("RACEWARDEN_CACHE", folder.join("cache")))?;
            record.arg("record").arg(program.name).current_dir(&place);
        }
    }
    Ok(Built { plain, tsan, record })
}

fn measure(racewarden: &Path, sources: &Path, program: &Program) -> anyhow::Result<()> {
    let name = program.name;
    let folder = tempfile::tempdir()?;
    let Built { plain, tsan, mut record } = build(racewarden, sources, program, folder.path())?;
    let input = folder.path().join("input");
    std::fs::write(&input, crate::run::words(INPUT))?;
    let arguments: Vec<String> = program
        .arguments
        .iter()
        .map(|argument| argument.replace("{input}", &input.to_string_lossy()))
        .collect();
    let trace = folder.path().join("run.rwt");
    let cache = folder.path().join("cache");
    record.arg("-o").arg(&trace).arg("--").args(&arguments).env("RACEWARDEN_CACHE", &cache);
    // The first run builds; the others run the recorded program itself.
    succeed(record.stdout(Stdio::null()))?;
    let stats = Command::new(racewarden).args(["trace", "stats"]).arg(&trace).output()?;
    let stats = String::from_utf8_lossy(&stats.stdout).into_owned();
    let recorder = recorded_program(&cache, name)?;
    let header = header_of(&trace)?;
    let (mut plains, mut tsans, mut records) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let run = |program: &Path| {
            // Races do not matter here.
            cpu(Command::new(program).args(&arguments).env("TSAN_OPTIONS", "exitcode=0"))
        };
        plains.push(run(&plain)?);
        tsans.push(run(&tsan)?);
        std::fs::write(&trace, &header)?;
        let mut command = Command::new(&recorder);
        records.push(cpu(command.args(&arguments).env("RACEWARDEN_RECORD", &trace))?);
    }
    let stat = |key: &str| {
        let line = stats.lines().find(|line| line.starts_with(key)).unwrap_or_default();
        line.get(key.len()..).unwrap_or_default().trim().to_owned()
    };
    let seconds = |list: &mut Vec<f64>| {
        list.sort_by(f64::total_cmp);
        list[list.len() / 2]
    };
    let (plain, tsan, record) = (seconds(&mut plains), seconds(&mut tsans), seconds(&mut records));
    println!(
        "{name:8} {plain:>9.2} {tsan:>9.2} {record:>9.2} {:>13.2}x {:>10} {:>12}",
        record / tsan.max(0.001),
        stat("events"),
        stat("per event").replace(" bytes", "")
    );
    Ok(())
}

fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

fn recorded_program(cache: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let entries = std::fs::read_dir(cache.join("instrumented"))?;
    let programs = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    programs
        .into_iter()
        .find(|path| path.to_string_lossy().ends_with(&format!("-{name}")))
        .context("no recorded program was built")
}

/// The trace up to its first chunk.
fn header_of(trace: &Path) -> anyhow::Result<Vec<u8>> {
    let bytes = std::fs::read(trace)?;
    let length = bytes.get(8..12).and_then(|four| Some(u32::from_le_bytes(four.try_into().ok()?)));
    let end = 12 + length.context("the trace has no header")? as usize;
    Ok(bytes.get(..end).context("the trace has no header")?.to_vec())
}
