//! Rows as they are written.

use racewarden_finding::Race;
use sqlx::{Any, AssertSqlSafe, Transaction};

use crate::rows::{haystack, proof_number, to_json};
use crate::store::placeholders;
use crate::{Result, State};

/// Rows per statement: far below both backends' limits on parameters.
const CHUNK: usize = 200;

type Writer = Transaction<'static, Any>;

/// A value of a row to insert.
#[derive(Debug, Clone)]
pub(crate) enum Bind {
    Number(i64),
    Text(String),
}

pub(crate) const RACES: &str = "races (number, fingerprint, object, proof, status, regression, assessment, \
     assignee, race_rank, first_seen, last_seen, first_run, last_run, reasons, haystack)";
pub(crate) const SITES: &str = "sites (race_id, side, file, line, function, body)";
pub(crate) const HISTORY: &str =
    "history (race_id, at, actor, action, reason, before_state, after_state, undone)";

pub(crate) fn race_row(race: &Race, number: i64, state: &State, at: i64, run: i64) -> Vec<Bind> {
    vec![
        Bind::Number(number),
        Bind::Text(race.fingerprint.0.clone()),
        Bind::Text(race.object.clone()),
        Bind::Number(proof_number(state.proof)),
        Bind::Text(state.status.as_str().to_owned()),
        Bind::Number(i64::from(state.regression)),
        Bind::Text(state.assessment.as_str().to_owned()),
        Bind::Text(state.assignee.clone()),
        Bind::Number(i64::from(race.rank)),
        Bind::Number(at),
        Bind::Number(at),
        Bind::Number(run),
        Bind::Number(run),
        Bind::Text(to_json(&race.reasons)),
        Bind::Text(haystack(race)),
    ]
}

pub(crate) fn site_rows(race: &Race, row: i64) -> Vec<Vec<Bind>> {
    (0..)
        .zip(&race.sites)
        .map(|(side, site)| {
            vec![
                Bind::Number(row),
                Bind::Number(side),
                Bind::Text(site.file.clone()),
                Bind::Number(i64::from(site.line)),
                Bind::Text(site.function.clone()),
                Bind::Text(to_json(site)),
            ]
        })
        .collect()
}

pub(crate) fn history_row(
    race: i64,
    at: i64,
    actor: &str,
    action: &str,
    reason: &str,
    before: Option<&State>,
    after: &State,
) -> Vec<Bind> {
    vec![
        Bind::Number(race),
        Bind::Number(at),
        Bind::Text(actor.to_owned()),
        Bind::Text(action.to_owned()),
        Bind::Text(reason.to_owned()),
        Bind::Text(before.map_or(String::new(), to_json)),
        Bind::Text(to_json(after)),
        Bind::Number(0),
    ]
}

/// Inserts rows many at a time. `table` and `suffix` are this crate's own words.
pub(crate) async fn insert(
    writer: &mut Writer,
    table: &str,
    rows: &[Vec<Bind>],
    suffix: &str,
) -> Result<()> {
    for chunk in rows.chunks(CHUNK) {
        let values = placeholders(chunk.len(), chunk[0].len());
        let sql = format!("INSERT INTO {table} VALUES {values}{suffix}");
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for value in chunk.iter().flatten() {
            query = match value {
                Bind::Number(number) => query.bind(*number),
                // PostgreSQL's text holds no NUL, and nothing we show needs one.
                Bind::Text(text) => query.bind(text.replace('\0', "\u{fffd}")),
            };
        }
        query.execute(&mut **writer).await?;
    }
    Ok(())
}
