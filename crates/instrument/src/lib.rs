//! Instrumented rebuilds of a captured target.
//!
//! [`build_target`] opens each unit's pristine bitcode, lets the mode's [`UnitPass`] change it,
//! optimises, emits an object and links by the target's own recipe with the runtime archive of
//! that mode. Everything is cached by content, so that a second run builds nothing.
//!
//! The modes: [`Detect`] puts LLVM's `tsan` instrumentation in; the record and gate modes name
//! instructions by their ordinal in the prepared function.

mod assembly;
mod borrowed;
mod build;
mod coalesce;
mod computable;
mod containers;
mod covered;
mod derived;
mod detect;
mod error;
mod fetch;
mod flow;
mod gate;
mod gate_access;
mod gate_copies;
mod gate_entries;
mod gate_survey;
mod inline;
mod link;
mod loops;
mod machine;
mod outside;
mod polynomial;
mod prune;
mod record;
mod record_fast;
mod record_loops;
mod record_symbols;
mod repeated;
mod verifier;
mod wide;

pub use build::{BuildRequest, Optimise, UnitPass, build_target};
pub use detect::Detect;
pub use error::InstrumentError;
pub use gate::{Gate, MOST_GATES};
pub use gate_survey::{GateMap, GateRequest, GateSite, survey};
pub use link::runtime_link_arguments;
pub use prune::{Places, PlainAccess};
pub use record::RecordPass;
