//! What `std::call_once` calls.
//!
//! libstdc++ gives `pthread_once` a function of the library's own, `__once_proxy`, which calls what a
//! thread-local pointer says. Its body is in no header, so the callback would never seem to run. Each
//! instance of `std::call_once` sets the pointer itself: there the callback is given by name.
//! Where that cannot be told, a function of ours that calls whatever the pointer may say is.

use inkwell::AddressSpace;
use inkwell::builder::BuilderError;
use inkwell::module::{Linkage, Module};
use inkwell::values::{
    AsValueRef, BasicValueEnum, FunctionValue, InstructionOpcode, InstructionValue, PointerValue,
};

const PROXY: &str = "__once_proxy";
/// The thread-local pointer, `std::__once_call`.
const POINTER: &str = "_ZSt11__once_call";
/// What it is called with, `std::__once_callable`.
const CALLABLE: &str = "_ZSt15__once_callable";

/// Names the callbacks of `std::call_once`.
pub fn give_callbacks(module: &Module<'_>) -> Result<(), BuilderError> {
    let (Some(proxy), Some(pointer)) = (module.get_function(PROXY), module.get_global(POINTER))
    else {
        return Ok(());
    };
    part_callables(module);
    let any = any_callback(module, pointer.as_pointer_value())?;
    let proxy_value = proxy.as_global_value().as_pointer_value();
    for function in module.get_functions() {
        let mut uses = Vec::new();
        for place in instructions(function) {
            for at in 0..place.get_num_operands() {
                let operand = place.get_operand(at).and_then(|operand| operand.value());
                if operand.is_some_and(|value| value.as_value_ref() == proxy_value.as_value_ref()) {
                    uses.push((place, at));
                }
            }
        }
        if uses.is_empty() {
            continue;
        }
        let callback = callback_of(module, function, pointer.as_pointer_value());
        for (place, at) in uses {
            place.set_operand(at, callback.unwrap_or(any));
        }
    }
    Ok(())
}

/// The one function that `function`, or what it calls, stores to the pointer.
fn callback_of<'c>(
    module: &Module<'c>,
    function: FunctionValue<'c>,
    pointer: PointerValue<'c>,
) -> Option<PointerValue<'c>> {
    let mut found: Vec<PointerValue> = stored(module, function, pointer);
    for place in instructions(function) {
        let is_call =
            matches!(place.get_opcode(), InstructionOpcode::Call | InstructionOpcode::Invoke);
        let callee = is_call.then(|| place.get_operand(place.get_num_operands().saturating_sub(1)));
        let callee = callee.flatten().and_then(|operand| operand.value());
        if let Some(callee) = callee.and_then(|value| named(module, value)) {
            found.extend(stored(module, callee, pointer));
        }
    }
    found.dedup();
    match found[..] {
        [one] => Some(one),
        _ => None,
    }
}

/// The functions that a body stores to the pointer.
fn stored<'c>(
    module: &Module<'c>,
    function: FunctionValue<'c>,
    pointer: PointerValue<'c>,
) -> Vec<PointerValue<'c>> {
    let stores =
        instructions(function).filter(|place| place.get_opcode() == InstructionOpcode::Store);
    stores
        .filter_map(|store| {
            let value = store.get_operand(0)?.value()?;
            let place = store.get_operand(1)?.value()?;
            let value = returned(module, value).unwrap_or(value);
            let leads = is_pointer(place, pointer);
            (leads && named(module, value).is_some()).then(|| value.into_pointer_value())
        })
        .collect()
}

/// What a call always returns: a lambda is made a pointer by a function that returns a constant.
fn returned<'c>(module: &Module<'c>, value: BasicValueEnum<'c>) -> Option<BasicValueEnum<'c>> {
    let call = value.into_pointer_value().as_instruction()?;
    if call.get_opcode() != InstructionOpcode::Call {
        return None;
    }
    let callee = call.get_operand(call.get_num_operands().checked_sub(1)?)?.value()?;
    let callee = named(module, callee)?;
    let mut returns =
        instructions(callee).filter(|place| place.get_opcode() == InstructionOpcode::Return);
    let only = returns.next()?.get_operand(0)?.value()?;
    (returns.next().is_none() && named(module, only).is_some()).then_some(only)
}

/// Gives each type of callback a thread-local pointer of its own to what is called. The library has
/// one for all, which is set by whoever calls `std::call_once` and read by the callback.
fn part_callables(module: &Module<'_>) {
    let Some(shared) = module.get_global(CALLABLE) else { return };
    let shared_value = shared.as_pointer_value().as_value_ref();
    for function in module.get_functions() {
        let name = function.get_name().to_string_lossy().into_owned();
        let Some(kind) = kind_of_callback(&name) else { continue };
        let own = format!("racewarden.callable.{kind}");
        for place in instructions(function) {
            for at in 0..place.get_num_operands() {
                let operand = place.get_operand(at).and_then(|operand| operand.value());
                if operand.is_none_or(|value| value.as_value_ref() != shared_value) {
                    continue;
                }
                let own = module.get_global(&own).unwrap_or_else(|| {
                    let pointer = module.get_context().ptr_type(AddressSpace::default());
                    let own = module.add_global(pointer, None, &own);
                    own.set_initializer(&pointer.const_null());
                    own.set_thread_local(true);
                    own.set_linkage(Linkage::LinkOnceODR);
                    own
                });
                place.set_operand(at, own.as_pointer_value());
            }
        }
    }
}

/// What tells the types of callbacks apart in the names of the two functions that know one: the
/// constructor that sets the pointer, and the lambda in it that reads it.
fn kind_of_callback(name: &str) -> Option<&str> {
    let sets = ["_ZNSt9once_flag18_Prepare_executionC2I", "_ZNSt9once_flag18_Prepare_executionC1I"];
    if let Some(kind) = sets.iter().find_map(|prefix| name.strip_prefix(prefix)) {
        return Some(kind);
    }
    let reads =
        ["_ZZNSt9once_flag18_Prepare_executionC1I", "_ZZNSt9once_flag18_Prepare_executionC2I"];
    let kind = reads.iter().find_map(|prefix| name.strip_prefix(prefix))?;
    kind.strip_suffix("ENKUlvE_clEv")
}

/// Whether a value is the thread-local pointer's place, as such or as it is asked for.
fn is_pointer(place: BasicValueEnum, pointer: PointerValue) -> bool {
    if place.as_value_ref() == pointer.as_value_ref() {
        return true;
    }
    let asked = place.into_pointer_value().as_instruction().filter(|asked| {
        asked.get_opcode() == InstructionOpcode::Call && asked.get_num_operands() == 2
    });
    let of = asked.and_then(|asked| asked.get_operand(0)?.value());
    of.is_some_and(|of| of.as_value_ref() == pointer.as_value_ref())
}

/// The function that a value is.
fn named<'c>(module: &Module<'c>, value: BasicValueEnum<'c>) -> Option<FunctionValue<'c>> {
    if !value.is_pointer_value() {
        return None;
    }
    let name = value.into_pointer_value().get_name().to_string_lossy().into_owned();
    let function = module.get_function(&name)?;
    (function.as_value_ref() == value.as_value_ref()).then_some(function)
}

fn instructions<'c>(function: FunctionValue<'c>) -> impl Iterator<Item = InstructionValue<'c>> {
    function.get_basic_block_iter().flat_map(|block| {
        std::iter::successors(block.get_first_instruction(), |place| place.get_next_instruction())
    })
}

/// A function that calls whatever the pointer says.
fn any_callback<'c>(
    module: &Module<'c>,
    pointer: PointerValue<'c>,
) -> Result<PointerValue<'c>, BuilderError> {
    let context = module.get_context();
    let builder = context.create_builder();
    let ty = context.void_type().fn_type(&[], false);
    let function = module.add_function("racewarden.once", ty, Some(Linkage::Internal));
    builder.position_at_end(context.append_basic_block(function, ""));
    let callback = builder.build_load(context.ptr_type(AddressSpace::default()), pointer, "")?;
    builder.build_indirect_call(ty, callback.into_pointer_value(), &[], "")?;
    builder.build_return(None)?;
    Ok(function.as_global_value().as_pointer_value())
}
