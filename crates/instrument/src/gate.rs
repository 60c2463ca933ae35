//! The gate mode: calls before and after chosen instructions, inert until activated (paper 5,
//! section 3.1 step 3).
//!
//! [`survey`] finds the instructions that candidate races and schedules name and numbers them;
//! [`Gate`] builds them in. A gate is a test of its byte in a table of the runtime, which is set
//! before the program starts and never changes. The load is marked invariant, so the optimiser may
//! move it out of loops and share it between gates; the calls stand in cold blocks. Gates are put in
//! before optimisation, where every access of the source still exists under its name `(function,
//! ordinal)`, and into a copy of the function that runs only when one of them is active
//! ([`crate::gate_copies`], [`crate::gate_entries`]).
//!
//! What it may miss: accesses in code that was not captured, and sites past the table's size.

use std::collections::BTreeMap;

use inkwell::AddressSpace;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::builder::Builder;
use inkwell::module::{Linkage, Module};
use inkwell::types::{ArrayType, BasicType};
use inkwell::values::{
    BasicValueEnum, FunctionValue, GlobalValue, InstructionOpcode, InstructionValue,
};
use inkwell::{IntPredicate, builder::BuilderError};
use racewarden_capture::Unit;
use racewarden_finding::AccessKind;

use crate::build::Optimise;
use crate::gate_access::{Size, access_of, is_atomic};
use crate::gate_survey::GateMap;
use crate::record::normal_destination;
use crate::{InstrumentError, UnitPass, gate_copies, gate_entries};

/// The size of the runtime's table.
pub const MOST_GATES: usize = 1 << 16;

/// Builds gates into the units of one target.
#[derive(Debug, Clone)]
pub struct Gate {
    map: GateMap,
    /// All gates in the program's own functions: dearer, and possible in every module.
    in_place: bool,
}

impl Gate {
    pub fn new(map: GateMap) -> Self {
        Gate { map, in_place: false }
    }

    pub fn map(&self) -> &GateMap {
        &self.map
    }
}

impl UnitPass for Gate {
    fn name(&self) -> &'static str {
        "gate"
    }

    fn key(&self, unit_index: usize) -> String {
        let mut key = String::from("7");
        for gate in self.map.gates.iter().filter(|gate| gate.unit == unit_index) {
            key +=
                &format!(" {}:{}+{}{}", gate.number, gate.function, gate.instruction, gate.access);
        }
        key
    }

    fn apply(&self, module: &Module, unit_index: usize) -> Result<(), InstrumentError> {
        let _ = unit_index;
        crate::gate_survey::prepare(module)
    }

    fn build<'c>(
        &self,
        module: &Module<'c>,
        unit_index: usize,
        optimise: Optimise<'_, 'c>,
    ) -> Result<(), InstrumentError> {
        self.apply(module, unit_index)?;
        let failed = |error: BuilderError| InstrumentError::PassFailed {
            path: module.get_name().to_string_lossy().into_owned().into(),
            pass: "gate".to_owned(),
            message: error.to_string(),
        };
        let mut wanted: BTreeMap<&str, InFunction> = BTreeMap::new();
        for gate in self.map.gates.iter().filter(|gate| gate.unit == unit_index) {
            let function = wanted.entry(&gate.function).or_default();
            function.entry(gate.instruction).or_default().push((gate.number, gate.access));
        }
        let mut copied = Vec::new();
        let mut numbers = Vec::new();
        let names = wanted.keys().copied().collect();
        let copies = (!self.in_place).then(|| gate_copies::split(module, &names)).flatten();
        if let Some(copies) = &copies {
            let callees = Callees::declare(&copies.module).map_err(failed)?;
            let names: Vec<&str> = wanted.keys().copied().collect();
            for name in names {
                let Some(function) = copies.function(name) else { continue };
                let Some(gates) = wanted.remove(name) else { continue };
                let index = copied.len() as u32;
                numbers.extend(gates.values().flatten().map(|(number, _)| (*number, index)));
                callees.gate(&copies.module, function, &gates).map_err(failed)?;
                copied.push(name.to_owned());
            }
        }
        if !wanted.is_empty() {
            let callees = Callees::declare(module).map_err(failed)?;
            for (name, gates) in wanted {
                let Some(function) = module.get_function(name) else { continue };
                callees.gate(module, function, &gates).map_err(failed)?;
            }
        }
        let Some(mut copies) = copies else { return optimise(module, None) };
        optimise(&copies.module, Some("globaldce"))?;
        copies.release(module);
        let marked = gate_entries::mark(module, copied).map_err(failed)?;
        optimise(module, None)?;
        let holders = gate_entries::holders(module, &marked, |name| copies.is_entered(name));
        copies.keep(&holders.keys().cloned().collect());
        optimise(&copies.module, None)?;
        gate_copies::join(module, copies)?;
        gate_entries::tell_at_start(module, &numbers, &holders, unit_index).map_err(failed)?;
        optimise(module, Some("globaldce"))
    }

    fn fallback(&self) -> Option<Box<dyn UnitPass + '_>> {
        (!self.in_place).then(|| Box::new(Gate { map: self.map.clone(), in_place: true }) as _)
    }

    fn pipeline(&self, unit: &Unit) -> String {
        let level = crate::detect::optimisation(&unit.arguments).unwrap_or("O1");
        format!("default<{level}>")
    }
}

/// Gates of one function: by ordinal, their numbers and kinds.
type InFunction = BTreeMap<u32, Vec<(u32, AccessKind)>>;

/// The functions that a gate calls.
struct Callees<'c> {
    enter: FunctionValue<'c>,
    leave: FunctionValue<'c>,
}

impl<'c> Callees<'c> {
    /// Declares the runtime's side and defines the two inlined tests.
    fn declare(module: &Module<'c>) -> Result<Self, BuilderError> {
        let context = module.get_context();
        let void = context.void_type();
        let int = context.i32_type();
        let pointer = context.ptr_type(AddressSpace::default());
        let (table, flags) = flags(module);
        let before_type = void
            .fn_type(&[int.into(), pointer.into(), context.i64_type().into(), int.into()], false);
        let after_type = void.fn_type(&[int.into()], false);
        let before = module.add_function("__racewarden_gate_before", before_type, None);
        let after = module.add_function("__racewarden_gate_after", after_type, None);
        for outside in [before, after] {
            for name in ["cold", "nounwind", "noinline"] {
                add_attribute(module, outside, name);
            }
        }
        let define = |name: &str, callee: FunctionValue<'c>| -> Result<_, BuilderError> {
            let function = module.add_function(name, callee.get_type(), Some(Linkage::Internal));
            for name in ["alwaysinline", "nounwind"] {
                add_attribute(module, function, name);
            }
            let builder = context.create_builder();
            let entry = context.append_basic_block(function, "entry");
            let active = context.append_basic_block(function, "active");
            let done = context.append_basic_block(function, "done");
            builder.position_at_end(entry);
            let Some(number) = function.get_first_param() else {
                return Err(BuilderError::UnsetPosition);
            };
            let number = number.into_int_value();
            // SAFETY: the number is below the table's size by construction of the map.
            let place = unsafe {
                builder.build_in_bounds_gep(
                    table,
                    flags.as_pointer_value(),
                    &[int.const_zero(), number],
                    "",
                )?
            };
            let flag = builder.build_load(context.i8_type(), place, "")?.into_int_value();
            if let Some(load) = flag.as_instruction() {
                let kind = context.get_kind_id("invariant.load");
                let _ = load.set_metadata(context.metadata_node(&[]), kind);
            }
            let zero = context.i8_type().const_zero();
            let test = builder.build_int_compare(IntPredicate::NE, flag, zero, "")?;
            let branch = builder.build_conditional_branch(test, active, done)?;
            mark_unlikely(module, branch);
            builder.position_at_end(active);
            let arguments: Vec<_> = function.get_params().into_iter().map(Into::into).collect();
            builder.build_call(callee, &arguments, "")?;
            builder.build_unconditional_branch(done)?;
            builder.position_at_end(done);
            builder.build_return(None)?;
            Ok(function)
        };
        Ok(Callees {
            enter: define("racewarden.gate.enter", before)?,
            leave: define("racewarden.gate.leave", after)?,
        })
    }

    /// Puts gates around instructions of one function.
    fn gate(
        &self,
        module: &Module<'c>,
        function: FunctionValue<'c>,
        gates: &InFunction,
    ) -> Result<(), BuilderError> {
        // Ordinals hold only while nothing has been put in.
        let places: Vec<_> = crate::gate_survey::instructions(function)
            .enumerate()
            .filter_map(|(ordinal, place)| Some((place, gates.get(&(ordinal as u32))?)))
            .collect();
        for (place, gates) in places {
            for (number, access) in gates {
                self.surround(module, place, *number, *access)?;
            }
        }
        Ok(())
    }

    /// Puts the calls around one instruction.
    fn surround(
        &self,
        module: &Module<'c>,
        place: InstructionValue<'c>,
        number: u32,
        access: AccessKind,
    ) -> Result<(), BuilderError> {
        let context = module.get_context();
        let builder = context.create_builder();
        builder.position_before(&place);
        if let Some(location) = place.get_debug_location() {
            builder.set_current_debug_location(location);
        }
        let int = context.i32_type();
        let gate = int.const_int(u64::from(number), false);
        let (address, size) = self.memory(module, &builder, place, access);
        let kind = u64::from(access == AccessKind::Write) | u64::from(is_atomic(place)) << 1;
        let kind = int.const_int(kind, false);
        builder.build_call(
            self.enter,
            &[gate.into(), address.into(), size.into(), kind.into()],
            "",
        )?;
        let next = match place.get_opcode() {
            InstructionOpcode::Invoke => normal_destination(place),
            _ => place.get_next_instruction().filter(|_| !place.is_terminator()),
        };
        if let Some(next) = next.filter(|_| !is_must_tail(place)) {
            builder.position_before(&next);
            if let Some(location) = place.get_debug_location() {
                builder.set_current_debug_location(location);
            }
            builder.build_call(self.leave, &[gate.into()], "")?;
        }
        Ok(())
    }

    /// Address and size of the access; an instruction that is no access has neither.
    fn memory(
        &self,
        module: &Module<'c>,
        builder: &Builder<'c>,
        place: InstructionValue<'c>,
        access: AccessKind,
    ) -> (BasicValueEnum<'c>, BasicValueEnum<'c>) {
        let context = module.get_context();
        let long = context.i64_type();
        let pointer = context.ptr_type(AddressSpace::default());
        let nothing = (pointer.const_null().into(), long.const_zero().into());
        let found = access_of(module, place).into_iter().find(|found| found.kind == access);
        let Some(found) = found else { return nothing };
        let Some(address) = place.get_operand(found.address).and_then(|operand| operand.value())
        else {
            return nothing;
        };
        if !address.is_pointer_value() {
            return nothing;
        }
        let mut address = address.into_pointer_value();
        if address.get_type().get_address_space() != AddressSpace::default() {
            return nothing;
        }
        if address.get_type().as_basic_type_enum() != pointer.as_basic_type_enum() {
            address = match builder.build_pointer_cast(address, pointer, "") {
                Ok(address) => address,
                Err(_) => return nothing,
            };
        }
        let size = match found.size {
            Size::Known(bytes) => long.const_int(bytes, false).into(),
            Size::WholeBlock => long.const_all_ones().into(),
            Size::Operand(index) => {
                let Some(value) = place.get_operand(index).and_then(|operand| operand.value())
                else {
                    return nothing;
                };
                match builder.build_int_z_extend_or_bit_cast(value.into_int_value(), long, "") {
                    Ok(size) => size.into(),
                    Err(_) => return nothing,
                }
            }
        };
        (address.into(), size)
    }
}

/// The runtime's table: a byte for each gate.
pub(crate) fn flags<'c>(module: &Module<'c>) -> (ArrayType<'c>, GlobalValue<'c>) {
    const NAME: &str = "__racewarden_gate_flags";
    let table = module.get_context().i8_type().array_type(MOST_GATES as u32);
    let flags = module.get_global(NAME).unwrap_or_else(|| module.add_global(table, None, NAME));
    flags.set_linkage(Linkage::External);
    (table, flags)
}

fn add_attribute(module: &Module, function: FunctionValue, name: &str) {
    let kind = Attribute::get_named_enum_kind_id(name);
    let attribute = module.get_context().create_enum_attribute(kind, 0);
    function.add_attribute(AttributeLoc::Function, attribute);
}

pub(crate) fn mark_unlikely(module: &Module, branch: InstructionValue) {
    let context = module.get_context();
    let weight = |value| context.i32_type().const_int(value, false).into();
    let name = context.metadata_string("branch_weights").into();
    let weights = context.metadata_node(&[name, weight(1), weight(1_000_000)]);
    let _ = branch.set_metadata(weights, context.get_kind_id("prof"));
}

fn is_must_tail(place: InstructionValue) -> bool {
    use inkwell::llvm_sys::LLVMTailCallKind::LLVMTailCallKindMustTail;
    use inkwell::llvm_sys::core::LLVMGetTailCallKind;
    use inkwell::values::{AsValueRef, InstructionOpcode};
    place.get_opcode() == InstructionOpcode::Call
        // SAFETY: the instruction is a call.
        && unsafe { LLVMGetTailCallKind(place.as_value_ref()) } == LLVMTailCallKindMustTail
}
