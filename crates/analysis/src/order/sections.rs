//! Sections of locks on a timeline: what a thread has done under a lock that it still holds.
//!
//! Two threads that have each looked at a word under one lock, and have not let go of the lock since, are
//! never where they are at once. Who runs threads against each other ([`super::interleaving`]) need not
//! look at such places together: an addition under a lock is one step then.
//!
//! A section begins with its first event, not where the lock is taken, and ends with the first call that
//! might release a lock; more places may seem to be possible at once than are, never fewer.

use racewarden_ir::{Callee, Op};
use rustc_hash::FxHashMap;

use super::Facts;
use super::events::Event;
use super::timeline::{NodeId, Timeline};
use crate::callgraph::effects_of_call;
use crate::contexts::{GuardedAccess, Instantiation};
use crate::digests::Whole;
use crate::effects::Effect;
use crate::pointsto::CallSite;
use crate::threads::RootId;

/// Events that a place may be behind before it counts as behind none.
const MAX_EVENTS: usize = 4;

/// By node, the events one of which the thread has come from, with its locks still held.
pub struct Sections {
    behind: Vec<Option<Vec<CallSite>>>,
}

impl Sections {
    pub fn new(whole: &Whole<'_>, facts: &Facts, timeline: &Timeline) -> Sections {
        let count = timeline.nodes.len();
        let open: Vec<bool> =
            (0..count).map(|node| lets_go(whole, facts, timeline, node)).collect();
        // `None` until a way to the node was found; then what is known on all ways.
        let mut found: Vec<Option<Option<Vec<CallSite>>>> = vec![None; count];
        let mut work: Vec<(NodeId, Option<Vec<CallSite>>)> = vec![(0, None)];
        while let Some((id, comes)) = work.pop() {
            let node = &timeline.nodes[id as usize];
            let own = match &node.event {
                _ if open[id as usize] => None,
                Some(Event::Read(_) | Event::Write(_)) => Some(vec![(node.function, node.start)]),
                _ => comes,
            };
            let known = &mut found[id as usize];
            let joined = match &*known {
                None => own,
                Some(before) => join(before.as_ref(), own.as_ref()),
            };
            if known.as_ref() != Some(&joined) {
                *known = Some(joined.clone());
                work.extend(node.next.iter().map(|(to, _)| (*to, joined.clone())));
            }
        }
        Sections { behind: found.into_iter().map(Option::flatten).collect() }
    }

    pub fn behind(&self, node: NodeId) -> Option<&[CallSite]> {
        self.behind.get(node as usize)?.as_deref()
    }
}

fn join(a: Option<&Vec<CallSite>>, b: Option<&Vec<CallSite>>) -> Option<Vec<CallSite>> {
    let mut all: Vec<CallSite> = a?.iter().chain(b?).copied().collect();
    all.sort_unstable();
    all.dedup();
    (all.len() <= MAX_EVENTS).then_some(all)
}

/// Whether the thread may have released a lock when it leaves the node.
pub fn lets_go(whole: &Whole<'_>, facts: &Facts, timeline: &Timeline, node: usize) -> bool {
    let node = &timeline.nodes[node];
    let instantiation = whole.instantiation;
    (node.start..node.end).any(|inst| {
        let site = (node.function, inst);
        // What is called is laid out behind the node, and says itself what it does.
        let is_laid_out = || {
            let calls = &instantiation.graph.calls[site.0.index()];
            let mut called = calls.iter().filter(|(own, _)| *own == inst);
            called.next().is_some_and(|(_, targets)| {
                !targets.is_empty() && targets.iter().all(|target| facts.events.is_inside(*target))
            })
        };
        may_release(instantiation, site) && !(inst + 1 == node.end && is_laid_out())
    })
}

/// Whether the instruction may release a lock, or do what only the model of a function tells.
pub fn may_release(instantiation: &Instantiation<'_>, site: CallSite) -> bool {
    let Some(op) = instantiation.bodies.op(site) else { return true };
    let Op::Call { callee, .. } = &*op else { return matches!(&*op, Op::Unknown { .. }) };
    let Callee::Direct(target) = callee else { return true };
    if instantiation.effects.of(*target).is_none() {
        return true;
    }
    effects_of_call(instantiation.effects, instantiation.points, site, callee).any(|effect| {
        !matches!(
            effect,
            Effect::Access { .. }
                | Effect::AccessInside { .. }
                | Effect::Assume { .. }
                | Effect::NoReturn
                | Effect::Allocate { .. }
                | Effect::Returns { .. }
        )
    })
}

/// Whether the instruction is a call that a model says releases a lock.
pub fn releases(instantiation: &Instantiation<'_>, op: Option<&Op>) -> bool {
    let Some(Op::Call { callee: Callee::Direct(target), .. }) = op else { return false };
    let effects = instantiation.effects.of(*target).into_iter().flatten();
    effects.into_iter().any(|effect| matches!(effect, Effect::Unlock { .. }))
}

/// Whether one thread is never behind the first event while the other is behind the second, each with
/// its locks.
#[derive(Default)]
pub struct Exclusions {
    known: FxHashMap<(CallSite, CallSite), bool>,
}

impl Exclusions {
    pub fn exclude(
        &mut self,
        whole: &Whole<'_>,
        facts: &Facts,
        roots: (RootId, RootId),
        (a, b): (CallSite, CallSite),
    ) -> bool {
        *self.known.entry((a, b)).or_insert_with(|| {
            let of = |site: CallSite, root: RootId| -> Vec<&GuardedAccess> {
                let numbers = facts.accesses.get(&site).into_iter().flatten();
                let all = numbers.map(|own| &whole.instantiation.accesses[*own as usize]);
                all.filter(|access| access.root == root).collect()
            };
            let (first, second) = (of(a, roots.0), of(b, roots.1));
            !first.is_empty()
                && !second.is_empty()
                && first.iter().all(|x| second.iter().all(|y| whole.share_named_lock(x, y)))
        })
    }
}
