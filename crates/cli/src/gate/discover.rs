//! Candidates that no engine listed.
//!
//! Of a large program the engines list each access with its likeliest partners only. Where a watched run
//! sees two gates come to common memory (`Event::Common`), they are a candidate as well, unless both
//! are known to hold a lock: such a pair is mostly ordered by it, and was left out for that reason. What comes
//! of it is told only when the threads meet, because nobody but the run claims that it is a race.

use std::collections::{BTreeMap, BTreeSet};

use racewarden_finding::{Race, Site, Verdict};
use racewarden_schedule::gate::{Event, Visit};

use super::build::GatedProgram;
use super::runner::RunEnd;
use super::target::Target;

/// How many are tried.
const MOST: usize = 400;

/// A place that has a gate.
#[derive(Debug)]
struct Place {
    site: Site,
    object: String,
    /// Whether a lock is held there, as far as engines have told.
    locked: bool,
}

/// What watched runs have shown about gates that are in different candidates.
#[derive(Debug, Default)]
pub struct Discovery {
    places: BTreeMap<u32, Place>,
    /// Pairs of gates of one candidate, the smaller first.
    listed: BTreeSet<(u32, u32)>,
    /// How many candidates were listed.
    count: usize,
    /// The visits that came closest and whether the earlier thread had ended.
    seen: BTreeMap<(u32, u32), (Visit, Visit, bool)>,
    /// What was made a candidate.
    pub races: Vec<Race>,
}

impl Discovery {
    pub fn new(races: &[Race], gated: &GatedProgram) -> Self {
        let mut discovery = Discovery { count: races.len(), ..Discovery::default() };
        for (index, race) in races.iter().enumerate() {
            let sides = gated.sides(index);
            for (site, gates) in race.sites.iter().zip(&sides) {
                gates.iter().for_each(|gate| discovery.add(*gate, site, &race.object));
            }
            for a in &sides[0] {
                let pairs = sides[1].iter().map(|b| (*a.min(b), *a.max(b)));
                discovery.listed.extend(pairs);
            }
        }
        discovery
    }

    fn add(&mut self, gate: u32, site: &Site, object: &str) {
        let locked = !site.locks.is_empty();
        let place = self.places.entry(gate).or_insert_with(|| Place {
            // Locks and stacks are those of one way to get there.
            site: Site {
                locks: Vec::new(),
                thread: String::new(),
                stack: Default::default(),
                ..site.clone()
            },
            object: object.to_owned(),
            locked,
        });
        place.locked &= locked;
    }

    /// Takes what a watched run showed.
    pub fn learn(&mut self, end: &RunEnd) {
        for event in &end.events {
            if let Event::Common { earlier, later, ended } = event {
                let pair = (earlier.gate.min(later.gate), earlier.gate.max(later.gate));
                let locked = |gate: &u32| self.places.get(gate).is_none_or(|place| place.locked);
                let both_locked = locked(&pair.0) && locked(&pair.1);
                if !both_locked && !self.listed.contains(&pair) {
                    self.seen.insert(pair, (earlier.clone(), later.clone(), *ended));
                }
            }
        }
    }

    /// Makes candidates of what was seen: first those with a suspected gate, then those in which a thread had
    /// ended unjoined.
    pub fn targets(&mut self, suspected: &BTreeSet<u32>) -> Vec<Target> {
        let mut seen: Vec<_> = std::mem::take(&mut self.seen).into_iter().collect();
        seen.sort_by_key(|((a, b), (_, _, ended))| {
            (!(suspected.contains(a) || suspected.contains(b)), !ended)
        });
        let mut targets = Vec::new();
        for ((a, b), (earlier, later, ended)) in seen.into_iter().take(MOST) {
            let (Some(first), Some(second)) = (self.places.get(&a), self.places.get(&b)) else {
                continue;
            };
            let object =
                if first.object == second.object { first.object.clone() } else { String::new() };
            let race =
                Race::new(first.site.clone(), second.site.clone(), object, Verdict::Potential);
            // A race has its sites in an order of its own.
            let swapped = race.sites[0].key() != first.site.key();
            let (sides, locked) = if swapped {
                ([vec![b], vec![a]], [second.locked, first.locked])
            } else {
                ([vec![a], vec![b]], [first.locked, second.locked])
            };
            let mut target = Target::new(self.count + self.races.len(), sides);
            target.locked = locked;
            target.priority = race.rank;
            target.was_seen_near(earlier, later, ended);
            targets.push(target);
            self.races.push(race);
        }
        targets
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use racewarden_finding::{AccessKind, HeldLock, LockMode};
    use racewarden_instrument::GateMap;

    use super::*;

    fn site(line: u32, access: AccessKind, lock: Option<&str>) -> Site {
        let held = |name: &str| HeldLock {
            name: name.to_owned(),
            mode: LockMode::Write,
            acquired_at: String::new(),
        };
        Site {
            file: "a.c".to_owned(),
            line,
            column: 1,
            function: String::new(),
            access,
            lvalue: String::new(),
            atomic: false,
            locks: lock.map(held).into_iter().collect(),
            thread: String::new(),
            stack: Default::default(),
        }
    }

    /// Two races; gates 0 and 1 are the first one's sites, 2 and 3 the second one's.
    fn discovery() -> Discovery {
        let race = |a, b| Race::new(a, b, "list", Verdict::Potential);
        let races = [
            race(site(1, AccessKind::Write, Some("m")), site(2, AccessKind::Read, None)),
            race(site(3, AccessKind::Write, Some("m")), site(4, AccessKind::Read, Some("m"))),
        ];
        let site_gates = (0..4).map(|gate| vec![gate]).collect();
        let map = GateMap { site_gates, ..GateMap::default() };
        Discovery::new(&races, &GatedProgram { path: PathBuf::new(), map })
    }

    fn seen(pairs: &[(u32, u32)]) -> RunEnd {
        let visit = |gate| Visit { thread: "main.1".to_owned(), gate, occurrence: 1 };
        let event = |(earlier, later): &(u32, u32)| Event::Common {
            earlier: visit(*earlier),
            later: visit(*later),
            ended: false,
        };
        RunEnd {
            events: pairs.iter().map(event).collect(),
            duration: Duration::ZERO,
            status: None,
            violation: None,
            timed_out: false,
        }
    }

    #[test]
    fn pairs_across_candidates_are_found_unless_both_are_locked() {
        let mut discovery = discovery();
        discovery.learn(&seen(&[(1, 0), (0, 3), (3, 1), (2, 1)]));
        let targets = discovery.targets(&BTreeSet::new());
        let sides: Vec<_> = targets.iter().map(|target| target.sides.clone()).collect();
        assert_eq!(sides, [[vec![1], vec![2]], [vec![1], vec![3]]]);
        let numbers: Vec<usize> = targets.iter().map(|target| target.index).collect();
        assert_eq!(numbers, [2, 3]);
        let lines: Vec<_> =
            discovery.races.iter().map(|race| race.sites.each_ref().map(|s| s.line)).collect();
        assert_eq!(lines, [[2, 3], [2, 4]]);
    }

    #[test]
    fn what_stands_where_the_program_failed_comes_first() {
        let mut discovery = discovery();
        discovery.learn(&seen(&[(2, 1), (3, 1)]));
        let targets = discovery.targets(&BTreeSet::from([3]));
        assert_eq!(targets[0].sides, [vec![1], vec![3]]);
    }
}
