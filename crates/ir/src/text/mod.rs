//! The text form of a module: [`print`], and [`parse`] that reads it back.
//!
//! One line per entity. Names and positions are spelled out where they are used, so a line can be
//! read on its own; a `;` starts a comment. Printing what was parsed gives the same text again.

mod lex;
mod operation;
mod parse;
mod print;
mod words;

pub use parse::parse;
pub use print::print;

/// Why a text is not a module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ParseError {
    pub line: usize,
    pub message: String,
}
