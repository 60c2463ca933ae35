//! Creation, end and join of threads.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::tls;
use crate::detect::engine::{self, Thread, enter};
use crate::detect::thread::REGISTRY;
use crate::detect::{access, locks, options, sync};
use crate::{interceptor, real};

type Routine = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// What the creator hands to the new thread.
struct Start {
    routine: usize,
    argument: *mut c_void,
    thread: *mut Thread,
}

static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// The key whose destructor sees the thread's end, after every destructor of the program.
fn key() -> u32 {
    let key = KEY.load(Ordering::Acquire);
    if key != u32::MAX {
        return key;
    }
    let mut made = 0;
    // SAFETY: the out parameter is ours; the destructor has the right signature.
    if unsafe { libc::pthread_key_create(&mut made, Some(ended)) } != 0 {
        return u32::MAX;
    }
    match KEY.compare_exchange(u32::MAX, made, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => made,
        Err(other) => {
            // SAFETY: nobody else knows the key.
            unsafe { libc::pthread_key_delete(made) };
            other
        }
    }
}

/// glibc runs destructors in at most four rounds; asking for another round in the first three puts
/// ours behind all of the program's.
const ROUNDS: usize = 4;

unsafe extern "C" fn ended(round: *mut c_void) {
    let round = round as usize;
    if round < ROUNDS {
        let key = KEY.load(Ordering::Acquire);
        // SAFETY: the key is ours.
        unsafe { libc::pthread_setspecific(key, (round + 1) as *const c_void) };
        return;
    }
    let thread = tls::state() as *mut Thread;
    if thread.is_null() {
        return;
    }
    tls::set_depth(1);
    // SAFETY: its own thread's, until `finished` gives it away.
    let own = unsafe { &mut *thread };
    locks::abandoned(own);
    super::heap::bequeath(own);
    own.detach();
    REGISTRY.finished(thread);
    tls::set_depth(0);
}

unsafe extern "C" fn begin(start: *mut c_void) -> *mut c_void {
    // SAFETY: made by `create` for this thread alone.
    let start = unsafe { Box::from_raw(start.cast::<Start>()) };
    tls::set_depth(1);
    let range = stack_range();
    // The stack and the thread-local storage above it may have been another thread's.
    access::forget_range(range.0, range.1 - range.0);
    sync::forget_range(range.0, range.1 - range.0);
    // SAFETY: the new thread's own state.
    let thread = unsafe { &mut *start.thread };
    thread.stack_range = range;
    REGISTRY.set_stack(thread.info, range);
    options::seed_thread(thread);
    // SAFETY: always valid.
    REGISTRY.register(thread.info, unsafe { libc::pthread_self() } as usize, start.thread);
    // SAFETY: this is its thread, and the reference above is not used any more.
    unsafe { Thread::attach(start.thread) };
    let (routine, argument) = (start.routine, start.argument);
    drop(start);
    // SAFETY: the key is ours.
    unsafe { libc::pthread_setspecific(key(), std::ptr::dangling()) };
    tls::set_depth(0);
    // SAFETY: the program's routine with its argument.
    unsafe { std::mem::transmute::<usize, Routine>(routine)(argument) }
}

/// The calling thread's stack, as far as glibc tells.
fn stack_range() -> (usize, usize) {
    // SAFETY: the attributes are initialised by the call that fills them, and destroyed after.
    unsafe {
        let mut attributes = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return (0, 0);
        }
        let (mut start, mut size) = (std::ptr::null_mut(), 0);
        libc::pthread_attr_getstack(&attributes, &mut start, &mut size);
        libc::pthread_attr_destroy(&mut attributes);
        (start as usize, start as usize + size)
    }
}

/// Starts a watched thread through `start`, which calls the C library.
pub fn create(
    routine: usize,
    argument: *mut c_void,
    detached: bool,
    pc: usize,
    start: impl FnOnce(Routine, *mut c_void) -> c_int,
    handle: impl FnOnce() -> usize,
) -> c_int {
    let Some(mut creator) = enter() else {
        // SAFETY: the program's own routine, started as it asked.
        return start(unsafe { std::mem::transmute::<usize, Routine>(routine) }, argument);
    };
    let _ = key();
    options::perturb(&mut creator);
    let site = creator.site(pc);
    let thread = REGISTRY.add(&mut creator, site, routine);
    drop(creator);
    // SAFETY: not started yet, so still ours.
    let info = unsafe {
        (*thread).detached = detached;
        (*thread).info
    };
    let package = Box::into_raw(Box::new(Start { routine, argument, thread }));
    let result = start(begin, package.cast());
    let _inside = enter();
    if result == 0 {
        REGISTRY.register(info, handle(), thread);
    } else {
        // SAFETY: the thread never started, so both are ours again.
        unsafe {
            drop(Box::from_raw(package));
            REGISTRY.bury(thread);
        }
    }
    result
}

/// Joins `pthread` through `join`, which calls the C library. The thread is taken from the registry
/// before: once it is joined, its handle may already be another thread's.
pub fn join(pthread: usize, join: impl FnOnce() -> c_int) -> c_int {
    let known = engine::is_initialized().then(|| REGISTRY.take_joinable(pthread)).flatten();
    let result = join();
    if result != 0 {
        if let Some(thread) = known {
            REGISTRY.put_back(pthread, thread);
        }
        return result;
    }
    let Some(mut joiner) = enter() else { return result };
    // Without an entry before, the creator may have been about to make it.
    let Some(thread) = known.or_else(|| REGISTRY.take_joinable(pthread)) else { return result };
    // SAFETY: the thread has ended, and only its joiner may touch what it left.
    unsafe {
        let (slot, time) = ((*thread).slot as usize, (*thread).time);
        joiner.clocks.join(&(*thread).clocks);
        joiner.clocks.weak.raise(slot, time);
        REGISTRY.bury(thread);
    }
    result
}

interceptor! {
    fn pthread_create(handle: *mut usize, attributes: *const libc::pthread_attr_t, routine: usize, argument: *mut c_void) -> c_int {
        let pc = tls::caller();
        let mut state = libc::PTHREAD_CREATE_JOINABLE;
        if !attributes.is_null() {
            unsafe extern "C" {
                fn pthread_attr_getdetachstate(attributes: *const libc::pthread_attr_t, state: *mut c_int) -> c_int;
            }
            pthread_attr_getdetachstate(attributes, &mut state);
        }
        let detached = state == libc::PTHREAD_CREATE_DETACHED;
        create(
            routine,
            argument,
            detached,
            pc,
            |begin, package| {
                real!(pthread_create: fn(*mut usize, *const libc::pthread_attr_t, Routine, *mut c_void) -> c_int)(handle, attributes, begin, package)
            },
            || *handle,
        )
    }
    fn pthread_join(pthread: usize, value: *mut *mut c_void) -> c_int {
        join(pthread, || real!(pthread_join: fn(usize, *mut *mut c_void) -> c_int)(pthread, value))
    }
    fn pthread_tryjoin_np(pthread: usize, value: *mut *mut c_void) -> c_int {
        join(pthread, || real!(pthread_tryjoin_np: fn(usize, *mut *mut c_void) -> c_int)(pthread, value))
    }
    fn pthread_timedjoin_np(pthread: usize, value: *mut *mut c_void, time: *const c_void) -> c_int {
        join(pthread, || real!(pthread_timedjoin_np: fn(usize, *mut *mut c_void, *const c_void) -> c_int)(pthread, value, time))
    }
    fn pthread_clockjoin_np(pthread: usize, value: *mut *mut c_void, clock: c_int, time: *const c_void) -> c_int {
        join(pthread, || real!(pthread_clockjoin_np: fn(usize, *mut *mut c_void, c_int, *const c_void) -> c_int)(pthread, value, clock, time))
    }
    fn pthread_detach(pthread: usize) -> c_int {
        // Before the call: after it the handle may already be another thread's.
        if engine::is_initialized() {
            REGISTRY.detach(pthread);
        }
        real!(pthread_detach: fn(usize) -> c_int)(pthread)
    }
}
