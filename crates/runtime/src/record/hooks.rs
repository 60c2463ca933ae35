//! What instrumented code calls.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use racewarden_trace::binary::Record;

use super::threads::{Recorder, with};
use super::writer::{current_sequence, next_sequence};

/// Locks of places, by cache line. A holder keeps one for a few instructions of its own; a waiter
/// that is not served goes on without, since a signal handler may wait for its own thread. Odd while
/// held, and every holder leaves another even number behind, so that a reader can tell whether there
/// was one: loads take no lock, or threads that read the same data would steal it from each other.
const PLACES: usize = 1 << 14;
static LOCKS: [AtomicU32; PLACES] = [const { AtomicU32::new(0) }; PLACES];
const PATIENCE: u32 = 100_000;

/// One bit for each eight bytes that were accessed before. Two places may share a bit: then the
/// later one's first content is not known, which costs predictions but makes none wrong.
const SEEN_BITS: usize = 1 << 26;
static SEEN: [AtomicU8; SEEN_BITS / 8] = [const { AtomicU8::new(0) }; SEEN_BITS / 8];

fn place_of(address: u64) -> usize {
    ((address >> 6) as usize).wrapping_mul(0x9e37_79b9) % PLACES
}

fn first_visit(granule: u64) -> bool {
    let bit = ((granule >> 3) as usize) % SEEN_BITS;
    let mask = 1u8 << (bit % 8);
    let cell = &SEEN[bit / 8];
    cell.load(Ordering::Relaxed) & mask == 0 && cell.fetch_or(mask, Ordering::Relaxed) & mask == 0
}

fn was_visited(address: u64) -> bool {
    let bit = ((address >> 3) as usize) % SEEN_BITS;
    SEEN[bit / 8].load(Ordering::Acquire) & (1 << (bit % 8)) != 0
}

/// # Safety
/// `address` is readable for `size` bytes, at most 8.
#[inline]
unsafe fn content(address: u64, size: u64) -> u64 {
    // The usual sizes are single loads; a copy of unknown length would be a call.
    // SAFETY: by the caller's promise.
    unsafe {
        match size {
            8 => return (address as *const u64).read_unaligned(),
            4 => return u64::from((address as *const u32).read_unaligned()),
            2 => return u64::from((address as *const u16).read_unaligned()),
            1 => return u64::from((address as *const u8).read()),
            _ => {}
        }
    }
    let mut bytes = [0u8; 8];
    // SAFETY: by the caller's promise.
    unsafe {
        std::ptr::copy_nonoverlapping(
            address as *const u8,
            bytes.as_mut_ptr(),
            size.min(8) as usize,
        );
    }
    u64::from_le_bytes(bytes)
}

fn lock(place: usize) -> bool {
    for round in 0..PATIENCE {
        let seen = LOCKS[place].load(Ordering::Relaxed);
        if seen & 1 == 0
            && LOCKS[place]
                .compare_exchange_weak(
                    seen,
                    seen.wrapping_add(1),
                    Ordering::Acquire,
                    Ordering::Relaxed,
                )
                .is_ok()
        {
            return true;
        }
        if round % 64 == 63 {
            // SAFETY: gives the rest of the time slice to the holder.
            unsafe { crate::common::futex::raw_syscall(libc::SYS_sched_yield, 0, 0, 0, 0, 0, 0) };
        }
        std::hint::spin_loop();
    }
    false
}

/// Takes down what eight aligned bytes hold, the first time.
#[inline]
fn remember(recorder: &mut Recorder, granule: u64) {
    if first_visit(granule) {
        // SAFETY: the eight bytes share a page with an accessed one.
        let value = unsafe { content(granule, 8) };
        recorder.buffer.push(&Record::Initial { address: granule, value });
    }
}

/// Runs `access` while nobody else accesses the place.
#[inline]
fn alone(address: u64, access: impl FnOnce() -> u64) -> u64 {
    let place = place_of(address);
    let locked = lock(place);
    let result = access();
    if locked {
        unlock(place);
    }
    result
}

/// Only by the holder.
#[inline]
fn unlock(place: usize) {
    let held = LOCKS[place].load(Ordering::Relaxed);
    LOCKS[place].store(held.wrapping_add(1), Ordering::Release);
}

/// Value and number of a load during which nobody held the place: then every store to it has a
/// lower number and is seen, or a higher one and is not.
///
/// # Safety
/// `address` is readable for `size` bytes, which is 1, 2, 4 or 8.
#[inline]
unsafe fn look(address: u64, size: u64) -> Option<(u64, u64)> {
    let place = &LOCKS[place_of(address)];
    for _ in 0..4 {
        let before = place.load(Ordering::Acquire);
        if before & 1 == 1 {
            std::hint::spin_loop();
            continue;
        }
        // SAFETY: by the caller's promise.
        let value = unsafe { content(address, size) };
        // Numbers are given sequentially consistently, which keeps both sides of it in place.
        let sequence = next_sequence();
        if place.load(Ordering::SeqCst) == before {
            return Some((value, sequence));
        }
    }
    None
}

#[inline]
fn remember_all(recorder: &mut Recorder, address: u64, size: u64) {
    let (first, last) = (address & !7, (address + size - 1) & !7);
    remember(recorder, first);
    if last != first {
        remember(recorder, last);
    }
}

/// # Safety
/// In place of a load of 1, 2, 4 or 8 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_load(address: u64, size: u64) -> u64 {
    let mut found = None;
    with(|recorder| {
        // The first content of a place is taken down while nobody changes it.
        let known = was_visited(address) && was_visited(address + size - 1);
        // SAFETY: the program loads these bytes here.
        let seen = if known { unsafe { look(address, size) } } else { None };
        let (value, sequence) = seen.unwrap_or_else(|| {
            let mut value = 0;
            let sequence = alone(address, || {
                remember_all(recorder, address, size);
                // SAFETY: the program loads these bytes here.
                value = unsafe { content(address, size) };
                next_sequence()
            });
            (value, sequence)
        });
        let record = Record::Load { address, size: size as u32, value, sequence };
        recorder.buffer.push(&record);
        found = Some(value);
    });
    // SAFETY: the program loads these bytes here.
    found.unwrap_or_else(|| unsafe { content(address, size) })
}

/// # Safety
/// In place of a store of 1, 2, 4 or 8 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_store(address: u64, size: u64, value: u64) {
    let mut done = false;
    with(|recorder| {
        let sequence = alone(address, || {
            remember_all(recorder, address, size);
            // SAFETY: the program stores these bytes here.
            unsafe { put(address, size, value) };
            next_sequence()
        });
        let record = Record::Store { address, size: size as u32, value, sequence };
        recorder.buffer.push(&record);
        done = true;
    });
    if !done {
        // SAFETY: the program stores these bytes here.
        unsafe { put(address, size, value) };
    }
}

/// # Safety
/// `address` is writable for `size` bytes, which is 1, 2, 4 or 8.
#[inline]
unsafe fn put(address: u64, size: u64, value: u64) {
    // SAFETY: by the caller's promise.
    unsafe {
        match size {
            8 => (address as *mut u64).write_unaligned(value),
            4 => (address as *mut u32).write_unaligned(value as u32),
            2 => (address as *mut u16).write_unaligned(value as u16),
            _ => (address as *mut u8).write(value as u8),
        }
    }
}

/// # Safety
/// Called right before the program accesses `size` bytes at `address`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_before(address: u64, size: u64) {
    with(|recorder| {
        let place = place_of(address);
        recorder.place = if lock(place) { place + 1 } else { 0 };
        if size <= 8 {
            remember_all(recorder, address, size);
            // SAFETY: the program is about to access these bytes.
            recorder.old = unsafe { content(address, size) };
        }
    });
}

/// # Safety
/// Called right after the program accessed `size` bytes at `address`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_after(address: u64, size: u64, kind: u32) {
    with(|recorder| {
        let sequence = next_sequence();
        let record = if matches!(size, 1 | 2 | 4 | 8) {
            // SAFETY: the program has just accessed these bytes.
            let value = unsafe { content(address, size) };
            let size = size as u32;
            match kind {
                0 => Record::Load { address, size, value: recorder.old, sequence },
                1 => Record::Store { address, size, value, sequence },
                _ => Record::Update { address, size, old: recorder.old, new: value, sequence },
            }
        } else {
            Record::Wide { address, size, write: kind != 0, sequence }
        };
        if let Some(place) = recorder.place.checked_sub(1) {
            unlock(place);
            recorder.place = 0;
        }
        recorder.buffer.push(&record);
    });
}

/// # Safety
/// Called at the start of a function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_enter(function: u64) {
    with(|recorder| recorder.buffer.push(&Record::Enter { function }));
}

/// # Safety
/// Called before a conditional branch or switch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_branch(value: u64) {
    with(|recorder| recorder.buffer.push(&Record::Branch { value }));
}

/// # Safety
/// Called after a copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_copy(to: u64, from: u64, size: u64) {
    with(|recorder| {
        let sequence = next_sequence();
        recorder.buffer.push(&Record::Copy { to, from, size, sequence });
    });
}

/// # Safety
/// Called after a fill.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_set(to: u64, byte: u32, size: u64) {
    with(|recorder| {
        let sequence = next_sequence();
        recorder.buffer.push(&Record::Set { to, byte: byte as u8, size, sequence });
    });
}

/// # Safety
/// Called after a stack slot was made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_slot(address: u64, size: u64) {
    with(|recorder| {
        let sequence = current_sequence();
        recorder.buffer.push(&Record::Slot { address, size, sequence });
    });
}

/// # Safety
/// Called before an indirect call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_call(target: u64) {
    with(|recorder| recorder.buffer.push(&Record::Call { target }));
}

/// # Safety
/// Called after a call that left the unit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_return(value: u64) {
    with(|recorder| recorder.buffer.push(&Record::Return { value }));
}

/// # Safety
/// Called at a landing pad.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_unwind() {
    with(|recorder| recorder.buffer.push(&Record::Unwind));
}
