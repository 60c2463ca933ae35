//! Loads that find what the same thread has just loaded or stored.
//!
//! Between two loads of one place with nothing in between that could write or synchronise, a compiler
//! may do one of them; the recorded program does. The second load then costs nothing and has no
//! record. It still is an access of the program: the reader makes its record from the first.

use std::collections::HashMap;

use inkwell::llvm_sys::LLVMOpcode;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::module::Module;
use inkwell::values::AsValueRef;

use crate::derived::{Derived, LoopBlocks, is_plain};
use crate::record_loops::{instructions, is_quiet, predecessors};

/// What was last loaded from or stored to an address, by its type: the instruction.
type Recent = HashMap<(LLVMValueRef, LLVMTypeRef), LLVMValueRef>;

/// Finds these loads among those whose address the reader knows, lets their users take what the
/// first instruction loaded or stored, and gives the first instruction of each.
pub(crate) fn repeated_loads(
    module: &Module,
    derived: &Derived,
    loops: &LoopBlocks,
) -> HashMap<LLVMValueRef, LLVMValueRef> {
    let mut repeated = HashMap::new();
    for function in module.get_functions() {
        let mut ends: HashMap<LLVMBasicBlockRef, Recent> = HashMap::new();
        // SAFETY: walks the blocks of a live function.
        unsafe {
            let mut block = LLVMGetFirstBasicBlock(function.as_value_ref());
            while !block.is_null() {
                if !loops.contains_key(&block) {
                    let recent = match predecessors(block)[..] {
                        [before] => ends.get(&before).cloned().unwrap_or_default(),
                        _ => Recent::new(),
                    };
                    ends.insert(block, follow(block, recent, derived, &mut repeated));
                }
                block = LLVMGetNextBasicBlock(block);
            }
        }
    }
    for (&load, &first) in &repeated {
        // SAFETY: the first instruction dominates the load, and so does what it stores.
        unsafe {
            let value = match LLVMGetInstructionOpcode(first) {
                LLVMOpcode::LLVMStore => LLVMGetOperand(first, 0),
                _ => first,
            };
            LLVMReplaceAllUsesWith(load, value);
        }
    }
    repeated
}

/// Goes through a block, from what is recent where it begins; what is recent where it ends.
///
/// # Safety
/// The block is alive.
unsafe fn follow(
    block: LLVMBasicBlockRef,
    mut recent: Recent,
    derived: &Derived,
    repeated: &mut HashMap<LLVMValueRef, LLVMValueRef>,
) -> Recent {
    use LLVMOpcode::*;
    // SAFETY: instructions of a live block, asked by their kind.
    unsafe {
        for instruction in instructions(block) {
            match LLVMGetInstructionOpcode(instruction) {
                LLVMLoad if derived.known.contains(&instruction) => {
                    let key = (LLVMGetOperand(instruction, 0), LLVMTypeOf(instruction));
                    match recent.get(&key) {
                        Some(&first) => {
                            repeated.insert(instruction, first);
                        }
                        None => {
                            recent.insert(key, instruction);
                        }
                    }
                }
                LLVMLoad if is_plain(instruction) => {}
                LLVMStore => {
                    // It may go where any other did, unless it is to memory of its own function.
                    if derived.private.contains(&instruction) {
                        continue;
                    }
                    recent.clear();
                    if derived.known.contains(&instruction) {
                        let value = LLVMGetOperand(instruction, 0);
                        let key = (LLVMGetOperand(instruction, 1), LLVMTypeOf(value));
                        recent.insert(key, instruction);
                    }
                }
                LLVMCall if is_quiet(instruction) => {}
                LLVMLoad | LLVMCall | LLVMInvoke | LLVMCallBr | LLVMFence | LLVMAtomicCmpXchg
                | LLVMAtomicRMW | LLVMVAArg | LLVMLandingPad => recent.clear(),
                _ => {}
            }
        }
    }
    recent
}
