use std::path::PathBuf;

/// Why there is no instrumented program. The text says which file and who must act.
#[derive(Debug, thiserror::Error)]
pub enum InstrumentError {
    #[error("the capture has no target number {0}")]
    NoSuchTarget(usize),
    #[error("{path}: not readable as LLVM 22 bitcode: {message}", path = .path.display())]
    BadBitcode { path: PathBuf, message: String },
    #[error("{path}: {pass} failed: {message}", path = .path.display())]
    PassFailed { path: PathBuf, pass: String, message: String },
    #[error("LLVM has no x86-64 target machine: {0}")]
    NoMachine(String),
    #[error("linking {target} failed:\n{message}")]
    LinkFailed { target: String, message: String },
    #[error(transparent)]
    Capture(#[from] racewarden_capture::CaptureError),
    #[error("{path}: {source}", path = .path.display())]
    Io { path: PathBuf, source: std::io::Error },
}

impl InstrumentError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| InstrumentError::Io { path, source }
    }
}
