//! What `std::async` does, made plain: which way it goes where the caller says it by a constant,
//! and that it keeps the state that it makes.
//!
//! The policy is a parameter, so each instance of the template has both ways in it: a thread, and a
//! function that whoever waits calls. Where all calls of a unit ask for one of them alone, the
//! parameter becomes that constant, and the other way goes with the branches on constants. Other
//! units may ask for something else of the same instance, so it gets another name.

use inkwell::module::Module;
use inkwell::values::{AsValueRef, FunctionValue, InstructionOpcode, InstructionValue};

/// libstdc++'s instances whose first parameter is the policy.
const PREFIX: &str = "_ZSt5async";
const POLICY: &str = "St6launch";
const REFERENCE: &str = "_ZNSt12__shared_ptrINSt13__future_base";
/// How it takes what it has made, when it has nothing yet.
const FIRST: [&str; 2] = ["aSINS0_17_Async_state_impl", "aSINS0_15_Deferred_state"];
/// A future that gets a reference of its own, of which there is one more then.
const FUTURE: &str = "_ZNSt14__basic_futureI";
const COPIES: &str = "ERKSt10shared_ptrINSt13__future_base";
/// Where the parameter is, behind the place for the result.
const AT: u32 = 1;
/// `std::launch::async` and `std::launch::deferred`.
const ALONE: [u64; 2] = [1, 2];

/// Puts constant policies into the instances of `std::async`.
pub fn settle(module: &Module<'_>) {
    for function in module.get_functions() {
        let name = function.get_name().to_string_lossy().into_owned();
        let copies = name.starts_with(FUTURE) && name.contains(COPIES);
        if copies || name.starts_with(REFERENCE) && FIRST.iter().any(|first| name.contains(first)) {
            keep_state(module, function);
        }
        if !name.starts_with(PREFIX) || function.count_basic_blocks() == 0 {
            continue;
        }
        keep_state(module, function);
        if !name.contains(POLICY) {
            continue;
        }
        let Some(policy) = asked(module, function).filter(|policy| ALONE.contains(policy)) else {
            continue;
        };
        let parameter = function.get_nth_param(AT).filter(|value| value.is_int_value());
        let Some(parameter) = parameter.map(|value| value.into_int_value()) else { continue };
        parameter.replace_all_uses_with(parameter.get_type().const_int(policy, false));
        function.as_global_value().set_name(&format!("{name}.policy{policy}"));
    }
}

/// The future that is returned holds the state, so the references that the function itself gives up
/// are never the last ones, and what it assigns to was empty.
fn keep_state(module: &Module<'_>, function: FunctionValue<'_>) {
    let gives_up = |place: &InstructionValue<'_>| {
        let callee = place.get_num_operands().checked_sub(1).and_then(|at| place.get_operand(at));
        let callee = callee.and_then(|operand| operand.value()).filter(|v| v.is_pointer_value());
        let name = callee.map(|callee| callee.into_pointer_value().get_name().to_owned());
        let name = name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        place.get_opcode() == InstructionOpcode::Call
            && name.starts_with(REFERENCE)
            && (name.ends_with("ED2Ev") || name.ends_with("ED1Ev"))
            && module.get_function(&name).is_some()
    };
    let found: Vec<InstructionValue> = instructions(function).filter(gives_up).collect();
    for place in found {
        place.erase_from_basic_block();
    }
}

/// The one policy that all calls ask for.
fn asked(module: &Module<'_>, function: FunctionValue<'_>) -> Option<u64> {
    let own = function.as_global_value().as_pointer_value().as_value_ref();
    let mut found = None;
    for place in module.get_functions().flat_map(instructions) {
        let count = place.get_num_operands();
        for at in 0..count {
            let operand = place.get_operand(at).and_then(|operand| operand.value());
            if operand.is_none_or(|value| value.as_value_ref() != own) {
                continue;
            }
            let calls =
                matches!(place.get_opcode(), InstructionOpcode::Call | InstructionOpcode::Invoke);
            if !calls || at + 1 != count {
                return None;
            }
            let policy = place.get_operand(AT)?.value()?;
            let policy = policy.is_int_value().then(|| policy.into_int_value())?;
            let policy = policy.get_zero_extended_constant()?;
            if found.is_some_and(|known| known != policy) {
                return None;
            }
            found = Some(policy);
        }
    }
    found
}

fn instructions<'c>(function: FunctionValue<'c>) -> impl Iterator<Item = InstructionValue<'c>> {
    function.get_basic_block_iter().flat_map(|block| {
        std::iter::successors(block.get_first_instruction(), |place| place.get_next_instruction())
    })
}
