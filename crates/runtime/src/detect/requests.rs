//! What inline assembly does, and what programs written for Valgrind's tools ask for.
//!
//! The instrumenter puts these calls where it finds such a statement. The numbers are those of
//! `valgrind.h`, `helgrind.h` and `drd.h`, which programs have compiled in.

use std::ffi::{CStr, c_char};

use super::engine::{self, Kind, check_range, enter};
use super::{access, heap, incoming, locks, sync};
use crate::common::tls;
use crate::interceptor;

const WRITES: usize = 1;
const ATOMIC: usize = 2;

interceptor! {
    fn __racewarden_assembly(address: usize, size: usize, flags: usize) {
        let pc = tls::caller();
        let kind = match (flags & WRITES != 0, flags & ATOMIC != 0) {
            (false, false) => Kind::READ,
            (true, false) => Kind::WRITE,
            (false, true) => Kind::ATOMIC_READ,
            (true, true) => Kind::ATOMIC_WRITE,
        };
        incoming::access_range(address, size, kind, pc);
    }
    fn __racewarden_request(arguments: *const usize, default: usize) -> usize {
        let pc = tls::caller();
        let words = &*arguments.cast::<[usize; 6]>();
        request(words[0], &words[1..], pc);
        default
    }
}

const MALLOC_LIKE: usize = 0x1301;
const FREE_LIKE: usize = 0x1302;
const HELGRIND: usize = 0x4847_0000;
const HELGRIND_FIRST: usize = HELGRIND + 256;
const HELGRIND_LAST: usize = HELGRIND_FIRST + 63;
const DRD: usize = 0x4452_0000;
const DRD_LAST: usize = DRD + 15;

fn request(code: usize, arguments: &[usize], pc: usize) {
    let (first, second) = (arguments[0], arguments[1]);
    match code {
        MALLOC_LIKE => {
            if let Some(mut thread) = enter() {
                access::forget_range(first, second);
                let site = thread.site(pc);
                heap::add(first, second, site);
            }
        }
        FREE_LIKE => {
            if let Some(mut thread) = enter()
                && let Some(block) = heap::remove(first)
            {
                check_range(&mut thread, block.start, block.size, Kind::FREE, pc);
            }
        }
        HELGRIND => clean(first, second),
        HELGRIND_FIRST..=HELGRIND_LAST => helgrind(code - HELGRIND_FIRST, first, second, pc),
        DRD..=DRD_LAST => drd(code - DRD, first, second, pc),
        _ => {}
    }
}

fn clean(address: usize, size: usize) {
    if let Some(_thread) = enter() {
        access::forget_range(address, size);
        sync::forget_range(address, size);
    }
}

fn benign(address: usize, size: usize, on: bool) {
    if let Some(_thread) = enter() {
        if on {
            heap::add_benign(address, size);
        } else {
            heap::remove_benign(address);
        }
    }
}

/// Helgrind's requests, also DRD's where it shares them.
fn helgrind(code: usize, first: usize, second: usize, pc: usize) {
    match code {
        // Mutexes and read-write locks of the program's own making.
        3 | 4 | 14 | 15 => locks::created_or_destroyed(first, 1, pc),
        5 | 18 => locks::unlocking(first, pc),
        8 => locks::locked(first, false, pc),
        17 => locks::locked(first, second == 0, pc),
        // Semaphores, condition variables, and plain orders.
        20 | 21 => locks::created_or_destroyed(first, 1, pc),
        9 | 10 | 22 | 33 => engine::release(first),
        12 | 23 | 34 => engine::acquire(first),
        35 => {
            if let Some(_thread) = enter() {
                sync::forget(first);
            }
        }
        // A barrier says only that it is about to wait.
        25 => engine::release(first),
        39 => benign(first, second, true),
        40 => benign(first, second, false),
        42 => {
            if let Some(block) = heap::block_at(first) {
                clean(block.start, block.size);
            }
        }
        _ => {}
    }
}

fn drd(code: usize, first: usize, second: usize, pc: usize) {
    match code {
        2 => benign(first, second, true),
        3 => benign(first, second, false),
        6 => engine::ignore_reads(first == 0),
        7 => engine::ignore_writes(first == 0),
        10 | 11 => locks::created_or_destroyed(first, 1, pc),
        13 => engine::acquire(first),
        14 => engine::release(first),
        // "Not implemented there": barriers of the program's own making, named by a text.
        9 if first != 0 => {
            // SAFETY: the program passes the annotation's name as a literal.
            let name = unsafe { CStr::from_ptr(first as *const c_char) }.to_bytes();
            match name {
                b"ANNOTATE_BARRIER_WAIT_BEFORE" => engine::release(second),
                b"ANNOTATE_BARRIER_WAIT_AFTER" => engine::acquire(second),
                _ => {}
            }
        }
        _ => {}
    }
}
