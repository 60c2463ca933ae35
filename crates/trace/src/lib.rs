//! The event traces that `predict` reads: the model, the STD text format and the binary format.
//!
//! [`OrderTrace`] is what every order-based analysis needs and no more: who did what to which
//! object, in the order of one run. The STD text format ([`text`]) carries exactly that.
#![forbid(unsafe_code)]

pub mod binary;
mod order;
pub mod text;

pub use order::{Event, Kind, Location, OrderTrace, ThreadId};
