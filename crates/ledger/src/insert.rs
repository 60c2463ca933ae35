//! Rows as they are written.

use racewarden_finding::{Race, Site};
use sqlx::AssertSqlSafe;

use crate::rows::{haystack, proof_number, to_json};
use crate::store::{Backend, Writer};
use crate::{Result, State};

/// Parameters per statement: far below both backends' limits, and few statements all the same.
const PARAMETERS: usize = 3_000;

/// A value of a row to write.
#[derive(Debug, Clone)]
pub(crate) enum Bind {
    Number(i64),
    Optional(Option<i64>),
    Text(String),
}

/// Rows of one table, each as wide as the first.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    width: usize,
    values: Vec<Bind>,
}

impl Rows {
    pub fn one<const N: usize>(row: [Bind; N]) -> Rows {
        Rows { width: N, values: row.into() }
    }

    pub fn push<const N: usize>(&mut self, row: [Bind; N]) {
        self.width = N;
        self.values.extend(row);
    }
}

pub(crate) const RACES: &str = "race_rows (number, fingerprint, object, proof, status, \
     regression, assessment, assignee, race_rank, first_seen, written_at, first_run, written_in, \
     reasons, haystack)";
pub(crate) const SITES: &str = "sites (race_id, side, file, line, function, body)";
pub(crate) const HISTORY: &str =
    "history (race_id, at, actor, action, reason, before_state, after_state, undone)";

pub(crate) fn race_row(race: &Race, number: i64, state: &State, at: i64, run: i64) -> [Bind; 15] {
    [
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
        Bind::Text(reasons_text(race)),
        Bind::Text(haystack(race)),
    ]
}

/// The race's reasons, none twice in a row.
pub(crate) fn reasons_text(race: &Race) -> String {
    let mut reasons: Vec<&str> = race.reasons.iter().map(String::as_str).collect();
    reasons.dedup();
    to_json(&reasons)
}

pub(crate) fn site_row(site: &Site, race: i64, side: i64) -> [Bind; 6] {
    [
        Bind::Number(race),
        Bind::Number(side),
        Bind::Text(site.file.clone()),
        Bind::Number(i64::from(site.line)),
        Bind::Text(site.function.clone()),
        Bind::Text(to_json(site)),
    ]
}

pub(crate) fn history_row(
    race: i64,
    at: i64,
    actor: &str,
    action: &str,
    reason: &str,
    before: Option<&State>,
    after: &State,
) -> [Bind; 8] {
    [
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
    rows: Rows,
    suffix: &str,
) -> Result<()> {
    write(writer, &format!("INSERT INTO {table} VALUES "), rows, suffix).await
}

/// Sets `columns` of many rows of `table`; each row is its id and then their new values.
pub(crate) async fn update(
    writer: &mut Writer,
    table: &str,
    columns: &[&str],
    rows: Rows,
) -> Result<()> {
    let names = columns.join(", ");
    let set: Vec<String> = columns.iter().map(|name| format!("{name} = news.{name}")).collect();
    let prefix = format!("WITH news (row_id, {names}) AS (VALUES ");
    let set = set.join(", ");
    let suffix = format!(") UPDATE {table} SET {set} FROM news WHERE {table}.id = news.row_id");
    write(writer, &prefix, rows, &suffix).await
}

async fn write(writer: &mut Writer, prefix: &str, rows: Rows, suffix: &str) -> Result<()> {
    let Rows { width, values } = rows;
    let mut left = values.len();
    let mut values = values.into_iter();
    let mut known: Option<(usize, String)> = None;
    while left > 0 {
        let count = (PARAMETERS / width).min(left / width);
        let sql = match &known {
            Some((same, sql)) if *same == count => sql.clone(),
            _ => {
                let values = placeholders(writer.backend, count, width);
                known.insert((count, format!("{prefix}{values}{suffix}"))).1.clone()
            }
        };
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for value in values.by_ref().take(count * width) {
            query = match value {
                Bind::Number(number) => query.bind(number),
                Bind::Optional(number) => query.bind(number),
                Bind::Text(text) => query.bind(without_nul(text)),
            };
        }
        query.execute(&mut **writer).await?;
        left -= count * width;
    }
    Ok(())
}

/// PostgreSQL's text holds no NUL, and nothing we show needs one.
pub(crate) fn without_nul(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text }
}

/// `($1,$2),($3,$4)`: placeholders for `rows` of `columns`. SQLite looks for a numbered one among
/// all that the statement has, each time one is bound.
fn placeholders(backend: Backend, rows: usize, columns: usize) -> String {
    let mut text = String::new();
    for row in 0..rows {
        text.push_str(if row == 0 { "(" } else { ",(" });
        for column in 0..columns {
            if column > 0 {
                text.push(',');
            }
            match backend {
                Backend::Sqlite => text.push('?'),
                Backend::Postgres => text.push_str(&format!("${}", row * columns + column + 1)),
            }
        }
        text.push(')');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_count_on() {
        assert_eq!(placeholders(Backend::Postgres, 2, 2), "($1,$2),($3,$4)");
        assert_eq!(placeholders(Backend::Sqlite, 2, 2), "(?,?),(?,?)");
    }
}
