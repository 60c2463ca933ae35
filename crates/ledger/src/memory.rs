//! What the ledger knows of all races, as far as few bytes tell: which capture saw each last, its
//! state in two words, and its memo.

use std::collections::BTreeSet;

use racewarden_finding::Verdict;
use sqlx::{AssertSqlSafe, Row};

use crate::insert::{Bind, Rows, insert};
use crate::lifecycle::{self, Event};
use crate::memo::Memos;
use crate::rows::{from_json, proof_of, to_json};
use crate::spans::{Span, overlay, spans_of};
use crate::store::Writer;
use crate::{Error, Result, State, Status};

/// Where a race stands: enough to tell whether being seen again moves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    pub status: Status,
    pub proof: Verdict,
}

impl Standing {
    fn state(self) -> State {
        State { status: self.status, ..State::new(self.proof) }
    }

    pub fn verdict(self) -> Verdict {
        self.state().verdict()
    }

    /// Whether being seen may move it. For what is gone that depends on more than is known here.
    pub fn may_move(self, verdict: Verdict) -> bool {
        let state = self.state();
        let event = Event::Seen { verdict, older_than_fix: false };
        matches!(self.status, Status::Fixed | Status::Obsolete)
            || lifecycle::apply(&state, &event).as_ref() != Ok(&state)
    }
}

/// The run that saw races last, and its capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Last {
    run: i64,
    capture: Option<i64>,
}

pub(crate) struct Memory {
    pub memos: Memos,
    latest: Vec<Span<Last>>,
    /// Every race, by its row.
    standings: Vec<(i64, Standing)>,
}

impl Memory {
    pub async fn load(writer: &mut Writer) -> Result<Memory> {
        Ok(Memory {
            memos: Memos::load(writer).await?,
            latest: load_latest(writer).await?,
            standings: load_standings(writer).await?,
        })
    }

    pub fn is_empty(&self) -> bool {
        self.standings.is_empty()
    }

    /// Every race's row, in order.
    pub fn rows(&self) -> impl Iterator<Item = i64> + '_ {
        self.standings.iter().map(|(row, _)| *row)
    }

    pub fn standing(&self, row: i64) -> Result<Standing> {
        let at = self.standings.binary_search_by_key(&row, |(known, _)| *known);
        let damaged = || Error::Damaged {
            what: "a name of a race".into(),
            why: format!("there is no race in row {row}"),
        };
        Ok(self.standings[at.map_err(|_| damaged())?].1)
    }

    /// The capture of the run that saw the race last, which its places belong to.
    pub fn last_capture(&self, row: i64) -> Option<i64> {
        let after = self.latest.partition_point(|span| span.first <= row);
        let span = self.latest[..after].last()?;
        if row <= span.last { span.value.capture } else { None }
    }

    /// The races whose places are of `capture`.
    pub fn seen_last_in(&self, capture: i64) -> Vec<i64> {
        let mut rows = Vec::new();
        for span in self.latest.iter().filter(|span| span.value.capture == Some(capture)) {
            let from = self.standings.partition_point(|(row, _)| *row < span.first);
            let known = self.standings[from..].iter().map(|(row, _)| *row);
            rows.extend(known.take_while(|row| *row <= span.last));
        }
        rows
    }

    /// Notes that `run` saw `rows`, which are sorted.
    pub async fn seen(
        &self,
        writer: &mut Writer,
        rows: &[i64],
        run: i64,
        capture: Option<i64>,
    ) -> Result<()> {
        let seen = spans_of(rows, Last { run, capture });
        let mut sightings = Rows::default();
        for span in &seen {
            sightings.push([run, span.first, span.last].map(Bind::Number));
        }
        insert(writer, "spans (run_id, first_race, last_race)", sightings, "").await?;
        let key = |span: &Span<Last>| (span.first, span.last, span.value.run);
        let before: BTreeSet<_> = self.latest.iter().map(key).collect();
        let after: BTreeSet<_> = overlay(&self.latest, &seen).iter().map(key).collect();
        let over: Vec<i64> = before.difference(&after).map(|(first, ..)| *first).collect();
        let sql = format!("DELETE FROM latest WHERE first_race IN ({})", writer.backend.numbers(1));
        sqlx::query(AssertSqlSafe(sql)).bind(to_json(&over)).execute(&mut **writer).await?;
        let mut latest = Rows::default();
        for (first, last, run) in after.difference(&before) {
            latest.push([*first, *last, *run].map(Bind::Number));
        }
        insert(writer, "latest (first_race, last_race, run_id)", latest, "").await
    }
}

async fn load_latest(writer: &mut Writer) -> Result<Vec<Span<Last>>> {
    let rows = sqlx::query(
        "SELECT l.first_race, l.last_race, l.run_id, u.capture_id \
         FROM latest l JOIN runs u ON u.id = l.run_id ORDER BY l.first_race",
    )
    .fetch_all(&mut **writer)
    .await?;
    rows.iter()
        .map(|row| {
            let value = Last { run: row.try_get("run_id")?, capture: row.try_get("capture_id")? };
            Ok(Span { first: row.try_get("first_race")?, last: row.try_get("last_race")?, value })
        })
        .collect()
}

/// By status and proof, which an index holds beside the rows.
async fn load_standings(writer: &mut Writer) -> Result<Vec<(i64, Standing)>> {
    let sql = format!(
        "SELECT status, proof, {} AS rows FROM race_rows GROUP BY status, proof",
        writer.backend.list("id", "id")
    );
    let mut standings = Vec::new();
    for row in sqlx::query(AssertSqlSafe(sql)).fetch_all(&mut **writer).await? {
        let status: String = row.try_get("status")?;
        let standing = Standing {
            status: status
                .parse()
                .map_err(|why| Error::Damaged { what: "a status".into(), why })?,
            proof: proof_of(row.try_get("proof")?),
        };
        let rows: Vec<i64> = from_json("a list", &row.try_get::<String, _>("rows")?)?;
        standings.extend(rows.into_iter().map(|row| (row, standing)));
    }
    standings.sort_unstable_by_key(|(row, _)| *row);
    Ok(standings)
}
