//! Threads that go through a loop in step, because each of its rounds waits at a barrier.
//!
//! Two threads that are in one phase have passed as many waits each (see [`super::barriers`]). When every
//! way to a loop passes the same number of waits, every round of it the same number, and every way from
//! its top to two places the same number, then two threads that are at those places in one phase are in
//! the same round. Between the last wait of a round and the first of the next the rounds of two threads
//! may differ: there the numbers of waits since the top do, by as many as a round has.
//!
//! Only loops of the function that the threads start in are looked at.

use super::events::Event;
use super::timeline::{NodeId, Timeline};
use super::{Facts, Stand};
use crate::pointsto::CallSite;
use crate::threads::RootId;

/// The deepest of the calls that the timeline knows one by one.
fn nodes_of(
    facts: &Facts,
    timeline: &Timeline,
    sites: &[CallSite],
) -> Option<(CallSite, Vec<NodeId>)> {
    let deepest = sites.iter().take_while(|site| timeline.lays_out(site.0)).last()?;
    if facts.events.at(deepest.0, deepest.1).is_some() {
        return None;
    }
    let nodes = timeline.positions(&facts.events, deepest.0, deepest.1);
    let live = !nodes.is_empty() && nodes.iter().all(|node| timeline.live[*node as usize]);
    live.then_some((*deepest, nodes))
}

pub(super) fn are_in_phases(facts: &Facts, root: RootId, a: &[CallSite], b: &[CallSite]) -> bool {
    let Some(timeline) = facts.timelines.get(&root) else { return false };
    let stand = |sites: &[CallSite]| {
        let (site, nodes) = nodes_of(facts, timeline, sites)?;
        Some(Stand { root, site, nodes: nodes.into(), at_event: false })
    };
    let (Some(x), Some(y)) = (stand(a), stand(b)) else { return false };
    facts.barriers.iter().any(|phases| phases.separates(&x, &y))
}

pub(super) fn are_in_step(
    facts: &Facts,
    root: RootId,
    (function, header): CallSite,
    is_in_loop: &dyn Fn(u32) -> bool,
    (a, b): (&[CallSite], &[CallSite]),
) -> bool {
    let Some(timeline) = facts.timelines.get(&root) else { return false };
    let nodes = |sites: &[CallSite]| Some(nodes_of(facts, timeline, sites)?.1);
    let (Some(at_a), Some(at_b)) = (nodes(a), nodes(b)) else { return false };
    let is_top = |id: NodeId| {
        let node = &timeline.nodes[id as usize];
        (node.function, node.start) == (function, header)
    };
    let tops: Vec<NodeId> = (0..timeline.nodes.len() as NodeId).filter(|id| is_top(*id)).collect();
    let &[top] = tops.as_slice() else { return false };
    let stays = |id: NodeId| {
        let node = &timeline.nodes[id as usize];
        node.function != function || is_in_loop(node.start)
    };
    facts.barriers.iter().filter(|phases| phases.has(root)).any(|phases| {
        let before = Waits::new(timeline, &phases.event, 0, top, &|_| true);
        let within = Waits::new(timeline, &phases.event, top, top, &stays);
        let (Some(_), Some(within)) = (before, within) else { return false };
        let number = |nodes: &[NodeId]| {
            let mut numbers = nodes.iter().map(|node| within.passed[*node as usize]);
            let first = numbers.next()??;
            numbers.all(|own| own == Some(first)).then_some(first)
        };
        within.until > 0 && number(&at_a).is_some_and(|own| number(&at_b) == Some(own))
    })
}

/// How many waits lie on every way from a node.
struct Waits {
    /// To each node that is come to, its own included.
    passed: Vec<Option<u32>>,
    /// To the last node, without its own.
    until: u32,
}

impl Waits {
    fn new(
        timeline: &Timeline,
        event: &Event,
        from: NodeId,
        last: NodeId,
        stays: &dyn Fn(NodeId) -> bool,
    ) -> Option<Waits> {
        let own = |id: NodeId| u32::from(timeline.nodes[id as usize].event.as_ref() == Some(event));
        // What does not lead to the last node may wait as often as it likes.
        let leads = leads_to(timeline, last);
        let mut passed = vec![None; timeline.nodes.len()];
        let mut until = None;
        if from == last && timeline.nodes.is_empty() {
            return None;
        }
        // Its own wait is counted where the last node is come to.
        passed[from as usize] = Some(own(from));
        let mut stack = vec![from];
        while let Some(id) = stack.pop() {
            let here = passed[id as usize]?;
            if id == last && from != last {
                continue;
            }
            for &(to, _) in &timeline.nodes[id as usize].next {
                if !leads[to as usize] || !stays(to) {
                    continue;
                }
                if to == last {
                    let waits =
                        if from == last { here.checked_sub(own(from))? + own(last) } else { here };
                    if until.is_some_and(|known| known != waits) {
                        return None;
                    }
                    until = Some(waits);
                    continue;
                }
                let there = here + own(to);
                match passed[to as usize] {
                    Some(known) if known != there => return None,
                    Some(_) => {}
                    None => {
                        passed[to as usize] = Some(there);
                        stack.push(to);
                    }
                }
            }
        }
        // A loop that is come to first begins at the start.
        let until = if from == last { until? } else { until.unwrap_or(0) };
        Some(Waits { passed, until })
    }
}

/// The nodes from which control may get to this one.
fn leads_to(timeline: &Timeline, last: NodeId) -> Vec<bool> {
    let mut before: Vec<Vec<NodeId>> = vec![Vec::new(); timeline.nodes.len()];
    for (id, node) in (0u32..).zip(&timeline.nodes) {
        for (to, _) in &node.next {
            before[*to as usize].push(id);
        }
    }
    let mut leads = vec![false; timeline.nodes.len()];
    let mut stack = vec![last];
    while let Some(id) = stack.pop() {
        if !std::mem::replace(&mut leads[id as usize], true) {
            stack.extend(&before[id as usize]);
        }
    }
    leads
}
