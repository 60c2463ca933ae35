//! The dataflow analysis of one function: relative locksets (RELAY 3.2, Figures 3 to 5),
//! acquisition histories, threads and escapes, then the guarded accesses (RELAY 3.3).
//!
//! Callees are applied by their summaries with formals replaced by actuals (`rebind`). Locks
//! named by something only the callee knows cannot be named by the caller: as acquired locks they
//! are dropped, as released ones they are kept by their points-to sets.

use std::collections::BTreeSet;
use std::sync::Arc;

use racewarden_finding::{AccessKind, LockMode};
use racewarden_ir::{AtomicOrder, Callee, Function, FunctionId, InstId, Op, Program, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::cfg::Cfg;
use crate::effects::{Effect, Effects, Entry, Extent, HandlerKind, Length, LockName, Success};
use crate::loops::{Induction, induction};
use crate::pointsto::{CallSite, Location, ObjectKind, PointsTo};
use crate::state::{CreateId, Fact, HandleRange, Held, Live, Path, Released, joined, reduce};
use crate::summary::{Access, Call, CallKind, Create, Exit, Summary};
use crate::sym::{Atom, Condition, LOCAL, Oracle, Sym, SymTable};

/// What the analysis of every function reads.
pub struct Env<'a> {
    pub program: &'a Program,
    pub effects: &'a Effects,
    pub points: &'a PointsTo,
    /// Objects that two threads may reach and one may write; the others' accesses are left out.
    pub shared: &'a [bool],
    /// Loads of memory that does not change while threads run.
    pub stable: &'a FxHashSet<CallSite>,
    /// Objects that hold a thread handle and are written by something else than a create call.
    pub tainted_handles: &'a FxHashSet<u32>,
}

const MAX_PATHS: usize = 8;
const MAX_EXITS: usize = 4;
const MAX_VISITS: u32 = 24;

pub struct Flow<'a> {
    env: &'a Env<'a>,
    summaries: &'a dyn Fn(FunctionId) -> Option<Arc<Summary>>,
    id: FunctionId,
    function: &'a Function,
    pub cfg: Cfg,
    pub syms: SymTable,
    inductions: FxHashMap<u32, Option<Induction>>,
    /// Calls whose result is looked at.
    used: FxHashSet<u32>,
    /// Handle ranges joined by a whole run of a loop.
    range_joins: Vec<(u32, HandleRange)>,
    summary: Summary,
    recording: Option<Arc<Path>>,
    exits: Vec<Exit>,
    returned: Vec<(Option<Sym>, bool)>,
    /// What leaves the last call when it throws.
    thrown: Vec<Path>,
    /// Atomic loads of once controls: a value other than zero says that it was done.
    guards: Vec<(Sym, Held)>,
}

struct FunctionOracle<'a> {
    env: &'a Env<'a>,
    id: FunctionId,
    function: &'a Function,
    summaries: &'a dyn Fn(FunctionId) -> Option<Arc<Summary>>,
}

impl Oracle for FunctionOracle<'_> {
    fn is_stable(&self, inst: u32) -> bool {
        self.env.stable.contains(&(self.id, inst))
    }

    fn result_of(&self, inst: u32) -> Option<Sym> {
        let Op::Call { callee, .. } = &self.function.instructions[inst as usize].op else {
            return None;
        };
        let Callee::Direct(target) = callee else { return None };
        if let Some(effects) = self.env.effects.of(*target) {
            return effects.iter().find_map(|effect| match effect {
                Effect::Returns { argument, inside: false } => {
                    Some(Sym::atom(Atom::Argument(LOCAL, *argument)))
                }
                _ => None,
            });
        }
        (self.summaries)(*target)?.result.clone()
    }
}

/// The summary of `id`, given those of its callees.
pub fn analyse(
    env: &Env<'_>,
    summaries: &dyn Fn(FunctionId) -> Option<Arc<Summary>>,
    id: FunctionId,
) -> Summary {
    let function = env.program.module.function(id);
    let cfg = Cfg::new(function);
    let oracle = FunctionOracle { env, id, function, summaries };
    let syms = SymTable::new(function, &cfg, &env.program.module.types, &oracle);
    let mut flow = Flow {
        env,
        summaries,
        id,
        function,
        cfg,
        syms,
        inductions: FxHashMap::default(),
        used: used_calls(function),
        range_joins: Vec::new(),
        summary: Summary::default(),
        recording: None,
        exits: Vec::new(),
        returned: Vec::new(),
        thrown: Vec::new(),
        guards: Vec::new(),
    };
    flow.find_range_joins();
    flow.find_guards();
    flow.run();
    flow.finish()
}

impl<'a> Flow<'a> {
    fn sym(&self, value: &Value) -> Option<Sym> {
        self.syms.value(value, &self.env.program.module.types)
    }

    fn points(&self, value: &Value) -> Vec<Location> {
        self.env.points.value(self.env.program, self.id, value)
    }

    fn run(&mut self) {
        let count = self.cfg.order.len();
        let mut entries: Vec<Option<Vec<Path>>> = vec![None; self.function.blocks.len()];
        let mut visits = vec![0u32; self.function.blocks.len()];
        let mut queue: BTreeSet<u32> = BTreeSet::new();
        if count > 0 {
            let mut entry = Path::default();
            if self.env.effects.is_atomic_body(self.id) {
                entry.acquire(self.program_lock(0, LockMode::Write, 0));
            }
            entries[self.cfg.order[0] as usize] = Some(vec![entry]);
            queue.insert(0);
        }
        while let Some(position) = queue.pop_first() {
            let block = self.cfg.order[position as usize];
            visits[block as usize] += 1;
            let mut paths = entries[block as usize].clone().unwrap_or_default();
            self.block(block, &mut paths);
            for (to, paths) in self.outgoing(block, paths) {
                let limit = if visits[to as usize] > MAX_VISITS { 1 } else { MAX_PATHS };
                let known = entries[to as usize].clone().unwrap_or_default();
                let mut merged = known.clone();
                merged.extend(paths);
                reduce(&mut merged, limit);
                if entries[to as usize].is_none() || merged != known {
                    entries[to as usize] = Some(merged);
                    queue.insert(self.cfg.position[to as usize]);
                }
            }
        }
        self.record(entries);
    }

    fn record(&mut self, entries: Vec<Option<Vec<Path>>>) {
        self.exits.clear();
        self.returned.clear();
        for block in self.cfg.order.clone() {
            let Some(mut paths) = entries[block as usize].clone() else { continue };
            self.recording = Some(Arc::new(Path::default()));
            self.block(block, &mut paths);
            self.recording = None;
        }
    }

    fn finish(mut self) -> Summary {
        let mut exits: Vec<Exit> = Vec::new();
        for mut exit in std::mem::take(&mut self.exits) {
            exit.path.facts.clear();
            let same = |known: &&mut Exit| {
                known.result == exit.result && known.path.same_shape(&exit.path)
            };
            match exits.iter_mut().find(same) {
                Some(known) => known.path.join(&exit.path),
                None => exits.push(exit),
            }
        }
        if exits.len() > MAX_EXITS {
            let mut all = exits.into_iter();
            let mut first = all.next().expect("more than the limit");
            for exit in all {
                first.path.join(&exit.path);
            }
            first.result = None;
            exits = vec![first];
        }
        self.summary.exits = exits;
        let mut returned = self.returned.into_iter();
        if let Some((first, fresh)) = returned.next() {
            let rest: Vec<_> = returned.collect();
            self.summary.returns_fresh = fresh && rest.iter().all(|(_, fresh)| *fresh);
            let local =
                |sym: &Sym| sym.mentions(&|atom| matches!(atom, Atom::Inst(..) | Atom::Stack(..)));
            if rest.iter().all(|(sym, _)| *sym == first) {
                self.summary.result = first.filter(|sym| !local(sym));
            }
        }
        self.summary
    }

    fn block(&mut self, block: u32, paths: &mut Vec<Path>) {
        let range = &self.function.blocks[block as usize];
        let cyclic = self.cfg.in_cycle[block as usize];
        let mut shown: Option<Arc<Path>> = None;
        for inst in range.start.0..range.end.0 {
            if paths.is_empty() {
                self.thrown.clear();
                return;
            }
            let op = &self.function.instructions[inst as usize].op;
            if cyclic && !matches!(op, Op::Phi { .. }) && self.syms.is_opaque(inst) {
                for path in paths.iter_mut() {
                    path.forget(inst);
                    path.escaped.remove(&inst);
                }
                shown = None;
            }
            if self.recording.is_some() && is_interesting(op) {
                let state = shown
                    .take()
                    .unwrap_or_else(|| Arc::new(joined(paths).expect("at least one path")));
                self.recording = Some(state.clone());
                shown = Some(state);
            }
            if self.step(inst, op, paths) {
                shown = None;
            }
        }
    }

    /// Applies one instruction; `true` when the state changed.
    fn step(&mut self, inst: u32, op: &'a Op, paths: &mut Vec<Path>) -> bool {
        match op {
            Op::Load { address, size, order, .. } => {
                self.access(inst, 0, address, *size, AccessKind::Read, order.is_some());
                false
            }
            Op::Store { address, value, size, order, .. } => {
                self.access(inst, 0, address, *size, AccessKind::Write, order.is_some());
                self.escape_value(value, paths)
            }
            Op::AtomicRmw { address, value, size, .. } => {
                self.access(inst, 0, address, *size, AccessKind::Write, true);
                self.escape_value(value, paths)
            }
            Op::CompareExchange { address, new, size, .. } => {
                self.access(inst, 0, address, *size, AccessKind::Write, true);
                self.escape_value(new, paths)
            }
            Op::MemCopy { to, from, length, .. } => {
                let size = constant_length(length);
                self.access(inst, 0, to, size, AccessKind::Write, false);
                self.access(inst, 1, from, size, AccessKind::Read, false);
                false
            }
            Op::MemSet { to, length, .. } => {
                self.access(inst, 0, to, constant_length(length), AccessKind::Write, false);
                false
            }
            Op::Select { then, otherwise, .. } => {
                self.escape_value(then, paths) | self.escape_value(otherwise, paths)
            }
            Op::InsertValue { element, .. } | Op::InsertElement { element, .. } => {
                self.escape_value(element, paths)
            }
            Op::Cast { value, .. } if self.syms.is_opaque(inst) => self.escape_value(value, paths),
            Op::Unknown { operands, .. } => {
                let mut changed = false;
                for operand in operands {
                    changed |= self.escape_value(operand, paths);
                }
                changed
            }
            Op::Call { callee, arguments, invoke, .. } => {
                self.thrown.clear();
                let before = if invoke.is_some() { paths.clone() } else { Vec::new() };
                self.call(inst, callee, arguments, paths);
                if invoke.is_some() {
                    self.throw(inst, callee, arguments, before);
                }
                self.note_possible(paths);
                true
            }
            Op::Return { value } => {
                self.leave(value.as_ref(), paths);
                false
            }
            Op::Resume { .. } => false,
            _ => false,
        }
    }

    /// A call that throws has released and created what it may have, and acquired nothing for
    /// certain.
    fn throw(&mut self, inst: u32, callee: &Callee, arguments: &[Value], mut before: Vec<Path>) {
        let targets: Vec<FunctionId> = match callee {
            Callee::Direct(target) => vec![*target],
            _ => self.env.points.callees(self.env.program, (self.id, inst)).to_vec(),
        };
        let syms: Vec<Option<Sym>> = arguments.iter().map(|a| self.sym(a)).collect();
        let bind = |atom: &Atom| match atom {
            Atom::Argument(LOCAL, index) => syms.get(*index as usize)?.clone(),
            _ => None,
        };
        for target in targets {
            let Some(summary) = (self.summaries)(target) else { continue };
            for path in &mut before {
                compose(path, &summary.possible, &[(self.id, inst)], &bind);
                for index in &summary.possible.escaped_arguments {
                    if let Some(Some(sym)) = syms.get(*index as usize) {
                        self.escape(sym, std::slice::from_mut(path));
                    }
                }
            }
        }
        self.thrown = before;
    }

    /// Adds to what the function may have done by the time it throws.
    fn note_possible(&mut self, paths: &[Path]) {
        for path in paths {
            let possible = &mut self.summary.possible;
            possible.released.extend(path.released.iter().cloned());
            possible.overwritten.extend(path.overwritten.iter().cloned());
            possible.escaped_arguments.extend(&path.escaped_arguments);
            for (id, live) in &path.threads {
                possible.threads.entry(id.clone()).or_insert_with(|| Live {
                    handle: None,
                    range: None,
                    ended: false,
                    ..live.clone()
                });
            }
        }
    }

    fn leave(&mut self, value: Option<&Value>, paths: &[Path]) {
        let sym = value.and_then(|value| self.sym(value));
        for path in paths {
            let result = sym.as_ref().and_then(|sym| {
                if is_address(sym) { Some(Fact::Differs(0)) } else { path.fact(sym) }
            });
            self.exits.push(Exit { path: path.clone(), result });
            let fresh = sym.as_ref().and_then(Sym::as_atom).is_some_and(|atom| match atom {
                Atom::Inst(LOCAL, inst) => {
                    self.is_allocation(*inst) && !path.escaped.contains(inst)
                }
                _ => false,
            });
            self.returned.push((sym.clone(), fresh));
        }
    }

    /// Whether the instruction returns memory that nobody else knows yet.
    fn is_allocation(&self, inst: u32) -> bool {
        let Op::Call { callee: Callee::Direct(target), .. } =
            &self.function.instructions[inst as usize].op
        else {
            return false;
        };
        match self.env.effects.of(*target) {
            Some(effects) => {
                effects.iter().any(|effect| matches!(effect, Effect::Allocate { out: None, .. }))
            }
            None => (self.summaries)(*target).is_some_and(|summary| summary.returns_fresh),
        }
    }

    fn escape_value(&self, value: &Value, paths: &mut [Path]) -> bool {
        match self.sym(value) {
            Some(sym) => self.escape(&sym, paths),
            None => false,
        }
    }

    /// The value gets where others may see it.
    fn escape(&self, sym: &Sym, paths: &mut [Path]) -> bool {
        let mut changed = false;
        sym.visit(&mut |atom| {
            for path in paths.iter_mut() {
                changed |= match atom {
                    Atom::Inst(LOCAL, inst) | Atom::Stack(LOCAL, inst) => {
                        path.escaped.insert(*inst)
                    }
                    Atom::Argument(LOCAL, index) => path.escaped_arguments.insert(*index),
                    _ => false,
                };
            }
        });
        changed
    }

    fn access(
        &mut self,
        inst: u32,
        operand: u8,
        address: &Value,
        size: u64,
        kind: AccessKind,
        atomic: bool,
    ) {
        let Some(state) = self.recording.clone() else { return };
        let points = self.points(address);
        let relevant = points.iter().any(|location| self.env.shared[location.object as usize]);
        if !relevant {
            return;
        }
        let address = self.sym(address);
        let private = address.as_ref().is_some_and(|sym| self.is_private(sym, &state));
        self.summary.accesses.push(Access {
            inst,
            operand,
            address,
            size,
            kind,
            atomic,
            state,
            private,
        });
    }

    fn is_private(&self, address: &Sym, state: &Path) -> bool {
        address.terms.iter().any(|(atom, scale)| {
            *scale == 1
                && match atom {
                    Atom::Stack(LOCAL, inst) => !state.escaped.contains(inst),
                    Atom::Inst(LOCAL, inst) => {
                        self.is_allocation(*inst) && !state.escaped.contains(inst)
                    }
                    _ => false,
                }
        })
    }

    // Edges

    /// The paths that leave the block, by successor.
    fn outgoing(&mut self, block: u32, paths: Vec<Path>) -> Vec<(u32, Vec<Path>)> {
        let end = self.function.blocks[block as usize].end.index();
        let start = self.function.blocks[block as usize].start.index();
        if end == start || (paths.is_empty() && self.thrown.is_empty()) {
            return Vec::new();
        }
        let last = &self.function.instructions[end - 1].op;
        let mut result = Vec::new();
        for to in self.cfg.successors[block as usize].clone() {
            let mut taken = Vec::new();
            let unwinds = matches!(last, Op::Call { invoke: Some((_, unwind)), .. }
                if unwind.0 == to);
            let leaving = if unwinds { self.thrown.clone() } else { paths.clone() };
            for path in &leaving {
                let mut path = path.clone();
                if self.takes(last, to, &mut path) {
                    self.pass_guards(&mut path);
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
    fn find_guards(&mut self) {
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
                    points: self.points(address).into(),
                    mode: LockMode::Read,
                    size: 1,
                    count: 1,
                    after: BTreeSet::new(),
                    acquired_at: (self.id, inst as u32),
                };
                self.guards.push((self.syms.inst(inst as u32), held));
            }
        }
    }

    fn pass_guards(&self, path: &mut Path) {
        for (value, held) in &self.guards {
            let known = path.held.iter().any(|other| other.lock == held.lock);
            if !known && path.fact(value) == Some(Fact::Differs(0)) {
                path.acquire(held.clone());
            }
        }
    }

    /// Adds what the branch says; `false` when the path contradicts it.
    fn takes(&self, last: &Op, to: u32, path: &mut Path) -> bool {
        match last {
            Op::Branch { condition, then, otherwise } if then != otherwise => {
                match self.sym(condition) {
                    Some(sym) => assume(path, &sym, then.0 == to),
                    None => true,
                }
            }
            Op::Switch { value, cases, default } => {
                let Some(sym) = self.sym(value) else { return true };
                let here: Vec<&Value> =
                    cases.iter().filter(|case| case.block.0 == to).map(|c| &c.value).collect();
                match (here.as_slice(), default.0 == to) {
                    ([case], false) => match self.sym(case).and_then(|case| case.as_constant()) {
                        Some(value) => path.assume(&sym, Fact::Equals(value)),
                        None => true,
                    },
                    ([], true) if cases.len() == 1 => {
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
    fn cross(&mut self, from: u32, to: u32, path: &mut Path) {
        for (index, range) in self.range_joins.clone() {
            let body = &self.cfg.loops[index as usize];
            if from == body.header && !body.contains(to) {
                path.join_range(&range);
            }
        }
        let block = &self.function.blocks[to as usize];
        let mut updates: Vec<(u32, Option<Sym>, Option<Fact>)> = Vec::new();
        for inst in block.start.0..block.end.0 {
            let Op::Phi { incoming } = &self.function.instructions[inst as usize].op else { break };
            let value = incoming.iter().find(|edge| edge.block.0 == from).map(|e| &e.value);
            let sym = value.and_then(|value| self.sym(value));
            let fact = sym.as_ref().and_then(|sym| {
                if is_address(sym) { Some(Fact::Differs(0)) } else { path.fact(sym) }
            });
            updates.push((inst, sym, fact));
        }
        let entering = self
            .cfg
            .loops
            .iter()
            .find(|body| body.header == to)
            .is_some_and(|body| !body.contains(from));
        for (inst, sym, fact) in updates {
            if !self.syms.is_opaque(inst) {
                continue;
            }
            if entering {
                let phi = Atom::Inst(LOCAL, inst);
                for live in path.threads.values_mut() {
                    if live.argument.as_ref().is_some_and(|a| a.mentions(&|x| *x == phi)) {
                        live.repeated = true;
                    }
                }
            }
            path.forget(inst);
            path.escaped.remove(&inst);
            if let Some(sym) = &sym {
                self.escape(sym, std::slice::from_mut(path));
            }
            if let Some(fact) = fact {
                path.assume(&Sym::inst(LOCAL, inst), fact);
            }
        }
    }

    // Thread handles

    fn induction_of(&mut self, phi: u32) -> Option<Induction> {
        if let Some(known) = self.inductions.get(&phi) {
            return known.clone();
        }
        let types = &self.env.program.module.types;
        let found = induction(self.function, &self.cfg, &self.syms, types, phi);
        self.inductions.insert(phi, found.clone());
        found
    }

    /// `base + scale·phi` of a handle place, with the counter's range.
    fn handle_range(&mut self, place: &Sym, joining: bool) -> Option<(u32, HandleRange)> {
        let candidates: Vec<(u32, i64)> = place
            .terms
            .iter()
            .filter_map(|(atom, scale)| match atom {
                Atom::Inst(LOCAL, inst) => Some((*inst, *scale)),
                _ => None,
            })
            .collect();
        for (phi, scale) in candidates {
            let Some(counter) = self.induction_of(phi) else { continue };
            let Some(bound) = counter.bound.clone() else { continue };
            if counter.step != 1 || (joining && !counter.single_exit) {
                continue;
            }
            let base = place.plus(&Sym::inst(LOCAL, phi).scaled(-scale));
            let body = &self.cfg.loops[counter.index as usize];
            let varies = |sym: &Sym| {
                sym.mentions(&|atom| match atom {
                    Atom::Inst(LOCAL, i) | Atom::Stack(LOCAL, i) => {
                        body.contains(self.cfg.block_of[*i as usize])
                    }
                    _ => false,
                })
            };
            if varies(&base) || varies(&bound) || varies(&counter.start) {
                continue;
            }
            let start = counter.start.clone();
            return Some((counter.index, HandleRange { base, scale, start, bound }));
        }
        None
    }

    fn find_range_joins(&mut self) {
        for inst in 0..self.function.instructions.len() as u32 {
            let Op::Call { callee: Callee::Direct(target), arguments, .. } =
                &self.function.instructions[inst as usize].op
            else {
                continue;
            };
            let Some(effects) = self.env.effects.of(*target) else { continue };
            for effect in effects {
                let Effect::Join { handle, by_address, .. } = effect else { continue };
                let Some(value) = arguments.get(*handle as usize) else { continue };
                let Some(place) = self.handle_place(inst, value, *by_address) else { continue };
                let Some((index, range)) = self.handle_range(&place, true) else { continue };
                let body = &self.cfg.loops[index as usize];
                let block = self.cfg.block_of[inst as usize];
                if body.latches.iter().all(|&latch| self.cfg.dominates(block, latch)) {
                    self.range_joins.push((index, range));
                }
            }
        }
    }

    /// Where the handle that a join waits for is stored. By value it must be loaded right before
    /// the call, so that the place still holds the same handle.
    fn handle_place(&self, inst: u32, value: &Value, by_address: bool) -> Option<Sym> {
        let place = if by_address {
            value
        } else {
            match value {
                Value::Inst(InstId(load)) => {
                    let Op::Load { address, .. } = &self.function.instructions[*load as usize].op
                    else {
                        return None;
                    };
                    let near = *load < inst
                        && self.cfg.block_of[*load as usize] == self.cfg.block_of[inst as usize]
                        && (*load + 1..inst).all(|between| {
                            !matches!(
                                self.function.instructions[between as usize].op,
                                Op::Call { .. } | Op::Store { .. } | Op::MemCopy { .. }
                            )
                        });
                    if !near {
                        return None;
                    }
                    address
                }
                _ => return None,
            }
        };
        let tainted = self
            .points(place)
            .iter()
            .any(|location| self.env.tainted_handles.contains(&location.object));
        if tainted || self.points(place).is_empty() { None } else { self.sym(place) }
    }

    /// How far apart the arguments of two threads of one create call are, if they differ.
    fn apart(&mut self, argument: &Sym) -> Option<i64> {
        let atoms: Vec<(u32, i64)> = argument
            .terms
            .iter()
            .filter_map(|(atom, scale)| match atom {
                Atom::Inst(LOCAL, inst) => Some((*inst, *scale)),
                _ => None,
            })
            .collect();
        let [(inst, scale)] = atoms.as_slice() else { return None };
        if self.is_allocation(*inst) && *scale == 1 {
            return Some(i64::MAX);
        }
        let counter = self.induction_of(*inst)?;
        Some((counter.step.wrapping_mul(*scale)).wrapping_abs())
    }

    // Locks

    fn program_lock(&self, number: u32, mode: LockMode, inst: u32) -> Held {
        Held {
            lock: Sym::constant(i64::MIN + i64::from(number)),
            points: Arc::from([]),
            mode,
            size: 1,
            count: 1,
            after: BTreeSet::new(),
            acquired_at: (self.id, inst),
        }
    }

    fn lock(
        &self,
        inst: u32,
        name: LockName,
        arguments: &[Value],
        mode: LockMode,
        size: i64,
    ) -> Option<Held> {
        let (sym, points) = match name {
            LockName::Program(number) => return Some(self.program_lock(number, mode, inst)),
            LockName::Global(global) => {
                let value = Value::Global(global);
                (self.sym(&value)?, self.points(&value))
            }
            LockName::Argument(index) => {
                let value = arguments.get(index as usize)?;
                (self.sym(value)?, self.points(value))
            }
            LockName::Field(index, bytes) => {
                let value = arguments.get(index as usize)?;
                let mut points = self.points(value);
                for location in &mut points {
                    location.offset += bytes as i64;
                }
                (self.sym(value)?.shifted(bytes as i64), points)
            }
            LockName::Loaded(index, bytes) => {
                let mut places = self.points(arguments.get(index as usize)?);
                for location in &mut places {
                    location.offset += bytes as i64;
                }
                // The library loads the pointer: it has no name here, only its targets.
                (Sym::inst(LOCAL, inst), self.env.points.contents(&places))
            }
        };
        let points: Arc<[Location]> = points.into();
        let lock = self.canonical(sym, &points);
        let after = BTreeSet::new();
        Some(Held { lock, points, mode, size, count: 1, after, acquired_at: (self.id, inst) })
    }

    /// A pointer that can only lead to one place in a global is that place's address.
    fn canonical(&self, sym: Sym, points: &[Location]) -> Sym {
        if sym.is_constant_address() {
            return sym;
        }
        if let [Location { object, offset, stride: 0 }] = points
            && let ObjectKind::Global(global) =
                self.env.points.locations().objects[*object as usize]
            && !self.env.program.module.global(global).thread_local
        {
            return Sym::atom(Atom::Global(global)).shifted(*offset);
        }
        sym
    }

    fn released(&self, held: Option<Held>) -> Released {
        match held {
            Some(held) => Released { lock: Some(held.lock), points: held.points, any: false },
            None => Released { lock: None, points: Arc::from([]), any: true },
        }
    }

    // Calls

    fn call(&mut self, inst: u32, callee: &Callee, arguments: &[Value], paths: &mut Vec<Path>) {
        match callee {
            Callee::Direct(target) => self.call_one(inst, *target, arguments, paths),
            Callee::Indirect(_) | Callee::Virtual { .. } => {
                let targets = self.env.points.callees(self.env.program, (self.id, inst)).to_vec();
                if targets.is_empty() {
                    for argument in arguments {
                        self.escape_value(argument, paths);
                    }
                    return;
                }
                let before = paths.clone();
                let mut all = Vec::new();
                for target in targets {
                    let mut own = before.clone();
                    self.call_one(inst, target, arguments, &mut own);
                    all.extend(own);
                }
                *paths = all;
                reduce(paths, MAX_PATHS);
            }
            Callee::Asm { .. } => {
                for argument in arguments {
                    self.escape_value(argument, paths);
                }
            }
        }
    }

    fn call_one(
        &mut self,
        inst: u32,
        target: FunctionId,
        arguments: &[Value],
        paths: &mut Vec<Path>,
    ) {
        match self.env.effects.of(target) {
            Some(effects) => {
                for effect in effects {
                    self.effect(inst, effect, arguments, paths);
                }
            }
            None => {
                let syms: Vec<Option<Sym>> = arguments.iter().map(|a| self.sym(a)).collect();
                self.apply(inst, target, syms, CallKind::Plain, paths);
            }
        }
    }

    fn apply(
        &mut self,
        inst: u32,
        callee: FunctionId,
        arguments: Vec<Option<Sym>>,
        kind: CallKind,
        paths: &mut Vec<Path>,
    ) {
        if let Some(state) = self.recording.clone() {
            let arguments = arguments.clone();
            let state = if kind == CallKind::Once {
                Arc::new(joined(paths).expect("at least one path"))
            } else {
                state
            };
            self.summary.calls.push(Call { inst, callee, arguments, state });
        }
        let Some(summary) = (self.summaries)(callee) else {
            // Not analysed yet: a call back into the component being solved.
            paths.clear();
            return;
        };
        self.summary.ends_thread |= summary.ends_thread;
        let result = self.syms.inst(inst);
        let bind = |atom: &Atom| match atom {
            Atom::Argument(LOCAL, index) => arguments.get(*index as usize)?.clone(),
            _ => None,
        };
        let mut after = Vec::new();
        for path in paths.iter() {
            for exit in &summary.exits {
                let mut path = path.clone();
                compose(&mut path, &exit.path, &[(self.id, inst)], &bind);
                for index in &exit.path.escaped_arguments {
                    if let Some(Some(sym)) = arguments.get(*index as usize) {
                        self.escape(sym, std::slice::from_mut(&mut path));
                    }
                }
                if let Some(fact) = exit.result
                    && !path.assume(&result, fact)
                {
                    continue;
                }
                after.push(path);
            }
        }
        *paths = after;
        reduce(paths, MAX_PATHS);
    }

    fn effect(&mut self, inst: u32, effect: &Effect, arguments: &[Value], paths: &mut Vec<Path>) {
        match effect {
            Effect::Lock { lock, mode, success, size } => {
                let held = self.lock(inst, *lock, arguments, *mode, *size);
                self.acquire(inst, held, *success, paths);
            }
            Effect::Unlock { lock } => {
                let held = self.lock(inst, *lock, arguments, LockMode::Write, 1);
                let released = self.released(held);
                for path in paths.iter_mut() {
                    path.release(released.clone());
                }
            }
            Effect::Wait { lock } => {
                let held = self.lock(inst, *lock, arguments, LockMode::Write, 1);
                let released = self.released(held);
                for path in paths.iter_mut() {
                    wait(path, &released);
                }
            }
            Effect::Create { handle, entry, argument, extent } => {
                self.create(inst, (*handle, *entry, *argument, *extent), arguments, paths);
            }
            Effect::Join { handle, by_address, success } => {
                let place = arguments
                    .get(*handle as usize)
                    .and_then(|value| self.handle_place(inst, value, *by_address));
                if let Some(place) = place {
                    self.split(inst, *success, paths, &|path, done| {
                        if done {
                            path.join_thread(&place);
                        }
                    });
                }
            }
            Effect::Once { control, .. } => self.once(inst, *control, arguments, paths),
            Effect::OnceBegin { control, success } => {
                let name = LockName::Argument(*control);
                if let Some(held) = self.lock(inst, name, arguments, LockMode::Write, 1) {
                    self.split(inst, *success, paths, &|path, runs| {
                        let mode = if runs { LockMode::Write } else { LockMode::Read };
                        path.acquire(Held { mode, ..held.clone() });
                    });
                }
            }
            Effect::OnceEnd { control } => {
                let name = LockName::Argument(*control);
                if let Some(held) = self.lock(inst, name, arguments, LockMode::Read, 1) {
                    for path in paths.iter_mut() {
                        path.held.retain(|other| other.lock != held.lock);
                        path.acquire(held.clone());
                    }
                }
            }
            Effect::Assume { condition } => {
                if let Some(sym) = arguments.get(*condition as usize).and_then(|v| self.sym(v)) {
                    paths.retain_mut(|path| assume(path, &sym, true));
                }
            }
            Effect::CallBack { .. } => self.run_entries(inst, paths),
            Effect::Free { pointer } => {
                if let Some(value) = arguments.get(*pointer as usize) {
                    self.access(inst, *pointer as u8, value, 1 << 40, AccessKind::Write, false);
                }
            }
            Effect::Access { pointer, write, length, atomic } => {
                let Some(value) = arguments.get(*pointer as usize) else { return };
                let size = match length {
                    Length::Bytes(bytes) => *bytes,
                    Length::Argument(index) => {
                        arguments.get(*index as usize).map_or(OPEN, constant_length)
                    }
                    Length::Open => OPEN,
                };
                let kind = if *write { AccessKind::Write } else { AccessKind::Read };
                self.access(inst, *pointer as u8, value, size, kind, *atomic);
            }
            Effect::Publish { argument } | Effect::SetSpecific { value: argument } => {
                if let Some(value) = arguments.get(*argument as usize) {
                    self.escape_value(value, paths);
                }
            }
            Effect::Handler { kind, .. } => self.handler(inst, *kind, paths),
            Effect::NoReturn => paths.clear(),
            Effect::ThreadExit => {
                self.summary.ends_thread = true;
                paths.clear();
            }
            Effect::Unknown => {
                for argument in arguments {
                    self.escape_value(argument, paths);
                }
            }
            Effect::Barrier { .. }
            | Effect::Allocate { .. }
            | Effect::Copy { .. }
            | Effect::CopyToResult { .. }
            | Effect::GetSpecific
            | Effect::ReturnsStatic
            | Effect::VariadicStart { .. }
            | Effect::Returns { .. } => {}
        }
    }

    fn acquire(&self, inst: u32, held: Option<Held>, success: Success, paths: &mut Vec<Path>) {
        let Some(held) = held else { return };
        self.split(inst, success, paths, &|path, locked| {
            if locked {
                path.acquire(held.clone());
            }
        });
    }

    /// Parts each path by whether the call succeeded, as its result will tell.
    fn split(
        &self,
        inst: u32,
        success: Success,
        paths: &mut Vec<Path>,
        change: &dyn Fn(&mut Path, bool),
    ) {
        let checked = self.used.contains(&inst);
        let (yes, no) = match success {
            Success::ZeroIfChecked | Success::Always if !checked || success == Success::Always => {
                for path in paths.iter_mut() {
                    change(path, true);
                }
                return;
            }
            Success::Zero | Success::ZeroIfChecked | Success::Always => {
                (Fact::Equals(0), Fact::Differs(0))
            }
            Success::NonZero => (Fact::Differs(0), Fact::Equals(0)),
        };
        let result = self.syms.inst(inst);
        for path in std::mem::take(paths) {
            for (fact, succeeded) in [(yes, true), (no, false)] {
                let mut path = path.clone();
                if path.assume(&result, fact) {
                    change(&mut path, succeeded);
                    paths.push(path);
                }
            }
        }
        reduce(paths, MAX_PATHS);
    }

    /// After `once` returns, its body is over: as if the control object were read-locked for
    /// good, while the body holds it for writing.
    fn once(&mut self, inst: u32, control: u32, arguments: &[Value], paths: &mut Vec<Path>) {
        let name = LockName::Argument(control);
        let Some(mut held) = self.lock(inst, name, arguments, LockMode::Read, 1) else { return };
        let targets = self.env.points.entries.get(&(self.id, inst)).cloned().unwrap_or_default();
        let before = paths.clone();
        for target in targets {
            if self.env.effects.of(target).is_some() {
                continue;
            }
            let mut own = before.clone();
            held.mode = LockMode::Write;
            for path in &mut own {
                path.acquire(held.clone());
            }
            self.apply(inst, target, Vec::new(), CallKind::Once, &mut own);
            for path in &mut own {
                path.held.retain(|other| other.lock != held.lock);
            }
            paths.extend(own);
        }
        held.mode = LockMode::Read;
        for path in paths.iter_mut() {
            path.acquire(held.clone());
        }
        reduce(paths, MAX_PATHS);
    }

    fn create(
        &mut self,
        inst: u32,
        (handle, entry, argument, extent): (Option<u32>, Entry, Option<u32>, Extent),
        arguments: &[Value],
        paths: &mut Vec<Path>,
    ) {
        let id = CreateId::new((self.id, inst));
        let value = |index: Option<u32>| index.and_then(|i| arguments.get(i as usize));
        let place = value(handle).and_then(|value| {
            let points = self.points(value);
            let tainted = points.iter().any(|at| self.env.tainted_handles.contains(&at.object));
            if tainted { None } else { self.sym(value) }
        });
        let argument = value(argument).and_then(|value| self.sym(value));
        let range = place.as_ref().and_then(|place| self.handle_range(place, false));
        let apart = argument.as_ref().and_then(|argument| self.apart(argument));
        if self.recording.is_some() {
            let state = Arc::new(joined(paths).expect("at least one path"));
            let (argument, handle, many) = (argument.clone(), place.clone(), extent.many);
            self.summary.creates.push(Create { inst, argument, handle, state, apart, many });
        }
        if let Some(argument) = &argument {
            self.escape(argument, paths);
        }
        if let Entry::Owned { argument, .. } = entry
            && let Some(value) = arguments.get(argument as usize)
        {
            self.escape_value(value, paths);
        }
        for path in paths.iter_mut() {
            let live = Live {
                handle: place.clone().filter(|_| !extent.many),
                argument: argument.clone(),
                many: extent.many,
                current: true,
                repeated: extent.many,
                ended: false,
                range: range.clone().map(|(_, range)| Arc::new(range)),
            };
            path.create(id.clone(), live);
            // What was loaded from unchanging memory may have been loaded before it was final.
            path.held.retain(|held| !held.lock.mentions(&|atom| matches!(atom, Atom::Load(_))));
        }
        if extent.includes_caller {
            self.run_entries(inst, paths);
        }
        if extent.joins {
            for live in paths.iter_mut().filter_map(|path| path.threads.get_mut(&id)) {
                live.ended = true;
                live.current = false;
            }
        }
    }

    /// Functions that a modelled call runs on this thread.
    fn run_entries(&mut self, inst: u32, paths: &mut Vec<Path>) {
        let targets = self.env.points.entries.get(&(self.id, inst)).cloned().unwrap_or_default();
        let before = paths.clone();
        for target in targets {
            if self.env.effects.of(target).is_some() {
                continue;
            }
            let mut own = before.clone();
            self.apply(inst, target, Vec::new(), CallKind::Plain, &mut own);
            paths.extend(own);
        }
        reduce(paths, MAX_PATHS);
    }

    /// A handler may run from now on, as a thread that nobody joins.
    fn handler(&mut self, inst: u32, kind: HandlerKind, paths: &mut Vec<Path>) {
        let id = CreateId::new((self.id, inst));
        let many = kind == HandlerKind::ThreadExit;
        if self.recording.is_some() {
            let state = Arc::new(joined(paths).expect("at least one path"));
            let (argument, handle, apart) = (None, None, None);
            self.summary.creates.push(Create { inst, argument, handle, state, apart, many });
        }
        for path in paths {
            path.create(id.clone(), Live { current: true, many, ..Live::default() });
        }
    }
}

const OPEN: u64 = 1 << 40;

fn used_calls(function: &Function) -> FxHashSet<u32> {
    let mut used = FxHashSet::default();
    for instruction in &function.instructions {
        for operand in instruction.op.operands() {
            operand.visit(&mut |value| {
                if let Value::Inst(inst) = value
                    && matches!(function.inst(*inst).op, Op::Call { .. })
                {
                    used.insert(inst.0);
                }
            });
        }
    }
    used
}

fn constant_length(length: &Value) -> u64 {
    match length {
        Value::Int { bits, .. } => *bits,
        _ => OPEN,
    }
}

fn is_interesting(op: &Op) -> bool {
    matches!(
        op,
        Op::Load { .. }
            | Op::Store { .. }
            | Op::AtomicRmw { .. }
            | Op::CompareExchange { .. }
            | Op::MemCopy { .. }
            | Op::MemSet { .. }
            | Op::Call { .. }
    )
}

/// The address of a named object is never null.
fn is_address(sym: &Sym) -> bool {
    sym.terms.iter().any(|(atom, scale)| {
        *scale == 1 && matches!(atom, Atom::Global(_) | Atom::Function(_) | Atom::Stack(..))
    })
}

/// Released and acquired again: its history starts anew, and the others' histories gain it.
fn wait(path: &mut Path, released: &Released) {
    for held in &mut path.held {
        if released.may_be(held) {
            held.after.clear();
        } else if let Some(lock) = &released.lock {
            held.after.insert(lock.clone());
        }
    }
}

fn assume(path: &mut Path, condition: &Sym, holds: bool) -> bool {
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

/// Applies a callee's relative effect to the caller's path (RELAY's `lockUpdate`, Figure 3).
pub fn compose(
    path: &mut Path,
    effect: &Path,
    callers: &[CallSite],
    bind: &impl Fn(&Atom) -> Option<Sym>,
) {
    for released in &effect.released {
        let lock = released.lock.as_ref().and_then(|lock| lock.substitute(bind));
        path.release(Released { lock, points: released.points.clone(), any: released.any });
    }
    let acquired: Vec<Sym> =
        effect.acquired.iter().filter_map(|lock| lock.substitute(bind)).collect();
    for held in &mut path.held {
        held.after.extend(acquired.iter().cloned());
    }
    path.acquired.extend(acquired);
    for held in &effect.held {
        let Some(lock) = held.lock.substitute(bind) else { continue };
        let after = held.after.iter().filter_map(|lock| lock.substitute(bind)).collect();
        path.acquire(Held { lock, after, ..held.clone() });
    }
    for handle in &effect.overwritten {
        let handle = handle.as_ref().and_then(|handle| handle.substitute(bind));
        path.overwrite(handle.as_ref(), None);
    }
    for handle in &effect.joined {
        if let Some(handle) = handle.substitute(bind) {
            path.join_thread(&handle);
        }
    }
    for range in &effect.joined_ranges {
        if let Some(range) = bind_range(range, bind) {
            path.join_range(&range);
        }
    }
    for (id, live) in &effect.threads {
        let bound = Live {
            handle: live.handle.as_ref().and_then(|handle| handle.substitute(bind)),
            argument: live.argument.as_ref().and_then(|argument| argument.substitute(bind)),
            range: live.range.as_ref().and_then(|range| bind_range(range, bind)).map(Arc::new),
            ..live.clone()
        };
        let id = id.called_from(callers);
        match path.threads.get_mut(&id) {
            Some(_) if bound.ended => {}
            Some(old) if !old.ended => {
                old.many = true;
                old.repeated = true;
                old.handle = None;
                old.range = None;
                old.current = true;
            }
            _ => {
                path.threads.insert(id, bound);
            }
        }
    }
    if !effect.threads.is_empty() {
        path.held.retain(|held| !held.lock.mentions(&|atom| matches!(atom, Atom::Load(_))));
    }
}

fn bind_range(range: &HandleRange, bind: &impl Fn(&Atom) -> Option<Sym>) -> Option<HandleRange> {
    Some(HandleRange {
        base: range.base.substitute(bind)?,
        scale: range.scale,
        start: range.start.substitute(bind)?,
        bound: range.bound.substitute(bind)?,
    })
}
