//! Where a granule goes from the cells that it has, when an access comes.
//!
//! A cell may be forgotten when the new access makes it redundant: it covers the same bytes, conflicts
//! with everything the old one conflicts with, and is ordered after it. What the thread itself did in this
//! segment, and the new access does again to other bytes, becomes one cell with it.
//!
//! Accesses that get here wait for memory more than for anything else, and there are many of them: two
//! cells and four are dealt with apart from the rest, and what needs no change is not written.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

use super::cell::{self, BLOCK, BYTES, CLASS, EPOCH, IDENTITY, LOCK, WRITE};
use super::engine::Thread;
use super::granule::{self, Locked, MOST_CELLS, More};
use super::shadow::{ATOMIC, Granule, TAG};
use super::{repeat, segments};

/// Whether a granule's first cell already says what `new` would, so that nothing needs to be done.
#[inline(always)]
pub fn says(first: u64, new: u64) -> bool {
    let needed = EPOCH | new & (BYTES | WRITE) | (!new & ATOMIC);
    (first ^ (new & !ATOMIC)) & needed == 0
}

/// The bytes for which a cell already says what `new` would.
#[inline(always)]
fn said_by(cell: u64, new: u64) -> u64 {
    let needed = EPOCH | TAG | new & WRITE | (!new & ATOMIC);
    if (cell ^ (new & !ATOMIC)) & needed == 0 { cell & BYTES } else { 0 }
}

/// Whether these bytes are all of the access.
#[inline(always)]
fn is_all(said: u64, new: u64) -> bool {
    !said & new & BYTES == 0
}

/// Whether the granule's cells together say what `new` would. Needs no lock: a cell with the
/// thread's own epoch is only ever made by the thread itself, and goes only when the thread says
/// more, so it is enough that the node where it stands is still the granule's afterwards.
#[inline(always)]
pub fn is_said(granule: &Granule, new: u64) -> bool {
    let first = granule.first().load(Ordering::Acquire);
    let said = said_by(first & !TAG, new);
    if is_all(said, new) {
        return true;
    }
    let second = granule.second().load(Ordering::Acquire) & !LOCK;
    match More::of(second) {
        More::None => {
            let said = said | said_by(second, new);
            is_all(said, new)
                || first & TAG != 0 && is_all(said | said_beside(granule.beside(), new), new)
        }
        More::Node(node) | More::Shared(node) => {
            is_all(said | node.all_now(|cell| said_by(cell, new)), new)
                && granule.second().load(Ordering::Acquire) & !LOCK == second
        }
        More::List(_) => false,
    }
}

#[inline(always)]
fn said_beside(cells: &[AtomicU64; 2], new: u64) -> u64 {
    cells.iter().fold(0, |all, cell| all | said_by(cell.load(Ordering::Relaxed), new))
}

/// `cell` and `new` in one, when they differ in nothing but the bytes and where in the code they are.
#[inline(always)]
fn together(thread: &mut Thread, cell: u64, new: u64) -> Option<u64> {
    if (cell ^ new) & CLASS != 0 {
        return None;
    }
    if (cell ^ new) & IDENTITY == 0 || cell & !new & BYTES == 0 {
        return Some(new | cell & BYTES);
    }
    let site = thread.memo.joined(cell, new)?;
    Some(cell::with_site(new | cell & BYTES, site))
}

/// How much of each block is past, as far as the thread asked: what is past stays past.
pub type Pasts = [(u32, u32); PASTS];
pub const PASTS: usize = 16;

#[cold]
#[inline(never)]
fn is_found_past(thread: &mut Thread, cell: u64) -> bool {
    let (slot, time) = segments::slot_and_time(cell);
    let is_past = slot == thread.slot as usize || thread.clocks.weak.get(slot) >= time;
    if is_past {
        let block = cell::block_of(cell);
        thread.past[block % PASTS] = (block as u32, cell::number_of(cell) as u32);
    }
    is_past
}

/// Whether a cell is the thread's own or known to be ordered before now.
#[inline(always)]
fn is_past(thread: &mut Thread, cell: u64) -> bool {
    if (cell ^ thread.now) & BLOCK == 0 {
        return true;
    }
    is_known_past(&thread.past, cell) || is_found_past(thread, cell)
}

/// Whether a cell is known to be ordered before now without asking the clocks.
#[inline(always)]
pub fn is_known_past(past: &Pasts, cell: u64) -> bool {
    let block = cell::block_of(cell);
    let known = past[block % PASTS];
    known.0 as usize == block && cell::number_of(cell) <= u64::from(known.1)
}

/// Whether two accesses must be ordered.
#[inline(always)]
fn conflict(cell: u64, new: u64) -> bool {
    cell & new & BYTES != 0 && (cell | new) & WRITE != 0 && cell & new & ATOMIC == 0
}

/// What is left of a remembered cell (0: nothing) once `new` is remembered too, as part of `whole`.
/// `None` when they conflict and are not known to be ordered.
#[inline(always)]
fn rest_of(thread: &mut Thread, cell: u64, new: u64, whole: u64) -> Option<u64> {
    if cell & new & BYTES == 0 {
        return Some(cell);
    }
    if !is_past(thread, cell) {
        return (!conflict(cell, new)).then_some(cell);
    }
    let redundant = !new & cell & WRITE == 0 && new & ATOMIC & !cell == 0;
    if !redundant {
        return Some(cell);
    }
    let rest = cell & !(whole & BYTES);
    Some(if rest & BYTES == 0 { 0 } else { rest })
}

/// What becomes of two cells.
pub enum After {
    Two(u64, u64),
    Three(u64, u64, u64),
    Conflict,
}

/// Both cells are cells, and all that there is.
#[inline(always)]
pub fn two(thread: &mut Thread, first: u64, second: u64, new: u64) -> After {
    if is_all(said_by(first, new) | said_by(second, new), new) {
        return After::Two(first, second);
    }
    let (whole, first, second) = match together(thread, first, new) {
        Some(whole) => (whole, 0, second),
        None => match together(thread, second, new) {
            Some(whole) => (whole, first, 0),
            None => (new, first, second),
        },
    };
    let Some(first) = rest_of(thread, first, new, whole) else { return After::Conflict };
    let Some(second) = rest_of(thread, second, new, whole) else { return After::Conflict };
    match (first, second) {
        (0, other) | (other, 0) => After::Two(whole, other),
        (first, second) => After::Three(whole, first, second),
    }
}

/// The granule's next cells, under its lock, where [`repeat`](super::repeat) is not enough. Returns whether
/// the access is dealt with.
#[inline(always)]
pub fn advance(thread: &mut Thread, locked: &mut Locked, new: u64) -> bool {
    let (first, second) = (locked.first(), locked.second());
    if second & TAG != 0 {
        return match known(thread, first, second, new) {
            Some((first, second)) => {
                locked.set(first, second);
                true
            }
            None => many(thread, locked, new),
        };
    }
    if first & TAG != 0 {
        return four(thread, locked, new);
    }
    match two(thread, first, second, new) {
        After::Two(one, other) => {
            thread.memo.note((first, second, new), (one, other));
            locked.set(one, other);
        }
        After::Three(whole, one, other) => {
            grow(thread, locked, new, [whole, one, other]);
        }
        After::Conflict => return false,
    }
    true
}

/// Where a granule with a node that is not its own goes, when the thread has seen that before.
#[inline(always)]
fn known(thread: &mut Thread, first: u64, second: u64, new: u64) -> Option<(u64, u64)> {
    if first & TAG != 0 || granule::is_owned(second) {
        return None;
    }
    let entry = thread.memo.entry(first, second, new);
    entry.known.then_some(entry.result)
}

/// As [`advance`], for what neighbours with the same cells do as well: their next two.
#[inline(always)]
pub fn next(thread: &mut Thread, (first, second): (u64, u64), new: u64) -> Option<(u64, u64)> {
    if (first | second) & TAG == 0
        && let After::Two(first, second) = two(thread, first, second, new)
    {
        return Some((first, second));
    }
    known(thread, first, second, new)
}

/// A third cell: in a node that is shared by all granules with these cells when there are many, and
/// beside otherwise.
#[inline(never)]
fn grow(thread: &mut Thread, locked: &mut Locked, new: u64, [whole, one, other]: [u64; 3]) {
    let (first, second) = (locked.first(), locked.second());
    let entry = thread.memo.entry(first, second, new);
    if entry.known {
        let result = entry.result;
        thread.memo.note((first, second, new), result);
        return locked.set(result.0, result.1);
    }
    // Another thread that is about as far will come again, and finds its own cell where it looks first.
    let shared = match is_past(thread, one) {
        true => thread.memo.shared(&[one, other]),
        false => None,
    };
    let Some(shared) = shared else { return locked.set_beside(whole, one, &[other]) };
    let entry = thread.memo.entry(first, second, new);
    (entry.result, entry.known) = ((whole, shared), true);
    locked.set(whole, shared);
}

/// Whether the cells together say what `new` would.
#[inline(always)]
fn is_said_among(thread: &Thread, cells: impl Iterator<Item = u64>, new: u64) -> bool {
    let is_said = is_all(cells.fold(0, |all, cell| all | said_by(cell, new)), new);
    if is_said {
        thread.looks.paid();
    }
    is_said
}

/// Two cells, and up to two beside.
#[inline(never)]
fn four(thread: &mut Thread, locked: &mut Locked, new: u64) -> bool {
    let first = locked.first() & !TAG;
    let [third, fourth] = locked.beside();
    let mut cells = [first, locked.second(), third, fourth];
    if is_said_among(thread, cells.into_iter(), new) {
        return true;
    }
    let mut whole = new;
    let mut from = cells.len();
    for (at, cell) in cells.iter_mut().enumerate() {
        if let Some(both) = together(thread, *cell, new) {
            (whole, from, *cell) = (both, at, 0);
            break;
        }
    }
    let mut kept = [0; 4];
    let mut count = 0;
    for cell in cells {
        let Some(rest) = rest_of(thread, cell, new, whole) else { return false };
        kept[count] = rest;
        count += usize::from(rest != 0);
    }
    // The common case: the newest cell has some bytes more, and those beside may keep theirs for now.
    if from == 0 && count == cells.iter().filter(|cell| **cell != 0).count() {
        locked.set(whole | TAG, kept[0]);
        return true;
    }
    locked.set_many(whole, &kept[..count])
}

/// Any number of cells.
#[inline(never)]
fn many(thread: &mut Thread, locked: &mut Locked, new: u64) -> bool {
    let (first, second) = (locked.first(), locked.second());
    let node;
    let more: &[u64] = match More::of(second) {
        More::None => return false,
        More::Node(found) | More::Shared(found) => {
            node = found;
            node.cells()
        }
        More::List(_) => return false,
    };
    if granule::is_owned(second)
        && let Some(old) = repeat::in_node(&thread.past, locked, node, new)
    {
        // Within the segment, a look before the lock was taken would have found it.
        if (old ^ new) & EPOCH == 0 {
            thread.looks.paid();
        }
        return true;
    }
    let cells = [first].into_iter().chain(more.iter().copied());
    if is_said_among(thread, cells, new) {
        if new & ATOMIC == 0 {
            thread.seen.note(locked.granule(), new & (EPOCH | BYTES | WRITE));
        }
        return true;
    }
    let mut joined = None;
    for (at, cell) in [first].iter().chain(more).enumerate() {
        if let Some(whole) = together(thread, *cell, new) {
            joined = Some((at, whole));
            break;
        }
    }
    let (taken, whole) = joined.unwrap_or((usize::MAX, new));
    let mut kept = [const { MaybeUninit::<u64>::uninit() }; MOST_CELLS + 1];
    let mut count = 0;
    for (at, cell) in [first].iter().chain(more).enumerate() {
        if at == taken {
            continue;
        }
        match rest_of(thread, *cell, new, whole) {
            Some(0) => {}
            Some(cell) => {
                kept[count].write(cell);
                count += 1;
            }
            None => return false,
        }
    }
    // SAFETY: the first `count` were written just now.
    let kept = unsafe { std::slice::from_raw_parts(kept.as_ptr().cast::<u64>(), count) };
    if count > MOST_CELLS {
        return false;
    }
    let shared = if count > 1 { thread.memo.shared(kept) } else { None };
    let after = match (shared, kept) {
        (Some(shared), _) => Some((whole, shared)),
        (None, []) => Some((whole, 0)),
        (None, [one]) => Some((whole, *one)),
        _ => None,
    };
    let Some((next, behind)) = after else { return locked.set_many(whole, kept) };
    if !granule::is_owned(second) {
        // As it will be for the neighbours.
        let entry = thread.memo.entry(first, second, new);
        (entry.result, entry.known) = ((next, behind), true);
    }
    locked.set_shared(next, behind);
    true
}
