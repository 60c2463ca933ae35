//! From what the detect runtime wrote to findings: parsing, symbolising, naming.

mod races;
mod records;
mod symbols;

pub use races::{Context, races_of};
pub use records::{RunFile, parse};
