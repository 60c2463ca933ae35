//! Accesses that LLVM's pass passes by because it has no entry point of their size.
//!
//! It knows 1, 2, 4, 8 and 16 bytes. The optimiser makes wider ones where loops become vector code (neighbouring
//! fields as one vector of twice the width, too), `long double` has ten bytes, and where the processor can leave
//! out parts of a vector, a condition in a loop becomes a mask. All of these are checked as ranges here, of a
//! mask the parts that are accessed.
//!
//! May miss: what the program itself does by a processor's own masked instructions.

use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::target::{LLVMGetModuleDataLayout, LLVMStoreSizeOfType, LLVMTargetDataRef};
use inkwell::llvm_sys::{LLVMAtomicOrdering, LLVMOpcode, LLVMTypeKind};
use inkwell::module::{Linkage, Module};
use inkwell::types::AsTypeRef;
use inkwell::values::{AsValueRef, FunctionValue};

use crate::InstrumentError;
use crate::coalesce::{name_of, range_check};
use crate::inline::link_text;
use crate::loops::instructions;

/// Sizes that LLVM's pass has entry points for.
const KNOWN: [u64; 5] = [1, 2, 4, 8, 16];
/// How far the uses of a local variable are followed.
const MOST_USES: usize = 256;

/// Puts checks before these accesses, in functions that are sanitized. Returns whether there is something that must
/// be inlined now.
pub(crate) fn check_odd_sizes(module: &Module) -> Result<bool, InstrumentError> {
    // SAFETY: the module is alive and has a data layout.
    let layout = unsafe { LLVMGetModuleDataLayout(module.as_mut_ptr()) };
    let sanitized = Attribute::get_named_enum_kind_id("sanitize_thread");
    let unchecked = module.get_context().get_kind_id("nosanitize");
    let mut found = Vec::new();
    for function in module.get_functions() {
        if function.get_enum_attribute(AttributeLoc::Function, sanitized).is_none() {
            continue;
        }
        for block in function.get_basic_blocks() {
            // SAFETY: the block is alive, and nothing is changed yet.
            unsafe {
                found.extend(
                    instructions(block.as_mut_ptr())
                        .filter(|instruction| LLVMGetMetadata(*instruction, unchecked).is_null())
                        .filter_map(|instruction| odd(instruction, layout)),
                );
            }
        }
    }
    let masked = found.iter().any(|access| matches!(access.parts, Parts::Masked { .. }));
    if masked {
        let count = "declare i64 @llvm.cttz.i64(i64, i1)\n".to_owned();
        link_text(module, &(count + &runs("read") + &runs("write")))?;
    }
    for access in &found {
        // SAFETY: the instruction is alive; what is built stands before it.
        unsafe { check(module, access) };
    }
    for function in ["read", "write"].map(|kind| module.get_function(&runs_name(kind))) {
        function.inspect(|function| function.set_linkage(Linkage::Internal));
    }
    Ok(masked)
}

struct Odd {
    instruction: LLVMValueRef,
    write: bool,
    /// Bytes of the whole, or of one part.
    size: u64,
    parts: Parts,
}

/// Where the bytes are.
enum Parts {
    Whole {
        at: LLVMValueRef,
    },
    /// One part after the other, those whose bit is set.
    Masked {
        at: LLVMValueRef,
        mask: LLVMValueRef,
    },
    /// Each somewhere.
    Scattered {
        at: LLVMValueRef,
        mask: LLVMValueRef,
    },
}

/// # Safety
/// The instruction is alive.
unsafe fn odd(instruction: LLVMValueRef, layout: LLVMTargetDataRef) -> Option<Odd> {
    // SAFETY: operands are asked for by the opcode's own rules.
    unsafe {
        let operand = |at: u32| LLVMGetOperand(instruction, at);
        let (write, at, kind) = match LLVMGetInstructionOpcode(instruction) {
            LLVMOpcode::LLVMLoad => (false, operand(0), LLVMTypeOf(instruction)),
            LLVMOpcode::LLVMStore => (true, operand(1), LLVMTypeOf(operand(0))),
            LLVMOpcode::LLVMCall => return masked(instruction, layout),
            _ => return None,
        };
        let size = LLVMStoreSizeOfType(layout, kind);
        let is_plain =
            LLVMGetOrdering(instruction) == LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic;
        (is_plain && size != 0 && !KNOWN.contains(&size) && may_be_shared(at, write))
            .then_some(Odd { instruction, write, size, parts: Parts::Whole { at } })
    }
}

/// # Safety
/// The instruction is a live call.
unsafe fn masked(call: LLVMValueRef, layout: LLVMTargetDataRef) -> Option<Odd> {
    // SAFETY: these intrinsics' operands are as their names say.
    unsafe {
        let name = name_of(LLVMGetCalledValue(call));
        let operand = |at: u32| LLVMGetOperand(call, at);
        let (what, _) = name.strip_prefix("llvm.masked.")?.split_once('.')?;
        let (write, at, mask, value) = match what {
            "load" | "gather" => (false, operand(0), operand(1), LLVMTypeOf(call)),
            "store" | "scatter" => (true, operand(1), operand(2), LLVMTypeOf(operand(0))),
            _ => return None,
        };
        let is_mask = LLVMGetTypeKind(LLVMTypeOf(mask)) == LLVMTypeKind::LLVMVectorTypeKind;
        if !is_mask || LLVMGetTypeKind(value) != LLVMTypeKind::LLVMVectorTypeKind {
            return None;
        }
        let size = LLVMStoreSizeOfType(layout, LLVMGetElementType(value));
        let parts = match what {
            "load" | "store" => Parts::Masked { at, mask },
            _ => Parts::Scattered { at, mask },
        };
        (LLVMGetVectorSize(value) <= 64).then_some(Odd { instruction: call, write, size, parts })
    }
}

/// Whether another thread may come there: not to a local variable whose address goes nowhere, and nobody writes
/// constants.
///
/// # Safety
/// The address is alive.
unsafe fn may_be_shared(mut at: LLVMValueRef, write: bool) -> bool {
    // SAFETY: as the caller says.
    unsafe {
        while !LLVMIsAGetElementPtrInst(at).is_null() {
            at = LLVMGetOperand(at, 0);
        }
        if !LLVMIsAAllocaInst(at).is_null() {
            return may_leave(at);
        }
        write || LLVMIsAGlobalVariable(at).is_null() || LLVMIsGlobalConstant(at) == 0
    }
}

/// Whether a local variable's address may be known elsewhere.
///
/// # Safety
/// The variable is alive.
unsafe fn may_leave(variable: LLVMValueRef) -> bool {
    let mut open = vec![variable];
    let mut seen = 0;
    // SAFETY: as the caller says; each use has a user.
    unsafe {
        while let Some(value) = open.pop() {
            let mut next = LLVMGetFirstUse(value);
            while !next.is_null() {
                let user = LLVMGetUser(next);
                next = LLVMGetNextUse(next);
                seen += 1;
                let stays = !LLVMIsAInstruction(user).is_null()
                    && match LLVMGetInstructionOpcode(user) {
                        LLVMOpcode::LLVMLoad => true,
                        LLVMOpcode::LLVMStore => LLVMGetOperand(user, 0) != value,
                        LLVMOpcode::LLVMGetElementPtr => {
                            open.push(user);
                            true
                        }
                        LLVMOpcode::LLVMCall => {
                            let name = name_of(LLVMGetCalledValue(user));
                            ["llvm.lifetime.", "llvm.mem", "llvm.masked.", "llvm.dbg."]
                                .iter()
                                .any(|known| name.starts_with(known))
                        }
                        _ => false,
                    };
                if !stays || seen > MOST_USES {
                    return true;
                }
            }
        }
    }
    false
}

fn runs_name(kind: &str) -> String {
    format!("__racewarden_masked_{kind}")
}

/// A function that checks runs of parts whose bits are set.
fn runs(kind: &str) -> String {
    let name = runs_name(kind);
    format!(
        "declare void @__tsan_{kind}_range(ptr, i64)\n\
         define void @{name}(ptr %at, i64 %mask, i64 %size) alwaysinline nounwind {{\n\
         start:\n  br label %head\n\
         head:\n  %left = phi i64 [ %mask, %start ], [ %rest, %run ]\n  \
           %none = icmp eq i64 %left, 0\n  br i1 %none, label %done, label %run\n\
         run:\n  %first = call i64 @llvm.cttz.i64(i64 %left, i1 true)\n  \
           %low = lshr i64 %left, %first\n  %gaps = xor i64 %low, -1\n  \
           %count = call i64 @llvm.cttz.i64(i64 %gaps, i1 false)\n  \
           %before = mul i64 %first, %size\n  %bytes = mul i64 %count, %size\n  \
           %from = getelementptr i8, ptr %at, i64 %before\n  \
           call void @__tsan_{kind}_range(ptr %from, i64 %bytes)\n  \
           %above = sub i64 64, %count\n  %ones = lshr i64 -1, %above\n  \
           %these = shl i64 %ones, %first\n  %rest = xor i64 %left, %these\n  br label %head\n\
         done:\n  ret void\n}}\n"
    )
}

/// # Safety
/// The access's instruction is alive.
unsafe fn check(module: &Module, access: &Odd) {
    let context = module.get_context();
    let word = context.i64_type();
    // SAFETY: as the caller says; what the instruction uses is defined before it.
    unsafe {
        let builder = LLVMCreateBuilderInContext(context.raw());
        LLVMPositionBuilderBefore(builder, access.instruction);
        LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(access.instruction));
        let size = word.const_int(access.size, false).as_value_ref();
        match access.parts {
            Parts::Whole { at } => {
                range_check(module, builder, access.write, at, size);
            }
            Parts::Masked { at, mask } => {
                let kind = if access.write { "write" } else { "read" };
                if let Some(function) = module.get_function(&runs_name(kind)) {
                    let bits =
                        LLVMIntTypeInContext(context.raw(), LLVMGetVectorSize(LLVMTypeOf(mask)));
                    let bits = LLVMBuildBitCast(builder, mask, bits, c"".as_ptr());
                    let bits = LLVMBuildZExt(builder, bits, word.as_type_ref(), c"".as_ptr());
                    call(builder, function, &mut [at, bits, size]);
                }
            }
            Parts::Scattered { at, mask } => {
                let none = word.const_zero().as_value_ref();
                for part in 0..u64::from(LLVMGetVectorSize(LLVMTypeOf(mask))) {
                    let part = word.const_int(part, false).as_value_ref();
                    let one = LLVMBuildExtractElement(builder, at, part, c"".as_ptr());
                    let is_set = LLVMBuildExtractElement(builder, mask, part, c"".as_ptr());
                    let size = LLVMBuildSelect(builder, is_set, size, none, c"".as_ptr());
                    range_check(module, builder, access.write, one, size);
                }
            }
        }
        LLVMDisposeBuilder(builder);
    }
}

/// # Safety
/// Builder and values are alive, and the values are what the function takes.
unsafe fn call(builder: LLVMBuilderRef, function: FunctionValue, arguments: &mut [LLVMValueRef]) {
    let kind = function.get_type().as_type_ref();
    let (values, count) = (arguments.as_mut_ptr(), arguments.len() as u32);
    // SAFETY: as the caller says.
    unsafe {
        LLVMBuildCall2(builder, kind, function.as_value_ref(), values, count, c"".as_ptr());
    }
}

#[cfg(test)]
mod tests {
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;

    use super::check_odd_sizes;

    fn after(body: &str) -> String {
        let text = format!(
            "@known = constant [8 x i64] zeroinitializer\ndeclare void @keep(ptr)\n\
             declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)\n\
             declare <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr>, <4 x i1>, <4 x float>)\n\
             define void @f(ptr %p, <4 x ptr> %all, <8 x i1> %mask, <4 x i1> %some) sanitize_thread {{\n\
             {body}  ret void\n}}\n"
        );
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "test");
        let module = context.create_module_from_ir(buffer).unwrap();
        check_odd_sizes(&module).unwrap();
        module.verify().unwrap();
        let printed = module.print_to_string().to_string();
        let (_, function) = printed.split_once("define void @f").unwrap();
        function.split_once("\n}").unwrap().0.to_owned()
    }

    #[test]
    fn long_doubles_and_wide_vectors_are_ranges() {
        let function = after("  %v = load x86_fp80, ptr %p\n  %w = load <4 x double>, ptr %p\n");
        assert!(function.contains("@__tsan_read_range(ptr %p, i64 10)"), "{function}");
        assert!(function.contains("@__tsan_read_range(ptr %p, i64 32)"), "{function}");
    }

    #[test]
    fn what_the_pass_knows_is_left_to_it() {
        let function = after("  %v = load <2 x double>, ptr %p\n  store i32 1, ptr %p\n");
        assert!(!function.contains("__tsan"), "{function}");
    }

    #[test]
    fn constants_and_what_stays_local_are_nobody_elses() {
        let own = "  %own = alloca [4 x double]\n  store <4 x double> zeroinitializer, ptr %own\n";
        assert!(!after(own).contains("__tsan"));
        assert!(!after("  %v = load <4 x i64>, ptr @known\n").contains("__tsan"));
        let given = format!("{own}  call void @keep(ptr %own)\n");
        assert!(after(&given).contains("@__tsan_write_range(ptr %own, i64 32)"));
    }

    #[test]
    fn parts_that_a_mask_leaves_out_are_not_accessed() {
        let function = after(
            "  call void @llvm.masked.store.v8f32.p0(<8 x float> zeroinitializer, ptr %p, <8 x i1> %mask)\n",
        );
        assert!(
            function.contains("@__racewarden_masked_write(ptr %p, i64 %2, i64 4)"),
            "{function}"
        );
        let function = after(
            "  %v = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> %all, <4 x i1> %some, \
             <4 x float> zeroinitializer)\n",
        );
        assert_eq!(function.matches("call void @__tsan_read_range").count(), 4, "{function}");
        assert_eq!(function.matches("select i1").count(), 4, "{function}");
    }
}
