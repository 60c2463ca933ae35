//! Which known race a reported one is.
//!
//! Within one capture a pair of places is the surest name: engines may call an object differently
//! (`struct conn.state`, a heap block), but lines are lines. Across captures lines move, and the
//! fingerprint names the race. One function may hold several accesses that share a fingerprint;
//! they are told apart by an ordinal, given in the order in which they come.
//!
//! Races are looked at in the report's order, each takes a known one that is still free. A race
//! whose memo says what the report says needs no names from the tables, as long as its fingerprint
//! stands for the same races in the same order (`sure`); should such a race be taken by another all
//! the same, all names are read and everything is matched again.

use racewarden_finding::Site;
use rustc_hash::{FxHashMap, FxHashSet};
use sqlx::{AssertSqlSafe, Row};

use crate::insert::without_nul;
use crate::known::stored_sites;
use crate::memory::Memory;
use crate::places::{Pair, PlaceIndex};
use crate::reported::Reported;
use crate::rows::to_json;
use crate::store::Writer;
use crate::{Error, Result};

/// What a reported race turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// The known race; none when it is new.
    pub row: Option<i64>,
    /// The ordinal under which its fingerprint names it.
    pub ordinal: i64,
    /// That name is to be stored yet.
    pub new_name: bool,
}

/// A known race that a reported one is unless another takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sure {
    row: i64,
    ordinal: i64,
}

/// A sure match was taken by another race.
struct Conflict;

struct Matcher<'a> {
    reported: &'a Reported<'a>,
    memory: &'a Memory,
    capture: Option<i64>,
    /// Races whose places are of this capture.
    here: Vec<i64>,
    places: PlaceIndex,
    sure: Vec<Option<Sure>>,
    /// By fingerprint, each with its ordinal.
    named: FxHashMap<String, Vec<(i64, i64)>>,
    claimed: FxHashSet<i64>,
    /// The last ordinal given out for a fingerprint.
    given: FxHashMap<&'a str, i64>,
}

/// Finds the race that each reported one is; no known race is found twice.
pub(crate) async fn match_all(
    writer: &mut Writer,
    reported: &Reported<'_>,
    memory: &Memory,
    capture: Option<i64>,
) -> Result<Vec<Found>> {
    let here = capture.map_or(Vec::new(), |capture| memory.seen_last_in(capture));
    let mut matcher = Matcher {
        reported,
        memory,
        capture,
        places: places_of(writer, memory, &here).await?,
        here,
        sure: vec![None; reported.races.len()],
        named: FxHashMap::default(),
        claimed: FxHashSet::default(),
        given: FxHashMap::default(),
    };
    let unsure = matcher.settle_sure();
    matcher.load_names(writer, &unsure).await?;
    if let Ok(found) = matcher.find_all() {
        return Ok(found);
    }
    matcher.sure.fill(None);
    let all: Vec<&str> = reported.races.iter().map(|race| race.fingerprint.0.as_str()).collect();
    matcher.load_names(writer, &all).await?;
    matcher.find_all().map_err(|Conflict| Error::Damaged {
        what: "a report".into(),
        why: "its races cannot be told apart".into(),
    })
}

impl<'a> Matcher<'a> {
    /// Notes which races are sure; gives the other fingerprints.
    fn settle_sure(&mut self) -> Vec<&'a str> {
        if self.memory.is_empty() {
            return Vec::new();
        }
        let expected = self.expected();
        let mut groups: FxHashMap<&'a str, Vec<usize>> = FxHashMap::default();
        for (position, race) in self.reported.races.iter().enumerate() {
            groups.entry(race.fingerprint.0.as_str()).or_default().push(position);
        }
        let mut unsure = Vec::new();
        for (print, positions) in groups {
            let sure: Option<Vec<Sure>> =
                positions.iter().map(|position| expected[*position]).collect();
            match sure.filter(|sure| self.is_sure(&positions, sure)) {
                Some(sure) => {
                    for (position, sure) in positions.into_iter().zip(sure) {
                        self.sure[position] = Some(sure);
                    }
                }
                None => unsure.push(print),
            }
        }
        unsure
    }

    /// For each race the known one that said the same, if there is one alone.
    fn expected(&self) -> Vec<Option<Sure>> {
        let mut by_content: FxHashMap<u128, Option<Sure>> = FxHashMap::default();
        by_content.reserve(self.reported.races.len());
        for row in self.memory.rows() {
            let Some(memo) = self.memory.memos.get(row) else { continue };
            let sure = Sure { row, ordinal: i64::from(memo.ordinal) };
            by_content.entry(memo.content).and_modify(|same| *same = None).or_insert(Some(sure));
        }
        let contents = self.reported.contents.iter();
        contents.map(|content| by_content.get(content).copied().flatten()).collect()
    }

    /// Whether all races of one fingerprint stand where they stood in this capture, or have its
    /// first names in order, so that no other could be meant.
    fn is_sure(&self, positions: &[usize], sure: &[Sure]) -> bool {
        let in_place = |(position, sure): (&usize, &Sure)| {
            let found = self.places.find(&self.reported.pairs[*position]);
            found.is_some_and(|at| self.here[at] == sure.row)
        };
        let in_order = sure
            .iter()
            .zip(1..)
            .all(|(sure, ordinal)| sure.ordinal == ordinal && !self.is_elsewhere(sure.row));
        in_order || positions.iter().zip(sure).all(in_place)
    }

    /// A race of this very capture that stands at other places is another one.
    fn is_elsewhere(&self, row: i64) -> bool {
        self.capture.is_some() && self.memory.last_capture(row) == self.capture
    }

    fn find_all(&mut self) -> std::result::Result<Vec<Found>, Conflict> {
        self.claimed.clear();
        self.given.clear();
        (0..self.reported.races.len()).map(|position| self.find(position)).collect()
    }

    fn find(&mut self, position: usize) -> std::result::Result<Found, Conflict> {
        let reported = self.reported;
        let print = reported.races[position].fingerprint.0.as_str();
        let sure = self.sure[position];
        let known = |row, ordinal| Found { row: Some(row), ordinal, new_name: false };
        let by_place = self.places.find(&reported.pairs[position]).map(|at| self.here[at]);
        if let Some(row) = by_place.filter(|row| !self.claimed.contains(row)) {
            self.claimed.insert(row);
            return match sure {
                Some(sure) if sure.row == row => Ok(known(row, sure.ordinal)),
                Some(_) => Err(Conflict),
                None => Ok(match self.names(print).iter().find(|(_, named)| *named == row) {
                    Some((ordinal, _)) => known(row, *ordinal),
                    None => {
                        Found { row: Some(row), ordinal: self.free_name(print), new_name: true }
                    }
                }),
            };
        }
        if let Some(Sure { row, ordinal }) = sure {
            if self.is_elsewhere(row) || !self.claimed.insert(row) {
                return Err(Conflict);
            }
            return Ok(known(row, ordinal));
        }
        let free = |row: i64| !self.claimed.contains(&row) && !self.is_elsewhere(row);
        match self.names(print).iter().copied().find(|(_, row)| free(*row)) {
            Some((ordinal, row)) => {
                self.claimed.insert(row);
                Ok(known(row, ordinal))
            }
            None => Ok(Found { row: None, ordinal: self.free_name(print), new_name: true }),
        }
    }

    fn names(&self, print: &str) -> &[(i64, i64)] {
        self.named.get(print).map_or(&[][..], Vec::as_slice)
    }

    fn free_name(&mut self, print: &'a str) -> i64 {
        let last = self.names(print).iter().map(|(ordinal, _)| *ordinal).max().unwrap_or(0);
        let given = self.given.entry(print).or_insert(last);
        *given += 1;
        *given
    }

    async fn load_names(&mut self, writer: &mut Writer, prints: &[&str]) -> Result<()> {
        if prints.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "SELECT fingerprint, ordinal, race_id FROM aliases WHERE fingerprint IN ({}) \
             ORDER BY fingerprint, ordinal",
            writer.backend.texts(1)
        );
        let prints: Vec<String> =
            prints.iter().map(|print| without_nul((*print).to_owned())).collect();
        let query = sqlx::query(AssertSqlSafe(sql)).bind(to_json(&prints));
        self.named.clear();
        for row in query.fetch_all(&mut **writer).await? {
            let name = (row.try_get("ordinal")?, row.try_get("race_id")?);
            self.named.entry(row.try_get("fingerprint")?).or_default().push(name);
        }
        Ok(())
    }
}

/// The places of known races, which their memos tell or else their sites.
async fn places_of(writer: &mut Writer, memory: &Memory, rows: &[i64]) -> Result<PlaceIndex> {
    let without: Vec<i64> =
        rows.iter().copied().filter(|row| memory.memos.get(*row).is_none()).collect();
    let mut stored: FxHashMap<i64, [Site; 2]> = stored_sites(writer, &without).await?;
    let mut index = PlaceIndex::with_capacity(rows.len());
    for row in rows {
        let pair = match memory.memos.get(*row) {
            Some(memo) => memo.pair,
            None => Pair::of_known(&stored.remove(row).ok_or_else(|| Error::Damaged {
                what: "a race".into(),
                why: "it lacks its sites".into(),
            })?),
        };
        index.push(pair);
    }
    Ok(index)
}
