//! Induction variables: the counters of loops that create or join one thread per round.

use racewarden_ir::{BinaryOp, CompareOp, Function, InstId, Op, Type, TypeTable, Value};

use crate::cfg::Cfg;
use crate::sym::{Atom, LOCAL, Sym, SymTable};

/// A phi that starts at `start` and grows by `step` in each round of loop `index`.
#[derive(Debug, Clone)]
pub struct Induction {
    pub start: Sym,
    pub step: i64,
    pub index: u32,
    /// The loop body runs only while it is below `bound`.
    pub bound: Option<Sym>,
    /// The loop body runs only while a counter that goes down is not below this.
    pub floor: Option<Sym>,
    /// The block that leaves the loop when all rounds were made.
    pub tested: u32,
}

/// The induction variable `phi`, when it is one.
pub fn induction(
    function: &Function,
    cfg: &Cfg,
    syms: &SymTable,
    types: &TypeTable,
    phi: u32,
) -> Option<Induction> {
    let instruction = &function.instructions[phi as usize];
    let Op::Phi { incoming } = &instruction.op else { return None };
    let bits = match types.get(instruction.ty) {
        Type::Int { bits } => *bits,
        _ => 64,
    };
    let block = cfg.block_of[phi as usize];
    let body = cfg.loop_at(block)?;
    let index = cfg.headed[block as usize] as usize;
    let (mut start, mut step) = (None, None);
    for edge in incoming {
        if body.contains(edge.block.0) {
            let grown = step_of(function, &edge.value, phi, bits)?;
            if grown == 0 || step.is_some_and(|known| known != grown) {
                return None;
            }
            step = Some(grown);
        } else {
            let value = syms.value(&edge.value, types)?;
            let value = passed(function, cfg, syms, types, &value, block).unwrap_or(value);
            if start.as_ref().is_some_and(|known| *known != value) {
                return None;
            }
            start = Some(value);
        }
    }
    let (step, start) = (step?, start?);
    let scope = Scope { function, cfg, syms, types };
    let left = scope.left_at_top(index, phi);
    let (left, tested) = match left {
        Some(left) => (Some(left), body.header),
        None => match scope.left_at_bottom(index, phi, (&start, step)) {
            Some((left, tested)) => (Some(left), tested),
            None => (None, body.header),
        },
    };
    let floor = left.clone().filter(|_| step < 0).and_then(Left::floor);
    let bound = left.and_then(Left::bound);
    if comes_round(bits, step, bound.as_ref()) {
        return None;
    }
    let bound = bound.map(|bound| bound.value);
    Some(Induction { start, step, index: index as u32, bound, floor, tested })
}

/// What a counter has come to after its loop, when the value is that of one which steps by one between
/// numbers, and the loop is left nowhere but where it is compared.
fn passed(
    function: &Function,
    cfg: &Cfg,
    syms: &SymTable,
    types: &TypeTable,
    value: &Sym,
    at: u32,
) -> Option<Sym> {
    let [(Atom::Inst(LOCAL, other), 1)] = value.terms.as_slice() else { return None };
    let block = *cfg.block_of.get(*other as usize)?;
    let body = cfg.loop_at(block)?;
    if body.contains(at) {
        return None;
    }
    let leaves = |from: &u32| cfg.successors[*from as usize].iter().any(|to| !body.contains(*to));
    if body.blocks.iter().any(|from| *from != body.header && leaves(from)) {
        return None;
    }
    let counter = induction(function, cfg, syms, types, *other)?;
    let start = counter.start.as_constant()?;
    let last = match counter.step {
        1 => counter.bound?.as_constant().filter(|bound| start <= *bound)?,
        -1 => counter.floor?.as_constant()?.checked_sub(1).filter(|last| *last <= start)?,
        _ => return None,
    };
    (counter.tested == body.header).then(|| Sym::constant(last).shifted(value.offset))
}

/// As many threads as a system has at a time.
const MOST_ROUNDS: u64 = 1 << 22;

/// Whether a counter may come round to values that it had before, for it is narrow or its step wide.
fn comes_round(bits: u32, step: i64, bound: Option<&Bound>) -> bool {
    if bits < 32 {
        return true;
    }
    let most = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
    if most / step.unsigned_abs() >= MOST_ROUNDS {
        return false;
    }
    !bound.is_some_and(|bound| bound.is_passed_once(most, step))
}

fn step_of(function: &Function, value: &Value, phi: u32, width: u32) -> Option<i64> {
    let Value::Inst(InstId(inst)) = value else { return None };
    match &function.instructions[*inst as usize].op {
        Op::Binary { op, left: Value::Inst(InstId(left)), right: Value::Int { bits, .. } }
            if *left == phi =>
        {
            let by = if width <= 32 { i64::from(*bits as i32) } else { *bits as i64 };
            match op {
                BinaryOp::Add => Some(by),
                BinaryOp::Sub => by.checked_neg(),
                _ => None,
            }
        }
        Op::Address { base: Value::Inst(InstId(base)), offset, indices }
            if *base == phi && indices.is_empty() =>
        {
            Some(*offset)
        }
        _ => None,
    }
}

struct Bound {
    value: Sym,
    comparison: Comparison,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Signed,
    Unsigned,
    /// Of numbers that are equal or not: a wide step passes the bound by.
    Equality,
}

impl Bound {
    /// Whether the loop is left before a counter of numbers up to `most` comes round. The bound has to be
    /// a number: whether one that is compared as signed may overflow is not known here.
    fn is_passed_once(&self, most: u64, step: i64) -> bool {
        let last = self.value.as_constant().and_then(|value| u64::try_from(value).ok());
        let reaches =
            |most: u64| last.is_some_and(|last| last <= most.saturating_sub(step.unsigned_abs()));
        match self.comparison {
            Comparison::Signed => step > 0 && reaches(most >> 1),
            Comparison::Unsigned => reaches(most),
            Comparison::Equality => false,
        }
    }
}

/// How the counter is compared where the loop is left when it is done.
#[derive(Clone)]
struct Left {
    op: CompareOp,
    /// The loop goes on when this holds.
    stays: bool,
    value: Sym,
}

impl Left {
    fn bound(self) -> Option<Bound> {
        use CompareOp::{Eq, Ne, Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
        let value = self.value;
        let comparison = match self.op {
            Sge | Sgt | Sle | Slt => Comparison::Signed,
            Uge | Ugt | Ule | Ult => Comparison::Unsigned,
            _ => Comparison::Equality,
        };
        match (self.op, self.stays) {
            (Slt | Ult | Ne, true) | (Sge | Uge | Eq, false) => Some(Bound { value, comparison }),
            (Sle | Ule, true) | (Sgt | Ugt, false) => {
                Some(Bound { value: value.shifted(1), comparison })
            }
            _ => None,
        }
    }

    /// A number that is never negative is never below zero: that ends no loop.
    fn floor(self) -> Option<Sym> {
        use CompareOp::{Eq, Ne, Sge, Sgt, Sle, Slt, Ugt, Ule};
        match (self.op, self.stays) {
            (Sge, true) | (Slt, false) => Some(self.value),
            (Sgt | Ugt | Ne, true) | (Sle | Ule | Eq, false) => Some(self.value.shifted(1)),
            _ => None,
        }
    }
}

struct Scope<'a> {
    function: &'a Function,
    cfg: &'a Cfg,
    syms: &'a SymTable,
    types: &'a TypeTable,
}

impl Scope<'_> {
    /// What the counter is compared with where the loop begins and is left when it is done. There may
    /// be other ways out; whoever relies on all rounds having been made looks at this one alone.
    ///
    /// What stands before the comparison is done once more than the rest. So it must not use the
    /// counter.
    fn left_at_top(&self, index: usize, phi: u32) -> Option<Left> {
        let header = self.cfg.loops[index].header;
        let (left, by) = self.left_from(index, header, phi)?;
        (by == 0 && !self.uses(header, phi)).then_some(left)
    }

    /// The same where the loop ends with the comparison. The first round is made whatever it says, so
    /// the numbers must be known; and what is compared is the counter of this round or of the next.
    fn left_at_bottom(
        &self,
        index: usize,
        phi: u32,
        (start, step): (&Sym, i64),
    ) -> Option<(Left, u32)> {
        let &[mut latch] = self.cfg.loops[index].latches.as_slice() else { return None };
        while let Some(before) = self.only_goes_on(index, latch) {
            latch = before;
        }
        let (mut left, by) = self.left_from(index, latch, phi)?;
        let (start, value) = (start.as_constant()?, left.value.as_constant()?);
        if step.abs() != 1 {
            return None;
        }
        // A round is made when what was compared in the one before, less by the step, held.
        left.value = Sym::constant(value.checked_sub(by)?.checked_add(step)?);
        let first = match step {
            1 => left.clone().bound()?.value.as_constant().is_some_and(|bound| start < bound),
            _ => left.clone().floor()?.as_constant().is_some_and(|floor| start >= floor),
        };
        // Numbers that are equal or not may be passed by; others are not left between.
        first.then_some((left, latch))
    }

    /// What leads to a block of the loop that does nothing but go on.
    fn only_goes_on(&self, index: usize, block: u32) -> Option<u32> {
        let own = &self.function.blocks[block as usize];
        let jumps = own.start.0 + 1 == own.end.0
            && matches!(self.function.instructions[own.start.index()].op, Op::Jump { .. });
        match self.cfg.predecessors[block as usize].as_slice() {
            &[before] if jumps && block != self.cfg.loops[index].header => Some(before),
            _ => None,
        }
    }

    /// How the counter, with something added, is compared at the end of a block that leaves the loop.
    fn left_from(&self, index: usize, block: u32, phi: u32) -> Option<(Left, i64)> {
        let body = &self.cfg.loops[index];
        let function = self.function;
        let end = function.blocks[block as usize].end.index();
        let Op::Branch { condition: Value::Inst(condition), then, otherwise } =
            &function.instructions.get(end.wrapping_sub(1))?.op
        else {
            return None;
        };
        let mut stays = body.contains(then.0);
        if stays == body.contains(otherwise.0) {
            return None;
        }
        let mut condition = &function.inst(*condition).op;
        while let Op::Binary {
            op: BinaryOp::Xor,
            left: Value::Inst(inner),
            right: Value::Int { bits: 1, .. },
        } = condition
        {
            stays = !stays;
            condition = &function.inst(*inner).op;
        }
        let Op::Compare { op, left, right } = condition else { return None };
        let counter = self.syms.value(left, self.types)?;
        if counter.terms.as_slice() != [(Atom::Inst(LOCAL, phi), 1)] {
            return None;
        }
        let value = self.syms.value(right, self.types)?;
        Some((Left { op: *op, stays, value }, counter.offset))
    }

    /// Whether the block does something that depends on the counter.
    fn uses(&self, block: u32, phi: u32) -> bool {
        let block = &self.function.blocks[block as usize];
        let mentions = |value: &&Value| match self.syms.value(value, self.types) {
            Some(sym) => sym.mentions(&|atom| *atom == Atom::Inst(LOCAL, phi)),
            None => !matches!(value, Value::Int { .. } | Value::Null),
        };
        (block.start.0..block.end.0).any(|inst| {
            let op = &self.function.instructions[inst as usize].op;
            let acts = matches!(
                op,
                Op::Load { .. }
                    | Op::Store { .. }
                    | Op::AtomicRmw { .. }
                    | Op::CompareExchange { .. }
                    | Op::MemCopy { .. }
                    | Op::MemSet { .. }
                    | Op::Call { .. }
            );
            acts && op.operands().iter().any(mentions)
        })
    }
}
