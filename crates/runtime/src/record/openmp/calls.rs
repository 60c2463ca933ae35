//! The entry points of libomp that compiled code calls: locks, critical sections, ordered parts,
//! chunks of loops, reductions.

use std::ffi::{c_int, c_void};

use racewarden_trace::binary::SyncOp;

use super::{Channel, got, object, put, put_beside};
use crate::common::tls;
use crate::real;
use crate::record::threads::sync;

type Pointer = *mut c_void;

macro_rules! sections {
    ($($name:ident($($argument:ident : $type:ty),*; $lock:ident $(, $more:ident : $other:ty)*) => $op:ident $when:ident;)*) => {$(
        /// # Safety
        /// As libomp's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type,)* $lock: Pointer $(, $more: $other)*) {
            let real = real!($name: fn($($type,)* Pointer $(, $other)*));
            // SAFETY: passes the program's own arguments on.
            let call = || unsafe { real($($argument,)* $lock $(, $more)*) };
            $when(SyncOp::$op, $lock, call);
        }
    )*};
}

fn after(op: SyncOp, lock: Pointer, call: impl FnOnce()) {
    call();
    sync(op, lock as u64, 0);
}

fn before(op: SyncOp, lock: Pointer, call: impl FnOnce()) {
    sync(op, lock as u64, 0);
    call();
}

sections! {
    __kmpc_critical(place: Pointer, thread: c_int; lock) => Acquire after;
    __kmpc_critical_with_hint(place: Pointer, thread: c_int; lock, hint: u32) => Acquire after;
    __kmpc_end_critical(place: Pointer, thread: c_int; lock) => Release before;
    omp_set_lock(; lock) => Acquire after;
    omp_unset_lock(; lock) => Release before;
    omp_set_nest_lock(; lock) => Acquire after;
    omp_unset_nest_lock(; lock) => Release before;
}

macro_rules! tests {
    ($($name:ident)*) => {$(
        /// # Safety
        /// As libomp's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(lock: Pointer) -> c_int {
            let real = real!($name: fn(Pointer) -> c_int);
            // SAFETY: passes the program's own argument on.
            let result = unsafe { real(lock) };
            let op = if result != 0 { SyncOp::Acquire } else { SyncOp::TryFailed };
            sync(op, lock as u64, 0);
            result
        }
    )*};
}

tests! { omp_test_lock omp_test_nest_lock }

/// # Safety
/// As libomp's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_ordered(place: Pointer, thread: c_int) {
    let real = real!(__kmpc_ordered: fn(Pointer, c_int));
    // SAFETY: passes the program's own arguments on.
    unsafe { real(place, thread) };
    got(object(Channel::Ordered, 0, 0));
}

/// # Safety
/// As libomp's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_end_ordered(place: Pointer, thread: c_int) {
    let real = real!(__kmpc_end_ordered: fn(Pointer, c_int));
    put(object(Channel::Ordered, 0, 0));
    // SAFETY: passes the program's own arguments on.
    unsafe { real(place, thread) }
}

/// # Safety
/// As libomp's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_doacross_post(place: Pointer, thread: c_int, numbers: Pointer) {
    let real = real!(__kmpc_doacross_post: fn(Pointer, c_int, Pointer));
    put_beside(object(Channel::Iterations, 0, 0));
    // SAFETY: passes the program's own arguments on.
    unsafe { real(place, thread, numbers) }
}

/// # Safety
/// As libomp's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_doacross_wait(place: Pointer, thread: c_int, numbers: Pointer) {
    let real = real!(__kmpc_doacross_wait: fn(Pointer, c_int, Pointer));
    // SAFETY: passes the program's own arguments on.
    unsafe { real(place, thread, numbers) };
    got(object(Channel::Iterations, 0, 0));
}

/// Which thread gets which chunk depends on who asks first, so those that get one keep their
/// order; a thread that gets none comes after them.
macro_rules! chunks {
    ($($name:ident)*) => {$(
        /// # Safety
        /// As libomp's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            place: Pointer,
            thread: c_int,
            last: Pointer,
            low: Pointer,
            high: Pointer,
            step: Pointer,
        ) -> c_int {
            let real =
                real!($name: fn(Pointer, c_int, Pointer, Pointer, Pointer, Pointer) -> c_int);
            // SAFETY: passes the program's own arguments on.
            let result = unsafe { real(place, thread, last, low, high, step) };
            let chunks = object(Channel::Chunks, 0, 0);
            if result != 0 { put(chunks) } else { got(chunks) }
            result
        }
    )*};
}

chunks! {
    __kmpc_dispatch_next_4 __kmpc_dispatch_next_4u __kmpc_dispatch_next_8 __kmpc_dispatch_next_8u
}

type Reducer = unsafe extern "C" fn(Pointer, Pointer);

/// Runs in place of the program's function, on a thread that gathers what others have.
unsafe extern "C" fn gather(ours: Pointer, theirs: Pointer) {
    got(object(Channel::Reduced, 0, 0));
    // SAFETY: set by this thread's reduction, which is still running.
    unsafe { std::mem::transmute::<usize, Reducer>(tls::extra())(ours, theirs) };
    put_beside(object(Channel::Reduced, 0, 0));
}

/// A reduction: 1 for a thread that is to add what it has under the lock, or the gathered sum;
/// 2 for one that is to do so by atomic updates; 0 for one whose part was gathered.
fn reduction(reducer: Reducer, lock: Pointer, call: impl FnOnce(Reducer) -> c_int) -> c_int {
    put_beside(object(Channel::Reduced, 0, 0));
    let outer = tls::extra();
    tls::set_extra(reducer as usize);
    let result = call(gather);
    tls::set_extra(outer);
    match result {
        1 => sync(SyncOp::Acquire, lock as u64, 0),
        0 => got(object(Channel::ReductionEnd, 0, 0)),
        _ => {}
    }
    result
}

macro_rules! reductions {
    ($($name:ident $end:ident;)*) => {$(
        /// # Safety
        /// As libomp's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            place: Pointer,
            thread: c_int,
            count: c_int,
            size: usize,
            data: Pointer,
            reducer: Reducer,
            lock: Pointer,
        ) -> c_int {
            let real = real!($name: fn(Pointer, c_int, c_int, usize, Pointer, Reducer, Pointer) -> c_int);
            reduction(reducer, lock, |reducer| {
                // SAFETY: passes the program's own arguments on, our function in front of theirs.
                unsafe { real(place, thread, count, size, data, reducer, lock) }
            })
        }

        /// # Safety
        /// As libomp's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $end(place: Pointer, thread: c_int, lock: Pointer) {
            let real = real!($end: fn(Pointer, c_int, Pointer));
            put_beside(object(Channel::ReductionEnd, 0, 0));
            sync(SyncOp::Release, lock as u64, 0);
            // SAFETY: passes the program's own arguments on.
            unsafe { real(place, thread, lock) }
        }
    )*};
}

reductions! {
    __kmpc_reduce __kmpc_end_reduce;
    __kmpc_reduce_nowait __kmpc_end_reduce_nowait;
}

/// Waits for tasks by what they depend on: those that are done are taken to be among them.
macro_rules! waits {
    ($($name:ident($($argument:ident : $type:ty),*);)*) => {$(
        /// # Safety
        /// As libomp's.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $name($($argument: $type),*) {
            let real = real!($name: fn($($type),*));
            // SAFETY: passes the program's own arguments on.
            unsafe { real($($argument),*) };
            got(object(Channel::Depending, 0, 0));
        }
    )*};
}

waits! {
    __kmpc_omp_wait_deps(place: Pointer, thread: c_int, count: c_int, list: Pointer, other_count: c_int, other: Pointer);
    __kmpc_omp_taskwait_deps_51(place: Pointer, thread: c_int, count: c_int, list: Pointer, other_count: c_int, other: Pointer, nowait: c_int);
}
