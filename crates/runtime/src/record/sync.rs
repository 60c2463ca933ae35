//! Locks, conditions, barriers, semaphores and once: recorded where they take effect.
//!
//! An acquisition is recorded after the C library gave the lock, a release before it is given
//! back, so that in the recorded order no two holders overlap.

use std::ffi::c_void;

use racewarden_trace::binary::SyncOp;

use super::threads::sync;
use crate::common::{cancel, tls};
use crate::real;

type Pointer = *mut c_void;

/// Takes: records `$op` when the call succeeds, `TryFailed` when the lock was busy.
macro_rules! takes {
    ($($name:ident($($argument:ident : $type:ty),*) => $op:ident;)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(lock: Pointer $(, $argument: $type)*) -> i32 {
            let real = real!($name: fn(Pointer $(, $type)*) -> i32);
            // SAFETY: passes the program's own arguments on.
            let status = unsafe { real(lock $(, $argument)*) };
            match status {
                0 | libc::EOWNERDEAD => sync(SyncOp::$op, lock as u64, 0),
                libc::EBUSY | libc::ETIMEDOUT => sync(SyncOp::TryFailed, lock as u64, 0),
                _ => {}
            }
            status
        }
    )*};
}

takes! {
    pthread_mutex_lock() => Acquire;
    pthread_mutex_trylock() => Acquire;
    pthread_mutex_timedlock(limit: Pointer) => Acquire;
    pthread_mutex_clocklock(clock: i32, limit: Pointer) => Acquire;
    pthread_spin_lock() => Acquire;
    pthread_spin_trylock() => Acquire;
    pthread_rwlock_wrlock() => Acquire;
    pthread_rwlock_trywrlock() => Acquire;
    pthread_rwlock_timedwrlock(limit: Pointer) => Acquire;
    pthread_rwlock_rdlock() => AcquireShared;
    pthread_rwlock_tryrdlock() => AcquireShared;
    pthread_rwlock_timedrdlock(limit: Pointer) => AcquireShared;
    pthread_rwlock_clockwrlock(clock: i32, limit: Pointer) => Acquire;
    pthread_rwlock_clockrdlock(clock: i32, limit: Pointer) => AcquireShared;
}

/// C11: glibc calls its pthread functions internally, so these do not pass those above.
macro_rules! takes_c11 {
    ($($name:ident($($argument:ident : $type:ty),*);)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(lock: Pointer $(, $argument: $type)*) -> i32 {
            const SUCCESS: i32 = 0;
            const BUSY: i32 = 1;
            const TIMED_OUT: i32 = 4;
            let real = real!($name: fn(Pointer $(, $type)*) -> i32);
            // SAFETY: passes the program's own arguments on.
            let status = unsafe { real(lock $(, $argument)*) };
            match status {
                SUCCESS => sync(SyncOp::Acquire, lock as u64, 0),
                BUSY | TIMED_OUT => sync(SyncOp::TryFailed, lock as u64, 0),
                _ => {}
            }
            status
        }
    )*};
}

takes_c11! {
    mtx_lock();
    mtx_trylock();
    mtx_timedlock(limit: Pointer);
}

/// Gives back: recorded before the call. A reader-writer lock's mode is known from its taking.
macro_rules! gives {
    ($($name:ident),*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(lock: Pointer) -> i32 {
            let real = real!($name: fn(Pointer) -> i32);
            sync(SyncOp::Release, lock as u64, 0);
            // SAFETY: passes the program's own argument on.
            unsafe { real(lock) }
        }
    )*};
}

gives!(pthread_mutex_unlock, pthread_spin_unlock, pthread_rwlock_unlock, mtx_unlock);

macro_rules! waits {
    ($($name:ident($($argument:ident : $type:ty),*);)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            condition: Pointer,
            mutex: Pointer
            $(, $argument: $type)*
        ) -> i32 {
            let real = real!($name: fn(Pointer, Pointer $(, $type)*) -> i32);
            sync(SyncOp::WaitBegin, condition as u64, mutex as u64);
            sync(SyncOp::Release, mutex as u64, 0);
            // SAFETY: passes the program's own arguments on.
            let blocking = || unsafe { real(condition, mutex $(, $argument)*) };
            let ended = |op: SyncOp| {
                sync(op, condition as u64, mutex as u64);
                sync(SyncOp::Acquire, mutex as u64, 0);
            };
            let status = cancel::repaired_by(|| ended(SyncOp::WaitTimeout), blocking);
            ended(if status == 0 { SyncOp::WaitEnd } else { SyncOp::WaitTimeout });
            status
        }
    )*};
}

waits! {
    pthread_cond_wait();
    pthread_cond_timedwait(limit: Pointer);
    pthread_cond_clockwait(clock: i32, limit: Pointer);
    cnd_wait();
    cnd_timedwait(limit: Pointer);
}

/// Recorded before the call, whatever comes of it.
macro_rules! tells {
    ($($name:ident => $op:ident;)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(object: Pointer) -> i32 {
            let real = real!($name: fn(Pointer) -> i32);
            sync(SyncOp::$op, object as u64, 0);
            // SAFETY: passes the program's own argument on.
            unsafe { real(object) }
        }
    )*};
}

tells! {
    pthread_cond_signal => Signal;
    pthread_cond_broadcast => Broadcast;
    cnd_signal => Signal;
    cnd_broadcast => Broadcast;
    sem_post => SemPost;
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_barrier_init(
    barrier: Pointer,
    attributes: Pointer,
    count: u32,
) -> i32 {
    let real = real!(pthread_barrier_init: fn(Pointer, Pointer, u32) -> i32);
    sync(SyncOp::BarrierInit, barrier as u64, u64::from(count));
    // SAFETY: passes the program's own arguments on.
    unsafe { real(barrier, attributes, count) }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_barrier_wait(barrier: Pointer) -> i32 {
    let real = real!(pthread_barrier_wait: fn(Pointer) -> i32);
    sync(SyncOp::BarrierArrive, barrier as u64, 0);
    // SAFETY: passes the program's own argument on.
    let status = unsafe { real(barrier) };
    sync(SyncOp::BarrierLeave, barrier as u64, 0);
    status
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sem_init(semaphore: Pointer, shared: i32, value: u32) -> i32 {
    let real = real!(sem_init: fn(Pointer, i32, u32) -> i32);
    sync(SyncOp::SemInit, semaphore as u64, u64::from(value));
    // SAFETY: passes the program's own arguments on.
    unsafe { real(semaphore, shared, value) }
}

macro_rules! sem_waits {
    ($($name:ident($($argument:ident : $type:ty),*);)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(semaphore: Pointer $(, $argument: $type)*) -> i32 {
            let real = real!($name: fn(Pointer $(, $type)*) -> i32);
            // SAFETY: passes the program's own arguments on.
            let status = unsafe { real(semaphore $(, $argument)*) };
            let op = if status == 0 { SyncOp::SemWait } else { SyncOp::SemTryFailed };
            sync(op, semaphore as u64, 0);
            status
        }
    )*};
}

sem_waits! {
    sem_wait();
    sem_trywait();
    sem_timedwait(limit: Pointer);
    sem_clockwait(clock: i32, limit: Pointer);
}

/// The routine of a `pthread_once` that this thread may have to run.
struct Routine {
    once: Pointer,
    routine: extern "C" fn(),
}

/// Runs in place of the program's routine, to record when it is done.
extern "C" fn run_once() {
    let wanted = tls::extra() as *const Routine;
    // SAFETY: set by this thread's `pthread_once`, which is still running.
    let wanted = unsafe { &*wanted };
    (wanted.routine)();
    sync(SyncOp::OnceDone, wanted.once as u64, 0);
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_once(once: Pointer, routine: extern "C" fn()) -> i32 {
    let real = real!(pthread_once: fn(Pointer, extern "C" fn()) -> i32);
    let wanted = Routine { once, routine };
    let outer = tls::extra();
    tls::set_extra(&raw const wanted as usize);
    // SAFETY: passes the program's own arguments on.
    let status = unsafe { real(once, run_once) };
    tls::set_extra(outer);
    sync(SyncOp::OncePassed, once as u64, 0);
    status
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn call_once(once: Pointer, routine: extern "C" fn()) {
    // SAFETY: glibc's flag is that of `pthread_once`.
    unsafe { pthread_once(once, routine) };
}
