//! The end of `main` while other threads still run.
//!
//! A program that does not wait for its threads ends in the middle of their work, mostly before
//! they have done anything, and its races would hardly ever be seen. So its end is put off for a
//! moment: until the other threads are gone, or nothing has happened for a while. Any such run
//! could have been the program's own.

use super::clock::processor_nanos;
use super::futex::raw_syscall;

const STEP_MS: u64 = 10;
/// At most a second, and three while a thread is held on purpose.
const MOST_STEPS: u32 = 100;
const MOST_BUSY_STEPS: u32 = 300;
/// So long without progress, and the others are taken to wait for something that never comes.
const IDLE_STEPS: u32 = 15;
/// Less processor time than this in a step is the waiting itself.
const PROGRESS_NANOS: u64 = 400_000;

/// Waits for the other threads. `busy` says that one of them is held on purpose.
pub fn settle(busy: impl Fn() -> bool) {
    let mut idle = 0;
    let mut last = processor_nanos();
    for step in 0..MOST_BUSY_STEPS {
        if threads() <= 1 || idle >= IDLE_STEPS || (step >= MOST_STEPS && !busy()) {
            return;
        }
        sleep(STEP_MS);
        let now = processor_nanos();
        let progress = busy() || now.saturating_sub(last) >= PROGRESS_NANOS;
        idle = if progress { 0 } else { idle + 1 };
        last = now;
    }
}

/// How many threads the process has; 1 where the kernel does not tell.
fn threads() -> u64 {
    // SAFETY: the structure is plain numbers.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the path is a C string and the kernel fills the structure.
    let result = unsafe {
        raw_syscall(
            libc::SYS_stat,
            c"/proc/self/task".as_ptr() as usize,
            &raw mut status as usize,
            0,
            0,
            0,
            0,
        )
    };
    // The folder has a link for each thread, one for itself and one from its parent.
    if result == 0 { (status.st_nlink as u64).saturating_sub(2).max(1) } else { 1 }
}

fn sleep(millis: u64) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: (millis * 1_000_000) as libc::c_long };
    // SAFETY: the kernel reads the time and writes nothing.
    unsafe {
        raw_syscall(libc::SYS_nanosleep, &raw const time as usize, 0, 0, 0, 0, 0);
    }
}
