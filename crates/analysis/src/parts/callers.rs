//! Who calls whom in the threads of one root, and by which chains of calls they come to an instruction.
//!
//! Calls of a function to itself are no part of a chain: what such a function is given at first is found
//! by its first call.

use racewarden_ir::FunctionId;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::digests::Whole;
use crate::pointsto::CallSite;
use crate::threads::RootId;

/// Ways to one access before it counts as too often reached to look at each.
const MAX_WAYS: usize = 6;
/// Calls on a way.
pub const MAX_CALLS: usize = 12;

/// Who calls whom in the threads of a root.
#[derive(Debug, Default)]
pub struct Callers {
    pub entries: FxHashSet<FunctionId>,
    /// What runs first beside, with an argument that is not the thread's.
    pub others: FxHashSet<FunctionId>,
    by_callee: FxHashMap<FunctionId, Vec<CallSite>>,
}

impl Callers {
    pub fn new(whole: &Whole<'_>) -> FxHashMap<RootId, Callers> {
        let instantiation = whole.instantiation;
        let mut found: FxHashMap<RootId, Callers> = FxHashMap::default();
        let mut seen = FxHashSet::default();
        for context in &instantiation.contexts {
            let own = found.entry(context.root).or_default();
            let root = |id: u32| instantiation.contexts[id as usize].root;
            match context.parent {
                Some((parent, _)) if root(parent) == context.root => {}
                Some(_) if !context.merged => {
                    own.entries.insert(context.function);
                }
                _ => {
                    own.others.insert(context.function);
                }
            }
            if seen.insert((context.root, context.function)) {
                let mut known = FxHashSet::default();
                for call in &instantiation.summaries[context.function.index()].calls {
                    if known.insert((call.callee, call.inst)) {
                        let site = (context.function, call.inst);
                        own.by_callee.entry(call.callee).or_default().push(site);
                    }
                }
            }
        }
        // Who is come to by no call begins on its own.
        for context in &instantiation.contexts {
            let Some((parent, inst)) = context.parent else { continue };
            let site = (instantiation.contexts[parent as usize].function, inst);
            let Some(own) = found.get_mut(&context.root) else { continue };
            let is_called = own.by_callee.get(&context.function).is_some_and(|l| l.contains(&site));
            if instantiation.contexts[parent as usize].root == context.root && !is_called {
                own.others.insert(context.function);
            }
        }
        found
    }

    /// All chains of calls that lead to the instruction, which is the last of each.
    pub fn chains(&self, to: CallSite) -> Option<Vec<Vec<CallSite>>> {
        let mut done = Vec::new();
        let mut open = vec![vec![to]];
        while let Some(chain) = open.pop() {
            let function = chain.last()?.0;
            let known = (done.len(), open.len());
            if self.entries.contains(&function) || self.others.contains(&function) {
                let mut chain = chain.clone();
                chain.reverse();
                done.push(chain);
            }
            let sites = self.by_callee.get(&function).map(Vec::as_slice).unwrap_or_default();
            if sites.len() > 4 * MAX_WAYS {
                return None;
            }
            for site in sites.iter().filter(|site| site.0 != function) {
                if chain.len() > MAX_CALLS || chain.iter().any(|(own, _)| *own == site.0) {
                    return None;
                }
                let mut longer = chain.clone();
                longer.push(*site);
                open.push(longer);
            }
            if known == (done.len(), open.len()) {
                return None;
            }
            if done.len() > MAX_WAYS || open.len() > 4 * MAX_WAYS {
                return None;
            }
        }
        (!done.is_empty()).then_some(done)
    }

    pub fn calls_itself(&self, function: FunctionId) -> impl Iterator<Item = CallSite> {
        let list = self.by_callee.get(&function).into_iter().flatten();
        list.copied().filter(move |site| site.0 == function)
    }
}
