//! Pairs of very many places: a generated function may write one object a million times.
//!
//! Once enough candidates are listed, a pair of places that are both in one of them only counts. So
//! of a place that is listed just those partners are looked at that are not, and those of which a pair
//! is listed already, which another may beat. The outcome is that of looking at every pair.

use rustc_hash::FxHashMap;

use super::bundles::{Group, SpotId};
use super::{Found, Search};
use crate::pointsto::ObjectId;

/// Pairs of groups that are looked at one by one.
pub const MAX_PLAIN: usize = 1 << 14;

impl Search<'_> {
    pub(super) fn crowd(
        &self,
        object: ObjectId,
        (left, right): (&[Group], &[Group]),
        same: bool,
        found: &mut Found,
    ) {
        let mut by_spot: FxHashMap<SpotId, Vec<usize>> = FxHashMap::default();
        for (number, group) in right.iter().enumerate() {
            by_spot.entry(group.spot).or_default().push(number);
        }
        let size = |group: &Group| group.members.len() as u64;
        // How many accesses there are from each group on.
        let mut from = vec![0; right.len() + 1];
        for (number, group) in right.iter().enumerate().rev() {
            from[number] = from[number + 1] + size(group);
        }
        let mut unlisted: Vec<usize> = (0..right.len()).collect();
        for (position, a) in left.iter().enumerate() {
            let mut later = if same { position } else { 0 };
            while later < right.len() && !found.is_enough((a.spot, a.spot)) {
                self.group(object, (a, &right[later]), same && later == position, found);
                later += 1;
            }
            unlisted.retain(|number| !found.listed.contains(&right[*number].spot));
            let partners = found.partners.get(&a.spot).into_iter().flatten();
            let known = partners.filter_map(|partner| by_spot.get(partner)).flatten();
            let mut wanted: Vec<usize> = unlisted.iter().chain(known).copied().collect();
            wanted.retain(|number| *number >= later);
            wanted.sort_unstable();
            wanted.dedup();
            let looked_at: u64 = wanted.iter().map(|number| size(&right[*number])).sum();
            found.more += size(a) * (from[later] - looked_at);
            for number in wanted {
                self.group(object, (a, &right[number]), same && number == position, found);
            }
        }
    }
}
