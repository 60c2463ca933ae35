//! What a function does, relative to its entry: RELAY's lockset and guarded-access summaries in
//! one, with the thread and escape effects beside them.

use std::sync::Arc;

use racewarden_finding::AccessKind;
use racewarden_ir::FunctionId;

use crate::state::{Fact, Path};
use crate::sym::Sym;

/// One way to leave the function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    pub path: Path,
    /// What the returned value is on this way out.
    pub result: Option<Fact>,
}

/// A memory access with the state it happens in (RELAY 3.3).
#[derive(Debug, Clone)]
pub struct Access {
    pub inst: u32,
    /// Which address operand of the instruction: 0 for the only or written one, 1 for the source
    /// of a copy; the argument's number for a call.
    pub operand: u8,
    pub address: Option<Sym>,
    pub size: u64,
    pub kind: AccessKind,
    pub atomic: bool,
    pub state: Arc<Path>,
    /// The object is this function's own and not known elsewhere yet.
    pub private: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    Plain,
    /// The body of a `once` call; it runs alone.
    Once,
    /// A member of a container of threads.
    Member,
}

#[derive(Debug, Clone)]
pub struct Call {
    pub inst: u32,
    pub callee: FunctionId,
    pub arguments: Vec<Option<Sym>>,
    pub state: Arc<Path>,
    /// For callees that create threads: as [`Create::apart`], for each argument.
    pub apart: Vec<Option<i64>>,
}

#[derive(Debug, Clone)]
pub struct Create {
    pub inst: u32,
    pub argument: Option<Sym>,
    /// What further parameters of the start function get, from the first on.
    pub passed: Vec<Option<Sym>>,
    pub handle: Option<Sym>,
    pub state: Arc<Path>,
    /// Threads that get different arguments get them at least this many bytes (or units) apart.
    pub apart: Option<i64>,
    /// The call starts several threads with one argument.
    pub many: bool,
    /// Who called the function does not tell the threads apart.
    pub any_chain: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Summary {
    pub exits: Vec<Exit>,
    pub accesses: Vec<Access>,
    pub calls: Vec<Call>,
    pub creates: Vec<Create>,
    /// The result in terms of formals and globals, when it is the same on every way out.
    pub result: Option<Sym>,
    /// What it may have done at any point, for callers that catch what it throws.
    pub possible: Path,
    /// It, or something it calls, may end the thread.
    pub ends_thread: bool,
    /// The result is memory that nobody else knows.
    pub returns_fresh: bool,
}

impl Summary {
    /// Whether callers cannot tell the two apart.
    pub fn same_effect(&self, other: &Summary) -> bool {
        self.exits == other.exits
            && self.result == other.result
            && self.possible == other.possible
            && self.ends_thread == other.ends_thread
            && self.returns_fresh == other.returns_fresh
    }
}
