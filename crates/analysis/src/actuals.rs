//! What a calling context remembers of its actuals: only what some access, lock or thread below
//! can be told apart by.
//!
//! Contexts that differ in anything else would repeat the same accesses under other names, and
//! their callees' again: the number of contexts grows with the number of ways to reach a function,
//! not with what the ways have to do with races. So
//!
//! - a formal that no address, lock or thread argument is made of, here or in what is called with
//!   it, is not bound at all;
//! - an actual whose name tells nothing (an opaque pointer that no lock held was reached by) is
//!   bound to the places it may lead to instead of its name. The formal then names it, so that a
//!   lock taken below by the same pointer still guards what is accessed through it;
//! - of a thread's own stack slots and allocations only that they are its own is kept;
//! - of places that no other thread can reach, one stands for all.
//!
//! Names are kept where threads are created, inside OpenMP teams (their shares are told apart by
//! name), and for memory of an activation that may hand it to threads it creates.

use std::collections::BTreeSet;
use std::sync::Arc;

use racewarden_ir::{ArgId, FunctionId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::bodies::Bodies;
use crate::callgraph::{CallGraph, effects_of_call};
use crate::contexts::{ContextId, Instantiation};
use crate::effects::{Effect, Effects};
use crate::lives::Parts;
use crate::pointsto::{Location, PointsTo};
use crate::state::{Held, Live, Path, Released};
use crate::summary::Summary;
use crate::sym::{Atom, Frame, LOCAL, Sym};
use crate::threads::RootId;

/// The formals of each function that matter, as bits; formals past the 63rd share the last bit.
pub struct Formals {
    masks: Vec<u64>,
}

fn bit(index: u32) -> u64 {
    1 << index.min(63)
}

fn formals_in(sym: &Sym) -> u64 {
    let mut mask = 0;
    sym.visit(&mut |atom| {
        if let Atom::Argument(LOCAL, index) = atom {
            mask |= bit(*index);
        }
    });
    mask
}

impl Formals {
    pub fn new(
        bodies: &Bodies<'_>,
        effects: &Effects,
        points: &PointsTo,
        summaries: &[impl std::ops::Deref<Target = Summary>],
    ) -> Self {
        let mut masks: Vec<u64> = Vec::with_capacity(summaries.len());
        // By callee: who passes what of its own formals as which of the callee's.
        let mut passed: FxHashMap<FunctionId, Vec<(FunctionId, u32, u64)>> = FxHashMap::default();
        for (id, summary) in bodies.ids().zip(summaries) {
            let sets_up = sets_up(bodies, effects, points, id);
            masks.push(if sets_up { u64::MAX } else { own_formals(summary) });
            for call in &summary.calls {
                for (index, argument) in (0u32..).zip(&call.arguments) {
                    let own = argument.as_ref().map_or(0, formals_in);
                    if own != 0 {
                        passed.entry(call.callee).or_default().push((id, index, own));
                    }
                }
            }
        }
        let mut queue: Vec<FunctionId> = bodies.ids().collect();
        while let Some(callee) = queue.pop() {
            let wanted = masks[callee.index()];
            for &(caller, index, own) in passed.get(&callee).into_iter().flatten() {
                if wanted & bit(index) != 0 && own & !masks[caller.index()] != 0 {
                    masks[caller.index()] |= own;
                    queue.push(caller);
                }
            }
        }
        Formals { masks }
    }

    /// Of each function, as bits, the formals that no context tells numbers apart by: those that do
    /// not matter, unless who calls it may tell threads apart. Not the last bit, which stands for
    /// several.
    pub fn unasked(&self, graph: &CallGraph) -> Vec<u64> {
        let of = |(mask, &starts): (&u64, &bool)| if starts { 0 } else { !mask & !bit(63) };
        self.masks.iter().zip(&graph.may_start).map(of).collect()
    }

    /// The formals that matter of each function, as bits.
    pub fn masks(&self) -> &[u64] {
        &self.masks
    }

    pub fn matters(&self, function: FunctionId, index: u32) -> bool {
        self.masks.get(function.index()).is_none_or(|mask| mask & bit(index) != 0)
    }
}

/// Formals that the function's own accesses, states and create calls are made of.
fn own_formals(summary: &Summary) -> u64 {
    let mut mask = 0;
    let mut seen: FxHashSet<*const Path> = FxHashSet::default();
    let states = summary
        .accesses
        .iter()
        .map(|access| &access.state)
        .chain(summary.calls.iter().map(|call| &call.state));
    for state in states {
        if seen.insert(Arc::as_ptr(state)) {
            visit_path(state, &mut |sym| mask |= formals_in(sym));
        }
    }
    for exit in &summary.exits {
        visit_path(&exit.path, &mut |sym| mask |= formals_in(sym));
    }
    for address in summary.accesses.iter().filter_map(|access| access.address.as_ref()) {
        mask |= formals_in(address);
    }
    if !summary.creates.is_empty() {
        mask = u64::MAX;
    }
    mask
}

/// Whether the function sets up something whose count or start function may be passed in.
fn sets_up(bodies: &Bodies<'_>, effects: &Effects, points: &PointsTo, id: FunctionId) -> bool {
    if effects.of(id).is_some() {
        return false;
    }
    bodies.calls(id).any(|(inst, callee)| {
        effects_of_call(effects, points, (id, inst), callee).any(|effect| {
            matches!(
                effect,
                Effect::BarrierInit { .. }
                    | Effect::SemaphoreInit { .. }
                    | Effect::Create { .. }
                    | Effect::Handler { .. }
            )
        })
    })
}

/// Calls `visit` with every value that the state names.
fn visit_path(path: &Path, visit: &mut impl FnMut(&Sym)) {
    // Taken apart so that a part added to the state is not forgotten here.
    let Path {
        held,
        released,
        acquired,
        threads,
        joined,
        joined_values,
        joined_ranges,
        overwritten,
        escaped: _,
        escaped_arguments: _,
        facts: _,
    } = path;
    for Held { lock, after, .. } in held {
        visit(lock);
        after.iter().for_each(&mut *visit);
    }
    released.iter().filter_map(|Released { lock, .. }| lock.as_ref()).for_each(&mut *visit);
    acquired.iter().for_each(&mut *visit);
    for Live { handle, value, argument, range, .. } in
        threads.iter_with(Parts::NAMED).map(|(_, live)| live)
    {
        [handle, value, argument].into_iter().flatten().for_each(&mut *visit);
        if let Some(range) = range {
            [&range.first, &range.end].into_iter().for_each(&mut *visit);
        }
    }
    joined.iter().for_each(&mut *visit);
    joined_values.iter().for_each(&mut *visit);
    for range in joined_ranges {
        [&range.first, &range.end].into_iter().for_each(&mut *visit);
    }
    overwritten.iter().flatten().for_each(&mut *visit);
}

/// The activations' values that a state names.
pub fn named(path: &Path) -> FxHashSet<Atom> {
    let mut atoms = FxHashSet::default();
    visit_path(path, &mut |sym| {
        sym.visit(&mut |atom| {
            if matches!(atom, Atom::Argument(..) | Atom::Inst(..) | Atom::Stack(..)) {
                atoms.insert(atom.clone());
            }
        });
    });
    atoms
}

/// The activations that actuals name something of, and those of the values that a state names.
pub fn frames<'a>(
    arguments: &[Option<Sym>],
    named: impl Iterator<Item = &'a Atom>,
) -> FxHashSet<Frame> {
    let mut frames = FxHashSet::default();
    let mut visit = |atom: &Atom| {
        if let Atom::Argument(frame, _) | Atom::Inst(frame, _) | Atom::Stack(frame, _) = atom {
            frames.insert(*frame);
        }
    };
    arguments.iter().flatten().for_each(|sym| sym.visit(&mut visit));
    named.for_each(visit);
    frames
}

/// The actuals of one call as its context keeps them.
#[derive(Debug, Default)]
pub struct Actuals {
    pub arguments: Vec<Option<Sym>>,
    pub points: Vec<Option<Arc<[Location]>>>,
    /// Without a name, but this thread's own, as bits.
    pub own: u64,
    pub private: BTreeSet<u32>,
}

impl Instantiation<'_> {
    /// Drops from a call's actuals what tells its context from no other. `named` is what the
    /// state at the call names.
    pub(crate) fn telling(
        &self,
        (root, callee): (RootId, FunctionId),
        mut actuals: Actuals,
        named: &FxHashSet<Atom>,
    ) -> Actuals {
        if self.graph.may_start[callee.index()] || self.threads.roots[root as usize].team {
            return actuals;
        }
        for index in 0..actuals.arguments.len() {
            let number = index as u32;
            if !self.formals.matters(callee, number) {
                actuals.arguments[index] = None;
                continue;
            }
            let Some(sym) = &actuals.arguments[index] else { continue };
            if self.names_something(sym, named) {
                continue;
            }
            if number < 63 && self.is_own_address(root, sym) {
                actuals.own |= bit(number);
            }
            if let Some(places) = self.locations_of(sym).map(|places| self.reachable(places))
                && places.iter().all(|at| at.object != self.points.blob().object)
                && places.as_slice() != self.points.argument(&self.bodies, callee, ArgId(number))
            {
                actuals.points.resize(index, None);
                // Mostly another context has got the same: then both are one in memory.
                let known = self.known_places.get(places.as_slice()).cloned();
                actuals.points.push(Some(known.unwrap_or_else(|| places.into())));
            }
            actuals.arguments[index] = None;
        }
        while actuals.arguments.last().is_some_and(Option::is_none) {
            actuals.arguments.pop();
        }
        actuals
    }

    /// Whether something may be excluded because the value has this name.
    fn names_something(&self, sym: &Sym, named: &FxHashSet<Atom>) -> bool {
        if let Some(constant) = sym.as_constant() {
            return constant != 0;
        }
        if let Some(Atom::Function(_)) = sym.as_atom() {
            return false;
        }
        if sym.is_constant_address() {
            return true;
        }
        sym.mentions(&|atom| match atom {
            Atom::Global(_) | Atom::Function(_) | Atom::Expr(_) => false,
            // Unchanging memory is a name for what it leads to.
            Atom::Load(address) => !address.mentions(&|inner| {
                matches!(inner, Atom::Argument(..) | Atom::Inst(..) | Atom::Stack(..))
            }),
            atom if named.contains(atom) => true,
            Atom::Argument(frame, _) => self.is_entry(*frame - 1),
            Atom::Stack(frame, _) => self.is_shared_place(atom) && self.hands_out(*frame),
            Atom::Inst(frame, inst) => {
                let allocated = self.is_allocation(self.function_of(*frame), *inst)
                    && self.is_shared_place(atom)
                    && self.hands_out(*frame);
                allocated || self.looks_unique(*frame - 1)
            }
        })
    }

    /// Whether a thread created below this activation may get its memory.
    fn hands_out(&self, frame: Frame) -> bool {
        self.graph.may_start[self.function_of(frame).index()]
    }

    /// Whether the value is the address of a stack slot or allocation of a thread of this root.
    fn is_own_address(&self, root: RootId, sym: &Sym) -> bool {
        sym.terms.iter().any(|(atom, scale)| *scale == 1 && self.is_own_atom(root, atom))
    }

    pub(crate) fn is_own_atom(&self, root: RootId, atom: &Atom) -> bool {
        match atom {
            Atom::Stack(frame, _) => *frame != LOCAL && self.root_of(*frame) == root,
            Atom::Inst(frame, inst) => {
                *frame != LOCAL
                    && self.root_of(*frame) == root
                    && self.is_allocation(self.function_of(*frame), *inst)
            }
            Atom::Argument(frame, index) if *frame != LOCAL && *index < 63 => {
                let context = &self.contexts[*frame as usize - 1];
                context.root == root && context.own & bit(*index) != 0
            }
            _ => false,
        }
    }

    fn is_shared_place(&self, atom: &Atom) -> bool {
        self.atom_locations(atom)
            .is_none_or(|places| places.iter().any(|at| self.shared[at.object as usize]))
    }

    /// Whether a thread starts with this context.
    fn is_entry(&self, id: ContextId) -> bool {
        let context = &self.contexts[id as usize];
        context.parent.is_none_or(|(parent, _)| self.contexts[parent as usize].root != context.root)
    }

    /// Whether the context, as far as is known now, is entered once in the program's run.
    fn looks_unique(&self, mut id: ContextId) -> bool {
        loop {
            let context = &self.contexts[id as usize];
            if context.root != crate::threads::MAIN || context.entered != 1 || context.merged {
                return false;
            }
            match context.parent {
                None => return true,
                Some((parent, _)) => id = parent,
            }
        }
    }

    /// The places with one for all that no two threads can reach.
    fn reachable(&self, mut places: Vec<Location>) -> Vec<Location> {
        let Some(nowhere) = self.nowhere else { return places };
        for place in &mut places {
            if !self.shared[place.object as usize] {
                *place = Location { object: nowhere, offset: 0, stride: 1 };
            }
        }
        places.sort_unstable();
        places.dedup();
        places
    }
}
