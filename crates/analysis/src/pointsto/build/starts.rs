//! What a new thread runs and with which arguments, and how addresses get around otherwise: through
//! descriptors, and byte by byte.

use racewarden_ir::{FunctionId, Op, Value};

use super::{Binding, Builder};
use crate::effects::{Effect, Entry, LOADED};
use crate::pointsto::solve::{Node, Watch};
use crate::pointsto::tables::Only;
use crate::pointsto::{CallSite, Location, ObjectKind};

/// How far the deleting destructor lies before what a thread runs in its object's table.
const DELETING: u64 = 8;

impl Builder<'_> {
    /// What is written to a descriptor may be read from any.
    pub(super) fn exchange(&mut self, effects: &[Effect], nodes: &[Option<Node>]) {
        let sends = effects.iter().any(|effect| matches!(effect, Effect::Send { .. }));
        let receives = effects.iter().any(|effect| matches!(effect, Effect::Receive { .. }));
        for effect in effects.iter().filter(|_| sends || receives) {
            let Effect::Access { pointer, write, .. } = effect else { continue };
            let Some(buffer) = nodes.get(*pointer as usize).copied().flatten() else { continue };
            if (*write && receives) || (!*write && sends) {
                self.pass_on(buffer, *write);
            }
        }
    }

    /// Addresses that are in the memory go to whoever gets them, or those that were sent come there.
    pub(super) fn pass_on(&mut self, buffer: Node, gives: bool) {
        let inside = self.anywhere(buffer);
        let watch = if gives {
            Watch::Store { from: self.sent, wide: true }
        } else {
            Watch::Load { to: self.sent, wide: true }
        };
        self.solver.watch(inside, watch);
    }

    /// Somewhere into what the node points to.
    pub(super) fn anywhere(&mut self, node: Node) -> Node {
        let inside = self.solver.node();
        self.solver.watch(node, Watch::Shift { to: inside, offset: 0, stride: 1 });
        inside
    }

    /// What is stored so many bytes into what the node points to.
    pub(super) fn loaded(&mut self, node: Node, bytes: u64) -> Node {
        let (place, found) = (self.solver.node(), self.solver.node());
        self.solver.watch(node, Watch::Shift { to: place, offset: bytes as i64, stride: 0 });
        self.solver.watch(place, Watch::Load { to: found, wide: false });
        found
    }

    /// What a callback gets of the call's arguments.
    pub(super) fn passed(&mut self, nodes: &[Option<Node>], passes: &[u32]) -> Vec<Option<Node>> {
        let of = |index: u32| nodes.get(index as usize).copied().flatten();
        let mut found = Vec::with_capacity(passes.len());
        for &index in passes {
            let loads = index & LOADED != 0 && index & !LOADED < LOADED >> 1;
            let node = of(if loads { index & !LOADED } else { index });
            found.push(node.map(|node| if loads { self.loaded(node, 0) } else { node }));
        }
        found
    }

    /// A byte that goes from one place to another may be one of an address.
    pub(super) fn copy_bytes(&mut self, f: FunctionId, address: &Value, value: &Value) {
        let Value::Inst(load) = value else { return };
        let Op::Load { address: from, size: 1, .. } =
            &self.program.module.function(f).inst(*load).op
        else {
            return;
        };
        if let (Some(to), Some(from)) = (self.node(f, address), self.node(f, from)) {
            self.solver.copy_memory(to, from, 0);
        }
    }

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

    /// The list leads to memory that holds every variadic argument.
    pub(super) fn variadic_start(&mut self, function: FunctionId, list: Node) {
        let object = self.solver.locations.object(ObjectKind::Variadic(function), 0);
        let location = self.solver.locations.intern(Location { object, offset: 0, stride: 1 });
        let cell = self.solver.cell_at(location, false);
        let extra = self.variadic(function);
        self.solver.edge(extra, cell);
        let from = self.constant(location);
        let any = self.solver.node();
        self.solver.watch(list, Watch::Shift { to: any, offset: 0, stride: 1 });
        self.solver.watch(any, Watch::Store { from, wide: false });
    }
}
