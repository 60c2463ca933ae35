//! The accesses of all contexts, absolute: where they may be, under which locks and beside which
//! threads.

use std::sync::Arc;

use racewarden_finding::{AccessKind, LockMode};
use racewarden_ir::{ArgId, BinaryOp, FunctionId, InstId, Op, Value};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::callgraph::effects_of_call;
use crate::contexts::{ContextId, Instantiation};
use crate::distinct::{Distinct, Made};
use crate::effects::{Effect, INSIDE};
use crate::entry::{entry_state, without_handles};
use crate::flow::{KEPT, MADE, kept_by};
use crate::pointsto::{CallSite, Location, ObjectId, ObjectKind, gcd};
use crate::state::{Held, Path};
use crate::summary::Access;
use crate::sym::{Atom, Sym};
use crate::threads::RootId;

#[derive(Debug, Clone)]
pub struct GuardedAccess {
    pub root: RootId,
    pub context: ContextId,
    pub function: FunctionId,
    pub inst: u32,
    /// Its number among the accesses of the function's summary.
    pub number: u32,
    pub kind: AccessKind,
    pub size: u64,
    pub atomic: bool,
    pub address: Option<Sym>,
    pub locations: Arc<[Location]>,
    pub state: Arc<Path>,
    pub private: bool,
}

impl GuardedAccess {
    /// Whether it may be to the object.
    pub fn reaches(&self, object: ObjectId) -> bool {
        let at = self.locations.partition_point(|at| at.object < object);
        self.locations.get(at).is_some_and(|at| at.object == object)
    }
}

/// Functions whose accesses, by one thread, are instantiated at a time.
const BATCH: usize = 32;

/// Instructions between the load of a table of virtual functions and the look into it.
const NEAR: u32 = 4;

impl Instantiation<'_> {
    /// The accesses of all contexts, each that differs in anything that matters once.
    pub(crate) fn collect(&mut self) {
        let mut distinct = Distinct::default();
        let known = std::mem::take(&mut self.known_accesses);
        known.states().for_each(|state| distinct.know(state));
        let maker = |id: &ContextId| {
            let context = &self.contexts[*id as usize];
            (context.root, context.function)
        };
        let mut ids: Vec<ContextId> = (0..self.contexts.len() as ContextId).collect();
        ids.sort_by_key(maker);
        let makers: Vec<&[ContextId]> = ids.chunk_by(|a, b| maker(a) == maker(b)).collect();
        // A batch at a time, so that not all contexts' copies are in memory at once.
        let make = |batch: &[&[ContextId]]| -> Vec<(Vec<GuardedAccess>, bool)> {
            batch
                .par_iter()
                .map(|contexts| {
                    if let Some(known) = known.of(maker(&contexts[0]), self) {
                        return (known, true);
                    }
                    let mut made = Made::default();
                    for &id in *contexts {
                        self.accesses_in(id, &mut made);
                    }
                    (made.into_accesses(), false)
                })
                .collect()
        };
        let mut take = |found: Vec<(Vec<GuardedAccess>, bool)>| {
            for (accesses, is_known) in found {
                match is_known {
                    // Their parts are shared already.
                    true => distinct.accesses.extend(accesses),
                    false => accesses.into_iter().for_each(|access| distinct.add(access)),
                }
            }
            distinct.rest();
        };
        // While the parts of one batch are shared, by one thread alone, the next is made.
        let mut made = Vec::new();
        for batch in makers.chunks(BATCH) {
            made = rayon::join(|| take(std::mem::take(&mut made)), || make(batch)).1;
        }
        take(made);
        self.accesses = distinct.accesses;
        self.accesses.shrink_to_fit();
        if self.before.is_some() {
            self.matched = known.matched(self);
        }
    }

    /// The accesses of one context.
    fn accesses_in(&self, id: ContextId, made: &mut Made) {
        let context = &self.contexts[id as usize];
        let (function, root) = (context.function, context.root);
        // One that knows no actuals makes the same accesses, and more, in the same state.
        let covers = |id: &ContextId| self.contexts[*id as usize].entry == context.entry;
        let generic = self.generic.get(&(root, function));
        if !context.merged && generic.is_some_and(|list| list.iter().any(covers)) {
            return;
        }
        let summary = &self.summaries[function.index()];
        let mut states: FxHashMap<*const Path, Arc<Path>> = FxHashMap::default();
        // Most accesses of a function are through few pointers.
        let mut known: FxHashSet<Arc<[Location]>> = FxHashSet::default();
        for (number, access) in (0u32..).zip(&summary.accesses) {
            let address = self.address(id, access);
            let mut locations = address
                .as_ref()
                .and_then(|sym| self.locations_of(sym))
                .unwrap_or_else(|| self.operand_places(function, access.inst, access.operand));
            if self.frees((function, access.inst), access.operand) {
                locations.retain(|at| !self.points.is_on_stack(*at));
            }
            if self.effects.futures.looks_at_results(function) {
                // The library orders what it does to results itself.
                let objects = &self.points.locations().objects;
                let futures = &self.effects.futures;
                let result =
                    |object: u32| futures.is_result(&self.bodies, objects[object as usize]);
                locations.retain(|at| !result(at.object));
            }
            if self.asks_for_member(function, access.inst) {
                locations.retain(|at| !self.points.contents(std::slice::from_ref(at)).is_empty());
            }
            if !locations.iter().any(|at| self.shared[at.object as usize]) {
                continue;
            }
            let state = states
                .entry(Arc::as_ptr(&access.state))
                .or_insert_with(|| {
                    let mut state = entry_state(self.absolute(id, &access.state));
                    without_handles(&mut state);
                    state.rename_locks(&|lock| self.resolve(lock));
                    Arc::new(state)
                })
                .clone();
            let private = access.private
                || access
                    .address
                    .as_ref()
                    .is_some_and(|sym| self.is_private(id, sym, &access.state));
            let found = GuardedAccess {
                root,
                context: id,
                function,
                inst: access.inst,
                number,
                kind: access.kind,
                size: access.size,
                atomic: self.is_atomic(function, access),
                address,
                locations: shared_places(&mut known, locations),
                state,
                private,
            };
            made.add(access.operand, found);
        }
    }

    /// The access's address in the context, if it has a name there.
    pub(crate) fn address(&self, id: ContextId, access: &Access) -> Option<Sym> {
        let address = access.address.as_ref()?.substitute(&|atom| self.bind(id, atom))?;
        Some(self.resolve(&address))
    }

    pub(crate) fn is_atomic(&self, function: FunctionId, access: &Access) -> bool {
        access.atomic || self.effects.futures.counts_references(function)
    }

    /// Whether this stands for something that has run once, and for no lock that anybody holds.
    pub(crate) fn has_run_once(&self, held: &Held) -> bool {
        held.mode == LockMode::Read && self.is_once(held.acquired_at)
    }

    /// Whether what is acquired at this place is that something has run once, or runs.
    pub(crate) fn is_once(&self, site: CallSite) -> bool {
        match self.bodies.op(site).as_deref() {
            Some(Op::Call { callee, .. }) => {
                effects_of_call(self.effects, self.points, site, callee).any(|effect| {
                    use Effect::{Once, OnceBegin, OnceEnd};
                    matches!(effect, Once { .. } | OnceBegin { .. } | OnceEnd { .. })
                })
            }
            Some(Op::Load { .. }) => true,
            _ => false,
        }
    }

    /// Whether the access is made by freeing what the operand points to.
    fn frees(&self, site: CallSite, operand: u8) -> bool {
        let Some(callee) = self.bodies.callee(site) else { return false };
        effects_of_call(self.effects, self.points, site, callee)
            .any(|effect| *effect == Effect::Free { pointer: u32::from(operand) })
    }

    /// Whether the access loads a table of virtual functions for a call by a pointer to a member,
    /// which is done only when it is to a virtual one: from objects that have a table.
    fn asks_for_member(&self, function: FunctionId, inst: u32) -> bool {
        let op = |at: u32| self.bodies.op((function, at));
        let table = Value::Inst(InstId(inst));
        if !matches!(op(inst).as_deref(), Some(Op::Load { size: 8, order: None, .. })) {
            return false;
        }
        let mut near = (inst + 1..=inst + NEAR).map_while(op);
        let looked_up = near.find_map(|own| match &*own {
            Op::Address { base, offset: 0, indices } if *base == table => match &**indices {
                [(Value::Inst(number), 1)] => Some(*number),
                _ => None,
            },
            _ => None,
        });
        looked_up.is_some_and(|number| {
            let number = &self.bodies.of(function).inst(number).op;
            matches!(
                number,
                Op::Binary { op: BinaryOp::Sub, right: Value::Int { bits: 1, .. }, .. }
            )
        })
    }

    /// Where an access by this operand may go.
    fn operand_places(&self, function: FunctionId, inst: u32, operand: u8) -> Vec<Location> {
        let value = |value: &Value| self.points.value(&self.bodies, function, value).into_owned();
        let op = self.bodies.op((function, inst));
        let Some(Op::Call { callee, arguments, .. }) = op.as_deref() else {
            return value(&self.operand(function, inst, operand));
        };
        if operand == MADE {
            return value(&Value::Inst(InstId(inst)));
        }
        if operand & (INSIDE | KEPT) != INSIDE {
            return value(&self.operand(function, inst, operand));
        }
        let mut found = Vec::new();
        for effect in effects_of_call(self.effects, self.points, (function, inst), callee) {
            if let Effect::AccessInside { place, .. } = effect
                && place.operand() == operand
            {
                found.extend(place.places(self.points, arguments, &value));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn operand(&self, function: FunctionId, inst: u32, operand: u8) -> Value {
        let op = self.bodies.op((function, inst));
        match op.as_deref() {
            Some(
                Op::Load { address, .. }
                | Op::Store { address, .. }
                | Op::AtomicRmw { address, .. }
                | Op::CompareExchange { address, .. },
            ) => address.clone(),
            Some(Op::MemCopy { from, .. }) if operand == 1 => from.clone(),
            Some(Op::MemCopy { to, .. } | Op::MemSet { to, .. }) => to.clone(),
            Some(Op::Call { arguments, .. }) => match arguments.get((operand & !KEPT) as usize) {
                Some(Value::Inst(load)) if operand & KEPT != 0 => {
                    let load = self.bodies.op((function, load.0));
                    load.as_deref().and_then(kept_by).cloned().unwrap_or(Value::Null)
                }
                Some(argument) if operand & KEPT == 0 => argument.clone(),
                _ => Value::Null,
            },
            _ => Value::Null,
        }
    }

    /// Where a lock may be that is named by this value, if that is known.
    pub(crate) fn lock_targets(&self, lock: &Sym) -> Option<Vec<Location>> {
        let found = self.locations_of(lock)?;
        let known = !found.iter().any(|at| self.points.in_blob(at.object));
        (known && !found.is_empty()).then_some(found)
    }

    /// Where a value may point, from the objects its atoms stand for.
    pub fn locations_of(&self, sym: &Sym) -> Option<Vec<Location>> {
        let mut bases: Vec<Location> = Vec::new();
        let mut stride = 0u32;
        for (atom, scale) in &sym.terms {
            let found = if *scale == 1 { self.atom_locations(atom)? } else { Vec::new() };
            if found.is_empty() {
                stride = gcd(stride, u32::try_from(scale.unsigned_abs()).unwrap_or(1));
            } else {
                bases.extend(found);
            }
        }
        if bases.is_empty() {
            return None;
        }
        for base in &mut bases {
            base.offset = base.offset.wrapping_add(sym.offset);
            base.stride = gcd(base.stride, stride);
            if base.stride > 0 {
                base.offset = base.offset.rem_euclid(i64::from(base.stride));
            }
        }
        bases.sort_unstable();
        bases.dedup();
        Some(bases)
    }

    /// `None` when the atom's targets are not kept by the points-to analysis.
    pub(crate) fn atom_locations(&self, atom: &Atom) -> Option<Vec<Location>> {
        Some(match atom {
            Atom::Global(global) => {
                vec![Location { object: self.points.global_object(*global), offset: 0, stride: 0 }]
            }
            Atom::Function(_) => Vec::new(),
            Atom::Argument(frame, index) => {
                let context = &self.contexts[*frame as usize - 1];
                match context.argument_points.get(*index as usize) {
                    Some(Some(points)) => points.to_vec(),
                    _ => {
                        self.points.argument(&self.bodies, context.function, ArgId(*index)).to_vec()
                    }
                }
            }
            Atom::Inst(frame, inst) => {
                self.points.inst(self.function_of(*frame), racewarden_ir::InstId(*inst)).to_vec()
            }
            Atom::Stack(frame, inst) => {
                let kind = ObjectKind::Stack(self.function_of(*frame), *inst);
                let object = self.points.locations().find_object(kind)?;
                vec![Location { object, offset: 0, stride: 0 }]
            }
            Atom::Load(address) => {
                let found = self.points.contents(&self.locations_of(address)?);
                let lost = found.iter().any(|at| self.points.in_blob(at.object));
                return (!found.is_empty() && !lost).then_some(found);
            }
            Atom::Expr(_) => return None,
        })
    }
}

/// The places as one allocation with those that are known and equal.
fn shared_places(known: &mut FxHashSet<Arc<[Location]>>, places: Vec<Location>) -> Arc<[Location]> {
    match known.get(places.as_slice()) {
        Some(same) => same.clone(),
        None => {
            let places: Arc<[Location]> = places.into();
            known.insert(places.clone());
            places
        }
    }
}
