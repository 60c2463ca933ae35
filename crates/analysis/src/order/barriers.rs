//! Barrier phases.
//!
//! When at most as many threads ever wait at a barrier as it waits for, each of its rounds takes
//! all of them: between two rounds every thread is between the same two of its own waits. Which
//! waits can belong to one round is found by walking two threads' control flow side by side, from
//! wait to wait. Two accesses are apart when no round has both right after it.
//!
//! An OpenMP team's barrier is waited at by the whole team by definition.

use racewarden_ir::{FunctionId, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::events::Event;
use super::handoff::Tables;
use super::settled::Settled;
use super::timeline::{Branch, NodeId, Timeline};
use super::values::Content;
use super::{Facts, Stand, is_single, runs_once, set_up_count};
use crate::cfg::Cfg;
use crate::digests::Whole;
use crate::loops::induction;
use crate::pointsto::{CallSite, Location};
use crate::sym::{Sym, SymTable};
use crate::threads::{MAIN, RootId};

pub struct Phases {
    /// For two roots, the nodes that each may run in one and the same phase.
    rounds: FxHashMap<(RootId, RootId), Vec<Round>>,
    /// Nodes that only the one thread runs which the wait before them has told from the others.
    alone: FxHashMap<RootId, Vec<bool>>,
    /// They are a team's, whose tasks end with a phase.
    pub of_team: bool,
    /// What is waited at.
    pub event: Event,
}

/// The nodes of two threads that one phase has.
type Round = (Vec<bool>, Vec<bool>);

impl Phases {
    /// Whether these are phases of all threads of the root.
    pub fn has(&self, root: RootId) -> bool {
        self.rounds.contains_key(&(root, root))
    }

    pub fn separates(&self, a: &Stand, b: &Stand) -> bool {
        let Some(rounds) = self.rounds.get(&(a.root, b.root)) else { return false };
        let is_alone = |stand: &Stand| {
            let alone = self.alone.get(&stand.root);
            alone.is_some_and(|alone| stand.nodes.iter().all(|node| alone[*node as usize]))
        };
        if !a.at_event && !b.at_event && is_alone(a) && is_alone(b) {
            return true;
        }
        let any = |nodes: &[NodeId], set: &[bool]| nodes.iter().any(|node| set[*node as usize]);
        !a.at_event
            && !b.at_event
            && !rounds.iter().any(|(x, y)| any(&a.nodes, x) && any(&b.nodes, y))
    }
}

/// Waits of one thread before it counts as too many to walk.
const MAX_WAITS: usize = 48;

pub fn find(whole: &Whole<'_>, facts: &Facts) -> Vec<Phases> {
    let mut found = Vec::new();
    if !facts.events.vague {
        let mut places: Vec<Location> = facts.events.setups.keys().copied().collect();
        places.sort_unstable();
        for place in places {
            found.extend(barrier(whole, facts, place));
        }
    }
    found.extend(teams(whole, facts));
    found
}

fn barrier(whole: &Whole<'_>, facts: &Facts, place: Location) -> Option<Phases> {
    let event = Event::Barrier(place);
    let members: FxHashSet<RootId> = facts
        .events
        .sites()
        .filter(|(_, own)| **own == event)
        .flat_map(|(site, _)| facts.runners(site.0).iter().copied())
        .collect();
    let mut members: Vec<RootId> = members.into_iter().collect();
    members.sort_unstable();
    let count = set_up_count(whole, facts, place)?;
    let mut threads = Sym::constant(0);
    for (index, root) in members.iter().enumerate() {
        let own = thread_count(whole, facts, *root)?;
        if !members[..index].iter().any(|other| whole.start_in_one_call(*other, *root)) {
            threads = threads.plus(&own);
        }
    }
    if threads.distance(&count)? > 0 {
        return None;
    }
    let mut rounds = FxHashMap::default();
    for &first in &members {
        for &second in &members {
            let (x, y) = (facts.timelines.get(&first)?, facts.timelines.get(&second)?);
            rounds.insert((first, second), walk(x, y, &event)?);
        }
    }
    let mut tables = Tables::default();
    let mut alone = FxHashMap::default();
    for &root in &members {
        let timeline = facts.timelines.get(&root)?;
        alone.insert(root, serial_nodes(whole, timeline, &event, &mut tables));
    }
    Some(Phases { rounds, alone, of_team: false, event })
}

/// Nodes behind a branch that is taken only when the wait just before it returned
/// `PTHREAD_BARRIER_SERIAL_THREAD`, which one thread of each round gets.
fn serial_nodes(
    whole: &Whole<'_>,
    timeline: &Timeline,
    event: &Event,
    tables: &mut Tables,
) -> Vec<bool> {
    let waits: Vec<NodeId> =
        timeline.events().filter(|(_, own)| *own == event).map(|(id, _)| id).collect();
    let site = |id: NodeId| {
        let node = &timeline.nodes[id as usize];
        (node.function, node.start)
    };
    let mut sites: Vec<CallSite> = waits.iter().map(|id| site(*id)).collect();
    sites.sort_unstable();
    sites.dedup();
    let mut serial: Vec<(FunctionId, Branch)> = Vec::new();
    for own in sites {
        let branches = tables.refused(whole, own, &[Content::Bits(0)]);
        // The result must be that of the latest wait.
        let others = waits.iter().copied().filter(|id| site(*id) != own).chain([0]);
        let stale = timeline.reach(others, |_, _, to| !waits.contains(&to));
        serial.extend(branches.into_iter().filter(|(function, branch)| {
            (0..).zip(&timeline.nodes).all(|(id, node): (usize, _)| {
                let here = node.function == *function
                    && node.next.iter().any(|(_, own)| *own == Some(*branch));
                !here || !stale[id]
            })
        }));
    }
    if serial.is_empty() {
        return vec![false; timeline.nodes.len()];
    }
    let sources = waits.iter().copied().chain([0]);
    let open = timeline.reach(sources, |from, branch, _| {
        let function = timeline.nodes[from as usize].function;
        !branch.is_some_and(|branch| serial.contains(&(function, branch)))
    });
    open.into_iter().map(|open| !open).collect()
}

fn teams(whole: &Whole<'_>, facts: &Facts) -> Option<Phases> {
    let mut rounds = FxHashMap::default();
    for (root, timeline) in &facts.timelines {
        let waits = timeline.events().any(|(_, event)| *event == Event::Team);
        if waits
            && whole.is_flat_team(*root)
            && let Some(found) = walk(timeline, timeline, &Event::Team)
        {
            rounds.insert((*root, *root), found);
        }
    }
    let alone = FxHashMap::default();
    (!rounds.is_empty()).then_some(Phases { rounds, alone, of_team: true, event: Event::Team })
}

/// What two threads may run at once, round by round.
fn walk(x: &Timeline, y: &Timeline, event: &Event) -> Option<Vec<Round>> {
    let (first, second) = (stretches(x, event)?, stretches(y, event)?);
    let mut seen = FxHashSet::from_iter([(0usize, 0usize)]);
    let mut stack = vec![(0usize, 0usize)];
    let mut rounds = Vec::new();
    while let Some((a, b)) = stack.pop() {
        rounds.push((first[a].nodes.clone(), second[b].nodes.clone()));
        for &next_a in &first[a].next {
            for &next_b in &second[b].next {
                if seen.insert((next_a, next_b)) {
                    stack.push((next_a, next_b));
                }
            }
        }
    }
    Some(rounds)
}

/// What may run from a wait (or the start) on until the next wait.
struct Stretch {
    nodes: Vec<bool>,
    next: Vec<usize>,
}

fn stretches(timeline: &Timeline, event: &Event) -> Option<Vec<Stretch>> {
    let waits: Vec<NodeId> =
        timeline.events().filter(|(_, own)| *own == event).map(|(id, _)| id).collect();
    if waits.len() > MAX_WAITS {
        return None;
    }
    let is_wait = |id: NodeId| waits.binary_search(&id).is_ok();
    let after = |from: NodeId, is_start: bool| {
        // A thread that begins with a wait does nothing before it.
        if is_start && is_wait(from) {
            return Stretch { nodes: vec![false; timeline.nodes.len()], next: vec![1] };
        }
        let nodes = timeline.reach([from], |_, _, to| !is_wait(to));
        let mut next = Vec::new();
        for (id, node) in timeline.nodes.iter().enumerate() {
            if !nodes[id] {
                continue;
            }
            for (to, _) in &node.next {
                if let Ok(index) = waits.binary_search(to)
                    && !next.contains(&(index + 1))
                {
                    next.push(index + 1);
                }
            }
        }
        Stretch { nodes, next }
    };
    let mut all = vec![after(0, true)];
    all.extend(waits.iter().map(|wait| after(*wait, false)));
    Some(all)
}

/// How many threads ever run the root, at most.
pub fn thread_count(whole: &Whole<'_>, facts: &Facts, root: RootId) -> Option<Sym> {
    if is_single(whole, root) {
        return Some(Sym::constant(1));
    }
    let instantiation = whole.instantiation;
    let data = &instantiation.threads.roots[root as usize];
    let create = data.create.as_ref()?;
    if data.births.len() != 1 || data.births[0].0 != MAIN || create.site.1 == u32::MAX {
        return None;
    }
    // A helper that starts one thread in each call counts as often as it is called.
    let site = match create.chain.as_slice() {
        _ if create.any_chain => return None,
        [] => create.site,
        [call] if !instantiation.graph.is_in_cycle(create.site.0, create.site.1) => *call,
        // A helper that starts them all, and is itself called once.
        [call] if !instantiation.graph.is_in_cycle(call.0, call.1) => create.site,
        _ => return None,
    };
    let (body, types) = (instantiation.bodies.of(site.0), instantiation.bodies.types());
    let cfg = Cfg::new(body);
    let block = cfg.block_of[site.1 as usize];
    let settled = Settled { instantiation, function: site.0, cfg: &cfg, creating: Some(block) };
    let syms = SymTable::new(body, &cfg, types, &settled);
    let mut around = cfg.loops.iter().filter(|own| own.contains(block));
    let own = around.next()?;
    if around.next().is_some() || !runs_once(whole, facts, (site.0, 0)) {
        return None;
    }
    let head = &body.blocks[own.header as usize];
    let counter = (head.start.0..head.end.0)
        .find_map(|phi| induction(body, &cfg, &syms, types, phi).filter(|i| i.step == 1))?;
    let context = (0u32..)
        .zip(&instantiation.contexts)
        .find(|(_, context)| context.function == site.0)
        .map(|(id, _)| id)?;
    let count = counter.bound?.plus(&counter.start.scaled(-1));
    count.substitute(&|atom| instantiation.bind(context, atom))
}

/// The count that a set-up call names, in the terms of its context.
pub fn count_of(
    whole: &Whole<'_>,
    function: racewarden_ir::FunctionId,
    value: &Value,
) -> Option<Sym> {
    let instantiation = whole.instantiation;
    let (body, types) = (instantiation.bodies.of(function), instantiation.bodies.types());
    let cfg = Cfg::new(body);
    let settled = Settled { instantiation, function, cfg: &cfg, creating: None };
    let syms = SymTable::new(body, &cfg, types, &settled);
    let context = (0u32..)
        .zip(&instantiation.contexts)
        .find(|(_, context)| context.function == function)
        .map(|(id, _)| id)?;
    syms.value(value, types)?.substitute(&|atom| instantiation.bind(context, atom))
}
