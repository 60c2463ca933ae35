//! Which threads have been joined: what a thread did before it was joined cannot race with what
//! comes after, but a thread that merely ended might have come later.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::futex::SpinLock;
use crate::real;

use super::state;

struct Names {
    lock: SpinLock,
    /// Threads that can still be joined, by their handle.
    known: UnsafeCell<Vec<(usize, String)>>,
}

// SAFETY: `known` is only touched while `lock` is held.
unsafe impl Sync for Names {}

static NAMES: Names = Names { lock: SpinLock::new(), known: UnsafeCell::new(Vec::new()) };

/// Threads that were created and not joined, whether they still run or not.
static UNJOINED: AtomicU32 = AtomicU32::new(0);

pub fn unjoined() -> u32 {
    UNJOINED.load(Ordering::Relaxed)
}

/// A thread is about to be created.
pub fn created(path: &str) {
    UNJOINED.fetch_add(1, Ordering::Relaxed);
    state::with(|shared| shared.orchestrator.thread_created(path));
}

/// The thread that was about to be created runs; its own call.
pub fn began(path: String) {
    // SAFETY: asks for this thread's own handle.
    let handle = unsafe { libc::pthread_self() } as usize;
    let _guard = NAMES.lock.lock();
    // SAFETY: the lock is held.
    let known = unsafe { &mut *NAMES.known.get() };
    // A handle comes again after its thread was detached.
    known.retain(|(other, _)| *other != handle);
    known.push((handle, path));
}

fn joined(handle: usize) {
    let name = {
        let _guard = NAMES.lock.lock();
        // SAFETY: the lock is held.
        let known = unsafe { &mut *NAMES.known.get() };
        known.iter().position(|(other, _)| *other == handle).map(|at| known.swap_remove(at).1)
    };
    if let Some(name) = name {
        UNJOINED.fetch_sub(1, Ordering::Relaxed);
        state::with(|shared| shared.orchestrator.thread_joined(&name));
    }
}

/// After a fork no other thread can be joined.
pub fn reset_after_fork() {
    NAMES.lock.reset_after_fork();
    let _guard = NAMES.lock.lock();
    // SAFETY: the lock is held.
    unsafe { (*NAMES.known.get()).clear() };
    UNJOINED.store(0, Ordering::Relaxed);
}

fn noted(handle: usize, result: i32) -> i32 {
    if result == 0 && state::is_active() {
        joined(handle);
    }
    result
}

/// The program's `pthread_join`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_join(thread: usize, value: *mut *mut c_void) -> i32 {
    let real = real!(pthread_join: fn(usize, *mut *mut c_void) -> i32);
    // SAFETY: passes the program's own arguments on.
    noted(thread, unsafe { real(thread, value) })
}

/// The program's `pthread_tryjoin_np`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_tryjoin_np(thread: usize, value: *mut *mut c_void) -> i32 {
    let real = real!(pthread_tryjoin_np: fn(usize, *mut *mut c_void) -> i32);
    // SAFETY: passes the program's own arguments on.
    noted(thread, unsafe { real(thread, value) })
}

/// The program's `pthread_timedjoin_np`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_timedjoin_np(
    thread: usize,
    value: *mut *mut c_void,
    limit: *const c_void,
) -> i32 {
    let real = real!(pthread_timedjoin_np: fn(usize, *mut *mut c_void, *const c_void) -> i32);
    // SAFETY: passes the program's own arguments on.
    noted(thread, unsafe { real(thread, value, limit) })
}
