//! Memory and string functions: they read and write the program's memory without instrumentation.

use std::ffi::{c_char, c_int, c_void};

use crate::common::tls;
use crate::detect::engine::{Kind, Thread, check_range, enter};
use crate::detect::modules;
use crate::{interceptor, real};

/// Runs `checks` on the calling thread when it and the calling code are watched.
pub fn watch(pc: usize, checks: impl FnOnce(&mut Thread)) {
    if let Some(mut thread) = enter()
        && modules::is_watched(pc)
    {
        checks(&mut thread);
    }
}

/// Looks the functions up that compiled Rust calls of itself. The first call may come from within
/// the dynamic loader, when it frees something: looking them up there would meet the loader in the
/// middle of a change.
pub fn prepare() {
    use std::hint::black_box;
    let (mut to, from) = ([0_u8; 8], [0_u8; 8]);
    // The compiler must not see that nothing is asked for, or it would drop the calls.
    let to = black_box(to.as_mut_ptr().cast::<c_void>());
    let from = black_box(from.as_ptr().cast::<c_void>());
    let size = black_box(1_usize);
    // SAFETY: one byte of arrays of eight; the string ends in its array.
    unsafe {
        black_box(libc::memcpy(to, from, size));
        black_box(libc::memmove(to, from, size));
        black_box(libc::memset(to, 0, size));
        black_box(libc::memcmp(to, from, size));
        black_box(libc::strlen(from.cast()));
    }
}

pub unsafe fn length(text: *const c_char) -> usize {
    // SAFETY: the caller passes a C string.
    unsafe { real!(strlen: fn(*const c_char) -> usize)(text) }
}

pub unsafe fn length_at_most(text: *const c_char, most: usize) -> usize {
    // SAFETY: the caller passes a C string or at least `most` bytes.
    unsafe { real!(strnlen: fn(*const c_char, usize) -> usize)(text, most) }
}

/// Bytes of a C string that a function reads when it reads it all.
unsafe fn whole(text: *const c_char) -> usize {
    // SAFETY: the caller passes a C string.
    unsafe { length(text) + 1 }
}

pub unsafe fn at_most(text: *const c_char, most: usize) -> usize {
    // SAFETY: as `length_at_most`.
    (unsafe { length_at_most(text, most) } + 1).min(most)
}

/// How many bytes of two strings a comparison looks at.
unsafe fn compared(a: *const c_char, b: *const c_char, most: usize, fold: bool) -> usize {
    let mut at = 0;
    while at < most {
        // SAFETY: a comparison reads both up to the first difference or end.
        let (mut x, mut y) = unsafe { (*a.add(at) as u8, *b.add(at) as u8) };
        at += 1;
        if fold {
            x.make_ascii_lowercase();
            y.make_ascii_lowercase();
        }
        if x != y || x == 0 {
            break;
        }
    }
    at
}

interceptor! {
    fn memcpy(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void {
        let pc = tls::caller();
        watch(pc, |thread| {
            check_range(thread, from as usize, size, Kind::READ, pc);
            check_range(thread, to as usize, size, Kind::WRITE, pc);
        });
        real!(memmove: fn(*mut c_void, *const c_void, usize) -> *mut c_void)(to, from, size)
    }
    fn memmove(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void {
        let pc = tls::caller();
        watch(pc, |thread| {
            check_range(thread, from as usize, size, Kind::READ, pc);
            check_range(thread, to as usize, size, Kind::WRITE, pc);
        });
        real!(memmove: fn(*mut c_void, *const c_void, usize) -> *mut c_void)(to, from, size)
    }
    fn memset(to: *mut c_void, value: c_int, size: usize) -> *mut c_void {
        let pc = tls::caller();
        watch(pc, |thread| check_range(thread, to as usize, size, Kind::WRITE, pc));
        real!(memset: fn(*mut c_void, c_int, usize) -> *mut c_void)(to, value, size)
    }
    fn memcmp(a: *const c_void, b: *const c_void, size: usize) -> c_int {
        let pc = tls::caller();
        watch(pc, |thread| {
            check_range(thread, a as usize, size, Kind::READ, pc);
            check_range(thread, b as usize, size, Kind::READ, pc);
        });
        real!(memcmp: fn(*const c_void, *const c_void, usize) -> c_int)(a, b, size)
    }
    fn memchr(from: *const c_void, value: c_int, size: usize) -> *mut c_void {
        let pc = tls::caller();
        let result = real!(memchr: fn(*const c_void, c_int, usize) -> *mut c_void)(from, value, size);
        let read = if result.is_null() { size } else { result as usize - from as usize + 1 };
        watch(pc, |thread| check_range(thread, from as usize, read, Kind::READ, pc));
        result
    }
    fn strlen(text: *const c_char) -> usize {
        let pc = tls::caller();
        let result = length(text);
        watch(pc, |thread| check_range(thread, text as usize, result + 1, Kind::READ, pc));
        result
    }
    fn strnlen(text: *const c_char, most: usize) -> usize {
        let pc = tls::caller();
        let result = length_at_most(text, most);
        watch(pc, |thread| check_range(thread, text as usize, (result + 1).min(most), Kind::READ, pc));
        result
    }
    fn strcpy(to: *mut c_char, from: *const c_char) -> *mut c_char {
        let pc = tls::caller();
        watch(pc, |thread| {
            let size = whole(from);
            check_range(thread, from as usize, size, Kind::READ, pc);
            check_range(thread, to as usize, size, Kind::WRITE, pc);
        });
        real!(strcpy: fn(*mut c_char, *const c_char) -> *mut c_char)(to, from)
    }
    fn stpcpy(to: *mut c_char, from: *const c_char) -> *mut c_char {
        let pc = tls::caller();
        watch(pc, |thread| {
            let size = whole(from);
            check_range(thread, from as usize, size, Kind::READ, pc);
            check_range(thread, to as usize, size, Kind::WRITE, pc);
        });
        real!(stpcpy: fn(*mut c_char, *const c_char) -> *mut c_char)(to, from)
    }
    fn strncpy(to: *mut c_char, from: *const c_char, size: usize) -> *mut c_char {
        let pc = tls::caller();
        watch(pc, |thread| {
            check_range(thread, from as usize, at_most(from, size), Kind::READ, pc);
            check_range(thread, to as usize, size, Kind::WRITE, pc);
        });
        real!(strncpy: fn(*mut c_char, *const c_char, usize) -> *mut c_char)(to, from, size)
    }
    fn strcat(to: *mut c_char, from: *const c_char) -> *mut c_char {
        let pc = tls::caller();
        watch(pc, |thread| {
            let (before, size) = (length(to), whole(from));
            check_range(thread, to as usize, before + 1, Kind::READ, pc);
            check_range(thread, from as usize, size, Kind::READ, pc);
            check_range(thread, to as usize + before, size, Kind::WRITE, pc);
        });
        real!(strcat: fn(*mut c_char, *const c_char) -> *mut c_char)(to, from)
    }
    fn strncat(to: *mut c_char, from: *const c_char, size: usize) -> *mut c_char {
        let pc = tls::caller();
        watch(pc, |thread| {
            let (before, taken) = (length(to), length_at_most(from, size));
            check_range(thread, to as usize, before + 1, Kind::READ, pc);
            check_range(thread, from as usize, at_most(from, size), Kind::READ, pc);
            check_range(thread, to as usize + before, taken + 1, Kind::WRITE, pc);
        });
        real!(strncat: fn(*mut c_char, *const c_char, usize) -> *mut c_char)(to, from, size)
    }
    fn strcmp(a: *const c_char, b: *const c_char) -> c_int {
        let pc = tls::caller();
        watch(pc, |thread| {
            let size = compared(a, b, usize::MAX, false);
            check_range(thread, a as usize, size, Kind::READ, pc);
            check_range(thread, b as usize, size, Kind::READ, pc);
        });
        real!(strcmp: fn(*const c_char, *const c_char) -> c_int)(a, b)
    }
    fn strncmp(a: *const c_char, b: *const c_char, most: usize) -> c_int {
        let pc = tls::caller();
        watch(pc, |thread| {
            let size = compared(a, b, most, false);
            check_range(thread, a as usize, size, Kind::READ, pc);
            check_range(thread, b as usize, size, Kind::READ, pc);
        });
        real!(strncmp: fn(*const c_char, *const c_char, usize) -> c_int)(a, b, most)
    }
    fn strcasecmp(a: *const c_char, b: *const c_char) -> c_int {
        let pc = tls::caller();
        watch(pc, |thread| {
            let size = compared(a, b, usize::MAX, true);
            check_range(thread, a as usize, size, Kind::READ, pc);
            check_range(thread, b as usize, size, Kind::READ, pc);
        });
        real!(strcasecmp: fn(*const c_char, *const c_char) -> c_int)(a, b)
    }
    fn strncasecmp(a: *const c_char, b: *const c_char, most: usize) -> c_int {
        let pc = tls::caller();
        watch(pc, |thread| {
            let size = compared(a, b, most, true);
            check_range(thread, a as usize, size, Kind::READ, pc);
            check_range(thread, b as usize, size, Kind::READ, pc);
        });
        real!(strncasecmp: fn(*const c_char, *const c_char, usize) -> c_int)(a, b, most)
    }
    fn strchr(text: *const c_char, value: c_int) -> *mut c_char {
        let pc = tls::caller();
        let result = real!(strchr: fn(*const c_char, c_int) -> *mut c_char)(text, value);
        watch(pc, |thread| {
            let read = if result.is_null() { whole(text) } else { result as usize - text as usize + 1 };
            check_range(thread, text as usize, read, Kind::READ, pc);
        });
        result
    }
    fn strrchr(text: *const c_char, value: c_int) -> *mut c_char {
        let pc = tls::caller();
        watch(pc, |thread| check_range(thread, text as usize, whole(text), Kind::READ, pc));
        real!(strrchr: fn(*const c_char, c_int) -> *mut c_char)(text, value)
    }
    fn strstr(text: *const c_char, part: *const c_char) -> *mut c_char {
        let pc = tls::caller();
        watch(pc, |thread| {
            check_range(thread, text as usize, whole(text), Kind::READ, pc);
            check_range(thread, part as usize, whole(part), Kind::READ, pc);
        });
        real!(strstr: fn(*const c_char, *const c_char) -> *mut c_char)(text, part)
    }
    fn strdup(text: *const c_char) -> *mut c_char {
        let pc = tls::caller();
        let size = whole(text);
        watch(pc, |thread| check_range(thread, text as usize, size, Kind::READ, pc));
        duplicate(text, size - 1, pc)
    }
    fn strndup(text: *const c_char, most: usize) -> *mut c_char {
        let pc = tls::caller();
        let size = length_at_most(text, most);
        watch(pc, |thread| check_range(thread, text as usize, at_most(text, most), Kind::READ, pc));
        duplicate(text, size, pc)
    }
}

/// A heap copy that the program may free like any block of its own.
unsafe fn duplicate(text: *const c_char, size: usize, pc: usize) -> *mut c_char {
    // SAFETY: `size` bytes are readable and `size + 1` were just allocated.
    unsafe {
        let copy = super::heap::allocate(size + 1, pc).cast::<c_char>();
        if !copy.is_null() {
            real!(memmove: fn(*mut c_char, *const c_char, usize) -> *mut c_char)(copy, text, size);
            *copy.add(size) = 0;
            watch(pc, |thread| check_range(thread, copy as usize, size + 1, Kind::WRITE, pc));
        }
        copy
    }
}
