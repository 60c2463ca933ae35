//! Handles that move: from one object to another, and into and out of containers.
//!
//! A `std::thread` is the only holder of its handle, and what can be done with the handle is what
//! the class allows: it moves from object to object, it is joined, or it is detached. So while
//! nobody detaches an element or moves one out, all threads that were put into a container are in
//! it, wherever the container keeps its elements, and whoever has joined each of its elements has
//! joined them all. An object that can still be joined cannot be destroyed or assigned to without
//! ending the program.
//!
//! What the members of a container do is said by its models ([`Member`]); elements are known by how
//! they were reached: by a loop from the first to the last, by number, or somehow. Detaching an
//! element, or writing to it in any other way, makes the memory of all elements that were allocated
//! there worthless (see [`Env::tainted_handles`](super::Env)).
//!
//! A container that is found empty has lost all of its threads to destructors ([`walks`](super::walks)).
//!
//! Not seen: elements that are joined one by one without a loop, iterators of deques.

use racewarden_ir::{BinaryOp, Callee, FunctionId, Op, Value};
use racewarden_models::Member;

use super::{Flow, MAX_PATHS};
use crate::effects::Effect;
use crate::lives::Parts;
use crate::loops::Induction;
use crate::pointsto::ObjectKind;
use crate::state::{CreateId, HandleRange, Path, reduce};
use crate::summary::CallKind;
use crate::sym::{Atom, LOCAL, Sym};

/// How many bytes into an element its handle is, and how large the element is: a `std::thread` is
/// nothing but its handle, a `std::jthread` has something else before it, a `std::future` is known by
/// where it is.
const ELEMENTS: [(i64, i64); 2] = [(0, 8), (8, 16)];
const FUTURE: (i64, i64) = (0, 16);

/// Blocks that may lie between where a loop's bounds are taken and the loop.
const MAX_BEFORE: usize = 6;

/// An element of a container, and which.
pub(super) struct Element {
    pub(super) container: Sym,
    /// The container, as the call got it that led to the element.
    pub(super) given: Value,
    which: Which,
}

pub(super) enum Which {
    /// The one that this phi points to, which starts at the first.
    Walked(u32),
    Numbered(Sym),
    Some,
}

impl Flow<'_> {
    /// The handle at one argument goes to the place that another says.
    pub(super) fn move_handle(
        &mut self,
        inst: u32,
        (to, from): (&Value, &Value),
        swap: bool,
        paths: &mut [Path],
    ) {
        let target = self.untainted(to);
        let source = self.untainted(from);
        let keeper = target.as_ref().and_then(|place| self.element(place));
        let keeper = keeper.filter(|element| self.keeps(&element.given));
        let range = target.as_ref().and_then(|place| self.handle_range(place));
        let range = range.filter(|(index, _)| self.once_per_round(*index, inst));
        let range = range.filter(|_| keeper.is_none() && !swap);
        let inside = self.may_be_element(from) || (swap && self.may_be_element(to));
        for path in paths.iter_mut() {
            if swap && inside {
                path.overwrite(None, None);
                continue;
            }
            let keep = |id: &CreateId| {
                if let Some(element) = &keeper {
                    return Some(HandleRange::container(element.container.clone()));
                }
                let (index, range) = range.as_ref()?;
                let call = id.chain.first().unwrap_or(&id.site);
                let own = call.0 == self.id && self.once_per_round(*index, call.1);
                own.then(|| range.clone())
            };
            if swap {
                path.swap_handles(source.as_ref(), target.as_ref());
            } else {
                path.move_handle(source.as_ref(), target.as_ref(), inside, &keep);
            }
        }
    }

    /// Calls a member of a container: its body, and what it means for the threads in it.
    pub(super) fn call_member(
        &mut self,
        inst: u32,
        target: FunctionId,
        (member, container): (Member, u32),
        arguments: &[Value],
        paths: &mut Vec<Path>,
    ) {
        let syms: Vec<Option<Sym>> = arguments.iter().map(|a| self.sym(a)).collect();
        let at = |index: u32| syms.get(index as usize).cloned().flatten();
        let own = at(container);
        let given = arguments.get(container as usize);
        let kept = own.as_ref().filter(|_| given.is_some_and(|given| self.keeps(given)));
        let range = kept.map(|own| HandleRange::container(own.clone()));
        if member == Member::Add {
            put_in(&syms, range.as_ref(), paths);
        }
        if member == Member::Lose {
            // What its body says to have ended may be what it has just exchanged.
            paths.iter_mut().for_each(|path| path.overwrite(None, None));
            let joined: Vec<_> = paths.iter().map(|path| path.joined_ranges.clone()).collect();
            self.apply(inst, target, syms, CallKind::Member, paths);
            for path in paths.iter_mut() {
                path.joined_ranges.keep(|range| joined.iter().all(|own| own.contains(range)));
                path.overwrite(None, None);
            }
            reduce(paths, MAX_PATHS);
            return;
        }
        self.apply(inst, target, syms.clone(), CallKind::Member, paths);
        match member {
            Member::Add => self.keep_started(inst, range.as_ref(), paths),
            Member::End => {
                if let Some(all) = range {
                    paths.iter_mut().for_each(|path| path.join_range(&all, |_| false));
                }
            }
            Member::Move | Member::Swap => {
                for path in paths.iter_mut() {
                    match (&own, &at(container + 1)) {
                        (Some(to), Some(from)) => {
                            path.move_container(from, to, member == Member::Swap);
                        }
                        _ => path.overwrite(None, None),
                    }
                }
            }
            _ => {}
        }
        reduce(paths, MAX_PATHS);
    }

    /// Threads that the call started are in the container.
    fn keep_started(&self, inst: u32, range: Option<&HandleRange>, paths: &mut [Path]) {
        for path in paths.iter_mut() {
            path.threads.revise(Parts::ANY, |id, live| {
                let call = *id.chain.first().unwrap_or(&id.site);
                let started = call == (self.id, inst) && !live.ended;
                started.then(|| live.put_into(range))
            });
        }
    }

    /// Loops that join every element of a container: which loop, and the container.
    pub(super) fn joins_all(&mut self, place: &Sym) -> Option<(u32, HandleRange)> {
        let element = self.element(place)?;
        let (counter, taken) = match &element.which {
            Which::Walked(phi) if self.induction_of(*phi).is_none() => {
                return self.joins_linked(&element, *phi);
            }
            Which::Walked(phi) => {
                let counter = self.induction_of(*phi)?;
                let bound = counter.bound.as_ref()?;
                let past = self.member_result(bound, Member::Past)?;
                let first = self.member_result(&counter.start, Member::First)?;
                if self.sym(&past.1) != Some(element.container.clone())
                    || !self.is_next(first.0, (place.offset, counter.step))
                {
                    return None;
                }
                (counter, vec![first.0, past.0])
            }
            Which::Numbered(number) => {
                let Some(Atom::Inst(LOCAL, phi)) = number.as_atom() else { return None };
                let counter = self.induction_of(*phi)?;
                let down = self.starts_at_last(&counter);
                let size = match &down {
                    Some(size) => self.member_result(size, Member::Size)?,
                    None => self.member_result(counter.bound.as_ref()?, Member::Size)?,
                };
                let up = counter.start.as_constant() == Some(0) && counter.step == 1;
                let whole = up || down.is_some();
                if !whole || self.sym(&size.1) != Some(element.container.clone()) {
                    return None;
                }
                (counter, vec![size.0])
            }
            Which::Some => return None,
        };
        let settled = self.keeps(&element.given)
            && self.is_settled(counter.index, &taken, &element.container, &element.given);
        settled.then(|| (counter.index, HandleRange::container(element.container)))
    }

    /// The number of elements, where the counter goes from the last one down to the first.
    fn starts_at_last(&self, counter: &Induction) -> Option<Sym> {
        let first = counter.floor.as_ref()?.as_constant() == Some(0);
        let size = counter.start.clone().shifted(1);
        // There are never so many threads that half a word does not hold their number.
        let whole = size.as_atom().and_then(Atom::truncated).cloned().unwrap_or(size);
        (first && counter.step == -1).then_some(whole)
    }

    /// Whether the loop goes from element to element, by what it got the first one from.
    fn is_next(&self, first: u32, step: (i64, i64)) -> bool {
        let Op::Call { callee: Callee::Direct(target), .. } =
            &self.function.instructions[first as usize].op
        else {
            return false;
        };
        match self.env.effects.futures.holds(*target) {
            true => step == FUTURE,
            false => ELEMENTS.contains(&step),
        }
    }

    /// The same for a loop that counts as far as the loops did that filled the container.
    pub(super) fn joins_as_many(&mut self, place: &Sym) -> Option<(u32, HandleRange)> {
        let element = self.element(place)?;
        let Which::Numbered(number) = &element.which else { return None };
        let counter = self.counts_from_zero(number)?;
        let bound = counter.bound.as_ref()?;
        let filled = self.keeps(&element.given) && self.is_filled_below(&element.given, bound);
        filled.then(|| (counter.index, HandleRange::container(element.container)))
    }

    fn counts_from_zero(&mut self, number: &Sym) -> Option<Induction> {
        let Some(Atom::Inst(LOCAL, phi)) = number.as_atom() else { return None };
        let counter = self.induction_of(*phi)?;
        (counter.start.as_constant() == Some(0) && counter.step == 1).then_some(counter)
    }

    /// Whether the container is a variable of this function into which nothing is put but by loops
    /// from zero up to the bound: one that adds to it as long as it is empty, or any that assign to
    /// elements by their number.
    fn is_filled_below(&mut self, given: &Value, bound: &Sym) -> bool {
        let Value::Inst(slot) = given else { return false };
        if !matches!(self.function.inst(*slot).op, Op::Alloca { .. }) {
            return false;
        }
        let mut made = None;
        let (mut added, mut resized, mut reached) = (Vec::new(), false, Vec::new());
        for (inst, instruction) in (0u32..).zip(&self.function.instructions) {
            let mut uses = 0;
            for operand in instruction.op.operands() {
                operand.visit(&mut |value| uses += usize::from(value == given));
            }
            if uses == 0 {
                continue;
            }
            let Op::Call { callee: Callee::Direct(target), arguments, .. } = &instruction.op else {
                return false;
            };
            let Some((member, 0)) = self.env.effects.member(*target) else { return false };
            if uses != 1 || arguments.first() != Some(given) {
                return false;
            }
            match member {
                Member::Arrange => made = made.or(Some(inst)),
                Member::Resize => {
                    made = made.or(Some(inst));
                    resized = true;
                }
                Member::Add => added.push(inst),
                Member::At => reached.push(inst),
                Member::Move | Member::Swap | Member::First | Member::Some | Member::Lose => {
                    return false;
                }
                Member::End | Member::Past | Member::Size | Member::Empty => {}
            }
        }
        let Some(made) = made else { return false };
        let within = |bound: &Sym, most: &Sym| most.distance(bound).is_some_and(|by| by >= 0);
        let counts = |flow: &mut Self, counter: &Induction, inst: u32| {
            counter.bound.as_ref().is_some_and(|own| within(own, bound))
                && flow.once_per_round(counter.index, inst)
                && flow.enters_once(counter.index, made)
        };
        match added.as_slice() {
            // Where it is assigned to by number, the numbers must be below.
            [] => reached.into_iter().all(|inst| {
                let Op::Call { arguments, .. } = &self.function.instructions[inst as usize].op
                else {
                    return false;
                };
                let Some(number) = arguments.get(1).and_then(|value| self.sym(value)) else {
                    return false;
                };
                if let (Some(number), Some(most)) = (number.as_constant(), bound.as_constant()) {
                    return (0..most).contains(&number);
                }
                let bounded = self.counts_from_zero(&number).and_then(|counter| counter.bound);
                bounded.is_some_and(|own| within(&own, bound))
            }),
            [add] if !resized => {
                let phis = self.phis_around(*add);
                phis.into_iter().any(|phi| {
                    let counter = self.counts_from_zero(&Sym::inst(LOCAL, phi));
                    counter.is_some_and(|counter| counts(self, &counter, *add))
                })
            }
            _ => false,
        }
    }

    /// The phis at the heads of the loops around an instruction.
    fn phis_around(&self, inst: u32) -> Vec<u32> {
        let block = self.cfg.block_of[inst as usize];
        let around = self.cfg.loops.iter().filter(|body| body.contains(block));
        let heads = around.flat_map(|body| {
            let head = &self.function.blocks[body.header as usize];
            head.start.0..head.end.0
        });
        heads
            .filter(|inst| matches!(self.function.instructions[*inst as usize].op, Op::Phi { .. }))
            .collect()
    }

    /// Whether the loop is entered at most once for each time that the instruction is made.
    fn enters_once(&self, index: u32, made: u32) -> bool {
        let header = self.cfg.loops[index as usize].header;
        let made = self.cfg.block_of[made as usize];
        self.cfg.dominates(made, header)
            && self
                .cfg
                .loops
                .iter()
                .filter(|body| body.header != header && body.contains(header))
                .all(|body| body.contains(made))
    }

    /// Whether the join is made in every round of the loop, unless there is nothing to join.
    pub(super) fn joins_each_round(&mut self, index: u32, inst: u32, place: &Sym) -> bool {
        let latches = self.cfg.loops[index as usize].latches.clone();
        let always =
            |flow: &Self, block: u32| latches.iter().all(|&latch| flow.cfg.dominates(block, latch));
        let mut block = self.cfg.block_of[inst as usize];
        if always(self, block) {
            return true;
        }
        for _ in 0..MAX_BEFORE {
            let &[before] = self.cfg.predecessors[block as usize].as_slice() else { return false };
            let end = self.function.blocks[before as usize].end.index();
            match &self.function.instructions[end - 1].op {
                Op::Jump { .. } => block = before,
                Op::Branch { condition: Value::Inst(condition), then, otherwise } => {
                    let side = then.0 == block;
                    return then != otherwise
                        && (side || otherwise.0 == block)
                        && always(self, before)
                        && self.tells_joinable(condition.0, side, place);
                }
                _ => return false,
            }
        }
        false
    }

    /// Whether the value, when it is as said, tells that the thread can be joined.
    fn tells_joinable(&mut self, inst: u32, holds: bool, place: &Sym) -> bool {
        let op = &self.function.instructions[inst as usize].op;
        if let Op::Binary { op: BinaryOp::Xor, left: Value::Inst(inner), right } = op {
            let not = matches!(right, Value::Int { bits: 1, .. });
            return not && self.tells_joinable(inner.0, !holds, place);
        }
        if !holds {
            return false;
        }
        let Op::Call { callee: Callee::Direct(target), arguments, .. } = op else {
            return false;
        };
        let effects = self.env.effects.of(*target).into_iter().flatten();
        let mut asked = effects.filter_map(|effect| match effect {
            Effect::TellJoinable { handle } => arguments.get(*handle as usize),
            _ => None,
        });
        let Some(asked) = asked.next().and_then(|value| self.sym(value)) else { return false };
        if asked == *place {
            return true;
        }
        let (Some(asked), Some(place)) = (self.element(&asked), self.element(place)) else {
            return false;
        };
        match (&asked.which, &place.which) {
            (Which::Numbered(a), Which::Numbered(b)) => {
                a == b && asked.container == place.container
            }
            _ => false,
        }
    }

    /// The element that a place is, or is in.
    fn element(&mut self, place: &Sym) -> Option<Element> {
        let [(Atom::Inst(LOCAL, inst), 1)] = place.terms.as_slice() else { return None };
        let is_node = self.linked_from(*inst).is_some();
        if !is_node && !ELEMENTS.iter().any(|(into, _)| *into == place.offset) {
            return None;
        }
        let whole = Sym::inst(LOCAL, *inst);
        if matches!(self.function.instructions[*inst as usize].op, Op::Phi { .. }) {
            let start = match self.induction_of(*inst) {
                Some(counter) => counter.start,
                None => self.linked_from(*inst)?,
            };
            let (_, given) = self.member_result(&start, Member::First)?;
            let container = self.sym(&given)?;
            return Some(Element { container, given, which: Which::Walked(*inst) });
        }
        let (which, given) = match self.member_result(&whole, Member::At) {
            Some((call, given)) => {
                let Op::Call { arguments, .. } = &self.function.instructions[call as usize].op
                else {
                    return None;
                };
                (Which::Numbered(self.sym(arguments.get(1)?)?), given)
            }
            None => (Which::Some, self.member_result(&whole, Member::Some)?.1),
        };
        Some(Element { container: self.sym(&given)?, given, which })
    }

    /// The call of this member that the value is the result of, with the container.
    pub(super) fn member_result(&self, value: &Sym, member: Member) -> Option<(u32, Value)> {
        let Some(Atom::Inst(LOCAL, inst)) = value.as_atom() else { return None };
        let Op::Call { callee: Callee::Direct(target), arguments, .. } =
            &self.function.instructions[*inst as usize].op
        else {
            return None;
        };
        let (found, container) = self.env.effects.member(*target)?;
        let given = arguments.get(container as usize)?;
        (found == member).then(|| (*inst, given.clone()))
    }

    /// Whether the container has as many elements in the loop as when its bounds were taken.
    pub(super) fn is_settled(
        &self,
        index: u32,
        taken: &[u32],
        container: &Sym,
        given: &Value,
    ) -> bool {
        let body = &self.cfg.loops[index as usize];
        let outside = |inst: &u32| !body.contains(self.cfg.block_of[*inst as usize]);
        let mut missing: Vec<u32> = taken.iter().copied().filter(outside).collect();
        if missing.is_empty() {
            return true;
        }
        let instructions = |block: u32| {
            let block = &self.function.blocks[block as usize];
            (block.start.0..block.end.0).rev()
        };
        let disturbs = |inst: u32| self.may_add(inst, container, given);
        if body.blocks.iter().any(|&block| instructions(block).any(disturbs)) {
            return false;
        }
        let mut before: Vec<u32> = self.cfg.predecessors[body.header as usize]
            .iter()
            .copied()
            .filter(|block| !body.contains(*block))
            .collect();
        for _ in 0..MAX_BEFORE {
            let &[block] = before.as_slice() else { return false };
            for inst in instructions(block) {
                missing.retain(|call| *call != inst);
                if missing.is_empty() {
                    return true;
                }
                if disturbs(inst) {
                    return false;
                }
            }
            before = self.cfg.predecessors[block as usize].to_vec();
        }
        false
    }

    /// Whether the instruction may put something into the container.
    fn may_add(&self, inst: u32, container: &Sym, given: &Value) -> bool {
        let Op::Call { callee, arguments, .. } = &self.function.instructions[inst as usize].op
        else {
            return false;
        };
        let Callee::Direct(target) = callee else { return true };
        if let Some(effects) = self.env.effects.of(*target) {
            return effects.iter().any(|effect| {
                matches!(
                    effect,
                    Effect::Create { .. }
                        | Effect::CallBack { .. }
                        | Effect::Once { .. }
                        | Effect::Handler { .. }
                        | Effect::Partial
                        | Effect::Unknown
                )
            });
        }
        if let Some((member, _)) = self.env.effects.member(*target) {
            use Member::{At, Empty, First, Past, Size, Some};
            return !matches!(member, First | Past | Size | At | Some | Empty);
        }
        let own = self.points(given);
        let reaches = |value: &Value| {
            self.points(value).iter().any(|at| own.iter().any(|own| own.object == at.object))
        };
        let creates = (self.summaries)(*target).is_none_or(|s| !s.possible.threads.is_empty());
        creates || !is_local(container) || arguments.iter().any(reaches)
    }

    /// Whether the elements of the container have not been meddled with anywhere.
    pub(super) fn keeps(&self, container: &Value) -> bool {
        let elements = self.env.points.contents(&self.points(container));
        !elements.is_empty()
            && elements.iter().all(|at| {
                !self.env.tainted_handles.contains(&at.object)
                    && !self.env.emptied_handles.contains(&at.object)
                    && !self.env.points.in_blob(at.object)
            })
    }

    /// The place, when only what may be done to a handle is done there.
    fn untainted(&self, value: &Value) -> Option<Sym> {
        let points = self.points(value);
        let tainted = points.iter().any(|at| self.env.tainted_handles.contains(&at.object));
        if tainted || points.is_empty() { None } else { self.sym(value) }
    }

    /// Containers keep their elements on the heap.
    fn may_be_element(&self, value: &Value) -> bool {
        let objects = &self.env.points.locations().objects;
        self.points(value).iter().any(|at| {
            let named = matches!(objects[at.object as usize], ObjectKind::Global(_));
            !named && !self.env.points.is_on_stack(*at)
        })
    }
}

/// Threads that a call is given by address are in the container.
fn put_in(given: &[Option<Sym>], range: Option<&HandleRange>, paths: &mut [Path]) {
    for path in paths.iter_mut() {
        path.threads.revise(Parts::HANDLE, |_, live| {
            let is_given = (!live.many || live.loose) && given.contains(&live.handle);
            is_given.then(|| live.put_into(range))
        });
    }
}

fn is_local(container: &Sym) -> bool {
    container.mentions(&|atom| matches!(atom, Atom::Stack(LOCAL, _) | Atom::Argument(LOCAL, _)))
}
