//! Files by digest, in folders of bounded size.
//!
//! A file begins with the digest of what follows; one that does not is not read. Files are written
//! beside and renamed, so that whoever reads at the same time sees all of one or none. When a
//! folder has grown past [`MOST_BYTES`], the files that were not used for longest go.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use racewarden_analysis::{Found, Kept, Outline, Scene, Solved, Summaries};
use racewarden_ir::Module;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::folder::trim;

/// Bytes in one folder before old files go.
const MOST_BYTES: u64 = 512 << 20;

/// Where units' views, their modules, whole results, what is taken over by similar programs and what
/// need not be watched are.
const FOLDERS: [&str; 9] = [
    "units",
    MODULES,
    "results",
    POINTS,
    SUMMARIES,
    FOUND,
    OUTLINES,
    SCENES,
    crate::unwatched::FOLDER,
];

pub const MODULES: &str = "modules";
pub const POINTS: &str = "points";
pub const SUMMARIES: &str = "summaries";
pub const FOUND: &str = "found";
pub const OUTLINES: &str = "outlines";
pub const SCENES: &str = "scenes";

const DIGEST_BYTES: usize = 32;

/// A file's name.
pub struct Key(String);

impl Key {
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Key {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Key::from_digest(hash)
    }

    pub fn from_digest(hash: Sha256) -> Key {
        Key::from_bytes(&hash.finalize().into())
    }

    /// As it is written down.
    pub fn name(&self) -> &str {
        &self.0
    }

    pub fn from_bytes(digest: &[u8; DIGEST_BYTES]) -> Key {
        Key(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

pub struct Cache {
    root: PathBuf,
    most_bytes: u64,
}

impl Kept for Cache {
    fn summaries(&self, key: &racewarden_analysis::Digest) -> Option<Summaries> {
        self.get(SUMMARIES, &Key::from_bytes(key))
    }

    fn keep_summaries(&self, key: &racewarden_analysis::Digest, summaries: &Summaries) {
        self.put(SUMMARIES, &Key::from_bytes(key), summaries);
    }

    fn found(&self, key: &racewarden_analysis::Digest) -> Option<Found> {
        self.get(FOUND, &Key::from_bytes(key))
    }

    fn keep_found(&self, key: &racewarden_analysis::Digest, found: &Found) {
        self.put(FOUND, &Key::from_bytes(key), found);
    }

    fn points(&self, key: &racewarden_analysis::Digest) -> Option<Solved> {
        self.get(POINTS, &Key::from_bytes(key))
    }

    fn keep_points(&self, key: &racewarden_analysis::Digest, points: &Solved) {
        self.put(POINTS, &Key::from_bytes(key), points);
    }

    fn outline(&self, key: &racewarden_analysis::Digest) -> Option<Outline> {
        self.get(OUTLINES, &Key::from_bytes(key))
    }

    fn keep_outline(&self, key: &racewarden_analysis::Digest, outline: &Outline) {
        self.put(OUTLINES, &Key::from_bytes(key), outline);
    }

    fn scene(&self, key: &racewarden_analysis::Digest) -> Option<Scene> {
        self.get(SCENES, &Key::from_bytes(key))
    }

    fn keep_scene(&self, key: &racewarden_analysis::Digest, scene: &Scene) {
        self.put(SCENES, &Key::from_bytes(key), scene);
    }

    fn module(&self, name: &str) -> Option<Module> {
        self.get(MODULES, &Key(name.to_owned()))
    }
}

impl Cache {
    pub fn new(root: &Path) -> Cache {
        Cache { root: root.to_owned(), most_bytes: MOST_BYTES }
    }

    pub fn get<T: DeserializeOwned>(&self, folder: &str, key: &Key) -> Option<T> {
        let path = self.root.join(folder).join(&key.0);
        let bytes = std::fs::read(&path).ok()?;
        let (digest, content) = bytes.split_at_checked(DIGEST_BYTES)?;
        if Sha256::digest(content)[..] != *digest {
            return None;
        }
        let value = postcard::from_bytes(content).ok()?;
        // It was used now; where that cannot be written down it only goes sooner.
        if let Ok(file) = std::fs::File::options().append(true).open(&path) {
            let _ = file.set_modified(SystemTime::now());
        }
        Some(value)
    }

    /// Keeps the value if that is possible.
    pub fn put<T: Serialize>(&self, folder: &str, key: &Key, value: &T) {
        let folder = self.root.join(folder);
        // A full or read-only disk costs the next check its time, and this one nothing.
        let _ = self.write(&folder, key, value);
    }

    fn write<T: Serialize>(&self, folder: &Path, key: &Key, value: &T) -> std::io::Result<()> {
        let content = postcard::to_stdvec(value).map_err(std::io::Error::other)?;
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&Sha256::digest(&content))?;
        file.write_all(&content)?;
        file.persist(folder.join(&key.0))?;
        Ok(())
    }

    /// Sees to it that the folders do not grow without end; now and then, as keys have it.
    pub fn trim(&self, key: &Key) {
        if key.0.starts_with('0') {
            FOLDERS.iter().for_each(|folder| trim(&self.root.join(folder), self.most_bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key::of([name.as_bytes()])
    }

    #[test]
    fn what_was_put_is_there_and_what_was_damaged_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::new(folder.path());
        let value = vec!["one".to_owned(), "two".to_owned()];
        assert_eq!(cache.get::<Vec<String>>("things", &key("a")), None);
        cache.put("things", &key("a"), &value);
        assert_eq!(cache.get::<Vec<String>>("things", &key("a")), Some(value));
        let path = folder.path().join("things").join(key("a").0);
        let whole = std::fs::read(&path).expect("the file");
        for damaged in [&whole[..whole.len() - 1], &whole[..5], &[]] {
            std::fs::write(&path, damaged).expect("writable");
            assert_eq!(cache.get::<Vec<String>>("things", &key("a")), None);
        }
        let mut flipped = whole;
        *flipped.last_mut().expect("not empty") ^= 1;
        std::fs::write(&path, flipped).expect("writable");
        assert_eq!(cache.get::<Vec<String>>("things", &key("a")), None);
    }

    #[test]
    fn old_files_go_when_there_are_too_many() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache { root: folder.path().to_owned(), most_bytes: 4000 };
        for number in 0..8u64 {
            let name = key(&number.to_string());
            cache.put("things", &name, &vec![number as u8; 600]);
            let path = folder.path().join("things").join(&name.0);
            let file = std::fs::File::options().append(true).open(path).expect("the file");
            let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1000 + number);
            file.set_modified(time).expect("a time");
        }
        trim(&folder.path().join("things"), cache.most_bytes);
        let there =
            |number: u64| cache.get::<Vec<u8>>("things", &key(&number.to_string())).is_some();
        assert!(!there(0) && !there(4));
        assert!(there(6) && there(7));
    }
}
