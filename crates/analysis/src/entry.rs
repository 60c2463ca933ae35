//! The state that a function is entered in.

use std::sync::Arc;

use racewarden_ir::FunctionId;

use crate::lives::Parts;
use crate::state::{HandleRange, Live, Path};
use crate::summary::Summary;
use crate::sym::{Atom, Frame, Sym};

/// What a callee keeps of the state at its call.
pub fn entry_state(mut state: Path) -> Path {
    state.released.clear();
    state.acquired.clear();
    state.overwritten.clear();
    state.facts.clear();
    state.escaped.clear();
    state.escaped_arguments.clear();
    // What was waited for shows in the threads; nobody asks later by which handle it was, but for
    // those that are known by their place.
    state.joined_values.clear();
    state.joined_ranges.clear();
    state
}

/// Leaves out by which handles threads can be waited for: nobody waits any more.
pub fn without_handles(state: &mut Path) {
    let handles = Parts::HANDLE.and(Parts::VALUE).and(Parts::RANGE);
    state.threads.revise(handles, |_, live| {
        let (handle, value, range, loose) = (None, None, None, false);
        Some(Live { handle, value, range, loose, ..live.clone() })
    });
}

/// Which functions wait for threads that they have not started themselves, or call one that does.
pub struct Joins(Vec<bool>);

impl Joins {
    pub fn new(summaries: &[Arc<Summary>]) -> Self {
        let mut may: Vec<bool> = summaries.iter().map(|summary| waits(summary)).collect();
        let mut callers: Vec<Vec<u32>> = vec![Vec::new(); summaries.len()];
        for (caller, summary) in (0u32..).zip(summaries) {
            for call in &summary.calls {
                callers[call.callee.index()].push(caller);
            }
        }
        let mut queue: Vec<usize> = (0..may.len()).filter(|function| may[*function]).collect();
        while let Some(function) = queue.pop() {
            for caller in &callers[function] {
                if !std::mem::replace(&mut may[*caller as usize], true) {
                    queue.push(*caller as usize);
                }
            }
        }
        Joins(may)
    }

    /// By function.
    pub fn all(&self) -> &[bool] {
        &self.0
    }

    pub fn may(&self, function: FunctionId) -> bool {
        self.0.get(function.index()).is_none_or(|may| *may)
    }
}

/// Whether a state of the function says that something was waited for.
fn waits(summary: &Summary) -> bool {
    let joined = |state: &Path| {
        !(state.joined.is_empty()
            && state.joined_values.is_empty()
            && state.joined_ranges.is_empty())
    };
    summary.exits.iter().any(|exit| joined(&exit.path))
        || summary.accesses.iter().any(|access| joined(&access.state))
        || summary.calls.iter().any(|call| joined(&call.state))
        || summary.creates.iter().any(|create| joined(&create.state))
}

/// Names of the frame that is entered again stand for the new activation from now on.
pub fn purge(arguments: &mut [Option<Sym>], entry: &mut Path, frame: Frame) {
    let stale = |sym: &Sym| {
        sym.mentions(&|atom| {
            matches!(
                atom,
                Atom::Argument(f, _) | Atom::Inst(f, _) | Atom::Stack(f, _) if *f == frame
            )
        })
    };
    for argument in arguments.iter_mut() {
        if argument.as_ref().is_some_and(stale) {
            *argument = None;
        }
    }
    entry.held.keep_items(|held| !stale(&held.lock));
    if entry.held.iter().any(|held| held.after.iter().any(stale)) {
        for held in &mut entry.held {
            held.after.retain(|lock| !stale(lock));
        }
    }
    let stale_range = |range: &HandleRange| stale(&range.first) || stale(&range.end);
    let affected = |live: &Live| {
        live.handle.as_ref().is_some_and(stale)
            || live.value.as_ref().is_some_and(stale)
            || live.argument.as_ref().is_some_and(stale)
            || live.range.as_deref().is_some_and(stale_range)
    };
    entry.threads.revise(Parts::NAMED, |_, live| {
        let mut live = Some(live).filter(|live| affected(live))?.clone();
        live.handle = live.handle.filter(|handle| !stale(handle));
        live.value = live.value.filter(|value| !stale(value));
        if live.argument.as_ref().is_some_and(stale) {
            live.argument = None;
            live.current = true;
            live.repeated = true;
        }
        live.range = live.range.filter(|range| !stale_range(range));
        Some(live)
    });
    entry.joined.keep(|handle| !stale(handle));
    entry.joined_values.keep(|value| !stale(value));
}
