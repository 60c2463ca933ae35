//! What functions do to locks, threads, conditions, barriers, semaphores, once, atomics,
//! allocation and memory ranges: one table of data (`data/*.toml`), one file per family.
//!
//! A table's line is `symbol = [effects]`. A symbol may be several (`"a | b"`), a prefix
//! (`"__VERIFIER_nondet_*"`), or a C++ name (`"std::mutex::lock"`), which is compared with the
//! demangled symbol without template arguments, parameters and inline namespaces. The user's
//! `racewarden.toml` has the same lines in its `[models]` table, and they win over ours.
//!
//! A model speaks for a function whose body is not there; where the program has a body, the body
//! is the truth. The exceptions are families that say `bodies = "replace"` (the C++ library, whose
//! inline bodies are noise) and the user's own lines.
//!
//! What it may miss: a function that is in no table is not known to be harmless; consumers say so
//! in a note.

#![forbid(unsafe_code)]

mod demangle;
mod effect;
mod lookup;
mod operand;
mod strings;
mod table;

pub use demangle::{plain_name, whole_name};
pub use effect::{
    Acquire, AtomicCall, AtomicOp, CreateThread, Effect, Length, LockKind, Member, Mode, Moment,
    Range, Release, Start, Success, ThreadCount,
};
pub use lookup::{Model, Models};
pub use operand::Operand;
pub use table::Error;
