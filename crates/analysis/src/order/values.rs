//! Which way control goes when one value is known.
//!
//! Conditional constant propagation (Wegman and Zadeck) from one instruction on: given what a load
//! has read, which branches may be taken before the load is made again. Only instructions that the
//! load dominates are followed: their values stem from its latest execution, whatever loops lie
//! around. All others, and whatever the evaluation does not know, may be anything.

use racewarden_ir::{BinaryOp, CastOp, CompareOp, Function, Op, Type, TypeTable, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::cfg::Cfg;

/// What a word of memory holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Content {
    Bits(u64),
    /// The address of some object, never zero.
    Address,
}

/// The branches that may be taken.
#[derive(Debug, Default)]
pub struct Ways {
    pub edges: FxHashSet<(u32, u32)>,
    /// Blocks whose end is reached.
    pub blocks: FxHashSet<u32>,
}

/// Functions larger than this are not followed.
pub const MAX_INSTRUCTIONS: usize = 20_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Content(Content),
    Anything,
}

struct Propagation<'a> {
    body: &'a Function,
    cfg: &'a Cfg,
    types: &'a TypeTable,
    source: u32,
    values: FxHashMap<u32, Known>,
    ways: Ways,
}

/// Where control may go after `source` has got this value.
pub fn ways(
    body: &Function,
    cfg: &Cfg,
    types: &TypeTable,
    source: u32,
    content: Content,
) -> Option<Ways> {
    if body.instructions.len() > MAX_INSTRUCTIONS {
        return None;
    }
    let values = FxHashMap::from_iter([(source, Known::Content(content))]);
    let mut own = Propagation { body, cfg, types, source, values, ways: Ways::default() };
    own.settle();
    Some(own.ways)
}

/// What an instruction has when `source` has got this value, if that is one thing.
pub fn result(
    body: &Function,
    cfg: &Cfg,
    types: &TypeTable,
    (source, content): (u32, Content),
    inst: u32,
) -> Option<Content> {
    if body.instructions.len() > MAX_INSTRUCTIONS {
        return None;
    }
    let values = FxHashMap::from_iter([(source, Known::Content(content))]);
    let mut own = Propagation { body, cfg, types, source, values, ways: Ways::default() };
    own.settle();
    match own.values.get(&inst) {
        Some(Known::Content(content)) => Some(*content),
        _ => None,
    }
}

/// Whether whoever is in the block has made the instruction since it entered the function.
pub fn dominates(cfg: &Cfg, inst: u32, block: u32) -> bool {
    cfg.dominates(cfg.block_of[inst as usize], block)
}

impl Propagation<'_> {
    fn settle(&mut self) {
        loop {
            let before = (self.ways.edges.len(), self.ways.blocks.len());
            if !self.round() && before == (self.ways.edges.len(), self.ways.blocks.len()) {
                return;
            }
        }
    }

    /// Goes once over all blocks that are reached; whether a value changed.
    fn round(&mut self) -> bool {
        let first = self.cfg.block_of[self.source as usize];
        let mut changed = self.block(first, self.source + 1);
        for &block in &self.cfg.order {
            let entered = self.cfg.predecessors[block as usize]
                .iter()
                .any(|from| self.ways.edges.contains(&(*from, block)));
            if block != first && entered {
                changed |= self.block(block, self.body.blocks[block as usize].start.0);
            }
        }
        changed
    }

    fn block(&mut self, block: u32, start: u32) -> bool {
        let end = self.body.blocks[block as usize].end.0;
        let follows = dominates(self.cfg, self.source, block);
        let mut changed = false;
        for inst in start..end {
            if follows && let Some(value) = self.evaluate(block, inst) {
                changed |= self.values.insert(inst, value) != Some(value);
            }
        }
        self.ways.blocks.insert(block);
        if end > start {
            for to in self.leaves(block, &self.body.instructions[end as usize - 1].op) {
                self.ways.edges.insert((block, to));
            }
        }
        changed
    }

    /// The successors that control may take.
    fn leaves(&self, block: u32, last: &Op) -> Vec<u32> {
        let all = || self.cfg.successors[block as usize].to_vec();
        match last {
            Op::Branch { condition, then, otherwise } => match self.value(condition) {
                Some(Known::Content(Content::Bits(bits))) => {
                    vec![if bits & 1 == 1 { then.0 } else { otherwise.0 }]
                }
                None => Vec::new(),
                _ => all(),
            },
            Op::Switch { value, cases, default } => match self.value(value) {
                Some(Known::Content(Content::Bits(bits))) => {
                    let case = |case: &&racewarden_ir::Edge| matches!(case.value, Value::Int { bits: own, .. } if own == bits);
                    let known = cases.iter().all(|c| matches!(c.value, Value::Int { .. }));
                    if !known {
                        return all();
                    }
                    vec![cases.iter().find(case).map_or(default.0, |case| case.block.0)]
                }
                None => Vec::new(),
                _ => all(),
            },
            _ => all(),
        }
    }

    /// `None` while nothing has been evaluated yet.
    fn value(&self, value: &Value) -> Option<Known> {
        Some(match value {
            Value::Int { bits, .. } | Value::Float { bits, .. } => {
                Known::Content(Content::Bits(*bits))
            }
            Value::Null => Known::Content(Content::Bits(0)),
            Value::Inst(inst) => {
                let block = self.cfg.block_of[inst.index()];
                let followed = if block == self.cfg.block_of[self.source as usize] {
                    inst.0 >= self.source
                } else {
                    dominates(self.cfg, self.source, block)
                };
                if followed {
                    return self.values.get(&inst.0).copied();
                }
                Known::Anything
            }
            _ => Known::Anything,
        })
    }

    fn evaluate(&self, block: u32, inst: u32) -> Option<Known> {
        let instruction = &self.body.instructions[inst as usize];
        let bits = |value: &Value| match self.value(value)? {
            Known::Content(Content::Bits(bits)) => Some(Ok(bits)),
            other => Some(Err(other)),
        };
        let known = |bits: Option<u64>| {
            Some(bits.map_or(Known::Anything, |bits| Known::Content(Content::Bits(bits))))
        };
        match &instruction.op {
            Op::Phi { incoming } => {
                let mut result: Option<Known> = None;
                for edge in incoming {
                    if !self.ways.edges.contains(&(edge.block.0, block)) {
                        continue;
                    }
                    let Some(value) = self.value(&edge.value) else { continue };
                    result = match result {
                        None => Some(value),
                        Some(old) if old == value => Some(old),
                        _ => Some(Known::Anything),
                    };
                }
                result
            }
            Op::Freeze { value } => self.value(value),
            Op::Select { condition, then, otherwise } => match bits(condition)? {
                Ok(bits) => self.value(if bits & 1 == 1 { then } else { otherwise }),
                Err(_) => {
                    let (left, right) = (self.value(then)?, self.value(otherwise)?);
                    Some(if left == right { left } else { Known::Anything })
                }
            },
            Op::Compare { op, left, right } => {
                let (x, y) = (self.value(left)?, self.value(right)?);
                known(self.compare(*op, left, x, y).map(u64::from))
            }
            Op::Binary { op, left, right } => {
                let (Ok(x), Ok(y)) = (bits(left)?, bits(right)?) else {
                    return Some(Known::Anything);
                };
                known(binary(*op, self.types.get(instruction.ty), x, y))
            }
            Op::Cast { op, value } => match bits(value)? {
                Ok(bits) => {
                    known(cast(*op, self.type_of(value), self.types.get(instruction.ty), bits))
                }
                Err(other) if matches!(op, CastOp::BitCast | CastOp::AddrSpaceCast) => Some(other),
                Err(_) => Some(Known::Anything),
            },
            _ => Some(Known::Anything),
        }
    }

    fn compare(&self, op: CompareOp, left: &Value, x: Known, y: Known) -> Option<bool> {
        let zero = Known::Content(Content::Bits(0));
        let address = Known::Content(Content::Address);
        let apart = (x == address && y == zero) || (x == zero && y == address);
        match op {
            CompareOp::Eq if apart => return Some(false),
            CompareOp::Ne if apart => return Some(true),
            _ => {}
        }
        let (Known::Content(Content::Bits(x)), Known::Content(Content::Bits(y))) = (x, y) else {
            return None;
        };
        let ty = self.type_of(left);
        if let CompareOp::Float(code) = op {
            let (x, y) = (float(ty, x)?, float(ty, y)?);
            let bit = if x.is_nan() || y.is_nan() {
                8
            } else if x == y {
                1
            } else if x > y {
                2
            } else {
                4
            };
            return Some(code & bit != 0);
        }
        let (s, t) = (signed(ty, x)?, signed(ty, y)?);
        Some(match op {
            CompareOp::Eq => x == y,
            CompareOp::Ne => x != y,
            CompareOp::Ugt => x > y,
            CompareOp::Uge => x >= y,
            CompareOp::Ult => x < y,
            CompareOp::Ule => x <= y,
            CompareOp::Sgt => s > t,
            CompareOp::Sge => s >= t,
            CompareOp::Slt => s < t,
            CompareOp::Sle => s <= t,
            CompareOp::Float(_) => return None,
        })
    }

    fn type_of(&self, value: &Value) -> &Type {
        match value {
            Value::Inst(inst) => self.types.get(self.body.instructions[inst.index()].ty),
            Value::Int { ty, .. } | Value::Float { ty, .. } => self.types.get(*ty),
            Value::Null => &Type::Pointer,
            _ => &Type::Opaque,
        }
    }
}

/// Numbers below this are doubles without rounding.
const EXACT: u64 = 1 << 53;

fn width(ty: &Type) -> Option<u32> {
    match ty {
        Type::Int { bits } if (1..=64).contains(bits) => Some(*bits),
        Type::Pointer => Some(64),
        _ => None,
    }
}

fn cut(bits: u64, width: u32) -> u64 {
    if width >= 64 { bits } else { bits & ((1 << width) - 1) }
}

pub(super) fn signed(ty: &Type, bits: u64) -> Option<i64> {
    let unused = 64 - width(ty)?;
    Some(((bits << unused) as i64) >> unused)
}

fn float(ty: &Type, bits: u64) -> Option<f64> {
    match ty {
        Type::Float { bits: 32 } => Some(f64::from(f32::from_bits(bits as u32))),
        Type::Float { bits: 64 } => Some(f64::from_bits(bits)),
        _ => None,
    }
}

fn float_bits(ty: &Type, value: f64) -> Option<u64> {
    match ty {
        Type::Float { bits: 32 } => Some(u64::from((value as f32).to_bits())),
        Type::Float { bits: 64 } => Some(value.to_bits()),
        _ => None,
    }
}

pub(super) fn binary(op: BinaryOp, ty: &Type, x: u64, y: u64) -> Option<u64> {
    if matches!(ty, Type::Float { .. }) {
        let (x, y) = (float(ty, x)?, float(ty, y)?);
        let value = match op {
            BinaryOp::FAdd => x + y,
            BinaryOp::FSub => x - y,
            BinaryOp::FMul => x * y,
            BinaryOp::FDiv => x / y,
            _ => return None,
        };
        // Single precision rounds once: twice is the same for these four operations.
        return float_bits(ty, value);
    }
    let width = width(ty)?;
    let (s, t) = (signed(ty, x)?, signed(ty, y)?);
    let shift = u32::try_from(y).ok().filter(|by| *by < width);
    let value = match op {
        BinaryOp::Add => x.wrapping_add(y),
        BinaryOp::Sub => x.wrapping_sub(y),
        BinaryOp::Mul => x.wrapping_mul(y),
        BinaryOp::UDiv => x.checked_div(y)?,
        BinaryOp::URem => x.checked_rem(y)?,
        BinaryOp::SDiv => s.checked_div(t)? as u64,
        BinaryOp::SRem => s.checked_rem(t)? as u64,
        BinaryOp::Shl => x << shift?,
        BinaryOp::LShr => x >> shift?,
        BinaryOp::AShr => (s >> shift?) as u64,
        BinaryOp::And => x & y,
        BinaryOp::Or => x | y,
        BinaryOp::Xor => x ^ y,
        _ => return None,
    };
    Some(cut(value, width))
}

pub(super) fn cast(op: CastOp, from: &Type, to: &Type, bits: u64) -> Option<u64> {
    match op {
        CastOp::Trunc | CastOp::ZExt | CastOp::PtrToInt | CastOp::IntToPtr => {
            width(from)?;
            Some(cut(bits, width(to)?))
        }
        CastOp::SExt => Some(cut(signed(from, bits)? as u64, width(to)?)),
        CastOp::SiToFp => {
            let value = signed(from, bits)?;
            (value.unsigned_abs() < EXACT).then(|| float_bits(to, value as f64))?
        }
        CastOp::UiToFp => {
            width(from)?;
            (bits < EXACT).then(|| float_bits(to, bits as f64))?
        }
        CastOp::FpExt => float_bits(to, float(from, bits)?),
        CastOp::FpTrunc => float_bits(to, float(from, bits)?),
        CastOp::FpToSi => {
            let value = float(from, bits)?;
            let to = width(to)?;
            (value.abs() < 1e9).then(|| cut(value as i64 as u64, to)).filter(|_| to >= 32)
        }
        CastOp::FpToUi => {
            let value = float(from, bits)?;
            let to = width(to)?;
            (0.0..1e9).contains(&value).then(|| cut(value as u64, to)).filter(|_| to >= 32)
        }
        CastOp::BitCast | CastOp::AddrSpaceCast => {
            (width(from).is_some() && width(from) == width(to)).then_some(bits)
        }
    }
}
