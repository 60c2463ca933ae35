//! What programs written for Valgrind's tools declare about themselves.
//!
//! The instrumenter puts the call where it finds such a request. The numbers are those of
//! `valgrind.h`, `helgrind.h` and `drd.h`, which programs have compiled in.

use std::ffi::{CStr, c_char};

use racewarden_trace::binary::SyncOp;

use super::threads::sync;

const MALLOC_LIKE: u64 = 0x1301;
const FREE_LIKE: u64 = 0x1302;
/// Forgets what was known about a piece of memory: from now on it is another object.
const CLEAN: u64 = 0x4847_0000;
const HELGRIND: u64 = CLEAN + 256;
const DRD: u64 = 0x4452_0000;

/// # Safety
/// `arguments` are the six words of a request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_request(arguments: *const u64, default: u64) -> u64 {
    // SAFETY: by the caller's promise.
    let [code, first, second, ..] = unsafe { *arguments.cast::<[u64; 6]>() };
    match code {
        MALLOC_LIKE | CLEAN => sync(SyncOp::Alloc, first, second),
        FREE_LIKE => sync(SyncOp::Free, first, 0),
        HELGRIND.. if code < HELGRIND + 64 => helgrind(code - HELGRIND, first, second),
        DRD.. if code < DRD + 16 => drd(code - DRD, first, second),
        _ => {}
    }
    default
}

fn helgrind(code: u64, first: u64, second: u64) {
    let op = match code {
        5 | 18 => SyncOp::Release,
        8 => SyncOp::Acquire,
        17 if second == 0 => SyncOp::AcquireShared,
        17 => SyncOp::Acquire,
        // Semaphores, condition variables, barriers about to wait, and plain orders.
        9 | 10 | 22 | 25 | 33 => SyncOp::Put,
        12 | 23 | 34 => SyncOp::Got,
        _ => return,
    };
    sync(op, first, 0);
}

fn drd(code: u64, first: u64, second: u64) {
    match code {
        13 => sync(SyncOp::Got, first, 0),
        14 => sync(SyncOp::Put, first, 0),
        // "Not implemented there": barriers of the program's own making, named by a text.
        9 if first != 0 => {
            // SAFETY: the program passes the annotation's name as a literal.
            let name = unsafe { CStr::from_ptr(first as *const c_char) }.to_bytes();
            match name {
                b"ANNOTATE_BARRIER_WAIT_BEFORE" => sync(SyncOp::Put, second, 0),
                b"ANNOTATE_BARRIER_WAIT_AFTER" => sync(SyncOp::Got, second, 0),
                _ => {}
            }
        }
        _ => {}
    }
}
