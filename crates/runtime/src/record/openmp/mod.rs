//! OpenMP: the order that LLVM's runtime promises.
//!
//! libomp is not instrumented, and what it waits by is its own. But it tells tools what its threads
//! do (the OMPT interface of the standard): `tool` registers as such a tool and writes down regions,
//! barriers and tasks. What OMPT tells too late or not at all (a lock is told to be free when the
//! next thread may have it already) is taken at the calls that the compiler makes: `calls`.
//!
//! The first thing that is written down when libomp starts says that all this is there
//! (`OPENMP_TELLS`): a recording of a program with parallel regions that lacks it, because the tool
//! interface was disabled or the runtime has none, gives no predictions.
//!
//! What it may miss: regions offloaded to devices.

mod calls;
mod tool;

use racewarden_trace::binary::SyncOp;

use super::threads::sync;

/// What is handed over, as an object that no lock has the address of.
#[derive(Clone, Copy)]
#[repr(u64)]
enum Channel {
    TeamStart = 1,
    TeamEnd = 2,
    Barrier = 3,
    /// Tasks of a team that are done.
    TeamTasks = 4,
    /// A task that was made.
    Task = 5,
    /// Tasks that are done, for the one that made them.
    Children = 6,
    /// Tasks that are done, for their group.
    Group = 7,
    /// A task that is not running, to whoever goes on with it.
    Suspended = 8,
    Single = 9,
    /// What depends on a variable: those that write it, and those that only read it.
    Written = 10,
    Read = 11,
    Depending = 12,
    Ordered = 13,
    Iterations = 14,
    Chunks = 15,
    Reduced = 16,
    ReductionEnd = 17,
    Unknown = 18,
}

/// The object for a channel, of one team or task, and of one of its uses.
fn object(channel: Channel, of: u32, number: u32) -> u64 {
    (7 << 61) | (channel as u64) << 56 | u64::from(of) << 24 | u64::from(number) & 0xff_ffff
}

/// A variable that tasks depend on.
fn dependence(channel: Channel, address: u64) -> u64 {
    (7 << 61) | (channel as u64) << 56 | address & ((1 << 56) - 1)
}

/// What is put keeps its order.
fn put(object: u64) {
    sync(SyncOp::Put, object, 0);
}

/// What is put comes before what is got later; several keep no order among themselves.
fn put_beside(object: u64) {
    sync(SyncOp::Put, object, racewarden_trace::binary::BESIDE);
}

fn got(object: u64) {
    sync(SyncOp::Got, object, 0);
}
