//! The records of an even loop, put where it is left.

use std::collections::HashMap;

use inkwell::llvm_sys::LLVMOpcode;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::module::Module;
use inkwell::values::{AsValueRef, FunctionValue};

use super::{Counter, Even, LoopHooks, Replaced, instructions};

/// Puts the records at the end of `block`, where the loop's counter is `phi` and the values that are
/// had before the loop are those of `hoisted`.
///
/// # Safety
/// The loop's blocks are alive, and the block comes after the loop and nothing else.
pub(super) unsafe fn record_at_exit(
    module: &Module,
    even: &Even,
    hooks: LoopHooks,
    block: LLVMBasicBlockRef,
    phi: LLVMValueRef,
    hoisted: &HashMap<LLVMValueRef, LLVMValueRef>,
) {
    // SAFETY: everything that is used dominates the loop's header, and with it the block.
    unsafe {
        let context = LLVMGetModuleContext(module.as_mut_ptr());
        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderAtEnd(builder, block);
        let copier = Copier { even, builder, word: LLVMInt64TypeInContext(context) };
        let rounds = copier.rounds(phi);
        call(builder, hooks.rounds, &mut [rounds]);
        let Counter { start, step, .. } = even.counter;
        let ty = LLVMTypeOf(start);
        let step = LLVMConstInt(ty, step.cast_unsigned(), 1);
        let second = LLVMBuildAdd(builder, start, step, c"".as_ptr());
        for piece in &even.accesses {
            let first = copier.copy(piece.address, start, &mut hoisted.clone());
            let next = copier.copy(piece.address, second, &mut hoisted.clone());
            let at = |value| LLVMBuildPtrToInt(builder, value, copier.word, c"".as_ptr());
            let stride = LLVMBuildSub(builder, at(next), at(first), c"".as_ptr());
            let number = |value: u64| LLVMConstInt(copier.word, value, 0);
            let (size, writes) = (number(piece.size), number(piece.writes.into()));
            call(builder, hooks.range, &mut [first, stride, rounds, size, writes]);
        }
        LLVMDisposeBuilder(builder);
    }
}

/// # Safety
/// Builder, hook and arguments belong to one module and fit together.
pub(super) unsafe fn call(
    builder: LLVMBuilderRef,
    hook: FunctionValue,
    arguments: &mut [LLVMValueRef],
) -> LLVMValueRef {
    // SAFETY: as the caller says.
    unsafe {
        let hook = hook.as_value_ref();
        let ty = LLVMGlobalGetValueType(hook);
        let count = arguments.len() as u32;
        LLVMBuildCall2(builder, ty, hook, arguments.as_mut_ptr(), count, c"".as_ptr())
    }
}

/// Lets the phis of a block take from `new` what they took from `old`.
///
/// # Safety
/// All are alive and of one function.
pub(super) unsafe fn come_from(
    context: LLVMContextRef,
    block: LLVMBasicBlockRef,
    old: LLVMBasicBlockRef,
    new: LLVMBasicBlockRef,
    replaced: &mut Replaced,
) {
    // SAFETY: as the caller says; the old phi has no uses left when it is erased.
    unsafe {
        let phis = instructions(block);
        for phi in phis.into_iter().take_while(|value| !LLVMIsAPHINode(*value).is_null()) {
            let builder = LLVMCreateBuilderInContext(context);
            LLVMPositionBuilderBefore(builder, phi);
            let copy = LLVMBuildPhi(builder, LLVMTypeOf(phi), c"".as_ptr());
            for index in 0..LLVMCountIncoming(phi) {
                let mut value = LLVMGetIncomingValue(phi, index);
                let from = LLVMGetIncomingBlock(phi, index);
                let mut from = if from == old { new } else { from };
                LLVMAddIncoming(copy, &mut value, &mut from, 1);
            }
            LLVMDisposeBuilder(builder);
            LLVMReplaceAllUsesWith(phi, copy);
            LLVMInstructionEraseFromParent(phi);
            replaced.values_mut().filter(|now| **now == phi).for_each(|now| *now = copy);
            replaced.insert(phi, copy);
        }
    }
}

/// Computes addresses of the loop outside it.
pub(super) struct Copier<'e> {
    pub even: &'e Even,
    pub builder: LLVMBuilderRef,
    pub word: LLVMTypeRef,
}

impl Copier<'_> {
    /// How often the loop went round, by its counter.
    ///
    /// # Safety
    /// The builder stands where the counter, `phi`, has its last value.
    unsafe fn rounds(&self, phi: LLVMValueRef) -> LLVMValueRef {
        let Counter { start, step, .. } = self.even.counter;
        let none = c"".as_ptr();
        // SAFETY: as the caller says.
        unsafe {
            let wide = |value| LLVMBuildSExt(self.builder, value, self.word, none);
            let is_wide = LLVMGetIntTypeWidth(LLVMTypeOf(phi)) == 64;
            let (now, start) = if is_wide { (phi, start) } else { (wide(phi), wide(start)) };
            let way = LLVMBuildSub(self.builder, now, start, none);
            if step == 1 {
                return way;
            }
            let step = LLVMConstInt(self.word, step.cast_unsigned(), 1);
            LLVMBuildExactSDiv(self.builder, way, step, none)
        }
    }

    /// The value as it is when the counter is `counter`; those of `done` are known.
    ///
    /// # Safety
    /// The value is linear in the counter.
    pub unsafe fn copy(
        &self,
        value: LLVMValueRef,
        counter: LLVMValueRef,
        done: &mut HashMap<LLVMValueRef, LLVMValueRef>,
    ) -> LLVMValueRef {
        if value == self.even.counter.phi {
            return counter;
        }
        if let Some(&copy) = done.get(&value) {
            return copy;
        }
        if !self.even.has(value) {
            return value;
        }
        // SAFETY: a linear value is an instruction whose operands are linear.
        unsafe {
            let copy = LLVMInstructionClone(value);
            for index in 0..LLVMGetNumOperands(value) as u32 {
                let operand = self.copy(LLVMGetOperand(value, index), counter, done);
                LLVMSetOperand(copy, index, operand);
            }
            // The second piece of a loop that went round once may lie anywhere.
            match LLVMGetInstructionOpcode(copy) {
                LLVMOpcode::LLVMGetElementPtr => LLVMGEPSetNoWrapFlags(copy, 0),
                LLVMOpcode::LLVMAdd | LLVMOpcode::LLVMSub | LLVMOpcode::LLVMMul => {
                    LLVMSetNSW(copy, 0);
                    LLVMSetNUW(copy, 0);
                }
                _ => {}
            }
            LLVMInsertIntoBuilder(self.builder, copy);
            done.insert(value, copy);
            copy
        }
    }
}
