//! One check for a whole loop whose addresses run on evenly (BigFoot's idea, for the innermost
//! loops where array code spends its time).
//!
//! A loop of one block, entered from one place, that calls nothing: it synchronises with nobody and
//! runs to its end, so what it will access may be checked before it starts. Its counters go from
//! a start by constant steps, one of them to a bound known outside. An address that is linear in them,
//! everything else in it coming from outside, advances by the same stride in each round. The accesses of
//! one place in the source that together leave no gap from one round to the next become one check of the
//! range. Everything else in the loop is checked as before.
//!
//! Accesses that are far apart from round to round, as in a column of a matrix, wait for memory each, and
//! so do their checks, one after the other: the lock that an access new to its segment takes lets nothing
//! behind it start. So what comes some rounds later is asked for in time, and its shadow with it.

use std::collections::BTreeMap;

use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::target::{LLVMABISizeOfType, LLVMGetModuleDataLayout, LLVMTargetDataRef};
use inkwell::llvm_sys::{LLVMIntPredicate, LLVMOpcode, LLVMTypeKind};
use inkwell::module::Module;
use inkwell::types::AsTypeRef;
use inkwell::values::AsValueRef;

use crate::coalesce::{Check, Place, Step, range_check, step_of};
use crate::polynomial::Polynomial;

/// From this many bytes on, the next round's access is in another line of memory.
const FAR: u64 = 64;
/// How many rounds ahead memory is asked for: enough for it to answer. Columns of a power of two share a
/// few places of the cache, which hold no more than a dozen lines.
const AHEAD: i64 = 6;

/// Moves checks out of the loops of every function.
pub(crate) fn hoist(module: &Module) {
    // SAFETY: the module is alive and has a data layout.
    let layout = unsafe { LLVMGetModuleDataLayout(module.as_mut_ptr()) };
    for function in module.get_functions() {
        // SAFETY: blocks of a live function; only instructions are added and erased.
        unsafe {
            let mut block = LLVMGetFirstBasicBlock(function.as_value_ref());
            while !block.is_null() {
                if let Some(mut counted) = Counted::of(block, layout) {
                    hoist_from(module, &mut counted);
                }
                block = LLVMGetNextBasicBlock(block);
            }
        }
    }
}

/// A value that grows by the same in each round.
struct Counter {
    start: LLVMValueRef,
    step: i64,
}

impl Counter {
    /// # Safety
    /// Block and value are alive.
    unsafe fn of(value: LLVMValueRef, block: LLVMBasicBlockRef) -> Option<Counter> {
        // SAFETY: every operand is asked for only after its instruction's kind was seen.
        unsafe {
            let phi = LLVMIsAPHINode(value);
            if phi.is_null()
                || LLVMGetInstructionParent(phi) != block
                || LLVMCountIncoming(phi) != 2
                || LLVMGetTypeKind(LLVMTypeOf(phi)) != LLVMTypeKind::LLVMIntegerTypeKind
                || LLVMGetIntTypeWidth(LLVMTypeOf(phi)) != 64
            {
                return None;
            }
            let from_self = u32::from(LLVMGetIncomingBlock(phi, 0) != block);
            let next = LLVMIsABinaryOperator(LLVMGetIncomingValue(phi, from_self));
            if next.is_null()
                || LLVMGetInstructionOpcode(next) != LLVMOpcode::LLVMAdd
                || LLVMGetOperand(next, 0) != phi
            {
                return None;
            }
            let step = LLVMIsAConstantInt(LLVMGetOperand(next, 1));
            let start = LLVMGetIncomingValue(phi, 1 - from_self);
            (!step.is_null()).then(|| Counter { start, step: LLVMConstIntGetSExtValue(step) })
        }
    }
}

/// A loop of one block that knows how often it goes round.
struct Counted {
    layout: LLVMTargetDataRef,
    block: LLVMBasicBlockRef,
    /// The only way in, which leads nowhere else.
    entry: LLVMBasicBlockRef,
    /// What decides when to leave, and its value after the last round.
    deciding: Counter,
    bound: LLVMValueRef,
    /// What the addresses are made of, and which of it are counters.
    atoms: Vec<LLVMValueRef>,
    counters: BTreeMap<usize, Counter>,
}

impl Counted {
    /// # Safety
    /// The block is alive.
    unsafe fn of(block: LLVMBasicBlockRef, layout: LLVMTargetDataRef) -> Option<Counted> {
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
            let next = LLVMIsABinaryOperator(LLVMGetOperand(condition, 0));
            let bound = LLVMGetOperand(condition, 1);
            if next.is_null() || !is_outside(bound, block) {
                return None;
            }
            let phi = LLVMGetOperand(next, 0);
            let deciding = Counter::of(phi, block).filter(|counter| counter.step > 0)?;
            let from_self = u32::from(LLVMGetIncomingBlock(phi, 0) != block);
            let entry = LLVMGetIncomingBlock(phi, 1 - from_self);
            let way_in = LLVMGetBasicBlockTerminator(entry);
            let fits = LLVMGetIncomingValue(phi, from_self) == next
                && LLVMGetInstructionOpcode(way_in) == LLVMOpcode::LLVMBr
                && LLVMIsConditional(way_in) == 0;
            fits.then(|| Counted {
                layout,
                block,
                entry,
                deciding,
                bound,
                atoms: Vec::new(),
                counters: BTreeMap::new(),
            })
        }
    }

    fn atom(&mut self, value: LLVMValueRef) -> usize {
        self.atoms.iter().position(|atom| *atom == value).unwrap_or_else(|| {
            self.atoms.push(value);
            self.atoms.len() - 1
        })
    }

    /// The value by what comes from outside the loop and its counters.
    ///
    /// # Safety
    /// The value is alive.
    unsafe fn polynomial(&mut self, value: LLVMValueRef, depth: u32) -> Option<Polynomial> {
        // SAFETY: operands are asked for by the opcodes' own rules.
        unsafe {
            let kind = LLVMTypeOf(value);
            let is_number = match LLVMGetTypeKind(kind) {
                LLVMTypeKind::LLVMPointerTypeKind => false,
                LLVMTypeKind::LLVMIntegerTypeKind if LLVMGetIntTypeWidth(kind) == 64 => true,
                _ => return None,
            };
            let constant = LLVMIsAConstantInt(value);
            if !constant.is_null() {
                return Some(Polynomial::number(LLVMConstIntGetSExtValue(constant)));
            }
            if is_outside(value, self.block) {
                return Some(Polynomial::atom(self.atom(value)));
            }
            if let Some(counter) = Counter::of(value, self.block) {
                let atom = self.atom(value);
                self.counters.insert(atom, counter);
                return Some(Polynomial::atom(atom));
            }
            if depth == 0 {
                return None;
            }
            let found = match is_number {
                true => self.number(value, depth - 1)?,
                false => self.address(value, depth - 1)?,
            };
            found.is_short().then_some(found)
        }
    }

    /// # Safety
    /// The value is an instruction of the loop.
    unsafe fn number(&mut self, value: LLVMValueRef, depth: u32) -> Option<Polynomial> {
        // SAFETY: operands of binary instructions only.
        unsafe {
            if LLVMIsABinaryOperator(value).is_null() {
                return None;
            }
            let left = self.polynomial(LLVMGetOperand(value, 0), depth)?;
            let right = self.polynomial(LLVMGetOperand(value, 1), depth)?;
            Some(match LLVMGetInstructionOpcode(value) {
                LLVMOpcode::LLVMAdd => left.plus(&right),
                LLVMOpcode::LLVMSub => left.minus(&right),
                // What unrolling makes of an addition that carries nothing.
                LLVMOpcode::LLVMOr if LLVMGetIsDisjoint(value) != 0 => left.plus(&right),
                LLVMOpcode::LLVMMul => left.times(&right),
                LLVMOpcode::LLVMShl => {
                    let by = right.constant().filter(|by| (0..63).contains(by))?;
                    left.scaled(1 << by)
                }
                _ => return None,
            })
        }
    }

    /// # Safety
    /// The value is an instruction of the loop.
    unsafe fn address(&mut self, value: LLVMValueRef, depth: u32) -> Option<Polynomial> {
        // SAFETY: operands of address computations with one index only.
        unsafe {
            if LLVMIsAGetElementPtrInst(value).is_null() || LLVMGetNumOperands(value) != 2 {
                return None;
            }
            let base = self.polynomial(LLVMGetOperand(value, 0), depth)?;
            let index = self.polynomial(LLVMGetOperand(value, 1), depth)?;
            let size = LLVMABISizeOfType(self.layout, LLVMGetGEPSourceElementType(value));
            Some(base.plus(&index.scaled(i64::try_from(size).ok()?)))
        }
    }

    /// The atoms as they are before the first round.
    fn starts(&self) -> Vec<LLVMValueRef> {
        let start = |(atom, value): (usize, &LLVMValueRef)| match self.counters.get(&atom) {
            Some(counter) => counter.start,
            None => *value,
        };
        self.atoms.iter().enumerate().map(start).collect()
    }

    /// What each round adds to an address, when that is the same in all of them.
    fn stride(&self, address: &Polynomial) -> Option<Polynomial> {
        let changing = address.part_with(|atom| self.counters.contains_key(&atom))?;
        let step = |atom: usize| self.counters.get(&atom).map(|one| Polynomial::number(one.step));
        Some(changing.replaced(step))
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

/// Bytes that one place in the source accesses in each round.
#[derive(Clone)]
struct Piece {
    /// With the counters in it.
    at: Polynomial,
    size: i64,
    /// How far apart they are from round to round.
    stride: Polynomial,
}

/// # Safety
/// The loop's blocks are alive.
unsafe fn hoist_from(module: &Module, counted: &mut Counted) {
    let mut groups: BTreeMap<(bool, Place), Vec<(Check, Piece)>> = BTreeMap::new();
    // SAFETY: walks a live block, changing nothing.
    unsafe {
        let mut instruction = LLVMGetFirstInstruction(counted.block);
        while !instruction.is_null() {
            match step_of(instruction, counted.layout) {
                Step::Check(check) if check.place.line != 0 => {
                    if let Some(piece) = piece_of(check, counted) {
                        groups.entry((check.write, check.place)).or_default().push((check, piece));
                    }
                }
                Step::Check(_) | Step::Neutral => {}
                Step::End => return,
            }
            instruction = LLVMGetNextInstruction(instruction);
        }
    }
    let mut far = Vec::new();
    for mut group in groups.into_values() {
        // One place may stand for several addresses that have nothing to do with each other.
        while let Some((_, first)) = group.first() {
            let stride = first.stride.clone();
            let (together, rest): (Vec<_>, Vec<_>) =
                group.into_iter().partition(|(_, piece)| piece.stride == stride);
            group = rest;
            match range_of(together.iter().map(|(_, piece)| piece)) {
                // SAFETY: the checks are alive, and each is in one group.
                Some(range) => unsafe { check_before(module, counted, &together, &range) },
                None => far.extend(together.into_iter().filter(|(_, piece)| is_far(piece))),
            }
        }
    }
    // SAFETY: these checks are still there.
    unsafe { fetch_ahead(module, counted, &far) };
}

/// # Safety
/// The check's call is alive and in the loop.
unsafe fn piece_of(check: Check, counted: &mut Counted) -> Option<Piece> {
    // SAFETY: as the caller says.
    let root = unsafe { counted.polynomial(check.root, 8) }?;
    let at = root.plus(&Polynomial::number(check.offset));
    let stride = counted.stride(&at)?;
    // What does not move is checked once and found again by the fast path.
    (stride.constant() != Some(0)).then_some(Piece { at, size: check.size, stride })
}

/// All pieces as one, when they leave no gap from round to round.
fn range_of<'p>(mut pieces: impl Iterator<Item = &'p Piece> + Clone) -> Option<Piece> {
    let all = pieces.clone();
    let first = pieces.next()?;
    let mut spans = all
        .map(|piece| Some((piece.at.minus(&first.at).constant()?, piece)))
        .collect::<Option<Vec<_>>>()?;
    spans.sort_by_key(|(offset, _)| *offset);
    let (start, lowest) = *spans.first()?;
    let mut end = start;
    for (offset, piece) in spans {
        if offset > end {
            return None;
        }
        end = end.max(offset + piece.size);
    }
    // A gap between rounds, and the range would say more than is accessed; an overlap beyond the
    // last round is cut off by taking exactly what the rounds advance by.
    let size = end - start;
    (lowest.stride.constant() == Some(size)).then(|| Piece { size, ..lowest.clone() })
}

fn is_far(piece: &Piece) -> bool {
    piece.stride.constant().is_none_or(|stride| stride.unsigned_abs() >= FAR)
}

fn number_of(kind: LLVMTypeRef, value: i64) -> LLVMValueRef {
    // SAFETY: the type is one of whole numbers.
    unsafe { LLVMConstInt(kind, value.cast_unsigned(), 1) }
}

/// Puts one check of the whole range before the loop, and takes those out of it that it stands for.
///
/// # Safety
/// The checks' calls are alive and in the loop.
unsafe fn check_before(
    module: &Module,
    counted: &Counted,
    checks: &[(Check, Piece)],
    range: &Piece,
) {
    let Some((first, _)) = checks.first() else { return };
    let context = module.get_context();
    // SAFETY: all atoms but counters are defined before the way in, and so are where counters start and
    // the bound; the builder stands there.
    unsafe {
        let word = context.i64_type().as_type_ref();
        let builder = LLVMCreateBuilderInContext(context.raw());
        LLVMPositionBuilderBefore(builder, LLVMGetBasicBlockTerminator(counted.entry));
        LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(first.call));
        let none = c"".as_ptr();
        let number = |value: i64| number_of(word, value);
        let at = range.at.build(builder, word, &counted.starts());
        let pointer = context.ptr_type(Default::default()).as_type_ref();
        let start = LLVMBuildIntToPtr(builder, at, pointer, none);
        let way = LLVMBuildSub(builder, counted.bound, counted.deciding.start, none);
        let rounds = LLVMBuildUDiv(builder, way, number(counted.deciding.step), none);
        let size = LLVMBuildMul(builder, rounds, number(range.size), none);
        range_check(module, builder, first.write, start, size);
        LLVMDisposeBuilder(builder);
        for (check, _) in checks {
            LLVMInstructionEraseFromParent(check.call);
        }
    }
}

/// Asks in each round for what comes some rounds later, one line once.
///
/// # Safety
/// The checks' calls are alive and in the loop.
unsafe fn fetch_ahead(module: &Module, counted: &Counted, far: &[(Check, Piece)]) {
    let context = module.get_context();
    let (pointer, number) = (context.ptr_type(Default::default()), context.i32_type());
    let kinds = [pointer.into(), number.into(), number.into(), number.into()];
    let kind = context.void_type().fn_type(&kinds, false);
    let name = "llvm.prefetch.p0";
    for (index, (check, piece)) in far.iter().enumerate() {
        let is_near = |(_, other): &(Check, Piece)| {
            let apart = other.at.minus(&piece.at).constant();
            other.stride == piece.stride && apart.is_some_and(|apart| apart.unsigned_abs() < FAR)
        };
        if far[..index].iter().any(is_near) {
            continue;
        }
        let function =
            module.get_function(name).unwrap_or_else(|| module.add_function(name, kind, None));
        // SAFETY: the stride has no counters in it, so that all of it is defined before the way in.
        unsafe {
            let word = context.i64_type().as_type_ref();
            let byte = context.i8_type().as_type_ref();
            let builder = LLVMCreateBuilderInContext(context.raw());
            LLVMPositionBuilderBefore(builder, LLVMGetBasicBlockTerminator(counted.entry));
            // What lies beyond a loop of few rounds may be nowhere, and to find that out takes the processor
            // longer than what it would save: the present place, which it has, is asked for instead.
            let way = piece.stride.scaled(AHEAD).build(builder, word, &counted.starts());
            let enough = number_of(word, 2 * AHEAD * counted.deciding.step);
            let length = LLVMBuildSub(builder, counted.bound, counted.deciding.start, c"".as_ptr());
            let is_long =
                LLVMBuildICmp(builder, LLVMIntPredicate::LLVMIntUGE, length, enough, c"".as_ptr());
            let mut way = LLVMBuildSelect(builder, is_long, way, number_of(word, 0), c"".as_ptr());
            LLVMPositionBuilderBefore(builder, check.call);
            let from = LLVMGetOperand(check.call, 0);
            let later = LLVMBuildGEP2(builder, byte, from, &mut way, 1, c"".as_ptr());
            let plain = |value: u64| number.const_int(value, false).as_value_ref();
            let mut arguments = [later, plain(u64::from(check.write)), plain(3), plain(1)];
            let (kind, function) = (kind.as_type_ref(), function.as_value_ref());
            LLVMBuildCall2(builder, kind, function, arguments.as_mut_ptr(), 4, c"".as_ptr());
            LLVMDisposeBuilder(builder);
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

    /// Down a column of a matrix with `n` columns, as unrolling leaves it.
    const COLUMN: &str = "  %a.row = mul i64 %i, %n\n  \
                          %a = getelementptr double, ptr %p, i64 %a.row\n  \
                          call void @__tsan_read8(ptr %a), !dbg !7\n  \
                          %j = or disjoint i64 %i, 1\n  \
                          %b.row = mul i64 %j, %n\n  \
                          %b = getelementptr double, ptr %p, i64 %b.row\n  \
                          call void @__tsan_read8(ptr %b), !dbg !7\n";

    #[test]
    fn a_column_is_asked_for_ahead() {
        let function = after(COLUMN, 2);
        let (before, inside) = function.split_once("loop:").unwrap();
        assert!(!before.contains("__tsan"), "{function}");
        assert_eq!(inside.matches("__tsan_read8").count(), 2, "{function}");
        assert_eq!(inside.matches("call void @llvm.prefetch").count(), 2, "{function}");
    }

    #[test]
    fn what_is_in_one_line_is_asked_for_once() {
        let body = "  %a.row = mul i64 %i, %n\n  \
                    %a = getelementptr double, ptr %p, i64 %a.row\n  \
                    call void @__tsan_read8(ptr %a), !dbg !7\n  \
                    %b = getelementptr i8, ptr %a, i64 16\n  \
                    call void @__tsan_read8(ptr %b), !dbg !7\n";
        let function = after(body, 1);
        assert_eq!(function.matches("call void @llvm.prefetch").count(), 1, "{function}");
    }

    #[test]
    fn a_second_counter_leads_to_even_addresses_too() {
        let body = "  %k = phi i64 [ %n, %entry ], [ %k.next, %loop ]\n  \
                    %a = getelementptr double, ptr %p, i64 %k\n  \
                    call void @__tsan_read8(ptr %a), !dbg !7\n  \
                    %k.next = add i64 %k, 1\n";
        let function = after(body, 1);
        let (before, inside) = function.split_once("loop:").unwrap();
        assert!(before.contains("call void @__tsan_read_range"), "{function}");
        assert!(!inside.contains("__tsan"), "{function}");
    }

    #[test]
    fn addresses_that_are_looked_up_stay_in_the_loop() {
        let body = "  %a = getelementptr ptr, ptr %p, i64 %i\n  \
                    %q = load ptr, ptr %a\n  \
                    call void @__tsan_read8(ptr %q), !dbg !7\n";
        let function = after(body, 1);
        assert!(function.split_once("loop:").unwrap().1.contains("__tsan_read8"), "{function}");
        let square = "  %i.i = mul i64 %i, %i\n  \
                      %a = getelementptr double, ptr %p, i64 %i.i\n  \
                      call void @__tsan_read8(ptr %a), !dbg !7\n";
        let function = after(square, 1);
        assert!(function.split_once("loop:").unwrap().1.contains("__tsan_read8"), "{function}");
    }
}
