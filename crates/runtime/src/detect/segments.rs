//! What a cell says about who and when: a thread's segment, and the locks that it held in it.
//!
//! Segments are numbered in blocks. A block is one thread's slot from some time on: a cell names block and
//! number, which takes far fewer bits than slots and times that both may grow. A thread that used up a block
//! goes on with another.
//!
//! That memory was allocated is named in blocks of its own: of the same slot and the same times, but never
//! what a thread is at now. So an access of the thread itself right after is news, and the report
//! of a race tells the allocation from it.
//!
//! A cell also says under which of its segment's locksets the access was. Most are under none, which the
//! cell itself says. The others are in the block's log, by number. Logs take memory with every lock that
//! is taken, so only the latest of them are kept; of older ones nobody knows any more which locks were held.
//! An access of that time is never suspected for its locks alone, and the end of the run tells how often.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::cell::{self, BLOCKS, LEVELS, NUMBERS};
use crate::common::futex::{SpinLock, raw_syscall};
use crate::common::real::raw_mmap;

struct Block {
    slot: AtomicU32,
    /// Whether a thread still goes on in it.
    open: AtomicBool,
    /// Whether its cells say that memory was allocated.
    allocates: AtomicBool,
    /// The slot's time at number 0.
    base: AtomicU64,
    /// Where its log is, when it has one.
    log: AtomicUsize,
}

/// The locksets of a block's segments, all that are the first of their segments together: hardly any
/// segment has more than one, and pages that are not written cost nothing.
struct Log {
    locksets: [[AtomicU32; NUMBERS]; LEVELS - 1],
}

/// So many logs are kept: half a million segments with one lock take 2 MiB.
const LOGS: usize = 128;

static TABLE: AtomicUsize = AtomicUsize::new(0);
/// The next block that was never used. No cell can name block 0 at number 0.
static NEXT: AtomicU32 = AtomicU32::new(1);
/// How often the locks of an access were asked for that nobody knows any more.
pub static FORGOTTEN: AtomicU64 = AtomicU64::new(0);

struct Kept {
    lock: SpinLock,
    /// The blocks with logs, the oldest first.
    blocks: std::cell::UnsafeCell<std::collections::VecDeque<u32>>,
}

// SAFETY: `blocks` is only touched while `lock` is held.
unsafe impl Sync for Kept {}

static KEPT: Kept = Kept {
    lock: SpinLock::new(),
    blocks: std::cell::UnsafeCell::new(std::collections::VecDeque::new()),
};

pub fn initialize() {
    let table = raw_mmap(BLOCKS * size_of::<Block>());
    if table.is_null() {
        crate::common::output::fatal("no address space for the detector's tables\n");
    }
    TABLE.store(table as usize, Ordering::Release);
}

#[inline(always)]
fn block(id: usize) -> &'static Block {
    // SAFETY: mapped for as many blocks as a cell can name, and zeros are a valid block.
    unsafe { &*(TABLE.load(Ordering::Relaxed) as *const Block).add(id) }
}

/// A new block for a slot from this time on; `None` when there are no more.
pub fn start(slot: u32, time: u64, allocates: bool) -> Option<u32> {
    let one_more = |next: u32| ((next as usize) < BLOCKS).then_some(next + 1);
    let id = NEXT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok()?;
    let block = block(id as usize);
    block.slot.store(slot, Ordering::Relaxed);
    block.base.store(time, Ordering::Relaxed);
    block.allocates.store(allocates, Ordering::Relaxed);
    block.open.store(true, Ordering::Release);
    Some(id)
}

/// The segment's number at this time of the block's slot, if it has one.
pub fn number(id: u32, time: u64) -> Option<u32> {
    let number = time.checked_sub(block(id as usize).base.load(Ordering::Relaxed))?;
    (number < NUMBERS as u64).then_some(number as u32)
}

/// Whether somebody goes on in the block.
pub fn set_open(id: u32, open: bool) {
    block(id as usize).open.store(open, Ordering::Relaxed);
}

/// Whose cell it is, and when it was made.
#[inline(always)]
pub fn slot_and_time(cell: u64) -> (usize, u64) {
    let block = block(cell::block_of(cell));
    let time = block.base.load(Ordering::Relaxed) + cell::number_of(cell);
    (block.slot.load(Ordering::Relaxed) as usize, time)
}

/// Whether a cell says that memory was allocated.
pub fn is_allocation(cell: u64) -> bool {
    block(cell::block_of(cell)).allocates.load(Ordering::Relaxed)
}

/// Writes down that from now on these locks are held in a segment, at a level above 0.
pub fn note_lockset(id: u32, number: u32, level: u32, lockset: u32) {
    let block = block(id as usize);
    let log = match block.log.load(Ordering::Relaxed) {
        0 => make_log(id),
        log => log,
    };
    if log != 0 {
        // SAFETY: mapped for good by `make_log`.
        let log = unsafe { &*(log as *const Log) };
        log.locksets[level as usize - 1][number as usize].store(lockset, Ordering::Release);
    }
}

#[cold]
fn make_log(id: u32) -> usize {
    let _guard = KEPT.lock.lock();
    // SAFETY: the lock is held.
    let kept = unsafe { &mut *KEPT.blocks.get() };
    kept.push_back(id);
    let is_over = |id: &u32| !block(*id as usize).open.load(Ordering::Relaxed);
    if kept.len() > LOGS
        && let Some(at) = kept.iter().position(is_over)
        && let Some(old) = kept.remove(at)
    {
        let log = block(old as usize).log.load(Ordering::Relaxed);
        // SAFETY: a log stays mapped, because it may be read at any time; it reads as zeros from now on.
        unsafe {
            raw_syscall(
                libc::SYS_madvise,
                log,
                size_of::<Log>(),
                libc::MADV_DONTNEED as usize,
                0,
                0,
                0,
            );
        }
    }
    let log = raw_mmap(size_of::<Log>()) as usize;
    block(id as usize).log.store(log, Ordering::Release);
    log
}

/// The locks under which an access was remembered: `None` when nobody knows any more.
pub fn lockset_of(cell: u64) -> Option<u32> {
    let Some(level) = cell::level_of(cell).checked_sub(1) else { return Some(0) };
    let log = block(cell::block_of(cell)).log.load(Ordering::Acquire);
    // SAFETY: mapped for good by `make_log`.
    let log = (log != 0).then(|| unsafe { &*(log as *const Log) });
    let numbered = log.map_or(0, |log| {
        log.locksets[level][cell::number_of(cell) as usize].load(Ordering::Acquire)
    });
    if numbered == 0 {
        FORGOTTEN.fetch_add(1, Ordering::Relaxed);
    }
    (numbered != 0).then_some(numbered)
}

pub fn reset_after_fork() {
    KEPT.lock.reset_after_fork();
}
