//! What tests share: never shipped.

#![forbid(unsafe_code)]

mod postgres;

pub use postgres::Postgres;
