//! Pairs of places in few bytes, and an index by them.
//!
//! This is `racewarden_finding::PairIndex` over digests: what decides which race a reported one is
//! can then be kept for each known race without its texts. Both follow one rule, which a test holds
//! them to.

use racewarden_finding::{Race, Site};
use rustc_hash::FxHashMap;
use twox_hash::xxhash3_128::Hasher;

/// Where a race's accesses stand: a digest of files, lines and kinds, and the columns, as one line
/// may hold several accesses of a kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Pair {
    pub places: u128,
    pub columns: [u32; 2],
}

impl Pair {
    pub fn of(race: &Race) -> Pair {
        let [mut a, mut b] = race.sites.each_ref();
        if place(b) < place(a) {
            (a, b) = (b, a);
        }
        Pair::ordered(a, b)
    }

    /// The pair of a race that the ledger knows: there equal places stand by their columns.
    pub fn of_known(sites: &[Site; 2]) -> Pair {
        let [mut a, mut b] = sites.each_ref();
        if (place(b), b.column) < (place(a), a.column) {
            (a, b) = (b, a);
        }
        Pair::ordered(a, b)
    }

    fn ordered(a: &Site, b: &Site) -> Pair {
        let mut text = Vec::with_capacity(128);
        for site in [a, b] {
            text.extend((site.file.len() as u64).to_le_bytes());
            text.extend(site.file.as_bytes());
            text.extend(site.line.to_le_bytes());
            text.push(site.access as u8);
        }
        Pair { places: Hasher::oneshot(&text), columns: [a.column, b.column] }
    }

    /// Whether the columns may be the same: engines that see optimised code may have lost one.
    fn agrees(&self, other: &Pair) -> bool {
        self.columns.iter().zip(&other.columns).all(|(a, b)| a == b || *a == 0 || *b == 0)
    }
}

fn place(site: &Site) -> (&str, u32, racewarden_finding::AccessKind) {
    (&site.file, site.line, site.access)
}

/// Finds pairs; of those at the same places, the first whose columns agree, or the only one.
#[derive(Debug, Default)]
pub(crate) struct PlaceIndex {
    pairs: Vec<Pair>,
    /// The first and the last pair at the same places, and for each pair the next one there.
    ends: FxHashMap<u128, (usize, usize)>,
    next: Vec<Option<usize>>,
}

impl PlaceIndex {
    pub fn with_capacity(capacity: usize) -> Self {
        PlaceIndex {
            pairs: Vec::with_capacity(capacity),
            ends: FxHashMap::with_capacity_and_hasher(capacity, Default::default()),
            next: Vec::with_capacity(capacity),
        }
    }

    pub fn push(&mut self, pair: Pair) {
        let at = self.pairs.len();
        self.pairs.push(pair);
        self.next.push(None);
        let (_, last) = self.ends.entry(pair.places).or_insert((at, at));
        if *last != at {
            self.next[*last] = Some(at);
            *last = at;
        }
    }

    /// Notes the columns that another engine knew.
    pub fn set_columns(&mut self, at: usize, columns: [u32; 2]) {
        self.pairs[at].columns = columns;
    }

    pub fn into_pairs(self) -> Vec<Pair> {
        self.pairs
    }

    pub fn find(&self, pair: &Pair) -> Option<usize> {
        let (first, last) = *self.ends.get(&pair.places)?;
        let mut at = Some(first);
        while let Some(position) = at {
            if self.pairs[position].agrees(pair) {
                return Some(position);
            }
            at = self.next[position];
        }
        (first == last).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use racewarden_finding::{AccessKind, PairIndex, Verdict};

    use super::*;

    fn race(lines: [u32; 2], columns: [u32; 2], kinds: [AccessKind; 2]) -> Race {
        let site = |at: usize| Site {
            file: "a.c".into(),
            line: lines[at],
            column: columns[at],
            function: "f".into(),
            access: kinds[at],
            lvalue: "x".into(),
            atomic: false,
            locks: vec![],
            thread: String::new(),
            stack: Default::default(),
        };
        Race::new(site(0), site(1), "x", Verdict::Potential)
    }

    fn all() -> Vec<Race> {
        let (read, write) = (AccessKind::Read, AccessKind::Write);
        let mut races = Vec::new();
        for lines in [[3, 3], [3, 4], [4, 3]] {
            for first in [0, 5, 9] {
                for second in [0, 5, 9] {
                    for kinds in [[write, write], [read, write]] {
                        races.push(race(lines, [first, second], kinds));
                    }
                }
            }
        }
        races
    }

    #[test]
    fn digests_find_what_texts_find() {
        let races = all();
        for known in (1..races.len()).map(|count| &races[races.len() - count..]) {
            let mut index = PlaceIndex::default();
            known.iter().for_each(|race| index.push(Pair::of_known(&race.sites)));
            let texts = PairIndex::new(known);
            for race in &races {
                assert_eq!(index.find(&Pair::of(race)), texts.find(known, race), "{race:?}");
            }
        }
    }
}
