//! The rest of the sanitizer interface: unaligned accesses, hooks that a program may define itself,
//! and questions that a program may ask.
//!
//! A hook's definition here is the default: the program's own wins when the two are linked. What
//! TSan tells a debugger about its current report is not kept; those questions are answered with
//! "nothing".

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::engine::{Kind, enter};
use super::incoming;
use crate::common::tls;
use crate::interceptor;

macro_rules! unaligned {
    ($($load:ident $store:ident $int:ty;)*) => {
        interceptor! {$(
            fn $load(address: *const $int) -> $int {
                let pc = tls::caller();
                incoming::access_range(address as usize, std::mem::size_of::<$int>(), Kind::READ, pc);
                address.read_unaligned()
            }
            fn $store(address: *mut $int, value: $int) {
                let pc = tls::caller();
                incoming::access_range(address as usize, std::mem::size_of::<$int>(), Kind::WRITE, pc);
                address.write_unaligned(value)
            }
        )*}
    };
}

unaligned! {
    __sanitizer_unaligned_load16 __sanitizer_unaligned_store16 u16;
    __sanitizer_unaligned_load32 __sanitizer_unaligned_store32 u32;
    __sanitizer_unaligned_load64 __sanitizer_unaligned_store64 u64;
}

static EMPTY: [u8; 1] = [0];

interceptor! {
    fn __tsan_default_options() -> *const c_char { EMPTY.as_ptr().cast() }
    fn __tsan_default_suppressions() -> *const c_char { EMPTY.as_ptr().cast() }
    fn __tsan_on_report(_report: *mut c_void) {}
    fn __tsan_on_initialize() {}
    fn __tsan_on_finalize(failed: c_int) -> c_int { failed }

    fn __tsan_testonly_shadow_stack_current_size() -> usize {
        enter().map_or(0, |thread| thread.call_depth())
    }
    fn __tsan_check_no_mutexes_held() {}
    fn __tsan_on_thread_idle() {}
    fn __tsan_get_current_report() -> *mut c_void { std::ptr::null_mut() }
    fn __tsan_get_report_data() -> c_int { 0 }
    fn __tsan_get_report_tag() -> c_int { 0 }
    fn __tsan_get_report_stack() -> c_int { 0 }
    fn __tsan_get_report_mop() -> c_int { 0 }
    fn __tsan_get_report_loc() -> c_int { 0 }
    fn __tsan_get_report_loc_object_type() -> c_int { 0 }
    fn __tsan_get_report_mutex() -> c_int { 0 }
    fn __tsan_get_report_thread() -> c_int { 0 }
    fn __tsan_get_report_unique_tid() -> c_int { 0 }
    fn __tsan_get_alloc_stack() -> c_int { 0 }
    fn __tsan_locate_address(_address: usize, name: *mut c_char, size: usize, start: *mut usize, length: *mut usize) -> *const c_char {
        if !name.is_null() && size > 0 {
            *name = 0;
        }
        if !start.is_null() {
            *start = 0;
        }
        if !length.is_null() {
            *length = 0;
        }
        EMPTY.as_ptr().cast()
    }

    fn __sanitizer_print_stack_trace() {}
    fn __sanitizer_set_death_callback(_callback: usize) {}
    fn __sanitizer_set_report_path(_path: *const c_char) {}
    fn __sanitizer_set_report_fd(_file: *mut c_void) {}
    fn __sanitizer_sandbox_on_notify(_arguments: *mut c_void) {}
    fn __sanitizer_report_error_summary(_text: *const c_char) {}
    fn __sanitizer_symbolize_pc(_pc: usize, _format: *const c_char, out: *mut c_char, size: usize) {
        if size > 0 {
            *out = 0;
        }
    }
    fn __sanitizer_acquire_crash_state() -> c_uint { 1 }
}
