//! What was found in objects and fields, kept for the program after an edit.
//!
//! Whether two accesses exclude each other is told by their own states and addresses, by contexts, and by
//! what was looked at of bodies. When all of that is what it was, only objects and fields with accesses that
//! are new, other or gone are searched again. The search of an object depends on the order of guards and
//! reaches once there are enough candidates; so both must come in the order in which they came.
//!
//! Not kept: what was found where a digest has asked for others' accesses, as those of flags and counters do.

use serde::{Deserialize, Serialize};

use super::guards::Guards;
use super::{Best, Bundles, Found};
use crate::contexts::GuardedAccess;
use crate::digests::Whole;
use crate::pointsto::{CallSite, Location, ObjectId, may_overlap};
use crate::reaches::Reaches;
use crate::takeover::{Matched, NONE};

/// How often a number comes, one after the other.
type Runs = Vec<(u32, u32)>;

#[derive(Serialize, Deserialize)]
pub struct KeptPairs {
    objects: Vec<(ObjectId, KeptFound)>,
    /// `None` where no access was to anything, so that nobody looked.
    fields: Option<Vec<(String, KeptFound)>>,
    /// By access.
    guards: Runs,
    reaches: Runs,
    singletons: Vec<bool>,
    broken: Vec<Location>,
    /// Accesses that were found not to be private after all, ascending.
    loosened: Vec<u32>,
    /// Words whose accesses were asked for, with their sizes.
    words: Vec<(Location, u64)>,
}

#[derive(Serialize, Deserialize)]
struct KeptFound {
    excluded: Vec<u64>,
    /// Rank, accesses and object.
    best: Vec<(u32, (u32, u32), ObjectId)>,
    more: u64,
    left_out: u64,
    compared: u64,
}

impl KeptPairs {
    /// Whether somebody asked for accesses to the object.
    pub fn asks_for(&self, object: ObjectId) -> bool {
        self.words.iter().any(|(word, _)| word.object == object)
    }
}

impl KeptFound {
    fn new(found: &Found) -> Self {
        let mut best: Vec<_> =
            found.best.values().map(|best| (best.rank, best.pair, best.object)).collect();
        best.sort_unstable();
        let Found { more, left_out, compared, .. } = *found;
        KeptFound { excluded: found.excluded.clone(), best, more, left_out, compared }
    }
}

fn runs(numbers: &[u32]) -> Runs {
    numbers.chunk_by(|a, b| a == b).map(|run| (run.len() as u32, run[0])).collect()
}

/// What searches find, to be kept.
#[derive(Default)]
pub struct Keeper {
    objects: Vec<(ObjectId, KeptFound)>,
    fields: Option<Vec<(String, KeptFound)>>,
}

impl Keeper {
    pub(super) fn looks_at_fields(&mut self) {
        self.fields.get_or_insert_default();
    }

    pub(super) fn object(&mut self, object: ObjectId, found: &Found) {
        self.objects.push((object, KeptFound::new(found)));
    }

    pub(super) fn field(&mut self, field: &str, found: &Found) {
        self.fields.get_or_insert_default().push((field.to_owned(), KeptFound::new(found)));
    }

    pub(super) fn pairs(self, whole: &Whole<'_>, guards: &Guards, reaches: &Reaches) -> KeptPairs {
        let Keeper { objects, fields } = self;
        KeptPairs {
            objects,
            fields,
            guards: runs(&guards.of_access),
            reaches: runs(&reaches.of_access),
            singletons: whole.singletons.clone(),
            broken: whole.broken.clone(),
            loosened: whole.instantiation.loosened.clone(),
            words: whole.instantiation.asked_words(),
        }
    }
}

/// What was found before an edit, for the program after it.
pub struct Before {
    pub kept: KeptPairs,
    /// Objects' numbers after the edit by those before.
    pub objects: Vec<ObjectId>,
}

/// What was found and still holds, under the numbers after the edit.
pub(super) struct Holding<'a> {
    before: &'a Before,
    matched: &'a Matched,
    bundles: &'a Bundles,
    /// Objects with other accesses than before, ascending.
    changed: Vec<ObjectId>,
}

impl<'a> Holding<'a> {
    /// `None` when nothing holds.
    pub fn new(
        (accesses, whole): (&[GuardedAccess], &'a Whole<'_>),
        (guards, reaches, bundles): (&Guards, &Reaches, &'a Bundles),
    ) -> Option<Self> {
        let instantiation = whole.instantiation;
        let before = instantiation.before.as_ref()?;
        let matched = instantiation.matched.as_ref()?;
        let Before { kept, objects } = before;
        let object = |object: ObjectId| {
            objects.get(object as usize).copied().filter(|object| *object != NONE)
        };
        let same_singleton = |(old, new): (usize, &ObjectId)| {
            *new == NONE || kept.singletons.get(old) == whole.singletons.get(*new as usize)
        };
        let broken =
            kept.broken.iter().map(|at| Some(Location { object: object(at.object)?, ..*at }));
        if !objects.iter().enumerate().all(same_singleton)
            || broken.collect::<Option<Vec<Location>>>().as_ref() != Some(&whole.broken)
            || !same_loosened(&kept.loosened, &instantiation.loosened, matched)
            || !kept.words.iter().all(|(word, size)| {
                let word = object(word.object).map(|object| Location { object, ..*word });
                word.is_some_and(|word| is_untouched((word, *size), accesses, whole, matched))
            })
            || !keeps_order(&kept.guards, &guards.of_access, matched)
            || !keeps_order(&kept.reaches, &reaches.of_access, matched)
        {
            return None;
        }
        let new = matched.changed.iter().map(|number| &accesses[*number as usize].locations);
        let places = new.chain(matched.gone.iter().map(|(_, places)| places));
        let mut changed: Vec<ObjectId> =
            places.flat_map(|places| places.iter().map(|at| at.object)).collect();
        changed.sort_unstable();
        changed.dedup();
        Some(Holding { before, matched, bundles, changed })
    }

    /// Whether the object is to be searched again.
    pub fn is_changed(&self, object: ObjectId) -> bool {
        self.changed.binary_search(&object).is_ok()
    }

    /// What was found in the objects that need not be searched again.
    pub fn objects(&self) -> Option<Vec<(ObjectId, Found)>> {
        let mut found = Vec::new();
        for (object, kept) in &self.before.kept.objects {
            let object = self.object(*object)?;
            if !self.is_changed(object) {
                found.push((object, self.found(kept)?));
            }
        }
        Some(found)
    }

    /// The same of fields; `is_changed` says which are to be searched again.
    pub fn fields(&self, is_changed: &dyn Fn(&str) -> bool) -> Option<Vec<Found>> {
        let fields = self.before.kept.fields.as_ref()?;
        fields
            .iter()
            .filter(|(field, _)| !is_changed(field))
            .map(|(_, kept)| self.found(kept))
            .collect()
    }

    /// Where accesses are made that are new, other or gone.
    pub fn changed_sites(&self, accesses: &'a [GuardedAccess]) -> impl Iterator<Item = CallSite> {
        let site = |access: &GuardedAccess| (access.function, access.inst);
        let new = self.matched.changed.iter().map(move |own| site(&accesses[*own as usize]));
        new.chain(self.matched.gone.iter().map(|(site, _)| *site))
    }

    fn object(&self, object: ObjectId) -> Option<ObjectId> {
        self.before.objects.get(object as usize).copied().filter(|object| *object != NONE)
    }

    fn found(&self, kept: &KeptFound) -> Option<Found> {
        let number = |old: u32| {
            self.matched.numbers.get(old as usize).copied().filter(|number| *number != NONE)
        };
        let mut found = Found {
            excluded: kept.excluded.clone(),
            more: kept.more,
            left_out: kept.left_out,
            compared: kept.compared,
            ..Found::default()
        };
        for &(rank, (first, second), object) in &kept.best {
            let pair = (number(first)?, number(second)?);
            let (a, b) = (self.bundles.spot(pair.0), self.bundles.spot(pair.1));
            let object = self.object(object)?;
            found.best.insert((a.min(b), a.max(b)), Best { rank, pair, object });
        }
        Some(found)
    }
}

/// Whether no access that is new, other or gone may be to the word.
fn is_untouched(
    (word, size): (Location, u64),
    accesses: &[GuardedAccess],
    whole: &Whole<'_>,
    matched: &Matched,
) -> bool {
    let points = whole.instantiation.points;
    let blob = points.in_blob(word.object).then(|| points.blob().object);
    let is_at =
        |at: &Location, own: u64| blob == Some(at.object) || may_overlap(*at, own, word, size);
    let touches = |number: &u32| {
        let access = &accesses[*number as usize];
        access.locations.iter().any(|at| is_at(at, access.size))
    };
    // How large accesses were that are gone is not kept.
    let touched = |at: &Location| blob == Some(at.object) || at.object == word.object;
    !matched.changed.iter().any(touches)
        && !matched.gone.iter().any(|(_, places)| places.iter().any(touched))
}

/// Whether of accesses that there were the same ones are not private after all.
fn same_loosened(before: &[u32], now: &[u32], matched: &Matched) -> bool {
    let numbers = before.iter().map(|old| matched.numbers.get(*old as usize).copied());
    let Some(numbers) = numbers.collect::<Option<Vec<u32>>>() else { return false };
    let is_changed = |number: &u32| matched.changed.binary_search(number).is_ok();
    let here = numbers.into_iter().filter(|number| *number != NONE);
    here.eq(now.iter().copied().filter(|number| !is_changed(number)))
}

/// Whether the numbers that accesses had are those that they have, or others in the same order.
fn keeps_order(before: &Runs, now: &[u32], matched: &Matched) -> bool {
    let mut became: Vec<u32> = Vec::new();
    let mut at = 0;
    for &(count, number) in before {
        let number = number as usize;
        if became.len() <= number {
            became.resize(number + 1, NONE);
        }
        let Some(run) = matched.numbers.get(at..at + count as usize) else { return false };
        at += count as usize;
        for &new in run.iter().filter(|new| **new != NONE) {
            let own = now[new as usize];
            if became[number] != NONE && became[number] != own {
                return false;
            }
            became[number] = own;
        }
    }
    let known = || became.iter().filter(|own| **own != NONE);
    at == matched.numbers.len() && known().is_sorted_by(|a, b| a < b)
}
