//! What has to be put right when a thread is cancelled inside a blocking function.
//!
//! A cancelled thread does not come back to the interceptor: the C library unwinds its stack. A wait on a
//! condition variable has taken its mutex again by then, and the program's clean-up handlers count on that.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

/// The C library's record of a clean-up handler, which it keeps in the frame that has pushed it.
#[repr(C)]
struct Handler {
    routine: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
    cancel_type: c_int,
    previous: *mut Handler,
}

unsafe extern "C" {
    fn _pthread_cleanup_push(
        handler: *mut Handler,
        routine: unsafe extern "C" fn(*mut c_void),
        argument: *mut c_void,
    );
    fn _pthread_cleanup_pop(handler: *mut Handler, execute: c_int);
}

/// Blocks in `work`. When the thread is cancelled there, `repair` runs before any handler of the program
/// that was pushed earlier.
#[inline(always)]
pub fn repaired_by<R, F: Fn()>(repair: F, work: impl FnOnce() -> R) -> R {
    unsafe extern "C" fn run<F: Fn()>(repair: *mut c_void) {
        // SAFETY: points at the closure below, whose frame is only being left.
        unsafe { (*repair.cast_const().cast::<F>())() };
    }
    let mut handler = MaybeUninit::<Handler>::uninit();
    // SAFETY: handler and closure stay where they are until the handler is popped.
    unsafe {
        _pthread_cleanup_push(handler.as_mut_ptr(), run::<F>, (&raw const repair).cast_mut().cast())
    };
    let result = work();
    // SAFETY: pushed above; whatever was pushed since is popped again.
    unsafe { _pthread_cleanup_pop(handler.as_mut_ptr(), 0) };
    result
}
