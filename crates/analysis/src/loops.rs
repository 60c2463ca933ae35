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
    /// The check of the bound is the only way out of the loop.
    pub single_exit: bool,
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
    let (bound, single_exit) = exits(function, cfg, syms, types, index, phi);
    Some(Induction { start: start?, step: step?, index: index as u32, bound, single_exit })
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

fn exits(
    function: &Function,
    cfg: &Cfg,
    syms: &SymTable,
    types: &TypeTable,
    index: usize,
    phi: u32,
) -> (Option<Sym>, bool) {
    let body = &cfg.loops[index];
    let mut single = true;
    for &block in &body.blocks {
        for &to in &cfg.successors[block as usize] {
            if !body.contains(to) && block != body.header && !never_returns(function, to) {
                single = false;
            }
        }
    }
    let end = function.blocks[body.header as usize].end.index();
    let Some(Op::Branch { condition: Value::Inst(condition), then, otherwise }) =
        function.instructions.get(end.wrapping_sub(1)).map(|i| &i.op)
    else {
        return (None, false);
    };
    let Op::Compare { op, left, right } = &function.inst(*condition).op else {
        return (None, false);
    };
    let stays = body.contains(then.0) && !body.contains(otherwise.0);
    let counter = syms.value(left, types);
    let is_counter = counter.as_ref().and_then(Sym::as_atom) == Some(&Atom::Inst(LOCAL, phi));
    let bound = syms.value(right, types);
    match op {
        CompareOp::Slt | CompareOp::Ult | CompareOp::Ne if stays && is_counter => (bound, single),
        CompareOp::Sle | CompareOp::Ule if stays && is_counter => {
            (bound.map(|bound| bound.shifted(1)), single)
        }
        _ => (None, false),
    }
}

/// Whether the block ends the program (an error exit of a loop).
pub fn never_returns(function: &Function, block: u32) -> bool {
    let block = &function.blocks[block as usize];
    block.end.0 > block.start.0
        && matches!(function.instructions[block.end.index() - 1].op, Op::Unreachable)
}
