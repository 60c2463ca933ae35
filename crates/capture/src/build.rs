//! Capture of a build: runs it, and beside it the repeated compilations.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rayon::prelude::*;

use crate::intercept::{Interception, intercept};
use crate::objects::referenced;
use crate::record::{Record, Records, read_all};
use crate::repeat::outcome;
use crate::resolve::resolve;
use crate::session::Session;
use crate::store::Store;
use crate::{Capture, CaptureError, CaptureNote, Toolchain};

/// How often the queue is looked at when it was empty.
const PAUSE: Duration = Duration::from_millis(15);

/// A build command to run under capture.
#[derive(Debug, Clone)]
pub struct BuildRequest {
    pub command: Vec<OsString>,
    /// Where things go that every project shares.
    pub cache: PathBuf,
    pub interception: Interception,
}

/// Told while the queue is worked off after the build.
pub trait Progress: Sync {
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
    let mut command = Command::new(program);
    command.args(words);
    intercept(
        &mut command,
        words,
        session.folder(),
        &request.cache,
        &toolchain,
        request.interception,
    )?;

    let worker = Worker {
        session: &session,
        toolchain: &toolchain,
        busy: Mutex::default(),
        made: Mutex::default(),
    };
    let status =
        worker.during(|| command.status().map_err(CaptureError::io(Path::new(program))))?;
    let made = worker.made.into_inner().unwrap_or_default();
    let mut result = settle(store, session, &toolchain, made, Scope::Standing, progress)?;
    result.status = Some(status);
    Ok(result)
}

/// Which of the recorded units count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Those whose outputs still stand when the build is over.
    Standing,
    /// All of them: nothing was built.
    All,
}

/// Takes the records of `session` and of any that died into the store, and makes what bitcode is
/// still missing.
pub(crate) fn settle(
    store: &Store,
    session: Session,
    toolchain: &Toolchain,
    mut made: HashSet<String>,
    scope: Scope,
    progress: &dyn Progress,
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

    let wanted: HashSet<&str> =
        seen.units.values().filter_map(|unit| unit.hash.as_deref()).collect();
    let jobs: Vec<(&Session, String)> = sessions
        .iter()
        .flat_map(|session| session.queued().into_iter().map(move |hash| (session, hash)))
        .filter(|(_, hash)| wanted.contains(hash.as_str()))
        .collect();
    progress.start(jobs.len());
    jobs.par_iter().try_for_each(|(session, hash)| {
        let result = compile_job(session, toolchain, hash);
        progress.step();
        result
    })?;
    progress.finish();
    made.extend(jobs.into_iter().map(|(_, hash)| hash));

    let reused = seen
        .units
        .values()
        .filter(|unit| unit.hash.as_ref().is_some_and(|hash| !made.contains(hash)))
        .count();
    let failed = seen
        .units
        .values()
        .filter(|unit| match &unit.hash {
            Some(hash) => {
                !matches!(outcome(&store.bitcode().join(format!("{hash}.bc"))), Some(Ok(())))
            }
            None => true,
        })
        .count();
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

fn compile_job(session: &Session, toolchain: &Toolchain, hash: &str) -> Result<(), CaptureError> {
    if let Some(job) = session.job(hash)? {
        // A rejection is kept in the store and told when the records are resolved.
        let _kept = job.compilation.compile(
            toolchain,
            &session.text_of(hash),
            &session.bitcode_of(hash),
        )?;
    }
    session.dequeue(hash);
    Ok(())
}

/// Works on the queue while the build runs.
struct Worker<'a> {
    session: &'a Session,
    toolchain: &'a Toolchain,
    busy: Mutex<HashSet<String>>,
    made: Mutex<HashSet<String>>,
}

impl Worker<'_> {
    /// Runs `build` with the queue served beside it.
    fn during<T>(&self, build: impl FnOnce() -> T) -> T {
        let over = AtomicBool::new(false);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        if !self.work_once() {
                            std::thread::sleep(PAUSE);
                        }
                    }
                });
            }
            let result = build();
            over.store(true, Ordering::Relaxed);
            result
        })
    }

    /// One job, if there is one whose product still stands.
    fn work_once(&self) -> bool {
        let Some(hash) = self.claim() else { return false };
        match compile_job(self.session, self.toolchain, &hash) {
            Ok(()) => {
                self.made.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).insert(hash);
            }
            Err(error) => self.session.complain(&error.to_string()),
        }
        true
    }

    fn claim(&self) -> Option<String> {
        let mut busy = self.busy.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        for hash in self.session.queued() {
            if busy.contains(&hash) {
                continue;
            }
            let Ok(Some(job)) = self.session.job(&hash) else { continue };
            if job.made.exists() {
                busy.insert(hash.clone());
                return Some(hash);
            }
        }
        None
    }
}
