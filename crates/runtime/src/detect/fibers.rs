//! TSan's fiber interface: one kernel thread that runs several logical ones.

use std::ffi::{c_char, c_uint, c_void};

use super::engine::{Thread, enter};
use super::thread::REGISTRY;
use crate::common::tls;
use crate::interceptor;

/// The switch orders nothing: the program synchronises its fibers itself.
const NO_SYNC: c_uint = 1;

interceptor! {
    fn __tsan_get_current_fiber() -> *mut c_void {
        tls::state() as *mut c_void
    }
    fn __tsan_create_fiber(_flags: c_uint) -> *mut c_void {
        let pc = tls::caller();
        let Some(mut creator) = enter() else { return std::ptr::null_mut() };
        let site = creator.site(pc);
        REGISTRY.add(&mut creator, site, 0).cast()
    }
    fn __tsan_destroy_fiber(fiber: *mut c_void) {
        if let Some(_thread) = enter() && !fiber.is_null() {
            REGISTRY.bury(fiber.cast::<Thread>());
        }
    }
    fn __tsan_switch_to_fiber(fiber: *mut c_void, flags: c_uint) {
        let target = fiber.cast::<Thread>();
        let Some(mut current) = enter() else { return };
        if target.is_null() || std::ptr::eq(target, &raw const *current) {
            return;
        }
        if flags & NO_SYNC == 0 {
            current.release_into(&mut (*target).clocks);
        }
        current.detach();
        Thread::attach(target);
    }
    fn __tsan_set_fiber_name(_fiber: *mut c_void, _name: *const c_char) {}
}
