//! A report whose places in the source are left open.
//!
//! What the engine finds depends on what the functions do, not on the lines that they stand on. So
//! the back end names every place by its instruction, a [`Spot`]; lines are filled in last. Until
//! then the draft holds good for every program that the engine cannot tell from this one (see
//! [`crate::view`]), and can be kept for it.
//!
//! In texts a place is written as a mark, a control character that no name in a program holds,
//! with the spot's number behind it.

use std::cell::RefCell;
use std::collections::BTreeMap;

use racewarden_finding::{
    AccessKind, Engine, Evidence, Frame, HeldLock, LockMode, Note, Race, Report, Site, Verdict,
    conclude,
};
use racewarden_ir::{FunctionId, InstId, Program};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::bodies::Bodies;
use crate::covers::{Pair, Standing, covers, numbered};

/// An instruction whose place the report tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Spot {
    /// The function's number in the program.
    pub function: u32,
    pub inst: u32,
    /// How many functions that were put into their callers to go out of: the place is where the
    /// last of them was called.
    pub level: u32,
}

/// A place in the source.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    pub file: String,
    pub line: u32,
    pub column: u32,
}

type SpotId = u32;
type WordId = u32;

const OPEN: char = '\u{1}';
const CLOSE: char = '\u{2}';

/// The spots that texts and sites mention, each once.
#[derive(Debug, Default)]
pub struct Spots {
    ids: RefCell<FxHashMap<Spot, SpotId>>,
}

impl Spots {
    pub fn id(&self, function: FunctionId, inst: u32) -> SpotId {
        self.id_at(function, inst, 0)
    }

    pub fn id_at(&self, function: FunctionId, inst: u32, level: u32) -> SpotId {
        let mut ids = self.ids.borrow_mut();
        let next = ids.len() as SpotId;
        *ids.entry(Spot { function: function.0, inst, level }).or_insert(next)
    }

    /// `file:line` of the instruction, once places are known.
    pub fn mark(&self, function: FunctionId, inst: u32) -> String {
        self.mark_at(function, inst, 0)
    }

    pub fn mark_at(&self, function: FunctionId, inst: u32, level: u32) -> String {
        format!("{OPEN}{}{CLOSE}", self.id_at(function, inst, level))
    }

    pub fn into_list(self) -> Vec<Spot> {
        let ids = self.ids.into_inner();
        let mut list = vec![Spot { function: 0, inst: 0, level: 0 }; ids.len()];
        for (spot, id) in ids {
            list[id as usize] = spot;
        }
        list
    }
}

/// An access as the report tells it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DraftSite {
    pub spot: SpotId,
    pub function: WordId,
    pub access: AccessKind,
    pub lvalue: WordId,
    pub atomic: bool,
    /// Name, mode and where it was acquired.
    pub locks: Vec<(WordId, LockMode, SpotId)>,
    pub thread: WordId,
    /// Function and place.
    pub stack: Vec<(WordId, SpotId)>,
}

/// Two accesses that nothing excludes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Candidate {
    pub sites: (u32, u32),
    pub object: WordId,
    pub rank: u32,
    pub reasons: Vec<WordId>,
}

/// Texts, each once.
#[derive(Debug, Default)]
pub struct Words {
    list: Vec<String>,
    ids: FxHashMap<String, WordId>,
}

impl Words {
    pub fn id(&mut self, text: String) -> WordId {
        if let Some(&id) = self.ids.get(&text) {
            return id;
        }
        let id = self.list.len() as WordId;
        self.list.push(text.clone());
        self.ids.insert(text, id);
        id
    }

    pub fn into_list(self) -> Vec<String> {
        self.list
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Draft {
    pub spots: Vec<Spot>,
    pub words: Vec<String>,
    pub sites: Vec<DraftSite>,
    pub candidates: Vec<Candidate>,
    pub excluded: BTreeMap<String, u64>,
    pub notes: Vec<Note>,
    pub stats: BTreeMap<String, u64>,
}

impl Draft {
    /// The report, with each spot's place as `place` tells it.
    pub fn report(&self, place: &(impl Fn(Spot) -> Place + Sync)) -> Report {
        let places: Vec<Place> = self.spots.par_iter().map(|spot| place(*spot)).collect();
        let mut report = Report {
            races: self.races(&places),
            excluded: self.excluded.clone(),
            notes: self.notes.clone(),
            ..Report::default()
        };
        for note in &mut report.notes {
            note.text = with_places(&note.text, &places);
        }
        for (name, value) in &self.stats {
            report.stats.insert(name.clone(), (*value).into());
        }
        report.finish();
        report.conclusion = conclude(&report.races, &report.notes, true);
        report
    }

    /// Races of all candidates, each pair of places once, the likeliest context first, in the order that
    /// [`Report::finish`] wants: what is in order already costs it nothing, and races are large.
    fn races(&self, places: &[Place]) -> Vec<Race> {
        let words: Vec<String> =
            self.words.par_iter().map(|word| with_places(word, places)).collect();
        let sites: Vec<Site> =
            self.sites.par_iter().map(|site| filled_in(site, &words, places)).collect();
        let keys = ordered(&sites, Site::key);
        let listed = self.listed(&sites, &keys);
        let texts = numbered(words.iter().map(String::as_str));
        let files = numbered(places.iter().map(|place| place.file.as_str()));
        let standing = |site: &DraftSite| Standing::new(site, &texts, &files, places);
        let standings: Vec<Standing> = self.sites.par_iter().map(standing).collect();
        let pairs: Vec<Pair> = listed
            .iter()
            .map(|(sites, candidate)| Pair {
                object: texts[candidate.object as usize],
                sites: *sites,
                keys: sites.map(|site| keys[site as usize]),
            })
            .collect();
        let covers = covers(&pairs, &standings);
        let rank = |number: usize| match covers[number] {
            Some(_) => listed[number].1.rank.saturating_sub(15).max(1),
            None => listed[number].1.rank,
        };
        let mut order: Vec<usize> = (0..listed.len()).collect();
        order.par_sort_by_key(|&number| (std::cmp::Reverse(rank(number)), pairs[number].keys));
        order
            .into_par_iter()
            .map(|number| {
                let ([a, b], candidate) = listed[number];
                let site = |number: u32| sites[number as usize].clone();
                let object = words[candidate.object as usize].clone();
                let mut race = Race::new(site(a), site(b), object, Verdict::Potential);
                race.rank = rank(number);
                let reasons = candidate.reasons.iter();
                race.reasons = reasons.map(|reason| words[*reason as usize].clone()).collect();
                race.reasons.extend(covers[number].map(|(kept, by)| {
                    let at = |number: u32| sites[number as usize].location();
                    format!("covered by the race of {} with {}", at(kept), at(by))
                }));
                race.evidence.push(Evidence::new(Engine::Check));
                race
            })
            .collect()
    }

    /// The candidate that ranks highest of each two places, with its sites in the order that the race
    /// will have them in; `keys` are the numbers of the sites' places.
    fn listed(&self, sites: &[Site], keys: &[u32]) -> Vec<([u32; 2], &Candidate)> {
        let texts = ordered(sites, |site| {
            format!("{}:{}:{}:{}", site.file, site.line, site.column, site.access)
        });
        let mut best: FxHashMap<(u32, u32), ([u32; 2], &Candidate)> = FxHashMap::default();
        for candidate in &self.candidates {
            let (a, b) = candidate.sites;
            let swapped = keys[b as usize] < keys[a as usize];
            let pair = if swapped { [b, a] } else { [a, b] };
            let key = (texts[pair[0] as usize], texts[pair[1] as usize]);
            let known = best.entry(key).or_insert((pair, candidate));
            if known.1.rank < candidate.rank {
                *known = (pair, candidate);
            }
        }
        let mut best: Vec<_> = best.into_iter().collect();
        best.par_sort_unstable_by_key(|(key, _)| *key);
        best.into_iter().map(|(_, listed)| listed).collect()
    }
}

/// Numbers in the order of the sites' keys; sites with the same key have one number.
fn ordered<'a, K: Ord + Send + Sync>(
    sites: &'a [Site],
    key: impl Fn(&'a Site) -> K + Sync + Send,
) -> Vec<u32> {
    let keys: Vec<K> = sites.par_iter().map(key).collect();
    let mut order: Vec<u32> = (0..keys.len() as u32).collect();
    order.par_sort_by(|a, b| keys[*a as usize].cmp(&keys[*b as usize]));
    let mut numbers = vec![0; keys.len()];
    let mut number = 0;
    for (position, &site) in order.iter().enumerate() {
        if position > 0 && keys[order[position - 1] as usize] != keys[site as usize] {
            number += 1;
        }
        numbers[site as usize] = number;
    }
    numbers
}

fn filled_in(site: &DraftSite, words: &[String], places: &[Place]) -> Site {
    let word = |id: WordId| words[id as usize].clone();
    let place = &places[site.spot as usize];
    Site {
        file: place.file.clone(),
        line: place.line,
        column: place.column,
        function: word(site.function),
        access: site.access,
        lvalue: word(site.lvalue),
        atomic: site.atomic,
        locks: site
            .locks
            .iter()
            .map(|&(name, mode, at)| HeldLock {
                name: word(name),
                mode,
                acquired_at: shown(&places[at as usize]),
            })
            .collect(),
        thread: word(site.thread),
        stack: site
            .stack
            .iter()
            .map(|&(function, at)| {
                let Place { file, line, .. } = places[at as usize].clone();
                Frame { function: word(function), file, line }
            })
            .collect(),
    }
}

fn shown(place: &Place) -> String {
    format!("{}:{}", place.file, place.line)
}

/// The text with its marks replaced; what only looks like a mark stays.
fn with_places(text: &str, places: &[Place]) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        result.push_str(before);
        let known = after
            .split_once(CLOSE)
            .and_then(|(number, after)| Some((places.get(number.parse::<usize>().ok()?)?, after)));
        match known {
            Some((place, after)) => {
                result.push_str(&shown(place));
                rest = after;
            }
            None => {
                result.push(OPEN);
                rest = after;
            }
        }
    }
    result.push_str(rest);
    result
}

/// The text with its marks replaced by what the program says.
pub fn resolved(text: &str, spots: &Spots, bodies: &Bodies<'_>) -> String {
    if !text.contains(OPEN) {
        return text.to_owned();
    }
    let ids = spots.ids.borrow();
    let mut places = vec![Place::default(); ids.len()];
    for (spot, id) in ids.iter() {
        places[*id as usize] = bodies.place(*spot);
    }
    with_places(text, &places)
}

/// Where the program has the instruction; the function's own place when it has none.
pub fn place_in(program: &Program, spot: Spot) -> Place {
    let module = &program.module;
    let Some(body) = module.functions.get(spot.function as usize) else { return Place::default() };
    let own = body
        .instructions
        .get(spot.inst as usize)
        .and_then(|instruction| instruction.source)
        .map(|source| body.sources[source.0 as usize]);
    let outer = (spot.level as usize)
        .checked_sub(1)
        .and_then(|outer| body.inlined_at(InstId(spot.inst)).get(outer));
    let own = outer.map(|frame| frame.call).or(own);
    match own.or(body.source) {
        Some(at) => {
            Place { file: module.name_text(at.file).to_owned(), line: at.line, column: at.column }
        }
        None => {
            let unit = program.function_units.get(spot.function as usize).copied().unwrap_or(0);
            let file = program.units.get(unit as usize).cloned().unwrap_or_default();
            Place { file, line: 0, column: 0 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_places_and_nothing_else_does() {
        let spots = Spots::default();
        let (a, b) = (spots.mark(FunctionId(3), 4), spots.mark(FunctionId(3), 9));
        assert_eq!(a, spots.mark(FunctionId(3), 4));
        let place = |line| Place { file: "a.c".into(), line, column: 1 };
        let places = [place(7), place(8)];
        let text = format!("from {a} to {b}, \u{1}5\u{2} \u{1}x");
        assert_eq!(with_places(&text, &places), "from a.c:7 to a.c:8, \u{1}5\u{2} \u{1}x");
        assert_eq!(spots.into_list().len(), 2);
    }
}
