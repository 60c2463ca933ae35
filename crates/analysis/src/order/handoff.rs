//! Hand-off: one thread goes on only when another has told it to, after what it did before.
//!
//! A semaphore that starts at zero and that one thread alone posts: whoever has waited for it comes
//! after everything which that thread does before its first post. A flag likewise, where the wait is
//! a branch on its value: no value but those that one thread alone writes lets the branch be taken,
//! and the write is released and the read acquired, or both happen under one lock. The first access
//! must not be reachable from a post or such a write, the second not reachable without the wait or
//! the branch. It does not matter whether the value is waited for in a loop or looked at once.
//!
//! Not seen: flags whose test is made in another function than the load, semaphores that several
//! threads post, order through a third thread.

use std::sync::Arc;

use racewarden_ir::{AtomicOrder, FunctionId, Op, Value};
use rustc_hash::FxHashMap;

use super::events::{Event, Word};
use super::timeline::{Branch, NodeId, Timeline};
use super::{Facts, Stand, is_single, runs_once};
use crate::cfg::Cfg;
use crate::contexts::GuardedAccess;
use crate::digests::Whole;
use crate::pointsto::{CallSite, Location};
use crate::sym::{Atom, LOCAL, Oracle, Sym, SymTable};
use crate::threads::RootId;

pub struct Handoff {
    /// Who tells; `None` when nobody ever does, so that whoever waits never goes on.
    owner: Option<RootId>,
    /// Nodes of the owner that may run after it has told.
    announced: Vec<bool>,
    /// Nodes that threads reach only after having been told.
    told: FxHashMap<RootId, Vec<bool>>,
}

impl Handoff {
    pub fn orders(&self, before: &Stand, after: &Stand) -> bool {
        let Some(told) = self.told.get(&after.root) else { return false };
        if after.at_event || !after.nodes.iter().all(|node| told[*node as usize]) {
            return false;
        }
        match self.owner {
            None => true,
            Some(owner) => {
                owner == before.root
                    && before.nodes.iter().all(|node| !self.announced[*node as usize])
            }
        }
    }
}

pub fn find(whole: &Whole<'_>, facts: &Facts) -> Vec<Handoff> {
    let mut found = Vec::new();
    if !facts.events.vague {
        let mut places: Vec<Location> = facts.events.setups.keys().copied().collect();
        places.sort_unstable();
        found.extend(places.into_iter().filter_map(|place| semaphore(whole, facts, place)));
    }
    let mut tables = Tables::default();
    for (number, word) in (0u32..).zip(&facts.events.words) {
        flag(whole, facts, number, word, &mut tables, &mut found);
    }
    found
}

fn semaphore(whole: &Whole<'_>, facts: &Facts, place: Location) -> Option<Handoff> {
    let zero = |value: &Value| matches!(value, Value::Int { bits: 0, .. });
    if !is_set_up(whole, facts, place, zero) || !waits_for_certain(whole, facts, place) {
        return None;
    }
    let mut owners: Vec<RootId> = facts
        .events
        .sites()
        .filter(|(_, event)| **event == Event::Post(place))
        .flat_map(|(site, _)| facts.runners(site.0).iter().copied())
        .collect();
    owners.sort_unstable();
    owners.dedup();
    let [owner] = owners.as_slice() else { return None };
    if !is_single(whole, *owner) {
        return None;
    }
    let own = facts.timelines.get(owner)?;
    let posts = own.events().filter(|(_, event)| **event == Event::Post(place)).map(|(id, _)| id);
    let announced = own.reach(posts, |_, _, _| true);
    let waits = |timeline: &Timeline, node: NodeId| {
        timeline.nodes[node as usize].event == Some(Event::Wait(place))
    };
    let mut told = FxHashMap::default();
    for (root, timeline) in &facts.timelines {
        if timeline.events().any(|(_, event)| *event == Event::Wait(place)) {
            let first = (!waits(timeline, 0)).then_some(0);
            let reached = timeline.reach(first, |_, _, to| !waits(timeline, to));
            told.insert(*root, reached.into_iter().map(|reached| !reached).collect());
        }
    }
    Some(Handoff { owner: Some(*owner), announced, told })
}

/// Whether the program's first thread sets the object up just once, to such a value.
pub fn is_set_up(
    whole: &Whole<'_>,
    facts: &Facts,
    place: Location,
    value: impl Fn(&Value) -> bool,
) -> bool {
    let Some(setup) = facts.events.setups.get(&place) else { return false };
    let [(site, Some(count))] = setup.calls.as_slice() else { return false };
    !setup.uncertain && value(count) && runs_once(whole, facts, *site)
}

/// Whether nobody looks at the result of a wait, which says that it did not happen.
pub fn waits_for_certain(whole: &Whole<'_>, facts: &Facts, place: Location) -> bool {
    facts
        .events
        .sites()
        .filter(|(_, event)| **event == Event::Wait(place))
        .all(|(site, _)| !is_used(whole, *site))
}

fn is_used(whole: &Whole<'_>, site: CallSite) -> bool {
    let mut used = false;
    for instruction in &whole.instantiation.program.module.function(site.0).instructions {
        for operand in instruction.op.operands() {
            operand.visit(&mut |value| {
                used |= matches!(value, Value::Inst(inst) if inst.0 == site.1);
            });
        }
    }
    used
}

/// Branches of functions by the instructions whose values they depend on.
#[derive(Default)]
pub struct Tables {
    known: FxHashMap<FunctionId, FxHashMap<u32, Vec<Arc<Test>>>>,
}

struct Nothing;

impl Oracle for Nothing {
    fn is_stable(&self, _: u32) -> bool {
        false
    }

    fn result_of(&self, _: u32) -> Option<Sym> {
        None
    }
}

/// A way out of a block that is taken depending on one value.
pub struct Test {
    pub branch: Branch,
    condition: Sym,
    /// The values of the condition that lead there; those of the other ways otherwise.
    values: Vec<i64>,
    otherwise: bool,
}

impl Test {
    /// Whether the way is taken when the atom has this value; `None` when that cannot be told.
    pub fn takes(&self, atom: &Atom, value: i64) -> Option<bool> {
        let value = self.condition.evaluate(atom, value)?;
        Some(self.values.contains(&value) != self.otherwise)
    }
}

impl Tables {
    /// The branches of a function that depend on the instruction's value.
    pub fn tests(&mut self, whole: &Whole<'_>, function: FunctionId, inst: u32) -> Vec<Arc<Test>> {
        let table = self.known.entry(function).or_insert_with(|| {
            let mut table: FxHashMap<u32, Vec<Arc<Test>>> = FxHashMap::default();
            for test in all_tests(whole, function) {
                let test = Arc::new(test);
                test.condition.visit(&mut |atom| {
                    if let Atom::Inst(LOCAL, inst) = atom {
                        table.entry(*inst).or_default().push(test.clone());
                    }
                });
            }
            table
        });
        table.get(&inst).cloned().unwrap_or_default()
    }
}

fn all_tests(whole: &Whole<'_>, function: FunctionId) -> Vec<Test> {
    let module = &whole.instantiation.program.module;
    let body = module.function(function);
    let cfg = Cfg::new(body);
    let syms = SymTable::new(body, &cfg, &module.types, &Nothing);
    let mut tests = Vec::new();
    for &block in &cfg.order {
        let end = body.blocks[block as usize].end.index();
        let Some(last) = body.instructions.get(end.wrapping_sub(1)) else { continue };
        let way = |to: u32, condition: &Sym, values: Vec<i64>, otherwise: bool| Test {
            branch: Branch { block, to },
            condition: condition.clone(),
            values,
            otherwise,
        };
        match &last.op {
            Op::Branch { condition, then, otherwise } if then != otherwise => {
                if let Some(condition) = syms.value(condition, &module.types) {
                    tests.push(way(then.0, &condition, vec![0], true));
                    tests.push(way(otherwise.0, &condition, vec![0], false));
                }
            }
            Op::Switch { value, cases, default } => {
                let Some(condition) = syms.value(value, &module.types) else { continue };
                let constant = |value: &Value| syms.value(value, &module.types)?.as_constant();
                let all: Option<Vec<(u32, i64)>> =
                    cases.iter().map(|case| Some((case.block.0, constant(&case.value)?))).collect();
                let Some(all) = all else { continue };
                let values = |test: &dyn Fn(u32) -> bool| -> Vec<i64> {
                    all.iter().filter(|(at, _)| test(*at)).map(|(_, value)| *value).collect()
                };
                let mut targets: Vec<u32> = all.iter().map(|(to, _)| *to).collect();
                targets.sort_unstable();
                targets.dedup();
                for to in targets.into_iter().filter(|to| *to != default.0) {
                    tests.push(way(to, &condition, values(&|at| at == to), false));
                }
                tests.push(way(default.0, &condition, values(&|at| at != default.0), true));
            }
            _ => {}
        }
    }
    tests
}

/// A branch that is taken only after some writes, by which thread.
struct Gate {
    at: (FunctionId, Branch),
    owner: Option<RootId>,
    writes: Vec<CallSite>,
}

fn flag(
    whole: &Whole<'_>,
    facts: &Facts,
    number: u32,
    word: &Word,
    tables: &mut Tables,
    found: &mut Vec<Handoff>,
) {
    let mut gates = Vec::new();
    for (load, order) in &word.loads {
        let atom = Atom::Inst(LOCAL, load.1);
        for test in tables.tests(whole, load.0, load.1) {
            let lets = |value: Option<i64>| {
                value.is_none_or(|value| test.takes(&atom, value) != Some(false))
            };
            if lets(word.initial) {
                continue;
            }
            let writes: Vec<_> = word.writes.iter().filter(|w| lets(w.value)).collect();
            let mut owners: Vec<RootId> =
                writes.iter().flat_map(|w| facts.runners(w.site.0).iter().copied()).collect();
            owners.sort_unstable();
            owners.dedup();
            let owner = match owners.as_slice() {
                [] => None,
                [owner] if is_single(whole, *owner) => Some(*owner),
                _ => continue,
            };
            let passes = |write: &&super::events::Write| {
                synchronises(*order, write.order) || share_lock(whole, facts, *load, write.site)
            };
            if writes.iter().all(passes) {
                let writes = writes.iter().map(|write| write.site).collect();
                gates.push(Gate { at: (load.0, test.branch), owner, writes });
            }
        }
    }
    let mut kinds: Vec<(Option<RootId>, Vec<CallSite>)> =
        gates.iter().map(|gate| (gate.owner, gate.writes.clone())).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for (owner, writes) in kinds {
        found.extend(told_by(facts, number, owner, &writes, &gates));
    }
}

/// What is told by just these writes: a branch that needs fewer of them needs one of them too.
fn told_by(
    facts: &Facts,
    number: u32,
    owner: Option<RootId>,
    writes: &[CallSite],
    gates: &[Gate],
) -> Option<Handoff> {
    let closed: Vec<(FunctionId, Branch)> = gates
        .iter()
        .filter(|gate| gate.writes.iter().all(|write| writes.contains(write)))
        .map(|gate| gate.at)
        .collect();
    let announced = match owner {
        None => Vec::new(),
        Some(owner) => {
            let own = facts.timelines.get(&owner)?;
            let tells = own
                .events()
                .filter(|(id, event)| {
                    let node = &own.nodes[*id as usize];
                    **event == Event::Write(number) && writes.contains(&(node.function, node.start))
                })
                .map(|(id, _)| id);
            own.reach(tells, |_, _, _| true)
        }
    };
    let mut told = FxHashMap::default();
    for (root, timeline) in &facts.timelines {
        if !closed.iter().any(|(function, _)| timeline.has(*function)) {
            continue;
        }
        let open = |from: NodeId, branch: Option<Branch>, _: NodeId| {
            let function = timeline.nodes[from as usize].function;
            !branch.is_some_and(|branch| closed.contains(&(function, branch)))
        };
        let reached = timeline.reach([0], open);
        told.insert(*root, reached.into_iter().map(|reached| !reached).collect());
    }
    Some(Handoff { owner, announced, told })
}

/// Whether the read that sees the write comes after all that the writer did before.
fn synchronises(read: Option<AtomicOrder>, write: Option<AtomicOrder>) -> bool {
    use AtomicOrder::{AcqRel, Acquire, Release, SeqCst};
    matches!(read, Some(Acquire | AcqRel | SeqCst))
        && matches!(write, Some(Release | AcqRel | SeqCst))
}

/// Whether the two are made under one lock, whoever makes them.
fn share_lock(whole: &Whole<'_>, facts: &Facts, load: CallSite, write: CallSite) -> bool {
    let accesses = &whole.instantiation.accesses;
    let at = |site: CallSite| -> Vec<&GuardedAccess> {
        let numbers = facts.accesses.get(&site).into_iter().flatten();
        numbers.map(|number| &accesses[*number as usize]).collect()
    };
    let (loads, writes) = (at(load), at(write));
    !loads.is_empty()
        && !writes.is_empty()
        && loads.iter().all(|load| {
            writes.iter().all(|write| load.root == write.root || whole.share_lock(load, write))
        })
}
