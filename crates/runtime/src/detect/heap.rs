//! The program's heap blocks, for reports; and the ranges it declared benign.
//!
//! Blocks below 64 KiB are kept by start address in shards with a lock each. Larger blocks are few
//! and share one ordered map.

use std::cell::UnsafeCell;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::futex::SpinLock;

#[derive(Clone, Copy)]
pub struct Block {
    pub start: usize,
    pub size: usize,
    pub site: u32,
    /// Where it was given back; 0 while it lives.
    pub freed: u32,
}

/// Spreads addresses, whose low bits are all alike.
#[derive(Default, Clone, Copy)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_usize(usize::from(*byte));
        }
    }

    fn write_usize(&mut self, value: usize) {
        self.0 = (self.0 ^ value as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(26);
    }
}

/// Blocks by start: a hash map, because every `malloc` and `free` passes here and only a report
/// asks which block an inner address belongs to.
type Blocks = HashMap<usize, Entry, BuildHasherDefault<AddressHasher>>;

/// Size, where it was allocated, where it was given back (0: not yet).
type Entry = (usize, u32, u32);

struct Shard {
    lock: SpinLock,
    blocks: UnsafeCell<Blocks>,
}

// SAFETY: `blocks` is only touched while `lock` is held.
unsafe impl Sync for Shard {}

/// Few and large: in order.
struct Ordered {
    lock: SpinLock,
    blocks: UnsafeCell<BTreeMap<usize, Entry>>,
}

// SAFETY: `blocks` is only touched while `lock` is held.
unsafe impl Sync for Ordered {}

const SHARDS: usize = 64;
const WINDOW_SHIFT: usize = 16;
static SMALL: [Shard; SHARDS] = [const { Shard::new() }; SHARDS];
static LARGE: Ordered = Ordered::new();

impl Shard {
    const fn new() -> Self {
        let blocks = HashMap::with_hasher(BuildHasherDefault::new());
        Shard { lock: SpinLock::new(), blocks: UnsafeCell::new(blocks) }
    }

    fn with<R>(&self, work: impl FnOnce(&mut Blocks) -> R) -> R {
        let _guard = self.lock.lock();
        // SAFETY: the lock is held.
        work(unsafe { &mut *self.blocks.get() })
    }
}

impl Ordered {
    const fn new() -> Self {
        Ordered { lock: SpinLock::new(), blocks: UnsafeCell::new(BTreeMap::new()) }
    }

    fn with<R>(&self, work: impl FnOnce(&mut BTreeMap<usize, Entry>) -> R) -> R {
        let _guard = self.lock.lock();
        // SAFETY: the lock is held.
        work(unsafe { &mut *self.blocks.get() })
    }

    /// The block that starts last at or before `address`, if it reaches there.
    fn holding(&self, address: usize) -> Option<Block> {
        self.with(|blocks| {
            let (&start, entry) = blocks.range(..=address).next_back()?;
            (address < start + entry.0.max(1)).then(|| block(start, entry))
        })
    }
}

fn shard(start: usize) -> &'static Shard {
    &SMALL[(start >> WINDOW_SHIFT) % SHARDS]
}

fn is_large(size: usize) -> bool {
    size >= 1 << WINDOW_SHIFT
}

fn block(start: usize, &(size, site, freed): &Entry) -> Block {
    Block { start, size, site, freed }
}

pub fn add(start: usize, size: usize, site: u32) {
    let entry = (size, site, 0);
    if is_large(size) {
        // A smaller one that stood here before is over.
        shard(start).with(|blocks| blocks.remove(&start));
        LARGE.with(|blocks| blocks.insert(start, entry));
    } else {
        shard(start).with(|blocks| blocks.insert(start, entry));
    }
}

/// Forgets the block and returns it.
pub fn remove(start: usize) -> Option<Block> {
    let small = shard(start).with(|blocks| blocks.remove(&start));
    let entry = small.or_else(|| LARGE.with(|blocks| blocks.remove(&start)))?;
    Some(block(start, &entry))
}

/// The program gives the block back; reports can name it until [`forget_freed`].
pub fn mark_freed(start: usize, site: u32) -> Option<Block> {
    let mark = |entry: &mut Entry| {
        entry.2 = site.max(1);
        block(start, entry)
    };
    let small = shard(start).with(|blocks| blocks.get_mut(&start).map(mark));
    small.or_else(|| LARGE.with(|blocks| blocks.get_mut(&start).map(mark)))
}

/// The block's memory goes back to the C library: unless it is in use again, nothing is known of
/// it any more.
pub fn forget_freed(start: usize) {
    let gone = shard(start).with(|blocks| match blocks.get(&start) {
        Some(entry) if entry.2 != 0 => blocks.remove(&start).is_some(),
        known => known.is_some(),
    });
    if !gone {
        LARGE.with(|blocks| {
            if blocks.get(&start).is_some_and(|entry| entry.2 != 0) {
                blocks.remove(&start);
            }
        });
    }
}

/// The block that holds `address`. The C library aligns blocks to 16 bytes, so a small one is found
/// by trying the starts before the address one after the other. A block in use goes before one
/// that was given back.
pub fn block_at(address: usize) -> Option<Block> {
    let large = LARGE.holding(address);
    if large.is_some_and(|block| block.freed == 0) {
        return large;
    }
    let nearest = address & !15;
    let mut given_back = None;
    for step in 0..=(1usize << WINDOW_SHIFT) / 16 {
        let Some(start) = nearest.checked_sub(step * 16) else { break };
        let Some(entry) = shard(start).with(|blocks| blocks.get(&start).copied()) else { continue };
        if address < start + entry.0.max(1) {
            if entry.2 == 0 {
                return Some(block(start, &entry));
            }
            given_back = given_back.or(Some(block(start, &entry)));
        }
    }
    given_back.or(large)
}

/// Blocks whose memory is held back for a while after the program gave them back, so that a late
/// use of one meets its old history and not the next owner's. A ring per thread.
pub struct HeldBack {
    blocks: [(usize, bool); HELD_BACK],
    at: usize,
}

struct Orphans {
    lock: SpinLock,
    ring: UnsafeCell<HeldBack>,
}

// SAFETY: `ring` is only touched while `lock` is held.
unsafe impl Sync for Orphans {}

/// What ended threads held back.
static ORPHANS: Orphans = Orphans { lock: SpinLock::new(), ring: UnsafeCell::new(HeldBack::new()) };

const HELD_BACK: usize = 64;
/// Larger blocks go back at once: together the ring keeps at most 256 KiB a thread.
const HELD_BACK_SIZE: usize = 4096;

impl HeldBack {
    pub const fn new() -> Self {
        HeldBack { blocks: [(0, false); HELD_BACK], at: 0 }
    }

    /// Takes a block in. Returns the two whose memory can go back now (0: none): the oldest of the
    /// ring, and the block itself when it is too large to be kept.
    pub fn take(&mut self, start: usize, size: usize) -> [usize; 2] {
        let kept = size <= HELD_BACK_SIZE;
        let (old, held) = std::mem::replace(&mut self.blocks[self.at], (start, kept));
        self.at = (self.at + 1) % HELD_BACK;
        if old != 0 && (held || old != start) {
            forget_freed(old);
        }
        [if held { old } else { 0 }, if kept { 0 } else { start }]
    }

    /// The thread ends: what it still held stays a little longer. Calls `release` with whatever
    /// has to make room for it.
    pub fn bequeath(&mut self, mut release: impl FnMut(usize)) {
        for step in 0..HELD_BACK {
            let (start, held) = std::mem::take(&mut self.blocks[(self.at + step) % HELD_BACK]);
            if start == 0 {
                continue;
            }
            let _guard = ORPHANS.lock.lock();
            // SAFETY: the lock is held.
            let orphans = unsafe { &mut *ORPHANS.ring.get() };
            let size = if held { 0 } else { usize::MAX };
            let [old, _] = orphans.take(start, size);
            if old != 0 {
                release(old);
            }
        }
    }
}

static BENIGN: Ordered = Ordered::new();
static ANY_BENIGN: AtomicBool = AtomicBool::new(false);

/// Races in this range are not told: the program says that it means them.
pub fn add_benign(start: usize, size: usize) {
    BENIGN.with(|ranges| ranges.insert(start, (size, 0, 0)));
    ANY_BENIGN.store(true, Ordering::Release);
}

/// The range counts again.
pub fn remove_benign(start: usize) {
    BENIGN.with(|ranges| ranges.remove(&start));
}

pub fn is_benign(address: usize) -> bool {
    ANY_BENIGN.load(Ordering::Acquire) && BENIGN.holding(address).is_some()
}

pub fn reset_after_fork() {
    for shard in &SMALL {
        shard.lock.reset_after_fork();
    }
    LARGE.lock.reset_after_fork();
    ORPHANS.lock.reset_after_fork();
    BENIGN.lock.reset_after_fork();
}
