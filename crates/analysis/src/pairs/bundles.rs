//! Accesses in bundles: those with the same guard and the same reach, and within a bundle those that
//! are made at one spot and rank alike.
//!
//! What is said of one access of a bundle holds for all of it, but for the digests that look at
//! single accesses. So the index by place holds bundles, which are far fewer than accesses where
//! many contexts or threads run the same code, and pairs of groups are mostly settled by their
//! first pair.

use racewarden_finding::AccessKind;
use racewarden_ir::FunctionId;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::guards::{GuardId, Guards};
use crate::contexts::GuardedAccess;
use crate::digests::Whole;
use crate::ranking::Traits;
use crate::reaches::{ReachId, Reaches};

/// A place in the code and what it does there.
type Spot = (FunctionId, u32, AccessKind);

/// A spot's number, in the order of the spots.
pub type SpotId = u32;

pub type BundleId = u32;

/// Accesses at one spot that rank alike beside whatever other access.
pub struct Group {
    pub spot: SpotId,
    pub traits: Traits,
    /// Indices of accesses, ascending.
    pub members: Vec<u32>,
}

/// Accesses of one guard and one reach.
pub struct Bundle {
    pub guard: GuardId,
    pub reach: ReachId,
    pub reads: Vec<Group>,
    pub writes: Vec<Group>,
    pub read_count: u64,
    pub write_count: u64,
}

/// The bundles in the order of guards and reaches.
pub struct Bundles {
    pub list: Vec<Bundle>,
    /// By access.
    spots: Vec<SpotId>,
    pub spot_count: usize,
}

impl Bundles {
    /// `own` is, of each access, whether it names its own thread's memory.
    pub fn new(
        accesses: &[GuardedAccess],
        whole: &Whole<'_>,
        own: &[bool],
        (guards, reaches): (&Guards, &Reaches),
    ) -> Self {
        let kinds = kinds(accesses, whole, own);
        let mut order: Vec<u32> = (0..accesses.len() as u32).collect();
        let key = |number: &u32| {
            let number = *number as usize;
            (guards.of_access[number], reaches.of_access[number])
        };
        order.par_sort_by_key(key);
        let chunks: Vec<&[u32]> = order.chunk_by(|a, b| key(a) == key(b)).collect();
        let list = chunks
            .into_par_iter()
            .map(|members| {
                let (guard, reach) = key(&members[0]);
                let of_kind = |wanted: AccessKind| {
                    let own = members.iter().copied();
                    own.filter(move |number| accesses[*number as usize].kind == wanted)
                };
                let reads = groups(of_kind(AccessKind::Read), &kinds);
                let writes = groups(of_kind(AccessKind::Write), &kinds);
                Bundle {
                    guard,
                    reach,
                    reads,
                    writes,
                    read_count: of_kind(AccessKind::Read).count() as u64,
                    write_count: of_kind(AccessKind::Write).count() as u64,
                }
            })
            .collect();
        let spots: Vec<SpotId> = kinds.into_iter().map(|(spot, _)| spot).collect();
        let spot_count = spots.iter().max().map_or(0, |last| *last as usize + 1);
        Bundles { list, spots, spot_count }
    }

    pub fn spot(&self, access: u32) -> SpotId {
        self.spots[access as usize]
    }
}

/// The accesses by spot and traits, in the order of each group's first access.
fn groups(numbers: impl Iterator<Item = u32>, kinds: &[(SpotId, Traits)]) -> Vec<Group> {
    let mut found: Vec<Group> = Vec::new();
    let mut known: FxHashMap<(SpotId, &Traits), usize> = FxHashMap::default();
    for number in numbers {
        let (spot, traits) = &kinds[number as usize];
        let next = found.len();
        let index = *known.entry((*spot, traits)).or_insert(next);
        if index == next {
            found.push(Group { spot: *spot, traits: traits.clone(), members: Vec::new() });
        }
        found[index].members.push(number);
    }
    found
}

/// The spot and the traits of each access.
fn kinds(accesses: &[GuardedAccess], whole: &Whole<'_>, own: &[bool]) -> Vec<(SpotId, Traits)> {
    let spot = |access: &GuardedAccess| (access.function, access.inst, access.kind);
    let mut spots: Vec<Spot> = accesses.iter().map(spot).collect();
    spots.par_sort_unstable();
    spots.dedup();
    let numbers: FxHashMap<Spot, SpotId> = spots.into_iter().zip(0..).collect();
    accesses
        .par_iter()
        .zip(own)
        .map(|(access, own)| (numbers[&spot(access)], Traits::new(access, *own, whole)))
        .collect()
}
