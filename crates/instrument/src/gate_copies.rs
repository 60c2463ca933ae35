//! Gated copies of functions, so that gates which nobody asks for cost next to nothing.
//!
//! A gate in the way of the optimiser is dear even when it never opens: the access behind it can no
//! longer be merged with its neighbours. So a function with gates exists twice. The program's own
//! is compiled as ever, but for one test at its beginning; the copy has the gates, and takes over
//! when one of them is active. The runtime settles which do before the program's first constructor,
//! and gives functions back when nothing is left to be done in them.
//!
//! LLVM's C interface copies modules, not functions. [`split`] therefore copies the module, keeps of
//! the copy nothing but the functions to be gated, and after [`Copies::join`] has linked it back in, both
//! share all variables.
//!
//! What cannot be copied so is gated in place: functions whose blocks' addresses are taken in this
//! unit (a table of labels leads into one of the two), and arguments that are passed as hidden copies.

use std::collections::{BTreeSet, HashSet};
use std::ffi::{CStr, CString};

use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::builder::BuilderError;
use inkwell::llvm_sys::comdat::LLVMSetComdat;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::{
    LLVMAttributeFunctionIndex, LLVMAttributeReturnIndex, LLVMLinkage, LLVMOpcode,
    LLVMTailCallKind, LLVMValueKind,
};
use inkwell::module::{Linkage, Module};
use inkwell::values::{AsValueRef, FunctionValue, InstructionValue};
use inkwell::{AddressSpace, GlobalVisibility};

use crate::InstrumentError;

/// What the copy of a function is called until it is linked in; the symbol is local afterwards.
const SUFFIX: &str = ".racewarden-gated";

/// Attributes that keep a function from being copied: its body is no ordinary one, or its arguments
/// cannot be handed on as they came.
const UNFIT: [&str; 3] = ["naked", "presplitcoroutine", "optnone"];
const UNFIT_ARGUMENTS: [&str; 3] = ["byval", "inalloca", "preallocated"];

/// A module that holds the functions to be gated, and what has to be put right when it is joined.
pub(crate) struct Copies<'c> {
    /// Every function in it that has a body is one to be gated, under its own name and [`SUFFIX`].
    pub module: Module<'c>,
    names: Vec<String>,
    /// Local values that are visible to the linker for the time being.
    promoted: Vec<(LLVMValueRef, LLVMLinkage)>,
}

/// Copies those of `wanted` that can be copied. `None` when there are none.
pub(crate) fn split<'c>(module: &Module<'c>, wanted: &BTreeSet<&str>) -> Option<Copies<'c>> {
    let names: Vec<String> = wanted
        .iter()
        .filter(|name| module.get_function(name).is_some_and(|function| is_fit(function)))
        .map(|name| (*name).to_owned())
        .collect();
    if names.is_empty() || takes_block_addresses(module) {
        return None;
    }
    let promoted = promote(module);
    let copy = module.clone();
    // SAFETY: the copy is alive, and nothing else refers to its values.
    unsafe { reduce(&copy, &names) };
    Some(Copies { module: copy, names, promoted })
}

impl<'c> Copies<'c> {
    /// The copy of the function `name`.
    pub fn function(&self, name: &str) -> Option<FunctionValue<'c>> {
        self.module.get_function(&format!("{name}{SUFFIX}"))
    }

    /// The names of the copied functions, in order: the index is that of their flag.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

/// Links the copies into `module`, whose own functions then begin by testing their flag.
pub(crate) fn join<'c>(module: &Module<'c>, copies: Copies<'c>) -> Result<(), InstrumentError> {
    let Copies { module: copy, names, promoted } = copies;
    let flags = flags_of(module, names.len());
    for (index, name) in names.iter().enumerate() {
        if let Some(function) = module.get_function(name) {
            // SAFETY: the function is alive and has a body.
            unsafe { dispatch(module, function, flags, index) };
        }
    }
    module.link_in_module(copy).map_err(|error| InstrumentError::PassFailed {
        path: module.get_name().to_string_lossy().into_owned().into(),
        pass: "gate".to_owned(),
        message: error.to_string(),
    })?;
    for (value, linkage) in promoted {
        // SAFETY: the linker keeps the values of the module that is linked into.
        unsafe { LLVMSetLinkage(value, linkage) };
    }
    for name in names {
        if let Some(function) = module.get_function(&format!("{name}{SUFFIX}")) {
            function.set_linkage(Linkage::Internal);
        }
    }
    Ok(())
}

/// Lets a constructor, before all of the program's, tell the runtime which gates are in which
/// functions: it sets their flags. `gates` pairs gates with their functions' flags.
pub(crate) fn tell_at_start(
    module: &Module,
    gates: &[(u32, u32)],
    unit: usize,
) -> Result<(), BuilderError> {
    let Some(flags) = module.get_global(FLAGS) else { return Ok(()) };
    let context = module.get_context();
    let int = context.i32_type();
    let pointer = context.ptr_type(AddressSpace::default());
    let pair = |(gate, function): &(u32, u32)| {
        int.const_array(&[*gate, *function].map(|value| int.const_int(value.into(), false)))
    };
    let pairs: Vec<_> = gates.iter().map(pair).collect();
    let pairs = int.array_type(2).const_array(&pairs);
    let table = module.add_global(pairs.get_type(), None, "racewarden.gate.pairs");
    table.set_linkage(Linkage::Internal);
    table.set_constant(true);
    table.set_initializer(&pairs);

    let void = context.void_type();
    let told = void.fn_type(&[pointer.into(), int.into(), pointer.into()], false);
    let told = module.add_function("__racewarden_gate_functions", told, None);
    let tell = module.add_function(
        "racewarden.gate.tell",
        void.fn_type(&[], false),
        Some(Linkage::Internal),
    );
    let builder = context.create_builder();
    builder.position_at_end(context.append_basic_block(tell, ""));
    let count = int.const_int(gates.len() as u64, false);
    let arguments =
        [table.as_pointer_value().into(), count.into(), flags.as_pointer_value().into()];
    builder.build_call(told, &arguments, "")?;
    builder.build_return(None)?;

    // Visible, so that it stays without a user; hidden, so that it meets no other.
    let start = module.add_global(pointer, None, &format!("racewarden.gate.start.{unit}"));
    start.set_visibility(GlobalVisibility::Hidden);
    start.set_initializer(&tell.as_global_value().as_pointer_value());
    start.set_section(Some(".init_array.00001"));
    Ok(())
}

/// The flags of a unit's functions, one byte each.
const FLAGS: &str = "racewarden.gate.functions";

fn flags_of(module: &Module, count: usize) -> LLVMValueRef {
    let context = module.get_context();
    let table = context.i8_type().array_type(count as u32);
    let flags = module.add_global(table, None, FLAGS);
    flags.set_linkage(Linkage::Internal);
    flags.set_initializer(&table.const_zero());
    flags.as_value_ref()
}

fn is_fit(function: FunctionValue) -> bool {
    let has = |place: AttributeLoc, name: &str| {
        function.get_enum_attribute(place, Attribute::get_named_enum_kind_id(name)).is_some()
    };
    function.count_basic_blocks() > 0
        && function.get_linkage() != Linkage::AvailableExternally
        && !UNFIT.iter().any(|name| has(AttributeLoc::Function, name))
        && (0..function.count_params())
            .all(|at| !UNFIT_ARGUMENTS.iter().any(|name| has(AttributeLoc::Param(at), name)))
}

/// Whether any block's address is a value somewhere.
fn takes_block_addresses(module: &Module) -> bool {
    let mut seen = HashSet::new();
    let mut open: Vec<LLVMValueRef> = module
        .get_globals()
        .filter_map(|global| global.get_initializer())
        .map(|value| value.as_value_ref())
        .collect();
    // SAFETY: walks live functions; only constants are followed further.
    unsafe {
        for function in module.get_functions() {
            for place in crate::gate_survey::instructions(function) {
                let place = place.as_value_ref();
                let opcode = LLVMGetInstructionOpcode(place);
                if matches!(opcode, LLVMOpcode::LLVMIndirectBr | LLVMOpcode::LLVMCallBr) {
                    return true;
                }
                let operands = 0..LLVMGetNumOperands(place) as u32;
                open.extend(operands.map(|at| LLVMGetOperand(place, at)));
            }
        }
        while let Some(value) = open.pop() {
            if value.is_null() || LLVMIsConstant(value) == 0 {
                continue;
            }
            if !LLVMIsABlockAddress(value).is_null() {
                return true;
            }
            let is_global = !LLVMIsAGlobalValue(value).is_null();
            if !is_global && seen.insert(value) {
                let operands = 0..LLVMGetNumOperands(value).max(0) as u32;
                open.extend(operands.map(|at| LLVMGetOperand(value, at)));
            }
        }
    }
    false
}

/// Every function, variable, alias and resolver.
///
/// # Safety
/// The module is alive.
unsafe fn values(module: LLVMModuleRef) -> Vec<LLVMValueRef> {
    let mut all = Vec::new();
    type Step = unsafe extern "C" fn(LLVMValueRef) -> LLVMValueRef;
    // SAFETY: each list is walked by its own successor function.
    unsafe {
        let lists: [(LLVMValueRef, Step); 4] = [
            (LLVMGetFirstFunction(module), LLVMGetNextFunction),
            (LLVMGetFirstGlobal(module), LLVMGetNextGlobal),
            (LLVMGetFirstGlobalAlias(module), LLVMGetNextGlobalAlias),
            (LLVMGetFirstGlobalIFunc(module), LLVMGetNextGlobalIFunc),
        ];
        for (first, next) in lists {
            let mut value = first;
            while !value.is_null() {
                all.push(value);
                value = next(value);
            }
        }
    }
    all
}

/// Makes local values visible to the linker, which resolves by name.
fn promote(module: &Module) -> Vec<(LLVMValueRef, LLVMLinkage)> {
    let mut promoted = Vec::new();
    // SAFETY: the values are alive; a name is given only to what has none.
    unsafe {
        for (index, value) in values(module.as_mut_ptr()).into_iter().enumerate() {
            let linkage = LLVMGetLinkage(value);
            if !matches!(
                linkage,
                LLVMLinkage::LLVMInternalLinkage | LLVMLinkage::LLVMPrivateLinkage
            ) {
                continue;
            }
            if name_of(value).is_empty() {
                rename(value, &format!("racewarden.local.{index}"));
            }
            LLVMSetLinkage(value, LLVMLinkage::LLVMExternalLinkage);
            promoted.push((value, linkage));
        }
    }
    promoted
}

/// Leaves of the module's bodies only those of `names`, renamed. Whatever else is defined becomes a
/// declaration; the definition stays behind without a user, and the linker passes over it.
///
/// # Safety
/// The module is alive and nobody else uses its values.
unsafe fn reduce(module: &Module, names: &[String]) {
    // SAFETY: every value is alive until it is deleted, and is not used afterwards.
    unsafe {
        LLVMSetModuleInlineAsm2(module.as_mut_ptr(), c"".as_ptr(), 0);
        for value in values(module.as_mut_ptr()) {
            if LLVMIsDeclaration(value) != 0 {
                continue;
            }
            if LLVMGetLinkage(value) == LLVMLinkage::LLVMAppendingLinkage {
                LLVMDeleteGlobal(value);
                continue;
            }
            let name = name_of(value);
            let kind = LLVMGetValueKind(value);
            if kind == LLVMValueKind::LLVMFunctionValueKind && names.binary_search(&name).is_ok() {
                declare_instead(module, value, &name);
                rename(value, &format!("{name}{SUFFIX}"));
                LLVMSetComdat(value, std::ptr::null_mut());
                LLVMSetLinkage(value, LLVMLinkage::LLVMExternalLinkage);
                not_inlined(value);
                continue;
            }
            declare_instead(module, value, &name);
            let is_object = matches!(
                kind,
                LLVMValueKind::LLVMFunctionValueKind | LLVMValueKind::LLVMGlobalVariableValueKind
            );
            if is_object {
                LLVMSetComdat(value, std::ptr::null_mut());
            }
            if kind == LLVMValueKind::LLVMGlobalIFuncValueKind {
                LLVMEraseGlobalIFunc(value);
            } else {
                LLVMSetLinkage(value, LLVMLinkage::LLVMInternalLinkage);
            }
        }
    }
}

/// Puts a declaration in the place of a definition, under its name.
///
/// # Safety
/// The value is a live definition of the module.
unsafe fn declare_instead(module: &Module, value: LLVMValueRef, name: &str) {
    rename(value, "");
    let symbol = c_string(name);
    // SAFETY: the declaration has the definition's type, so each use may change to it.
    unsafe {
        let ty = LLVMGlobalGetValueType(value);
        let module = module.as_mut_ptr();
        let declaration =
            if LLVMGetTypeKind(ty) == inkwell::llvm_sys::LLVMTypeKind::LLVMFunctionTypeKind {
                LLVMAddFunction(module, symbol.as_ptr(), ty)
            } else {
                let space = LLVMGetPointerAddressSpace(LLVMTypeOf(value));
                let global = LLVMAddGlobalInAddressSpace(module, ty, symbol.as_ptr(), space);
                if LLVMGetValueKind(value) == LLVMValueKind::LLVMGlobalVariableValueKind {
                    LLVMSetThreadLocalMode(global, LLVMGetThreadLocalMode(value));
                    LLVMSetGlobalConstant(global, LLVMIsGlobalConstant(value));
                }
                global
            };
        LLVMSetUnnamedAddress(declaration, LLVMGetUnnamedAddress(value));
        LLVMReplaceAllUsesWith(value, declaration);
    }
}

/// The copy has one caller, and would else be put back where it was taken from.
fn not_inlined(function: LLVMValueRef) {
    let kind = Attribute::get_named_enum_kind_id;
    // SAFETY: the function is alive.
    unsafe {
        for name in ["alwaysinline", "inlinehint"] {
            LLVMRemoveEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex, kind(name));
        }
        let context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
        for name in ["noinline", "cold"] {
            let attribute = LLVMCreateEnumAttribute(context, kind(name), 0);
            LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, attribute);
        }
    }
}

/// Lets a function begin by handing over to its copy if its flag is set.
///
/// # Safety
/// The function is alive and has a body; `flags` is the module's table of them.
unsafe fn dispatch(module: &Module, function: FunctionValue, flags: LLVMValueRef, index: usize) {
    let name = function.get_name().to_string_lossy().into_owned();
    let function = function.as_value_ref();
    // SAFETY: all values belong to the module; the builder is disposed of at the end.
    unsafe {
        let context = LLVMGetModuleContext(module.as_mut_ptr());
        let ty = LLVMGlobalGetValueType(function);
        let symbol = c_string(&format!("{name}{SUFFIX}"));
        let copy = LLVMAddFunction(module.as_mut_ptr(), symbol.as_ptr(), ty);
        LLVMSetFunctionCallConv(copy, LLVMGetFunctionCallConv(function));
        let body = LLVMGetEntryBasicBlock(function);
        let hand_over = LLVMInsertBasicBlockInContext(context, body, c"".as_ptr());
        let entry = LLVMInsertBasicBlockInContext(context, hand_over, c"".as_ptr());
        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderAtEnd(builder, entry);
        take_locals(builder, body);
        let byte = LLVMInt8TypeInContext(context);
        let at = LLVMConstInt(LLVMInt64TypeInContext(context), index as u64, 0);
        let place = LLVMBuildInBoundsGEP2(builder, byte, flags, [at].as_mut_ptr(), 1, c"".as_ptr());
        let flag = LLVMBuildLoad2(builder, byte, place, c"".as_ptr());
        let invariant = LLVMGetMDKindIDInContext(context, c"invariant.load".as_ptr(), 14);
        let empty = LLVMMDNodeInContext2(context, std::ptr::null_mut(), 0);
        LLVMSetMetadata(flag, invariant, LLVMMetadataAsValue(context, empty));
        let set = inkwell::llvm_sys::LLVMIntPredicate::LLVMIntNE;
        let test = LLVMBuildICmp(builder, set, flag, LLVMConstNull(byte), c"".as_ptr());
        let branch = LLVMBuildCondBr(builder, test, hand_over, body);
        crate::gate::mark_unlikely(module, InstructionValue::new(branch));
        LLVMPositionBuilderAtEnd(builder, hand_over);
        let mut arguments: Vec<_> =
            (0..LLVMCountParams(function)).map(|at| LLVMGetParam(function, at)).collect();
        let count = arguments.len() as u32;
        let call = LLVMBuildCall2(builder, ty, copy, arguments.as_mut_ptr(), count, c"".as_ptr());
        LLVMSetInstructionCallConv(call, LLVMGetFunctionCallConv(function));
        // Only such a call hands on the arguments that have no names. Elsewhere it would be in the
        // way of turning recursion into a loop.
        LLVMSetTailCallKind(
            call,
            if LLVMIsFunctionVarArg(ty) != 0 {
                LLVMTailCallKind::LLVMTailCallKindMustTail
            } else {
                LLVMTailCallKind::LLVMTailCallKindTail
            },
        );
        for at in std::iter::once(LLVMAttributeReturnIndex).chain(1..=count) {
            hand_on_attributes(function, call, at);
        }
        locate(context, function, call);
        if LLVMGetTypeKind(LLVMTypeOf(call)) == inkwell::llvm_sys::LLVMTypeKind::LLVMVoidTypeKind {
            LLVMBuildRetVoid(builder);
        } else {
            LLVMBuildRet(builder, call);
        }
        LLVMDisposeBuilder(builder);
    }
}

/// Moves the local variables of what was the first block: only in the first are they taken for such.
///
/// # Safety
/// The builder stands at the end of the new first block.
unsafe fn take_locals(builder: LLVMBuilderRef, body: LLVMBasicBlockRef) {
    // SAFETY: the successor is asked for before an instruction moves.
    unsafe {
        let mut place = LLVMGetFirstInstruction(body);
        while !place.is_null() {
            let next = LLVMGetNextInstruction(place);
            let is_local = !LLVMIsAAllocaInst(place).is_null()
                && LLVMIsConstant(LLVMGetOperand(place, 0)) != 0;
            if is_local {
                LLVMInstructionRemoveFromParent(place);
                LLVMInsertIntoBuilder(builder, place);
            }
            place = next;
        }
    }
}

/// # Safety
/// The function and the call are alive, and the call has the function's type.
unsafe fn hand_on_attributes(function: LLVMValueRef, call: LLVMValueRef, at: u32) {
    // SAFETY: LLVM fills as many as it counted.
    unsafe {
        let count = LLVMGetAttributeCountAtIndex(function, at) as usize;
        let mut attributes = vec![std::ptr::null_mut(); count];
        LLVMGetAttributesAtIndex(function, at, attributes.as_mut_ptr());
        for attribute in attributes {
            LLVMAddCallSiteAttribute(call, at, attribute);
        }
    }
}

/// A call in a function with debug information must have a line, should it be inlined.
///
/// # Safety
/// The function and the call are alive.
unsafe fn locate(context: LLVMContextRef, function: LLVMValueRef, call: LLVMValueRef) {
    use inkwell::llvm_sys::debuginfo::*;
    // SAFETY: the subprogram is asked for its line only when there is one.
    unsafe {
        let scope = LLVMGetSubprogram(function);
        if !scope.is_null() {
            let line = LLVMDISubprogramGetLine(scope);
            let place =
                LLVMDIBuilderCreateDebugLocation(context, line, 0, scope, std::ptr::null_mut());
            LLVMInstructionSetDebugLoc(call, place);
        }
    }
}

fn c_string(name: &str) -> CString {
    // Symbols with a zero byte do not get through any linker.
    CString::new(name).unwrap_or_default()
}

fn rename(value: LLVMValueRef, name: &str) {
    // SAFETY: LLVM copies as many bytes as the length says.
    unsafe { LLVMSetValueName2(value, name.as_ptr().cast(), name.len()) };
}

fn name_of(value: LLVMValueRef) -> String {
    let mut length = 0;
    // SAFETY: the name lives as long as the value and is copied at once.
    unsafe { CStr::from_ptr(LLVMGetValueName2(value, &mut length)) }.to_string_lossy().into_owned()
}
