//! Two threads that keep each other out by words that they set and look at in turn (Dekker, Peterson,
//! a turn that is passed on), found by running them against each other.
//!
//! What the two threads do to such words is executed in every order, with the values that the words
//! have then: a branch on a value that was read goes where that value leads, every other branch goes
//! both ways. What is stored may be computed from what was read; a value that grows past a few is any
//! value. Where both threads would be inside of sections of one lock ([`super::sections`]) they never are.
//! Two accesses that no reachable pair of places has together are never made at once.
//!
//! Sound for words whose accesses are all sequentially consistent, or are all made under one lock: a
//! program whose sequentially consistent executions have no race has no other executions (C11 7.17.3,
//! Boehm and Adve). All other memory may hold anything at any time. Both threads run once, and nobody
//! else writes the words while they run; that one begins later or waits for something else is not
//! looked at, so that there are more orders than the program has, never fewer.
//!
//! Not seen: arrays of words, more than two threads.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

use racewarden_ir::{
    AtomicOrder, CompareOp, Function, FunctionId, InstId, Op, RmwOp, TypeTable, Value,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::events::{Event, Word, Write, WriteKind};
use super::guarded::never_at_once;
use super::sections::{Exclusions, Sections};
use super::timeline::{Branch, NodeId, Timeline};
use super::values::{self, Content};
use super::{Facts, Stand, is_single};
use crate::digests::Whole;
use crate::pointsto::CallSite;
use crate::threads::{MAIN, RootId};

/// Places of two threads that they may be at together.
type Meetings = FxHashSet<(NodeId, NodeId)>;

/// What was found of two threads, `None` where they cannot be followed.
pub type Known = Mutex<FxHashMap<(RootId, RootId), Option<Arc<Meetings>>>>;

/// Places of one thread before it counts as too large.
const MAX_NODES: usize = 600;
const MAX_STATES: usize = 60_000;
/// Where a thread is before it does anything.
const NOT_BEGUN: NodeId = NodeId::MAX;
/// Numbers that a word may count to before it may hold any.
const MAX_COUNTED: i64 = 8;
/// Computations between a value that was read and a branch on it.
const MAX_DEPTH: u8 = 8;

pub fn never_meet(whole: &Whole<'_>, facts: &Facts, a: &Stand, b: &Stand) -> bool {
    if a.at_event || b.at_event {
        return false;
    }
    if a.root > b.root {
        return never_meet(whole, facts, b, a);
    }
    let known = || facts.interleavings.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (a.root, b.root);
    let before = known().get(&key).cloned();
    let found = before.unwrap_or_else(|| {
        let found = Run::new(whole, facts, key).and_then(|run| run.meetings()).map(Arc::new);
        known().insert(key, found.clone());
        found
    });
    found.is_some_and(|meetings| {
        a.nodes.iter().all(|x| b.nodes.iter().all(|y| !meetings.contains(&(*x, *y))))
    })
}

/// One thread, with the instructions whose values are followed.
struct Side<'a> {
    timeline: &'a Timeline,
    /// Where in a state each value is.
    slots: FxHashMap<CallSite, usize>,
    sections: Sections,
}

struct Run<'a> {
    whole: &'a Whole<'a>,
    facts: &'a Facts,
    /// The number in [`Events::words`](super::events::Events) of each word that is followed.
    words: Vec<u32>,
    sides: [Side<'a>; 2],
    roots: (RootId, RootId),
    /// How many values a state has.
    size: usize,
    exclusions: RefCell<Exclusions>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    at: [NodeId; 2],
    /// The words', and then each thread's own; `None` may be anything.
    values: Vec<Option<u64>>,
}

impl<'a> Run<'a> {
    fn new(whole: &'a Whole<'a>, facts: &'a Facts, roots: (RootId, RootId)) -> Option<Run<'a>> {
        if !is_single(whole, roots.0) || !is_single(whole, roots.1) {
            return None;
        }
        let timelines = [facts.timelines.get(&roots.0)?, facts.timelines.get(&roots.1)?];
        if timelines.iter().any(|timeline| timeline.nodes.len() > MAX_NODES) {
            return None;
        }
        let is_followed =
            |word: &Word| is_sequential(whole, facts, word) && is_theirs(whole, facts, word, roots);
        let words: Vec<u32> = (0u32..)
            .zip(&facts.events.words)
            .filter(|(_, word)| is_followed(word))
            .map(|(number, _)| number)
            .collect();
        if words.is_empty() {
            return None;
        }
        let mut size = words.len();
        let mut sides = timelines.map(|timeline| Side {
            timeline,
            slots: FxHashMap::default(),
            sections: Sections::new(whole, facts, timeline),
        });
        for side in &mut sides {
            side.slots = followed(whole, facts, &words, side.timeline);
            for slot in side.slots.values_mut() {
                *slot += size;
            }
            size += side.slots.len();
        }
        Some(Run { whole, facts, words, sides, roots, size, exclusions: RefCell::default() })
    }

    /// Whether both would be inside of sections of one lock.
    fn excludes(&self, at: [NodeId; 2]) -> bool {
        let [first, second] = [0, 1].map(|side| self.sides[side].sections.behind(at[side]));
        let (Some(first), Some(second)) = (first, second) else { return false };
        let mut exclusions = self.exclusions.borrow_mut();
        first.iter().all(|a| {
            second.iter().all(|b| exclusions.exclude(self.whole, self.facts, self.roots, (*a, *b)))
        })
    }

    /// All places that the two threads may be at together.
    fn meetings(&self) -> Option<Meetings> {
        let mut values = vec![None; self.size];
        for (slot, number) in self.words.iter().enumerate() {
            let Some(Content::Bits(bits)) = self.facts.events.words[*number as usize].initial
            else {
                return None;
            };
            values[slot] = Some(bits);
        }
        let mut open = vec![State { at: [NOT_BEGUN; 2], values }];
        let mut seen: FxHashSet<State> = open.iter().cloned().collect();
        let mut found = Meetings::default();
        while let Some(state) = open.pop() {
            found.insert((state.at[0], state.at[1]));
            for side in 0..2 {
                for next in self.steps(side, &state) {
                    if !seen.contains(&next) && !self.excludes(next.at) {
                        if seen.len() == MAX_STATES {
                            return None;
                        }
                        seen.insert(next.clone());
                        open.push(next);
                    }
                }
            }
        }
        Some(found)
    }

    /// What may follow when one of the threads goes on.
    fn steps(&self, side: usize, state: &State) -> Vec<State> {
        if state.at[side] == NOT_BEGUN {
            let mut next = state.clone();
            next.at[side] = 0;
            return self.arrive(side, &next);
        }
        let node = &self.sides[side].timeline.nodes[state.at[side] as usize];
        let mut found = Vec::new();
        for &(to, branch) in &node.next {
            let mut next = state.clone();
            next.at[side] = to;
            if let Some(branch) = branch
                && !self.cross(side, node.function, branch, state, &mut next)
            {
                continue;
            }
            found.extend(self.arrive(side, &next));
        }
        found
    }

    /// Whether the values allow the branch; phis get theirs.
    fn cross(
        &self,
        side: usize,
        function: FunctionId,
        branch: Branch,
        state: &State,
        next: &mut State,
    ) -> bool {
        let body = self.whole.instantiation.bodies.of(function);
        let look = Look { run: self, side, function, body, state };
        let end = body.blocks[branch.block as usize].end.index();
        let allowed = match &body.instructions[end - 1].op {
            Op::Branch { condition, then, otherwise } => {
                let taken = |bits: u64| if bits & 1 == 1 { then.0 } else { otherwise.0 };
                look.value(condition, MAX_DEPTH).is_none_or(|bits| taken(bits) == branch.to)
            }
            Op::Switch { value, cases, default } => {
                let case = |bits: u64| {
                    let is_it = |case: &&racewarden_ir::Edge| matches!(case.value, Value::Int { bits: own, .. } if own == bits);
                    cases.iter().find(is_it).map_or(default.0, |case| case.block.0)
                };
                let known = cases.iter().all(|case| matches!(case.value, Value::Int { .. }));
                let value = look.value(value, MAX_DEPTH).filter(|_| known);
                value.is_none_or(|bits| case(bits) == branch.to)
            }
            _ => true,
        };
        if !allowed {
            return false;
        }
        let to = &body.blocks[branch.to as usize];
        for inst in to.start.0..to.end.0 {
            let Op::Phi { incoming } = &body.instructions[inst as usize].op else { break };
            let Some(slot) = self.sides[side].slots.get(&(function, inst)) else { continue };
            let mut edges = incoming.iter().filter(|edge| edge.block.0 == branch.block);
            let value = edges.next().and_then(|edge| look.value(&edge.value, MAX_DEPTH));
            next.values[*slot] = value;
        }
        true
    }

    /// What the event does that begins the place where the thread has come to.
    fn arrive(&self, side: usize, state: &State) -> Vec<State> {
        let node = &self.sides[side].timeline.nodes[state.at[side] as usize];
        let (Event::Write(number) | Event::Read(number)) = (match &node.event {
            Some(event) => event,
            None => return vec![state.clone()],
        }) else {
            return vec![state.clone()];
        };
        let Some(slot) = self.words.iter().position(|own| own == number) else {
            return vec![state.clone()];
        };
        let site = (node.function, node.start);
        let word = &self.facts.events.words[*number as usize];
        let old = state.values[slot];
        let mut found = Vec::new();
        let writes: Vec<&Write> = word.writes.iter().filter(|write| write.site == site).collect();
        // What the word holds afterwards, and whether a compare-and-exchange took place.
        let mut outcomes: Vec<(Option<u64>, Option<bool>)> = Vec::new();
        let body = self.whole.instantiation.bodies.of(site.0);
        let look = Look { run: self, side, function: site.0, body, state };
        for write in &writes {
            let new = bits_of(write.value).or_else(|| look.written(site.1, word.size, old));
            match write.kind {
                WriteKind::CompareExchange(expected) => {
                    outcomes.push((old, Some(false)));
                    if old.is_none() || old == bits_of(expected) {
                        outcomes.push((new, Some(true)));
                    }
                }
                _ => outcomes.push((new, None)),
            }
        }
        if writes.is_empty() {
            outcomes.push((old, None));
        }
        for (new, done) in outcomes {
            let mut next = state.clone();
            next.values[slot] = new;
            for look in word.looks.iter().filter(|look| look.site == site) {
                let key = (site.0, look.result);
                if let Some(own) = self.sides[side].slots.get(&key) {
                    next.values[*own] = match look.kind {
                        super::events::LookKind::Value => old,
                        super::events::LookKind::Equals(_) => done.map(u64::from),
                    };
                }
            }
            found.push(next);
        }
        found
    }
}

fn bits_of(content: Option<Content>) -> Option<u64> {
    match content {
        Some(Content::Bits(bits)) => Some(bits),
        _ => None,
    }
}

/// One thread's values in a state.
struct Look<'a> {
    run: &'a Run<'a>,
    side: usize,
    function: FunctionId,
    body: &'a Function,
    state: &'a State,
}

impl Look<'_> {
    fn types(&self) -> &TypeTable {
        self.run.whole.instantiation.bodies.types()
    }

    fn value(&self, value: &Value, depth: u8) -> Option<u64> {
        match value {
            Value::Int { bits, .. } => Some(*bits),
            Value::Inst(InstId(inst)) => {
                let slot = self.run.sides[self.side].slots.get(&(self.function, *inst));
                match slot {
                    Some(slot) => self.state.values[*slot],
                    None => self.computed(*inst, depth.checked_sub(1)?),
                }
            }
            _ => None,
        }
    }

    /// What the instruction leaves in a word of this size that held `old`.
    fn written(&self, inst: u32, size: u64, old: Option<u64>) -> Option<u64> {
        let new = match &self.body.instructions[inst as usize].op {
            Op::Store { value, .. } => self.value(value, MAX_DEPTH)?,
            Op::AtomicRmw { op, value, .. } => {
                let operand = self.value(value, MAX_DEPTH)?;
                match op {
                    RmwOp::Xchg => operand,
                    RmwOp::Add => old?.wrapping_add(operand),
                    RmwOp::Sub => old?.wrapping_sub(operand),
                    _ => return None,
                }
            }
            _ => return None,
        };
        let unused = 64u32.checked_sub(8 * u32::try_from(size).ok()?)?;
        let signed = ((new << unused) as i64) >> unused;
        (-MAX_COUNTED..=MAX_COUNTED).contains(&signed).then_some((new << unused) >> unused)
    }

    fn computed(&self, inst: u32, depth: u8) -> Option<u64> {
        let instruction = &self.body.instructions[inst as usize];
        let types = self.types();
        match &instruction.op {
            Op::Freeze { value } => self.value(value, depth),
            Op::Compare { op, left, right } => {
                let ty = types.get(type_of(self.body, left).or(type_of(self.body, right))?);
                let (x, y) = (self.value(left, depth)?, self.value(right, depth)?);
                let (s, t) = (values::signed(ty, x)?, values::signed(ty, y)?);
                let holds = match op {
                    CompareOp::Eq => x == y,
                    CompareOp::Ne => x != y,
                    CompareOp::Ugt => x > y,
                    CompareOp::Uge => x >= y,
                    CompareOp::Ult => x < y,
                    CompareOp::Ule => x <= y,
                    CompareOp::Sgt => s > t,
                    CompareOp::Sge => s >= t,
                    CompareOp::Slt => s < t,
                    CompareOp::Sle => s <= t,
                    CompareOp::Float(_) => return None,
                };
                Some(u64::from(holds))
            }
            Op::Binary { op, left, right } => {
                let (x, y) = (self.value(left, depth)?, self.value(right, depth)?);
                values::binary(*op, types.get(instruction.ty), x, y)
            }
            Op::Cast { op, value } => {
                let from = types.get(type_of(self.body, value)?);
                let bits = self.value(value, depth)?;
                values::cast(*op, from, types.get(instruction.ty), bits)
            }
            _ => None,
        }
    }
}

fn type_of(body: &Function, value: &Value) -> Option<racewarden_ir::TypeId> {
    match value {
        Value::Inst(inst) => Some(body.inst(*inst).ty),
        Value::Int { ty, .. } => Some(*ty),
        _ => None,
    }
}

/// Whether all that is done to the word is done in one order that all threads agree on.
fn is_sequential(whole: &Whole<'_>, facts: &Facts, word: &Word) -> bool {
    let is_known = |write: &Write| match write.kind {
        WriteKind::Store | WriteKind::Exchange => write.value != Some(Content::Address),
        WriteKind::CompareExchange(expected) => {
            bits_of(expected).is_some() && bits_of(write.value).is_some()
        }
        WriteKind::Other => true,
        WriteKind::CountDown(_) | WriteKind::Set(_) | WriteKind::Keep(_) => false,
    };
    if bits_of(word.initial).is_none() || !word.writes.iter().all(is_known) {
        return false;
    }
    let orders = word.writes.iter().map(|write| write.order);
    let mut orders = orders.chain(word.looks.iter().map(|look| look.order));
    if orders.clone().all(|order| order == Some(AtomicOrder::SeqCst)) {
        return true;
    }
    let looks = word.looks.iter().map(|look| look.site);
    orders.all(|order| order.is_none())
        && word.writes.iter().all(|write| {
            let others = word.writes.iter().map(|other| other.site).chain(looks.clone());
            others.into_iter().all(|other| never_at_once(whole, facts, write.site, other))
        })
}

/// Whether nobody but the two writes the word, but for the first thread while neither is there.
fn is_theirs(whole: &Whole<'_>, facts: &Facts, word: &Word, roots: (RootId, RootId)) -> bool {
    let instantiation = whole.instantiation;
    // What the first thread writes before the two are there is what they find.
    let is_quiet = |write: &Write| {
        let numbers = facts.accesses.get(&write.site).into_iter().flatten();
        let made: Vec<_> = numbers
            .map(|number| &instantiation.accesses[*number as usize])
            .filter(|access| access.root == MAIN)
            .collect();
        write.value == word.initial
            && !made.is_empty()
            && made.iter().all(|access| {
                let alive = |root| instantiation.threads.is_alive(&access.state, root);
                !alive(roots.0) && !alive(roots.1)
            })
    };
    let is_own = |root: RootId| root == roots.0 || root == roots.1;
    word.writes.iter().all(|write| {
        let mut runners = facts.runners(write.site.0).iter().copied();
        runners.all(|root| is_own(root) || (root == MAIN && is_quiet(write)))
    })
}

/// Whether the value is computed from what is followed.
fn stems_from(body: &Function, value: &Value, followed: &dyn Fn(u32) -> bool, depth: u8) -> bool {
    let Value::Inst(inst) = value else { return false };
    let Some(depth) = depth.checked_sub(1) else { return false };
    let computed = matches!(
        body.inst(*inst).op,
        Op::Freeze { .. } | Op::Compare { .. } | Op::Binary { .. } | Op::Cast { .. }
    );
    followed(inst.0)
        || (computed
            && body
                .inst(*inst)
                .op
                .operands()
                .into_iter()
                .any(|operand| stems_from(body, operand, followed, depth)))
}

/// The instructions whose values are followed: what was read, and phis of it.
fn followed(
    whole: &Whole<'_>,
    facts: &Facts,
    words: &[u32],
    timeline: &Timeline,
) -> FxHashMap<CallSite, usize> {
    let mut found: FxHashMap<CallSite, usize> = FxHashMap::default();
    for number in words {
        for look in &facts.events.words[*number as usize].looks {
            if timeline.lays_out(look.site.0) {
                let next = found.len();
                found.entry((look.site.0, look.result)).or_insert(next);
            }
        }
    }
    let mut functions: Vec<FunctionId> = found.keys().map(|site| site.0).collect();
    functions.sort_unstable();
    functions.dedup();
    for function in functions {
        let body = whole.instantiation.bodies.of(function);
        loop {
            let before = found.len();
            for (inst, instruction) in (0u32..).zip(&body.instructions) {
                let Op::Phi { incoming } = &instruction.op else { continue };
                let followed = |inst: u32| found.contains_key(&(function, inst));
                let stems = |value: &Value| stems_from(body, value, &followed, MAX_DEPTH);
                // Where control came from is told by constants, too (`break` out of a scope).
                let told = incoming.iter().all(|edge| matches!(edge.value, Value::Int { .. }));
                if told || incoming.iter().any(|edge| stems(&edge.value)) {
                    let next = found.len();
                    found.entry((function, inst)).or_insert(next);
                }
            }
            if found.len() == before {
                break;
            }
        }
    }
    found
}
