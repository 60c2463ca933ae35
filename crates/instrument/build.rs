//! Gives the passes a revision: a digest of their sources, part of every cached object's name, so that
//! a changed pass never meets an object of an older one.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

fn main() {
    // Build scripts run in their crate's folder, wherever they were compiled.
    let sources = Path::new("src").to_owned();
    println!("cargo::rerun-if-changed={}", sources.display());
    let mut files: Vec<PathBuf> = std::fs::read_dir(&sources)
        .unwrap_or_else(|error| panic!("{}: {error}", sources.display()))
        .map(|entry| entry.unwrap_or_else(|error| panic!("{}: {error}", sources.display())).path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    files.sort();
    let mut digest = DefaultHasher::new();
    for file in files {
        std::fs::read(&file)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
            .hash(&mut digest);
    }
    println!("cargo::rustc-env=RACEWARDEN_PASSES={:016x}", digest.finish());
}
