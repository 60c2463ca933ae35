//! What the reader of a recording computes itself, so that it need not be written down.
//!
//! The reader walks the same instructions with the recorded values. So it knows
//!
//! - what is in a local array or structure that only its own function reaches: neither the slot nor
//!   its loads and stores are recorded;
//! - how a branch goes whose condition comes from constants, recorded whole numbers and what is
//!   computed from them, also through arguments and results of functions that only this unit calls;
//! - that such a function starts, where it is called.
//!
//! The names of what is left out go into the trace with the symbols: the reader does not repeat the
//! analysis. Everything here is about the prepared module, before hooks are put in.

use std::collections::{HashMap, HashSet};

use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::{LLVMAtomicOrdering, LLVMLinkage, LLVMOpcode, LLVMTypeKind};
use inkwell::module::Module;
use inkwell::values::{AsValueRef, InstructionOpcode, InstructionValue};

/// What is left out in a module.
#[derive(Default)]
pub(crate) struct Derived {
    /// Functions that are only called by this unit, by name: their start is not recorded.
    pub private_functions: HashSet<LLVMValueRef>,
    /// Functions that threads may start with: their argument is recorded.
    pub entered_functions: HashSet<LLVMValueRef>,
    /// Slots that only their function reaches, and the loads and stores of them.
    pub private: HashSet<LLVMValueRef>,
    /// Branches whose way the reader computes.
    pub branches: HashSet<LLVMValueRef>,
}

impl Derived {
    /// Slots, their accesses and functions; the branches come when the even loops are known.
    pub(crate) fn of(module: &Module) -> Self {
        let mut derived = Derived::default();
        for function in module.get_functions().filter(|f| f.count_basic_blocks() > 0) {
            let function = function.as_value_ref();
            // SAFETY: a function of a live module, and its instructions.
            unsafe {
                if LLVMGetLinkage(function) == LLVMLinkage::LLVMInternalLinkage
                    && is_only_called(function)
                {
                    derived.private_functions.insert(function);
                } else if takes_one_pointer(function) {
                    derived.entered_functions.insert(function);
                }
                for slot in instructions(function) {
                    if LLVMGetInstructionOpcode(slot) == LLVMOpcode::LLVMAlloca {
                        let mut accesses = Vec::new();
                        if is_fixed(slot) && reaches_only_accesses(slot, &mut accesses) {
                            derived.private.insert(slot);
                            derived.private.extend(accesses);
                        }
                    }
                }
            }
        }
        derived
    }

    /// Finds the branches. Within `loops` values are not known.
    pub(crate) fn find_branches(&mut self, module: &Module, loops: &HashSet<LLVMBasicBlockRef>) {
        let functions: Vec<LLVMValueRef> = module
            .get_functions()
            .filter(|function| function.count_basic_blocks() > 0)
            .map(|function| function.as_value_ref())
            .collect();
        let unknown = Unknown::of(&functions, self, loops);
        let mut branches = HashSet::new();
        for &function in &functions {
            // SAFETY: instructions of a live function, asked by their kind.
            unsafe {
                for end in instructions(function) {
                    if LLVMGetInstructionOpcode(end) == LLVMOpcode::LLVMBr
                        && LLVMIsConditional(end) != 0
                        && !loops.contains(&LLVMGetInstructionParent(end))
                        && !unknown.has(LLVMGetCondition(end))
                    {
                        branches.insert(end);
                    }
                }
            }
        }
        self.branches = branches;
    }

    /// The function's kind in the table of symbols.
    pub(crate) fn kind_of(&self, function: LLVMValueRef) -> u64 {
        if self.private_functions.contains(&function) {
            return 2;
        }
        if self.entered_functions.contains(&function) { 4 } else { 0 }
    }

    /// Whether the instruction has no record.
    pub(crate) fn has(&self, instruction: LLVMValueRef) -> bool {
        self.private.contains(&instruction) || self.branches.contains(&instruction)
    }

    /// The ordinals of a function's slots and branches that are left out, as text.
    pub(crate) fn left_out(&self, places: &[InstructionValue]) -> String {
        let listed = places.iter().enumerate().filter(|(_, place)| {
            matches!(place.get_opcode(), InstructionOpcode::Alloca | InstructionOpcode::Br)
                && self.has(place.as_value_ref())
        });
        let numbers: Vec<String> = listed.map(|(ordinal, _)| ordinal.to_string()).collect();
        numbers.join(",")
    }
}

/// # Safety
/// The function is alive.
unsafe fn instructions(function: LLVMValueRef) -> Vec<LLVMValueRef> {
    let mut list = Vec::new();
    // SAFETY: walks the blocks of a live function.
    unsafe {
        let mut block = LLVMGetFirstBasicBlock(function);
        while !block.is_null() {
            let mut instruction = LLVMGetFirstInstruction(block);
            while !instruction.is_null() {
                list.push(instruction);
                instruction = LLVMGetNextInstruction(instruction);
            }
            block = LLVMGetNextBasicBlock(block);
        }
    }
    list
}

/// # Safety
/// The value is alive.
unsafe fn users(value: LLVMValueRef) -> Vec<LLVMValueRef> {
    let mut list = Vec::new();
    // SAFETY: as the caller says.
    unsafe {
        let mut next = LLVMGetFirstUse(value);
        while !next.is_null() {
            list.push(LLVMGetUser(next));
            next = LLVMGetNextUse(next);
        }
    }
    list
}

/// Whether every use of the function is a direct call of it, none of them from a landing pad's
/// point of view: an invoke may not come back the usual way.
///
/// # Safety
/// The function is alive.
unsafe fn is_only_called(function: LLVMValueRef) -> bool {
    // SAFETY: users are values of the module, asked by their kind.
    unsafe {
        let users = users(function);
        !users.is_empty()
            && users.into_iter().all(|user| {
                !LLVMIsACallInst(user).is_null()
                    && LLVMGetCalledValue(user) == function
                    && (0..LLVMGetNumArgOperands(user))
                        .all(|index| LLVMGetOperand(user, index) != function)
            })
    }
}

/// Whether the function may be what a thread starts with.
///
/// # Safety
/// The function is alive.
unsafe fn takes_one_pointer(function: LLVMValueRef) -> bool {
    // SAFETY: as the caller says.
    unsafe {
        let ty = LLVMGlobalGetValueType(function);
        let result = LLVMGetTypeKind(LLVMGetReturnType(ty));
        LLVMCountParams(function) == 1
            && LLVMIsFunctionVarArg(ty) == 0
            && result == LLVMTypeKind::LLVMPointerTypeKind
            && LLVMGetTypeKind(LLVMTypeOf(LLVMGetParam(function, 0)))
                == LLVMTypeKind::LLVMPointerTypeKind
    }
}

/// Whether the slot has one size.
///
/// # Safety
/// The instruction is an alloca.
unsafe fn is_fixed(slot: LLVMValueRef) -> bool {
    // SAFETY: as the caller says.
    unsafe { !LLVMIsAConstantInt(LLVMGetOperand(slot, 0)).is_null() }
}

/// Whether nothing but plain loads and stores of numbers and pointers comes from the address, which
/// are added to `accesses`.
///
/// # Safety
/// The value is alive.
unsafe fn reaches_only_accesses(address: LLVMValueRef, accesses: &mut Vec<LLVMValueRef>) -> bool {
    // SAFETY: users of an address, asked by their kind.
    unsafe {
        users(address).into_iter().all(|user| {
            if LLVMIsAInstruction(user).is_null() {
                return false;
            }
            match LLVMGetInstructionOpcode(user) {
                LLVMOpcode::LLVMLoad => {
                    accesses.push(user);
                    is_plain(user) && is_simple(LLVMTypeOf(user))
                }
                LLVMOpcode::LLVMStore => {
                    accesses.push(user);
                    let value = LLVMGetOperand(user, 0);
                    value != address && is_plain(user) && is_simple(LLVMTypeOf(value))
                }
                LLVMOpcode::LLVMGetElementPtr => {
                    LLVMGetOperand(user, 0) == address
                        && LLVMGetTypeKind(LLVMTypeOf(user)) == LLVMTypeKind::LLVMPointerTypeKind
                        && (1..LLVMGetNumOperands(user) as u32)
                            .all(|index| LLVMGetOperand(user, index) != address)
                        && reaches_only_accesses(user, accesses)
                }
                LLVMOpcode::LLVMCall => is_lifetime(user),
                _ => false,
            }
        })
    }
}

/// # Safety
/// The instruction is a call.
unsafe fn is_lifetime(call: LLVMValueRef) -> bool {
    // SAFETY: as the caller says; the name is valid for its length.
    unsafe {
        let callee = LLVMGetCalledValue(call);
        let mut length = 0;
        let name = LLVMGetValueName2(callee, &mut length);
        let name = std::slice::from_raw_parts(name.cast::<u8>(), length);
        name.starts_with(b"llvm.lifetime.")
    }
}

/// # Safety
/// The instruction is a load or store.
unsafe fn is_plain(access: LLVMValueRef) -> bool {
    // SAFETY: as the caller says.
    unsafe {
        LLVMGetVolatile(access) == 0
            && LLVMGetOrdering(access) == LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic
    }
}

/// Numbers and pointers that fill 1, 2, 4 or 8 bytes.
///
/// # Safety
/// The type is alive.
unsafe fn is_simple(ty: LLVMTypeRef) -> bool {
    // SAFETY: as the caller says.
    unsafe {
        match LLVMGetTypeKind(ty) {
            LLVMTypeKind::LLVMIntegerTypeKind => {
                matches!(LLVMGetIntTypeWidth(ty), 8 | 16 | 32 | 64)
            }
            LLVMTypeKind::LLVMPointerTypeKind => LLVMGetPointerAddressSpace(ty) == 0,
            LLVMTypeKind::LLVMFloatTypeKind | LLVMTypeKind::LLVMDoubleTypeKind => true,
            _ => false,
        }
    }
}

/// Values that the reader may not know. Everything of the right kind is taken to be known until
/// something that it comes from is not.
struct Unknown<'d> {
    derived: &'d Derived,
    loops: &'d HashSet<LLVMBasicBlockRef>,
    values: HashSet<LLVMValueRef>,
    /// Per private function: its calls, and what it returns.
    calls: HashMap<LLVMValueRef, Vec<LLVMValueRef>>,
    results: HashMap<LLVMValueRef, Vec<LLVMValueRef>>,
}

impl<'d> Unknown<'d> {
    fn of(
        functions: &[LLVMValueRef],
        derived: &'d Derived,
        loops: &'d HashSet<LLVMBasicBlockRef>,
    ) -> Self {
        let mut unknown = Unknown {
            derived,
            loops,
            values: HashSet::new(),
            calls: HashMap::new(),
            results: HashMap::new(),
        };
        let mut all = Vec::new();
        for &function in functions {
            // SAFETY: parameters and instructions of a live function.
            unsafe {
                let is_private = derived.private_functions.contains(&function);
                for index in 0..LLVMCountParams(function) {
                    let parameter = LLVMGetParam(function, index);
                    let told = is_private || derived.entered_functions.contains(&function);
                    if !told || !is_number(LLVMTypeOf(parameter)) {
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
            if unknown.values.len() == before {
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
                    let result = LLVMGetOperand(instruction, 0);
                    self.results.entry(function).or_default().push(result);
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
                    for index in 0..LLVMCountParams(*function) {
                        let given = index < LLVMGetNumArgOperands(*call);
                        if !given || self.has(LLVMGetOperand(*call, index)) {
                            self.values.insert(LLVMGetParam(*function, index));
                        }
                    }
                }
            }
        }
    }

    fn has(&self, value: LLVMValueRef) -> bool {
        // SAFETY: a value of the module, asked by its kind.
        unsafe {
            if !LLVMIsAInstruction(value).is_null() || !LLVMIsAArgument(value).is_null() {
                return self.values.contains(&value);
            }
            LLVMIsAConstantInt(value).is_null() && LLVMIsAConstantPointerNull(value).is_null()
                || !is_number(LLVMTypeOf(value))
        }
    }

    /// # Safety
    /// The value is an instruction.
    unsafe fn is_computed(&self, instruction: LLVMValueRef) -> bool {
        use LLVMOpcode::*;
        // SAFETY: operands are asked for by the instruction's kind.
        unsafe {
            let ty = LLVMTypeOf(instruction);
            if !is_number(ty) || self.loops.contains(&LLVMGetInstructionParent(instruction)) {
                return false;
            }
            let known = |index| !self.has(LLVMGetOperand(instruction, index));
            match LLVMGetInstructionOpcode(instruction) {
                LLVMAdd | LLVMSub | LLVMMul | LLVMAnd | LLVMOr | LLVMXor | LLVMShl | LLVMLShr
                | LLVMAShr | LLVMUDiv | LLVMSDiv | LLVMURem | LLVMSRem | LLVMICmp => {
                    known(0) && known(1)
                }
                LLVMZExt | LLVMSExt | LLVMTrunc | LLVMFreeze | LLVMPtrToInt | LLVMIntToPtr => {
                    known(0)
                }
                LLVMSelect => known(0) && known(1) && known(2),
                LLVMPHI => (0..LLVMCountIncoming(instruction))
                    .all(|index| !self.has(LLVMGetIncomingValue(instruction, index))),
                LLVMLoad => {
                    is_plain(instruction)
                        && is_simple(ty)
                        && !self.derived.private.contains(&instruction)
                }
                LLVMCall => {
                    let callee = LLVMGetCalledValue(instruction);
                    self.derived.private_functions.contains(&callee)
                        && self
                            .results
                            .get(&callee)
                            .is_some_and(|results| results.iter().all(|result| !self.has(*result)))
                }
                _ => false,
            }
        }
    }
}

/// Whole numbers of at most 64 bits, and pointers.
///
/// # Safety
/// The type is alive.
unsafe fn is_number(ty: LLVMTypeRef) -> bool {
    // SAFETY: as the caller says.
    unsafe {
        match LLVMGetTypeKind(ty) {
            LLVMTypeKind::LLVMIntegerTypeKind => LLVMGetIntTypeWidth(ty) <= 64,
            LLVMTypeKind::LLVMPointerTypeKind => LLVMGetPointerAddressSpace(ty) == 0,
            _ => false,
        }
    }
}
