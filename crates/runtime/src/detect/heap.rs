//! The program's heap blocks, for reports; and the ranges it declared benign.
//!
//! Blocks below 64 KiB are kept per 64 KiB window of addresses, spread over shards with a lock
//! each, so an address's block starts in its own window or the one before. Larger blocks are few
//! and share one map.

use std::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::futex::SpinLock;

#[derive(Clone, Copy)]
pub struct Block {
    pub start: usize,
    pub size: usize,
    pub site: u32,
}

struct Shard {
    lock: SpinLock,
    blocks: UnsafeCell<BTreeMap<usize, (usize, u32)>>,
}

// SAFETY: `blocks` is only touched while `lock` is held.
unsafe impl Sync for Shard {}

const SHARDS: usize = 64;
const WINDOW_SHIFT: usize = 16;
static SMALL: [Shard; SHARDS] = [const { Shard::new() }; SHARDS];
static LARGE: Shard = Shard::new();

impl Shard {
    const fn new() -> Self {
        Shard { lock: SpinLock::new(), blocks: UnsafeCell::new(BTreeMap::new()) }
    }

    fn with<R>(&self, work: impl FnOnce(&mut BTreeMap<usize, (usize, u32)>) -> R) -> R {
        let _guard = self.lock.lock();
        // SAFETY: the lock is held.
        work(unsafe { &mut *self.blocks.get() })
    }

    /// The block that starts last at or before `address`, if it reaches there.
    fn holding(&self, address: usize, from: usize) -> Option<Block> {
        self.with(|blocks| {
            let (&start, &(size, site)) = blocks.range(from..=address).next_back()?;
            (address < start + size.max(1)).then_some(Block { start, size, site })
        })
    }
}

fn shard(window: usize) -> &'static Shard {
    &SMALL[window % SHARDS]
}

fn home(start: usize, size: usize) -> &'static Shard {
    if size >= 1 << WINDOW_SHIFT { &LARGE } else { shard(start >> WINDOW_SHIFT) }
}

pub fn add(start: usize, size: usize, site: u32) {
    home(start, size).with(|blocks| blocks.insert(start, (size, site)));
}

/// Forgets the block and returns it.
pub fn remove(start: usize) -> Option<Block> {
    for shard in [shard(start >> WINDOW_SHIFT), &LARGE] {
        if let Some((size, site)) = shard.with(|blocks| blocks.remove(&start)) {
            return Some(Block { start, size, site });
        }
    }
    None
}

pub fn block_at(address: usize) -> Option<Block> {
    let window = address >> WINDOW_SHIFT;
    shard(window)
        .holding(address, window << WINDOW_SHIFT)
        .or_else(|| {
            let before = window.checked_sub(1)?;
            shard(before).holding(address, before << WINDOW_SHIFT)
        })
        .or_else(|| LARGE.holding(address, 0))
}

static BENIGN: Shard = Shard::new();
static ANY_BENIGN: AtomicBool = AtomicBool::new(false);

/// Races in this range are not told: the program says that it means them.
pub fn add_benign(start: usize, size: usize) {
    BENIGN.with(|ranges| ranges.insert(start, (size, 0)));
    ANY_BENIGN.store(true, Ordering::Release);
}

pub fn is_benign(address: usize) -> bool {
    ANY_BENIGN.load(Ordering::Acquire) && BENIGN.holding(address, 0).is_some()
}

pub fn reset_after_fork() {
    for shard in SMALL.iter().chain([&LARGE, &BENIGN]) {
        shard.lock.reset_after_fork();
    }
}
