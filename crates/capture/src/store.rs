//! A project's store: the folder `.racewarden`, found upward from the current directory like git's.
//!
//! ```text
//! .racewarden/
//!   capture.json       what the engines read: units, targets, notes
//!   records.json       what the build did, from which capture.json is derived
//!   bitcode/HASH.bc    pristine bitcode, named by preprocessed input and flags
//!   files/HASH-name    uncaptured objects and linker scripts that a recipe needs
//!   sessions/ID/       a capture under way, or one that was interrupted
//! ```
//!
//! Everything is written beside and renamed, and what is read, changed and written again is so under
//! `lock`: captures may run at the same time and may be killed at any moment.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Component, Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::{Capture, CaptureError};

const FOLDER: &str = ".racewarden";

#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// The store nearest to `start`, going upward.
    pub fn find(start: &Path) -> Option<Store> {
        start
            .ancestors()
            .map(|folder| folder.join(FOLDER))
            .find(|root| root.is_dir())
            .map(Store::at)
    }

    /// The store nearest to `start`, or a new one in `start`.
    pub fn find_or_create(start: &Path) -> Result<Store, CaptureError> {
        match Store::find(start) {
            Some(store) => store.furnished(),
            None => Store::create(start),
        }
    }

    /// The store in `folder` itself, made when it is not there.
    pub fn create(folder: &Path) -> Result<Store, CaptureError> {
        Store::at(folder.join(FOLDER)).furnished()
    }

    fn furnished(self) -> Result<Store, CaptureError> {
        let store = self;
        for folder in [store.bitcode(), store.files(), store.sessions()] {
            fs::create_dir_all(&folder).map_err(CaptureError::io(&folder))?;
        }
        let ignore = store.root.join(".gitignore");
        if !ignore.exists() {
            write_atomically(&ignore, b"*\n")?;
        }
        Ok(store)
    }

    pub(crate) fn at(root: PathBuf) -> Store {
        Store { root }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder that the project's other files are told relative to.
    pub fn project(&self) -> &Path {
        self.root.parent().unwrap_or(&self.root)
    }

    pub fn bitcode(&self) -> PathBuf {
        self.root.join("bitcode")
    }

    pub(crate) fn files(&self) -> PathBuf {
        self.root.join("files")
    }

    pub(crate) fn sessions(&self) -> PathBuf {
        self.root.join("sessions")
    }

    pub fn records(&self) -> PathBuf {
        self.root.join("records.json")
    }

    /// What has been captured so far; empty when nothing was.
    pub fn load(&self) -> Result<Capture, CaptureError> {
        Ok(read_json(&self.root.join("capture.json"))?.unwrap_or_default())
    }

    pub fn save(&self, capture: &Capture) -> Result<(), CaptureError> {
        write_json(&self.root.join("capture.json"), capture)
    }

    /// Held while the stored records are read, changed and written.
    pub fn lock(&self) -> Result<File, CaptureError> {
        let path = self.root.join("lock");
        let file = File::create(&path).map_err(CaptureError::io(&path))?;
        file.lock().map_err(CaptureError::io(&path))?;
        Ok(file)
    }
}

/// Reads a JSON file; `None` when there is none.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, CaptureError> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(CaptureError::io(path)(error)),
    };
    serde_json::from_slice(&text).map(Some).map_err(|error| CaptureError::Damaged {
        path: path.to_owned(),
        message: error.to_string(),
    })
}

pub(crate) fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), CaptureError> {
    let text = serde_json::to_vec(value).map_err(|error| CaptureError::Damaged {
        path: path.to_owned(),
        message: error.to_string(),
    })?;
    write_atomically(path, &text)
}

/// Readers see the old file or the new one, never half of it.
pub(crate) fn write_atomically(path: &Path, content: &[u8]) -> Result<(), CaptureError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut partial = tempfile::Builder::new()
        .prefix(".partial-")
        .tempfile_in(folder)
        .map_err(CaptureError::io(folder))?;
    partial.write_all(content).map_err(CaptureError::io(path))?;
    partial.persist(path).map_err(|error| CaptureError::io(path)(error.error))?;
    Ok(())
}

/// SHA-256 as hexadecimal digits.
pub(crate) fn hash_of(content: &[u8]) -> String {
    hex(&Sha256::digest(content))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `path` within `directory` without `.` and `..`, so that one file has one name. Links are not
/// followed: the build's own naming is kept.
pub(crate) fn absolute(directory: &Path, path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in directory.join(path).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}
