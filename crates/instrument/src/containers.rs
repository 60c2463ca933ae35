//! What libstdc++ does to trees and lists in its shared library, where nothing is instrumented.
//!
//! `std::map`, `std::set` and `std::list` link their nodes by functions of the library. Before each call of
//! one, the runtime is called with the same arguments: it knows which links the function reads and
//! writes (`racewarden-runtime`, `detect/containers.rs`).
//!
//! What it may miss: nodes that a tree turns around to stay balanced; lists that are reversed or swapped.

use inkwell::builder::BuilderError;
use inkwell::module::Module;
use inkwell::values::{BasicMetadataValueEnum, CallSiteValue, FunctionValue, InstructionValue};

/// The library's function, and the runtime's that is called before it with the same arguments.
const TOLD: [(&str, &str); 9] = [
    (
        "_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_",
        "__racewarden_tree_insert",
    ),
    ("_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_", "__racewarden_tree_erase"),
    ("_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base", "__racewarden_tree_next"),
    ("_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base", "__racewarden_tree_next"),
    ("_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base", "__racewarden_tree_previous"),
    ("_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base", "__racewarden_tree_previous"),
    ("_ZNSt8__detail15_List_node_base7_M_hookEPS0_", "__racewarden_list_hook"),
    ("_ZNSt8__detail15_List_node_base9_M_unhookEv", "__racewarden_list_unhook"),
    ("_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_", "__racewarden_list_transfer"),
];

/// Makes the library's work on nodes known to the runtime.
pub(crate) fn tell(module: &Module) -> Result<(), BuilderError> {
    for (name, hook) in TOLD {
        // A program that brings the function along has it instrumented like its own code.
        let Some(function) =
            module.get_function(name).filter(|function| function.count_basic_blocks() == 0)
        else {
            continue;
        };
        let hook = module
            .get_function(hook)
            .unwrap_or_else(|| module.add_function(hook, function.get_type(), None));
        for call in calls_of(module, function) {
            tell_before(module, call, hook)?;
        }
    }
    Ok(())
}

fn calls_of<'c>(module: &Module<'c>, function: FunctionValue<'c>) -> Vec<InstructionValue<'c>> {
    let calls = |instruction: &InstructionValue<'c>| {
        CallSiteValue::try_from(*instruction)
            .is_ok_and(|call| call.get_called_fn_value() == Some(function))
    };
    module
        .get_functions()
        .flat_map(|function| function.get_basic_blocks())
        .flat_map(|block| block.get_instructions())
        .filter(calls)
        .collect()
}

fn tell_before(
    module: &Module,
    call: InstructionValue,
    hook: FunctionValue,
) -> Result<(), BuilderError> {
    let arguments: Option<Vec<BasicMetadataValueEnum>> =
        (0..hook.count_params()).map(|at| call.get_operand(at)?.value().map(Into::into)).collect();
    let Some(arguments) = arguments else { return Ok(()) };
    let builder = module.get_context().create_builder();
    builder.position_before(&call);
    builder.build_call(hook, &arguments, "")?;
    Ok(())
}
