//! A deed that a thread did before, in an earlier segment, where a granule's cells are in a node of its own.
//!
//! Small fields side by side, each read and written in segments of its own, and what many threads read, have
//! five cells and more. In programs that take locks all the time most accesses there are ones that the
//! thread made in an earlier segment, too: the new cell only has to take the place of the old one. Whether it
//! is so, is told from four cells at once. Where there are no more than four, this was measured not to pay: to
//! make one of the cells go away is worth more than to be quick.
//!
//! Nothing is decided here that [`step::advance`](super::step::advance) would decide otherwise: every other cell is one
//! that may stand beside the new one, and that says something still.

use std::arch::x86_64::{
    __m128i, _mm_and_si128, _mm_andnot_si128, _mm_castps_si128, _mm_castsi128_ps, _mm_cmpeq_epi32,
    _mm_loadu_si128, _mm_movemask_ps, _mm_set1_epi32, _mm_setzero_si128, _mm_shuffle_ps,
    _mm_slli_epi32, _mm_xor_si128,
};

use super::cell::{BLOCK, BYTES, DEED, WRITE};
use super::granule::{Locked, Node};
use super::shadow::TAG;
use super::step::{Pasts, is_known_past};

/// Everything that is looked at of four cells stands in their lower halves.
const _: () = assert!((BLOCK | DEED | TAG) >> 32 == 0);

/// What four cells say about an access, a bit each: in which the same deed is; which stand in its way unless they
/// are known to be past; and which say less or nothing once it is remembered.
struct Four {
    same: u32,
    against: u32,
    spent: u32,
}

/// The lower halves of four cells.
#[inline(always)]
fn lower_halves(cells: &[u64; 4]) -> __m128i {
    let (one, other) = (cells.as_ptr(), cells[2..].as_ptr());
    // SAFETY: there are two cells at each place, and no alignment is asked for.
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
        let others = _mm_and_si128(_mm_andnot_si128(same, low), all(new & BYTES));
        let touched = !bits(is_none(others)) & 0b1111;
        let (against, spent) = match new & WRITE {
            0 => {
                let own = bits(is_none(_mm_and_si128(differs, all(BLOCK))));
                let writes = bits(_mm_slli_epi32::<{ 31 - WRITE.ilog2() as i32 }>(low));
                (touched & writes & !own, touched & !writes & own)
            }
            _ => (0, touched),
        };
        Four { same: bits(same), against, spent }
    }
}

/// As [`look_at`] says of one cell that is not the same deed: whether it may stay as it is.
#[inline(always)]
fn may_stand(past: &Pasts, cell: u64, new: u64) -> bool {
    let is_own = (cell ^ new) & BLOCK == 0;
    match (cell & new & BYTES != 0, new & WRITE != 0, cell & WRITE != 0) {
        (false, _, _) => true,
        (true, true, _) => false,
        (true, false, true) => is_own || is_known_past(past, cell),
        (true, false, false) => !is_own,
    }
}

/// Remembers the access when the thread did the same before, and returns the cell that was in its place. The
/// granule's first cell and those of its own node are all that there is.
#[inline(always)]
pub fn in_node(past: &Pasts, locked: &mut Locked, node: Node, new: u64) -> Option<u64> {
    let is_same = |cell: u64| (cell ^ new) & (BLOCK | DEED) == 0;
    let (first, cells) = (locked.first(), node.cells());
    let mut found = None;
    let (fours, rest) = cells.as_chunks::<4>();
    for (number, four) in fours.iter().enumerate() {
        let mut seen = look_at(lower_halves(four), new);
        if seen.same != 0 {
            found = Some(number * 4 + seen.same.trailing_zeros() as usize);
        }
        if seen.spent != 0 {
            return None;
        }
        while seen.against != 0 {
            if !is_known_past(past, four[seen.against.trailing_zeros() as usize]) {
                return None;
            }
            seen.against &= seen.against - 1;
        }
    }
    for (number, cell) in rest.iter().enumerate() {
        if is_same(*cell) {
            found = Some(fours.len() * 4 + number);
        } else if !may_stand(past, *cell, new) {
            return None;
        }
    }
    let mut old = first;
    if !is_same(first) {
        // It goes where the fast path looks, and what was there to its place.
        let found = found.filter(|_| may_stand(past, first, new))?;
        old = cells[found];
        node.set(found, first);
    }
    locked.set(new, locked.second());
    Some(old)
}
