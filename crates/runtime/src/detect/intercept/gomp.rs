//! gcc's OpenMP runtime: the order that its entry points promise.
//!
//! libgomp synchronises by futexes that nobody sees. What matters is told by the calls that the
//! compiler makes: a region's threads start after whoever opened it and end before it goes on, a
//! barrier orders all, a critical section is a lock, a task starts after its creation and ends
//! before whoever waits for it. Barriers and tasks of different teams share one order, which can
//! only hide a race between teams, never invent one. LLVM's runtime tells more through Archer.

use std::ffi::{c_int, c_long, c_uint, c_void};

use crate::common::tls;
use crate::detect::{engine, locks, sync};
use crate::{interceptor, real};

type Routine = unsafe extern "C" fn(*mut c_void);

/// A parallel region, on the stack of the thread that opened it.
#[repr(C)]
struct Region {
    routine: Routine,
    data: *mut c_void,
    /// Their addresses stand for the region's start and end.
    start: u64,
    end: u64,
}

unsafe extern "C" fn run_region(region: *mut c_void) {
    let region = region.cast::<Region>();
    // SAFETY: the region lives until all its threads have ended.
    unsafe {
        engine::acquire(&raw const (*region).start as usize);
        ((*region).routine)((*region).data);
        engine::release(&raw const (*region).end as usize);
    }
}

fn region<R>(routine: Routine, data: *mut c_void, open: impl FnOnce(*mut c_void) -> R) -> R {
    let mut region = Region { routine, data, start: 0, end: 0 };
    let (start, end) = (&raw const region.start as usize, &raw const region.end as usize);
    engine::release(start);
    let result = open((&raw mut region).cast());
    engine::acquire(end);
    if let Some(_thread) = engine::enter() {
        sync::forget(start);
        sync::forget(end);
    }
    result
}

macro_rules! regions {
    ($($name:ident($($argument:ident : $type:ty),*);)*) => {
        interceptor! {$(
            fn $name(routine: Routine, data: *mut c_void, threads: c_uint $(, $argument: $type)*) {
                region(routine, data, |region| {
                    real!($name: fn(Routine, *mut c_void, c_uint $(, $type)*))(run_region, region, threads $(, $argument)*)
                })
            }
        )*}
    };
}

regions! {
    GOMP_parallel(flags: c_uint);
    GOMP_parallel_sections(count: c_uint, flags: c_uint);
    GOMP_parallel_loop_static(from: c_long, to: c_long, step: c_long, chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_dynamic(from: c_long, to: c_long, step: c_long, chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_guided(from: c_long, to: c_long, step: c_long, chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_runtime(from: c_long, to: c_long, step: c_long, flags: c_uint);
    GOMP_parallel_loop_nonmonotonic_dynamic(from: c_long, to: c_long, step: c_long, chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_nonmonotonic_guided(from: c_long, to: c_long, step: c_long, chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_nonmonotonic_runtime(from: c_long, to: c_long, step: c_long, flags: c_uint);
    GOMP_parallel_loop_maybe_nonmonotonic_runtime(from: c_long, to: c_long, step: c_long, flags: c_uint);
}

// Objects that stand for what libgomp keeps to itself; only their addresses matter.
static BARRIER: u64 = 0;
static TASKS: u64 = 1;
static CRITICAL: u64 = 2;
static ATOMIC: u64 = 3;
static ORDERED: u64 = 4;
static SINGLE: u64 = 5;

fn address(object: &'static u64) -> usize {
    &raw const *object as usize
}

/// A call that every thread of the team makes before any goes on; tasks are done then too.
macro_rules! barriers {
    ($($name:ident)*) => {
        interceptor! {$(
            fn $name() {
                engine::release(address(&BARRIER));
                real!($name: fn())();
                engine::acquire(address(&BARRIER));
                engine::acquire(address(&TASKS));
            }
        )*}
    };
}

barriers! { GOMP_barrier GOMP_loop_end GOMP_sections_end }

/// A task's package: libgomp copies it, so it carries the program's data behind its head.
#[repr(C, align(16))]
struct Task {
    routine: Routine,
    token: usize,
}

unsafe extern "C" fn run_task(task: *mut c_void) {
    engine::acquire(address(&TASKS));
    // SAFETY: made by `GOMP_task` below, the data right behind the head.
    unsafe {
        let head = task.cast::<Task>();
        ((*head).routine)(head.add(1).cast());
    }
    engine::release(address(&TASKS));
}

interceptor! {
    fn GOMP_task(routine: Routine, data: *mut c_void, copy: usize, size: c_long, align: c_long, run: bool, flags: c_uint, depend: *mut *mut c_void, priority: c_int, detach: *mut c_void) {
        let next = real!(GOMP_task: fn(Routine, *mut c_void, usize, c_long, c_long, bool, c_uint, *mut *mut c_void, c_int, *mut c_void));
        engine::release(address(&TASKS));
        // A copy function knows only the program's own layout: such tasks go unwrapped.
        if copy != 0 || align as usize > std::mem::align_of::<Task>() || size < 0 {
            next(routine, data, copy, size, align, run, flags, depend, priority, detach);
            return;
        }
        let head = std::mem::size_of::<Task>();
        let mut package = vec![0_u128; (head + size as usize).div_ceil(16)];
        let start = package.as_mut_ptr().cast::<u8>();
        start.cast::<Task>().write(Task { routine, token: 0 });
        std::ptr::copy_nonoverlapping(data.cast::<u8>(), start.add(head), size as usize);
        let total = (head + size as usize) as c_long;
        next(run_task, start.cast(), 0, total, 16, run, flags, depend, priority, detach);
    }
    fn GOMP_taskwait() {
        real!(GOMP_taskwait: fn())();
        engine::acquire(address(&TASKS));
    }
    fn GOMP_taskgroup_end() {
        real!(GOMP_taskgroup_end: fn())();
        engine::acquire(address(&TASKS));
    }
    fn GOMP_critical_start() {
        let pc = tls::caller();
        real!(GOMP_critical_start: fn())();
        locks::locked(address(&CRITICAL), false, pc);
    }
    fn GOMP_critical_end() {
        locks::unlocking(address(&CRITICAL), tls::caller());
        real!(GOMP_critical_end: fn())();
    }
    fn GOMP_critical_name_start(name: *mut *mut c_void) {
        let pc = tls::caller();
        real!(GOMP_critical_name_start: fn(*mut *mut c_void))(name);
        locks::locked(name as usize, false, pc);
    }
    fn GOMP_critical_name_end(name: *mut *mut c_void) {
        locks::unlocking(name as usize, tls::caller());
        real!(GOMP_critical_name_end: fn(*mut *mut c_void))(name);
    }
    fn GOMP_atomic_start() {
        let pc = tls::caller();
        real!(GOMP_atomic_start: fn())();
        locks::locked(address(&ATOMIC), false, pc);
    }
    fn GOMP_atomic_end() {
        locks::unlocking(address(&ATOMIC), tls::caller());
        real!(GOMP_atomic_end: fn())();
    }
    fn GOMP_ordered_start() {
        real!(GOMP_ordered_start: fn())();
        engine::acquire(address(&ORDERED));
    }
    fn GOMP_ordered_end() {
        engine::release(address(&ORDERED));
        real!(GOMP_ordered_end: fn())();
    }
    fn GOMP_single_copy_start() -> *mut c_void {
        let result = real!(GOMP_single_copy_start: fn() -> *mut c_void)();
        engine::acquire(address(&SINGLE));
        result
    }
    fn GOMP_single_copy_end(data: *mut c_void) {
        engine::release(address(&SINGLE));
        real!(GOMP_single_copy_end: fn(*mut c_void))(data);
    }
}

macro_rules! openmp_locks {
    ($($set:ident $unset:ident $test:ident;)*) => {
        interceptor! {$(
            fn $set(lock: *mut c_void) {
                let pc = tls::caller();
                real!($set: fn(*mut c_void))(lock);
                locks::locked(lock as usize, false, pc);
            }
            fn $unset(lock: *mut c_void) {
                locks::unlocking(lock as usize, tls::caller());
                real!($unset: fn(*mut c_void))(lock);
            }
            fn $test(lock: *mut c_void) -> c_int {
                let pc = tls::caller();
                let result = real!($test: fn(*mut c_void) -> c_int)(lock);
                if result != 0 {
                    locks::locked(lock as usize, false, pc);
                }
                result
            }
        )*}
    };
}

openmp_locks! {
    omp_set_lock omp_unset_lock omp_test_lock;
    omp_set_nest_lock omp_unset_nest_lock omp_test_nest_lock;
}
