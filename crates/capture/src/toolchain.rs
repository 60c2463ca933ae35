//! The clang-22 that repeats the user's compilations.

use std::path::{Path, PathBuf};

use crate::CaptureError;

#[derive(Debug, Clone)]
pub struct Toolchain {
    pub clang: PathBuf,
    pub clangxx: PathBuf,
}

impl Toolchain {
    /// Finds clang-22 on `PATH`, then where Debian keeps it. `RACEWARDEN_CLANG` overrides.
    pub fn find() -> Result<Self, CaptureError> {
        let clang = std::env::var_os("RACEWARDEN_CLANG")
            .map(PathBuf::from)
            .or_else(|| on_path("clang-22"))
            .or_else(|| existing("/usr/lib/llvm-22/bin/clang"))
            .ok_or(CaptureError::MissingTool { tool: "clang-22".into(), package: "clang-22" })?;
        let name = clang.to_string_lossy();
        let clangxx = match name.strip_suffix("clang-22") {
            Some(prefix) => PathBuf::from(format!("{prefix}clang++-22")),
            None => PathBuf::from(format!("{name}++")),
        };
        Ok(Toolchain { clang, clangxx })
    }

    /// Another program of the same LLVM: `llvm-ar`, `opt`.
    pub fn companion(&self, name: &str) -> PathBuf {
        let versioned = format!("{name}-22");
        on_path(&versioned)
            .or_else(|| existing(&format!("/usr/lib/llvm-22/bin/{name}")))
            .unwrap_or_else(|| PathBuf::from(versioned))
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())
}

fn existing(path: &str) -> Option<PathBuf> {
    Path::new(path).exists().then(|| PathBuf::from(path))
}
