//! What libstdc++'s own functions do to the nodes of trees and lists.
//!
//! The instrumenter calls these right before the library's functions, with the same arguments. Only links
//! that the function is certain to read or write are told, by what the nodes hold at that moment.

use super::engine::{Guard, Kind, check_range, enter};
use crate::common::tls;
use crate::interceptor;

/// Where a field stands in a node.
#[derive(Clone, Copy)]
struct Field(usize);

// A tree's node, which begins with its color, and its header: parent is the root, left the first node, right
// the last.
const PARENT: Field = Field(8);
const LEFT: Field = Field(16);
const RIGHT: Field = Field(24);
const RED: usize = 0;

// A list's node.
const NEXT: Field = Field(0);
const PREVIOUS: Field = Field(8);

const POINTER: usize = 8;
const COLOR_SIZE: usize = 4;

/// A damaged structure must not keep a thread here for ever.
const MOST_STEPS: usize = 128;

/// One call of the library's.
struct Call {
    thread: Guard,
    pc: usize,
}

impl Call {
    fn begin(pc: usize) -> Option<Call> {
        enter().map(|thread| Call { thread, pc })
    }

    fn check(&mut self, address: usize, size: usize, kind: Kind) {
        check_range(&mut self.thread, address, size, kind, self.pc);
    }

    fn write(&mut self, node: usize, field: Field) {
        self.check(node + field.0, POINTER, Kind::WRITE);
    }

    /// The field's value, which the library is about to read as well.
    ///
    /// # Safety
    /// The library follows the same pointer.
    unsafe fn read(&mut self, node: usize, field: Field) -> usize {
        self.check(node + field.0, POINTER, Kind::READ);
        // SAFETY: as the caller says; another thread may be changing it, which is what is looked for.
        unsafe { std::ptr::read_volatile((node + field.0) as *const usize) }
    }
}

interceptor! {
    fn __racewarden_tree_insert(left: bool, node: usize, parent: usize, header: usize) {
        let Some(mut call) = Call::begin(tls::caller()) else { return };
        call.check(node, COLOR_SIZE, Kind::WRITE);
        call.check(node + PARENT.0, 3 * POINTER, Kind::WRITE);
        call.write(parent, if left { LEFT } else { RIGHT });
        if parent == header {
            call.write(header, PARENT);
            call.write(header, RIGHT);
            return;
        }
        let end = if left { LEFT } else { RIGHT };
        if call.read(header, end) == parent {
            call.write(header, end);
        }
        call.read(header, PARENT);
        call.check(parent, COLOR_SIZE, Kind::READ);
    }
    fn __racewarden_tree_erase(node: usize, header: usize) {
        let Some(mut call) = Call::begin(tls::caller()) else { return };
        let (left, right) = (call.read(node, LEFT), call.read(node, RIGHT));
        let parent = call.read(node, PARENT);
        let root = call.read(header, PARENT);
        if root == node {
            call.write(header, PARENT);
        } else {
            let side = if call.read(parent, LEFT) == node { LEFT } else { RIGHT };
            call.write(parent, side);
        }
        if left != 0 && right != 0 {
            // Both children get another parent; the next node takes this one's place.
            call.write(left, PARENT);
            let next = call.last(right, LEFT);
            call.write(next, PARENT);
            call.write(next, LEFT);
            return;
        }
        if left + right != 0 {
            call.write(left + right, PARENT);
        }
        for end in [LEFT, RIGHT] {
            if call.read(header, end) == node {
                call.write(header, end);
            }
        }
    }
    fn __racewarden_tree_next(node: usize) -> usize {
        if let Some(mut call) = Call::begin(tls::caller()) {
            call.step(node, RIGHT, LEFT);
        }
        0
    }
    fn __racewarden_tree_previous(node: usize) -> usize {
        let Some(mut call) = Call::begin(tls::caller()) else { return 0 };
        call.check(node, COLOR_SIZE, Kind::READ);
        // The end is a red node that is its parent's parent.
        let color = std::ptr::read_volatile(node as *const u32) as usize;
        let is_end = color == RED && {
            let parent = call.read(node, PARENT);
            parent != 0 && call.read(parent, PARENT) == node
        };
        if is_end {
            call.read(node, RIGHT);
        } else {
            call.step(node, LEFT, RIGHT);
        }
        0
    }
    fn __racewarden_list_hook(node: usize, position: usize) {
        let Some(mut call) = Call::begin(tls::caller()) else { return };
        call.check(node, 2 * POINTER, Kind::WRITE);
        let before = call.read(position, PREVIOUS);
        call.write(before, NEXT);
        call.write(position, PREVIOUS);
    }
    fn __racewarden_list_unhook(node: usize) {
        let Some(mut call) = Call::begin(tls::caller()) else { return };
        let (next, previous) = (call.read(node, NEXT), call.read(node, PREVIOUS));
        call.write(previous, NEXT);
        call.write(next, PREVIOUS);
    }
    fn __racewarden_list_transfer(position: usize, first: usize, last: usize) {
        let Some(mut call) = Call::begin(tls::caller()) else { return };
        if position == last {
            return;
        }
        for node in [last, first, position] {
            let before = call.read(node, PREVIOUS);
            call.write(before, NEXT);
            call.write(node, PREVIOUS);
        }
    }
}

impl Call {
    /// The last node along one side.
    ///
    /// # Safety
    /// The library goes down the same way.
    unsafe fn last(&mut self, mut node: usize, side: Field) -> usize {
        for _ in 0..MOST_STEPS {
            // SAFETY: as the caller says.
            match unsafe { self.read(node, side) } {
                0 => break,
                further => node = further,
            }
        }
        node
    }

    /// The way to the node after this one; `toward` is the side of what comes after.
    ///
    /// # Safety
    /// The library goes the same way.
    unsafe fn step(&mut self, mut node: usize, toward: Field, away: Field) {
        // SAFETY: as the caller says, here and below.
        let child = unsafe { self.read(node, toward) };
        if child != 0 {
            // SAFETY: see above.
            unsafe { self.last(child, away) };
            return;
        }
        for _ in 0..MOST_STEPS {
            // SAFETY: see above.
            let parent = unsafe { self.read(node, PARENT) };
            // SAFETY: see above.
            if parent == 0 || unsafe { self.read(parent, toward) } != node {
                return;
            }
            node = parent;
        }
    }
}
