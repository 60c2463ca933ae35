//! Capture: from a build, a compile database, source files or bitcode to pristine bitcode and link
//! recipes. Everything downstream starts from a [`Capture`]; nothing asks the user to build again.
//!
//! Bitcode is made with optimisation disabled after the front end
//! (`-O2 -Xclang -disable-llvm-passes -g`): every access the programmer wrote is still there.

#![forbid(unsafe_code)]

mod archive;
mod build;
mod database;
mod direct;
mod error;
mod flags;
mod inspect;
mod intercept;
mod invocation;
mod linker;
mod model;
mod objects;
mod record;
mod relink;
mod repeat;
mod resolve;
mod response;
mod session;
mod shim;
mod store;
mod toolchain;
mod tools;

pub use build::{BuildOutcome, BuildRequest, Progress, capture_build};
pub use database::capture_database;
pub use direct::{DirectRequest, capture_inputs, capture_into, is_capturable};
pub use error::CaptureError;
pub use intercept::Interception;
pub use model::{Capture, CaptureNote, Language, LinkItem, Target, TargetKind, Unit};
pub use relink::link_command;
pub use shim::Shim;
pub use store::Store;
pub use toolchain::Toolchain;
