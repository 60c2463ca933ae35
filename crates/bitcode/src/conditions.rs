//! Functions that decide whether their caller goes on, and what it knows then.
//!
//! `assume(x == 1)`, an assertion of the program's own, or a wrapper that returns whether a lock was
//! got: what the caller knows afterwards was tested in another function. Verification tasks are full
//! of them. Here functions that assume something get a body that says so, and functions of verification
//! tasks that run as one step (`__VERIFIER_atomic_…`) the calls that begin and end the step, so that
//! [`crate::flatten`] can put both where they are called, with the small functions of the
//! program's own that [`decides`] names.
//!
//! Steps that contain another step stay functions: steps do not nest.

use inkwell::IntPredicate;
use inkwell::builder::BuilderError;
use inkwell::module::{Linkage, Module};
use inkwell::values::{AsValueRef, FunctionValue, InstructionOpcode, InstructionValue};
use rustc_hash::FxHashMap;

use crate::raw::{LLVMLinkage, LLVMOpcode, LLVMTypeKind, LLVMValueKind, Val};

/// External functions that return only when their argument is not zero.
const ASSUMPTIONS: [&str; 3] = ["__VERIFIER_assume", "__CPROVER_assume", "ldv_assume"];
const STEP: &str = "__VERIFIER_atomic_";
const BEGIN: &str = "__VERIFIER_atomic_begin";
const END: &str = "__VERIFIER_atomic_end";
/// Instructions of a function that decides something.
const MAX_DECIDING: usize = 40;
/// Instructions of a step.
const MAX_STEP: usize = 60;

/// Gives bodies to functions that assume something, and bounds to steps; the functions that are to
/// be put into their callers.
pub fn give_bodies(module: &Module<'_>) -> Result<Vec<String>, BuilderError> {
    let mut given = Vec::new();
    for name in ASSUMPTIONS {
        let Some(function) = module.get_function(name) else { continue };
        if function.count_basic_blocks() == 0 && assumes(module, function)? {
            given.push(name.to_owned());
        }
    }
    let steps: Vec<FunctionValue> =
        module.get_functions().filter(|f| is_step(module, *f)).collect();
    for step in steps {
        bound(module, step)?;
        given.push(name_of(step));
    }
    Ok(given)
}

/// Writes the body; whether the function is one that can have it.
fn assumes(module: &Module<'_>, function: FunctionValue<'_>) -> Result<bool, BuilderError> {
    let Some(condition) = function.get_first_param().filter(|value| value.is_int_value()) else {
        return Ok(false);
    };
    if function.count_params() != 1 || function.get_type().get_return_type().is_some() {
        return Ok(false);
    }
    let condition = condition.into_int_value();
    let context = module.get_context();
    let builder = context.create_builder();
    let [first, holds, fails] = ["", "", ""].map(|n| context.append_basic_block(function, n));
    builder.position_at_end(first);
    let zero = condition.get_type().const_zero();
    let is_true = builder.build_int_compare(IntPredicate::NE, condition, zero, "")?;
    builder.build_conditional_branch(is_true, holds, fails)?;
    builder.position_at_end(fails);
    builder.build_unreachable()?;
    builder.position_at_end(holds);
    builder.build_return(None)?;
    // Each unit has its own.
    function.set_linkage(Linkage::Internal);
    Ok(true)
}

fn is_step<'c>(module: &Module<'c>, function: FunctionValue<'c>) -> bool {
    let name = name_of(function);
    if !name.starts_with(STEP) || name == BEGIN || name == END || function.count_basic_blocks() == 0
    {
        return false;
    }
    let mut count = 0;
    for place in instructions(function) {
        count += 1;
        let is_call =
            matches!(place.get_opcode(), InstructionOpcode::Call | InstructionOpcode::Invoke);
        if count > MAX_STEP || (is_call && !ends_nothing(module, place)) {
            return false;
        }
    }
    true
}

/// Whether what is called has no step in it: a library function, or one that calls nothing else.
fn ends_nothing<'c>(module: &Module<'c>, call: InstructionValue<'c>) -> bool {
    let Some(callee) = callee_of(module, call) else { return false };
    if name_of(callee).starts_with(STEP) {
        return false;
    }
    instructions(callee).all(|place| {
        let is_call =
            matches!(place.get_opcode(), InstructionOpcode::Call | InstructionOpcode::Invoke);
        !is_call
            || callee_of(module, place).is_some_and(|inner| {
                inner.count_basic_blocks() == 0 && !name_of(inner).starts_with(STEP)
            })
    })
}

fn callee_of<'c>(module: &Module<'c>, call: InstructionValue<'c>) -> Option<FunctionValue<'c>> {
    let last = call.get_operand(call.get_num_operands().checked_sub(1)?)?.value()?;
    let name = last.is_pointer_value().then(|| last.into_pointer_value().get_name().to_owned())?;
    let function = module.get_function(name.to_str().ok()?)?;
    (function.as_value_ref() == last.as_value_ref()).then_some(function)
}

/// Puts the calls that begin and end the step into it.
fn bound<'c>(module: &Module<'c>, step: FunctionValue<'c>) -> Result<(), BuilderError> {
    let context = module.get_context();
    let ty = context.void_type().fn_type(&[], false);
    let [begin, end] = [BEGIN, END].map(|name| {
        module.get_function(name).unwrap_or_else(|| module.add_function(name, ty, None))
    });
    let builder = context.create_builder();
    let ends: Vec<InstructionValue> = instructions(step)
        .filter(|place| place.get_opcode() == InstructionOpcode::Return)
        .collect();
    let first = step.get_first_basic_block().and_then(|block| block.get_first_instruction());
    let calls = first.into_iter().map(|at| (at, begin)).chain(ends.into_iter().map(|at| (at, end)));
    for (at, callee) in calls {
        builder.position_before(&at);
        match at.get_debug_location() {
            Some(place) => builder.set_current_debug_location(place),
            None => builder.unset_current_debug_location(),
        }
        builder.build_call(callee, &[], "")?;
    }
    Ok(())
}

fn instructions<'c>(function: FunctionValue<'c>) -> impl Iterator<Item = InstructionValue<'c>> {
    function.get_basic_block_iter().flat_map(|block| {
        std::iter::successors(block.get_first_instruction(), |place| place.get_next_instruction())
    })
}

fn name_of(function: FunctionValue<'_>) -> String {
    function.get_name().to_string_lossy().into_owned()
}

/// Whether it is a small function of the program's own whose caller learns something by it: it returns
/// only under some condition, or what it returns was found by an atomic access or under a lock.
pub fn decides(
    function: Val,
    names: &FxHashMap<Val, String>,
    has_model: &mut dyn FnMut(Val) -> bool,
) -> bool {
    use LLVMLinkage::*;
    let exact = matches!(
        function.linkage(),
        LLVMInternalLinkage | LLVMPrivateLinkage | LLVMExternalLinkage | LLVMLinkOnceODRLinkage
    );
    let result = function.value_type().and_then(|ty| ty.result()).map(|ty| ty.kind());
    let is_number = result == Some(LLVMTypeKind::LLVMIntegerTypeKind);
    let is_nothing = result == Some(LLVMTypeKind::LLVMVoidTypeKind);
    if !exact || !(is_number || is_nothing) || names[&function] == "main" {
        return false;
    }
    let (mut count, mut stops, mut touches, mut tells) = (0, false, false, false);
    for instruction in function.blocks().flat_map(|block| block.instructions()) {
        count += 1;
        if count > MAX_DECIDING {
            return false;
        }
        match instruction.opcode() {
            LLVMOpcode::LLVMUnreachable => stops = true,
            LLVMOpcode::LLVMAtomicCmpXchg | LLVMOpcode::LLVMAtomicRMW => tells = true,
            LLVMOpcode::LLVMLoad | LLVMOpcode::LLVMStore => {
                touches = true;
                tells |= instruction.is_atomic();
            }
            LLVMOpcode::LLVMCall | LLVMOpcode::LLVMInvoke => {
                let Some(callee) = instruction.called_value() else { return false };
                if callee.kind() != LLVMValueKind::LLVMFunctionValueKind {
                    return false;
                }
                let name = names.get(&callee).map(String::as_str).unwrap_or_default();
                let known = callee.is_declaration() || has_model(callee);
                tells |= known && name.to_ascii_lowercase().contains("lock");
            }
            _ => {}
        }
    }
    let asks = function.params().next().is_some();
    (stops && !touches && asks) || (tells && is_number)
}
