//! What words hold before threads share them.
//!
//! A global has its initial value from the program. Memory of the first thread's stack or heap has
//! none; there it is the one constant that the thread stores before it has created anybody.

use racewarden_ir::{FunctionId, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::events::{Scan, Word, Write, constant};
use crate::pointsto::{CallSite, ObjectKind};
use crate::threads::MAIN;

/// Places where a plain count is changed.
const MAX_COUNTING: usize = 4;

impl Scan<'_> {
    /// Takes the first store to each word without an initial value for its initial value.
    pub(super) fn find_initial(&mut self) {
        let objects = &self.instantiation.points.locations().objects;
        let local = |word: &Word| {
            word.initial.is_none()
                && matches!(
                    objects[word.place.object as usize],
                    ObjectKind::Stack(..) | ObjectKind::Heap(..)
                )
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
        let early = self.early(&candidates);
        let module = &self.instantiation.program.module;
        let mut words = std::mem::take(&mut self.words);
        for word in words.values_mut().filter(|word| local(word)) {
            let mut first = word.writes.iter().filter(|write| early.contains(&write.site));
            let (Some(Write { site, .. }), None) = (first.next(), first.next()) else { continue };
            let site = *site;
            let Op::Store { value, .. } = &module.function(site.0).instructions[site.1 as usize].op
            else {
                continue;
            };
            word.initial = constant(module, value);
            word.first = word.initial.map(|_| value.clone());
            if word.initial.is_some() {
                word.writes.retain(|write| write.site != site);
            }
        }
        self.words = words;
    }

    /// Those that the first thread makes once, before it has created another.
    fn early(&self, sites: &FxHashSet<CallSite>) -> FxHashSet<CallSite> {
        let mut early = sites.clone();
        let mut seen = FxHashSet::default();
        for access in &self.instantiation.accesses {
            let site = (access.function, access.inst);
            if sites.contains(&site) {
                seen.insert(site);
                if access.root != MAIN || !access.state.threads.is_empty() {
                    early.remove(&site);
                }
            }
        }
        early.retain(|site| seen.contains(site));
        let mut once: FxHashMap<FunctionId, bool> = FxHashMap::default();
        early.retain(|site| {
            *once.entry(site.0).or_insert_with(|| self.runs_once(site.0))
                && !self.instantiation.graph.is_in_cycle(site.0, site.1)
        });
        early
    }

    fn runs_once(&self, function: FunctionId) -> bool {
        let contexts = &self.instantiation.contexts;
        let mut own = contexts.iter().filter(|context| context.function == function);
        let (Some(first), None) = (own.next(), own.next()) else { return false };
        let mut context = first;
        loop {
            if context.entered != 1 || context.merged || context.root != MAIN {
                return false;
            }
            match context.parent {
                Some((parent, _)) => context = &contexts[parent as usize],
                None => return true,
            }
        }
    }

    /// Whether plain additions of constants are all that changes the word, and a branch compares it
    /// with a constant.
    pub(super) fn counts(&self, word: &Word) -> bool {
        let module = &self.instantiation.program.module;
        let adds = |write: &Write| {
            let body = module.function(write.site.0);
            let Op::Store { value: Value::Inst(sum), order: None, .. } =
                &body.instructions[write.site.1 as usize].op
            else {
                return false;
            };
            matches!(
                &body.instructions[sum.index()].op,
                Op::Binary { left: Value::Inst(load), right: Value::Int { .. }, .. }
                    if word.looks.iter().any(|look| look.site == (write.site.0, load.0))
            )
        };
        let compared = |look: &super::events::Look| {
            module.function(look.site.0).instructions.iter().any(|instruction| {
                matches!(
                    &instruction.op,
                    Op::Compare { left: Value::Inst(load), right: Value::Int { .. }, .. }
                        if load.0 == look.result
                )
            })
        };
        !word.writes.is_empty()
            && word.writes.len() <= MAX_COUNTING
            && word.writes.iter().all(adds)
            && word.looks.iter().any(compared)
    }
}
