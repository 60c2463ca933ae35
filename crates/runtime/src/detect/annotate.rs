//! What the program says itself: dynamic annotations and TSan's public interface.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

use super::engine::{self, Kind};
use super::{heap, incoming, locks, modules};
use crate::common::futex::{futex_wait, futex_wake};
use crate::common::tls;
use crate::interceptor;

type File = *const c_char;

interceptor! {
    fn AnnotateHappensBefore(_file: File, _line: c_int, address: usize) { engine::release(address) }
    fn AnnotateHappensAfter(_file: File, _line: c_int, address: usize) { engine::acquire(address) }
    fn AnnotateCondVarSignal(_file: File, _line: c_int, address: usize) { engine::release(address) }
    fn AnnotateCondVarSignalAll(_file: File, _line: c_int, address: usize) { engine::release(address) }
    fn AnnotateCondVarWait(_file: File, _line: c_int, address: usize, _lock: usize) { engine::acquire(address) }
    fn AnnotateMutexIsNotPHB(_file: File, _line: c_int, _address: usize) {}
    fn AnnotateMutexIsUsedAsCondVar(_file: File, _line: c_int, _address: usize) {}
    fn AnnotateRWLockCreate(_file: File, _line: c_int, lock: usize) {
        locks::created_or_destroyed(lock, 1, tls::caller())
    }
    fn AnnotateRWLockCreateStatic(_file: File, _line: c_int, _lock: usize) {}
    fn AnnotateRWLockDestroy(_file: File, _line: c_int, lock: usize) {
        locks::created_or_destroyed(lock, 1, tls::caller())
    }
    fn AnnotateRWLockAcquired(_file: File, _line: c_int, lock: usize, writing: usize) {
        locks::locked(lock, writing == 0, tls::caller())
    }
    fn AnnotateRWLockReleased(_file: File, _line: c_int, lock: usize, _writing: usize) {
        locks::unlocking(lock, tls::caller())
    }
    fn AnnotateIgnoreReadsBegin(_file: File, _line: c_int) { engine::ignore_reads(true) }
    fn AnnotateIgnoreReadsEnd(_file: File, _line: c_int) { engine::ignore_reads(false) }
    fn AnnotateIgnoreWritesBegin(_file: File, _line: c_int) { engine::ignore_writes(true) }
    fn AnnotateIgnoreWritesEnd(_file: File, _line: c_int) { engine::ignore_writes(false) }
    fn AnnotateIgnoreSyncBegin(_file: File, _line: c_int) { engine::ignore_sync(true) }
    fn AnnotateIgnoreSyncEnd(_file: File, _line: c_int) { engine::ignore_sync(false) }
    fn AnnotateBenignRace(_file: File, _line: c_int, address: usize, _why: *const c_char) {
        benign(address, 8)
    }
    fn AnnotateBenignRaceSized(_file: File, _line: c_int, address: usize, size: usize, _why: *const c_char) {
        benign(address, size)
    }
    fn WTFAnnotateHappensBefore(_file: File, _line: c_int, address: usize) { engine::release(address) }
    fn WTFAnnotateHappensAfter(_file: File, _line: c_int, address: usize) { engine::acquire(address) }
    fn WTFAnnotateBenignRaceSized(_file: File, _line: c_int, address: usize, size: usize, _why: *const c_char) {
        benign(address, size)
    }
    fn AnnotateNewMemory(_file: File, _line: c_int, address: usize, size: usize) {
        if let Some(_thread) = engine::enter() {
            super::access::forget_range(address, size);
        }
    }
    fn AnnotateFlushState(_file: File, _line: c_int) {}
    fn AnnotateNoOp(_file: File, _line: c_int, _address: usize) {}
    fn AnnotateThreadName(_file: File, _line: c_int, _name: *const c_char) {}
    fn AnnotatePublishMemoryRange(_file: File, _line: c_int, _address: usize, _size: usize) {}
    fn AnnotateUnpublishMemoryRange(_file: File, _line: c_int, _address: usize, _size: usize) {}
    fn AnnotateExpectRace(_file: File, _line: c_int, _address: usize, _why: *const c_char) {}
    fn AnnotateFlushExpectedRaces(_file: File, _line: c_int) {}
    fn AnnotateEnableRaceDetection(_file: File, _line: c_int, enable: c_int) {
        engine::ignore_reads(enable == 0);
        engine::ignore_writes(enable == 0);
    }
    fn AnnotatePCQCreate(_file: File, _line: c_int, _queue: usize) {}
    fn AnnotatePCQDestroy(_file: File, _line: c_int, _queue: usize) {}
    fn AnnotatePCQPut(_file: File, _line: c_int, queue: usize) { engine::release(queue) }
    fn AnnotatePCQGet(_file: File, _line: c_int, queue: usize) { engine::acquire(queue) }
    fn AnnotateTraceMemory(_file: File, _line: c_int, _address: usize) {}
    fn AnnotateMemoryIsInitialized(_file: File, _line: c_int, _address: usize, _size: usize) {}
    fn AnnotateMemoryIsUninitialized(_file: File, _line: c_int, _address: usize, _size: usize) {}
    fn RunningOnValgrind() -> c_int { 0 }
    fn ValgrindSlowdown() -> f64 { 10.0 }
    fn ThreadSanitizerQuery(_question: *const c_char) -> *const c_char { c"0".as_ptr() }

    fn __tsan_acquire(address: usize) { engine::acquire(address) }
    fn __tsan_release(address: usize) { engine::release(address) }
    fn __tsan_mutex_create(lock: usize, _flags: c_uint) {
        locks::created_or_destroyed(lock, 1, tls::caller())
    }
    fn __tsan_mutex_destroy(lock: usize, _flags: c_uint) {
        locks::created_or_destroyed(lock, 1, tls::caller())
    }
    fn __tsan_mutex_pre_lock(_lock: usize, _flags: c_uint) { engine::ignore_all(true) }
    fn __tsan_mutex_post_lock(lock: usize, flags: c_uint, recursion: c_int) -> c_int {
        engine::ignore_all(false);
        if flags & TRY_LOCK_FAILED == 0 {
            locks::locked(lock, flags & READ_LOCK != 0, tls::caller());
        }
        recursion
    }
    fn __tsan_mutex_pre_unlock(lock: usize, _flags: c_uint) -> c_int {
        locks::unlocking(lock, tls::caller());
        engine::ignore_all(true);
        0
    }
    fn __tsan_mutex_post_unlock(_lock: usize, _flags: c_uint) { engine::ignore_all(false) }
    // What a signal wakes orders itself by the mutex that it takes again.
    fn __tsan_mutex_pre_signal(_lock: usize, _flags: c_uint) { engine::ignore_all(true) }
    fn __tsan_mutex_post_signal(_lock: usize, _flags: c_uint) { engine::ignore_all(false) }
    fn __tsan_mutex_pre_divert(_lock: usize, _flags: c_uint) { engine::ignore_all(false) }
    fn __tsan_mutex_post_divert(_lock: usize, _flags: c_uint) { engine::ignore_all(true) }
    fn __tsan_external_register_tag(_kind: *const c_char) -> *mut c_void { std::ptr::null_mut() }
    fn __tsan_external_assign_tag(_address: usize, _tag: *mut c_void) {}
    fn __tsan_external_read(address: usize, pc: usize, _tag: *mut c_void) {
        incoming::access_range(address, 1, Kind::READ, pc)
    }
    fn __tsan_external_write(address: usize, pc: usize, _tag: *mut c_void) {
        incoming::access_range(address, 1, Kind::WRITE, pc)
    }
    fn __tsan_flush_memory() {}
    fn __tsan_init() {
        engine::initialize();
        modules::announce(tls::caller());
    }

    fn __tsan_testonly_barrier_init(barrier: *mut u32, count: c_uint) {
        *barrier = count & BARRIER_COUNT;
    }
    fn __tsan_testonly_barrier_wait(barrier: *mut u32) {
        invisible_wait(barrier)
    }
}

const READ_LOCK: c_uint = 1 << 3;
const TRY_LOCK_FAILED: c_uint = 1 << 5;

fn benign(address: usize, size: usize) {
    if let Some(_thread) = engine::enter() {
        heap::add_benign(address, size);
    }
}

/// The bits that count who must come; those above count who came. Programs give a barrier four bytes
/// (or eight, in older versions of the interface), so it has to fit into one word.
const BARRIER_COUNT: u32 = 0x3ff;
const BARRIER_CAME: u32 = BARRIER_COUNT + 1;

/// A barrier that orders nothing in the detector's eyes.
fn invisible_wait(barrier: *mut u32) {
    // SAFETY: the program's own barrier, initialised above; it is an atomic to everybody.
    let word = unsafe { AtomicU32::from_ptr(barrier) };
    let before = word.fetch_add(BARRIER_CAME, Ordering::SeqCst);
    let count = before & BARRIER_COUNT;
    if count == 0 {
        return;
    }
    let round = |value: u32| value / BARRIER_CAME / count;
    if round(before.wrapping_add(BARRIER_CAME)) != round(before) {
        futex_wake(word, u32::MAX >> 1);
        return;
    }
    loop {
        let now = word.load(Ordering::SeqCst);
        if round(now) != round(before) {
            return;
        }
        futex_wait(word, now, None);
    }
}
