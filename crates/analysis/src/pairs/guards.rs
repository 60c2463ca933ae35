//! What keeps accesses apart whatever they touch: their thread and state.

use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use rustc_hash::FxHashMap;

use crate::contexts::GuardedAccess;
use crate::digests::{Reads, Whole, exclusion_by, exclusion_by_threads};
use crate::shared::Placed;
use crate::state::{Held, Path};
use crate::threads::{RootId, RootSet, Standing};

pub type GuardId = u32;

/// Guards of all accesses, and which of them exclude each other.
pub struct Guards {
    pub of_access: Vec<GuardId>,
    /// Flags, thread and locks of each guard, by their numbers.
    parts: Vec<[u32; 3]>,
    /// One access with each value.
    flags: Vec<u32>,
    threads: Vec<Standing>,
    locks: Vec<u32>,
    /// What digests that look at nothing else say of each two values.
    verdicts: [Verdicts; 3],
}

/// By pair of values: 0 unknown, 1 not excluded, else 2 + the digest's number. Empty for too many.
struct Verdicts(Vec<AtomicU8>);

/// Values of a part for which each pair's verdict is kept.
const MAX_TABLE: usize = 8192;

/// Values of a part that are compared with each other before any guard is.
const MAX_UNITED: usize = 1024;

/// Comparisons of values for each access.
const MAX_UNITED_PER_ACCESS: usize = 16;

impl Guards {
    /// `own` is, of each access, whether it names its own thread's memory.
    pub fn new(accesses: &[GuardedAccess], whole: &Whole<'_>, own: &[bool]) -> Self {
        let mut flags: Vec<u32> = Vec::new();
        let mut threads: Vec<Standing> = Vec::new();
        let mut locks: Vec<u32> = Vec::new();
        let mut flag_ids: FxHashMap<u8, u32> = FxHashMap::default();
        let mut thread_ids: FxHashMap<Standing, u32> = FxHashMap::default();
        let mut lock_ids: FxHashMap<Vec<Held>, u32> = FxHashMap::default();
        let mut ids: FxHashMap<[u32; 3], GuardId> = FxHashMap::default();
        // States are shared by all accesses between two changes of them, and the threads that are
        // alive in them by many more.
        let mut known: FxHashMap<(*const Path, RootId, u8), GuardId> = FxHashMap::default();
        let mut alive: FxHashMap<usize, Arc<RootSet>> = FxHashMap::default();
        let mut gathered = FxHashMap::default();
        let mut of_access = Vec::with_capacity(accesses.len());
        let mut parts = Vec::new();
        for ((number, access), own) in (0u32..).zip(accesses).zip(own) {
            let bits =
                u8::from(access.atomic) | u8::from(access.private) << 1 | u8::from(*own) << 2;
            let key = (Arc::as_ptr(&access.state), access.root, bits);
            let id = *known.entry(key).or_insert_with(|| {
                let alive = alive.entry(access.state.threads.address()).or_insert_with(|| {
                    let threads = &whole.instantiation.threads;
                    Arc::new(threads.all_alive(&access.state, &mut gathered))
                });
                let standing = whole.standing(access, alive.clone());
                let held = whole.named_locks(&access.state.held);
                let found = [
                    numbered(&mut flag_ids, bits, &mut flags, |_| number),
                    numbered(&mut thread_ids, standing, &mut threads, Standing::clone),
                    numbered(&mut lock_ids, held, &mut locks, |_| number),
                ];
                *ids.entry(found).or_insert_with(|| {
                    parts.push(found);
                    parts.len() as GuardId - 1
                })
            });
            of_access.push(id);
        }
        let verdicts = [flags.len(), threads.len(), locks.len()].map(Verdicts::new);
        let mut guards = Guards { of_access, parts, flags, threads, locks, verdicts };
        guards.unite(accesses, whole);
        guards
    }

    /// Makes guards one that exclude the same others for the same reasons: threads of one function,
    /// however many roots they have, mostly do.
    fn unite(&mut self, accesses: &[GuardedAccess], whole: &Whole<'_>) {
        let counts = [self.flags.len(), self.threads.len(), self.locks.len()];
        let first_alike = [0, 1, 2].map(|part| {
            // All are compared with all where that costs about as much as a look at each access.
            let most = (MAX_UNITED_PER_ACCESS * accesses.len()).isqrt();
            let excluded = |a, b| self.excluded_by(part, a, b, accesses, whole);
            first_alike(counts[part], most.min(MAX_UNITED), excluded)
        });
        let mut ids: FxHashMap<[u32; 3], GuardId> = FxHashMap::default();
        let mut parts = Vec::new();
        let united: Vec<GuardId> = self
            .parts
            .iter()
            .map(|own| {
                let own = [0, 1, 2].map(|part: usize| first_alike[part][own[part] as usize]);
                numbered(&mut ids, own, &mut parts, |own| *own)
            })
            .collect();
        self.parts = parts;
        self.of_access.iter_mut().for_each(|guard| *guard = united[*guard as usize]);
    }

    /// The number of the first digest that keeps accesses under these guards apart.
    pub fn excluded(
        &self,
        a: GuardId,
        b: GuardId,
        accesses: &[GuardedAccess],
        whole: &Whole<'_>,
    ) -> Option<usize> {
        let (x, y) = (self.parts[a as usize], self.parts[b as usize]);
        let by = |part: usize| self.excluded_by(part, x[part], y[part], accesses, whole);
        [by(0), by(1), by(2)].into_iter().flatten().min()
    }

    /// The digest that keeps accesses with these values of one part apart.
    fn excluded_by(
        &self,
        part: usize,
        a: u32,
        b: u32,
        accesses: &[GuardedAccess],
        whole: &Whole<'_>,
    ) -> Option<usize> {
        let by_sample = |reads: Reads, sample: &[u32], low: usize, high: usize| {
            let access = |value: usize| &accesses[sample[value] as usize];
            exclusion_by(reads, access(low), access(high), whole)
        };
        self.verdicts[part].of(a, b, |low, high| match part {
            0 => by_sample(Reads::Flags, &self.flags, low, high),
            1 => exclusion_by_threads(&self.threads[low], &self.threads[high], whole),
            _ => by_sample(Reads::Locks, &self.locks, low, high),
        })
    }
}

/// For each value the first that is excluded from the same ones by the same digests; itself where
/// there are too many to compare.
fn first_alike(
    count: usize,
    most: usize,
    excluded: impl Fn(u32, u32) -> Option<usize>,
) -> Vec<u32> {
    let values = 0..count as u32;
    if count > most {
        return values.collect();
    }
    let mut known: FxHashMap<Vec<u8>, u32> = FxHashMap::default();
    let verdict = |value, other| excluded(value, other).map_or(0, |digest| digest as u8 + 1);
    let row = |value| values.clone().map(|other| verdict(value, other)).collect();
    values.clone().map(|value| *known.entry(row(value)).or_insert(value)).collect()
}

/// The key's number; `value` makes what is kept under it.
fn numbered<K: Eq + Hash, V>(
    ids: &mut FxHashMap<K, u32>,
    key: K,
    values: &mut Vec<V>,
    value: impl FnOnce(&K) -> V,
) -> u32 {
    if let Some(&id) = ids.get(&key) {
        return id;
    }
    let id = values.len() as u32;
    values.push(value(&key));
    ids.insert(key, id);
    id
}

impl Verdicts {
    fn new(values: usize) -> Self {
        let mut cells = Vec::new();
        if values <= MAX_TABLE {
            cells.resize_with(values * (values + 1) / 2, AtomicU8::default);
        }
        Verdicts(cells)
    }

    fn of(
        &self,
        a: u32,
        b: u32,
        find: impl FnOnce(usize, usize) -> Option<usize>,
    ) -> Option<usize> {
        let (low, high) = (a.min(b) as usize, a.max(b) as usize);
        let cell = self.0.get(high * (high + 1) / 2 + low);
        // Every thread computes the same verdict: whichever stores it first is right.
        match cell.map_or(0, |cell| cell.load(Ordering::Relaxed)) {
            0 => {}
            1 => return None,
            found => return Some(usize::from(found) - 2),
        }
        let found = find(low, high);
        if let Some(cell) = cell {
            cell.store(found.map_or(1, |digest| digest as u8 + 2), Ordering::Relaxed);
        }
        found
    }
}
