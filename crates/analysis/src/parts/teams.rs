//! What the members of an OpenMP team have as numbers of their own, and what all of them are given.
//!
//! A member's number and the rounds of a shared loop that it gets are nobody else's. What the entry of a
//! team is given is the same for all members of one team, and two teams of one root never run beside each
//! other. Variables that the region shares are given by their addresses: one that is stored to once,
//! before anybody else knows it, and only read by the region is what was stored there.
//!
//! May miss: variables that are stored to more than once, or changed by a function that gets to know them.

use std::collections::BTreeMap;

use racewarden_ir::{
    ArgId, BinaryOp, Callee, CastOp, CompareOp, Function, FunctionId, GlobalId, InstId, Op, Type,
    Value,
};

use super::poly::{FrameId, Own, Poly, Var};
use super::ways::Reader;
use crate::callgraph::effects_of_call;
use crate::effects::{Effect, Passed};
use crate::order::entered_once;
use crate::pointsto::{CallSite, ObjectId, ObjectKind};
use crate::team::{THREAD_NUMBER, first_and_last, is_shared_counter};

/// Functions within each other that a variable's address is passed on to.
const MAX_PASSED: usize = 3;

impl Reader<'_, '_> {
    /// What all members of the team get for the entry's formal: an address, or a number.
    pub(super) fn given_to_team(&self, index: u32) -> Option<Poly> {
        if !self.whole.is_flat_team(self.root) {
            return None;
        }
        let (function, value) = self.given(index)?;
        let is_address = match &value {
            Value::Inst(inst) => {
                let body = self.whole.instantiation.bodies.of(function);
                matches!(
                    self.whole.instantiation.bodies.types().get(body.inst(*inst).ty),
                    Type::Pointer
                )
            }
            Value::Int { .. } => false,
            _ => true,
        };
        if is_address {
            return Some(Poly::var(Var::Given(index)));
        }
        self.before_team(function, &value)
    }

    /// A number of the function that starts the team, as it is then.
    pub(super) fn before_team(&self, function: FunctionId, value: &Value) -> Option<Poly> {
        let body = self.whole.instantiation.bodies.of(function);
        let mut value = value;
        while let Value::Inst(inst) = value
            && let Op::Cast { op: CastOp::SExt | CastOp::ZExt, value: inner } = &body.inst(*inst).op
        {
            value = inner;
        }
        if let Some(number) = self.number_in(function, value) {
            return Some(Poly::number(number));
        }
        match value {
            Value::Inst(inst) => Some(Poly::var(Var::Before(function, true, inst.0))),
            Value::Arg(own) => Some(Poly::var(Var::Before(function, false, own.index() as u32))),
            _ => None,
        }
    }

    /// Puts down what the counters of shared loops are between, where that is told by constants.
    pub(super) fn bound_rounds(
        &self,
        poly: &Poly,
        bounds: &mut BTreeMap<Var, (Poly, Option<Poly>)>,
    ) {
        let rounds = std::cell::RefCell::new(Vec::new());
        poly.mentions(&|var| {
            if let Var::Number(Own::Share(function, phi)) = var {
                rounds.borrow_mut().push((*function, *phi));
            }
            false
        });
        for (function, phi) in rounds.into_inner() {
            if let Some((first, last)) = first_and_last(self.whole, function, phi) {
                let var = Var::Number(Own::Share(function, phi));
                bounds.insert(var, (Poly::number(first), Some(Poly::number(last + 1))));
            }
        }
    }

    /// The thread-local variable whose own copy the function's pointer leads to.
    pub(super) fn own_copy(&self, function: FunctionId, pointer: &Value) -> Option<GlobalId> {
        let bodies = &self.whole.instantiation.bodies;
        match pointer {
            Value::Global(global) => bodies.global(*global).thread_local.then_some(*global),
            Value::Offset { base, .. } => self.own_copy(function, base),
            Value::Inst(inst) => match &bodies.of(function).inst(*inst).op {
                Op::Address { base, .. } => self.own_copy(function, base),
                _ => None,
            },
            _ => None,
        }
    }

    /// The thread-local variable whose copy the address leads to that who started the team has.
    pub(super) fn original_of(&self, address: &Poly) -> Option<GlobalId> {
        let offset = address.terms().find(|(product, _)| product.is_empty());
        let bare = address.shifted(-offset.map_or(0, |(_, bytes)| bytes))?;
        match bare.as_var()? {
            Var::Given(index) => {
                let (function, value) = self.given(*index)?;
                self.own_copy(function, &value)
            }
            _ => None,
        }
    }

    /// Whether conditions say that the thread is not the one that has started the team: its own copy of a
    /// variable is not where that one's is.
    pub(super) fn is_not_first(&mut self, frame: FrameId) -> bool {
        let body = self.body(frame);
        let address = |value: &Value| match value {
            Value::Inst(inst) => match &body.inst(*inst).op {
                Op::Cast { op: CastOp::PtrToInt, value } => Some(value.clone()),
                _ => None,
            },
            _ => None,
        };
        self.conditions(frame).into_iter().any(|(condition, holds)| {
            let Value::Inst(inst) = condition else { return false };
            let Op::Compare { op, left, right } = &body.inst(inst).op else { return false };
            let unequal = match op {
                CompareOp::Ne => holds,
                CompareOp::Eq => !holds,
                _ => false,
            };
            let (Some(left), Some(right)) = (address(left), address(right)) else { return false };
            // Places within a variable differ from its beginning in the first thread, too.
            let begins = match &right {
                Value::Inst(inst) => matches!(&body.inst(*inst).op,
                    Op::Address { base: Value::Global(_), offset: 0, indices } if indices.is_empty()),
                right => matches!(right, Value::Global(_)),
            };
            let own = self.own_copy(self.frames[frame as usize].function, &right);
            let first = self.value(frame, &left).filter(|left| left.as_var().is_some());
            unequal
                && begins
                && own.is_some()
                && first.and_then(|first| self.original_of(&first)) == own
        })
    }

    /// What the call that starts the team passes to the entry's formal.
    fn given(&self, index: u32) -> Option<(FunctionId, Value)> {
        let instantiation = self.whole.instantiation;
        let site = self.whole.root(self.root).create.as_ref()?.site;
        let callee = instantiation.bodies.callee(site)?;
        let effects = effects_of_call(instantiation.effects, instantiation.points, site, callee);
        let at = effects.into_iter().find_map(|effect| match effect {
            Effect::Create { passed: Passed::Arguments { first, parameter }, .. } => {
                Some(first + index.checked_sub(*parameter)?)
            }
            _ => None,
        })?;
        let Op::Call { arguments, .. } = &instantiation.bodies.of(site.0).inst(InstId(site.1)).op
        else {
            return None;
        };
        Some((site.0, arguments.get(at as usize)?.clone()))
    }

    /// What the call tells of the team.
    pub(super) fn of_team(&self, inst: u32, frame: FrameId) -> Option<Poly> {
        let Op::Call { callee: Callee::Direct(target), .. } =
            &self.body(frame).inst(InstId(inst)).op
        else {
            return None;
        };
        let var = match self.whole.instantiation.bodies.symbol(*target) {
            THREAD_NUMBER => Var::Number(Own::Member),
            "omp_get_num_threads" => Var::Members,
            _ => return None,
        };
        self.whole.has_members(self.root).then(|| Poly::var(var))
    }

    /// The counter of a shared loop, or of one whose rounds are dealt out, within the loop.
    pub(super) fn round_of_team(&mut self, phi: u32, frame: FrameId) -> Option<Poly> {
        let (at, function) = (self.place(frame)?, self.frames[frame as usize].function);
        let flow = self.flow(frame);
        let cfg = &flow.0;
        let around = cfg.loop_at(cfg.block_of[phi as usize])?;
        let block = cfg.block_of[at as usize];
        if !around.contains(block) || block == around.header {
            return None;
        }
        let is_shared = self.whole.is_flat_team(self.root)
            && is_shared_counter(self.whole, function, phi)
            && entered_once(self.whole, self.root, (function, 0));
        (is_shared || self.is_dealt(phi, frame))
            .then(|| Poly::var(Var::Number(Own::Share(function, phi))))
    }

    /// Whether the counter begins at the member's number and goes on by as many as there are members: then
    /// no other member's is ever the same.
    fn is_dealt(&mut self, phi: u32, frame: FrameId) -> bool {
        let body = self.body(frame);
        let flow = self.flow(frame);
        let cfg = &flow.0;
        let Op::Phi { incoming } = &body.inst(InstId(phi)).op else { return false };
        let Some(around) = cfg.loop_at(cfg.block_of[phi as usize]) else { return false };
        self.whole.has_members(self.root)
            && incoming.iter().all(|edge| {
                if !around.contains(edge.block.0) {
                    let start = self.value(frame, &edge.value);
                    return start == Some(Poly::var(Var::Number(Own::Member)));
                }
                let Value::Inst(grown) = edge.value else { return false };
                let Op::Binary { op: BinaryOp::Add, left, right } = &body.inst(grown).op else {
                    return false;
                };
                let step = match (left, right) {
                    (Value::Inst(own), step) | (step, Value::Inst(own)) if own.0 == phi => step,
                    _ => return false,
                };
                self.value(frame, step) == Some(Poly::var(Var::Members))
            })
    }

    /// The number that a global begins with, and that nothing changes.
    pub(super) fn initial_number(&self, global: GlobalId, size: u64) -> Option<i64> {
        let instantiation = self.whole.instantiation;
        let objects = &instantiation.points.locations().objects;
        let object = objects.iter().position(|own| *own == ObjectKind::Global(global))? as ObjectId;
        let written = &instantiation.sharing?.written;
        if written.contains_key(&object) || instantiation.points.in_blob(object) {
            return None;
        }
        let data = instantiation.bodies.global(global).initializer.as_ref()?;
        let bytes = data.bytes.get(..usize::try_from(size).ok()?)?;
        let plain = data.pointers.is_empty() && (4..=8).contains(&size);
        let bits = bytes.iter().rev().fold(0u64, |sum, byte| (sum << 8) | u64::from(*byte));
        plain.then(|| extended(bits, 8 * size))
    }

    /// What the variable holds whose address the entry is given, and who has put it there.
    pub(super) fn given_value(&self, index: u32) -> Option<(FunctionId, Value)> {
        let (function, Value::Inst(slot)) = self.given(index)? else { return None };
        Some((function, self.stored_once(function, slot)?))
    }

    /// What the one store puts into the variable, which the threads that are told of it only read.
    fn stored_once(&self, function: FunctionId, slot: InstId) -> Option<Value> {
        let body = self.whole.instantiation.bodies.of(function);
        let Op::Alloca { .. } = body.inst(slot).op else { return None };
        let own = Value::Inst(slot);
        let mut stored = None;
        for (inst, instruction) in (0u32..).zip(&body.instructions) {
            if let Op::Store { address, value, order: None, .. } = &instruction.op
                && *address == own
                && !mentions(value, &own)
            {
                if stored.replace(value.clone()).is_some() {
                    return None;
                }
                continue;
            }
            self.only_reads(body, (function, inst), &own, 0)?;
        }
        stored
    }

    /// Whether the instruction does no more with the address than to read there.
    fn only_reads(
        &self,
        body: &Function,
        (function, inst): CallSite,
        own: &Value,
        depth: usize,
    ) -> Option<()> {
        let op = &body.inst(InstId(inst)).op;
        if !op.operands().into_iter().any(|operand| mentions(operand, own)) {
            return Some(());
        }
        match op {
            Op::Load { address, .. } if address == own => Some(()),
            Op::Call { callee: Callee::Direct(target), arguments, .. } if depth < MAX_PASSED => {
                let bodies = &self.whole.instantiation.bodies;
                if bodies.symbol(*target).starts_with("llvm.lifetime") {
                    return Some(());
                }
                for index in (0u32..).zip(arguments.iter()).filter(|(_, a)| mentions(a, own)) {
                    if index.1 != own {
                        return None;
                    }
                    let (to, formal) = self.passed_to((function, inst), *target, index.0)?;
                    let formal = Value::Arg(ArgId(formal));
                    let within = bodies.of(to);
                    let all = 0..within.instructions.len() as u32;
                    for other in all {
                        self.only_reads(within, (to, other), &formal, depth + 1)?;
                    }
                }
                Some(())
            }
            _ => None,
        }
    }

    /// The function and its formal that a call's argument gets to.
    fn passed_to(
        &self,
        site: CallSite,
        target: FunctionId,
        index: u32,
    ) -> Option<(FunctionId, u32)> {
        let instantiation = self.whole.instantiation;
        if !instantiation.bodies.is_declaration(target) {
            return Some((target, index));
        }
        let callee = instantiation.bodies.callee(site)?;
        let effects = effects_of_call(instantiation.effects, instantiation.points, site, callee);
        let mut starts = effects.into_iter().filter_map(|effect| match effect {
            Effect::Create { passed: Passed::Arguments { first, parameter }, .. } => {
                Some(index.checked_sub(*first)? + parameter)
            }
            _ => None,
        });
        let (Some(formal), None) = (starts.next(), starts.next()) else { return None };
        let roots = &instantiation.threads.roots;
        let mut entries = roots
            .iter()
            .filter_map(|root| (root.create.as_ref()?.site == site).then_some(root.function));
        let entry = entries.next()?;
        entries.all(|other| other == entry).then_some((entry, formal))
    }

    /// The number that the value is wherever the function runs.
    pub(super) fn number_in(&self, function: FunctionId, value: &Value) -> Option<i64> {
        let instantiation = self.whole.instantiation;
        match value {
            Value::Int { bits, ty } => match instantiation.bodies.types().get(*ty) {
                Type::Int { bits: width } => Some(extended(*bits, u64::from(*width))),
                _ => None,
            },
            Value::Arg(argument) => {
                let contexts = instantiation.contexts.iter();
                let mut found = contexts
                    .filter(|context| context.function == function)
                    .map(|own| own.arguments.get(argument.index())?.as_ref()?.as_constant());
                let number = found.next()??;
                found.all(|other| other == Some(number)).then_some(number)
            }
            _ => None,
        }
    }
}

fn extended(bits: u64, width: u64) -> i64 {
    match width {
        2..64 => ((bits << (64 - width)) as i64) >> (64 - width),
        _ => bits as i64,
    }
}

fn mentions(value: &Value, own: &Value) -> bool {
    match value {
        Value::Offset { base, .. } => mentions(base, own),
        other => other == own,
    }
}
