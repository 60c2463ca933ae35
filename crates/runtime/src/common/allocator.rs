//! The runtime's own memory: size classes carved from mapped chunks, never the program's `malloc`.
//!
//! Small blocks (up to 64 KiB) come in power-of-two classes with a free list each; larger ones are
//! mapped on their own. One spin lock guards each class: the critical sections are a few
//! instructions, and nothing in them can call back into the runtime.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::ptr::null_mut;

use super::futex::SpinLock;
use super::real::raw_mmap;

const SMALLEST: usize = 4; // 16 bytes
const LARGEST: usize = 16; // 64 KiB
const CHUNK: usize = 1 << 20;

struct Class {
    lock: SpinLock,
    inner: UnsafeCell<ClassInner>,
}

struct ClassInner {
    free: *mut u8,
    bump: *mut u8,
    end: *mut u8,
}

// SAFETY: `inner` is only touched while `lock` is held.
unsafe impl Sync for Class {}

impl Class {
    const fn new() -> Self {
        Class {
            lock: SpinLock::new(),
            inner: UnsafeCell::new(ClassInner {
                free: null_mut(),
                bump: null_mut(),
                end: null_mut(),
            }),
        }
    }

    fn take(&self, size: usize) -> *mut u8 {
        let _guard = self.lock.lock();
        // SAFETY: the lock is held.
        let inner = unsafe { &mut *self.inner.get() };
        if !inner.free.is_null() {
            let block = inner.free;
            // SAFETY: a free block's first word links to the next one.
            inner.free = unsafe { block.cast::<*mut u8>().read() };
            return block;
        }
        if inner.bump == inner.end {
            let chunk = raw_mmap(CHUNK.max(size));
            if chunk.is_null() {
                return null_mut();
            }
            inner.bump = chunk;
            // SAFETY: within or one past the mapping just made.
            inner.end = unsafe { chunk.add(CHUNK.max(size)) };
        }
        let block = inner.bump;
        // SAFETY: classes divide the chunk evenly, so the block ends at most at `end`.
        inner.bump = unsafe { block.add(size) };
        block
    }

    fn give(&self, block: *mut u8) {
        let _guard = self.lock.lock();
        // SAFETY: the lock is held, and the block is at least 16 bytes and no longer in use.
        unsafe {
            let inner = &mut *self.inner.get();
            block.cast::<*mut u8>().write(inner.free);
            inner.free = block;
        }
    }
}

pub struct MappedAllocator {
    classes: [Class; LARGEST + 1 - SMALLEST],
}

#[global_allocator]
static ALLOCATOR: MappedAllocator =
    MappedAllocator { classes: [const { Class::new() }; LARGEST + 1 - SMALLEST] };

/// Locks every class, so that neither parent nor child of a fork is left with one that a thread was in the middle of
/// changing. Both release them.
pub fn hold() {
    for class in &ALLOCATOR.classes {
        std::mem::forget(class.lock.lock());
    }
}

/// After [`hold`].
pub fn release() {
    for class in &ALLOCATOR.classes {
        class.lock.unlock();
    }
}

fn class_of(layout: &Layout) -> Option<usize> {
    let size = layout.size().max(layout.align()).max(1 << SMALLEST).next_power_of_two();
    let class = size.trailing_zeros() as usize;
    (class <= LARGEST).then_some(class)
}

fn round_to_page(size: usize) -> usize {
    (size + 4095) & !4095
}

// SAFETY: blocks of a class are aligned to their size (chunks are page-aligned, classes divide
// them evenly; classes above a page are carved from 1 MiB chunks and so at least page-aligned, and
// no caller asks for more alignment than a page), and a block is never handed out twice.
unsafe impl GlobalAlloc for MappedAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match class_of(&layout) {
            Some(class) => self.classes[class - SMALLEST].take(1 << class),
            None => raw_mmap(round_to_page(layout.size())),
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller says.
        let block = unsafe { self.alloc(layout) };
        // What is mapped on its own is zero, and takes memory only where it is used.
        if !block.is_null() && class_of(&layout).is_some() {
            // SAFETY: the block is that long.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match class_of(&layout) {
            Some(class) => self.classes[class - SMALLEST].give(block),
            // SAFETY: the block was mapped by `alloc` with this very size.
            None => unsafe { super::real::raw_munmap(block, round_to_page(layout.size())) },
        }
    }
}
