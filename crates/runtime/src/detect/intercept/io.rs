//! Descriptors: what goes in on one side comes out after on the other.
//!
//! A write to a pipe, socket, file or eventfd comes before the read that may have seen it. Two
//! descriptors belong together when they name the same inode (both ends of a pipe do), or were made
//! as a pair; all network sockets share one order, because their peers cannot be told.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::tls;
use crate::detect::engine::{self, Kind, Thread, check_range, enter};
use crate::{interceptor, real};

const TRACKED: usize = 1 << 16;
/// Per descriptor: what it orders with, 0 until asked. The array is never touched for itself, its
/// elements' addresses also stand for the descriptors in the race check.
static ORDERS: [AtomicU64; TRACKED] = [const { AtomicU64::new(0) }; TRACKED];
/// Per descriptor: what an epoll orders with that tells when there is something in it.
static TOLD: [AtomicU64; TRACKED] = [const { AtomicU64::new(0) }; TRACKED];
/// Addresses that stand for the inodes; more inodes than this share.
static INODES: [u64; 4096] = [0; 4096];
static SOCKETS: u64 = 0;

fn descriptor(file: c_int) -> Option<&'static AtomicU64> {
    usize::try_from(file).ok().and_then(|at| ORDERS.get(at))
}

/// The address that stands for what `file` orders with.
fn order_of(file: c_int) -> Option<usize> {
    let known = descriptor(file)?;
    let mut order = known.load(Ordering::Relaxed);
    if order == 0 {
        order = find_order(file)? as u64;
        known.store(order, Ordering::Relaxed);
    }
    Some(order as usize)
}

fn find_order(file: c_int) -> Option<usize> {
    // SAFETY: all zero is a valid `stat`, which the call fills.
    let status = unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        let result = crate::common::futex::raw_syscall(
            libc::SYS_fstat,
            file as usize,
            &raw mut status as usize,
            0,
            0,
            0,
            0,
        );
        if result != 0 {
            return None;
        }
        status
    };
    match status.st_mode & libc::S_IFMT {
        libc::S_IFSOCK => Some(&raw const SOCKETS as usize),
        // An eventfd or epoll has no inode of its own, a terminal orders nothing that is read back.
        0 => Some(descriptor(file)?.as_ptr() as usize),
        libc::S_IFCHR => None,
        _ => {
            let hash = status.st_ino.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52;
            Some(&raw const INODES[hash as usize % INODES.len()] as usize)
        }
    }
}

/// Makes two descriptors order with each other.
fn paired(a: c_int, b: c_int) {
    if let (Some(first), Some(second)) = (descriptor(a), descriptor(b)) {
        let order = first.as_ptr() as u64;
        first.store(order, Ordering::Relaxed);
        second.store(order, Ordering::Relaxed);
    }
}

/// The descriptor is used: not while another thread closes it.
fn used(thread: &mut Thread, file: c_int, pc: usize) {
    if let Some(known) = descriptor(file) {
        check_range(thread, known.as_ptr() as usize, 8, Kind::READ, pc);
    }
}

/// Before data leaves: everything so far comes before whoever receives it.
pub fn sending(file: c_int, pc: usize, parts: &[(usize, usize)]) {
    let Some(mut thread) = enter() else { return };
    used(&mut thread, file, pc);
    for &(address, size) in parts {
        check_range(&mut thread, address, size, Kind::READ, pc);
    }
    if let Some(order) = order_of(file) {
        engine::release_in(&mut thread, order);
    }
    let told = told_of(file).map_or(0, |told| told.load(Ordering::Relaxed));
    if told != 0 {
        engine::release_in(&mut thread, told as usize);
    }
}

fn told_of(file: c_int) -> Option<&'static AtomicU64> {
    usize::try_from(file).ok().and_then(|at| TOLD.get(at))
}

/// Whoever waits for the epoll comes after what goes in here, whether or not it is read.
fn watched(poll: c_int, operation: c_int, file: c_int) {
    if let Some(told) = told_of(file) {
        let order = if operation == libc::EPOLL_CTL_DEL { None } else { order_of(poll) };
        told.store(order.unwrap_or(0) as u64, Ordering::Relaxed);
    }
}

/// After data came in.
pub fn received(file: c_int, pc: usize, result: isize, parts: &[(usize, usize)]) {
    if result < 0 {
        return;
    }
    let Some(mut thread) = enter() else { return };
    used(&mut thread, file, pc);
    if let Some(order) = order_of(file) {
        engine::acquire_in(&mut thread, order);
    }
    let mut left = result as usize;
    for &(address, size) in parts {
        check_range(&mut thread, address, size.min(left), Kind::WRITE, pc);
        left = left.saturating_sub(size);
    }
}

/// The pieces of an I/O vector.
unsafe fn pieces(vector: *const libc::iovec, count: c_int) -> Vec<(usize, usize)> {
    let count = usize::try_from(count).unwrap_or(0).min(1024);
    if vector.is_null() {
        return Vec::new();
    }
    // SAFETY: the program passes `count` elements.
    unsafe { std::slice::from_raw_parts(vector, count) }
        .iter()
        .map(|piece| (piece.iov_base as usize, piece.iov_len))
        .collect()
}

macro_rules! input {
    ($($name:ident($($argument:ident : $type:ty),*);)*) => {
        interceptor! {$(
            fn $name(file: c_int, buffer: *mut c_void, size: usize $(, $argument: $type)*) -> isize {
                let pc = tls::caller();
                let result = real!($name: fn(c_int, *mut c_void, usize $(, $type)*) -> isize)(file, buffer, size $(, $argument)*);
                received(file, pc, result, &[(buffer as usize, size)]);
                result
            }
        )*}
    };
}

input! {
    read();
    pread(offset: i64);
    pread64(offset: i64);
    recv(flags: c_int);
    recvfrom(flags: c_int, address: *mut c_void, length: *mut c_uint);
}

macro_rules! output {
    ($($name:ident($($argument:ident : $type:ty),*);)*) => {
        interceptor! {$(
            fn $name(file: c_int, buffer: *const c_void, size: usize $(, $argument: $type)*) -> isize {
                let pc = tls::caller();
                sending(file, pc, &[(buffer as usize, size)]);
                real!($name: fn(c_int, *const c_void, usize $(, $type)*) -> isize)(file, buffer, size $(, $argument)*)
            }
        )*}
    };
}

output! {
    write();
    pwrite(offset: i64);
    pwrite64(offset: i64);
    send(flags: c_int);
    sendto(flags: c_int, address: *const c_void, length: c_uint);
}

interceptor! {
    fn readv(file: c_int, vector: *const libc::iovec, count: c_int) -> isize {
        let pc = tls::caller();
        let result = real!(readv: fn(c_int, *const libc::iovec, c_int) -> isize)(file, vector, count);
        if engine::is_initialized() && tls::depth() == 0 {
            received(file, pc, result, &pieces(vector, count));
        }
        result
    }
    fn writev(file: c_int, vector: *const libc::iovec, count: c_int) -> isize {
        let pc = tls::caller();
        if engine::is_initialized() && tls::depth() == 0 {
            sending(file, pc, &pieces(vector, count));
        }
        real!(writev: fn(c_int, *const libc::iovec, c_int) -> isize)(file, vector, count)
    }
    fn recvmsg(file: c_int, message: *mut libc::msghdr, flags: c_int) -> isize {
        let pc = tls::caller();
        let result = real!(recvmsg: fn(c_int, *mut libc::msghdr, c_int) -> isize)(file, message, flags);
        if result >= 0 {
            received(file, pc, result, &pieces((*message).msg_iov, (*message).msg_iovlen as c_int));
        }
        result
    }
    fn sendmsg(file: c_int, message: *const libc::msghdr, flags: c_int) -> isize {
        let pc = tls::caller();
        sending(file, pc, &pieces((*message).msg_iov, (*message).msg_iovlen as c_int));
        real!(sendmsg: fn(c_int, *const libc::msghdr, c_int) -> isize)(file, message, flags)
    }
    fn close(file: c_int) -> c_int {
        if let Some(mut thread) = enter() && let Some(known) = descriptor(file) {
            check_range(&mut thread, known.as_ptr() as usize, 8, Kind::WRITE, tls::caller());
            closing(&mut thread, file, known);
        }
        real!(close: fn(c_int) -> c_int)(file)
    }
    fn open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
        let result = real!(open: fn(*const c_char, c_int, c_uint) -> c_int)(path, flags, mode);
        opened(result);
        result
    }
    fn open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
        let result = real!(open64: fn(*const c_char, c_int, c_uint) -> c_int)(path, flags, mode);
        opened(result);
        result
    }
    fn openat(folder: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
        let result = real!(openat: fn(c_int, *const c_char, c_int, c_uint) -> c_int)(folder, path, flags, mode);
        opened(result);
        result
    }
    fn creat(path: *const c_char, mode: c_uint) -> c_int {
        let result = real!(creat: fn(*const c_char, c_uint) -> c_int)(path, mode);
        opened(result);
        result
    }
    fn dup2(file: c_int, to: c_int) -> c_int {
        let pc = tls::caller();
        replacing(file, to, pc);
        let result = real!(dup2: fn(c_int, c_int) -> c_int)(file, to);
        duplicated(file, result, pc);
        result
    }
    fn dup3(file: c_int, to: c_int, flags: c_int) -> c_int {
        let pc = tls::caller();
        replacing(file, to, pc);
        let result = real!(dup3: fn(c_int, c_int, c_int) -> c_int)(file, to, flags);
        duplicated(file, result, pc);
        result
    }
    fn pipe(ends: *mut c_int) -> c_int {
        let result = real!(pipe: fn(*mut c_int) -> c_int)(ends);
        if result == 0 {
            opened(*ends);
            opened(*ends.add(1));
        }
        result
    }
    fn pipe2(ends: *mut c_int, flags: c_int) -> c_int {
        let result = real!(pipe2: fn(*mut c_int, c_int) -> c_int)(ends, flags);
        if result == 0 {
            opened(*ends);
            opened(*ends.add(1));
        }
        result
    }
    fn socketpair(domain: c_int, kind: c_int, protocol: c_int, ends: *mut c_int) -> c_int {
        let result = real!(socketpair: fn(c_int, c_int, c_int, *mut c_int) -> c_int)(domain, kind, protocol, ends);
        if result == 0 {
            opened(*ends);
            opened(*ends.add(1));
            paired(*ends, *ends.add(1));
        }
        result
    }
    fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
        let result = real!(socket: fn(c_int, c_int, c_int) -> c_int)(domain, kind, protocol);
        opened(result);
        result
    }
    fn accept(file: c_int, address: *mut c_void, length: *mut c_uint) -> c_int {
        let result = real!(accept: fn(c_int, *mut c_void, *mut c_uint) -> c_int)(file, address, length);
        opened(result);
        received(file, tls::caller(), result as isize, &[]);
        result
    }
    fn accept4(file: c_int, address: *mut c_void, length: *mut c_uint, flags: c_int) -> c_int {
        let result = real!(accept4: fn(c_int, *mut c_void, *mut c_uint, c_int) -> c_int)(file, address, length, flags);
        opened(result);
        received(file, tls::caller(), result as isize, &[]);
        result
    }
    fn connect(file: c_int, address: *const c_void, length: c_uint) -> c_int {
        sending(file, tls::caller(), &[]);
        real!(connect: fn(c_int, *const c_void, c_uint) -> c_int)(file, address, length)
    }
    fn dup(file: c_int) -> c_int {
        let pc = tls::caller();
        let result = real!(dup: fn(c_int) -> c_int)(file);
        duplicated(file, result, pc);
        result
    }
    fn eventfd(value: c_uint, flags: c_int) -> c_int {
        let result = real!(eventfd: fn(c_uint, c_int) -> c_int)(value, flags);
        opened(result);
        result
    }
    fn eventfd_write(file: c_int, value: u64) -> c_int {
        sending(file, tls::caller(), &[]);
        real!(eventfd_write: fn(c_int, u64) -> c_int)(file, value)
    }
    fn eventfd_read(file: c_int, value: *mut u64) -> c_int {
        let pc = tls::caller();
        let result = real!(eventfd_read: fn(c_int, *mut u64) -> c_int)(file, value);
        received(file, pc, result as isize, &[]);
        result
    }
    fn epoll_create(size: c_int) -> c_int {
        let result = real!(epoll_create: fn(c_int) -> c_int)(size);
        opened(result);
        result
    }
    fn epoll_create1(flags: c_int) -> c_int {
        let result = real!(epoll_create1: fn(c_int) -> c_int)(flags);
        opened(result);
        result
    }
    fn epoll_ctl(poll: c_int, operation: c_int, file: c_int, event: *mut c_void) -> c_int {
        sending(poll, tls::caller(), &[]);
        watched(poll, operation, file);
        real!(epoll_ctl: fn(c_int, c_int, c_int, *mut c_void) -> c_int)(poll, operation, file, event)
    }
    fn epoll_wait(poll: c_int, events: *mut c_void, most: c_int, timeout: c_int) -> c_int {
        let pc = tls::caller();
        let result = real!(epoll_wait: fn(c_int, *mut c_void, c_int, c_int) -> c_int)(poll, events, most, timeout);
        if result > 0 {
            received(poll, pc, result as isize * 12, &[(events as usize, result as usize * 12)]);
        }
        result
    }
    fn epoll_pwait(poll: c_int, events: *mut c_void, most: c_int, timeout: c_int, mask: *const c_void) -> c_int {
        let pc = tls::caller();
        let result = real!(epoll_pwait: fn(c_int, *mut c_void, c_int, c_int, *const c_void) -> c_int)(poll, events, most, timeout, mask);
        if result > 0 {
            received(poll, pc, result as isize * 12, &[(events as usize, result as usize * 12)]);
        }
        result
    }
}

/// Before a descriptor's end: what was written to it is known to whoever reads its end. Its number
/// may come back by a call that is not seen, so nothing of its past stays.
fn closing(thread: &mut Thread, file: c_int, known: &'static AtomicU64) {
    if let Some(order) = order_of(file) {
        engine::release_in(thread, order);
    }
    crate::detect::access::forget_range(known.as_ptr() as usize, 8);
    known.store(0, Ordering::Relaxed);
}

/// `dup2` is about to close `to`.
fn replacing(file: c_int, to: c_int, pc: usize) {
    if file != to
        && let Some(mut thread) = enter()
        && let Some(known) = descriptor(to)
    {
        used(&mut thread, file, pc);
        check_range(&mut thread, known.as_ptr() as usize, 8, Kind::WRITE, pc);
        closing(&mut thread, to, known);
    }
}

/// Both descriptors now name the same open file.
fn duplicated(file: c_int, copy: c_int, pc: usize) {
    if copy < 0 || file == copy {
        return;
    }
    opened(copy);
    if let (Some(order), Some(known)) = (order_of(file), descriptor(copy)) {
        known.store(order as u64, Ordering::Relaxed);
    }
    // The number may have been known before: who closes it meanwhile closes the wrong file.
    if let Some(mut thread) = enter() {
        used(&mut thread, copy, pc);
    }
}

/// A fresh descriptor, or one that a call ended which is not seen here: what its number meant before
/// is over.
pub fn opened(file: c_int) {
    let Some(known) = descriptor(file) else { return };
    known.store(0, Ordering::Relaxed);
    if let Some(told) = told_of(file) {
        told.store(0, Ordering::Relaxed);
    }
    if let Some(_thread) = enter() {
        crate::detect::access::forget_range(known.as_ptr() as usize, 8);
        crate::detect::sync::forget(known.as_ptr() as usize);
    }
}
