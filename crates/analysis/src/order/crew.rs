//! Counts of threads at work: who has found that nobody is left comes after all that they did.
//!
//! One thread adds one for each thread that it starts, each of those takes one off when it is done, and
//! the first waits until nothing is left: how many they are need not be known. The addition and the
//! create call stand in one block, so wherever the count is looked at there were as many additions as
//! threads; each thread takes its one off at most once. A count of zero then says that each of them has.
//!
//! The look must be compared with a small constant and decide a branch, which only zero lets through,
//! before another thread may be created; steps must release and the look acquire, or all happen under
//! one lock. Not seen:
//! threads that add themselves to the count.

use racewarden_ir::{Op, Value};
use rustc_hash::FxHashMap;

use super::events::{Event, Look, LookKind, Word};
use super::flags::{acquires, releases};
use super::handoff::Tables;
use super::tally::{Tally, all_under_one_lock, step_of};
use super::timeline::{Branch, NodeId};
use super::values::Content;
use super::{Facts, entered_once, is_single, starts_one};
use crate::cfg::Cfg;
use crate::digests::Whole;
use crate::pointsto::CallSite;
use crate::threads::RootId;

/// Constants that a count may be compared with, and numbers beyond all of them that stand for the rest.
const MAX_COMPARED: u64 = 32;
const LARGE: [u64; 3] = [MAX_COMPARED + 2, 1 << 20, i32::MAX as u64];

pub fn find(whole: &Whole<'_>, facts: &Facts) -> Vec<Tally> {
    let mut tables = Tables::default();
    (0u32..)
        .zip(&facts.events.words)
        .filter_map(|(number, word)| crew(whole, facts, number, word, &mut tables))
        .collect()
}

fn crew(
    whole: &Whole<'_>,
    facts: &Facts,
    number: u32,
    word: &Word,
    tables: &mut Tables,
) -> Option<Tally> {
    if word.initial != Some(Content::Bits(0)) || word.writes.len() < 2 {
        return None;
    }
    let steps = word.writes.iter().map(|write| Some((write.site, step_of(whole, word, write)?)));
    let steps: Vec<_> = steps.collect::<Option<_>>()?;
    let locked = steps[0].1.locked;
    let (ups, downs): (Vec<_>, Vec<_>) = steps.iter().partition(|(_, step)| step.amount > 0);
    let [(up, _)] = ups.as_slice() else { return None };
    let by_one = |(_, step): &&(CallSite, _)| -> bool {
        let step: &super::tally::StepKind = step;
        step.amount.abs() == 1 && step.locked == locked
    };
    let released = || word.writes.iter().all(|write| releases(write.order));
    let apart = if locked { all_under_one_lock(whole, facts, word) } else { released() };
    if !steps.iter().all(|step| by_one(&step)) || !apart {
        return None;
    }
    let [owner] = *facts.runners(up.0) else { return None };
    if !is_single(whole, owner) {
        return None;
    }
    let cfg = tables.cfg(whole, up.0);
    let mut workers: FxHashMap<RootId, CallSite> = FxHashMap::default();
    let mut create: Option<CallSite> = None;
    for (down, _) in &downs {
        for &worker in facts.runners(down.0) {
            let root = whole.root(worker);
            let site = root.create.as_ref()?.site;
            let known = *create.get_or_insert(site);
            let alone = site == known
                && site.0 == up.0
                && cfg.block_of[site.1 as usize] == cfg.block_of[up.1 as usize]
                && starts_one(whole, site)
                && root.births.iter().all(|(parent, _)| *parent == owner);
            let once = entered_once(whole, worker, *down);
            if !alone || !once || workers.insert(worker, *down).is_some() {
                return None;
            }
        }
    }
    let create = create?;
    let gates: Vec<Branch> = word
        .looks
        .iter()
        .filter(|look| look.site.0 == up.0)
        .filter(|look| locked || acquires(look.order))
        .flat_map(|look| gates(whole, &cfg, create, look, tables))
        .collect();
    let own = facts.timelines.get(&owner).filter(|_| !gates.is_empty())?;
    // Whoever was created since is waited for by a later look only.
    let adds = own.events().filter(|(id, event)| {
        let node = &own.nodes[*id as usize];
        **event == Event::Write(number) && (node.function, node.start) == *up
    });
    let mut begin: Vec<NodeId> = adds.map(|(id, _)| id).collect();
    begin.extend(own.positions(&facts.events, create.0, create.1));
    begin.push(0);
    let open = own.reach(begin, |from, branch, _| {
        own.nodes[from as usize].function != up.0
            || !branch.is_some_and(|branch| gates.contains(&branch))
    });
    let full = FxHashMap::from_iter([(owner, open.into_iter().map(|open| !open).collect())]);
    let mut counted = FxHashMap::default();
    for root in workers.into_keys() {
        let own = facts.timelines.get(&root)?;
        let tells = own.events().filter(|(_, event)| **event == Event::Write(number));
        let tells: Vec<NodeId> = tells.map(|(id, _)| id).collect();
        counted.insert(root, own.reach(tells, |_, _, _| true));
    }
    let steps = downs.iter().map(|(site, _)| *site).collect();
    Some(Tally { steps, counted, full, last: FxHashMap::default() })
}

/// Branches that only a look which finds nobody at work lets through, before anybody else is created.
fn gates(
    whole: &Whole<'_>,
    cfg: &Cfg,
    create: CallSite,
    look: &Look,
    tables: &mut Tables,
) -> Vec<Branch> {
    let block = cfg.block_of[look.result as usize];
    let making = cfg.block_of[create.1 as usize];
    if look.kind != LookKind::Value
        || block == making
        || !is_compared_only(whole, (look.site.0, look.result))
    {
        return Vec::new();
    }
    let working: Vec<Content> = (1..=MAX_COMPARED + 1).chain(LARGE).map(Content::Bits).collect();
    let refused = tables.refused(whole, (look.site.0, look.result), &working);
    let branches = refused.into_iter().map(|(_, branch)| branch);
    branches.filter(|branch| !lies_between(cfg, making, block, branch.block)).collect()
}

/// Whether control may come through the block on its way from the one to the other, without coming to
/// the first again.
fn lies_between(cfg: &Cfg, block: u32, from: u32, to: u32) -> bool {
    let after = |start: u32| {
        let mut seen = vec![false; cfg.successors.len()];
        let mut stack = cfg.successors[start as usize].clone();
        while let Some(own) = stack.pop() {
            if own != from && !std::mem::replace(&mut seen[own as usize], true) {
                stack.extend(cfg.successors[own as usize].iter().copied());
            }
        }
        seen
    };
    to != from && after(from)[block as usize] && (block == to || after(block)[to as usize])
}

/// Whether all that is done with the result is to compare it with a small constant.
fn is_compared_only(whole: &Whole<'_>, site: CallSite) -> bool {
    let bodies = &whole.instantiation.bodies;
    let result = |value: &Value| matches!(value, Value::Inst(inst) if inst.0 == site.1);
    bodies.ops(site.0).all(|(_, op)| match &*op {
        Op::Compare { left, right: Value::Int { bits, .. }, .. } if result(left) => {
            *bits <= MAX_COMPARED
        }
        op => {
            let mut used = false;
            for operand in op.operands() {
                operand.visit(&mut |value| used |= result(value));
            }
            !used
        }
    })
}
