//! Races that one recorded run implies but did not show (RECIPE).
#![forbid(unsafe_code)]

pub mod order;
