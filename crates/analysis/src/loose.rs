//! Objects that other threads may come to know by an atomic access that orders nothing.
//!
//! What a thread does to an object before it publishes it is ordered before everyone who finds the
//! object there: the place where it is published is either synchronised, or races itself and is a
//! candidate. The exception is an atomic access of too weak an order. It does not race, and whoever
//! follows the pointer may still see the object as it was before it was filled in. So for the objects
//! found here, and all that they lead to, not being known yet excludes nothing.
//!
//! Fences are not looked at: a relaxed store after a release fence counts as weak, too.

use racewarden_ir::{Op, Program, Value};
use rustc_hash::FxHashSet;

use crate::pointsto::{ObjectId, PointsTo};

/// Bytes of the smallest access that can hold a pointer.
const POINTER: u64 = 8;

pub fn loosely_published(program: &Program, points: &PointsTo) -> FxHashSet<ObjectId> {
    let mut found = FxHashSet::default();
    let mut open: Vec<ObjectId> = Vec::new();
    for id in program.module.function_ids() {
        let function = program.module.function(id);
        let weak = function.instructions.iter().filter_map(|inst| weak_place(&inst.op));
        for address in weak {
            let places = points.value(program, id, address);
            open.extend(points.contents(&places).iter().map(|location| location.object));
        }
    }
    while let Some(object) = open.pop() {
        if found.insert(object) {
            open.extend(points.successors(object));
        }
    }
    found
}

/// Where an access that may pass a pointer on without order has its memory.
fn weak_place(op: &Op) -> Option<&Value> {
    let (address, size, strong) = match op {
        Op::Load { address, size, order: Some(order), .. } => (address, size, order.acquires()),
        Op::Store { address, size, order: Some(order), .. } => (address, size, order.releases()),
        Op::AtomicRmw { address, size, order, .. } => {
            (address, size, order.acquires() && order.releases())
        }
        Op::CompareExchange { address, size, success, failure, .. } => {
            let both = success.acquires() && success.releases();
            (address, size, both && failure.acquires())
        }
        _ => return None,
    };
    (!strong && *size >= POINTER).then_some(address)
}
