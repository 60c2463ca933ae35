//! Heap blocks: where each begins, so that an address used again is another object.

use std::ffi::c_void;

use racewarden_trace::binary::SyncOp;

use super::threads::sync;

// The C library's own entry points: looking the real functions up by name would allocate.
unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
    fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
}

fn allocated(block: *mut c_void, size: usize) -> *mut c_void {
    if !block.is_null() {
        sync(SyncOp::Alloc, block as u64, size as u64);
    }
    block
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    // SAFETY: passes the program's argument on.
    allocated(unsafe { __libc_malloc(size) }, size)
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    // SAFETY: passes the program's arguments on.
    allocated(unsafe { __libc_calloc(count, size) }, count.saturating_mul(size))
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    if !block.is_null() {
        sync(SyncOp::Free, block as u64, 0);
    }
    // SAFETY: passes the program's arguments on.
    allocated(unsafe { __libc_realloc(block, size) }, size)
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(block: *mut c_void) {
    if !block.is_null() {
        // Before the block can be handed out again.
        sync(SyncOp::Free, block as u64, 0);
    }
    // SAFETY: passes the program's argument on.
    unsafe { __libc_free(block) }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memalign(alignment: usize, size: usize) -> *mut c_void {
    // SAFETY: passes the program's arguments on.
    allocated(unsafe { __libc_memalign(alignment, size) }, size)
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    // SAFETY: passes the program's arguments on.
    unsafe { memalign(alignment, size) }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(
    result: *mut *mut c_void,
    alignment: usize,
    size: usize,
) -> i32 {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    // SAFETY: the alignment is a valid one.
    let block = unsafe { memalign(alignment, size) };
    if block.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the program's pointer is writable.
    unsafe { *result = block };
    0
}
