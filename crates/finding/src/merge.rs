//! Evidence of several engines meets in one race.
//!
//! Engines agree on where an access stands and what it does, but not always on how the object is
//! called: the static engine knows `struct conn.state`, a run may only know a heap block. So races
//! are matched by their pair of places, and the richer description is kept.

use std::collections::HashMap;

use crate::{AccessKind, Fingerprint, Race, Site, Verdict};

type Place = (String, u32, AccessKind);

fn place(site: &Site) -> Place {
    (site.file.clone(), site.line, site.access)
}

fn pair(race: &Race) -> (Place, Place) {
    let (a, b) = (place(&race.sites[0]), place(&race.sites[1]));
    if b < a { (b, a) } else { (a, b) }
}

/// Finds races by their pair of places.
#[derive(Debug, Default)]
pub struct PairIndex {
    positions: HashMap<(Place, Place), Vec<usize>>,
}

impl PairIndex {
    pub fn new(races: &[Race]) -> Self {
        let mut index = PairIndex::default();
        for (position, race) in races.iter().enumerate() {
            index.insert(position, race);
        }
        index
    }

    /// Notes that `race` stands at `position` of the list that [`find`](Self::find) is given.
    pub fn insert(&mut self, position: usize, race: &Race) {
        self.positions.entry(pair(race)).or_default().push(position);
    }

    /// Where in `races` the same pair of accesses stands.
    pub fn find(&self, races: &[Race], race: &Race) -> Option<usize> {
        best_match(races, self.positions.get(&pair(race))?, race)
    }
}

/// Adds `incoming` to `races`: a race on a known pair of places brings its evidence there, any
/// other is appended.
pub fn merge_races(races: &mut Vec<Race>, incoming: Vec<Race>) {
    let mut index = PairIndex::new(races);
    for race in incoming {
        match index.find(races, &race) {
            Some(position) => races[position].absorb(race),
            None => {
                index.insert(races.len(), &race);
                races.push(race);
            }
        }
    }
}

/// Finds the place of accesses that no line is known of (the optimiser moved them, or made one
/// instruction of two lines). Where one race alone fits, on the same object, with the same other
/// access and in the same function, it was that one. Where several fit, the race is dropped if one of
/// them is known at least as well.
pub fn settle_placeless(races: &mut Vec<Race>) {
    let (placeless, mut placed): (Vec<Race>, Vec<Race>) =
        std::mem::take(races).into_iter().partition(|race| missing(race).is_some());
    let mut by_other: HashMap<(String, Place), Vec<usize>> = HashMap::new();
    for (at, race) in placed.iter().enumerate() {
        for site in &race.sites {
            by_other.entry((race.object.clone(), place(site))).or_default().push(at);
        }
    }
    for mut race in placeless {
        let Some(lost) = missing(&race) else { continue };
        let key = (race.object.clone(), place(&race.sites[1 - lost]));
        let around = by_other.get(&key).map_or(&[][..], Vec::as_slice);
        let fits: Vec<(usize, usize)> = around
            .iter()
            .filter_map(|&at| Some((at, counterpart(&placed[at], &race, lost)?)))
            .collect();
        if let [(at, side)] = fits[..] {
            let found = &placed[at].sites[side];
            let Site { file, line, function, .. } = found;
            race.reasons.push(format!(
                "the optimised program has no line for one access: {file}:{line} is the only one \
                 of its kind in {function}"
            ));
            race.sites[lost] = Site { stack: Default::default(), ..found.clone() };
            placed[at].absorb(race);
        } else if around.iter().all(|&at| placed[at].verdict < race.verdict) {
            placed.push(race);
        }
    }
    *races = placed;
}

/// The access without a line, if the other one has one.
fn missing(race: &Race) -> Option<usize> {
    match [race.sites[0].line, race.sites[1].line] {
        [0, line] if line != 0 => Some(0),
        [line, 0] if line != 0 => Some(1),
        _ => None,
    }
}

/// The side of `known` that the access without a line can be.
fn counterpart(known: &Race, race: &Race, lost: usize) -> Option<usize> {
    let (wanted, other) = (&race.sites[lost], &race.sites[1 - lost]);
    (0..2).find(|&side| {
        let site = &known.sites[side];
        place(&known.sites[1 - side]) == place(other)
            && site.line != 0
            && (&site.file, &site.function, site.access)
                == (&wanted.file, &wanted.function, wanted.access)
    })
}

/// One line may hold several accesses of a kind (`a[i] = b[i] = 0`): columns tell them apart where
/// both engines know them.
fn best_match(races: &[Race], positions: &[usize], race: &Race) -> Option<usize> {
    let columns = |race: &Race| {
        let mut columns = [race.sites[0].column, race.sites[1].column];
        if place(&race.sites[1]) < place(&race.sites[0]) {
            columns.reverse();
        }
        columns
    };
    let wanted = columns(race);
    let agrees = |position: &&usize| {
        let known = columns(&races[**position]);
        known.iter().zip(&wanted).all(|(a, b)| a == b || *a == 0 || *b == 0)
    };
    let exact = positions.iter().find(agrees);
    // Engines that see optimised code may have lost a column; with one candidate there is no doubt.
    exact.or(if positions.len() == 1 { positions.first() } else { None }).copied()
}

impl Race {
    /// Takes over what another engine knows about the same pair of accesses.
    pub fn absorb(&mut self, news: Race) {
        let known = self;
        known.verdict = stronger(known.verdict, news.verdict);
        known.rank = known.rank.max(news.rank);
        let swapped = place(&known.sites[0]) != place(&news.sites[0]);
        let [a, b] = news.sites;
        let (first, second) = if swapped { (b, a) } else { (a, b) };
        enrich(&mut known.sites[0], first);
        enrich(&mut known.sites[1], second);
        if known.object.is_empty() {
            known.object = news.object;
            known.fingerprint = Fingerprint::of(&known.sites[0], &known.sites[1], &known.object);
        }
        known.evidence.extend(news.evidence);
        for reason in news.reasons {
            if !known.reasons.contains(&reason) {
                known.reasons.push(reason);
            }
        }
    }
}

/// Doubt lowers only what nothing has proved.
fn stronger(known: Verdict, news: Verdict) -> Verdict {
    match (known, news) {
        (Verdict::Potential, Verdict::LikelyFalse) | (Verdict::LikelyFalse, Verdict::Potential) => {
            Verdict::LikelyFalse
        }
        _ => known.max(news),
    }
}

fn enrich(known: &mut Site, news: Site) {
    if known.stack.len() < news.stack.len() {
        known.stack = news.stack;
    }
    if known.locks.is_empty() {
        known.locks = news.locks;
    }
    if known.lvalue.is_empty() {
        known.lvalue = news.lvalue;
    }
    if known.thread.is_empty() {
        known.thread = news.thread;
    }
    if known.column == 0 {
        known.column = news.column;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, Evidence};

    fn site(line: u32, column: u32, access: AccessKind) -> Site {
        Site {
            file: "a.c".into(),
            line,
            column,
            function: "f".into(),
            access,
            lvalue: "x".into(),
            atomic: false,
            locks: vec![],
            thread: String::new(),
            stack: Default::default(),
        }
    }

    fn race(first: Site, second: Site, verdict: Verdict, engine: Engine) -> Race {
        let mut race = Race::new(first, second, "x", verdict);
        race.evidence.push(Evidence { engine, detail: Default::default() });
        race
    }

    #[test]
    fn evidence_of_two_engines_meets() {
        let (write, read) = (site(3, 5, AccessKind::Write), site(9, 7, AccessKind::Read));
        let mut races = vec![race(write.clone(), read.clone(), Verdict::Potential, Engine::Check)];
        merge_races(&mut races, vec![race(read, write, Verdict::Observed, Engine::Run)]);
        assert_eq!(races.len(), 1);
        assert_eq!(races[0].verdict, Verdict::Observed);
        let engines: Vec<_> = races[0].evidence.iter().map(|evidence| evidence.engine).collect();
        assert_eq!(engines, [Engine::Check, Engine::Run]);
    }

    #[test]
    fn columns_tell_accesses_of_one_line_apart() {
        let at = |column| {
            race(
                site(3, column, AccessKind::Write),
                site(9, 1, AccessKind::Read),
                Verdict::Potential,
                Engine::Check,
            )
        };
        let mut races = vec![at(5), at(12)];
        let mut seen = at(12);
        seen.verdict = Verdict::Observed;
        merge_races(&mut races, vec![seen]);
        assert_eq!(races.len(), 2);
        assert_eq!((races[0].verdict, races[1].verdict), (Verdict::Potential, Verdict::Observed));
    }

    #[test]
    fn a_different_kind_of_access_is_another_race() {
        let write = || site(3, 5, AccessKind::Write);
        let mut races = vec![race(write(), write(), Verdict::Potential, Engine::Check)];
        let read = site(3, 5, AccessKind::Read);
        merge_races(&mut races, vec![race(write(), read, Verdict::Observed, Engine::Run)]);
        assert_eq!(races.len(), 2);
    }

    #[test]
    fn a_race_without_a_place_takes_the_only_one_that_fits() {
        let (write, read) = (site(3, 5, AccessKind::Write), site(9, 7, AccessKind::Read));
        let nowhere = site(0, 0, AccessKind::Read);
        let placeless = race(nowhere, write.clone(), Verdict::Observed, Engine::Run);
        let known = race(write.clone(), read, Verdict::Potential, Engine::Check);
        let mut races = vec![placeless.clone(), known.clone()];
        settle_placeless(&mut races);
        assert_eq!(races.len(), 1);
        assert_eq!((races[0].sites[1].line, races[0].verdict), (9, Verdict::Observed));

        let another =
            race(write.clone(), site(12, 7, AccessKind::Read), Verdict::Potential, Engine::Check);
        let mut races = vec![placeless.clone(), known, another.clone()];
        settle_placeless(&mut races);
        assert_eq!(races.len(), 3, "the only proof stays where two fit");

        let elsewhere = Site { function: "g".into(), ..site(9, 7, AccessKind::Read) };
        let proved = race(write, elsewhere, Verdict::Confirmed, Engine::Confirm);
        let mut races = vec![placeless, proved];
        settle_placeless(&mut races);
        assert_eq!(races.len(), 1, "a proof that is known better makes it superfluous");
    }

    #[test]
    fn doubt_never_lowers_a_proof() {
        assert_eq!(stronger(Verdict::Observed, Verdict::LikelyFalse), Verdict::Observed);
        assert_eq!(stronger(Verdict::Potential, Verdict::LikelyFalse), Verdict::LikelyFalse);
        assert_eq!(stronger(Verdict::LikelyFalse, Verdict::Confirmed), Verdict::Confirmed);
    }
}
