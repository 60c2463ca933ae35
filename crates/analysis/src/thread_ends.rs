//! What runs on a thread when it ends: the destructor of the object that it was started with (a
//! lambda's captures), those of thread-specific keys and of `thread_local` objects.
//!
//! They run on the thread itself, after its function and before whoever joins it goes on. A key's
//! destructor runs on every thread that sets a value, the one of an object on every thread that
//! registers it. A thread that may end anywhere (`pthread_exit`, cancellation) is taken to run them
//! with everything alive that it may ever have created.

use racewarden_ir::{Callee, FunctionId, Op, Value};
use rustc_hash::FxHashSet;

use crate::actuals::Actuals;
use crate::callgraph::effects_of_call;
use crate::contexts::{ContextId, Instantiation, joined_exit};
use crate::effects::{Effect, HandlerKind};
use crate::flow::compose;
use crate::state::Path;
use crate::threads::{MAIN, RootId};

impl Instantiation<'_> {
    /// Lets threads run what they run at their end; whether there was anything new.
    pub(crate) fn end_threads(&mut self) -> bool {
        let deleted = self.delete_objects();
        let registered = self.registered();
        if registered.is_empty() {
            return deleted;
        }
        let running: FxHashSet<(RootId, FunctionId)> =
            self.contexts.iter().map(|context| (context.root, context.function)).collect();
        let mut missing: Vec<(RootId, FunctionId)> = Vec::new();
        for (at, destructor, of_key) in registered {
            // Returning from `main` ends the program, without destructors of keys.
            let spared = |root: RootId| of_key && root == MAIN && self.effects.ends_in_main;
            let roots = running.iter().filter(|(root, own)| *own == at && !spared(*root));
            missing.extend(roots.map(|(root, _)| (*root, destructor)));
        }
        missing.sort_unstable();
        missing.dedup();
        missing.retain(|pair| !running.contains(pair));
        for (root, destructor) in &missing {
            let state = self.end_state(*root);
            // Once for each object or key, and again for values that destructors set.
            for _ in 0..2 {
                self.enter(*root, *destructor, Actuals::default(), state.clone(), None);
            }
        }
        deleted || !missing.is_empty()
    }

    /// Lets threads delete the objects that they were started with; whether there was any left.
    fn delete_objects(&mut self) -> bool {
        let mut missing = Vec::new();
        for (id, context) in self.contexts.iter().enumerate() {
            let root = context.root;
            let Some(create) = &self.threads.roots[root as usize].create else { continue };
            let is_entry = self.points.entries.get(&create.site).is_some_and(|entries| {
                entries.contains(&context.function)
                    && context
                        .parent
                        .is_some_and(|(parent, _)| self.contexts[parent as usize].root != root)
            });
            if !is_entry || !self.deleted.insert(id as ContextId) {
                continue;
            }
            let destructors = self.points.ends.get(&create.site).into_iter().flatten();
            for destructor in destructors.filter(|end| self.effects.of(**end).is_none()) {
                if self.only_frees(*destructor, 0) {
                    continue;
                }
                let (arguments, points) =
                    (context.arguments.clone(), context.argument_points.clone());
                missing.push((root, *destructor, arguments, points, context.parent));
            }
        }
        let any = !missing.is_empty();
        for (root, destructor, arguments, points, parent) in missing {
            let state = self.end_state(root);
            let actuals = Actuals { arguments, points, ..Actuals::default() };
            self.enter(root, destructor, actuals, state, parent);
        }
        any
    }

    /// Whether a destructor does nothing but to free its object, which no other thread knows.
    fn only_frees(&self, destructor: FunctionId, depth: u32) -> bool {
        depth < 4
            && self.bodies.ops(destructor).all(|(_, op)| match &*op {
                // The table of the class whose part is left.
                Op::Store { address: Value::Arg(_), order: None, .. } => true,
                Op::Store { .. }
                | Op::AtomicRmw { .. }
                | Op::CompareExchange { .. }
                | Op::MemCopy { .. }
                | Op::MemSet { .. }
                | Op::Unknown { .. } => false,
                Op::Call { callee: Callee::Direct(target), .. } => match self.effects.of(*target) {
                    Some(effects) => {
                        let harmless =
                            |e: &Effect| matches!(e, Effect::Free { .. } | Effect::NoReturn);
                        effects.iter().all(harmless)
                    }
                    None => self.only_frees(*target, depth + 1),
                },
                Op::Call { .. } => false,
                _ => true,
            })
    }

    /// Destructors, each with a function that makes whoever runs it run the destructor, too.
    fn registered(&self) -> Vec<(FunctionId, FunctionId, bool)> {
        let mut found = Vec::new();
        let mut setters = None;
        for site in &self.graph.create_sites {
            let Some(callee) = self.bodies.callee(*site) else { continue };
            let mut own = None;
            for effect in effects_of_call(self.effects, self.points, *site, callee) {
                if let Effect::Handler { kind: HandlerKind::ThreadExit, of_key, .. } = effect {
                    own = Some(*of_key);
                }
            }
            let Some(of_key) = own else { continue };
            let targets = self.points.entries.get(site).into_iter().flatten();
            for target in targets.filter(|target| self.effects.of(**target).is_none()) {
                if of_key {
                    let setters = setters.get_or_insert_with(|| self.setters());
                    found.extend(setters.iter().map(|setter| (*setter, *target, true)));
                } else {
                    found.push((site.0, *target, false));
                }
            }
        }
        found
    }

    /// Functions that set the calling thread's value of a key.
    fn setters(&self) -> Vec<FunctionId> {
        let functions: FxHashSet<FunctionId> =
            self.contexts.iter().map(|context| context.function).collect();
        let sets = |id: &FunctionId| {
            self.bodies.calls(*id).any(|(inst, callee)| {
                effects_of_call(self.effects, self.points, (*id, inst), callee)
                    .any(|effect| matches!(effect, Effect::SetSpecific { .. }))
            })
        };
        functions.into_iter().filter(sets).collect()
    }

    /// The state in which threads of the root end.
    fn end_state(&self, root: RootId) -> Path {
        let mut state = Path::default();
        let entries = self.contexts.iter().filter(|context| {
            context.root == root
                && context
                    .parent
                    .is_none_or(|(parent, _)| self.contexts[parent as usize].root != root)
        });
        let mut functions: Vec<FunctionId> = entries.map(|context| context.function).collect();
        functions.sort_unstable();
        functions.dedup();
        let summaries: Vec<_> = functions.iter().map(|id| &self.summaries[id.index()]).collect();
        let returns = |summary: &&&std::sync::Arc<crate::summary::Summary>| {
            !summary.ends_thread && !self.effects.cancels
        };
        match summaries.as_slice() {
            [only] if root != MAIN && returns(&only) => {
                if let Some(end) = joined_exit(only) {
                    compose(&mut state, &end, &[], &|_| None, &|_| None);
                }
            }
            all => {
                for summary in all {
                    compose(&mut state, &summary.possible, &[], &|_| None, &|_| None);
                }
            }
        }
        state.held.clear();
        state
    }
}
