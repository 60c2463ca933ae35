//! Flags: words by whose value a thread learns that another has done something.
//!
//! The wait is a branch on the flag's value: no value but those that one thread alone writes lets
//! the branch be taken, and the write is released and the read acquired, by their own orders or by
//! fences, or both happen under one lock. A value that another thread's read-modify-write made still
//! tells of the one whose store it continues; what the same thread stores after a release continues
//! it, too, in C11.
//!
//! Not seen: flags whose test is made in another function than the load.

use std::borrow::Cow;
use std::sync::Arc;

use racewarden_ir::{AtomicOrder, FunctionId, InstId, Op, RmwOp, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::events::{Event, Look, Word, Write};
use super::handoff::{Handoff, Tables, borders, share_lock};
use super::timeline::{Branch, NodeId, Timeline};
use super::values::{self, Content, Ways};
use super::{Facts, entered_once, is_single};
use crate::digests::Whole;
use crate::pointsto::CallSite;
use crate::threads::RootId;

/// A branch that is taken only after some writes, by which thread.
pub struct Gate {
    pub at: (FunctionId, Branch),
    pub owner: Option<RootId>,
    pub writes: Vec<CallSite>,
    /// The look itself acquires what the writer released, or a fence after it has to.
    pub acquires: bool,
    /// Likewise for the writes.
    pub releases: bool,
    pub look: CallSite,
}

pub fn flag(
    whole: &Whole<'_>,
    facts: &Facts,
    number: u32,
    word: &Word,
    tables: &mut Tables,
    found: &mut Vec<Handoff>,
) {
    let Some(initial) = word.initial else { return };
    let mut gates = Vec::new();
    for look in &word.looks {
        for view in views(whole, look, tables) {
            gates
                .extend(gates_of(whole, facts, word, &view, initial, tables).into_iter().flatten());
        }
    }
    let mut kinds: Vec<(Option<RootId>, Vec<CallSite>)> =
        gates.iter().map(|gate| (gate.owner, gate.writes.clone())).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for (owner, writes) in kinds {
        found.extend(told_by(whole, facts, number, owner, &writes, &gates));
    }
    for (site, old) in &word.waits {
        found.extend(told_by_change(whole, facts, (number, word), *site, *old));
    }
}

/// Whoever has waited for the word to change comes after the one thread that changed it.
fn told_by_change(
    whole: &Whole<'_>,
    facts: &Facts,
    (number, word): (u32, &Word),
    site: CallSite,
    old: Content,
) -> Option<Handoff> {
    if word.initial != Some(old) {
        return None;
    }
    let writes: Vec<&Write> = word.writes.iter().filter(|write| write.value != Some(old)).collect();
    let mut owners: Vec<RootId> =
        writes.iter().flat_map(|w| facts.runners(w.site.0).iter().copied()).collect();
    owners.sort_unstable();
    owners.dedup();
    let [owner] = owners.as_slice() else { return None };
    if !is_single(whole, *owner) || !writes.iter().all(|write| releases(write.order)) {
        return None;
    }
    let own = facts.timelines.get(owner)?;
    let tells = own.events().filter(|(id, event)| {
        let node = &own.nodes[*id as usize];
        **event == Event::Write(number)
            && writes.iter().any(|write| write.site == (node.function, node.start))
    });
    let tells: Vec<NodeId> = tells.map(|(id, _)| id).collect();
    let announced = own.reach(tells.iter().copied(), |_, _, _| true);
    let mut told = FxHashMap::default();
    for (root, timeline) in &facts.timelines {
        if timeline.has(site.0) {
            told.insert(*root, told_nodes(timeline, &[], &[site]));
        }
    }
    Some(Handoff { owner: Some(*owner), announced, told, tells })
}

/// Where a branch finds what a look has found: the result itself, or a variable that has it or one
/// of some constants (`while (!seen) { lock(); seen = flag; unlock(); }`).
struct View<'a> {
    look: &'a Look,
    inst: u32,
    /// What of the look's result gets into the variable.
    taken: u32,
    otherwise: Vec<Content>,
}

impl View<'_> {
    fn results(
        &self,
        whole: &Whole<'_>,
        content: Content,
        tables: &mut Tables,
    ) -> Option<Vec<Content>> {
        let results = self.look.results(content)?;
        if self.taken == self.look.result {
            return Some(results);
        }
        let cfg = tables.cfg(whole, self.look.site.0);
        let bodies = &whole.instantiation.bodies;
        let body = bodies.of(self.look.site.0);
        let taken = |content: &Content| {
            let given = (self.look.result, *content);
            values::result(body, &cfg, bodies.types(), given, self.taken)
        };
        results.iter().map(taken).collect()
    }
}

fn views<'a>(whole: &Whole<'_>, look: &'a Look, tables: &mut Tables) -> Vec<View<'a>> {
    let (bodies, function) = (&whole.instantiation.bodies, look.site.0);
    let cfg = tables.cfg(whole, function);
    let mut found =
        vec![View { look, inst: look.result, taken: look.result, otherwise: Vec::new() }];
    let bare = |inst: u32| bodies.op((function, inst));
    let whole = |inst: u32| Some(Cow::Borrowed(&bodies.of(function).inst(InstId(inst)).op));
    for (inst, op) in bodies.ops(function) {
        let reachable = cfg.position[cfg.block_of[inst as usize] as usize] != crate::cfg::NONE;
        if !matches!(&*op, Op::Phi { .. }) || !reachable {
            continue;
        }
        // The constants are details.
        let leaves = leaves_of(&bare, inst, look.result).and_then(|leaves| match &leaves.1[..] {
            [] => Some(leaves),
            _ => leaves_of(&whole, inst, look.result),
        });
        if let Some((taken, otherwise)) = leaves {
            found.push(View { look, inst, taken, otherwise });
        }
    }
    found
}

/// What instructions of a function do.
type Ops<'a> = dyn Fn(u32) -> Option<Cow<'a, Op>> + 'a;

/// The one part of the look's result, and the constants, that a phi may have.
fn leaves_of(op: &Ops<'_>, phi: u32, result: u32) -> Option<(u32, Vec<Content>)> {
    let mut seen = vec![phi];
    let mut next = 0;
    let (mut taken, mut constants) = (None, Vec::new());
    while let Some(&inst) = seen.get(next) {
        next += 1;
        let phi = op(inst)?;
        let Op::Phi { incoming } = &*phi else { return None };
        for edge in incoming {
            match &edge.value {
                Value::Int { bits, .. } => constants.push(Content::Bits(*bits)),
                Value::Null => constants.push(Content::Bits(0)),
                Value::Inst(value) => {
                    if matches!(&*op(value.0)?, Op::Phi { .. }) {
                        if !seen.contains(&value.0) {
                            seen.push(value.0);
                        }
                    } else if stems_from(op, value.0, result)
                        && taken.is_none_or(|other| other == value.0)
                    {
                        taken = Some(value.0);
                    } else {
                        return None;
                    }
                }
                _ => return None,
            }
        }
    }
    Some((taken?, constants))
}

/// Whether the value is computed from nothing but the result.
fn stems_from(op: &Ops<'_>, mut inst: u32, result: u32) -> bool {
    while inst != result {
        inst = match op(inst).as_deref() {
            Some(
                Op::Cast { value: Value::Inst(value), .. }
                | Op::Freeze { value: Value::Inst(value) }
                | Op::Compare {
                    left: Value::Inst(value),
                    right: Value::Int { .. } | Value::Null,
                    ..
                },
            ) => value.0,
            _ => return false,
        };
    }
    true
}

/// The branches that depend on what the look has found.
fn gates_of(
    whole: &Whole<'_>,
    facts: &Facts,
    word: &Word,
    view: &View<'_>,
    initial: Content,
    tables: &mut Tables,
) -> Option<Vec<Gate>> {
    let (look, source) = (view.look, (view.look.site.0, view.inst));
    let mut first = view.results(whole, initial, tables)?;
    first.extend(&view.otherwise);
    let at_first = tables.any_way(whole, source, &first)?;
    let mut by_write = Vec::new();
    for write in &word.writes {
        let results = write.value.and_then(|value| view.results(whole, value, tables));
        by_write.push(match results {
            Some(results) => Some(tables.any_way(whole, source, &results)?),
            None => None,
        });
    }
    let cfg = tables.cfg(whole, source.0);
    let lets = |ways: &[Arc<Ways>], edge: &(u32, u32)| ways.iter().any(|w| w.edges.contains(edge));
    let mut edges: Vec<(u32, u32)> = borders(&cfg, view.inst, &at_first).collect();
    for ways in by_write.iter().flatten() {
        edges.extend(borders(&cfg, view.inst, ways));
    }
    edges.sort_unstable();
    edges.dedup();
    edges.retain(|edge| !lets(&at_first, edge));
    let mut gates = Vec::new();
    for needed in needed_writers(whole, facts, word, initial) {
        let reachable = needed.values.iter().map(|value| {
            let mut results = view.results(whole, *value, tables)?;
            results.extend(&view.otherwise);
            tables.any_way(whole, source, &results)
        });
        let Some(reachable) = reachable.collect::<Option<Vec<_>>>() else { continue };
        let atomic = look.order.is_some();
        for &(block, to) in edges.iter().filter(|_| atomic) {
            if !reachable.iter().any(|ways| lets(ways, &(block, to))) {
                gates.push(Gate {
                    at: (look.site.0, Branch { block, to }),
                    owner: Some(needed.owner),
                    acquires: acquires(look.order),
                    releases: true,
                    writes: needed.writes.clone(),
                    look: look.site,
                });
            }
        }
    }
    for (block, to) in edges {
        let writes: Vec<&Write> = word
            .writes
            .iter()
            .zip(&by_write)
            .filter(|(_, ways)| ways.as_ref().is_none_or(|ways| lets(ways, &(block, to))))
            .map(|(write, _)| write)
            .collect();
        let mut owners: Vec<RootId> =
            writes.iter().flat_map(|w| facts.runners(w.site.0).iter().copied()).collect();
        owners.sort_unstable();
        owners.dedup();
        let owner = match owners.as_slice() {
            [] => None,
            [owner] if is_single(whole, *owner) => Some(*owner),
            _ => continue,
        };
        let atomic = look.order.is_some() && writes.iter().all(|write| write.order.is_some());
        let locked = writes.iter().all(|w| share_lock(whole, facts, look.site, w.site));
        if atomic || locked {
            gates.push(Gate {
                at: (look.site.0, Branch { block, to }),
                owner,
                acquires: locked || acquires(look.order),
                releases: locked || writes.iter().all(|write| releases(write.order)),
                writes: writes.iter().map(|write| write.site).collect(),
                look: look.site,
            });
        }
    }
    Some(gates)
}

/// A thread whose stores others only add to, with what the word may hold without them.
struct Needed {
    owner: RootId,
    writes: Vec<CallSite>,
    values: Vec<Content>,
}

/// Read-modify-writes by others that are tried in every order.
const MAX_OTHERS: usize = 4;

/// Threads that a value may tell of although another's read-modify-write made it: as long as nothing
/// but those comes between, the release sequence goes on.
fn needed_writers(whole: &Whole<'_>, facts: &Facts, word: &Word, initial: Content) -> Vec<Needed> {
    let Content::Bits(first) = initial else { return Vec::new() };
    let stores = word.writes.iter().filter(|write| !is_rmw(whole, write));
    let mut owners: Vec<RootId> =
        stores.flat_map(|w| facts.runners(w.site.0).iter().copied()).collect();
    owners.sort_unstable();
    owners.dedup();
    let [owner] = owners.as_slice() else { return Vec::new() };
    let own = |write: &&Write| facts.runners(write.site.0).contains(owner);
    let (own, others): (Vec<&Write>, Vec<&Write>) = word.writes.iter().partition(own);
    let sole = |write: &Write| facts.runners(write.site.0) == [*owner];
    if others.is_empty()
        || others.len() > MAX_OTHERS
        || !is_single(whole, *owner)
        || !own.iter().all(|write| sole(write) && releases(write.order))
    {
        return Vec::new();
    }
    let Some(steps) =
        others.iter().map(|w| single_step(whole, facts, w)).collect::<Option<Vec<_>>>()
    else {
        return Vec::new();
    };
    let mask = if word.size >= 8 { u64::MAX } else { (1 << (8 * word.size)) - 1 };
    let mut values = Vec::new();
    for chosen in 0..1u32 << steps.len() {
        let taken = steps.iter().enumerate().filter(|(index, _)| chosen & (1 << index) != 0);
        let sum = taken.fold(first, |sum, (_, step)| sum.wrapping_add(*step as u64));
        values.push(Content::Bits(sum & mask));
    }
    let writes = own.iter().map(|write| write.site).collect();
    vec![Needed { owner: *owner, writes, values }]
}

/// What an addition adds that is made at most once.
fn single_step(whole: &Whole<'_>, facts: &Facts, write: &Write) -> Option<i64> {
    let op = whole.instantiation.bodies.op(write.site)?;
    let Op::AtomicRmw { op, value: Value::Int { bits, .. }, .. } = &*op else { return None };
    let amount = i64::try_from(*bits).ok()?;
    let [root] = facts.runners(write.site.0) else { return None };
    if !is_single(whole, *root) || !entered_once(whole, *root, write.site) {
        return None;
    }
    match op {
        RmwOp::Add => Some(amount),
        RmwOp::Sub => Some(-amount),
        _ => None,
    }
}

/// What is told by just these writes: a branch that needs fewer of them needs one of them too.
fn told_by(
    whole: &Whole<'_>,
    facts: &Facts,
    number: u32,
    owner: Option<RootId>,
    writes: &[CallSite],
    gates: &[Gate],
) -> Option<Handoff> {
    let closed: Vec<&Gate> = gates
        .iter()
        .filter(|gate| gate.writes.iter().all(|write| writes.contains(write)))
        .collect();
    let mut all = Vec::new();
    let announced = match owner {
        None => Vec::new(),
        Some(owner) => {
            let own = facts.timelines.get(&owner)?;
            let tells: Vec<NodeId> = own
                .events()
                .filter(|(id, event)| {
                    let node = &own.nodes[*id as usize];
                    **event == Event::Write(number) && writes.contains(&(node.function, node.start))
                })
                .map(|(id, _)| id)
                .collect();
            let mut announced = own.reach(tells.iter().copied(), |_, _, _| true);
            if closed.iter().all(|gate| gate.releases) {
                all = tells;
            } else {
                let heads = sequence_heads(whole, facts, number, owner);
                unreleased(own, &tells, &heads, &mut announced);
            }
            announced
        }
    };
    let mut told = FxHashMap::default();
    for (root, timeline) in &facts.timelines {
        if closed.iter().any(|gate| timeline.has(gate.at.0)) {
            told.insert(*root, told_nodes(timeline, &closed, &[]));
        }
    }
    Some(Handoff { owner, announced, told, tells: all })
}

/// Writes of the word whose release sequences the owner's later stores continue: C11 says so of
/// stores by the same thread, C++20 no longer does. Another thread's store in between would end it.
fn sequence_heads(
    whole: &Whole<'_>,
    facts: &Facts,
    number: u32,
    owner: RootId,
) -> FxHashSet<CallSite> {
    let bodies = &whole.instantiation.bodies;
    let is_cpp = |id| !bodies.is_declaration(id) && bodies.symbol(id).starts_with("_Z");
    let word = &facts.events.words[number as usize];
    let own = |write: &Write| facts.runners(write.site.0) == [owner];
    let continued = word.writes.iter().all(|write| own(write) || is_rmw(whole, write));
    if !continued || bodies.ids().any(is_cpp) {
        return FxHashSet::default();
    }
    let heads = word.writes.iter().filter(|write| own(write) && releases(write.order));
    heads.map(|write| write.site).collect()
}

/// Whether the write also reads, so that it continues others' release sequences.
fn is_rmw(whole: &Whole<'_>, write: &Write) -> bool {
    let op = whole.instantiation.bodies.op(write.site);
    matches!(op.as_deref(), Some(Op::AtomicRmw { .. } | Op::CompareExchange { .. }))
}

/// Adds what no release fence, or head of a release sequence, separates from a relaxed write that
/// tells.
fn unreleased(
    timeline: &Timeline,
    tells: &[NodeId],
    heads: &FxHashSet<CallSite>,
    announced: &mut [bool],
) {
    let mut before: Vec<Vec<NodeId>> = vec![Vec::new(); timeline.nodes.len()];
    for (id, node) in (0u32..).zip(&timeline.nodes) {
        for (to, _) in &node.next {
            before[*to as usize].push(id);
        }
    }
    let mut stack: Vec<NodeId> = tells.iter().flat_map(|t| before[*t as usize].clone()).collect();
    let mut seen = vec![false; timeline.nodes.len()];
    while let Some(node) = stack.pop() {
        if std::mem::replace(&mut seen[node as usize], true) {
            continue;
        }
        announced[node as usize] = true;
        let own = &timeline.nodes[node as usize];
        let is_head = own.event.is_some() && heads.contains(&(own.function, own.start));
        // What follows the fence in its node is not before it.
        if !is_fence(timeline, node, releases) && !is_head {
            stack.extend(&before[node as usize]);
        }
    }
}

fn is_fence(timeline: &Timeline, node: NodeId, kind: impl Fn(Option<AtomicOrder>) -> bool) -> bool {
    matches!(timeline.nodes[node as usize].event, Some(Event::Fence(order)) if kind(Some(order)))
}

/// Nodes that are reached only through one of the gates, and where it needs one a fence after it, or
/// after one of the calls.
pub fn told_nodes(timeline: &Timeline, gates: &[&Gate], calls: &[CallSite]) -> Vec<bool> {
    // Before a gate, after it but before a fence, told.
    const NOT: usize = 0;
    const SEEN: usize = 1;
    const TOLD: usize = 2;
    let sure: Vec<bool> =
        gates.iter().map(|gate| gate.acquires || is_fenced(timeline, gate)).collect();
    let is_call = |id: NodeId| {
        let node = &timeline.nodes[id as usize];
        node.event.is_some() && calls.contains(&(node.function, node.start))
    };
    let mut reached = vec![[false; 2]; timeline.nodes.len()];
    let mut stack: Vec<(NodeId, usize)> = Vec::new();
    if !is_call(0) {
        stack.push((0, NOT));
    }
    while let Some((node, stage)) = stack.pop() {
        if std::mem::replace(&mut reached[node as usize][stage], true) {
            continue;
        }
        let function = timeline.nodes[node as usize].function;
        for &(to, branch) in &timeline.nodes[node as usize].next {
            let passed = branch.and_then(|branch| {
                let here =
                    gates.iter().zip(&sure).filter(|(gate, _)| gate.at == (function, branch));
                here.map(|(_, sure)| if *sure { TOLD } else { SEEN }).max()
            });
            let mut next = stage.max(passed.unwrap_or(NOT));
            if (next == SEEN && is_fence(timeline, to, acquires)) || is_call(to) {
                next = TOLD;
            }
            if next != TOLD {
                stack.push((to, next));
            }
        }
    }
    reached.into_iter().map(|stages| !stages[NOT] && !stages[SEEN]).collect()
}

/// Whether an acquire fence lies on every way from the look to the gate.
fn is_fenced(timeline: &Timeline, gate: &Gate) -> bool {
    let all = 0..timeline.nodes.len() as NodeId;
    let looks = all.filter(|id| {
        let node = &timeline.nodes[*id as usize];
        (node.function, node.start) == gate.look && node.event.is_some()
    });
    let open = timeline.reach(looks, |_, _, to| !is_fence(timeline, to, acquires));
    (0u32..).zip(&timeline.nodes).all(|(id, node)| {
        let here = node.function == gate.at.0
            && node.next.iter().any(|(_, branch)| *branch == Some(gate.at.1));
        !here || !open[id as usize]
    })
}

/// Whether a read, or a fence, of this order comes after what the writer did before.
pub fn acquires(order: Option<AtomicOrder>) -> bool {
    order.is_some_and(AtomicOrder::acquires)
}

pub fn releases(order: Option<AtomicOrder>) -> bool {
    order.is_some_and(AtomicOrder::releases)
}
