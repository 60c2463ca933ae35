//! Where the program enters gated copies: which of its optimised functions hold the code of which
//! gated ones, and the tables that tell the runtime.
//!
//! What the optimiser has put into its callers is entered there. Two things tell: a pseudo probe that
//! [`mark`] puts into each gated function, which goes with its code and is no obstacle to any pass, and
//! the debug locations. (A probe is dropped where code is executed ahead of its condition.) What ends up in
//! a function without an entry of its own, such as a variant that the optimiser has made for some
//! arguments, is entered in the functions that call it.
//!
//! A function that may have to lead to its copy begins with [`ROOM`] bytes that do nothing. It is
//! aligned, so that the runtime can put a jump there, and take it out again, by one store.
//!
//! What it may miss: code without debug information whose probe was dropped.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::builder::BuilderError;
use inkwell::intrinsics::Intrinsic;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::module::{Linkage, Module};
use inkwell::values::{ArrayValue, AsValueRef, FunctionValue, PointerValue};
use inkwell::{AddressSpace, GlobalVisibility};

use crate::gate_copies::{copy_in, is_call};

/// The length of a jump.
const ROOM: &str = "5";
/// A jump in the first eight bytes of so aligned code can be replaced by one store.
const ALIGNMENT: u32 = 16;

const PROBE: &str = "llvm.pseudoprobe";

/// The functions that have gates; the rest of the program's part refers to them by index.
pub(crate) struct Marked {
    names: Vec<String>,
    by_description: HashMap<LLVMMetadataRef, u32>,
}

/// Which functions of the optimised program hold the code of which marked ones.
pub(crate) type Holders = BTreeMap<String, BTreeSet<u32>>;

/// Marks the code of the gated functions.
pub(crate) fn mark(module: &Module, names: Vec<String>) -> Result<Marked, BuilderError> {
    let context = module.get_context();
    let mut by_description = HashMap::new();
    let probe = Intrinsic::find(PROBE).and_then(|probe| probe.get_declaration(module, &[]));
    for (index, name) in names.iter().enumerate() {
        let Some(function) = module.get_function(name) else { continue };
        // SAFETY: the function is alive; null stands for no description.
        let description = unsafe { LLVMGetSubprogram(function.as_value_ref()) };
        if !description.is_null() {
            by_description.insert(description, index as u32);
        }
        let first = function.get_first_basic_block().and_then(|block| {
            std::iter::successors(block.get_first_instruction(), |place| {
                place.get_next_instruction()
            })
            .find(|place| {
                use inkwell::values::InstructionOpcode::{Alloca, Phi};
                !matches!(place.get_opcode(), Alloca | Phi)
            })
        });
        let (Some(first), Some(probe)) = (first, probe) else { continue };
        let builder = context.create_builder();
        builder.position_before(&first);
        let long = context.i64_type();
        builder.build_call(
            probe,
            &[
                long.const_int(index as u64 + 1, false).into(),
                long.const_int(1, false).into(),
                context.i32_type().const_zero().into(),
                long.const_all_ones().into(),
            ],
            "",
        )?;
    }
    Ok(Marked { names, by_description })
}

/// Finds where marked code has come to, and takes the probes out. Only functions that `is_entered` hold any.
pub(crate) fn holders(
    module: &Module,
    marked: &Marked,
    is_entered: impl Fn(&str) -> bool,
) -> Holders {
    let own: HashMap<&str, u32> =
        marked.names.iter().zip(0..).map(|(name, index)| (name.as_str(), index)).collect();
    let mut scopes = HashMap::new();
    let mut holders = Holders::new();
    for function in module.get_functions().filter(|function| function.count_basic_blocks() > 0) {
        if function.get_linkage() == Linkage::AvailableExternally {
            continue;
        }
        let name = function.get_name().to_string_lossy().into_owned();
        let mut held: BTreeSet<u32> = own.get(name.as_str()).copied().into_iter().collect();
        for place in crate::gate_survey::instructions(function) {
            let place = place.as_value_ref();
            // SAFETY: the instruction and its locations are alive; null ends the chain.
            unsafe {
                let mut location = LLVMInstructionGetDebugLoc(place);
                while !location.is_null() {
                    let scope = LLVMDILocationGetScope(location);
                    held.extend(marked.of_scope(module, scope, &mut scopes));
                    location = LLVMDILocationGetInlinedAt(location);
                }
            }
        }
        held.extend(take_probes(function));
        if !held.is_empty() {
            holders.insert(name, held);
        }
    }
    if let Some(probe) = module.get_function(PROBE) {
        // SAFETY: its last calls have just gone.
        unsafe { probe.delete() };
    }
    hand_up(module, &mut holders, is_entered);
    holders
}

/// Gives what functions hold that are not entered to their callers.
fn hand_up(module: &Module, holders: &mut Holders, is_entered: impl Fn(&str) -> bool) {
    let mut open: Vec<(String, BTreeSet<u32>)> = Vec::new();
    holders.retain(|name, held| {
        let stays = is_entered(name);
        if !stays {
            open.push((name.clone(), std::mem::take(held)));
        }
        stays
    });
    let mut handed: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    while let Some((name, held)) = open.pop() {
        let known = handed.entry(name.clone()).or_default();
        let fresh: BTreeSet<u32> = held.difference(known).copied().collect();
        if fresh.is_empty() {
            continue;
        }
        known.extend(&fresh);
        for caller in module.get_function(&name).map(callers_of).unwrap_or_default() {
            if is_entered(&caller) {
                holders.entry(caller).or_default().extend(&fresh);
            } else {
                open.push((caller, fresh.clone()));
            }
        }
    }
}

/// The functions that call this one directly.
fn callers_of(function: FunctionValue) -> BTreeSet<String> {
    let mut callers = BTreeSet::new();
    // SAFETY: the function, its uses and their users are alive; only instructions have a block.
    unsafe {
        let mut at = LLVMGetFirstUse(function.as_value_ref());
        while !at.is_null() {
            let user = LLVMGetUser(at);
            if !LLVMIsAInstruction(user).is_null() {
                let caller = LLVMGetBasicBlockParent(LLVMGetInstructionParent(user));
                callers.extend(
                    FunctionValue::new(caller)
                        .map(|caller| caller.get_name().to_string_lossy().into_owned()),
                );
            }
            at = LLVMGetNextUse(at);
        }
    }
    callers
}

impl Marked {
    /// The marked function that a scope of the debug information is in.
    fn of_scope(
        &self,
        module: &Module,
        scope: LLVMMetadataRef,
        known: &mut HashMap<LLVMMetadataRef, Option<u32>>,
    ) -> Option<u32> {
        if let Some(found) = known.get(&scope) {
            return *found;
        }
        // SAFETY: the module is alive, and with it its metadata.
        let context = unsafe { LLVMGetModuleContext(module.as_mut_ptr()) };
        let mut at = scope;
        // SAFETY: a block's second operand is the scope around it.
        unsafe {
            while !at.is_null() && is_block(at) {
                let node = LLVMMetadataAsValue(context, at);
                let mut operands =
                    vec![std::ptr::null_mut(); LLVMGetMDNodeNumOperands(node) as usize];
                LLVMGetMDNodeOperands(node, operands.as_mut_ptr());
                let around = operands.get(1).copied().filter(|around| !around.is_null());
                at = around.map_or(std::ptr::null_mut(), |around| LLVMValueAsMetadata(around));
            }
        }
        let found = self.by_description.get(&at).copied();
        known.insert(scope, found);
        found
    }
}

fn is_block(scope: LLVMMetadataRef) -> bool {
    use LLVMMetadataKind::{LLVMDILexicalBlockFileMetadataKind, LLVMDILexicalBlockMetadataKind};
    // SAFETY: the scope is alive.
    let kind = unsafe { LLVMGetMetadataKind(scope) };
    matches!(kind, LLVMDILexicalBlockMetadataKind | LLVMDILexicalBlockFileMetadataKind)
}

/// Takes the probes out of a function and returns what they mark.
fn take_probes(function: FunctionValue) -> Vec<u32> {
    let probes: Vec<_> = crate::gate_survey::instructions(function)
        .filter(|place| is_call(place.as_value_ref()))
        .filter(|place| crate::gate_access::callee_name(*place) == PROBE)
        .collect();
    let marks = probes.iter().filter_map(|probe| {
        let mark = probe.get_operand(0)?.value()?.into_int_value().get_zero_extended_constant()?;
        u32::try_from(mark.checked_sub(1)?).ok()
    });
    let marks = marks.collect();
    probes.into_iter().for_each(|probe| {
        probe.erase_from_basic_block();
    });
    marks
}

/// Lets the functions with a copy begin with room for a jump, and a constructor, before all of the
/// program's, tell the runtime of them: which gates are in which marked function, which functions
/// hold the code of those, and where their copies are.
pub(crate) fn tell_at_start<'c>(
    module: &Module<'c>,
    gates: &[(u32, u32)],
    holders: &Holders,
    unit: usize,
) -> Result<(), BuilderError> {
    let context = module.get_context();
    let int = context.i32_type();
    let pointer = context.ptr_type(AddressSpace::default());
    let mut entries = Vec::new();
    let mut held = Vec::new();
    for (name, marks) in holders {
        let (Some(function), Some(copy)) = (module.get_function(name), copy_in(module, name))
        else {
            continue;
        };
        make_room(module, function);
        held.extend(marks.iter().map(|mark| (*mark, entries.len() as u32)));
        let addresses = [function, copy].map(|one| one.as_global_value().as_pointer_value());
        entries.push(pointer.const_array(&addresses));
    }
    if entries.is_empty() {
        return Ok(());
    }
    let pairs = |pairs: &[(u32, u32)]| {
        let numbers: Vec<_> = pairs
            .iter()
            .flat_map(|(one, other)| [*one, *other])
            .map(|number| int.const_int(number.into(), false))
            .collect();
        int.const_array(&numbers)
    };
    let entries =
        constant(module, pointer.array_type(2).const_array(&entries), "racewarden.gate.entries");
    let gate_pairs = constant(module, pairs(gates), "racewarden.gate.gates");
    let held_pairs = constant(module, pairs(&held), "racewarden.gate.held");

    let void = context.void_type();
    let parameters = [pointer.into(), int.into(), pointer.into(), int.into(), pointer.into()];
    let told =
        module.add_function("__racewarden_gate_entries", void.fn_type(&parameters, false), None);
    let tell = module.add_function(
        "racewarden.gate.tell",
        void.fn_type(&[], false),
        Some(Linkage::Internal),
    );
    let builder = context.create_builder();
    builder.position_at_end(context.append_basic_block(tell, ""));
    let count = |of: usize| int.const_int(of as u64, false).into();
    let arguments = [
        gate_pairs.into(),
        count(gates.len()),
        held_pairs.into(),
        count(held.len()),
        entries.into(),
    ];
    builder.build_call(told, &arguments, "")?;
    builder.build_return(None)?;

    // Visible, so that it stays without a user; hidden, so that it meets no other.
    let start = module.add_global(pointer, None, &format!("racewarden.gate.start.{unit}"));
    start.set_visibility(GlobalVisibility::Hidden);
    start.set_initializer(&tell.as_global_value().as_pointer_value());
    start.set_section(Some(".init_array.00001"));
    Ok(())
}

/// A table that nobody outside of the unit sees.
fn constant<'c>(module: &Module<'c>, value: ArrayValue<'c>, name: &str) -> PointerValue<'c> {
    let global = module.add_global(value.get_type(), None, name);
    global.set_linkage(Linkage::Internal);
    global.set_constant(true);
    global.set_initializer(&value);
    global.as_pointer_value()
}

fn make_room(module: &Module, function: FunctionValue) {
    let context = module.get_context();
    let room = context.create_string_attribute("patchable-function-entry", ROOM);
    function.add_attribute(AttributeLoc::Function, room);
    // A landing mark for indirect branches would come before the room, and the two together are too
    // long for one store.
    let kind = Attribute::get_named_enum_kind_id("nocf_check");
    function.add_attribute(AttributeLoc::Function, context.create_enum_attribute(kind, 0));
    let function = function.as_value_ref();
    // SAFETY: the function is alive.
    unsafe { LLVMSetAlignment(function, LLVMGetAlignment(function).max(ALIGNMENT)) };
}
