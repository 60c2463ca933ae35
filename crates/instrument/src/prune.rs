//! Accesses that cannot race are not watched: they get `!nosanitize`, which the tsan pass heeds.
//!
//! Only plain loads and stores in the unit's own source file: an access in a header is reported by
//! the line that led there, so its own line says nothing about it. An atomic access synchronises,
//! and is always seen.

use inkwell::llvm_sys::LLVMOpcode;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::module::Module;
use inkwell::values::AsValueRef;
use racewarden_capture::Unit;

use crate::Lines;

/// Marks every access of the unit's source that is on none of the watched lines.
pub(crate) fn prune(module: &Module, unit: &Unit, watched: &Lines) {
    let Some(own) = unit.source.file_name().map(|name| name.to_string_lossy().into_owned()) else {
        return;
    };
    let context = module.get_context();
    let kind = context.get_kind_id("nosanitize");
    let mark = context.metadata_node(&[]);
    for function in module.get_functions() {
        // SAFETY: walks the instructions of a live function; metadata does not change the walk.
        unsafe {
            let mut block = LLVMGetFirstBasicBlock(function.as_value_ref());
            while !block.is_null() {
                let mut instruction = LLVMGetFirstInstruction(block);
                while !instruction.is_null() {
                    if is_plain_access(instruction)
                        && let Some((file, line)) = place_of(instruction)
                        && file == own
                        && !watched.contains(&(file, line))
                    {
                        LLVMSetMetadata(instruction, kind, mark.as_value_ref());
                    }
                    instruction = LLVMGetNextInstruction(instruction);
                }
                block = LLVMGetNextBasicBlock(block);
            }
        }
    }
}

/// # Safety
/// The instruction is alive.
unsafe fn is_plain_access(instruction: LLVMValueRef) -> bool {
    use inkwell::llvm_sys::LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic;
    // SAFETY: the ordering and volatility are asked of loads and stores only.
    unsafe {
        let opcode = LLVMGetInstructionOpcode(instruction);
        matches!(opcode, LLVMOpcode::LLVMLoad | LLVMOpcode::LLVMStore)
            && LLVMGetOrdering(instruction) == LLVMAtomicOrderingNotAtomic
            && LLVMGetVolatile(instruction) == 0
    }
}

/// The last name of the file and the line, when the instruction has them.
///
/// # Safety
/// The instruction is alive.
unsafe fn place_of(instruction: LLVMValueRef) -> Option<(String, u32)> {
    let mut length = 0;
    // SAFETY: the file name belongs to the debug information and is copied at once.
    let path = unsafe {
        let name = LLVMGetDebugLocFilename(instruction, &mut length);
        if name.is_null() {
            return None;
        }
        let bytes = std::slice::from_raw_parts(name.cast::<u8>(), length as usize);
        String::from_utf8_lossy(bytes).into_owned()
    };
    // SAFETY: as above.
    let line = unsafe { LLVMGetDebugLocLine(instruction) };
    let file = std::path::Path::new(&path).file_name()?.to_string_lossy().into_owned();
    (line != 0).then_some((file, line))
}
