//! Captures and what changed between two of them.

use std::collections::BTreeMap;

use sqlx::{AssertSqlSafe, Row};

use crate::rows::{RACE_COLUMNS, from_json};
use crate::{CaptureDiff, CaptureItem, Entry, Error, Ledger, Result};

impl Ledger {
    /// Every capture, the newest first.
    pub async fn captures(&self) -> Result<Vec<CaptureItem>> {
        let rows = sqlx::query(
            "SELECT c.id, c.hash, c.target, c.label, c.at, c.units, \
             (SELECT COUNT(*) FROM runs u WHERE u.capture_id = c.id) AS runs \
             FROM captures c ORDER BY c.id DESC",
        )
        .fetch_all(&self.pool)
        .await?;
        rows.iter()
            .map(|row| {
                Ok(CaptureItem {
                    id: row.try_get("id")?,
                    hash: row.try_get("hash")?,
                    target: row.try_get("target")?,
                    label: row.try_get("label")?,
                    at: row.try_get("at")?,
                    units: from_json("a capture", &row.try_get::<String, _>("units")?)?,
                    runs: row.try_get::<i64, _>("runs")?.unsigned_abs(),
                })
            })
            .collect()
    }

    /// Units and races that differ between two captures.
    pub async fn capture_diff(&self, old: i64, new: i64) -> Result<CaptureDiff> {
        let captures = self.captures().await?;
        let find = |id: i64| {
            captures
                .iter()
                .find(|capture| capture.id == id)
                .ok_or_else(|| Error::NoSuchCapture(id.to_string()))
        };
        let units = |capture: &CaptureItem| -> BTreeMap<String, String> {
            capture.units.iter().map(|unit| (unit.source.clone(), unit.hash.clone())).collect()
        };
        let (before, after) = (units(find(old)?), units(find(new)?));
        let mut diff = CaptureDiff::default();
        for (source, hash) in &after {
            match before.get(source) {
                None => diff.added.push(source.clone()),
                Some(was) if was != hash => diff.changed.push(source.clone()),
                Some(_) => {}
            }
        }
        diff.removed = before.keys().filter(|name| !after.contains_key(*name)).cloned().collect();
        diff.new = self.seen_in_first_only(new, old).await?;
        diff.gone = self.seen_in_first_only(old, new).await?;
        diff.kept = self.seen_in_both(old, new).await?;
        Ok(diff)
    }

    async fn seen_in_first_only(&self, first: i64, second: i64) -> Result<Vec<Entry>> {
        self.seen(first, "NOT IN", second).await
    }

    async fn seen_in_both(&self, first: i64, second: i64) -> Result<Vec<Entry>> {
        self.seen(first, "IN", second).await
    }

    async fn seen(&self, first: i64, relation: &str, second: i64) -> Result<Vec<Entry>> {
        let in_capture = "(SELECT s.race_id FROM sightings s JOIN runs u ON u.id = s.run_id \
                          WHERE u.capture_id =";
        let sql = format!(
            "SELECT {RACE_COLUMNS} FROM races r WHERE r.id IN {in_capture} $1) \
             AND r.id {relation} {in_capture} $2) ORDER BY r.number"
        );
        let rows =
            sqlx::query(AssertSqlSafe(sql)).bind(first).bind(second).fetch_all(&self.pool).await?;
        self.with_sites(rows).await
    }
}
