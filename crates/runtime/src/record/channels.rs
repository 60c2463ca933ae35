//! What passes through descriptors, and what the program itself declares as a hand-over.
//!
//! A write to a pipe, a file, a socket or an event comes before a read that may have got it. Which
//! write a read got is not known, so it is taken to be after all of them, and they keep their order:
//! that rules schedules out and makes none up. Both ends of a pipe, and a file, are known by their
//! inode; all sockets and events count as one channel. Closing an end is a write, since a reader
//! sees it. What polls, and what reads through a stream of the C library, may have got anything.

use std::ffi::{c_char, c_int, c_void};

use racewarden_trace::binary::{BESIDE, SyncOp};

use super::threads::sync;
use crate::real;

type Pointer = *mut c_void;

/// The channel of a descriptor, as an object that no lock has the address of.
fn channel(descriptor: c_int) -> u64 {
    const CHANNELS: u64 = 1 << 63;
    // SAFETY: an all-zero value is good for this plain structure, which the call fills in.
    let status = unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        (libc::fstat(descriptor, &mut status) == 0).then_some(status)
    };
    match status {
        Some(status) if matches!(status.st_mode & libc::S_IFMT, libc::S_IFIFO | libc::S_IFREG) => {
            CHANNELS | (status.st_ino ^ (status.st_dev << 40)) & (CHANNELS - 1)
        }
        _ => CHANNELS,
    }
}

/// Everything that was put into descriptors and streams.
pub const ALL: u64 = (1 << 63) | 2;

/// What was put into streams of the C library.
pub const STREAMS: u64 = (1 << 63) | 4;

/// The call may change `errno`, which the program is to see as its own call left it.
fn told(op: SyncOp, descriptor: c_int) {
    // SAFETY: the C library gives each thread its own.
    unsafe {
        let errno = libc::__errno_location();
        let kept = *errno;
        sync(op, channel(descriptor), 0);
        if op == SyncOp::Put {
            sync(op, ALL, BESIDE);
        }
        *errno = kept;
    }
}

macro_rules! writes {
    ($($name:ident($($argument:ident : $type:ty),*) -> $result:ty;)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(descriptor: c_int $(, $argument: $type)*) -> $result {
            let real = real!($name: fn(c_int $(, $type)*) -> $result);
            told(SyncOp::Put, descriptor);
            // SAFETY: passes the program's own arguments on.
            unsafe { real(descriptor $(, $argument)*) }
        }
    )*};
}

writes! {
    write(buffer: Pointer, count: usize) -> isize;
    pwrite(buffer: Pointer, count: usize, offset: i64) -> isize;
    writev(pieces: Pointer, count: c_int) -> isize;
    send(buffer: Pointer, count: usize, flags: c_int) -> isize;
    sendto(buffer: Pointer, count: usize, flags: c_int, to: Pointer, length: u32) -> isize;
    sendmsg(message: Pointer, flags: c_int) -> isize;
    eventfd_write(value: u64) -> c_int;
    pwrite64(buffer: Pointer, count: usize, offset: i64) -> isize;
    close() -> c_int;
    shutdown(how: c_int) -> c_int;
    connect(to: Pointer, length: u32) -> c_int;
    mq_send(text: Pointer, count: usize, priority: u32) -> c_int;
    mq_timedsend(text: Pointer, count: usize, priority: u32, limit: Pointer) -> c_int;
}

macro_rules! reads {
    ($($name:ident($($argument:ident : $type:ty),*) -> $result:ty;)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(descriptor: c_int $(, $argument: $type)*) -> $result {
            let real = real!($name: fn(c_int $(, $type)*) -> $result);
            // SAFETY: passes the program's own arguments on.
            let result = unsafe { real(descriptor $(, $argument)*) };
            if result >= 0 {
                told(SyncOp::Got, descriptor);
                // A stream may have written it.
                sync(SyncOp::Got, STREAMS, 0);
            }
            result
        }
    )*};
}

reads! {
    read(buffer: Pointer, count: usize) -> isize;
    pread(buffer: Pointer, count: usize, offset: i64) -> isize;
    readv(pieces: Pointer, count: c_int) -> isize;
    recv(buffer: Pointer, count: usize, flags: c_int) -> isize;
    recvfrom(buffer: Pointer, count: usize, flags: c_int, from: Pointer, length: Pointer) -> isize;
    recvmsg(message: Pointer, flags: c_int) -> isize;
    eventfd_read(value: Pointer) -> c_int;
    pread64(buffer: Pointer, count: usize, offset: i64) -> isize;
    accept(from: Pointer, length: Pointer) -> c_int;
    accept4(from: Pointer, length: Pointer, flags: c_int) -> c_int;
    mq_receive(text: Pointer, count: usize, priority: Pointer) -> isize;
    mq_timedreceive(text: Pointer, count: usize, priority: Pointer, limit: Pointer) -> isize;
}

/// What passes through queues and semaphores of System V, whichever.
const SYSTEM_V: u64 = (1 << 63) | 6;

macro_rules! system_v {
    ($($name:ident($($argument:ident : $type:ty),*) -> $result:ty;)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            let real = real!($name: fn($($type),*) -> $result);
            sync(SyncOp::Put, SYSTEM_V, 0);
            // SAFETY: passes the program's own arguments on.
            let result = unsafe { real($($argument),*) };
            if result >= 0 {
                sync(SyncOp::Got, SYSTEM_V, 0);
            }
            result
        }
    )*};
}

system_v! {
    msgsnd(queue: c_int, message: Pointer, count: usize, flags: c_int) -> c_int;
    msgrcv(queue: c_int, message: Pointer, count: usize, kind: i64, flags: c_int) -> isize;
    semop(set: c_int, operations: Pointer, count: usize) -> c_int;
    semtimedop(set: c_int, operations: Pointer, count: usize, limit: Pointer) -> c_int;
}

/// Something is there, from whoever put something anywhere.
macro_rules! polls {
    ($($name:ident($($argument:ident : $type:ty),*);)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            let real = real!($name: fn($($type),*) -> c_int);
            // SAFETY: passes the program's own arguments on.
            let result = unsafe { real($($argument),*) };
            if result > 0 {
                sync(SyncOp::Got, ALL, 0);
            }
            result
        }
    )*};
}

polls! {
    poll(list: Pointer, count: u64, limit: c_int);
    ppoll(list: Pointer, count: u64, limit: Pointer, signals: Pointer);
    select(count: c_int, read: Pointer, write: Pointer, except: Pointer, limit: Pointer);
    pselect(count: c_int, read: Pointer, write: Pointer, except: Pointer, limit: Pointer, signals: Pointer);
    epoll_wait(descriptor: c_int, list: Pointer, count: c_int, limit: c_int);
    epoll_pwait(descriptor: c_int, list: Pointer, count: c_int, limit: c_int, signals: Pointer);
}

macro_rules! declares {
    ($($name:ident($($argument:ident : $type:ty),*; $object:ident) => $op:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($argument: $type,)* $object: u64) {
            sync(SyncOp::$op, $object, 0);
        }
    )*};
}

declares! {
    __tsan_release(; address) => Put;
    __tsan_acquire(; address) => Got;
    AnnotateHappensBefore(_file: *const c_char, _line: c_int; address) => Put;
    AnnotateHappensAfter(_file: *const c_char, _line: c_int; address) => Got;
}

/// What registers handlers at the end of the program hands over to them.
const HANDLERS: u64 = (1 << 63) | 1;

type Handler = extern "C" fn(Pointer);

/// Handlers run in reverse, so this one, which was registered after the program's, runs before it.
extern "C" fn before_handler(_: Pointer) {
    sync(SyncOp::Got, HANDLERS, 0);
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn atexit(handler: extern "C" fn()) -> c_int {
    extern "C" fn run(handler: Pointer) {
        // SAFETY: the pointer is the function that was registered below.
        let handler: extern "C" fn() = unsafe { std::mem::transmute(handler) };
        handler();
    }
    let real = real!(__cxa_atexit: fn(Handler, Pointer, Pointer) -> c_int);
    sync(SyncOp::Put, HANDLERS, 0);
    let nothing = std::ptr::null_mut();
    // SAFETY: both functions stay for the whole run.
    unsafe {
        let status = real(run, handler as Pointer, nothing);
        real(before_handler, nothing, nothing);
        status
    }
}
