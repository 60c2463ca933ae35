//! The record mode: calls that let the runtime write down what each thread does.
//!
//! Only what the program model cannot derive by walking the same bitcode again is recorded: where
//! functions start, which way branches went, what memory held, what came back from code outside
//! the unit, where stack slots lie. Plain loads and stores of the usual sizes are done by the runtime
//! itself, the others are surrounded by two calls; meanwhile the runtime holds the place, so that the
//! order and the values it writes down are those of the run. Where the model can compute the address
//! (`derived`), the runtime only counts the access as long as it finds what the model knows. Even
//! loops over arrays are written down as a whole (`record_loops`).
//!
//! What it may miss: memory that uninstrumented code writes (the reader notices when a load gives
//! what nobody wrote), and accesses of inline assembly.

use std::cell::Cell;

use inkwell::basic_block::BasicBlock;
use inkwell::builder::{Builder, BuilderError};
use inkwell::context::ContextRef;
use inkwell::llvm_sys::LLVMTypeKind;
use inkwell::llvm_sys::core::{
    LLVMGetCalledValue, LLVMGetInstructionParent, LLVMGetTypeKind, LLVMIsAFunction,
    LLVMIsDeclaration, LLVMTypeOf,
};
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::llvm_sys::target::{LLVMABISizeOfType, LLVMGetModuleDataLayout};
use inkwell::module::{Linkage, Module};
use inkwell::types::AsTypeRef;
use inkwell::values::{
    AsValueRef, BasicMetadataValueEnum, BasicValueEnum, FloatValue, FunctionValue,
    InstructionOpcode, InstructionValue, IntValue, PointerValue,
};
use inkwell::{AddressSpace, AtomicOrdering};
use racewarden_capture::Unit;

use crate::computable::{MOST_TOLD, told_parameters};
use crate::derived::Derived;
use crate::gate_access::{Size, access_of, callee_name};
use crate::inline::PIPELINE;
use crate::outside::{self, Outside, adds_parts};
use crate::record_fast::inline_known;
use crate::record_loops::{Covered, LoopHooks, predecessors};
use crate::record_symbols::add_symbols;
use crate::repeated::repeated_loads;
use crate::{InstrumentError, UnitPass};

/// Instruments for the recording runtime.
#[derive(Debug, Clone, Default)]
pub struct RecordPass {}

impl UnitPass for RecordPass {
    fn name(&self) -> &'static str {
        "record"
    }

    fn key(&self, unit_index: usize) -> String {
        format!("21 {unit_index}")
    }

    fn apply(&self, module: &Module, unit_index: usize) -> Result<(), InstrumentError> {
        racewarden_bitcode::prepare(module).map_err(|error| failed(module, &error.to_string()))?;
        apply(module, unit_index).map_err(|error| failed(module, &error.to_string()))
    }

    fn pipeline(&self, _unit: &Unit) -> String {
        "default<O2>".to_owned()
    }

    fn finish(
        &self,
        module: &Module,
        executable: bool,
    ) -> Result<Option<&'static str>, InstrumentError> {
        if !executable {
            return Ok(None);
        }
        inline_known(module)?;
        Ok(Some(PIPELINE))
    }
}

fn failed(module: &Module, message: &str) -> InstrumentError {
    InstrumentError::PassFailed {
        path: module.get_name().to_string_lossy().into_owned().into(),
        pass: "record".to_owned(),
        message: message.to_owned(),
    }
}

fn apply(module: &Module, unit_index: usize) -> Result<(), BuilderError> {
    define_borrowed_functions(module);
    let mut derived = Derived::of(module);
    let mut functions: Vec<(FunctionValue, Vec<InstructionValue>)> = module
        .get_functions()
        .filter(|function| function.count_basic_blocks() > 0)
        .map(|function| (function, instructions(function)))
        .collect();
    let hooks = Hooks::declare(module, unit_index);
    let bodies: Vec<LLVMValueRef> =
        functions.iter().map(|(function, _)| function.as_value_ref()).collect();
    let mut covered = Covered::of(&bodies, &derived);
    derived.find_branches(module, &covered);
    derived.known.retain(|place| !covered.always.contains(place));
    let replaced = covered.record(module, hooks.loops, &derived.known);
    for place in functions.iter_mut().flat_map(|(_, places)| places) {
        if let Some(new) = replaced.get(&place.as_value_ref()) {
            // SAFETY: the phi in the place of one that is no more.
            *place = unsafe { InstructionValue::new(*new) };
        }
    }
    derived.repeated = repeated_loads(module, &derived, &covered.blocks);
    add_symbols(module, unit_index, &derived, &functions);
    for (function, places) in &functions {
        hooks.function(*function, places, &covered, &derived)?;
    }
    derived.zero_slots(module);
    crate::assembly::expose_requests(module)
}

fn instructions<'c>(function: FunctionValue<'c>) -> Vec<InstructionValue<'c>> {
    function.get_basic_block_iter().flat_map(|block| block.get_instructions()).collect()
}

/// Functions whose bodies are given for inlining only (`extern template` in the C++ library) become
/// definitions of this unit: their code is recorded here, and the library need not have them.
fn define_borrowed_functions(module: &Module) {
    for function in module.get_functions() {
        if function.get_linkage() == Linkage::AvailableExternally {
            function.set_linkage(Linkage::LinkOnceODR);
        }
    }
}

/// How a plain load or store comes into the trace.
#[derive(Clone, Copy)]
enum How {
    Recorded,
    /// The reader knows where it goes.
    Known,
}

struct Hooks<'m, 'c> {
    module: &'m Module<'c>,
    /// By the number of arguments.
    enters: [FunctionValue<'c>; MOST_TOLD + 1],
    /// Before a call whose arguments the reader computes.
    expect: FunctionValue<'c>,
    branch: FunctionValue<'c>,
    /// By the size's exponent.
    loads: [FunctionValue<'c>; 4],
    stores: [FunctionValue<'c>; 4],
    /// Of what the reader knows the address of.
    known_loads: [FunctionValue<'c>; 4],
    known_stores: [FunctionValue<'c>; 4],
    /// Of 4 and of 8 bytes; these are told which instruction it is.
    float_loads: [FunctionValue<'c>; 2],
    next_site: Cell<u64>,
    before: FunctionValue<'c>,
    after: FunctionValue<'c>,
    copy: FunctionValue<'c>,
    set: FunctionValue<'c>,
    slot: FunctionValue<'c>,
    call: FunctionValue<'c>,
    /// Around calls of functions that may synchronise in their own way.
    leave: FunctionValue<'c>,
    back: FunctionValue<'c>,
    /// Before output through a stream, after input from one.
    told: FunctionValue<'c>,
    heard: FunctionValue<'c>,
    returned: FunctionValue<'c>,
    unwind: FunctionValue<'c>,
    jumped: FunctionValue<'c>,
    loops: LoopHooks<'c>,
    /// The branch of a loop, which is recorded where the loop is entered.
    entered: FunctionValue<'c>,
    /// At the start of what the OpenMP library calls to add up the parts of tasks.
    gathers: FunctionValue<'c>,
}

impl<'m, 'c> Hooks<'m, 'c> {
    fn declare(module: &'m Module<'c>, unit_index: usize) -> Self {
        let context = module.get_context();
        let (int, long) = (context.i32_type().into(), context.i64_type().into());
        let pointer = context.ptr_type(AddressSpace::default()).into();
        let hook = |name: &str, parameters: &[inkwell::types::BasicMetadataTypeEnum<'c>]| {
            let name = format!("__racewarden_record_{name}");
            module.add_function(&name, context.void_type().fn_type(parameters, false), None)
        };
        let load = context.i64_type().fn_type(&[pointer], false);
        let known_load = |size: u32| {
            module.add_function(&format!("__racewarden_record_known_load{size}"), load, None)
        };
        let known_loads = [1, 2, 4, 8].map(known_load);
        let load =
            |size: u32| module.add_function(&format!("__racewarden_record_load{size}"), load, None);
        let loads = [1, 2, 4, 8].map(load);
        let float_load = |size: u32| {
            let name = format!("__racewarden_record_load_float{size}");
            module.add_function(&name, context.i64_type().fn_type(&[pointer, long], false), None)
        };
        Hooks {
            module,
            float_loads: [4, 8].map(float_load),
            next_site: Cell::new((unit_index as u64) << 16),
            loads,
            known_loads,
            known_stores: [1, 2, 4, 8]
                .map(|size| hook(&format!("known_store{size}"), &[pointer, long])),
            stores: [1, 2, 4, 8].map(|size| hook(&format!("store{size}"), &[pointer, long])),
            enters: std::array::from_fn(|count| {
                let parameters: Vec<_> =
                    std::iter::once(pointer).chain(std::iter::repeat_n(long, count)).collect();
                hook(&format!("enter{count}"), &parameters)
            }),
            expect: hook("expect", &[pointer]),
            branch: hook("branch", &[long]),
            before: hook("before", &[pointer, long]),
            after: hook("after", &[pointer, long, int]),
            copy: hook("copy", &[pointer, pointer, long]),
            set: hook("set", &[pointer, int, long]),
            slot: hook("slot", &[pointer, long]),
            call: hook("call", &[pointer]),
            leave: hook("leave", &[pointer]),
            back: hook("back", &[pointer]),
            told: hook("told", &[]),
            heard: hook("heard", &[]),
            returned: hook("return", &[long]),
            unwind: hook("unwind", &[pointer]),
            jumped: hook("jumped", &[pointer, long]),
            loops: LoopHooks {
                loads,
                known_loads,
                rounds: hook("loop", &[long]),
                range: hook("range", &[pointer, long, long, long, long]),
            },
            entered: hook("entered", &[long, long]),
            gathers: hook("gathers", &[]),
        }
    }

    fn function(
        &self,
        function: FunctionValue<'c>,
        places: &[InstructionValue<'c>],
        covered: &Covered,
        derived: &Derived,
    ) -> Result<(), BuilderError> {
        let Some(first) = places.first() else { return Ok(()) };
        if !derived.private_functions.contains(&function.as_value_ref()) {
            self.enter(function, first)?;
        }
        for &place in places {
            let value = place.as_value_ref();
            if derived.told_calls.contains(&value) {
                self.expect(place)?;
            }
            if covered.always.contains(&value) || derived.has(value) {
                continue;
            }
            match derived.rounds.get(&value) {
                Some(back) => self.entered(place, *back)?,
                None if derived.known.contains(&value) => self.plain(place, How::Known)?,
                None => self.instruction(place)?,
            }
        }
        Ok(())
    }

    /// The function's start, with what its caller may not have told.
    fn enter(
        &self,
        function: FunctionValue<'c>,
        first: &InstructionValue<'c>,
    ) -> Result<(), BuilderError> {
        let builder = self.builder_before(first, first);
        let address = function.as_global_value().as_pointer_value();
        let mut arguments: Vec<BasicMetadataValueEnum> = vec![address.into()];
        // SAFETY: parameters of a live function.
        for parameter in unsafe { told_parameters(function.as_value_ref()) } {
            // SAFETY: as above; they are numbers or pointers.
            let parameter = unsafe { BasicValueEnum::new(parameter) };
            arguments.push(self.bits_of(&builder, parameter)?.into());
        }
        let hook = self.enters[arguments.len() - 1];
        builder.build_call(hook, &arguments, "")?;
        if adds_parts(&function.get_name().to_string_lossy()) {
            builder.build_call(self.gathers, &[], "")?;
        }
        Ok(())
    }

    fn instruction(&self, place: InstructionValue<'c>) -> Result<(), BuilderError> {
        match place.get_opcode() {
            InstructionOpcode::Load
            | InstructionOpcode::Store
            | InstructionOpcode::AtomicRMW
            | InstructionOpcode::AtomicCmpXchg => self.access(place),
            InstructionOpcode::Alloca => self.alloca(place),
            InstructionOpcode::Br if place.get_num_operands() == 3 => self.branch(place),
            InstructionOpcode::Switch => self.branch(place),
            InstructionOpcode::Call | InstructionOpcode::Invoke => self.call(place),
            InstructionOpcode::LandingPad => match place.get_next_instruction() {
                Some(next) => {
                    let builder = self.builder_before(&next, &place);
                    let function = place.get_parent().and_then(|block| block.get_parent());
                    let Some(function) = function else { return Ok(()) };
                    let address = function.as_global_value().as_pointer_value();
                    builder.build_call(self.unwind, &[address.into()], "").map(|_| ())
                }
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// A builder in front of `at`, with the source location of `like`.
    fn builder_before(
        &self,
        at: &InstructionValue<'c>,
        like: &InstructionValue<'c>,
    ) -> Builder<'c> {
        let builder = self.module.get_context().create_builder();
        builder.position_before(at);
        if let Some(location) = like.get_debug_location() {
            builder.set_current_debug_location(location);
        }
        builder
    }

    /// The branch of a loop that is recorded round by round: the reader computes it but where the loop
    /// is entered, where the record says that it is this version of it.
    fn entered(&self, place: InstructionValue<'c>, back: LLVMValueRef) -> Result<(), BuilderError> {
        let context = self.module.get_context();
        let long = context.i64_type();
        let value = place.get_operand(0).and_then(|operand| operand.value());
        let (Some(BasicValueEnum::IntValue(value)), Some(header)) = (value, place.get_parent())
        else {
            return Ok(());
        };
        let builder = self.module.get_context().create_builder();
        if let Some(first) = header.get_first_instruction() {
            builder.position_before(&first);
        }
        let is_first = builder.build_phi(long, "")?;
        // SAFETY: blocks of a live function; the jump back is in one of them.
        unsafe {
            let round = LLVMGetInstructionParent(back);
            for before in predecessors(header.as_mut_ptr()) {
                let number = long.const_int(u64::from(before != round), false);
                if let Some(before) = BasicBlock::new(before) {
                    is_first.add_incoming(&[(&number, before)]);
                }
            }
        }
        let builder = self.builder_before(&place, &place);
        let value = builder.build_int_z_extend_or_bit_cast(value, long, "")?;
        let is_first = is_first.as_basic_value();
        builder.build_call(self.entered, &[value.into(), is_first.into()], "")?;
        Ok(())
    }

    /// A load or store that the runtime does.
    fn plain(&self, place: InstructionValue<'c>, how: How) -> Result<(), BuilderError> {
        let found = access_of(self.module, place);
        let Some(access) = found.first() else { return Ok(()) };
        let Size::Known(size) = access.size else { return Ok(()) };
        let address = place.get_operand(access.address).and_then(|operand| operand.value());
        let Some(BasicValueEnum::PointerValue(address)) = address else { return Ok(()) };
        self.replace(place, address, size, how).map(|_| ())
    }

    fn access(&self, place: InstructionValue<'c>) -> Result<(), BuilderError> {
        let context = self.module.get_context();
        let found = access_of(self.module, place);
        let Some(access) = found.first() else { return Ok(()) };
        let Size::Known(size) = access.size else { return Ok(()) };
        let address = place.get_operand(access.address).and_then(|operand| operand.value());
        let (Some(BasicValueEnum::PointerValue(address)), Some(next)) =
            (address, place.get_next_instruction())
        else {
            return Ok(());
        };
        if address.get_type().get_address_space() != AddressSpace::default() {
            return Ok(());
        }
        if is_plain(place) && self.replace(place, address, size, How::Recorded)? {
            return Ok(());
        }
        let size = context.i64_type().const_int(size, false);
        let kind = match place.get_opcode() {
            InstructionOpcode::Load => 0,
            InstructionOpcode::Store => 1,
            _ => 2,
        };
        let kind = context.i32_type().const_int(kind, false);
        let builder = self.builder_before(&place, &place);
        builder.build_call(self.before, &[address.into(), size.into()], "")?;
        let builder = self.builder_before(&next, &place);
        builder.build_call(self.after, &[address.into(), size.into(), kind.into()], "")?;
        Ok(())
    }

    /// Lets the runtime do a plain load or store; false for what does not fit into one number.
    fn replace(
        &self,
        place: InstructionValue<'c>,
        address: PointerValue<'c>,
        size: u64,
        how: How,
    ) -> Result<bool, BuilderError> {
        let context = self.module.get_context();
        let exponent = size.trailing_zeros() as usize % 4;
        let builder = self.builder_before(&place, &place);
        if place.get_opcode() == InstructionOpcode::Store {
            let value = place.get_operand(0).and_then(|operand| operand.value());
            let Some(value) = value.filter(|value| fits(context, *value, size)) else {
                return Ok(false);
            };
            let value = self.bits_of(&builder, value)?;
            let hook = match how {
                How::Known => self.known_stores[exponent],
                How::Recorded => self.stores[exponent],
            };
            builder.build_call(hook, &[address.into(), value.into()], "")?;
            place.erase_from_basic_block();
            return Ok(true);
        }
        let int = IntValue::try_from(place).map(BasicValueEnum::from);
        let pointer = || PointerValue::try_from(place).map(BasicValueEnum::from);
        let float = || FloatValue::try_from(place).map(BasicValueEnum::from);
        let old = int.or_else(|_| pointer()).or_else(|_| float()).ok();
        let Some(old) = old.filter(|old| fits(context, *old, size)) else { return Ok(false) };
        let call = match how {
            How::Known => builder.build_call(self.known_loads[exponent], &[address.into()], "")?,
            How::Recorded if matches!(old, BasicValueEnum::FloatValue(_)) => {
                let site = self.next_site.get() + 1;
                self.next_site.set(site);
                let site = context.i64_type().const_int(site, false);
                let load = self.float_loads[usize::from(size == 8)];
                builder.build_call(load, &[address.into(), site.into()], "")?
            }
            How::Recorded => builder.build_call(self.loads[exponent], &[address.into()], "")?,
        };
        let Some(BasicValueEnum::IntValue(found)) = call.try_as_basic_value().basic() else {
            return Ok(false);
        };
        let int = match size {
            1 => context.i8_type(),
            2 => context.i16_type(),
            4 => context.i32_type(),
            _ => context.i64_type(),
        };
        let narrow = builder.build_int_truncate_or_bit_cast(found, int, "")?;
        match old {
            BasicValueEnum::IntValue(old) => old.replace_all_uses_with(narrow),
            BasicValueEnum::PointerValue(old) => {
                let new = builder.build_int_to_ptr(narrow, old.get_type(), "")?;
                old.replace_all_uses_with(new);
            }
            BasicValueEnum::FloatValue(old) => {
                let new = builder.build_bit_cast(narrow, old.get_type(), "")?;
                old.replace_all_uses_with(new.into_float_value());
            }
            _ => return Ok(false),
        }
        place.erase_from_basic_block();
        Ok(true)
    }

    /// The bits of a value that fits, as one number.
    fn bits_of(
        &self,
        builder: &Builder<'c>,
        value: BasicValueEnum<'c>,
    ) -> Result<IntValue<'c>, BuilderError> {
        let context = self.module.get_context();
        let long = context.i64_type();
        match value {
            BasicValueEnum::PointerValue(value) => builder.build_ptr_to_int(value, long, ""),
            BasicValueEnum::FloatValue(value) => {
                let single = value.get_type() == context.f32_type();
                let int = if single { context.i32_type() } else { long };
                let bits = builder.build_bit_cast(value, int, "")?.into_int_value();
                builder.build_int_z_extend_or_bit_cast(bits, long, "")
            }
            BasicValueEnum::IntValue(value) => {
                builder.build_int_z_extend_or_bit_cast(value, long, "")
            }
            _ => Ok(long.const_zero()),
        }
    }

    fn alloca(&self, place: InstructionValue<'c>) -> Result<(), BuilderError> {
        let context = self.module.get_context();
        let long = context.i64_type();
        let (Some(next), Ok(slot)) = (place.get_next_instruction(), PointerValue::try_from(place))
        else {
            return Ok(());
        };
        let Ok(ty) = place.get_allocated_type() else { return Ok(()) };
        // SAFETY: module and type belong together and outlive the call.
        let size = unsafe {
            LLVMABISizeOfType(LLVMGetModuleDataLayout(self.module.as_mut_ptr()), ty.as_type_ref())
        };
        let builder = self.builder_before(&next, &place);
        let mut bytes = long.const_int(size, false);
        if let Some(BasicValueEnum::IntValue(count)) =
            place.get_operand(0).and_then(|operand| operand.value())
        {
            let count = builder.build_int_z_extend_or_bit_cast(count, long, "")?;
            bytes = builder.build_int_mul(bytes, count, "")?;
        }
        builder.build_call(self.slot, &[slot.into(), bytes.into()], "")?;
        Ok(())
    }

    fn branch(&self, place: InstructionValue<'c>) -> Result<(), BuilderError> {
        let long = self.module.get_context().i64_type();
        let value = place.get_operand(0).and_then(|operand| operand.value());
        let Some(BasicValueEnum::IntValue(value)) = value else { return Ok(()) };
        let builder = self.builder_before(&place, &place);
        let value = if value.get_type().get_bit_width() > 64 {
            builder.build_int_truncate(value, long, "")?
        } else {
            builder.build_int_z_extend_or_bit_cast(value, long, "")?
        };
        builder.build_call(self.branch, &[value.into()], "")?;
        Ok(())
    }

    fn call(&self, place: InstructionValue<'c>) -> Result<(), BuilderError> {
        let name = callee_name(place);
        if name.starts_with("llvm.") {
            return self.intrinsic(place, &name);
        }
        // SAFETY: the instruction is a call or an invoke.
        let (callee, is_function) = unsafe {
            let callee = LLVMGetCalledValue(place.as_value_ref());
            (callee, !LLVMIsAFunction(callee).is_null())
        };
        // SAFETY: the callee is a value of the module.
        let is_pointer =
            unsafe { LLVMGetTypeKind(LLVMTypeOf(callee)) } == LLVMTypeKind::LLVMPointerTypeKind;
        // SAFETY: only asked of functions.
        let declared = is_function && unsafe { LLVMIsDeclaration(callee) } != 0;
        // SAFETY: asks for the kind of any value.
        let assembly = unsafe { !inkwell::llvm_sys::core::LLVMIsAInlineAsm(callee).is_null() };
        // SAFETY: only asked of assembly.
        if assembly && unsafe { outside::assembly_may_synchronise(callee) } {
            return self.around_assembly(place);
        }
        if assembly || !is_pointer || (is_function && !declared) {
            return Ok(());
        }
        let builder = self.builder_before(&place, &place);
        // SAFETY: the callee is a pointer to a function.
        let target = unsafe { PointerValue::new(callee) };
        let outside = match is_function {
            true => Outside::of(&name),
            false => Outside::Unknown,
        };
        if !is_function {
            builder.build_call(self.call, &[target.into()], "")?;
        }
        match outside {
            Outside::Unknown => {
                builder.build_call(self.leave, &[target.into()], "")?;
            }
            Outside::Prints => {
                builder.build_call(self.told, &[], "")?;
            }
            Outside::Quiet | Outside::Reads => {}
        }
        self.after_call(place, outside, target)
    }

    /// Before a call that may be of an instrumented function which records its arguments otherwise.
    fn expect(&self, place: InstructionValue<'c>) -> Result<(), BuilderError> {
        let name = callee_name(place);
        // SAFETY: the instruction is a call or an invoke.
        let (callee, is_declared) = unsafe {
            let callee = LLVMGetCalledValue(place.as_value_ref());
            let is_function = !LLVMIsAFunction(callee).is_null();
            (callee, is_function && LLVMIsDeclaration(callee) != 0)
        };
        // SAFETY: the callee is a value of the module.
        let is_pointer =
            unsafe { LLVMGetTypeKind(LLVMTypeOf(callee)) } == LLVMTypeKind::LLVMPointerTypeKind;
        let is_library = is_declared && !matches!(Outside::of(&name), Outside::Unknown);
        if name.starts_with("llvm.") || is_library || !is_pointer || is_must_tail(place) {
            return Ok(());
        }
        let builder = self.builder_before(&place, &place);
        // SAFETY: the callee is a pointer to a function.
        let target = unsafe { PointerValue::new(callee) };
        builder.build_call(self.expect, &[target.into()], "")?;
        Ok(())
    }

    /// Assembly that accesses memory may be a lock.
    fn around_assembly(&self, place: InstructionValue<'c>) -> Result<(), BuilderError> {
        let Some(next) = place.get_next_instruction() else { return Ok(()) };
        let nowhere = self.module.get_context().ptr_type(AddressSpace::default()).const_null();
        let builder = self.builder_before(&place, &place);
        builder.build_call(self.leave, &[nowhere.into()], "")?;
        let builder = self.builder_before(&next, &place);
        builder.build_call(self.back, &[nowhere.into()], "")?;
        Ok(())
    }

    /// Writes down what the call returned, where control comes back.
    fn after_call(
        &self,
        place: InstructionValue<'c>,
        outside: Outside,
        target: PointerValue<'c>,
    ) -> Result<(), BuilderError> {
        let next = match place.get_opcode() {
            InstructionOpcode::Invoke => normal_destination(place),
            _ => place.get_next_instruction(),
        };
        let Some(next) = next.filter(|_| !is_must_tail(place)) else { return Ok(()) };
        let builder = self.builder_before(&next, &place);
        match outside {
            Outside::Unknown => {
                builder.build_call(self.back, &[target.into()], "")?;
            }
            Outside::Reads => {
                builder.build_call(self.heard, &[], "")?;
            }
            Outside::Quiet | Outside::Prints => {}
        }
        let value = self.as_long(&builder, place)?;
        let name = callee_name(place);
        if matches!(name.as_str(), "setjmp" | "_setjmp" | "sigsetjmp" | "__sigsetjmp")
            && let Some(BasicValueEnum::PointerValue(buffer)) =
                place.get_operand(0).and_then(|operand| operand.value())
        {
            builder.build_call(self.jumped, &[buffer.into(), value.into()], "")?;
        }
        builder.build_call(self.returned, &[value.into()], "")?;
        Ok(())
    }

    /// The result's bits as one number; zero for what has none or too many.
    fn as_long(
        &self,
        builder: &Builder<'c>,
        place: InstructionValue<'c>,
    ) -> Result<IntValue<'c>, BuilderError> {
        let context = self.module.get_context();
        let long = context.i64_type();
        if let Ok(value) = IntValue::try_from(place)
            && value.get_type().get_bit_width() <= 64
        {
            return builder.build_int_z_extend_or_bit_cast(value, long, "");
        }
        if let Ok(value) = PointerValue::try_from(place) {
            return builder.build_ptr_to_int(value, long, "");
        }
        if let Ok(value) = FloatValue::try_from(place) {
            let ty = value.get_type();
            if ty == context.f64_type() {
                return Ok(builder.build_bit_cast(value, long, "")?.into_int_value());
            }
            if ty == context.f32_type() {
                let bits = builder.build_bit_cast(value, context.i32_type(), "")?;
                return builder.build_int_z_extend(bits.into_int_value(), long, "");
            }
        }
        Ok(long.const_zero())
    }

    fn intrinsic(&self, place: InstructionValue<'c>, name: &str) -> Result<(), BuilderError> {
        let context = self.module.get_context();
        let (int, long) = (context.i32_type(), context.i64_type());
        let copies = name.starts_with("llvm.memcpy") || name.starts_with("llvm.memmove");
        if !copies && !name.starts_with("llvm.memset") {
            return Ok(());
        }
        let operand = |index| place.get_operand(index).and_then(|operand| operand.value());
        let (Some(BasicValueEnum::PointerValue(to)), Some(second), Some(length)) =
            (operand(0), operand(1), operand(2))
        else {
            return Ok(());
        };
        let (Some(next), BasicValueEnum::IntValue(length)) = (place.get_next_instruction(), length)
        else {
            return Ok(());
        };
        let builder = self.builder_before(&next, &place);
        let length = builder.build_int_z_extend_or_bit_cast(length, long, "")?;
        match second {
            BasicValueEnum::PointerValue(from) => {
                builder.build_call(self.copy, &[to.into(), from.into(), length.into()], "")?;
            }
            BasicValueEnum::IntValue(byte) => {
                let byte = builder.build_int_z_extend_or_bit_cast(byte, int, "")?;
                builder.build_call(self.set, &[to.into(), byte.into(), length.into()], "")?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// The first place in the block that an invoke goes on at, when no other block leads there.
pub(crate) fn normal_destination<'c>(place: InstructionValue<'c>) -> Option<InstructionValue<'c>> {
    let operands = place.get_num_operands();
    // The operands are the arguments, the normal block, the unwind block and the callee.
    let block = place.get_operand(operands.checked_sub(3)?)?.block()?;
    let mut uses = 0;
    let mut next = block.get_first_use();
    while let Some(found) = next {
        uses += 1;
        next = found.get_next_use();
    }
    if uses != 1 {
        return None;
    }
    block.get_instructions().find(|instruction| instruction.get_opcode() != InstructionOpcode::Phi)
}

/// A load or store that is neither atomic nor volatile.
fn is_plain(place: InstructionValue) -> bool {
    matches!(place.get_opcode(), InstructionOpcode::Load | InstructionOpcode::Store)
        && place.get_volatile() == Ok(false)
        && place.get_atomic_ordering() == Ok(AtomicOrdering::NotAtomic)
}

/// Whether the value fills `size` bytes, no more and no less, and its bits can be had as a number.
fn fits(context: ContextRef, value: BasicValueEnum, size: u64) -> bool {
    match value {
        BasicValueEnum::IntValue(value) => {
            matches!(size, 1 | 2 | 4 | 8) && u64::from(value.get_type().get_bit_width()) == size * 8
        }
        BasicValueEnum::PointerValue(value) => {
            size == 8 && value.get_type().get_address_space() == AddressSpace::default()
        }
        BasicValueEnum::FloatValue(value) => {
            let ty = value.get_type();
            (size == 4 && ty == context.f32_type()) || (size == 8 && ty == context.f64_type())
        }
        _ => false,
    }
}

fn is_must_tail(place: InstructionValue) -> bool {
    use inkwell::llvm_sys::LLVMTailCallKind::LLVMTailCallKindMustTail;
    use inkwell::llvm_sys::core::LLVMGetTailCallKind;
    place.get_opcode() == InstructionOpcode::Call
        // SAFETY: the instruction is a call.
        && unsafe { LLVMGetTailCallKind(place.as_value_ref()) } == LLVMTailCallKindMustTail
}
