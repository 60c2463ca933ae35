//! The cone of a candidate: the events that any reordering must contain in which both accesses
//! are enabled next, as a number of events per thread.
//!
//! It starts from the clocks of the two accesses and grows by the releases of critical sections
//! that cannot stay open. Which ones those are depends on the freedom that locks are given:
//! [`Closing::Required`] closes only what every reordering must close, so a cone that swallows a
//! candidate's access rules the candidate out; [`Closing::ObservedOrder`] keeps the observed order
//! of critical sections, and its cone, in the observed order, is a witness.

use super::index::{Index, NONE};

/// Two accesses that may race; `first` comes first in the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Candidate {
    pub first: u32,
    pub second: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    Required,
    ObservedOrder,
}

/// The cone is impossible: it contains one of the accesses, or a section that never closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Impossible;

/// The cone of `candidate`, closed as `closing` asks.
pub fn cone(index: &Index, candidate: Candidate, closing: Closing) -> Result<Vec<u32>, Impossible> {
    let mut prefix = vec![0; index.thread_count()];
    index.include_before(&mut prefix, candidate.first);
    index.include_before(&mut prefix, candidate.second);
    close(index, candidate, closing, &mut prefix)?;
    Ok(prefix)
}

/// Whether `prefix` leaves both accesses out.
pub fn leaves_out(index: &Index, candidate: Candidate, prefix: &[u32]) -> bool {
    [candidate.first, candidate.second]
        .iter()
        .all(|&access| prefix[index.thread_of(access)] <= index.position[access as usize])
}

/// Adds the releases that `closing` calls for until nothing is missing.
pub fn close(
    index: &Index,
    candidate: Candidate,
    closing: Closing,
    prefix: &mut [u32],
) -> Result<(), Impossible> {
    loop {
        if !leaves_out(index, candidate, prefix) {
            return Err(Impossible);
        }
        let mut changed = false;
        for thread in 0..index.thread_count() {
            for &acquire in open_sections(index, prefix, thread) {
                let needed = match closing {
                    Closing::Required => held_at_accesses(index, candidate, acquire),
                    Closing::ObservedOrder => later_section_inside(index, prefix, acquire),
                };
                if !needed {
                    continue;
                }
                let release = index.partner[acquire as usize];
                if release == NONE {
                    return Err(Impossible);
                }
                index.include(prefix, release);
                changed = true;
            }
        }
        if !changed {
            return Ok(());
        }
    }
}

/// The acquisitions that `thread` has not released at the end of its part of `prefix`.
pub fn open_sections<'i>(index: &'i Index, prefix: &[u32], thread: usize) -> &'i [u32] {
    match prefix[thread] {
        0 => &[],
        count => index.held_after(index.threads[thread][count as usize - 1]),
    }
}

/// Whether an access of the candidate holds the lock in another section: then that one stays open
/// and this one cannot.
fn held_at_accesses(index: &Index, candidate: Candidate, acquire: u32) -> bool {
    let lock = index.event(acquire).object;
    [candidate.first, candidate.second].iter().any(|&access| {
        index.thread_of(access) != index.thread_of(acquire)
            && index
                .held_after(access)
                .iter()
                .any(|&held| index.event(held).object == lock && index.exclusive(held, acquire))
    })
}

fn later_section_inside(index: &Index, prefix: &[u32], acquire: u32) -> bool {
    let lock = index.event(acquire).object as usize;
    let own = index.thread_of(acquire) as u32;
    index.lock_uses[lock].iter().filter(|uses| uses.thread != own).any(|uses| {
        let count = prefix[uses.thread as usize];
        let inside = uses.acquires.partition_point(|&a| index.position[a as usize] < count);
        uses.acquires[..inside]
            .iter()
            .rev()
            .take_while(|&&other| other > acquire)
            .any(|&other| index.exclusive(other, acquire))
    })
}
