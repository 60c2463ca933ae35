//! Capture of a `compile_commands.json`: the compilations of a build that is not run.
//!
//! Such a database says nothing about linking, so all its units make one program, named after the
//! database's folder and linked with the usual system libraries. A database of several programs can
//! be analysed as a whole; to run one of them, its build has to be captured.

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::Deserialize;

use crate::build::{BuildOutcome, Progress, Scope, settle};
use crate::invocation::{Invocation, Phase};
use crate::record::{Piece, Product, ProductKind, Record, UnitRecord};
use crate::session::Session;
use crate::shim::{capture_units, write_record};
use crate::store::Store;
use crate::tools::{Tool, tool_of};
use crate::{CaptureError, Language, TargetKind, Toolchain};

/// One entry, as the JSON Compilation Database format has it.
#[derive(Debug, Deserialize)]
struct Entry {
    directory: PathBuf,
    file: PathBuf,
    #[serde(default)]
    arguments: Vec<String>,
    command: Option<String>,
}

/// Captures every compilation that `database` lists into the store.
pub fn capture_database(
    store: &Store,
    database: &Path,
    progress: &dyn Progress,
) -> Result<BuildOutcome, CaptureError> {
    Toolchain::find()?;
    let text = std::fs::read(database).map_err(CaptureError::io(database))?;
    let damaged = |message: String| CaptureError::Damaged { path: database.to_owned(), message };
    let entries: Vec<Entry> =
        serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
    let mut invocations = Vec::new();
    for entry in entries {
        let words = match &entry.command {
            Some(command) if entry.arguments.is_empty() => {
                shlex::split(command).ok_or_else(|| {
                    damaged(format!("{}: unbalanced quotes in its command", entry.file.display()))
                })?
            }
            _ => entry.arguments.clone(),
        };
        let folder = database.parent().unwrap_or(Path::new("."));
        let directory = std::path::absolute(folder.join(&entry.directory))
            .map_err(CaptureError::io(database))?;
        invocations
            .extend(compilation_of(&words, &directory).map(|invocation| (invocation, directory)));
    }

    let (session, units) = capture_compilations(store, &invocations, progress)?;
    let product = Some(whole(database, &units)?);
    write_record(&session, &Record { product, ..Record::default() })?;
    settle(store, session, Scope::All)
}

/// Captures compilations in parallel; every one is on record when this returns.
pub(crate) fn capture_compilations(
    store: &Store,
    invocations: &[(Invocation, PathBuf)],
    progress: &dyn Progress,
) -> Result<(Session, Vec<UnitRecord>), CaptureError> {
    let session = Session::create(store)?;
    progress.start(invocations.len());
    let records: Vec<Result<Record, CaptureError>> = invocations
        .par_iter()
        .map(|(invocation, directory)| {
            let record = record_of(&session, invocation, directory);
            progress.step();
            record
        })
        .collect();
    progress.finish();
    let records = records.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok((session, records.into_iter().flat_map(|record| record.units).collect()))
}

/// The compilation among `words`, past a launcher and the compiler's name.
fn compilation_of(words: &[String], directory: &Path) -> Option<Invocation> {
    let base =
        |word: &String| Path::new(word).file_name().map(|name| name.to_string_lossy().into_owned());
    let launched = usize::from(
        words.first().and_then(base).is_some_and(|name| tool_of(&name) == Some(Tool::Launcher)),
    );
    let compiler = words.get(launched).and_then(base)?;
    let cxx = matches!(tool_of(&compiler), Some(Tool::Compiler { cxx: true }));
    let mut invocation = Invocation::parse(&words[launched + 1..], directory, cxx);
    invocation.phase = Phase::Compile;
    (!invocation.sources.is_empty() || !invocation.remarks.is_empty()).then_some(invocation)
}

fn record_of(
    session: &Session,
    invocation: &Invocation,
    directory: &Path,
) -> Result<Record, CaptureError> {
    let units = capture_units(session, invocation, directory)?;
    let record = Record { units, remarks: invocation.remarks.clone(), product: None };
    write_record(session, &record)?;
    Ok(record)
}

/// What C programs on this system link without saying much about it.
const USUAL_LIBRARIES: [&str; 4] = ["-pthread", "-lm", "-ldl", "-lrt"];

fn whole(database: &Path, units: &[UnitRecord]) -> Result<Product, CaptureError> {
    let database = std::path::absolute(database).map_err(CaptureError::io(database))?;
    let folder = database.parent().unwrap_or(Path::new("/")).to_owned();
    let name = folder.file_name().unwrap_or(std::ffi::OsStr::new("all")).to_owned();
    let libraries = USUAL_LIBRARIES.iter().map(|flag| Piece::Flag((*flag).to_owned()));
    Ok(Product {
        output: folder.join(name),
        directory: folder,
        kind: ProductKind::Target(TargetKind::Executable),
        cxx: units.iter().any(|unit| unit.compilation.language == Language::Cxx),
        pieces: units.iter().map(|unit| Piece::Unit(unit.key())).chain(libraries).collect(),
        hash: None,
        inode: 0,
    })
}
