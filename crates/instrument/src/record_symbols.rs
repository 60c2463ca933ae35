//! The table of what a recorded unit defines, and of what in it has no records.

use inkwell::AddressSpace;
use inkwell::llvm_sys::core::{LLVMIsDeclaration, LLVMIsThreadLocal};
use inkwell::module::{Linkage, Module};
use inkwell::values::{AsValueRef, FunctionValue, InstructionValue, PointerValue};

use crate::derived::Derived;

/// Puts `{address, name, unit, kind}` of every function and global into a section that the linker
/// joins over all units; and what of each function has no records.
pub(crate) fn add_symbols<'c>(
    module: &Module<'c>,
    unit_index: usize,
    derived: &Derived,
    functions: &[(FunctionValue<'c>, Vec<InstructionValue<'c>>)],
) {
    let context = module.get_context();
    let (long, pointer) = (context.i64_type(), context.ptr_type(AddressSpace::default()));
    let row =
        context.struct_type(&[pointer.into(), pointer.into(), long.into(), long.into()], false);
    let unit = long.const_int(unit_index as u64, false);
    let mut rows = Vec::new();
    let mut add = |name: &str, address: PointerValue<'c>, kind: u64| {
        let text = context.const_string(name.as_bytes(), true);
        let global = module.add_global(text.get_type(), None, "racewarden.name");
        global.set_initializer(&text);
        global.set_constant(true);
        global.set_linkage(Linkage::Private);
        let kind = long.const_int(kind, false);
        let name = global.as_pointer_value();
        rows.push(row.const_named_struct(&[address.into(), name.into(), unit.into(), kind.into()]));
    };
    for (function, places) in functions {
        let name = function.get_name().to_string_lossy();
        let address = function.as_global_value().as_pointer_value();
        add(&name, address, derived.kind_of(function.as_value_ref()));
        let left_out = derived.left_out(places);
        if !left_out.is_empty() {
            add(&left_out, address, 3);
        }
    }
    let globals: Vec<_> = module.get_globals().collect();
    for global in globals {
        // SAFETY: the value is a global variable of the module.
        let (declared, thread_local) = unsafe {
            (LLVMIsDeclaration(global.as_value_ref()), LLVMIsThreadLocal(global.as_value_ref()))
        };
        let name = global.get_name().to_string_lossy();
        // A table that another unit or library defines is not this unit's to name.
        let borrowed = global.get_linkage() == Linkage::AvailableExternally;
        if declared == 0
            && !borrowed
            && thread_local == 0
            && !name.starts_with("llvm.")
            && !name.starts_with("racewarden.")
        {
            add(&name, global.as_pointer_value(), 1);
        }
    }
    if rows.is_empty() {
        return;
    }
    let table = row.const_array(&rows);
    let global =
        module.add_global(table.get_type(), None, &format!("__racewarden_symbols_{unit_index}"));
    global.set_initializer(&table);
    global.set_section(Some("racewarden_symbols"));
    global.set_alignment(8);
}
