//! Frames, operands and the instructions that only compute.

use racewarden_ir::{
    BlockId, CastOp, Function, FunctionId, InstId, Module, Op, Type, TypeId, Value,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::expr::{Arena, ExprId, Val, mask};
use super::super::locations::{PlaceId, Places};
use super::super::path::{EventKind, PathEvent, Spot};
use super::private::Slot;
use super::{Image, floating};

#[derive(Debug, Clone)]
pub struct Frame {
    pub function: FunctionId,
    pub block: BlockId,
    pub previous: Option<BlockId>,
    pub inst: InstId,
    pub values: Vec<Option<Val>>,
    pub arguments: Vec<Val>,
    /// The recording has a return record after the call that made this frame.
    pub returns: bool,
    /// Called by code outside: when it returns, that code goes on.
    pub callback: bool,
    /// Local memory that was not recorded.
    pub slots: Vec<Slot>,
}

/// The state of one thread.
#[derive(Clone)]
pub struct Machine<'a> {
    pub image: &'a Image<'a>,
    pub places: &'a Places,
    pub frames: Vec<Frame>,
    pub arena: Arena,
    pub events: Vec<PathEvent>,
    /// Expressions in places that only this thread uses.
    pub local: FxHashMap<PlaceId, ExprId>,
    /// The last number in each such place.
    pub memory: FxHashMap<PlaceId, u64>,
    pub pinned: FxHashSet<ExprId>,
    pub visits: FxHashMap<Spot, u64>,
    pub thread: u32,
    /// How often a value that may change went into what is not computed.
    pub not_computed: NotComputed,
}

/// Computations that keep their recorded operands, by what they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NotComputed {
    pub floating: u64,
    pub other: u64,
}

impl<'a> Machine<'a> {
    pub fn new(image: &'a Image<'a>, places: &'a Places, thread: u32) -> Self {
        Machine {
            image,
            places,
            frames: Vec::new(),
            arena: Arena::default(),
            events: Vec::new(),
            local: FxHashMap::default(),
            memory: FxHashMap::default(),
            pinned: FxHashSet::default(),
            visits: FxHashMap::default(),
            thread,
            not_computed: NotComputed::default(),
        }
    }

    pub fn module(&self) -> &'a Module {
        &self.image.program.module
    }

    pub fn function(&self, id: FunctionId) -> &'a Function {
        self.module().function(id)
    }

    pub fn push_frame(&mut self, function: FunctionId, arguments: Vec<Val>) {
        let body = self.function(function);
        let entry = body.block(BlockId(0));
        self.frames.push(Frame {
            function,
            block: BlockId(0),
            previous: None,
            inst: entry.start,
            values: vec![None; body.instructions.len()],
            arguments,
            returns: false,
            callback: false,
            slots: Vec::new(),
        });
    }

    pub fn spot(&self) -> Option<Spot> {
        self.frames.last().map(|frame| Spot { function: frame.function, inst: frame.inst })
    }

    /// Counts a visit to the current instruction.
    pub fn visit(&mut self) {
        if let Some(spot) = self.spot() {
            *self.visits.entry(spot).or_default() += 1;
        }
    }

    pub fn emit(&mut self, sequence: u64, kind: EventKind) {
        let Some(spot) = self.spot() else {
            // Before the first function: the thread's own beginning.
            let spot = Spot { function: FunctionId(0), inst: InstId(0) };
            self.events.push(PathEvent { spot, occurrence: 0, sequence, kind });
            return;
        };
        let occurrence = self.visits.get(&spot).copied().unwrap_or(0);
        self.events.push(PathEvent { spot, occurrence, sequence, kind });
    }

    /// The value keeps the number it had.
    pub fn pin(&mut self, val: Val) {
        if let Val::Symbolic(expr) = val
            && self.pinned.insert(expr)
        {
            self.emit(0, EventKind::Pin { expr });
        }
    }

    pub fn width(&self, ty: TypeId) -> Option<u32> {
        match *self.module().types.get(ty) {
            Type::Int { bits } if bits <= 64 => Some(bits),
            Type::Float { bits } if bits <= 64 => Some(bits),
            Type::Pointer => Some(64),
            _ => None,
        }
    }

    pub fn width_of(&self, value: &Value) -> Option<u32> {
        let frame = self.frames.last()?;
        let function = self.function(frame.function);
        match value {
            Value::Inst(inst) => self.width(function.inst(*inst).ty),
            Value::Arg(argument) => self.width(function.params.get(argument.index())?.ty),
            Value::Int { ty, .. }
            | Value::Float { ty, .. }
            | Value::Undef { ty }
            | Value::Zero { ty } => self.width(*ty),
            Value::Global(_) | Value::Function(_) | Value::Null | Value::Offset { .. } => Some(64),
            _ => None,
        }
    }

    pub fn operand(&self, value: &Value) -> Val {
        let Some(frame) = self.frames.last() else { return Val::Opaque };
        match value {
            Value::Inst(inst) => frame.values[inst.index()].unwrap_or(Val::Opaque),
            Value::Arg(argument) => {
                frame.arguments.get(argument.index()).copied().unwrap_or(Val::Opaque)
            }
            Value::Int { bits, .. } | Value::Float { bits, .. } => Val::Known(*bits),
            Value::Null => Val::Known(0),
            Value::Zero { ty } if self.width(*ty).is_some() => Val::Known(0),
            Value::Global(id) => {
                self.image.global_addresses.get(id).map_or(Val::Opaque, |a| Val::Known(*a))
            }
            Value::Function(id) => {
                self.image.function_addresses.get(id).map_or(Val::Opaque, |a| Val::Known(*a))
            }
            Value::Offset { base, offset } => match self.operand(base) {
                Val::Known(base) => Val::Known(base.wrapping_add_signed(*offset)),
                _ => Val::Opaque,
            },
            _ => Val::Opaque,
        }
    }

    pub fn set(&mut self, inst: InstId, val: Val) {
        if let Some(frame) = self.frames.last_mut() {
            frame.values[inst.index()] = Some(val);
        }
    }

    /// Computes an instruction that touches neither memory nor control; `None` for those that do.
    pub fn compute(&mut self, op: &Op, ty: TypeId) -> Option<Val> {
        let width = self.width(ty);
        let result = match op {
            Op::Binary { op, left, right } => {
                let (a, b) = (self.operand(left), self.operand(right));
                let result = width.and_then(|width| self.arena.binary(*op, width, a, b));
                self.count_not_computed(result, &[a, b], self.is_float(ty));
                return Some(
                    self.or_settled(result, [a, b], |arena, [a, b]| {
                        arena.binary(*op, width?, a, b)
                    }),
                );
            }
            Op::Compare { op, left, right } => {
                let (a, b) = (self.operand(left), self.operand(right));
                let operand = self.width_of(left).or_else(|| self.width_of(right));
                let result = operand.and_then(|width| self.arena.compare(*op, width, a, b));
                self.count_not_computed(result, &[a, b], self.value_is_float(left));
                return Some(self.or_settled(result, [a, b], |arena, [a, b]| {
                    arena.compare(*op, operand?, a, b)
                }));
            }
            Op::Cast { op, value } => {
                let operand = self.operand(value);
                let from = self.width_of(value);
                if let Some(val) = self.float_cast(*op, from, width, operand) {
                    return Some(val);
                }
                let floats = self.is_float(ty) != self.value_is_float(value);
                let plain = *op == CastOp::BitCast || !floats;
                let result = match (from, width) {
                    (Some(from), Some(to)) if plain => self.arena.cast(*op, from, to, operand),
                    _ => None,
                };
                self.count_not_computed(result, &[operand], floats || self.is_float(ty));
                return Some(self.or_settled(result, [operand], |arena, [operand]| {
                    arena.cast(*op, from.filter(|_| plain)?, width?, operand)
                }));
            }
            Op::Select { condition, then, otherwise } => {
                let condition = self.operand(condition);
                let (a, b) = (self.operand(then), self.operand(otherwise));
                let result = width.and_then(|width| self.arena.select(width, condition, a, b));
                return Some(self.or_settled(
                    result,
                    [condition, a, b],
                    |arena, [condition, a, b]| arena.select(width?, condition, a, b),
                ));
            }
            Op::Address { base, offset, indices } => self.address(base, *offset, indices),
            Op::Freeze { value } => self.operand(value),
            Op::FNeg { value } => {
                let operand = self.operand(value);
                self.of_numbers(&[operand], |numbers| floating::negated(width?, numbers[0]))
            }
            Op::ExtractValue { aggregate: value, .. } | Op::VaArg { list: value } => {
                let operand = self.operand(value);
                self.or_opaque(None, &[operand])
            }
            Op::InsertValue { aggregate, element, .. } => {
                let operands = [self.operand(aggregate), self.operand(element)];
                self.or_opaque(None, &operands)
            }
            Op::ExtractElement { vector, index } => {
                let operands = [self.operand(vector), self.operand(index)];
                self.or_opaque(None, &operands)
            }
            Op::InsertElement { vector, element, index } => {
                let operands = [self.operand(vector), self.operand(element), self.operand(index)];
                self.or_opaque(None, &operands)
            }
            Op::ShuffleVector { left, right, .. } => {
                let operands = [self.operand(left), self.operand(right)];
                self.or_opaque(None, &operands)
            }
            Op::LandingPad { .. } => Val::Opaque,
            Op::Nop | Op::Fence { .. } => Val::Opaque,
            Op::Unknown { operands, .. } => {
                let operands: Vec<Val> = operands.iter().map(|value| self.operand(value)).collect();
                self.or_opaque(None, &operands)
            }
            _ => return None,
        };
        Some(result)
    }

    /// What is computed from numbers alone: everything that goes into it keeps its number.
    fn of_numbers(&mut self, operands: &[Val], compute: impl FnOnce(&[u64]) -> Option<u64>) -> Val {
        for &operand in operands {
            self.pin(operand);
        }
        let numbers: Option<Vec<u64>> =
            operands.iter().map(|operand| self.arena.value_of(*operand)).collect();
        numbers.and_then(|numbers| compute(&numbers)).map_or(Val::Opaque, Val::Known)
    }

    pub fn intrinsic(&mut self, name: &str, operands: &[Val]) -> Val {
        self.of_numbers(operands, |numbers| floating::intrinsic(name, numbers))
    }

    /// A conversion from or to floating point; `None` for others.
    fn float_cast(
        &mut self,
        op: CastOp,
        from: Option<u32>,
        to: Option<u32>,
        operand: Val,
    ) -> Option<Val> {
        use CastOp::*;
        if !matches!(op, FpTrunc | FpExt | FpToUi | FpToSi | UiToFp | SiToFp) {
            return None;
        }
        self.count_not_computed(None, &[operand], true);
        Some(self.of_numbers(&[operand], |numbers| floating::cast(op, from?, to?, numbers[0])))
    }

    /// The result; or, with everything that went into it pinned, what that gives: an expression that
    /// would grow too deep becomes a number.
    fn or_settled<const COUNT: usize>(
        &mut self,
        result: Option<Val>,
        operands: [Val; COUNT],
        compute: impl FnOnce(&mut Arena, [Val; COUNT]) -> Option<Val>,
    ) -> Val {
        if let Some(result) = result {
            return result;
        }
        let numbers = operands.map(|val| self.arena.value_of(val).map_or(Val::Opaque, Val::Known));
        let result = compute(&mut self.arena, numbers);
        for operand in operands {
            self.pin(operand);
        }
        result.unwrap_or(Val::Opaque)
    }

    /// The result, or an opaque value with everything that went into it pinned.
    pub fn or_opaque(&mut self, result: Option<Val>, operands: &[Val]) -> Val {
        result.unwrap_or_else(|| {
            for &operand in operands {
                self.pin(operand);
            }
            Val::Opaque
        })
    }

    fn count_not_computed(&mut self, result: Option<Val>, operands: &[Val], floating: bool) {
        let may_change = operands.iter().any(|val| matches!(val, Val::Symbolic(_)));
        if result.is_none() && may_change {
            let counts = &mut self.not_computed;
            *(if floating { &mut counts.floating } else { &mut counts.other }) += 1;
        }
    }

    pub fn is_float(&self, ty: TypeId) -> bool {
        matches!(self.module().types.get(ty), Type::Float { .. })
    }

    fn value_is_float(&self, value: &Value) -> bool {
        let Some(frame) = self.frames.last() else { return false };
        let function = self.function(frame.function);
        match value {
            Value::Inst(inst) => self.is_float(function.inst(*inst).ty),
            Value::Arg(argument) => {
                function.params.get(argument.index()).is_some_and(|param| self.is_float(param.ty))
            }
            Value::Float { .. } => true,
            _ => false,
        }
    }

    fn address(&mut self, base: &Value, offset: i64, indices: &[(Value, i64)]) -> Val {
        use racewarden_ir::BinaryOp::{Add, Mul};
        let mut sum = self.operand(base);
        let mut parts = vec![sum];
        let mut steps = vec![Val::Known(offset as u64)];
        for (index, scale) in indices {
            let operand = self.operand(index);
            parts.push(operand);
            let extended = self
                .width_of(index)
                .and_then(|width| self.arena.cast(CastOp::SExt, width, 64, operand));
            let scaled = extended
                .and_then(|index| self.arena.binary(Mul, 64, index, Val::Known(*scale as u64)));
            match scaled {
                Some(scaled) => steps.push(scaled),
                None => return self.or_opaque(None, &parts),
            }
        }
        for step in steps {
            match self.arena.binary(Add, 64, sum, step) {
                Some(next) => sum = next,
                None => return self.or_opaque(None, &parts),
            }
        }
        sum
    }

    /// Goes to `target`, phis computed together.
    pub fn jump(&mut self, target: BlockId) {
        let Some(frame) = self.frames.last() else { return };
        let from = frame.block;
        let function = self.function(frame.function);
        let mut results = Vec::new();
        let mut next = function.block(target).start;
        for (inst, instruction) in function.block_instructions(target) {
            let Op::Phi { incoming } = &instruction.op else { break };
            let value = incoming
                .iter()
                .find(|edge| edge.block == from)
                .map_or(Val::Opaque, |edge| self.operand(&edge.value));
            results.push((inst, value));
            next = InstId(inst.0 + 1);
        }
        if let Some(frame) = self.frames.last_mut() {
            for (inst, value) in results {
                frame.values[inst.index()] = Some(value);
            }
            frame.previous = Some(from);
            frame.block = target;
            frame.inst = next;
        }
    }

    pub fn advance(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.inst = InstId(frame.inst.0 + 1);
        }
    }

    /// What a load of a type gives from `size` bytes of memory.
    pub fn loaded(&mut self, ty: TypeId, size: u32, val: Val) -> Val {
        match (self.width(ty), val) {
            (Some(width), Val::Known(value)) => Val::Known(mask(value, width)),
            (Some(width), Val::Symbolic(_)) if width < size * 8 => {
                let result = self.arena.cast(CastOp::Trunc, size * 8, width, val);
                self.or_opaque(result, &[val])
            }
            (Some(_), val) => val,
            (None, val) => self.or_opaque(None, &[val]),
        }
    }

    /// What a store of an operand puts into `size` bytes of memory.
    pub fn stored(&mut self, value: &Value, size: u32) -> Val {
        let val = self.operand(value);
        match (self.width_of(value), val) {
            (Some(width), Val::Symbolic(_)) if width < size * 8 => {
                let result = self.arena.cast(CastOp::ZExt, width, size * 8, val);
                self.or_opaque(result, &[val])
            }
            (Some(_), val) => val,
            (None, val) => self.or_opaque(None, &[val]),
        }
    }
}
