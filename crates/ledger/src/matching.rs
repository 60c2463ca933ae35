//! Which known race a reported one is.
//!
//! Within one capture a pair of places is the surest name: engines may call an object differently
//! (`struct conn.state`, a heap block), but lines are lines. Across captures lines move, and the
//! fingerprint names the race. One function may hold several accesses that share a fingerprint;
//! they are told apart by an ordinal, given in the order in which they come.

use std::collections::{BTreeMap, BTreeSet};

use racewarden_finding::{PairIndex, Race, Site};
use sqlx::any::AnyRow;
use sqlx::{Any, AssertSqlSafe, Row, Transaction};

use crate::rows::{RACE_COLUMNS, from_json, state};
use crate::store::placeholders;
use crate::{Error, Result, State};

const CHUNK: usize = 200;

type Writer = Transaction<'static, Any>;

/// What the ledger knew of a race before the report.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub row: i64,
    pub number: i64,
    pub state: State,
    /// Absent for a race that the ledger has just made.
    pub stored: Option<Stored>,
}

#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub object: String,
    /// The capture of the run that saw it last, which its places belong to.
    capture: Option<i64>,
}

/// What a reported race turned out to be.
pub(crate) struct Found {
    pub known: Option<Known>,
    /// The ordinal under which its fingerprint is to be stored, when it is not yet.
    pub new_name: Option<i64>,
}

pub(crate) struct Matcher {
    capture: Option<i64>,
    /// By fingerprint, each with its ordinal.
    named: BTreeMap<String, Vec<(i64, Known)>>,
    /// Races whose places are of this capture.
    here: Vec<Race>,
    here_known: Vec<Known>,
    places: PairIndex,
    claimed: BTreeSet<i64>,
    new_names: BTreeSet<(String, i64)>,
}

impl Matcher {
    pub async fn load(
        writer: &mut Writer,
        races: &[Race],
        capture: Option<i64>,
    ) -> Result<Matcher> {
        let prints: BTreeSet<&str> = races.iter().map(|race| race.fingerprint.0.as_str()).collect();
        let prints: Vec<&str> = prints.into_iter().collect();
        let (here, here_known) = match capture {
            Some(capture) => seen_in(writer, capture).await?,
            None => Default::default(),
        };
        Ok(Matcher {
            capture,
            named: by_name(writer, &prints).await?,
            places: PairIndex::new(&here),
            here,
            here_known,
            claimed: BTreeSet::new(),
            new_names: BTreeSet::new(),
        })
    }

    /// Finds the race that `race` is; no known race is found twice.
    pub fn find(&mut self, race: &Race) -> Found {
        let print = &race.fingerprint.0;
        let names = self.named.get(print).map_or(&[][..], Vec::as_slice);
        let by_place = self.places.find(&self.here, race).map(|at| self.here_known[at].clone());
        if let Some(known) = by_place.filter(|known| !self.claimed.contains(&known.row)) {
            self.claimed.insert(known.row);
            let has_name = names.iter().any(|(_, named)| named.row == known.row);
            let new_name = if has_name { None } else { Some(self.free_name(print)) };
            return Found { known: Some(known), new_name };
        }
        // A race of this very capture that stands elsewhere is another one.
        let elsewhere = |known: &Known| {
            let seen_in = known.stored.as_ref().and_then(|stored| stored.capture);
            self.capture.is_some() && seen_in == self.capture
        };
        let by_name = names
            .iter()
            .find(|(_, known)| !self.claimed.contains(&known.row) && !elsewhere(known))
            .map(|(_, known)| known.clone());
        match by_name {
            Some(known) => {
                self.claimed.insert(known.row);
                Found { known: Some(known), new_name: None }
            }
            None => Found { known: None, new_name: Some(self.free_name(print)) },
        }
    }

    fn free_name(&mut self, print: &str) -> i64 {
        let names = self.named.get(print).map_or(&[][..], Vec::as_slice);
        let last = names.iter().map(|(ordinal, _)| *ordinal).max().unwrap_or(0);
        let mut ordinal = last + 1;
        while !self.new_names.insert((print.to_owned(), ordinal)) {
            ordinal += 1;
        }
        ordinal
    }
}

pub(crate) fn known_of(row: &AnyRow) -> Result<Known> {
    Ok(Known {
        row: row.try_get("id")?,
        number: row.try_get("number")?,
        state: state(row)?,
        stored: None,
    })
}

fn stored_of(row: &AnyRow) -> Result<Known> {
    let stored = Stored { object: row.try_get("object")?, capture: row.try_get("capture_id")? };
    Ok(Known { stored: Some(stored), ..known_of(row)? })
}

async fn by_name(
    writer: &mut Writer,
    prints: &[&str],
) -> Result<BTreeMap<String, Vec<(i64, Known)>>> {
    let mut named: BTreeMap<String, Vec<(i64, Known)>> = BTreeMap::new();
    for chunk in prints.chunks(CHUNK) {
        let sql = format!(
            "SELECT a.fingerprint AS name, a.ordinal, u.capture_id, {RACE_COLUMNS} \
             FROM aliases a JOIN races r ON r.id = a.race_id JOIN runs u ON u.id = r.last_run \
             WHERE a.fingerprint IN {} ORDER BY a.fingerprint, a.ordinal",
            placeholders(1, chunk.len())
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for print in chunk {
            query = query.bind(*print);
        }
        for row in query.fetch_all(&mut **writer).await? {
            let known = stored_of(&row)?;
            named.entry(row.try_get("name")?).or_default().push((row.try_get("ordinal")?, known));
        }
    }
    Ok(named)
}

/// The races whose places are of `capture`, ready to be compared by place.
async fn seen_in(writer: &mut Writer, capture: i64) -> Result<(Vec<Race>, Vec<Known>)> {
    let sql = format!(
        "SELECT u.capture_id, a.body AS left_site, b.body AS right_site, {RACE_COLUMNS} \
         FROM races r JOIN runs u ON u.id = r.last_run \
         JOIN sites a ON a.race_id = r.id AND a.side = 0 \
         JOIN sites b ON b.race_id = r.id AND b.side = 1 \
         WHERE u.capture_id = $1 ORDER BY r.number"
    );
    let rows = sqlx::query(AssertSqlSafe(sql)).bind(capture).fetch_all(&mut **writer).await?;
    let (mut races, mut known) = (Vec::new(), Vec::new());
    for row in &rows {
        let site =
            |column| -> Result<Site> { from_json("a site", &row.try_get::<String, _>(column)?) };
        let entry = stored_of(row)?;
        let object: String = row.try_get("object")?;
        races.push(Race::new(
            site("left_site")?,
            site("right_site")?,
            object,
            entry.state.verdict(),
        ));
        known.push(entry);
    }
    Ok((races, known))
}

pub(crate) async fn stored_sites(writer: &mut Writer, race: i64) -> Result<[Site; 2]> {
    let rows = sqlx::query("SELECT body FROM sites WHERE race_id = $1 ORDER BY side")
        .bind(race)
        .fetch_all(&mut **writer)
        .await?;
    let sites: Vec<Site> = rows
        .iter()
        .map(|row| from_json("a site", &row.try_get::<String, _>("body")?))
        .collect::<Result<_>>()?;
    sites
        .try_into()
        .map_err(|_| Error::Damaged { what: "a race".into(), why: "it lacks its sites".into() })
}
