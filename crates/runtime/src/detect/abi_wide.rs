//! TSan's entry points for 128-bit atomics.

use std::arch::asm;

use super::engine::{self, AtomicOp, Order};
use crate::common::tls;
use crate::interceptor;

/// `lock cmpxchg16b`: every x86-64 that runs clang's 16-byte atomics has it.
unsafe fn exchange_if(address: *mut u128, expected: u128, value: u128) -> (u128, bool) {
    let (low, high): (u64, u64);
    let success: u8;
    // SAFETY: the program's own aligned 16 bytes; rbx is saved by hand because LLVM reserves it.
    unsafe {
        asm!(
            "xchg {value_low}, rbx",
            "lock cmpxchg16b xmmword ptr [{address}]",
            "sete {success}",
            "mov rbx, {value_low}",
            value_low = inout(reg) value as u64 => _,
            address = in(reg) address,
            success = out(reg_byte) success,
            inout("rax") expected as u64 => low,
            inout("rdx") (expected >> 64) as u64 => high,
            in("rcx") (value >> 64) as u64,
            options(nostack)
        );
    }
    (u128::from(high) << 64 | u128::from(low), success != 0)
}

unsafe fn load(address: *mut u128) -> u128 {
    // SAFETY: exchanging zero for zero changes nothing and reads atomically.
    unsafe { exchange_if(address, 0, 0).0 }
}

unsafe fn update(address: *mut u128, change: impl Fn(u128) -> u128) -> u128 {
    // SAFETY: the program's own aligned 16 bytes.
    unsafe {
        let mut old = load(address);
        loop {
            match exchange_if(address, old, change(old)) {
                (found, true) => return found,
                (found, false) => old = found,
            }
        }
    }
}

macro_rules! updates {
    ($($name:ident => |$old:ident, $value:ident| $new:expr;)*) => {
        interceptor! {$(
            fn $name(address: *mut u128, $value: u128, order: u32) -> u128 {
                let pc = tls::caller();
                engine::atomic(address as usize, 16, AtomicOp::Update, Order::of(order), pc, || {
                    (update(address, |$old| $new), true)
                })
            }
        )*}
    };
}

updates! {
    __tsan_atomic128_exchange => |_old, value| value;
    __tsan_atomic128_fetch_add => |old, value| old.wrapping_add(value);
    __tsan_atomic128_fetch_sub => |old, value| old.wrapping_sub(value);
    __tsan_atomic128_fetch_and => |old, value| old & value;
    __tsan_atomic128_fetch_or => |old, value| old | value;
    __tsan_atomic128_fetch_xor => |old, value| old ^ value;
    __tsan_atomic128_fetch_nand => |old, value| !(old & value);
}

interceptor! {
    fn __tsan_atomic128_load(address: *mut u128, order: u32) -> u128 {
        let pc = tls::caller();
        engine::atomic(address as usize, 16, AtomicOp::Load, Order::of(order), pc, || {
            (load(address), true)
        })
    }
    fn __tsan_atomic128_store(address: *mut u128, value: u128, order: u32) {
        let pc = tls::caller();
        engine::atomic(address as usize, 16, AtomicOp::Store, Order::of(order), pc, || {
            update(address, |_| value);
            ((), true)
        })
    }
    fn __tsan_atomic128_compare_exchange_val(address: *mut u128, expected: u128, value: u128, order: u32, failure: u32) -> u128 {
        let pc = tls::caller();
        let op = AtomicOp::Exchange { failure: Order::of(failure), likely: load(address) == expected };
        engine::atomic(address as usize, 16, op, Order::of(order), pc, || {
            exchange_if(address, expected, value)
        })
    }
    fn __tsan_atomic128_compare_exchange_strong(address: *mut u128, expected: *mut u128, value: u128, order: u32, failure: u32) -> i32 {
        let pc = tls::caller();
        let op = AtomicOp::Exchange { failure: Order::of(failure), likely: load(address) == *expected };
        engine::atomic(address as usize, 16, op, Order::of(order), pc, || {
            let (found, success) = exchange_if(address, *expected, value);
            if !success {
                *expected = found;
            }
            (i32::from(success), success)
        })
    }
    fn __tsan_atomic128_compare_exchange_weak(address: *mut u128, expected: *mut u128, value: u128, order: u32, failure: u32) -> i32 {
        let pc = tls::caller();
        let op = AtomicOp::Exchange { failure: Order::of(failure), likely: load(address) == *expected };
        engine::atomic(address as usize, 16, op, Order::of(order), pc, || {
            let (found, success) = exchange_if(address, *expected, value);
            if !success {
                *expected = found;
            }
            (i32::from(success), success)
        })
    }
}
