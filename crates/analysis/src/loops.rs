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
    // A narrow counter comes round to values that it had before.
    if matches!(types.get(instruction.ty), Type::Int { bits } if *bits < 32) {
        return None;
    }
    let block = cfg.block_of[phi as usize];
    let body = cfg.loop_at(block)?;
    let index = cfg.headed[block as usize] as usize;
    let (mut start, mut step) = (None, None);
    for edge in incoming {
        if body.contains(edge.block.0) {
            let grown = step_of(function, &edge.value, phi)?;
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
    let bound = bound(function, cfg, syms, types, index, phi);
    Some(Induction { start: start?, step: step?, index: index as u32, bound })
}

fn step_of(function: &Function, value: &Value, phi: u32) -> Option<i64> {
    let Value::Inst(InstId(inst)) = value else { return None };
    match &function.instructions[*inst as usize].op {
        Op::Binary { op, left: Value::Inst(InstId(left)), right: Value::Int { bits, .. } }
            if *left == phi =>
        {
            let by = *bits as i32 as i64;
            match op {
                BinaryOp::Add => Some(by),
                BinaryOp::Sub => Some(-by),
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

/// What the counter is compared with where the loop is left when it is done. There may be other
/// ways out; whoever relies on all rounds having been made looks at this one alone.
fn bound(
    function: &Function,
    cfg: &Cfg,
    syms: &SymTable,
    types: &TypeTable,
    index: usize,
    phi: u32,
) -> Option<Sym> {
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
    let bound = syms.value(right, types)?;
    match (op, stays) {
        (CompareOp::Slt | CompareOp::Ult | CompareOp::Ne, true)
        | (CompareOp::Sge | CompareOp::Uge | CompareOp::Eq, false) => Some(bound),
        (CompareOp::Sle | CompareOp::Ule, true) | (CompareOp::Sgt | CompareOp::Ugt, false) => {
            Some(bound.shifted(1))
        }
        _ => None,
    }
}
