//! Where a memory access stands in the source, and what its thread held there.

use serde::{Deserialize, Serialize};

/// Whether an access reads or writes. A read-modify-write counts as a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AccessKind {
    Read,
    Write,
}

impl AccessKind {
    /// Two accesses can only race when at least one of them writes.
    pub fn conflicts_with(self, other: AccessKind) -> bool {
        self == AccessKind::Write || other == AccessKind::Write
    }
}

impl std::fmt::Display for AccessKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
        })
    }
}

/// How a lock is held: shared with other readers, or alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LockMode {
    Read,
    Write,
}

/// A lock that was held at an access.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HeldLock {
    /// The lock as the programmer names it (`queue->mutex`).
    pub name: String,
    pub mode: LockMode,
    /// `file:line` of the acquisition, empty when it is not known.
    #[serde(default)]
    pub acquired_at: String,
}

/// One frame of a call stack, innermost first in every list of frames.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Frame {
    pub function: String,
    pub file: String,
    pub line: u32,
}

/// One memory access in the source.
///
/// File paths are as the compiler was given them: they are what the user typed, and the same on
/// every machine that builds the project.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Site {
    pub file: String,
    pub line: u32,
    pub column: u32,
    pub function: String,
    pub access: AccessKind,
    /// The accessed location as the programmer wrote it (`d->priv->stats.rx_p`).
    pub lvalue: String,
    pub atomic: bool,
    pub locks: Vec<HeldLock>,
    /// What runs the access, in words (`main`, `worker (created at pool.c:40, many)`).
    pub thread: String,
    pub stack: Vec<Frame>,
}

impl Site {
    /// `file:line`, as reports and `--why` name a site.
    pub fn location(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }

    /// What identifies the site, whatever engine saw it and in whichever context.
    pub fn key(&self) -> (&str, u32, u32, AccessKind) {
        (&self.file, self.line, self.column, self.access)
    }
}
