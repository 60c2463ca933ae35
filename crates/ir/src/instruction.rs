//! Instructions and their operands.

use serde::{Deserialize, Serialize};

use crate::{ArgId, BlockId, FieldPathId, FunctionId, GlobalId, InstId, NameId, SourceId, TypeId};

/// An operand.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Value {
    /// The result of an instruction of the same function.
    Inst(InstId),
    Arg(ArgId),
    Global(GlobalId),
    Function(FunctionId),
    /// Up to 64 bits, zero-extended; the type gives the width.
    Int {
        bits: u64,
        ty: TypeId,
    },
    /// Wider integers, least significant word first.
    WideInt {
        words: Box<[u64]>,
        ty: TypeId,
    },
    /// The IEEE bits; formats wider than 64 bits hold the nearest double.
    Float {
        bits: u64,
        ty: TypeId,
    },
    Null,
    /// `undef` and `poison`: any value.
    Undef {
        ty: TypeId,
    },
    /// All-zero aggregate or vector.
    Zero {
        ty: TypeId,
    },
    /// A constant address: a global or function (or null, for a fixed address) plus bytes.
    Offset {
        base: Box<Value>,
        offset: i64,
    },
    Aggregate {
        ty: TypeId,
        elements: Box<[Value]>,
    },
    /// A constant the model does not know; the module has a note about it.
    Unknown {
        ty: TypeId,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum AtomicOrder {
    /// `volatile` is not atomic; this is for `atomic` accesses only.
    Unordered,
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

impl AtomicOrder {
    /// Whether what a release wrote before is ordered before whatever follows this.
    pub fn acquires(self) -> bool {
        matches!(self, Self::Acquire | Self::AcqRel | Self::SeqCst)
    }

    /// Whether whatever comes before this is ordered before who acquires it.
    pub fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcqRel | Self::SeqCst)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    URem,
    SRem,
    Shl,
    LShr,
    AShr,
    And,
    Or,
    Xor,
    FAdd,
    FSub,
    FMul,
    FDiv,
    FRem,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CastOp {
    Trunc,
    ZExt,
    SExt,
    FpTrunc,
    FpExt,
    FpToUi,
    FpToSi,
    UiToFp,
    SiToFp,
    PtrToInt,
    IntToPtr,
    BitCast,
    AddrSpaceCast,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CompareOp {
    Eq,
    Ne,
    Ugt,
    Uge,
    Ult,
    Ule,
    Sgt,
    Sge,
    Slt,
    Sle,
    /// Floating comparisons by LLVM's predicate number (0..=15).
    Float(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RmwOp {
    Xchg,
    Add,
    Sub,
    And,
    Nand,
    Or,
    Xor,
    Max,
    Min,
    UMax,
    UMin,
    /// Floating, wrapping and conditional forms: the result is not modelled.
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Callee {
    Direct(FunctionId),
    /// Through a function pointer.
    Indirect(Value),
    /// Through a virtual table: the function pointer as loaded, the table's address it was loaded
    /// from, and the slot's byte offset from that address.
    Virtual {
        function: Value,
        table: Value,
        slot: u64,
    },
    /// Inline assembly; the text is kept for the note.
    Asm {
        text: NameId,
        clobbers_memory: bool,
    },
}

/// A case of a switch, or an incoming edge of a phi.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Edge {
    pub value: Value,
    pub block: BlockId,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Op {
    // Memory
    Load {
        address: Value,
        size: u64,
        order: Option<AtomicOrder>,
        volatile: bool,
    },
    Store {
        address: Value,
        value: Value,
        size: u64,
        order: Option<AtomicOrder>,
        volatile: bool,
    },
    AtomicRmw {
        address: Value,
        op: RmwOp,
        value: Value,
        size: u64,
        order: AtomicOrder,
    },
    CompareExchange {
        address: Value,
        expected: Value,
        new: Value,
        size: u64,
        success: AtomicOrder,
        failure: AtomicOrder,
    },
    Fence {
        order: AtomicOrder,
    },
    /// The `memcpy` and `memmove` intrinsics, which have no result; a library call that the front
    /// end left alone stays a [`Op::Call`].
    MemCopy {
        to: Value,
        from: Value,
        length: Value,
        overlapping: bool,
    },
    MemSet {
        to: Value,
        byte: Value,
        length: Value,
    },
    /// A stack slot; `count` elements of `size` bytes.
    Alloca {
        size: u64,
        count: Value,
        name: NameId,
    },

    // Addresses: base + offset + Σ index·scale, in bytes.
    Address {
        base: Value,
        offset: i64,
        indices: Box<[(Value, i64)]>,
    },

    // Values
    Binary {
        op: BinaryOp,
        left: Value,
        right: Value,
    },
    FNeg {
        value: Value,
    },
    Cast {
        op: CastOp,
        value: Value,
    },
    Compare {
        op: CompareOp,
        left: Value,
        right: Value,
    },
    Select {
        condition: Value,
        then: Value,
        otherwise: Value,
    },
    Phi {
        incoming: Box<[Edge]>,
    },
    ExtractValue {
        aggregate: Value,
        path: Box<[u32]>,
    },
    InsertValue {
        aggregate: Value,
        element: Value,
        path: Box<[u32]>,
    },
    ExtractElement {
        vector: Value,
        index: Value,
    },
    InsertElement {
        vector: Value,
        element: Value,
        index: Value,
    },
    ShuffleVector {
        left: Value,
        right: Value,
        mask: Box<[i32]>,
    },
    Freeze {
        value: Value,
    },
    VaArg {
        list: Value,
    },
    LandingPad {
        cleanup: bool,
    },

    // Calls; an invoke has `unwind` and is a terminator with `normal`.
    Call {
        callee: Callee,
        arguments: Box<[Value]>,
        /// `Some((normal, unwind))` for an invoke.
        invoke: Option<(BlockId, BlockId)>,
        /// The call has the `noreturn` attribute (on itself or on its callee).
        no_return: bool,
    },

    // Terminators
    Return {
        value: Option<Value>,
    },
    Jump {
        to: BlockId,
    },
    Branch {
        condition: Value,
        then: BlockId,
        otherwise: BlockId,
    },
    Switch {
        value: Value,
        cases: Box<[Edge]>,
        default: BlockId,
    },
    IndirectJump {
        address: Value,
        targets: Box<[BlockId]>,
    },
    Resume {
        value: Value,
    },
    Unreachable,

    /// Anything else; the module has a note that names it. `operands` may be read, written through
    /// and published by it.
    Unknown {
        name: NameId,
        operands: Box<[Value]>,
    },
    /// A debug or lifetime intrinsic and the like: takes a number, does nothing.
    Nop,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instruction {
    pub op: Op,
    /// Type of the result ([`crate::Type::Void`] when there is none).
    pub ty: TypeId,
    pub source: Option<SourceId>,
    /// For memory operations: the location as the programmer wrote it.
    pub path: Option<FieldPathId>,
}

impl Op {
    pub fn is_terminator(&self) -> bool {
        matches!(
            self,
            Op::Return { .. }
                | Op::Jump { .. }
                | Op::Branch { .. }
                | Op::Switch { .. }
                | Op::IndirectJump { .. }
                | Op::Resume { .. }
                | Op::Unreachable
                | Op::Call { invoke: Some(_), .. }
        )
    }
}
