//! Locks that exclude nobody because a thread releases them that never takes them.
//!
//! Releasing another thread's mutex is undefined by POSIX and works on most systems: whoever waits
//! gets in beside the holder. A thread is blamed only when nothing that it runs may take the lock;
//! a thread that takes a lock on another path than the one that releases it is not.

use rustc_hash::{FxHashMap, FxHashSet};

use racewarden_ir::{FunctionId, Op, Value};

use crate::callgraph::effects_of_call;
use crate::contexts::Instantiation;
use crate::effects::{Effect, LockName};
use crate::pointsto::{Location, may_overlap};
use crate::threads::RootId;

/// Places of locks as one function takes and releases them.
#[derive(Default, Clone)]
struct Uses {
    taken: Vec<Location>,
    released: Vec<Location>,
    /// It takes a lock that cannot be told.
    vague: bool,
}

/// Where the locks are that some thread releases without ever taking them.
pub fn foreign_releases(instantiation: &Instantiation<'_>) -> Vec<Location> {
    let mut functions: FxHashMap<RootId, FxHashSet<FunctionId>> = FxHashMap::default();
    for context in &instantiation.contexts {
        functions.entry(context.root).or_default().insert(context.function);
    }
    let mut uses: FxHashMap<FunctionId, Uses> = FxHashMap::default();
    let mut foreign = Vec::new();
    for (root, functions) in functions {
        // A library may export its lock and its unlock as two functions.
        let create = instantiation.threads.roots[root as usize].create.as_ref();
        if create.is_some_and(|create| create.site.1 == u32::MAX) {
            continue;
        }
        let mut all = Uses::default();
        for function in functions {
            let own =
                uses.entry(function).or_insert_with(|| lock_uses(instantiation, function)).clone();
            all.taken.extend(own.taken);
            all.released.extend(own.released);
            all.vague |= own.vague;
        }
        if all.vague {
            continue;
        }
        let is_taken = |at: &Location| all.taken.iter().any(|own| may_overlap(*own, 1, *at, 1));
        foreign.extend(all.released.iter().filter(|at| !is_taken(at)));
    }
    foreign.sort_unstable();
    foreign.dedup();
    foreign
}

fn lock_uses(instantiation: &Instantiation<'_>, function: FunctionId) -> Uses {
    let mut uses = Uses::default();
    let body = instantiation.program.module.function(function);
    for (inst, instruction) in (0u32..).zip(&body.instructions) {
        let Op::Call { callee, arguments, .. } = &instruction.op else { continue };
        let site = (function, inst);
        for effect in effects_of_call(instantiation.effects, instantiation.points, site, callee) {
            let place = |lock: &LockName| places(instantiation, function, lock, arguments);
            match effect {
                Effect::Lock { lock, .. } => match place(lock) {
                    Some(list) => uses.taken.extend(list),
                    None => uses.vague = true,
                },
                Effect::Unlock { lock } => uses.released.extend(place(lock).unwrap_or_default()),
                _ => {}
            }
        }
    }
    uses
}

/// Where the lock may be; `None` when that is not known.
fn places(
    instantiation: &Instantiation<'_>,
    function: FunctionId,
    lock: &LockName,
    arguments: &[Value],
) -> Option<Vec<Location>> {
    let (index, bytes) = match lock {
        LockName::Argument(index) => (*index, 0),
        LockName::Field(index, bytes) => (*index, *bytes as i64),
        // A lock without an object has no owner to be told.
        LockName::Program(_) | LockName::Global(_) => return Some(Vec::new()),
        LockName::Loaded(..) => return None,
    };
    let value = arguments.get(index as usize)?;
    let mut found = instantiation.points.value(instantiation.program, function, value).into_owned();
    for location in &mut found {
        location.offset += bytes;
    }
    let vague = found.iter().any(|at| instantiation.points.in_blob(at.object));
    (!vague && !found.is_empty()).then_some(found)
}
