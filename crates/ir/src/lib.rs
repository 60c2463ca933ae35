//! The program model: a compact, typed-index form of LLVM bitcode that every static consumer
//! walks, independent of LLVM so that it can be shared by all cores.
//!
//! A [`Module`] is one translation unit. [`link`] joins modules into a [`Program`], resolving
//! symbols by the linker's rules. Instructions stay in LLVM's order and number: an instruction's
//! [`InstId`] is its ordinal in the prepared LLVM function (after `mem2reg,sroa`, see the
//! `bitcode` crate), so an instrumented build, a trace and the model all name the same
//! instruction by `(function, ordinal)`.

#![forbid(unsafe_code)]

mod assembly;
mod entities;
mod instruction;
mod link;
mod module;
mod source;
mod text;
mod types;
mod verify;
mod visit;

pub use assembly::Assembly;
pub use entities::{
    ArgId, BlockId, FieldPathId, FunctionId, GlobalId, InstId, NameId, SourceId, TypeId,
};
pub use instruction::{
    AtomicOrder, BinaryOp, Callee, CastOp, CompareOp, Edge, Instruction, Op, RmwOp, Value,
};
pub use link::link;
pub use module::{
    Alias, Block, Function, Global, Initializer, Linkage, Module, Note, NoteKind, OperandPath,
    Param, Program,
};
pub use source::{FieldPath, Inlined, InlinedFrame, SourceLoc};
pub use text::{ParseError, parse, print};
pub use types::{Type, TypeTable};
pub use verify::{VerifyError, verify, verify_program};
