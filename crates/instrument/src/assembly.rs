//! Inline assembly that the `tsan` pass walks past: what it does to memory, and the requests that
//! programs written for Valgrind's tools make through it.
//!
//! An operand that the statement names as memory (`"+m"(x)`) is accessed; so is one reached
//! through a pointer in a register, where the text is a single well-known instruction
//! (`lock; incl (%0)`). An instruction with a `lock` prefix, and `xchg`, is an atomic access that
//! orders nothing, as Helgrind has it. Valgrind's client requests (`ANNOTATE_HAPPENS_BEFORE` of
//! `helgrind.h` and `drd.h` and so on) are a fixed sequence of rotations; each becomes a call into
//! the runtime, so that the annotations count here too.
//!
//! What it may miss: memory that a longer text reaches through registers or clobbers.

use std::ffi::c_char;

use inkwell::AddressSpace;
use inkwell::attributes::Attribute;
use inkwell::builder::BuilderError;
use inkwell::llvm_sys::core::{
    LLVMGetCallSiteEnumAttribute, LLVMGetCalledValue, LLVMGetInlineAsmAsmString,
    LLVMGetInlineAsmConstraintString, LLVMGetTypeAttributeValue, LLVMIsAInlineAsm,
};
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::llvm_sys::target::{LLVMABISizeOfType, LLVMGetModuleDataLayout};
use inkwell::module::Module;
use inkwell::values::{
    AsValueRef, BasicValueEnum, FunctionValue, InstructionOpcode, InstructionValue,
};

/// Larger operands stand for "some memory there", not for all of it.
const LARGEST: u64 = 16;

const WRITES: u64 = 1;
const ATOMIC: u64 = 2;

/// Makes the accesses and requests of inline assembly known to the runtime.
pub(crate) fn expose(module: &Module) -> Result<(), BuilderError> {
    let instructions: Vec<InstructionValue> = module
        .get_functions()
        .flat_map(|function| function.get_basic_blocks())
        .flat_map(|block| block.get_instructions())
        .filter(|instruction| instruction.get_opcode() == InstructionOpcode::Call)
        .collect();
    for instruction in instructions {
        let Some((text, constraints)) = assembly_of(instruction) else { continue };
        if is_request(&text) {
            request(module, instruction)?;
        } else {
            accesses(module, instruction, &text, &constraints)?;
        }
    }
    Ok(())
}

/// Makes only the requests known to the runtime.
pub(crate) fn expose_requests(module: &Module) -> Result<(), BuilderError> {
    let instructions: Vec<InstructionValue> = module
        .get_functions()
        .flat_map(|function| function.get_basic_blocks())
        .flat_map(|block| block.get_instructions())
        .filter(|instruction| instruction.get_opcode() == InstructionOpcode::Call)
        .collect();
    for instruction in instructions {
        if assembly_of(instruction).is_some_and(|(text, _)| is_request(&text)) {
            request(module, instruction)?;
        }
    }
    Ok(())
}

/// Text and constraints of a call of inline assembly.
fn assembly_of(instruction: InstructionValue) -> Option<(String, String)> {
    type Part = unsafe extern "C" fn(LLVMValueRef, *mut usize) -> *const c_char;
    // SAFETY: the instruction is a call, and the parts are asked of inline assembly alone; LLVM
    // owns the texts for as long as the module lives.
    unsafe {
        let callee = LLVMIsAInlineAsm(LLVMGetCalledValue(instruction.as_value_ref()));
        if callee.is_null() {
            return None;
        }
        let part = |get: Part| {
            let mut length = 0;
            let start = get(callee, &mut length);
            let bytes = std::slice::from_raw_parts(start.cast::<u8>(), length);
            String::from_utf8_lossy(bytes).into_owned()
        };
        Some((part(LLVMGetInlineAsmAsmString), part(LLVMGetInlineAsmConstraintString)))
    }
}

/// The preamble of Valgrind's client requests on x86-64.
fn is_request(text: &str) -> bool {
    text.contains("rolq $$3,") && text.contains("rolq $$61,") && text.contains("xchgq %rbx,%rbx")
}

/// Replaces a request by a call of the runtime with the same arguments and result.
fn request(module: &Module, instruction: InstructionValue) -> Result<(), BuilderError> {
    let context = module.get_context();
    let (pointer, long) = (context.ptr_type(AddressSpace::default()), context.i64_type());
    let (Some(arguments), Some(default)) = (operand(instruction, 0), operand(instruction, 1))
    else {
        return Ok(());
    };
    if !arguments.is_pointer_value() || !default.is_int_value() {
        return Ok(());
    }
    let kind = long.fn_type(&[pointer.into(), long.into()], false);
    let hook = declared(module, "__racewarden_request", kind);
    let builder = context.create_builder();
    builder.position_before(&instruction);
    let call = builder.build_call(hook, &[arguments.into(), default.into()], "")?;
    if let Some(result) = call.try_as_basic_value().basic()
        && let Some(new) = result.into_int_value().as_instruction()
    {
        instruction.replace_all_uses_with(&new);
        instruction.erase_from_basic_block();
    }
    Ok(())
}

fn declared<'c>(
    module: &Module<'c>,
    name: &str,
    kind: inkwell::types::FunctionType<'c>,
) -> FunctionValue<'c> {
    module.get_function(name).unwrap_or_else(|| module.add_function(name, kind, None))
}

fn operand(instruction: InstructionValue, at: u32) -> Option<BasicValueEnum> {
    instruction.get_operand(at)?.value()
}

/// Tells the runtime of every access, before the statement.
fn accesses(
    module: &Module,
    instruction: InstructionValue,
    text: &str,
    constraints: &str,
) -> Result<(), BuilderError> {
    let found = accesses_of(text, constraints);
    if found.is_empty() {
        return Ok(());
    }
    let context = module.get_context();
    let (pointer, long) = (context.ptr_type(AddressSpace::default()), context.i64_type());
    let kind = context.void_type().fn_type(&[pointer.into(), long.into(), long.into()], false);
    let hook = declared(module, "__racewarden_assembly", kind);
    let builder = context.create_builder();
    builder.position_before(&instruction);
    for access in found {
        let Some(place) = operand(instruction, access.argument) else { continue };
        let size = access.size.or_else(|| element_size(module, instruction, access.argument));
        let Some(size) = size.filter(|size| (1..=LARGEST).contains(size)) else { continue };
        if !place.is_pointer_value() {
            continue;
        }
        let flags =
            (if access.writes { WRITES } else { 0 }) | (if access.atomic { ATOMIC } else { 0 });
        let arguments =
            [place.into(), long.const_int(size, false).into(), long.const_int(flags, false).into()];
        builder.build_call(hook, &arguments, "")?;
    }
    Ok(())
}

/// The size of what an indirect operand points to.
fn element_size(module: &Module, instruction: InstructionValue, argument: u32) -> Option<u64> {
    let kind = Attribute::get_named_enum_kind_id("elementtype");
    // SAFETY: the instruction is a call with this argument; a type attribute has a type of the
    // module's context.
    unsafe {
        let attribute =
            LLVMGetCallSiteEnumAttribute(instruction.as_value_ref(), argument + 1, kind);
        if attribute.is_null() {
            return None;
        }
        let layout = LLVMGetModuleDataLayout(module.as_mut_ptr());
        Some(LLVMABISizeOfType(layout, LLVMGetTypeAttributeValue(attribute)))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Access {
    /// Which argument of the call is the address.
    argument: u32,
    /// As the text tells; otherwise the operand's type tells.
    size: Option<u64>,
    writes: bool,
    atomic: bool,
}

/// What a statement accesses, each address once.
fn accesses_of(text: &str, constraints: &str) -> Vec<Access> {
    let statements: Vec<&str> = text
        .split([';', '\n'])
        .map(str::trim)
        .filter(|statement| !statement.is_empty() && !statement.starts_with('#'))
        .collect();
    if statements.is_empty() {
        return Vec::new();
    }
    let atomic = statements
        .iter()
        .any(|statement| statement.starts_with("lock") || statement.starts_with("xchg"));
    let mut found: Vec<Access> = Vec::new();
    let mut add = |access: Access| match found.iter_mut().find(|a| a.argument == access.argument) {
        Some(known) => known.writes |= access.writes,
        None => found.push(access),
    };
    let mut argument = 0;
    // `$n` in the text counts outputs and inputs alike; arguments only what is passed in.
    let mut indirect = Vec::new();
    for (number, constraint) in
        constraints.split(',').take_while(|constraint| !constraint.starts_with('~')).enumerate()
    {
        let output = constraint.starts_with('=');
        let points = constraint.contains('*');
        if points {
            indirect.push((argument, output));
        } else if !output && let Some((writes, size)) = reached(&statements, number) {
            add(Access { argument, size: Some(size), writes, atomic });
        }
        if !output || points {
            argument += 1;
        }
    }
    for (argument, writes) in indirect {
        add(Access { argument, size: None, writes, atomic });
    }
    found
}

/// Whether the only instruction accesses `($n)`: written or only read, and how many bytes.
fn reached(statements: &[&str], number: usize) -> Option<(bool, u64)> {
    let rest: Vec<&str> = statements
        .iter()
        .map(|statement| statement.strip_prefix("lock").unwrap_or(statement).trim())
        .filter(|statement| !statement.is_empty())
        .collect();
    let [instruction] = rest.as_slice() else { return None };
    let (name, operands) = instruction.split_once(char::is_whitespace)?;
    let place = format!("(${number})");
    if !operands.contains(&place) {
        return None;
    }
    let (stem, size) = match name.split_at(name.len() - 1) {
        (stem, "b") => (stem, 1),
        (stem, "w") => (stem, 2),
        (stem, "l") => (stem, 4),
        (stem, "q") => (stem, 8),
        _ => return None,
    };
    let last = operands.trim_end().ends_with(&place);
    let writes = match stem {
        "cmp" | "test" => false,
        "xchg" => true,
        "inc" | "dec" | "neg" | "not" | "add" | "sub" | "and" | "or" | "xor" | "xadd"
        | "cmpxchg" | "mov" | "bts" | "btr" | "btc" => last,
        _ => return None,
    };
    Some((writes, size))
}

#[cfg(test)]
mod tests {
    use super::{Access, accesses_of, is_request};

    fn access(argument: u32, size: Option<u64>, writes: bool, atomic: bool) -> Access {
        Access { argument, size, writes, atomic }
    }

    #[test]
    fn memory_operands_are_accessed() {
        let flags = "~{dirflag},~{fpsr},~{flags}";
        let found = accesses_of("lock; incl $0", &format!("=*m,*m,{flags}"));
        assert_eq!(found, [access(0, None, true, true), access(1, None, false, true)]);
        let found = accesses_of("xchgl $0,$1", &format!("=r,=*m,0,*m,{flags}"));
        assert_eq!(found, [access(0, None, true, true), access(2, None, false, true)]);
        let found = accesses_of("movl $1, $0", &format!("=r,*m,{flags}"));
        assert_eq!(found, [access(0, None, false, false)]);
    }

    #[test]
    fn pointers_in_registers_are_followed_in_single_instructions() {
        let found = accesses_of("lock ; incl ($0)", "r,~{memory}");
        assert_eq!(found, [access(0, Some(4), true, true)]);
        let found = accesses_of("movq ($1), $0", "=r,r,~{memory}");
        assert_eq!(found, [access(0, Some(8), false, false)]);
        assert!(accesses_of("movq ($1), $0\n\tmovq $0, 8($1)", "=r,r").is_empty());
    }

    #[test]
    fn empty_text_touches_nothing() {
        assert!(accesses_of("", "=*m,*m,~{memory}").is_empty());
        assert!(accesses_of("# barrier", "r,~{memory}").is_empty());
        assert!(!is_request("lock; incl $0"));
    }
}
