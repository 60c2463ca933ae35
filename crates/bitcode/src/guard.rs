//! Damaged files and LLVM's crashes.
//!
//! LLVM's reader gives an error for truncated and foreign files, but on bitcode with flipped bits
//! it may stop the process (a fatal error in the verifier it runs while reading) or follow a wild
//! pointer. Reading each file in a process of its own would cost a second parse of every file, so
//! instead the crash itself is turned into what the user must see: while a thread is inside LLVM
//! with a file ([`reading`]), a fatal error or signal on that thread prints an error that names
//! the file and ends the process with status 2. Outside of such a scope the signals go where they
//! went before.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};
use std::path::Path;
use std::sync::Once;

use inkwell::llvm_sys::error_handling::LLVMInstallFatalErrorHandler;

/// The exit status of a failure.
const FAILURE: c_int = 2;

const SIGNALS: [c_int; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGABRT];

thread_local! {
    /// The message for the file that this thread is reading: `(bytes, length)`. Plain data with a
    /// constant initialiser, so that a signal handler may look at it.
    static READING: Cell<(*const u8, usize)> = const { Cell::new((std::ptr::null(), 0)) };
}

/// Where a signal went before; written once before the handlers are installed.
static mut BEFORE: [libc::sigaction; 4] =
    // SAFETY: all-zero is a valid `sigaction`: the default action with an empty mask.
    unsafe { std::mem::zeroed() };

/// Runs `read` so that a crash of LLVM on this thread is reported as a defect of the file.
pub(crate) fn reading<T>(path: &Path, read: impl FnOnce() -> T) -> T {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(install);
    let message = format!(
        "racewarden: {}: not readable as LLVM bitcode: the file is damaged (LLVM crashed on it)\n",
        path.display()
    );
    /// Takes the message back however the scope ends.
    struct Scope((*const u8, usize));
    impl Drop for Scope {
        fn drop(&mut self) {
            READING.set(self.0);
        }
    }
    let _scope = Scope(READING.replace((message.as_ptr(), message.len())));
    read()
}

fn install() {
    // SAFETY: the handler is an `extern "C"` function that never returns while a file is read.
    unsafe { LLVMInstallFatalErrorHandler(Some(on_fatal_error)) };
    for (index, signal) in SIGNALS.into_iter().enumerate() {
        // SAFETY: `action` is fully initialised, `BEFORE` is written under `Once` and read only by
        // handlers that this very call installs.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_signal as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&mut action.sa_mask);
            let before = (&raw mut BEFORE).cast::<libc::sigaction>().add(index);
            libc::sigaction(signal, &action, before);
        }
    }
}

/// Prints the message of the file being read, if one is, and ends the process.
fn end_if_reading() {
    let (message, length) = READING.get();
    if message.is_null() {
        return;
    }
    // SAFETY: the message lives on the stack frame of `reading` further up this very thread;
    // `write` and `_exit` may be called from a signal handler.
    unsafe {
        libc::write(libc::STDERR_FILENO, message.cast(), length);
        libc::_exit(FAILURE);
    }
}

extern "C" fn on_fatal_error(reason: *const c_char) {
    end_if_reading();
    if !reason.is_null() {
        // SAFETY: LLVM passes a NUL-terminated reason.
        let reason = unsafe { CStr::from_ptr(reason) };
        eprintln!("racewarden: LLVM: {}", reason.to_string_lossy());
    }
    std::process::exit(FAILURE);
}

extern "C" fn on_signal(signal: c_int, _info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    end_if_reading();
    // Not ours: put the former handler back; the faulting instruction runs again and reaches it.
    if let Some(index) = SIGNALS.iter().position(|known| *known == signal) {
        // SAFETY: `BEFORE` was filled when this handler was installed and is not written again.
        unsafe {
            let before = (&raw const BEFORE).cast::<libc::sigaction>().add(index);
            libc::sigaction(signal, before, std::ptr::null_mut());
            if signal == libc::SIGABRT {
                libc::raise(signal);
            }
        }
    }
}
