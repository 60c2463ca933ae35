//! One check for a whole loop whose addresses run on evenly (BigFoot's idea, for the innermost
//! loops where array code spends its time).
//!
//! A loop of one block, entered from one place, that calls nothing: it synchronises with nobody and
//! runs to its end, so what it will access may be checked before it starts. Its counter goes from
//! a start by constant steps to a bound known outside. The accesses of one place in the source that
//! together leave no gap from one round to the next become one check of the range. Everything else
//! in the loop is checked as before.

use std::collections::BTreeMap;

use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::target::{LLVMABISizeOfType, LLVMGetModuleDataLayout, LLVMTargetDataRef};
use inkwell::llvm_sys::{LLVMIntPredicate, LLVMOpcode};
use inkwell::module::Module;
use inkwell::values::AsValueRef;

use crate::coalesce::{Check, Place, Step, range_check, step_of};

/// Moves checks out of the loops of every function.
pub(crate) fn hoist(module: &Module) {
    // SAFETY: the module is alive and has a data layout.
    let layout = unsafe { LLVMGetModuleDataLayout(module.as_mut_ptr()) };
    for function in module.get_functions() {
        // SAFETY: blocks of a live function; only instructions are added and erased.
        unsafe {
            let mut block = LLVMGetFirstBasicBlock(function.as_value_ref());
            while !block.is_null() {
                if let Some(counted) = Counted::of(block) {
                    hoist_from(module, &counted, layout);
                }
                block = LLVMGetNextBasicBlock(block);
            }
        }
    }
}

/// A loop of one block with a counter.
struct Counted {
    block: LLVMBasicBlockRef,
    /// The only way in, which leads nowhere else.
    entry: LLVMBasicBlockRef,
    counter: LLVMValueRef,
    start: LLVMValueRef,
    step: i64,
    /// The counter's value after the last round.
    bound: LLVMValueRef,
}

impl Counted {
    /// # Safety
    /// The block is alive.
    unsafe fn of(block: LLVMBasicBlockRef) -> Option<Counted> {
        // SAFETY: every operand is asked for only after its instruction's kind was seen.
        unsafe {
            let end = LLVMGetBasicBlockTerminator(block);
            if end.is_null()
                || LLVMGetInstructionOpcode(end) != LLVMOpcode::LLVMBr
                || LLVMIsConditional(end) == 0
            {
                return None;
            }
            let (taken, other) = (LLVMGetSuccessor(end, 0), LLVMGetSuccessor(end, 1));
            // Goes on while they differ.
            let going_on = match (taken == block, other == block) {
                (true, false) => LLVMIntPredicate::LLVMIntNE,
                (false, true) => LLVMIntPredicate::LLVMIntEQ,
                _ => return None,
            };
            let condition = LLVMIsAICmpInst(LLVMGetCondition(end));
            if condition.is_null() || LLVMGetICmpPredicate(condition) != going_on {
                return None;
            }
            let next = LLVMGetOperand(condition, 0);
            let bound = LLVMGetOperand(condition, 1);
            let adds = !LLVMIsAInstruction(next).is_null()
                && LLVMGetInstructionOpcode(next) == LLVMOpcode::LLVMAdd;
            if !adds || !is_outside(bound, block) {
                return None;
            }
            let counter = LLVMIsAPHINode(LLVMGetOperand(next, 0));
            let step = LLVMIsAConstantInt(LLVMGetOperand(next, 1));
            if counter.is_null()
                || step.is_null()
                || LLVMGetInstructionParent(counter) != block
                || LLVMGetIntTypeWidth(LLVMTypeOf(counter)) != 64
                || LLVMCountIncoming(counter) != 2
            {
                return None;
            }
            let from_self = u32::from(LLVMGetIncomingBlock(counter, 0) != block);
            let entry = LLVMGetIncomingBlock(counter, 1 - from_self);
            let way_in = LLVMGetBasicBlockTerminator(entry);
            let step = LLVMConstIntGetSExtValue(step);
            let fits = LLVMGetIncomingValue(counter, from_self) == next
                && LLVMGetInstructionOpcode(way_in) == LLVMOpcode::LLVMBr
                && LLVMIsConditional(way_in) == 0
                && step > 0;
            let start = LLVMGetIncomingValue(counter, 1 - from_self);
            fits.then_some(Counted { block, entry, counter, start, step, bound })
        }
    }
}

/// Whether the value is the same in every round.
///
/// # Safety
/// Both are alive.
unsafe fn is_outside(value: LLVMValueRef, block: LLVMBasicBlockRef) -> bool {
    // SAFETY: as the caller says.
    unsafe { LLVMIsAInstruction(value).is_null() || LLVMGetInstructionParent(value) != block }
}

/// A number of the form `scale * counter + offset`.
#[derive(Clone, Copy)]
struct Affine {
    scale: i64,
    offset: i64,
}

/// # Safety
/// The value is alive.
unsafe fn affine(value: LLVMValueRef, counter: LLVMValueRef, depth: u32) -> Option<Affine> {
    if value == counter {
        return Some(Affine { scale: 1, offset: 0 });
    }
    // SAFETY: operands of binary instructions only.
    unsafe {
        if depth == 0 || LLVMIsABinaryOperator(value).is_null() {
            return None;
        }
        let constant = LLVMIsAConstantInt(LLVMGetOperand(value, 1));
        if constant.is_null() {
            return None;
        }
        let by = LLVMConstIntGetSExtValue(constant);
        let of = affine(LLVMGetOperand(value, 0), counter, depth - 1)?;
        let (scale, offset) = match LLVMGetInstructionOpcode(value) {
            LLVMOpcode::LLVMAdd => (of.scale, of.offset.checked_add(by)?),
            // What unrolling makes of an addition that carries nothing.
            LLVMOpcode::LLVMOr if LLVMGetIsDisjoint(value) != 0 => {
                (of.scale, of.offset.checked_add(by)?)
            }
            LLVMOpcode::LLVMMul => (of.scale.checked_mul(by)?, of.offset.checked_mul(by)?),
            LLVMOpcode::LLVMShl if (0..32).contains(&by) => {
                (of.scale.checked_mul(1 << by)?, of.offset.checked_mul(1 << by)?)
            }
            _ => return None,
        };
        Some(Affine { scale, offset })
    }
}

/// A check whose address is `base + bytes * counter + offset`.
struct Even {
    check: Check,
    base: LLVMValueRef,
    /// Bytes for each unit of the counter.
    bytes: i64,
    offset: i64,
}

/// # Safety
/// The check's call is alive and in the loop.
unsafe fn even(check: Check, counted: &Counted, layout: LLVMTargetDataRef) -> Option<Even> {
    // SAFETY: operands of address computations with one index only.
    unsafe {
        let root = check.root;
        if LLVMIsAGetElementPtrInst(root).is_null() || LLVMGetNumOperands(root) != 2 {
            return None;
        }
        let base = LLVMGetOperand(root, 0);
        if !is_outside(base, counted.block) {
            return None;
        }
        let index = affine(LLVMGetOperand(root, 1), counted.counter, 4)?;
        let size = LLVMABISizeOfType(layout, LLVMGetGEPSourceElementType(root));
        let size = i64::try_from(size).ok()?;
        let bytes = index.scale.checked_mul(size)?;
        let offset = index.offset.checked_mul(size)?.checked_add(check.offset)?;
        (bytes > 0).then_some(Even { check, base, bytes, offset })
    }
}

/// # Safety
/// The loop's blocks are alive.
unsafe fn hoist_from(module: &Module, counted: &Counted, layout: LLVMTargetDataRef) {
    let mut groups: BTreeMap<(usize, bool, Place, i64), Vec<Even>> = BTreeMap::new();
    // SAFETY: walks a live block, changing nothing.
    unsafe {
        let mut instruction = LLVMGetFirstInstruction(counted.block);
        while !instruction.is_null() {
            match step_of(instruction, layout) {
                Step::Check(check) if check.place.line != 0 => {
                    if let Some(even) = even(check, counted, layout) {
                        let key = (even.base as usize, check.write, check.place, even.bytes);
                        groups.entry(key).or_default().push(even);
                    }
                }
                Step::Check(_) | Step::Neutral => {}
                Step::End => return,
            }
            instruction = LLVMGetNextInstruction(instruction);
        }
    }
    for mut group in groups.into_values() {
        group.sort_by_key(|even| even.offset);
        // SAFETY: the checks are alive, and each is in one group.
        unsafe { hoist_group(module, counted, &group) };
    }
}

/// # Safety
/// The group's calls are alive and in the loop.
unsafe fn hoist_group(module: &Module, counted: &Counted, group: &[Even]) {
    let Some(first) = group.first() else { return };
    let mut end = first.offset;
    for even in group {
        if even.offset > end {
            return;
        }
        end = end.max(even.offset + even.check.size);
    }
    let Some(stride) = first.bytes.checked_mul(counted.step) else { return };
    // A gap between rounds, and the range would say more than is accessed; an overlap beyond the
    // last round is cut off by taking exactly what the rounds advance by.
    if end - first.offset != stride {
        return;
    }
    let context = module.get_context();
    let (byte, word) = (context.i8_type(), context.i64_type());
    use inkwell::types::AsTypeRef;
    // SAFETY: base, start and bound are defined before the way in; the builder stands there.
    unsafe {
        let builder = LLVMCreateBuilderInContext(context.raw());
        LLVMPositionBuilderBefore(builder, LLVMGetBasicBlockTerminator(counted.entry));
        LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(first.check.call));
        let number = |value: i64| word.const_int(value.cast_unsigned(), true).as_value_ref();
        let none = c"".as_ptr();
        let scaled = LLVMBuildMul(builder, counted.start, number(first.bytes), none);
        let mut at = LLVMBuildAdd(builder, scaled, number(first.offset), none);
        let start = LLVMBuildGEP2(builder, byte.as_type_ref(), first.base, &mut at, 1, none);
        let rounds = LLVMBuildSub(builder, counted.bound, counted.start, none);
        let size = LLVMBuildMul(builder, rounds, number(first.bytes), none);
        range_check(module, builder, first.check.write, start, size);
        LLVMDisposeBuilder(builder);
        for even in group {
            LLVMInstructionEraseFromParent(even.check.call);
        }
    }
}

#[cfg(test)]
mod tests {
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;

    use super::hoist;

    /// The function after the pass, for a loop with this body and this step of its counter.
    fn after(body: &str, step: u32) -> String {
        let text = format!(
            "declare void @__tsan_read8(ptr)\ndeclare void @__tsan_read16(ptr)\n\
             declare void @other()\n\
             define void @f(ptr %p, i64 %n) !dbg !4 {{\nentry:\n  br label %loop\nloop:\n  \
             %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n{body}  \
             %next = add nuw i64 %i, {step}\n  %done = icmp eq i64 %next, %n\n  \
             br i1 %done, label %exit, label %loop\nexit:\n  ret void\n}}\n\
             !llvm.dbg.cu = !{{!0}}\n!llvm.module.flags = !{{!3}}\n\
             !0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, emissionKind: FullDebug)\n\
             !1 = !DIFile(filename: \"a.c\", directory: \"/\")\n\
             !2 = !DISubroutineType(types: !5)\n!3 = !{{i32 2, !\"Debug Info Version\", i32 3}}\n\
             !4 = distinct !DISubprogram(name: \"f\", file: !1, line: 1, type: !2, unit: !0, \
             spFlags: DISPFlagDefinition)\n!5 = !{{}}\n\
             !7 = !DILocation(line: 7, column: 3, scope: !4)\n"
        );
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "test");
        let module = context.create_module_from_ir(buffer).unwrap();
        hoist(&module);
        module.verify().unwrap();
        let printed = module.print_to_string().to_string();
        let (_, function) = printed.split_once("define void @f").unwrap();
        function.split_once("\n}").unwrap().0.to_owned()
    }

    const READ: &str = "  %a = getelementptr double, ptr %p, i64 %i\n  \
                        call void @__tsan_read8(ptr %a), !dbg !7\n";

    #[test]
    fn even_accesses_are_checked_before_the_loop() {
        let function = after(READ, 1);
        let (before, inside) = function.split_once("loop:").unwrap();
        assert!(before.contains("call void @__tsan_read_range"), "{function}");
        assert!(!inside.contains("__tsan"), "{function}");
    }

    #[test]
    fn pairs_without_a_gap_are_joined() {
        let body = "  %a = getelementptr double, ptr %p, i64 %i\n  \
                    call void @__tsan_read16(ptr %a), !dbg !7\n  \
                    %b = getelementptr i8, ptr %a, i64 16\n  \
                    call void @__tsan_read16(ptr %b), !dbg !7\n";
        let function = after(body, 4);
        assert_eq!(function.matches("call void @__tsan_read_range").count(), 1, "{function}");
        assert!(!function.contains("__tsan_read16"), "{function}");
    }

    #[test]
    fn gaps_and_calls_leave_the_loop_as_it_is() {
        assert!(!after(READ, 2).contains("range"));
        let calling = format!("{READ}  call void @other(), !dbg !7\n");
        assert!(!after(&calling, 1).contains("range"));
    }
}
