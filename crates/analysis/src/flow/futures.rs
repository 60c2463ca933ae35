//! Calls that tell what becomes of the thread that a future stands for (see
//! [`crate::futures`]).

use std::sync::Arc;

use racewarden_ir::{FunctionId, Value};

use super::Flow;
use crate::futures::Role;
use crate::lives::Parts;
use crate::state::{Live, Path, joined};
use crate::summary::CallKind;
use crate::sym::{Atom, LOCAL, Sym};

impl Flow<'_> {
    /// What the function means for futures, unless it is called by one whose own meaning says it.
    pub(super) fn future_role(&self, target: FunctionId) -> Option<Role> {
        let role = self.env.effects.future_role(target)?;
        self.env.effects.future_role(self.id).is_none().then_some(role)
    }

    pub(super) fn call_future(
        &mut self,
        inst: u32,
        (target, role): (FunctionId, Role),
        arguments: &[Value],
        paths: &mut Vec<Path>,
    ) {
        let syms: Vec<Option<Sym>> = arguments.iter().map(|a| self.sym(a)).collect();
        if let Role::Awaits(future) = role
            && let Some(Some(place)) = syms.get(future as usize)
        {
            paths.iter_mut().for_each(|path| path.join_thread(place));
            // What the call does, it does when it has waited.
            if self.recording.is_some()
                && let Some(state) = joined(paths)
            {
                self.recording = Some(Arc::new(state));
            }
        }
        self.apply(inst, target, syms.clone(), CallKind::Plain, paths);
        match role {
            Role::Moves => {
                if let [to, from, ..] = arguments {
                    self.move_handle(inst, (to, from), false, paths);
                }
            }
            Role::Disturbs => {
                for place in syms.iter().flatten() {
                    paths.iter_mut().for_each(|path| path.overwrite(Some(place), None));
                }
            }
            Role::Awaits(_) | Role::Starts => {}
        }
    }
}

/// The thread that was started is known to the caller by the future that it gets. The library starts
/// one for each call, or none.
pub(super) fn name_started(path: &mut Path) {
    let place = Sym::atom(Atom::Argument(LOCAL, 0));
    // Handles move only within the state that nobody else knows.
    path.leave_elements();
    path.overwrite(Some(&place), None);
    if path.threads.len() != 1 {
        return;
    }
    path.threads.revise(Parts::ANY, |_, live| {
        let one = !live.many && !live.ended;
        one.then(|| Live { handle: Some(place.clone()), ..live.clone() })
    });
}
