//! One check for a whole loop whose addresses run on evenly (BigFoot's idea, for the loops where array
//! code spends its time).
//!
//! A loop that calls nothing synchronises with nobody. When it is left in one place only, where a counter has
//! come to a bound known outside, and so are all loops in it, it runs to its end, so what it will access in
//! every round may be checked before it starts. An address that is linear in its counters, everything else in
//! it coming from outside, advances by the same stride in each round. The accesses of one place in the source
//! that together leave no gap from one round to the next become one check of the range, and what is the same in
//! all rounds is checked once. Such a check stands where the loop is entered, and the loop around may be able
//! to do the same with it: the rows of a block become the block. Everything else is checked as before.
//!
//! Accesses that are far apart from round to round, as in a column of a matrix, wait for memory each, and
//! so do their checks, one after the other: the lock that an access new to its segment takes lets nothing
//! behind it start. So what comes some rounds later is asked for in time, and its shadow with it.

use std::collections::{BTreeMap, HashMap, HashSet};

use inkwell::llvm_sys::LLVMIntPredicate;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::target::{LLVMGetModuleDataLayout, LLVMTargetDataRef};
use inkwell::module::Module;
use inkwell::types::AsTypeRef;
use inkwell::values::{AsValueRef, FunctionValue};

use crate::coalesce::{Place, Step, range_check, step_of};
use crate::flow::{Flow, Loop};
use crate::polynomial::Polynomial;

mod counted;

use counted::{Atoms, Counted};

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
        // SAFETY: blocks of a live function; only instructions that are no jumps are added and erased.
        unsafe { hoist_in(module, function, layout) };
    }
}

/// # Safety
/// The function is alive.
unsafe fn hoist_in(module: &Module, function: FunctionValue, layout: LLVMTargetDataRef) {
    let flow = Flow::of(function);
    let loops = flow.loops();
    if loops.is_empty() {
        return;
    }
    let mut checks = Checks::default();
    let mut ended = HashSet::new();
    for one in &loops {
        // SAFETY: as the caller says; what was changed so far are no jumps.
        unsafe {
            if checks.may_end(&flow, one, &ended, layout) {
                continue;
            }
            let Some(mut counted) = Counted::of(&flow, one, layout) else { continue };
            ended.insert(one.header);
            hoist_from(module, &flow, one, &mut counted, &mut checks);
        }
    }
}

/// The headers of loops that come to their end whatever other threads do, if what they call does.
pub(crate) fn ending_loops(flow: &Flow, layout: LLVMTargetDataRef) -> HashSet<usize> {
    let all = flow.loops();
    // SAFETY: the flow is that of a live function, which is not changed meanwhile.
    let ending = all.iter().filter(|one| unsafe { Counted::of(flow, one, layout) }.is_some());
    ending.map(|one| one.header).collect()
}

/// What is known of a function's checks.
#[derive(Default)]
struct Checks {
    atoms: Atoms,
    /// Checks that were put where a loop is entered: what they check.
    made: HashMap<LLVMValueRef, (Polynomial, Polynomial)>,
    /// Blocks that were looked through, with whether they call something that may synchronise.
    calling: HashMap<usize, bool>,
}

impl Checks {
    /// Whether the loop may wait for somebody, or not come to its end: it calls something, or has loops
    /// in it other than those that have `ended`.
    ///
    /// # Safety
    /// The flow's function is alive.
    unsafe fn may_end(
        &mut self,
        flow: &Flow,
        one: &Loop,
        ended: &HashSet<usize>,
        layout: LLVMTargetDataRef,
    ) -> bool {
        one.blocks.iter().any(|&block| {
            let inner = block != one.header && flow.is_returned_to(block);
            inner && !ended.contains(&block)
                || *self.calling.entry(block).or_insert_with(|| {
                    // SAFETY: as the caller says.
                    unsafe {
                        instructions(flow.blocks[block])
                            .any(|instruction| matches!(step_of(instruction, layout), Step::End))
                    }
                })
        })
    }
}

/// # Safety
/// The block is alive; the instruction that was given last may be erased or moved.
pub(crate) unsafe fn instructions(block: LLVMBasicBlockRef) -> impl Iterator<Item = LLVMValueRef> {
    // SAFETY: as the caller says: the next one is asked for before this one is given.
    unsafe {
        let mut next = LLVMGetFirstInstruction(block);
        std::iter::from_fn(move || {
            let instruction = next;
            if instruction.is_null() {
                return None;
            }
            next = LLVMGetNextInstruction(instruction);
            Some(instruction)
        })
    }
}

/// Bytes that a check is about in each round.
#[derive(Clone)]
struct Piece {
    call: LLVMValueRef,
    write: bool,
    /// With the counters in it.
    at: Polynomial,
    /// The same in every round.
    size: Polynomial,
    /// How far apart they are from round to round.
    stride: Polynomial,
}

/// # Safety
/// The loop's function is alive.
unsafe fn hoist_from(
    module: &Module,
    flow: &Flow,
    one: &Loop,
    counted: &mut Counted,
    checks: &mut Checks,
) {
    let mut groups: BTreeMap<(bool, Place), Vec<Piece>> = BTreeMap::new();
    // Not each round comes through the others.
    let latch = one.latches[0];
    let always = one.blocks.iter().filter(|block| flow.dominates(**block, latch));
    // SAFETY: walks live blocks, changing nothing.
    unsafe {
        for instruction in always.flat_map(|block| instructions(flow.blocks[*block])) {
            let Step::Check(check) = step_of(instruction, counted.layout) else { continue };
            if check.place.line != 0
                && let Some(piece) = piece_of(instruction, counted, checks)
            {
                groups.entry((check.write, check.place)).or_default().push(piece);
            }
        }
    }
    let mut far = Vec::new();
    for mut group in groups.into_values() {
        // One place may stand for several addresses that have nothing to do with each other.
        while let Some(first) = group.first() {
            let stride = first.stride.clone();
            let (together, rest): (Vec<_>, Vec<_>) =
                group.into_iter().partition(|piece| piece.stride == stride);
            group = rest;
            // SAFETY: the checks are alive, and each is in one group.
            unsafe {
                if stride.constant() == Some(0) {
                    together.iter().for_each(|piece| move_before(module, counted, checks, piece));
                } else if !check_before(module, counted, checks, &together) {
                    far.extend(together.into_iter().filter(is_far));
                }
            }
        }
    }
    if counted.is_tight() && counted.deciding.step > 0 {
        // SAFETY: these checks are still there.
        unsafe { fetch_ahead(module, counted, checks, &far) };
    }
}

/// # Safety
/// The call is a check, alive and in the loop.
unsafe fn piece_of(
    call: LLVMValueRef,
    counted: &mut Counted,
    checks: &mut Checks,
) -> Option<Piece> {
    // SAFETY: as the caller says.
    let (write, at, size) = unsafe {
        let Step::Check(check) = step_of(call, counted.layout) else { return None };
        match (checks.made.get(&call).cloned(), check.size) {
            (Some((at, size)), _) => (
                check.write,
                counted.looked_into(&mut checks.atoms, &at)?,
                counted.looked_into(&mut checks.atoms, &size)?,
            ),
            (None, Some(size)) => {
                let root = counted.polynomial(&mut checks.atoms, check.root)?;
                let at = root.plus(&Polynomial::number(check.offset));
                (check.write, at, Polynomial::number(size))
            }
            (None, None) => return None,
        }
    };
    let stride = counted.stride(&at)?;
    counted.is_fixed(&size).then_some(Piece { call, write, at, size, stride })
}

/// Where the lowest of the pieces is in any round, and how many bytes they are together, when they leave no
/// gap.
fn span_of(pieces: &[Piece]) -> Option<(Polynomial, Polynomial)> {
    if let [piece] = pieces {
        return Some((piece.at.clone(), piece.size.clone()));
    }
    let first = pieces.first()?;
    let span =
        |piece: &Piece| Some((piece.at.minus(&first.at).constant()?, piece.size.constant()?));
    let mut spans = pieces.iter().map(span).collect::<Option<Vec<_>>>()?;
    spans.sort_unstable();
    let start = spans.first()?.0;
    let mut end = start;
    for (offset, size) in spans {
        if offset > end {
            return None;
        }
        end = end.max(offset + size);
    }
    Some((first.at.plus(&Polynomial::number(start)), Polynomial::number(end - start)))
}

/// What all rounds access, when there is no gap from one to the next: from where on, and how much.
///
/// # Safety
/// The loop's function is alive.
unsafe fn range_of(
    counted: &mut Counted,
    atoms: &mut Atoms,
    pieces: &[Piece],
) -> Option<(Polynomial, Polynomial)> {
    let (lowest, size) = span_of(pieces)?;
    let stride = &pieces.first()?.stride;
    // SAFETY: as the caller says.
    let (start, way) = unsafe { (counted.at_first(atoms, &lowest)?, counted.way(atoms, stride)?) };
    if *stride == size {
        return Some((start, way));
    }
    let (stride, size) = (stride.constant()?, size.constant()?);
    if stride.abs() > size {
        return None;
    }
    // The last round goes on for a whole piece.
    let last = Polynomial::number(size - stride.abs());
    match stride > 0 {
        true => Some((start, way.plus(&last))),
        false => {
            let lowest = start.plus(&way).minus(&Polynomial::number(stride));
            Some((lowest, last.minus(&way)))
        }
    }
}

fn is_far(piece: &Piece) -> bool {
    piece.stride.constant().is_none_or(|stride| stride.unsigned_abs() >= FAR)
}

fn number_of(kind: LLVMTypeRef, value: i64) -> LLVMValueRef {
    // SAFETY: the type is one of whole numbers.
    unsafe { LLVMConstInt(kind, value.cast_unsigned(), 1) }
}

/// Puts one check of the whole range before the loop, and takes those out of it that it stands for. Returns
/// whether there is such a range.
///
/// # Safety
/// The checks' calls are alive and in the loop.
unsafe fn check_before(
    module: &Module,
    counted: &mut Counted,
    checks: &mut Checks,
    pieces: &[Piece],
) -> bool {
    // SAFETY: as the caller says. All atoms are defined before the way in: they come from outside, and what
    // comes from outside and is used in a loop is known where the loop begins. The builder stands there.
    unsafe {
        let Some((at, size)) = range_of(counted, &mut checks.atoms, pieces) else { return false };
        if !at.is_short() || !size.is_short() {
            return false;
        }
        let word = module.get_context().i64_type().as_type_ref();
        let builder = before(module, counted, pieces[0].call);
        let start = build_address(module, builder, checks, &at);
        let length = size.build(builder, word, &checks.atoms.values);
        let call = range_check(module, builder, pieces[0].write, start, length);
        LLVMDisposeBuilder(builder);
        for piece in pieces {
            checks.made.remove(&piece.call);
            LLVMInstructionEraseFromParent(piece.call);
        }
        checks.made.insert(call, (at, size));
    }
    true
}

/// Puts a check that is the same in every round before the loop.
///
/// # Safety
/// The check's call is alive and in the loop.
unsafe fn move_before(module: &Module, counted: &mut Counted, checks: &mut Checks, piece: &Piece) {
    // SAFETY: as in `check_before`.
    unsafe {
        let Some(at) = counted.at_first(&mut checks.atoms, &piece.at) else { return };
        let word = module.get_context().i64_type().as_type_ref();
        let builder = before(module, counted, piece.call);
        if !counted.is_outside(LLVMGetOperand(piece.call, 0)) {
            let start = build_address(module, builder, checks, &at);
            LLVMSetOperand(piece.call, 0, start);
        }
        // A check of a range is told how long it is.
        if LLVMGetNumArgOperands(piece.call) == 2 {
            let size = piece.size.build(builder, word, &checks.atoms.values);
            LLVMSetOperand(piece.call, 1, size);
        }
        LLVMInstructionRemoveFromParent(piece.call);
        LLVMInsertIntoBuilder(builder, piece.call);
        LLVMDisposeBuilder(builder);
        checks.made.insert(piece.call, (at, piece.size.clone()));
    }
}

/// A builder that stands where the loop is entered, and says what it builds to be where the check is.
///
/// # Safety
/// The check's call is alive.
unsafe fn before(module: &Module, counted: &Counted, call: LLVMValueRef) -> LLVMBuilderRef {
    // SAFETY: as the caller says; the entry has an end.
    unsafe {
        let builder = LLVMCreateBuilderInContext(module.get_context().raw());
        LLVMPositionBuilderBefore(builder, LLVMGetBasicBlockTerminator(counted.entry));
        LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(call));
        builder
    }
}

/// # Safety
/// The atoms are defined where the builder stands.
unsafe fn build_address(
    module: &Module,
    builder: LLVMBuilderRef,
    checks: &Checks,
    at: &Polynomial,
) -> LLVMValueRef {
    let context = module.get_context();
    // SAFETY: as the caller says.
    unsafe {
        let at = at.build(builder, context.i64_type().as_type_ref(), &checks.atoms.values);
        let pointer = context.ptr_type(Default::default()).as_type_ref();
        LLVMBuildIntToPtr(builder, at, pointer, c"".as_ptr())
    }
}

/// Asks in each round for what comes some rounds later, one line once.
///
/// # Safety
/// The checks' calls are alive and in the loop.
unsafe fn fetch_ahead(module: &Module, counted: &mut Counted, checks: &mut Checks, far: &[Piece]) {
    let context = module.get_context();
    let (pointer, number) = (context.ptr_type(Default::default()), context.i32_type());
    let kinds = [pointer.into(), number.into(), number.into(), number.into()];
    let kind = context.void_type().fn_type(&kinds, false);
    let name = "llvm.prefetch.p0";
    for (index, piece) in far.iter().enumerate() {
        let is_near = |other: &Piece| {
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
            let way = piece.stride.scaled(AHEAD).build(builder, word, &checks.atoms.values);
            let enough = number_of(word, 2 * AHEAD * counted.deciding.step);
            let length = counted.build_length(builder);
            let is_long =
                LLVMBuildICmp(builder, LLVMIntPredicate::LLVMIntUGE, length, enough, c"".as_ptr());
            let mut way = LLVMBuildSelect(builder, is_long, way, number_of(word, 0), c"".as_ptr());
            LLVMPositionBuilderBefore(builder, piece.call);
            let from = LLVMGetOperand(piece.call, 0);
            let later = LLVMBuildGEP2(builder, byte, from, &mut way, 1, c"".as_ptr());
            let plain = |value: u64| number.const_int(value, false).as_value_ref();
            let mut arguments = [later, plain(u64::from(piece.write)), plain(3), plain(1)];
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
        let loop_with_body = format!(
            "entry:\n  br label %loop\nloop:\n  \
             %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n{body}  \
             %next = add nuw i64 %i, {step}\n  %done = icmp eq i64 %next, %n\n  \
             br i1 %done, label %exit, label %loop\nexit:\n  ret void\n"
        );
        after_all(&loop_with_body)
    }

    /// The function with these blocks after the pass.
    fn after_all(blocks: &str) -> String {
        let text = format!(
            "declare void @__tsan_read8(ptr)\ndeclare void @__tsan_read16(ptr)\n\
             declare void @__tsan_write8(ptr)\ndeclare void @other()\n\
             define void @f(ptr %p, i64 %n) !dbg !4 {{\n{blocks}}}\n\
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

    /// A loop over rows of eight numbers, `inner` being what is done in each column and `outer` in each row.
    fn rows(inner: &str, outer: &str, bound: &str) -> String {
        after_all(&format!(
            "entry:\n  br label %row\nrow:\n  \
             %r = phi i64 [ 0, %entry ], [ %r.next, %end ]\n  \
             %start = getelementptr [8 x double], ptr %p, i64 %r\n  br label %column\ncolumn:\n  \
             %c = phi i64 [ 0, %row ], [ %c.next, %column ]\n  \
             %a = getelementptr double, ptr %start, i64 %c\n{inner}  \
             %c.next = add i64 %c, 1\n  %c.done = icmp eq i64 %c.next, {bound}\n  \
             br i1 %c.done, label %end, label %column\nend:\n{outer}  \
             %r.next = add i64 %r, 1\n  %r.done = icmp eq i64 %r.next, %n\n  \
             br i1 %r.done, label %exit, label %row\nexit:\n  ret void\n"
        ))
    }

    fn before_row(function: &str) -> &str {
        function.split_once("\nrow:").unwrap().0
    }

    #[test]
    fn rows_without_a_gap_become_one_check() {
        let function = rows("  call void @__tsan_write8(ptr %a), !dbg !7\n", "", "8");
        assert_eq!(function.matches("call void @__tsan").count(), 1, "{function}");
        let before = before_row(&function);
        assert!(before.contains("mul i64 64, %n"), "{function}");
        assert!(before.contains("call void @__tsan_write_range"), "{function}");
    }

    #[test]
    fn rows_with_a_gap_are_checked_row_by_row() {
        let function = rows("  call void @__tsan_write8(ptr %a), !dbg !7\n", "", "7");
        assert_eq!(function.matches("call void @__tsan").count(), 1, "{function}");
        assert!(!before_row(&function).contains("__tsan"), "{function}");
        assert!(function.contains("@__tsan_write_range(ptr %1, i64 56)"), "{function}");
    }

    #[test]
    fn what_each_row_reads_again_is_checked_once() {
        let inner = "  %q = getelementptr double, ptr %p, i64 %c\n  \
                     call void @__tsan_read8(ptr %q), !dbg !7\n";
        let function = rows(inner, "  call void @__tsan_read8(ptr %p), !dbg !7\n", "8");
        let before = before_row(&function);
        assert!(before.contains("call void @__tsan_read8(ptr %p)"), "{function}");
        assert!(before.contains("@__tsan_read_range(ptr %1, i64 64)"), "{function}");
        assert_eq!(function.matches("call void @__tsan").count(), 2, "{function}");
    }

    #[test]
    fn what_is_the_same_in_all_columns_and_rows_is_checked_once() {
        let function = rows("  call void @__tsan_read8(ptr %p), !dbg !7\n", "", "8");
        assert!(before_row(&function).contains("call void @__tsan_read8(ptr %p)"), "{function}");
        assert_eq!(function.matches("call void @__tsan").count(), 1, "{function}");
    }

    #[test]
    fn a_call_between_rows_keeps_checks_in_their_row() {
        let write = "  call void @__tsan_write8(ptr %a), !dbg !7\n";
        let function = rows(write, "  call void @other(), !dbg !7\n", "8");
        assert!(!before_row(&function).contains("__tsan"), "{function}");
        assert!(function.contains("call void @__tsan_write_range"), "{function}");
    }

    #[test]
    fn what_only_some_rounds_do_stays_where_it_is() {
        let function = after_all(
            "entry:\n  br label %loop\nloop:\n  %i = phi i64 [ 0, %entry ], [ %next, %end ]\n  \
             %odd = trunc i64 %i to i1\n  br i1 %odd, label %some, label %end\nsome:\n  \
             %a = getelementptr double, ptr %p, i64 %i\n  \
             call void @__tsan_write8(ptr %a), !dbg !7\n  br label %end\nend:\n  \
             %next = add i64 %i, 1\n  %done = icmp eq i64 %next, %n\n  \
             br i1 %done, label %exit, label %loop\nexit:\n  ret void\n",
        );
        let (before, inside) = function.split_once("\nloop:").unwrap();
        assert!(!before.contains("__tsan") && inside.contains("__tsan_write8"), "{function}");
    }

    #[test]
    fn a_loop_that_may_wait_keeps_what_comes_after_it() {
        let waiting = "entry:\n  br label %row\nrow:\n  \
             %r = phi i64 [ 0, %entry ], [ %next, %end ]\n  br label %wait\nwait:\n  \
             %flag = load i64, ptr %p\n  %set = icmp ne i64 %flag, 0\n  \
             br i1 %set, label %end, label %wait\nend:\n  \
             %a = getelementptr double, ptr %p, i64 %r\n  \
             call void @__tsan_write8(ptr %a), !dbg !7\n  %next = add i64 %r, 1\n  \
             %done = icmp eq i64 %next, %n\n  br i1 %done, label %exit, label %row\n\
             exit:\n  ret void\n";
        let function = after_all(waiting);
        assert!(!before_row(&function).contains("__tsan"), "{function}");
    }

    #[test]
    fn a_loop_that_counts_down_is_checked_from_its_lowest_place() {
        let body = "  %k = phi i64 [ %n, %entry ], [ %k.next, %loop ]\n  \
                    %a = getelementptr double, ptr %p, i64 %k\n  \
                    call void @__tsan_read8(ptr %a), !dbg !7\n  \
                    %k.next = add i64 %k, -1\n";
        let function = after(body, 1);
        let (before, inside) = function.split_once("loop:").unwrap();
        assert!(before.contains("call void @__tsan_read_range"), "{function}");
        // From `p + 8`, where the last round is, to `p + 8 * n`.
        assert!(before.contains("add i64 8, ") || before.contains(", 8"), "{function}");
        assert!(!inside.contains("__tsan"), "{function}");
    }
}
