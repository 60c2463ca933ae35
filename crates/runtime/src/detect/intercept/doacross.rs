//! Rounds of a loop that wait for earlier rounds (`ordered depend(sink: …)`), in LLVM's runtime.
//! Archer tells nothing of them. All loops share one order, which can only hide a race, never invent
//! one.

use std::ffi::{c_int, c_void};

use crate::detect::engine;
use crate::{interceptor, real};

/// Its address stands for the rounds that are done.
static ROUNDS: u8 = 0;

fn rounds() -> usize {
    &raw const ROUNDS as usize
}

interceptor! {
    fn __kmpc_doacross_post(place: *mut c_void, thread: c_int, numbers: *const c_void) {
        engine::release(rounds());
        real!(__kmpc_doacross_post: fn(*mut c_void, c_int, *const c_void))(place, thread, numbers)
    }
}

interceptor! {
    fn __kmpc_doacross_wait(place: *mut c_void, thread: c_int, numbers: *const c_void) {
        real!(__kmpc_doacross_wait: fn(*mut c_void, c_int, *const c_void))(place, thread, numbers);
        engine::acquire(rounds());
    }
}
