//! The race detector's core: clocks, locksets, memory state machines, condition-variable relations.
//!
//! Follows Jannesari, Bao, Pankratius and Tichy, *Helgrind+: An Efficient Dynamic Race Detector*
//! (IPDPS 2009), with a second, exact relation beside theirs:
//!
//! * the **hybrid** relation (the paper's): fork/join, condition variables, barriers, semaphores,
//!   once, atomics. Lock edges are left out; locksets stand in for them, so that two accesses
//!   which only the accident of lock order kept apart are still seen as parallel;
//! * the **full** happens-before relation: the same plus lock edges, minus the edges that only a
//!   signal would give (C11 and C++ order nothing by a signal alone, the mutex does).
//!
//! A conflicting pair that *full* leaves unordered is [`Certainty::Observed`]: it is a data race of
//! this very run, a proof. What only the hybrid state machine suspects is [`Certainty::Potential`].
//!
//! The crate does no IO and knows no ABI: the linked-in runtime, an offline trace reader and a
//! binary instrumenter all call the same functions.
//!
//! # Who owns what (threading)
//!
//! The core holds no lock and no global. Every structure is plain data, and the caller says who may
//! touch it:
//!
//! | structure | owner | locking the caller must give |
//! |---|---|---|
//! | [`ThreadState`] | its thread | none; other threads never look inside |
//! | [`Cell`] (16 bytes per 8-byte granule) | the shadow | [`Cell::read_is_known`] and [`Cell::write_is_known`] need none (two relaxed loads); everything else the granule's shard lock |
//! | [`StateTable`] | one per shadow shard | the same shard lock |
//! | [`LockObject`], [`SyncClock`], [`Barrier`], [`AtomicCell`], [`CondVar`] | one per object | the object's own lock (or its table shard's) |
//! | [`LocksetTable`] | one per process | a lock of its own; taken only when a thread meets a new combination of locks (each thread caches its own) or a location in a shared state is touched |
//! | [`Slots`] | one per process | a lock of its own; taken at thread start, end and join |
//!
//! No lock is shared by all threads on the way of a memory access: the same-segment check is
//! lock-free, the rest takes one shard lock, and [`World`] lets the caller take the lockset table's
//! lock only when a shared state asks for it.
//!
//! # What to inline
//!
//! [`Cell::read_is_known`], [`Cell::write_is_known`] and [`PackedAccess::matches`]: one shift and
//! one compare against [`ThreadState::tag`] per word. [`Engine::quick`] is the next step (no
//! allocation, no table) and is worth keeping out of line but in the same shard-lock region;
//! [`Engine::access`] is the complete one.
//!
//! # What it may miss
//!
//! * MSM-short and MSM-long keep one segment a location, so the *hybrid* relation may miss
//!   suspicions (section 4.2.5 of the paper); the full relation beside them misses none of the run.
//! * Slots of threads that ended without being joined are reused early only when more than
//!   [`Slots::new`]'s limit of them pile up; [`Slots::reused_early`] counts how often.
//! * See [`AtomicCell`] for release sequences with more than eight heads.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod access;
mod cell;
mod clock;
mod engine;
mod intern;
mod lockset;
mod machine;
mod offline;
mod slots;
mod state;
mod sync;
mod thread;

pub use access::{Access, ByteMask, Certainty, Conflict, Earlier, Kind, SiteId};
pub use cell::{Cell, PackedAccess};
pub use clock::{ClockPair, Epoch, SlotId, Time, VectorClock};
pub use engine::{Actor, Engine, Quick, World};
pub use lockset::{BUS_LOCK, LockId, LocksetId, LocksetTable, Mode};
pub use machine::{Candidates, Input, Machine, MachineKind, Outcome, Phase, step_long, step_short};
pub use offline::{Detector, Found, ObjectId};
pub use slots::Slots;
pub use state::{GranuleState, Record, StateId, StateTable};
pub use sync::atomic::{AtomicCell, Order};
pub use sync::barrier::Barrier;
pub use sync::condvar::{CondVar, Relation};
pub use sync::lock::{LockObject, Unlock};
pub use sync::plain::SyncClock;
pub use thread::{Held, ThreadId, ThreadState};
