//! Waiting without pthreads: a spin lock for short sections, and futex wait and wake.

use std::sync::atomic::{AtomicU32, Ordering};

use super::tls;

/// A lock for sections of a few instructions. Falls back to a futex, so that a preempted holder
/// does not burn the others' time.
pub struct SpinLock {
    state: AtomicU32, // 0 free, 1 held, 2 held with waiters
}

pub struct SpinGuard<'a> {
    lock: &'a SpinLock,
}

impl SpinLock {
    pub const fn new() -> Self {
        SpinLock { state: AtomicU32::new(0) }
    }

    /// While the lock is held the thread counts as inside the runtime: a `memcpy` that the compiler
    /// put into the section must not be taken for the program's and come back for the same lock.
    #[inline]
    pub fn lock(&self) -> SpinGuard<'_> {
        tls::set_depth(tls::depth() + 1);
        if self.state.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.lock_slow();
        }
        SpinGuard { lock: self }
    }

    #[cold]
    fn lock_slow(&self) {
        for _ in 0..100 {
            if self.state.load(Ordering::Relaxed) == 0
                && self.state.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                return;
            }
            std::hint::spin_loop();
        }
        while self.state.swap(2, Ordering::Acquire) != 0 {
            futex_wait(&self.state, 2, None);
        }
    }

    /// Releases a lock whose guard was forgotten.
    pub fn unlock(&self) {
        drop(SpinGuard { lock: self });
    }

    /// Forgets a holder: only right in the child of a fork, where no other thread exists.
    pub fn reset_after_fork(&self) {
        self.state.store(0, Ordering::Release);
    }
}

impl Drop for SpinGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.lock.state.swap(0, Ordering::Release) == 2 {
            futex_wake(&self.lock.state, 1);
        }
        tls::set_depth(tls::depth().wrapping_sub(1));
    }
}

/// Waits while `word` holds `expected`, at most `timeout` nanoseconds.
pub fn futex_wait(word: &AtomicU32, expected: u32, timeout: Option<u64>) {
    let spec = timeout.map(|nanos| libc::timespec {
        tv_sec: (nanos / 1_000_000_000) as libc::time_t,
        tv_nsec: (nanos % 1_000_000_000) as libc::c_long,
    });
    let pointer = spec.as_ref().map_or(std::ptr::null(), |spec| spec as *const libc::timespec);
    // SAFETY: the word outlives the call, and the kernel only reads the time.
    unsafe {
        raw_syscall(
            libc::SYS_futex,
            word.as_ptr() as usize,
            (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as usize,
            expected as usize,
            pointer as usize,
            0,
            0,
        );
    }
}

pub fn futex_wake(word: &AtomicU32, count: u32) {
    // SAFETY: waking reads nothing but the address.
    unsafe {
        raw_syscall(
            libc::SYS_futex,
            word.as_ptr() as usize,
            (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize,
            count as usize,
            0,
            0,
            0,
        );
    }
}

/// A system call that touches neither `errno` nor any interceptable symbol.
///
/// # Safety
/// As the system call itself demands.
#[inline]
pub unsafe fn raw_syscall(
    number: libc::c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> isize {
    let result: isize;
    // SAFETY: the x86-64 system call convention; rcx and r11 are clobbered.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    result
}
