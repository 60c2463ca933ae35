//! Words that serve as locks because another lock guards them: `while (busy) wait(&c, &m); busy = 1;`.
//!
//! Whoever finds the word at its initial value takes it, by a store in the same section of the lock
//! that all of this is done under; storing the initial value again gives it back. That the section is
//! the same one is seen within one function: nothing that could release a lock lies between the load
//! and the store. What serves so excludes like a word that is taken by compare-and-exchange
//! ([`super::exclusive`]), and comes after the other thread's section by the lock itself.

use racewarden_ir::{FunctionId, Op};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Facts;
use super::events::{Event, Look, LookKind, Word, Write, WriteKind};
use super::exclusive::{Exclusive, Step, balance, fresh_edges, users};
use super::handoff::Tables;
use super::sections::may_release;
use super::timeline::{Branch, NodeId};
use super::values::Content;
use crate::cfg::Cfg;
use crate::contexts::GuardedAccess;
use crate::digests::Whole;
use crate::pointsto::CallSite;

pub fn guarded_word(
    whole: &Whole<'_>,
    facts: &Facts,
    number: u32,
    word: &Word,
    tables: &mut Tables,
) -> Option<Exclusive> {
    let free = word.initial.filter(|initial| *initial != Content::Address)?;
    let is_plain = |write: &Write| write.kind == WriteKind::Store && write.value.is_some();
    if !word.waits.is_empty() || !word.writes.iter().all(is_plain) {
        return None;
    }
    let (gives, takes): (Vec<&Write>, Vec<&Write>) =
        word.writes.iter().partition(|write| write.value == Some(free));
    if takes.is_empty() {
        return None;
    }
    let mut failures: Vec<Content> = takes.iter().filter_map(|write| write.value).collect();
    failures.sort_unstable();
    failures.dedup();
    let mut edges: FxHashMap<CallSite, Vec<(FunctionId, Branch)>> = FxHashMap::default();
    for take in &takes {
        let find = |look: &&Look| look.site.0 == take.site.0 && look.kind == LookKind::Value;
        let looks: Vec<&Look> = word.looks.iter().filter(find).collect();
        let mut found = looks.into_iter().filter_map(|look| {
            let refused = tables.refused(whole, (look.site.0, look.result), &failures);
            is_section(whole, (look, free), &refused, &takes, take, tables)
                .then_some((look.site, refused))
        });
        let (site, refused) = found.next()?;
        edges.insert(site, refused);
    }
    let sites: Vec<CallSite> =
        word.writes.iter().map(|w| w.site).chain(edges.keys().copied()).collect();
    let pairs = sites.iter().flat_map(|a| sites.iter().map(move |b| (*a, *b)));
    if !pairs.into_iter().all(|(a, b)| never_at_once(whole, facts, a, b)) {
        return None;
    }
    let gives: FxHashSet<CallSite> = gives.iter().map(|write| write.site).collect();
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

/// Whether two threads are never at these two places at once.
pub(super) fn never_at_once(whole: &Whole<'_>, facts: &Facts, a: CallSite, b: CallSite) -> bool {
    let accesses = &whole.instantiation.accesses;
    let at = |site: CallSite| -> Vec<&GuardedAccess> {
        let numbers = facts.accesses.get(&site).into_iter().flatten();
        numbers.map(|number| &accesses[*number as usize]).collect()
    };
    exclude_each_other(whole, &at(a), &at(b))
}

/// Whether no two threads make one of the first and one of the second accesses at once.
pub(super) fn exclude_each_other(
    whole: &Whole<'_>,
    first: &[&GuardedAccess],
    second: &[&GuardedAccess],
) -> bool {
    let one_thread = |a: &GuardedAccess, b: &GuardedAccess| {
        a.root == b.root && !whole.instantiation.threads.roots[a.root as usize].many
    };
    !first.is_empty()
        && !second.is_empty()
        && first.iter().all(|a| second.iter().all(|b| one_thread(a, b) || whole.share_lock(a, b)))
}

/// Whether the store is made when, and only when, the load has found the word free, and no lock is
/// released in between.
fn is_section(
    whole: &Whole<'_>,
    (look, free): (&Look, Content),
    refused: &[(FunctionId, Branch)],
    takes: &[&Write],
    take: &Write,
    tables: &mut Tables,
) -> bool {
    let function = look.site.0;
    let Some(found) = tables.any_way(whole, (function, look.result), &[free]) else { return false };
    let cfg = tables.cfg(whole, function);
    let section = Section { whole, function, cfg: &cfg, look: look.site.1, barred: &|_| false };
    let is_refused = |block: u32, to: u32| {
        refused.iter().any(|(_, branch)| branch.block == block && branch.to == to)
    };
    let is_take = |inst: u32| takes.iter().any(|write| write.site == (function, inst));
    section.stems_from_look(take.site.1, Some(&is_refused))
        && section.leads_to_take(&is_take, &|block, to| {
            found.iter().any(|ways| ways.edges.contains(&(block, to)))
        })
}

/// What is done after a load, in its function, before any lock is released.
pub(super) struct Section<'a> {
    pub whole: &'a Whole<'a>,
    pub function: FunctionId,
    pub cfg: &'a Cfg,
    pub look: u32,
    /// What else must not come between.
    pub barred: &'a dyn Fn(u32) -> bool,
}

impl Section<'_> {
    /// Whether every way to the store comes from the load, by one of the branches if some are given.
    pub fn stems_from_look(
        &self,
        store: u32,
        is_refused: Option<&dyn Fn(u32, u32) -> bool>,
    ) -> bool {
        let blocks = self.whole.instantiation.bodies.blocks(self.function);
        // Where to look backwards from, and whether the branch was seen.
        let mut stack = vec![(store, is_refused.is_none())];
        let mut seen: FxHashSet<(u32, bool)> = FxHashSet::default();
        while let Some((from, told)) = stack.pop() {
            let block = self.cfg.block_of[from as usize];
            let start = blocks[block as usize].start.0;
            let met =
                (start..from).rev().find(|inst| *inst == self.look || self.may_release(*inst));
            match met {
                Some(inst) if inst == self.look && told => continue,
                Some(_) => return false,
                None => {}
            }
            let before = &self.cfg.predecessors[block as usize];
            if before.is_empty() {
                return false;
            }
            for &other in before {
                let end = blocks[other as usize].end.0;
                let told = told || is_refused.is_some_and(|is| is(other, block));
                if self.may_release(end - 1) {
                    return false;
                }
                if seen.insert((other, told)) {
                    stack.push((end - 1, told));
                }
            }
        }
        true
    }

    /// Whether every way from the load, having found the word free, leads to a store that takes it.
    pub fn leads_to_take(
        &self,
        is_take: &dyn Fn(u32) -> bool,
        may_go: &dyn Fn(u32, u32) -> bool,
    ) -> bool {
        let bodies = &self.whole.instantiation.bodies;
        let blocks = bodies.blocks(self.function);
        let returns = |inst: u32| {
            let op = bodies.op((self.function, inst));
            matches!(op.as_deref(), Some(Op::Return { .. }))
        };
        let mut stack = vec![self.look + 1];
        let mut seen: FxHashSet<u32> = FxHashSet::default();
        while let Some(from) = stack.pop() {
            let block = self.cfg.block_of[from as usize];
            let end = blocks[block as usize].end.0;
            let met = (from..end)
                .find(|inst| is_take(*inst) || self.may_release(*inst) || returns(*inst));
            match met {
                Some(inst) if is_take(inst) => continue,
                Some(_) => return false,
                None => {}
            }
            for &to in &self.cfg.successors[block as usize] {
                if may_go(block, to) && seen.insert(to) {
                    stack.push(blocks[to as usize].start.0);
                }
            }
        }
        true
    }

    fn may_release(&self, inst: u32) -> bool {
        if (self.barred)(inst) {
            return true;
        }
        may_release(self.whole.instantiation, (self.function, inst))
    }
}
