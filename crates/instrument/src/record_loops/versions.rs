//! An even loop in two versions: round by round with hooks, and as a whole without.
//!
//! ```text
//!               entry
//!                 │
//!               choose ── long ──▶ before ──▶ copy of the header ◀─▶ copies
//!                 │                                  │
//!               plain                              record
//!                 │                                  │
//!     blocks ◀─▶ header ─────────▶ after both ◀──────┘
//!                                      │
//!                                    after
//! ```

use std::collections::{HashMap, HashSet};

use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::{LLVMIntPredicate, LLVMTypeKind};
use inkwell::module::Module;

use super::exit::{Copier, call, come_from, record_at_exit};
use super::{Counter, Even, LoopHooks, Replaced, instructions, size_of};

type Values = HashMap<LLVMValueRef, LLVMValueRef>;

/// Copies the loop, lets the copy run when it is going to be long, and records it as a whole where it is
/// left. The copy's blocks, its header first.
///
/// # Safety
/// The loop's blocks are alive.
pub(super) unsafe fn give_two_versions(
    module: &Module,
    even: &mut Even,
    bound: LLVMValueRef,
    hooks: LoopHooks,
    known: &HashSet<LLVMValueRef>,
    replaced: &mut Replaced,
) -> Vec<LLVMBasicBlockRef> {
    // SAFETY: the new blocks are given an end each, and the phis all their ways in.
    unsafe {
        let context = LLVMGetModuleContext(module.as_mut_ptr());
        let new_block = |before| LLVMInsertBasicBlockInContext(context, before, c"".as_ptr());
        let header_end = LLVMGetBasicBlockTerminator(even.header);
        let after = LLVMGetSuccessor(header_end, even.exit);
        let (choose, plain) = (new_block(even.header), new_block(even.header));
        let (before, record, both) = (new_block(after), new_block(after), new_block(after));
        let builder = LLVMCreateBuilderInContext(context);

        let entry_end = LLVMGetBasicBlockTerminator(even.entry);
        for index in 0..LLVMGetNumSuccessors(entry_end) {
            if LLVMGetSuccessor(entry_end, index) == even.header {
                LLVMSetSuccessor(entry_end, index, choose);
            }
        }
        LLVMPositionBuilderAtEnd(builder, choose);
        let long = is_long(context, even, bound, builder);
        LLVMBuildCondBr(builder, long, before, plain);
        LLVMPositionBuilderAtEnd(builder, plain);
        LLVMBuildBr(builder, even.header);
        come_from(context, even.header, even.entry, plain, replaced);
        if let Some(&phi) = replaced.get(&even.counter.phi) {
            even.counter.phi = phi;
        }

        LLVMPositionBuilderAtEnd(builder, before);
        let hoisted = hoisted_values(even, hooks, known, builder);
        let Copies { blocks, values } = Copies::of(context, even, &hoisted, (plain, before));
        LLVMBuildBr(builder, blocks[0]);
        let copy_end = LLVMGetBasicBlockTerminator(blocks[0]);
        LLVMSetSuccessor(copy_end, even.exit, record);
        let phi = values.get(&even.counter.phi).copied().unwrap_or(even.counter.phi);
        record_at_exit(module, even, hooks, record, phi, &hoisted);
        LLVMPositionBuilderAtEnd(builder, record);
        LLVMBuildBr(builder, both);

        LLVMSetSuccessor(header_end, even.exit, both);
        LLVMPositionBuilderAtEnd(builder, both);
        join_values(even, &values, &blocks, record, builder);
        LLVMPositionBuilderAtEnd(builder, both);
        LLVMBuildBr(builder, after);
        come_from(context, after, even.header, both, replaced);
        LLVMDisposeBuilder(builder);
        blocks
    }
}

/// Whether the loop is going to be long, computed where it is entered.
///
/// # Safety
/// The builder stands in a block that leads to the loop's header.
unsafe fn is_long(
    context: LLVMContextRef,
    even: &Even,
    bound: LLVMValueRef,
    builder: LLVMBuilderRef,
) -> LLVMValueRef {
    // SAFETY: start and bound do not depend on the loop, so they can be had before it; globals can be
    // loaded anywhere.
    unsafe {
        let none = c"".as_ptr();
        let word = LLVMInt64TypeInContext(context);
        let copier = Copier { even, builder, word };
        let Counter { start, step, .. } = even.counter;
        // Only to choose: what it finds goes nowhere else.
        let loads = even.hoisted.iter().map(|&load| {
            (load, LLVMBuildLoad2(builder, LLVMTypeOf(load), LLVMGetOperand(load, 0), none))
        });
        let bound = copier.copy(bound, start, &mut loads.collect());
        let wide = |value| match LLVMGetIntTypeWidth(LLVMTypeOf(value)) {
            64 => value,
            _ => LLVMBuildSExt(builder, value, word, none),
        };
        let (from, to) = if step > 0 { (start, bound) } else { (bound, start) };
        let way = LLVMBuildSub(builder, wide(to), wide(from), none);
        let long = LLVMConstInt(word, even.long().saturating_mul(step.unsigned_abs()), 0);
        LLVMBuildICmp(builder, LLVMIntPredicate::LLVMIntSGE, way, long, none)
    }
}

/// Does the loop's loads of global variables before it, or before its copy: those of the header with a record, which
/// the reader looks for where it comes to the header, the others as part of the loop.
///
/// # Safety
/// The builder stands in a block that leads to the loop or its copy.
pub(super) unsafe fn hoisted_values(
    even: &Even,
    hooks: LoopHooks,
    known: &HashSet<LLVMValueRef>,
    builder: LLVMBuilderRef,
) -> Values {
    let none = c"".as_ptr();
    // SAFETY: global variables can be loaded anywhere.
    let value = |load: LLVMValueRef| unsafe {
        let (ty, address) = (LLVMTypeOf(load), LLVMGetOperand(load, 0));
        if LLVMGetInstructionParent(load) != even.header {
            return LLVMBuildLoad2(builder, ty, address, none);
        }
        let hooks = if known.contains(&load) { hooks.known_loads } else { hooks.loads };
        let hook = hooks[size_of(load).trailing_zeros() as usize % 4];
        let bits = call(builder, hook, &mut [address]);
        match LLVMGetTypeKind(ty) {
            LLVMTypeKind::LLVMPointerTypeKind => LLVMBuildIntToPtr(builder, bits, ty, none),
            _ if LLVMGetIntTypeWidth(ty) < 64 => LLVMBuildTrunc(builder, bits, ty, none),
            _ => bits,
        }
    };
    even.hoisted.iter().map(|&load| (load, value(load))).collect()
}

/// The loop's blocks and instructions once more.
struct Copies {
    blocks: Vec<LLVMBasicBlockRef>,
    values: Values,
}

impl Copies {
    /// Copies that are entered from `entries.1` where the loop is from `entries.0`; what is hoisted has
    /// its value already.
    ///
    /// # Safety
    /// The loop's blocks are alive.
    unsafe fn of(
        context: LLVMContextRef,
        even: &Even,
        hoisted: &Values,
        entries: (LLVMBasicBlockRef, LLVMBasicBlockRef),
    ) -> Self {
        // SAFETY: every instruction is copied with its operands, each to the copy of its block.
        unsafe {
            let function = LLVMGetBasicBlockParent(even.header);
            let builder = LLVMCreateBuilderInContext(context);
            let mut copy_of: HashMap<LLVMBasicBlockRef, LLVMBasicBlockRef> =
                HashMap::from([entries]);
            let mut values = hoisted.clone();
            let mut copies = Vec::new();
            for &block in &even.blocks {
                let copy = LLVMAppendBasicBlockInContext(context, function, c"".as_ptr());
                copy_of.insert(block, copy);
                copies.push(copy);
                LLVMPositionBuilderAtEnd(builder, copy);
                for instruction in instructions(block) {
                    if hoisted.contains_key(&instruction) {
                        continue;
                    }
                    let again = if LLVMIsAPHINode(instruction).is_null() {
                        let again = LLVMInstructionClone(instruction);
                        LLVMInsertIntoBuilder(builder, again);
                        again
                    } else {
                        LLVMBuildPhi(builder, LLVMTypeOf(instruction), c"".as_ptr())
                    };
                    values.insert(instruction, again);
                }
            }
            for instruction in even.blocks.iter().flat_map(|block| instructions(*block)) {
                if !hoisted.contains_key(&instruction) {
                    rewire(instruction, &values, &copy_of);
                }
            }
            LLVMDisposeBuilder(builder);
            Copies { blocks: copies, values }
        }
    }
}

/// Lets the copy of an instruction use copies.
///
/// # Safety
/// The instruction is one of the loop, and has a copy.
unsafe fn rewire(
    instruction: LLVMValueRef,
    values: &Values,
    copy_of: &HashMap<LLVMBasicBlockRef, LLVMBasicBlockRef>,
) {
    let value_of = |value| values.get(&value).copied().unwrap_or(value);
    let block_of = |block| copy_of.get(&block).copied().unwrap_or(block);
    let copy = value_of(instruction);
    // SAFETY: as the caller says; successors are set as such, not as operands.
    unsafe {
        if !LLVMIsAPHINode(instruction).is_null() {
            for index in 0..LLVMCountIncoming(instruction) {
                let mut value = value_of(LLVMGetIncomingValue(instruction, index));
                let mut block = block_of(LLVMGetIncomingBlock(instruction, index));
                LLVMAddIncoming(copy, &mut value, &mut block, 1);
            }
            return;
        }
        for index in 0..LLVMGetNumOperands(instruction) as u32 {
            let operand = LLVMGetOperand(instruction, index);
            if let Some(&value) = values.get(&operand) {
                LLVMSetOperand(copy, index, value);
            }
        }
        if !LLVMIsATerminatorInst(instruction).is_null() {
            for index in 0..LLVMGetNumSuccessors(instruction) {
                LLVMSetSuccessor(copy, index, block_of(LLVMGetSuccessor(instruction, index)));
            }
        }
    }
}

/// What the loop computes and what its copy does become one where both are left.
///
/// # Safety
/// The builder stands in a block that has no other ways in than the header and `record`.
unsafe fn join_values(
    even: &Even,
    values: &Values,
    copies: &[LLVMBasicBlockRef],
    record: LLVMBasicBlockRef,
    builder: LLVMBuilderRef,
) {
    // SAFETY: what is used outside the loop comes from its header, since only that leads out.
    unsafe {
        let is_outside = |user: LLVMValueRef| {
            let block = LLVMGetInstructionParent(user);
            !even.blocks.contains(&block) && !copies.contains(&block) && block != record
        };
        for mut value in even.blocks.iter().flat_map(|block| instructions(*block)) {
            let mut users = Vec::new();
            let mut next = LLVMGetFirstUse(value);
            while !next.is_null() {
                users.push(LLVMGetUser(next));
                next = LLVMGetNextUse(next);
            }
            users.retain(|user| !LLVMIsAInstruction(*user).is_null() && is_outside(*user));
            let Some(&(mut copy)) = values.get(&value).filter(|_| !users.is_empty()) else {
                continue;
            };
            let phi = LLVMBuildPhi(builder, LLVMTypeOf(value), c"".as_ptr());
            for user in users {
                for index in 0..LLVMGetNumOperands(user) as u32 {
                    if LLVMGetOperand(user, index) == value {
                        LLVMSetOperand(user, index, phi);
                    }
                }
            }
            let (mut header, mut record) = (even.header, record);
            LLVMAddIncoming(phi, &mut value, &mut header, 1);
            LLVMAddIncoming(phi, &mut copy, &mut record, 1);
        }
    }
}
