//! What the environment asks of the runtime, and the seeded perturbation of schedules.
//!
//! `RACEWARDEN_OPTIONS` is a list of `key=value` separated by spaces or colons:
//! `halt_on_error`, `engine` (`short`, `long`, `hb`), `seed`, `exitcode`,
//! `memory_limit_mb`. The program's
//! `__tsan_default_options` and `TSAN_OPTIONS` are read the same way before it.
//! `RACEWARDEN_RUN_FILE` is where findings go when `racewarden run` started the program.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};

use super::thread::Thread;

/// Whether a race is told in which one of the accesses is atomic.
pub static ATOMIC_RACES: AtomicBool = AtomicBool::new(true);
pub static HALT_ON_ERROR: AtomicBool = AtomicBool::new(false);
/// Only what full happens-before proves is reported.
pub static PROOF_ONLY: AtomicBool = AtomicBool::new(false);
/// MSM-long judges what is not proven: a suspicion is told when it repeats.
static LONG: AtomicBool = AtomicBool::new(false);
pub static EXIT_CODE: AtomicI32 = AtomicI32::new(66);
static SEED: AtomicU64 = AtomicU64::new(0);
static ENVIRONMENT: AtomicUsize = AtomicUsize::new(0);

struct RunFile(UnsafeCell<Vec<u8>>);

// SAFETY: written once before the first thread is created.
unsafe impl Sync for RunFile {}

static RUN_FILE: RunFile = RunFile(UnsafeCell::new(Vec::new()));

unsafe extern "C" {
    static environ: *const *const u8;
}

pub fn set_environment(environment: usize) {
    ENVIRONMENT.store(environment, Ordering::Relaxed);
}

pub fn variable(name: &[u8]) -> Option<&'static [u8]> {
    let mut at = ENVIRONMENT.load(Ordering::Relaxed) as *const *const u8;
    if at.is_null() {
        // SAFETY: the C library's variable, set up before any constructor.
        at = unsafe { environ };
    }
    if at.is_null() {
        return None;
    }
    // SAFETY: the environment is a null-terminated array of C strings that the program has not
    // had a chance to change yet.
    unsafe {
        while !(*at).is_null() {
            let entry = std::ffi::CStr::from_ptr((*at).cast()).to_bytes();
            if let Some(rest) = entry.strip_prefix(name)
                && let Some(value) = rest.strip_prefix(b"=")
            {
                return Some(value);
            }
            at = at.add(1);
        }
    }
    None
}

pub fn read() {
    if let Some(path) = variable(b"RACEWARDEN_RUN_FILE") {
        // SAFETY: called once, before the first thread is created.
        let file = unsafe { &mut *RUN_FILE.0.get() };
        file.extend_from_slice(path);
        file.push(0);
    }
    super::limit::set_default();
    // The program's own defaults first, then what the environment says of TSan, then of us: the
    // last word counts.
    for options in [default_options(), variable(b"TSAN_OPTIONS"), variable(b"RACEWARDEN_OPTIONS")] {
        apply(options.unwrap_or_default());
    }
}

unsafe extern "C" {
    fn __tsan_default_options() -> *const std::ffi::c_char;
    fn __tsan_default_suppressions() -> *const std::ffi::c_char;
}

/// What the program's hook says; the hook must not rely on anything but itself, as with TSan.
pub fn default_options() -> Option<&'static [u8]> {
    // SAFETY: the program's hook or our empty one; both return a C string that stays.
    unsafe { hook(__tsan_default_options()) }
}

/// Suppressions that the program brings along, one per line.
pub fn default_suppressions() -> Option<&'static [u8]> {
    // SAFETY: as `default_options`.
    unsafe { hook(__tsan_default_suppressions()) }
}

unsafe fn hook(text: *const std::ffi::c_char) -> Option<&'static [u8]> {
    // SAFETY: a C string or null, says the caller.
    (!text.is_null()).then(|| unsafe { std::ffi::CStr::from_ptr(text) }.to_bytes())
}

fn apply(options: &[u8]) {
    for option in options.split(|byte| matches!(byte, b' ' | b':' | b',' | b'\n' | b'\t')) {
        let Some(equals) = option.iter().position(|byte| *byte == b'=') else { continue };
        let (key, value) = (&option[..equals], &option[equals + 1..]);
        let value = value.strip_prefix(b"\"").unwrap_or(value);
        let value = value.strip_suffix(b"\"").unwrap_or(value);
        let number = std::str::from_utf8(value).ok().and_then(|text| text.parse::<u64>().ok());
        let on = !matches!(value, b"0" | b"false" | b"no");
        match key {
            b"halt_on_error" => HALT_ON_ERROR.store(on, Ordering::Relaxed),
            b"engine" => {
                PROOF_ONLY.store(value == b"hb", Ordering::Relaxed);
                LONG.store(value == b"long", Ordering::Relaxed);
            }
            b"seed" => SEED.store(number.unwrap_or(0), Ordering::Relaxed),
            b"memory_limit_mb" => {
                if let Some(megabytes) = number.filter(|megabytes| *megabytes > 0) {
                    super::limit::set_megabytes(megabytes);
                }
            }
            b"report_atomic_races" => ATOMIC_RACES.store(on, Ordering::Relaxed),
            b"exitcode" => EXIT_CODE.store(number.unwrap_or(66) as i32, Ordering::Relaxed),
            _ => {}
        }
    }
}

pub fn is_long() -> bool {
    LONG.load(Ordering::Relaxed)
}

/// The file for findings, as a C string; `None` when the program runs on its own.
pub fn run_file() -> Option<&'static [u8]> {
    // SAFETY: only written in `read`, before the first thread is created.
    let file = unsafe { &*RUN_FILE.0.get() };
    (!file.is_empty()).then_some(file.as_slice())
}

/// A thread's decisions depend on the seed and on its name alone, so a seed reproduces them.
pub fn seed_thread(thread: &mut Thread) {
    let seed = SEED.load(Ordering::Relaxed);
    if seed == 0 {
        return;
    }
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for step in thread.name.steps() {
        state = (state ^ u64::from(*step)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        state ^= state >> 29;
    }
    thread.random = state | 1;
}

/// At a synchronisation point: now and then lets the other threads go first.
pub fn perturb(thread: &mut Thread) {
    if thread.random == 0 {
        return;
    }
    let mut state = thread.random;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    thread.random = state;
    match state >> 56 {
        0..=7 => sleep_micros(100 + (state >> 40 & 0x3ff)),
        8..=39 => super::engine::yield_now(),
        _ => {}
    }
}

fn sleep_micros(micros: u64) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: (micros * 1000) as libc::c_long };
    // SAFETY: the kernel reads the time and writes nothing.
    unsafe {
        crate::common::futex::raw_syscall(
            libc::SYS_nanosleep,
            &raw const time as usize,
            0,
            0,
            0,
            0,
            0,
        );
    }
}
