//! Loops that know how often they go round, and what their addresses are made of.

use std::collections::{BTreeMap, HashMap, HashSet};

use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::target::{LLVMABISizeOfType, LLVMTargetDataRef};
use inkwell::llvm_sys::{LLVMIntPredicate, LLVMOpcode, LLVMTypeKind};

use crate::flow::{Flow, Loop};
use crate::polynomial::Polynomial;

/// How far a computation is followed back.
const DEPTH: u32 = 8;

/// Values that are not looked into, numbered, the same in all loops of a function.
#[derive(Default)]
pub(super) struct Atoms {
    pub values: Vec<LLVMValueRef>,
    numbers: HashMap<LLVMValueRef, usize>,
}

impl Atoms {
    fn number(&mut self, value: LLVMValueRef) -> usize {
        *self.numbers.entry(value).or_insert_with(|| {
            self.values.push(value);
            self.values.len() - 1
        })
    }
}

/// A value that grows by the same in each round.
pub(super) struct Counter {
    start: LLVMValueRef,
    pub step: i64,
}

/// A loop that is left at the end of a round only, when a counter has come to its bound.
pub(super) struct Counted {
    pub layout: LLVMTargetDataRef,
    blocks: HashSet<LLVMBasicBlockRef>,
    header: LLVMBasicBlockRef,
    latch: LLVMBasicBlockRef,
    /// The only way in, which leads nowhere else.
    pub entry: LLVMBasicBlockRef,
    /// What decides when to leave, and its value after the last round.
    pub deciding: Counter,
    bound: LLVMValueRef,
    counters: BTreeMap<usize, Counter>,
}

impl Counted {
    /// # Safety
    /// The function of the flow is alive and as it was when the flow was made, but for instructions that are
    /// no jumps.
    pub(super) unsafe fn of(flow: &Flow, one: &Loop, layout: LLVMTargetDataRef) -> Option<Counted> {
        let &[latch] = one.latches.as_slice() else { return None };
        let mut ways_in = flow.predecessors[one.header].iter().filter(|from| **from != latch);
        let (Some(entry), None) = (ways_in.next(), ways_in.next()) else { return None };
        let stays = |block: &usize| flow.successors[*block].iter().all(|to| one.has(*to));
        if !one.blocks.iter().all(|block| *block == latch || stays(block)) {
            return None;
        }
        let (header, latch, entry) =
            (flow.blocks[one.header], flow.blocks[latch], flow.blocks[*entry]);
        let blocks: HashSet<_> = one.blocks.iter().map(|block| flow.blocks[*block]).collect();
        // SAFETY: every operand is asked for only after its instruction's kind was seen.
        unsafe {
            let end = LLVMGetBasicBlockTerminator(latch);
            let way_in = LLVMGetBasicBlockTerminator(entry);
            if !is_branch(end, true) || !is_branch(way_in, false) {
                return None;
            }
            let (taken, other) = (LLVMGetSuccessor(end, 0), LLVMGetSuccessor(end, 1));
            // Goes on while they differ.
            let going_on = match (taken == header, other == header) {
                (true, false) if !blocks.contains(&other) => LLVMIntPredicate::LLVMIntNE,
                (false, true) if !blocks.contains(&taken) => LLVMIntPredicate::LLVMIntEQ,
                _ => return None,
            };
            let condition = LLVMIsAICmpInst(LLVMGetCondition(end));
            if condition.is_null() || LLVMGetICmpPredicate(condition) != going_on {
                return None;
            }
            let next = LLVMIsABinaryOperator(LLVMGetOperand(condition, 0));
            let bound = LLVMGetOperand(condition, 1);
            if next.is_null() {
                return None;
            }
            let phi = LLVMGetOperand(next, 0);
            let (deciding, after) = counter(phi, header, latch)?;
            let counted = Counted {
                layout,
                blocks,
                header,
                latch,
                entry,
                deciding,
                bound,
                counters: BTreeMap::new(),
            };
            (after == next && counted.is_outside(bound)).then_some(counted)
        }
    }

    /// Whether the loop is a single block.
    pub(super) fn is_tight(&self) -> bool {
        self.header == self.latch
    }

    /// Whether the value is the same in every round.
    ///
    /// # Safety
    /// The value is alive.
    pub(super) unsafe fn is_outside(&self, value: LLVMValueRef) -> bool {
        // SAFETY: as the caller says.
        unsafe {
            LLVMIsAInstruction(value).is_null()
                || !self.blocks.contains(&LLVMGetInstructionParent(value))
        }
    }

    /// The value by what comes from outside the loop and its counters.
    ///
    /// # Safety
    /// The value is alive.
    pub(super) unsafe fn polynomial(
        &mut self,
        atoms: &mut Atoms,
        value: LLVMValueRef,
    ) -> Option<Polynomial> {
        // SAFETY: as the caller says.
        unsafe { self.follow(atoms, value, DEPTH) }
    }

    /// What was made of the values of an inner loop, by those of this one.
    ///
    /// # Safety
    /// The values that it is made of are alive.
    pub(super) unsafe fn looked_into(
        &mut self,
        atoms: &mut Atoms,
        inner: &Polynomial,
    ) -> Option<Polynomial> {
        let mut known = BTreeMap::new();
        for atom in inner.atoms() {
            // SAFETY: as the caller says.
            let found = unsafe { self.polynomial(atoms, atoms.values[atom]) }?;
            known.insert(atom, found);
        }
        let found = inner.replaced(|atom| known.get(&atom).cloned());
        found.is_short().then_some(found)
    }

    /// # Safety
    /// The value is alive.
    unsafe fn follow(
        &mut self,
        atoms: &mut Atoms,
        value: LLVMValueRef,
        depth: u32,
    ) -> Option<Polynomial> {
        // SAFETY: operands are asked for by the opcodes' own rules.
        unsafe {
            let kind = LLVMTypeOf(value);
            let is_number = match LLVMGetTypeKind(kind) {
                LLVMTypeKind::LLVMPointerTypeKind => false,
                LLVMTypeKind::LLVMIntegerTypeKind if LLVMGetIntTypeWidth(kind) == 64 => true,
                _ => return None,
            };
            let constant = LLVMIsAConstantInt(value);
            if !constant.is_null() {
                return Some(Polynomial::number(LLVMConstIntGetSExtValue(constant)));
            }
            if self.is_outside(value) {
                return Some(Polynomial::atom(atoms.number(value)));
            }
            if let Some((counter, _)) = counter(value, self.header, self.latch) {
                let atom = atoms.number(value);
                self.counters.insert(atom, counter);
                return Some(Polynomial::atom(atom));
            }
            if depth == 0 {
                return None;
            }
            let found = match is_number {
                true => self.number(atoms, value, depth - 1)?,
                false => self.address(atoms, value, depth - 1)?,
            };
            found.is_short().then_some(found)
        }
    }

    /// # Safety
    /// The value is an instruction of the loop.
    unsafe fn number(
        &mut self,
        atoms: &mut Atoms,
        value: LLVMValueRef,
        depth: u32,
    ) -> Option<Polynomial> {
        // SAFETY: operands of binary instructions only.
        unsafe {
            if LLVMIsABinaryOperator(value).is_null() {
                return None;
            }
            let left = self.follow(atoms, LLVMGetOperand(value, 0), depth)?;
            let right = self.follow(atoms, LLVMGetOperand(value, 1), depth)?;
            Some(match LLVMGetInstructionOpcode(value) {
                LLVMOpcode::LLVMAdd => left.plus(&right),
                LLVMOpcode::LLVMSub => left.minus(&right),
                // What unrolling makes of an addition that carries nothing.
                LLVMOpcode::LLVMOr if LLVMGetIsDisjoint(value) != 0 => left.plus(&right),
                LLVMOpcode::LLVMMul => left.times(&right),
                LLVMOpcode::LLVMShl => {
                    let by = right.constant().filter(|by| (0..63).contains(by))?;
                    left.scaled(1 << by)
                }
                _ => return None,
            })
        }
    }

    /// # Safety
    /// The value is an instruction of the loop.
    unsafe fn address(
        &mut self,
        atoms: &mut Atoms,
        value: LLVMValueRef,
        depth: u32,
    ) -> Option<Polynomial> {
        // SAFETY: operands of address computations with one index only.
        unsafe {
            if LLVMIsAGetElementPtrInst(value).is_null() || LLVMGetNumOperands(value) != 2 {
                return None;
            }
            let base = self.follow(atoms, LLVMGetOperand(value, 0), depth)?;
            let index = self.follow(atoms, LLVMGetOperand(value, 1), depth)?;
            let size = LLVMABISizeOfType(self.layout, LLVMGetGEPSourceElementType(value));
            Some(base.plus(&index.scaled(i64::try_from(size).ok()?)))
        }
    }

    /// Whether it has no counters in it.
    pub(super) fn is_fixed(&self, value: &Polynomial) -> bool {
        value.atoms().all(|atom| !self.counters.contains_key(&atom))
    }

    /// What each round adds to an address, when that is the same in all of them.
    pub(super) fn stride(&self, address: &Polynomial) -> Option<Polynomial> {
        let changing = address.part_with(|atom| self.counters.contains_key(&atom))?;
        let step = |atom: usize| self.counters.get(&atom).map(|one| Polynomial::number(one.step));
        Some(changing.replaced(step))
    }

    /// What it is in the first round, by values from outside.
    ///
    /// # Safety
    /// The loop's values are alive.
    pub(super) unsafe fn at_first(
        &mut self,
        atoms: &mut Atoms,
        value: &Polynomial,
    ) -> Option<Polynomial> {
        let starts: Vec<(usize, LLVMValueRef)> =
            self.counters.iter().map(|(atom, counter)| (*atom, counter.start)).collect();
        let mut known = BTreeMap::new();
        for (atom, start) in starts {
            // SAFETY: as the caller says; starts come from outside.
            known.insert(atom, unsafe { self.polynomial(atoms, start) }?);
        }
        Some(value.replaced(|atom| known.get(&atom).cloned()))
    }

    /// What all rounds add to an address that each adds `stride` to.
    ///
    /// # Safety
    /// The loop's values are alive.
    pub(super) unsafe fn way(
        &mut self,
        atoms: &mut Atoms,
        stride: &Polynomial,
    ) -> Option<Polynomial> {
        // SAFETY: as the caller says; both come from outside.
        let (bound, start) = unsafe {
            (self.polynomial(atoms, self.bound)?, self.polynomial(atoms, self.deciding.start)?)
        };
        let (way, step) = (bound.minus(&start), self.deciding.step);
        if let Some(way) = way.constant() {
            let rounds = way.checked_div(step).filter(|rounds| *rounds > 0 && way % step == 0)?;
            return Some(stride.scaled(rounds));
        }
        match stride.constant() {
            Some(stride) if stride % step == 0 => Some(way.scaled(stride / step)),
            _ if step == 1 => Some(way.times(stride)),
            _ => None,
        }
    }

    /// How far the deciding counter goes.
    ///
    /// # Safety
    /// The loop's values are alive, and the builder stands where it is entered.
    pub(super) unsafe fn build_length(&self, builder: LLVMBuilderRef) -> LLVMValueRef {
        // SAFETY: as the caller says.
        unsafe { LLVMBuildSub(builder, self.bound, self.deciding.start, c"".as_ptr()) }
    }
}

/// # Safety
/// The instruction is null or alive.
unsafe fn is_branch(instruction: LLVMValueRef, conditional: bool) -> bool {
    // SAFETY: as the caller says.
    unsafe {
        !instruction.is_null()
            && LLVMGetInstructionOpcode(instruction) == LLVMOpcode::LLVMBr
            && (LLVMIsConditional(instruction) != 0) == conditional
    }
}

/// A counter of a loop, and what computes its next value.
///
/// # Safety
/// Value and blocks are alive.
unsafe fn counter(
    value: LLVMValueRef,
    header: LLVMBasicBlockRef,
    latch: LLVMBasicBlockRef,
) -> Option<(Counter, LLVMValueRef)> {
    // SAFETY: every operand is asked for only after its instruction's kind was seen.
    unsafe {
        let phi = LLVMIsAPHINode(value);
        if phi.is_null()
            || LLVMGetInstructionParent(phi) != header
            || LLVMCountIncoming(phi) != 2
            || LLVMGetTypeKind(LLVMTypeOf(phi)) != LLVMTypeKind::LLVMIntegerTypeKind
            || LLVMGetIntTypeWidth(LLVMTypeOf(phi)) != 64
        {
            return None;
        }
        let from_latch = u32::from(LLVMGetIncomingBlock(phi, 0) != latch);
        let next = LLVMIsABinaryOperator(LLVMGetIncomingValue(phi, from_latch));
        if next.is_null()
            || LLVMGetInstructionOpcode(next) != LLVMOpcode::LLVMAdd
            || LLVMGetOperand(next, 0) != phi
        {
            return None;
        }
        let step = LLVMIsAConstantInt(LLVMGetOperand(next, 1));
        let start = LLVMGetIncomingValue(phi, 1 - from_latch);
        let step = (!step.is_null()).then(|| LLVMConstIntGetSExtValue(step))?;
        (step != 0).then_some((Counter { start, step }, next))
    }
}
