//! Values along a recorded path: known numbers, and expressions over what shared reads give.
//!
//! Floating-point numbers are only computed from known numbers. Every expression also has the number it had in the recording, so that it can be pinned to it.

use racewarden_ir::{BinaryOp, CastOp, CompareOp};

use super::walk::floating;

/// An expression of the arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExprId(pub u32);

/// What a register holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Val {
    /// The same number in every schedule that follows the path.
    Known(u64),
    /// Some fixed value that the model does not compute: everything it was made from is pinned.
    Opaque,
    Symbolic(ExprId),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExprKind {
    Const,
    /// What the shared read with this number gives.
    Read(u32),
    Binary(BinaryOp, ExprId, ExprId),
    Compare(CompareOp, ExprId, ExprId),
    Cast(CastOp, ExprId),
    Select(ExprId, ExprId, ExprId),
}

impl ExprKind {
    pub fn operands(self) -> impl Iterator<Item = ExprId> {
        let list = match self {
            ExprKind::Const | ExprKind::Read(_) => [None, None, None],
            ExprKind::Binary(_, a, b) | ExprKind::Compare(_, a, b) => [Some(a), Some(b), None],
            ExprKind::Cast(_, a) => [Some(a), None, None],
            ExprKind::Select(c, a, b) => [Some(c), Some(a), Some(b)],
        };
        list.into_iter().flatten()
    }
}

/// Deeper expressions are not followed: their operands keep the numbers they had.
const MOST_DEPTH: u32 = 1_000;

#[derive(Debug, Clone, Copy)]
pub struct Expr {
    pub kind: ExprKind,
    /// Width in bits, 1 to 64.
    pub width: u32,
    /// Its number in the recording.
    pub value: u64,
    /// One more than the latest read in it; 0 without one.
    reads_until: u32,
    depth: u32,
}

/// The expressions of one thread's path.
#[derive(Debug, Clone, Default)]
pub struct Arena {
    pub exprs: Vec<Expr>,
}

impl Arena {
    pub fn get(&self, id: ExprId) -> Expr {
        self.exprs[id.0 as usize]
    }

    pub fn add(&mut self, kind: ExprKind, width: u32, value: u64) -> ExprId {
        let operands = || kind.operands().map(|operand| self.get(operand));
        let reads_until = match kind {
            ExprKind::Read(number) => number + 1,
            _ => operands().map(|operand| operand.reads_until).max().unwrap_or(0),
        };
        let depth = operands().map(|operand| operand.depth + 1).max().unwrap_or(0);
        self.exprs.push(Expr { kind, width, value: mask(value, width), reads_until, depth });
        ExprId(self.exprs.len() as u32 - 1)
    }

    /// Whether all reads in it are among the first `reads` events, so that it has its recorded
    /// number when those happen as recorded.
    pub fn is_settled(&self, id: ExprId, reads: usize) -> bool {
        self.get(id).reads_until as usize <= reads
    }

    /// The last event that it reads from.
    pub fn latest_read(&self, id: ExprId) -> Option<usize> {
        self.get(id).reads_until.checked_sub(1).map(|number| number as usize)
    }

    fn is_deep(&self, val: Val) -> bool {
        matches!(val, Val::Symbolic(id) if self.get(id).depth >= MOST_DEPTH)
    }

    fn id_of(&mut self, val: Val, width: u32) -> Option<ExprId> {
        match val {
            Val::Known(value) => Some(self.add(ExprKind::Const, width, value)),
            Val::Opaque => None,
            Val::Symbolic(id) => Some(id),
        }
    }

    fn number(&self, val: Val) -> Option<u64> {
        match val {
            Val::Known(value) => Some(value),
            Val::Opaque => None,
            Val::Symbolic(id) => Some(self.get(id).value),
        }
    }

    /// `None`: not modelled; the caller pins the operands.
    pub fn binary(&mut self, op: BinaryOp, width: u32, left: Val, right: Val) -> Option<Val> {
        let (a, b) = (self.number(left)?, self.number(right)?);
        let value = mask(eval_binary(op, width, a, b)?, width);
        if let (Val::Known(_), Val::Known(_)) = (left, right) {
            return Some(Val::Known(value));
        }
        if is_floating(op) {
            return None;
        }
        // A symbolic divisor could be zero under another schedule, and then there is no result.
        let divides =
            matches!(op, BinaryOp::UDiv | BinaryOp::SDiv | BinaryOp::URem | BinaryOp::SRem);
        let shifts = matches!(op, BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr);
        if (divides || shifts) && !matches!(right, Val::Known(_)) {
            return None;
        }
        if self.is_deep(left) || self.is_deep(right) {
            return None;
        }
        let (left, right) = (self.id_of(left, width)?, self.id_of(right, width)?);
        Some(Val::Symbolic(self.add(ExprKind::Binary(op, left, right), width, value)))
    }

    pub fn compare(&mut self, op: CompareOp, width: u32, left: Val, right: Val) -> Option<Val> {
        let (a, b) = (self.number(left)?, self.number(right)?);
        let value = u64::from(eval_compare(op, width, a, b)?);
        if let (Val::Known(_), Val::Known(_)) = (left, right) {
            return Some(Val::Known(value));
        }
        if matches!(op, CompareOp::Float(_)) {
            return None;
        }
        let (left, right) = (self.id_of(left, width)?, self.id_of(right, width)?);
        Some(Val::Symbolic(self.add(ExprKind::Compare(op, left, right), 1, value)))
    }

    pub fn cast(&mut self, op: CastOp, from: u32, to: u32, operand: Val) -> Option<Val> {
        let number = self.number(operand)?;
        let value = match op {
            CastOp::SExt => mask(sign_extend(number, from) as u64, to),
            CastOp::Trunc | CastOp::ZExt | CastOp::PtrToInt | CastOp::IntToPtr => mask(number, to),
            CastOp::BitCast | CastOp::AddrSpaceCast if from == to => number,
            _ => return None,
        };
        match operand {
            Val::Known(_) => Some(Val::Known(value)),
            _ if from == to => Some(operand),
            _ => {
                if self.is_deep(operand) {
                    return None;
                }
                let operand = self.id_of(operand, from)?;
                Some(Val::Symbolic(self.add(ExprKind::Cast(op, operand), to, value)))
            }
        }
    }

    pub fn select(&mut self, width: u32, condition: Val, then: Val, otherwise: Val) -> Option<Val> {
        match condition {
            Val::Known(0) => Some(otherwise),
            Val::Known(_) => Some(then),
            Val::Opaque => None,
            Val::Symbolic(id) => {
                let chosen = if self.get(id).value != 0 { then } else { otherwise };
                let value = self.number(chosen)?;
                if [condition, then, otherwise].into_iter().any(|val| self.is_deep(val)) {
                    return None;
                }
                let (then, otherwise) = (self.id_of(then, width)?, self.id_of(otherwise, width)?);
                Some(Val::Symbolic(self.add(ExprKind::Select(id, then, otherwise), width, value)))
            }
        }
    }

    pub fn value_of(&self, val: Val) -> Option<u64> {
        self.number(val)
    }
}

/// The low `width` bits.
pub fn mask(value: u64, width: u32) -> u64 {
    if width >= 64 { value } else { value & ((1 << width) - 1) }
}

pub fn sign_extend(value: u64, width: u32) -> i64 {
    let shift = 64 - width.clamp(1, 64);
    ((value << shift) as i64) >> shift
}

fn is_floating(op: BinaryOp) -> bool {
    use BinaryOp::*;
    matches!(op, FAdd | FSub | FMul | FDiv | FRem)
}

/// `None` for what has no defined result.
fn eval_binary(op: BinaryOp, width: u32, a: u64, b: u64) -> Option<u64> {
    let (sa, sb) = (sign_extend(a, width), sign_extend(b, width));
    let shift = u32::try_from(b).ok().filter(|&shift| shift < width);
    Some(match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::UDiv => a.checked_div(b)?,
        BinaryOp::URem => a.checked_rem(b)?,
        BinaryOp::SDiv => sa.checked_div(sb)? as u64,
        BinaryOp::SRem => sa.checked_rem(sb)? as u64,
        BinaryOp::Shl => a << shift?,
        BinaryOp::LShr => a >> shift?,
        BinaryOp::AShr => (sa >> shift?) as u64,
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::FAdd | BinaryOp::FSub | BinaryOp::FMul | BinaryOp::FDiv | BinaryOp::FRem => {
            return floating::binary(op, width, a, b);
        }
    })
}

fn eval_compare(op: CompareOp, width: u32, a: u64, b: u64) -> Option<bool> {
    let (sa, sb) = (sign_extend(a, width), sign_extend(b, width));
    Some(match op {
        CompareOp::Eq => a == b,
        CompareOp::Ne => a != b,
        CompareOp::Ugt => a > b,
        CompareOp::Uge => a >= b,
        CompareOp::Ult => a < b,
        CompareOp::Ule => a <= b,
        CompareOp::Sgt => sa > sb,
        CompareOp::Sge => sa >= sb,
        CompareOp::Slt => sa < sb,
        CompareOp::Sle => sa <= sb,
        CompareOp::Float(predicate) => return floating::compare(predicate, width, a, b),
    })
}
