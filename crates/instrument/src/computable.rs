//! Which values the reader of a recording computes from what is recorded.
//!
//! It computes whole numbers, pointers and floating-point numbers of up to 64 bits, the latter as the
//! standard rounds them: not where the compiler may take liberties (`-ffast-math`, products that are
//! fused with sums). It does not compute vectors, structures, wide numbers, or what comes out of
//! loops that are recorded as a whole. Arguments of functions it knows in any case: either their caller
//! is one whose arguments it computes, or the function's start records them.

use std::collections::{HashMap, HashSet};

use inkwell::llvm_sys::LLVMTailCallKind::LLVMTailCallKindMustTail;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::{LLVMLinkage, LLVMOpcode, LLVMTypeKind};

use inkwell::values::InstructionValue;

use crate::derived::{Derived, LoopBlocks, instructions, is_plain, is_simple};
use crate::record::normal_destination;

/// Values that the reader may not know. Everything of the right kind is taken to be known until
/// something that it comes from is not.
pub(crate) struct Unknown<'d> {
    derived: &'d Derived,
    loops: &'d LoopBlocks,
    values: HashSet<LLVMValueRef>,
    /// Per private function: its calls, and what it returns.
    calls: HashMap<LLVMValueRef, Vec<LLVMValueRef>>,
    results: HashMap<LLVMValueRef, Vec<LLVMValueRef>>,
    /// What is loaded from slots that start as zero.
    loaded: HashMap<LLVMValueRef, LLVMValueRef>,
    /// Slots that something unknown is stored to.
    slots: HashSet<LLVMValueRef>,
}

impl<'d> Unknown<'d> {
    pub(crate) fn of(
        functions: &[LLVMValueRef],
        derived: &'d Derived,
        loops: &'d LoopBlocks,
    ) -> Self {
        let mut unknown = Unknown {
            derived,
            loops,
            values: HashSet::new(),
            calls: HashMap::new(),
            results: HashMap::new(),
            loaded: HashMap::new(),
            slots: HashSet::new(),
        };
        for (&slot, accesses) in &derived.zeroed {
            unknown.loaded.extend(accesses.iter().map(|access| (*access, slot)));
        }
        let mut all = Vec::new();
        for &function in functions {
            // SAFETY: parameters and instructions of a live function.
            unsafe {
                let is_private = derived.private_functions.contains(&function);
                let told = told_parameters(function);
                for index in 0..LLVMCountParams(function) {
                    let parameter = LLVMGetParam(function, index);
                    let is_told = is_private || told.contains(&parameter);
                    if !is_told || !is_number(LLVMTypeOf(parameter)) || is_copied(function, index) {
                        unknown.values.insert(parameter);
                    }
                }
                for instruction in instructions(function) {
                    unknown.note(function, instruction);
                    all.push(instruction);
                }
            }
        }
        loop {
            let before = unknown.values.len();
            for &instruction in &all {
                if unknown.values.contains(&instruction) {
                    continue;
                }
                // SAFETY: as above.
                let is_computed = unsafe { unknown.is_computed(instruction) };
                if !is_computed {
                    unknown.values.insert(instruction);
                }
            }
            unknown.judge_parameters();
            let slots = unknown.slots.len();
            unknown.judge_slots();
            if unknown.values.len() == before && unknown.slots.len() == slots {
                return unknown;
            }
        }
    }

    /// # Safety
    /// The instruction is one of the function's.
    unsafe fn note(&mut self, function: LLVMValueRef, instruction: LLVMValueRef) {
        // SAFETY: asked by its kind.
        unsafe {
            match LLVMGetInstructionOpcode(instruction) {
                LLVMOpcode::LLVMCall => {
                    let callee = LLVMGetCalledValue(instruction);
                    if self.derived.private_functions.contains(&callee) {
                        self.calls.entry(callee).or_default().push(instruction);
                    }
                }
                LLVMOpcode::LLVMRet if LLVMGetNumOperands(instruction) == 1 => {
                    self.results.entry(function).or_default().push(instruction);
                }
                _ => {}
            }
        }
    }

    fn judge_parameters(&mut self) {
        for (function, calls) in &self.calls {
            for call in calls {
                // SAFETY: a call of the function; the counts may differ where types do not agree.
                unsafe {
                    let agrees =
                        LLVMGetCalledFunctionType(*call) == LLVMGlobalGetValueType(*function);
                    for index in 0..LLVMCountParams(*function) {
                        if !agrees || self.has(LLVMGetOperand(*call, index), *call) {
                            self.values.insert(LLVMGetParam(*function, index));
                        }
                    }
                }
            }
        }
    }

    /// Slots that hold what is not known, or at places that are not.
    fn judge_slots(&mut self) {
        for (&slot, accesses) in &self.derived.zeroed {
            // SAFETY: loads and stores of a live module.
            let is_known = accesses.iter().all(|&access| unsafe {
                match LLVMGetInstructionOpcode(access) {
                    LLVMOpcode::LLVMStore => {
                        !self.loops.contains_key(&LLVMGetInstructionParent(access))
                            && !self.has(LLVMGetOperand(access, 0), access)
                            && !self.has(LLVMGetOperand(access, 1), access)
                    }
                    _ => !self.has(LLVMGetOperand(access, 0), access),
                }
            });
            if !is_known {
                self.slots.insert(slot);
            }
        }
    }

    /// Whether the reader knows all that the call hands over, so that the function called need not
    /// record it.
    ///
    /// # Safety
    /// The instruction is a call or invoke.
    pub(crate) unsafe fn knows_arguments(&self, call: LLVMValueRef) -> bool {
        // SAFETY: as the caller says; the callee is asked by its kind.
        unsafe {
            let callee = LLVMGetCalledValue(call);
            if !LLVMIsAFunction(callee).is_null() && LLVMIsDeclaration(callee) == 0 {
                let agrees = LLVMGetCalledFunctionType(call) == LLVMGlobalGetValueType(callee);
                if self.derived.private_functions.contains(&callee) || !agrees {
                    return false;
                }
            }
            LLVMIsAInlineAsm(callee).is_null()
                && (0..LLVMGetNumArgOperands(call)).all(|index| {
                    let argument = LLVMGetOperand(call, index);
                    !is_number(LLVMTypeOf(argument)) || !self.has(argument, call)
                })
        }
    }

    /// Whether the reader knows where a load or store goes, and what is stored.
    ///
    /// # Safety
    /// The instruction is a load or store.
    pub(crate) unsafe fn knows_access(&self, access: LLVMValueRef) -> bool {
        // SAFETY: as the caller says.
        unsafe {
            let stores = LLVMGetInstructionOpcode(access) == LLVMOpcode::LLVMStore;
            let (value, address) = match stores {
                true => (LLVMGetOperand(access, 0), LLVMGetOperand(access, 1)),
                false => (access, LLVMGetOperand(access, 0)),
            };
            is_plain(access)
                && is_simple(LLVMTypeOf(value))
                && LLVMGetPointerAddressSpace(LLVMTypeOf(address)) == 0
                && !self.has(address, access)
                && !(stores && self.has(value, access))
        }
    }

    /// Whether the reader may not know the value where `user`, an instruction, uses it. What a loop
    /// computes that may be recorded as a whole is known within it at most.
    pub(crate) fn has(&self, value: LLVMValueRef, user: LLVMValueRef) -> bool {
        // SAFETY: values of the module, asked by their kind.
        unsafe {
            if !LLVMIsAInstruction(value).is_null()
                && let Some(header) = self.loops.get(&LLVMGetInstructionParent(value))
                && self.loops.get(&LLVMGetInstructionParent(user)) != Some(header)
            {
                return true;
            }
            if !LLVMIsAInstruction(value).is_null() || !LLVMIsAArgument(value).is_null() {
                return self.values.contains(&value);
            }
            !is_number(LLVMTypeOf(value)) || !is_known_constant(value)
        }
    }

    /// # Safety
    /// The value is an instruction.
    unsafe fn is_computed(&self, instruction: LLVMValueRef) -> bool {
        use LLVMOpcode::*;
        // SAFETY: operands are asked for by the instruction's kind.
        unsafe {
            let ty = LLVMTypeOf(instruction);
            if !is_number(ty) {
                return false;
            }
            let known = |index| !self.has(LLVMGetOperand(instruction, index), instruction);
            match LLVMGetInstructionOpcode(instruction) {
                LLVMAdd | LLVMSub | LLVMMul | LLVMAnd | LLVMOr | LLVMXor | LLVMShl | LLVMLShr
                | LLVMAShr | LLVMUDiv | LLVMSDiv | LLVMURem | LLVMSRem | LLVMICmp => {
                    known(0) && known(1)
                }
                LLVMZExt | LLVMSExt | LLVMTrunc | LLVMFreeze | LLVMPtrToInt | LLVMIntToPtr
                | LLVMBitCast => known(0),
                LLVMFAdd | LLVMFSub | LLVMFMul | LLVMFDiv | LLVMFCmp => {
                    is_strict(instruction) && known(0) && known(1)
                }
                LLVMFNeg | LLVMFPExt | LLVMFPTrunc | LLVMSIToFP | LLVMUIToFP | LLVMFPToSI
                | LLVMFPToUI => is_strict(instruction) && known(0),
                LLVMGetElementPtr => (0..LLVMGetNumOperands(instruction) as u32).all(known),
                // Recorded, or made up by the reader.
                LLVMAlloca => true,
                LLVMSelect => known(0) && known(1) && known(2),
                LLVMPHI => (0..LLVMCountIncoming(instruction))
                    .all(|index| !self.has(LLVMGetIncomingValue(instruction, index), instruction)),
                LLVMLoad => match self.loaded.get(&instruction) {
                    Some(slot) => !self.slots.contains(slot),
                    None => {
                        is_plain(instruction)
                            && is_simple(ty)
                            && !self.derived.private.contains(&instruction)
                    }
                },
                LLVMCall | LLVMInvoke => self.knows_result(instruction),
                _ => false,
            }
        }
    }

    /// What a function returns that is this unit's own, or that the recorder writes down.
    ///
    /// # Safety
    /// The instruction is a call.
    unsafe fn knows_result(&self, call: LLVMValueRef) -> bool {
        // SAFETY: as the caller says; functions are asked by their kind.
        unsafe {
            let callee = LLVMGetCalledValue(call);
            if LLVMIsAFunction(callee).is_null() {
                return false;
            }
            if LLVMIsDeclaration(callee) == 0 {
                return is_final(callee)
                    && self.results.get(&callee).is_some_and(|results| {
                        results.iter().all(|end| !self.has(LLVMGetOperand(*end, 0), *end))
                    });
            }
            let name = name_of(callee);
            if name.starts_with("llvm.") {
                return is_strict(call)
                    && computes(&name, LLVMGetBasicBlockParent(LLVMGetInstructionParent(call)))
                    && (0..LLVMGetNumArgOperands(call))
                        .all(|index| !self.has(LLVMGetOperand(call, index), call));
            }
            let comes_back = match LLVMGetInstructionOpcode(call) {
                LLVMOpcode::LLVMInvoke => normal_destination(InstructionValue::new(call)).is_some(),
                _ => LLVMGetTailCallKind(call) != LLVMTailCallKindMustTail,
            };
            is_simple(LLVMTypeOf(call)) && comes_back
        }
    }
}

/// How many arguments a function's start can record.
pub(crate) const MOST_TOLD: usize = 6;

/// The parameters that a function's start records, unless its caller tells them.
///
/// # Safety
/// The function is alive.
pub(crate) unsafe fn told_parameters(function: LLVMValueRef) -> Vec<LLVMValueRef> {
    // SAFETY: as the caller says.
    unsafe {
        (0..LLVMCountParams(function))
            .map(|index| LLVMGetParam(function, index))
            .filter(|parameter| is_number(LLVMTypeOf(*parameter)))
            .take(MOST_TOLD)
            .collect()
    }
}

/// Whether the function gets a copy of what the argument points to: at another address.
///
/// # Safety
/// The function is alive.
unsafe fn is_copied(function: LLVMValueRef, index: u32) -> bool {
    ["byval", "inalloca", "preallocated"].iter().any(|name| {
        // SAFETY: as the caller says; parameters are counted from 1.
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
            !LLVMGetEnumAttributeAtIndex(function, index + 1, kind).is_null()
        }
    })
}

/// Whether calls of the function run this body of it, or an equal one.
///
/// # Safety
/// The function is alive.
unsafe fn is_final(function: LLVMValueRef) -> bool {
    use LLVMLinkage::*;
    // SAFETY: as the caller says.
    let linkage = unsafe { LLVMGetLinkage(function) };
    matches!(
        linkage,
        LLVMInternalLinkage
            | LLVMPrivateLinkage
            | LLVMExternalLinkage
            | LLVMLinkOnceODRLinkage
            | LLVMWeakODRLinkage
    )
}

/// # Safety
/// The function is alive.
unsafe fn name_of(function: LLVMValueRef) -> String {
    let mut length = 0;
    // SAFETY: as the caller says; the name is valid for its length and copied.
    unsafe {
        let name = LLVMGetValueName2(function, &mut length);
        String::from_utf8_lossy(std::slice::from_raw_parts(name.cast::<u8>(), length)).into_owned()
    }
}

/// Intrinsics of one number that have one right result, which the reader computes
/// (`walk/floating.rs` of predict).
///
/// # Safety
/// The function, in which it is called, is alive.
unsafe fn computes(name: &str, caller: LLVMValueRef) -> bool {
    let mut parts = name.split('.').skip(1);
    let (operation, ty) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    if !matches!(ty, "f32" | "f64") || parts.next().is_some() {
        return false;
    }
    match operation {
        "fabs" | "floor" | "ceil" | "trunc" | "sqrt" | "copysign" | "rint" | "nearbyint" => true,
        // Rounded once or twice, as the processor can.
        // SAFETY: as the caller says.
        "fmuladd" => unsafe { !has_fused_product(caller) },
        _ => false,
    }
}

/// # Safety
/// The function is alive.
unsafe fn has_fused_product(function: LLVMValueRef) -> bool {
    let key = c"target-features";
    // SAFETY: as the caller says; the attribute's text is valid for its length.
    unsafe {
        let length = key.to_bytes().len() as u32;
        let place = inkwell::llvm_sys::LLVMAttributeFunctionIndex;
        let attribute = LLVMGetStringAttributeAtIndex(function, place, key.as_ptr(), length);
        if attribute.is_null() {
            return false;
        }
        let mut length = 0;
        let text = LLVMGetStringAttributeValue(attribute, &mut length);
        let text = std::slice::from_raw_parts(text.cast::<u8>(), length as usize);
        text.split(|byte| *byte == b',').any(|feature| feature.starts_with(b"+fma"))
    }
}

/// Whether the result of floating-point arithmetic is fixed by the operands.
///
/// # Safety
/// The value is an instruction.
unsafe fn is_strict(instruction: LLVMValueRef) -> bool {
    // SAFETY: as the caller says; the flags are asked for only where there are any.
    unsafe {
        LLVMCanValueUseFastMathFlags(instruction) == 0 || LLVMGetFastMathFlags(instruction) == 0
    }
}

/// Numbers, and addresses of what this unit defines: the trace says where it lies.
///
/// # Safety
/// The value is a constant of a live module.
unsafe fn is_known_constant(value: LLVMValueRef) -> bool {
    // SAFETY: asked by its kind.
    unsafe {
        if !LLVMIsAConstantInt(value).is_null()
            || !LLVMIsAConstantPointerNull(value).is_null()
            || !LLVMIsAConstantFP(value).is_null()
        {
            return true;
        }
        if !LLVMIsAGlobalVariable(value).is_null() {
            let name = name_of(value);
            return LLVMIsDeclaration(value) == 0
                && LLVMIsThreadLocal(value) == 0
                && LLVMGetLinkage(value) != LLVMLinkage::LLVMAvailableExternallyLinkage
                && !name.is_empty()
                && !name.starts_with("llvm.");
        }
        if !LLVMIsAConstantExpr(value).is_null() {
            return LLVMGetConstOpcode(value) == LLVMOpcode::LLVMGetElementPtr
                && (1..LLVMGetNumOperands(value) as u32)
                    .all(|index| !LLVMIsAConstantInt(LLVMGetOperand(value, index)).is_null())
                && is_known_constant(LLVMGetOperand(value, 0));
        }
        !LLVMIsAFunction(value).is_null() && LLVMIsDeclaration(value) == 0
    }
}

/// Numbers of at most 64 bits, and pointers.
///
/// # Safety
/// The type is alive.
unsafe fn is_number(ty: LLVMTypeRef) -> bool {
    // SAFETY: as the caller says.
    unsafe {
        match LLVMGetTypeKind(ty) {
            LLVMTypeKind::LLVMIntegerTypeKind => LLVMGetIntTypeWidth(ty) <= 64,
            LLVMTypeKind::LLVMPointerTypeKind => LLVMGetPointerAddressSpace(ty) == 0,
            LLVMTypeKind::LLVMFloatTypeKind | LLVMTypeKind::LLVMDoubleTypeKind => true,
            _ => false,
        }
    }
}
