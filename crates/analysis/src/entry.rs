//! The state that a function is entered in.

use crate::state::{Live, Path};
use crate::sym::{Atom, Frame, Sym};

/// What a callee keeps of the state at its call.
pub fn entry_state(mut state: Path) -> Path {
    state.released.clear();
    state.acquired.clear();
    state.overwritten.clear();
    state.facts.clear();
    state.escaped.clear();
    state.escaped_arguments.clear();
    state
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
    let affected = |live: &Live| {
        live.handle.as_ref().is_some_and(stale)
            || live.value.as_ref().is_some_and(stale)
            || live.argument.as_ref().is_some_and(stale)
            || live.range.as_ref().is_some_and(|range| stale(&range.first) || stale(&range.end))
    };
    if entry.threads.values().any(affected) {
        for live in entry.threads.values_mut() {
            live.handle = live.handle.take().filter(|handle| !stale(handle));
            live.value = live.value.take().filter(|value| !stale(value));
            if live.argument.as_ref().is_some_and(stale) {
                live.argument = None;
                live.current = true;
                live.repeated = true;
            }
            live.range =
                live.range.take().filter(|range| !(stale(&range.first) || stale(&range.end)));
        }
    }
    entry.joined.keep(|handle| !stale(handle));
    entry.joined_values.keep(|value| !stale(value));
}
