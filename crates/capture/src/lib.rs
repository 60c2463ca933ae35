//! Capture: from a build, a compile database, source files or bitcode to pristine bitcode and link
//! recipes. Everything downstream starts from a [`Capture`]; nothing asks the user to build again.
//!
//! Bitcode is made with optimisation disabled after the front end
//! (`-O2 -Xclang -disable-llvm-passes -g`): every access the programmer wrote is still there.

#![forbid(unsafe_code)]

mod direct;
mod error;
mod model;
mod store;
mod toolchain;

pub use direct::{DirectRequest, capture_inputs, is_capturable};
pub use error::CaptureError;
pub use model::{Capture, CaptureNote, Language, LinkItem, Target, TargetKind, Unit};
pub use store::Store;
pub use toolchain::Toolchain;
