//! The short way for accesses that are new to their segment, tried before the middle path.
//!
//! Most of them do one of two things. Either they do again what the thread did in an earlier segment, to
//! granules that nobody else touched since: programs that take locks all the time. Or they bring granules from
//! one pair of cells to another as they did with their neighbours just before: array code. Neither needs
//! a comparison with clocks, so what is left is to name the site and to store one or two words where nobody
//! interferes. The middle path, which answers everything, takes several times the instructions, and the fewer they
//! are, the sooner the processor looks ahead to the next access whose shadow is far away. So what is
//! here is written for the instructions that it becomes: no loop, no call, hardly a branch that is taken.
//!
//! Only accesses to whole granules come here. Smaller ones find more and other cells (tables of small numbers,
//! text that is read at every offset): they try in vain so often that it was measured to cost what it saves.
//!
//! Nothing is decided here that the middle path would decide otherwise:
//! - what was the thread's own stays ordered before all that it does, so an earlier deed of its own gives way to
//!   the same deed now. Where cells are there that may be somebody else's, they are judged elsewhere;
//! - what two cells and an access lead to was found by the middle path in the same segment (see `memo`).

use std::sync::atomic::Ordering;

use super::cell::{self, ATOMIC, BLOCK, BYTES, DEED, LOCK, TAG, WRITE};
use super::engine::Thread;
use super::granule::Quick;
use super::shadow::Granule;

/// Granules of one group that an access covers, each with its cell, locks and site left out.
pub type Parts<const N: usize> = [(Granule, u64); N];

#[inline(always)]
fn cells_of(granule: Granule) -> (u64, u64) {
    (granule.first().load(Ordering::Relaxed), granule.second().load(Ordering::Relaxed) & !LOCK)
}

/// What becomes of the two cells of a granule when both are of the thread's present block, or there is one, and
/// one of them is of the same deed.
#[inline(always)]
pub fn again((first, second): (u64, u64), new: u64) -> Option<(u64, u64)> {
    let (one, other) = (first ^ new, second ^ new);
    let is_own = |differs: u64| differs & (BLOCK | TAG) == 0;
    if one & (BLOCK | DEED | TAG) == 0 && (second == 0 || is_own(other)) {
        return Some((new, rest_of(second, new)));
    }
    (other & (BLOCK | DEED | TAG) == 0 && is_own(one)).then(|| (new, rest_of(first, new)))
}

/// What is left of another cell of the thread's own: two cells that say the same leave no room for a third.
#[inline(always)]
fn rest_of(own: u64, new: u64) -> u64 {
    let rest = own & !(new & BYTES);
    if own & !new & WRITE | new & !own & ATOMIC != 0 {
        own
    } else if rest & BYTES == 0 {
        0
    } else {
        rest
    }
}

/// What becomes of the two cells of a granule.
#[inline(always)]
fn after(thread: &Thread, before: (u64, u64), new: u64) -> Option<(u64, u64)> {
    if let Some(after) = again(before, new) {
        return Some(after);
    }
    let (first, second) = before;
    if let Some(known) = thread.memo.recent(first, second, new) {
        return Some(known);
    }
    after_earlier_blocks(thread, first, second, new)
}

/// Whether a cell is one of the thread's own, or none.
#[inline(always)]
fn is_own(thread: &Thread, cell: u64) -> bool {
    cell == 0 || cell & TAG == 0 && thread.has_block(cell::block_of(cell))
}

/// As [`after`], for deeds so long ago that the thread has another block by now.
#[inline(never)]
fn after_earlier_blocks(thread: &Thread, first: u64, second: u64, new: u64) -> Option<(u64, u64)> {
    if !is_own(thread, first) || !is_own(thread, second) {
        None
    } else if (first ^ new) & DEED == 0 {
        Some((new, rest_of(second, new)))
    } else if (second ^ new) & DEED == 0 {
        Some((new, rest_of(first, new)))
    } else {
        None
    }
}

/// Whether the short way may do for granules: none has more than two cells.
#[inline(always)]
pub fn may_do<const N: usize>(parts: &Parts<N>) -> bool {
    parts.iter().all(|(granule, _)| !granule.has_more())
}

/// Remembers the access when that takes no judgement, all granules being ones that it [`may_do`] for.
/// Returns whether it did.
#[inline(always)]
pub fn step<const N: usize>(thread: &Thread, parts: Parts<N>, rest: u64) -> bool {
    let mut before = [(0, 0); N];
    let mut results = [(0, 0); N];
    for at in 0..N {
        let (granule, new) = parts[at];
        before[at] = cells_of(granule);
        let Some(result) = after(thread, before[at], new | rest) else { return false };
        results[at] = result;
    }
    let group = parts[0].0;
    let Some(quick) = Quick::begin(group) else { return false };
    let mut done = true;
    for at in 0..N {
        let granule = parts[at].0;
        // When somebody came in between, what is stored already is right all the same.
        done = done && cells_of(granule) == before[at];
        if done {
            quick.set(granule, results[at].0, results[at].1);
        }
    }
    quick.end(group);
    done
}
