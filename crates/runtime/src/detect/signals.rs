//! Signals. A handler runs in the middle of whatever the thread does; when that is the runtime
//! itself, the handler waits until the thread is out again.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::thread::Thread;
use crate::common::tls;
use crate::real;

const SIGNALS: usize = 65;
const WAITING: usize = 8;

/// Signals that came while the thread was inside the runtime.
#[repr(C)]
pub struct Pending {
    /// First, beside what the thread looks at most.
    count: u32,
    signals: [(c_int, Option<libc::siginfo_t>); WAITING],
}

impl Pending {
    pub const fn new() -> Self {
        Pending { count: 0, signals: [(0, None); WAITING] }
    }

    #[inline]
    pub fn any(&self) -> bool {
        self.count > 0
    }

    fn push(&mut self, signal: c_int, information: Option<libc::siginfo_t>) {
        let at = self.count as usize;
        if at < WAITING {
            self.signals[at] = (signal, information);
            self.count += 1;
        }
    }
}

/// The program's handlers.
static HANDLERS: [AtomicUsize; SIGNALS] = [const { AtomicUsize::new(0) }; SIGNALS];
static FLAGS: [AtomicUsize; SIGNALS] = [const { AtomicUsize::new(0) }; SIGNALS];

type Simple = unsafe extern "C" fn(c_int);
type Informed = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// A thread is about to send a signal: what it did before is ordered before the handler.
pub fn sending(signal: c_int) {
    if let Some(handler) = HANDLERS.get(signal as usize) {
        super::engine::release(handler.as_ptr() as usize);
    }
}

/// A thread took a signal by waiting for it: its senders come before.
pub fn waited_for(signal: c_int) {
    if let Some(handler) = usize::try_from(signal).ok().and_then(|at| HANDLERS.get(at)) {
        super::engine::acquire(handler.as_ptr() as usize);
    }
}

fn call(signal: c_int, information: *mut libc::siginfo_t, context: *mut c_void) {
    let at = signal as usize;
    let handler = HANDLERS[at].load(Ordering::Acquire);
    if handler <= 1 {
        return;
    }
    super::engine::acquire(HANDLERS[at].as_ptr() as usize);
    // What the interrupted code asked to be ignored is its own affair.
    let before = super::engine::ignored((0, 0, 0));
    // SAFETY: the program installed this handler for this signal.
    unsafe {
        if FLAGS[at].load(Ordering::Relaxed) & libc::SA_SIGINFO as usize != 0 {
            std::mem::transmute::<usize, Informed>(handler)(signal, information, context);
        } else {
            std::mem::transmute::<usize, Simple>(handler)(signal);
        }
    }
    super::engine::ignored(before);
}

/// Signals that the current instruction raised: waiting would run it again for ever.
fn is_synchronous(signal: c_int) -> bool {
    matches!(
        signal,
        libc::SIGSEGV
            | libc::SIGBUS
            | libc::SIGILL
            | libc::SIGFPE
            | libc::SIGTRAP
            | libc::SIGABRT
            | libc::SIGSYS
    )
}

unsafe extern "C" fn arrived(
    signal: c_int,
    information: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    let depth = tls::depth();
    let thread = tls::state() as *mut Thread;
    if depth != 0 && !is_synchronous(signal) && !thread.is_null() {
        // SAFETY: only this thread touches its waiting signals, and the interrupted code does not
        // look at them before it leaves the runtime.
        unsafe { (*thread).signals.push(signal, information.as_ref().copied()) };
        return;
    }
    // SAFETY: always valid; the handler must not disturb what the program was about to read.
    let errno = unsafe { *libc::__errno_location() };
    let (caller, extra) = (tls::caller(), tls::extra());
    tls::set_depth(0);
    call(signal, information, context);
    tls::set_depth(depth);
    tls::set_caller(caller);
    tls::set_extra(extra);
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Runs the handlers of what came meanwhile; the thread has just left the runtime.
#[cold]
pub fn deliver_pending(thread: &mut Thread) {
    let count = std::mem::take(&mut thread.signals.count) as usize;
    let waiting = thread.signals.signals;
    let (caller, extra) = (tls::caller(), tls::extra());
    for (signal, information) in waiting.into_iter().take(count) {
        // SAFETY: all zero is a valid siginfo.
        let mut information = information.unwrap_or_else(|| unsafe { std::mem::zeroed() });
        // SAFETY: all zero is a valid machine context for handlers that only pass it on.
        let mut context: libc::ucontext_t = unsafe { std::mem::zeroed() };
        call(signal, &mut information, (&raw mut context).cast());
    }
    tls::set_caller(caller);
    tls::set_extra(extra);
}

/// `sigaction` with our handler in front of the program's.
pub unsafe fn set_action(
    signal: c_int,
    action: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    let real = real!(sigaction: fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int);
    let at = signal as usize;
    if !(1..SIGNALS as c_int).contains(&signal) || !super::engine::is_initialized() {
        // SAFETY: the program's own call, unchanged.
        return unsafe { real(signal, action, old) };
    }
    let before = (HANDLERS[at].load(Ordering::Relaxed), FLAGS[at].load(Ordering::Relaxed));
    let ours = arrived as *const () as usize;
    // SAFETY: the pointers are the program's own, checked for null; ours are locals.
    unsafe {
        let result = if action.is_null() {
            real(signal, action, old)
        } else {
            let mut changed = *action;
            let handler = (*action).sa_sigaction;
            if handler > 1 {
                // Published before the kernel can call it.
                super::engine::release(HANDLERS[at].as_ptr() as usize);
                FLAGS[at].store((*action).sa_flags as usize, Ordering::Relaxed);
                HANDLERS[at].store(handler, Ordering::Release);
                changed.sa_sigaction = ours;
                changed.sa_flags |= libc::SA_SIGINFO;
            }
            real(signal, &changed, old)
        };
        if result == 0 && !old.is_null() && (*old).sa_sigaction == ours {
            (*old).sa_sigaction = before.0;
            (*old).sa_flags = before.1 as c_int;
        }
        result
    }
}

/// `signal`, by way of `sigaction` as glibc does it.
pub unsafe fn set_handler(signal: c_int, handler: usize) -> usize {
    // SAFETY: all zero is an empty action; the locals outlive the call.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let mut old: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_RESTART;
        if set_action(signal, &action, &mut old) == 0 { old.sa_sigaction } else { usize::MAX }
    }
}
