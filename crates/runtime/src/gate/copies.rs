//! Which functions run as their gated copies: those with an active gate, until nothing is left to
//! be done there. Both copies do the same, so a function that reads an old flag does no harm.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU8, Ordering};

use super::__racewarden_gate_flags;
use crate::common::futex::SpinLock;

/// An active gate, and the flag of the function that it is in.
struct Active {
    gate: u32,
    flag: &'static AtomicU8,
    retired: bool,
}

struct Actives {
    lock: SpinLock,
    /// All gates of a function stand together.
    all: UnsafeCell<Vec<Active>>,
}

// SAFETY: `all` is only touched while `lock` is held.
unsafe impl Sync for Actives {}

static ACTIVES: Actives = Actives { lock: SpinLock::new(), all: UnsafeCell::new(Vec::new()) };

/// A unit of the program tells which of its functions have which gates, before it runs.
///
/// # Safety
/// Called by instrumented code: `pairs` are `count` gates, each with the index of its function's byte
/// in `flags`, and both stand for the whole run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_gate_functions(
    pairs: *const [u32; 2],
    count: u32,
    flags: *const AtomicU8,
) {
    // SAFETY: as the caller promises.
    let pairs = unsafe { std::slice::from_raw_parts(pairs, count as usize) };
    for &[gate, function] in pairs {
        let is_active = __racewarden_gate_flags
            .get(gate as usize)
            .is_some_and(|flag| flag.load(Ordering::Relaxed) != 0);
        if is_active {
            // SAFETY: as the caller promises.
            let flag = unsafe { &*flags.add(function as usize) };
            flag.store(1, Ordering::Relaxed);
            with(|all| all.push(Active { gate, flag, retired: false }));
        }
    }
}

/// Lets functions whose gates are all quiet run as they are from now on.
pub fn retire(is_quiet: impl Fn(u32) -> bool) {
    with(|all| {
        let same = |a: &Active, b: &Active| std::ptr::eq(a.flag, b.flag);
        for gates in all.chunk_by_mut(same) {
            gates.iter_mut().for_each(|one| one.retired |= is_quiet(one.gate));
            if gates.iter().all(|one| one.retired) {
                gates[0].flag.store(0, Ordering::Relaxed);
            }
        }
    });
}

/// In the child of a fork everything begins anew.
pub fn activate() {
    ACTIVES.lock.reset_after_fork();
    with(|all| {
        for one in all {
            one.retired = false;
            one.flag.store(1, Ordering::Relaxed);
        }
    });
}

fn with(act: impl FnOnce(&mut Vec<Active>)) {
    let _guard = ACTIVES.lock.lock();
    // SAFETY: the lock is held.
    act(unsafe { &mut *ACTIVES.all.get() });
}
