//! What is known of indices because sizes are powers of two: the loops of a fast Fourier transform.
//!
//! A size is a power of two when a global gets nothing but such numbers and its own double before there
//! are threads; a counter is one when it starts at one and doubles. Below a power of two stay
//!
//! - values that are made by bitwise operations of nothing but zero and the size shifted down (the index
//!   with its bits in reverse);
//! - with a whole step of it, a counter that starts at zero and goes in steps of a smaller power of two.
//!
//! A global that was never written is zero and no power of two; so one is only looked at where a loop
//! runs that ends below it.

use racewarden_ir::{BinaryOp, CompareOp, FunctionId, InstId, Op, Value};

use super::poly::{FrameId, Poly, Var};
use super::ways::Reader;
use crate::pointsto::{Location, ObjectKind};
use crate::sharing::MOST_WRITES;

/// Instructions that are looked through.
const MOST: usize = 24;

type Seen = Vec<(FrameId, u32)>;

impl Reader<'_, '_> {
    /// The bounds of a value that does not just count.
    pub(super) fn power_bound(
        &mut self,
        frame: FrameId,
        inst: u32,
    ) -> Option<(Poly, Option<Poly>)> {
        let body = self.body(frame);
        let op = &body.instructions.get(inst as usize)?.op;
        let value = Value::Inst(InstId(inst));
        let mut size = None;
        if matches!(op, Op::Phi { .. } | Op::Binary { .. })
            && self.has_bits(frame, &value, &mut Seen::new(), &mut size)
            && let Some(size) = size
            && self.is_reached(frame, &size)
        {
            return Some((Poly::number(0), Some(size)));
        }
        let Op::Phi { incoming } = op else { return None };
        let at = self.place(frame)?;
        let flow = self.flow(frame);
        let cfg = &flow.0;
        let around = cfg.loop_at(cfg.block_of[inst as usize])?;
        let block = cfg.block_of[at as usize];
        if !around.contains(block) || block == around.header {
            return None;
        }
        let high = self.compared(frame, inst, around.header, &|block| around.contains(block))?;
        let high = self.value(frame, &high)?;
        if self.is_power(frame, &value, &mut Seen::new()) {
            return Some((Poly::number(1), Some(high)));
        }
        let is_inside = |block: u32| around.contains(block);
        let (mut step, mut start) = (None, None);
        for edge in incoming {
            let into = if is_inside(edge.block.0) { &mut step } else { &mut start };
            if into.replace(&edge.value).is_some() {
                return None;
            }
        }
        let Value::Inst(next) = step? else { return None };
        let Op::Binary { op: BinaryOp::Add, left: Value::Inst(own), right: by } =
            &body.inst(*next).op
        else {
            return None;
        };
        if own.0 != inst || !matches!(start?, Value::Int { bits: 0, .. }) {
            return None;
        }
        let step = self.value(frame, by)?;
        let mut terms = step.terms();
        let ([Var::Local(own, half)], 1 | 2) = terms.next().map(|(list, by)| (&list[..], by))?
        else {
            return None;
        };
        let (own, half) = (*own, *half);
        let is_outside = own != frame || !is_inside(cfg.block_of[half as usize]);
        let doubled = Value::Inst(InstId(half));
        let fits = terms.next().is_none()
            && is_outside
            && self.is_power(own, &doubled, &mut Seen::new())
            && self.power_bound(own, half)?.1 == Some(high.clone())
            && self.is_size(&high);
        if !fits {
            return None;
        }
        Some((Poly::number(0), Some(high.minus(&step)?.shifted(1)?)))
    }

    /// What the loop goes on below, as far as the counter says.
    fn compared(
        &self,
        frame: FrameId,
        phi: u32,
        header: u32,
        is_inside: &dyn Fn(u32) -> bool,
    ) -> Option<Value> {
        let body = self.body(frame);
        let last = body.blocks[header as usize].end.index().checked_sub(1)?;
        let Op::Branch { condition: Value::Inst(condition), then, otherwise } =
            &body.instructions[last].op
        else {
            return None;
        };
        match &body.inst(*condition).op {
            Op::Compare { op: CompareOp::Slt | CompareOp::Ult, left: Value::Inst(own), right }
                if own.0 == phi && is_inside(then.0) && !is_inside(otherwise.0) =>
            {
                Some(right.clone())
            }
            _ => None,
        }
    }

    /// Whether a loop runs that begins at zero or above and ends below the size.
    fn is_reached(&mut self, frame: FrameId, size: &Poly) -> bool {
        let Some(at) = self.place(frame) else { return false };
        let flow = self.flow(frame);
        let cfg = &flow.0;
        let block = cfg.block_of[at as usize];
        let body = self.body(frame);
        let headers = cfg.loops.iter().filter(|own| own.contains(block)).map(|own| own.header);
        headers.collect::<Vec<u32>>().into_iter().any(|header| {
            let head = &body.blocks[header as usize];
            (head.start.0..head.end.0).any(|phi| {
                self.counted(frame, phi).is_some_and(|(low, high)| {
                    low.as_number().is_some_and(|low| low >= 0) && high.as_ref() == Some(size)
                })
            })
        })
    }

    fn is_power(&mut self, frame: FrameId, value: &Value, seen: &mut Seen) -> bool {
        if seen.len() > MOST {
            return false;
        }
        let inst = match value {
            Value::Int { bits, .. } => return bits.is_power_of_two(),
            Value::Inst(inst) => *inst,
            _ => return false,
        };
        if seen.contains(&(frame, inst.0)) {
            return true;
        }
        let body = self.body(frame);
        match &body.inst(inst).op {
            Op::Phi { incoming } => {
                seen.push((frame, inst.0));
                incoming.iter().all(|edge| self.is_power(frame, &edge.value, seen))
            }
            op => doubles(op).is_some_and(|value| self.is_power(frame, value, seen)),
        }
    }

    /// Whether it is a global that has only powers of two.
    fn is_size(&self, size: &Poly) -> bool {
        let Some(Var::Load(at, bytes)) = size.as_var() else { return false };
        let Some(Var::Global(global)) = at.as_var() else { return false };
        let instantiation = self.whole.instantiation;
        let objects = &instantiation.points.locations().objects;
        let Some(object) = objects.iter().position(|kind| *kind == ObjectKind::Global(*global))
        else {
            return false;
        };
        let place = Location { object: object as u32, offset: 0, stride: 0 };
        let initial = instantiation.bodies.global(*global).initializer.as_ref();
        let is_zero = initial.is_some_and(|initial| {
            initial.pointers.is_empty() && initial.bytes.iter().all(|byte| *byte == 0)
        });
        let Some(writes) = instantiation.writes_of(place.object) else { return false };
        let is_there = |function: FunctionId, address: &Value| {
            *instantiation.points.value(&instantiation.bodies, function, address) == [place]
        };
        is_zero
            && !instantiation.points.in_blob(place.object)
            && writes.len() <= MOST_WRITES
            && writes.iter().all(|&(function, inst)| {
                let body = instantiation.bodies.of(function);
                let Op::Store { address, value, size, order: None, .. } =
                    &body.inst(InstId(inst)).op
                else {
                    return false;
                };
                let is_power = match value {
                    Value::Int { bits, .. } => bits.is_power_of_two(),
                    Value::Inst(next) => match doubles(&body.inst(*next).op) {
                        Some(Value::Inst(own)) => matches!(&body.inst(*own).op,
                            Op::Load { address, size, .. }
                                if size == bytes && is_there(function, address)),
                        _ => false,
                    },
                    _ => false,
                };
                size == bytes && is_there(function, address) && is_power
            })
    }

    /// Whether the instruction may make a value of bits.
    fn is_bits(&self, frame: FrameId, inst: InstId) -> bool {
        let op = &self.body(frame).inst(inst).op;
        matches!(op, Op::Phi { .. })
            || matches!(op, Op::Binary { op, .. } if *op != BinaryOp::Add && *op != BinaryOp::Sub)
    }

    /// Whether the value is made of bits below the highest one of a size.
    fn has_bits(
        &mut self,
        frame: FrameId,
        value: &Value,
        seen: &mut Seen,
        size: &mut Option<Poly>,
    ) -> bool {
        if seen.len() > MOST {
            return false;
        }
        let inst = match value {
            Value::Int { bits, .. } => return *bits == 0,
            Value::Inst(inst) => *inst,
            _ => return false,
        };
        if seen.contains(&(frame, inst.0)) {
            return true;
        }
        seen.push((frame, inst.0));
        let body = self.body(frame);
        match &body.inst(inst).op {
            Op::Phi { incoming } => {
                incoming.iter().all(|edge| self.has_bits(frame, &edge.value, seen, size))
            }
            Op::Binary { op: BinaryOp::Xor | BinaryOp::Or, left, right } => {
                self.has_bits(frame, left, seen, size) && self.has_bits(frame, right, seen, size)
            }
            Op::Binary {
                op: BinaryOp::AShr | BinaryOp::LShr,
                left,
                right: Value::Int { bits: 1..32, .. },
            } => {
                if let Value::Inst(own) = left
                    && (self.is_bits(frame, *own) || seen.contains(&(frame, own.0)))
                {
                    return self.has_bits(frame, left, seen, size);
                }
                let Some(whole) = self.value(frame, left).filter(Poly::is_common) else {
                    return false;
                };
                let same = size.as_ref().is_none_or(|known| *known == whole);
                *size = Some(whole);
                same
            }
            _ => false,
        }
    }
}

/// What the operation makes a power of two of, when it is one.
fn doubles(op: &Op) -> Option<&Value> {
    match op {
        Op::Binary { op: BinaryOp::Mul, left, right: Value::Int { bits, .. } }
            if bits.is_power_of_two() =>
        {
            Some(left)
        }
        Op::Binary { op: BinaryOp::Mul, left: Value::Int { bits, .. }, right }
            if bits.is_power_of_two() =>
        {
            Some(right)
        }
        Op::Binary { op: BinaryOp::Shl, left, right: Value::Int { bits: 0..32, .. } } => Some(left),
        _ => None,
    }
}
