//! Mutexes, read-write locks, spin locks, condition variables, barriers and once.

use std::ffi::{c_int, c_uint, c_void};

use crate::common::tls;
use crate::detect::engine;
use crate::detect::locks;
use crate::{interceptor, real};

/// The lock is ours, possibly inconsistent because its last owner died.
fn taken(result: c_int) -> bool {
    result == 0 || result == libc::EOWNERDEAD
}

macro_rules! taking {
    ($($name:ident($lock:ident $(, $argument:ident : $type:ty)*) $mode:literal;)*) => {
        interceptor! {$(
            fn $name($lock: *mut c_void $(, $argument: $type)*) -> c_int {
                let pc = tls::caller();
                let result = real!($name: fn(*mut c_void $(, $type)*) -> c_int)($lock $(, $argument)*);
                if taken(result) {
                    locks::locked($lock as usize, $mode, pc);
                }
                result
            }
        )*}
    };
}

taking! {
    pthread_mutex_lock(lock) false;
    pthread_mutex_trylock(lock) false;
    pthread_mutex_timedlock(lock, time: *const c_void) false;
    pthread_mutex_clocklock(lock, clock: c_int, time: *const c_void) false;
    pthread_rwlock_rdlock(lock) true;
    pthread_rwlock_tryrdlock(lock) true;
    pthread_rwlock_timedrdlock(lock, time: *const c_void) true;
    pthread_rwlock_clockrdlock(lock, clock: c_int, time: *const c_void) true;
    pthread_rwlock_wrlock(lock) false;
    pthread_rwlock_trywrlock(lock) false;
    pthread_rwlock_timedwrlock(lock, time: *const c_void) false;
    pthread_rwlock_clockwrlock(lock, clock: c_int, time: *const c_void) false;
    pthread_spin_lock(lock) false;
    pthread_spin_trylock(lock) false;
}

macro_rules! releasing {
    ($($name:ident)*) => {
        interceptor! {$(
            fn $name(lock: *mut c_void) -> c_int {
                locks::unlocking(lock as usize, tls::caller());
                real!($name: fn(*mut c_void) -> c_int)(lock)
            }
        )*}
    };
}

releasing! { pthread_mutex_unlock pthread_rwlock_unlock pthread_spin_unlock }

interceptor! {
    fn pthread_mutex_init(lock: *mut c_void, attributes: *const c_void) -> c_int {
        let pc = tls::caller();
        let result = real!(pthread_mutex_init: fn(*mut c_void, *const c_void) -> c_int)(lock, attributes);
        locks::created_or_destroyed(lock as usize, 1, pc);
        result
    }
    fn pthread_mutex_destroy(lock: *mut c_void) -> c_int {
        locks::created_or_destroyed(lock as usize, 1, tls::caller());
        real!(pthread_mutex_destroy: fn(*mut c_void) -> c_int)(lock)
    }
    fn pthread_rwlock_init(lock: *mut c_void, attributes: *const c_void) -> c_int {
        let pc = tls::caller();
        let result = real!(pthread_rwlock_init: fn(*mut c_void, *const c_void) -> c_int)(lock, attributes);
        locks::created_or_destroyed(lock as usize, 1, pc);
        result
    }
    fn pthread_rwlock_destroy(lock: *mut c_void) -> c_int {
        locks::created_or_destroyed(lock as usize, 1, tls::caller());
        real!(pthread_rwlock_destroy: fn(*mut c_void) -> c_int)(lock)
    }
    fn pthread_spin_init(lock: *mut c_void, shared: c_int) -> c_int {
        let pc = tls::caller();
        let result = real!(pthread_spin_init: fn(*mut c_void, c_int) -> c_int)(lock, shared);
        locks::created_or_destroyed(lock as usize, 1, pc);
        result
    }
    fn pthread_spin_destroy(lock: *mut c_void) -> c_int {
        locks::created_or_destroyed(lock as usize, 1, tls::caller());
        real!(pthread_spin_destroy: fn(*mut c_void) -> c_int)(lock)
    }

    fn pthread_cond_init(condition: *mut c_void, attributes: *const c_void) -> c_int {
        let pc = tls::caller();
        let result = real!(pthread_cond_init: fn(*mut c_void, *const c_void) -> c_int)(condition, attributes);
        locks::created_or_destroyed(condition as usize, 8, pc);
        result
    }
    fn pthread_cond_destroy(condition: *mut c_void) -> c_int {
        locks::created_or_destroyed(condition as usize, 8, tls::caller());
        real!(pthread_cond_destroy: fn(*mut c_void) -> c_int)(condition)
    }
    fn pthread_cond_signal(condition: *mut c_void) -> c_int {
        locks::signalling(condition as usize, tls::caller());
        real!(pthread_cond_signal: fn(*mut c_void) -> c_int)(condition)
    }
    fn pthread_cond_broadcast(condition: *mut c_void) -> c_int {
        locks::signalling(condition as usize, tls::caller());
        real!(pthread_cond_broadcast: fn(*mut c_void) -> c_int)(condition)
    }
    fn pthread_cond_wait(condition: *mut c_void, mutex: *mut c_void) -> c_int {
        locks::wait(condition as usize, mutex as usize, tls::caller(), || {
            real!(pthread_cond_wait: fn(*mut c_void, *mut c_void) -> c_int)(condition, mutex)
        })
    }
    fn pthread_cond_timedwait(condition: *mut c_void, mutex: *mut c_void, time: *const c_void) -> c_int {
        locks::wait(condition as usize, mutex as usize, tls::caller(), || {
            real!(pthread_cond_timedwait: fn(*mut c_void, *mut c_void, *const c_void) -> c_int)(condition, mutex, time)
        })
    }
    fn pthread_cond_clockwait(condition: *mut c_void, mutex: *mut c_void, clock: c_int, time: *const c_void) -> c_int {
        locks::wait(condition as usize, mutex as usize, tls::caller(), || {
            real!(pthread_cond_clockwait: fn(*mut c_void, *mut c_void, c_int, *const c_void) -> c_int)(condition, mutex, clock, time)
        })
    }

    fn pthread_barrier_init(barrier: *mut c_void, attributes: *const c_void, count: c_uint) -> c_int {
        let pc = tls::caller();
        let result = real!(pthread_barrier_init: fn(*mut c_void, *const c_void, c_uint) -> c_int)(barrier, attributes, count);
        if result == 0 {
            locks::barrier_made(barrier as usize, count, pc);
        }
        result
    }
    fn pthread_barrier_destroy(barrier: *mut c_void) -> c_int {
        locks::created_or_destroyed(barrier as usize, 1, tls::caller());
        real!(pthread_barrier_destroy: fn(*mut c_void) -> c_int)(barrier)
    }
    fn pthread_barrier_wait(barrier: *mut c_void) -> c_int {
        let pc = tls::caller();
        let phase = locks::barrier_arrived(barrier as usize, pc);
        let result = real!(pthread_barrier_wait: fn(*mut c_void) -> c_int)(barrier);
        locks::barrier_left(barrier as usize, phase, pc);
        result
    }

    fn pthread_once(once: *mut c_int, routine: Option<unsafe extern "C" fn()>) -> c_int {
        // The routine takes no argument, so what to run travels in the thread's block; an inner
        // once saves and restores it.
        let Some(routine) = routine else { return libc::EINVAL };
        let outer = tls::extra();
        let run = OnceRun { routine, once: once as usize };
        tls::set_extra(&raw const run as usize);
        let result = real!(pthread_once: fn(*mut c_int, unsafe extern "C" fn()) -> c_int)(once, run_once);
        tls::set_extra(outer);
        engine::acquire(once as usize);
        result
    }
}

struct OnceRun {
    routine: unsafe extern "C" fn(),
    once: usize,
}

unsafe extern "C" fn run_once() {
    // SAFETY: `pthread_once` above left its own local there and is still running.
    let run = unsafe { &*(tls::extra() as *const OnceRun) };
    // SAFETY: the program's own routine.
    unsafe { (run.routine)() };
    engine::release(run.once);
}
