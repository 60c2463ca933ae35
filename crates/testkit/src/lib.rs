//! What tests share: never shipped.

#![forbid(unsafe_code)]

mod hive;
mod postgres;

pub use hive::{HiveProcess, LoadResult, collect_tickets, send_reports};
pub use postgres::Postgres;
