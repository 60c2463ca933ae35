//! Gives the static engine a revision: a digest of the sources that its results depend on, part of
//! every kept result's name, so that a changed engine never meets a result of an older one.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// What a result is made by.
const MADE_BY: [&str; 6] =
    ["analysis/src", "bitcode/src", "finding/src", "ir/src", "models", "recheck/src"];

fn main() {
    // Build scripts run in their crate's folder, wherever they were compiled.
    let crates = Path::new("..");
    let mut digest = DefaultHasher::new();
    for folder in MADE_BY {
        let folder = crates.join(folder);
        println!("cargo::rerun-if-changed={}", folder.display());
        let mut files = Vec::new();
        collect(&folder, &mut files);
        files.sort();
        for file in files {
            let bytes = std::fs::read(&file);
            bytes.unwrap_or_else(|error| panic!("{}: {error}", file.display())).hash(&mut digest);
        }
    }
    println!("cargo::rustc-env=RACEWARDEN_ENGINE={:016x}", digest.finish());
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder);
    let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.unwrap_or_else(|error| panic!("{}: {error}", folder.display())).path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "toml")
        {
            files.push(path);
        }
    }
}
