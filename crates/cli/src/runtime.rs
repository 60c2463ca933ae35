//! The runtime archives that the binary carries, unpacked to the cache when first needed.

use std::path::PathBuf;

use anyhow::Context;
use sha2::{Digest, Sha256};

use crate::inputs::cache_directory;

/// Which runtime a program is linked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code)]
pub enum RuntimeMode {
    Detect,
    Record,
    Gate,
}

impl RuntimeMode {
    fn content(self) -> &'static [u8] {
        match self {
            RuntimeMode::Detect => include_bytes!(concat!(env!("OUT_DIR"), "/runtime-detect.a")),
            RuntimeMode::Record => include_bytes!(concat!(env!("OUT_DIR"), "/runtime-record.a")),
            RuntimeMode::Gate => include_bytes!(concat!(env!("OUT_DIR"), "/runtime-gate.a")),
        }
    }

    /// The archive's path in the cache; its name changes with its content.
    pub fn archive(self) -> anyhow::Result<PathBuf> {
        let content = self.content();
        let digest = Sha256::digest(content);
        let name: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        let directory = cache_directory().join("runtime");
        let path = directory.join(format!("lib{name}.a"));
        if path.metadata().is_ok_and(|metadata| metadata.len() == content.len() as u64) {
            return Ok(path);
        }
        let place = || format!("cannot unpack the runtime to {}", path.display());
        std::fs::create_dir_all(&directory).with_context(place)?;
        let partial = tempfile::NamedTempFile::new_in(&directory).with_context(place)?;
        std::fs::write(partial.path(), content).with_context(place)?;
        partial.persist(&path).with_context(place)?;
        Ok(path)
    }
}

/// What instrumented objects and programs may take before old ones go.
const MOST_BUILT_BYTES: u64 = 4 << 30;

/// Where instrumented objects and programs are kept, with room for more.
pub fn build_cache() -> PathBuf {
    let folder = cache_directory().join("instrumented");
    racewarden_recheck::folder::trim(&folder, MOST_BUILT_BYTES);
    folder
}
