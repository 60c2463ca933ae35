//! All that is known of a race, for the few that a report moves or says something else about.

use racewarden_finding::Site;
use rustc_hash::FxHashMap;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};

use crate::rows::{from_json, state, to_json};
use crate::store::Writer;
use crate::{Error, Result, State};

/// The columns of `race_rows r` that [`known_of`] reads.
pub(crate) const KNOWN_COLUMNS: &str = "r.id, r.number, r.object, r.proof, r.status, \
     r.regression, r.assessment, r.assignee, r.fixed_in";

/// What the ledger knew of a race before the report.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub row: i64,
    pub number: i64,
    pub object: String,
    pub state: State,
}

pub(crate) fn known_of(row: &AnyRow) -> Result<Known> {
    Ok(Known {
        row: row.try_get("id")?,
        number: row.try_get("number")?,
        object: row.try_get("object")?,
        state: state(row)?,
    })
}

pub(crate) async fn load_known(writer: &mut Writer, rows: &[i64]) -> Result<FxHashMap<i64, Known>> {
    let mut known = FxHashMap::default();
    if rows.is_empty() {
        return Ok(known);
    }
    let sql = format!(
        "SELECT {KNOWN_COLUMNS} FROM race_rows r WHERE r.id IN ({})",
        writer.backend.numbers(1)
    );
    let query = sqlx::query(AssertSqlSafe(sql)).bind(to_json(&rows));
    for row in query.fetch_all(&mut **writer).await? {
        let entry = known_of(&row)?;
        known.insert(entry.row, entry);
    }
    Ok(known)
}

pub(crate) async fn stored_sites(
    writer: &mut Writer,
    rows: &[i64],
) -> Result<FxHashMap<i64, [Site; 2]>> {
    let mut pairs = FxHashMap::default();
    if rows.is_empty() {
        return Ok(pairs);
    }
    let sql = format!(
        "SELECT a.race_id, a.body AS left_site, b.body AS right_site \
         FROM sites a JOIN sites b ON b.race_id = a.race_id AND b.side = 1 \
         WHERE a.side = 0 AND a.race_id IN ({})",
        writer.backend.numbers(1)
    );
    let query = sqlx::query(AssertSqlSafe(sql)).bind(to_json(&rows));
    for row in query.fetch_all(&mut **writer).await? {
        let site = |column| from_json("a site", &row.try_get::<String, _>(column)?);
        pairs.insert(row.try_get("race_id")?, [site("left_site")?, site("right_site")?]);
    }
    match rows.iter().find(|row| !pairs.contains_key(row)) {
        Some(_) => Err(Error::Damaged { what: "a race".into(), why: "it lacks its sites".into() }),
        None => Ok(pairs),
    }
}
