//! The C++ runtime: initialisation of function-local statics.

use std::ffi::c_int;

use crate::detect::engine;
use crate::{interceptor, real};

interceptor! {
    fn __cxa_guard_acquire(guard: *mut u64) -> c_int {
        let result = real!(__cxa_guard_acquire: fn(*mut u64) -> c_int)(guard);
        if result == 0 {
            engine::acquire(guard as usize);
        }
        result
    }
    fn __cxa_guard_release(guard: *mut u64) {
        engine::release(guard as usize);
        real!(__cxa_guard_release: fn(*mut u64))(guard)
    }
    fn __cxa_guard_abort(guard: *mut u64) {
        engine::release(guard as usize);
        real!(__cxa_guard_abort: fn(*mut u64))(guard)
    }
}
