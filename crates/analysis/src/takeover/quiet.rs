//! Whether an edit of a function is one that stages after the summaries cannot tell.
//!
//! They know a function by its summary, by instructions that they look at, and by what they find when they go
//! through all functions for calls, atomic operations and uses of addresses
//! ([`Bodies::scan`](crate::bodies::Bodies::scan)). An edit is quiet when what was looked at is what it was,
//! and when what was added or taken away only computes numbers, branches, reads numbers from variables of the
//! function, and keeps numbers in those whose address nobody takes.

use std::hash::Hash;

use racewarden_ir::{
    BlockId, Callee, Function, FunctionId, InstId, Module, NameId, Op, Type, Value,
};

use super::renaming::NONE;
use crate::bodies::Looks;
use crate::view::{self, Bytes, Digest};

/// A function in its module.
#[derive(Clone, Copy)]
pub struct Body<'a> {
    pub function: &'a Function,
    pub module: &'a Module,
}

/// Numbers of instructions after the edit by those before it, and the other way round.
pub type Matches<'a> = (&'a [u32], &'a [u32]);

/// A function before and after an edit.
pub struct Edit<'a> {
    pub before: Body<'a>,
    pub now: Body<'a>,
    pub matches: Matches<'a>,
    pub looks: &'a Looks,
    /// Whether numbers that are passed to a function, by its number now, are details.
    pub is_plain: &'a dyn Fn(FunctionId) -> bool,
}

impl Edit<'_> {
    /// Whether all that was looked at is what it was.
    pub fn is_unseen(&self) -> bool {
        let Edit { before, now, matches: (forth, _), looks, .. } = *self;
        let limit = crate::order::MAX_INSTRUCTIONS;
        let is_long = |body: Body<'_>| body.function.instructions.len() > limit;
        let same = |inst: &u32| match forth.get(*inst as usize) {
            Some(&other) if other != NONE => self.is_same((*inst as usize, other as usize), true),
            _ => false,
        };
        !looks.seen
            && is_long(before) == is_long(now)
            && (!looks.searched || self.is_same_skeleton())
            && looks.insts.iter().all(same)
    }

    /// Whether nobody can tell.
    pub fn is_quiet(&self) -> bool {
        let Edit { before, now, matches: (forth, back), looks, .. } = *self;
        let limit = crate::order::MAX_INSTRUCTIONS;
        let counts = [before, now].map(|body| body.function.instructions.len());
        if looks.seen
            || (counts[0] > limit) != (counts[1] > limit)
            || (looks.searched && !self.is_same_skeleton())
        {
            return false;
        }
        let (own, new) = (before.private_slots(), now.private_slots());
        let is_looked_at = |inst: usize| looks.insts.binary_search(&(inst as u32)).is_ok();
        let old_is_quiet = (0..counts[0]).all(|inst| match forth.get(inst) {
            Some(&other) if other != NONE => {
                let at = (inst, other as usize);
                let is_unseen = before.is_quiet(inst, &own) && now.is_quiet(at.1, &new);
                (is_unseen || self.is_same(at, false))
                    && (!is_looked_at(inst) || self.is_same(at, true))
            }
            _ => before.is_quiet(inst, &own) && !is_looked_at(inst),
        });
        let is_new = |inst: &usize| back.get(*inst).is_none_or(|old| *old == NONE);
        old_is_quiet && (0..counts[1]).filter(is_new).all(|inst| now.is_quiet(inst, &new))
    }

    /// Whether nothing but details is different.
    fn is_same_skeleton(&self) -> bool {
        let Edit { before, now, matches: (forth, _), .. } = *self;
        let mut pairs = (0..).zip(forth);
        before.function.blocks == now.function.blocks
            && before.function.instructions.len() == now.function.instructions.len()
            && pairs
                .all(|(inst, other)| inst == *other as usize && self.is_same((inst, inst), true))
    }

    /// Whether the instructions, this one before and that one now, do the same: with all that they take but
    /// details when it is `exactly`, else with all but numbers, which computations may make otherwise.
    fn is_same(&self, (here, there): (usize, usize), exactly: bool) -> bool {
        let (forth, back) = self.matches;
        let matched = |list: &[u32], inst: u32| {
            list.get(inst as usize).copied().filter(|other| *other != NONE)
        };
        let old_number = |inst: u32| matched(back, inst);
        let own_number = |inst: u32| matched(forth, inst).map(|_| inst);
        let plain = match &self.now.inst(there).op {
            Op::Call { callee: Callee::Direct(target), .. } => (self.is_plain)(*target),
            _ => false,
        };
        let before = self.before.identity(here, &own_number, (exactly, plain));
        before.is_some() && before == self.now.identity(there, &old_number, (exactly, plain))
    }
}

impl Body<'_> {
    fn inst(&self, inst: usize) -> &racewarden_ir::Instruction {
        self.function.inst(InstId::new(inst))
    }

    fn is_number_type(&self, ty: racewarden_ir::TypeId) -> bool {
        matches!(self.module.types.get(ty), Type::Int { .. } | Type::Float { .. })
    }

    /// Whether the value is a number, by its type.
    fn is_number(&self, value: &Value) -> bool {
        match value {
            Value::Inst(inst) => self.is_number_type(self.function.inst(*inst).ty),
            Value::Arg(argument) => {
                let param = self.function.params.get(argument.index());
                param.is_some_and(|param| self.is_number_type(param.ty))
            }
            Value::Int { .. } | Value::WideInt { .. } | Value::Float { .. } => true,
            Value::Undef { ty } => self.is_number_type(*ty),
            _ => false,
        }
    }

    /// Stack slots that numbers are plainly written to and read from, and nothing else is done with.
    fn private_slots(&self) -> Vec<bool> {
        let mut private: Vec<bool> = self
            .function
            .instructions
            .iter()
            .map(|own| matches!(&own.op, Op::Alloca { count: Value::Int { .. }, .. }))
            .collect();
        for own in &self.function.instructions {
            let plain = match &own.op {
                Op::Load { order: None, volatile: false, .. } => self.is_number_type(own.ty),
                Op::Store { order: None, volatile: false, value, .. } => self.is_number(value),
                _ => false,
            };
            for (position, operand) in own.op.operands().into_iter().enumerate() {
                let is_address = plain && position == 0 && matches!(operand, Value::Inst(_));
                operand.visit(&mut |value| {
                    if let (Value::Inst(used), false) = (value, is_address) {
                        private[used.index()] = false;
                    }
                });
            }
        }
        private
    }

    /// Whether nobody but the function itself can tell that the instruction is there.
    fn is_quiet(&self, inst: usize, private: &[bool]) -> bool {
        let own = self.inst(inst);
        let is_private = |address: &Value| match address {
            Value::Inst(slot) => private[slot.index()],
            _ => false,
        };
        let numbers = || own.op.operands().into_iter().all(|value| self.is_number(value));
        match &own.op {
            Op::Alloca { .. } => private[inst],
            // Others may write there; whether they do is told by points-to sets and the summary, which are
            // compared, and who goes through all functions does not ask for plain reads of numbers.
            Op::Load { address: Value::Inst(slot), order: None, volatile: false, .. } => {
                self.is_number_type(own.ty)
                    && matches!(self.function.inst(*slot).op, Op::Alloca { .. })
            }
            Op::Store { address, .. } => is_private(address),
            Op::Binary { .. }
            | Op::FNeg { .. }
            | Op::Cast { .. }
            | Op::Compare { .. }
            | Op::Select { .. }
            | Op::Phi { .. }
            | Op::Freeze { .. } => self.is_number_type(own.ty) && numbers(),
            Op::Branch { .. } | Op::Switch { .. } => numbers(),
            Op::Jump { .. } | Op::Nop => true,
            _ => false,
        }
    }

    /// The instruction in one number that does not depend on the module. `number` gives other
    /// instructions'; `None` where one has none. With `plain`, numbers that are passed are details.
    fn identity(
        self,
        inst: usize,
        number: &dyn Fn(u32) -> Option<u32>,
        (exactly, plain): (bool, bool),
    ) -> Option<Digest> {
        let mut own = self.inst(inst).clone();
        view::without_details(&mut own.op, &|_| plain);
        let mut bytes = Bytes::default();
        let is_computed =
            matches!(
                &own.op,
                Op::Binary { .. } | Op::FNeg { .. } | Op::Cast { .. } | Op::Compare { .. }
            ) || matches!(&own.op, Op::Select { .. } | Op::Phi { .. } | Op::Freeze { .. });
        let leads = matches!(&own.op, Op::Branch { .. } | Op::Jump { .. } | Op::Switch { .. });
        let numbers = || own.op.operands().into_iter().all(|value| self.is_number(value));
        if !exactly && (leads || (is_computed && self.is_number_type(own.ty) && numbers())) {
            // Another computation, or another way, says nothing of which kind it is.
            return Some(bytes.digest());
        }
        self.kind(&own.op, number, exactly, &mut bytes)?;
        self.class(own.ty).hash(&mut bytes);
        for operand in own.op.operands() {
            match !exactly && self.is_number(operand) {
                true => "number".hash(&mut bytes),
                false => self.value(operand, number, &mut bytes)?,
            }
        }
        let id = InstId::new(inst);
        self.path(self.function.path_of(id), &mut bytes);
        for operand in self.function.operand_paths.iter().filter(|operand| operand.inst == id) {
            operand.operand.hash(&mut bytes);
            self.path(self.function.paths.get(operand.path.index()), &mut bytes);
        }
        for frame in self.function.inlined_at(id) {
            self.module.name_text(frame.function).hash(&mut bytes);
        }
        Some(bytes.digest())
    }

    fn path(&self, path: Option<&racewarden_ir::FieldPath>, bytes: &mut Bytes) {
        let names = path.map(|path| {
            [path.text, path.field, path.inner].map(|name| self.module.name_text(name))
        });
        names.hash(bytes);
    }

    /// All of the operation but what it takes. Where control goes, and where it comes from, is told by the
    /// first instructions of blocks that have numbers, and only when it is `exactly`; `None` where a block
    /// has none.
    fn kind(
        &self,
        op: &Op,
        number: &dyn Fn(u32) -> Option<u32>,
        exactly: bool,
        bytes: &mut Bytes,
    ) -> Option<()> {
        let mut bare = op.clone();
        bare.operands_mut().into_iter().for_each(|operand| *operand = Value::Null);
        if let Some(name) = bare.name_mut() {
            self.module.name_text(*name).hash(bytes);
            *name = NameId(0);
        }
        if let Op::Call { callee: Callee::Direct(target), .. } = &mut bare {
            self.module.name_text(self.module.function(*target).name).hash(bytes);
            *target = FunctionId(0);
        }
        for block in blocks(&mut bare) {
            if exactly {
                let own = self.function.blocks.get(block.index())?;
                (own.start.0..own.end.0).find_map(number)?.hash(bytes);
            }
            *block = BlockId(0);
        }
        bare.hash(bytes);
        Some(())
    }

    /// A type as far as it can be told from modules with other numbers.
    fn class(&self, ty: racewarden_ir::TypeId) -> (u8, u32) {
        match self.module.types.get(ty) {
            Type::Void => (0, 0),
            Type::Int { bits } => (1, *bits),
            Type::Float { bits } => (2, *bits),
            Type::Pointer => (3, 0),
            _ => (4, 0),
        }
    }

    fn value(
        &self,
        value: &Value,
        number: &dyn Fn(u32) -> Option<u32>,
        bytes: &mut Bytes,
    ) -> Option<()> {
        std::mem::discriminant(value).hash(bytes);
        match value {
            Value::Inst(inst) => number(inst.0)?.hash(bytes),
            Value::Arg(argument) => argument.hash(bytes),
            Value::Global(id) => self.module.name_text(self.module.global(*id).name).hash(bytes),
            Value::Function(id) => {
                self.module.name_text(self.module.function(*id).name).hash(bytes)
            }
            Value::Int { bits, ty } | Value::Float { bits, ty } => {
                (bits, self.class(*ty)).hash(bytes);
            }
            Value::Null => {}
            Value::Undef { ty } => self.class(*ty).hash(bytes),
            Value::Offset { base, offset } => {
                offset.hash(bytes);
                self.value(base, number, bytes)?;
            }
            // Their types are not told apart here.
            _ => return None,
        }
        Some(())
    }
}

/// The blocks that an operation names.
fn blocks(op: &mut Op) -> Vec<&mut BlockId> {
    match op {
        Op::Jump { to } => vec![to],
        Op::Branch { then, otherwise, .. } => vec![then, otherwise],
        Op::Switch { cases, default, .. } => {
            cases.iter_mut().map(|edge| &mut edge.block).chain([default]).collect()
        }
        Op::Phi { incoming } => incoming.iter_mut().map(|edge| &mut edge.block).collect(),
        Op::Call { invoke: Some((normal, unwind)), .. } => vec![normal, unwind],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::takeover::alignment::aligned;

    const HEAD: &str = "type ty0 = void\ntype ty1 = int 32\ntype ty2 = pointer\ntype ty3 = int 1\n\
        global @g0 \"x\" external ty2 size 8 = [] bytes \"0000000000000000\"\n\
        function fn0 \"f\" external ty1 () {\nbb0:\n %0: ty2 = alloca 4, 1:ty1, \"own\"\n \
        %1: ty0 = store @g0, %0, 8\n";

    /// Whether nobody can tell the second body from the first when these instructions were looked at.
    fn is_quiet(before: &str, now: &str, insts: &[u32]) -> bool {
        let [before, now] = [before, now].map(|body| {
            racewarden_ir::parse(&format!("{HEAD}{body}\n}}\n")).expect("it is well formed")
        });
        let body = |module| Body { function: Module::function(module, FunctionId(0)), module };
        let (before, now) = (body(&before), body(&now));
        let (forth, back) = aligned((before.function, before.module), (now.function, now.module));
        let looks = Looks { insts: insts.to_vec(), ..Looks::default() };
        Edit { before, now, matches: (&forth, &back), looks: &looks, is_plain: &|_| false }
            .is_quiet()
    }

    const PLAIN: &str = " %2: ty0 = jump bb1\nbb1:\n %3: ty1 = load %0, 4\n %4: ty0 = return %3";

    /// As above, with a branch by what is read.
    fn branching(read: &str) -> String {
        format!(
            " %2: ty0 = jump bb1\nbb1:\n %3: ty1 = {read}\n %4: ty3 = icmp sgt %3, 5:ty1\n \
             %5: ty0 = branch %4, bb2, bb3\nbb2:\n %6: ty0 = jump bb3\nbb3:\n \
             %7: ty1 = load %0, 4\n %8: ty0 = return %7"
        )
    }

    #[test]
    fn a_function_may_read_its_own_numbers_and_branch_by_them() {
        assert!(is_quiet(PLAIN, &branching("load %0, 4"), &[2]));
        assert!(is_quiet(&branching("load %0, 4"), PLAIN, &[2]));
        assert!(!is_quiet(PLAIN, &branching("load @g0, 4"), &[]));
        assert!(!is_quiet(PLAIN, &branching("load %0, 4 volatile"), &[]));
        assert!(!is_quiet(PLAIN, &branching("load %0, 4 acquire"), &[]));
    }

    #[test]
    fn where_control_goes_is_told_when_it_was_looked_at() {
        let leading = |to: &str| {
            format!(
                " %2: ty0 = jump {to}\nbb1:\n %3: ty1 = load %0, 4\n %4: ty0 = jump bb2\nbb2:\n \
                 %5: ty1 = load %0, 4\n %6: ty0 = return %5"
            )
        };
        assert!(is_quiet(&leading("bb1"), &leading("bb2"), &[]));
        assert!(!is_quiet(&leading("bb1"), &leading("bb2"), &[2]));
        assert!(is_quiet(&leading("bb1"), &leading("bb1"), &[2]));
    }
}
