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
            if start.as_ref().is_some_and(|known| *known != value) {
                return None;
            }
            start = Some(value);
        }
    }
    let step = step?;
    let bound = bound(function, cfg, syms, types, index, phi);
    if comes_round(bits, step, bound.as_ref()) {
        return None;
    }
    let bound = bound.map(|bound| bound.value);
    let left = left_at(function, cfg, syms, types, index, phi).filter(|_| step < 0);
    let floor = left.and_then(|left| left.floor());
    Some(Induction { start: start?, step, index: index as u32, bound, floor })
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

/// What the counter is compared with where the loop is left when it is done. There may be other
/// ways out; whoever relies on all rounds having been made looks at this one alone.
fn bound(
    function: &Function,
    cfg: &Cfg,
    syms: &SymTable,
    types: &TypeTable,
    index: usize,
    phi: u32,
) -> Option<Bound> {
    left_at(function, cfg, syms, types, index, phi)?.bound()
}

fn left_at(
    function: &Function,
    cfg: &Cfg,
    syms: &SymTable,
    types: &TypeTable,
    index: usize,
    phi: u32,
) -> Option<Left> {
    let body = &cfg.loops[index];
    let end = function.blocks[body.header as usize].end.index();
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
    let counter = syms.value(left, types)?;
    if counter.as_atom() != Some(&Atom::Inst(LOCAL, phi)) {
        return None;
    }
    let value = syms.value(right, types)?;
    Some(Left { op: *op, stays, value })
}
