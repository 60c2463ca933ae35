//! One finding model, one file per output format.

mod json;
mod text;

pub use json::render as json;
pub use text::render as text;
