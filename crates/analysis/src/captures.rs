//! What threads find in the object that they were started with: a lambda's captures, the arguments
//! of `std::thread`.
//!
//! The object is allocated and filled for each thread before it starts, and nobody but the thread
//! knows it after that. So when nothing else writes to it, what a thread loads from it is what its
//! creator put there: the address of a variable that all threads share, or the counter of the loop
//! that creates them, which is another one for each thread. The creator's value is followed back
//! from the allocation through one copy into the function that the loop is in.
//!
//! Only threads that the program's first thread creates, in a place that it comes to once (but for
//! the one loop), are told apart. Not seen: values that are computed from the counter in other ways
//! than by adding and scaling, copies by functions that are not in place, nested loops.

use std::sync::Arc;

use racewarden_ir::{Callee, Function, FunctionId, Op, Value};
use racewarden_models::Member;

use crate::cfg::Cfg;
use crate::contexts::{GuardedAccess, Instantiation};
use crate::digests::{Whole, fits};
use crate::effects::{Effect, Entry};
use crate::loops::induction;
use crate::pointsto::CallSite;
use crate::state::MAX_CHAIN;
use crate::sym::{Atom, LOCAL, Sym, SymTable, Unknowing};
use crate::threads::{MAIN, RootId};

/// A part of the object that a thread is started with.
#[derive(Debug, Clone)]
pub struct Field {
    offset: i64,
    size: u64,
    pub value: Captured,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Captured {
    /// The same for all threads.
    Same(Sym),
    /// Another one for each thread that the call `made` starts, by at least so much.
    Counted { apart: i64, made: Vec<CallSite> },
}

/// Where a part of an object comes from.
struct Origin<'a> {
    inst: u32,
    offset: i64,
    size: u64,
    from: From<'a>,
}

enum From<'a> {
    Value(&'a Value),
    /// What this value points to.
    Copied(&'a Value),
}

/// A function with what is needed to ask for its values.
struct Body<'a> {
    id: FunctionId,
    function: &'a Function,
    cfg: Cfg,
    syms: SymTable,
}

/// `offset` bytes into which instruction's result a value points.
pub fn base_of(function: &Function, value: &Value) -> Option<(u32, i64)> {
    let (mut value, mut offset) = (value, 0i64);
    loop {
        let Value::Inst(inst) = value else { return None };
        match &function.inst(*inst).op {
            Op::Address { base, offset: by, indices } if indices.is_empty() => {
                offset = offset.checked_add(*by)?;
                value = base;
            }
            _ => return Some((inst.0, offset)),
        }
    }
}

impl Instantiation<'_> {
    /// What is known of the objects that the threads of each root are started with.
    pub(crate) fn find_captures(&self) -> Vec<Vec<Field>> {
        let roots = 0..self.threads.roots.len() as RootId;
        roots.map(|root| self.captures_of(root).unwrap_or_default()).collect()
    }

    fn captures_of(&self, root: RootId) -> Option<Vec<Field>> {
        let root = &self.threads.roots[root as usize];
        let create = root.create.as_ref()?;
        let foreign = root.births.iter().any(|(parent, _)| *parent != MAIN);
        let inside = self.effects.futures.is_machinery(create.site.0);
        if foreign || inside || create.any_chain || create.chain.len() >= MAX_CHAIN {
            return None;
        }
        let mut sites: Vec<CallSite> = create.chain.to_vec();
        sites.push(create.site);
        let maker = self.body(create.site.0);
        let object = self.started_with(&maker, create.site.1)?;
        let origins = origins(maker.function, object);
        let mut fields = Vec::new();
        for origin in &origins {
            match origin.from {
                From::Value(value) => {
                    if let Some(value) = self.captured(&maker, value, &sites) {
                        fields.push(Field { offset: origin.offset, size: origin.size, value });
                    }
                }
                From::Copied(from) => {
                    let parts = self.copied(&maker, from, origin.size, &sites).unwrap_or_default();
                    let moved = |part: Field| Field { offset: part.offset + origin.offset, ..part };
                    fields.extend(parts.into_iter().map(moved));
                }
            }
        }
        fields.retain(|field| is_written_once(&origins, field.offset, field.size));
        Some(fields)
    }

    fn body(&self, id: FunctionId) -> Body<'_> {
        let function = self.bodies.of(id);
        let cfg = Cfg::new(function);
        let syms = SymTable::new(function, &cfg, self.bodies.types(), &Unknowing);
        Body { id, function, cfg, syms }
    }

    /// The allocation that the create call hands over: the only one that is ever in the pointer.
    fn started_with(&self, maker: &Body<'_>, create: u32) -> Option<u32> {
        let Op::Call { callee: Callee::Direct(target), arguments, .. } =
            &maker.function.instructions[create as usize].op
        else {
            return None;
        };
        let owner = self.effects.of(*target)?.iter().find_map(|effect| match effect {
            Effect::Create { entry: Entry::Owned { argument, .. }, .. } => Some(*argument),
            _ => None,
        })?;
        let slot = base_of(maker.function, arguments.get(owner as usize)?)?;
        let mut object = None;
        for instruction in &maker.function.instructions {
            let Op::Store { address, value, .. } = &instruction.op else { continue };
            if base_of(maker.function, address) != Some(slot) || *value == Value::Null {
                continue;
            }
            let (stored, 0) = base_of(maker.function, value)? else { return None };
            if object.is_some_and(|known| known != stored) {
                return None;
            }
            object = Some(stored);
        }
        object.filter(|object| self.is_allocation(maker.id, *object))
    }

    /// What was copied from the caller's object, or from another of the same function.
    fn copied(
        &self,
        maker: &Body<'_>,
        from: &Value,
        size: u64,
        sites: &[CallSite],
    ) -> Option<Vec<Field>> {
        let caller;
        let (body, from, sites) = match from {
            Value::Arg(index) => {
                let ((_, made), outer) = sites.split_last()?;
                let (function, call) = outer.last()?;
                if self.graph.is_in_cycle(maker.id, *made) {
                    return None;
                }
                caller = self.body(*function);
                let Op::Call { arguments, .. } = &caller.function.instructions[*call as usize].op
                else {
                    return None;
                };
                (&caller, arguments.get(index.index())?, outer)
            }
            _ => (maker, from, sites),
        };
        let call = sites.last()?.1;
        let (slot, start) = base_of(body.function, from)?;
        if !self.is_scratch(body, slot, call) {
            return None;
        }
        let origins = origins(body.function, slot);
        let mut fields = Vec::new();
        for origin in &origins {
            let From::Value(value) = origin.from else { return None };
            let offset = origin.offset - start;
            let inside = offset >= 0 && offset + origin.size as i64 <= size as i64;
            let stored = body.cfg.block_of[origin.inst as usize];
            let before = body.cfg.dominates(stored, body.cfg.block_of[call as usize]);
            if inside && before && is_written_once(&origins, origin.offset, origin.size) {
                let value = self.captured(body, value, sites);
                fields.extend(value.map(|value| Field { offset, size: origin.size, value }));
            }
        }
        Some(fields)
    }

    /// Whether the slot is only filled, and only the create call (or a copy) reads it.
    fn is_scratch(&self, body: &Body<'_>, slot: u32, call: u32) -> bool {
        if !matches!(body.function.instructions[slot as usize].op, Op::Alloca { .. }) {
            return false;
        }
        (0u32..).zip(&body.function.instructions).all(|(inst, instruction)| {
            let uses = |value: &Value| base_of(body.function, value).is_some_and(|b| b.0 == slot);
            match &instruction.op {
                Op::Store { value, .. } => !uses(value),
                Op::MemCopy { to, .. } => !uses(to),
                Op::Address { .. } | Op::Load { .. } | Op::Nop => true,
                op if inst == call => matches!(op, Op::Call { .. }),
                op => !op.operands().into_iter().any(uses),
            }
        })
    }

    /// What a value of the function that the loop is in is for the threads.
    fn captured(&self, body: &Body<'_>, value: &Value, sites: &[CallSite]) -> Option<Captured> {
        let (&(function, call), outer) = sites.split_last()?;
        if function != body.id || outer.iter().any(|at| self.graph.is_in_cycle(at.0, at.1)) {
            return None;
        }
        let types = self.bodies.types();
        let sym = body.syms.value(value, types)?;
        if sym.terms.is_empty() {
            return Some(Captured::Same(sym));
        }
        let shared = |atom: &Atom| match atom {
            Atom::Global(global) => !self.bodies.global(*global).thread_local,
            Atom::Stack(LOCAL, inst) => {
                (*inst as usize) < body.function.instructions.len()
                    && !self.graph.is_in_cycle(body.id, *inst)
            }
            _ => false,
        };
        if sym.terms.iter().all(|(atom, _)| shared(atom)) {
            let mut contexts =
                (0u32..).zip(&self.contexts).filter(|(_, at)| at.function == body.id);
            let (id, context) = contexts.next()?;
            if context.merged || context.root != MAIN || contexts.next().is_some() {
                return None;
            }
            return Some(Captured::Same(sym.substitute(&|atom| self.bind(id, atom))?));
        }
        let [(Atom::Inst(LOCAL, phi), scale)] = sym.terms.as_slice() else { return None };
        let counter = induction(body.function, &body.cfg, &body.syms, types, *phi)?;
        let block = body.cfg.block_of[call as usize];
        let around = body.cfg.loops.iter().filter(|body| body.contains(block)).count();
        let once = around == 1 && body.cfg.once_per_round(counter.index, block);
        let apart = counter.step.checked_mul(*scale)?.checked_abs()?;
        once.then(|| Captured::Counted { apart, made: sites.to_vec() })
    }

    /// The address with what the thread's captures say in place of their loads.
    pub(crate) fn resolve(&self, sym: &Sym) -> Sym {
        if !sym.terms.iter().any(|(atom, _)| matches!(atom, Atom::Load(_))) {
            return sym.clone();
        }
        let mut result = Sym::constant(sym.offset);
        for (atom, scale) in &sym.terms {
            let value = match atom {
                Atom::Load(address) => {
                    let address = self.resolve(address);
                    match self.capture(&address) {
                        Some((_, Captured::Same(value))) => value.clone(),
                        _ => Sym::atom(Atom::Load(Arc::new(address))),
                    }
                }
                other => Sym::atom(other.clone()),
            };
            result = result.plus(&value.scaled(*scale));
        }
        result
    }

    /// The capture that is at this address, and whose.
    pub fn capture(&self, address: &Sym) -> Option<(RootId, &Captured)> {
        let [(Atom::Argument(frame, 0), 1)] = address.terms.as_slice() else { return None };
        let context = self.contexts.get((*frame as usize).checked_sub(1)?)?;
        let (parent, _) = context.parent?;
        if self.contexts[parent as usize].root == context.root || context.merged {
            return None;
        }
        let fields = self.captures.get(context.root as usize)?;
        let field = fields.iter().find(|field| field.offset == address.offset)?;
        Some((context.root, &field.value))
    }
}

impl Whole<'_> {
    /// Each works on the part that its own round of the loop that creates the threads has named.
    pub(crate) fn captures_disjoint(&self, a: &GuardedAccess, b: &GuardedAccess) -> bool {
        let (Some(x), Some(y)) = (self.by_capture(a), self.by_capture(b)) else { return false };
        let alone = |made: &[CallSite]| {
            let call = self.root(a.root).create.as_ref().map(|create| create.chain.as_slice());
            a.root == b.root || (self.start_in_one_call(a.root, b.root) && call == Some(made))
        };
        if x.1 != y.1 || x.2 != y.2 || x.3 != y.3 || !alone(x.3) {
            return false;
        }
        let Some(distance) = x.0.distance(&y.0) else { return false };
        fits(distance, a.size, b.size, x.2.saturating_mul(x.1.abs()))
    }

    /// Whether each call that starts a thread of one root, or of the other, starts just that one: a
    /// container has several places in its code where it starts what is put into it.
    pub fn start_in_one_call(&self, one: RootId, other: RootId) -> bool {
        let (one, other) = (self.root(one), self.root(other));
        let (Some(a), Some(b)) = (&one.create, &other.create) else { return false };
        let add = self.instantiation.effects.member(a.site.0);
        one.function == other.function
            && matches!(add, Some((Member::Add, _)))
            && a.site.0 == b.site.0
            && a.chain == b.chain
            && !a.chain.is_empty()
            && !(a.any_chain || b.any_chain)
    }

    /// The rest of the address, the scale of the thread's number in it, how far apart the numbers
    /// are, and the call that they are for.
    fn by_capture(&self, access: &GuardedAccess) -> Option<(Sym, i64, i64, &[CallSite])> {
        let address = access.address.as_ref()?;
        let mut found = None;
        for (atom, scale) in &address.terms {
            let Atom::Load(place) = atom else { continue };
            let Some((root, Captured::Counted { apart, made })) = self.instantiation.capture(place)
            else {
                continue;
            };
            if root != access.root || found.is_some() {
                return None;
            }
            let own = Sym::atom(atom.clone()).scaled(-scale);
            found = Some((address.plus(&own), *scale, *apart, made.as_slice()));
        }
        found.filter(|(rest, ..)| self.is_invariant(rest))
    }
}

/// The stores and copies that fill the object which an instruction returns.
fn origins(function: &Function, object: u32) -> Vec<Origin<'_>> {
    let mut found = Vec::new();
    for (inst, instruction) in (0u32..).zip(&function.instructions) {
        let (address, size, from) = match &instruction.op {
            Op::Store { address, value, size, .. } => (address, *size, From::Value(value)),
            Op::MemCopy { to, from, length: Value::Int { bits, .. }, .. } => {
                (to, *bits, From::Copied(from))
            }
            _ => continue,
        };
        let from = match from {
            From::Value(value) => given(function, value).map_or(from, From::Copied),
            from => from,
        };
        if let Some((base, offset)) = base_of(function, address)
            && base == object
        {
            found.push(Origin { inst, offset, size, from });
        }
    }
    found
}

/// The parameter that a value was loaded through.
fn given<'a>(function: &'a Function, value: &Value) -> Option<&'a Value> {
    let Value::Inst(inst) = value else { return None };
    match &function.inst(*inst).op {
        Op::Load { address: address @ Value::Arg(_), .. } => Some(address),
        _ => None,
    }
}

fn is_written_once(origins: &[Origin<'_>], offset: i64, size: u64) -> bool {
    let overlaps = |other: &&Origin<'_>| {
        offset < other.offset + other.size as i64 && other.offset < offset + size as i64
    };
    origins.iter().filter(overlaps).count() == 1
}
