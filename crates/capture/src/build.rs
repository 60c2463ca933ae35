//! Capture of a build: runs it with its tools leading to shims, then makes sense of what they saw.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::intercept::{Interception, intercept};
use crate::objects::referenced;
use crate::record::{Record, Records, read_all};
use crate::resolve::resolve;
use crate::session::Session;
use crate::shim::REAL;
use crate::store::Store;
use crate::tools::tool_of;
use crate::{Capture, CaptureError, CaptureNote, Toolchain};

/// How often a build's progress is looked at.
const GLANCE: Duration = Duration::from_millis(250);

/// A build command to run under capture.
#[derive(Debug, Clone)]
pub struct BuildRequest {
    pub command: Vec<OsString>,
    /// Where things go that every project shares.
    pub cache: PathBuf,
    pub interception: Interception,
}

/// Told how a capture gets on: a database's compilations are counted from the start, a build's as
/// they happen.
pub trait Progress: Sync {
    /// A build's commands captured so far.
    fn seen(&self, commands: usize);
    fn start(&self, total: usize);
    fn step(&self);
    fn finish(&self);
}

/// What a capture did.
#[derive(Debug)]
pub struct BuildOutcome {
    /// All that the project's store holds now.
    pub capture: Capture,
    /// How the build command ended; `None` when there was none.
    pub status: Option<ExitStatus>,
    /// Units that this capture saw, and those of them that clang rejected.
    pub seen: usize,
    pub failed: usize,
    /// Seen units whose bitcode was in the store already.
    pub reused: usize,
    /// An interrupted capture that was finished on the way.
    pub resumed: bool,
}

/// Runs the build in the current directory and captures it into the store.
pub fn capture_build(
    store: &Store,
    request: &BuildRequest,
    progress: &dyn Progress,
) -> Result<BuildOutcome, CaptureError> {
    let toolchain = Toolchain::find()?;
    let session = Session::create(store)?;
    let (program, words) = request.command.split_first().ok_or(CaptureError::NoCommand)?;
    let mut command = first_command(program, &session.folder().join("shims"));
    command.args(words);
    intercept(
        &mut command,
        words,
        session.folder(),
        &request.cache,
        &toolchain,
        request.interception,
    )?;

    let status = match watched(&session, progress, || command.status()) {
        Ok(status) => status,
        Err(error) => {
            // Nothing ran, so there is nothing for a later capture to finish.
            session.close();
            return Err(CaptureError::io(Path::new(program))(error));
        }
    };
    let mut outcome = settle(store, session, Scope::Standing)?;
    outcome.status = Some(status);
    Ok(outcome)
}

/// The build command itself may be a compiler: nothing executes it from inside, so it has to start
/// as its shim.
fn first_command(program: &OsStr, shims: &Path) -> Command {
    let name = Path::new(program).file_name().unwrap_or(program);
    if tool_of(&name.to_string_lossy()).is_none() {
        return Command::new(program);
    }
    let mut command = Command::new(shims.join(name));
    command.arg0(program).env(REAL, program);
    command
}

/// Runs `build` and tells how many records there are meanwhile.
fn watched<T>(session: &Session, progress: &dyn Progress, build: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    let records = session.records();
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                std::thread::park_timeout(GLANCE);
                progress.seen(std::fs::read_dir(&records).map_or(0, |entries| entries.count()));
            }
        });
        let result = build();
        over.store(true, Ordering::Relaxed);
        watcher.thread().unpark();
        progress.finish();
        result
    })
}

/// Which of the recorded units count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Those whose outputs still stand when the build is over.
    Standing,
    /// All of them: nothing was built.
    All,
}

/// Takes the records of `session` and of any that died into the store.
pub(crate) fn settle(
    store: &Store,
    session: Session,
    scope: Scope,
) -> Result<BuildOutcome, CaptureError> {
    let mut sessions = Session::abandoned(store)?;
    let resumed = !sessions.is_empty();
    sessions.push(session);
    let mut seen = Records::default();
    let mut complaints = Vec::new();
    for session in &sessions {
        for record in read_all(&session.records())? {
            seen.add(record);
        }
        complaints.extend(session.complaints());
    }
    if scope == Scope::Standing {
        prune(&mut seen);
    }
    let units = seen.units.values();
    let failed = units.clone().filter(|unit| unit.rejection.is_some()).count();
    let reused = units.filter(|unit| unit.reused).count();
    let count = seen.units.len();
    let mut capture = merge(store, seen)?;
    let told = complaints.into_iter().map(|text| CaptureNote::new(true, text));
    capture.notes.extend(told);
    sessions.into_iter().for_each(Session::close);
    Ok(BuildOutcome { capture, status: None, seen: count, failed, reused, resumed })
}

/// The latest of everything, under the store's lock.
fn merge(store: &Store, seen: Records) -> Result<Capture, CaptureError> {
    let _lock = store.lock()?;
    let mut records = Records::load(store)?;
    records.add(Record { remarks: seen.remarks, ..Record::default() });
    records.units.extend(seen.units);
    records.products.extend(seen.products);
    records.save(store)?;
    let capture = resolve(&records, store)?;
    store.save(&capture)?;
    Ok(capture)
}

/// Leaves out what the build made and threw away: configuration probes, programs it ran once.
fn prune(records: &mut Records) {
    let moved: Vec<(PathBuf, PathBuf)> = records
        .products
        .values()
        .filter(|product| !product.output.exists())
        .filter_map(|product| {
            Some((product.output.clone(), same_inode(&product.output, product.inode)?))
        })
        .collect();
    for (from, to) in moved {
        if let Some(mut product) = records.products.remove(&from) {
            product.output = to.clone();
            records.products.entry(to).or_insert(product);
        }
    }
    // Partial links may go once their bytes are in something that stays.
    records.products.retain(|_, product| product.output.exists() || product.hash.is_some());
    let used = referenced(records);
    records.units.retain(|key, unit| {
        used.contains(key) || unit.object.as_ref().is_some_and(|object| object.exists())
    });
}

/// The file beside `path` that it was renamed to.
fn same_inode(path: &Path, inode: u64) -> Option<PathBuf> {
    let entries = std::fs::read_dir(path.parent()?).ok()?;
    entries.flatten().map(|entry| entry.path()).find(|entry| crate::inspect::inode(entry) == inode)
}
