//! Which memory an instruction accesses, as far as that can be told without the callee's code.

use inkwell::llvm_sys::core::{LLVMGetCalledValue, LLVMGetValueName2};
use inkwell::llvm_sys::target::{LLVMGetModuleDataLayout, LLVMStoreSizeOfType};
use inkwell::module::Module;
use inkwell::types::{AsTypeRef, BasicTypeEnum};
use inkwell::values::{AsValueRef, InstructionOpcode, InstructionValue};
use racewarden_finding::AccessKind;

/// How much is accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    Known(u64),
    /// The operand with this index says it.
    Operand(u32),
    /// The whole heap block that the address points to.
    WholeBlock,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Access {
    pub kind: AccessKind,
    /// The operand that is the address.
    pub address: u32,
    pub size: Size,
}

const READ: AccessKind = AccessKind::Read;
const WRITE: AccessKind = AccessKind::Write;

/// The accesses of one instruction; none for one that touches no memory that can be told.
pub(crate) fn access_of(module: &Module, place: InstructionValue) -> Vec<Access> {
    let one = |kind, address, size| vec![Access { kind, address, size: Size::Known(size) }];
    match place.get_opcode() {
        InstructionOpcode::Load => match BasicTypeEnum::try_from(place.get_type()) {
            Ok(loaded) => one(READ, 0, store_size(module, loaded)),
            Err(()) => Vec::new(),
        },
        InstructionOpcode::Store => one(WRITE, 1, operand_size(module, place, 0)),
        InstructionOpcode::AtomicRMW | InstructionOpcode::AtomicCmpXchg => {
            one(WRITE, 0, operand_size(module, place, 1))
        }
        InstructionOpcode::Call | InstructionOpcode::Invoke => called(&callee_name(place)),
        _ => Vec::new(),
    }
}

/// Two atomic accesses are no data race, however close they come.
pub(crate) fn is_atomic(place: InstructionValue) -> bool {
    use inkwell::AtomicOrdering::NotAtomic;
    match place.get_opcode() {
        InstructionOpcode::AtomicRMW | InstructionOpcode::AtomicCmpXchg => true,
        InstructionOpcode::Load | InstructionOpcode::Store => {
            place.get_atomic_ordering().is_ok_and(|ordering| ordering != NotAtomic)
        }
        _ => false,
    }
}

/// What well-known functions access at the least. A string has at least its final byte.
fn called(name: &str) -> Vec<Access> {
    let read = |address, size| Access { kind: READ, address, size };
    let write = |address, size| Access { kind: WRITE, address, size };
    let counted = Size::Operand(2);
    let byte = Size::Known(1);
    if name.starts_with("llvm.memcpy") || name.starts_with("llvm.memmove") {
        return vec![write(0, counted), read(1, counted)];
    }
    if name.starts_with("llvm.memset") {
        return vec![write(0, counted)];
    }
    match name {
        "memcpy" | "memmove" => vec![write(0, counted), read(1, counted)],
        "memset" => vec![write(0, counted)],
        "strlen" | "strchr" | "strrchr" | "strdup" | "puts" | "fputs" | "atoi" | "atol" => {
            vec![read(0, byte)]
        }
        "strcmp" | "strstr" | "strcasecmp" => vec![read(0, byte), read(1, byte)],
        "strcpy" | "strcat" | "stpcpy" => vec![write(0, byte), read(1, byte)],
        // `operator delete` in all its forms ends in the block being freed.
        "free" | "cfree" | "realloc" => vec![write(0, Size::WholeBlock)],
        _ if name.starts_with("_ZdlPv") || name.starts_with("_ZdaPv") => {
            vec![write(0, Size::WholeBlock)]
        }
        _ => Vec::new(),
    }
}

pub(crate) fn callee_name(place: InstructionValue) -> String {
    // SAFETY: the instruction is a call or an invoke; the name lives as long as the module.
    unsafe {
        let callee = LLVMGetCalledValue(place.as_value_ref());
        if callee.is_null() {
            return String::new();
        }
        let mut length = 0;
        let name = LLVMGetValueName2(callee, &mut length);
        let bytes = std::slice::from_raw_parts(name.cast::<u8>(), length);
        String::from_utf8_lossy(bytes).into_owned()
    }
}

fn operand_size(module: &Module, place: InstructionValue, index: u32) -> u64 {
    match place.get_operand(index).and_then(|operand| operand.value()) {
        Some(value) => store_size(module, value.get_type()),
        None => 0,
    }
}

fn store_size(module: &Module, ty: BasicTypeEnum) -> u64 {
    // SAFETY: module and type belong together and outlive the call.
    unsafe { LLVMStoreSizeOfType(LLVMGetModuleDataLayout(module.as_mut_ptr()), ty.as_type_ref()) }
}
