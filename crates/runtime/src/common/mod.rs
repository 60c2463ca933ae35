//! What every mode needs.

pub mod allocator;
pub mod cancel;
pub mod clock;
pub mod cloned;
pub mod futex;
pub mod name;
pub mod output;
pub mod real;
pub mod settle;
pub mod tls;
