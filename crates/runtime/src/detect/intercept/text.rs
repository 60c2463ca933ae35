//! Rarer memory and string functions, numbers out of strings, and calls that fill the program's
//! buffers.

use std::ffi::{c_char, c_int, c_long, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::memory::{length, watch};
use crate::common::tls;
use crate::detect::engine::{Kind, check_range};
use crate::{interceptor, real};

type Text = *const c_char;

/// Functions that read the whole of each of their strings.
macro_rules! whole_strings {
    ($($name:ident($($text:ident),* ; $($other:ident : $type:ty),*) -> $result:ty;)*) => {
        interceptor! {$(
            fn $name($($text: Text,)* $($other: $type),*) -> $result {
                let pc = tls::caller();
                watch(pc, |thread| {
                    $(check_range(thread, $text as usize, length($text) + 1, Kind::READ, pc);)*
                });
                real!($name: fn($(whole_strings!(@ $text),)* $($type),*) -> $result)($($text,)* $($other),*)
            }
        )*}
    };
    (@ $text:ident) => { Text };
}

whole_strings! {
    strspn(text, set;) -> usize;
    strcspn(text, set;) -> usize;
    strpbrk(text, set;) -> *mut c_char;
    strcasestr(text, part;) -> *mut c_char;
    strcoll(text, other;) -> c_int;
    atoi(text;) -> c_int;
    atol(text;) -> c_long;
    atoll(text;) -> i64;
    atof(text;) -> f64;
}

/// `strtol` and its kin read up to where the number ends.
macro_rules! numbers {
    ($($name:ident($($base:ident : $type:ty)?) -> $result:ty;)*) => {
        interceptor! {$(
            fn $name(text: Text, end: *mut *mut c_char $(, $base: $type)?) -> $result {
                let pc = tls::caller();
                let mut stopped = std::ptr::null_mut();
                let result = real!($name: fn(Text, *mut *mut c_char $(, $type)?) -> $result)(text, &mut stopped $(, $base)?);
                watch(pc, |thread| {
                    let size = (stopped as usize).wrapping_sub(text as usize) + 1;
                    check_range(thread, text as usize, size, Kind::READ, pc);
                    if !end.is_null() {
                        check_range(thread, end as usize, 8, Kind::WRITE, pc);
                    }
                });
                if !end.is_null() {
                    *end = stopped;
                }
                result
            }
        )*}
    };
}

numbers! {
    strtol(base: c_int) -> c_long;
    strtoul(base: c_int) -> u64;
    strtoll(base: c_int) -> i64;
    strtoull(base: c_int) -> u64;
    __isoc23_strtol(base: c_int) -> c_long;
    __isoc23_strtoul(base: c_int) -> u64;
    __isoc23_strtoll(base: c_int) -> i64;
    __isoc23_strtoull(base: c_int) -> u64;
    strtod() -> f64;
    strtof() -> f32;
}

interceptor! {
    fn bcmp(a: *const c_void, b: *const c_void, size: usize) -> c_int {
        let pc = tls::caller();
        watch(pc, |thread| {
            check_range(thread, a as usize, size, Kind::READ, pc);
            check_range(thread, b as usize, size, Kind::READ, pc);
        });
        real!(memcmp: fn(*const c_void, *const c_void, usize) -> c_int)(a, b, size)
    }
    fn bzero(to: *mut c_void, size: usize) {
        let pc = tls::caller();
        watch(pc, |thread| check_range(thread, to as usize, size, Kind::WRITE, pc));
        real!(memset: fn(*mut c_void, c_int, usize) -> *mut c_void)(to, 0, size);
    }
    fn mempcpy(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void {
        let pc = tls::caller();
        watch(pc, |thread| {
            check_range(thread, from as usize, size, Kind::READ, pc);
            check_range(thread, to as usize, size, Kind::WRITE, pc);
        });
        real!(mempcpy: fn(*mut c_void, *const c_void, usize) -> *mut c_void)(to, from, size)
    }
    fn memccpy(to: *mut c_void, from: *const c_void, end: c_int, size: usize) -> *mut c_void {
        let pc = tls::caller();
        let result = real!(memccpy: fn(*mut c_void, *const c_void, c_int, usize) -> *mut c_void)(to, from, end, size);
        let copied = if result.is_null() { size } else { result as usize - to as usize };
        watch(pc, |thread| {
            check_range(thread, from as usize, copied, Kind::READ, pc);
            check_range(thread, to as usize, copied, Kind::WRITE, pc);
        });
        result
    }
    fn memrchr(from: *const c_void, value: c_int, size: usize) -> *mut c_void {
        let pc = tls::caller();
        watch(pc, |thread| check_range(thread, from as usize, size, Kind::READ, pc));
        real!(memrchr: fn(*const c_void, c_int, usize) -> *mut c_void)(from, value, size)
    }
    fn memmem(from: *const c_void, size: usize, part: *const c_void, part_size: usize) -> *mut c_void {
        let pc = tls::caller();
        watch(pc, |thread| {
            check_range(thread, from as usize, size, Kind::READ, pc);
            check_range(thread, part as usize, part_size, Kind::READ, pc);
        });
        real!(memmem: fn(*const c_void, usize, *const c_void, usize) -> *mut c_void)(from, size, part, part_size)
    }
    fn strchrnul(text: Text, value: c_int) -> *mut c_char {
        let pc = tls::caller();
        let result = real!(strchrnul: fn(Text, c_int) -> *mut c_char)(text, value);
        watch(pc, |thread| {
            check_range(thread, text as usize, result as usize - text as usize + 1, Kind::READ, pc);
        });
        result
    }
    fn stpncpy(to: *mut c_char, from: Text, size: usize) -> *mut c_char {
        let pc = tls::caller();
        watch(pc, |thread| {
            check_range(thread, from as usize, super::memory::at_most(from, size), Kind::READ, pc);
            check_range(thread, to as usize, size, Kind::WRITE, pc);
        });
        real!(stpncpy: fn(*mut c_char, Text, usize) -> *mut c_char)(to, from, size)
    }
    fn strtok_r(text: *mut c_char, set: Text, rest: *mut *mut c_char) -> *mut c_char {
        let pc = tls::caller();
        watch(pc, |thread| {
            let from = if text.is_null() { *rest } else { text };
            if !from.is_null() {
                check_range(thread, from as usize, length(from) + 1, Kind::READ, pc);
            }
            check_range(thread, rest as usize, 8, Kind::WRITE, pc);
        });
        let token = real!(strtok_r: fn(*mut c_char, Text, *mut *mut c_char) -> *mut c_char)(text, set, rest);
        if !token.is_null() {
            let end = token as usize + length(token);
            // The separator behind the token was overwritten, unless the string ended there.
            if *rest as usize > end {
                watch(pc, |thread| check_range(thread, end, 1, Kind::WRITE, pc));
            }
        }
        token
    }
    fn strtok(text: *mut c_char, set: Text) -> *mut c_char {
        let pc = tls::caller();
        // Its hidden place is shared by all threads: that alone is a race.
        watch(pc, |thread| {
            check_range(thread, STRTOK_END.as_ptr() as usize, 8, Kind::WRITE, pc);
            if !text.is_null() {
                check_range(thread, text as usize, length(text) + 1, Kind::READ, pc);
                STRTOK_END.store(text as usize + length(text), Ordering::Relaxed);
            }
        });
        let token = real!(strtok: fn(*mut c_char, Text) -> *mut c_char)(text, set);
        if !token.is_null() {
            let end = token as usize + length(token);
            if end < STRTOK_END.load(Ordering::Relaxed) {
                watch(pc, |thread| check_range(thread, end, 1, Kind::WRITE, pc));
            }
        }
        token
    }
    fn wcslen(text: *const i32) -> usize {
        let pc = tls::caller();
        let result = real!(wcslen: fn(*const i32) -> usize)(text);
        watch(pc, |thread| check_range(thread, text as usize, 4 * (result + 1), Kind::READ, pc));
        result
    }
    fn wcscpy(to: *mut i32, from: *const i32) -> *mut i32 {
        let pc = tls::caller();
        watch(pc, |thread| {
            let size = 4 * (real!(wcslen: fn(*const i32) -> usize)(from) + 1);
            check_range(thread, from as usize, size, Kind::READ, pc);
            check_range(thread, to as usize, size, Kind::WRITE, pc);
        });
        real!(wcscpy: fn(*mut i32, *const i32) -> *mut i32)(to, from)
    }
    fn wmemcpy(to: *mut i32, from: *const i32, count: usize) -> *mut i32 {
        let pc = tls::caller();
        watch(pc, |thread| {
            check_range(thread, from as usize, 4 * count, Kind::READ, pc);
            check_range(thread, to as usize, 4 * count, Kind::WRITE, pc);
        });
        real!(wmemcpy: fn(*mut i32, *const i32, usize) -> *mut i32)(to, from, count)
    }
    fn wmemset(to: *mut i32, value: i32, count: usize) -> *mut i32 {
        let pc = tls::caller();
        watch(pc, |thread| check_range(thread, to as usize, 4 * count, Kind::WRITE, pc));
        real!(wmemset: fn(*mut i32, i32, usize) -> *mut i32)(to, value, count)
    }
}

/// Where the string ends that `strtok` works on; stands for the place where it keeps that string
/// between calls.
static STRTOK_END: AtomicUsize = AtomicUsize::new(0);

/// Calls that fill one structure of a known size when they succeed.
macro_rules! fills {
    ($($name:ident($($before:ident : $type:ty),* ; $target:ident ; $($after:ident : $other:ty),*) -> $result:ty, $size:expr, $good:expr;)*) => {
        interceptor! {$(
            fn $name($($before: $type,)* $target: *mut c_void $(, $after: $other)*) -> $result {
                let pc = tls::caller();
                let result = real!($name: fn($($type,)* *mut c_void $(, $other)*) -> $result)($($before,)* $target $(, $after)*);
                if !$target.is_null() && $good(result) {
                    watch(pc, |thread| check_range(thread, $target as usize, $size, Kind::WRITE, pc));
                }
                result
            }
        )*}
    };
}

fn is_zero(result: c_int) -> bool {
    result == 0
}

fn is_set(result: *mut c_void) -> bool {
    !result.is_null()
}

const STATUS: usize = std::mem::size_of::<libc::stat>();
const BROKEN_DOWN: usize = std::mem::size_of::<libc::tm>();

fills! {
    stat(path: Text; status;) -> c_int, STATUS, is_zero;
    stat64(path: Text; status;) -> c_int, STATUS, is_zero;
    lstat(path: Text; status;) -> c_int, STATUS, is_zero;
    lstat64(path: Text; status;) -> c_int, STATUS, is_zero;
    fstat(file: c_int; status;) -> c_int, STATUS, is_zero;
    fstat64(file: c_int; status;) -> c_int, STATUS, is_zero;
    clock_gettime(clock: c_int; time;) -> c_int, 16, is_zero;
    gettimeofday(; time; zone: *mut c_void) -> c_int, 16, is_zero;
    time(; time;) -> i64, 8, |result: i64| result >= 0;
    localtime_r(time: *const i64; parts;) -> *mut c_void, BROKEN_DOWN, is_set;
    gmtime_r(time: *const i64; parts;) -> *mut c_void, BROKEN_DOWN, is_set;
    ctime_r(time: *const i64; text;) -> *mut c_void, 25, is_set;
    asctime_r(parts: *const c_void; text;) -> *mut c_void, 25, is_set;
    getitimer(which: c_int; value;) -> c_int, 32, is_zero;
}

/// Calls whose result lies in one place for all threads: each call writes it.
macro_rules! shared_results {
    ($($name:ident($argument:ident : $type:ty), $size:expr;)*) => {
        interceptor! {$(
            fn $name($argument: $type) -> *mut c_void {
                let pc = tls::caller();
                let result = real!($name: fn($type) -> *mut c_void)($argument);
                if !result.is_null() {
                    watch(pc, |thread| check_range(thread, result as usize, $size, Kind::WRITE, pc));
                }
                result
            }
        )*}
    };
}

shared_results! {
    localtime(time: *const i64), BROKEN_DOWN;
    gmtime(time: *const i64), BROKEN_DOWN;
    ctime(time: *const i64), 25;
    asctime(parts: *const c_void), 25;
}

interceptor! {
    // GNU's: what it says of numbers that it knows stands elsewhere.
    fn strerror_r(number: c_int, to: *mut c_char, size: usize) -> *mut c_char {
        let pc = tls::caller();
        let result = real!(strerror_r: fn(c_int, *mut c_char, usize) -> *mut c_char)(number, to, size);
        if result == to && size > 0 {
            watch(pc, |thread| check_range(thread, to as usize, length(to) + 1, Kind::WRITE, pc));
        }
        result
    }
    fn __xpg_strerror_r(number: c_int, to: *mut c_char, size: usize) -> c_int {
        let pc = tls::caller();
        let result = real!(__xpg_strerror_r: fn(c_int, *mut c_char, usize) -> c_int)(number, to, size);
        if size > 0 {
            watch(pc, |thread| check_range(thread, to as usize, length(to) + 1, Kind::WRITE, pc));
        }
        result
    }
}
