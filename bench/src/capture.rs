//! Capture of real programs by their normal builds: units captured and failed, and the time of the
//! captured build relative to the plain one in the same run.
//!
//! Each program is built twice from the same sources at the same place. What a machine does once
//! (compiling the preloaded library) is done before. Wall-clock and processor
//! time are both told: on a busy machine only the second means much. With `--relink` every
//! executable is linked again from plain objects of the captured bitcode, by its recipe, and asked
//! for its version.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use racewarden_capture::{Capture, Store, Target, TargetKind, Toolchain, link_command};

pub struct Program {
    pub name: &'static str,
    pub package: &'static str,
    pub build: &'static str,
    /// How the relinked executables are asked whether they work.
    ask: &'static [(&'static str, &'static str)],
}

pub const PROGRAMS: [Program; 8] = [
    Program { name: "pbzip2", package: "pbzip2", build: "make -j2", ask: &[("pbzip2", "-V")] },
    Program { name: "pigz", package: "pigz", build: "make -j2", ask: &[("pigz", "--version")] },
    Program {
        name: "memcached",
        package: "memcached",
        build: "./configure && make -j2",
        ask: &[("memcached", "-V")],
    },
    Program {
        name: "redis",
        package: "redis",
        // Debian's package takes lzf and jemalloc from the system.
        build: "CFLAGS=-I/usr/include/liblzf LDFLAGS='-latomic -llzf' make -j2 USE_SYSTEM_JEMALLOC=yes USE_JEMALLOC=yes",
        ask: &[("redis-server", "--version"), ("redis-cli", "--version")],
    },
    Program { name: "zstd", package: "libzstd", build: "make -j2", ask: &[("zstd", "--version")] },
    Program {
        name: "sqlite3",
        package: "sqlite3",
        build: "./configure && make -j2",
        ask: &[("sqlite3", "--version")],
    },
    Program {
        name: "nginx",
        package: "nginx",
        build: "./configure --with-threads && make -j2",
        ask: &[("nginx", "-v")],
    },
    Program {
        name: "leveldb",
        package: "leveldb",
        build: "cmake -GNinja -DCMAKE_BUILD_TYPE=Release -DLEVELDB_BUILD_TESTS=OFF -B build . && ninja -C build",
        ask: &[("db_bench", "--num=100")],
    },
];

/// What a command cost.
struct Cost {
    wall: f64,
    cpu: f64,
}

pub fn run() -> anyhow::Result<()> {
    let mut sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let mut racewarden = std::env::current_exe()?.with_file_name("racewarden");
    let mut relink = false;
    let mut names = Vec::new();
    let mut arguments = std::env::args().skip(2);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--sources" => sources = arguments.next().context("--sources needs a folder")?.into(),
            "--racewarden" => {
                racewarden = arguments.next().context("--racewarden needs a file")?.into()
            }
            "--relink" => relink = true,
            name => names.push(name.to_owned()),
        }
    }
    ensure!(racewarden.is_file(), "{}: build racewarden first", racewarden.display());
    let cache = tempfile::tempdir()?;
    let warm = tempfile::tempdir()?;
    let mut command = Command::new(&racewarden);
    command.args(["capture", "--", "true"]).current_dir(warm.path());
    succeed(command.env("RACEWARDEN_CACHE", cache.path()))?;
    println!(
        "| program | units | failed | targets | plain build | captured | time | processor time |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut failures = 0;
    // One cache for all programs, as a user has.
    let cache = tempfile::Builder::new().prefix("racewarden-bench-cache-").tempdir()?;
    for program in PROGRAMS {
        if !names.is_empty() && !names.iter().any(|name| name == program.name) {
            continue;
        }
        let source = sources.join(program.package);
        if !source.is_dir() {
            println!("| {} | not fetched: run bench/fetch | | | | | | |", program.name);
            continue;
        }
        if let Err(error) = measure(&program, &source, &racewarden, cache.path(), relink) {
            println!("| {} | {error:#} | | | | | | |", program.name);
            failures += 1;
        }
    }
    ensure!(failures == 0, "{failures} programs failed");
    Ok(())
}

fn measure(
    program: &Program,
    source: &Path,
    racewarden: &Path,
    cache: &Path,
    relink: bool,
) -> anyhow::Result<()> {
    let scratch = tempfile::Builder::new().prefix("racewarden-bench-").tempdir()?;
    let place = scratch.path().join(program.name);
    copy(source, &place)?;
    let plain = timed(Command::new("sh").args(["-c", program.build]).current_dir(&place))?;
    std::fs::remove_dir_all(&place)?;
    copy(source, &place)?;
    let mut command = Command::new(racewarden);
    command.args(["capture", "--", "sh", "-c", program.build]).current_dir(&place);
    command.env("RACEWARDEN_CACHE", cache);
    let captured = timed(&mut command)?;

    let store = Store::find(&place).context("no store")?;
    let capture = store.load()?;
    let failed = capture.notes.iter().filter(|note| note.text.contains("not captured: ")).count();
    println!(
        "| {} | {} | {failed} | {} | {:.1} s | {:.1} s | {:.2}x | {:.2}x |",
        program.name,
        capture.units.len(),
        capture.targets.len(),
        plain.wall,
        captured.wall,
        captured.wall / plain.wall,
        captured.cpu / plain.cpu
    );
    if relink {
        check_recipes(program, &capture, scratch.path())?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    let status = Command::new("cp").arg("-a").arg(from).arg(to).status()?;
    ensure!(status.success(), "cannot copy {}", from.display());
    Ok(())
}

fn timed(command: &mut Command) -> anyhow::Result<Cost> {
    let (start, before) = (Instant::now(), children_cpu()?);
    let output = command.stdin(Stdio::null()).output()?;
    if !output.status.success() {
        let tail = String::from_utf8_lossy(&output.stderr);
        let tail: Vec<&str> = tail.lines().rev().take(5).collect();
        bail!("{command:?} ended with {}: {}", output.status, tail.join(" / "));
    }
    Ok(Cost { wall: start.elapsed().as_secs_f64(), cpu: children_cpu()? - before })
}

/// Seconds of processor time that waited-for children took, from fields 16 and 17 of proc(5)'s
/// stat, in hundredths.
fn children_cpu() -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')').context("/proc/self/stat")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = fields[13].parse::<f64>()? + fields[14].parse::<f64>()?;
    Ok(ticks / 100.0)
}

/// Links every program of `ask` from the captured bitcode alone, and runs it.
fn check_recipes(program: &Program, capture: &Capture, scratch: &Path) -> anyhow::Result<()> {
    let toolchain = Toolchain::find()?;
    for (name, question) in program.ask {
        let target = capture
            .targets
            .iter()
            .find(|target| target.name == *name && target.kind == TargetKind::Executable)
            .with_context(|| format!("{name} was not captured"))?;
        let relinked = relink_plain(&toolchain, &capture.only(target), scratch)?;
        let output = Command::new(&relinked).arg(question).current_dir(scratch).output()?;
        let said = if output.stdout.is_empty() { output.stderr } else { output.stdout };
        let said = String::from_utf8_lossy(&said);
        ensure!(output.status.success(), "relinked {name} {question}: {} {said}", output.status);
        eprintln!("relinked {name} {question}: {}", said.lines().next().unwrap_or_default());
    }
    Ok(())
}

fn relink_plain(
    toolchain: &Toolchain,
    capture: &Capture,
    scratch: &Path,
) -> anyhow::Result<PathBuf> {
    let target: &Target = capture.targets.first().context("no target")?;
    let folder = scratch.join(format!("relink-{}", target.name));
    std::fs::create_dir_all(&folder)?;
    let mut objects = Vec::new();
    for (index, unit) in capture.units.iter().enumerate() {
        let object = folder.join(format!("{index}.o"));
        let mut command = Command::new(&toolchain.clang);
        command.args(["-O1", "-fPIC", "-w", "-c", "-o"]).arg(&object).arg(&unit.bitcode);
        succeed(&mut command)?;
        objects.push(object);
    }
    let output = folder.join(&target.name);
    succeed(&mut link_command(toolchain, target, &objects, &folder, &output)?)?;
    Ok(output)
}

fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let output = command.output()?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
