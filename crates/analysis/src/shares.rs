//! Parts of one array that the threads of one create call share out among them by number.
//!
//! A thread's number is its argument, or what it finds in the memory that its argument points to and
//! that its creator filled for it in the round of the loop which created it ([`Whole::handed`]). An
//! access `base + scale·number + scale'·i`, where a loop runs `i` over constants or over bounds that
//! move with the number, touches a part of the array that moves with the number. Threads with different
//! numbers are apart when the part is no longer than the way to the next thread's; or, where `i`
//! starts at the number and steps over all threads' (`i += threads`), when no two of them fall
//! together.
//!
//! The creator may work on a thread's part when it has joined that thread in the same round of a loop
//! ([`Whole::is_over`]).
//!
//! Only threads that are created in one loop, by calls that the program's first thread makes once, are
//! told apart. As everywhere, indices are taken not to overflow.
//!
//! Not seen: parts that are computed by division, numbers that are drawn from a counter.

use std::sync::{Mutex, OnceLock, PoisonError};

use racewarden_finding::AccessKind;
use racewarden_ir::{Callee, FunctionId, InstId, Op, Value};
use rustc_hash::FxHashMap;

use crate::cfg::Cfg;
use crate::contexts::{ContextId, GuardedAccess};
use crate::digests::{Digest, Whole};
use crate::effects::{Effect, Entry, Success};
use crate::loops::{Induction, induction};
use crate::parts::Own;
use crate::pointsto::{CallSite, may_overlap};
use crate::sym::{Atom, Frame, LOCAL, Sym, SymTable};
use crate::threads::{MAIN, RootId};

pub struct Shares;

impl Digest for Shares {
    fn name(&self) -> &'static str {
        "argument"
    }

    fn excludes(&self, a: &GuardedAccess, b: &GuardedAccess, whole: &Whole<'_>) -> Option<String> {
        if a.root != b.root {
            let over = whole.is_over(a, b).or_else(|| whole.is_over(b, a));
            return over.filter(|over| *over).map(|_| {
                "the thread that worked on this part was joined in the same round".to_owned()
            });
        }
        let (x, y) = (whole.share(a)?, whole.share(b)?);
        x.is_apart(&y, whole.numbers(a.root, x.number?)?)
            .then(|| "each thread works on the part that its number names".to_owned())
    }
}

/// What is a number of its own for each thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    Argument,
    /// The counter of the loop that creates the threads.
    Round,
}

/// How the numbers of the threads of one root differ.
#[derive(Debug, Clone, Copy)]
struct Numbers {
    apart: i64,
    /// How many there are at most.
    count: Option<i64>,
}

/// `base + scale·number + [low, high]`, or every `stride`-th place from `low` on.
#[derive(Debug, Clone, Default)]
struct Share {
    base: Sym,
    number: Option<Number>,
    scale: i64,
    low: i64,
    /// The last place's; with the size, in [`Whole::share`]'s result.
    high: i64,
    stride: Option<i64>,
    size: i64,
}

/// Numbers beyond this are not looked at.
const LARGE: i64 = 1 << 30;
/// Steps of half a word with which it does not come round for all the threads that there may be.
const MAX_HALF_STEP: i64 = 1 << 12;
/// Threads that are looked at one by one.
const MAX_THREADS: i64 = 1 << 12;
/// Counters that are looked through.
const MAX_DEPTH: u8 = 3;

impl Share {
    fn is_apart(&self, other: &Share, numbers: Numbers) -> bool {
        if self.number != other.number
            || self.scale != other.scale
            || self.scale == 0
            || self.base != other.base
        {
            return false;
        }
        let Some(way) = numbers.apart.checked_mul(self.scale.abs()) else { return false };
        match (self.stride, other.stride) {
            (None, None) => {
                let (low, high) = (self.low.min(other.low), self.high.max(other.high));
                high - low <= way
            }
            (Some(stride), Some(same)) if stride == same && self.low == other.low => {
                let size = self.size.max(other.size);
                let Some(count) = numbers.count.filter(|count| *count <= MAX_THREADS) else {
                    return false;
                };
                (1..count).all(|threads| {
                    let Some(distance) = threads.checked_mul(way) else { return false };
                    let distance = distance.rem_euclid(stride);
                    size <= distance && size <= stride - distance
                })
            }
            _ => false,
        }
    }

    fn scaled(mut self, by: i64) -> Option<Share> {
        self.base = self.base.scaled(by);
        self.scale = self.scale.checked_mul(by)?;
        let (low, high) = (self.low.checked_mul(by)?, self.high.checked_mul(by)?);
        (self.low, self.high) = (low.min(high), low.max(high));
        if let Some(stride) = self.stride {
            if by < 0 {
                return None;
            }
            self.stride = Some(stride.checked_mul(by)?);
        }
        self.is_moderate().then_some(self)
    }

    fn plus(self, other: Share) -> Option<Share> {
        let number = match (self.number, other.number) {
            (Some(one), Some(two)) if one != two => return None,
            (one, two) => one.or(two),
        };
        let single = |share: &Share| share.stride.is_none() && share.low == share.high;
        let stride = match (self.stride, other.stride) {
            (None, None) => None,
            (Some(stride), None) if single(&other) => Some(stride),
            (None, Some(stride)) if single(&self) => Some(stride),
            _ => return None,
        };
        let sum = Share {
            base: self.base.plus(&other.base),
            number,
            scale: self.scale.checked_add(other.scale)?,
            low: self.low.checked_add(other.low)?,
            high: self.high.checked_add(other.high)?,
            stride,
            size: 0,
        };
        sum.is_moderate().then_some(sum)
    }

    fn is_moderate(&self) -> bool {
        [self.scale, self.low, self.high, self.stride.unwrap_or(0)]
            .iter()
            .all(|value| (-LARGE..LARGE).contains(value))
    }
}

/// By root, place and size: what is the same for all threads, and how often the counter.
type Known = FxHashMap<(RootId, i64, u64), Option<(Sym, i64)>>;

/// What was found of the memory that threads are started with.
#[derive(Default)]
pub struct Handed {
    known: Mutex<Known>,
    /// The context of each function that has one alone.
    contexts: OnceLock<FxHashMap<FunctionId, Option<ContextId>>>,
}

/// A create call in a loop of a function that runs once.
struct Rounds<'a> {
    context: ContextId,
    create: u32,
    argument: &'a Value,
    /// Where the thread's handle is put.
    handle: Option<&'a Value>,
    flow: std::sync::Arc<(Cfg, SymTable)>,
    /// The loop's number.
    index: u32,
}

impl Whole<'_> {
    fn share(&self, access: &GuardedAccess) -> Option<Share> {
        let size = i64::try_from(access.size).ok().filter(|size| *size < LARGE)?;
        let mut share = self.expand(access, access.address.as_ref()?, 0)?;
        share.number?;
        // An argument may be the place itself.
        let is_placed = !share.base.terms.is_empty() || share.number == Some(Number::Argument);
        if !is_placed || !self.is_invariant(&share.base) {
            return None;
        }
        share.high = share.high.checked_add(size)?;
        share.size = size;
        Some(share)
    }

    fn expand(&self, access: &GuardedAccess, value: &Sym, depth: u8) -> Option<Share> {
        let mut sum = Share { low: value.offset, high: value.offset, ..Share::default() };
        for (atom, scale) in &value.terms {
            sum = sum.plus(self.expand_atom(access, atom, depth)?.scaled(*scale)?)?;
        }
        Some(sum)
    }

    fn expand_atom(&self, access: &GuardedAccess, atom: &Atom, depth: u8) -> Option<Share> {
        if let Some(inner) = atom.truncated() {
            let share = self.expand(access, inner, depth)?;
            let apart = self.numbers(access.root, share.number?)?.apart;
            let step = apart.checked_mul(share.scale)?.checked_abs()?;
            return (share.base.terms.is_empty() && step <= MAX_HALF_STEP).then_some(share);
        }
        let number = |number, scale| Share { number: Some(number), scale, ..Share::default() };
        match atom {
            Atom::Argument(frame, 0) if self.is_entry_of(*frame, access.root) => {
                return Some(number(Number::Argument, 1));
            }
            Atom::Inst(frame, inst)
                if *frame == access.context + 1 || self.is_entry_of(*frame, access.root) =>
            {
                let function = self.instantiation.function_of(*frame);
                let bodies = &self.instantiation.bodies;
                match &*bodies.op((function, *inst))? {
                    Op::Load { address, size, order: None, .. } => {
                        let flow = self.flow(function);
                        let place = flow.1.value(address, bodies.types())?;
                        let place =
                            place.substitute(&|atom| self.instantiation.bind(*frame - 1, atom))?;
                        if let [(Atom::Argument(entry, 0), 1)] = place.terms.as_slice()
                            && self.is_entry_of(*entry, access.root)
                            && let Some((rest, scale)) =
                                self.handed(access.root, place.offset, *size)
                        {
                            let offset = rest.offset;
                            let base = rest.shifted(-offset);
                            let own = number(Number::Round, scale);
                            return Some(Share { base, low: offset, high: offset, ..own });
                        }
                    }
                    Op::Phi { .. } if *frame == access.context + 1 && depth < MAX_DEPTH => {
                        return self.counted(access, *inst, depth);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        Some(Share { base: Sym::atom(atom.clone()), ..Share::default() })
    }

    /// Whether the frame is where threads of the root start.
    fn is_entry_of(&self, frame: Frame, root: RootId) -> bool {
        let contexts = &self.instantiation.contexts;
        let Some(context) = (frame as usize).checked_sub(1).and_then(|id| contexts.get(id)) else {
            return false;
        };
        context.root == root
            && !context.merged
            && context.parent.is_some_and(|(parent, _)| contexts[parent as usize].root != root)
    }

    /// What a counter of the access's function may be where the access is made.
    fn counted(&self, access: &GuardedAccess, phi: u32, depth: u8) -> Option<Share> {
        let bodies = &self.instantiation.bodies;
        let flow = self.flow(access.function);
        let (cfg, syms) = &*flow;
        let body = bodies.of(access.function);
        let found = induction(body, cfg, syms, bodies.types(), phi)?;
        let around = &cfg.loops[found.index as usize];
        let block = cfg.block_of[access.inst as usize];
        // The header also sees the value that ends the loop.
        if !around.contains(block) || block == around.header || !(1..LARGE).contains(&found.step) {
            return None;
        }
        let here = |value: &Sym| {
            let value = value.substitute(&|atom| self.instantiation.bind(access.context, atom))?;
            self.expand(access, &value, depth + 1)
        };
        let start = here(&found.start)?;
        if start.stride.is_some() {
            return None;
        }
        let bound = found.bound.as_ref().and_then(here);
        if let Some(bound) = bound
            && bound.stride.is_none()
            && (&bound.base, bound.number, bound.scale) == (&start.base, start.number, start.scale)
            && !is_equality(body, around.header)
        {
            let high = bound.high.checked_sub(1)?.max(start.low);
            return Some(Share { high, ..start });
        }
        let single = start.low == start.high;
        single.then_some(Share { stride: Some(found.step), ..start })
    }

    /// How the threads' numbers differ.
    fn numbers(&self, root: RootId, number: Number) -> Option<Numbers> {
        let data = self.root(root);
        let arguments = data.apart.filter(|_| !data.repeated);
        let rounds = self.rounds(root);
        let counter = rounds.as_ref().and_then(|rounds| self.counter_of(rounds));
        let count = rounds.as_ref().zip(counter.as_ref()).and_then(|(rounds, (_, counter))| {
            let (first, bound) = (counter.start.as_constant()?, counter.bound.clone()?);
            let way = bound.as_constant()?.checked_sub(first).filter(|way| *way >= 0)?;
            let function = self.instantiation.function_of(rounds.context + 1);
            let body = self.instantiation.bodies.of(function);
            let header = rounds.flow.0.loops[rounds.index as usize].header;
            let exact = !is_equality(body, header) || way % counter.step == 0;
            (counter.step > 0 && exact)
                .then(|| way / counter.step + i64::from(way % counter.step != 0))
        });
        let apart = match number {
            Number::Argument => arguments.filter(|apart| *apart != i64::MAX)?,
            Number::Round => counter?.1.step.checked_abs()?,
        };
        Some(Numbers { apart, count })
    }

    /// How far the numbers of the root's threads are apart at least.
    pub(crate) fn own_numbers(&self, root: RootId, own: Own) -> Option<i64> {
        let number = match own {
            Own::Member => return self.has_members(root).then_some(1),
            Own::Share(..) => return self.is_flat_team(root).then_some(1),
            Own::Argument | Own::Half => Number::Argument,
            Own::Round => Number::Round,
        };
        let apart = self.numbers(root, number)?.apart;
        let most = if own == Own::Half { MAX_HALF_STEP } else { LARGE };
        (1..=most).contains(&apart).then_some(apart)
    }

    /// What a thread finds so far into the memory that it was started with, when that is a number and
    /// so often the counter of the loop that creates the threads.
    pub(crate) fn handed_number(&self, root: RootId, offset: i64, size: u64) -> Option<(i64, i64)> {
        let (rest, scale) = self.handed(root, offset, size)?;
        Some((rest.as_constant()?, scale))
    }

    /// The first counter of the loop that the threads are created in.
    fn counter_of(&self, rounds: &Rounds<'_>) -> Option<(u32, Induction)> {
        let bodies = &self.instantiation.bodies;
        let body = bodies.of(self.instantiation.function_of(rounds.context + 1));
        let (cfg, syms) = &*rounds.flow;
        let header = &body.blocks[cfg.loops[rounds.index as usize].header as usize];
        (header.start.0..header.end.0)
            .find_map(|phi| Some((phi, induction(body, cfg, syms, bodies.types(), phi)?)))
    }

    /// The one context that the function is entered in.
    fn only_context(&self, function: FunctionId) -> Option<ContextId> {
        let contexts = self.handed.contexts.get_or_init(|| {
            let mut found: FxHashMap<FunctionId, Option<ContextId>> = FxHashMap::default();
            for (id, context) in (0u32..).zip(&self.instantiation.contexts) {
                found.entry(context.function).and_modify(|known| *known = None).or_insert(Some(id));
            }
            found
        });
        contexts.get(&function).copied().flatten()
    }

    /// The loop that creates the root's threads, one in each round.
    fn rounds(&self, root: RootId) -> Option<Rounds<'_>> {
        let instantiation = self.instantiation;
        let data = self.root(root);
        let create = data.create.as_ref()?;
        let (function, inst) = create.site;
        if create.any_chain || data.births.iter().any(|(parent, _)| *parent != MAIN) {
            return None;
        }
        let context = self.only_context(function)?;
        if !self.unique[context as usize] || instantiation.contexts[context as usize].merged {
            return None;
        }
        let op = instantiation.bodies.op((function, inst))?;
        let Op::Call { callee: Callee::Direct(target), .. } = &*op else { return None };
        let found = instantiation.effects.of(*target)?.iter().find_map(|effect| match effect {
            Effect::Create { entry: Entry::Argument(_), argument, extent, handle, .. } => {
                Some(((*argument)?, *handle)).filter(|_| !extent.many)
            }
            _ => None,
        });
        let (argument, handle) = found?;
        let flow = self.flow(function);
        let block = flow.0.block_of[inst as usize];
        let mut around = (0u32..).zip(&flow.0.loops).filter(|(_, body)| body.contains(block));
        let (Some((index, _)), None) = (around.next(), around.next()) else { return None };
        if !flow.0.once_per_round(index, block) {
            return None;
        }
        let Op::Call { arguments, .. } = &instantiation.bodies.of(function).inst(InstId(inst)).op
        else {
            return None;
        };
        let argument = arguments.get(argument as usize)?;
        let handle = handle.and_then(|index| arguments.get(index as usize));
        Some(Rounds { context, create: inst, argument, handle, flow, index })
    }

    /// Whether the creator works on the part of a thread that it has joined before, in the same round of
    /// a loop whose counter finds the thread's handle as the counter of the creating loop put it away.
    fn is_over(&self, creator: &GuardedAccess, thread: &GuardedAccess) -> Option<bool> {
        if creator.root != MAIN {
            return None;
        }
        let rounds = self.rounds(thread.root)?;
        if creator.context != rounds.context {
            return None;
        }
        let part = self.share(thread).filter(|part| part.number == Some(Number::Argument))?;
        let way = self.numbers(thread.root, Number::Argument)?.apart;
        let way = way.checked_mul(part.scale.checked_abs()?)?;
        let instantiation = self.instantiation;
        let types = instantiation.bodies.types();
        let body = instantiation.bodies.of(creator.function);
        let (cfg, syms) = &*rounds.flow;
        let (phi, _) = self.counter_of(&rounds)?;
        let block = cfg.block_of[creator.inst as usize];
        let address = creator.address.as_ref()?;
        let frame = creator.context + 1;
        let other = address.terms.iter().find_map(|(atom, _)| match atom {
            Atom::Inst(own, other) if *own == frame => {
                let counter = induction(body, cfg, syms, types, *other)?;
                let around = &cfg.loops[counter.index as usize];
                (around.contains(block) && !around.contains(cfg.block_of[phi as usize]))
                    .then_some(*other)
            }
            _ => None,
        })?;
        let index = cfg.headed[cfg.block_of[other as usize] as usize];
        let in_other_loop = |sym: &Sym| {
            let by = sym.terms.iter().find(|(atom, _)| *atom == Atom::Inst(LOCAL, phi));
            let by = by.map_or(0, |(_, by)| *by);
            sym.plus(&Sym::inst(LOCAL, phi).scaled(-by)).plus(&Sym::inst(LOCAL, other).scaled(by))
        };
        let handle = in_other_loop(&syms.value(rounds.handle?, types)?);
        let is_joined = |inst: u32| {
            let at = cfg.block_of[inst as usize];
            let before = if at == block { inst < creator.inst } else { cfg.dominates(at, block) };
            before
                && cfg.loops[index as usize].contains(at)
                && self.joined_by((creator.function, inst)).is_some_and(|place| {
                    handle.mentions(&|atom| *atom == Atom::Inst(LOCAL, other))
                        && syms.value(&place, types).as_ref() == Some(&handle)
                })
        };
        if part.stride.is_some() || !(0..body.instructions.len() as u32).any(is_joined) {
            return Some(false);
        }
        let argument = in_other_loop(&syms.value(rounds.argument, types)?);
        let argument = argument.substitute(&|atom| instantiation.bind(rounds.context, atom))?;
        let own = argument.scaled(part.scale).plus(&part.base);
        let low = address.distance(&own)?;
        let high = low.checked_add(i64::try_from(creator.size).ok()?)?;
        Some(high.max(part.high).checked_sub(low.min(part.low))? <= way)
    }

    /// Where the handle is kept of the thread that a call certainly waits for.
    fn joined_by(&self, site: CallSite) -> Option<Value> {
        let instantiation = self.instantiation;
        let bodies = &instantiation.bodies;
        let op = bodies.op(site)?;
        let Op::Call { callee: Callee::Direct(target), arguments, .. } = &*op else { return None };
        let handle = instantiation.effects.of(*target)?.iter().find_map(|effect| match effect {
            Effect::Join { handle, by_address: None, success } if *success != Success::Zero => {
                Some(*handle)
            }
            _ => None,
        })?;
        let Value::Inst(load) = arguments.get(handle as usize)? else { return None };
        let loaded = bodies.op((site.0, load.0))?;
        let Op::Load { address, .. } = &*loaded else { return None };
        let places = instantiation.points.value(bodies, site.0, address);
        let tainted = &instantiation.sharing?.tainted_handles;
        let is_result = |value: &Value| matches!(value, Value::Inst(inst) if inst.0 == site.1);
        // What is done about a join that fails is not known.
        let is_used =
            bodies.ops(site.0).any(|(_, other)| other.operands().into_iter().any(is_result));
        let certain = !is_used
            && load.0 + 1 == site.1
            && !places.is_empty()
            && places.iter().all(|at| !tainted.contains(&at.object));
        certain.then(|| address.clone())
    }

    /// What a thread finds so far into the memory that it was started with: something that is the same
    /// for all threads, and how often the counter of the loop that creates them.
    fn handed(&self, root: RootId, offset: i64, size: u64) -> Option<(Sym, i64)> {
        let key = (root, offset, size);
        let known = || self.handed.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(&key) {
            return found.clone();
        }
        let found = self.find_handed(root, offset, size);
        known().insert(key, found.clone());
        found
    }

    fn find_handed(&self, root: RootId, offset: i64, size: u64) -> Option<(Sym, i64)> {
        let data = self.root(root);
        data.apart.filter(|_| !data.repeated)?;
        let rounds = self.rounds(root)?;
        let (cfg, syms) = &*rounds.flow;
        let types = self.instantiation.bodies.types();
        let function = self.instantiation.function_of(rounds.context + 1);
        let body = self.instantiation.bodies.of(function);
        let place = syms.value(rounds.argument, types)?.shifted(offset);
        let around = &cfg.loops[rounds.index as usize];
        let created = cfg.block_of[rounds.create as usize];
        let mut stores = (0u32..).zip(&body.instructions).filter_map(|(inst, instruction)| {
            let Op::Store { address, value, size: own, .. } = &instruction.op else { return None };
            let block = cfg.block_of[inst as usize];
            let before = if block == created {
                inst < rounds.create
            } else {
                around.contains(block) && cfg.dominates(block, created)
            };
            let same = *own == size && syms.value(address, types).as_ref() == Some(&place);
            (before && same).then_some((inst, address, value))
        });
        let (Some((store, address, value)), None) = (stores.next(), stores.next()) else {
            return None;
        };
        if !self.is_only_write(root, (function, store), address, size) {
            return None;
        }
        let value = syms.value(value, types)?;
        let mut rest = Sym::constant(value.offset);
        let mut scale = 0i64;
        let (phi, counter) = self.counter_of(&rounds)?;
        let is_counter = |atom: &Atom| *atom == Atom::Inst(LOCAL, phi);
        for (atom, times) in &value.terms {
            if is_counter(atom) {
                scale = scale.checked_add(*times)?;
            } else if let Some(inner) = atom.truncated()
                && let [(half, by)] = inner.terms.as_slice()
                && is_counter(half)
                && counter.step.checked_mul(*by)?.checked_abs()? <= MAX_HALF_STEP
                && inner.offset.abs() < LARGE
            {
                scale = scale.checked_add(times.checked_mul(*by)?)?;
                rest = rest.shifted(inner.offset.checked_mul(*times)?);
            } else {
                rest = rest.plus(&Sym::atom(atom.clone()).scaled(*times));
            }
        }
        let rest = rest.substitute(&|atom| self.instantiation.bind(rounds.context, atom))?;
        self.is_invariant(&rest).then_some((rest, scale))
    }

    /// Whether nothing else writes there while threads of the root run.
    fn is_only_write(
        &self,
        root: RootId,
        (function, store): (FunctionId, u32),
        address: &Value,
        size: u64,
    ) -> bool {
        let instantiation = self.instantiation;
        let points = instantiation.points;
        let places = points.value(&instantiation.bodies, function, address);
        let blob = points.blob().object;
        if places.is_empty() || places.iter().any(|at| points.in_blob(at.object)) {
            return false;
        }
        let meets = |access: &GuardedAccess| {
            access.locations.iter().any(|at| {
                at.object == blob
                    || places.iter().any(|own| {
                        own.object == at.object && may_overlap(*own, size, *at, access.size)
                    })
            })
        };
        let is_other = |access: &&GuardedAccess| {
            access.kind == AccessKind::Write
                && (access.function, access.inst) != (function, store)
                && meets(access)
        };
        instantiation.all_accesses().iter().filter(is_other).all(|access| {
            // What is freed is not looked at any more.
            let frees = self.calls(access, |effect| matches!(effect, Effect::Free { .. }));
            let alive = || instantiation.threads.is_alive(&access.state, root);
            frees || (access.root == MAIN && !alive())
        })
    }
}

/// Whether the loop goes on until its counter is equal to the bound, which it may pass by.
fn is_equality(body: &racewarden_ir::Function, header: u32) -> bool {
    use racewarden_ir::CompareOp::{Eq, Ne};
    let end = body.blocks[header as usize].end.index();
    let Op::Branch { condition: Value::Inst(condition), .. } = &body.instructions[end - 1].op
    else {
        return true;
    };
    !matches!(&body.inst(*condition).op, Op::Compare { op, .. } if !matches!(op, Eq | Ne))
}
