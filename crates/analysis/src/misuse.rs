//! Locks that exclude nobody: because a thread releases them that never takes them, or because they
//! are made anew, or ended, while others use them.
//!
//! Releasing another thread's mutex is undefined by POSIX and works on most systems: whoever waits
//! gets in beside the holder. A thread is blamed only when nothing that it runs may take the lock;
//! a thread that takes a lock on another path than the one that releases it is not.

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use racewarden_finding::AccessKind;
use racewarden_ir::{FunctionId, Op, Value};

use crate::callgraph::effects_of_call;
use crate::contexts::{GuardedAccess, Instantiation};
use crate::digests::{Whole, exclusion, may_meet};
use crate::effects::{Effect, LockName};
use crate::flow::OPEN;
use crate::pointsto::{Location, ObjectId, may_overlap};
use crate::threads::RootId;

/// Where the locks are that are made anew or ended beside a use of them. Only of a lock that exists
/// once is it known that it is the same one.
pub fn reset_in_use(whole: &Whole<'_>) -> Vec<Location> {
    let accesses = &whole.instantiation.accesses;
    let resets: Vec<&GuardedAccess> = accesses
        .iter()
        .filter(|access| {
            access.kind == AccessKind::Write
                && whole.is_one_place(&access.locations)
                && whole.calls(access, |effect| matches!(effect, Effect::ResetLock { .. }))
        })
        .collect();
    if resets.is_empty() {
        return Vec::new();
    }
    let objects: FxHashSet<ObjectId> =
        resets.iter().flat_map(|reset| reset.locations.iter().map(|at| at.object)).collect();
    let uses: Vec<&GuardedAccess> = accesses
        .iter()
        .filter(|access| {
            access.atomic
                && access.kind == AccessKind::Read
                && access.locations.iter().any(|at| objects.contains(&at.object))
                && whole.calls(access, |effect| matches!(effect, Effect::Lock { .. }))
        })
        .collect();
    let mut found: Vec<Location> = Vec::new();
    for used in uses {
        let beside = |reset: &&&GuardedAccess| {
            may_meet(reset, used) && exclusion(reset, used, whole).is_none()
        };
        if resets.iter().find(beside).is_some() {
            found.extend(used.locations.iter());
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether the access fills or copies over memory that is known exactly: a lock in it is another one
/// then. What is written by an index may be an array's beside the lock.
pub fn overwrites(whole: &Whole<'_>, access: &GuardedAccess) -> bool {
    let op = whole.instantiation.bodies.op((access.function, access.inst));
    let fills = match op.as_deref() {
        Some(Op::MemSet { .. } | Op::MemCopy { .. }) => true,
        Some(Op::Call { .. }) => {
            whole.calls(access, |effect| matches!(effect, Effect::Copy { .. }))
        }
        _ => false,
    };
    fills
        && access.kind == AccessKind::Write
        && (SMALLEST_LOCK..OPEN).contains(&access.size)
        && access.locations.iter().all(|at| at.stride == 0 || at.stride >= SMALLEST_LOCK as u32)
}

/// Bytes of a lock at least.
const SMALLEST_LOCK: u64 = 4;

/// Places of locks as one function takes and releases them.
#[derive(Default)]
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
    let mut all: Vec<FunctionId> = functions.values().flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    let of = |&id: &FunctionId| (id, lock_uses(instantiation, id));
    let uses: FxHashMap<FunctionId, Uses> = all.par_iter().map(of).collect();
    let mut foreign = Vec::new();
    for (root, functions) in functions {
        // A library may export its lock and its unlock as two functions.
        let create = instantiation.threads.roots[root as usize].create.as_ref();
        if create.is_some_and(|create| create.site.1 == u32::MAX) {
            continue;
        }
        let mut all = Uses::default();
        for function in functions {
            let own = &uses[&function];
            all.taken.extend(&own.taken);
            all.released.extend(&own.released);
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
    for (inst, op) in instantiation.bodies.scan(function) {
        let Op::Call { callee, arguments, .. } = &*op else { continue };
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
    let mut found = instantiation.points.value(&instantiation.bodies, function, value).into_owned();
    for location in &mut found {
        location.offset += bytes;
    }
    let vague = found.iter().any(|at| instantiation.points.in_blob(at.object));
    (!vague && !found.is_empty()).then_some(found)
}
