//! Whose turn it is at each place of memory, so that a thread alone with its data need not ask.
//!
//! Events of all threads are numbered in one order, and drawing a number costs more than the
//! access. But an access needs a new one only where it must come after another thread's. So each
//! eight bytes have a cell that says who had them last:
//!
//! ```text
//! nobody ─▶ owned by T ──other reads──▶ read by all since number N
//!               ▲  ▲                            │
//!               │  └──────────any writes────────┘
//!               └── other writes: owned by the other
//! ```
//!
//! The owner's accesses keep the number it drew last, and so do the first accesses of what nobody had,
//! and reads of what all have been reading since before that number. Every other access holds the cell for its few instructions, draws a
//! number, which is above all given before, and leaves the cell in its new state. Two places that
//! share a cell are treated as one, which only draws more numbers.
//!
//! An access without holding looks at the cell before and after. A store may still be on its way
//! to memory when it looks; so of two accesses that race within a few nanoseconds the order written
//! down may be the wrong one. The reader then finds a load that did not get the last value, and
//! derives nothing from the place.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering, compiler_fence};

/// A cell: the number in the high bits, then the thread, then the kind.
pub const CELLS: usize = 1 << 22;
#[unsafe(export_name = "__racewarden_places")]
static TABLE: [AtomicU64; CELLS] = [const { AtomicU64::new(0) }; CELLS];
const OWNER_BITS: u32 = 22;
const OWNER: u64 = (1 << OWNER_BITS) - 1;
const KIND: u64 = 3;
const OWNED: u64 = 1;
const READ: u64 = 2;
/// Somebody is accessing it just now.
const HELD: u64 = 3;
/// A waiter that is not served goes on without, since a signal handler may wait for its own thread.
const PATIENCE: u32 = 100_000;

/// One bit for each eight bytes that were accessed before. Two places may share a bit: then the
/// later one's first content is not known, which costs predictions but makes none wrong.
const SEEN_BITS: usize = 1 << 26;
static SEEN: [AtomicU8; SEEN_BITS / 8] = [const { AtomicU8::new(0) }; SEEN_BITS / 8];

pub fn first_visit(granule: u64) -> bool {
    let bit = ((granule >> 3) as usize) % SEEN_BITS;
    let mask = 1u8 << (bit % 8);
    let cell = &SEEN[bit / 8];
    cell.load(Ordering::Relaxed) & mask == 0 && cell.fetch_or(mask, Ordering::Relaxed) & mask == 0
}

/// What a thread is to its cells.
#[derive(Debug, Clone, Copy)]
pub struct Visitor {
    own: u64,
    /// As `own`; what no cell has, when every access is to draw a number: for windows, which count
    /// them.
    free: u64,
}

impl Visitor {
    pub fn new(thread: u32, precise: bool) -> Self {
        let own = (u64::from(thread) << 2 | OWNED) & OWNER;
        Visitor { own, free: if precise { u64::MAX } else { own } }
    }

    /// Whether every access is to draw a number.
    #[inline]
    pub fn is_precise(self) -> bool {
        self.free == u64::MAX
    }

    /// What cells have that the thread may access as it likes.
    pub fn free(self) -> u64 {
        self.free
    }

    /// Up to which number places that all read need no new one, when it drew `sequence` last.
    #[inline]
    pub fn reads_until(self, sequence: u64) -> u64 {
        if self.is_precise() { 0 } else { sequence }
    }

    /// Whether the owner's access needs no new number.
    #[inline]
    fn is_mine(self, state: u64) -> bool {
        state & OWNER == self.free
    }

    #[inline]
    fn may_read(self, state: u64, sequence: u64) -> bool {
        self.is_mine(state)
            || (state & KIND == READ && state >> OWNER_BITS <= sequence && !self.is_precise())
    }
}

#[inline]
fn index_of(address: u64) -> usize {
    ((address >> 3) as usize) % CELLS
}

/// Runs `load` if it needs no number; `None` when it does.
#[inline]
pub fn read(me: Visitor, address: u64, sequence: u64, load: impl FnOnce() -> u64) -> Option<u64> {
    let cell = &TABLE[index_of(address)];
    let state = cell.load(Ordering::Acquire);
    if !me.may_read(state, sequence) {
        return None;
    }
    let value = load();
    compiler_fence(Ordering::SeqCst);
    (cell.load(Ordering::Acquire) == state).then_some(value)
}

/// What the place's cell has.
#[inline]
pub fn state(address: u64) -> u64 {
    TABLE[index_of(address)].load(Ordering::Acquire)
}

/// Whether what was loaded just before the cell was seen in this state needs no number: the thread
/// alone makes a cell its own, and whoever lets others read it draws a number for that.
#[inline]
pub fn was_free_to_read(state: u64, own: u64, reads: u64) -> bool {
    state & OWNER == own || (state & KIND == READ && state >> OWNER_BITS <= reads)
}

/// Whether a store needs no number when the cell has this state.
#[inline]
pub fn is_free_to_write(state: u64, own: u64) -> bool {
    state & OWNER == own
}

/// Whether a store would need no number.
#[inline]
pub fn may_write(me: Visitor, address: u64) -> bool {
    me.is_mine(TABLE[index_of(address)].load(Ordering::Acquire))
}

/// Runs `store` if it needs no number: `None` when it was not run, false when a number is needed
/// after all.
#[inline]
pub fn write(me: Visitor, address: u64, store: impl FnOnce()) -> Option<bool> {
    let cell = &TABLE[index_of(address)];
    let state = cell.load(Ordering::Acquire);
    if !me.is_mine(state) {
        return None;
    }
    store();
    compiler_fence(Ordering::SeqCst);
    Some(cell.load(Ordering::Acquire) == state)
}

/// A cell that is held.
#[derive(Debug, Clone, Copy)]
pub struct Hold {
    index: usize,
    /// What it was; `None` when it was not to be had.
    before: Option<u64>,
}

pub fn hold(address: u64) -> Hold {
    let index = index_of(address);
    let cell = &TABLE[index];
    for round in 0..PATIENCE {
        let seen = cell.load(Ordering::Relaxed);
        if seen & KIND != HELD
            && cell
                .compare_exchange_weak(seen, seen | HELD, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
        {
            return Hold { index, before: Some(seen) };
        }
        if round % 64 == 63 {
            // SAFETY: gives the rest of the time slice to the holder.
            unsafe { crate::common::futex::raw_syscall(libc::SYS_sched_yield, 0, 0, 0, 0, 0, 0) };
        }
        std::hint::spin_loop();
    }
    Hold { index, before: None }
}

impl Hold {
    /// Whether nobody had the place before.
    pub fn is_first(&self) -> bool {
        self.before == Some(0)
    }

    /// Lets go of it as it was.
    pub fn put_back(self) {
        if let Some(before) = self.before {
            TABLE[self.index].store(before, Ordering::Release);
        }
    }

    /// Lets go after an access with the number.
    pub fn release(self, me: Visitor, writes: bool, sequence: u64) {
        if let Some(before) = self.before {
            TABLE[self.index].store(after(me, before, writes, sequence), Ordering::Release);
        }
    }
}

/// The state after an access with a new number.
fn after(me: Visitor, before: u64, writes: bool, sequence: u64) -> u64 {
    let mine = sequence << OWNER_BITS | me.own;
    match before & KIND {
        _ if writes => mine,
        0 => mine,
        READ => before,
        _ if before & OWNER == me.own => before,
        _ => sequence << OWNER_BITS | READ,
    }
}

/// Notes an access of many bytes that has a number.
pub fn touch(me: Visitor, address: u64, size: u64, writes: bool, sequence: u64) {
    let granules = (size.saturating_add(7 + (address & 7)) / 8).min(CELLS as u64);
    for number in 0..granules {
        let cell = &TABLE[index_of(address.wrapping_add(number * 8))];
        let mut before = cell.load(Ordering::Relaxed);
        // Whoever holds it is racing with this access.
        while before & KIND != HELD {
            let next = after(me, before, writes, sequence);
            if next == before {
                break;
            }
            match cell.compare_exchange(before, next, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => break,
                Err(other) => before = other,
            }
        }
    }
}

/// Whether so many pieces of up to eight bytes, `stride` bytes apart, need no new number.
pub fn are_settled(
    me: Visitor,
    (address, stride, count): (u64, i64, u64),
    size: u64,
    writes: bool,
    sequence: u64,
) -> bool {
    let settled = |index: usize| {
        let state = TABLE[index].load(Ordering::Acquire);
        if writes { me.is_mine(state) } else { me.may_read(state, sequence) }
    };
    if address % size == 0 && stride % 8 == 0 {
        // The usual array: each piece in one cell, evenly apart.
        let step = (stride >> 3) as usize;
        let first = (address >> 3) as usize;
        return (0..count as usize)
            .all(|number| settled(first.wrapping_add(number.wrapping_mul(step)) % CELLS));
    }
    let mut at = address;
    let mut last = usize::MAX;
    for _ in 0..count {
        // Neighbours share a cell, and a piece may lie in two.
        for index in [index_of(at), index_of(at.wrapping_add(size - 1))] {
            if index != last {
                last = index;
                if !settled(index) {
                    return false;
                }
            }
        }
        at = at.wrapping_add_signed(stride);
    }
    true
}

/// Whether an access of many bytes needs no new number.
pub fn is_settled(me: Visitor, address: u64, size: u64, writes: bool, sequence: u64) -> bool {
    let granules = (size.saturating_add(7 + (address & 7)) / 8).min(CELLS as u64);
    (0..granules).all(|number| {
        let state = TABLE[index_of(address.wrapping_add(number * 8))].load(Ordering::Acquire);
        if writes { me.is_mine(state) } else { me.may_read(state, sequence) }
    })
}
