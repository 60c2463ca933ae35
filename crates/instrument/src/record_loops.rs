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
//! order of the run where a prediction depends on it. And a loop of a few rounds has more to tell at
//! its end than on its way, where most accesses are only counted. So a loop is recorded as a whole
//! only when it is going to be long. It knows that before it starts, and is there twice: with hooks,
//! and without (`versions`). Loops of floating-point numbers that cannot tell how long they are going
//! to be are always recorded as a whole.

use std::collections::{HashMap, HashSet};

use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::{LLVMIntPredicate, LLVMOpcode, LLVMTypeKind};
use inkwell::module::Module;
use inkwell::values::FunctionValue;

use crate::derived::Derived;

mod exit;
mod versions;

use exit::{come_from, record_at_exit};
use versions::{give_two_versions, hoisted_values};

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
    /// What the counter is compared with.
    bound: Option<LLVMValueRef>,
    /// Loads of global variables that the loop cannot change: they are done before it.
    hoisted: Vec<LLVMValueRef>,
}

/// A loop of whole numbers that goes round less often is recorded access by access.
const LONG: u64 = 64;
/// The same for a loop of floating-point numbers, of which no values are followed: from so many rounds on,
/// the records at its end cost less than its hooks.
const LONG_OF_FLOATS: u64 = 16;

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
    /// As `loads`, of what the reader knows the address of.
    pub known_loads: [FunctionValue<'c>; 4],
    /// `(rounds)`
    pub rounds: FunctionValue<'c>,
    /// `(address, stride, rounds, size, writes)`
    pub range: FunctionValue<'c>,
}

/// The even loops of a module.
#[derive(Default)]
pub(crate) struct Covered {
    headers: Vec<LLVMBasicBlockRef>,
    /// Accesses and branches that are never recorded one by one.
    pub always: HashSet<LLVMValueRef>,
    /// The blocks of all these loops, with the loop's header.
    pub blocks: HashMap<LLVMBasicBlockRef, LLVMBasicBlockRef>,
    /// The branches of loops that may be recorded round by round, with the jump back to each.
    pub branches: HashMap<LLVMValueRef, LLVMValueRef>,
}

impl Covered {
    /// Finds the even loops; nothing is changed.
    pub(crate) fn of(functions: &[LLVMValueRef], derived: &Derived) -> Self {
        let mut covered = Covered::default();
        for &function in functions {
            // SAFETY: walks the blocks of a live function.
            unsafe {
                let mut block = LLVMGetFirstBasicBlock(function);
                while !block.is_null() {
                    if let Some(even) = Even::of(block).filter(|even| !even.has_private(derived)) {
                        covered.add(&even);
                    }
                    block = LLVMGetNextBasicBlock(block);
                }
            }
        }
        covered
    }

    /// # Safety
    /// The loop's blocks are alive.
    unsafe fn add(&mut self, even: &Even) {
        self.headers.push(even.header);
        self.blocks.extend(even.blocks.iter().map(|block| (*block, even.header)));
        // SAFETY: as the caller says; every block has an end.
        unsafe {
            let branch = LLVMGetBasicBlockTerminator(even.header);
            let Some(&last) = even.blocks.last() else { return };
            if even.bound.is_some() {
                self.branches.insert(branch, LLVMGetBasicBlockTerminator(last));
            } else {
                self.always.extend(even.accesses.iter().map(|piece| piece.instruction));
                self.always.extend(&even.hoisted);
                self.always.insert(branch);
            }
        }
    }

    /// Puts the loops' records where they end. Instructions that are replaced on the way come back with
    /// what replaces them.
    pub(crate) fn record(
        &mut self,
        module: &Module,
        hooks: LoopHooks,
        known: &HashSet<LLVMValueRef>,
    ) -> Replaced {
        let mut replaced = Replaced::new();
        for header in self.headers.clone() {
            // SAFETY: the loop is looked at again, since those before it may have changed its entry.
            unsafe {
                let Some(mut even) = Even::of(header) else { continue };
                match even.bound {
                    Some(bound) => {
                        let copies = give_two_versions(
                            module,
                            &mut even,
                            bound,
                            hooks,
                            known,
                            &mut replaced,
                        );
                        self.blocks.extend(copies.iter().map(|block| (*block, copies[0])));
                    }
                    None => {
                        hoist(module, &even, hooks);
                        record_once(module, &even, hooks, &mut replaced);
                    }
                }
            }
        }
        replaced
    }
}

/// Phis by those that they were before.
pub(crate) type Replaced = HashMap<LLVMValueRef, LLVMValueRef>;

/// Puts the records of a loop that is always recorded as a whole where it is left.
///
/// # Safety
/// The loop's blocks are alive.
unsafe fn record_once(module: &Module, even: &Even, hooks: LoopHooks, replaced: &mut Replaced) {
    // SAFETY: everything that is used dominates the header, and with it the new block.
    unsafe {
        let context = LLVMGetModuleContext(module.as_mut_ptr());
        let end = LLVMGetBasicBlockTerminator(even.header);
        let after = LLVMGetSuccessor(end, even.exit);
        let way_out = LLVMInsertBasicBlockInContext(context, after, c"".as_ptr());
        record_at_exit(module, even, hooks, way_out, even.counter.phi, &HashMap::new());
        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderAtEnd(builder, way_out);
        LLVMBuildBr(builder, after);
        LLVMDisposeBuilder(builder);
        LLVMSetSuccessor(end, even.exit, way_out);
        come_from(context, after, even.header, way_out, replaced);
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
            even.bound = even.bound(condition);
            // Values matter here: the loads before the loop would be told in another order.
            let is_whole = even.accesses.iter().any(|piece| !piece.floating);
            if is_whole && (even.bound.is_none() || !even.hoisted.is_empty()) {
                return None;
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

    /// From how many rounds on it is recorded as a whole.
    fn long(&self) -> u64 {
        match self.accesses.iter().all(|piece| piece.floating) {
            true => LONG_OF_FLOATS,
            false => LONG,
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

/// Does the loop's loads of global variables before it.
///
/// # Safety
/// The loop's blocks are alive.
unsafe fn hoist(module: &Module, even: &Even, hooks: LoopHooks) {
    // SAFETY: the new values dominate the loop.
    unsafe {
        let builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module.as_mut_ptr()));
        LLVMPositionBuilderBefore(builder, LLVMGetBasicBlockTerminator(even.entry));
        for (load, value) in hoisted_values(even, hooks, &HashSet::new(), builder) {
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
