//! The binary trace: what a recorded program did, thread by thread, compact and crash-proof.
//!
//! A file is a header ([`Header`]) followed by chunks ([`chunk`]). A chunk holds events of one
//! thread; it is written by one system call, so a program that is killed leaves every
//! chunk up to the last whole one. Within a thread, events are a stream of [`Record`]s
//! ([`record`]) whose addresses and sequence numbers are differences to the previous ones.
//!
//! docs/trace-format.md is the description for other readers; `VERSION` changes with it.

pub mod chunk;
pub mod derived;
mod file;
pub mod record;

pub use file::{FileError, Header, RecordedThread, Recording, Symbol, SymbolKind, compressed};
pub use record::{
    ACCESS_ROOM, AccessTag, BESIDE, Decoder, Encoder, OPENMP_TELLS, Record, SyncOp, UNKNOWN_CODE,
};

/// The first bytes of every trace.
pub const MAGIC: &[u8; 4] = b"RWT\x1a";
pub const VERSION: u16 = 5;
/// The oldest version that is still read: it only lacks what may be left out since.
pub const OLDEST_VERSION: u16 = 2;
