//! From what the detect runtime wrote to findings: parsing, symbolising, naming.

pub mod prune;
mod races;
mod records;
mod suppressions;
mod symbols;

pub use races::{Context, races_of};
pub use records::{Place, RunFile, parse};
pub use suppressions::Suppressions;
pub use symbols::Symbols;
