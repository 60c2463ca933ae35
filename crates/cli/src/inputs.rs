//! The inputs that every engine command takes: sources, bitcode, or the name of a captured target.

use std::path::PathBuf;

use anyhow::Context;
use racewarden_capture::{Capture, DirectRequest, capture_inputs};

#[derive(clap::Args, Debug, Clone)]
pub struct InputArgs {
    /// C or C++ sources, bitcode files, or the name of a captured target
    #[arg(value_name = "INPUT", required = true)]
    pub inputs: Vec<PathBuf>,

    /// Compiler flags for the sources, as one shell-quoted string
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true, default_value = "")]
    pub cflags: String,
}

impl InputArgs {
    /// Captures the inputs (or finds their capture) and returns it.
    pub fn resolve(&self) -> anyhow::Result<Capture> {
        let cflags = shlex::split(&self.cflags)
            .with_context(|| format!("--cflags={}: unbalanced quotes", self.cflags))?;
        let request = DirectRequest {
            inputs: self.inputs.clone(),
            cflags,
            cache: cache_directory().join("bitcode"),
        };
        Ok(capture_inputs(&request)?)
    }
}

/// Where derived files go that can always be made again: `RACEWARDEN_CACHE`, else the user's
/// cache folder.
pub fn cache_directory() -> PathBuf {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(cache) = from("RACEWARDEN_CACHE") {
        return PathBuf::from(cache);
    }
    if let Some(cache) = from("XDG_CACHE_HOME") {
        return PathBuf::from(cache).join("racewarden");
    }
    match from("HOME") {
        Some(home) => PathBuf::from(home).join(".cache/racewarden"),
        None => std::env::temp_dir().join("racewarden-cache"),
    }
}
