//! Paper 2's covers (section 4, stage II): a race whose access always comes after another one of the same
//! thread on the same object, under at least the same locks, is ranked below that one's race.
//!
//! A program has tens of thousands of races between far fewer sites, so texts are compared by their
//! numbers.

use std::hash::Hash;

use racewarden_finding::{AccessKind, LockMode};
use rustc_hash::FxHashMap;

use crate::draft::{DraftSite, Place};

/// A text's number: equal texts have one.
pub type TextId = u32;

/// Equal values have one number.
pub fn numbered<'a, T: Eq + Hash + ?Sized + 'a>(
    values: impl Iterator<Item = &'a T>,
) -> Vec<TextId> {
    let mut known: FxHashMap<&T, TextId> = FxHashMap::default();
    values
        .map(|value| {
            let next = known.len() as TextId;
            *known.entry(value).or_insert(next)
        })
        .collect()
}

/// What of a site tells whether it covers another.
pub struct Standing {
    file: TextId,
    line: u32,
    column: u32,
    access: AccessKind,
    function: TextId,
    thread: TextId,
    locks: Vec<(TextId, LockMode)>,
}

impl Standing {
    /// `words` are the numbers of the draft's words with their places filled in, `files` those of the
    /// places' files.
    pub fn new(site: &DraftSite, words: &[TextId], files: &[TextId], places: &[Place]) -> Self {
        let word = |id: u32| words[id as usize];
        let Place { line, column, .. } = places[site.spot as usize];
        Standing {
            file: files[site.spot as usize],
            line,
            column,
            access: site.access,
            function: word(site.function),
            thread: word(site.thread),
            locks: site.locks.iter().map(|(name, mode, _)| (word(*name), *mode)).collect(),
        }
    }

    /// Whether it comes before `other` in one function and its locks are among the other's
    /// (Definition 9).
    fn is_weaker(&self, other: &Standing) -> bool {
        self.function == other.function
            && self.file == other.file
            && self.thread == other.thread
            && (self.line, self.column) < (other.line, other.column)
            && (self.access == other.access || self.access == AccessKind::Write)
            && self.locks.iter().all(|lock| other.locks.contains(lock))
    }
}

/// A race by numbers: its object, its sites in their order, and their places' numbers.
pub struct Pair {
    pub object: TextId,
    pub sites: [u32; 2],
    pub keys: [u32; 2],
}

/// Of each race the first that covers it: the numbers of the site that both have and of the other's
/// weaker one.
pub fn covers(pairs: &[Pair], standings: &[Standing]) -> Vec<Option<(u32, u32)>> {
    // Races by object and one of their places: a cover shares one with what it covers.
    let mut by_place: FxHashMap<(TextId, u32), Vec<(u32, u32)>> = FxHashMap::default();
    for (number, pair) in (0u32..).zip(pairs) {
        for index in [0, 1] {
            let list = by_place.entry((pair.object, pair.keys[index])).or_default();
            list.push((number, pair.sites[1 - index]));
        }
    }
    let cover = |(number, pair): (u32, &Pair)| {
        [(0, 1), (1, 0)].into_iter().find_map(|(kept, moved)| {
            let standing = &standings[pair.sites[moved] as usize];
            let others = by_place.get(&(pair.object, pair.keys[kept]))?.iter();
            let mut others = others.filter(|(other, _)| *other != number);
            let found = others.find(|(_, free)| standings[*free as usize].is_weaker(standing));
            found.map(|(_, free)| (pair.sites[kept], *free))
        })
    };
    (0u32..).zip(pairs).map(cover).collect()
}
