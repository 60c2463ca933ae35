//! Running gated programs: one run under orders, the campaign that confirms candidates, and the
//! replay of a schedule. `confirm`, `replay`, `predict` and `hunt` share it.

mod build;
mod campaign;
mod discover;
mod evidence;
mod harm;
mod plan;
mod replay;
mod runner;
mod stalk;
mod target;
mod timeline;

pub use build::{GatedProgram, build_gated};
pub use campaign::{Campaign, Limits};
pub use discover::Discovery;
pub use evidence::parse_linger;
pub use replay::{ReplayOutcome, ReplayRequest, exact_orders, replay};
pub use runner::{Program, heap_checks, user_saw_failure};
pub use target::Target;
pub use timeline::{Frames, leading_site, timeline};
