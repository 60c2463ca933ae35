//! The hive (CoRD section 3.1): keeps projects, gated builds and candidate races, hands targets to
//! pods, and judges what they report.
//!
//! The two decisions are pure functions: [`assign`] says who tries what next, [`judge`] what the
//! reports prove. Around them stand a store ([`store`]), a writer that acknowledges a report only
//! once it is on disk ([`writer`]), and the HTTP interface ([`api`]).

#![forbid(unsafe_code)]

mod api;
pub mod assign;
mod auth;
mod dashboard;
mod fleet;
pub mod judge;
pub mod keys;
mod limits;
mod serve;
pub mod store;
mod writer;

pub use api::{State, router};
pub use auth::create_admin_token;
pub use serve::{ServeError, ServeOptions, Tls, serve};
