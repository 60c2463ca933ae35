//! Threads: their names, their visits to gates, how many live, and whether the others are blocked.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::common::cloned::{Routine, cloning};
use crate::common::futex::raw_syscall;
use crate::common::name::ThreadName;
use crate::common::tls;
use crate::real;

use super::{files, joins, state};

/// One thread's own data; only its thread touches it.
pub struct ThreadState {
    pub id: u32,
    pub name: ThreadName,
    created: u32,
    /// Visits by slot.
    visits: Vec<u32>,
    /// The gates whose `after` call concludes something, the innermost last.
    pub pending: Vec<Pending>,
    /// Inside the runtime: a signal handler that comes to a gate passes.
    pub busy: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Pending {
    Meeting { gate: u32 },
    Step { gate: u32, step: usize },
}

impl Pending {
    pub fn gate(self) -> u32 {
        match self {
            Pending::Meeting { gate } | Pending::Step { gate, .. } => gate,
        }
    }
}

/// Marks a thread that has ended, so that destructors running later make no new state.
const ENDED: usize = 1;

static LIVING: AtomicU32 = AtomicU32::new(1);
static NEXT_ID: AtomicU32 = AtomicU32::new(1);
/// The key whose destructor tells the end of a thread, plus one.
static KEY: AtomicUsize = AtomicUsize::new(0);

impl ThreadState {
    fn new(name: ThreadName) -> *mut ThreadState {
        Box::into_raw(Box::new(ThreadState {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            name,
            created: 0,
            visits: Vec::new(),
            pending: Vec::new(),
            busy: false,
        }))
    }

    /// Counts this thread's visit to a gate, from 1.
    pub fn count_visit(&mut self, slot: usize) -> u64 {
        if self.visits.is_empty() {
            self.visits = vec![0; state::slot_count()];
        }
        match self.visits.get_mut(slot) {
            Some(count) => {
                *count = count.saturating_add(1);
                u64::from(*count)
            }
            None => 0,
        }
    }

    /// The creation path as schedules write it.
    pub fn path(&self) -> String {
        path_of(&self.name)
    }
}

fn path_of(name: &ThreadName) -> String {
    let text = name.to_string();
    match text.strip_prefix('0') {
        Some(rest) => format!("main{rest}"),
        None => text,
    }
}

pub fn living() -> u32 {
    LIVING.load(Ordering::Relaxed)
}

/// Runs on the main thread, first of all.
pub fn start() {
    tls::set_state(ThreadState::new(ThreadName::MAIN) as usize);
}

/// Orders were taken: the ends of threads matter from now on.
pub fn activate() {
    let mut key: libc::pthread_key_t = 0;
    // SAFETY: the key is written before it is used; the destructor stands for the whole run.
    if unsafe { libc::pthread_key_create(&mut key, Some(ended)) } == 0 {
        KEY.store(key as usize + 1, Ordering::Relaxed);
    }
    // SAFETY: both handlers stand for the whole run.
    unsafe { libc::pthread_atfork(None, None, Some(forked)) };
}

unsafe extern "C" fn forked() {
    LIVING.store(1, Ordering::Relaxed);
    joins::reset_after_fork();
    state::reset_after_fork();
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

unsafe extern "C" fn ended(_value: *mut c_void) {
    let state = tls::state();
    if state <= ENDED {
        return;
    }
    tls::set_state(ENDED);
    LIVING.fetch_sub(1, Ordering::Relaxed);
    // SAFETY: the thread owned its state and has just given it up.
    let thread = unsafe { Box::from_raw(state as *mut ThreadState) };
    let waiting = state::with(|shared| shared.orchestrator.thread_ended(thread.id, &thread.path()));
    if let Some(Some(waiting)) = waiting {
        state::wake(waiting);
    }
}

/// This thread's state; `None` while it is inside the runtime, or ending.
pub fn current() -> Option<&'static mut ThreadState> {
    let mut pointer = tls::state();
    if pointer == ENDED {
        return None;
    }
    if pointer == 0 {
        // Not created through `pthread_create`: it has no place in the tree of creations.
        let stranger = ThreadName::MAIN.child(1_000_000 + NEXT_ID.load(Ordering::Relaxed));
        pointer = ThreadState::new(stranger) as usize;
        tls::set_state(pointer);
    }
    // SAFETY: only this thread uses its state, and `busy` keeps a signal handler on it away.
    let thread = unsafe { &mut *(pointer as *mut ThreadState) };
    (!thread.busy).then_some(thread)
}

/// The creation path of this thread, also from a signal handler.
pub fn current_path() -> String {
    match tls::state() {
        0 | ENDED => "?".to_owned(),
        // SAFETY: reads this thread's own name, which never changes.
        pointer => path_of(unsafe { &(*(pointer as *const ThreadState)).name }),
    }
}

type Start = extern "C" fn(*mut c_void) -> *mut c_void;

struct Birth {
    start: Start,
    argument: *mut c_void,
    name: ThreadName,
}

extern "C" fn born(birth: *mut c_void) -> *mut c_void {
    // SAFETY: made by `pthread_create` below for this thread alone.
    let birth = unsafe { Box::from_raw(birth.cast::<Birth>()) };
    let Birth { start, argument, name } = *birth;
    if state::is_active() {
        joins::began(path_of(&name));
    }
    tls::set_state(ThreadState::new(name) as usize);
    if let Some(key) = KEY.load(Ordering::Relaxed).checked_sub(1) {
        // SAFETY: any value but null makes the destructor run.
        unsafe { libc::pthread_setspecific(key as libc::pthread_key_t, std::ptr::dangling()) };
    }
    start(argument)
}

/// The program's `pthread_create`: names the new thread.
///
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
    let name = match tls::state() {
        0 | ENDED => ThreadName::MAIN.child(2_000_000),
        pointer => {
            // SAFETY: only this thread uses its state.
            let parent = unsafe { &mut *(pointer as *mut ThreadState) };
            parent.created += 1;
            parent.name.child(parent.created)
        }
    };
    if state::is_active() {
        joins::created(&path_of(&name));
    }
    let birth = Box::into_raw(Box::new(Birth { start, argument, name }));
    LIVING.fetch_add(1, Ordering::Relaxed);
    // SAFETY: passes the program's own arguments on.
    let result = unsafe { real(thread, attributes, born, birth.cast()) };
    if result != 0 {
        LIVING.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: no thread has come to be that could own it.
        drop(unsafe { Box::from_raw(birth) });
    }
    result
}

/// Kernel numbers of threads that are held at a gate; 0 for a free place. A held thread waits with
/// a time limit but comes nowhere before it is let go.
static HELD: [AtomicU32; 64] = [const { AtomicU32::new(0) }; 64];

/// Gives the thread's place in [`HELD`] back.
pub struct Held(Option<&'static AtomicU32>);

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(place) = self.0 {
            place.store(0, Ordering::Relaxed);
        }
    }
}

/// Lets this thread count as blocked until the result is dropped.
pub fn count_as_blocked() -> Held {
    let own = own_number();
    let free = |place: &&AtomicU32| {
        place.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    };
    Held(HELD.iter().find(free))
}

fn own_number() -> u32 {
    // SAFETY: asks for this thread's number.
    unsafe { raw_syscall(libc::SYS_gettid, 0, 0, 0, 0, 0, 0) as u32 }
}

/// What keeps threads from coming to a gate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Activity {
    /// Nothing, or the kernel does not tell.
    Busy,
    /// It waits in some other system call.
    Idle,
    /// It is held, or waits on a futex without a time limit: it comes nowhere before another
    /// thread goes on.
    Blocked,
}

/// The liveliest of the process's other threads.
pub fn others() -> Activity {
    let Some(directory) = files::open_to_read(b"/proc/self/task\0", libc::O_DIRECTORY) else {
        return Activity::Busy;
    };
    let own = u64::from(own_number());
    let mut liveliest = Activity::Blocked;
    let mut buffer = [0_u8; 4096];
    'all: loop {
        // SAFETY: the kernel fills at most the buffer.
        let count = unsafe {
            raw_syscall(
                libc::SYS_getdents64,
                directory as usize,
                buffer.as_mut_ptr() as usize,
                buffer.len(),
                0,
                0,
                0,
            )
        };
        if count <= 0 {
            break;
        }
        let mut offset = 0;
        while offset < count as usize {
            // linux_dirent64: inode 8, offset 8, record length 2, type 1, name.
            let length = u16::from_ne_bytes([buffer[offset + 16], buffer[offset + 17]]) as usize;
            let name = &buffer[offset + 19..offset + length];
            let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
            let name = core::str::from_utf8(&name[..end]).unwrap_or("");
            if let Ok(thread) = name.parse::<u64>()
                && thread != own
            {
                liveliest = liveliest.min(activity(thread));
                if liveliest == Activity::Busy {
                    break 'all;
                }
            }
            offset += length;
        }
    }
    files::close(directory);
    liveliest
}

fn activity(thread: u64) -> Activity {
    if HELD.iter().any(|held| u64::from(held.load(Ordering::Relaxed)) == thread) {
        return Activity::Blocked;
    }
    let path = format!("/proc/self/task/{thread}/syscall\0");
    let Some(descriptor) = files::open_to_read(path.as_bytes(), 0) else {
        return Activity::Busy;
    };
    let mut buffer = [0; 256];
    let text = core::str::from_utf8(files::read_some(descriptor, &mut buffer)).unwrap_or("");
    let activity = activity_in(text);
    files::close(descriptor);
    activity
}

/// Reads a line of `/proc/…/syscall`: number, then arguments in hexadecimal.
fn activity_in(line: &str) -> Activity {
    let mut words = line.split_whitespace();
    match words.next() {
        Some("202") => {}
        // Runnable, or gone, or the kernel does not tell.
        None | Some("running") => return Activity::Busy,
        Some(_) => return Activity::Idle,
    }
    let mut arguments =
        words.map(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).unwrap_or(1));
    let _word = arguments.next();
    let operation = arguments.next().unwrap_or(0) as i32 & 0x7f;
    let _value = arguments.next();
    let limit = arguments.next().unwrap_or(1);
    let waits = matches!(
        operation,
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET | libc::FUTEX_LOCK_PI | libc::FUTEX_LOCK_PI2
    );
    if waits && limit == 0 { Activity::Blocked } else { Activity::Idle }
}
