//! Gated copies of functions, so that gates which nobody asks for cost nothing.
//!
//! A gate in the way of the optimiser is dear even when it never opens: the access behind it can no
//! longer be merged with its neighbours. So a function with gates exists twice. The program's own
//! is optimised as ever, and begins with room for a jump; the copy has the gates. The runtime writes
//! the jumps of those functions that have an active gate before the program's first constructor, and takes
//! them out again when nothing is left to be done in them ([`crate::gate_entries`]).
//!
//! LLVM's C interface copies modules, not functions. [`split`] therefore copies the module and keeps of
//! the copy nothing but the functions in question; both modules are optimised apart, so that no decision
//! about one depends on the other, and [`join`] links them. What the copies use of the program's own
//! is for that time visible to the linker, which also keeps the optimiser from changing its form. Calls in a
//! copy lead to the program's own functions, and from there to a copy if there is reason.
//!
//! Only a local function with one call stays local, for the optimiser puts it into its caller whatever its
//! size, and SQLite without that ran 3 % more instructions. Nobody enters its copy but the copy of its
//! caller ([`Copies::is_entered`]). (A hint to the inliner at the one call was tried instead: it is copied
//! with the call, and SQLite grew to nine times its size.)
//!
//! What cannot be copied so is gated in place: functions whose blocks' addresses are taken in this
//! unit (a table of labels leads into one of the two), and coroutines.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{CStr, CString};

use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::llvm_sys::comdat::LLVMSetComdat;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::{
    LLVMAttributeFunctionIndex, LLVMLinkage, LLVMOpcode, LLVMValueKind, LLVMVisibility,
};
use inkwell::module::{Linkage, Module};
use inkwell::values::{AsValueRef, FunctionValue};

use crate::InstrumentError;

/// What the copy of a function is called until it is linked in; the symbol is local afterwards.
const SUFFIX: &str = ".racewarden-gated";

/// Attributes that keep a function from being copied: its body is no ordinary one.
const UNFIT: [&str; 3] = ["naked", "presplitcoroutine", "optnone"];

/// A module that holds the functions to be gated, and what has to be put right when it is joined.
pub(crate) struct Copies<'c> {
    /// Every function in it that has a body is a copy, under the function's name and [`SUFFIX`].
    pub module: Module<'c>,
    /// Sorted.
    names: Vec<String>,
    /// Those of them that only the copy of their caller calls.
    within: HashSet<String>,
    /// Local values that are visible to the linker for the time being.
    promoted: Vec<(String, LLVMLinkage)>,
}

/// Copies `wanted` and what calls them, as far as they can be copied. `None` when none can.
pub(crate) fn split<'c>(module: &Module<'c>, wanted: &BTreeSet<&str>) -> Option<Copies<'c>> {
    let is_fit = |name: &str| module.get_function(name).is_some_and(is_fit);
    if !wanted.iter().any(|name| is_fit(name)) || takes_block_addresses(module) {
        return None;
    }
    let calls = Calls::of(module);
    let mut names = calls.callers(module, wanted);
    names.retain(|name| is_fit(name));
    let within = calls.with_one_caller(module, &mut names);
    let names: Vec<String> = names.into_iter().collect();
    let promoted = promote(module);
    let copy = module.clone();
    // SAFETY: the copy is alive, and nothing else refers to its values.
    unsafe { reduce(&copy, &names, &within) };
    Some(Copies { module: copy, names, within, promoted })
}

/// Which functions call which directly.
struct Calls {
    callees: HashMap<LLVMValueRef, Vec<LLVMValueRef>>,
}

impl Calls {
    fn of(module: &Module) -> Calls {
        let mut callees = HashMap::new();
        for function in module.get_functions() {
            let called: HashSet<LLVMValueRef> = crate::gate_survey::instructions(function)
                .map(|place| place.as_value_ref())
                .filter(|place| is_call(*place))
                // SAFETY: the instruction is a call.
                .map(|place| unsafe { LLVMGetCalledValue(place) })
                .collect();
            callees.insert(function.as_value_ref(), called.into_iter().collect());
        }
        Calls { callees }
    }

    /// The wanted functions and all that call them directly, or call such.
    fn callers(&self, module: &Module, wanted: &BTreeSet<&str>) -> BTreeSet<String> {
        let mut calling: HashMap<LLVMValueRef, Vec<LLVMValueRef>> = HashMap::new();
        for (caller, callees) in &self.callees {
            callees.iter().for_each(|callee| calling.entry(*callee).or_default().push(*caller));
        }
        let mut found = BTreeSet::new();
        let mut open: Vec<LLVMValueRef> = wanted
            .iter()
            .filter_map(|name| Some(module.get_function(name)?.as_value_ref()))
            .collect();
        while let Some(function) = open.pop() {
            if found.insert(name_of(function)) {
                open.extend(calling.remove(&function).unwrap_or_default());
            }
        }
        found
    }

    /// Local functions whose only use is one call in a function of `names`. They join these.
    fn with_one_caller(&self, module: &Module, names: &mut BTreeSet<String>) -> HashSet<String> {
        let mut within = HashSet::new();
        let mut open: Vec<LLVMValueRef> = names
            .iter()
            .filter_map(|name| Some(module.get_function(name)?.as_value_ref()))
            .collect();
        while let Some(caller) = open.pop() {
            for &callee in self.callees.get(&caller).into_iter().flatten() {
                // SAFETY: the callee is a live value.
                if callee == caller || unsafe { LLVMIsAFunction(callee).is_null() } {
                    continue;
                }
                // SAFETY: the value is a function, as just seen.
                let Some(function) = (unsafe { FunctionValue::new(callee) }) else { continue };
                if is_fit(function) && has_one_call(callee) {
                    let name = name_of(callee);
                    if within.insert(name.clone()) {
                        names.insert(name);
                        open.push(callee);
                    }
                }
            }
        }
        within
    }
}

/// Whether a function is local and used by nothing but one call.
fn has_one_call(function: LLVMValueRef) -> bool {
    // SAFETY: the function, its uses and their users are alive.
    unsafe {
        let is_local = matches!(
            LLVMGetLinkage(function),
            LLVMLinkage::LLVMInternalLinkage | LLVMLinkage::LLVMPrivateLinkage
        );
        let first = LLVMGetFirstUse(function);
        if !is_local || first.is_null() || !LLVMGetNextUse(first).is_null() {
            return false;
        }
        let user = LLVMGetUser(first);
        !LLVMIsAInstruction(user).is_null() && is_call(user) && LLVMGetCalledValue(user) == function
    }
}

pub(crate) fn is_call(place: LLVMValueRef) -> bool {
    // SAFETY: the value is an instruction.
    let opcode = unsafe { LLVMGetInstructionOpcode(place) };
    matches!(opcode, LLVMOpcode::LLVMCall | LLVMOpcode::LLVMInvoke)
}

impl<'c> Copies<'c> {
    /// The copy of the function `name`.
    pub fn function(&self, name: &str) -> Option<FunctionValue<'c>> {
        self.module.get_function(&format!("{name}{SUFFIX}"))
    }

    /// Whether the program comes to the copy of the function `name` by the function itself.
    pub fn is_entered(&self, name: &str) -> bool {
        self.names.binary_search_by(|one| one.as_str().cmp(name)).is_ok()
            && !self.within.contains(name)
    }

    /// Makes the program's own part ready to be optimised by itself: what the copies use stays, in
    /// the form that they know, and everything else is as local as ever.
    pub fn release(&mut self, module: &Module<'c>) {
        let mut promoted = std::mem::take(&mut self.promoted);
        promoted.retain(|(name, linkage)| {
            let Some(value) = named(module, name) else { return false };
            if self.is_entered(name) || is_used(&self.module, name) {
                // SAFETY: the value is alive.
                unsafe { LLVMSetVisibility(value, LLVMVisibility::LLVMHiddenVisibility) };
                return true;
            }
            // SAFETY: the value is alive.
            unsafe { LLVMSetLinkage(value, *linkage) };
            false
        });
        self.promoted = promoted;
        // SAFETY: the values are alive.
        unsafe {
            for value in values(module.as_mut_ptr()) {
                let kept = match LLVMGetLinkage(value) {
                    LLVMLinkage::LLVMLinkOnceAnyLinkage => LLVMLinkage::LLVMWeakAnyLinkage,
                    LLVMLinkage::LLVMLinkOnceODRLinkage => LLVMLinkage::LLVMWeakODRLinkage,
                    _ => continue,
                };
                if is_used(&self.module, &name_of(value)) {
                    LLVMSetLinkage(value, kept);
                }
            }
        }
    }

    /// Drops the copies that are not of use.
    pub fn keep(&mut self, entries: &BTreeSet<String>) {
        let names = std::mem::take(&mut self.names);
        let (kept, dropped): (Vec<String>, Vec<String>) = names
            .into_iter()
            .partition(|name| entries.contains(name) || self.within.contains(name));
        self.names = kept;
        for function in dropped.iter().filter_map(|name| self.function(name)) {
            // SAFETY: nothing refers to such a copy, for calls lead to the program's own function.
            unsafe { LLVMDeleteFunction(function.as_value_ref()) };
        }
    }
}

/// Links the copies into `module`, and makes everything as local as it was.
pub(crate) fn join<'c>(module: &Module<'c>, copies: Copies<'c>) -> Result<(), InstrumentError> {
    let Copies { module: copy, names, promoted, .. } = copies;
    module.link_in_module(copy).map_err(|error| InstrumentError::PassFailed {
        path: module.get_name().to_string_lossy().into_owned().into(),
        pass: "gate".to_owned(),
        message: error.to_string(),
    })?;
    for (name, linkage) in promoted {
        if let Some(value) = named(module, &name) {
            // SAFETY: the value is alive.
            unsafe { LLVMSetLinkage(value, linkage) };
        }
    }
    for name in names {
        if let Some(function) = copy_in(module, &name) {
            function.set_linkage(Linkage::Internal);
        }
    }
    Ok(())
}

/// The copy of the function `name` after [`join`].
pub(crate) fn copy_in<'c>(module: &Module<'c>, name: &str) -> Option<FunctionValue<'c>> {
    module.get_function(&format!("{name}{SUFFIX}"))
}

/// A function, variable, alias or resolver by its name.
fn named(module: &Module, name: &str) -> Option<LLVMValueRef> {
    let module = module.as_mut_ptr();
    let (text, length) = (name.as_ptr().cast(), name.len());
    let symbol = c_string(name);
    // SAFETY: the module is alive and the names are as long as it is said.
    let found = unsafe {
        [
            LLVMGetNamedFunction(module, symbol.as_ptr()),
            LLVMGetNamedGlobal(module, symbol.as_ptr()),
            LLVMGetNamedGlobalAlias(module, text, length),
            LLVMGetNamedGlobalIFunc(module, text, length),
        ]
    };
    found.into_iter().find(|value| !value.is_null())
}

/// Whether the copies refer to the value `name` of the program's own.
fn is_used(copies: &Module, name: &str) -> bool {
    // SAFETY: the value is alive.
    named(copies, name).is_some_and(|value| unsafe { !LLVMGetFirstUse(value).is_null() })
}

fn is_fit(function: FunctionValue) -> bool {
    let has = |name: &str| {
        let kind = Attribute::get_named_enum_kind_id(name);
        function.get_enum_attribute(AttributeLoc::Function, kind).is_some()
    };
    function.count_basic_blocks() > 0
        && function.get_linkage() != Linkage::AvailableExternally
        && !UNFIT.iter().any(|name| has(name))
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
fn promote(module: &Module) -> Vec<(String, LLVMLinkage)> {
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
            promoted.push((name_of(value), linkage));
        }
    }
    promoted
}

/// Leaves of the module's bodies only those of `names`, renamed. Whatever else is defined becomes a
/// declaration; the definition stays behind without a user, and the linker passes over it.
///
/// # Safety
/// The module is alive and nobody else uses its values.
unsafe fn reduce(module: &Module, names: &[String], within: &HashSet<String>) {
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
            // Only a body to be put into callers; the library may not have the function itself.
            if LLVMGetLinkage(value) == LLVMLinkage::LLVMAvailableExternallyLinkage {
                continue;
            }
            let name = name_of(value);
            let kind = LLVMGetValueKind(value);
            let is_copy =
                kind == LLVMValueKind::LLVMFunctionValueKind && names.binary_search(&name).is_ok();
            if is_copy && within.contains(&name) {
                rename(value, &format!("{name}{SUFFIX}"));
                LLVMSetComdat(value, std::ptr::null_mut());
                LLVMSetLinkage(value, LLVMLinkage::LLVMInternalLinkage);
                continue;
            }
            if is_copy {
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

/// A copy stays a function of its own, away from what runs otherwise.
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
