//! Writing findings down, at once and completely: a crash right after loses nothing.
//!
//! One finding is a few lines of tab-separated text, appended to the run's file by a single write.
//! `racewarden run` reads, symbolises and prints them. A program that runs on its own gets them on
//! standard error.
//!
//! Nothing here takes the dynamic loader's lock: modules come from the kernel's list of mappings.

use std::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::access::{Access, DROPPED};
use super::chains::CHAINS;
use super::engine::Kind;
use super::intern;
use super::machines::{self, Event};
use super::shadow::{ATOMIC, slot_of, time_of};
use super::thread::{REGISTRY, Thread};
use super::{heap, options, segments, shadow};
use crate::common::futex::{SpinLock, raw_syscall};
use crate::common::output;

/// An earlier access that the current one conflicts with.
pub struct Conflict {
    pub word: u64,
    pub site: u32,
    /// The locks that were held there; `None` when nobody knows any more.
    pub locks: Option<u32>,
    pub write: bool,
    /// It is the allocation of the memory.
    pub allocation: bool,
    /// Unordered by full happens-before: a proof.
    pub observed: bool,
}

/// Different call chains to the same two instructions that are worth telling.
const CHAINS_PER_PAIR: u32 = 8;
const MOST_REPORTS: u64 = 4000;
/// Pairs of sites that are remembered although others of the same two instructions were told.
const MOST_CHAINS: usize = 1 << 18;

struct Seen {
    lock: SpinLock,
    pairs: UnsafeCell<BTreeMap<(u64, u64, bool), u32>>,
    chains: UnsafeCell<BTreeMap<(u32, u32), bool>>,
}

// SAFETY: both maps are only touched while `lock` is held.
unsafe impl Sync for Seen {}

static SEEN: Seen = Seen {
    lock: SpinLock::new(),
    pairs: UnsafeCell::new(BTreeMap::new()),
    chains: UnsafeCell::new(BTreeMap::new()),
};
static WRITTEN: AtomicU64 = AtomicU64::new(0);
static UNWRITTEN: AtomicU64 = AtomicU64::new(0);

/// Whether this pair of sites has not been told yet.
fn is_news(a: u32, b: u32, observed: bool) -> bool {
    let chain = (a.min(b), a.max(b));
    let _guard = SEEN.lock.lock();
    // SAFETY: the lock is held.
    let (pairs, chains) = unsafe { (&mut *SEEN.pairs.get(), &mut *SEEN.chains.get()) };
    match chains.get(&chain) {
        Some(true) => return false,
        Some(false) if !observed => return false,
        _ => {}
    }
    // Where sites are takes long to find out, and a race may come again millions of times.
    let (pc_a, pc_b) = (CHAINS.address_of(a) as u64, CHAINS.address_of(b) as u64);
    let pair = (pc_a.min(pc_b), pc_a.max(pc_b), observed);
    let told = pairs.get(&pair).copied().unwrap_or(0);
    if told >= CHAINS_PER_PAIR {
        if chains.len() < MOST_CHAINS {
            chains.insert(chain, observed);
        }
        return false;
    }
    if WRITTEN.load(Ordering::Relaxed) >= MOST_REPORTS {
        UNWRITTEN.fetch_add(1, Ordering::Relaxed);
        return false;
    }
    pairs.insert(pair, told + 1);
    chains.insert(chain, observed);
    true
}

pub fn reset_after_fork() {
    SEEN.lock.reset_after_fork();
}

/// Tells one race.
pub fn race(thread: &mut Thread, access: &Access, conflict: &Conflict) {
    if !conflict.observed && options::PROOF_ONLY.load(Ordering::Relaxed) {
        return;
    }
    let atomic = access.atomic || conflict.word & ATOMIC != 0;
    if atomic && !options::ATOMIC_RACES.load(Ordering::Relaxed) {
        return;
    }
    let overlap = (conflict.word & access.mask) as u8;
    let first = (access.address & !7) + overlap.trailing_zeros() as usize;
    let judgement = machines::judge(&Event {
        location: first,
        earlier_was_write: conflict.write,
        write: access.write,
        held: &thread.held,
        segment: (thread.info, thread.time),
    });
    if !conflict.observed && !judgement.race {
        return;
    }
    let site = thread.site(access.pc);
    if !is_news(site, conflict.site, conflict.observed) || heap::is_benign(access.address) {
        return;
    }
    WRITTEN.fetch_add(1, Ordering::Relaxed);
    let mut text = String::with_capacity(2048);
    let maps = Maps::read();
    let verdict = if conflict.observed { "observed" } else { "potential" };
    let _ = writeln!(text, "race\t{verdict}\t{first:x}\t{}", overlap.count_ones());
    let _ = writeln!(text, "machine\t{}", judgement.trail);
    access_lines(&mut text, &maps, kind_name(access.kind), access.atomic, thread.info, site);
    lock_lines(&mut text, &maps, thread.own_lockset());
    let older = REGISTRY.info_at(slot_of(conflict.word), time_of(conflict.word));
    let older_thread = older.map_or(0, |(id, _)| id);
    let kind = match conflict.write {
        _ if conflict.allocation => "allocation",
        true => "write",
        false => "read",
    };
    let atomic = conflict.word & ATOMIC != 0;
    access_lines(&mut text, &maps, kind, atomic, older_thread, conflict.site);
    // Which locks were held when memory was allocated is not written down.
    lock_lines(&mut text, &maps, conflict.locks.filter(|_| !conflict.allocation));
    object_lines(&mut text, &maps, first);
    thread_lines(&mut text, &maps, thread.info);
    thread_lines(&mut text, &maps, older_thread);
    text.push_str("end\n");
    if !emit(text.as_bytes()) {
        WRITTEN.fetch_sub(1, Ordering::Relaxed);
        return;
    }
    // SAFETY: the program's hook, or ours that does nothing. As with TSan it runs inside the
    // runtime and must not synchronise.
    unsafe { __tsan_on_report(std::ptr::null_mut()) };
    if options::HALT_ON_ERROR.load(Ordering::Relaxed) {
        finish();
        let code = options::EXIT_CODE.load(Ordering::Relaxed);
        // SAFETY: ends the whole process.
        unsafe { raw_syscall(libc::SYS_exit_group, code as usize, 0, 0, 0, 0, 0) };
    }
}

unsafe extern "C" {
    fn __tsan_on_report(report: *mut std::ffi::c_void);
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::FREE => "free",
        kind if kind.is_write() => "write",
        _ => "read",
    }
}

fn access_lines(text: &mut String, maps: &Maps, kind: &str, atomic: bool, thread: u32, site: u32) {
    let _ = writeln!(text, "access\t{kind}\t{}\t{thread}", u8::from(atomic));
    stack_lines(text, maps, site);
}

/// The locks of an access, each with where it was taken.
fn lock_lines(text: &mut String, maps: &Maps, locks: Option<u32>) {
    let Some(locks) = locks else {
        text.push_str("locks\tforgotten\n");
        return;
    };
    for lock in intern::locks_of(locks) {
        let mode = if lock.read_mode { "read" } else { "write" };
        let _ = write!(text, "lock\t{mode}\t");
        maps.place(text, lock.address as usize);
        stack_lines(text, maps, lock.site);
    }
}

/// Frames that a stack is told with at most.
const FRAMES: usize = 257;

/// The frames of a site, innermost first.
fn stack_lines(text: &mut String, maps: &Maps, site: u32) {
    for frame in CHAINS.frames(site).take(FRAMES) {
        text.push_str("frame\t");
        maps.place(text, frame);
    }
}

fn object_lines(text: &mut String, maps: &Maps, address: usize) {
    if let Some(block) = heap::block_at(address) {
        let offset = address - block.start;
        let _ = writeln!(text, "object\theap\t{:x}\t{}\t{offset}", block.start, block.size);
        stack_lines(text, maps, block.site);
        if block.freed != 0 {
            text.push_str("freed\n");
            stack_lines(text, maps, block.freed);
        }
    } else if let Some(owner) = REGISTRY.owner_of_stack(address) {
        let _ = writeln!(text, "object\tstack\t{owner}");
    } else if maps.is_main_stack(address) || is_main_storage(address) {
        text.push_str("object\tstack\t0\n");
    } else {
        text.push_str("object\tglobal\t");
        maps.place(text, address);
    }
}

fn thread_lines(text: &mut String, maps: &Maps, id: u32) {
    let Some(info) = REGISTRY.info(id) else { return };
    let _ = write!(text, "thread\t{id}\t{}\t{}\t", info.name, info.parent);
    maps.place(text, info.start_routine);
    stack_lines(text, maps, info.created_at);
}

/// The process's mappings at one instant.
struct Maps {
    text: Vec<u8>,
}

impl Maps {
    fn read() -> Maps {
        let mut text = Vec::with_capacity(32 << 10);
        // Not of the process: once its first thread has ended (`pthread_exit` in main), that is empty.
        let path = c"/proc/thread-self/maps";
        // SAFETY: plain system calls on our own buffer.
        unsafe {
            let file = raw_syscall(libc::SYS_open, path.as_ptr() as usize, 0, 0, 0, 0, 0);
            if file < 0 {
                return Maps { text };
            }
            loop {
                if text.capacity() - text.len() < 4096 {
                    text.reserve(64 << 10);
                }
                let room = text.capacity() - text.len();
                let end = text.as_mut_ptr().add(text.len()) as usize;
                let got = raw_syscall(libc::SYS_read, file as usize, end, room, 0, 0, 0);
                if got <= 0 {
                    break;
                }
                text.set_len(text.len() + got as usize);
            }
            raw_syscall(libc::SYS_close, file as usize, 0, 0, 0, 0, 0);
        }
        Maps { text }
    }

    fn is_main_stack(&self, address: usize) -> bool {
        self.text
            .split(|byte| *byte == b'\n')
            .filter_map(parse)
            .any(|(start, end, path)| path == b"[stack]" && start <= address && address < end)
    }

    /// Appends `address<TAB>base<TAB>path` and a newline; base and path of the module that holds
    /// the address, its zero-initialised data behind the file's last page included.
    fn place(&self, out: &mut String, address: usize) {
        let mut base = 0;
        let mut module: &[u8] = b"";
        let mut module_end = 0;
        for line in self.text.split(|byte| *byte == b'\n') {
            let Some((start, end, path)) = parse(line) else { continue };
            if path.starts_with(b"/") {
                if path != module {
                    (base, module) = (start, path);
                }
                module_end = end;
            }
            if address < end {
                let adjacent = path.is_empty() && start == module_end;
                if start <= address && (path.starts_with(b"/") || adjacent) {
                    let name = String::from_utf8_lossy(module);
                    let _ = writeln!(out, "{address:x}\t{base:x}\t{name}");
                    return;
                }
                break;
            }
        }
        let _ = writeln!(out, "{address:x}\t0\t");
    }
}

/// Calls `each` with start, end and path of every executable mapping.
pub fn for_each_mapping(mut each: impl FnMut(usize, usize, &str)) {
    let maps = Maps::read();
    for line in maps.text.split(|byte| *byte == b'\n') {
        let executable = line.windows(6).any(|window| window.starts_with(b" r-xp "));
        if let Some((start, end, path)) = parse(line).filter(|_| executable) {
            each(start, end, std::str::from_utf8(path).unwrap_or_default());
        }
    }
}

fn parse(line: &[u8]) -> Option<(usize, usize, &[u8])> {
    let text = std::str::from_utf8(line).ok()?;
    let (range, rest) = text.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let path = rest.splitn(5, ' ').nth(4).map_or("", str::trim_start);
    Some((
        usize::from_str_radix(start, 16).ok()?,
        usize::from_str_radix(end, 16).ok()?,
        path.as_bytes(),
    ))
}

/// Where the main thread's thread-local storage ends.
static MAIN_STORAGE: AtomicUsize = AtomicUsize::new(0);
/// Static thread-local storage that is looked for below its end.
const STORAGE: usize = 64 << 10;

fn is_main_storage(address: usize) -> bool {
    let end = MAIN_STORAGE.load(Ordering::Relaxed);
    end != 0 && (end - STORAGE..end).contains(&address)
}

pub fn start() {
    // SAFETY: on x86-64 the first word of the thread's control block is its own address, and the
    // static thread-local storage lies right below.
    let storage = unsafe {
        let end: usize;
        std::arch::asm!("mov {}, qword ptr fs:[0]", out(reg) end, options(nostack, readonly));
        end
    };
    MAIN_STORAGE.store(storage, Ordering::Relaxed);
    if options::run_file().is_some() {
        let mut text = String::new();
        let _ = writeln!(text, "start\t{}", process_id());
        for (what, lines) in
            [("options", options::default_options()), ("suppress", options::default_suppressions())]
        {
            let lines = String::from_utf8_lossy(lines.unwrap_or_default());
            for line in lines.lines().filter(|line| !line.trim().is_empty()) {
                let _ = writeln!(text, "{what}\t{line}");
            }
        }
        emit(text.as_bytes());
    }
}

fn process_id() -> isize {
    // SAFETY: has no arguments.
    unsafe { raw_syscall(libc::SYS_getpid, 0, 0, 0, 0, 0, 0) }
}

/// Appends to the run's file, opened anew each time: a program that closes every descriptor it
/// does not know must not close ours, nor must we write to one it opened since.
/// Returns whether somebody is to know of it.
fn emit(bytes: &[u8]) -> bool {
    let Some(path) = options::run_file() else { return super::teller::tell(bytes) };
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_CLOEXEC;
    // SAFETY: the path is a C string.
    unsafe {
        let path = path.as_ptr() as usize;
        let file = raw_syscall(libc::SYS_open, path, flags as usize, 0o600, 0, 0, 0);
        if file >= 0 {
            output::write_all(file as i32, bytes);
            raw_syscall(libc::SYS_close, file as usize, 0, 0, 0, 0, 0);
        }
    }
    true
}

/// What was counted during the run; written at exit.
pub fn finish() {
    if options::run_file().is_none() {
        return;
    }
    let counts = [
        ("pid", process_id() as u64),
        ("threads", REGISTRY.count() as u64),
        ("shadow_chunks", shadow::CHUNKS.load(Ordering::Relaxed)),
        ("records_dropped", DROPPED.load(Ordering::Relaxed)),
        ("accesses_unwatched", super::limit::UNWATCHED.load(Ordering::Relaxed)),
        ("stacks_cut", CHAINS.refused.load(Ordering::Relaxed)),
        ("locks_forgotten", segments::FORGOTTEN.load(Ordering::Relaxed)),
        ("slots_forced", REGISTRY.forced_reuse()),
        ("reports_unwritten", UNWRITTEN.load(Ordering::Relaxed)),
    ];
    let mut line = LastLine { text: [0; LAST_LINE], length: 0 };
    let _ = line.write_str("exit");
    for (name, value) in counts {
        let _ = write!(line, "\t{name}={value}");
    }
    let _ = line.write_char('\n');
    emit(&line.text[..line.length]);
}

/// A program may end with no memory left.
struct LastLine {
    text: [u8; LAST_LINE],
    length: usize,
}

const LAST_LINE: usize = 1024;

impl Write for LastLine {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.length + text.len();
        let room = self.text.get_mut(self.length..end).ok_or(std::fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// The status the program leaves with when it runs on its own and raced.
pub fn own_exit_code() -> Option<i32> {
    let raced = WRITTEN.load(Ordering::Relaxed) > 0 && options::run_file().is_none();
    raced.then(|| options::EXIT_CODE.load(Ordering::Relaxed))
}
