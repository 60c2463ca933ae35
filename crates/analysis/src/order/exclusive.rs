//! Semaphores and words that serve as locks.
//!
//! A semaphore that starts at one, several that together do and are passed round (whoever has waited
//! for one of them posts one of them, be it the same), or a word that threads take by compare-and-exchange or exchange
//! from its initial value and give back by storing that value, or by looking and storing under a lock
//! ([`super::guarded`]). Such an object excludes when every
//! thread gives back only what it holds at that point for certain: the balance is followed over the
//! thread's whole control flow, and one post or store without a wait before it makes the object
//! worthless. Taking must acquire and giving back release, as C11 defines it.

use racewarden_ir::{AtomicOrder, FunctionId, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::events::{Event, LookKind, Word, Write, WriteKind};
use super::handoff::{Tables, is_set_up, waits_for_certain};
use super::timeline::{Branch, NodeId, Timeline};
use super::values::Content;
use super::{Facts, Stand};
use crate::digests::Whole;
use crate::pointsto::{CallSite, Location};
use crate::threads::RootId;

pub struct Exclusive {
    /// Nodes that run while the thread holds the object.
    pub(super) held: FxHashMap<RootId, Vec<bool>>,
}

impl Exclusive {
    pub fn covers(&self, stand: &Stand) -> bool {
        let Some(held) = self.held.get(&stand.root) else { return false };
        !stand.at_event && stand.nodes.iter().all(|node| held[*node as usize])
    }
}

pub fn find(whole: &Whole<'_>, facts: &Facts) -> Vec<Exclusive> {
    let mut found = Vec::new();
    if !facts.events.vague {
        let mut places: Vec<Location> = facts.events.setups.keys().copied().collect();
        places.sort_unstable();
        let mut open = Vec::new();
        for place in places {
            match semaphores(whole, facts, &[place]) {
                Some(lock) => found.push(lock),
                None => open.push(place),
            }
        }
        let rings = rings(facts, &open);
        found.extend(rings.iter().filter_map(|ring| semaphores(whole, facts, ring)));
    }
    let mut tables = Tables::default();
    for (number, word) in (0u32..).zip(&facts.events.words) {
        found.extend(lock_word(whole, facts, number, word, &mut tables));
        found.extend(super::guarded::guarded_word(whole, facts, number, word, &mut tables));
        found.extend(super::tickets::ticket_lock(whole, facts, number, word));
    }
    found
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Balance {
    Free,
    Held,
    Either,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Take,
    Give,
    /// Asks for it; a holder must not.
    Ask,
}

/// Nodes of the timeline that run while the object is held; `None` when something is given back
/// that is not held.
pub(super) fn balance(
    timeline: &Timeline,
    step: impl Fn(&Event, CallSite) -> Option<Step>,
    takes: impl Fn(NodeId, Option<Branch>) -> bool,
) -> Option<Vec<bool>> {
    let mut before: Vec<Option<Balance>> = vec![None; timeline.nodes.len()];
    let mut after: Vec<Option<Balance>> = vec![None; timeline.nodes.len()];
    before[0] = Some(Balance::Free);
    let mut stack: Vec<NodeId> = vec![0];
    let step_of = |id: NodeId| {
        let node = &timeline.nodes[id as usize];
        node.event.as_ref().and_then(|event| step(event, (node.function, node.start)))
    };
    while let Some(id) = stack.pop() {
        let state = match step_of(id) {
            Some(Step::Take) => Some(Balance::Held),
            Some(Step::Give) => Some(Balance::Free),
            Some(Step::Ask) | None => before[id as usize],
        };
        after[id as usize] = state;
        for &(to, branch) in &timeline.nodes[id as usize].next {
            let new = if takes(id, branch) { Some(Balance::Held) } else { state };
            let old = before[to as usize];
            let joined = match (old, new) {
                (None, new) => new,
                (old, new) if old == new => old,
                _ => Some(Balance::Either),
            };
            if joined != old {
                before[to as usize] = joined;
                stack.push(to);
            }
        }
    }
    for id in 0..timeline.nodes.len() as NodeId {
        let needs = match step_of(id) {
            Some(Step::Give) => Some(Balance::Held),
            Some(Step::Ask) => Some(Balance::Free),
            _ => None,
        };
        if needs.is_some() && before[id as usize].is_some() && before[id as usize] != needs {
            return None;
        }
    }
    Some(after.into_iter().map(|state| state.is_none_or(|state| state == Balance::Held)).collect())
}

/// Semaphores that are posted by those who have waited for one of the others: for each semaphore that
/// is waited for, the next post of any of these on the same thread.
fn rings(facts: &Facts, places: &[Location]) -> Vec<Vec<Location>> {
    let number = |at: &Location| places.iter().position(|place| place == at);
    let mut ring_of: Vec<usize> = (0..places.len()).collect();
    for timeline in facts.timelines.values() {
        let step_of = |id: NodeId| match &timeline.nodes[id as usize].event {
            Some(Event::Wait(at)) => number(at).map(|number| (number, true)),
            Some(Event::Post(at)) => number(at).map(|number| (number, false)),
            _ => None,
        };
        for id in 0..timeline.nodes.len() as NodeId {
            let Some((waited, true)) = step_of(id) else { continue };
            let reached = timeline.reach([id], |from, _, _| from == id || step_of(from).is_none());
            for next in (0..timeline.nodes.len() as NodeId).filter(|next| reached[*next as usize]) {
                if let Some((posted, false)) = step_of(next) {
                    let (one, other) = (ring_of[waited], ring_of[posted]);
                    ring_of.iter_mut().filter(|ring| **ring == one).for_each(|ring| *ring = other);
                }
            }
        }
    }
    let ring = |name: usize| {
        let members = places.iter().zip(&ring_of).filter(|(_, own)| **own == name);
        members.map(|(place, _)| *place).collect::<Vec<_>>()
    };
    (0..places.len()).map(ring).filter(|ring| ring.len() > 1).collect()
}

/// One token goes round among the semaphores and the threads: it is there once, and nobody posts who
/// does not have it.
fn semaphores(whole: &Whole<'_>, facts: &Facts, places: &[Location]) -> Option<Exclusive> {
    let starts_at = |place: &Location, count: u64| {
        let is = |value: &Value| matches!(value, Value::Int { bits, .. } if *bits == count);
        is_set_up(whole, facts, *place, is)
    };
    let first = places.iter().position(|place| starts_at(place, 1))?;
    let others = places.iter().enumerate().filter(|(index, _)| *index != first);
    if !others.map(|(_, place)| place).all(|place| starts_at(place, 0)) {
        return None;
    }
    let is_plain = |place: &Location| {
        waits_for_certain(whole, facts, *place)
            && facts.events.setups.get(place).is_some_and(|setup| !setup.several)
    };
    if !places.iter().all(is_plain) {
        return None;
    }
    let step = |event: &Event, _: CallSite| match event {
        Event::Wait(at) if places.contains(at) => Some(Step::Take),
        Event::Post(at) if places.contains(at) => Some(Step::Give),
        _ => None,
    };
    let concerns = |event: &Event| step(event, (FunctionId(0), 0)).is_some();
    let mut held = FxHashMap::default();
    for root in users(facts, concerns)? {
        held.insert(root, balance(facts.timelines.get(&root)?, step, |_, _| false)?);
    }
    Some(Exclusive { held })
}

/// The roots that touch the object; `None` when one of them could not be laid out.
pub(super) fn users(facts: &Facts, concerns: impl Fn(&Event) -> bool) -> Option<FxHashSet<RootId>> {
    let users: FxHashSet<RootId> = facts
        .events
        .sites()
        .filter(|(_, event)| concerns(event))
        .flat_map(|(site, _)| facts.runners(site.0).iter().copied())
        .collect();
    users.iter().all(|root| !facts.lost.contains(root)).then_some(users)
}

fn lock_word(
    whole: &Whole<'_>,
    facts: &Facts,
    number: u32,
    word: &Word,
    tables: &mut Tables,
) -> Option<Exclusive> {
    let free = word.initial.filter(|initial| *initial != Content::Address)?;
    if !word.writes.iter().all(|write| is_lock_use(write, free)) {
        return None;
    }
    let takers: Vec<&Write> = word.writes.iter().filter(|w| w.kind != WriteKind::Store).collect();
    if takers.is_empty() {
        return None;
    }
    let mut edges: FxHashMap<CallSite, Vec<(FunctionId, Branch)>> = FxHashMap::default();
    for taker in takers {
        let found = success_edges(whole, word, free, taker, tables);
        edges.insert(taker.site, found);
    }
    let gives: FxHashSet<CallSite> =
        word.writes.iter().filter(|w| w.kind == WriteKind::Store).map(|w| w.site).collect();
    let mut held = FxHashMap::default();
    for root in users(facts, |event| *event == Event::Write(number))? {
        let timeline = facts.timelines.get(&root)?;
        let taken = fresh_edges(timeline, &edges, &gives);
        let step = |event: &Event, site: CallSite| {
            (*event == Event::Write(number) && gives.contains(&site)).then_some(Step::Give)
        };
        let takes = |from: NodeId, branch: Option<Branch>| {
            branch.is_some_and(|branch| taken.contains(&(from, branch.block, branch.to)))
        };
        held.insert(root, balance(timeline, step, takes)?);
    }
    Some(Exclusive { held })
}

fn is_lock_use(write: &Write, free: Content) -> bool {
    let acquires = write.order.is_some_and(AtomicOrder::acquires);
    let releases = write.order.is_some_and(AtomicOrder::releases);
    let Some(value) = write.value else { return false };
    match write.kind {
        WriteKind::Store => value == free && releases,
        WriteKind::Exchange => value != free && acquires,
        WriteKind::CompareExchange(expected) => expected == Some(free) && value != free && acquires,
        _ => false,
    }
}

/// The branches that are taken only when the operation found the word free.
fn success_edges(
    whole: &Whole<'_>,
    word: &Word,
    free: Content,
    taker: &Write,
    tables: &mut Tables,
) -> Vec<(FunctionId, Branch)> {
    let mut edges = Vec::new();
    for look in word.looks.iter().filter(|look| look.site == taker.site) {
        let mut failures: Vec<Content> = match look.kind {
            LookKind::Equals(_) => vec![Content::Bits(0)],
            LookKind::Value => word.writes.iter().filter_map(|w| w.value).collect(),
        };
        failures.retain(|content| look.kind != LookKind::Value || *content != free);
        failures.sort_unstable();
        failures.dedup();
        edges.extend(tables.refused(whole, (look.site.0, look.result), &failures));
    }
    edges
}

/// Those of the branches before which the word was not given back since it was taken.
pub(super) fn fresh_edges(
    timeline: &Timeline,
    edges: &FxHashMap<CallSite, Vec<(FunctionId, Branch)>>,
    gives: &FxHashSet<CallSite>,
) -> FxHashSet<(NodeId, u32, u32)> {
    let site = |id: NodeId| {
        let node = &timeline.nodes[id as usize];
        (node.function, node.start)
    };
    let all = || 0..timeline.nodes.len() as NodeId;
    let mut fresh = FxHashSet::default();
    for (taker, branches) in edges {
        let is_taker =
            |id: NodeId| site(id) == *taker && timeline.nodes[id as usize].event.is_some();
        let takers: Vec<NodeId> = all().filter(|id| is_taker(*id)).collect();
        let since = timeline.reach(takers, |_, _, to| !is_taker(to));
        let given: Vec<NodeId> = all()
            .filter(|id| {
                since[*id as usize]
                    && gives.contains(&site(*id))
                    && timeline.nodes[*id as usize].event.is_some()
            })
            .collect();
        let stale = timeline.reach(given, |_, _, to| !is_taker(to));
        for id in all().filter(|id| since[*id as usize] && !stale[*id as usize]) {
            let function = timeline.nodes[id as usize].function;
            for (_, branch) in &timeline.nodes[id as usize].next {
                if let Some(branch) = branch
                    && branches.contains(&(function, *branch))
                {
                    fresh.insert((id, branch.block, branch.to));
                }
            }
        }
    }
    fresh
}
