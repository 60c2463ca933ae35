//! `clone` that gives the child memory of its own: a fork, but that the child does not come back from the call, and
//! that the C library's handlers of forks are not run.

use std::ffi::{c_int, c_void};

use crate::real;

pub type Routine = unsafe extern "C" fn(*mut c_void) -> c_int;

/// What the child is to run.
struct Cloned {
    begin: unsafe extern "C" fn(),
    routine: Routine,
    argument: *mut c_void,
}

/// Calls the C library's `clone`; `begin` is run first in a child with memory of its own.
///
/// # Safety
/// As the C library's, which takes as many of the last three as the flags ask for.
pub unsafe fn cloning(
    begin: unsafe extern "C" fn(),
    (routine, argument): (Routine, *mut c_void),
    (stack, flags): (*mut c_void, c_int),
    [parent, storage, child]: [*mut c_void; 3],
) -> c_int {
    let real = real!(clone: fn(
        Routine,
        *mut c_void,
        c_int,
        *mut c_void,
        *mut c_void,
        *mut c_void,
        *mut c_void,
    ) -> c_int);
    // SAFETY: the program's own arguments; the child reads its copy of what stands on this stack.
    unsafe {
        if is_thread(flags) {
            return real(routine, stack, flags, argument, parent, storage, child);
        }
        let mut start = Cloned { begin, routine, argument };
        real(begin_cloned, stack, flags, (&raw mut start).cast(), parent, storage, child)
    }
}

/// Whether the child has the caller's memory.
pub fn is_thread(flags: c_int) -> bool {
    flags & (libc::CLONE_VM | libc::CLONE_SETTLS) != 0
}

unsafe extern "C" fn begin_cloned(start: *mut c_void) -> c_int {
    // SAFETY: the child's copy of what `cloning` made; the program's routine gets its argument.
    unsafe {
        let Cloned { begin, routine, argument } = std::ptr::read(start.cast::<Cloned>());
        begin();
        routine(argument)
    }
}
