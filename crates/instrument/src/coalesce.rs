//! Fewer checks: one for what a stretch of straight code surely accesses together.
//!
//! Between two calls nothing synchronises, so all accesses of a basic block between them belong to
//! one segment of their thread, and whether one is checked a few instructions earlier makes no
//! difference to what is found. Two things follow:
//!
//! - a check of bytes that an earlier check of the stretch covers (as a write, or both as reads) is
//!   left out: the detector would find that it has nothing new to say;
//! - checks of neighbouring bytes that come from one place in the source, as unrolling makes them,
//!   become one check of the range, where the first of them was. Different places are never joined:
//!   a report names the very line.
//!
//! This is what BigFoot (Rhodes, Flanagan, Freund, PLDI 2017) does within blocks; `loops` does the
//! same for loops whose addresses run on evenly.

use std::collections::BTreeMap;

use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::target::{LLVMABISizeOfType, LLVMGetModuleDataLayout, LLVMTargetDataRef};
use inkwell::llvm_sys::{LLVMOpcode, LLVMTypeKind};
use inkwell::module::Module;
use inkwell::types::AsTypeRef;
use inkwell::values::{AsValueRef, FunctionValue};

/// One check that the tsan pass made, or a range of them.
#[derive(Clone, Copy)]
pub(crate) struct Check {
    pub call: LLVMValueRef,
    /// What the address is computed from, and how far away it is.
    pub root: LLVMValueRef,
    pub offset: i64,
    /// Unless only the running program knows.
    pub size: Option<i64>,
    pub write: bool,
    pub place: Place,
    gone: bool,
}

impl Check {
    /// Whether all that `other` checks is checked by this one as well.
    pub(crate) fn covers(&self, other: &Check) -> bool {
        let (Some(size), Some(other_size)) = (self.size, other.size) else { return false };
        self.root == other.root
            && (self.write || !other.write)
            && self.offset <= other.offset
            && other.offset + other_size <= self.offset + size
    }
}

/// Where in the source; inlined copies are told apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub line: u32,
    column: u32,
    inlined_at: usize,
}

/// Joins and leaves out checks in every function of the module.
pub(crate) fn coalesce(module: &Module) {
    // SAFETY: the module is alive and has a data layout.
    let layout = unsafe { LLVMGetModuleDataLayout(module.as_mut_ptr()) };
    for function in module.get_functions() {
        for stretch in stretches(function, layout) {
            reduce(module, stretch);
        }
    }
}

/// The checks of each stretch of straight code without calls.
fn stretches(function: FunctionValue, layout: LLVMTargetDataRef) -> Vec<Vec<Check>> {
    let mut stretches = Vec::new();
    // SAFETY: walks the blocks and instructions of a live function, changing nothing.
    unsafe {
        let mut block = LLVMGetFirstBasicBlock(function.as_value_ref());
        while !block.is_null() {
            let mut checks = Vec::new();
            let mut instruction = LLVMGetFirstInstruction(block);
            while !instruction.is_null() {
                match step_of(instruction, layout) {
                    Step::Check(check) => checks.push(check),
                    Step::Neutral => {}
                    Step::End => stretches.push(std::mem::take(&mut checks)),
                }
                instruction = LLVMGetNextInstruction(instruction);
            }
            stretches.push(checks);
            block = LLVMGetNextBasicBlock(block);
        }
    }
    stretches.retain(|stretch| stretch.len() > 1);
    stretches
}

pub(crate) enum Step {
    Check(Check),
    Neutral,
    /// May synchronise, or not come back.
    End,
}

/// # Safety
/// The instruction is alive.
pub(crate) unsafe fn step_of(instruction: LLVMValueRef, layout: LLVMTargetDataRef) -> Step {
    // SAFETY: as the caller says; operands are asked for by the opcode's own rules.
    unsafe {
        match LLVMGetInstructionOpcode(instruction) {
            LLVMOpcode::LLVMCall => {}
            LLVMOpcode::LLVMInvoke
            | LLVMOpcode::LLVMCallBr
            | LLVMOpcode::LLVMFence
            | LLVMOpcode::LLVMAtomicCmpXchg
            | LLVMOpcode::LLVMAtomicRMW => return Step::End,
            _ => return Step::Neutral,
        }
        let called = LLVMGetCalledValue(instruction);
        let name = name_of(called);
        let call = instruction;
        let found = match name.strip_prefix("__tsan_").and_then(|rest| rest.strip_suffix("_range"))
        {
            Some(kind) => Some((number_of(LLVMGetOperand(call, 1)), kind == "write")),
            None => plain_check(&name).map(|(size, write)| (Some(size), write)),
        };
        if let Some((size, write)) = found {
            let (root, offset) = root_of(LLVMGetOperand(call, 0), layout);
            let place = place_of(call);
            return Step::Check(Check { call, root, offset, size, write, place, gone: false });
        }
        match QUIET.iter().any(|quiet| name.starts_with(quiet)) || is_computing(called, &name) {
            true => Step::Neutral,
            false => Step::End,
        }
    }
}

/// What the C library computes from numbers alone, for `double`; for others there is a letter more.
const COMPUTING: &[&str] = &[
    "acos",
    "asin",
    "atan",
    "atan2",
    "cbrt",
    "ceil",
    "cos",
    "cosh",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "fdim",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "hypot",
    "log",
    "log10",
    "log1p",
    "log2",
    "nearbyint",
    "pow",
    "rint",
    "round",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
];

/// Intrinsics that compute or only tell the compiler something, and checks of what is copied.
const QUIET: &[&str] = &[
    "__tsan_memcpy",
    "__tsan_memmove",
    "__tsan_memset",
    "llvm.dbg.",
    "llvm.lifetime.",
    "llvm.assume",
    "llvm.prefetch.",
    "llvm.fmuladd.",
    "llvm.fma.",
    "llvm.sqrt.",
    "llvm.fabs.",
    "llvm.smax.",
    "llvm.smin.",
    "llvm.umax.",
    "llvm.umin.",
    "llvm.abs.",
    "llvm.bswap.",
    "llvm.fsh",
    "llvm.ctpop.",
    "llvm.ctlz.",
    "llvm.cttz.",
    "llvm.vector.reduce.",
    "llvm.floor.",
    "llvm.ceil.",
    "llvm.maxnum.",
    "llvm.minnum.",
];

/// Whether a function of the C library is called that only computes. A program may have one of its own by such
/// a name; hardly one of numbers alone.
///
/// # Safety
/// The value is null or alive.
unsafe fn is_computing(called: LLVMValueRef, name: &str) -> bool {
    let plain = name.strip_suffix(['f', 'l']).unwrap_or(name);
    if !COMPUTING.contains(&name) && !COMPUTING.contains(&plain) {
        return false;
    }
    let is_number = |kind: LLVMTypeRef| {
        // SAFETY: types live as long as their context.
        let kind = unsafe { LLVMGetTypeKind(kind) };
        matches!(
            kind,
            LLVMTypeKind::LLVMFloatTypeKind
                | LLVMTypeKind::LLVMDoubleTypeKind
                | LLVMTypeKind::LLVMX86_FP80TypeKind
        )
    };
    // SAFETY: as the caller says; a function's type is asked for its parameters.
    unsafe {
        let function = LLVMIsAFunction(called);
        if function.is_null() || LLVMIsDeclaration(function) == 0 {
            return false;
        }
        let kind = LLVMGlobalGetValueType(function);
        let mut parameters = vec![std::ptr::null_mut(); LLVMCountParamTypes(kind) as usize];
        LLVMGetParamTypes(kind, parameters.as_mut_ptr());
        is_number(LLVMGetReturnType(kind)) && parameters.into_iter().all(is_number)
    }
}

/// Size and kind of a plain check's entry point.
fn plain_check(name: &str) -> Option<(i64, bool)> {
    let rest = name.strip_prefix("__tsan_")?;
    let rest = rest.strip_prefix("unaligned_").unwrap_or(rest);
    let (write, size) = match rest.strip_prefix("read_write").or_else(|| rest.strip_prefix("write"))
    {
        Some(size) => (true, size),
        None => (false, rest.strip_prefix("read")?),
    };
    matches!(size, "1" | "2" | "4" | "8" | "16").then(|| (size.parse().unwrap_or(1), write))
}

/// # Safety
/// The value is alive.
unsafe fn number_of(value: LLVMValueRef) -> Option<i64> {
    // SAFETY: as the caller says.
    unsafe {
        let constant = LLVMIsAConstantInt(value);
        (!constant.is_null()).then(|| LLVMConstIntGetSExtValue(constant))
    }
}

/// # Safety
/// The value is null or alive.
pub(crate) unsafe fn name_of(value: LLVMValueRef) -> String {
    if value.is_null() {
        return String::new();
    }
    let mut length = 0;
    // SAFETY: the name's bytes belong to the value and are copied at once.
    unsafe {
        let name = LLVMGetValueName2(value, &mut length);
        String::from_utf8_lossy(std::slice::from_raw_parts(name.cast(), length)).into_owned()
    }
}

/// Follows additions of constants back to what they are added to.
///
/// # Safety
/// The value is alive.
unsafe fn root_of(mut pointer: LLVMValueRef, layout: LLVMTargetDataRef) -> (LLVMValueRef, i64) {
    let mut offset = 0i64;
    // SAFETY: as the caller says.
    unsafe {
        while !LLVMIsAGetElementPtrInst(pointer).is_null() && LLVMGetNumOperands(pointer) == 2 {
            let index = LLVMIsAConstantInt(LLVMGetOperand(pointer, 1));
            let stride = LLVMABISizeOfType(layout, LLVMGetGEPSourceElementType(pointer));
            let step = match index.is_null() {
                true => None,
                false => i64::try_from(stride)
                    .ok()
                    .and_then(|stride| LLVMConstIntGetSExtValue(index).checked_mul(stride)),
            };
            let Some(sum) = step.and_then(|step| offset.checked_add(step)) else { break };
            offset = sum;
            pointer = LLVMGetOperand(pointer, 0);
        }
    }
    (pointer, offset)
}

/// # Safety
/// The instruction is alive.
unsafe fn place_of(instruction: LLVMValueRef) -> Place {
    // SAFETY: as the caller says; the location is asked only when there is one.
    unsafe {
        let location = LLVMInstructionGetDebugLoc(instruction);
        if location.is_null() {
            return Place { line: 0, column: 0, inlined_at: 0 };
        }
        Place {
            line: LLVMDILocationGetLine(location),
            column: LLVMDILocationGetColumn(location),
            inlined_at: LLVMDILocationGetInlinedAt(location) as usize,
        }
    }
}

fn reduce(module: &Module, mut checks: Vec<Check>) {
    leave_out_repeated(&mut checks);
    let mut groups: BTreeMap<(usize, bool, Place), Vec<usize>> = BTreeMap::new();
    for (index, check) in checks.iter().enumerate() {
        // Without a place there is nothing that says they belong together.
        if !check.gone && check.place.line != 0 && check.size.is_some() {
            let key = (check.root as usize, check.write, check.place);
            groups.entry(key).or_default().push(index);
        }
    }
    for mut group in groups.into_values() {
        group.sort_by_key(|index| (checks[*index].offset, *index));
        let mut rest = group.as_slice();
        while let Some(run) = first_run(&checks, rest) {
            rest = &rest[run.count..];
            if run.count > 1 && run.end - run.start >= 16 {
                join(module, &mut checks, &group, &run, group.len() - rest.len() - run.count);
            }
        }
    }
    for check in checks.iter().filter(|check| check.gone) {
        // SAFETY: the call returns nothing, so nothing uses it; it is erased once.
        unsafe { LLVMInstructionEraseFromParent(check.call) };
    }
}

/// Marks checks of bytes that one earlier check covers.
fn leave_out_repeated(checks: &mut [Check]) {
    for later in 1..checks.len() {
        let check = checks[later];
        let covered = checks[..later].iter().any(|earlier| !earlier.gone && earlier.covers(&check));
        checks[later].gone = covered;
    }
}

/// Neighbouring bytes: how many checks, from where to where.
struct Run {
    count: usize,
    start: i64,
    end: i64,
}

fn first_run(checks: &[Check], sorted: &[usize]) -> Option<Run> {
    let first = checks[*sorted.first()?];
    let mut run = Run { count: 1, start: first.offset, end: first.offset + first.size? };
    for index in &sorted[1..] {
        let check = checks[*index];
        if check.offset > run.end {
            break;
        }
        run.end = run.end.max(check.offset + check.size?);
        run.count += 1;
    }
    Some(run)
}

/// Bytes up to which a run is checked by pairs of granules.
const MOST_PAIRS: i64 = 64;

/// Puts one check of the whole run where its first check was.
fn join(module: &Module, checks: &mut [Check], group: &[usize], run: &Run, from: usize) {
    let members = &group[from..from + run.count];
    // Checks are numbered in the order of the code.
    let Some(first) = members.iter().min().map(|index| checks[*index]) else { return };
    let size = run.end - run.start;
    let context = module.get_context();
    let (byte, word) = (context.i8_type(), context.i64_type());
    // SAFETY: the first check is alive, and its root is defined before it.
    unsafe {
        let builder = LLVMCreateBuilderInContext(context.raw());
        LLVMPositionBuilderBefore(builder, first.call);
        LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(first.call));
        let byte = byte.as_type_ref();
        // A few pairs are checked inline faster than a range is by a call.
        let part = if size <= MOST_PAIRS && size % 16 == 0 { 16 } else { size };
        for start in (run.start..run.end).step_by(part as usize) {
            let mut offset = word.const_int(start.cast_unsigned(), true).as_value_ref();
            let start = LLVMBuildGEP2(builder, byte, first.root, &mut offset, 1, c"".as_ptr());
            let size = word.const_int(part.cast_unsigned(), false).as_value_ref();
            range_check(module, builder, first.write, start, size);
        }
        LLVMDisposeBuilder(builder);
    }
    for index in members {
        checks[*index].gone = true;
    }
}

/// Builds a check of `size` bytes from `start`; 16 bytes have an entry point of their own.
///
/// # Safety
/// Builder and values are alive, and the values are defined where the builder stands.
pub(crate) unsafe fn range_check(
    module: &Module,
    builder: LLVMBuilderRef,
    write: bool,
    start: LLVMValueRef,
    size: LLVMValueRef,
) -> LLVMValueRef {
    let context = module.get_context();
    let (void, pointer) = (context.void_type(), context.ptr_type(Default::default()));
    let access = if write { "write" } else { "read" };
    // SAFETY: as the caller says.
    let pair = unsafe {
        let constant = LLVMIsAConstantInt(size);
        !constant.is_null() && LLVMConstIntGetZExtValue(constant) == 16
    };
    let (name, kind) = match pair {
        true => (format!("__tsan_unaligned_{access}16"), void.fn_type(&[pointer.into()], false)),
        false => (
            format!("__tsan_{access}_range"),
            void.fn_type(&[pointer.into(), context.i64_type().into()], false),
        ),
    };
    let function =
        module.get_function(&name).unwrap_or_else(|| module.add_function(&name, kind, None));
    let mut arguments = [start, size];
    let count = if pair { 1 } else { 2 };
    // SAFETY: as the caller says; the arguments match the function's type.
    unsafe {
        let (kind, function) = (kind.as_type_ref(), function.as_value_ref());
        LLVMBuildCall2(builder, kind, function, arguments.as_mut_ptr(), count, c"".as_ptr())
    }
}

#[cfg(test)]
mod tests {
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;

    use super::coalesce;

    /// The names that the function's body calls after the pass, in order.
    fn calls_after(body: &str) -> Vec<String> {
        let text = format!(
            "declare void @__tsan_read4(ptr)\ndeclare void @__tsan_write4(ptr)\n\
             declare void @__tsan_read8(ptr)\ndeclare void @unlock()\n\
             define void @f(ptr %p) !dbg !4 {{\n{body}  ret void\n}}\n\
             !llvm.dbg.cu = !{{!0}}\n!llvm.module.flags = !{{!3}}\n\
             !0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, emissionKind: FullDebug)\n\
             !1 = !DIFile(filename: \"a.c\", directory: \"/\")\n\
             !2 = !DISubroutineType(types: !5)\n!3 = !{{i32 2, !\"Debug Info Version\", i32 3}}\n\
             !4 = distinct !DISubprogram(name: \"f\", file: !1, line: 1, type: !2, unit: !0, \
             spFlags: DISPFlagDefinition)\n!5 = !{{}}\n\
             !7 = !DILocation(line: 7, column: 3, scope: !4)\n\
             !8 = !DILocation(line: 8, column: 3, scope: !4)\n"
        );
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "test");
        let module = context.create_module_from_ir(buffer).unwrap();
        coalesce(&module);
        module.verify().unwrap();
        let printed = module.print_to_string().to_string();
        let (_, body) = printed.split_once("define void @f").unwrap();
        let (body, _) = body.split_once("\n}").unwrap();
        let callee = |line: &str| Some(line.split_once("call void @")?.1.split_once('(')?.0.into());
        body.lines().filter_map(callee).collect()
    }

    fn element(name: &str, offset: u32) -> String {
        format!("  %{name} = getelementptr i8, ptr %p, i64 {offset}\n")
    }

    fn check(kind: &str, name: &str, line: u32) -> String {
        format!("  call void @__tsan_{kind}(ptr %{name}), !dbg !{line}\n")
    }

    #[test]
    fn neighbours_of_one_place_become_a_range() {
        let mut body = String::new();
        for index in 0..6 {
            let name = format!("e{index}");
            body += &element(&name, index * 4);
            body += &check("read4", &name, 7);
        }
        assert_eq!(calls_after(&body), ["__tsan_read_range"]);
    }

    #[test]
    fn different_places_stay_apart() {
        let body = element("a", 8) + &check("read8", "p", 7) + &check("read8", "a", 8);
        assert_eq!(calls_after(&body), ["__tsan_read8", "__tsan_read8"]);
    }

    #[test]
    fn gaps_and_other_kinds_stay_apart() {
        let body = element("a", 12) + &check("read8", "p", 7) + &check("read8", "a", 7);
        assert_eq!(calls_after(&body), ["__tsan_read8", "__tsan_read8"]);
        let body = check("read4", "p", 7) + &check("write4", "p", 7);
        assert_eq!(calls_after(&body), ["__tsan_read4", "__tsan_write4"]);
    }

    #[test]
    fn what_was_checked_is_not_checked_again_before_a_call() {
        let body = check("write4", "p", 7) + &check("read4", "p", 8) + &check("write4", "p", 8);
        assert_eq!(calls_after(&body), ["__tsan_write4"]);
        let call = "  call void @unlock(), !dbg !8\n";
        let body = check("write4", "p", 7) + call + &check("read4", "p", 8);
        assert_eq!(calls_after(&body), ["__tsan_write4", "unlock", "__tsan_read4"]);
    }

    #[test]
    fn two_halves_become_a_pair() {
        let body = element("a", 8) + &check("read8", "p", 7) + &check("read8", "a", 7);
        assert_eq!(calls_after(&body), ["__tsan_unaligned_read16"]);
    }
}
