//! Parts of one array that never meet: what the loops around the accesses say of their indices.
//!
//! An access `base + offset + scale·i` in a loop that runs `i` from one constant to another touches
//! a stretch of bytes, and of it only every `scale·step`-th place. Two accesses to one base are apart
//! when their stretches are, or when their places never fall together (even and odd elements).
//! Only counters that start, step and end at constants are followed, in the function itself. An index
//! that a thread finds in memory which its creator filled with a constant is that constant.

use std::sync::{Arc, Mutex, PoisonError};

use racewarden_ir::{CompareOp, FunctionId, Op, Value};
use rustc_hash::FxHashMap;

use crate::cfg::Cfg;
use crate::contexts::GuardedAccess;
use crate::digests::{Digest, Whole};
use crate::loops::induction;
use crate::pointsto::gcd;
use crate::sym::{Atom, Frame, Sym, SymTable, Unknowing};

pub struct Ranges;

impl Digest for Ranges {
    fn name(&self) -> &'static str {
        "range"
    }

    fn excludes(&self, a: &GuardedAccess, b: &GuardedAccess, whole: &Whole<'_>) -> Option<String> {
        let (x, y) = (stretch(a, whole)?, stretch(b, whole)?);
        x.is_apart(&y).then(|| "the loops work on different parts of the array".to_owned())
    }
}

/// The bytes that an access may touch, from its base on.
#[derive(Debug)]
struct Stretch {
    base: Sym,
    low: i64,
    high: i64,
    /// Bytes from one place to the next; 0 for one place.
    stride: i64,
    size: i64,
}

impl Stretch {
    fn is_apart(&self, other: &Stretch) -> bool {
        if self.base != other.base {
            return false;
        }
        if self.high <= other.low || other.high <= self.low {
            return true;
        }
        let stride = gcd(self.stride.unsigned_abs() as u32, other.stride.unsigned_abs() as u32);
        if stride == 0 {
            return false;
        }
        let distance = (other.low - self.low).rem_euclid(i64::from(stride));
        self.size <= distance && other.size <= i64::from(stride) - distance
    }
}

/// Control flow and values of the functions that were asked about.
#[derive(Default)]
pub struct Flows {
    known: Mutex<FxHashMap<FunctionId, Arc<(Cfg, SymTable)>>>,
}

impl Flows {
    fn of(
        &self,
        function: FunctionId,
        new: impl FnOnce() -> (Cfg, SymTable),
    ) -> Arc<(Cfg, SymTable)> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(function).or_insert_with(|| Arc::new(new())).clone()
    }
}

/// Numbers beyond this are not looked at.
const LARGE: i64 = 1 << 30;

fn stretch(access: &GuardedAccess, whole: &Whole<'_>) -> Option<Stretch> {
    let address = &folded(access.address.as_ref()?, whole);
    let size = i64::try_from(access.size).ok().filter(|size| *size < LARGE)?;
    let counted = address.terms.iter().find(|(atom, _)| is_counter(atom, access, whole));
    let (base, from, to, stride) = match counted {
        None => (address.clone(), 0, 0, 0),
        Some((atom, scale)) => {
            let Atom::Inst(_, phi) = atom else { return None };
            let (first, last, step) = counter(access, *phi, whole)?;
            let (from, to) = (first.checked_mul(*scale)?, last.checked_mul(*scale)?);
            let base = address.plus(&Sym::atom(atom.clone()).scaled(-scale));
            (base, from.min(to), from.max(to), scale.checked_mul(step)?)
        }
    };
    let offset = base.offset;
    let base = base.shifted(-offset);
    if base.terms.is_empty() || !whole.is_invariant(&base) {
        return None;
    }
    let inside = |value: i64| (-LARGE..LARGE).contains(&value);
    if !(inside(offset) && inside(from) && inside(to) && inside(stride)) {
        return None;
    }
    Some(Stretch { base, low: offset + from, high: offset + to + size, stride, size })
}

/// The value with what is loaded from constant words put in.
fn folded(value: &Sym, whole: &Whole<'_>) -> Sym {
    let loads = |atom: &Atom| matches!(atom, Atom::Inst(frame, _) if *frame != 0);
    if !value.terms.iter().any(|(atom, _)| loads(atom)) || whole.orders.constants(whole).is_empty()
    {
        return value.clone();
    }
    let mut result = value.clone();
    for (atom, scale) in &value.terms {
        if let Atom::Inst(frame, inst) = atom
            && *frame != 0
            && let Some(number) = constant(*frame, *inst, whole)
        {
            result = result.plus(&Sym::atom(atom.clone()).scaled(-scale));
            result = result.shifted(number.wrapping_mul(*scale));
        }
    }
    result
}

/// What the instruction loads, when that is one number in this context.
fn constant(frame: Frame, inst: u32, whole: &Whole<'_>) -> Option<i64> {
    let instantiation = whole.instantiation;
    let function = instantiation.function_of(frame);
    let op = instantiation.bodies.op((function, inst))?;
    let Op::Load { address, size, order: None, .. } = &*op else { return None };
    let flow = whole.flow(function);
    let place = flow.1.value(address, instantiation.bodies.types())?;
    let place = place.substitute(&|atom| instantiation.bind(frame - 1, atom))?;
    let [at] = instantiation.locations_of(&place)?[..] else { return None };
    if at.stride != 0 || !whole.singletons[at.object as usize] {
        return None;
    }
    let bits = *whole.orders.constants(whole).get(&(at, *size))?;
    let unused = 64u32.checked_sub(8 * u32::try_from(*size).ok()?)?;
    Some(((bits << unused) as i64) >> unused)
}

impl Whole<'_> {
    pub(crate) fn flow(&self, function: FunctionId) -> Arc<(Cfg, SymTable)> {
        let bodies = &self.instantiation.bodies;
        let body = bodies.of(function);
        self.flows.of(function, || {
            let cfg = Cfg::new(body);
            let syms = SymTable::new(body, &cfg, bodies.types(), &Unknowing);
            (cfg, syms)
        })
    }
}

pub(crate) fn is_counter(atom: &Atom, access: &GuardedAccess, whole: &Whole<'_>) -> bool {
    let Atom::Inst(frame, inst) = atom else { return false };
    if *frame == 0 || whole.instantiation.function_of(*frame) != access.function {
        return false;
    }
    let op = whole.instantiation.bodies.op((access.function, *inst));
    matches!(op.as_deref(), Some(Op::Phi { .. }))
}

/// The first and the last value of a loop's counter where the access is made, and its step.
pub(crate) fn counter(
    access: &GuardedAccess,
    phi: u32,
    whole: &Whole<'_>,
) -> Option<(i64, i64, i64)> {
    let bodies = &whole.instantiation.bodies;
    let flow = whole.flow(access.function);
    let (cfg, syms) = &*flow;
    let body = bodies.of(access.function);
    let found = induction(body, cfg, syms, bodies.types(), phi)?;
    let around = &cfg.loops[found.index as usize];
    let block = cfg.block_of[access.inst as usize];
    // The header also sees the value that ends the loop.
    if !around.contains(block) || block == around.header {
        return None;
    }
    let number = |value: &Sym| {
        let bind = |atom: &Atom| whole.instantiation.bind(access.context, atom);
        value.as_constant().or_else(|| folded(&value.substitute(&bind)?, whole).as_constant())
    };
    let (first, bound) = (number(&found.start)?, number(&found.bound?)?);
    let step = found.step;
    if !(0..LARGE).contains(&first)
        || !(first..LARGE).contains(&bound)
        || !(1..LARGE).contains(&step)
    {
        return None;
    }
    if first == bound {
        return Some((first, first, step));
    }
    let end = body.blocks[around.header as usize].end.index();
    let Op::Branch { condition: Value::Inst(condition), .. } = &body.instructions[end - 1].op
    else {
        return None;
    };
    let exact = matches!(body.inst(*condition).op, Op::Compare { op: CompareOp::Ne, .. });
    if exact && (bound - first) % step != 0 {
        return None;
    }
    Some((first, first + (bound - 1 - first) / step * step, step))
}
