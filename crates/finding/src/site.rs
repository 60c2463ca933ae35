//! Where a memory access stands in the source, and what its thread held there.

use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

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

/// The calls that lead to an access, innermost first.
///
/// A report of a large program has tens of thousands of races between far fewer accesses, and frames are
/// most of what is known of one: copies of a stack share them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Stack(Arc<[Frame]>);

impl Deref for Stack {
    type Target = [Frame];

    fn deref(&self) -> &[Frame] {
        &self.0
    }
}

impl From<Vec<Frame>> for Stack {
    fn from(frames: Vec<Frame>) -> Self {
        Stack(frames.into())
    }
}

impl FromIterator<Frame> for Stack {
    fn from_iter<I: IntoIterator<Item = Frame>>(frames: I) -> Self {
        Stack(frames.into_iter().collect())
    }
}

impl<'a> IntoIterator for &'a Stack {
    type Item = &'a Frame;
    type IntoIter = std::slice::Iter<'a, Frame>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl Serialize for Stack {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0[..].serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Stack {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<Frame>::deserialize(deserializer).map(Stack::from)
    }
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
    pub stack: Stack,
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
