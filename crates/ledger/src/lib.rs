//! The ledger: one store of races that every engine adds evidence to.
//!
//! Races meet by fingerprint: one entry per unordered pair, whichever engine saw it, with a stable
//! name (`R1`…). A report that repeats what is known costs little (`memo`). How a race's state moves
//! is in [`lifecycle`], as pure functions; every move is in the history and can be undone. The store
//! is an SQLite file by default and PostgreSQL by URL; stored formats are frozen by numbered
//! migrations and by fixtures under `tests/`.
//!
//! What it may miss: when lines moved between captures and several races share a fingerprint (one
//! function, one field, same kinds), they are told apart by their order alone, so that inserting
//! one before another swaps their histories.

#![forbid(unsafe_code)]

mod blocking;
mod captures;
mod error;
mod insert;
mod known;
pub mod lifecycle;
mod matching;
mod memo;
mod memory;
mod model;
mod person;
mod places;
mod query;
mod record;
mod reported;
mod rows;
mod spans;
mod store;
mod unseen;

pub use blocking::BlockingLedger;
pub use error::{Error, Result};
pub use lifecycle::{Assessment, Mark, Refusal, State, Status};
pub use model::{
    AuditItem, CaptureDiff, CaptureInfo, CaptureItem, Counts, Entry, EvidenceItem, Filter,
    HistoryItem, Named, Page, Program, Recorded, RunInfo, RunItem, ScheduleItem, Snapshot, Sort,
    UnitInfo, now,
};
pub use store::{Backend, Ledger, shown};
