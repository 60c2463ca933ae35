//! Loops over arrays that are recorded as a whole.
//!
//! Where array code spends its time, most recorded events would be loads of floating-point numbers
//! one after the other, whose values nothing is derived from. So a loop is written down when it
//! ends, as the number of its rounds and, for each of its accesses, where it began and how far apart
//! its pieces lie, if
//!
//! - it is a header that decides by a comparison, and a chain of blocks that leads back to it;
//! - it calls nothing that could record, synchronise or not return;
//! - every access in it is a plain one of a number, at an address that is linear in a counter with
//!   a constant step, everything else in it coming from outside the loop.
//!
//! A global variable that the loop loads (a pointer to the array, or how long it is) counts as coming
//! from outside where the loop stores nothing but floating-point numbers, which by the rules of the
//! language are in other places; it is loaded once, before the loop.
//!
//! The header's comparison then is not recorded either. The reader knows such a loop by the record
//! where the header's branch would be.
//!
//! What is lost: values that go through such arrays are not followed, so accesses to them keep the
//! order of the run where a prediction depends on it. Floating point is never followed; with whole
//! numbers the loss matters, so a loop that has any is recorded as a whole only when it is going to
//! be long. It knows that before it starts, and its hooks are told.

use std::collections::{HashMap, HashSet};

use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::{LLVMIntPredicate, LLVMOpcode, LLVMTypeKind};
use inkwell::module::Module;
use inkwell::values::{AsValueRef, FunctionValue};

use crate::derived::Derived;

mod exit;

use exit::{Copier, call, record_at_exit};

/// More blocks than this are not followed round a loop.
const MOST_BLOCKS: usize = 16;

/// A loop that is recorded as a whole.
struct Even {
    header: LLVMBasicBlockRef,
    /// Which successor of the header leaves the loop.
    exit: u32,
    blocks: Vec<LLVMBasicBlockRef>,
    counter: Counter,
    /// The only other way into the header.
    entry: LLVMBasicBlockRef,
    accesses: Vec<Piece>,
    /// What the counter is compared with, when the loop has accesses of whole numbers.
    bound: Option<LLVMValueRef>,
    /// Loads of global variables that the loop cannot change: they are done before it.
    hoisted: Vec<LLVMValueRef>,
}

/// A loop of whole numbers that goes round less often is recorded access by access.
const LONG: u64 = 64;

#[derive(Clone, Copy)]
struct Counter {
    phi: LLVMValueRef,
    start: LLVMValueRef,
    step: i64,
    /// Its steps never overflow as a signed number.
    signed: bool,
}

/// One access of the loop.
#[derive(Clone, Copy)]
struct Piece {
    instruction: LLVMValueRef,
    address: LLVMValueRef,
    size: u64,
    writes: bool,
    floating: bool,
}

/// The hooks that a loop needs.
#[derive(Clone, Copy)]
pub(crate) struct LoopHooks<'c> {
    /// `(address) -> value`, by the size's exponent.
    pub loads: [FunctionValue<'c>; 4],
    /// `(rounds, whole)`
    pub rounds: FunctionValue<'c>,
    /// `(address, stride, rounds, size, writes, whole)`
    pub range: FunctionValue<'c>,
}

/// What is not recorded one by one.
#[derive(Default)]
pub(crate) struct Covered {
    /// Never.
    pub always: HashSet<LLVMValueRef>,
    /// Not while this number is other than zero.
    pub unless: HashMap<LLVMValueRef, LLVMValueRef>,
    /// The blocks of all these loops, with the loop's header.
    pub blocks: HashMap<LLVMBasicBlockRef, LLVMBasicBlockRef>,
}

/// Puts the records of the function's even loops where they end; the accesses and branches that
/// need no record any more.
pub(crate) fn record_loops<'c>(
    module: &Module<'c>,
    function: FunctionValue<'c>,
    hooks: LoopHooks<'c>,
    derived: &Derived,
) -> Covered {
    let mut covered = Covered::default();
    let mut found = Vec::new();
    // SAFETY: walks the blocks of a live function.
    unsafe {
        let mut block = LLVMGetFirstBasicBlock(function.as_value_ref());
        while !block.is_null() {
            found.extend(Even::of(block).filter(|even| !even.has_private(derived)));
            block = LLVMGetNextBasicBlock(block);
        }
    }
    for even in &found {
        covered.blocks.extend(even.blocks.iter().map(|block| (*block, even.header)));
        // SAFETY: the loop's blocks are alive; a block is only added on its way out.
        unsafe {
            hoist(module, even, hooks);
            covered.always.extend(&even.hoisted);
            let whole = even.bound.map(|bound| is_long(module, even, bound));
            let branch = LLVMGetBasicBlockTerminator(even.header);
            let accesses = even.accesses.iter().map(|piece| piece.instruction);
            for place in accesses.chain([branch]) {
                match whole {
                    Some(whole) => {
                        covered.unless.insert(place, whole);
                    }
                    None => {
                        covered.always.insert(place);
                    }
                }
            }
            record_at_exit(module, even, hooks, whole);
        }
    }
    covered
}

/// Whether the loop is going to be long, as a number, computed where it is entered.
///
/// # Safety
/// The loop's blocks are alive.
unsafe fn is_long(module: &Module, even: &Even, bound: LLVMValueRef) -> LLVMValueRef {
    // SAFETY: start and bound do not depend on the loop, so they can be had before it.
    unsafe {
        let context = LLVMGetModuleContext(module.as_mut_ptr());
        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderBefore(builder, LLVMGetBasicBlockTerminator(even.entry));
        let word = LLVMInt64TypeInContext(context);
        let copier = Copier { even, builder, word };
        let Counter { start, step, .. } = even.counter;
        let bound = copier.copy(bound, start, &mut HashMap::new());
        let none = c"".as_ptr();
        let wide = |value| match LLVMGetIntTypeWidth(LLVMTypeOf(value)) {
            64 => value,
            _ => LLVMBuildSExt(builder, value, word, none),
        };
        let (from, to) = if step > 0 { (start, bound) } else { (bound, start) };
        let way = LLVMBuildSub(builder, wide(to), wide(from), none);
        let long = LLVMConstInt(word, LONG.saturating_mul(step.unsigned_abs()), 0);
        let least = LLVMIntPredicate::LLVMIntSGE;
        let is_long = LLVMBuildICmp(builder, least, way, long, none);
        let whole = LLVMBuildZExt(builder, is_long, word, none);
        LLVMDisposeBuilder(builder);
        whole
    }
}

/// # Safety
/// The block is alive.
pub(crate) unsafe fn instructions(block: LLVMBasicBlockRef) -> Vec<LLVMValueRef> {
    let mut list = Vec::new();
    // SAFETY: as the caller says.
    unsafe {
        let mut instruction = LLVMGetFirstInstruction(block);
        while !instruction.is_null() {
            list.push(instruction);
            instruction = LLVMGetNextInstruction(instruction);
        }
    }
    list
}

/// The blocks that lead to the block, once for each way.
///
/// # Safety
/// The block is alive.
pub(crate) unsafe fn predecessors(block: LLVMBasicBlockRef) -> Vec<LLVMBasicBlockRef> {
    let mut list = Vec::new();
    // SAFETY: users of a block are terminators or addresses of it.
    unsafe {
        let mut next = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));
        while !next.is_null() {
            let user = LLVMGetUser(next);
            if !LLVMIsAInstruction(user).is_null() {
                list.push(LLVMGetInstructionParent(user));
            } else {
                list.push(std::ptr::null_mut());
            }
            next = LLVMGetNextUse(next);
        }
    }
    list
}

impl Even {
    /// # Safety
    /// The block is alive.
    unsafe fn of(header: LLVMBasicBlockRef) -> Option<Even> {
        // SAFETY: operands are asked for only after the instruction's kind was seen.
        unsafe {
            let end = LLVMGetBasicBlockTerminator(header);
            if end.is_null()
                || LLVMGetInstructionOpcode(end) != LLVMOpcode::LLVMBr
                || LLVMIsConditional(end) == 0
            {
                return None;
            }
            let way = |index| Some((chain(LLVMGetSuccessor(end, index), header)?, 1 - index));
            let (mut blocks, exit) = way(0).or_else(|| way(1))?;
            let last = *blocks.last()?;
            if LLVMGetSuccessor(end, exit) == header {
                return None;
            }
            let ways_in = predecessors(header);
            let [a, b] = ways_in[..] else { return None };
            let entry = if a == last { b } else { a };
            if entry == last || entry.is_null() || (a != last && b != last) {
                return None;
            }
            blocks.insert(0, header);
            let condition = LLVMIsAICmpInst(LLVMGetCondition(end));
            if condition.is_null() {
                return None;
            }
            let counter = counter_of(header, entry, last, LLVMGetICmpPredicate(condition))?;
            let accesses = Vec::new();
            let hoisted = invariant_loads(&blocks);
            let mut even =
                Even { header, exit, blocks, counter, entry, accesses, bound: None, hoisted };
            even.accesses = even.pieces()?;
            if even.accesses.iter().any(|piece| !piece.floating) {
                // Its hooks may have to record every round.
                if !even.hoisted.is_empty() {
                    return None;
                }
                even.bound = Some(even.bound(condition)?);
            }
            (!even.accesses.is_empty()).then_some(even)
        }
    }

    /// Whether it accesses what is not recorded at all.
    fn has_private(&self, derived: &Derived) -> bool {
        self.accesses.iter().any(|piece| derived.private.contains(&piece.instruction))
    }

    /// What the comparison compares the counter with.
    ///
    /// # Safety
    /// The comparison is alive.
    unsafe fn bound(&self, comparison: LLVMValueRef) -> Option<LLVMValueRef> {
        // SAFETY: a comparison has two operands of one type.
        unsafe {
            let sides = [LLVMGetOperand(comparison, 0), LLVMGetOperand(comparison, 1)];
            let kind = LLVMGetTypeKind(LLVMTypeOf(sides[0]));
            if kind != LLVMTypeKind::LLVMIntegerTypeKind {
                return None;
            }
            let fixed = |value: &LLVMValueRef| self.is_linear(*value, 4) && !self.moves(*value);
            sides.into_iter().find(fixed)
        }
    }

    /// Whether a linear value depends on the counter.
    ///
    /// # Safety
    /// The value is alive.
    unsafe fn moves(&self, value: LLVMValueRef) -> bool {
        // SAFETY: operands of an instruction.
        unsafe {
            value == self.counter.phi
                || (self.has(value)
                    && (0..LLVMGetNumOperands(value) as u32)
                        .any(|index| self.moves(LLVMGetOperand(value, index))))
        }
    }

    fn has(&self, value: LLVMValueRef) -> bool {
        // SAFETY: the value is alive.
        unsafe {
            !LLVMIsAInstruction(value).is_null()
                && self.blocks.contains(&LLVMGetInstructionParent(value))
                && !self.hoisted.contains(&value)
        }
    }

    /// The accesses, when nothing else in the loop would have to be recorded.
    unsafe fn pieces(&self) -> Option<Vec<Piece>> {
        let mut pieces = Vec::new();
        for (number, &block) in self.blocks.iter().enumerate() {
            // SAFETY: instructions of a live block, asked by their kind.
            for instruction in unsafe { instructions(block) } {
                // SAFETY: as above.
                match unsafe { LLVMGetInstructionOpcode(instruction) } {
                    // The header's are recorded where they are done now.
                    LLVMOpcode::LLVMLoad if number == 0 && self.hoisted.contains(&instruction) => {}
                    LLVMOpcode::LLVMLoad if self.hoisted.contains(&instruction) => {
                        // SAFETY: as above.
                        pieces.push(unsafe { hoisted_piece(instruction) });
                    }
                    LLVMOpcode::LLVMLoad | LLVMOpcode::LLVMStore if number > 0 => {
                        // SAFETY: as above.
                        pieces.push(unsafe { self.piece(instruction)? });
                    }
                    LLVMOpcode::LLVMCall if is_quiet(instruction) => {}
                    LLVMOpcode::LLVMCall
                    | LLVMOpcode::LLVMLoad
                    | LLVMOpcode::LLVMStore
                    | LLVMOpcode::LLVMInvoke
                    | LLVMOpcode::LLVMCallBr
                    | LLVMOpcode::LLVMFence
                    | LLVMOpcode::LLVMAtomicCmpXchg
                    | LLVMOpcode::LLVMAtomicRMW
                    | LLVMOpcode::LLVMAlloca
                    | LLVMOpcode::LLVMVAArg => return None,
                    _ => {}
                }
            }
        }
        Some(pieces)
    }

    /// # Safety
    /// The instruction is a load or store of the loop.
    unsafe fn piece(&self, instruction: LLVMValueRef) -> Option<Piece> {
        use inkwell::llvm_sys::LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic;
        // SAFETY: as the caller says.
        unsafe {
            if LLVMGetVolatile(instruction) != 0
                || LLVMGetOrdering(instruction) != LLVMAtomicOrderingNotAtomic
            {
                return None;
            }
            let writes = LLVMGetInstructionOpcode(instruction) == LLVMOpcode::LLVMStore;
            let (value, address) = match writes {
                true => (LLVMGetOperand(instruction, 0), LLVMGetOperand(instruction, 1)),
                false => (instruction, LLVMGetOperand(instruction, 0)),
            };
            let (size, floating) = match LLVMGetTypeKind(LLVMTypeOf(value)) {
                LLVMTypeKind::LLVMFloatTypeKind => (4, true),
                LLVMTypeKind::LLVMDoubleTypeKind => (8, true),
                LLVMTypeKind::LLVMIntegerTypeKind => match LLVMGetIntTypeWidth(LLVMTypeOf(value)) {
                    width @ (8 | 16 | 32 | 64) => (u64::from(width / 8), false),
                    _ => return None,
                },
                _ => return None,
            };
            let default = LLVMGetPointerAddressSpace(LLVMTypeOf(address)) == 0;
            let piece = Piece { instruction, address, size, writes, floating };
            (default && self.is_linear(address, 12)).then_some(piece)
        }
    }

    /// Whether the value changes by the same amount in every round.
    ///
    /// # Safety
    /// The value is alive.
    unsafe fn is_linear(&self, value: LLVMValueRef, depth: u32) -> bool {
        if value == self.counter.phi || !self.has(value) {
            return true;
        }
        if depth == 0 {
            return false;
        }
        // SAFETY: operands by the rules of each kind.
        unsafe {
            let operand = |index| LLVMGetOperand(value, index);
            let linear = |index| self.is_linear(operand(index), depth - 1);
            let narrow = LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMTypeKind::LLVMIntegerTypeKind
                && LLVMGetIntTypeWidth(LLVMTypeOf(value)) < 64;
            match LLVMGetInstructionOpcode(value) {
                LLVMOpcode::LLVMGetElementPtr => {
                    let count = LLVMGetNumOperands(value) as u32;
                    (0..count).all(linear)
                }
                // In 64 bits it does not matter whether they wrap: addresses do so too.
                LLVMOpcode::LLVMAdd | LLVMOpcode::LLVMSub => {
                    (!narrow || LLVMGetNSW(value) != 0) && linear(0) && linear(1)
                }
                LLVMOpcode::LLVMMul => {
                    let fixed = !self.has(operand(0)) || !self.has(operand(1));
                    fixed && (!narrow || LLVMGetNSW(value) != 0) && linear(0) && linear(1)
                }
                LLVMOpcode::LLVMSExt => self.counter.signed && linear(0),
                _ => false,
            }
        }
    }
}

/// Loads of global variables that nothing in the loop changes: everything that it stores is a
/// floating-point number, and both tell their types to the compiler.
///
/// # Safety
/// The blocks are alive.
unsafe fn invariant_loads(blocks: &[LLVMBasicBlockRef]) -> Vec<LLVMValueRef> {
    use inkwell::llvm_sys::LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic;
    let mut loads = Vec::new();
    // SAFETY: instructions of live blocks, asked by their kind.
    unsafe {
        let Some(first) = blocks.first() else { return loads };
        let module = LLVMGetGlobalParent(LLVMGetBasicBlockParent(*first));
        let types = LLVMGetMDKindIDInContext(LLVMGetModuleContext(module), c"tbaa".as_ptr(), 4);
        let is_typed = |access| !LLVMGetMetadata(access, types).is_null();
        for instruction in blocks.iter().flat_map(|block| instructions(*block)) {
            match LLVMGetInstructionOpcode(instruction) {
                LLVMOpcode::LLVMStore => {
                    let kind = LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(instruction, 0)));
                    let floating = matches!(
                        kind,
                        LLVMTypeKind::LLVMFloatTypeKind | LLVMTypeKind::LLVMDoubleTypeKind
                    );
                    if !floating || !is_typed(instruction) {
                        return Vec::new();
                    }
                }
                LLVMOpcode::LLVMLoad => {
                    let global = LLVMIsAGlobalVariable(LLVMGetOperand(instruction, 0));
                    let kind = LLVMGetTypeKind(LLVMTypeOf(instruction));
                    let fits = match kind {
                        LLVMTypeKind::LLVMPointerTypeKind => {
                            LLVMGetPointerAddressSpace(LLVMTypeOf(instruction)) == 0
                        }
                        LLVMTypeKind::LLVMIntegerTypeKind => {
                            matches!(LLVMGetIntTypeWidth(LLVMTypeOf(instruction)), 32 | 64)
                        }
                        _ => false,
                    };
                    if fits
                        && !global.is_null()
                        && LLVMIsThreadLocal(global) == 0
                        && LLVMGetVolatile(instruction) == 0
                        && LLVMGetOrdering(instruction) == LLVMAtomicOrderingNotAtomic
                        && is_typed(instruction)
                    {
                        loads.push(instruction);
                    }
                }
                _ => {}
            }
        }
    }
    loads
}

/// # Safety
/// The instruction is a load of a number or pointer.
unsafe fn size_of(load: LLVMValueRef) -> u64 {
    // SAFETY: as the caller says.
    unsafe {
        match LLVMGetTypeKind(LLVMTypeOf(load)) {
            LLVMTypeKind::LLVMIntegerTypeKind => {
                u64::from(LLVMGetIntTypeWidth(LLVMTypeOf(load)) / 8)
            }
            _ => 8,
        }
    }
}

/// # Safety
/// The instruction is a load that is done before the loop.
unsafe fn hoisted_piece(load: LLVMValueRef) -> Piece {
    // SAFETY: as the caller says.
    unsafe {
        Piece {
            instruction: load,
            address: LLVMGetOperand(load, 0),
            size: size_of(load),
            writes: false,
            // It asks for no values.
            floating: true,
        }
    }
}

/// Does the loop's loads of global variables before it: those of the header with a record, which the
/// reader looks for where it comes to the header, the others as part of the loop.
///
/// # Safety
/// The loop's blocks are alive.
unsafe fn hoist(module: &Module, even: &Even, hooks: LoopHooks) {
    // SAFETY: global variables can be loaded anywhere; the new values dominate the loop.
    unsafe {
        let context = LLVMGetModuleContext(module.as_mut_ptr());
        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderBefore(builder, LLVMGetBasicBlockTerminator(even.entry));
        let none = c"".as_ptr();
        for &load in &even.hoisted {
            let (ty, address) = (LLVMTypeOf(load), LLVMGetOperand(load, 0));
            let value = if LLVMGetInstructionParent(load) == even.header {
                let hook = hooks.loads[size_of(load).trailing_zeros() as usize % 4];
                let bits = call(builder, hook, &mut [address]);
                match LLVMGetTypeKind(ty) {
                    LLVMTypeKind::LLVMPointerTypeKind => LLVMBuildIntToPtr(builder, bits, ty, none),
                    _ if LLVMGetIntTypeWidth(ty) < 64 => LLVMBuildTrunc(builder, bits, ty, none),
                    _ => bits,
                }
            } else {
                LLVMBuildLoad2(builder, ty, address, none)
            };
            LLVMReplaceAllUsesWith(load, value);
        }
        LLVMDisposeBuilder(builder);
    }
}

/// The blocks from `first` to the one that leads back to the header, each with one way in and out.
///
/// # Safety
/// The blocks are alive.
unsafe fn chain(
    first: LLVMBasicBlockRef,
    header: LLVMBasicBlockRef,
) -> Option<Vec<LLVMBasicBlockRef>> {
    let mut blocks = Vec::new();
    let mut at = first;
    // SAFETY: as the caller says.
    unsafe {
        while at != header {
            let end = LLVMGetBasicBlockTerminator(at);
            if blocks.len() == MOST_BLOCKS
                || end.is_null()
                || LLVMGetInstructionOpcode(end) != LLVMOpcode::LLVMBr
                || LLVMIsConditional(end) != 0
                || predecessors(at).len() != 1
            {
                return None;
            }
            blocks.push(at);
            at = LLVMGetSuccessor(end, 0);
        }
    }
    (!blocks.is_empty()).then_some(blocks)
}

/// A number that goes on by a constant in every round.
///
/// # Safety
/// The blocks are alive.
unsafe fn counter_of(
    header: LLVMBasicBlockRef,
    entry: LLVMBasicBlockRef,
    last: LLVMBasicBlockRef,
    predicate: LLVMIntPredicate,
) -> Option<Counter> {
    // SAFETY: operands are asked for only after the instruction's kind was seen.
    unsafe {
        for phi in instructions(header) {
            if LLVMIsAPHINode(phi).is_null() {
                return None;
            }
            let ty = LLVMTypeOf(phi);
            if LLVMGetTypeKind(ty) != LLVMTypeKind::LLVMIntegerTypeKind
                || !matches!(LLVMGetIntTypeWidth(ty), 32 | 64)
                || LLVMCountIncoming(phi) != 2
            {
                continue;
            }
            let back = u32::from(LLVMGetIncomingBlock(phi, 0) != last);
            let next = LLVMGetIncomingValue(phi, back);
            if LLVMGetIncomingBlock(phi, back) != last
                || LLVMGetIncomingBlock(phi, 1 - back) != entry
                || LLVMIsAInstruction(next).is_null()
                || LLVMGetInstructionOpcode(next) != LLVMOpcode::LLVMAdd
                || LLVMGetOperand(next, 0) != phi
            {
                continue;
            }
            let step = LLVMIsAConstantInt(LLVMGetOperand(next, 1));
            if step.is_null() {
                continue;
            }
            let step = LLVMConstIntGetSExtValue(step);
            // An unsigned counter of 32 bits may come round to zero again.
            let signed = LLVMGetNSW(next) != 0 || LLVMGetIntTypeWidth(ty) == 64;
            let compares = !matches!(predicate, LLVMIntPredicate::LLVMIntEQ);
            if step == 0 || !signed || !compares {
                continue;
            }
            let start = LLVMGetIncomingValue(phi, 1 - back);
            return Some(Counter { phi, start, step, signed });
        }
        None
    }
}

/// Intrinsics that compute or only tell the compiler something.
pub(crate) fn is_quiet(call: LLVMValueRef) -> bool {
    const QUIET: &[&str] = &[
        "llvm.dbg.",
        "llvm.lifetime.",
        "llvm.assume",
        "llvm.expect",
        "llvm.fmuladd.",
        "llvm.fma.",
        "llvm.fabs.",
        "llvm.sqrt.",
        "llvm.floor.",
        "llvm.ceil.",
        "llvm.minnum.",
        "llvm.maxnum.",
        "llvm.copysign.",
        "llvm.abs.",
        "llvm.smax.",
        "llvm.smin.",
        "llvm.umax.",
        "llvm.umin.",
    ];
    // SAFETY: a call of a live function; the name is copied at once.
    let name = unsafe {
        let callee = LLVMGetCalledValue(call);
        if LLVMIsAFunction(callee).is_null() {
            return false;
        }
        let mut length = 0;
        let name = LLVMGetValueName2(callee, &mut length);
        String::from_utf8_lossy(std::slice::from_raw_parts(name.cast::<u8>(), length)).into_owned()
    };
    QUIET.iter().any(|quiet| name.starts_with(quiet))
}
