//! A capture under way: a folder in the store that the capture and its shims share.
//!
//! ```text
//! sessions/ID/
//!   lock             held by the capture as long as it lives
//!   records/*.json   one per command of the build
//!   queue/HASH.json  a compilation still to be made, from queue/HASH.text
//!   unknown-flags    flags clang did not take, one a line
//!   complaints       what went wrong in a shim
//! ```
//!
//! Nothing else is kept in memory, so a capture that was killed is finished by the next one.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tempfile::TempPath;

use crate::CaptureError;
use crate::repeat::{Compilation, outcome};
use crate::store::{Store, read_json, write_json};

/// A compilation in the queue.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    pub compilation: Compilation,
    /// What the user's command made from it. Gone means it may have been a probe: not urgent.
    pub made: PathBuf,
}

#[derive(Debug)]
pub(crate) struct Session {
    folder: PathBuf,
    bitcode: PathBuf,
    /// Released when the process ends, however it ends.
    _lock: Option<File>,
}

impl Session {
    pub fn create(store: &Store) -> Result<Session, CaptureError> {
        // Nobody looks for abandoned sessions while this one is not locked yet.
        let _quiet = store.lock()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let folder = store.sessions().join(format!("{now:024}-{}", std::process::id()));
        for part in ["records", "queue"] {
            let part = folder.join(part);
            fs::create_dir_all(&part).map_err(CaptureError::io(&part))?;
        }
        let lock = lock_file(&folder)?;
        lock.lock().map_err(CaptureError::io(&folder))?;
        Ok(Session { folder, bitcode: store.bitcode(), _lock: Some(lock) })
    }

    /// As a shim sees it; `None` when the capture is over.
    pub fn join(folder: PathBuf) -> Option<Session> {
        let root = folder.parent()?.parent()?;
        let bitcode = root.join("bitcode");
        folder.join("queue").is_dir().then_some(Session { folder, bitcode, _lock: None })
    }

    /// Sessions whose capture died. They are the caller's from now on.
    pub fn abandoned(store: &Store) -> Result<Vec<Session>, CaptureError> {
        let _quiet = store.lock()?;
        let Ok(entries) = fs::read_dir(store.sessions()) else { return Ok(Vec::new()) };
        let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        folders.sort();
        let mut sessions = Vec::new();
        for folder in folders {
            // Its owner may be removing it at this moment.
            let Ok(lock) = lock_file(&folder) else { continue };
            if lock.try_lock().is_ok() && folder.is_dir() {
                sessions.push(Session { folder, bitcode: store.bitcode(), _lock: Some(lock) });
            }
        }
        Ok(sessions)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn records(&self) -> PathBuf {
        self.folder.join("records")
    }

    fn queue(&self) -> PathBuf {
        self.folder.join("queue")
    }

    pub fn bitcode_of(&self, hash: &str) -> PathBuf {
        self.bitcode.join(format!("{hash}.bc"))
    }

    /// Whether the bitcode called `hash` is still to be made.
    pub fn lacks(&self, hash: &str) -> bool {
        outcome(&self.bitcode_of(hash)).is_none()
    }

    /// A new file for a prepared text; it goes away unless it is queued.
    pub fn text_file(&self) -> Result<TempPath, CaptureError> {
        let queue = self.queue();
        let file = tempfile::Builder::new().prefix(".text-").tempfile_in(&queue);
        Ok(file.map_err(CaptureError::io(&queue))?.into_temp_path())
    }

    /// The text first, then the job: a job that can be seen can be done.
    pub fn enqueue(
        &self,
        hash: &str,
        compilation: &Compilation,
        text: TempPath,
        made: &Path,
    ) -> Result<(), CaptureError> {
        let place = self.text_of(hash);
        text.persist(&place).map_err(|error| CaptureError::io(&place)(error.error))?;
        let job = Job { compilation: compilation.clone(), made: made.to_owned() };
        write_json(&self.queue().join(format!("{hash}.json")), &job)
    }

    /// The hashes of the queued jobs.
    pub fn queued(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.queue()) else { return Vec::new() };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut hashes: Vec<String> =
            names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned)).collect();
        hashes.retain(|hash| !hash.starts_with('.'));
        hashes.sort();
        hashes
    }

    pub fn job(&self, hash: &str) -> Result<Option<Job>, CaptureError> {
        read_json(&self.queue().join(format!("{hash}.json")))
    }

    pub fn text_of(&self, hash: &str) -> PathBuf {
        self.queue().join(format!("{hash}.text"))
    }

    /// The job is done or not wanted.
    pub fn dequeue(&self, hash: &str) {
        // A file that is gone already is what is wanted.
        let _ = fs::remove_file(self.queue().join(format!("{hash}.json")));
        let _ = fs::remove_file(self.text_of(hash));
    }

    pub fn unknown_flags(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.join("unknown-flags")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub fn learn_unknown_flags(&self, flags: &[String]) -> Result<(), CaptureError> {
        flags.iter().try_for_each(|flag| self.append("unknown-flags", flag))
    }

    /// Something went wrong in a shim. The build must not suffer, so it is told afterwards.
    pub fn complain(&self, text: &str) {
        if let Err(error) = self.append("complaints", text) {
            eprintln!("racewarden: {text} ({error})");
        }
    }

    pub fn complaints(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.join("complaints")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn append(&self, file: &str, line: &str) -> Result<(), CaptureError> {
        let path = self.folder.join(file);
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path)
            .map_err(CaptureError::io(&path))?;
        file.write_all(format!("{}\n", line.replace('\n', " ")).as_bytes())
            .map_err(CaptureError::io(&path))
    }

    /// Everything is in the store's records; the folder goes.
    pub fn close(self) {
        // What cannot be removed now is found abandoned, and harmless, by the next capture.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn lock_file(folder: &Path) -> Result<File, CaptureError> {
    let path = folder.join("lock");
    File::create(&path).map_err(CaptureError::io(&path))
}
