//! Containers of threads whose elements are nodes, and containers that are found empty.
//!
//! A list is walked from node to node, by the link at a node's beginning. A loop that starts at the
//! first node, goes to the next in each round and is left only where there is none has seen them all.
//!
//! A container that is empty has had its threads taken out. They were not moved (that loses them, see
//! [`super::containers`]), so their objects were destroyed, which ends the program for a thread that can
//! still be joined: all of them have been.

use racewarden_ir::{Callee, CompareOp, InstId, Op, Value};
use racewarden_models::Member;

use super::Flow;
use super::containers::Element;
use crate::state::{HandleRange, Path};
use crate::sym::{Atom, LOCAL, Sym};

impl Flow<'_> {
    /// What a phi starts at that goes from node to node in each round of its loop.
    pub(super) fn linked_from(&self, phi: u32) -> Option<Sym> {
        let Op::Phi { incoming } = &self.function.instructions[phi as usize].op else {
            return None;
        };
        let header = self.cfg.block_of[phi as usize];
        let body = self.cfg.loop_at(header)?;
        let mut start = None;
        let mut steps = false;
        for edge in incoming {
            if body.contains(edge.block.0) {
                if !self.is_next_node(&edge.value, phi) {
                    return None;
                }
                steps = true;
            } else if start.replace(self.sym(&edge.value)?).is_some() {
                return None;
            }
        }
        start.filter(|_| steps)
    }

    fn is_next_node(&self, value: &Value, phi: u32) -> bool {
        let Value::Inst(InstId(step)) = value else { return false };
        let is_phi = |value: &Value| {
            let sym = self.sym(value);
            sym.is_some_and(|sym| sym.as_atom() == Some(&Atom::Inst(LOCAL, phi)))
        };
        let step = &self.function.instructions[*step as usize].op;
        matches!(step, Op::Load { address, order: None, .. } if is_phi(address))
    }

    /// The loop that walks over all nodes of the container, and the container.
    pub(super) fn joins_linked(&self, element: &Element, phi: u32) -> Option<(u32, HandleRange)> {
        let header = self.cfg.block_of[phi as usize];
        let index = self.cfg.headed[header as usize];
        let first = self.member_result(&self.linked_from(phi)?, Member::First)?;
        let end = self.function.blocks[header as usize].end.index();
        let Op::Branch { condition: Value::Inst(condition), then, otherwise } =
            &self.function.instructions[end - 1].op
        else {
            return None;
        };
        let Op::Compare { op, left, right } = &self.function.inst(*condition).op else {
            return None;
        };
        let body = &self.cfg.loops[index as usize];
        let left_at = match op {
            CompareOp::Eq => then.0,
            CompareOp::Ne => otherwise.0,
            _ => return None,
        };
        let own = Sym::inst(LOCAL, phi);
        let (left, right) = (self.sym(left)?, self.sym(right)?);
        let other = if left == own { right } else { left };
        let past = self.member_result(&other, Member::Past)?;
        let whole = then != otherwise
            && !body.contains(left_at)
            && self.sym(&past.1).as_ref() == Some(&element.container)
            && self.keeps(&element.given)
            && self.is_settled(index, &[first.0, past.0], &element.container, &element.given);
        whole.then(|| (index, HandleRange::container(element.container.clone())))
    }

    /// The way is taken only where a container has no elements: its threads have ended.
    pub(super) fn leave_empty(&self, block: u32, to: u32, path: &mut Path) {
        let end = self.function.blocks[block as usize].end.index();
        let Op::Branch { condition, then, otherwise } = &self.function.instructions[end - 1].op
        else {
            return;
        };
        if then == otherwise || path.threads.is_empty() {
            return;
        }
        let found = self.tells_empty(condition, then.0 == to);
        let Some((call, given)) = found else { return };
        let near = self.cfg.block_of[call as usize] == block
            && (call + 1..end as u32).all(|inst| self.leaves_alone(inst, &given));
        if near
            && self.keeps(&given)
            && let Some(container) = self.sym(&given)
        {
            path.join_range(&HandleRange::container(container), |_| false);
        }
    }

    /// The first call by which the value, when it is as said, tells that a container is empty.
    fn tells_empty(&self, value: &Value, holds: bool) -> Option<(u32, Value)> {
        let Value::Inst(inst) = value else { return None };
        let zero = |value: &Value| matches!(value, Value::Int { bits: 0, .. });
        match &self.function.inst(*inst).op {
            Op::Binary { op: racewarden_ir::BinaryOp::Xor, left, right } => {
                let not = matches!(right, Value::Int { bits: 1, .. });
                if not { self.tells_empty(left, !holds) } else { None }
            }
            Op::Call { .. } if holds => self.member_result(&self.sym(value)?, Member::Empty),
            Op::Compare { op, left, right } => {
                let equal = match op {
                    CompareOp::Eq => holds,
                    CompareOp::Ne => !holds,
                    CompareOp::Ugt if zero(right) => !holds,
                    _ => return None,
                };
                if !equal {
                    return None;
                }
                let left = self.sym(left)?;
                if zero(right) {
                    return self.member_result(&left, Member::Size);
                }
                let right = self.sym(right)?;
                let first = self.member_result(&left, Member::First)?;
                let past = self.member_result(&right, Member::Past)?;
                let same = self.sym(&first.1)? == self.sym(&past.1)?;
                same.then_some(if first.0 < past.0 { first } else { past })
            }
            _ => None,
        }
    }

    /// Whether the instruction is no call, or one that only asks the container.
    fn leaves_alone(&self, inst: u32, given: &Value) -> bool {
        let Op::Call { callee, arguments, .. } = &self.function.instructions[inst as usize].op
        else {
            return true;
        };
        let Callee::Direct(target) = callee else { return false };
        let asks = matches!(
            self.env.effects.member(*target),
            Some((Member::First | Member::Past | Member::Size | Member::Empty, _))
        );
        asks && arguments.first() == Some(given)
    }
}
