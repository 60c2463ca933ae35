//! A capture under way: a folder in the store that the capture and its shims share.
//!
//! ```text
//! sessions/ID/
//!   lock             held by the capture as long as it lives
//!   records/*.json   one per command of the build
//!   unknown-flags    flags clang did not take, one a line
//!   complaints       what went wrong in a shim
//! ```
//!
//! A shim writes its record when its bitcode is in the store. Nothing is kept in memory, so a
//! capture that was killed is finished by the next one.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::CaptureError;
use crate::store::Store;

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
        let records = folder.join("records");
        fs::create_dir_all(&records).map_err(CaptureError::io(&records))?;
        let lock = lock_file(&folder)?;
        lock.lock().map_err(CaptureError::io(&folder))?;
        Ok(Session { folder, bitcode: store.bitcode(), _lock: Some(lock) })
    }

    /// As a shim sees it; `None` when the capture is over.
    pub fn join(folder: PathBuf) -> Option<Session> {
        let root = folder.parent()?.parent()?;
        let bitcode = root.join("bitcode");
        folder.join("records").is_dir().then_some(Session { folder, bitcode, _lock: None })
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

    /// Where the units' bitcode goes.
    pub fn bitcode(&self) -> &Path {
        &self.bitcode
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
