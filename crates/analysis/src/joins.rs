//! Which threads have certainly been waited for at an access: by its own thread, by a handle that is
//! known exactly, or by a thread that was itself waited for.

use std::sync::Arc;

use crate::contexts::{ContextId, GuardedAccess};
use crate::digests::Whole;
use crate::state::{CreateId, Path};
use crate::sym::Sym;
use crate::threads::{MAIN, RootId, RootSet, Standing};

impl Whole<'_> {
    /// All that [`ThreadOrder`] looks at; `alive` is what
    /// [`Threads::all_alive`](crate::threads::Threads::all_alive) says of its state.
    pub fn standing(&self, access: &GuardedAccess, alive: Arc<RootSet>) -> Standing {
        let mut joined: Vec<RootId> = if access.state.joined.is_empty() {
            Vec::new()
        } else {
            let certain =
                |other: &RootId| !alive.contains(*other) && self.has_joined(&access.state, *other);
            self.roots().filter(certain).collect()
        };
        self.add_waited(&access.state, &mut joined);
        Standing { root: access.root, alive, joined }
    }

    fn roots(&self) -> std::ops::Range<RootId> {
        0..self.instantiation.threads.roots.len() as RootId
    }

    /// Whether the only thread of the root was certainly waited for in this state.
    fn has_joined(&self, state: &Path, other: RootId) -> bool {
        let root = self.root(other);
        !root.many
            && root.births.len() == 1
            && state.joined.iter().any(|handle| {
                self.is_invariant(handle)
                    && self.handle_of(other).is_some_and(|known| known == *handle)
                    && self.is_only_handle(handle, other)
            })
    }

    /// The threads that were there when this one was created and that it has waited for wherever it
    /// ends: they have ended for whoever waits for it.
    pub(crate) fn waited_by(&self, root: RootId) -> Vec<RootId> {
        let own = self.root(root);
        let [(_, birth)] = own.births.as_slice() else { return Vec::new() };
        if own.many
            || own.ends_anywhere
            || own.ends.is_empty()
            || self.instantiation.effects.cancels
        {
            return Vec::new();
        }
        if own.ends.iter().any(|end| end.joined.is_empty()) {
            return Vec::new();
        }
        let threads = &self.instantiation.threads;
        let certain = |other: &RootId| {
            *other != root
                && threads.is_alive(birth, *other)
                && own.ends.iter().all(|end| self.has_joined(end, *other))
        };
        self.roots().filter(certain).collect()
    }

    /// Adds those that threads have waited for which were waited for themselves.
    fn add_waited(&self, state: &Path, joined: &mut Vec<RootId>) {
        if self.waited.iter().all(Vec::is_empty) {
            return;
        }
        let threads = &self.instantiation.threads;
        let is_over = |root: RootId| {
            joined.contains(&root) || threads.live_entry(state, root).is_some_and(|live| live.ended)
        };
        let mut open: Vec<RootId> = self.roots().filter(|root| is_over(*root)).collect();
        while let Some(root) = open.pop() {
            for &other in &self.waited[root as usize] {
                if !joined.contains(&other) {
                    joined.push(other);
                    open.push(other);
                }
            }
        }
        joined.sort_unstable();
    }

    /// Whether no other thread's handle may be stored in the same place.
    fn is_only_handle(&self, handle: &Sym, owner: RootId) -> bool {
        (0..self.instantiation.threads.roots.len() as RootId)
            .filter(|&root| root != owner && root != MAIN)
            .all(|root| self.handle_of(root).is_some_and(|other| other != *handle))
    }

    fn handle_of(&self, root: RootId) -> Option<Sym> {
        self.handles[root as usize].clone()
    }

    pub(crate) fn find_handle(&self, root: RootId) -> Option<Sym> {
        let create = self.root(root).create.as_ref()?;
        let instantiation = self.instantiation;
        let summary = &instantiation.summaries[create.site.0.index()];
        let record = summary.creates.iter().find(|record| record.inst == create.site.1)?;
        let mut found = None;
        for (id, context) in instantiation.contexts.iter().enumerate() {
            if context.function != create.site.0
                || CreateId::new(create.site).called_from(&context.chain) != *create
            {
                continue;
            }
            let handle = record
                .handle
                .as_ref()?
                .substitute(&|atom| instantiation.bind(id as ContextId, atom))?;
            if found.is_some() || !self.is_invariant(&handle) {
                return None;
            }
            found = Some(handle);
        }
        found
    }
}
