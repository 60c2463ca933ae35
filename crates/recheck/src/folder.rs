//! Folders of derived files, kept from growing without end.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// When the files of a folder take more than `most_bytes`, removes those that were not used for
/// longest, until half of that is left. A file's time of change says when it was used.
pub fn trim(folder: &Path, most_bytes: u64) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let data = entry.metadata().ok().filter(|data| data.is_file())?;
            Some((data.modified().ok()?, data.len(), entry.path()))
        })
        .collect();
    let mut total: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    if total <= most_bytes {
        return;
    }
    files.sort();
    for (_, bytes, path) in files {
        if total <= most_bytes / 2 {
            return;
        }
        // Another process may have removed it already.
        let _ = std::fs::remove_file(path);
        total -= bytes;
    }
}
