//! C11 threads. glibc calls its pthread functions internally, so these do not pass our own.

use std::ffi::{c_int, c_void};

use super::thread::{create, join};
use crate::common::tls;
use crate::detect::{engine, locks};
use crate::{interceptor, real};

const SUCCESS: c_int = 0;

type Begin = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

interceptor! {
    fn thrd_create(handle: *mut usize, routine: usize, argument: *mut c_void) -> c_int {
        // A C11 routine returns an int in the same register that a pthread routine's pointer uses.
        let pc = tls::caller();
        create(
            routine,
            argument,
            false,
            pc,
            |begin, package| real!(thrd_create: fn(*mut usize, Begin, *mut c_void) -> c_int)(handle, begin, package),
            || *handle,
        )
    }
    fn thrd_join(thread: usize, value: *mut c_int) -> c_int {
        join(thread, || real!(thrd_join: fn(usize, *mut c_int) -> c_int)(thread, value))
    }
    fn thrd_detach(thread: usize) -> c_int {
        if engine::is_initialized() {
            crate::detect::thread::REGISTRY.detach(thread);
        }
        real!(thrd_detach: fn(usize) -> c_int)(thread)
    }
    fn mtx_init(lock: *mut c_void, kind: c_int) -> c_int {
        let pc = tls::caller();
        let result = real!(mtx_init: fn(*mut c_void, c_int) -> c_int)(lock, kind);
        locks::created_or_destroyed(lock as usize, 1, pc);
        result
    }
    fn mtx_destroy(lock: *mut c_void) {
        locks::created_or_destroyed(lock as usize, 1, tls::caller());
        real!(mtx_destroy: fn(*mut c_void))(lock)
    }
    fn mtx_lock(lock: *mut c_void) -> c_int {
        let pc = tls::caller();
        let result = real!(mtx_lock: fn(*mut c_void) -> c_int)(lock);
        if result == SUCCESS {
            locks::locked(lock as usize, false, pc);
        }
        result
    }
    fn mtx_trylock(lock: *mut c_void) -> c_int {
        let pc = tls::caller();
        let result = real!(mtx_trylock: fn(*mut c_void) -> c_int)(lock);
        if result == SUCCESS {
            locks::locked(lock as usize, false, pc);
        }
        result
    }
    fn mtx_timedlock(lock: *mut c_void, time: *const c_void) -> c_int {
        let pc = tls::caller();
        let result = real!(mtx_timedlock: fn(*mut c_void, *const c_void) -> c_int)(lock, time);
        if result == SUCCESS {
            locks::locked(lock as usize, false, pc);
        }
        result
    }
    fn mtx_unlock(lock: *mut c_void) -> c_int {
        locks::unlocking(lock as usize, tls::caller());
        real!(mtx_unlock: fn(*mut c_void) -> c_int)(lock)
    }
    fn cnd_init(condition: *mut c_void) -> c_int {
        let pc = tls::caller();
        let result = real!(cnd_init: fn(*mut c_void) -> c_int)(condition);
        locks::created_or_destroyed(condition as usize, 8, pc);
        result
    }
    fn cnd_destroy(condition: *mut c_void) {
        locks::created_or_destroyed(condition as usize, 8, tls::caller());
        real!(cnd_destroy: fn(*mut c_void))(condition)
    }
    fn cnd_signal(condition: *mut c_void) -> c_int {
        locks::signalling(condition as usize, tls::caller());
        real!(cnd_signal: fn(*mut c_void) -> c_int)(condition)
    }
    fn cnd_broadcast(condition: *mut c_void) -> c_int {
        locks::signalling(condition as usize, tls::caller());
        real!(cnd_broadcast: fn(*mut c_void) -> c_int)(condition)
    }
    fn cnd_wait(condition: *mut c_void, lock: *mut c_void) -> c_int {
        locks::wait(condition as usize, lock as usize, tls::caller(), || {
            real!(cnd_wait: fn(*mut c_void, *mut c_void) -> c_int)(condition, lock)
        })
    }
    fn cnd_timedwait(condition: *mut c_void, lock: *mut c_void, time: *const c_void) -> c_int {
        locks::wait(condition as usize, lock as usize, tls::caller(), || {
            real!(cnd_timedwait: fn(*mut c_void, *mut c_void, *const c_void) -> c_int)(condition, lock, time)
        })
    }
    fn call_once(once: *mut c_int, routine: unsafe extern "C" fn()) {
        unsafe extern "C" {
            fn pthread_once(once: *mut c_int, routine: unsafe extern "C" fn()) -> c_int;
        }
        pthread_once(once, routine);
    }
}
