//! What tests share: never shipped.

#![forbid(unsafe_code)]

pub mod command;
pub mod engines;
mod hive;
pub mod hunt;
pub mod marks;
mod postgres;
pub mod score;

pub use hive::{HiveProcess, LoadResult, collect_tickets, send_reports, send_reports_counting};
pub use postgres::Postgres;
