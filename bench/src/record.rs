//! What recording costs: processor time of a program with the recorder and with clang's
//! ThreadSanitizer, in interleaved runs, and the size of the trace.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use crate::gate::cpu;

const PROGRAMS: [&str; 3] = ["table", "matrix", "queue"];
const ROUNDS: usize = 5;

pub fn run() -> anyhow::Result<()> {
    let mut racewarden = std::env::current_exe()?.with_file_name("racewarden");
    let mut arguments = std::env::args().skip(2);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().with_context(|| format!("{argument} needs a value"))?;
        match argument.as_str() {
            "--racewarden" => racewarden = value.into(),
            _ => anyhow::bail!("usage: record [--racewarden FILE]"),
        }
    }
    println!(
        "{:8} {:>9} {:>9} {:>9} {:>14} {:>10} {:>12}",
        "program", "plain s", "tsan s", "record s", "record / tsan", "events", "bytes/event"
    );
    for name in PROGRAMS {
        measure(&racewarden, name).with_context(|| name.to_owned())?;
    }
    Ok(())
}

fn measure(racewarden: &Path, name: &str) -> anyhow::Result<()> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("record").join(format!("{name}.c"));
    let folder = tempfile::tempdir()?;
    let compile = |flags: &[&str], output: &str| -> anyhow::Result<PathBuf> {
        let program = folder.path().join(output);
        let status = Command::new("clang-22")
            .args(["-O2", "-g", "-pthread"])
            .args(flags)
            .arg(&source)
            .arg("-o")
            .arg(&program)
            .status()?;
        ensure!(status.success(), "it does not compile");
        Ok(program)
    };
    let plain = compile(&[], "plain")?;
    let tsan = compile(&["-fsanitize=thread"], "tsan")?;
    let trace = folder.path().join("run.rwt");
    let cache = folder.path().join("cache");
    let mut record = Command::new(racewarden);
    record.arg("record").arg(&source).arg("-o").arg(&trace).env("RACEWARDEN_CACHE", &cache);
    // The first run builds; the others run the recorded program itself.
    ensure!(record.stdout(Stdio::null()).stderr(Stdio::null()).status()?.success(), "no recording");
    let stats = Command::new(racewarden).args(["trace", "stats"]).arg(&trace).output()?;
    let stats = String::from_utf8_lossy(&stats.stdout).into_owned();
    let recorder = recorded_program(&cache, name)?;
    let header = header_of(&trace)?;
    let (mut plains, mut tsans, mut records) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        plains.push(cpu(&mut Command::new(&plain))?);
        tsans.push(cpu(&mut Command::new(&tsan))?);
        std::fs::write(&trace, &header)?;
        records.push(cpu(Command::new(&recorder).env("RACEWARDEN_RECORD", &trace))?);
    }
    let stat = |key: &str| {
        let line = stats.lines().find(|line| line.starts_with(key)).unwrap_or_default();
        line[key.len()..].trim().to_owned()
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
