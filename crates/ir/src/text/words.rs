//! The words of the text form, one table per enum, so that printer and parser cannot disagree.

use crate::{AtomicOrder, BinaryOp, CastOp, CompareOp, Linkage, NoteKind, RmwOp};

/// A word for each value of an enum.
pub(super) struct Words<T: 'static>(&'static [(T, &'static str)]);

impl<T: Copy + PartialEq> Words<T> {
    pub fn word(&self, value: T) -> &'static str {
        self.0.iter().find(|(known, _)| *known == value).map_or("?", |(_, word)| word)
    }

    pub fn value(&self, word: &str) -> Option<T> {
        self.0.iter().find(|(_, known)| *known == word).map(|(value, _)| *value)
    }
}

macro_rules! words {
    ($table:ident, $ty:ident, $($variant:ident = $word:literal),+ $(,)?) => {
        pub(super) const $table: Words<$ty> = Words(&[$(($ty::$variant, $word)),+]);

        impl $ty {
            /// The word that stands for it in the text form.
            pub fn word(self) -> &'static str {
                $table.word(self)
            }
        }
    };
}

words!(
    LINKAGES,
    Linkage,
    External = "external",
    Weak = "weak",
    Common = "common",
    Internal = "internal"
);

words!(
    ORDERS,
    AtomicOrder,
    Unordered = "unordered",
    Relaxed = "relaxed",
    Acquire = "acquire",
    Release = "release",
    AcqRel = "acq_rel",
    SeqCst = "seq_cst"
);

words!(
    BINARY,
    BinaryOp,
    Add = "add",
    Sub = "sub",
    Mul = "mul",
    UDiv = "udiv",
    SDiv = "sdiv",
    URem = "urem",
    SRem = "srem",
    Shl = "shl",
    LShr = "lshr",
    AShr = "ashr",
    And = "and",
    Or = "or",
    Xor = "xor",
    FAdd = "fadd",
    FSub = "fsub",
    FMul = "fmul",
    FDiv = "fdiv",
    FRem = "frem"
);

words!(
    CASTS,
    CastOp,
    Trunc = "trunc",
    ZExt = "zext",
    SExt = "sext",
    FpTrunc = "fptrunc",
    FpExt = "fpext",
    FpToUi = "fptoui",
    FpToSi = "fptosi",
    UiToFp = "uitofp",
    SiToFp = "sitofp",
    PtrToInt = "ptrtoint",
    IntToPtr = "inttoptr",
    BitCast = "bitcast",
    AddrSpaceCast = "addrspacecast"
);

words!(
    COMPARE,
    CompareOp,
    Eq = "eq",
    Ne = "ne",
    Ugt = "ugt",
    Uge = "uge",
    Ult = "ult",
    Ule = "ule",
    Sgt = "sgt",
    Sge = "sge",
    Slt = "slt",
    Sle = "sle"
);

words!(
    RMW,
    RmwOp,
    Xchg = "xchg",
    Add = "add",
    Sub = "sub",
    And = "and",
    Nand = "nand",
    Or = "or",
    Xor = "xor",
    Max = "max",
    Min = "min",
    UMax = "umax",
    UMin = "umin",
    Other = "other"
);

words!(
    NOTES,
    NoteKind,
    InlineAssembly = "inline_assembly",
    UnknownInstruction = "unknown_instruction",
    UnknownConstant = "unknown_constant",
    NoDebugInfo = "no_debug_info",
    ConflictingDeclarations = "conflicting_declarations",
    Other = "other"
);
