//! Walks over what an operation mentions: operands, blocks, names, types.

use smallvec::SmallVec;

use crate::{BlockId, Callee, Edge, NameId, Op, TypeId, Value};

/// The operands of an operation; by reference or, on `&mut Op` with `iter_mut`, exclusively.
macro_rules! operands {
    ($op:expr, $iter:ident) => {{
        let mut all = SmallVec::new();
        match $op {
            Op::Load { address, .. } => all.push(address),
            Op::Store { address, value, .. } | Op::AtomicRmw { address, value, .. } => {
                all.extend([address, value]);
            }
            Op::CompareExchange { address, expected, new, .. } => {
                all.extend([address, expected, new]);
            }
            Op::MemCopy { to, from, length, .. } => all.extend([to, from, length]),
            Op::MemSet { to, byte, length } => all.extend([to, byte, length]),
            Op::Alloca { count, .. } => all.push(count),
            Op::Address { base, indices, .. } => {
                all.push(base);
                all.extend(indices.$iter().map(|(index, _)| index));
            }
            Op::Binary { left, right, .. }
            | Op::Compare { left, right, .. }
            | Op::ShuffleVector { left, right, .. } => all.extend([left, right]),
            Op::FNeg { value }
            | Op::Cast { value, .. }
            | Op::Freeze { value }
            | Op::Resume { value } => all.push(value),
            Op::Select { condition, then, otherwise } => all.extend([condition, then, otherwise]),
            Op::Phi { incoming } => all.extend(incoming.$iter().map(|Edge { value, .. }| value)),
            Op::ExtractValue { aggregate, .. } => all.push(aggregate),
            Op::InsertValue { aggregate, element, .. } => all.extend([aggregate, element]),
            Op::ExtractElement { vector, index } => all.extend([vector, index]),
            Op::InsertElement { vector, element, index } => all.extend([vector, element, index]),
            Op::VaArg { list } => all.push(list),
            Op::Call { callee, arguments, .. } => {
                match callee {
                    Callee::Indirect(function) => all.push(function),
                    Callee::Virtual { function, table, .. } => all.extend([function, table]),
                    Callee::Direct(_) | Callee::Asm { .. } => {}
                }
                all.extend(arguments.$iter());
            }
            Op::Return { value } => all.extend(value),
            Op::Branch { condition, .. } => all.push(condition),
            Op::Switch { value, cases, .. } => {
                all.push(value);
                all.extend(cases.$iter().map(|Edge { value, .. }| value));
            }
            Op::IndirectJump { address, .. } => all.push(address),
            Op::Unknown { operands, .. } => all.extend(operands.$iter()),
            Op::Fence { .. }
            | Op::LandingPad { .. }
            | Op::Jump { .. }
            | Op::Unreachable
            | Op::Nop => {}
        }
        all
    }};
}

impl Op {
    /// Every operand: for a call, the called pointer (and table) before the arguments.
    pub fn operands(&self) -> SmallVec<[&Value; 4]> {
        operands!(self, iter)
    }

    pub fn operands_mut(&mut self) -> SmallVec<[&mut Value; 4]> {
        operands!(self, iter_mut)
    }

    /// Blocks that control may go to from here; for a switch the default comes first.
    pub fn successors(&self) -> SmallVec<[BlockId; 2]> {
        match self {
            Op::Jump { to } => SmallVec::from_slice(&[*to]),
            Op::Branch { then, otherwise, .. } => SmallVec::from_slice(&[*then, *otherwise]),
            Op::Switch { cases, default, .. } => {
                std::iter::once(*default).chain(cases.iter().map(|case| case.block)).collect()
            }
            Op::IndirectJump { targets, .. } => targets.iter().copied().collect(),
            Op::Call { invoke: Some((normal, unwind)), .. } => {
                SmallVec::from_slice(&[*normal, *unwind])
            }
            _ => SmallVec::new(),
        }
    }

    /// The name that the operation carries, if it carries one.
    pub fn name_mut(&mut self) -> Option<&mut NameId> {
        match self {
            Op::Alloca { name, .. } | Op::Unknown { name, .. } => Some(name),
            Op::Call { callee: Callee::Asm { text, .. }, .. } => Some(text),
            _ => None,
        }
    }
}

impl Value {
    /// This value and the values it is made of.
    pub fn visit(&self, visit: &mut impl FnMut(&Value)) {
        visit(self);
        match self {
            Value::Offset { base, .. } => base.visit(visit),
            Value::Aggregate { elements, .. } => elements.iter().for_each(|e| e.visit(visit)),
            _ => {}
        }
    }

    pub fn visit_mut(&mut self, visit: &mut impl FnMut(&mut Value)) {
        match self {
            Value::Offset { base, .. } => base.visit_mut(visit),
            Value::Aggregate { elements, .. } => {
                elements.iter_mut().for_each(|e| e.visit_mut(visit));
            }
            _ => {}
        }
        visit(self);
    }

    /// The type that the value spells out; instructions, arguments and addresses carry none.
    pub fn type_mut(&mut self) -> Option<&mut TypeId> {
        match self {
            Value::Int { ty, .. }
            | Value::WideInt { ty, .. }
            | Value::Float { ty, .. }
            | Value::Undef { ty }
            | Value::Zero { ty }
            | Value::Aggregate { ty, .. }
            | Value::Unknown { ty } => Some(ty),
            _ => None,
        }
    }
}
