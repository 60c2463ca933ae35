//! What a new thread runs, and with which arguments.

use super::{Binding, Builder};
use crate::effects::Entry;
use crate::pointsto::CallSite;
use crate::pointsto::solve::{Node, Watch};
use crate::pointsto::tables::Only;

/// How far the deleting destructor lies before what a thread runs in its object's table.
const DELETING: u64 = 8;

impl Builder<'_> {
    pub(super) fn create(
        &mut self,
        place: CallSite,
        entry: &Entry,
        parameters: Vec<Option<Node>>,
        nodes: &[Option<Node>],
    ) {
        match entry {
            Entry::Argument(index) => {
                if let Some(target) = nodes.get(*index as usize).copied().flatten() {
                    self.watch_site(place, Binding::Entry { parameters }, target);
                }
            }
            Entry::Owned { argument, slot, class } => {
                let Some(owner) = nodes.get(*argument as usize).copied().flatten() else { return };
                let (object, table) = (self.solver.node(), self.solver.node());
                let (moved, target) = (self.solver.node(), self.solver.node());
                self.solver.watch(owner, Watch::Load { to: object, wide: false });
                self.solver.watch(object, Watch::Load { to: table, wide: false });
                let offset = *slot as i64;
                let of_class =
                    |offset| Only { slot: Some(offset), class: class.clone(), listed: false };
                self.solver.watch(table, Watch::Shift { to: moved, offset, stride: 0 });
                self.solver.watch(moved, Watch::Load { to: target, wide: false });
                let parameters = vec![Some(object)];
                let entry = Binding::Entry { parameters: parameters.clone() };
                self.watch_some(place, entry, target, of_class(*slot));
                // The thread deletes the object: the destructor that does comes just before.
                let (moved, target) = (self.solver.node(), self.solver.node());
                let before = slot.saturating_sub(DELETING);
                let offset = before as i64;
                self.solver.watch(table, Watch::Shift { to: moved, offset, stride: 0 });
                self.solver.watch(moved, Watch::Load { to: target, wide: false });
                self.watch_some(place, Binding::End { parameters }, target, of_class(before));
            }
        }
    }
}
