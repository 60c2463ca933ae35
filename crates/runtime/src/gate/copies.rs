//! Which functions run as their gated copies: those with an active gate in their code, until nothing
//! is left to be done there. Both copies do the same, so a thread that is late to see a change does no
//! harm.
//!
//! The gate pass lets these functions begin with five bytes that do nothing. A jump to the copy is
//! written over them, by one store to eight aligned bytes: a thread that comes by meanwhile runs the old
//! instruction or the new one, and no thread ever stands between them. So functions without an active
//! gate cost one empty instruction. A system that lets no code be changed gets no gates, and is told of.

use std::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use racewarden_schedule::gate::Event;

use super::__racewarden_gate_flags;
use crate::common::futex::SpinLock;

/// A function of the program that holds the code of active gates.
struct Entry {
    code: &'static AtomicU64,
    /// What the code is when it leads to the copy, and when it does not.
    jump: u64,
    plain: u64,
    /// How many of its gates may still have something to do.
    open: u32,
}

/// That an active gate's code is in an entry.
struct Active {
    gate: u32,
    entry: usize,
    retired: bool,
}

struct All {
    entries: Vec<Entry>,
    /// Entries by address: several units may bring the same inline function.
    places: BTreeMap<usize, usize>,
    /// Sorted by gate.
    gates: Vec<Active>,
}

struct Entries {
    lock: SpinLock,
    all: UnsafeCell<All>,
}

// SAFETY: `all` is only touched while `lock` is held.
unsafe impl Sync for Entries {}

static ENTRIES: Entries = Entries {
    lock: SpinLock::new(),
    all: UnsafeCell::new(All { entries: Vec::new(), places: BTreeMap::new(), gates: Vec::new() }),
};

/// A unit of the program tells where its gated copies are entered, before it runs.
///
/// # Safety
/// Called by instrumented code: `gates` are `gate_count` pairs of a gate and the function that it is in,
/// `held` are `held_count` pairs of such a function and an entry that holds its code, `entries` are
/// the addresses of the entries and of their copies, and all stand for the whole run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_gate_entries(
    gates: *const [u32; 2],
    gate_count: u32,
    held: *const [u32; 2],
    held_count: u32,
    entries: *const [usize; 2],
) {
    if !super::state::is_active() {
        return;
    }
    // SAFETY: as the caller promises.
    let (gates, held) = unsafe {
        (
            std::slice::from_raw_parts(gates, gate_count as usize),
            std::slice::from_raw_parts(held, held_count as usize),
        )
    };
    let is_active = |gate: u32| {
        let flag = __racewarden_gate_flags.get(gate as usize);
        flag.is_some_and(|flag| flag.load(Ordering::Relaxed) != 0)
    };
    let mut active: Vec<[u32; 2]> =
        gates.iter().copied().filter(|[gate, _]| is_active(*gate)).collect();
    active.sort_unstable_by_key(|[_, function]| *function);
    let mut wanted: Vec<(u32, u32)> = Vec::new();
    for &[function, entry] in held {
        let from = active.partition_point(|[_, other]| *other < function);
        let here = active[from..].iter().take_while(|[_, other]| *other == function);
        wanted.extend(here.map(|[gate, _]| (entry, *gate)));
    }
    wanted.sort_unstable();
    with(|All { entries: known, places, gates: active, .. }| {
        let first = known.len();
        for gates in wanted.chunk_by(|one, other| one.0 == other.0) {
            // SAFETY: as the caller promises.
            let [function, copy] = unsafe { *entries.add(gates[0].0 as usize) };
            let entry = match (places.get(&function), Entry::new(function, copy)) {
                (Some(&at), _) => at,
                (None, Some(entry)) => {
                    known.push(entry);
                    places.insert(function, known.len() - 1);
                    known.len() - 1
                }
                (None, None) => continue,
            };
            known[entry].open += gates.len() as u32;
            let gates = gates.iter().map(|(_, gate)| Active { gate: *gate, entry, retired: false });
            active.extend(gates);
        }
        active.sort_unstable_by_key(|one| one.gate);
        change(&known[first..], |entry| entry.jump);
    });
}

impl Entry {
    /// `None` if the function does not begin as it should, or cannot be changed by one store.
    fn new(function: usize, copy: usize) -> Option<Entry> {
        if !function.is_multiple_of(8) {
            return None;
        }
        // SAFETY: the function is code, aligned as just seen, and longer than eight bytes with what
        // fills it up to the next.
        let code = unsafe { &*(function as *const AtomicU64) };
        let plain = code.load(Ordering::Relaxed);
        let distance = i32::try_from(copy as i64 - (function as i64 + JUMP_LENGTH)).ok()?;
        (plain & 0xFF_FFFF == NOTHING).then(|| Entry {
            code,
            jump: plain & !FIRST_FIVE | u64::from(distance as u32) << 8 | JUMP,
            plain,
            open: 0,
        })
    }
}

/// `nopl` with a byte for displacement, as the compiler fills room for patches.
const NOTHING: u64 = 0x44_1F_0F;
/// `jmp` by a signed distance of four bytes.
const JUMP: u64 = 0xE9;
const JUMP_LENGTH: i64 = 5;
const FIRST_FIVE: u64 = 0xFF_FFFF_FFFF;

/// Writes what `wanted` says at the beginning of each function.
fn change(entries: &[Entry], wanted: impl Fn(&Entry) -> u64) {
    const PAGE: usize = 4096;
    let page_of = |entry: &Entry| std::ptr::from_ref(entry.code) as usize / PAGE;
    let mut order: Vec<&Entry> = entries.iter().collect();
    order.sort_unstable_by_key(|entry| page_of(entry));
    // Neighbouring pages are opened together.
    for group in order.chunk_by(|one, other| page_of(other) - page_of(one) <= 1) {
        let from = page_of(group[0]) * PAGE;
        let length = (page_of(group[group.len() - 1]) + 1) * PAGE - from;
        let protect = |how: i32| {
            // SAFETY: these pages hold code of the program; they stay readable and executable.
            unsafe { libc::mprotect(from as *mut libc::c_void, length, how) == 0 }
        };
        let code = libc::PROT_READ | libc::PROT_EXEC;
        if !protect(code | libc::PROT_WRITE) {
            super::files::report(&[Event::Shut]);
            continue;
        }
        for entry in group {
            entry.code.store(wanted(entry), Ordering::Release);
        }
        protect(code);
    }
}

/// Lets functions whose gates are all finished run as they are from now on. Only the gate `only` can
/// have been finished, or any.
pub fn retire(only: Option<u32>, is_finished: impl Fn(u32) -> bool) {
    with(|All { entries, gates, .. }| {
        let range = match only {
            Some(gate) => {
                let from = gates.partition_point(|one| one.gate < gate);
                from..from + gates[from..].partition_point(|one| one.gate == gate)
            }
            None => 0..gates.len(),
        };
        for one in gates[range].iter_mut().filter(|one| !one.retired) {
            if is_finished(one.gate) {
                one.retired = true;
                let entry = &mut entries[one.entry];
                entry.open -= 1;
                if entry.open == 0 {
                    change(std::slice::from_ref(entry), |entry| entry.plain);
                }
            }
        }
    });
}

/// In the child of a fork everything begins anew.
pub fn activate() {
    ENTRIES.lock.reset_after_fork();
    with(|All { entries, gates, .. }| {
        for one in gates.iter_mut().filter(|one| one.retired) {
            one.retired = false;
            entries[one.entry].open += 1;
        }
        change(entries, |entry| entry.jump);
    });
}

fn with(act: impl FnOnce(&mut All)) {
    let _guard = ENTRIES.lock.lock();
    // SAFETY: the lock is held.
    act(unsafe { &mut *ENTRIES.all.get() });
}
