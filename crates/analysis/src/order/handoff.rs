//! Hand-off: one thread goes on only when another has told it to, after what it did before.
//!
//! A semaphore that starts at zero and that one thread alone posts: whoever has waited for it comes
//! after everything which that thread does before its first post. The same for a pipe, a socket pair
//! or an event counter that one thread alone writes to. A flag likewise ([`super::flags`]). The
//! first access must not be reachable from a post or such a write, the second not reachable without
//! the wait or the branch. It does not matter whether the value is waited for in a loop or looked at
//! once.
//!
//! Not seen: semaphores that several threads post, order through more than one thread between.

use std::sync::Arc;

use racewarden_ir::{FunctionId, Op, RmwOp, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::events::{Event, Look, Word, Write};
use super::flags::{acquires, flag, releases};
use super::timeline::{Branch, NodeId};
use super::values::{self, Content, Ways};
use super::{Facts, Stand, is_single, runs_once};
use crate::cfg::Cfg;
use crate::contexts::GuardedAccess;
use crate::digests::Whole;
use crate::pointsto::{CallSite, Location};
use crate::sym::{Atom, Sym};
use crate::threads::RootId;

pub struct Handoff {
    /// Who tells; `None` when nobody ever does, so that whoever waits never goes on.
    pub owner: Option<RootId>,
    /// Nodes of the owner that may run after it has told.
    pub announced: Vec<bool>,
    /// Nodes that threads reach only after having been told.
    pub told: FxHashMap<RootId, Vec<bool>>,
    /// Where the owner tells all that it did and learnt before; none when that takes a fence.
    pub tells: Vec<NodeId>,
}

impl Handoff {
    pub fn orders(&self, before: &Stand, after: &Stand) -> bool {
        self.is_told(after) && (self.owner.is_none() || self.comes_before(before))
    }

    fn is_told(&self, after: &Stand) -> bool {
        let told = self.told.get(&after.root);
        !after.at_event
            && told.is_some_and(|told| after.nodes.iter().all(|node| told[*node as usize]))
    }

    fn comes_before(&self, before: &Stand) -> bool {
        self.owner == Some(before.root)
            && before.nodes.iter().all(|node| !self.announced[*node as usize])
    }

    /// Whether the access comes after all that the owner did and learnt before it told.
    pub fn passes_on_to(&self, after: &Stand) -> bool {
        !self.tells.is_empty() && self.is_told(after)
    }

    /// Whether the access comes before what a third thread tells, which was told of it itself.
    pub fn orders_through(&self, later: &Handoff, before: &Stand) -> bool {
        let told = later.owner.and_then(|third| self.told.get(&third));
        self.comes_before(before)
            && told.is_some_and(|told| later.tells.iter().all(|node| told[*node as usize]))
    }
}

pub fn find(whole: &Whole<'_>, facts: &Facts) -> Vec<Handoff> {
    let mut found = Vec::new();
    let mut tables = Tables::default();
    if !facts.events.vague {
        let mut places: Vec<Location> = facts.events.setups.keys().copied().collect();
        places.sort_unstable();
        for place in places {
            found.extend(semaphore(whole, facts, place, &mut tables));
        }
    }
    let mut received: Vec<Location> = facts
        .events
        .sites()
        .filter_map(|(_, event)| match event {
            Event::Receive(place) => Some(*place),
            _ => None,
        })
        .collect();
    received.sort_unstable();
    received.dedup();
    for place in received {
        found.extend(channel(whole, facts, place, &mut tables).into_iter().flatten());
    }
    // Whatever future it is: nobody who waits for one goes on before one was made ready.
    let tells = |event: &Event| *event == Event::Announce;
    let waits = |event: &Event| *event == Event::Await;
    found.extend(waited(whole, facts, &tells, &waits, &[], &mut tables));
    for (number, word) in (0u32..).zip(&facts.events.words) {
        flag(whole, facts, number, word, &mut tables, &mut found);
    }
    found
}

fn semaphore(
    whole: &Whole<'_>,
    facts: &Facts,
    place: Location,
    tables: &mut Tables,
) -> Vec<Handoff> {
    let zero = |value: &Value| matches!(value, Value::Int { bits: 0, .. });
    if !is_set_up(whole, facts, place, zero) {
        return Vec::new();
    }
    let posts = |event: &Event| *event == Event::Post(place);
    let waits = |event: &Event| *event == Event::Wait(place);
    waited(whole, facts, &posts, &waits, &[], tables)
}

/// A pipe, socket pair or event counter: whoever has read from it comes after the one who wrote.
fn channel(
    whole: &Whole<'_>,
    facts: &Facts,
    place: Location,
    tables: &mut Tables,
) -> Option<Vec<Handoff>> {
    let channels = &facts.events.channels;
    let [opening] = channels.opened.get(&place.object)?.as_slice() else { return None };
    if channels.moved || !opening.waits || !runs_once(whole, facts, opening.site) {
        return None;
    }
    let sends = |event: &Event| match event {
        Event::Send(None) => true,
        Event::Send(Some(to)) if to.object == place.object => {
            opening.one_end || to.offset != place.offset
        }
        // Another channel's end.
        Event::Send(Some(to)) => !channels.opened.contains_key(&to.object),
        _ => false,
    };
    let receives = |event: &Event| *event == Event::Receive(place);
    // Nothing more to read is no failure as long as nobody closes an end.
    let closed = if channels.closed { [Content::Bits(0)].as_slice() } else { &[] };
    Some(waited(whole, facts, &sends, &receives, closed, tables))
}

/// One thread alone tells; whoever has waited comes after what that thread did before it first told.
/// What a thread tells only after it has waited itself does not make it go on.
fn waited(
    whole: &Whole<'_>,
    facts: &Facts,
    tells: &dyn Fn(&Event) -> bool,
    waits: &dyn Fn(&Event) -> bool,
    failures: &[Content],
    tables: &mut Tables,
) -> Vec<Handoff> {
    let mut owners: Vec<RootId> = facts
        .events
        .sites()
        .filter(|(_, event)| tells(event))
        .flat_map(|(site, _)| facts.runners(site.0).iter().copied())
        .collect();
    owners.sort_unstable();
    owners.dedup();
    // Calls that have waited when they return, and branches that say so.
    let mut calls: FxHashSet<CallSite> = FxHashSet::default();
    let mut branches: Vec<(FunctionId, Branch)> = Vec::new();
    for (site, _) in facts.events.sites().filter(|(_, event)| waits(event)) {
        let Some(waiting) = facts.events.waits.get(site) else { continue };
        if is_used(whole, *site) && !waiting.failures.is_empty() {
            let failures: Vec<Content> = waiting.failures.iter().chain(failures).copied().collect();
            branches.extend(tables.refused(whole, *site, &failures));
        } else if waiting.certain && failures.is_empty() {
            calls.insert(*site);
        }
    }
    let mut found = Vec::new();
    for (root, timeline) in &facts.timelines {
        if !timeline.events().any(|(_, event)| waits(event)) {
            continue;
        }
        let stops = |id: NodeId| {
            let node = &timeline.nodes[id as usize];
            node.event.as_ref().is_some_and(waits) && calls.contains(&(node.function, node.start))
        };
        let start = (!stops(0)).then_some(0);
        let reached = timeline.reach(start, |from, branch, to| {
            let function = timeline.nodes[from as usize].function;
            !stops(to) && !branch.is_some_and(|branch| branches.contains(&(function, branch)))
        });
        let told: Vec<bool> = reached.into_iter().map(|reached| !reached).collect();
        // What it tells before it first waits, unless it never waits after that.
        let early = timeline.events().filter(|(id, event)| tells(event) && !told[*id as usize]);
        let after = timeline.reach(early.map(|(id, _)| id), |_, _, _| true);
        let later = is_single(whole, *root)
            && timeline.events().all(|(id, event)| !waits(event) || !after[id as usize]);
        let others: Vec<RootId> =
            owners.iter().copied().filter(|owner| owner != root || !later).collect();
        let [owner] = others.as_slice() else { continue };
        let Some(own) = facts.timelines.get(owner).filter(|_| is_single(whole, *owner)) else {
            continue;
        };
        let first = own.events().filter(|(_, event)| tells(event)).map(|(id, _)| id);
        let tells: Vec<NodeId> = first.collect();
        let announced = own.reach(tells.iter().copied(), |_, _, _| true);
        let told = FxHashMap::from_iter([(*root, told)]);
        found.push(Handoff { owner: Some(*owner), announced, told, tells });
    }
    found
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
    value(count) && runs_once(whole, facts, *site)
}

/// Whether nobody looks at the result of a wait, which says that it did not happen.
pub fn waits_for_certain(whole: &Whole<'_>, facts: &Facts, place: Location) -> bool {
    let uncertain = facts.events.setups.get(&place).is_none_or(|setup| setup.uncertain);
    !uncertain
        && facts
            .events
            .sites()
            .filter(|(_, event)| **event == Event::Wait(place))
            .all(|(site, _)| !is_used(whole, *site))
}

pub(super) fn is_used(whole: &Whole<'_>, site: CallSite) -> bool {
    let mut used = false;
    for (_, op) in whole.instantiation.bodies.ops(site.0) {
        for operand in op.operands() {
            operand.visit(&mut |value| {
                used |= matches!(value, Value::Inst(inst) if inst.0 == site.1);
            });
        }
    }
    used
}

/// Where control goes in functions when a value is known.
#[derive(Default)]
pub struct Tables {
    flows: FxHashMap<FunctionId, Arc<Cfg>>,
    ways: FxHashMap<(FunctionId, u32, Content), Option<Arc<Ways>>>,
}

impl Tables {
    pub fn cfg(&mut self, whole: &Whole<'_>, function: FunctionId) -> Arc<Cfg> {
        let new = || Arc::new(whole.instantiation.bodies.cfg(function));
        self.flows.entry(function).or_insert_with(new).clone()
    }

    fn ways(&mut self, whole: &Whole<'_>, source: CallSite, content: Content) -> Option<Arc<Ways>> {
        let cfg = self.cfg(whole, source.0);
        let bodies = &whole.instantiation.bodies;
        let new = || {
            let body = bodies.of(source.0);
            values::ways(body, &cfg, bodies.types(), source.1, content).map(Arc::new)
        };
        self.ways.entry((source.0, source.1, content)).or_insert_with(new).clone()
    }

    /// The branches that control may take when the result is one of these.
    pub fn any_way(
        &mut self,
        whole: &Whole<'_>,
        source: CallSite,
        results: &[Content],
    ) -> Option<Vec<Arc<Ways>>> {
        results.iter().map(|content| self.ways(whole, source, *content)).collect()
    }

    /// Branches that none of these results lets control take, of blocks that come after the
    /// instruction for certain.
    pub fn refused(
        &mut self,
        whole: &Whole<'_>,
        source: CallSite,
        results: &[Content],
    ) -> Vec<(FunctionId, Branch)> {
        let Some(ways) = self.any_way(whole, source, results) else { return Vec::new() };
        let cfg = self.cfg(whole, source.0);
        let mut found: Vec<(FunctionId, Branch)> = borders(&cfg, source.1, &ways)
            .filter(|edge| ways.iter().all(|ways| !ways.edges.contains(edge)))
            .map(|(block, to)| (source.0, Branch { block, to }))
            .collect();
        found.sort_unstable_by_key(|(_, branch)| (branch.block, branch.to));
        found.dedup();
        found
    }
}

/// Branches where control with one of the results stops.
pub fn borders<'a>(
    cfg: &'a Cfg,
    source: u32,
    ways: &'a [Arc<Ways>],
) -> impl Iterator<Item = (u32, u32)> + 'a {
    let after = move |block: &&u32| values::dominates(cfg, source, **block);
    ways.iter().flat_map(move |ways| {
        ways.blocks.iter().filter(after).flat_map(move |block| {
            cfg.successors[*block as usize]
                .iter()
                .map(move |to| (*block, *to))
                .filter(|edge| !ways.edges.contains(edge))
        })
    })
}

/// Whether the second access gets to the first one's memory only through what was written to a word
/// after the first: by a pointer that was loaded from it, or an index.
pub fn is_published(
    whole: &Whole<'_>,
    facts: &Facts,
    (before, a): (&Stand, &GuardedAccess),
    b: &GuardedAccess,
) -> bool {
    let Some(address) = &b.address else { return false };
    address.terms.iter().any(|(atom, scale)| {
        let Atom::Inst(frame, inst) = atom else { return false };
        if *frame == 0 {
            return false;
        }
        let site = (whole.instantiation.function_of(*frame), *inst);
        let Some(Event::Read(number)) = facts.events.at(site.0, site.1) else { return false };
        let word = &facts.events.words[*number as usize];
        let Some(look) = word.looks.iter().find(|look| (look.site.0, look.result) == site) else {
            return false;
        };
        let rest = address.plus(&Sym::atom(atom.clone()).scaled(-scale));
        let leads = |value: &Value, function: FunctionId| {
            let index = match value {
                Value::Null => Some(0),
                Value::Int { bits, .. } => Some(*bits),
                _ => None,
            };
            match index {
                // Nothing is at address zero, and nothing is known of other fixed addresses.
                Some(index) if rest.terms.is_empty() => index != 0,
                Some(index) => may_be_index(&rest, *scale, index, a, b),
                None => {
                    !rest.terms.is_empty() || *scale != 1 || may_lead(whole, function, value, a)
                }
            }
        };
        is_told_by(whole, facts, (*number, word), look, before, &leads)
    })
}

/// Whether an access with this index may touch what the other does.
fn may_be_index(rest: &Sym, scale: i64, index: u64, a: &GuardedAccess, b: &GuardedAccess) -> bool {
    // A larger one may be negative, by its type.
    let Some(index) = i64::try_from(index).ok().filter(|index| *index < 1 << 31) else {
        return true;
    };
    let place = rest.clone().shifted(index.wrapping_mul(scale));
    let distance = a.address.as_ref().and_then(|own| place.distance(own));
    match (distance, i64::try_from(a.size), i64::try_from(b.size)) {
        (Some(distance), Ok(x), Ok(y)) => -y < distance && distance < x,
        _ => true,
    }
}

/// Whether the pointer may lead to an object that the access touches.
fn may_lead(whole: &Whole<'_>, function: FunctionId, value: &Value, a: &GuardedAccess) -> bool {
    let points = whole.instantiation.points;
    let blob = points.blob().object;
    let to = points.value(&whole.instantiation.bodies, function, value);
    to.is_empty()
        || a.locations.iter().any(|at| at.object == blob)
        || to
            .iter()
            .any(|to| to.object == blob || a.locations.iter().any(|at| at.object == to.object))
}

/// Whether all values that lead there are written by the first access's thread, after it.
fn is_told_by(
    whole: &Whole<'_>,
    facts: &Facts,
    (number, word): (u32, &Word),
    look: &Look,
    before: &Stand,
    leads: &dyn Fn(&Value, FunctionId) -> bool,
) -> bool {
    let bodies = &whole.instantiation.bodies;
    if word.first.as_ref().is_none_or(|value| leads(value, look.site.0)) {
        return false;
    }
    let mut writes = Vec::new();
    for write in &word.writes {
        let op = bodies.op(write.site);
        let stored = match op.as_deref() {
            Some(Op::Store { value, .. }) => Some(value),
            Some(Op::AtomicRmw { op: RmwOp::Xchg, value, .. }) => Some(value),
            Some(Op::CompareExchange { new, .. }) => Some(new),
            _ => None,
        };
        if stored.is_none_or(|value| leads(value, write.site.0)) {
            writes.push(write);
        }
    }
    let own = |write: &&Write| facts.runners(write.site.0) == [before.root];
    if writes.is_empty() || !writes.iter().all(own) || !is_single(whole, before.root) {
        return false;
    }
    let passes = |write: &&Write| {
        (acquires(look.order) && releases(write.order))
            || share_lock(whole, facts, look.site, write.site)
    };
    let Some(timeline) = facts.timelines.get(&before.root) else { return false };
    let tells = timeline.events().filter(|(id, event)| {
        let node = &timeline.nodes[*id as usize];
        **event == Event::Write(number)
            && writes.iter().any(|write| write.site == (node.function, node.start))
    });
    let announced = timeline.reach(tells.map(|(id, _)| id), |_, _, _| true);
    writes.iter().all(passes) && before.nodes.iter().all(|node| !announced[*node as usize])
}

/// Whether the two are made under one lock, whoever makes them.
pub fn share_lock(whole: &Whole<'_>, facts: &Facts, load: CallSite, write: CallSite) -> bool {
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
