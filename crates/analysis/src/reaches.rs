//! What accesses may reach: their places and sizes, each combination once.
//!
//! Thousands of accesses through one pointer that may lead to hundreds of objects reach the same.
//! Where two such reaches meet first is found once and kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustc_hash::FxHashMap;

use crate::contexts::GuardedAccess;
use crate::pointsto::Location;

pub type ReachId = u32;

pub struct Reaches {
    pub of_access: Vec<ReachId>,
    /// One access with each reach.
    pub sample: Vec<u32>,
    /// By two reaches: where they meet first. Empty for too many.
    meetings: Vec<AtomicU32>,
}

/// Reaches for which each pair's first meeting is kept.
const MAX_TABLE: usize = 2048;

/// What is in the table before anyone looked, and where reaches never meet.
const UNKNOWN: u32 = 0;
const NEVER: u32 = 1;

impl Reaches {
    pub fn new(accesses: &[GuardedAccess]) -> Self {
        // Equal lists of places are mostly one allocation.
        let mut known: FxHashMap<(*const Location, u64), ReachId> = FxHashMap::default();
        let mut ids: FxHashMap<(Arc<[Location]>, u64), ReachId> = FxHashMap::default();
        let mut sample = Vec::new();
        let mut of_access = Vec::with_capacity(accesses.len());
        for (number, access) in (0u32..).zip(accesses) {
            let pointer = access.locations.as_ptr();
            let id = *known.entry((pointer, access.size)).or_insert_with(|| {
                *ids.entry((access.locations.clone(), access.size)).or_insert_with(|| {
                    sample.push(number);
                    sample.len() as ReachId - 1
                })
            });
            of_access.push(id);
        }
        let mut meetings = Vec::new();
        if sample.len() <= MAX_TABLE {
            meetings.resize_with(sample.len() * sample.len(), AtomicU32::default);
        }
        Reaches { of_access, sample, meetings }
    }

    /// The indices of the places where the two meet first, found by `find` when not yet known.
    pub fn meeting(
        &self,
        first: ReachId,
        second: ReachId,
        find: impl FnOnce() -> Option<(u32, u32)>,
    ) -> Option<(u32, u32)> {
        let cell = self.meetings.get(first as usize * self.sample.len() + second as usize);
        // Every thread finds the same: whichever stores it first is right.
        match cell.map_or(UNKNOWN, |cell| cell.load(Ordering::Relaxed)) {
            UNKNOWN => {}
            NEVER => return None,
            packed => return Some(unpack(packed)),
        }
        let found = find();
        let packed = found.map_or(Some(NEVER), pack);
        if let (Some(cell), Some(packed)) = (cell, packed) {
            cell.store(packed, Ordering::Relaxed);
        }
        found
    }
}

/// Two indices in one word, when they fit.
fn pack((i, j): (u32, u32)) -> Option<u32> {
    let (i, j) = (u16::try_from(i).ok()?, u16::try_from(j).ok()?);
    (u32::from(i) << 16 | u32::from(j)).checked_add(2)
}

fn unpack(packed: u32) -> (u32, u32) {
    let both = packed - 2;
    (both >> 16, both & 0xffff)
}
