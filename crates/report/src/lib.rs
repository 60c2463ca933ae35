//! One finding model, one file per output format: text, JSON, SARIF and HTML.
//!
//! What the formats say in words (why nothing orders a pair, a hint at the fix) is in [`words`],
//! so that they agree. Source lines come from [`Sources`], the only thing here that reads files.

#![forbid(unsafe_code)]

pub mod html;
mod json;
#[cfg(test)]
mod sample;
mod sarif;
mod source;
mod text;
pub mod words;

pub use html::render as html;
pub use json::render as json;
pub use sarif::{Baseline, render as sarif, render_with_baseline as sarif_with_baseline};
pub use source::{Sources, printable, underline};
pub use text::{
    TextOptions, render as text, render_race as text_of_race, render_with as text_with,
};
