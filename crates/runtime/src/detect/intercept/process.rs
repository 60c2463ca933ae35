//! Fork, exit, exit handlers and signals.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::cloned::{self, Routine};
use crate::common::futex::raw_syscall;
use crate::common::settle::settle;
use crate::common::{allocator, tls};
use crate::detect::engine::{self, enter};
use crate::detect::thread::REGISTRY;
use crate::detect::{alone, granule, heap, machines, report, segments, signals, sync};
use crate::{interceptor, real};

type Handler = unsafe extern "C" fn(*mut c_void);

struct AtExit {
    handler: Handler,
    argument: *mut c_void,
}

/// Runs an exit handler, ordered after its registration.
unsafe extern "C" fn run_at_exit(entry: *mut c_void) {
    engine::acquire(entry as usize);
    // SAFETY: made by `__cxa_atexit` below, and run once.
    let entry = unsafe { Box::from_raw(entry.cast::<AtExit>()) };
    // SAFETY: the program's handler with its argument.
    unsafe { (entry.handler)(entry.argument) };
}

interceptor! {
    fn __cxa_atexit(handler: Handler, argument: *mut c_void, library: *mut c_void) -> c_int {
        let entry = Box::into_raw(Box::new(AtExit { handler, argument }));
        engine::release(entry as usize);
        real!(__cxa_atexit: fn(Handler, *mut c_void, *mut c_void) -> c_int)(run_at_exit, entry.cast(), library)
    }
    fn clone(routine: Routine, stack: *mut c_void, flags: c_int, argument: *mut c_void, parent: *mut c_void, storage: *mut c_void, child: *mut c_void) -> c_int {
        let is_fork = !cloned::is_thread(flags);
        if is_fork {
            before_fork();
        }
        let rest = [parent, storage, child];
        let result = cloned::cloning(after_fork_in_child, (routine, argument), (stack, flags), rest);
        if is_fork {
            after_fork_in_parent();
        }
        result
    }
    fn _exit(code: c_int) {
        leave(code)
    }
    fn _Exit(code: c_int) {
        leave(code)
    }
    fn sigaction(signal: c_int, action: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
        signals::set_action(signal, action, old)
    }
    fn pthread_kill(thread: usize, signal: c_int) -> c_int {
        signals::sending(signal);
        real!(pthread_kill: fn(usize, c_int) -> c_int)(thread, signal)
    }
    fn kill(process: c_int, signal: c_int) -> c_int {
        signals::sending(signal);
        real!(kill: fn(c_int, c_int) -> c_int)(process, signal)
    }
    fn pthread_sigqueue(thread: usize, signal: c_int, value: usize) -> c_int {
        signals::sending(signal);
        real!(pthread_sigqueue: fn(usize, c_int, usize) -> c_int)(thread, signal, value)
    }
    fn sigwait(set: *const c_void, signal: *mut c_int) -> c_int {
        let result = real!(sigwait: fn(*const c_void, *mut c_int) -> c_int)(set, signal);
        if result == 0 {
            signals::waited_for(*signal);
        }
        result
    }
    fn sigwaitinfo(set: *const c_void, information: *mut c_void) -> c_int {
        let result = real!(sigwaitinfo: fn(*const c_void, *mut c_void) -> c_int)(set, information);
        signals::waited_for(result);
        result
    }
    fn sigtimedwait(set: *const c_void, information: *mut c_void, time: *const c_void) -> c_int {
        let result = real!(sigtimedwait: fn(*const c_void, *mut c_void, *const c_void) -> c_int)(set, information, time);
        signals::waited_for(result);
        result
    }
    fn signal(signal: c_int, handler: usize) -> usize {
        signals::set_handler(signal, handler)
    }
}

fn leave(code: c_int) -> ! {
    end();
    // SAFETY: ends the whole process.
    unsafe { raw_syscall(libc::SYS_exit_group, code as usize, 0, 0, 0, 0, 0) };
    unreachable!("the process has exited")
}

fn end() {
    if let Some(_thread) = enter() {
        report::finish();
    }
}

/// Runs after every exit handler and destructor.
extern "C" fn at_end() {
    end();
    if let Some(code) = report::own_exit_code() {
        // SAFETY: ends the whole process; the C library has flushed its streams before.
        unsafe {
            libc::fflush(std::ptr::null_mut());
            raw_syscall(libc::SYS_exit_group, code as usize, 0, 0, 0, 0, 0);
        }
    }
}

extern "C" fn wait_for_others() {
    settle(|| false);
}

/// Runs after the program's own constructors, so that the handler goes before those that they
/// registered: the others must not run on into destroyed objects.
extern "C" fn register_wait() {
    // SAFETY: the handler takes nothing and stands for the whole run.
    unsafe { libc::atexit(wait_for_others) };
}

#[used]
#[unsafe(link_section = ".init_array")]
static REGISTER_WAIT: extern "C" fn() = register_wait;

#[used]
#[unsafe(link_section = ".fini_array.00001")]
static AT_END: extern "C" fn() = at_end;

/// The state of the thread that forks; the registry's lock is its own meanwhile.
static FORKING: AtomicUsize = AtomicUsize::new(0);

/// Has the C library call us around every fork, its own included (`daemon`, `system`). Who registers first comes
/// last before a fork and first after it: the program's own handlers are watched like everything else.
pub fn prepare() {
    // SAFETY: the handlers stand for the whole run.
    unsafe {
        libc::pthread_atfork(
            Some(before_fork),
            Some(after_fork_in_parent),
            Some(after_fork_in_child),
        )
    };
}

/// Holds every lock of the runtime across the fork, so that the child gets them all free.
pub extern "C" fn before_fork() {
    let thread = tls::state();
    if thread == 0 || tls::depth() != 0 {
        return;
    }
    std::mem::forget(REGISTRY.lock.lock());
    allocator::hold();
    FORKING.store(thread, Ordering::Relaxed);
}

/// Gives the locks free again. Returns whether this thread held them.
fn end_fork() -> bool {
    let thread = tls::state();
    if thread == 0 || FORKING.load(Ordering::Relaxed) != thread {
        return false;
    }
    FORKING.store(0, Ordering::Relaxed);
    allocator::release();
    REGISTRY.lock.unlock();
    true
}

pub extern "C" fn after_fork_in_parent() {
    if end_fork() {
        deliver_signals();
    }
}

pub extern "C" fn after_fork_in_child() {
    if !end_fork() {
        return;
    }
    // What the locks guard that other threads of the parent held is made anew for the only thread there is.
    tls::set_depth(1);
    granule::FORKED.store(true, Ordering::Relaxed);
    sync::reset_after_fork();
    heap::reset_after_fork();
    report::reset_after_fork();
    machines::reset_after_fork();
    segments::reset_after_fork();
    alone::reset_after_fork();
    REGISTRY.after_fork(tls::state() as *mut engine::Thread);
    tls::set_depth(0);
    deliver_signals();
}

/// Signals that came meanwhile.
fn deliver_signals() {
    drop(enter());
}
