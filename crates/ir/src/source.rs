//! Where an instruction stands in the source, and how the programmer named what it touches.

use serde::{Deserialize, Serialize};

use crate::{NameId, SourceId};

/// A position in the source, innermost where code was put into its caller: the way out is in
/// [`crate::Function::inlined`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SourceLoc {
    pub file: NameId,
    pub line: u32,
    pub column: u32,
}

/// How code got where it is that was written in another function.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Inlined {
    pub source: SourceId,
    /// Innermost first; never empty.
    pub frames: Vec<InlinedFrame>,
}

/// A function that was put into its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct InlinedFrame {
    /// Its name as the programmer wrote it.
    pub function: NameId,
    /// Where it was called.
    pub call: SourceLoc,
}

/// An access path in source terms: `conn->peer.addr[i]` for a load or store.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FieldPath {
    pub text: NameId,
    /// The type-level name of the accessed field (`struct conn.peer.addr`), empty name when the
    /// access is not to a field. Two paths to one field of one type share it.
    pub field: NameId,
    /// The field's name in the innermost type that has a name (`struct address.addr`): the same
    /// whether the access goes through that type or through one that it is part of.
    pub inner: NameId,
}
