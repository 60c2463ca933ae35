//! Atomic objects and fences by C11 (5.1.2.4, 7.17.3, 7.17.4).
//!
//! An acquire load is ordered after every release operation whose release sequence it reads from.
//! A sequence goes on through read-modify-writes by anyone and through stores by the thread that
//! headed it (C11; C++20 dropped the latter, and what it drops is not called a race here). A
//! relaxed store after a release fence heads a sequence with the fence's clocks; a relaxed load
//! gives its clocks to the next acquire fence. `consume` is `acquire`, `seq_cst` adds nothing to
//! happens-before beyond `acq_rel`.
//!
//! Edges go into both relations. The caller performs the operation and calls this under one lock
//! per object, so that the order of calls is the modification order.
//!
//! What it may miss: the heads of a sequence are told apart for eight threads. If more threads than
//! that release into one object by read-modify-writes and one of the later ones then stores
//! plainly, the heads of all later ones are kept, which may order too much.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::clock::ClockPair;
use crate::thread::{ThreadId, ThreadState};

/// Heads of release sequences that are told apart.
const HEADS: usize = 8;

/// C11 memory orders.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Order {
    Relaxed,
    Consume,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

impl Order {
    pub fn acquires(self) -> bool {
        matches!(self, Self::Consume | Self::Acquire | Self::AcqRel | Self::SeqCst)
    }

    pub fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcqRel | Self::SeqCst)
    }
}

/// The release sequences that the present value of an atomic object belongs to.
#[derive(Clone, Default, Debug)]
pub struct AtomicCell {
    heads: Vec<(ThreadId, ClockPair)>,
    /// Heads beyond [`HEADS`], in one clock.
    rest: Option<Box<(Vec<ThreadId>, ClockPair)>>,
}

impl AtomicCell {
    pub const fn new() -> Self {
        Self { heads: Vec::new(), rest: None }
    }

    /// A load, or a compare-exchange that failed (with its failure order).
    pub fn load(&self, thread: &mut ThreadState, order: Order) {
        let rest = self.rest.as_deref().map(|(_, clocks)| clocks);
        let clocks = self.heads.iter().map(|(_, clocks)| clocks).chain(rest);
        if order.acquires() {
            clocks.for_each(|released| thread.clocks.join(released));
        } else {
            let pending = thread.pending_acquire.get_or_insert_default();
            clocks.for_each(|released| pending.join(released));
        }
    }

    /// A store that is not part of a read-modify-write.
    pub fn store(&mut self, thread: &mut ThreadState, order: Order) {
        self.heads.retain(|(head, _)| *head == thread.id());
        if self.rest.as_ref().is_some_and(|rest| !rest.0.contains(&thread.id())) {
            self.rest = None;
        }
        self.head(thread, order);
    }

    /// The writing half of a read-modify-write or of a compare-exchange that succeeded; its reading
    /// half is [`AtomicCell::load`] before it. The access itself belongs between the two: after
    /// what it acquires, before what it releases. (A store's access comes before [`Self::store`],
    /// a load's after [`Self::load`].)
    pub fn publish(&mut self, thread: &mut ThreadState, order: Order) {
        self.head(thread, order);
    }

    /// Adds the head that this thread's write begins, if it begins one.
    fn head(&mut self, thread: &mut ThreadState, order: Order) {
        let fenced;
        let clocks = if order.releases() {
            &thread.clocks
        } else if let Some(fence) = &thread.release_fence {
            fenced = fence.clone();
            &*fenced
        } else {
            return;
        };
        if let Some((_, own)) = self.heads.iter_mut().find(|(head, _)| *head == thread.id()) {
            own.join(clocks);
        } else if self.heads.len() < HEADS && self.rest.is_none() {
            self.heads.push((thread.id(), clocks.clone()));
        } else {
            let rest = self.rest.get_or_insert_default();
            if !rest.0.contains(&thread.id()) {
                rest.0.push(thread.id());
            }
            rest.1.join(clocks);
        }
        if order.releases() {
            thread.tick();
        }
    }

    /// `atomic_thread_fence`.
    pub fn fence(thread: &mut ThreadState, order: Order) {
        if order.acquires()
            && let Some(pending) = thread.pending_acquire.take()
        {
            thread.clocks.join(&pending);
        }
        if order.releases() {
            thread.release_fence = Some(Box::new(thread.clocks.clone()));
            thread.tick();
        }
    }
}
