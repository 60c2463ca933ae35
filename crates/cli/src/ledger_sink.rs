//! Where a command's findings are kept, and how they get there.
//!
//! Every engine command ends the same way:
//!
//! ```ignore
//! let found_by = FoundBy::new(Engine::Run, &capture).program(&args.inputs, &args.arguments, None);
//! args.output.emit_recorded(&mut report, &found_by)
//! ```
//!
//! (and `.complete()` for a check of the whole target without filters.)
//!
//! That records the report, gives its races their ledger names (`R1`…), takes over what people
//! suppressed, prints it and yields the exit status. The engine's own verdicts stay as they are.
//!
//! The ledger is the one `--ledger` or `RACEWARDEN_LEDGER` names, else the project's
//! (`.racewarden/ledger.db`), else, for sources beside no project, one per program in the cache;
//! the commands that read (`races`, `show`, `replay`…) then take the one that was written last
//! from the same folder. A ledger that cannot be written is a message, never a failure.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use racewarden_capture::{Capture, Store};
use racewarden_finding::{Engine, NoteKind, Report, Verdict};
use racewarden_ledger::{BlockingLedger, CaptureInfo, Program, Recorded, RunInfo, UnitInfo};
use sha2::{Digest, Sha256};

use crate::inputs::{InputArgs, cache_directory};

#[derive(clap::Args, Debug, Clone, Default)]
pub struct LedgerArgs {
    /// Where races are kept: an SQLite file or a PostgreSQL URL [default: the project's]
    #[arg(long, value_name = "FILE|URL", env = "RACEWARDEN_LEDGER", hide_env_values = true)]
    pub ledger: Option<String>,

    /// Keep nothing of this in a ledger
    #[arg(long, conflicts_with = "ledger")]
    pub no_ledger: bool,
}

/// Which command looked at what.
#[derive(Debug, Clone)]
pub struct FoundBy<'a> {
    engine: Engine,
    capture: Option<&'a Capture>,
    target: Option<String>,
    program: Option<Program>,
    complete: bool,
}

impl<'a> FoundBy<'a> {
    pub fn new(engine: Engine, capture: &'a Capture) -> Self {
        FoundBy { engine, capture: Some(capture), target: None, program: None, complete: false }
    }

    /// For findings about something that was not captured here, such as a trace of another tool.
    pub fn without_capture(engine: Engine, target: impl Into<String>) -> Self {
        FoundBy {
            engine,
            capture: None,
            target: Some(target.into()),
            program: None,
            complete: false,
        }
    }

    /// How the program was made and run, for `racewarden replay R1`.
    pub fn program(
        mut self,
        inputs: &InputArgs,
        arguments: &[String],
        stdin: Option<&Path>,
    ) -> Self {
        let here = std::env::current_dir().unwrap_or_default();
        let text = |path: &Path| path.display().to_string();
        self.program = Some(Program {
            directory: text(&here),
            inputs: inputs.inputs.iter().map(|input| text(input)).collect(),
            cflags: inputs.cflags.clone(),
            arguments: arguments.to_vec(),
            stdin: stdin.map(text),
        });
        self
    }

    /// The command would have reported every race that its engine can find in the whole target;
    /// only then can a race that is absent be gone.
    pub fn complete(mut self) -> Self {
        self.complete = true;
        self
    }

    /// The same program looked at in another way, which finds other races (a library's exported
    /// functions as threads): what one way does not find is not gone for the other.
    pub fn variant(mut self, name: &str) -> Self {
        self.target = Some(format!("{} ({name})", self.target()));
        self
    }

    fn target(&self) -> String {
        let captured = || self.capture?.targets.first().map(|target| target.name.clone());
        self.target.clone().or_else(captured).unwrap_or_default()
    }
}

enum Place {
    /// Asked for, or the project's: the user wants to hear what changed there.
    Chosen(String),
    /// In the cache, for one program.
    Cached(PathBuf),
}

impl LedgerArgs {
    /// Records `report` and renames its races; says on standard error what is new.
    pub fn record(&self, report: &mut Report, found_by: &FoundBy) {
        if self.no_ledger {
            return;
        }
        let Some(place) = self.place_to_write(found_by) else { return };
        if let Err(error) = record_at(&place, report, found_by) {
            eprintln!("racewarden: not recorded: {error:#}");
        }
    }

    /// Opens the ledger for a command that reads or changes it.
    pub fn open(&self) -> anyhow::Result<BlockingLedger> {
        let place = self.place()?;
        // A mistyped name must not become an empty ledger; the project's own may be new.
        let is_file = !place.contains("://");
        if self.ledger.is_some() && is_file && !Path::new(&place).is_file() {
            bail!("{place}: there is no such ledger");
        }
        Ok(BlockingLedger::open(&place)?)
    }

    /// The ledger that `open` opens: a file or URL.
    pub fn place(&self) -> anyhow::Result<String> {
        if let Some(ledger) = &self.ledger {
            return Ok(ledger.clone());
        }
        if let Some(path) = project_ledger() {
            return Ok(path);
        }
        let pointer = last_pointer();
        match pointer.as_ref().and_then(|file| std::fs::read_to_string(file).ok()) {
            Some(path) if Path::new(&path).exists() => Ok(path),
            _ => bail!(
                "no ledger here: run `racewarden hunt` or another engine first, or name one with \
                 --ledger"
            ),
        }
    }

    fn place_to_write(&self, found_by: &FoundBy) -> Option<Place> {
        if let Some(ledger) = &self.ledger {
            return Some(Place::Chosen(ledger.clone()));
        }
        if let Some(path) = project_ledger() {
            return Some(Place::Chosen(path));
        }
        let capture = found_by.capture?;
        let mut hash = Sha256::new();
        for unit in &capture.units {
            hash.update(unit.directory.join(&unit.source).as_os_str().as_encoded_bytes());
            hash.update([0]);
        }
        let name = format!("{}.db", short_hex(hash));
        Some(Place::Cached(cache_directory().join("ledgers").join(name)))
    }
}

fn project_ledger() -> Option<String> {
    let store = Store::find(&std::env::current_dir().ok()?)?;
    Some(store.root().join("ledger.db").to_str()?.to_owned())
}

/// The file that names the ledger written last from this folder.
fn last_pointer() -> Option<PathBuf> {
    let folder = std::env::current_dir().ok()?;
    Some(cache_directory().join("ledgers").join(format!("last-{}", hash_of_path(&folder))))
}

/// A short name for what the cache keeps about `path`.
pub fn hash_of_path(path: &Path) -> String {
    short_hex(Sha256::new().chain_update(path.as_os_str().as_encoded_bytes()))
}

fn short_hex(hash: Sha256) -> String {
    hash.finalize().iter().take(10).map(|byte| format!("{byte:02x}")).collect()
}

fn record_at(place: &Place, report: &mut Report, found_by: &FoundBy) -> anyhow::Result<()> {
    let url = match place {
        Place::Chosen(url) => url.clone(),
        Place::Cached(path) => path.to_str().context("the cache's path is not UTF-8")?.to_owned(),
    };
    let ledger = BlockingLedger::open(&url)?;
    let capture_is_whole = !report
        .notes
        .iter()
        .any(|note| note.engine == Engine::Capture && note.kind == NoteKind::Weakens);
    let run = RunInfo {
        command: std::env::args().collect::<Vec<_>>().join(" "),
        program: found_by.program.clone(),
        capture: found_by.capture.map(|capture| capture_info(capture, place)),
        complete: found_by.complete && capture_is_whole,
        ..RunInfo::new(found_by.engine, found_by.target())
    };
    let recorded = ledger.record_report(report, &run)?;
    let aside = recorded.races.iter().filter(|known| known.verdict == Verdict::Suppressed);
    let aside: Vec<&str> = aside.map(|known| known.id.as_str()).collect();
    let said = if aside.is_empty() { BTreeMap::new() } else { ledger.said_by_people(&aside)? };
    for (race, known) in report.races.iter_mut().zip(&recorded.races) {
        race.id.clone_from(&known.id);
        if known.verdict == Verdict::Suppressed {
            race.verdict = Verdict::Suppressed;
            race.evidence.extend(said.get(&known.id).cloned());
        }
    }
    report.finish();
    match place {
        Place::Chosen(_) => tell(&recorded),
        Place::Cached(path) => {
            if let Some(pointer) = last_pointer() {
                std::fs::write(&pointer, path.as_os_str().as_encoded_bytes())
                    .with_context(|| format!("{}", pointer.display()))?;
            }
        }
    }
    Ok(())
}

/// What changed in the ledger, when something did that a report does not show.
fn tell(recorded: &Recorded) {
    let lists = [
        ("new", &recorded.new),
        ("came back", &recorded.regressions),
        ("fixed", &recorded.fixed),
        ("obsolete", &recorded.obsolete),
    ];
    let said: Vec<String> = lists
        .into_iter()
        .filter(|(_, ids)| !ids.is_empty())
        .map(|(word, ids)| match ids.as_slice() {
            few if few.len() <= 8 => format!("{word} {}", few.join(" ")),
            many => format!("{word} {} races", many.len()),
        })
        .collect();
    if !said.is_empty() {
        eprintln!("ledger: {}", said.join(", "));
    }
}

fn capture_info(capture: &Capture, place: &Place) -> CaptureInfo {
    let mut units: Vec<UnitInfo> = capture
        .units
        .iter()
        .map(|unit| UnitInfo { source: unit.source.display().to_string(), hash: unit.hash.clone() })
        .collect();
    units.sort();
    let mut hash = Sha256::new();
    for unit in &units {
        hash.update(&unit.hash);
    }
    let label = match place {
        Place::Chosen(_) => revision().unwrap_or_default(),
        Place::Cached(_) => String::new(),
    };
    CaptureInfo { hash: short_hex(hash), label, units }
}

/// The revision of the sources, when git knows it.
fn revision() -> Option<String> {
    let output = std::process::Command::new("git")
        .args(["describe", "--always", "--dirty", "--tags"])
        .stderr(std::process::Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
