//! Rows to types and back.

use racewarden_finding::{Engine, Evidence, Fingerprint, Race, Site, Verdict};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::Row;
use sqlx::any::AnyRow;

use crate::{Assessment, Entry, Error, Result, State};

/// The proof as a number that sorts; frozen, as it is stored.
pub(crate) fn proof_number(verdict: Verdict) -> i64 {
    match verdict {
        Verdict::LikelyFalse | Verdict::Fixed | Verdict::Suppressed | Verdict::Potential => 10,
        Verdict::Predicted => 20,
        Verdict::Observed => 30,
        Verdict::Confirmed => 40,
        Verdict::Harmful => 50,
    }
}

pub(crate) fn proof_of(number: i64) -> Verdict {
    match number {
        50.. => Verdict::Harmful,
        40.. => Verdict::Confirmed,
        30.. => Verdict::Observed,
        20.. => Verdict::Predicted,
        _ => Verdict::Potential,
    }
}

pub(crate) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("what the ledger stores is always valid JSON")
}

pub(crate) fn from_json<T: DeserializeOwned>(what: &str, text: &str) -> Result<T> {
    serde_json::from_str(text)
        .map_err(|error| Error::Damaged { what: what.to_owned(), why: error.to_string() })
}

/// The columns that [`state`] and [`entry`] read.
pub(crate) const RACE_COLUMNS: &str = "r.id, r.number, r.fingerprint, r.object, r.proof, r.status, \
     r.regression, r.assessment, r.assignee, r.race_rank, r.first_seen, r.last_seen, r.fixed_in, \
     r.reasons";

pub(crate) fn state(row: &AnyRow) -> Result<State> {
    let status: String = row.try_get("status")?;
    Ok(State {
        proof: proof_of(row.try_get("proof")?),
        status: status.parse().map_err(|why| Error::Damaged { what: "a status".into(), why })?,
        regression: row.try_get::<i64, _>("regression")? != 0,
        assessment: Assessment::from_column(&row.try_get::<String, _>("assessment")?),
        assignee: row.try_get("assignee")?,
        fixed_in: row.try_get("fixed_in")?,
    })
}

/// An entry without its sites and evidence, which come from their own tables.
pub(crate) fn entry(row: &AnyRow, sites: [Site; 2]) -> Result<Entry> {
    let state = state(row)?;
    let race = Race {
        id: race_id(row.try_get("number")?),
        fingerprint: Fingerprint(row.try_get("fingerprint")?),
        verdict: state.verdict(),
        rank: u32::try_from(row.try_get::<i64, _>("race_rank")?).unwrap_or(0),
        object: row.try_get("object")?,
        sites,
        evidence: Vec::new(),
        reasons: from_json("a race's reasons", &row.try_get::<String, _>("reasons")?)?,
    };
    Ok(Entry {
        race,
        state,
        first_seen: row.try_get("first_seen")?,
        last_seen: row.try_get("last_seen")?,
    })
}

pub(crate) fn evidence(row: &AnyRow) -> Result<Evidence> {
    let engine: String = row.try_get("engine")?;
    let engine: Engine =
        engine.parse().map_err(|why| Error::Damaged { what: "an evidence".into(), why })?;
    let detail = from_json("an evidence", &row.try_get::<String, _>("detail")?)?;
    Ok(Evidence { engine, detail })
}

pub(crate) fn race_id(number: i64) -> String {
    format!("R{number}")
}

/// The number in `R17`, `r17` or `17`.
pub(crate) fn race_number(id: &str) -> Result<i64> {
    let digits = id.strip_prefix(['R', 'r']).unwrap_or(id);
    digits.parse().map_err(|_| Error::NoSuchRace(id.to_owned()))
}

/// What a search looks in.
pub(crate) fn haystack(race: &Race) -> String {
    let mut text = race.object.clone();
    for site in &race.sites {
        for part in [&site.file, &site.function, &site.lvalue, &site.thread] {
            text.push('\n');
            text.push_str(part);
        }
    }
    text.to_lowercase()
}
