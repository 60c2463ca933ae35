//! The finding model: what every engine writes and every report reads.
//!
//! A [`Site`] is one memory access in the source, a [`Race`] an unordered pair of sites on one
//! object, an [`Evidence`] what one engine knows about it, a [`Verdict`] how far the proof goes.
//! A [`Report`] is the whole result of one command; its JSON form is the report contract
//! (`docs/report-schema.json`), which other people's scripts read: a field may be added, never
//! renamed or dropped.
//!
//! This crate does no IO and knows no engine.

#![forbid(unsafe_code)]

mod conclusion;
mod fingerprint;
mod merge;
mod report;
mod site;
mod verdict;

pub use conclusion::{Conclusion, conclude};
pub use fingerprint::Fingerprint;
pub use merge::{PairIndex, merge_races, settle_placeless};
pub use report::{Engine, Evidence, Note, NoteKind, Race, Report, SCHEMA};
pub use site::{AccessKind, Frame, HeldLock, LockMode, Site, Stack};
pub use verdict::Verdict;
