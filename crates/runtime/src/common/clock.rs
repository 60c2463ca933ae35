//! The kernel's clocks in nanoseconds, by system calls alone: a program may bring its own `clock_gettime`.

use super::futex::raw_syscall;

pub fn monotonic_nanos() -> u64 {
    nanos(libc::CLOCK_MONOTONIC)
}

/// Processor time of all threads of the process so far.
pub fn processor_nanos() -> u64 {
    nanos(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Processor time of this thread so far.
pub fn thread_nanos() -> u64 {
    nanos(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn nanos(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills the structure.
    unsafe {
        raw_syscall(libc::SYS_clock_gettime, clock as usize, &raw mut time as usize, 0, 0, 0, 0);
    }
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
