//! The order of the summaries (RELAY 4.1): a component of the call graph is solved as soon as all
//! that it calls is, on whichever thread is free.
//!
//! What a component's solution is depends on its callees' alone, so the result is the same
//! whatever the number of threads and however they are scheduled.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use racewarden_ir::FunctionId;
use rayon::Scope;

/// Results by function, each there once its component is solved.
pub type Done<T> = [OnceLock<T>];

struct Work<'a, T, S> {
    components: &'a [&'a [FunctionId]],
    /// Components that call this one.
    callers: Vec<Vec<u32>>,
    /// How many components that this one calls are not solved yet.
    waiting: Vec<AtomicU32>,
    done: &'a Done<T>,
    solve: &'a S,
}

/// Solves all components, callees first. `callees` is by function; `solve` gives the results of a
/// component's functions and finds those of its callees in `Done`.
pub fn bottom_up<T, S>(
    components: &[&[FunctionId]],
    callees: &[Vec<FunctionId>],
    solve: &S,
) -> Vec<Option<T>>
where
    T: Send + Sync,
    S: Fn(&[FunctionId], &Done<T>) -> Vec<(FunctionId, T)> + Sync,
{
    let mut done: Vec<OnceLock<T>> = Vec::new();
    done.resize_with(callees.len(), OnceLock::new);
    let mut component_of = vec![u32::MAX; callees.len()];
    for (index, component) in (0u32..).zip(components) {
        for member in *component {
            component_of[member.index()] = index;
        }
    }
    let mut callers = vec![Vec::new(); components.len()];
    let mut ready = Vec::new();
    let mut waiting = Vec::with_capacity(components.len());
    for (index, component) in (0u32..).zip(components) {
        let mut needed: Vec<u32> = component
            .iter()
            .flat_map(|member| &callees[member.index()])
            .map(|callee| component_of[callee.index()])
            .filter(|&other| other != index && other != u32::MAX)
            .collect();
        needed.sort_unstable();
        needed.dedup();
        for &other in &needed {
            callers[other as usize].push(index);
        }
        if needed.is_empty() {
            ready.push(index);
        }
        waiting.push(AtomicU32::new(needed.len() as u32));
    }
    let work = Work { components, callers, waiting, done: &done, solve };
    rayon::scope(|scope| {
        for index in ready {
            let work = &work;
            scope.spawn(move |scope| work.run(index, scope));
        }
    });
    done.into_iter().map(OnceLock::into_inner).collect()
}

impl<'a, T, S> Work<'a, T, S>
where
    T: Send + Sync,
    S: Fn(&[FunctionId], &Done<T>) -> Vec<(FunctionId, T)> + Sync,
{
    /// Solves a component and goes on with a caller that waited for it only; others that did are
    /// left to whoever is free.
    fn run<'s>(&'s self, first: u32, scope: &Scope<'s>) {
        let mut next = Some(first);
        while let Some(index) = next.take() {
            for (member, result) in (self.solve)(self.components[index as usize], self.done) {
                // A function is in one component only: nobody else has set it.
                let _ = self.done[member.index()].set(result);
            }
            for &caller in &self.callers[index as usize] {
                if self.waiting[caller as usize].fetch_sub(1, Ordering::AcqRel) == 1 {
                    match next {
                        None => next = Some(caller),
                        Some(_) => scope.spawn(move |scope| self.run(caller, scope)),
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each function's result is one more than the sum of its callees': a callee that was not
    /// there in time would show.
    #[test]
    fn callees_are_there_before_their_callers() {
        let count = 400u32;
        let callees: Vec<Vec<FunctionId>> = (0..count)
            .map(|id| [id / 2, id / 3].into_iter().filter(|&to| to < id).map(FunctionId).collect())
            .collect();
        let functions: Vec<FunctionId> = (0..count).map(FunctionId).collect();
        let components: Vec<&[FunctionId]> = functions.chunks(1).collect();
        let solve = |component: &[FunctionId], done: &Done<u64>| {
            let id = component[0];
            let below: u64 = callees[id.index()]
                .iter()
                .map(|callee| *done[callee.index()].get().expect("solved before"))
                .fold(0, u64::wrapping_add);
            vec![(id, below.wrapping_add(1))]
        };
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.expect("a pool").install(|| bottom_up(&components, &callees, &solve))
        };
        let alone = run(1);
        assert!(alone.iter().all(Option::is_some));
        assert_eq!(alone, run(4));
    }
}
