//! Recorded traces: from the streams of a recording to what the predictors reason about.

pub mod detect;
pub mod expr;
pub mod locations;
mod model;
mod operators;
mod order;
mod outside;
pub mod path;
pub mod report;
pub mod scene;
pub mod shape;
mod tracks;
pub mod walk;

pub use detect::{Detector, RecordedPrediction, ValueLimits, predict_recording};
pub use order::{RecordedOrder, recorded_order, with_all_records};
pub use shape::{KnownPairs, SiteFilter};
