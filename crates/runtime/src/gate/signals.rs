//! Violations as the program meets them: fatal signals and failed assertions.
//!
//! They are noted in the report and then take their course: the program's own handler runs with
//! the flags and the mask that it asked for, or the default action ends the program with the same
//! status as ever.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use racewarden_schedule::gate::{Event, ViolationKind};

use crate::common::futex::{SpinLock, raw_syscall};
use crate::real;

use super::{files, state, threads};

const WATCHED: [i32; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGABRT, libc::SIGFPE, libc::SIGILL];

/// The controlling process sends it to every thread of a program that hangs, to learn where they
/// stand. Programs rarely use this number.
const TELL_STACK: i32 = 62;

const DEEPEST: usize = 32;

struct Handlers {
    lock: SpinLock,
    /// What the program wants done, by index into `WATCHED`.
    wanted: UnsafeCell<[libc::sigaction; WATCHED.len()]>,
}

// SAFETY: `wanted` is only touched while `lock` is held.
unsafe impl Sync for Handlers {}

static HANDLERS: Handlers = Handlers {
    lock: SpinLock::new(),
    // SAFETY: all zeroes is the default action with an empty mask.
    wanted: UnsafeCell::new(unsafe { std::mem::zeroed() }),
};

/// Where the program was loaded: stacks are told relative to it.
static BASE: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" {
    fn backtrace(buffer: *mut *mut c_void, size: i32) -> i32;
}

fn real_sigaction() -> unsafe extern "C" fn(i32, *const libc::sigaction, *mut libc::sigaction) -> i32
{
    real!(sigaction: fn(i32, *const libc::sigaction, *mut libc::sigaction) -> i32)
}

pub fn install() {
    // SAFETY: the callback only reads what it is given.
    unsafe { libc::dl_iterate_phdr(Some(first_object), std::ptr::null_mut()) };
    // The first call loads the unwinder, which a signal handler must not do.
    let _ = stack();
    let real = real_sigaction();
    for signal in WATCHED {
        let action = ours(0, None);
        // SAFETY: installs a handler that only makes system calls and then passes on.
        unsafe { real(signal, &action, std::ptr::null_mut()) };
    }
    // SAFETY: as above; zero is an empty mask.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_tell_stack as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        real(TELL_STACK, &action, std::ptr::null_mut());
    }
}

unsafe extern "C" fn first_object(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    _data: *mut c_void,
) -> i32 {
    // SAFETY: the loader passes a valid description; the program itself comes first.
    BASE.store(unsafe { (*info).dlpi_addr } as usize, Ordering::Relaxed);
    1
}

fn ours(flags: i32, mask: Option<libc::sigset_t>) -> libc::sigaction {
    // SAFETY: zero is an empty mask and no flags.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_fault as *const () as usize;
    action.sa_flags = flags | libc::SA_SIGINFO | libc::SA_ONSTACK;
    if let Some(mask) = mask {
        action.sa_mask = mask;
    }
    action
}

/// The calling thread's stack, innermost first, relative to where the program was loaded.
pub fn stack() -> Vec<u64> {
    let mut frames = [std::ptr::null_mut(); DEEPEST];
    // SAFETY: writes at most the buffer's length.
    let count = unsafe { backtrace(frames.as_mut_ptr(), DEEPEST as i32) };
    let base = BASE.load(Ordering::Relaxed) as u64;
    frames[..count.max(0) as usize].iter().map(|pc| (*pc as u64).wrapping_sub(base)).collect()
}

fn note(kind: ViolationKind, detail: String, stack: Vec<u64>) {
    let thread = threads::current_path();
    files::report(&[Event::Violation { kind, detail, thread, stack }]);
}

/// After a jump through a bad pointer there is nothing to unwind from, and the unwinder would fail
/// on it: where the jump came from stands on top of the stack. Told as it is when it lies in no
/// known object.
#[cfg(target_arch = "x86_64")]
fn caller_of_nowhere(context: *mut c_void) -> Option<u64> {
    // SAFETY: the kernel passes the interrupted context; `dladdr` only looks an address up. The
    // stack pointer is that of a call just made, so the word it points to is the return address.
    unsafe {
        let registers = &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let at = registers[libc::REG_RIP as usize] as *const c_void;
        let mut found: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(at, &mut found) != 0 {
            return None;
        }
        let caller = *(registers[libc::REG_RSP as usize] as *const u64);
        Some(caller.wrapping_sub(BASE.load(Ordering::Relaxed) as u64))
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn caller_of_nowhere(_context: *mut c_void) -> Option<u64> {
    None
}

unsafe extern "C" fn on_tell_stack(_signal: i32, _info: *mut libc::siginfo_t, _: *mut c_void) {
    note(ViolationKind::Hang, "the thread stood here".to_owned(), stack());
}

unsafe extern "C" fn on_fault(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(index) = WATCHED.iter().position(|watched| *watched == signal) else { return };
    let wanted = {
        let _guard = HANDLERS.lock.lock();
        // SAFETY: the lock is held.
        unsafe { (*HANDLERS.wanted.get())[index] }
    };
    let handled = wanted.sa_sigaction > libc::SIG_IGN;
    let suffix = if handled { ", handled by the program" } else { "" };
    let stack = caller_of_nowhere(context).map_or_else(stack, |caller| vec![caller]);
    note(ViolationKind::Crash, format!("{}{suffix}", name_of(signal)), stack);
    if handled {
        // SAFETY: the program gave this function for this very signal.
        unsafe {
            if wanted.sa_flags & libc::SA_SIGINFO != 0 {
                let call: extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void) =
                    std::mem::transmute(wanted.sa_sigaction);
                call(signal, info, context);
            } else {
                let call: extern "C" fn(i32) = std::mem::transmute(wanted.sa_sigaction);
                call(signal);
            }
        }
        return;
    }
    // SAFETY: `info` is valid in a handler; the default action is what the program would have got.
    unsafe {
        // Sent by a process (`raise`, `abort`), not by a fault that returning would repeat.
        let sent = (*info).si_code <= 0;
        if sent && wanted.sa_sigaction == libc::SIG_IGN {
            return;
        }
        let default: libc::sigaction = std::mem::zeroed();
        real_sigaction()(signal, &default, std::ptr::null_mut());
        if sent {
            let process = raw_syscall(libc::SYS_getpid, 0, 0, 0, 0, 0, 0) as usize;
            let thread = raw_syscall(libc::SYS_gettid, 0, 0, 0, 0, 0, 0) as usize;
            raw_syscall(libc::SYS_tgkill, process, thread, signal as usize, 0, 0, 0);
        }
    }
}

fn name_of(signal: i32) -> &'static str {
    match signal {
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGBUS => "SIGBUS",
        libc::SIGABRT => "SIGABRT",
        libc::SIGFPE => "SIGFPE",
        _ => "SIGILL",
    }
}

/// The program's `sigaction`: remembers its handlers for the watched signals and stays in front
/// of them.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(
    signal: i32,
    action: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> i32 {
    let real = real_sigaction();
    let watched = WATCHED.iter().position(|watched| *watched == signal);
    let (Some(index), true) = (watched, state::is_active()) else {
        // SAFETY: passes the program's own arguments on.
        return unsafe { real(signal, action, old) };
    };
    let _guard = HANDLERS.lock.lock();
    // SAFETY: the lock is held; the pointers are the program's, checked for null.
    unsafe {
        let wanted = &mut (*HANDLERS.wanted.get())[index];
        let before = *wanted;
        if !action.is_null() {
            *wanted = *action;
            let front = ours((*action).sa_flags, Some((*action).sa_mask));
            real(signal, &front, std::ptr::null_mut());
        }
        if !old.is_null() {
            *old = before;
        }
    }
    0
}

/// The program's `signal`, by way of [`sigaction`].
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn signal(number: i32, handler: usize) -> usize {
    if !(state::is_active() && WATCHED.contains(&number)) {
        let real = real!(signal: fn(i32, usize) -> usize);
        // SAFETY: passes the program's own arguments on.
        return unsafe { real(number, handler) };
    }
    // SAFETY: both structures live through the call; zero is an empty mask.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_RESTART;
        let mut old: libc::sigaction = std::mem::zeroed();
        sigaction(number, &action, &mut old);
        old.sa_sigaction
    }
}

/// A failed `assert`: noted with its text, then the C library's own.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __assert_fail(
    expression: *const c_char,
    file: *const c_char,
    line: u32,
    function: *const c_char,
) -> ! {
    if state::is_active() {
        let text = |pointer: *const c_char| {
            if pointer.is_null() {
                return String::from("?");
            }
            // SAFETY: the compiler passes string literals.
            unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
        };
        let detail = format!("{}:{line}: {}: {}", text(file), text(function), text(expression));
        note(ViolationKind::Assertion, detail, stack());
    }
    let real = real!(__assert_fail: fn(*const c_char, *const c_char, u32, *const c_char) -> !);
    // SAFETY: passes the program's own arguments on.
    unsafe { real(expression, file, line, function) }
}
