//! From candidate pairs to ranked races: one race per pair of places, RELAY's filters (4.3) and
//! paper 2's covers (section 4) lower the rank and say why; nothing is dropped.

use racewarden_finding::{AccessKind, Race};
use rustc_hash::FxHashMap;

use crate::contexts::GuardedAccess;
use crate::digests::Whole;
use crate::draft::{Candidate, Draft, DraftSite, Words};
use crate::naming::Naming;
use crate::pairs::Pairs;
use crate::pointsto::{ObjectId, ObjectKind};
use crate::threads::MAIN;

/// The candidates in words, with their places left open.
pub fn draft(
    pairs: &Pairs,
    accesses: &[GuardedAccess],
    whole: &Whole<'_>,
    naming: &Naming<'_>,
) -> Draft {
    let mut words = Words::default();
    let mut sites: Vec<DraftSite> = Vec::new();
    let mut numbers: FxHashMap<u32, u32> = FxHashMap::default();
    let mut candidates = Vec::with_capacity(pairs.candidates.len());
    for &(first, second, object) in &pairs.candidates {
        let mut site = |number: u32| {
            *numbers.entry(number).or_insert_with(|| {
                sites.push(naming.site(&accesses[number as usize], &mut words));
                sites.len() as u32 - 1
            })
        };
        let numbers = (site(first), site(second));
        let (a, b) = (&accesses[first as usize], &accesses[second as usize]);
        let name = naming
            .field(a)
            .filter(|field| Some(field) == naming.field(b).as_ref())
            .unwrap_or_else(|| naming.object(object));
        let mut reasons = Vec::new();
        let rank = weigh(a, b, object, whole, &mut |reason| {
            reasons.push(words.id(reason.to_owned()));
        });
        candidates.push(Candidate { sites: numbers, object: words.id(name), rank, reasons });
    }
    Draft { words: words.into_list(), sites, candidates, ..Draft::default() }
}

/// The rank of a candidate, without its reasons.
pub fn score(a: &GuardedAccess, b: &GuardedAccess, object: ObjectId, whole: &Whole<'_>) -> u32 {
    weigh(a, b, object, whole, &mut |_| {})
}

fn weigh(
    a: &GuardedAccess,
    b: &GuardedAccess,
    object: ObjectId,
    whole: &Whole<'_>,
    say: &mut impl FnMut(&'static str),
) -> u32 {
    let mut rank: i32 = 60;
    let mut change = |by: i32, reason: &'static str| {
        rank += by;
        say(reason);
    };
    let is_free = |access: &GuardedAccess| {
        access.state.held.iter().all(|held| whole.instantiation.has_run_once(held))
    };
    match (is_free(a), is_free(b)) {
        (true, true) => change(10, "no lock is held at either access"),
        // Whoever takes a lock at one place meant to take it at the other as well.
        (true, false) | (false, true) => change(10, "a lock is held at one access only"),
        (false, false) => change(0, "no common lock is held"),
    }
    if a.kind == AccessKind::Write && b.kind == AccessKind::Write {
        change(5, "both accesses write");
    }
    let locations = whole.instantiation.points.locations();
    let certain = matches!(locations.objects[object as usize], ObjectKind::Global(_))
        && a.locations.len() == 1
        && b.locations.len() == 1;
    if certain {
        change(10, "both accesses are certain to be to this object");
    }
    let targets = a.locations.len().max(b.locations.len());
    if targets > 8 {
        change(-20, "the pointers may lead to many objects; they may never meet (RELAY filter 2)");
    }
    if let ObjectKind::Heap(function, inst) = locations.objects[object as usize] {
        let own = |access: &GuardedAccess| {
            whole.is_own(access)
                || access.address.as_ref().is_some_and(|address| {
                    address.mentions(&|atom| match atom {
                        crate::sym::Atom::Inst(frame, at) => {
                            *at == inst && whole.instantiation.function_of(*frame) == function
                        }
                        _ => false,
                    })
                })
        };
        if own(a) || own(b) {
            change(-15, "the object is allocated by the thread that accesses it (RELAY filter 1)");
        }
    }
    let start = |access: &GuardedAccess| {
        let root = &whole.instantiation.threads.roots[access.root as usize];
        (!root.outside).then_some(root.function)
    };
    if start(a).is_some() && start(a) == start(b) {
        change(-5, "both accesses are in threads of one start function (RELAY filter 4)");
    }
    if a.root == MAIN || b.root == MAIN {
        change(-5, "one access is in the program's first thread (RELAY filter 3)");
    }
    if a.atomic != b.atomic {
        change(5, "one access is atomic and the other is not");
    }
    rank.clamp(1, 100) as u32
}

type SiteKey<'a> = (&'a str, u32, u32, AccessKind);

/// Stage II: a race whose access always comes after another one of the same thread on the same
/// object, under at least the same locks, is ranked below that one's race.
pub fn cover(races: &mut [Race]) {
    // Races by object and one of their sites: a cover shares one with what it covers.
    let mut by_site: FxHashMap<(&str, SiteKey<'_>), Vec<(&Race, usize)>> = FxHashMap::default();
    for race in races.iter() {
        for (index, site) in race.sites.iter().enumerate() {
            let list = by_site.entry((&race.object, site.key())).or_default();
            list.push((race, 1 - index));
        }
    }
    let covers: Vec<Option<String>> = races
        .iter()
        .map(|race| {
            [(0, 1), (1, 0)].into_iter().find_map(|(kept, moved)| {
                let fixed = &race.sites[kept];
                by_site[&(race.object.as_str(), fixed.key())].iter().find_map(|(other, free)| {
                    let weaker = &other.sites[*free];
                    let covers =
                        !std::ptr::eq(race, *other) && is_weaker(weaker, &race.sites[moved]);
                    covers.then(|| {
                        let (kept, by) = (fixed.location(), weaker.location());
                        format!("covered by the race of {kept} with {by}")
                    })
                })
            })
        })
        .collect();
    for (race, cover) in races.iter_mut().zip(covers) {
        if let Some(cover) = cover {
            race.rank = race.rank.saturating_sub(15).max(1);
            race.reasons.push(cover);
        }
    }
}

/// Whether `a` comes before `b` in one function and its locks are among `b`'s (Definition 9).
fn is_weaker(a: &racewarden_finding::Site, b: &racewarden_finding::Site) -> bool {
    a.function == b.function
        && a.file == b.file
        && a.thread == b.thread
        && (a.line, a.column) < (b.line, b.column)
        && (a.access == b.access || a.access == AccessKind::Write)
        && a.locks.iter().all(|lock| {
            b.locks.iter().any(|other| other.name == lock.name && other.mode == lock.mode)
        })
}
