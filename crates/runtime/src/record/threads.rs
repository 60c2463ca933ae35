//! Threads: their buffers, numbers and names; start and end of the recording.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use racewarden_trace::binary::SyncOp;
use racewarden_trace::binary::chunk::ChunkKind;

use crate::common::cloned::{Routine, cloning};
use crate::common::futex::{SpinLock, raw_syscall};
use crate::common::name::ThreadName;
use crate::common::tls;
use crate::real;

use super::hot::{self, Hot};
use super::places::Hold;
use super::writer::{self, Buffer};

/// One thread's own data; only its thread touches it, but for the last flush.
pub struct Recorder {
    pub buffer: Buffer,
    name: ThreadName,
    created: u32,
    /// Inside the runtime: a signal handler that comes here records nothing.
    pub busy: bool,
    /// What an atomic update found, from before the access until after it.
    pub old: u64,
    /// The place that is being accessed.
    pub hold: Option<Hold>,
    /// Loads of floating-point numbers that were recorded, by a hash of where and when.
    pub loaded: Vec<u64>,
    /// What the thread's code counts with, and what its reader knows of memory (`known`).
    pub hot: *mut Hot,
    next: *mut Recorder,
    ended: bool,
}

/// How many loads are remembered: what a processor keeps near.
pub const LOADED: usize = 1 << 15;

const ENDED: usize = 1;
static NEXT_NUMBER: AtomicU32 = AtomicU32::new(0);
static KEY: AtomicUsize = AtomicUsize::new(0);
/// All recorders, for the flush at the end of the process.
static ALL: AtomicPtr<Recorder> = AtomicPtr::new(std::ptr::null_mut());
static FLUSHING: SpinLock = SpinLock::new();
/// Which thread a `pthread_t` is.
static HANDLES: SpinLock = SpinLock::new();
static mut HANDLE_TABLE: Vec<(libc::pthread_t, u32)> = Vec::new();

/// For whoever holds [`HANDLES`].
fn handle_table() -> *mut Vec<(libc::pthread_t, u32)> {
    &raw mut HANDLE_TABLE
}

fn new_recorder(number: u32, name: ThreadName) {
    let text = name.to_string();
    let path = text.strip_prefix('0').map_or(text.clone(), |rest| format!("main{rest}"));
    writer::write(ChunkKind::ThreadName, number, path.as_bytes());
    let hot = Hot::allocate();
    let recorder = Box::into_raw(Box::new(Recorder {
        buffer: Buffer::new(number, hot),
        name,
        created: 0,
        busy: false,
        old: 0,
        hold: None,
        loaded: vec![0; LOADED],
        hot,
        next: std::ptr::null_mut(),
        ended: false,
    }));
    let mut head = ALL.load(Ordering::Acquire);
    loop {
        // SAFETY: the recorder is not shared before the exchange succeeds.
        unsafe { (*recorder).next = head };
        match ALL.compare_exchange(head, recorder, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => break,
            Err(other) => head = other,
        }
    }
    tls::set_state(recorder as usize);
    hot::set(Some(hot));
    if let Some(key) = KEY.load(Ordering::Relaxed).checked_sub(1) {
        // SAFETY: any value but null makes the destructor run.
        unsafe { libc::pthread_setspecific(key as libc::pthread_key_t, std::ptr::dangling()) };
    }
}

/// Runs `record` with this thread's recorder, unless nothing is recorded or the thread is already
/// inside the runtime.
#[inline]
pub fn with(record: impl FnOnce(&mut Recorder)) {
    let pointer = tls::state();
    if pointer <= ENDED {
        return;
    }
    // SAFETY: only this thread uses its recorder, and `busy` keeps signal handlers away.
    let recorder = unsafe { &mut *(pointer as *mut Recorder) };
    if recorder.busy {
        return;
    }
    recorder.busy = true;
    recorder.buffer.close();
    // What is counted after the end would be counted at the wrong place: it stays closed then.
    if writer::is_recording() {
        record(recorder);
        recorder.buffer.open();
    }
    recorder.busy = false;
}

pub fn sync(op: SyncOp, object: u64, extra: u64) {
    with(|recorder| recorder.buffer.sync(op, object, extra));
}

/// Runs before every constructor.
#[used]
#[unsafe(link_section = ".preinit_array")]
static START: extern "C" fn(i32, *const *const c_char, *const *const c_char) = start;

extern "C" fn start(_: i32, _: *const *const c_char, environment: *const *const c_char) {
    let Some(path) = variable(environment, b"RACEWARDEN_RECORD=") else { return };
    // SAFETY: the path is a C string of the environment.
    let descriptor = unsafe {
        raw_syscall(
            libc::SYS_openat,
            libc::AT_FDCWD as usize,
            path.as_ptr() as usize,
            (libc::O_WRONLY | libc::O_APPEND | libc::O_CLOEXEC) as usize,
            0,
            0,
            0,
        )
    };
    if descriptor < 0 {
        return;
    }
    let limit = |name: &[u8]| {
        let text = variable(environment, name)?;
        text.to_str().ok()?.parse().ok()
    };
    let window = limit(b"RACEWARDEN_RECORD_WINDOW=").unwrap_or(u64::MAX);
    let size = limit(b"RACEWARDEN_RECORD_SIZE=").unwrap_or(u64::MAX);
    writer::open(descriptor as i32, window, size);
    let mut key: libc::pthread_key_t = 0;
    // SAFETY: the key is written before it is used; the handlers stand for the whole run.
    unsafe {
        if libc::pthread_key_create(&mut key, Some(thread_ended)) == 0 {
            KEY.store(key as usize + 1, Ordering::Relaxed);
        }
        libc::pthread_atfork(None, None, Some(forked));
        libc::atexit(finish);
        let set = real!(signal: fn(i32, usize) -> usize);
        for signal in [libc::SIGSEGV, libc::SIGABRT, libc::SIGTERM, libc::SIGINT, libc::SIGFPE] {
            set(signal, killed as *const () as usize);
        }
    }
    write_symbols();
    new_recorder(NEXT_NUMBER.fetch_add(1, Ordering::Relaxed), ThreadName::MAIN);
    sync(SyncOp::Begin, 0, 0);
}

/// Runs after the program's own constructors, so that the handler goes before theirs.
#[used]
#[unsafe(link_section = ".init_array")]
static LAST: extern "C" fn() = register_wait;

extern "C" fn register_wait() {
    if KEY.load(Ordering::Relaxed) != 0 {
        // SAFETY: the handler takes nothing and stands for the whole run.
        unsafe { libc::atexit(wait_for_others) };
    }
}

extern "C" fn wait_for_others() {
    crate::common::settle::settle(|| false);
}

fn variable(environment: *const *const c_char, name: &[u8]) -> Option<&'static CStr> {
    let mut at = environment;
    // SAFETY: the environment is a null-terminated list of C strings that lives for the run.
    unsafe {
        while !at.is_null() && !(*at).is_null() {
            let entry = CStr::from_ptr(*at);
            if let Some(value) = entry.to_bytes_with_nul().strip_prefix(name) {
                return CStr::from_bytes_with_nul(value).ok();
            }
            at = at.add(1);
        }
    }
    None
}

#[repr(C)]
struct SymbolRow {
    address: u64,
    name: *const c_char,
    unit: u64,
    kind: u64,
}

unsafe extern "C" {
    #[link_name = "__start_racewarden_symbols"]
    static FIRST_SYMBOL: SymbolRow;
    #[link_name = "__stop_racewarden_symbols"]
    static AFTER_SYMBOLS: SymbolRow;
}

/// The addresses of the program's own functions: a table that is probed from an address's place
/// on, never full.
static OWN: AtomicPtr<Vec<u64>> = AtomicPtr::new(std::ptr::null_mut());

fn home(address: u64, size: usize) -> usize {
    (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % size
}

/// Whether the function is instrumented.
pub fn is_own(function: u64) -> bool {
    // SAFETY: never changed once it is there.
    let Some(table) = (unsafe { OWN.load(Ordering::Acquire).as_ref() }) else { return false };
    let mut at = home(function, table.len());
    loop {
        match table[at] {
            0 => return false,
            own if own == function => return true,
            _ => at = (at + 1) % table.len(),
        }
    }
}

fn keep_own(functions: &[u64]) {
    let mut table = vec![0; functions.len() * 2 + 1];
    for &function in functions {
        let mut at = home(function, table.len());
        while table[at] != 0 && table[at] != function {
            at = (at + 1) % table.len();
        }
        table[at] = function;
    }
    OWN.store(Box::into_raw(Box::new(table)), Ordering::Release);
}

fn write_symbols() {
    use std::fmt::Write;
    let mut text = String::new();
    let mut functions = Vec::new();
    let (mut at, end) = (&raw const FIRST_SYMBOL, &raw const AFTER_SYMBOLS);
    while at < end {
        // SAFETY: the linker's marks enclose the rows that the pass put into the section.
        let row = unsafe { &*at };
        // SAFETY: every row names its symbol by a C string.
        let name = unsafe { CStr::from_ptr(row.name) }.to_string_lossy();
        let kind = match row.kind {
            0 => 'f',
            2 => 'c',
            4 => 'e',
            3 => 'x',
            _ => 'g',
        };
        functions.extend(matches!(kind, 'f' | 'c' | 'e').then_some(row.address));
        let _ = writeln!(text, "{kind} {} {:x} {name}", row.unit, row.address);
        // SAFETY: stays within the section or one past its end.
        at = unsafe { at.add(1) };
    }
    keep_own(&functions);
    writer::write(ChunkKind::Symbols, 0, text.as_bytes());
}

unsafe extern "C" fn forked() {
    // The child is another program; two writers would mix their events.
    writer::stop();
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clone(
    routine: Routine,
    stack: *mut c_void,
    flags: i32,
    argument: *mut c_void,
    parent: *mut c_void,
    storage: *mut c_void,
    child: *mut c_void,
) -> i32 {
    // SAFETY: passes the program's own arguments on.
    unsafe { cloning(forked, (routine, argument), (stack, flags), [parent, storage, child]) }
}

unsafe extern "C" fn thread_ended(_: *mut c_void) {
    end_thread();
}

fn end_thread() {
    let pointer = tls::state();
    if pointer <= ENDED {
        return;
    }
    sync(SyncOp::End, 0, 0);
    tls::set_state(ENDED);
    hot::set(None);
    let _guard = FLUSHING.lock();
    // SAFETY: the thread owned its recorder; the lock keeps the final flush away.
    let recorder = unsafe { &mut *(pointer as *mut Recorder) };
    recorder.buffer.flush();
    recorder.ended = true;
    // The recorder itself stays, for the flush at the end.
    // SAFETY: nobody counts with it any more, and an ended recorder is not asked again.
    unsafe { Hot::free(recorder.hot) };
    recorder.loaded = Vec::new();
}

/// Writes every thread's buffer. Threads that still run may lose their last events.
extern "C" fn finish() {
    // Locks may be held by threads that a forked child does not have.
    if writer::is_stopped() {
        return;
    }
    // The order of this thread's own last events is settled first.
    if tls::state() > ENDED {
        sync(SyncOp::End, 0, 0);
    }
    let _guard = FLUSHING.lock();
    let mut at = ALL.load(Ordering::Acquire);
    while !at.is_null() {
        // SAFETY: recorders are never freed.
        let recorder = unsafe { &mut *at };
        let own = at as usize == tls::state();
        // Another thread that is just encoding would be disturbed; its buffer stays out.
        if !recorder.ended && (own || !recorder.busy) {
            recorder.busy = true;
            recorder.buffer.close();
            recorder.buffer.flush();
        }
        at = recorder.next;
    }
    writer::stop();
}

extern "C" fn killed(signal: i32) {
    let mut at = ALL.load(Ordering::Acquire);
    while !at.is_null() {
        // SAFETY: recorders are never freed; the process is about to die.
        let recorder = unsafe { &mut *at };
        if !recorder.ended && !recorder.busy {
            recorder.busy = true;
            recorder.buffer.close();
            recorder.buffer.flush();
        }
        at = recorder.next;
    }
    writer::stop();
    // SAFETY: the signal's own effect follows when the handler returns.
    unsafe {
        real!(signal: fn(i32, usize) -> usize)(signal, libc::SIG_DFL);
        real!(raise: fn(i32) -> i32)(signal);
    }
}

type Start = extern "C" fn(*mut c_void) -> *mut c_void;

struct Birth {
    start: Start,
    argument: *mut c_void,
    name: ThreadName,
    number: u32,
}

extern "C" fn born(birth: *mut c_void) -> *mut c_void {
    // SAFETY: made by `pthread_create` below for this thread alone.
    let birth = unsafe { Box::from_raw(birth.cast::<Birth>()) };
    let Birth { start, argument, name, number } = *birth;
    new_recorder(number, name);
    sync(SyncOp::Begin, u64::from(number), 0);
    start(argument)
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> i32 {
    let real = real!(pthread_create: fn(
        *mut libc::pthread_t,
        *const libc::pthread_attr_t,
        Start,
        *mut c_void,
    ) -> i32);
    // SAFETY: passes the program's own arguments on.
    creating(thread, start, argument, |start, argument| unsafe {
        real(thread, attributes, start, argument)
    })
}

/// # Safety
/// As the C library's. A routine of C11 returns a number where others return a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thrd_create(
    thread: *mut libc::pthread_t,
    start: Start,
    argument: *mut c_void,
) -> i32 {
    let real = real!(thrd_create: fn(*mut libc::pthread_t, Start, *mut c_void) -> i32);
    // SAFETY: passes the program's own arguments on.
    creating(thread, start, argument, |start, argument| unsafe { real(thread, start, argument) })
}

/// Creates a thread, with our start in front of the program's.
fn creating(
    thread: *mut libc::pthread_t,
    start: Start,
    argument: *mut c_void,
    create: impl FnOnce(Start, *mut c_void) -> i32,
) -> i32 {
    let pointer = tls::state();
    if pointer <= ENDED || !writer::is_recording() {
        return create(start, argument);
    }
    // SAFETY: only this thread uses its recorder.
    let parent = unsafe { &mut *(pointer as *mut Recorder) };
    parent.created += 1;
    let name = parent.name.child(parent.created);
    let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
    sync(SyncOp::Fork, u64::from(number), 0);
    let birth = Box::into_raw(Box::new(Birth { start, argument, name, number }));
    let result = create(born, birth.cast());
    if result == 0 {
        let _guard = HANDLES.lock();
        // SAFETY: the lock is held; the C library has written the handle.
        unsafe { (*handle_table()).push((*thread, number)) };
    } else {
        // SAFETY: no thread has come to be that could own it.
        drop(unsafe { Box::from_raw(birth) });
    }
    result
}

/// Runs a join and records it when it succeeds. Which thread the handle means is asked before: once
/// joined, the C library may give the handle to another.
fn joining(thread: libc::pthread_t, join: impl FnOnce() -> i32) -> i32 {
    let number = {
        let _guard = HANDLES.lock();
        // SAFETY: the lock is held.
        let table = unsafe { &*handle_table() };
        table.iter().rfind(|(handle, _)| *handle == thread).map(|(_, number)| *number)
    };
    let status = join();
    if let Some(number) = number.filter(|_| status == 0) {
        let guard = HANDLES.lock();
        // SAFETY: the lock is held.
        unsafe { (*handle_table()).retain(|(_, other)| *other != number) };
        drop(guard);
        sync(SyncOp::Join, u64::from(number), 0);
    }
    status
}

macro_rules! joins {
    ($($name:ident($($argument:ident : $type:ty),*);)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            thread: libc::pthread_t,
            result: *mut *mut c_void
            $(, $argument: $type)*
        ) -> i32 {
            let real = real!($name: fn(libc::pthread_t, *mut *mut c_void $(, $type)*) -> i32);
            // SAFETY: passes the program's own arguments on.
            joining(thread, || unsafe { real(thread, result $(, $argument)*) })
        }
    )*};
}

joins! {
    pthread_join();
    pthread_tryjoin_np();
    pthread_timedjoin_np(limit: *const c_void);
    pthread_clockjoin_np(clock: i32, limit: *const c_void);
    thrd_join();
}

/// `_exit` and its kind skip the exit handlers.
fn leave() {
    finish();
}

macro_rules! leaving {
    ($($name:ident),*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(status: i32) -> ! {
            leave();
            // SAFETY: ends the process as the program asked.
            unsafe { raw_syscall(libc::SYS_exit_group, status as usize, 0, 0, 0, 0, 0) };
            unreachable!("the process has exited")
        }
    )*};
}

leaving!(_exit, _Exit);
