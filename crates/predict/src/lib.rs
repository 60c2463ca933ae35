//! Races that one recorded run implies but did not show (RECIPE).
#![forbid(unsafe_code)]

pub mod order;
pub mod recorded;

pub use recorded::{recorded_order, with_all_records};
