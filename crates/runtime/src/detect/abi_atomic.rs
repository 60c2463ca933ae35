//! TSan's entry points for atomic operations of 8 to 64 bits; `abi_wide` has 128 bits.
//!
//! The operation itself happens in [`engine::atomic`], between the two halves of the clock
//! transfer, so that an acquire sees exactly the release it reads from.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use super::engine::{self, AtomicOp, Order};
use crate::common::tls;
use crate::interceptor;

macro_rules! atomics {
    ($($atomic:ident, $int:ident, $size:literal:
        $load:ident $store:ident $exchange:ident $add:ident $sub:ident $and:ident $or:ident
        $xor:ident $nand:ident $strong:ident $weak:ident $val:ident;)*) => {$(
        interceptor! {
            fn $load(address: *const $int, order: u32) -> $int {
                let pc = tls::caller();
                engine::atomic(address as usize, $size, AtomicOp::Load, Order::of(order), pc, || {
                    let atomic = $atomic::from_ptr(address.cast_mut());
                    (atomic.load(Ordering::SeqCst), true)
                })
            }
            fn $store(address: *mut $int, value: $int, order: u32) {
                let pc = tls::caller();
                engine::atomic(address as usize, $size, AtomicOp::Store, Order::of(order), pc, || {
                    $atomic::from_ptr(address).store(value, Ordering::SeqCst);
                    ((), true)
                })
            }
            fn $exchange(address: *mut $int, value: $int, order: u32) -> $int {
                let pc = tls::caller();
                engine::atomic(address as usize, $size, AtomicOp::Update, Order::of(order), pc, || {
                    ($atomic::from_ptr(address).swap(value, Ordering::SeqCst), true)
                })
            }
            fn $add(address: *mut $int, value: $int, order: u32) -> $int {
                let pc = tls::caller();
                engine::atomic(address as usize, $size, AtomicOp::Update, Order::of(order), pc, || {
                    ($atomic::from_ptr(address).fetch_add(value, Ordering::SeqCst), true)
                })
            }
            fn $sub(address: *mut $int, value: $int, order: u32) -> $int {
                let pc = tls::caller();
                engine::atomic(address as usize, $size, AtomicOp::Update, Order::of(order), pc, || {
                    ($atomic::from_ptr(address).fetch_sub(value, Ordering::SeqCst), true)
                })
            }
            fn $and(address: *mut $int, value: $int, order: u32) -> $int {
                let pc = tls::caller();
                engine::atomic(address as usize, $size, AtomicOp::Update, Order::of(order), pc, || {
                    ($atomic::from_ptr(address).fetch_and(value, Ordering::SeqCst), true)
                })
            }
            fn $or(address: *mut $int, value: $int, order: u32) -> $int {
                let pc = tls::caller();
                engine::atomic(address as usize, $size, AtomicOp::Update, Order::of(order), pc, || {
                    ($atomic::from_ptr(address).fetch_or(value, Ordering::SeqCst), true)
                })
            }
            fn $xor(address: *mut $int, value: $int, order: u32) -> $int {
                let pc = tls::caller();
                engine::atomic(address as usize, $size, AtomicOp::Update, Order::of(order), pc, || {
                    ($atomic::from_ptr(address).fetch_xor(value, Ordering::SeqCst), true)
                })
            }
            fn $nand(address: *mut $int, value: $int, order: u32) -> $int {
                let pc = tls::caller();
                engine::atomic(address as usize, $size, AtomicOp::Update, Order::of(order), pc, || {
                    ($atomic::from_ptr(address).fetch_nand(value, Ordering::SeqCst), true)
                })
            }
            fn $strong(address: *mut $int, expected: *mut $int, value: $int, order: u32, failure: u32) -> i32 {
                let pc = tls::caller();
                let likely = $atomic::from_ptr(address).load(Ordering::Relaxed) == *expected;
                let op = AtomicOp::Exchange { failure: Order::of(failure), likely };
                engine::atomic(address as usize, $size, op, Order::of(order), pc, || {
                    let atomic = $atomic::from_ptr(address);
                    match atomic.compare_exchange(*expected, value, Ordering::SeqCst, Ordering::SeqCst) {
                        Ok(_) => (1, true),
                        Err(found) => {
                            *expected = found;
                            (0, false)
                        }
                    }
                })
            }
            fn $weak(address: *mut $int, expected: *mut $int, value: $int, order: u32, failure: u32) -> i32 {
                let pc = tls::caller();
                let likely = $atomic::from_ptr(address).load(Ordering::Relaxed) == *expected;
                let op = AtomicOp::Exchange { failure: Order::of(failure), likely };
                engine::atomic(address as usize, $size, op, Order::of(order), pc, || {
                    let atomic = $atomic::from_ptr(address);
                    match atomic.compare_exchange(*expected, value, Ordering::SeqCst, Ordering::SeqCst) {
                        Ok(_) => (1, true),
                        Err(found) => {
                            *expected = found;
                            (0, false)
                        }
                    }
                })
            }
            fn $val(address: *mut $int, expected: $int, value: $int, order: u32, failure: u32) -> $int {
                let pc = tls::caller();
                let likely = $atomic::from_ptr(address).load(Ordering::Relaxed) == expected;
                let op = AtomicOp::Exchange { failure: Order::of(failure), likely };
                engine::atomic(address as usize, $size, op, Order::of(order), pc, || {
                    let atomic = $atomic::from_ptr(address);
                    match atomic.compare_exchange(expected, value, Ordering::SeqCst, Ordering::SeqCst) {
                        Ok(found) => (found, true),
                        Err(found) => (found, false),
                    }
                })
            }
        }
    )*};
}

atomics! {
    AtomicU8, u8, 1: __tsan_atomic8_load __tsan_atomic8_store __tsan_atomic8_exchange
        __tsan_atomic8_fetch_add __tsan_atomic8_fetch_sub __tsan_atomic8_fetch_and
        __tsan_atomic8_fetch_or __tsan_atomic8_fetch_xor __tsan_atomic8_fetch_nand
        __tsan_atomic8_compare_exchange_strong __tsan_atomic8_compare_exchange_weak
        __tsan_atomic8_compare_exchange_val;
    AtomicU16, u16, 2: __tsan_atomic16_load __tsan_atomic16_store __tsan_atomic16_exchange
        __tsan_atomic16_fetch_add __tsan_atomic16_fetch_sub __tsan_atomic16_fetch_and
        __tsan_atomic16_fetch_or __tsan_atomic16_fetch_xor __tsan_atomic16_fetch_nand
        __tsan_atomic16_compare_exchange_strong __tsan_atomic16_compare_exchange_weak
        __tsan_atomic16_compare_exchange_val;
    AtomicU32, u32, 4: __tsan_atomic32_load __tsan_atomic32_store __tsan_atomic32_exchange
        __tsan_atomic32_fetch_add __tsan_atomic32_fetch_sub __tsan_atomic32_fetch_and
        __tsan_atomic32_fetch_or __tsan_atomic32_fetch_xor __tsan_atomic32_fetch_nand
        __tsan_atomic32_compare_exchange_strong __tsan_atomic32_compare_exchange_weak
        __tsan_atomic32_compare_exchange_val;
    AtomicU64, u64, 8: __tsan_atomic64_load __tsan_atomic64_store __tsan_atomic64_exchange
        __tsan_atomic64_fetch_add __tsan_atomic64_fetch_sub __tsan_atomic64_fetch_and
        __tsan_atomic64_fetch_or __tsan_atomic64_fetch_xor __tsan_atomic64_fetch_nand
        __tsan_atomic64_compare_exchange_strong __tsan_atomic64_compare_exchange_weak
        __tsan_atomic64_compare_exchange_val;
}

interceptor! {
    fn __tsan_atomic_thread_fence(order: u32) {
        std::sync::atomic::fence(Ordering::SeqCst);
        engine::fence(Order::of(order));
    }
    fn __tsan_atomic_signal_fence(order: u32) {
        let _ = order;
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
    }
}
