//! The ways on which the threads of a root come to an access, and what the access is to on each of them.
//!
//! A way is the chain of calls from where the threads start. What is computed on it is read through the
//! calls, downwards by their arguments and upwards by what they return; a formal of a function that calls
//! itself is followed where it passes it on unchanged. So the same function may be looked at with other
//! arguments on each way, where contexts keep only what tells locks and objects apart.
//!
//! May miss: functions that call each other in turn, more than a few ways, values kept in
//! variables whose address is taken.

use std::collections::BTreeMap;
use std::sync::Arc;

use racewarden_finding::AccessKind;
use racewarden_ir::{
    BinaryOp, Callee, CastOp, CompareOp, FunctionId, GlobalId, InstId, Op, Type, Value,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::callers::Callers;
use super::poly::{FrameId, Own, Poly, Var};
use crate::cfg::Cfg;
use crate::contexts::GuardedAccess;
use crate::digests::Whole;
use crate::effects::Effect;
use crate::loops::induction;
use crate::pointsto::{CallSite, ObjectKind};
use crate::sym::SymTable;
use crate::threads::RootId;

/// Calls within each other whose results are looked into.
pub(super) const MAX_RESULTS: usize = 4;
/// Factors past this may take an index beyond 32 bits.
const MAX_NARROW: i64 = 1 << 16;

/// An access as it is made on one way.
#[derive(Debug, Clone)]
pub struct Way {
    /// The calls, and the access.
    pub sites: Vec<CallSite>,
    pub base: Base,
    pub address: Option<Poly>,
    /// What counters are between: the least, and the one after the last.
    pub bounds: BTreeMap<Var, (Poly, Option<Poly>)>,
    /// What is zero when the access is made.
    pub zeros: Vec<Poly>,
    /// Counters of the function that the threads start in which all of them start at one number.
    pub counters: Vec<u32>,
    /// The access is to the thread's own copy of a thread-local variable, and the thread is not the one
    /// that has started the team.
    pub copied: Option<GlobalId>,
    /// The access is to the copy of who has started the team.
    pub original: Option<GlobalId>,
}

/// What the address was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    Global,
    /// A pointer that was found at a place which does not change any more.
    Loaded(Poly),
    /// Memory that the thread has allocated on the way, or its stack.
    Fresh,
    /// One of several variables that change places with each round of a loop of the function that the
    /// threads start in, by the number of its instruction; and what all of them are, round by round.
    Turned(u32, Arc<Vec<Turn>>),
    Unknown,
}

/// What variables are in a round.
pub type Turn = Vec<(u32, Base)>;

/// The ways of the root's threads to the access; `None` where they cannot be told.
pub fn ways(whole: &Whole<'_>, callers: &Callers, access: &GuardedAccess) -> Option<Vec<Way>> {
    let chains = callers.chains((access.function, access.inst))?;
    chains
        .into_iter()
        .map(|sites| {
            let mut reader = Reader::new(whole, callers, access.root);
            reader.enter(&sites);
            Some(reader.way(access, sites))
        })
        .collect()
}

pub(super) struct Frame {
    pub(super) function: FunctionId,
    pub(super) flow: Arc<(Cfg, SymTable)>,
    /// Whose arguments the formals are, where they are those of a call.
    pub(super) caller: Option<(FrameId, Box<[Value]>)>,
    /// Threads start here.
    pub(super) is_entry: bool,
    /// Formals that it passes to itself changed.
    pub(super) changed: Vec<bool>,
    /// Where it is when the access is made; nowhere when it has returned.
    pub(super) at: Option<u32>,
    /// How many results lead here.
    pub(super) depth: usize,
}

pub(super) struct Reader<'r, 'a> {
    pub(super) whole: &'r Whole<'a>,
    callers: &'r Callers,
    pub(super) root: RootId,
    pub(super) frames: Vec<Frame>,
    known: FxHashMap<(FrameId, u32), Option<Poly>>,
    results: FxHashMap<(FrameId, u32), Option<(FrameId, Value)>>,
}

impl<'r, 'a> Reader<'r, 'a> {
    fn new(whole: &'r Whole<'a>, callers: &'r Callers, root: RootId) -> Self {
        let (known, results) = (FxHashMap::default(), FxHashMap::default());
        Reader { whole, callers, root, frames: Vec::new(), known, results }
    }

    pub(super) fn body(&self, frame: FrameId) -> &'a racewarden_ir::Function {
        self.whole.instantiation.bodies.of(self.frames[frame as usize].function)
    }

    fn enter(&mut self, sites: &[CallSite]) {
        for (index, &(function, inst)) in sites.iter().enumerate() {
            let before = index.checked_sub(1).and_then(|before| sites.get(before));
            let caller = before.and_then(|&(caller, call)| {
                let own = index as FrameId - 1;
                let body = self.whole.instantiation.bodies.of(caller);
                match &body.inst(InstId(call)).op {
                    Op::Call { callee: Callee::Direct(target), arguments, .. }
                        if *target == function =>
                    {
                        Some((own, arguments.clone()))
                    }
                    _ => None,
                }
            });
            let is_entry = index == 0
                && self.callers.entries.contains(&function)
                && !self.callers.others.contains(&function);
            let changed = self.changed(function);
            let flow = self.whole.flow(function);
            let at = Some(inst);
            self.frames.push(Frame { function, flow, caller, is_entry, changed, at, depth: 0 });
        }
    }

    /// The formals that a function passes to itself changed.
    fn changed(&self, function: FunctionId) -> Vec<bool> {
        let body = self.whole.instantiation.bodies.of(function);
        let mut changed: Vec<bool> = body.params.iter().map(|param| param.by_value).collect();
        for (_, inst) in self.callers.calls_itself(function) {
            let Op::Call { callee: Callee::Direct(target), arguments, .. } =
                &body.inst(InstId(inst)).op
            else {
                return vec![true; changed.len()];
            };
            let same = |index: usize| {
                let argument = arguments.get(index);
                matches!(argument, Some(Value::Arg(own)) if own.index() == index)
            };
            for (index, changed) in changed.iter_mut().enumerate() {
                *changed |= *target != function || !same(index);
            }
        }
        changed
    }

    fn way(&mut self, access: &GuardedAccess, sites: Vec<CallSite>) -> Way {
        let last = self.frames.len() as FrameId - 1;
        let body = self.body(last);
        let operand = match &body.inst(InstId(access.inst)).op {
            Op::Load { address, .. } | Op::Store { address, .. } => Some(address),
            Op::AtomicRmw { address, .. } | Op::CompareExchange { address, .. } => Some(address),
            Op::MemSet { to, .. } => Some(to),
            Op::MemCopy { to, from, .. } => match access.kind {
                AccessKind::Write => Some(to),
                _ => Some(from),
            },
            _ => None,
        };
        let address = operand.and_then(|operand| self.value(last, operand));
        let base = operand.map_or(Base::Unknown, |operand| self.base(last, operand, 0));
        let own = operand.and_then(|operand| self.own_copy(access.function, operand));
        let copied = own.filter(|_| self.is_not_first(last));
        let original = address.as_ref().and_then(|address| self.original_of(address));
        let zeros: Vec<Poly> = (0..=last).flat_map(|frame| self.zeros(frame)).collect();
        let mut bounds = BTreeMap::new();
        let mut open: Vec<Poly> = address.iter().chain(&zeros).cloned().collect();
        let mut seen = FxHashSet::default();
        let mut counters = Vec::new();
        while let Some(poly) = open.pop() {
            self.bound_rounds(&poly, &mut bounds);
            let mut found = Vec::new();
            collect(&poly, &mut found);
            for (frame, inst) in found {
                if !seen.insert((frame, inst)) {
                    continue;
                }
                if let Some((low, high)) = self.bound(frame, inst) {
                    if frame == 0 && low.is_common() && self.counted(frame, inst).is_some() {
                        counters.push(inst);
                    }
                    open.push(low.clone());
                    open.extend(high.clone());
                    bounds.insert(Var::Local(frame, inst), (low, high));
                }
            }
        }
        Way { sites, base, address, bounds, zeros, counters, copied, original }
    }

    fn local(&self, frame: FrameId, inst: u32) -> Option<Poly> {
        Some(Poly::var(Var::Local(frame, inst)))
    }

    pub(super) fn value(&mut self, frame: FrameId, value: &Value) -> Option<Poly> {
        let types = self.whole.instantiation.bodies.types();
        match value {
            Value::Inst(inst) => self.inst(frame, inst.0),
            Value::Arg(argument) => self.formal(frame, argument.index() as u32),
            Value::Global(global) => {
                let is_own = self.whole.instantiation.bodies.global(*global).thread_local;
                (!is_own).then(|| Poly::var(Var::Global(*global)))
            }
            Value::Int { bits, ty } => Some(Poly::number(match types.get(*ty) {
                Type::Int { bits: width } if (2..64).contains(width) => {
                    ((bits << (64 - width)) as i64) >> (64 - width)
                }
                _ => *bits as i64,
            })),
            Value::Null => Some(Poly::number(0)),
            Value::Offset { base, offset } => self.value(frame, base)?.shifted(*offset),
            _ => None,
        }
    }

    fn formal(&mut self, frame: FrameId, index: u32) -> Option<Poly> {
        let own = &self.frames[frame as usize];
        let changed = own.changed.get(index as usize).copied().unwrap_or(true);
        if own.is_entry && index == 0 && !changed && self.is_numbered(Own::Argument) {
            return Some(Poly::var(Var::Number(Own::Argument)));
        }
        if own.is_entry
            && !changed
            && let Some(given) = self.given_to_team(index)
        {
            return Some(given);
        }
        match own.caller.clone() {
            Some((caller, arguments)) if !changed => {
                self.value(caller, arguments.get(index as usize)?)
            }
            _ => self.local(frame, u32::MAX - index),
        }
    }

    fn is_numbered(&self, own: Own) -> bool {
        self.whole.own_numbers(self.root, own).is_some()
    }

    pub(super) fn inst(&mut self, frame: FrameId, inst: u32) -> Option<Poly> {
        if let Some(known) = self.known.get(&(frame, inst)) {
            return known.clone();
        }
        let found = self.compute(frame, inst).or_else(|| self.local(frame, inst));
        self.known.insert((frame, inst), found.clone());
        found
    }

    fn compute(&mut self, frame: FrameId, inst: u32) -> Option<Poly> {
        let body = self.body(frame);
        let instruction = body.inst(InstId(inst));
        let types = self.whole.instantiation.bodies.types();
        let width = match types.get(instruction.ty) {
            Type::Int { bits } => *bits,
            _ => 64,
        };
        match &instruction.op {
            Op::Address { base, offset, indices } => {
                let mut sum = self.value(frame, base)?.shifted(*offset)?;
                for (index, scale) in indices {
                    let index = self.value(frame, index)?;
                    sum = sum.plus(&index.times(&Poly::number(*scale))?)?;
                }
                Some(sum)
            }
            Op::Binary { op, left, right } if width >= 32 => {
                let (left, right) = (self.value(frame, left)?, self.value(frame, right)?);
                let found = binary(*op, &left, &right)?;
                // A product that may be cut off at its type's end is no polynomial.
                let wraps = |times: i64| times.checked_abs().is_none_or(|by| by > MAX_NARROW);
                let is_cut = width == 32
                    && found.terms().any(|(product, times)| !product.is_empty() && wraps(times));
                (!is_cut).then_some(found)
            }
            Op::Cast { op, value } => self.cast(frame, *op, value, width),
            Op::Freeze { value } => self.value(frame, value),
            Op::Load { address, size, order: None, volatile: false } => {
                self.load(frame, inst, address, *size)
            }
            Op::Call { .. } => match self.of_team(inst, frame) {
                Some(found) => Some(found),
                None => {
                    let (within, value) = self.result(frame, inst)?;
                    self.value(within, &value)
                }
            },
            Op::Phi { .. } => self.round_of_team(inst, frame),
            _ => None,
        }
    }

    fn cast(&mut self, frame: FrameId, op: CastOp, value: &Value, width: u32) -> Option<Poly> {
        use CastOp::{BitCast, IntToPtr, PtrToInt, SExt, Trunc, ZExt};
        let inner = match op {
            SExt | ZExt | PtrToInt | IntToPtr | BitCast | Trunc => self.value(frame, value)?,
            _ => return None,
        };
        if op != Trunc {
            return Some(inner);
        }
        let is_argument = inner.as_var() == Some(&Var::Number(Own::Argument));
        if is_argument && width == 32 && self.is_numbered(Own::Half) {
            return Some(Poly::var(Var::Number(Own::Half)));
        }
        match inner.as_number() {
            Some(number) if (0..1 << 31).contains(&number) && width >= 32 => Some(inner),
            _ => Some(Poly::var(Var::Cut(Arc::new(inner), width))),
        }
    }

    fn load(&mut self, frame: FrameId, inst: u32, address: &Value, size: u64) -> Option<Poly> {
        let instantiation = self.whole.instantiation;
        let function = self.frames[frame as usize].function;
        let at = self.value(frame, address)?;
        let (own, rest) = at.split(&Var::Number(Own::Argument));
        if own.as_number() == Some(1)
            && let Some(offset) = rest.as_number()
            && let Some((start, scale)) = self.whole.handed_number(self.root, offset, size)
        {
            let round = Poly::var(Var::Number(Own::Round));
            return round.times(&Poly::number(scale))?.shifted(start);
        }
        let is_stable = instantiation.sharing?.stable.contains(&(function, inst));
        match at.as_var() {
            Some(Var::Global(global)) if is_stable => {
                if let Some(number) = self.initial_number(*global, size) {
                    return Some(Poly::number(number));
                }
            }
            Some(Var::Given(index)) => {
                if let Some((function, stored)) = self.given_value(*index).filter(|_| size >= 4) {
                    let found = self.before_team(function, &stored);
                    return Some(found.unwrap_or_else(|| Poly::var(Var::Load(Arc::new(at), size))));
                }
            }
            _ => {}
        }
        let places = instantiation.points.value(&instantiation.bodies, function, address);
        let objects = &instantiation.points.locations().objects;
        let kept = places.iter().all(|at| {
            let kind = objects[at.object as usize];
            matches!(kind, ObjectKind::Global(_) | ObjectKind::Stack(..))
        });
        (is_stable && kept && !places.is_empty()).then(|| Poly::var(Var::Load(Arc::new(at), size)))
    }

    /// What a call returns, as a value of the function that it calls.
    pub(super) fn result(&mut self, frame: FrameId, inst: u32) -> Option<(FrameId, Value)> {
        if let Some(known) = self.results.get(&(frame, inst)) {
            return known.clone();
        }
        let found = self.find_result(frame, inst);
        self.results.insert((frame, inst), found.clone());
        found
    }

    fn find_result(&mut self, frame: FrameId, inst: u32) -> Option<(FrameId, Value)> {
        let instantiation = self.whole.instantiation;
        let Op::Call { callee: Callee::Direct(target), arguments, .. } =
            &self.body(frame).inst(InstId(inst)).op
        else {
            return None;
        };
        if let Some(effects) = instantiation.effects.of(*target) {
            return effects.iter().find_map(|effect| match effect {
                Effect::Returns { argument, inside: false } => {
                    Some((frame, arguments.get(*argument as usize)?.clone()))
                }
                _ => None,
            });
        }
        let depth = self.frames[frame as usize].depth + 1;
        let is_member = instantiation.effects.member(*target).is_some();
        if depth > MAX_RESULTS || is_member || instantiation.bodies.is_declaration(*target) {
            return None;
        }
        let body = instantiation.bodies.of(*target);
        let mut returned = body.instructions.iter().filter_map(|own| match &own.op {
            Op::Return { value } => Some(value.clone()),
            _ => None,
        });
        let (Some(Some(value)), None) = (returned.next(), returned.next()) else { return None };
        let function = *target;
        let flow = self.whole.flow(function);
        let caller = Some((frame, arguments.clone()));
        let changed = body.params.iter().map(|param| param.by_value).collect();
        let (is_entry, at) = (false, None);
        self.frames.push(Frame { function, flow, caller, is_entry, changed, at, depth });
        Some((self.frames.len() as FrameId - 1, value))
    }

    /// Where the frame is when the access is made.
    pub(super) fn place(&self, frame: FrameId) -> Option<u32> {
        self.frames[frame as usize].at
    }

    pub(super) fn flow(&self, frame: FrameId) -> Arc<(Cfg, SymTable)> {
        self.frames[frame as usize].flow.clone()
    }

    fn bound(&mut self, frame: FrameId, inst: u32) -> Option<(Poly, Option<Poly>)> {
        self.counted(frame, inst).or_else(|| self.power_bound(frame, inst))
    }

    /// What the counter is between where the frame is.
    pub(super) fn counted(&mut self, frame: FrameId, phi: u32) -> Option<(Poly, Option<Poly>)> {
        let own = &self.frames[frame as usize];
        let (at, flow) = (own.at?, own.flow.clone());
        let (cfg, syms) = &*flow;
        let body = self.body(frame);
        let Op::Phi { incoming } = &body.instructions.get(phi as usize)?.op else { return None };
        let types = self.whole.instantiation.bodies.types();
        let found = induction(body, cfg, syms, types, phi)?;
        let around = &cfg.loops[found.index as usize];
        let block = cfg.block_of[at as usize];
        // The header also sees the value that ends the loop.
        if !around.contains(block) || block == around.header || found.step < 1 {
            return None;
        }
        let mut starts = incoming.iter().filter(|edge| !around.contains(edge.block.0));
        let start = self.value(frame, &starts.next()?.value)?;
        if starts.next().is_some() {
            return None;
        }
        let bound = match found.bound.as_ref()?.as_constant() {
            Some(bound) => Some(Poly::number(bound)),
            None if found.tested == around.header => self.tested(frame, around.header),
            None => None,
        };
        Some((start, bound))
    }

    /// What the loop's counter is compared with at its top: it is below.
    fn tested(&mut self, frame: FrameId, header: u32) -> Option<Poly> {
        use CompareOp::{Eq, Ne, Sgt, Sle, Ugt, Ule};
        let body = self.body(frame);
        let end = body.blocks[header as usize].end.index();
        let Op::Branch { condition: Value::Inst(condition), .. } =
            &body.instructions[end.checked_sub(1)?].op
        else {
            return None;
        };
        let Op::Compare { op, right, .. } = &body.inst(*condition).op else { return None };
        let bound = self.value(frame, right)?;
        match op {
            Eq | Ne => None,
            Sle | Ule | Sgt | Ugt => bound.shifted(1),
            _ => Some(bound),
        }
    }
}

fn collect(poly: &Poly, found: &mut Vec<(FrameId, u32)>) {
    let list = std::cell::RefCell::new(found);
    poly.mentions(&|var| {
        if let Var::Local(frame, inst) = var {
            list.borrow_mut().push((*frame, *inst));
        }
        false
    });
}

fn binary(op: BinaryOp, left: &Poly, right: &Poly) -> Option<Poly> {
    let (left_number, right_number) = (left.as_number(), right.as_number());
    let pair = || (Arc::new(left.clone()), Arc::new(right.clone()));
    match (op, right_number) {
        (BinaryOp::Add, _) => left.plus(right),
        (BinaryOp::Sub, _) => left.minus(right),
        (BinaryOp::Mul, _) => left.times(right),
        (BinaryOp::Shl, Some(by)) if (0..32).contains(&by) => left.times(&Poly::number(1 << by)),
        (BinaryOp::And, Some(mask)) if mask >= 0 => {
            Some(Poly::var(Var::Low(Arc::new(left.clone()), mask)))
        }
        (BinaryOp::SDiv | BinaryOp::UDiv, _) if left_number.is_none() => {
            if let Some(exact) = right_number.and_then(|by| left.divided(by)) {
                return Some(exact);
            }
            let (left, right) = pair();
            Some(Poly::var(Var::Div(left, right)))
        }
        (BinaryOp::SRem | BinaryOp::URem, _) => {
            let (left, right) = pair();
            Some(Poly::var(Var::Rem(left, right)))
        }
        _ => None,
    }
}
