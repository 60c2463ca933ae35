//! How a callee's relative effect changes its caller's state.

use std::sync::Arc;

use crate::lives::{Lives, Parts};
use crate::pointsto::{CallSite, Location};
use crate::state::{CreateId, HandleRange, Held, Live, Path, Released};
use crate::sym::{Atom, LOCAL, Sym};

/// Says where a pointer of the caller's may lead, if that is known.
pub type Targets<'a> = dyn Fn(&Sym) -> Option<Vec<Location>> + 'a;

/// Applies a callee's relative effect to the caller's path (RELAY's `lockUpdate`, Figure 3).
///
/// A lock that the callee gets as an argument is one of those that any caller passes; here it is one
/// of those that this caller does (`targets`).
pub fn compose(
    path: &mut Path,
    effect: &Path,
    callers: &[CallSite],
    bind: &impl Fn(&Atom) -> Option<Sym>,
    targets: &Targets<'_>,
) {
    compose_with(path, effect, bind, targets, &|path| {
        add_threads(&mut path.threads, &effect.threads, callers, bind);
    });
}

/// As [`compose`], with threads added by `add` when the callee has any.
pub fn compose_with(
    path: &mut Path,
    effect: &Path,
    bind: &impl Fn(&Atom) -> Option<Sym>,
    targets: &Targets<'_>,
    add: &dyn Fn(&mut Path),
) {
    let mut kept: Vec<&Sym> = Vec::new();
    for released in &effect.released {
        let lock = released.lock.as_ref().and_then(|lock| lock.substitute(bind));
        let points = match (&released.lock, &lock) {
            (Some(inner), Some(lock)) => narrowed(&released.points, inner, lock, targets),
            _ => released.points.clone(),
        };
        let outer = Released { lock: lock.clone(), points: points.clone(), any: released.any };
        if let Some(again) = taken_again(released, effect)
            && waited(path, &outer, again)
        {
            kept.push(&again.lock);
            continue;
        }
        // The callee may have released it more than once.
        let is_it = |held: &Held| held.count != 1 && Some(&held.lock) == lock.as_ref();
        if path.held.iter().any(is_it) {
            for held in path.held.iter_mut().filter(|held| is_it(held)) {
                held.count = 1;
            }
        }
        path.released.put(Released {
            lock: lock.clone(),
            points: points.clone(),
            any: released.any,
        });
        path.release(Released { lock, points, any: released.any });
    }
    let acquired: Vec<Sym> =
        effect.acquired.iter().filter_map(|lock| lock.substitute(bind)).collect();
    if !acquired.is_empty() {
        for held in &mut path.held {
            held.after.extend(acquired.iter().cloned());
        }
        for lock in acquired {
            path.acquired.put(lock);
        }
    }
    for held in effect.held.iter().filter(|held| !kept.contains(&&held.lock)) {
        let Some(lock) = held.lock.substitute(bind) else { continue };
        let after = held.after.iter().filter_map(|lock| lock.substitute(bind)).collect();
        let points = narrowed(&held.points, &held.lock, &lock, targets);
        path.acquire(Held { lock, after, points, ..held.clone() });
    }
    for handle in &effect.overwritten {
        // A variable of the callee's own is gone, and never was one of the caller's.
        if handle.as_ref().is_some_and(is_own_slot) {
            continue;
        }
        let handle = handle.as_ref().and_then(|handle| handle.substitute(bind));
        path.overwrite(handle.as_ref(), None);
    }
    for handle in &effect.joined {
        if let Some(handle) = handle.substitute(bind) {
            path.join_thread(&handle);
        }
    }
    for value in &effect.joined_values {
        if let Some(value) = value.substitute(bind) {
            path.join_value(&value);
        }
    }
    for range in &effect.joined_ranges {
        if let Some(range) = bind_range(range, bind) {
            path.join_range(&range, |_| false);
        }
    }
    if !effect.threads.is_empty() {
        add(path);
        path.held.keep_items(|held| !held.lock.mentions(&|atom| matches!(atom, Atom::Load(_))));
    }
}

/// What a caller has other words for, when these are the calls that lead to the callee.
pub fn renamed_parts(callers: &[CallSite]) -> Parts {
    match callers {
        [] => Parts::NAMED,
        _ => Parts::NAMED.and(Parts::OPEN_CHAIN),
    }
}

/// Adds a callee's threads to the caller's.
pub fn add_threads(
    there: &mut Lives,
    others: &Lives,
    callers: &[CallSite],
    bind: &impl Fn(&Atom) -> Option<Sym>,
) {
    let renamed = |id: &CreateId, live: &Live| (id.called_from(callers), bound(live, bind));
    there.add(others, renamed_parts(callers), renamed, created_again);
}

/// What a callee knows of threads, in the caller's words.
fn bound(live: &Live, bind: &impl Fn(&Atom) -> Option<Sym>) -> Live {
    Live {
        handle: live.handle.as_ref().and_then(|handle| handle.substitute(bind)),
        value: live.value.as_ref().and_then(|value| value.substitute(bind)),
        argument: live.argument.as_ref().and_then(|argument| argument.substitute(bind)),
        range: live.range.as_ref().and_then(|range| bind_range(range, bind)).map(Arc::new),
        ..live.clone()
    }
}

/// A call that has started threads before starts them again.
fn created_again(known: &Live, new: &Live) -> Option<Live> {
    if new.ended {
        return None;
    }
    if known.ended {
        return Some(new.clone());
    }
    let mut both = known.clone();
    both.add(new);
    // An array's places are written again; a container has room for more.
    let more = new.range.as_ref().filter(|range| range.is_container());
    both.range = both.range.take().filter(|old| new.range.is_none() || more == Some(old));
    both.another(new);
    Some(both)
}

/// What the callee holds again in the end of what it has released.
fn taken_again<'a>(released: &Released, effect: &'a Path) -> Option<&'a Held> {
    let name = released.lock.as_ref().filter(|_| !released.any)?;
    effect.held.iter().find(|held| held.lock == *name)
}

/// The callee has released a lock and taken it again, as in waiting for a condition: a lock that the
/// caller holds and that may be this one is still held, be it this one or another. Whether there is
/// such a lock.
fn waited(path: &mut Path, released: &Released, again: &Held) -> bool {
    if !path.held.iter().any(|held| released.may_be(held)) {
        return false;
    }
    for held in &mut path.held {
        if released.may_be(held) {
            held.after.clear();
            held.mode = held.mode.min(again.mode);
            held.count = 1;
        } else if let Some(lock) = &released.lock {
            held.after.insert(lock.clone());
        }
    }
    true
}

/// Where the lock may be that the callee names by `inner` and the caller by `lock`.
fn narrowed(
    points: &Arc<[Location]>,
    inner: &Sym,
    lock: &Sym,
    targets: &Targets<'_>,
) -> Arc<[Location]> {
    // What the callee has found itself is known as well as it can be.
    let passed = matches!(inner.terms.as_slice(), [(Atom::Argument(LOCAL, _), 1)]);
    if !passed || points.len() == 1 {
        return points.clone();
    }
    match targets(lock) {
        Some(found) if points.is_empty() || found.len() < points.len() => found.into(),
        _ => points.clone(),
    }
}

fn is_own_slot(place: &Sym) -> bool {
    place.terms.iter().any(|(atom, scale)| *scale == 1 && matches!(atom, Atom::Stack(LOCAL, _)))
}

fn bind_range(range: &HandleRange, bind: &impl Fn(&Atom) -> Option<Sym>) -> Option<HandleRange> {
    Some(HandleRange {
        first: range.first.substitute(bind)?,
        end: range.end.substitute(bind)?,
        stride: range.stride,
    })
}
