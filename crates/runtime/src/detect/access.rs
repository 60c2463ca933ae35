//! The check of one access against what the granule remembers.
//!
//! FastTrack's idea (the last write and the last reads stand for a vector clock as long as accesses
//! are ordered), but nothing is evicted when they are not: the granule grows. A record may be
//! forgotten only when the new access makes it redundant: it covers the same bytes, conflicts with
//! everything the old one conflicts with, and is ordered after it.
//!
//! Four paths, each for what the one before cannot decide:
//! - the fast path (`incoming::access`, and inline in instrumented code) compares the granule's first
//!   cell with the thread's epoch: who touched these bytes since its last release has nothing new
//!   to say. It takes no lock;
//! - the short way (`lean`) repeats what was decided before, for whole granules;
//! - [`remember`] finds everything remembered settled: array code that touches each element once
//!   per segment, and readers beside readers, under the lock of the granule's group;
//! - [`check_fully`] judges conflicts, learns orders from locks, and reports.

use std::sync::atomic::{AtomicU64, Ordering};

use super::cell::{self, EPOCH, LOCK, Record, WRITE};
use super::clock::Clocks;
use super::engine::{Kind, Thread};
use super::granule::{self, GROUP, Locked};
use super::lean;
use super::report::{self, Conflict};
use super::segments;
use super::shadow::{self, ATOMIC, BYTES, Chunk, Granule, TAG, slot_of, time_of};
use super::step::{self, is_said, says};
use super::sync;

/// No more than this many records for one granule; what is dropped is counted.
const LIST_LIMIT: usize = 4096;
pub static DROPPED: AtomicU64 = AtomicU64::new(0);

/// What is being checked.
pub struct Access {
    pub mask: u64,
    pub write: bool,
    pub atomic: bool,
    pub pc: usize,
    pub address: usize,
    pub kind: Kind,
}

/// Room for the conflicts of one access; more than this many at once say nothing new.
const CONFLICTS: usize = 4;

struct Conflicts {
    found: [Option<Conflict>; CONFLICTS],
    count: usize,
}

/// The cell of an access by the thread now, bytes and site left out. `None` when there is no cell
/// for it, or the thread's situation asks for the full check.
#[inline(always)]
pub fn cell_of(thread: &Thread, kind: Kind) -> Option<u64> {
    if thread.now == 0 || thread.pending_signal.is_some() {
        return None;
    }
    let write = if kind.is_write() { WRITE } else { 0 };
    let atomic = if kind.is_atomic() { ATOMIC } else { 0 };
    Some(thread.now | write | atomic)
}

/// Whether that holds for every byte of a range, `new` being the cell without bytes.
#[inline(always)]
pub fn is_range_said(address: usize, size: usize, new: u64) -> bool {
    // Whole granules of one chunk, each with the thread's own cell first: nearly always.
    if (address | size) & 7 == 0
        && let Some(granule) = shadow::existing(address)
        && granule.index() + size / 8 <= shadow::GRANULES
    {
        let range = granule.index()..granule.index() + size / 8;
        if are_newest(shadow::cells_of(granule.chunk, range), new | BYTES) {
            return true;
        }
    }
    is_any_range_said(address, size, new)
}

/// Whether every granule's first cell says what `whole` would.
#[inline(always)]
fn are_newest(cells: &[[AtomicU64; 2]], whole: u64) -> bool {
    let needed = EPOCH | ATOMIC | whole & (BYTES | WRITE);
    let mut eights = cells.chunks_exact(8);
    let odd = |odd: u64, cell: &[AtomicU64; 2]| odd | (cell[0].load(Ordering::Relaxed) ^ whole);
    eights.by_ref().all(|eight| eight.iter().fold(0, odd) & needed == 0)
        && eights.remainder().iter().fold(0, odd) & needed == 0
}

#[inline(never)]
fn is_any_range_said(address: usize, size: usize, new: u64) -> bool {
    let end = address.saturating_add(size);
    let mut at = address;
    while at < end {
        let Some(granule) = shadow::existing(at) else { return false };
        let next = ((at & !7) + 8).min(end);
        let bytes = ((1u64 << (next - at)) - 1) << (at & 7);
        if !is_said(&granule, new | bytes) {
            return false;
        }
        at = next;
    }
    true
}

/// An access to one granule, `new` being its cell when it has one.
#[inline]
pub fn check(thread: &mut Thread, granule: Granule, new: Option<u64>, access: &Access) {
    if let Some(new) = new
        && remember(thread, granule, new)
    {
        return;
    }
    check_fully(thread, granule, access);
}

/// The middle path. Returns whether the access is dealt with.
///
/// Doing without the lock, as TSan does, was measured: it saves a twentieth, and loses a record when two
/// threads come at the same instant.
#[inline(always)]
pub fn remember(thread: &mut Thread, granule: Granule, new: u64) -> bool {
    step::advance(thread, &mut Locked::new(granule), new)
}

/// Accesses whole granules one after the other, all in one chunk; neighbours that remember the same
/// are dealt with the same. Returns the first granule that needs more, or the end.
pub fn sweep(
    thread: &mut Thread,
    chunk: &'static Chunk,
    range: std::ops::Range<usize>,
    new: u64,
) -> usize {
    let new = new | BYTES;
    // What the last granule had and got.
    let mut memo = ((0, 0), (new, 0));
    let mut at = range.start;
    while at < range.end {
        let end = ((at / GROUP + 1) * GROUP).min(range.end);
        let group = shadow::cells_of(chunk, at..end);
        if group.iter().all(|[first, _]| says(first.load(Ordering::Relaxed), new)) {
            at = end;
            continue;
        }
        let mut locked = Locked::new(shadow::granule_at(chunk, at));
        // Groups whose granules all are as the last one was go where that went.
        if at.is_multiple_of(GROUP) {
            let done = locked.set_groups_if(memo.0, memo.1, range.end - at);
            if done > 0 {
                at += done;
                continue;
            }
        }
        if let Err(stop) = sweep_group(thread, &mut locked, chunk, at..end, new, &mut memo) {
            return stop;
        }
        at = end;
    }
    range.end
}

/// Granules of one group, one by one. When one needs more, that is the error.
#[inline(always)]
fn sweep_group(
    thread: &mut Thread,
    locked: &mut Locked,
    chunk: &'static Chunk,
    range: std::ops::Range<usize>,
    new: u64,
    memo: &mut ((u64, u64), (u64, u64)),
) -> Result<(), usize> {
    for at in range {
        let granule = shadow::granule_at(chunk, at);
        let first = granule.first().load(Ordering::Relaxed);
        let before = (first, granule.second().load(Ordering::Relaxed) & !LOCK);
        if says(first, new) {
            continue;
        }
        locked.turn_to(granule);
        if memo.0 != before {
            let after = match (before.0 | before.1) & TAG {
                0 => lean::again(before, new),
                _ => None,
            };
            match after.or_else(|| step::next(thread, before, new)) {
                Some(after) => *memo = (before, after),
                None if is_said(&granule, new) => continue,
                None if step::advance(thread, locked, new) => continue,
                None => return Err(at),
            }
        }
        locked.set(memo.1.0, memo.1.1);
    }
    Ok(())
}

/// The slow path: judge, remember, report.
#[cold]
pub fn check_fully(thread: &mut Thread, granule: Granule, access: &Access) {
    let mut conflicts = Conflicts { found: [const { None }; CONFLICTS], count: 0 };
    let site = thread.site(access.pc);
    let mut locked = Locked::new(granule);
    let mut records = locked.records();
    if !records.iter().any(|record| covers(thread, record.plain().word, record.is_write(), access))
    {
        let mut kept = 0;
        for at in 0..records.len() {
            let record = records[at];
            let rest = judge(thread, record.plain(), record.is_write(), access, &mut conflicts);
            if rest != 0 {
                let tag = record.word & TAG;
                records[kept] = Record { word: rest | tag, ..record };
                kept += 1;
            }
        }
        records.truncate(kept);
        let flags = if access.atomic { ATOMIC } else { 0 } | if access.write { TAG } else { 0 };
        let word = thread.base | access.mask | flags;
        records.push(Record { word, site, lockset: thread.own_lockset(), epoch: thread.now });
        if records.len() > LIST_LIMIT {
            records.remove(0);
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
        locked.replace(&records);
    }
    drop(locked);
    for conflict in conflicts.found.iter().take(conflicts.count).flatten() {
        report::race(thread, access, conflict);
    }
}

/// Whether the thread itself already said as much in this segment.
fn covers(thread: &Thread, record: u64, record_write: bool, access: &Access) -> bool {
    record & !(BYTES | TAG | ATOMIC) == thread.base
        && record & access.mask == access.mask
        && (record_write || !access.write)
        && (access.atomic || record & ATOMIC == 0)
}

/// Compares with one record and returns what of it must be kept (0: nothing).
fn judge(
    thread: &mut Thread,
    record: Record,
    record_write: bool,
    access: &Access,
    conflicts: &mut Conflicts,
) -> u64 {
    let word = record.word;
    let overlap = word & access.mask;
    if overlap == 0 {
        return word;
    }
    let slot = slot_of(word);
    let allocation = segments::is_allocation(record.epoch);
    let mut ordered = slot == thread.slot as usize || thread.clocks.weak.get(slot) >= time_of(word);
    let both_atomic = access.atomic && word & ATOMIC != 0;
    if !ordered && (access.write || record_write) && !both_atomic {
        // Where the program got the memory from matters by real order alone: that it could have come from elsewhere
        // had a lock been taken in another order is no suspicion.
        ordered = allocation && thread.clocks.full.get(slot) >= time_of(word)
            || conflict(thread, record, record_write, access, conflicts);
        if ordered && allocation {
            return without(word, access);
        }
    } else if thread.pending_signal.is_some()
        && record_write
        && slot != thread.slot as usize
        && !access.write
    {
        // The flag that the signaller wrote and this waiter reads under the same lock says which
        // signal it was: the write/read relation stands in for the signal's own order.
        if record.locks().is_some_and(|locks| thread.common_lock(locks).is_some()) {
            thread.pending_signal = None;
        }
    }
    let redundant =
        ordered && (access.write || !record_write) && (!access.atomic || word & ATOMIC != 0);
    if redundant { without(word, access) } else { word }
}

/// What is left of a record without the bytes that are accessed.
fn without(word: u64, access: &Access) -> u64 {
    let rest = word & !access.mask;
    if rest & BYTES == 0 { 0 } else { rest }
}

/// Two conflicting accesses that the weak relation leaves unordered. Returns whether something
/// orders them after all.
fn conflict(
    thread: &mut Thread,
    record: Record,
    record_write: bool,
    access: &Access,
    conflicts: &mut Conflicts,
) -> bool {
    let (slot, time) = (slot_of(record.word), time_of(record.word));
    let full = thread.clocks.full.get(slot) >= time;
    let locks = record.locks();
    if full && locks.is_none() && !thread.held.is_empty() {
        // Ordered by a lock, perhaps by one that both hold: nobody can tell any more.
        return true;
    }
    if full && let Some(lock) = locks.and_then(|locks| thread.common_lock(locks)) {
        // The lock protects this pair. Where the later section reads what the earlier one wrote
        // (the paper's write/read relation, with or without a signal), the order is part of what
        // the program does, so what came before that one section is ordered before us. Two
        // sections that merely update the same thing, a counter say, might as well have come the
        // other way round: that order is an accident. But whoever reads the sum of their updates
        // comes after both.
        let reads = record_write && !access.write;
        let learns = if reads { &mut thread.clocks.weak } else { &mut thread.updated };
        sync::with(lock as usize, |state| match state.region_at(slot, time) {
            Some(region) => learns.join(&region.weak),
            None => {
                learns.join(&state.clocks.full);
                learns.join(&state.readers.full);
            }
        });
        if reads {
            thread.pending_signal = None;
        }
        return true;
    }
    if let Some(signal) = thread.pending_signal.take() {
        let signal: &Clocks = &signal;
        thread.clocks.join(signal);
        if thread.clocks.weak.get(slot) >= time {
            return true;
        }
    }
    let observed = thread.clocks.full.get(slot) < time;
    if conflicts.count < CONFLICTS {
        conflicts.found[conflicts.count] = Some(Conflict {
            word: record.word & !TAG,
            site: record.site,
            locks,
            write: record_write,
            allocation: segments::is_allocation(record.epoch),
            observed,
        });
        conflicts.count += 1;
    }
    false
}

/// The bytes of a new block whose allocation is remembered: much more costs time and memory, for what the
/// thread most likely writes itself.
const REMEMBERED: usize = 4096;

/// The thread has allocated a range at `pc`. What was known of it is forgotten, and that it was allocated counts as
/// a write: whoever uses the memory without coming after that, uses what may not be there yet.
pub fn allocate_range(thread: &mut Thread, start: usize, size: usize, pc: usize) {
    let site = cell::site_bits(thread.site(pc));
    let cell = site.and_then(|site| Some(thread.allocation()? | site));
    // Shadow that does not exist yet comes with the memory cap's leave.
    let Some(cell) = cell.filter(|_| size > 0 && shadow::granule(start).is_some()) else {
        return forget_range(start, size);
    };
    let whole = size.min(REMEMBERED) & !7;
    if size > whole {
        forget_range(start + whole, size - whole);
    }
    shadow::for_each_part(start, whole, |chunk, range| {
        granule::give_back(chunk, range.clone());
        granule::renew(chunk, range, cell | BYTES);
    });
    let rest = size & 7;
    if size < REMEMBERED && rest > 0 {
        let bytes = (1 << rest) - 1;
        shadow::for_each_part(start + whole, rest, |chunk, range| {
            granule::renew(chunk, range, cell | bytes);
        });
    }
}

/// Forgets all accesses to a range: its memory is new.
pub fn forget_range(start: usize, size: usize) {
    // Runs of whole pages without lists are dropped together, one system call each.
    let mut run: Option<(&'static Chunk, std::ops::Range<usize>)> = None;
    let flush = |run: &mut Option<(&'static Chunk, std::ops::Range<usize>)>| {
        if let Some((chunk, range)) = run.take() {
            shadow::drop_pages(chunk, range.clone());
            granule::give_back(chunk, range);
        }
    };
    shadow::for_each_part(start, size, |chunk, range| {
        let first = shadow::granule_at(chunk, range.start);
        let whole = range.len() == 512 && first.lists().load(Ordering::Relaxed) == 0;
        match &mut run {
            Some((same, so_far))
                if whole && std::ptr::eq(*same, chunk) && so_far.end == range.start =>
            {
                so_far.end = range.end;
                return;
            }
            _ => flush(&mut run),
        }
        if whole {
            run = Some((chunk, range));
            return;
        }
        let mut at = range.start;
        while at < range.end {
            let end = ((at / GROUP + 1) * GROUP).min(range.end);
            granule::forget((at..end).map(|index| shadow::granule_at(chunk, index)));
            at = end;
        }
        granule::give_back(chunk, range);
    });
    flush(&mut run);
}
