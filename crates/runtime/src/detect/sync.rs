//! Synchronisation objects by address: locks, atomics, semaphores, barriers, annotated addresses.
//!
//! Each granule of shadow heads a chain of the objects in it. Objects are recycled when their
//! memory is freed, never unmapped, so a stale reference finds a changed address and looks again.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering, fence};

use super::clock::{Clock, Clocks};
use super::shadow;
use crate::common::futex::SpinLock;
use crate::common::real::raw_mmap;

#[derive(Default)]
pub struct State {
    /// What the last releases published.
    pub clocks: Clocks,
    /// What readers of a read-write lock published; only writers wait for them.
    pub readers: Clocks,
    pub barrier: Option<Box<Barrier>>,
    /// The latest critical sections of a lock, the newest last.
    pub regions: Vec<Region>,
    /// Whose release sequences `clocks` belongs to, when they are all one thread's (its info + 1).
    pub head: u32,
}

/// A critical section that has ended: who, when, and what it knew by the weak relation.
pub struct Region {
    pub slot: usize,
    pub from: u64,
    pub to: u64,
    pub weak: Clock,
}

/// Critical sections that are told apart per lock; an older one stands for all before it.
const REGIONS: usize = 8;

impl State {
    /// `updated` is what the sections knew whose results this one changed: whoever reads the new
    /// value depends on them too.
    pub fn add_region(&mut self, slot: usize, from: u64, to: u64, weak: &Clock, updated: &Clock) {
        let mut clock =
            if self.regions.len() < REGIONS { Clock::new() } else { self.regions.remove(0).weak };
        clock.copy_from(weak);
        clock.join(updated);
        clock.raise(slot, to);
        self.regions.push(Region { slot, from, to, weak: clock });
    }

    /// The critical section in which `slot` was at `time`.
    pub fn region_at(&self, slot: usize, time: u64) -> Option<&Region> {
        let inside =
            |region: &&Region| region.slot == slot && region.from <= time && time <= region.to;
        self.regions.iter().rev().find(inside)
    }
}

pub struct Barrier {
    pub count: u32,
    pub arrived: u32,
    pub phase: usize,
    /// One per phase in flight: a fast thread may arrive at the next round while a slow one has
    /// not left this one, and must not order itself before it.
    pub clocks: [Clocks; 2],
}

pub struct Object {
    lock: SpinLock,
    address: AtomicUsize,
    next: AtomicU32,
    /// Another one after every change, and odd meanwhile.
    pub version: AtomicU32,
    state: UnsafeCell<State>,
}

// SAFETY: `state` is only touched while `lock` is held.
unsafe impl Sync for Object {}

const CAPACITY: usize = 1 << 23;
static BASE: AtomicUsize = AtomicUsize::new(0);
static USED: AtomicU32 = AtomicU32::new(1);
static FREE: FreeList = FreeList { lock: SpinLock::new(), indices: UnsafeCell::new(Vec::new()) };

struct FreeList {
    lock: SpinLock,
    indices: UnsafeCell<Vec<u32>>,
}

// SAFETY: `indices` is only touched while `lock` is held.
unsafe impl Sync for FreeList {}

pub fn initialize() {
    let base = raw_mmap(CAPACITY * std::mem::size_of::<Object>());
    if base.is_null() {
        crate::common::output::fatal("no address space for synchronisation objects\n");
    }
    BASE.store(base as usize, Ordering::Release);
}

/// An all-zero object is a valid empty one, so fresh pages need no construction.
fn object(index: u32) -> &'static Object {
    // SAFETY: indices are below the capacity that was mapped, and zero bytes are a free lock, null
    // address, no successor; the state is written before the object is first published.
    unsafe { &*(BASE.load(Ordering::Relaxed) as *const Object).add(index as usize) }
}

fn allocate(address: usize) -> Option<u32> {
    let recycled = {
        let _guard = FREE.lock.lock();
        // SAFETY: the lock is held.
        unsafe { (*FREE.indices.get()).pop() }
    };
    let index = match recycled {
        Some(index) => index,
        None => {
            let index = USED.fetch_add(1, Ordering::Relaxed);
            if index as usize >= CAPACITY {
                USED.store(CAPACITY as u32, Ordering::Relaxed);
                return None;
            }
            // SAFETY: nobody else has this index; the bytes are fresh and need no drop.
            unsafe { object(index).state.get().write(State::default()) };
            index
        }
    };
    object(index).address.store(address, Ordering::Relaxed);
    Some(index)
}

fn find(mut index: u32, address: usize) -> Option<&'static Object> {
    while index != 0 {
        let object = object(index);
        if object.address.load(Ordering::Relaxed) == address {
            return Some(object);
        }
        index = object.next.load(Ordering::Acquire);
    }
    None
}

fn find_or_create(address: usize) -> Option<&'static Object> {
    let granule = shadow::granule_of_object(address)?;
    let head = granule.sync();
    let mut first = head.load(Ordering::Acquire);
    if let Some(object) = find(first, address) {
        return Some(object);
    }
    let index = allocate(address)?;
    loop {
        object(index).next.store(first, Ordering::Relaxed);
        match head.compare_exchange(first, index, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                granule.objects().fetch_add(1, Ordering::Relaxed);
                return Some(object(index));
            }
            Err(now) => {
                if let Some(other) = find(now, address) {
                    recycle(index);
                    return Some(other);
                }
                first = now;
            }
        }
    }
}

fn recycle(index: u32) {
    let object = object(index);
    {
        let _guard = object.lock.lock();
        object.address.store(0, Ordering::Relaxed);
        object.version.fetch_add(2, Ordering::Relaxed);
        // SAFETY: the lock is held.
        unsafe { *object.state.get() = State::default() };
    }
    let _guard = FREE.lock.lock();
    // SAFETY: the lock is held.
    unsafe { (*FREE.indices.get()).push(index) };
}

/// Runs `work` on the object at `address`, made if there is none. `None` when memory is out.
pub fn with<R>(address: usize, work: impl FnOnce(&mut State) -> R) -> Option<R> {
    locked(address, |object| {
        let version = object.version.load(Ordering::Relaxed);
        object.version.store(version.wrapping_add(1), Ordering::Relaxed);
        // What `work` does to the program's memory is seen after this.
        fence(Ordering::Release);
        // SAFETY: the lock is held.
        let result = work(unsafe { &mut *object.state.get() });
        object.version.store(version.wrapping_add(2), Ordering::Release);
        result
    })
}

/// As [`with`], for work that changes nothing; also gets the object and the version that it has.
pub fn look<R>(
    address: usize,
    work: impl FnOnce(&State, (&'static Object, u32)) -> R,
) -> Option<R> {
    locked(address, |object| {
        let version = object.version.load(Ordering::Relaxed);
        // SAFETY: the lock is held.
        work(unsafe { &*object.state.get() }, (object, version))
    })
}

fn locked<R>(address: usize, work: impl FnOnce(&'static Object) -> R) -> Option<R> {
    loop {
        let object = find_or_create(address)?;
        let _guard = object.lock.lock();
        if object.address.load(Ordering::Relaxed) == address {
            return Some(work(object));
        }
    }
}

/// Forgets what the object knows: it was destroyed, and may be made anew.
pub fn forget(address: usize) {
    if exists(address) {
        with(address, |state| *state = State::default());
    }
}

pub fn exists(address: usize) -> bool {
    shadow::existing(address)
        .is_some_and(|granule| find(granule.sync().load(Ordering::Acquire), address).is_some())
}

/// Forgets every object in a range whose memory is gone.
pub fn forget_range(start: usize, size: usize) {
    shadow::for_each_part(start, size, |chunk, range| {
        let objects = shadow::granule_at(chunk, range.start).objects();
        if objects.load(Ordering::Relaxed) == 0 {
            return;
        }
        for at in range {
            let head = shadow::granule_at(chunk, at).sync();
            if head.load(Ordering::Relaxed) == 0 {
                continue;
            }
            let mut index = head.swap(0, Ordering::AcqRel);
            while index != 0 {
                let next = object(index).next.load(Ordering::Acquire);
                recycle(index);
                objects.fetch_sub(1, Ordering::Relaxed);
                index = next;
            }
        }
    });
}

pub fn reset_after_fork() {
    FREE.lock.reset_after_fork();
    let used = USED.load(Ordering::Relaxed);
    for index in 1..used.min(CAPACITY as u32) {
        object(index).lock.reset_after_fork();
    }
}
