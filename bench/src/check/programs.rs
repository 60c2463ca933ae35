//! Real programs, captured by their own builds.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use racewarden_capture::{Store, Unit};

use super::Subject;
use crate::capture::{PROGRAMS, Program};

/// A program with what of its build is checked.
pub struct Known {
    pub name: &'static str,
    /// The target's name, or how it begins.
    target: &'static str,
    /// It is a library: its exported functions are called from any thread.
    api: bool,
}

pub const KNOWN: [Known; 6] = [
    Known { name: "pbzip2", target: "pbzip2", api: false },
    Known { name: "pigz", target: "pigz", api: false },
    Known { name: "memcached", target: "memcached", api: false },
    Known { name: "redis", target: "redis-server", api: false },
    Known { name: "zstd", target: "zstd", api: false },
    Known { name: "sqlite3", target: "libsqlite3.so", api: true },
];

pub fn find(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name)
}

/// Where sources come from and captures go.
pub struct Places {
    pub sources: PathBuf,
    /// Captured programs are kept there.
    pub captures: Option<PathBuf>,
    pub racewarden: PathBuf,
}

impl Default for Places {
    fn default() -> Self {
        let own = std::env::current_exe().unwrap_or_default();
        Places {
            sources: Path::new(env!("CARGO_MANIFEST_DIR")).join("programs"),
            captures: None,
            racewarden: own.with_file_name("racewarden"),
        }
    }
}

/// The program's bitcode, from the capture that is there or a new one.
pub fn capture(known: &Known, places: &Places, scratch: &Path) -> anyhow::Result<Subject> {
    let files = units(known, places, scratch)?.into_iter().map(|unit| unit.bitcode).collect();
    Ok(Subject { name: known.name.to_owned(), files, api: known.api })
}

/// The units of the program's target, from the capture that is there or a new one.
pub fn units(known: &Known, places: &Places, scratch: &Path) -> anyhow::Result<Vec<Unit>> {
    let program = PROGRAMS
        .iter()
        .find(|program| program.name == known.name)
        .context("a program that can be captured")?;
    let folder = places.captures.as_deref().unwrap_or(scratch).join(known.name);
    if !folder.join(".racewarden").is_dir() {
        build(program, places, &folder).with_context(|| known.name.to_owned())?;
    }
    let store = Store::find(&folder).with_context(|| format!("{}: no capture", known.name))?;
    let capture = store.load()?;
    let target = capture
        .targets
        .iter()
        .find(|target| target.name == known.target)
        .or_else(|| capture.targets.iter().find(|target| target.name.starts_with(known.target)))
        .with_context(|| format!("{}: its build links no {}", known.name, known.target))?;
    let units = capture.only(target).units;
    ensure!(!units.is_empty(), "{}: nothing was captured", known.name);
    Ok(units)
}

/// Runs the program's build under `racewarden capture`, in a copy of its sources.
fn build(program: &Program, places: &Places, folder: &Path) -> anyhow::Result<()> {
    let source = places.sources.join(program.package);
    ensure!(source.is_dir(), "{}: not there: run bench/fetch", source.display());
    let racewarden = std::fs::canonicalize(&places.racewarden)
        .with_context(|| format!("{}: build racewarden first", places.racewarden.display()))?;
    std::fs::create_dir_all(folder.parent().unwrap_or(folder))?;
    let copied = Command::new("cp").arg("-a").arg(&source).arg(folder).status()?;
    ensure!(copied.success(), "cannot copy {}", source.display());
    eprintln!("{}: capturing its build", program.name);
    let output = Command::new(racewarden)
        .args(["capture", "--", "sh", "-c", program.build])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let last = errors.lines().last().unwrap_or_default();
    ensure!(output.status.success(), "its build ended with {}: {last}", output.status);
    Ok(())
}
