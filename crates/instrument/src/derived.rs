//! What the reader of a recording computes itself, so that it need not be written down.
//!
//! The reader walks the same instructions with the recorded values. So it knows
//!
//! - what is in a local array or structure that only its own function reaches: neither the slot nor
//!   its loads and stores are recorded;
//! - how a branch or switch goes whose condition comes from constants, recorded values and what is computed
//!   from them, also through arguments and results of functions that only this unit calls
//!   (`computable`);
//! - where a load or store goes whose address comes from the same, and what it finds, as long as the
//!   recorder sees that nothing else wrote there: such accesses are counted while they run, and have
//!   a record only where that does not hold;
//! - that such a function starts, where it is called.
//!
//! The names of what is left out go into the trace with the symbols: the reader does not repeat the
//! analysis. Everything here is about the prepared module, before hooks are put in.

use std::collections::{HashMap, HashSet};

use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::target::{LLVMABISizeOfType, LLVMGetModuleDataLayout};
use inkwell::llvm_sys::{LLVMAtomicOrdering, LLVMLinkage, LLVMOpcode, LLVMTypeKind};
use inkwell::module::Module;
use inkwell::values::{AsValueRef, InstructionOpcode, InstructionValue};

use crate::computable::Unknown;
use crate::record_loops::Covered;

/// The blocks of loops that may be recorded as a whole, with the loop's header.
pub(crate) type LoopBlocks = HashMap<LLVMBasicBlockRef, LLVMBasicBlockRef>;

/// What is left out in a module.
#[derive(Default)]
pub(crate) struct Derived {
    /// Functions that are only called by this unit, by name: their start is not recorded.
    pub private_functions: HashSet<LLVMValueRef>,
    /// Slots that only their function reaches, and the loads and stores of them.
    pub private: HashSet<LLVMValueRef>,
    /// Calls, of functions that may not be this unit's, whose arguments the reader computes.
    pub told_calls: HashSet<LLVMValueRef>,
    /// Branches whose way the reader computes.
    pub branches: HashSet<LLVMValueRef>,
    /// Branches of even loops whose way the reader computes but where the loop is entered, with the
    /// jump back to each.
    pub rounds: HashMap<LLVMValueRef, LLVMValueRef>,
    /// Loads and stores whose address the reader computes, and what these store.
    pub known: HashSet<LLVMValueRef>,
    /// Loads that find what an instruction before them loaded or stored: they have no hook.
    pub repeated: HashMap<LLVMValueRef, LLVMValueRef>,
    /// Slots of a fixed size, by what is loaded from and stored to them. They start as zero, so
    /// that the reader knows what is in them.
    pub zeroed: HashMap<LLVMValueRef, Vec<LLVMValueRef>>,
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
                }
                for slot in instructions(function) {
                    if LLVMGetInstructionOpcode(slot) == LLVMOpcode::LLVMAlloca {
                        let mut accesses = Vec::new();
                        if is_fixed(slot) && reaches_only_accesses(slot, &mut accesses) {
                            derived.private.insert(slot);
                            derived.private.extend(&accesses);
                            if size_of(module, slot) <= MOST_ZEROED {
                                derived.zeroed.insert(slot, accesses);
                            }
                        }
                    }
                }
            }
        }
        derived
    }

    /// Finds the branches and accesses. What even loops compute is not known outside them.
    pub(crate) fn find_branches(&mut self, module: &Module, even: &Covered) {
        let loops = &even.blocks;
        let functions: Vec<LLVMValueRef> = module
            .get_functions()
            .filter(|function| function.count_basic_blocks() > 0)
            .map(|function| function.as_value_ref())
            .collect();
        let unknown = Unknown::of(&functions, self, loops);
        let (mut branches, mut known) = (HashSet::new(), HashSet::new());
        let mut rounds = HashMap::new();
        let mut told_calls = HashSet::new();
        for &function in &functions {
            // SAFETY: instructions of a live function, asked by their kind.
            unsafe {
                for place in instructions(function) {
                    let in_loop = loops.contains_key(&LLVMGetInstructionParent(place));
                    match LLVMGetInstructionOpcode(place) {
                        LLVMOpcode::LLVMBr
                            if LLVMIsConditional(place) != 0
                                && !unknown.has(LLVMGetCondition(place), place) =>
                        {
                            if let Some(back) = even.branches.get(&place) {
                                rounds.insert(place, *back);
                            } else if !in_loop {
                                branches.insert(place);
                            }
                        }
                        LLVMOpcode::LLVMSwitch
                            if !in_loop && !unknown.has(LLVMGetOperand(place, 0), place) =>
                        {
                            branches.insert(place);
                        }
                        LLVMOpcode::LLVMLoad | LLVMOpcode::LLVMStore
                            if !self.private.contains(&place) && unknown.knows_access(place) =>
                        {
                            known.insert(place);
                        }
                        LLVMOpcode::LLVMCall | LLVMOpcode::LLVMInvoke
                            if unknown.knows_arguments(place) =>
                        {
                            told_calls.insert(place);
                        }
                        _ => {}
                    }
                }
            }
        }
        (self.branches, self.rounds, self.known) = (branches, rounds, known);
        self.told_calls = told_calls;
    }

    /// Lets private slots start as zero, and live as long as their function: the reader knows no
    /// other beginning of them.
    pub(crate) fn zero_slots(&self, module: &Module) {
        // SAFETY: slots of the live module; the calls that are erased have no users.
        unsafe {
            let context = LLVMGetModuleContext(module.as_mut_ptr());
            let builder = LLVMCreateBuilderInContext(context);
            for &slot in self.zeroed.keys() {
                for user in users(slot) {
                    if !LLVMIsACallInst(user).is_null() && is_lifetime(user) {
                        LLVMInstructionEraseFromParent(user);
                    }
                }
                let size = LLVMConstInt(LLVMInt64TypeInContext(context), size_of(module, slot), 0);
                let zero = LLVMConstInt(LLVMInt8TypeInContext(context), 0, 0);
                LLVMPositionBuilderBefore(builder, LLVMGetNextInstruction(slot));
                LLVMBuildMemSet(builder, slot, zero, size, LLVMGetAlignment(slot));
            }
            LLVMDisposeBuilder(builder);
        }
    }

    /// The function's kind in the table of symbols.
    pub(crate) fn kind_of(&self, function: LLVMValueRef) -> u64 {
        if self.private_functions.contains(&function) { 2 } else { 0 }
    }

    /// Whether the instruction has no record.
    pub(crate) fn has(&self, instruction: LLVMValueRef) -> bool {
        self.private.contains(&instruction)
            || self.branches.contains(&instruction)
            || self.repeated.contains_key(&instruction)
    }

    /// The ordinals of a function's slots, branches and accesses that are left out, as text; loads
    /// that repeat another instruction name that, too, and branches of loops the jump back.
    pub(crate) fn left_out(&self, places: &[InstructionValue]) -> String {
        let all = places.iter().enumerate();
        let ordinals: HashMap<LLVMValueRef, usize> =
            all.map(|(ordinal, place)| (place.as_value_ref(), ordinal)).collect();
        let listed = places.iter().enumerate().filter_map(|(ordinal, place)| {
            let value = place.as_value_ref();
            if let Some(first) = self.repeated.get(&value) {
                return Some(format!("{ordinal}={}", ordinals.get(first)?));
            }
            if let Some(back) = self.rounds.get(&value) {
                return Some(format!("{ordinal}^{}", ordinals.get(back)?));
            }
            let is_listed = match place.get_opcode() {
                InstructionOpcode::Alloca | InstructionOpcode::Br | InstructionOpcode::Switch => {
                    self.has(value)
                }
                _ => self.known.contains(&value),
            };
            is_listed.then(|| ordinal.to_string())
        });
        listed.collect::<Vec<String>>().join(",")
    }
}

/// Larger slots do not start as zero.
const MOST_ZEROED: u64 = 256;

/// # Safety
/// The instruction is an alloca of the module with a constant count.
unsafe fn size_of(module: &Module, slot: LLVMValueRef) -> u64 {
    // SAFETY: as the caller says.
    unsafe {
        let layout = LLVMGetModuleDataLayout(module.as_mut_ptr());
        let one = LLVMABISizeOfType(layout, LLVMGetAllocatedType(slot));
        one.saturating_mul(LLVMConstIntGetZExtValue(LLVMGetOperand(slot, 0)))
    }
}

/// # Safety
/// The function is alive.
pub(crate) unsafe fn instructions(function: LLVMValueRef) -> Vec<LLVMValueRef> {
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
pub(crate) unsafe fn is_plain(access: LLVMValueRef) -> bool {
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
pub(crate) unsafe fn is_simple(ty: LLVMTypeRef) -> bool {
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
