//! LLVM 22 bitcode to the program model.
//!
//! [`lower_file`] opens a `.bc` or `.ll` file, prepares it ([`prepare`]: `mem2reg,sroa` and nothing
//! else, since a pass that removes a load or store could remove one half of a race) and lowers it
//! to [`racewarden_ir::Module`]. The `instrument` crate prepares its modules with the same
//! function, so `(function, ordinal)` names one instruction in the model, in an instrumented build
//! and in a trace.
//!
//! `check` names nothing by ordinals and reads modules flattened ([`lower_units_flat`],
//! [`flatten`]): the C++ library's small functions stand where they are called.
//!
//! The debug information of the front end gives every access its path in source terms
//! (`conn->peer.addr[i]`, see `lower/paths.rs`). A construct that the model does not know becomes
//! a note of the module, never a panic.
//!
//! What it may miss: LLVM's reader is trusted with files that carry a valid bitcode structure
//! (`guard.rs` says what becomes of a crash of LLVM on damaged ones).

mod conditions;
mod error;
mod flatten;
mod guard;
mod lower;
mod once;
mod open;
mod policy;
mod prepare;
mod raw;
mod together;

pub use error::Error;
pub use flatten::flatten;
pub use lower::lower;
pub use open::{lower_file, lower_file_flat, lower_units, lower_units_flat, open};
pub use prepare::prepare;
