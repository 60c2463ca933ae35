//! Recorded traces: from the streams of a recording to what the predictors reason about.

pub mod locations;
mod order;

pub use order::{RecordedOrder, recorded_order};
