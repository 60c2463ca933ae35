//! What is linked into the program under test.
//!
//! One archive per mode, chosen by a cargo feature: `detect` watches for races behind TSan's ABI,
//! `record` writes a trace, `gate` enforces orders. `common` serves all three: an allocator that
//! never calls the program's, the real C library functions behind the interceptors, futexes, and
//! thread names that stay the same from run to run.
//!
//! Cancellation, `pthread_exit` and C++ exceptions unwind through the interceptors. Their frames are
//! plain `extern "C"` functions built with panic=abort: they have unwind tables but no landing
//! pads, so the unwinder passes them by; `C-unwind` would put an abort there.
//!
//! Invariants: no allocation by the program's `malloc`; no lock held while the program's code or
//! a blocking C library function runs; every interceptor works before the runtime has started.

#[allow(dead_code)]
mod common;
#[cfg(feature = "detect")]
mod detect;
#[cfg(feature = "gate")]
mod gate;
#[cfg(feature = "record")]
mod record;

/// Referenced by the link line, so that the archive member with every interceptor is pulled in.
#[unsafe(no_mangle)]
pub static __racewarden_anchor: u8 = 0;
