//! Where an instruction stands in the source, and how the programmer named what it touches.

use serde::{Deserialize, Serialize};

use crate::NameId;

/// A position in the source; with inlined-at links left out, as unoptimised bitcode has none
/// except for always-inline functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SourceLoc {
    pub file: NameId,
    pub line: u32,
    pub column: u32,
}

/// An access path in source terms: `conn->peer.addr[i]` for a load or store.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FieldPath {
    pub text: NameId,
    /// The type-level name of the accessed field (`struct conn.peer.addr`), empty name when the
    /// access is not to a field. Two paths to one field of one type share it.
    pub field: NameId,
}
