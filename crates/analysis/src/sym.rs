//! Symbolic values (RELAY 3.1): what an SSA value is in terms of the function's formals, globals
//! and values it cannot look into.
//!
//! A value is a linear form `offset + Σ scale·atom`. Two values with equal forms are equal at
//! run time as long as no atom is evaluated again in between (the lockset analysis drops a lock
//! when one of its atoms is), which is RELAY's `must`; anything else is `may`, and the points-to
//! sets speak for it. RELAY's `init(o)` is [`Atom::Argument`] and [`Atom::Load`]: the latter only
//! for memory that no thread writes once there is more than one thread, every other load is an
//! opaque atom, which is how thread interaction is accounted for.
//!
//! Deviation: sign and zero extensions are read as identity. An index that wraps around its type
//! is therefore seen as one that does not.

use std::sync::Arc;

use racewarden_ir::{
    BinaryOp, CastOp, CompareOp, Function, FunctionId, GlobalId, Instruction, Op, Type, TypeTable,
    Value,
};
use serde::{Deserialize, Serialize};
use smallvec::{SmallVec, smallvec};

use crate::cfg::Cfg;
use crate::keeping;

/// Which activation an atom belongs to: 0 in a function's own summary, else a calling context.
pub type Frame = u32;
pub const LOCAL: Frame = 0;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Atom {
    Global(GlobalId),
    Function(FunctionId),
    Argument(Frame, u32),
    Inst(Frame, u32),
    /// The address of a stack slot.
    Stack(Frame, u32),
    /// What memory that does not change any more holds at an address.
    Load(#[serde(with = "keeping::one")] Arc<Sym>),
    /// A pure operation that is not linear.
    Expr(#[serde(with = "keeping::one")] Arc<Expr>),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Expr {
    op: u32,
    operands: [Sym; 2],
    depth: u8,
}

impl Expr {
    /// The same operation on other operands.
    pub fn with(&self, operand: impl Fn(&Sym) -> Option<Sym>) -> Option<Expr> {
        let operands = [operand(&self.operands[0])?, operand(&self.operands[1])?];
        Some(Expr { op: self.op, operands, depth: self.depth })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Sym {
    pub offset: i64,
    /// Sorted by atom, scales never zero.
    #[serde(with = "keeping::list")]
    pub terms: SmallVec<[(Atom, i64); 1]>,
}

const MAX_TERMS: usize = 4;
const MAX_DEPTH: u8 = 4;
/// Factors past this may take an index beyond 32 bits.
const MAX_NARROW_SCALE: u64 = 1 << 16;

impl Sym {
    pub fn constant(offset: i64) -> Self {
        Sym { offset, terms: SmallVec::new() }
    }

    pub fn atom(atom: Atom) -> Self {
        Sym { offset: 0, terms: smallvec![(atom, 1)] }
    }

    pub fn inst(frame: Frame, inst: u32) -> Self {
        Sym::atom(Atom::Inst(frame, inst))
    }

    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.offset)
    }

    pub fn as_atom(&self) -> Option<&Atom> {
        match self.terms.as_slice() {
            [(atom, 1)] if self.offset == 0 => Some(atom),
            _ => None,
        }
    }

    pub fn shifted(mut self, by: i64) -> Self {
        self.offset = self.offset.wrapping_add(by);
        self
    }

    pub fn scaled(mut self, by: i64) -> Self {
        if by == 0 {
            return Sym::constant(0);
        }
        self.offset = self.offset.wrapping_mul(by);
        for (_, scale) in &mut self.terms {
            *scale = scale.wrapping_mul(by);
        }
        self
    }

    pub fn plus(&self, other: &Sym) -> Sym {
        let mut terms: SmallVec<[(Atom, i64); 1]> = SmallVec::new();
        let (mut a, mut b) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let (next_a, next_b) = (a.peek(), b.peek());
            let term = match (next_a, next_b) {
                (None, None) => break,
                (Some(_), None) => a.next().cloned(),
                (None, Some(_)) => b.next().cloned(),
                (Some((x, _)), Some((y, _))) => match x.cmp(y) {
                    std::cmp::Ordering::Less => a.next().cloned(),
                    std::cmp::Ordering::Greater => b.next().cloned(),
                    std::cmp::Ordering::Equal => {
                        let (atom, s) = a.next().cloned().expect("peeked");
                        let (_, t) = b.next().expect("peeked");
                        Some((atom, s.wrapping_add(*t)))
                    }
                },
            };
            if let Some((atom, scale)) = term
                && scale != 0
            {
                terms.push((atom, scale));
            }
        }
        Sym { offset: self.offset.wrapping_add(other.offset), terms }
    }

    /// `self - other` when it is a constant.
    pub fn distance(&self, other: &Sym) -> Option<i64> {
        (self.terms == other.terms).then(|| self.offset.wrapping_sub(other.offset))
    }

    pub fn mentions(&self, test: &impl Fn(&Atom) -> bool) -> bool {
        self.terms.iter().any(|(atom, _)| {
            test(atom)
                || match atom {
                    Atom::Load(address) => address.mentions(test),
                    Atom::Expr(expr) => expr.operands.iter().any(|o| o.mentions(test)),
                    _ => false,
                }
        })
    }

    /// Calls `visit` with every atom, inner ones included.
    pub fn visit(&self, visit: &mut impl FnMut(&Atom)) {
        for (atom, _) in &self.terms {
            visit(atom);
            match atom {
                Atom::Load(address) => address.visit(visit),
                Atom::Expr(expr) => expr.operands.iter().for_each(|o| o.visit(visit)),
                _ => {}
            }
        }
    }

    /// Made of globals only: no memory is read to find it.
    pub fn is_constant_address(&self) -> bool {
        self.terms.iter().all(|(atom, _)| matches!(atom, Atom::Global(_) | Atom::Function(_)))
    }

    /// Replaces arguments and instruction atoms; `None` when one has no name in the new frame.
    pub fn substitute(&self, replace: &impl Fn(&Atom) -> Option<Sym>) -> Option<Sym> {
        let mut result = Sym::constant(self.offset);
        for (atom, scale) in &self.terms {
            let value = match atom {
                Atom::Global(_) | Atom::Function(_) => Sym::atom(atom.clone()),
                Atom::Argument(..) | Atom::Inst(..) | Atom::Stack(..) => replace(atom)?,
                Atom::Load(address) => {
                    Sym::atom(Atom::Load(Arc::new(address.substitute(replace)?)))
                }
                Atom::Expr(expr) => {
                    let [left, right] = &expr.operands;
                    let operands = [left.substitute(replace)?, right.substitute(replace)?];
                    let depth = 1 + operands.iter().map(Sym::depth).max().unwrap_or(0);
                    Sym::atom(Atom::Expr(Arc::new(Expr { op: expr.op, operands, depth })))
                }
            };
            result = result.plus(&value.scaled(*scale));
        }
        (result.terms.len() <= MAX_TERMS && result.depth() <= 2 * MAX_DEPTH).then_some(result)
    }

    pub fn depth(&self) -> u8 {
        self.terms
            .iter()
            .map(|(atom, _)| match atom {
                Atom::Load(address) => 1u8.saturating_add(address.depth()),
                Atom::Expr(expr) => expr.depth,
                _ => 0,
            })
            .max()
            .unwrap_or(0)
    }
}

/// What only the whole program knows about an instruction's value.
pub trait Oracle {
    /// Whether what the load reads never changes while threads run.
    fn is_stable(&self, inst: u32) -> bool;
    /// What the call returns, in terms of its arguments and globals.
    fn result_of(&self, inst: u32) -> Option<Sym>;
    /// Whether the call returns memory that nobody else knows yet.
    fn is_fresh(&self, inst: u32) -> bool;
}

/// Knows nothing but the function itself.
pub struct Unknowing;

impl Oracle for Unknowing {
    fn is_stable(&self, _: u32) -> bool {
        false
    }

    fn result_of(&self, _: u32) -> Option<Sym> {
        None
    }

    fn is_fresh(&self, _: u32) -> bool {
        false
    }
}

/// Bytes of a pointer.
const WORD: u64 = 8;

/// Words that a block has stored, for the loads that follow at once (`this->m = m; lock(this->m)`).
///
/// Whoever changes such a word in between from another thread races with the store or with the load.
#[derive(Default)]
struct Stored {
    words: Vec<(Sym, Sym)>,
}

impl Stored {
    fn at(&self, address: &Sym) -> Option<&Sym> {
        self.words.iter().find(|(known, _)| known == address).map(|(_, value)| value)
    }

    /// Whatever may share a byte with the new word is not known any more.
    fn put(&mut self, address: Sym, size: u64, value: Option<Sym>, oracle: &dyn Oracle) {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        let object = object_of(&address, oracle);
        self.words.retain(|(known, _)| {
            let beside = known.terms == address.terms
                && (known.offset.saturating_add(WORD as i64) <= address.offset
                    || address.offset.saturating_add(size) <= known.offset);
            beside
                || object.as_ref().is_some_and(|object| {
                    object_of(known, oracle).is_some_and(|other| other != *object)
                })
        });
        if let Some(value) = value
            && self.words.len() < MAX_STORED
        {
            self.words.push((address, value));
        }
    }

    fn clear(&mut self) {
        self.words.clear();
    }
}

/// The object that an address leads into, by a name that no other object has meanwhile.
fn object_of(address: &Sym, oracle: &dyn Oracle) -> Option<Atom> {
    let mut objects = address.terms.iter().map(|(atom, _)| atom).filter(|atom| match atom {
        Atom::Stack(LOCAL, _) | Atom::Global(_) => true,
        Atom::Inst(LOCAL, call) => oracle.is_fresh(*call),
        _ => false,
    });
    let first = objects.next()?;
    objects.next().is_none().then(|| first.clone())
}

/// Words that are remembered at once.
const MAX_STORED: usize = 16;

/// Whether the instruction may write memory, or let another thread do so in an orderly way.
fn may_store(op: &Op) -> bool {
    matches!(
        op,
        Op::Load { order: Some(_), .. }
            | Op::Load { volatile: true, .. }
            | Op::Store { .. }
            | Op::AtomicRmw { .. }
            | Op::CompareExchange { .. }
            | Op::Fence { .. }
            | Op::MemCopy { .. }
            | Op::MemSet { .. }
            | Op::VaArg { .. }
            | Op::Call { .. }
            | Op::Unknown { .. }
    )
}

/// The symbolic value of every instruction of one function.
#[derive(Debug, Default)]
pub struct SymTable {
    values: Vec<Option<Sym>>,
    /// Parameters passed by value, as slots of this function's stack.
    copies: Vec<Option<u32>>,
    /// Instructions whose values are single bits.
    bits: Vec<bool>,
}

impl SymTable {
    pub fn new(function: &Function, cfg: &Cfg, types: &TypeTable, oracle: &dyn Oracle) -> Self {
        let count = function.instructions.len();
        let copies = (0u32..)
            .zip(&function.params)
            .map(|(index, param)| param.by_value.then_some(count as u32 + index))
            .collect();
        let is_bit = |ty| matches!(types.get(ty), Type::Int { bits: 1 });
        let bits = function.instructions.iter().map(|own| is_bit(own.ty)).collect();
        let mut table = SymTable { values: vec![None; count], copies, bits };
        for &block in &cfg.order {
            let block = &function.blocks[block as usize];
            let mut stored = Stored::default();
            for inst in block.start.0..block.end.0 {
                let instruction = &function.instructions[inst as usize];
                let found = table.just_stored(&mut stored, &instruction.op, types, oracle);
                if let Some(value) =
                    found.or_else(|| table.evaluate(instruction, inst, types, oracle))
                    && value.terms.len() <= MAX_TERMS
                    && value.depth() <= MAX_DEPTH
                    && value.as_atom() != Some(&Atom::Inst(LOCAL, inst))
                {
                    table.values[inst as usize] = Some(value);
                }
            }
        }
        table
    }

    /// What the load finds, where its own thread has just stored it; notes what is stored.
    fn just_stored(
        &self,
        stored: &mut Stored,
        op: &Op,
        types: &TypeTable,
        oracle: &dyn Oracle,
    ) -> Option<Sym> {
        match op {
            Op::Load { address, size: WORD, order: None, volatile: false } => {
                stored.at(&self.value(address, types)?).cloned()
            }
            Op::Store { address, value, size, order: None, volatile: false } => {
                match self.value(address, types) {
                    Some(to) => {
                        let value = (*size == WORD).then(|| self.value(value, types)).flatten();
                        stored.put(to, *size, value, oracle);
                    }
                    None => stored.clear(),
                }
                None
            }
            op => {
                if may_store(op) {
                    stored.clear();
                }
                None
            }
        }
    }

    /// Whether the instruction's value is an atom of its own.
    pub fn is_opaque(&self, inst: u32) -> bool {
        match self.values.get(inst as usize) {
            Some(Some(value)) => matches!(value.as_atom(), Some(Atom::Stack(LOCAL, _))),
            _ => true,
        }
    }

    pub fn inst(&self, inst: u32) -> Sym {
        match self.values.get(inst as usize) {
            Some(Some(value)) => value.clone(),
            _ => Sym::inst(LOCAL, inst),
        }
    }

    pub fn value(&self, value: &Value, types: &TypeTable) -> Option<Sym> {
        Some(match value {
            Value::Inst(inst) => self.inst(inst.0),
            Value::Arg(argument) => match self.copies.get(argument.index()) {
                Some(Some(slot)) => Sym::atom(Atom::Stack(LOCAL, *slot)),
                _ => Sym::atom(Atom::Argument(LOCAL, argument.0)),
            },
            Value::Global(global) => Sym::atom(Atom::Global(*global)),
            Value::Function(function) => Sym::atom(Atom::Function(*function)),
            Value::Int { bits, ty } => Sym::constant(sign_extend(*bits, types.get(*ty))),
            Value::Null => Sym::constant(0),
            Value::Offset { base, offset } => self.value(base, types)?.shifted(*offset),
            _ => return None,
        })
    }

    fn evaluate(
        &self,
        instruction: &Instruction,
        inst: u32,
        types: &TypeTable,
        oracle: &dyn Oracle,
    ) -> Option<Sym> {
        match &instruction.op {
            Op::Address { base, offset, indices } => {
                let mut value = self.value(base, types)?.shifted(*offset);
                for (index, scale) in indices {
                    value = value.plus(&self.value(index, types)?.scaled(*scale));
                }
                Some(value)
            }
            Op::Binary { op, left, right } => {
                let (left, right) = (self.value(left, types)?, self.value(right, types)?);
                let value = self.binary(*op, left.clone(), right.clone())?;
                // A product that may be cut off at its type's end is no linear form.
                let narrow = matches!(types.get(instruction.ty), Type::Int { bits } if *bits <= 32);
                let wraps = |scale: i64| scale.unsigned_abs() > MAX_NARROW_SCALE;
                if narrow && value.terms.iter().any(|(_, scale)| wraps(*scale)) {
                    return Some(expression(*op as u32, left, right));
                }
                Some(value)
            }
            Op::Cast { op, value } => {
                self.cast(*op, self.value(value, types)?, types.get(instruction.ty))
            }
            Op::Alloca { .. } => Some(Sym::atom(Atom::Stack(LOCAL, inst))),
            Op::Compare { op, left, right } => {
                let (left, right) = (self.value(left, types)?, self.value(right, types)?);
                Some(expression(compare_code(*op), left, right))
            }
            Op::Freeze { value } => self.value(value, types),
            Op::Call { arguments, .. } => {
                let result = oracle.result_of(inst)?;
                result.substitute(&|atom| match atom {
                    Atom::Argument(LOCAL, index) => {
                        self.value(arguments.get(*index as usize)?, types)
                    }
                    _ => None,
                })
            }
            Op::Load { address, order: None, .. } if oracle.is_stable(inst) => {
                Some(Sym::atom(Atom::Load(Arc::new(self.value(address, types)?))))
            }
            Op::Phi { incoming } => {
                let mut values = incoming.iter().map(|edge| match &edge.value {
                    // A value not evaluated yet comes round a loop.
                    Value::Inst(i) if self.values[i.index()].is_none() => {
                        (i.0 != inst).then(|| Sym::inst(LOCAL, i.0))
                    }
                    other => self.value(other, types),
                });
                let first = values.next()??;
                // Only values that no loop can change between the two reads may be shared.
                let fixed =
                    !first.mentions(&|atom| matches!(atom, Atom::Inst(..) | Atom::Stack(..)));
                (fixed && values.all(|value| value.as_ref() == Some(&first))).then_some(first)
            }
            _ => None,
        }
    }

    fn binary(&self, op: BinaryOp, left: Sym, right: Sym) -> Option<Sym> {
        match (op, left.as_constant(), right.as_constant()) {
            (BinaryOp::Add, _, _) => Some(left.plus(&right)),
            (BinaryOp::Sub, _, _) => Some(left.plus(&right.scaled(-1))),
            (BinaryOp::Mul, Some(by), _) => Some(right.scaled(by)),
            (BinaryOp::Mul, _, Some(by)) => Some(left.scaled(by)),
            (BinaryOp::Shl, _, Some(by)) if (0..32).contains(&by) => Some(left.scaled(1 << by)),
            _ => Some(expression(op as u32, left, right)),
        }
    }

    fn cast(&self, op: CastOp, inner: Sym, to: &Type) -> Option<Sym> {
        match (op, to) {
            (CastOp::Trunc, Type::Int { bits }) => {
                let is_bit = |atom: &Atom| {
                    matches!(atom, Atom::Inst(LOCAL, inst)
                        if self.bits.get(*inst as usize) == Some(&true))
                };
                // A flag is kept in a byte, and made a bit again to be looked at.
                if inner.is_boolean() || inner.as_atom().is_some_and(is_bit) {
                    return Some(inner);
                }
                if let Some(value) = inner.as_constant() {
                    return Some(Sym::constant(sign_extend(value as u64, to)));
                }
                Some(expression(TRUNCATE + bits, inner, Sym::constant(0)))
            }
            (
                CastOp::SExt
                | CastOp::ZExt
                | CastOp::PtrToInt
                | CastOp::IntToPtr
                | CastOp::BitCast
                | CastOp::AddrSpaceCast,
                Type::Int { .. } | Type::Pointer,
            ) => Some(inner),
            _ => None,
        }
    }
}

const COMPARE: u32 = 2000;
const TRUNCATE: u32 = 1000;

fn compare_code(op: CompareOp) -> u32 {
    COMPARE
        + match op {
            CompareOp::Eq => 0,
            CompareOp::Ne => 1,
            CompareOp::Ugt => 2,
            CompareOp::Uge => 3,
            CompareOp::Ult => 4,
            CompareOp::Ule => 5,
            CompareOp::Sgt => 6,
            CompareOp::Sge => 7,
            CompareOp::Slt => 8,
            CompareOp::Sle => 9,
            CompareOp::Float(code) => 16 + u32::from(code),
        }
}

impl Atom {
    /// The value of which this atom is the low half (`(int)(long)argument`).
    pub fn truncated(&self) -> Option<&Sym> {
        match self {
            Atom::Expr(expr) if expr.op == TRUNCATE + 32 => Some(&expr.operands[0]),
            _ => None,
        }
    }
}

/// A branch condition taken apart.
pub enum Condition<'a> {
    /// `left == right` (or `!=` when `equal` is false).
    Compare {
        left: &'a Sym,
        right: &'a Sym,
        equal: bool,
    },
    /// The negation of another condition.
    Not(&'a Sym),
    Other,
}

impl Sym {
    pub fn condition(&self) -> Condition<'_> {
        let Some(Atom::Expr(expr)) = self.as_atom() else { return Condition::Other };
        let [left, right] = &expr.operands;
        match expr.op {
            COMPARE => Condition::Compare { left, right, equal: true },
            op if op == COMPARE + 1 => Condition::Compare { left, right, equal: false },
            op if op == BinaryOp::Xor as u32
                && right.as_constant().is_some_and(|bit| bit & 1 == 1)
                && left.is_boolean() =>
            {
                Condition::Not(left)
            }
            _ => Condition::Other,
        }
    }

    /// Zero or one for certain.
    fn is_boolean(&self) -> bool {
        match self.as_atom() {
            Some(Atom::Expr(expr)) => {
                expr.op >= COMPARE
                    || (expr.op == BinaryOp::Xor as u32
                        && expr.operands[0].is_boolean()
                        && expr.operands[1].as_constant().is_some_and(|bit| bit == 1))
            }
            _ => false,
        }
    }
}

fn expression(op: u32, left: Sym, right: Sym) -> Sym {
    let depth = 1 + left.depth().max(right.depth());
    Sym::atom(Atom::Expr(Arc::new(Expr { op, operands: [left, right], depth })))
}

fn sign_extend(bits: u64, ty: &Type) -> i64 {
    match ty {
        Type::Int { bits: width } if (2..64).contains(width) => {
            let shift = 64 - width;
            ((bits << shift) as i64) >> shift
        }
        _ => bits as i64,
    }
}
