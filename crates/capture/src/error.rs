use std::path::PathBuf;

/// Why there is no capture. The text says who must act.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    #[error("{tool} is not installed; install it with `apt-get install {package}`")]
    MissingTool { tool: String, package: &'static str },
    #[error("{0}: an archive or a collection of units, which nothing links into a program")]
    NotLinked(String),
    #[error("{target}: no object given for unit {unit}")]
    NoObject { target: String, unit: usize },
    #[error("no build command given")]
    NoCommand,
    #[error("{path}: no such file", path = .0.display())]
    NoSuchFile(PathBuf),
    #[error("{path}: not a C or C++ source, bitcode (.bc, .ll) or captured target", path = .0.display())]
    UnknownInput(PathBuf),
    #[error("{path}: cannot be read as part of a capture: {message}", path = .path.display())]
    Damaged { path: PathBuf, message: String },
    #[error("{path}: {message}", path = .path.display())]
    Rejected { path: PathBuf, message: String },
    #[error("{path}: {source}", path = .path.display())]
    Io { path: PathBuf, source: std::io::Error },
}

impl CaptureError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| CaptureError::Io { path, source }
    }
}
