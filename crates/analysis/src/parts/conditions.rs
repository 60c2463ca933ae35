//! What the branches before an access say, as far as it is that two numbers are equal.
//!
//! A branch counts where one of its ways alone leads to the access: what was compared there has not been
//! computed anew since. Comparisons in functions that are called for it are looked into.

use racewarden_ir::{BinaryOp, CastOp, CompareOp, Op, Value};

use super::callers::MAX_CALLS;
use super::poly::{FrameId, Poly};
use super::ways::Reader;

/// Branches before an access whose conditions are looked at.
const MAX_BRANCHES: usize = 24;

impl Reader<'_, '_> {
    /// What conditions say is zero where the frame is.
    pub(super) fn zeros(&mut self, frame: FrameId) -> Vec<Poly> {
        let conditions = self.conditions(frame);
        conditions
            .into_iter()
            .filter_map(|(condition, holds)| self.zero(frame, &condition, holds, 0))
            .collect()
    }

    /// The conditions that hold where the frame is, and those that do not.
    pub(super) fn conditions(&self, frame: FrameId) -> Vec<(Value, bool)> {
        let own = &self.frames[frame as usize];
        let (Some(at), flow) = (own.at, own.flow.clone()) else { return Vec::new() };
        let cfg = &flow.0;
        let body = self.body(frame);
        let block = cfg.block_of[at as usize];
        let mut found = Vec::new();
        let mut from = block;
        for _ in 0..MAX_BRANCHES {
            let before = cfg.dominator[from as usize];
            if before == from || before == crate::cfg::NONE {
                break;
            }
            from = before;
            let end = body.blocks[from as usize].end.index();
            let Some(Op::Branch { condition, then, otherwise }) =
                end.checked_sub(1).map(|last| &body.instructions[last].op)
            else {
                continue;
            };
            for (to, other, holds) in [(then, otherwise, true), (otherwise, then, false)] {
                let only = cfg.predecessors[to.0 as usize].as_slice() == [from];
                if to != other && only && cfg.dominates(to.0, block) {
                    found.push((condition.clone(), holds));
                }
            }
        }
        found
    }

    /// What is zero where the condition holds, or does not.
    fn zero(&mut self, frame: FrameId, value: &Value, holds: bool, depth: usize) -> Option<Poly> {
        let Value::Inst(inst) = value else { return None };
        if depth > MAX_CALLS {
            return None;
        }
        match &self.body(frame).inst(*inst).op {
            Op::Binary { op: BinaryOp::Xor, left, right: Value::Int { bits: 1, .. } } => {
                self.zero(frame, left, !holds, depth + 1)
            }
            Op::Cast { op: CastOp::ZExt | CastOp::Trunc, value } => {
                self.zero(frame, value, holds, depth + 1)
            }
            Op::Call { .. } => {
                let (within, value) = self.result(frame, inst.0)?;
                self.zero(within, &value, holds, depth + 1)
            }
            Op::Compare { op, left, right } => {
                let equal = match op {
                    CompareOp::Eq => holds,
                    CompareOp::Ne => !holds,
                    _ => return None,
                };
                let none = matches!(right, Value::Int { bits: 0, .. });
                if none && let Some(found) = self.flag(frame, left, !equal, depth + 1) {
                    return Some(found);
                }
                let difference = self.value(frame, left)?.minus(&self.value(frame, right)?)?;
                equal.then_some(difference)
            }
            _ => None,
        }
    }

    /// The same of a number that is one or zero.
    fn flag(&mut self, frame: FrameId, value: &Value, holds: bool, depth: usize) -> Option<Poly> {
        let Value::Inst(inst) = value else { return None };
        let is_flag = |frame: FrameId, value: &Value| {
            let Value::Inst(inst) = value else { return false };
            matches!(self.body(frame).inst(*inst).op,
                Op::Cast { op: CastOp::ZExt, value: Value::Inst(from) }
                    if matches!(self.body(frame).inst(from).op, Op::Compare { .. }))
        };
        if is_flag(frame, value) {
            return self.zero(frame, value, holds, depth);
        }
        let Op::Call { .. } = &self.body(frame).inst(*inst).op else { return None };
        let (within, value) = self.result(frame, inst.0)?;
        self.flag(within, &value, holds, depth + 1)
    }
}
