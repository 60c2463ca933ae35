//! What happens between blocks: branch conditions, phis, loop exits, guards of local statics.

use std::collections::BTreeSet;

use racewarden_finding::LockMode;
use racewarden_ir::{AtomicOrder, Callee, Function, Op, Value};
use rustc_hash::FxHashMap;

use super::{Flow, MAX_PATHS, is_address};
use crate::effects::Effect;
use crate::lives::Parts;
use crate::state::{Fact, Held, Live, Path, reduce};
use crate::sym::{Atom, Condition, LOCAL, Sym};

impl Flow<'_> {
    /// The paths that leave the block, by successor.
    pub(super) fn outgoing(&mut self, block: u32, paths: Vec<Path>) -> Vec<(u32, Vec<Path>)> {
        let end = self.function.blocks[block as usize].end.index();
        let start = self.function.blocks[block as usize].start.index();
        if end == start || (paths.is_empty() && self.thrown.is_empty()) {
            return Vec::new();
        }
        let last = &self.function.instructions[end - 1].op;
        let cases = cases_of(last);
        let mut result = Vec::new();
        for to in self.cfg.successors[block as usize].clone() {
            let mut taken = Vec::new();
            let unwinds = matches!(last, Op::Call { invoke: Some((_, unwind)), .. }
                if unwind.0 == to);
            let leaving = if unwinds { self.thrown.clone() } else { paths.clone() };
            for path in &leaving {
                let mut path = path.clone();
                if self.takes(last, &cases, to, &mut path) {
                    self.pass_guards(&mut path);
                    self.leave_empty(block, to, &mut path);
                    self.cross(block, to, &mut path);
                    taken.push(path);
                }
            }
            if !taken.is_empty() {
                reduce(&mut taken, MAX_PATHS);
                result.push((to, taken));
            }
        }
        result
    }

    /// Loads of the controls of local statics, before the slow path asks the library.
    pub(super) fn find_guards(&mut self) {
        let mut controls: Vec<Sym> = Vec::new();
        for instruction in &self.function.instructions {
            let Op::Call { callee: Callee::Direct(target), arguments, .. } = &instruction.op else {
                continue;
            };
            for effect in self.env.effects.of(*target).into_iter().flatten() {
                if let Effect::OnceBegin { control, .. } = effect {
                    let control = arguments.get(*control as usize).and_then(|v| self.sym(v));
                    controls.extend(control);
                }
            }
        }
        if controls.is_empty() {
            return;
        }
        for (inst, instruction) in self.function.instructions.iter().enumerate() {
            let Op::Load { address, order: Some(order), .. } = &instruction.op else { continue };
            let synchronises = matches!(order, AtomicOrder::Acquire | AtomicOrder::SeqCst);
            let Some(control) = self.sym(address).filter(|sym| controls.contains(sym)) else {
                continue;
            };
            if synchronises {
                let held = Held {
                    lock: control,
                    points: (&*self.points(address)).into(),
                    mode: LockMode::Read,
                    size: 1,
                    count: 1,
                    counts: false,
                    after: BTreeSet::new(),
                    acquired_at: (self.id, inst as u32),
                };
                self.guards.push((self.syms.inst(inst as u32), held));
            }
        }
    }

    pub(super) fn pass_guards(&self, path: &mut Path) {
        for (value, held) in &self.guards {
            let known = path.held.iter().any(|other| other.lock == held.lock);
            if !known && path.fact(value) == Some(Fact::Differs(0)) {
                path.acquire(held.clone());
            }
        }
    }

    /// Adds what the branch says; `false` when the path contradicts it.
    fn takes(&self, last: &Op, of_switch: &Cases<'_>, to: u32, path: &mut Path) -> bool {
        match last {
            Op::Branch { condition, then, otherwise } if then != otherwise => {
                match self.sym(condition) {
                    Some(sym) => assume(path, &sym, then.0 == to),
                    None => true,
                }
            }
            Op::Switch { value, cases, default } => {
                let Some(sym) = self.sym(value) else { return true };
                match (of_switch.get(&to), default.0 == to) {
                    (Some(Some(case)), false) => {
                        match self.sym(case).and_then(|case| case.as_constant()) {
                            Some(value) => path.assume(&sym, Fact::Equals(value)),
                            None => true,
                        }
                    }
                    (None, true) if cases.len() == 1 => {
                        match self.sym(&cases[0].value).and_then(|case| case.as_constant()) {
                            Some(value) => path.assume(&sym, Fact::Differs(value)),
                            None => true,
                        }
                    }
                    _ => true,
                }
            }
            _ => true,
        }
    }

    /// What happens on the edge: loop exits join ranges, phis take their values.
    pub(super) fn cross(&mut self, from: u32, to: u32, path: &mut Path) {
        for (index, tested, range) in self.range_joins.clone() {
            let body = &self.cfg.loops[index as usize];
            if from == tested && !body.contains(to) {
                path.join_range(&range, |id| self.is_created_in(body, id));
            }
        }
        let block = &self.function.blocks[to as usize];
        let mut updates: Vec<(u32, Option<Sym>, Option<Fact>)> = Vec::new();
        for inst in block.start.0..block.end.0 {
            let Op::Phi { incoming } = &self.function.instructions[inst as usize].op else { break };
            let value = match self.wide_phis.get(&(inst, from)) {
                Some(number) => incoming.get(*number as usize),
                None if incoming.len() > WIDE => None,
                None => incoming.iter().find(|edge| edge.block.0 == from),
            };
            let value = value.map(|edge| &edge.value);
            let sym = value.and_then(|value| self.sym(value));
            let fact = sym.as_ref().and_then(|sym| {
                if is_address(sym) { Some(Fact::Differs(0)) } else { path.fact(sym) }
            });
            updates.push((inst, sym, fact));
        }
        let entering = self.cfg.loop_at(to).is_some_and(|body| !body.contains(from));
        if entering {
            self.lose_ranges(to, path);
        }
        for (inst, sym, fact) in updates {
            if !self.syms.is_opaque(inst) {
                continue;
            }
            if entering {
                let phi = Atom::Inst(LOCAL, inst);
                path.threads.revise(Parts::NAMED, |_, live| {
                    let varies = live.argument.as_ref().is_some_and(|a| a.mentions(&|x| *x == phi));
                    varies.then(|| Live { repeated: true, ..live.clone() })
                });
            }
            path.forget(inst);
            path.escaped.take_out(&inst);
            if let Some(sym) = &sym {
                self.escape(sym, std::slice::from_mut(path));
            }
            if let Some(fact) = fact {
                path.assume(&Sym::inst(LOCAL, inst), fact);
            }
        }
    }
}

/// By block, the case that leads there; `None` when there are several.
type Cases<'a> = FxHashMap<u32, Option<&'a Value>>;

fn cases_of(last: &Op) -> Cases<'_> {
    let mut found = Cases::default();
    if let Op::Switch { cases, .. } = last {
        for case in cases {
            let value = Some(&case.value);
            found.entry(case.block.0).and_modify(|known| *known = None).or_insert(value);
        }
    }
    found
}

/// Ways into a block past which a phi's value is not searched for along all of them.
const WIDE: usize = 32;

/// Of each phi with more than [`WIDE`] ways, by the block it is entered from, the number of the way.
pub(super) fn wide_phis(function: &Function) -> FxHashMap<(u32, u32), u32> {
    let mut found = FxHashMap::default();
    for (inst, instruction) in (0u32..).zip(&function.instructions) {
        let Op::Phi { incoming } = &instruction.op else { continue };
        if incoming.len() > WIDE {
            for (number, edge) in (0u32..).zip(incoming) {
                found.entry((inst, edge.block.0)).or_insert(number);
            }
        }
    }
    found
}

/// Adds the condition to the path; `false` when the path contradicts it.
pub(super) fn assume(path: &mut Path, condition: &Sym, holds: bool) -> bool {
    match condition.condition() {
        Condition::Not(inner) => assume(path, inner, !holds),
        Condition::Compare { left, right, equal } => {
            let same = equal == holds;
            let fact = |value| if same { Fact::Equals(value) } else { Fact::Differs(value) };
            let feasible = match (left.as_constant(), right.as_constant()) {
                (_, Some(value)) => path.assume(left, fact(value)),
                (Some(value), None) => path.assume(right, fact(value)),
                (None, None) => true,
            };
            feasible && path.assume(condition, Fact::Equals(i64::from(holds)))
        }
        Condition::Other => path.assume(condition, truth(condition, holds)),
    }
}

fn truth(_condition: &Sym, holds: bool) -> Fact {
    if holds { Fact::Differs(0) } else { Fact::Equals(0) }
}
