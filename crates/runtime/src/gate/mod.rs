//! Gates: steers the program's threads at candidate races (paper 5, section 3.4).
//!
//! The gate pass puts [`__racewarden_gate_before`] and [`__racewarden_gate_after`] around chosen
//! instructions, each behind a test of the gate's byte in [`__racewarden_gate_flags`]. The bytes
//! are set once, before any code of the program runs, and never change: the compiler may keep
//! them in registers, so a gate that no order names costs a test and a branch not taken.
//!
//! Without the environment variable `RACEWARDEN_GATE` (`ORDERS_FILE:REPORT_FILE`) nothing is
//! active: no signal handler, no lock, no thread bookkeeping beyond the names.
//!
//! The decisions are made by `racewarden_schedule::gate`; here is only the waiting, the watching
//! of threads and signals, and the report.

mod copies;
mod files;
mod joins;
mod signals;
mod state;
mod threads;
mod wait;

use std::sync::atomic::{AtomicU8, Ordering};

/// One byte for each gate; most programs have far fewer gates than this.
pub const MOST_GATES: usize = 1 << 16;

/// Whether a gate is active. Read by the program's own code.
#[unsafe(no_mangle)]
pub static __racewarden_gate_flags: [AtomicU8; MOST_GATES] =
    [const { AtomicU8::new(0) }; MOST_GATES];

/// `size` of an access to a whole heap block, as `free` makes it.
const WHOLE_BLOCK: u64 = u64::MAX;

/// Bits of an access's kind, as the gate pass writes them.
const WRITES: u32 = 1;
const ATOMIC: u32 = 2;

/// A thread stands right before a gated instruction.
///
/// # Safety
/// Called by instrumented code; `address` is only compared, never read.
#[unsafe(no_mangle)]
#[cold]
pub unsafe extern "C" fn __racewarden_gate_before(
    gate: u32,
    address: *mut u8,
    size: u64,
    kind: u32,
) {
    let size = if size == WHOLE_BLOCK { block_size(address) } else { size };
    wait::before(gate, (address as u64, size), kind & WRITES != 0, kind & ATOMIC != 0);
}

/// A thread has performed a gated instruction.
///
/// # Safety
/// Called by instrumented code.
#[unsafe(no_mangle)]
#[cold]
pub unsafe extern "C" fn __racewarden_gate_after(gate: u32) {
    wait::after(gate);
}

fn block_size(address: *mut u8) -> u64 {
    if address.is_null() {
        return 0;
    }
    // SAFETY: the program is about to free this very block, so it must be a valid one.
    unsafe { libc::malloc_usable_size(address.cast()) as u64 }
}

/// Runs before every constructor, so that the flags never change under running code. The C library
/// itself is not set up yet: nothing here may load a library or look at `environ`.
#[used]
#[unsafe(link_section = ".preinit_array")]
static BEFORE_ALL: extern "C" fn(i32, *const *const u8, *const *const u8) = take_orders;

/// Runs as the first constructor, with the C library ready.
#[used]
#[unsafe(link_section = ".init_array.00001")]
static FIRST: extern "C" fn() = watch;

extern "C" fn take_orders(_argc: i32, _argv: *const *const u8, environment: *const *const u8) {
    threads::start();
    let Some((orders, report)) = files::load(environment) else { return };
    let gates = orders.gates();
    state::install(orders, report);
    for gate in gates {
        if let Some(flag) = __racewarden_gate_flags.get(gate as usize) {
            flag.store(1, Ordering::Relaxed);
        }
    }
}

/// Runs after the program's own constructors, so that the handler goes before theirs.
#[used]
#[unsafe(link_section = ".init_array")]
static LAST: extern "C" fn() = register_wait;

extern "C" fn register_wait() {
    if state::is_active() {
        // SAFETY: the handler takes nothing and stands for the whole run.
        unsafe { libc::atexit(wait_for_others) };
    }
}

extern "C" fn wait_for_others() {
    if state::with(|shared| shared.orders.waits_at_exit).unwrap_or(false) {
        // Whoever is held must not wait for this thread.
        let _held = threads::count_as_blocked();
        crate::common::settle::settle(state::is_busy);
    }
}

extern "C" fn watch() {
    if state::is_active() {
        threads::activate();
        signals::install();
    }
}
