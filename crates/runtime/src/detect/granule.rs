//! A granule under its lock: the cells it holds, inline or in a node or list.
//!
//! Two cells are inline: the newest access first, where the fast path looks, and the one before it.
//! Two more stand beside, at a place that the address alone tells: nodes for tables of small numbers, which
//! many places of the code read and write, would fill memory. More make the second one point to a node of
//! up to 63 cells, or to a list of any length in the wide form. A node belongs to its granule, or is
//! shared by many that remember the same; a shared one never changes and is never freed, so it may be
//! read without the lock.
//!
//! A thread that alone has changed a region of them takes no lock there, see `alone`. Elsewhere
//! one lock serves four granules, one cache line of shadow: a sweep over memory takes one atomic
//! operation for 32 bytes. It is a bit of that line, which the fast path does not look at.

use std::alloc::{Layout, alloc, dealloc};
use std::arch::asm;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use super::alone;
use super::cell::{LOCK, Record, TAG};
use super::seen;
use super::shadow::{self, Chunk, Granule, REGION_GRANULES};

/// Set in the child of a fork: a granule's lock may belong to a thread that is not there.
pub static FORKED: AtomicBool = AtomicBool::new(false);

/// Granules under one lock.
pub const GROUP: usize = 4;

/// Sets the lock's bit; whether it was set. One instruction, which the compiler makes a loop of.
#[inline(always)]
fn set(word: &AtomicU64) -> bool {
    let was: u8;
    // SAFETY: an atomic update of a live word.
    unsafe {
        asm!(
            "lock bts qword ptr [{word}], {bit}",
            "setc {was}",
            word = in(reg) word.as_ptr(),
            bit = const LOCK.ilog2(),
            was = out(reg_byte) was,
            options(nostack)
        );
    }
    was != 0
}

#[inline]
fn lock(word: &AtomicU64) {
    if set(word) {
        wait(word);
    }
}

#[cold]
fn wait(word: &AtomicU64) {
    let mut spins = 0u32;
    while word.load(Ordering::Relaxed) & LOCK != 0 || set(word) {
        spins += 1;
        if spins < 64 {
            std::hint::spin_loop();
        } else {
            super::engine::yield_now();
            // Each turn lets the holder run, if it is there; beside busy processes a turn takes milliseconds.
            if spins > 200 && FORKED.load(Ordering::Relaxed) {
                return;
            }
        }
    }
}

/// A granule whose group nobody else changes, until dropped.
pub struct Locked {
    granule: Granule,
    /// Whether the thread owns the region and needs no lock.
    alone: bool,
}

impl Locked {
    #[inline(always)]
    pub fn new(granule: Granule) -> Locked {
        if granule.is_everyones() {
            lock(granule.lock());
            // Meanwhile the memory may have become new, and somebody's own.
            if granule.is_everyones() {
                return Locked { granule, alone: false };
            }
            unlock(granule.lock());
        }
        match alone::enter(granule.owner()) {
            true => Locked { granule, alone: true },
            false => Locked::of_others(granule),
        }
    }

    #[cold]
    #[inline(never)]
    fn of_others(granule: Granule) -> Locked {
        loop {
            if alone::is_everyones(granule.owner()) {
                lock(granule.lock());
                if alone::is_everyones(granule.owner()) {
                    // From now on the group says so itself.
                    let mark = granule.everyones();
                    mark.store(mark.load(Ordering::Relaxed) | LOCK, Ordering::Release);
                    return Locked { granule, alone: false };
                }
                unlock(granule.lock());
            }
            granule.claim();
            if alone::enter(granule.owner()) {
                return Locked { granule, alone: true };
            }
        }
    }

    #[inline(always)]
    pub fn first(&self) -> u64 {
        self.granule.first().load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub fn second(&self) -> u64 {
        self.granule.second().load(Ordering::Relaxed) & !LOCK
    }

    #[inline(always)]
    pub fn set(&mut self, first: u64, second: u64) {
        // Of its group's four, the first has the lock's bit and the second says that there is one.
        let lock = if self.granule.has_bit() && !self.alone { LOCK } else { 0 };
        // Shared nodes are read without the lock, and so are the cells beside.
        self.granule.second().store(second | lock, Ordering::Release);
        self.granule.first().store(first, Ordering::Release);
    }

    #[inline(always)]
    pub fn granule(&self) -> Granule {
        self.granule
    }

    /// Goes on with another granule of the same group.
    #[inline(always)]
    pub fn turn_to(&mut self, granule: Granule) {
        debug_assert!(std::ptr::eq(self.granule.lock(), granule.lock()));
        self.granule = granule;
    }

    /// Goes on with another granule of the same region when the thread is alone there, and of the same group otherwise.
    fn turn_within(&mut self, granule: Granule) {
        debug_assert!(match self.alone {
            true => std::ptr::eq(self.granule.owner(), granule.owner()),
            false => std::ptr::eq(self.granule.lock(), granule.lock()),
        });
        self.granule = granule;
    }

    /// Forgets everything but this cell.
    #[inline(always)]
    fn renew(&mut self, cell: u64) {
        if self.granule.has_more() {
            seen::forget();
            if is_owned(self.second()) {
                self.replace(&[]);
            }
        }
        self.set(cell, 0);
    }

    /// Brings groups, the first of which starts with this granule, from one pair of cells to another, as long as all
    /// of their granules have that pair: this group alone under its lock, and all of the region where the thread is
    /// alone. Returns how many granules that was, of so many at the most.
    #[inline(always)]
    pub fn set_groups_if(&mut self, before: (u64, u64), after: (u64, u64), most: usize) -> usize {
        let bit = if self.alone { 0 } else { LOCK };
        let first = self.granule.index();
        let room = if self.alone { REGION_GRANULES - first % REGION_GRANULES } else { GROUP };
        let (groups, _) = self.granule.next(room.min(most)).as_chunks::<GROUP>();
        let mut done = 0;
        for cells in groups {
            // The lock's bits stand in the first and second granule, and do not count.
            let odd = cells.iter().fold(0, |odd, [first, second]| {
                odd | first.load(Ordering::Relaxed) ^ before.0
                    | (second.load(Ordering::Relaxed) ^ before.1) & !LOCK
            });
            if odd != 0 {
                break;
            }
            for (at, [first, second]) in cells.iter().enumerate() {
                second.store(after.1 | if at < 2 { bit } else { 0 }, Ordering::Release);
                first.store(after.0, Ordering::Release);
            }
            done += GROUP;
        }
        done
    }

    /// The cells beside, which are the granule's when its first one is tagged.
    #[inline(always)]
    pub fn beside(&self) -> [u64; 2] {
        self.granule.beside().each_ref().map(|cell| cell.load(Ordering::Relaxed))
    }

    /// Puts two or three cells behind the new first one, without a node.
    pub fn set_beside(&mut self, first: u64, second: u64, more: &[u64]) {
        let cells = self.granule.beside();
        cells[0].store(more.first().copied().unwrap_or(0), Ordering::Relaxed);
        cells[1].store(more.get(1).copied().unwrap_or(0), Ordering::Relaxed);
        let had = self.granule.had_beside();
        if !had.load(Ordering::Relaxed) {
            had.store(true, Ordering::Relaxed);
        }
        self.set(first | TAG, second);
    }

    /// All that is remembered, in the wide form.
    pub fn records(&self) -> Vec<Record> {
        let (first, second) = (self.first(), self.second());
        let mut records = Vec::with_capacity(8);
        let mut add = |cell: u64| {
            if cell != 0 {
                records.extend(Record::of_cell(cell));
            }
        };
        add(first);
        if first & TAG != 0 {
            self.beside().into_iter().for_each(&mut add);
        }
        match More::of(second) {
            More::None => add(second),
            More::Node(node) | More::Shared(node) => {
                node.cells().iter().for_each(|cell| add(*cell));
            }
            // SAFETY: the lock is held, so the list is ours.
            More::List(list) => records.extend_from_slice(unsafe { &*list }),
        }
        records
    }

    /// Remembers these instead, the newest last, in the smallest form that holds them.
    pub fn replace(&mut self, records: &[Record]) {
        let old = self.second();
        let had = is_owned(old);
        drop_more(old);
        let mut cells = [0; MOST_CELLS + 1];
        let fits = records.len() <= cells.len()
            && records.iter().rev().zip(&mut cells).all(|(record, cell)| match record.to_cell() {
                Some(value) => {
                    *cell = value;
                    true
                }
                None => false,
            });
        let cells = &cells[..if fits { records.len() } else { 0 }];
        let (first, second) = match cells {
            [] if records.is_empty() => (0, 0),
            [] => (0, word_of_list(records)),
            [first] => (*first, 0),
            [first, second] => (*first, *second),
            [first, second, more @ ..] if more.len() <= 2 => {
                self.count(had, false);
                return self.set_beside(*first, *second, more);
            }
            [first, rest @ ..] => (
                *first,
                Node::with(rest)
                    .map_or_else(|| word_of_list(&records[..records.len() - 1]), Node::word),
            ),
        };
        self.count(had, is_owned(second));
        self.set(first, second);
    }

    /// Puts a shared node behind the new first cell.
    pub fn set_shared(&mut self, first: u64, shared: u64) {
        let old = self.second();
        drop_more(old);
        self.count(is_owned(old), false);
        self.set(first, shared);
    }

    /// Puts `kept` behind the new first cell, in the old node when there is one.
    pub fn set_many(&mut self, first: u64, kept: &[u64]) -> bool {
        let old = self.second();
        let had = is_owned(old);
        let second = match (kept, More::of(old)) {
            ([], _) => 0,
            ([cell], _) => *cell,
            (_, More::Node(node)) if node.fill(kept) => {
                self.set(first, old);
                return true;
            }
            ([second, more @ ..], _) if more.len() <= 2 => {
                drop_more(old);
                self.count(had, false);
                self.set_beside(first, *second, more);
                return true;
            }
            _ => match Node::with(kept) {
                Some(node) => node.word(),
                None => return false,
            },
        };
        drop_more(old);
        self.count(had, is_owned(second));
        self.set(first, second);
        true
    }

    /// Keeps the page's count of nodes and lists.
    fn count(&self, before: bool, after: bool) {
        if before != after {
            let lists = self.granule.lists();
            lists.fetch_add(if after { 1 } else { 1u32.wrapping_neg() }, Ordering::Relaxed);
        }
    }
}

impl Drop for Locked {
    #[inline(always)]
    fn drop(&mut self) {
        match self.alone {
            true => alone::leave(),
            false => unlock(self.granule.lock()),
        }
    }
}

#[inline(always)]
fn unlock(word: &AtomicU64) {
    // Nobody else changes it meanwhile: whoever waits sets the bit that is set.
    word.store(word.load(Ordering::Relaxed) & !LOCK, Ordering::Release);
}

/// As [`Locked`], for whoever gives up when there is somebody to wait for. It does not end by itself: what ends
/// by itself, the compiler ends by a call.
#[derive(Clone, Copy)]
pub struct Quick {
    alone: bool,
}

impl Quick {
    #[inline(always)]
    pub fn begin(granule: Granule) -> Option<Quick> {
        if !granule.is_everyones() {
            return alone::enter(granule.owner()).then_some(Quick { alone: true });
        }
        if set(granule.lock()) {
            return None;
        }
        if granule.is_everyones() {
            return Some(Quick { alone: false });
        }
        unlock(granule.lock());
        None
    }

    /// Changes a granule of the group.
    #[inline(always)]
    pub fn set(self, granule: Granule, first: u64, second: u64) {
        let lock = if granule.has_bit() && !self.alone { LOCK } else { 0 };
        granule.second().store(second | lock, Ordering::Release);
        granule.first().store(first, Ordering::Release);
    }

    #[inline(always)]
    pub fn end(self, granule: Granule) {
        match self.alone {
            true => alone::leave(),
            false => unlock(granule.lock()),
        }
    }
}

/// What the second cell says.
pub enum More {
    /// It is a cell itself, or empty.
    None,
    Node(Node),
    /// A node that other granules point to as well.
    Shared(Node),
    List(*mut Vec<Record>),
}

/// Beside the tag: the address is that of a list.
const IS_LIST: u64 = 1 << 8;
/// Beside the tag: the address is that of a shared node.
const IS_SHARED: u64 = 1 << 10;
const ADDRESS_SHIFT: u32 = 12;

impl More {
    #[inline(always)]
    pub fn of(second: u64) -> More {
        let address = second >> ADDRESS_SHIFT;
        let node = Node { at: address as *mut u64 };
        match second & (TAG | IS_LIST | IS_SHARED) {
            TAG => More::Node(node),
            word if word & TAG == 0 => More::None,
            word if word & IS_SHARED != 0 => More::Shared(node),
            _ => More::List(address as *mut Vec<Record>),
        }
    }
}

/// Whether the second cell points to what this granule alone has.
#[inline(always)]
pub fn is_owned(second: u64) -> bool {
    second & (TAG | IS_SHARED) == TAG
}

/// Shared nodes that may still be made: at most 64 MiB of them.
static SHARES_LEFT: AtomicUsize = AtomicUsize::new(1 << 20);

/// The word for a new shared node, unless there are too many already.
pub fn share(cells: &[u64]) -> Option<u64> {
    let one_less = |left: usize| left.checked_sub(1);
    SHARES_LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).ok()?;
    Node::with(cells).map(|node| node.word() | IS_SHARED)
}

fn word_of_list(records: &[Record]) -> u64 {
    let list = Box::into_raw(Box::new(records.to_vec()));
    (list as u64) << ADDRESS_SHIFT | TAG | IS_LIST
}

/// Whether the shared node of this word has exactly these cells.
pub fn holds(shared: u64, cells: &[u64]) -> bool {
    matches!(More::of(shared), More::Shared(node) if node.cells() == cells)
}

/// Frees what the second cell points to.
fn drop_more(second: u64) {
    match More::of(second) {
        More::None | More::Shared(_) => {}
        More::Node(node) => node.free(),
        // SAFETY: made by `word_of_list`, and the caller takes the only reference away.
        More::List(list) => drop(unsafe { Box::from_raw(list) }),
    }
}

/// A block of cells: how many are used and how many there is room for, then the cells.
#[derive(Clone, Copy)]
pub struct Node {
    at: *mut u64,
}

/// The most cells a node holds.
pub const MOST_CELLS: usize = 63;

impl Node {
    /// A node of the smallest fitting size: 8, 16, 32 or 64 words.
    fn with(cells: &[u64]) -> Option<Node> {
        if cells.len() > MOST_CELLS {
            return None;
        }
        let words = (cells.len() + 1).next_power_of_two().max(8);
        // SAFETY: the size is not zero, and the layout has room for the header.
        let at = unsafe { alloc(Self::layout(words)) }.cast::<u64>();
        if at.is_null() {
            return None;
        }
        // SAFETY: just allocated.
        unsafe { at.write((words as u64 - 1) << 32) };
        let node = Node { at };
        node.fill(cells);
        Some(node)
    }

    fn layout(words: usize) -> Layout {
        // A power of two of words between 8 and 64 is a valid layout.
        Layout::from_size_align(words * 8, 64).unwrap_or(Layout::new::<[u64; 64]>())
    }

    fn word(self) -> u64 {
        (self.at as u64) << ADDRESS_SHIFT | TAG
    }

    fn header(self) -> u64 {
        // SAFETY: a node starts with its header.
        unsafe { self.at.read() }
    }

    #[inline(always)]
    pub fn cells(&self) -> &[u64] {
        let length = self.header() as u32 as usize;
        // SAFETY: that many cells were written, and the group's lock is held.
        unsafe { std::slice::from_raw_parts(self.at.add(1), length) }
    }

    /// What `of` finds in the cells taken together, for readers without the lock: what they see may
    /// be going, so they must look again at where they found the node.
    #[inline(always)]
    pub fn all_now(self, of: impl Fn(u64) -> u64) -> u64 {
        // SAFETY: a node's memory stays mapped and is only touched as atomic words.
        let word = |index: usize| unsafe { AtomicU64::from_ptr(self.at.add(index)) };
        let length = word(0).load(Ordering::Relaxed) as u32 as usize;
        let found = |index: usize| of(word(index).load(Ordering::Relaxed));
        (1..=length.min(MOST_CELLS)).fold(0, |all, index| all | found(index))
    }

    /// Replaces the cells when there is room for them.
    fn fill(self, cells: &[u64]) -> bool {
        let header = self.header();
        if cells.len() > (header >> 32) as usize {
            return false;
        }
        for (index, cell) in cells.iter().enumerate() {
            // SAFETY: below the capacity.
            unsafe { AtomicU64::from_ptr(self.at.add(1 + index)) }.store(*cell, Ordering::Relaxed);
        }
        let header = header >> 32 << 32 | cells.len() as u64;
        // SAFETY: the header is ours to write under the lock.
        unsafe { AtomicU64::from_ptr(self.at) }.store(header, Ordering::Release);
        true
    }

    /// Replaces one cell; only whoever holds the granule's lock may, and only in a node of its own.
    #[inline(always)]
    pub fn set(self, at: usize, cell: u64) {
        debug_assert!(at < self.cells().len());
        // SAFETY: one of the cells that are used.
        unsafe { AtomicU64::from_ptr(self.at.add(1 + at)) }.store(cell, Ordering::Relaxed);
    }

    fn free(self) {
        let words = (self.header() >> 32) as usize + 1;
        // SAFETY: allocated with this layout by `with`.
        unsafe { dealloc(self.at.cast(), Self::layout(words)) };
    }
}

/// Forgets everything about some granules of one group.
pub fn forget(granules: impl Iterator<Item = Granule>) {
    let mut locked: Option<Locked> = None;
    for granule in granules {
        let cells = granule.first().load(Ordering::Relaxed)
            | granule.second().load(Ordering::Relaxed) & !LOCK;
        if cells == 0 {
            continue;
        }
        if granule.has_more() {
            seen::forget();
        }
        let locked = locked.get_or_insert_with(|| Locked::new(granule));
        locked.turn_to(granule);
        // Without a node or list of its own there is nothing to give back.
        match is_owned(locked.second()) {
            true => locked.replace(&[]),
            false => locked.set(0, 0),
        }
    }
}

/// Forgets everything about granules of one page, which are new memory, but for this cell.
pub fn renew(chunk: &'static Chunk, range: std::ops::Range<usize>, cell: u64) {
    let mut at = range.start;
    while at < range.end {
        let end = ((at / REGION_GRANULES + 1) * REGION_GRANULES).min(range.end);
        let granule = shadow::granule_at(chunk, at);
        let mut locked = Locked { granule, alone: true };
        let renew = |locked: &mut Locked, part: std::ops::Range<usize>| {
            for index in part {
                locked.turn_within(shadow::granule_at(chunk, index));
                locked.renew(cell);
            }
        };
        if alone::enter(granule.owner()) {
            renew(&mut locked, at..end);
            drop(locked);
        } else if alone::visit(granule.owner()) {
            // Nobody's it stays: whoever uses the memory may be another thread.
            renew(&mut locked, at..end);
            std::mem::forget(locked);
            alone::end_visit(granule.owner());
        } else {
            std::mem::forget(locked);
            for start in (at / GROUP * GROUP..end).step_by(GROUP) {
                let mut locked = Locked::new(shadow::granule_at(chunk, start));
                renew(&mut locked, start.max(at)..(start + GROUP).min(end));
            }
        }
        at = end;
    }
}

/// Regions that lie in the range as a whole have no owner any more: their memory is new, and whoever touches it
/// first may be the only one.
pub fn give_back(chunk: &'static Chunk, range: std::ops::Range<usize>) {
    let first = range.start.next_multiple_of(REGION_GRANULES);
    for start in (first..range.end).step_by(REGION_GRANULES) {
        let region = shadow::granule_at(chunk, start);
        if start + REGION_GRANULES > range.end || !alone::is_everyones(region.owner()) {
            continue;
        }
        let groups = (start..start + REGION_GRANULES).step_by(GROUP);
        let locks = groups.clone().map(|at| shadow::granule_at(chunk, at).lock());
        locks.clone().for_each(lock);
        alone::give_back(region.owner());
        for at in groups {
            unlock(shadow::granule_at(chunk, at).everyones());
        }
        locks.for_each(unlock);
    }
}
