//! The dataflow analysis of one function: relative locksets (RELAY 3.2, Figures 3 to 5),
//! acquisition histories, threads and escapes, then the guarded accesses (RELAY 3.3).
//!
//! Callees are applied by their summaries with formals replaced by actuals (`rebind`). Locks
//! named by something only the callee knows cannot be named by the caller: as acquired locks they
//! are dropped, as released ones they are kept by their points-to sets.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use racewarden_finding::{AccessKind, LockMode};
use racewarden_ir::{Callee, Function, FunctionId, Op, Program, Value};
use racewarden_models::Member;
use rustc_hash::{FxHashMap, FxHashSet};

mod calls;
mod compose;
mod containers;
mod edges;
mod futures;
mod handles;
mod tasks;
mod walks;

pub use calls::{KEPT, MADE, kept_at, kept_by};
pub use compose::{add_threads, compose, compose_with, renamed_parts};

use crate::cfg::Cfg;
use crate::detached::Detached;
use crate::effects::{Effect, Effects, Inside};
use crate::formats;
use crate::futures::Role;
use crate::lives::Parts;
use crate::loops::Induction;
use crate::pointsto::{CallSite, Location, PointsTo};
use crate::state::{Fact, HandleRange, Held, Live, Path, joined, reduce};
use crate::summary::{Access, Exit, Summary};
use crate::sym::{Atom, LOCAL, Oracle, Sym, SymTable};
use crate::view::is_number;

/// What the analysis of every function reads.
pub struct Env<'a> {
    pub program: &'a Program,
    pub effects: &'a Effects,
    pub points: &'a PointsTo,
    pub cfgs: &'a [Cfg],
    /// Objects that two threads may reach and one may write; the others' accesses are left out.
    pub shared: &'a [bool],
    /// Loads of memory that does not change while threads run.
    pub stable: &'a FxHashSet<CallSite>,
    /// Objects that hold a thread handle and are written by something else than a create call.
    pub tainted_handles: &'a FxHashSet<u32>,
    pub emptied_handles: &'a FxHashSet<u32>,
    /// Objects that one store instruction alone writes, with that store.
    pub copied_handles: &'a FxHashMap<u32, CallSite>,
    /// Objects with a lock that is made anew while threads may use it.
    pub reset_locks: &'a FxHashSet<u32>,
    /// Threads that cannot be joined.
    pub detached: &'a Detached,
    /// Whether allocating memory counts as a write to it.
    pub allocations: bool,
}

/// What tells which threads have ended, or may be waited for.
const KNOWN_ENDS: Parts = Parts::HANDLE.and(Parts::VALUE).and(Parts::RANGE).and(Parts::ENDED);

const MAX_PATHS: usize = 8;
const MAX_EXITS: usize = 4;
const MAX_VISITS: u32 = 24;

pub struct Flow<'a> {
    env: &'a Env<'a>,
    summaries: &'a dyn Fn(FunctionId) -> Option<Arc<Summary>>,
    id: FunctionId,
    function: &'a Function,
    pub cfg: &'a Cfg,
    pub syms: SymTable,
    inductions: FxHashMap<u32, Option<Induction>>,
    /// Calls whose result is looked at.
    used: FxHashSet<u32>,
    /// What the format of the call at hand says of its arguments.
    bounds: formats::Bounds,
    /// Handle ranges joined by a whole run of a loop.
    range_joins: Vec<(u32, u32, HandleRange)>,
    summary: Summary,
    recording: Option<Arc<Path>>,
    exits: Vec<Exit>,
    returned: Vec<(Option<Sym>, bool)>,
    /// What leaves the last call when it throws.
    thrown: Vec<Path>,
    /// Atomic loads of once controls: a value other than zero says that it was done.
    guards: Vec<(Sym, Held)>,
    wide_phis: FxHashMap<(u32, u32), u32>,
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
            // What was thrown, or what is stored there.
            if effects.iter().any(|effect| matches!(effect, Effect::ReturnsLoaded { .. })) {
                return None;
            }
            return effects.iter().find_map(|effect| match effect {
                Effect::Returns { argument, inside: false } => {
                    Some(Sym::atom(Atom::Argument(LOCAL, *argument)))
                }
                _ => None,
            });
        }
        // Elements are known by the call that leads to them.
        if self.env.effects.member(*target).is_some() {
            return None;
        }
        (self.summaries)(*target)?.result.clone()
    }

    fn is_fresh(&self, inst: u32) -> bool {
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
}

/// The summary of `id`, given those of its callees.
pub fn analyse(
    env: &Env<'_>,
    summaries: &dyn Fn(FunctionId) -> Option<Arc<Summary>>,
    id: FunctionId,
) -> Summary {
    let function = env.program.module.function(id);
    let cfg = &env.cfgs[id.index()];
    let oracle = FunctionOracle { env, id, function, summaries };
    let syms = SymTable::new(function, cfg, &env.program.module.types, &oracle);
    let mut flow = Flow {
        env,
        summaries,
        id,
        function,
        cfg,
        syms,
        inductions: FxHashMap::default(),
        used: used_calls(function),
        bounds: Vec::new(),
        range_joins: Vec::new(),
        summary: Summary::default(),
        recording: None,
        exits: Vec::new(),
        returned: Vec::new(),
        thrown: Vec::new(),
        guards: Vec::new(),
        wide_phis: edges::wide_phis(function),
    };
    flow.find_range_joins();
    flow.find_guards();
    flow.run();
    flow.finish()
}

impl<'a> Flow<'a> {
    pub(super) fn sym(&self, value: &Value) -> Option<Sym> {
        self.syms.value(value, &self.env.program.module.types)
    }

    pub(super) fn points(&self, value: &Value) -> Cow<'a, [Location]> {
        self.env.points.value(self.env.program, self.id, value)
    }

    pub(super) fn run(&mut self) {
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

    pub(super) fn record(&mut self, entries: Vec<Option<Vec<Path>>>) {
        self.exits.clear();
        self.returned.clear();
        for block in self.cfg.order.clone() {
            let Some(mut paths) = entries[block as usize].clone() else { continue };
            self.recording = Some(Arc::new(Path::default()));
            self.block(block, &mut paths);
            self.recording = None;
        }
    }

    pub(super) fn finish(mut self) -> Summary {
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
        let all_returned: Vec<Sym> =
            self.returned.iter().filter_map(|(sym, _)| sym.clone()).collect();
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
        // Callers cannot tell what they get back from what they passed.
        if self.summary.result.is_none() {
            for sym in &all_returned {
                sym.visit(&mut |atom| {
                    if let Atom::Argument(LOCAL, index) = atom {
                        for exit in &mut self.summary.exits {
                            exit.path.escaped_arguments.put(*index);
                        }
                    }
                });
            }
        }
        self.summary
    }

    pub(super) fn block(&mut self, block: u32, paths: &mut Vec<Path>) {
        let range = &self.function.blocks[block as usize];
        let cyclic = self.cfg.in_cycle[block as usize];
        let mut shown: Option<Arc<Path>> = None;
        let mut last: Option<Arc<Path>> = None;
        for inst in range.start.0..range.end.0 {
            if paths.is_empty() {
                self.thrown.clear();
                return;
            }
            let op = &self.function.instructions[inst as usize].op;
            if cyclic && !matches!(op, Op::Phi { .. }) && self.syms.is_opaque(inst) {
                for path in paths.iter_mut() {
                    path.forget(inst);
                    path.escaped.take_out(&inst);
                }
                shown = None;
            }
            if self.recording.is_some() && is_interesting(op) {
                let state = shown.take().unwrap_or_else(|| {
                    let state = shown_state(paths);
                    // Most calls change nothing: whoever binds states binds each only once.
                    match &last {
                        Some(last) if **last == state => last.clone(),
                        _ => Arc::new(state),
                    }
                });
                last = Some(state.clone());
                self.recording = Some(state.clone());
                shown = Some(state);
            }
            if self.step(inst, op, paths) {
                shown = None;
            }
        }
    }

    /// Applies one instruction; `true` when the state changed.
    pub(super) fn step(&mut self, inst: u32, op: &'a Op, paths: &mut Vec<Path>) -> bool {
        match op {
            Op::Load { address, size, order, .. } => {
                self.access(inst, 0, address, *size, AccessKind::Read, order.is_some());
                self.load_handle(inst, address, paths)
            }
            Op::Store { address, value, size, order, .. } => {
                self.access(inst, 0, address, *size, AccessKind::Write, order.is_some());
                let stored = *size == 8 && self.store_handle(inst, (address, value), paths);
                (*size >= POINTER && self.escape_value(value, paths)) | stored
            }
            Op::AtomicRmw { address, value, size, .. } => {
                self.access(inst, 0, address, *size, AccessKind::Write, true);
                *size >= POINTER && self.escape_value(value, paths)
            }
            Op::CompareExchange { address, new, size, .. } => {
                self.access(inst, 0, address, *size, AccessKind::Write, true);
                *size >= POINTER && self.escape_value(new, paths)
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
            Op::Select { then, otherwise, .. } if !self.is_number(inst) => {
                self.escape_value(then, paths) | self.escape_value(otherwise, paths)
            }
            Op::InsertValue { element, .. } | Op::InsertElement { element, .. } => {
                self.escape_value(element, paths)
            }
            Op::Cast { value, .. } if self.syms.is_opaque(inst) && !self.is_number(inst) => {
                self.escape_value(value, paths)
            }
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
    pub(super) fn throw(
        &mut self,
        inst: u32,
        callee: &Callee,
        arguments: &[Value],
        mut before: Vec<Path>,
    ) {
        let targets: Vec<FunctionId> = match callee {
            Callee::Direct(target) => vec![*target],
            _ => self.env.points.callees((self.id, inst)).to_vec(),
        };
        let syms: Vec<Option<Sym>> = arguments.iter().map(|a| self.sym(a)).collect();
        let bind = |atom: &Atom| match atom {
            Atom::Argument(LOCAL, index) => syms.get(*index as usize)?.clone(),
            _ => None,
        };
        for target in targets {
            // A container that cannot take a thread has not started it, or leaves it where it is.
            if matches!(self.env.effects.member(target), Some((Member::Add, _))) {
                continue;
            }
            let Some(summary) = (self.summaries)(target) else { continue };
            for path in &mut before {
                let targets = |lock: &Sym| self.lock_targets(lock);
                compose(path, &summary.possible, &[(self.id, inst)], &bind, &targets);
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
    pub(super) fn note_possible(&mut self, paths: &[Path]) {
        for path in paths {
            let possible = &mut self.summary.possible;
            possible.released.unite(&path.released);
            possible.overwritten.unite(&path.overwritten);
            possible.escaped_arguments.unite(&path.escaped_arguments);
            let mut threads = path.threads.clone();
            threads.revise(KNOWN_ENDS, |_, live| Some(live.of_unknown_end()));
            possible.threads.unite(&threads, |_, _| None);
        }
    }

    pub(super) fn leave(&mut self, value: Option<&Value>, paths: &[Path]) {
        let sym = value.and_then(|value| self.sym(value));
        for path in paths {
            let mut path = path.clone();
            if self.env.effects.is_atomic_body(self.id) {
                let lock = self.program_lock(0, LockMode::Write, 0);
                path.release(self.released(Some(lock)));
            }
            let result = sym.as_ref().and_then(|sym| {
                if is_address(sym) { Some(Fact::Differs(0)) } else { path.fact(sym) }
            });
            path.threads.revise(Parts::VALUE, |_, live| {
                let value = live.value.clone().and_then(|v| handles::leaving(v, sym.as_ref()));
                Some(Live { value, ..live.clone() })
            });
            if self.env.effects.future_role(self.id) == Some(Role::Starts) {
                futures::name_started(&mut path);
            }
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
    pub(super) fn is_allocation(&self, inst: u32) -> bool {
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

    pub(super) fn escape_value(&self, value: &Value, paths: &mut [Path]) -> bool {
        match self.sym(value) {
            Some(sym) => self.escape(&sym, paths),
            None => false,
        }
    }

    /// Whether the instruction's result cannot be an address.
    fn is_number(&self, inst: u32) -> bool {
        let ty = self.function.instructions[inst as usize].ty;
        is_number(self.env.program.module.types.get(ty))
    }

    /// The value gets where others may see it.
    pub(super) fn escape(&self, sym: &Sym, paths: &mut [Path]) -> bool {
        let mut changed = false;
        sym.visit(&mut |atom| {
            // Of all other values nobody asks: only calls allocate.
            if let Atom::Inst(LOCAL, inst) = atom
                && !matches!(self.function.instructions[*inst as usize].op, Op::Call { .. })
            {
                return;
            }
            for path in paths.iter_mut() {
                changed |= match atom {
                    Atom::Inst(LOCAL, inst) | Atom::Stack(LOCAL, inst) => path.escaped.put(*inst),
                    Atom::Argument(LOCAL, index) => path.escaped_arguments.put(*index),
                    _ => false,
                };
            }
        });
        changed
    }

    pub(super) fn access(
        &mut self,
        inst: u32,
        operand: u8,
        address: &Value,
        size: u64,
        kind: AccessKind,
        atomic: bool,
    ) {
        let points = self.points(address);
        if self.recording.is_some() && self.is_shared(&points) {
            self.note_access(inst, operand, self.sym(address), size, kind, atomic);
        }
    }

    /// An access to a place that a call finds from an argument.
    pub(super) fn access_inside(
        &mut self,
        inst: u32,
        place: &Inside,
        arguments: &[Value],
        size: u64,
        kind: AccessKind,
        atomic: bool,
    ) {
        if self.recording.is_none() {
            return;
        }
        let of = |value: &Value| self.points(value).into_owned();
        let places = place.places(self.env.points, arguments, &of);
        if self.is_shared(&places) {
            let argument = arguments.get(place.argument as usize);
            let plain = !place.loaded && place.object.is_none();
            let base = argument.filter(|_| plain).and_then(|value| self.sym(value));
            let address = base.map(|base| base.shifted(place.bytes as i64));
            self.note_access(inst, place.operand(), address, size, kind, atomic);
        }
    }

    fn is_shared(&self, places: &[Location]) -> bool {
        places.iter().any(|location| self.env.shared[location.object as usize])
    }

    fn note_access(
        &mut self,
        inst: u32,
        operand: u8,
        address: Option<Sym>,
        size: u64,
        kind: AccessKind,
        atomic: bool,
    ) {
        let Some(state) = self.recording.clone() else { return };
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

    pub(super) fn is_private(&self, address: &Sym, state: &Path) -> bool {
        address.terms.iter().any(|(atom, scale)| {
            *scale == 1
                && match atom {
                    Atom::Stack(LOCAL, inst) => !state.escaped.contains(inst),
                    Atom::Inst(LOCAL, inst) => {
                        let inst = &self.task_pointed_into(*inst).unwrap_or(*inst);
                        self.is_allocation(*inst) && !state.escaped.contains(inst)
                    }
                    _ => false,
                }
        })
    }
}

pub const OPEN: u64 = 1 << 40;

/// Bytes of the smallest access that can hold an address.
const POINTER: u64 = 8;

/// `EOWNERDEAD`: the lock is held, and whoever held it before is gone.
const OWNER_DIED: u64 = 130;

fn used_calls(function: &Function) -> FxHashSet<u32> {
    let mut used = FxHashSet::default();
    for instruction in &function.instructions {
        // Whoever asks for nothing but this does not look for failures.
        if let Op::Compare { right: Value::Int { bits: OWNER_DIED, .. }, .. } = &instruction.op {
            continue;
        }
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

/// What callees and accesses see of the paths: what is known of values is of use to the function
/// itself only.
fn shown_state(paths: &[Path]) -> Path {
    let mut state = joined(paths).expect("at least one path");
    state.facts.clear();
    state
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
