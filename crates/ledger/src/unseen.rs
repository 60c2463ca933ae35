//! Races that a report does not have: gone, or missed so often that they are obsolete.

use sqlx::{AssertSqlSafe, Row};

use crate::known::{KNOWN_COLUMNS, known_of};
use crate::lifecycle::{self, Event};
use crate::record::{Changes, Merge};
use crate::rows::{race_id, to_json};
use crate::store::Writer;
use crate::{Result, Status};
use racewarden_finding::Engine;

impl Merge<'_> {
    /// Moves what the report no longer has; `seen` are the rows that it has, sorted.
    pub(crate) async fn settle_unseen(&mut self, writer: &mut Writer, seen: &[i64]) -> Result<()> {
        if self.run.complete {
            self.gone(writer, seen).await?;
        }
        self.missed(writer, seen).await
    }

    /// The rows that the report does not have, of races whose status `wanted` takes.
    fn unseen(&self, seen: &[i64], wanted: impl Fn(Status) -> bool) -> Result<Vec<i64>> {
        let mut rows = Vec::new();
        for row in self.memory.rows().filter(|row| seen.binary_search(row).is_err()) {
            if wanted(self.memory.standing(row)?.status) {
                rows.push(row);
            }
        }
        Ok(rows)
    }

    /// What a check of another capture of the same target had found, and this one did not. The
    /// evidence says whether a check found it: a hunt records what all engines found as one run.
    async fn gone(&mut self, writer: &mut Writer, seen: &[i64]) -> Result<()> {
        let Some(capture) = self.capture else { return Ok(()) };
        let unseen = self.unseen(seen, |status| status != Status::Fixed)?;
        if unseen.is_empty() {
            return Ok(());
        }
        let rows = sqlx::query(AssertSqlSafe(format!(
            "SELECT {KNOWN_COLUMNS} FROM race_rows r WHERE r.id IN ({}) \
             AND EXISTS (SELECT 1 FROM evidence e JOIN runs u ON u.id = e.run_id \
                 WHERE e.race_id = r.id AND e.engine = 'check' AND u.target = $2) \
             AND NOT EXISTS (SELECT 1 FROM runs u JOIN spans s ON s.run_id = u.id \
                 WHERE u.capture_id = $3 AND r.id BETWEEN s.first_race AND s.last_race) \
             ORDER BY r.number",
            writer.backend.numbers(1)
        )))
        .bind(to_json(&unseen))
        .bind(&self.run.target)
        .bind(capture)
        .fetch_all(&mut **writer)
        .await?;
        let label = self.run.capture.as_ref().map_or("", |capture| capture.label.as_str());
        let reason = format!(
            "a complete check of capture {capture}{} no longer finds it",
            if label.is_empty() { String::new() } else { format!(" ({label})") }
        );
        let mut changes = Changes::default();
        for row in rows {
            let known = known_of(&row)?;
            let next = lifecycle::apply(&known.state, &Event::Gone { capture })?;
            self.moved(&mut changes, &known, &next, "fixed", &reason);
            self.recorded.fixed.push(race_id(known.number));
        }
        changes.write(writer).await
    }

    /// Races that only runs had shown, and that so many runs of newer captures missed that chance
    /// does not explain it. A run of the capture that showed the race never counts against it.
    async fn missed(&mut self, writer: &mut Writer, seen: &[i64]) -> Result<()> {
        if self.run.engine == Engine::Check || self.capture.is_none() {
            return Ok(());
        }
        let waiting = |status| matches!(status, Status::Open | Status::LikelyFalse);
        let unseen = self.unseen(seen, waiting)?;
        if unseen.is_empty() {
            return Ok(());
        }
        let engine = self.run.engine.as_str();
        let rows = sqlx::query(AssertSqlSafe(format!(
            "SELECT {KNOWN_COLUMNS}, \
               (SELECT COUNT(*) FROM sightings s JOIN runs u ON u.id = s.run_id \
                  WHERE s.race_id = r.id AND u.engine = $1 AND u.target = $2) AS seen, \
               (SELECT COUNT(*) FROM runs u WHERE u.engine = $1 AND u.target = $2 \
                  AND u.id <= r.last_run) AS runs_before, \
               (SELECT COUNT(*) FROM runs u WHERE u.engine = $1 AND u.target = $2 \
                  AND u.id > r.last_run AND u.capture_id > (SELECT MAX(w.capture_id) FROM sightings s \
                    JOIN runs w ON w.id = s.run_id WHERE s.race_id = r.id)) AS misses \
             FROM races r WHERE r.id IN ({}) AND r.status IN ('open', 'likely-false') \
             AND r.id IN (SELECT s.race_id FROM sightings s JOIN runs u ON u.id = s.run_id \
                 WHERE u.engine = $1 AND u.target = $2) \
             AND NOT EXISTS (SELECT 1 FROM evidence e \
                 WHERE e.race_id = r.id AND e.engine = 'check') \
             ORDER BY r.number",
            writer.backend.numbers(3)
        )))
        .bind(engine)
        .bind(&self.run.target)
        .bind(to_json(&unseen))
        .fetch_all(&mut **writer)
        .await?;
        let mut changes = Changes::default();
        for row in rows {
            let count = |name| Ok::<u64, sqlx::Error>(row.try_get::<i64, _>(name)?.unsigned_abs());
            let (seen, before, misses) = (count("seen")?, count("runs_before")?, count("misses")?);
            if misses < lifecycle::misses_needed(seen, before) {
                continue;
            }
            let known = known_of(&row)?;
            let next = lifecycle::apply(&known.state, &Event::Missed { capture: self.capture })?;
            let reason = format!(
                "{misses} runs of newer captures missed it, where {seen} of {before} had shown it"
            );
            self.moved(&mut changes, &known, &next, "obsolete", &reason);
            self.recorded.obsolete.push(race_id(known.number));
        }
        changes.write(writer).await
    }
}
