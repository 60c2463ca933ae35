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
type Blocks = HashMap<usize, (usize, u32), BuildHasherDefault<AddressHasher>>;

struct Shard {
    lock: SpinLock,
    blocks: UnsafeCell<Blocks>,
}

// SAFETY: `blocks` is only touched while `lock` is held.
unsafe impl Sync for Shard {}

/// Few and large: in order.
struct Ordered {
    lock: SpinLock,
    blocks: UnsafeCell<BTreeMap<usize, (usize, u32)>>,
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

    fn with<R>(&self, work: impl FnOnce(&mut BTreeMap<usize, (usize, u32)>) -> R) -> R {
        let _guard = self.lock.lock();
        // SAFETY: the lock is held.
        work(unsafe { &mut *self.blocks.get() })
    }

    /// The block that starts last at or before `address`, if it reaches there.
    fn holding(&self, address: usize) -> Option<Block> {
        self.with(|blocks| {
            let (&start, &(size, site)) = blocks.range(..=address).next_back()?;
            (address < start + size.max(1)).then_some(Block { start, size, site })
        })
    }
}

fn shard(start: usize) -> &'static Shard {
    &SMALL[(start >> WINDOW_SHIFT) % SHARDS]
}

fn is_large(size: usize) -> bool {
    size >= 1 << WINDOW_SHIFT
}

pub fn add(start: usize, size: usize, site: u32) {
    if is_large(size) {
        LARGE.with(|blocks| blocks.insert(start, (size, site)));
    } else {
        shard(start).with(|blocks| blocks.insert(start, (size, site)));
    }
}

/// Forgets the block and returns it.
pub fn remove(start: usize) -> Option<Block> {
    let small = shard(start).with(|blocks| blocks.remove(&start));
    let (size, site) = small.or_else(|| LARGE.with(|blocks| blocks.remove(&start)))?;
    Some(Block { start, size, site })
}

/// The block that holds `address`. The C library aligns blocks to 16 bytes, so a small one is found
/// by trying the starts before the address one after the other.
pub fn block_at(address: usize) -> Option<Block> {
    if let Some(block) = LARGE.holding(address) {
        return Some(block);
    }
    let nearest = address & !15;
    (0..=(1usize << WINDOW_SHIFT) / 16).find_map(|step| {
        let start = nearest.checked_sub(step * 16)?;
        let (size, site) = shard(start).with(|blocks| blocks.get(&start).copied())?;
        (address < start + size.max(1)).then_some(Block { start, size, site })
    })
}

static BENIGN: Ordered = Ordered::new();
static ANY_BENIGN: AtomicBool = AtomicBool::new(false);

/// Races in this range are not told: the program says that it means them.
pub fn add_benign(start: usize, size: usize) {
    BENIGN.with(|ranges| ranges.insert(start, (size, 0)));
    ANY_BENIGN.store(true, Ordering::Release);
}

pub fn is_benign(address: usize) -> bool {
    ANY_BENIGN.load(Ordering::Acquire) && BENIGN.holding(address).is_some()
}

pub fn reset_after_fork() {
    for shard in &SMALL {
        shard.lock.reset_after_fork();
    }
    LARGE.lock.reset_after_fork();
    BENIGN.lock.reset_after_fork();
}
