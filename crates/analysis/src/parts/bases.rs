//! What memory an address on a way is made from, by the pointer that it begins with.
//!
//! A pointer is followed through calls, downwards and upwards, to a global, to an allocation or a stack
//! slot of the thread's own, or to where it is kept. Variables that only change places in a loop are
//! followed round by round.

use racewarden_ir::{InstId, Op, Value};
use std::sync::Arc;

use super::callers::MAX_CALLS;
use super::poly::{FrameId, Poly, Var};
use super::ways::{Base, MAX_RESULTS, Reader, Turn};

impl Reader<'_, '_> {
    pub(super) fn base(&mut self, frame: FrameId, value: &Value, depth: usize) -> Base {
        if depth > MAX_CALLS + MAX_RESULTS {
            return Base::Unknown;
        }
        let instantiation = self.whole.instantiation;
        let inst = match value {
            Value::Global(global) if !instantiation.bodies.global(*global).thread_local => {
                return Base::Global;
            }
            Value::Offset { base, .. } => return self.base(frame, base, depth + 1),
            Value::Arg(argument) => {
                let own = &self.frames[frame as usize];
                let changed = own.changed.get(argument.index()).copied().unwrap_or(true);
                let caller = own.caller.clone().filter(|_| !changed);
                let argument = caller
                    .and_then(|(caller, list)| Some((caller, list.get(argument.index())?.clone())));
                return match argument {
                    Some((caller, argument)) => self.base(caller, &argument, depth + 1),
                    None => Base::Unknown,
                };
            }
            Value::Inst(inst) => inst.0,
            _ => return Base::Unknown,
        };
        let function = self.frames[frame as usize].function;
        match &self.body(frame).inst(InstId(inst)).op {
            Op::Address { base, .. } | Op::Freeze { value: base } => {
                self.base(frame, base, depth + 1)
            }
            Op::Alloca { .. } => Base::Fresh,
            Op::Phi { .. } if frame == 0 => match self.turns(inst, depth) {
                Some(turns) => Base::Turned(inst, Arc::new(turns)),
                None => Base::Unknown,
            },
            Op::Call { .. } if instantiation.is_allocation(function, inst) => Base::Fresh,
            Op::Call { .. } => match self.result(frame, inst) {
                Some((within, value)) => self.base(within, &value, depth + 1),
                None => Base::Unknown,
            },
            Op::Load { .. } => match self.inst(frame, inst).as_ref().and_then(Poly::as_var) {
                Some(Var::Load(at, 8)) if at.is_common() => Base::Loaded((**at).clone()),
                _ => Base::Unknown,
            },
            _ => Base::Unknown,
        }
    }

    /// What the variables of a loop are that get their values from each other, until it is as before.
    fn turns(&mut self, phi: u32, depth: usize) -> Option<Vec<Turn>> {
        let body = self.body(0);
        let flow = self.flow(0);
        let cfg = &flow.0;
        let around = cfg.loop_at(cfg.block_of[phi as usize])?;
        let mut next: Vec<(u32, u32)> = Vec::new();
        let mut now = Turn::new();
        let mut own = phi;
        while !next.iter().any(|(known, _)| *known == own) {
            let Op::Phi { incoming } = &body.inst(InstId(own)).op else { return None };
            if cfg.block_of[own as usize] != around.header || next.len() > MAX_RESULTS {
                return None;
            }
            let (mut start, mut from) = (None, None);
            for edge in incoming {
                let into = if around.contains(edge.block.0) { &mut from } else { &mut start };
                if into.replace(edge.value.clone()).is_some() {
                    return None;
                }
            }
            let Value::Inst(before) = from? else { return None };
            match self.base(0, &start?, depth + 1) {
                base @ Base::Loaded(_) => now.push((own, base)),
                _ => return None,
            }
            next.push((own, before.0));
            own = before.0;
        }
        let mut turns = vec![now.clone()];
        loop {
            let of =
                |phi: u32| now.iter().find(|(own, _)| *own == phi).map(|(_, base)| base.clone());
            let step = |(own, before): &(u32, u32)| Some((*own, of(*before)?));
            now = next.iter().map(step).collect::<Option<Turn>>()?;
            if turns.contains(&now) {
                return Some(turns);
            }
            turns.push(now.clone());
        }
    }
}
