//! What is remembered about each 8 bytes of the program's memory.
//!
//! Two levels: a table with one entry per 4 MiB of address space, and per entry a chunk of shadow
//! that is mapped when the first access there happens. Nothing sits at a fixed address, so any
//! layout the kernel chooses works. Per 8 bytes (a granule) a chunk holds two cells (16 bytes, what
//! the fast path looks at), room for two more, and the head of the granule's synchronisation objects
//! (4 bytes); pages of it that are never touched cost nothing. When four cells are not enough, the
//! granule gets a node or list instead of evicting something.
//!
//! A record in its wide form, for what no cell can hold and for reports, is one word and a site:
//! ```text
//!   63            26 25      10   9      8       7    0
//!   | thread's time | slot     | tag | atomic | bytes |
//! ```
//! The tag means that the access was a write.

use std::arch::global_asm;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU16, AtomicU32, AtomicU64, Ordering};

use super::alone;
use super::cell::LOCK;
use super::granule::GROUP;
use crate::common::real::raw_mmap;

pub const BYTES: u64 = 0xff;
pub const ATOMIC: u64 = 1 << 8;
pub const TAG: u64 = 1 << 9;
const SLOT_SHIFT: u32 = 10;
const TIME_SHIFT: u32 = 26;
pub const SLOTS: usize = 1 << (TIME_SHIFT - SLOT_SHIFT);
const _: () = assert!(SLOTS == 65536);

/// The word of a thread at a time, without bytes and flags.
pub fn epoch(slot: u32, time: u64) -> u64 {
    time << TIME_SHIFT | u64::from(slot) << SLOT_SHIFT
}

#[inline]
pub fn slot_of(word: u64) -> usize {
    (word >> SLOT_SHIFT) as usize & (SLOTS - 1)
}

#[inline]
pub fn time_of(word: u64) -> u64 {
    word >> TIME_SHIFT
}

const CHUNK_SHIFT: usize = 22;
pub const GRANULES: usize = 1 << (CHUNK_SHIFT - 3);
/// Granules of one 4 KiB page of the program.
const PAGE_GRANULES: usize = 512;
const PAGES: usize = GRANULES / PAGE_GRANULES;
/// Granules that have one owner: fewer would be taken away one by one too often, and with more, blocks of
/// several threads would be in one.
pub const REGION_GRANULES: usize = 64;
const REGIONS: usize = GRANULES / REGION_GRANULES;
const TABLE: usize = 1 << (47 - CHUNK_SHIFT);

#[repr(C)]
pub struct Chunk {
    cells: [[AtomicU64; 2]; GRANULES],
    /// Two more cells, when the first one's tag says so. The instrumentation knows that they are here.
    beside: [[AtomicU64; 2]; GRANULES],
    sync: [AtomicU32; GRANULES],
    /// How many nodes or lists and synchronisation objects each page of the program has: none means that
    /// its shadow may be dropped without looking.
    lists: [AtomicU32; PAGES],
    objects: [AtomicU32; PAGES],
    /// Whether any granule of a page had such cells: only then is there something to drop.
    had_beside: [AtomicBool; PAGES],
    /// Who may change the granules of a region without a lock: see `alone`.
    owners: [AtomicU16; REGIONS],
    /// How often a region was taken away from its owner.
    taken: AtomicU32,
}

// Instrumented code that fetches cells computes where those beside are.
const _: () = assert!(std::mem::offset_of!(Chunk, beside) == 1 << (CHUNK_SHIFT + 1));

// The table; inline code looks here, too. It is there from the start, all zeros that cost nothing, so
// that nobody has to ask where it is or whether it is; and it is not for the Rust compiler to lay out.
global_asm!(
    ".section .bss.__racewarden_table,\"aw\",@nobits",
    ".globl __racewarden_table",
    ".hidden __racewarden_table",
    ".p2align 12",
    ".type __racewarden_table,@object",
    ".size __racewarden_table, {size}",
    "__racewarden_table:",
    ".zero {size}",
    ".text",
    size = const TABLE * 8,
);

unsafe extern "C" {
    #[link_name = "__racewarden_table"]
    static CHUNK_TABLE: [AtomicPtr<Chunk>; TABLE];
}

/// The table's entry for an address.
#[inline(always)]
fn entry(address: usize) -> &'static AtomicPtr<Chunk> {
    // SAFETY: the table is defined above, and a null pointer is a valid entry.
    unsafe { &CHUNK_TABLE[(address >> CHUNK_SHIFT) & (TABLE - 1)] }
}

/// How many chunks are mapped, for the memory figures of the report.
pub static CHUNKS: AtomicU64 = AtomicU64::new(0);

/// The cells of some granules of a chunk, one after the other.
#[inline(always)]
pub fn cells_of(chunk: &'static Chunk, range: std::ops::Range<usize>) -> &'static [[AtomicU64; 2]] {
    &chunk.cells[range]
}

/// One granule's place in its chunk.
#[derive(Clone, Copy)]
pub struct Granule {
    pub chunk: &'static Chunk,
    index: usize,
}

impl Granule {
    /// The newest access.
    #[inline(always)]
    pub fn first(&self) -> &'static AtomicU64 {
        &self.chunk.cells[self.index][0]
    }

    /// Another access, or where more are.
    #[inline(always)]
    pub fn second(&self) -> &'static AtomicU64 {
        &self.chunk.cells[self.index][1]
    }

    /// Room for two more cells, which belong to the granule when its first one is tagged.
    #[inline(always)]
    pub fn beside(&self) -> &'static [AtomicU64; 2] {
        &self.chunk.beside[self.index]
    }

    /// Whether the granule's page ever had cells there.
    #[inline(always)]
    pub fn had_beside(&self) -> &'static AtomicBool {
        &self.chunk.had_beside[self.index / PAGE_GRANULES]
    }

    /// Whether its two cells are not all.
    #[inline(always)]
    pub fn has_more(&self) -> bool {
        let cells = self.first().load(Ordering::Relaxed) | self.second().load(Ordering::Relaxed);
        cells & TAG != 0
    }

    /// The lock of the granule's group.
    #[inline(always)]
    pub fn lock(&self) -> &'static AtomicU64 {
        &self.chunk.cells[self.index & !(GROUP - 1)][1]
    }

    /// Where the granule's group says, by the lock's bit, that everyone may change it under its lock: what
    /// the owner of its region says as well, without another look.
    #[inline(always)]
    pub fn everyones(&self) -> &'static AtomicU64 {
        &self.chunk.cells[self.index & !(GROUP - 1) | 1][1]
    }

    #[inline(always)]
    pub fn is_everyones(&self) -> bool {
        self.everyones().load(Ordering::Relaxed) & LOCK != 0
    }

    /// The cells of this granule and those behind it in its chunk, so many in all.
    #[inline(always)]
    pub fn next(&self, count: usize) -> &'static [[AtomicU64; 2]] {
        &self.chunk.cells[self.index..self.index + count]
    }

    /// Whether the next granule shares the lock.
    #[inline(always)]
    pub fn is_grouped_with(&self, next: &Granule) -> bool {
        std::ptr::eq(self.chunk, next.chunk) && self.index / GROUP == next.index / GROUP
    }

    /// Whether one of the two is in this granule.
    #[inline(always)]
    pub fn has_bit(&self) -> bool {
        self.index % GROUP < 2
    }

    /// Whether its further cells are in a node or list.
    #[inline(always)]
    pub fn has_node(&self) -> bool {
        self.second().load(Ordering::Relaxed) & TAG != 0
    }

    /// Asks for the line that an access may need besides the two cells.
    #[inline(always)]
    pub fn fetch(&self) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        if self.first().load(Ordering::Relaxed) & TAG != 0 {
            // SAFETY: a hint, which reads nothing.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(self.beside().as_ptr().cast()) };
        }
    }

    /// The owner of the granule's region.
    #[inline(always)]
    pub fn owner(&self) -> &'static AtomicU16 {
        &self.chunk.owners[self.index / REGION_GRANULES]
    }

    /// Makes the granule's region the thread's own, or everyone's.
    #[cold]
    pub fn claim(&self) {
        // A thread that takes regions of a chunk away will come for their neighbours, too. Each time all
        // processors are interrupted, so in the end it takes half a thousand at once, 256 KiB of the program.
        let times = self.chunk.taken.fetch_add(1, Ordering::Relaxed).min(18);
        alone::claim(&self.chunk.owners[self.index / REGION_GRANULES..], 1 << (times / 2));
    }

    /// Its number in the chunk.
    pub fn index(&self) -> usize {
        self.index
    }

    /// How many nodes and lists the granule's page has.
    pub fn lists(&self) -> &'static AtomicU32 {
        &self.chunk.lists[self.index / PAGE_GRANULES]
    }

    /// How many synchronisation objects the granule's page has.
    pub fn objects(&self) -> &'static AtomicU32 {
        &self.chunk.objects[self.index / PAGE_GRANULES]
    }

    pub fn sync(&self) -> &'static AtomicU32 {
        &self.chunk.sync[self.index]
    }
}

/// The granule of an address whose shadow exists already.
#[inline(always)]
pub fn existing(address: usize) -> Option<Granule> {
    // SAFETY: chunks are mapped once and stay.
    let chunk = unsafe { entry(address).load(Ordering::Acquire).as_ref() }?;
    Some(Granule { chunk, index: (address >> 3) & (GRANULES - 1) })
}

/// The granule of an address, its chunk mapped if need be and if the memory cap allows it.
pub fn granule(address: usize) -> Option<Granule> {
    existing(address).or_else(|| {
        if !super::limit::allows_more() {
            return None;
        }
        map_chunk(address)?;
        existing(address)
    })
}

/// As [`granule`], whatever the cap says: an order that is not followed would be a false alarm.
pub fn granule_of_object(address: usize) -> Option<Granule> {
    existing(address).or_else(|| {
        map_chunk(address)?;
        existing(address)
    })
}

#[cold]
fn map_chunk(address: usize) -> Option<()> {
    let entry = entry(address);
    let fresh = raw_mmap(std::mem::size_of::<Chunk>());
    if fresh.is_null() {
        return None;
    }
    let null = std::ptr::null_mut();
    if entry.compare_exchange(null, fresh.cast(), Ordering::AcqRel, Ordering::Acquire).is_err() {
        // SAFETY: nobody has seen the mapping.
        unsafe { crate::common::real::raw_munmap(fresh, std::mem::size_of::<Chunk>()) };
    } else {
        CHUNKS.fetch_add(1, Ordering::Relaxed);
    }
    Some(())
}

/// Calls `part` for every piece of `[start, start + size)` that lies in one page of the program and
/// has shadow, with the chunk and the range of granule indices.
pub fn for_each_part(
    start: usize,
    size: usize,
    mut part: impl FnMut(&'static Chunk, std::ops::Range<usize>),
) {
    let end = start.saturating_add(size);
    let mut at = start & !7;
    while at < end {
        let Some(granule) = existing(at) else {
            at = ((at >> CHUNK_SHIFT) + 1) << CHUNK_SHIFT;
            continue;
        };
        let page_end = (at & !4095) + 4096;
        let stop = page_end.min(end);
        part(granule.chunk, granule.index..granule.index + (stop - at).div_ceil(8));
        at = page_end;
    }
}

pub fn granule_at(chunk: &'static Chunk, index: usize) -> Granule {
    Granule { chunk, index }
}

/// Gives the records of whole pages of shadow back to the kernel. The caller made sure that there
/// are no lists there.
pub fn drop_pages(chunk: &'static Chunk, range: std::ops::Range<usize>) {
    let cells = &chunk.cells[range.clone()];
    zero(cells.as_ptr() as usize, std::mem::size_of_val(cells));
    let pages = range.start / PAGE_GRANULES..range.end.div_ceil(PAGE_GRANULES);
    // Without a tag nobody looks there, so this is about memory alone.
    let any = |any: bool, had: &AtomicBool| had.swap(false, Ordering::Relaxed) | any;
    if chunk.had_beside[pages].iter().fold(false, any) {
        super::seen::forget();
        let beside = &chunk.beside[range];
        zero(beside.as_ptr() as usize, std::mem::size_of_val(beside));
    }
}

fn zero(start: usize, size: usize) {
    let (end, page) = (start + size, 4095);
    let (first, last) = ((start + page) & !page, end & !page);
    // SAFETY: the range lies in a shadow chunk, whose zero state means "never accessed"; whole
    // pages are anonymous private memory that reads as zero after being dropped.
    unsafe {
        if first >= last {
            std::ptr::write_bytes(start as *mut u8, 0, size);
            return;
        }
        std::ptr::write_bytes(start as *mut u8, 0, first - start);
        std::ptr::write_bytes(last as *mut u8, 0, end - last);
        crate::common::futex::raw_syscall(
            libc::SYS_madvise,
            first,
            last - first,
            libc::MADV_DONTNEED as usize,
            0,
            0,
            0,
        );
    }
}
