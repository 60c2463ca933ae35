//! The text form of a module: [`print`] and the parser that reads it back.
//!
//! One line per entity. Names and positions are spelled out where they are used, so a line can be
//! read on its own; a `;` starts a comment. Printing what was parsed gives the same text again.

mod print;
mod words;

pub use print::print;
