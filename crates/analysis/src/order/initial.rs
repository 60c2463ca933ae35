//! What words hold before threads share them.
//!
//! A global has its initial value from the program, or the one constant that the first thread stores
//! there before it has created any other, when whatever else that thread does to the word comes after
//! the store. Memory of the first thread's stack or heap has
//! none; there it is the one constant that the thread stores before anybody else knows the memory.
//! A word that nothing writes after that is a constant for all who get to know it (the number that a
//! thread finds in its argument).

use racewarden_ir::{FunctionId, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::events::{Scan, Word, Write, constant};
use crate::contexts::Context;
use crate::pointsto::{CallSite, ObjectKind};
use crate::threads::MAIN;

/// Places where a plain count is changed.
const MAX_COUNTING: usize = 4;

/// Places where a word with a first value is written.
const MAX_STORING: usize = 8;

type ByFunction<'a> = FxHashMap<FunctionId, Vec<&'a Context>>;

impl Scan<'_> {
    /// Takes the first store to each word without an initial value for its initial value.
    pub(super) fn find_initial(&mut self) {
        let objects = &self.instantiation.points.locations().objects;
        let is_global =
            |word: &Word| matches!(objects[word.place.object as usize], ObjectKind::Global(_));
        let local = |word: &Word| match objects[word.place.object as usize] {
            ObjectKind::Stack(..) | ObjectKind::Heap(..) => word.initial.is_none(),
            ObjectKind::Global(_) => {
                let compared = |look: &super::events::Look| {
                    self.compared.contains(&(look.site.0, look.result))
                };
                word.initial.is_some()
                    && (2..=MAX_STORING).contains(&word.writes.len())
                    && word.looks.iter().any(compared)
            }
            _ => false,
        };
        let candidates: FxHashSet<CallSite> = self
            .words
            .values()
            .filter(|word| local(word))
            .flat_map(|word| &word.writes)
            .map(|write| write.site)
            .collect();
        if candidates.is_empty() {
            return;
        }
        let mut contexts = ByFunction::default();
        for context in &self.instantiation.contexts {
            contexts.entry(context.function).or_default().push(context);
        }
        let early = self.early(&candidates, &contexts);
        let bodies = &self.instantiation.bodies;
        let mut words = std::mem::take(&mut self.words);
        for word in words.values_mut().filter(|word| local(word)) {
            let mut first = word.writes.iter().filter(|write| early.contains(&write.site));
            let (Some(Write { site, .. }), None) = (first.next(), first.next()) else { continue };
            let site = *site;
            let is_first = |own: &Word| {
                self.precedes_threads(site, &contexts) && self.follow(own, site, &contexts)
            };
            if is_global(word) && !is_first(word) {
                continue;
            }
            let Op::Store { value, .. } = &bodies.of(site.0).instructions[site.1 as usize].op
            else {
                continue;
            };
            let found = constant(bodies, value);
            if found.is_some() {
                word.initial = found;
                word.first = Some(value.clone());
                word.writes.retain(|write| write.site != site);
            }
        }
        self.words = words;
    }

    /// Those that the first thread makes once, before it has created another.
    fn early(&self, sites: &FxHashSet<CallSite>, contexts: &ByFunction<'_>) -> FxHashSet<CallSite> {
        let mut early = sites.clone();
        let mut seen = FxHashSet::default();
        for access in self.instantiation.all_accesses() {
            let site = (access.function, access.inst);
            if sites.contains(&site) {
                seen.insert(site);
                let known = !access.state.threads.is_empty() && !access.private;
                if access.root != MAIN || known {
                    early.remove(&site);
                }
            }
        }
        // Memory that nothing writes while there are several threads has no access that counts.
        early.retain(|site| seen.contains(site) || self.is_unshared(*site));
        early.retain(|site| {
            !self.instantiation.graph.is_in_cycle(site.0, site.1) && self.runs_once(*site, contexts)
        });
        early
    }

    /// Whether all that the first thread does to the word elsewhere comes after the store.
    fn follow(&self, word: &Word, store: CallSite, contexts: &ByFunction<'_>) -> bool {
        let uses = word.looks.iter().map(|look| look.site);
        let uses = uses.chain(word.writes.iter().map(|write| write.site));
        let told = self.awaited.iter().any(|(_, place)| *place == word.place)
            || self.changes.iter().any(|(_, place, _)| *place == word.place);
        !told && uses.filter(|site| *site != store).all(|site| self.follows(site, store, contexts))
    }

    /// Whether the first thread comes to the instruction after the store only. The store is one that is
    /// made once.
    fn follows(&self, site: CallSite, store: CallSite, by_function: &ByFunction<'_>) -> bool {
        let contexts = &self.instantiation.contexts;
        let own = by_function.get(&site.0).into_iter().flatten();
        own.filter(|own| own.root == MAIN).all(|first| {
            let (mut context, mut inst) = (*first, site.1);
            loop {
                if context.function == store.0 {
                    return self.is_after(store, inst);
                }
                // Who else calls it is not known.
                if context.merged || context.entered != 1 {
                    return false;
                }
                match context.parent {
                    Some((parent, call)) => (context, inst) = (&contexts[parent as usize], call),
                    None => return false,
                }
            }
        })
    }

    /// Whether the instruction of the store's function is never run without the store before it.
    fn is_after(&self, store: CallSite, inst: u32) -> bool {
        let cfg = self.instantiation.bodies.cfg(store.0);
        let (block, other) = (cfg.block_of[store.1 as usize], cfg.block_of[inst as usize]);
        if block == other { store.1 < inst } else { cfg.dominates(block, other) }
    }

    /// Whether every thread is created after the store.
    fn precedes_threads(&self, store: CallSite, contexts: &ByFunction<'_>) -> bool {
        let creates = self.instantiation.graph.create_sites.iter();
        creates.into_iter().all(|create| self.follows(*create, store, contexts))
    }

    fn is_unshared(&self, site: CallSite) -> bool {
        let op = self.instantiation.bodies.op(site);
        let Some(Op::Store { address, .. }) = op.as_deref() else { return false };
        let points = self.points(site.0, address);
        points.iter().all(|at| !self.instantiation.shared[at.object as usize])
    }

    /// Whether the first thread runs the instruction once, and before it returns from there or
    /// creates another thread.
    fn runs_once(&self, site: CallSite, by_function: &ByFunction<'_>) -> bool {
        let contexts = &self.instantiation.contexts;
        let Some(&[first]) = by_function.get(&site.0).map(Vec::as_slice) else { return false };
        let (mut context, mut inst) = (first, site.1);
        loop {
            if context.entered != 1
                || context.merged
                || context.root != MAIN
                || !self.is_certain((context.function, inst))
            {
                return false;
            }
            match context.parent {
                Some((parent, call)) => (context, inst) = (&contexts[parent as usize], call),
                None => return true,
            }
        }
    }

    /// Whether the function neither returns nor creates a thread without having run the instruction,
    /// but for threads that it always creates before.
    fn is_certain(&self, site: CallSite) -> bool {
        let graph = self.instantiation.graph;
        let bodies = &self.instantiation.bodies;
        let cfg = bodies.cfg(site.0);
        let creating = graph.create_sites.iter().filter(|own| own.0 == site.0).map(|own| own.1);
        let calling = graph.calls[site.0.index()]
            .iter()
            .filter(|(_, targets)| targets.iter().any(|target| graph.may_create[target.index()]));
        let returning = bodies.ops(site.0).filter(|(_, op)| matches!(&**op, Op::Return { .. }));
        let later =
            creating.chain(calling.map(|(inst, _)| *inst)).chain(returning.map(|(inst, _)| inst));
        let block = cfg.block_of[site.1 as usize];
        later.filter(|inst| *inst != site.1).all(|inst| {
            let other = cfg.block_of[inst as usize];
            // What comes before for certain, too: then nobody knew the memory yet.
            other == block || cfg.dominates(block, other) || cfg.dominates(other, block)
        })
    }

    /// Whether plain additions of constants are all that changes the word, and a branch compares it
    /// with a constant.
    pub(super) fn counts(&self, word: &Word) -> bool {
        let bodies = &self.instantiation.bodies;
        let adds = |write: &Write| {
            let op = bodies.op(write.site);
            let Some(Op::Store { value: Value::Inst(sum), order: None, .. }) = op.as_deref() else {
                return false;
            };
            matches!(
                bodies.op((write.site.0, sum.0)).as_deref(),
                Some(Op::Binary { left: Value::Inst(load), right: Value::Int { .. }, .. })
                    if word.looks.iter().any(|look| look.site == (write.site.0, load.0))
            )
        };
        let compared =
            |look: &super::events::Look| self.compared.contains(&(look.site.0, look.result));
        !word.writes.is_empty()
            && word.writes.len() <= MAX_COUNTING
            && word.writes.iter().all(adds)
            && word.looks.iter().any(compared)
    }
}
