//! Running gated programs: one run under orders, the campaign that confirms candidates, and the
//! replay of a schedule. `confirm`, `replay`, `predict` and `hunt` share it.

mod build;
mod campaign;
mod evidence;
mod plan;
mod proc;
mod replay;
mod runner;
mod target;

pub use build::{GatedProgram, build_gated};
pub use campaign::{Campaign, Limits};
pub use evidence::parse_linger;
pub use replay::{ReplayOutcome, ReplayRequest, exact_orders, replay};
pub use runner::{HEAP_PATTERN, Program};
pub use target::Target;
