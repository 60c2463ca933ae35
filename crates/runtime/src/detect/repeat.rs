//! An access that does what the thread did before, to the same bytes, in an earlier segment.
//!
//! Programs that take locks all the time end a segment with each release, and most of what they do in the
//! next one they did in the one before, to memory that nobody else touched since or that all only read.
//! Then the new cell takes the place of the old one, and nothing else changes. Whether it is so, is told here
//! from up to four cells at once, without a branch for each and without a call: what ends here costs a third
//! of the instructions that [`step::advance`](super::step::advance) takes for the same.
//!
//! Nothing is decided here that would be decided otherwise there: an earlier deed of its own gives way to the
//! same deed now, as long as every other cell is one that may stand beside the new one.

use std::arch::x86_64::{
    __m128i, _mm_and_si128, _mm_andnot_si128, _mm_castps_si128, _mm_castsi128_ps, _mm_cmpeq_epi32,
    _mm_loadu_si128, _mm_movemask_ps, _mm_set1_epi32, _mm_setzero_si128, _mm_shuffle_ps,
    _mm_slli_epi32, _mm_xor_si128,
};
use std::sync::atomic::Ordering;

use super::cell::{BLOCK, BYTES, DEED, EPOCH, LOCK, WRITE};
use super::engine::Thread;
use super::granule::{More, Node};
use super::lean;
use super::shadow::{Granule, TAG};
use super::step::{Pasts, is_known_past};

/// Everything that is looked at of four cells stands in their lower halves.
const _: () = assert!((BLOCK | DEED | TAG) >> 32 == 0);

/// Remembers an access to a granule that nobody else changes meanwhile, when it is one that the thread made
/// before or the first of all, and no node is needed for it. `alone` says whether that is so without the granule's lock. Returns whether
/// the access is dealt with.
#[inline(always)]
pub fn repeat(thread: &Thread, granule: Granule, alone: bool, new: u64) -> bool {
    let first = granule.first().load(Ordering::Relaxed);
    let locked = granule.second().load(Ordering::Relaxed);
    let second = locked & !LOCK;
    if (first | second) & TAG == 0 {
        let after = if first == 0 { Some((new, 0)) } else { lean::again((first, second), new) };
        let Some((one, other)) = after else { return false };
        let bit = if granule.has_bit() && !alone { LOCK } else { 0 };
        granule.second().store(other | bit, Ordering::Release);
        granule.first().store(one, Ordering::Release);
        return true;
    }
    second & TAG == 0 && among_four(thread, granule, new)
}

/// As [`repeat`], for granules with a node.
#[inline(always)]
pub fn repeat_in_node(thread: &Thread, granule: Granule, new: u64) -> bool {
    let first = granule.first().load(Ordering::Relaxed);
    match More::of(granule.second().load(Ordering::Relaxed) & !LOCK) {
        More::Node(node) if first & TAG == 0 => in_node(thread, granule, node, new),
        _ => false,
    }
}

/// What four cells say about an access: in which the same deed is, and which stand in its way unless they are
/// known to be past; a bit each.
struct Four {
    same: u32,
    against: u32,
}

/// The lower halves of two pairs of cells.
///
/// # Safety
/// Both pairs are mapped, and nobody changes them.
#[inline(always)]
unsafe fn lower_halves(one: *const u64, other: *const u64) -> __m128i {
    // SAFETY: as the caller says; no alignment is asked for.
    unsafe {
        let one = _mm_castsi128_ps(_mm_loadu_si128(one.cast()));
        let other = _mm_castsi128_ps(_mm_loadu_si128(other.cast()));
        _mm_castps_si128(_mm_shuffle_ps::<0b10_00_10_00>(one, other))
    }
}

#[inline(always)]
fn look_at(low: __m128i, new: u64) -> Four {
    // SAFETY: instructions that every x86-64 processor has, on registers alone.
    unsafe {
        let all = |bits: u64| _mm_set1_epi32(bits as i32);
        let is_none = |of: __m128i| _mm_cmpeq_epi32(of, _mm_setzero_si128());
        let bits = |of: __m128i| _mm_movemask_ps(_mm_castsi128_ps(of)) as u32;
        let differs = _mm_xor_si128(low, all(new));
        let same = is_none(_mm_and_si128(differs, all(BLOCK | DEED)));
        let own = is_none(_mm_and_si128(differs, all(BLOCK)));
        let touched = _mm_and_si128(_mm_andnot_si128(own, low), all(new & BYTES));
        let mut against = !bits(is_none(touched)) & 0b1111;
        if new & WRITE == 0 {
            against &= bits(_mm_slli_epi32::<{ 31 - WRITE.ilog2() as i32 }>(low));
        }
        Four { same: bits(same), against }
    }
}

/// Whether all of these cells are known to be past.
#[inline(always)]
fn are_past(past: &Pasts, mut which: u32, cell: impl Fn(usize) -> u64) -> bool {
    while which != 0 {
        if !is_known_past(past, cell(which.trailing_zeros() as usize)) {
            return false;
        }
        which &= which - 1;
    }
    true
}

/// When the old deed is one of this segment, a look before the lock was taken would have found it.
#[inline(always)]
fn note_said(thread: &Thread, old: u64, new: u64) {
    if (old ^ new) & EPOCH == 0 {
        thread.looks.paid();
    }
}

/// Two cells, and up to two beside.
#[inline(always)]
fn among_four(thread: &Thread, granule: Granule, new: u64) -> bool {
    let place = |at: usize| match at {
        0 => granule.first(),
        1 => granule.second(),
        _ => &granule.beside()[at - 2],
    };
    let (cells, beside) = (granule.first().as_ptr(), granule.beside().as_ptr());
    // SAFETY: the second cell follows the first, and there are two beside.
    let four = look_at(unsafe { lower_halves(cells, beside.cast()) }, new);
    if four.same == 0
        || !are_past(&thread.past, four.against, |at| {
            place(at).load(Ordering::Relaxed) & !(LOCK | TAG)
        })
    {
        return false;
    }
    // It goes where the fast path looks, and what was there to its place.
    let at = four.same.trailing_zeros() as usize;
    let place = place(at);
    let old = place.load(Ordering::Relaxed);
    note_said(thread, old, new);
    let lock = old & if at == 1 { LOCK } else { 0 };
    place.store(granule.first().load(Ordering::Relaxed) & !TAG | lock, Ordering::Relaxed);
    granule.first().store(new | TAG, Ordering::Release);
    true
}

/// A cell, and those of a node that is the granule's own.
#[inline(always)]
fn in_node(thread: &Thread, granule: Granule, node: Node, new: u64) -> bool {
    let first = granule.first().load(Ordering::Relaxed);
    let cells = node.cells();
    let mut found = usize::MAX;
    let (fours, rest) = cells.as_chunks::<4>();
    for (number, four) in fours.iter().enumerate() {
        // SAFETY: four cells, of a node that nobody else changes.
        let seen = look_at(unsafe { lower_halves(four.as_ptr(), four.as_ptr().add(2)) }, new);
        if seen.same != 0 {
            found = number * 4 + seen.same.trailing_zeros() as usize;
        }
        if !are_past(&thread.past, seen.against, |at| four[at]) {
            return false;
        }
    }
    let is_settled = |cell: u64| {
        (cell ^ new) & BLOCK == 0
            || cell & new & BYTES == 0
            || (cell | new) & WRITE == 0
            || is_known_past(&thread.past, cell)
    };
    for (number, cell) in rest.iter().enumerate() {
        if (cell ^ new) & (BLOCK | DEED) == 0 {
            found = fours.len() * 4 + number;
        }
        if !is_settled(*cell) {
            return false;
        }
    }
    if (first ^ new) & (BLOCK | DEED) != 0 {
        if found == usize::MAX || !is_settled(first) {
            return false;
        }
        note_said(thread, cells[found], new);
        node.set(found, first);
    }
    granule.first().store(new, Ordering::Release);
    true
}
