//! Semaphores, named ones included: a post comes before the wait that it lets through.

use std::ffi::{c_int, c_uint, c_void};

use crate::common::tls;
use crate::detect::{engine, locks};
use crate::{interceptor, real};

macro_rules! waiting {
    ($($name:ident($($argument:ident : $type:ty),*);)*) => {
        interceptor! {$(
            fn $name(semaphore: *mut c_void $(, $argument: $type)*) -> c_int {
                let result = real!($name: fn(*mut c_void $(, $type)*) -> c_int)(semaphore $(, $argument)*);
                if result == 0 {
                    engine::acquire(semaphore as usize);
                }
                result
            }
        )*}
    };
}

waiting! {
    sem_wait();
    sem_trywait();
    sem_timedwait(time: *const c_void);
    sem_clockwait(clock: c_int, time: *const c_void);
}

interceptor! {
    fn sem_post(semaphore: *mut c_void) -> c_int {
        engine::release(semaphore as usize);
        real!(sem_post: fn(*mut c_void) -> c_int)(semaphore)
    }
    fn sem_getvalue(semaphore: *mut c_void, value: *mut c_int) -> c_int {
        let result = real!(sem_getvalue: fn(*mut c_void, *mut c_int) -> c_int)(semaphore, value);
        if result == 0 {
            engine::acquire(semaphore as usize);
        }
        result
    }
    fn sem_init(semaphore: *mut c_void, shared: c_int, value: c_uint) -> c_int {
        let pc = tls::caller();
        let result = real!(sem_init: fn(*mut c_void, c_int, c_uint) -> c_int)(semaphore, shared, value);
        locks::created_or_destroyed(semaphore as usize, 1, pc);
        result
    }
    fn sem_destroy(semaphore: *mut c_void) -> c_int {
        locks::created_or_destroyed(semaphore as usize, 1, tls::caller());
        real!(sem_destroy: fn(*mut c_void) -> c_int)(semaphore)
    }
}
