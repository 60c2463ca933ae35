//! Signals that threads send each other: what the sender did comes before the handler, and before
//! the return of a wait for the signal.
//!
//! The program's handler is called by ours, which writes down that it begins. A signal that comes
//! while its thread is inside the runtime is handled unrecorded.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use racewarden_trace::binary::SyncOp;

use super::threads::sync;
use crate::real;

const SIGNALS: usize = 65;
/// The program's handlers.
static HANDLERS: [AtomicUsize; SIGNALS] = [const { AtomicUsize::new(0) }; SIGNALS];
static FLAGS: [AtomicUsize; SIGNALS] = [const { AtomicUsize::new(0) }; SIGNALS];

type Simple = unsafe extern "C" fn(c_int);
type Informed = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// What is handed over by a signal, as an object that no lock has the address of.
fn channel(signal: c_int) -> u64 {
    (1 << 63) | (1 << 62) | u64::from(signal.cast_unsigned())
}

unsafe extern "C" fn arrived(
    signal: c_int,
    information: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    let at = signal as usize % SIGNALS;
    let handler = HANDLERS[at].load(Ordering::Acquire);
    if handler <= 1 {
        return;
    }
    sync(SyncOp::Got, channel(signal), 0);
    // SAFETY: the program installed this handler for this signal.
    unsafe {
        if FLAGS[at].load(Ordering::Relaxed) & libc::SA_SIGINFO as usize != 0 {
            std::mem::transmute::<usize, Informed>(handler)(signal, information, context);
        } else {
            std::mem::transmute::<usize, Simple>(handler)(signal);
        }
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(
    signal: c_int,
    action: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    let real = real!(sigaction: fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int);
    if action.is_null() || !(1..SIGNALS as c_int).contains(&signal) {
        // SAFETY: the program's own call, unchanged.
        return unsafe { real(signal, action, old) };
    }
    let at = signal as usize;
    let before = (HANDLERS[at].load(Ordering::Relaxed), FLAGS[at].load(Ordering::Relaxed));
    let ours = arrived as *const () as usize;
    // SAFETY: the pointers are the program's own, checked for null; ours are locals.
    unsafe {
        let mut changed = *action;
        if changed.sa_sigaction > 1 {
            sync(SyncOp::Put, channel(signal), 0);
            FLAGS[at].store(changed.sa_flags as usize, Ordering::Relaxed);
            HANDLERS[at].store(changed.sa_sigaction, Ordering::Release);
            changed.sa_sigaction = ours;
            changed.sa_flags |= libc::SA_SIGINFO;
        }
        let result = real(signal, &changed, old);
        if result == 0 && !old.is_null() && (*old).sa_sigaction == ours {
            (*old).sa_sigaction = before.0;
            (*old).sa_flags = before.1 as c_int;
        }
        result
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn signal(signal: c_int, handler: usize) -> usize {
    // SAFETY: all zero is an empty action; the locals outlive the call.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let mut old: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_RESTART;
        if sigaction(signal, &action, &mut old) == 0 { old.sa_sigaction } else { usize::MAX }
    }
}

macro_rules! sends {
    ($($name:ident($($argument:ident : $type:ty),*; $signal:ident $(, $more:ident : $other:ty)*);)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type,)* $signal: c_int $(, $more: $other)*) -> c_int {
            let real = real!($name: fn($($type,)* c_int $(, $other)*) -> c_int);
            sync(SyncOp::Put, channel($signal), 0);
            // SAFETY: passes the program's own arguments on.
            unsafe { real($($argument,)* $signal $(, $more)*) }
        }
    )*};
}

sends! {
    kill(process: libc::pid_t; signal);
    raise(; signal);
    pthread_kill(thread: libc::pthread_t; signal);
    tgkill(process: libc::pid_t, thread: libc::pid_t; signal);
    sigqueue(process: libc::pid_t; signal, value: *mut c_void);
    pthread_sigqueue(thread: libc::pthread_t; signal, value: *mut c_void);
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigwait(set: *const libc::sigset_t, signal: *mut c_int) -> c_int {
    let real = real!(sigwait: fn(*const libc::sigset_t, *mut c_int) -> c_int);
    // SAFETY: passes the program's own arguments on; the signal is written on success.
    unsafe {
        let status = real(set, signal);
        if status == 0 && !signal.is_null() {
            sync(SyncOp::Got, channel(*signal), 0);
        }
        status
    }
}

macro_rules! awaits {
    ($($name:ident($($argument:ident : $type:ty),*);)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            set: *const libc::sigset_t,
            information: *mut libc::siginfo_t
            $(, $argument: $type)*
        ) -> c_int {
            let real =
                real!($name: fn(*const libc::sigset_t, *mut libc::siginfo_t $(, $type)*) -> c_int);
            // SAFETY: passes the program's own arguments on.
            let signal = unsafe { real(set, information $(, $argument)*) };
            if signal > 0 {
                sync(SyncOp::Got, channel(signal), 0);
            }
            signal
        }
    )*};
}

awaits! {
    sigwaitinfo();
    sigtimedwait(limit: *const libc::timespec);
}
