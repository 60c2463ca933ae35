//! What can go wrong before there is a model.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The user must name another file, or mend its permissions.
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },

    /// The user gave a file that is not LLVM 22 bitcode or assembly, or is damaged.
    #[error("{}: not readable as LLVM bitcode: {message}", path.display())]
    NotBitcode { path: PathBuf, message: String },

    /// LLVM refused to prepare a module that it had accepted: a defect on our side.
    #[error("{module}: preparing the bitcode failed: {message}")]
    Prepare { module: String, message: String },
}
