//! TSan's interface for managed heaps.

use std::ffi::c_int;

use super::engine::{self, AtomicOp, Order};
use super::thread::REGISTRY;
use super::{access, locks, sync};
use crate::common::tls;
use crate::interceptor;

interceptor! {
    fn __tsan_java_init(_heap: usize, _size: usize) {}
    fn __tsan_java_fini() -> c_int { 0 }
    fn __tsan_java_alloc(address: usize, size: usize) {
        if let Some(_thread) = engine::enter() {
            access::forget_range(address, size);
        }
    }
    fn __tsan_java_free(address: usize, size: usize) {
        if let Some(_thread) = engine::enter() {
            access::forget_range(address, size);
            sync::forget_range(address, size);
        }
    }
    fn __tsan_java_move(from: usize, to: usize, size: usize) {
        if let Some(_thread) = engine::enter() {
            for (address, size) in [(from, size), (to, size)] {
                access::forget_range(address, size);
                sync::forget_range(address, size);
            }
        }
    }
    fn __tsan_java_find(_from: *mut usize, _to: usize) -> usize { 0 }
    fn __tsan_java_finalize() {
        // Objects that nobody refers to any more: whatever any thread did to them is over.
        if let Some(mut thread) = engine::enter() {
            REGISTRY.acquire_all(&mut thread);
        }
    }
    fn __tsan_java_mutex_lock(lock: usize) { locks::locked(lock, false, tls::caller()) }
    fn __tsan_java_mutex_unlock(lock: usize) { locks::unlocking(lock, tls::caller()) }
    fn __tsan_java_mutex_read_lock(lock: usize) { locks::locked(lock, true, tls::caller()) }
    fn __tsan_java_mutex_read_unlock(lock: usize) { locks::unlocking(lock, tls::caller()) }
    fn __tsan_java_mutex_lock_rec(lock: usize, count: c_int) {
        for _ in 0..count {
            locks::locked(lock, false, tls::caller())
        }
    }
    fn __tsan_java_mutex_unlock_rec(lock: usize) -> c_int {
        let count = engine::enter().map_or(1, |thread| thread.times_held(lock).max(1));
        for _ in 0..count {
            locks::unlocking(lock, tls::caller());
        }
        count as c_int
    }
    fn __tsan_java_acquire(address: usize) { engine::acquire(address) }
    fn __tsan_java_release(address: usize) { engine::release(address) }
    fn __tsan_java_release_store(address: usize) {
        let pc = tls::caller();
        engine::atomic(address, 1, AtomicOp::Store, Order::Release, pc, || ((), true))
    }
}
