//! Queues and semaphores that processes share: what goes in comes before what comes out.
//!
//! A POSIX queue is a descriptor with an inode. Those of System V have numbers of their own, of which several
//! may share an order: that can only hide a race.

use std::ffi::{c_char, c_int, c_long, c_uint, c_void};

use super::io::{received, sending};
use crate::common::tls;
use crate::detect::engine::{self, Kind, check_range, enter};
use crate::{interceptor, real};

/// Addresses that stand for the queues and semaphores of System V.
static QUEUES: [u64; 1024] = [0; 1024];
static SEMAPHORES: [u64; 1024] = [0; 1024];
/// What was taken from semaphores.
static TAKEN: [u64; 1024] = [0; 1024];

fn order_of(all: &'static [u64; 1024], id: c_int, number: u16) -> usize {
    let key = (id as u64) << 16 | u64::from(number);
    let hash = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54;
    &raw const all[hash as usize] as usize
}

/// After a message came in, and its priority, if anybody asked for that.
fn got_message(queue: c_int, pc: usize, result: isize, text: (usize, usize), priority: usize) {
    received(queue, pc, result, &[text]);
    if result >= 0
        && priority != 0
        && let Some(mut thread) = enter()
    {
        check_range(&mut thread, priority, size_of::<c_uint>(), Kind::WRITE, pc);
    }
}

/// A message of System V starts with its kind.
const KIND: usize = size_of::<c_long>();

/// The program's operations on a set of semaphores.
unsafe fn operations(list: *const libc::sembuf, count: usize) -> &'static [libc::sembuf] {
    if list.is_null() {
        return &[];
    }
    // SAFETY: the program passes so many of them, for as long as the call takes.
    unsafe { std::slice::from_raw_parts(list, count.min(512)) }
}

/// Whoever takes something comes after those who put something in, and whoever waits until nothing is left
/// after those who took it.
fn before_operations(set: c_int, list: &[libc::sembuf], pc: usize) {
    let Some(mut thread) = enter() else { return };
    check_range(&mut thread, list.as_ptr() as usize, size_of_val(list), Kind::READ, pc);
    for one in list.iter().filter(|one| one.sem_op != 0) {
        let told = if one.sem_op > 0 { &SEMAPHORES } else { &TAKEN };
        engine::release_in(&mut thread, order_of(told, set, one.sem_num));
    }
}

fn after_operations(set: c_int, list: &[libc::sembuf], result: c_int) {
    let Some(mut thread) = enter() else { return };
    for one in list.iter().filter(|one| result == 0 && one.sem_op <= 0) {
        let told = if one.sem_op < 0 { &SEMAPHORES } else { &TAKEN };
        engine::acquire_in(&mut thread, order_of(told, set, one.sem_num));
    }
}

interceptor! {
    fn mq_send(queue: c_int, text: *const c_char, size: usize, priority: c_uint) -> c_int {
        let pc = tls::caller();
        sending(queue, pc, &[(text as usize, size)]);
        real!(mq_send: fn(c_int, *const c_char, usize, c_uint) -> c_int)(queue, text, size, priority)
    }
    fn mq_timedsend(queue: c_int, text: *const c_char, size: usize, priority: c_uint, limit: *const c_void) -> c_int {
        let pc = tls::caller();
        sending(queue, pc, &[(text as usize, size)]);
        real!(mq_timedsend: fn(c_int, *const c_char, usize, c_uint, *const c_void) -> c_int)(queue, text, size, priority, limit)
    }
    fn mq_receive(queue: c_int, text: *mut c_char, size: usize, priority: *mut c_uint) -> isize {
        let pc = tls::caller();
        let result = real!(mq_receive: fn(c_int, *mut c_char, usize, *mut c_uint) -> isize)(queue, text, size, priority);
        got_message(queue, pc, result, (text as usize, size), priority as usize);
        result
    }
    fn mq_timedreceive(queue: c_int, text: *mut c_char, size: usize, priority: *mut c_uint, limit: *const c_void) -> isize {
        let pc = tls::caller();
        let result = real!(mq_timedreceive: fn(c_int, *mut c_char, usize, *mut c_uint, *const c_void) -> isize)(queue, text, size, priority, limit);
        got_message(queue, pc, result, (text as usize, size), priority as usize);
        result
    }
    fn msgsnd(queue: c_int, message: *const c_void, size: usize, flags: c_int) -> c_int {
        let pc = tls::caller();
        if let Some(mut thread) = enter() {
            check_range(&mut thread, message as usize, size.saturating_add(KIND), Kind::READ, pc);
            engine::release_in(&mut thread, order_of(&QUEUES, queue, 0));
        }
        real!(msgsnd: fn(c_int, *const c_void, usize, c_int) -> c_int)(queue, message, size, flags)
    }
    fn msgrcv(queue: c_int, message: *mut c_void, size: usize, kind: c_long, flags: c_int) -> isize {
        let pc = tls::caller();
        let result = real!(msgrcv: fn(c_int, *mut c_void, usize, c_long, c_int) -> isize)(queue, message, size, kind, flags);
        if result >= 0 && let Some(mut thread) = enter() {
            engine::acquire_in(&mut thread, order_of(&QUEUES, queue, 0));
            check_range(&mut thread, message as usize, result as usize + KIND, Kind::WRITE, pc);
        }
        result
    }
    fn semop(set: c_int, list: *mut libc::sembuf, count: usize) -> c_int {
        let pc = tls::caller();
        let all = operations(list, count);
        before_operations(set, all, pc);
        let result = real!(semop: fn(c_int, *mut libc::sembuf, usize) -> c_int)(set, list, count);
        after_operations(set, all, result);
        result
    }
    fn semtimedop(set: c_int, list: *mut libc::sembuf, count: usize, limit: *const c_void) -> c_int {
        let pc = tls::caller();
        let all = operations(list, count);
        before_operations(set, all, pc);
        let result = real!(semtimedop: fn(c_int, *mut libc::sembuf, usize, *const c_void) -> c_int)(set, list, count, limit);
        after_operations(set, all, result);
        result
    }
}
