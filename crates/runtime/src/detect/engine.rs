//! What the entry points and interceptors call: the thread's state, guarded, and the operations
//! on it.
//!
//! A [`Guard`] marks that the thread is inside the runtime. Inside, interceptors pass straight
//! through to the C library and asynchronous signals wait, so the runtime never meets itself half
//! way through a change.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

use super::access::{self, Access};
use super::clock::Clocks;
use super::thread::REGISTRY;
pub use super::thread::Thread;
use super::{cell, intern, options, report, shadow, signals, step, sync};
use crate::common::futex::raw_syscall;
use crate::common::tls;

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Kind(pub u8);

impl Kind {
    pub const READ: Kind = Kind(0);
    pub const WRITE: Kind = Kind(1);
    /// Giving memory back: conflicts with every access, as a write does.
    pub const FREE: Kind = Kind(3);
    pub const ATOMIC_READ: Kind = Kind(4);
    pub const ATOMIC_WRITE: Kind = Kind(5);

    pub fn is_write(self) -> bool {
        self.0 & 1 != 0
    }

    pub fn is_atomic(self) -> bool {
        self.0 & 4 != 0
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Relaxed,
    Acquire,
    Release,
    AcquireRelease,
}

impl Order {
    /// From the C11 numbering; sequential consistency transfers the same clocks as acq_rel.
    pub fn of(order: u32) -> Order {
        match order & 0x7fff {
            1 | 2 => Order::Acquire,
            3 => Order::Release,
            4 | 5 => Order::AcquireRelease,
            _ => Order::Relaxed,
        }
    }

    fn acquires(self) -> bool {
        matches!(self, Order::Acquire | Order::AcquireRelease)
    }

    fn releases(self) -> bool {
        matches!(self, Order::Release | Order::AcquireRelease)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum AtomicOp {
    Load,
    Store,
    Update,
    /// `likely` says whether a look just before promised success.
    Exchange {
        failure: Order,
        likely: bool,
    },
}

/// The calling thread, inside the runtime until dropped.
pub struct Guard {
    thread: &'static mut Thread,
}

impl Deref for Guard {
    type Target = Thread;

    fn deref(&self) -> &Thread {
        self.thread
    }
}

impl DerefMut for Guard {
    fn deref_mut(&mut self) -> &mut Thread {
        self.thread
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        tls::set_depth(0);
        if self.thread.signals.any() {
            signals::deliver_pending(self.thread);
        }
    }
}

/// Enters the runtime. `None` when the thread is not watched, or inside already.
#[inline]
pub fn enter() -> Option<Guard> {
    let thread = tls::state() as *mut Thread;
    if thread.is_null() || tls::depth() != 0 {
        return None;
    }
    tls::set_depth(1);
    // SAFETY: a thread's state is only reached from the thread itself, and the depth keeps a
    // second guard from being made.
    Some(Guard { thread: unsafe { &mut *thread } })
}

static INITIALIZED: AtomicBool = AtomicBool::new(false);

pub fn is_initialized() -> bool {
    INITIALIZED.load(Ordering::Relaxed)
}

/// Starts the runtime in the main thread; does nothing the second time.
pub fn initialize() {
    if INITIALIZED.swap(true, Ordering::Relaxed) {
        return;
    }
    tls::set_depth(1);
    super::intercept::memory::prepare();
    super::intercept::process::prepare();
    options::read();
    intern::initialize();
    sync::initialize();
    let main = REGISTRY.add_main();
    report::start();
    // SAFETY: just made, and this is its thread.
    unsafe {
        Thread::attach(main);
        options::seed_thread(&mut *main);
    }
    tls::set_depth(0);
}

extern "C" fn preinit(_argc: i32, _argv: usize, environment: usize) {
    options::set_environment(environment);
    initialize();
}

/// Runs before any constructor of any library, so that even those are watched.
#[used]
#[unsafe(link_section = ".preinit_array")]
static PREINIT: extern "C" fn(i32, usize, usize) = preinit;

pub fn yield_now() {
    // SAFETY: has no arguments.
    unsafe { raw_syscall(libc::SYS_sched_yield, 0, 0, 0, 0, 0, 0) };
}

/// Checks every granule of the range, with the bytes of it that are accessed.
pub fn check_range(thread: &mut Thread, address: usize, size: usize, kind: Kind, pc: usize) {
    let ignored = if kind.is_write() { thread.ignore_writes } else { thread.ignore_reads };
    // No program has that much memory: a wild size, and the access itself will tell.
    if ignored > 0 || size > 1 << 46 {
        return;
    }
    let end = address.wrapping_add(size);
    let mut at = address;
    // What has no room in a cell is checked in full.
    let site = cell::site_bits(thread.site(pc));
    let cell_now =
        |thread: &Thread| site.and_then(|site| Some(access::cell_of(thread, kind)? | site));
    let mut cell = cell_now(thread);
    while at < end {
        let Some(granule) = shadow::granule(at) else { return };
        if let Some(new) = cell
            && at & 7 == 0
            && end - at >= 32
        {
            let first = granule.index();
            let last = (first + (end - at) / 8).min(shadow::GRANULES);
            let stop = access::sweep(thread, granule.chunk, first..last, new);
            at += (stop - first) * 8;
            if stop == last {
                continue;
            }
        }
        let next = ((at & !7) + 8).min(end);
        let mask = ((1u64 << (next - at)) - 1) << (at & 7);
        let access = Access {
            mask,
            write: kind.is_write(),
            atomic: kind.is_atomic(),
            pc,
            address: at,
            kind,
        };
        // After a stop of the sweep, too: the granule that it stopped at.
        if let Some(granule) = shadow::granule(at) {
            cell = cell.or_else(|| cell_now(thread));
            access::check(thread, granule, cell.map(|cell| cell | mask), &access);
        }
        at = next;
    }
}

#[inline]
pub fn function_entry(call_site: usize, callee: usize) {
    let thread = tls::state() as *mut Thread;
    if !thread.is_null() {
        // SAFETY: the thread's own state; call stacks are not touched inside the runtime.
        unsafe { (*thread).enter_function(call_site, callee) };
    }
}

#[inline]
pub fn function_exit() {
    let thread = tls::state() as *mut Thread;
    if !thread.is_null() {
        // SAFETY: the thread's own state; call stacks are not touched inside the runtime.
        unsafe { (*thread).exit_function() };
    }
}

fn count(counter: &mut u32, on: bool) {
    *counter = if on { *counter + 1 } else { counter.saturating_sub(1) };
}

pub fn ignore_all(on: bool) {
    if let Some(mut thread) = enter() {
        count(&mut thread.ignore_reads, on);
        count(&mut thread.ignore_writes, on);
        count(&mut thread.ignore_sync, on);
    }
}

/// Replaces how often reads, writes and synchronisation are to be ignored, and returns what it was.
pub fn ignored((reads, writes, sync): (u32, u32, u32)) -> (u32, u32, u32) {
    use std::mem::replace;
    enter().map_or((reads, writes, sync), |mut thread| {
        (
            replace(&mut thread.ignore_reads, reads),
            replace(&mut thread.ignore_writes, writes),
            replace(&mut thread.ignore_sync, sync),
        )
    })
}

pub fn ignore_reads(on: bool) {
    if let Some(mut thread) = enter() {
        count(&mut thread.ignore_reads, on);
    }
}

pub fn ignore_writes(on: bool) {
    if let Some(mut thread) = enter() {
        count(&mut thread.ignore_writes, on);
    }
}

pub fn ignore_sync(on: bool) {
    if let Some(mut thread) = enter() {
        count(&mut thread.ignore_sync, on);
    }
}

/// An order that the program relies on: everything before, in this thread, comes before whatever
/// follows an [`acquire`] of the same address.
pub fn release(address: usize) {
    if let Some(mut thread) = enter() {
        release_in(&mut thread, address);
    }
}

pub fn release_in(thread: &mut Thread, address: usize) {
    if thread.ignore_sync == 0 {
        sync::with(address, |state| {
            // A plain store that follows to the same word takes nothing of this away.
            let own = thread.info + 1;
            state.head = if state.head == 0 || state.head == own { own } else { u32::MAX };
            thread.release_into(&mut state.clocks);
        });
    }
}

pub fn acquire(address: usize) {
    if let Some(mut thread) = enter() {
        acquire_in(&mut thread, address);
    }
}

pub fn acquire_in(thread: &mut Thread, address: usize) {
    if thread.ignore_sync == 0 && sync::exists(address) {
        sync::with(address, |state| thread.clocks.join(&state.clocks));
    }
}

pub fn fence(order: Order) {
    let Some(mut thread) = enter() else { return };
    if order.acquires() {
        let seen = std::mem::take(&mut thread.fence_acquire);
        thread.clocks.join(&seen);
    }
    if order.releases() {
        let mut published = std::mem::take(&mut thread.fence_release);
        thread.release_store(&mut published);
        thread.fence_release = published;
    }
}

/// Runs `operation` on the atomic at `address` with the clock transfer that C11 gives its order.
/// The operation returns its result and whether it stored (or, for a load, just `true`).
pub fn atomic<R>(
    address: usize,
    size: usize,
    op: AtomicOp,
    order: Order,
    pc: usize,
    operation: impl Fn() -> (R, bool),
) -> R {
    let Some(mut thread) = enter() else { return operation().0 };
    options::perturb(&mut thread);
    if op == AtomicOp::Load
        && let Some(value) =
            thread.loads.again(address, thread.now, order.acquires(), || operation().0)
    {
        return value;
    }
    // Checked before the operation: once it is visible, another thread may acquire it and free
    // the memory, and the record must then be in the past that it acquired.
    let kind = match op {
        AtomicOp::Load | AtomicOp::Exchange { likely: false, .. } => Kind::ATOMIC_READ,
        _ => Kind::ATOMIC_WRITE,
    };
    if !is_said_already(&thread, address, size, kind) {
        check_range(&mut thread, address, size, kind, pc);
    }
    if thread.ignore_sync > 0 {
        return operation().0;
    }
    // Nothing was ever released here, and nothing is now: no object is needed.
    let quiet = match op {
        AtomicOp::Load => true,
        AtomicOp::Store | AtomicOp::Update => !order.releases() && thread.fence_release.is_empty(),
        AtomicOp::Exchange { .. } => false,
    };
    if quiet && !sync::exists(address) {
        let result = operation().0;
        if op != AtomicOp::Load || !sync::exists(address) {
            return result;
        }
        // A release came in between: load again, this time together with its clock.
    }
    let result = if op == AtomicOp::Load {
        sync::look(address, |state, object| {
            let (result, _) = operation();
            learn(&mut thread, &state.clocks, order);
            if thread.now != 0 && !thread.is_special() {
                let now = thread.now;
                thread.loads.note(address, now, object, order.acquires());
            }
            result
        })
    } else {
        sync::with(address, |state| {
            let (result, success) = operation();
            transfer(&mut thread, state, op, order, success);
            result
        })
    };
    result.unwrap_or_else(|| operation().0)
}

/// What a read of an atomic learns from the releases that it reads from.
fn learn(thread: &mut Thread, clocks: &Clocks, order: Order) {
    if order.acquires() {
        thread.clocks.join(clocks);
    } else {
        thread.fence_acquire.join(clocks);
    }
}

/// Whether the thread did the same to these bytes since its last release: whoever waits in a loop comes
/// again and again.
#[inline]
fn is_said_already(thread: &Thread, address: usize, size: usize, kind: Kind) -> bool {
    let offset = address & 7;
    if thread.is_special() || offset + size > 8 {
        return false;
    }
    let (Some(cell), Some(granule)) = (access::cell_of(thread, kind), shadow::existing(address))
    else {
        return false;
    };
    step::is_said(&granule, cell | ((1u64 << size) - 1) << offset)
}

fn transfer(
    thread: &mut Thread,
    state: &mut sync::State,
    op: AtomicOp,
    order: Order,
    success: bool,
) {
    let clocks = &mut state.clocks;
    let order = match op {
        AtomicOp::Exchange { failure, .. } if !success => failure,
        _ => order,
    };
    if op != AtomicOp::Store {
        learn(thread, clocks, order);
    }
    if !success {
        return;
    }
    // An update continues the release sequences it reads from; by C11 a plain store continues
    // those of its own thread, and ends all others.
    let (own, nobody, several) = (thread.info + 1, 0, u32::MAX);
    if op == AtomicOp::Store && state.head != own {
        clocks.clear();
        state.head = nobody;
    }
    if !order.releases() && thread.fence_release.is_empty() {
        return;
    }
    state.head = if state.head == nobody || state.head == own { own } else { several };
    if order.releases() {
        thread.release_into(clocks);
    } else {
        clocks.join(&thread.fence_release);
    }
}
