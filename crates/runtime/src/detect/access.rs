//! The check of one access against what the granule remembers.
//!
//! FastTrack's idea (a word per last write and last read stands for a vector clock as long as
//! accesses are ordered) with a list instead of an eviction when they are not. A record may be
//! forgotten only when the new access makes it redundant: it covers the same bytes, conflicts with
//! everything the old one conflicts with, and is ordered after it.
//!
//! The fast path is a comparison of the granule's words with the thread's epoch: a thread that
//! touched these bytes since its last release has nothing new to say. Nine accesses in ten end
//! there, after one table load and one or two word loads.

use std::sync::atomic::{AtomicBool, Ordering};

use super::clock::Clocks;
use super::engine::{Kind, Thread};
use super::intern::{self, SITES};
use super::report::{self, Conflict};
use super::shadow::{self, ATOMIC, BYTES, Chunk, Granule, TAG, slot_of, time_of};
use super::sync;

/// One remembered access.
#[derive(Clone, Copy)]
struct Record {
    word: u64, // TAG: a write
    site: u32,
}

/// The accesses of a granule that one write and one read word cannot hold.
struct List {
    records: Vec<Record>,
}

/// No more than this many records for one granule; what is dropped is counted.
const LIST_LIMIT: usize = 4096;
pub static DROPPED: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// Set in the child of a fork: a granule's lock may belong to a thread that is not there.
pub static FORKED: AtomicBool = AtomicBool::new(false);

fn lock(granule: &Granule) -> u64 {
    let word = granule.write_word();
    let mut spins = 0u32;
    loop {
        let value = word.load(Ordering::Relaxed);
        if value & TAG == 0 {
            if word
                .compare_exchange_weak(value, value | TAG, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
            {
                return value;
            }
            continue;
        }
        spins += 1;
        if spins < 64 {
            std::hint::spin_loop();
        } else {
            super::engine::yield_now();
            if spins > 20_000 && FORKED.load(Ordering::Relaxed) {
                return value & !TAG;
            }
        }
    }
}

fn unlock(granule: &Granule, word: u64) {
    granule.write_word().store(word & !TAG, Ordering::Release);
}

fn list_of(read_word: u64) -> Option<*mut List> {
    (read_word & TAG != 0).then(|| ((read_word >> 10) as usize) as *mut List)
}

fn word_of_list(list: *mut List) -> u64 {
    (list as u64) << 10 | TAG
}

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

/// A plain access when everything remembered is ordered before it and covered by it: the bulk of
/// what gets past the fast path (array code that touches each element once per segment).
/// Returns whether the access is dealt with.
#[inline]
pub fn check_plain(
    thread: &mut Thread,
    granule: &Granule,
    mask: u64,
    write: bool,
    pc: usize,
) -> bool {
    if thread.ignore_reads | thread.ignore_writes != 0 || thread.pending_signal.is_some() {
        return false;
    }
    let word = granule.write_word();
    let w = word.load(Ordering::Relaxed);
    if w & TAG != 0 || !settled(thread, w) {
        return false;
    }
    let site = thread.site(pc);
    if word.compare_exchange(w, w | TAG, Ordering::Acquire, Ordering::Relaxed).is_err() {
        return false;
    }
    let r = granule.read_word().load(Ordering::Relaxed);
    let covered = if write { (w | r) & BYTES & !mask } else { r & BYTES & !mask } == 0;
    if r & TAG != 0 || !covered || !settled(thread, r) {
        word.store(w, Ordering::Release);
        return false;
    }
    let new = thread.base | mask;
    if write {
        if r != 0 {
            granule.read_word().store(0, Ordering::Relaxed);
        }
        granule.write_site().store(site, Ordering::Relaxed);
        word.store(new, Ordering::Release);
    } else {
        granule.read_site().store(site, Ordering::Relaxed);
        granule.read_word().store(new, Ordering::Relaxed);
        word.store(w, Ordering::Release);
    }
    true
}

/// Nothing, or something ordered before this thread.
#[inline(always)]
fn settled(thread: &Thread, word: u64) -> bool {
    let slot = slot_of(word);
    word == 0 || slot == thread.slot as usize || thread.clocks.weak.get(slot) >= time_of(word)
}

/// The slow path: check, remember, report.
pub fn check(thread: &mut Thread, granule: Granule, access: &Access) {
    let ignored = if access.write { thread.ignore_writes } else { thread.ignore_reads };
    if ignored > 0 {
        return;
    }
    let mut conflicts = Conflicts { found: [const { None }; CONFLICTS], count: 0 };
    let write_word = lock(&granule);
    let read_word = granule.read_word().load(Ordering::Relaxed);
    let result = match list_of(read_word) {
        None => check_words(thread, &granule, access, write_word, read_word, &mut conflicts),
        // SAFETY: the granule's lock is held, so the list is ours.
        Some(list) => unsafe {
            check_list(thread, &granule, access, write_word, list, &mut conflicts)
        },
    };
    unlock(&granule, result);
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
    let mut ordered = slot == thread.slot as usize || thread.clocks.weak.get(slot) >= time_of(word);
    let both_atomic = access.atomic && word & ATOMIC != 0;
    if !ordered && (access.write || record_write) && !both_atomic {
        ordered = conflict(thread, record, record_write, access, conflicts);
    } else if thread.pending_signal.is_some()
        && record_write
        && slot != thread.slot as usize
        && !access.write
    {
        // The flag that the signaller wrote and this waiter reads under the same lock says which
        // signal it was: the write/read relation stands in for the signal's own order.
        let (_, key) = SITES.get(record.site);
        if intern::common_lock(key as u32, thread.lockset).is_some() {
            thread.pending_signal = None;
        }
    }
    let redundant =
        ordered && (access.write || !record_write) && (!access.atomic || word & ATOMIC != 0);
    if !redundant {
        return word;
    }
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
    let (_, key) = SITES.get(record.site);
    let full = thread.clocks.full.get(slot) >= time;
    if full && let Some(lock) = intern::common_lock(key as u32, thread.lockset) {
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
            write: record_write,
            observed,
        });
        conflicts.count += 1;
    }
    false
}

/// The common case: at most one write and one read are remembered. Returns the new write word.
fn check_words(
    thread: &mut Thread,
    granule: &Granule,
    access: &Access,
    write_word: u64,
    read_word: u64,
    conflicts: &mut Conflicts,
) -> u64 {
    if covers(thread, write_word, true, access) || covers(thread, read_word, false, access) {
        return write_word;
    }
    let (mut kept_write, mut kept_read) = (write_word, read_word);
    let write = Record { word: write_word, site: granule.write_site().load(Ordering::Relaxed) };
    let read = Record { word: read_word, site: granule.read_site().load(Ordering::Relaxed) };
    if write_word != 0 {
        kept_write = judge(thread, write, true, access, conflicts);
    }
    if read_word != 0 {
        kept_read = judge(thread, read, false, access, conflicts);
    }
    let new = thread.base | access.mask | if access.atomic { ATOMIC } else { 0 };
    let site = thread.site(access.pc);
    // A read that raced goes to a list, where the next read of the same bytes is looked at again:
    // it may stand on another line of the same mistake.
    let raced = conflicts.count > 0 && !access.write;
    let (mine, other) =
        if access.write { (kept_write, kept_read) } else { (kept_read, kept_write) };
    if mine == 0 && !raced {
        if access.write {
            granule.write_site().store(site, Ordering::Relaxed);
            granule.read_word().store(other, Ordering::Relaxed);
            return new;
        }
        granule.read_site().store(site, Ordering::Relaxed);
        granule.read_word().store(new, Ordering::Relaxed);
        return kept_write;
    }
    // Not enough room: the reads, and a write that must stay beside the new one, go to a list.
    let mut records = Vec::with_capacity(4);
    if kept_read != 0 {
        records.push(Record { word: kept_read, site: read.site });
    }
    let result = if access.write {
        records.push(Record { word: kept_write | TAG, site: write.site });
        granule.write_site().store(site, Ordering::Relaxed);
        new
    } else {
        records.push(Record { word: new, site });
        kept_write
    };
    let list = Box::into_raw(Box::new(List { records }));
    granule.lists().fetch_add(1, Ordering::Relaxed);
    granule.read_word().store(word_of_list(list), Ordering::Relaxed);
    result
}

/// The granule has a list. Returns the new write word.
///
/// # Safety
/// The granule's lock is held and `list` is its list.
unsafe fn check_list(
    thread: &mut Thread,
    granule: &Granule,
    access: &Access,
    write_word: u64,
    list: *mut List,
    conflicts: &mut Conflicts,
) -> u64 {
    // SAFETY: the caller holds the granule's lock.
    let records = unsafe { &mut (*list).records };
    if covers(thread, write_word, true, access)
        || records
            .iter()
            .any(|record| covers(thread, record.word & !TAG, record.word & TAG != 0, access))
    {
        return write_word;
    }
    let write = Record { word: write_word, site: granule.write_site().load(Ordering::Relaxed) };
    let kept_write =
        if write_word == 0 { 0 } else { judge(thread, write, true, access, conflicts) };
    let mut kept = 0;
    for at in 0..records.len() {
        let record = records[at];
        let tag = record.word & TAG;
        let plain = Record { word: record.word & !TAG, site: record.site };
        let rest = judge(thread, plain, tag != 0, access, conflicts);
        if rest != 0 {
            records[kept] = Record { word: rest | tag, site: record.site };
            kept += 1;
        }
    }
    records.truncate(kept);
    let new = thread.base | access.mask | if access.atomic { ATOMIC } else { 0 };
    let site = thread.site(access.pc);
    let result = if access.write {
        if kept_write != 0 {
            records.push(Record { word: kept_write | TAG, site: write.site });
        }
        granule.write_site().store(site, Ordering::Relaxed);
        new
    } else {
        records.push(Record { word: new, site });
        kept_write
    };
    if records.len() > LIST_LIMIT {
        records.remove(0);
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
    if conflicts.count == 0 {
        collapse(granule, list);
    }
    result
}

/// A read that the thread made before in this segment, perhaps from another line: told again if it
/// races with a write.
fn look_again(
    thread: &mut Thread,
    granule: &Granule,
    access: &Access,
    write_word: u64,
    records: &[Record],
    conflicts: &mut Conflicts,
) {
    let write = Record { word: write_word, site: granule.write_site().load(Ordering::Relaxed) };
    let writes = records.iter().filter(|record| record.word & TAG != 0).copied();
    for record in writes.chain([write]) {
        let plain = Record { word: record.word & !TAG, site: record.site };
        if plain.word & BYTES != 0 {
            judge(thread, plain, true, access, conflicts);
        }
    }
}

/// Goes back to the two words when they suffice again.
fn collapse(granule: &Granule, list: *mut List) {
    // SAFETY: called with the granule's lock held.
    let records = unsafe { &(*list).records };
    let single = match records.as_slice() {
        [] => Record { word: 0, site: 0 },
        [record] if record.word & TAG == 0 => *record,
        _ => return,
    };
    granule.read_site().store(single.site, Ordering::Relaxed);
    granule.read_word().store(single.word, Ordering::Relaxed);
    granule.lists().fetch_sub(1, Ordering::Relaxed);
    // SAFETY: no longer reachable from the granule.
    drop(unsafe { Box::from_raw(list) });
}

/// Forgets all accesses to a range: its memory is new.
pub fn forget_range(start: usize, size: usize) {
    // Runs of whole pages without lists are dropped together, one system call each.
    let mut run: Option<(&'static Chunk, std::ops::Range<usize>)> = None;
    let flush = |run: &mut Option<(&'static Chunk, std::ops::Range<usize>)>| {
        if let Some((chunk, range)) = run.take() {
            shadow::drop_pages(chunk, range);
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
        for at in range {
            let granule = shadow::granule_at(chunk, at);
            let empty = granule.write_word().load(Ordering::Relaxed) == 0
                && granule.read_word().load(Ordering::Relaxed) == 0;
            if !empty {
                forget(&granule);
            }
        }
    });
    flush(&mut run);
}

fn forget(granule: &Granule) {
    lock(granule);
    let read_word = granule.read_word().swap(0, Ordering::Relaxed);
    if let Some(list) = list_of(read_word) {
        granule.lists().fetch_sub(1, Ordering::Relaxed);
        // SAFETY: the granule's lock is held and the list is no longer reachable.
        drop(unsafe { Box::from_raw(list) });
    }
    unlock(granule, 0);
}
