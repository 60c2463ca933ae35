//! Which pairs of accesses are worth a cone.
//!
//! Accesses of a variable are put into classes: same thread, place in the program, kind, bytes, clock
//! and held acquisitions. Nothing that the cone depends on tells the members of a class apart, so its
//! first member stands for all. Classes are gathered by thread and held locks; two gatherings with
//! a common lock are skipped whole, and so are two of one thread. What is left is cut to the pairs
//! that no clock orders.

use rustc_hash::FxHashMap;

use super::cone::Candidate;
use super::index::Index;
use racewarden_trace::{Kind, Location};

/// Two places in the program, in order.
pub type LocationPair = [(Location, Kind); 2];

pub fn location_pair(index: &Index, candidate: Candidate) -> LocationPair {
    let place = |event| (index.event(event).location, index.event(event).kind);
    let mut pair = [place(candidate.first), place(candidate.second)];
    pair.sort_unstable();
    pair
}

/// The classes of one variable that share a thread and a set of held locks.
struct Gathering {
    thread: usize,
    /// Each held lock, and whether it is held alone.
    locks: Vec<(u32, bool)>,
    reads: Vec<u32>,
    writes: Vec<u32>,
}

/// How many pairs of gatherings were set aside, by reason.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct SetAside {
    pub common_lock: u64,
    pub ordered: u64,
}

/// The variables that several threads access and one writes, each with its accesses.
pub fn shared_variables(index: &Index) -> Vec<Vec<u32>> {
    let count = index.trace.variables.len();
    let mut first_thread = vec![u32::MAX; count];
    let mut shared = vec![false; count];
    let mut written = vec![false; count];
    let accesses = || index.trace.events.iter().enumerate().filter(|(_, e)| e.kind.is_access());
    for (_, event) in accesses() {
        let variable = event.object as usize;
        let first = &mut first_thread[variable];
        if *first == u32::MAX {
            *first = event.thread.0;
        }
        shared[variable] |= *first != event.thread.0;
        written[variable] |= event.kind == Kind::Write;
    }
    let mut slots = vec![u32::MAX; count];
    let mut lists: Vec<Vec<u32>> = Vec::new();
    for (number, event) in accesses() {
        let variable = event.object as usize;
        if shared[variable] && written[variable] {
            if slots[variable] == u32::MAX {
                slots[variable] = lists.len() as u32;
                lists.push(Vec::new());
            }
            lists[slots[variable] as usize].push(number as u32);
        }
    }
    // Those with the fewest accesses first: what a busy one costs is not theirs to bear.
    lists.sort_by_key(Vec::len);
    lists
}

/// Calls `visit` with every candidate among `accesses` until it returns false.
pub fn for_each(
    index: &Index,
    accesses: &[u32],
    bytes: &super::BytesOf,
    aside: &mut SetAside,
    visit: &mut dyn FnMut(Candidate) -> bool,
) {
    let mut gatherings = gather(index, accesses, bytes);
    // Most variables have one lock that nearly all accesses hold: those need not be compared.
    let guarded = match most_held(&gatherings) {
        Some(lock) => {
            let holds = |gathering: &Gathering| gathering.locks.contains(&(lock, true));
            gatherings.sort_by_key(holds);
            gatherings.iter().filter(|gathering| holds(gathering)).count()
        }
        None => 0,
    };
    aside.common_lock += (guarded * guarded.saturating_sub(1) / 2) as u64;
    for (number, a) in gatherings[..gatherings.len() - guarded].iter().enumerate() {
        for b in &gatherings[number + 1..] {
            if a.thread == b.thread {
                continue;
            }
            if share_lock(a, b) {
                aside.common_lock += 1;
                continue;
            }
            for (left, right) in
                [(&a.writes, &b.writes), (&a.writes, &b.reads), (&a.reads, &b.writes)]
            {
                if !unordered_pairs(index, left, right, aside, visit) {
                    return;
                }
            }
        }
    }
}

fn gather(index: &Index, accesses: &[u32], bytes: &super::BytesOf) -> Vec<Gathering> {
    let mut gatherings: Vec<Gathering> = Vec::new();
    let mut by_key: FxHashMap<(usize, Vec<(u32, bool)>), usize> = FxHashMap::default();
    let mut by_held: FxHashMap<(usize, u32), usize> = FxHashMap::default();
    let mut seen = rustc_hash::FxHashSet::default();
    for &access in accesses {
        let event = index.event(access);
        let thread = event.thread.index();
        let held = index.held_number(access);
        let row = index.row_before(access);
        if !seen.insert((thread, event.location, event.kind, held, row, bytes(access))) {
            continue;
        }
        let slot = *by_held.entry((thread, held)).or_insert_with(|| {
            let mut locks: Vec<(u32, bool)> = index
                .held_after(access)
                .iter()
                .map(|&a| (index.event(a).object, index.event(a).kind == Kind::Acquire))
                .collect();
            locks.sort_unstable();
            *by_key.entry((thread, locks)).or_insert_with_key(|(thread, locks)| {
                gatherings.push(Gathering {
                    thread: *thread,
                    locks: locks.clone(),
                    reads: Vec::new(),
                    writes: Vec::new(),
                });
                gatherings.len() - 1
            })
        });
        match event.kind {
            Kind::Write => gatherings[slot].writes.push(access),
            _ => gatherings[slot].reads.push(access),
        }
    }
    gatherings
}

/// The lock that most gatherings hold alone.
fn most_held(gatherings: &[Gathering]) -> Option<u32> {
    let mut counts: FxHashMap<u32, u32> = FxHashMap::default();
    for (lock, alone) in gatherings.iter().flat_map(|gathering| &gathering.locks) {
        *counts.entry(*lock).or_default() += u32::from(*alone);
    }
    counts.into_iter().map(|(lock, count)| (count, lock)).max().map(|(_, lock)| lock)
}

fn share_lock(a: &Gathering, b: &Gathering) -> bool {
    a.locks.iter().any(|(lock, alone)| {
        b.locks.iter().any(|(other, other_alone)| lock == other && (*alone || *other_alone))
    })
}

/// Visits the pairs that no clock orders. Both lists are in the order of their thread, so the
/// partners of one access are a window of the other list.
fn unordered_pairs(
    index: &Index,
    left: &[u32],
    right: &[u32],
    aside: &mut SetAside,
    visit: &mut dyn FnMut(Candidate) -> bool,
) -> bool {
    let (Some(&any_left), Some(&any_right)) = (left.first(), right.first()) else { return true };
    let (left_thread, right_thread) = (index.thread_of(any_left), index.thread_of(any_right));
    for &access in left {
        let must_be_before = index.needed_before(access, right_thread);
        let from = right.partition_point(|&r| index.position[r as usize] < must_be_before);
        let own = index.position[access as usize];
        let until = right.partition_point(|&r| index.needed_before(r, left_thread) <= own);
        aside.ordered += (right.len() - until.saturating_sub(from)) as u64;
        for &other in &right[from..until.max(from)] {
            let candidate = Candidate { first: access.min(other), second: access.max(other) };
            if !visit(candidate) {
                return false;
            }
        }
    }
    true
}
