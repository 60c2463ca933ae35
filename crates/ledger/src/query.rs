//! Reading: lists, one race with its history, counts over time.

use std::collections::BTreeMap;

use racewarden_finding::{Conclusion, Engine, Evidence, Report, Site, conclude};
use sqlx::any::AnyRow;
use sqlx::{Any, AssertSqlSafe, Executor, Row};

use crate::rows::{RACE_COLUMNS, entry, evidence, from_json, race_id, race_number, to_json};
use crate::{
    AuditItem, Counts, Entry, Error, EvidenceItem, Filter, HistoryItem, Ledger, Page, Program,
    Result, RunItem, ScheduleItem, Snapshot, Sort, Status,
};

/// A race's timeline shows the latest of these.
const MOST_EVIDENCE: i64 = 500;
/// Races whose texts are in memory at once.
const CHUNK: usize = 4_000;

impl Ledger {
    /// The races that match, a page of them, without their evidence.
    pub async fn races(&self, filter: &Filter) -> Result<Page> {
        let clause = Clause::of(filter);
        let sql = format!("SELECT COUNT(*) AS total FROM race_rows r{}", clause.sql);
        let row = clause.bound(&sql).fetch_one(&self.pool).await?;
        let total = row.try_get::<i64, _>("total")?.unsigned_abs();
        let limit = match filter.limit {
            0 => String::new(),
            limit => format!(" LIMIT {limit} OFFSET {}", filter.offset.min(i64::MAX as u64)),
        };
        let sql = format!(
            "SELECT {RACE_COLUMNS} FROM races r{} ORDER BY {}{limit}",
            clause.sql,
            order(filter.sort)
        );
        let rows = clause.bound(&sql).fetch_all(&self.pool).await?;
        Ok(Page { entries: self.with_sites(rows).await?, total })
    }

    /// One race by its id (`R3`) or fingerprint, with the latest evidence of each engine.
    pub async fn race(&self, id: &str) -> Result<Entry> {
        let row = self.race_row(id).await?;
        let key: i64 = row.try_get("id")?;
        let mut entries = self.with_sites(vec![row]).await?;
        let mut found = entries.pop().ok_or_else(|| Error::NoSuchRace(id.to_owned()))?;
        self.attach_evidence(&mut [(key, &mut found)]).await?;
        Ok(found)
    }

    pub(crate) async fn race_row(&self, id: &str) -> Result<AnyRow> {
        let by_number = race_number(id).ok();
        let sql = format!(
            "SELECT {RACE_COLUMNS} FROM races r WHERE r.number = $1 OR r.id = \
             (SELECT a.race_id FROM aliases a WHERE a.fingerprint = $2 AND a.ordinal = 1)"
        );
        sqlx::query(AssertSqlSafe(sql))
            .bind(by_number.unwrap_or(-1))
            .bind(id)
            .fetch_optional(&self.pool)
            .await?
            .ok_or_else(|| Error::NoSuchRace(id.to_owned()))
    }

    /// The races that match, as a report that every format can show.
    pub async fn report(&self, filter: &Filter) -> Result<Report> {
        let clause = Clause::of(filter);
        let sql = format!(
            "SELECT {RACE_COLUMNS} FROM races r{} ORDER BY {}",
            clause.sql,
            order(filter.sort)
        );
        let rows = clause.bound(&sql).fetch_all(&self.pool).await?;
        let keys = keys(&rows)?;
        let mut entries = self.with_sites(rows).await?;
        let mut keyed: Vec<(i64, &mut Entry)> = keys.into_iter().zip(&mut entries).collect();
        self.attach_evidence(&mut keyed).await?;
        let mut report = Report {
            races: entries.into_iter().map(|entry| entry.race).collect(),
            ..Report::default()
        };
        report.conclusion = self.conclusion(&report).await?;
        report.finish();
        Ok(report)
    }

    /// Racy when some race is proved; race-free only when the latest run said so and nothing is
    /// open since.
    async fn conclusion(&self, report: &Report) -> Result<Conclusion> {
        let from_races = conclude(&report.races, &[], false);
        if from_races == Conclusion::Racy {
            return Ok(from_races);
        }
        let open: i64 = sqlx::query("SELECT COUNT(*) AS n FROM race_rows WHERE status <> 'fixed'")
            .fetch_one(&self.pool)
            .await?
            .try_get("n")?;
        let targets: i64 = sqlx::query("SELECT COUNT(DISTINCT target) AS n FROM runs")
            .fetch_one(&self.pool)
            .await?
            .try_get("n")?;
        let last = sqlx::query(
            "SELECT conclusion FROM runs WHERE engine = 'check' ORDER BY id DESC LIMIT 1",
        )
        .fetch_optional(&self.pool)
        .await?;
        let said: Option<String> = last.map(|row| row.try_get("conclusion")).transpose()?;
        let free = open == 0 && targets == 1 && said.as_deref() == Some("race-free");
        Ok(if free { Conclusion::RaceFree } else { Conclusion::Unknown })
    }

    /// Fills in sites for rows of races, keeping their order.
    pub(crate) async fn with_sites(&self, rows: Vec<AnyRow>) -> Result<Vec<Entry>> {
        let keys = keys(&rows)?;
        let mut sites: BTreeMap<i64, Vec<Site>> = BTreeMap::new();
        for chunk in keys.chunks(CHUNK) {
            let sql = format!(
                "SELECT race_id, body FROM sites WHERE race_id IN ({}) ORDER BY race_id, side",
                self.backend.numbers(1)
            );
            let query = sqlx::query(AssertSqlSafe(sql)).bind(to_json(&chunk));
            for row in query.fetch_all(&self.pool).await? {
                let site = from_json("a site", &row.try_get::<String, _>("body")?)?;
                sites.entry(row.try_get("race_id")?).or_default().push(site);
            }
        }
        rows.iter()
            .zip(&keys)
            .map(|(row, key)| {
                let pair: [Site; 2] =
                    sites.remove(key).unwrap_or_default().try_into().map_err(|_| {
                        Error::Damaged { what: "a race".into(), why: "it lacks its sites".into() }
                    })?;
                entry(row, pair)
            })
            .collect()
    }

    /// The latest evidence of each engine.
    async fn attach_evidence(&self, entries: &mut [(i64, &mut Entry)]) -> Result<()> {
        for chunk in entries.chunks_mut(CHUNK) {
            let sql = format!(
                "SELECT race_id, engine, detail FROM evidence WHERE race_id IN ({}) ORDER BY id",
                self.backend.numbers(1)
            );
            let keys: Vec<i64> = chunk.iter().map(|(key, _)| *key).collect();
            let query = sqlx::query(AssertSqlSafe(sql)).bind(to_json(&keys));
            let mut latest: BTreeMap<(i64, Engine), _> = BTreeMap::new();
            for row in query.fetch_all(&self.pool).await? {
                let found = evidence(&row)?;
                latest.insert((row.try_get("race_id")?, found.engine), found);
            }
            let mut by_race: BTreeMap<i64, Vec<_>> = BTreeMap::new();
            for ((key, _), found) in latest {
                by_race.entry(key).or_default().push(found);
            }
            for (key, entry) in chunk.iter_mut() {
                entry.race.evidence = by_race.remove(key).unwrap_or_default();
            }
        }
        Ok(())
    }

    /// The latest that a person said of each of these races, by id; nothing for the others.
    pub async fn said_by_people(&self, ids: &[&str]) -> Result<BTreeMap<String, Evidence>> {
        let numbers: Vec<i64> = ids.iter().map(|id| race_number(id)).collect::<Result<_>>()?;
        let sql = format!(
            "SELECT r.number, e.engine, e.detail FROM race_rows r \
             JOIN evidence e ON e.race_id = r.id AND e.engine = 'person' \
             WHERE r.number IN ({}) ORDER BY e.id",
            self.backend.numbers(1)
        );
        let query = sqlx::query(AssertSqlSafe(sql)).bind(to_json(&numbers));
        let rows = query.fetch_all(&self.pool).await?;
        let said = |row: &AnyRow| Ok((race_id(row.try_get("number")?), evidence(row)?));
        rows.iter().map(said).collect()
    }

    /// Every move of a race's state, the oldest first.
    pub async fn history(&self, id: &str) -> Result<Vec<HistoryItem>> {
        let key: i64 = self.race_row(id).await?.try_get("id")?;
        let rows = sqlx::query(
            "SELECT id, at, actor, action, reason, before_state, after_state, undone \
             FROM history WHERE race_id = $1 ORDER BY id",
        )
        .bind(key)
        .fetch_all(&self.pool)
        .await?;
        rows.iter().map(history_item).collect()
    }

    /// What engines and people found out about a race, the oldest first.
    pub async fn evidence(&self, id: &str) -> Result<Vec<EvidenceItem>> {
        let key: i64 = self.race_row(id).await?.try_get("id")?;
        let rows = sqlx::query(
            "SELECT at, run_id, engine, detail FROM evidence WHERE race_id = $1 \
             ORDER BY id DESC LIMIT $2",
        )
        .bind(key)
        .bind(MOST_EVIDENCE)
        .fetch_all(&self.pool)
        .await?;
        rows.iter()
            .rev()
            .map(|row| {
                Ok(EvidenceItem {
                    at: row.try_get("at")?,
                    run: row.try_get("run_id")?,
                    evidence: evidence(row)?,
                })
            })
            .collect()
    }

    /// The schedules that bring a race about, the newest first.
    pub async fn schedules(&self, id: &str) -> Result<Vec<ScheduleItem>> {
        let key: i64 = self.race_row(id).await?.try_get("id")?;
        let rows = sqlx::query(
            "SELECT at, engine, schedule FROM schedules WHERE race_id = $1 ORDER BY id DESC",
        )
        .bind(key)
        .fetch_all(&self.pool)
        .await?;
        rows.iter()
            .map(|row| {
                Ok(ScheduleItem {
                    at: row.try_get("at")?,
                    engine: row.try_get("engine")?,
                    schedule: row.try_get("schedule")?,
                })
            })
            .collect()
    }

    /// How the program ran when a race was seen last, by an engine that runs it if there is one.
    pub async fn program(&self, id: &str) -> Result<Option<Program>> {
        let key: i64 = self.race_row(id).await?.try_get("id")?;
        let row = sqlx::query(
            "SELECT u.program FROM sightings s JOIN runs u ON u.id = s.run_id \
             WHERE s.race_id = $1 AND u.program <> '' \
             ORDER BY CASE WHEN u.engine = 'check' THEN 1 ELSE 0 END, u.id DESC LIMIT 1",
        )
        .bind(key)
        .fetch_optional(&self.pool)
        .await?;
        row.map(|row| from_json("a program", &row.try_get::<String, _>("program")?)).transpose()
    }

    /// The latest `limit` commands, the newest first.
    pub async fn runs(&self, limit: u32) -> Result<Vec<RunItem>> {
        let rows = sqlx::query(
            "SELECT id, at, engine, command, target, capture_id, conclusion, found FROM runs \
             ORDER BY id DESC LIMIT $1",
        )
        .bind(i64::from(limit))
        .fetch_all(&self.pool)
        .await?;
        rows.iter()
            .map(|row| {
                Ok(RunItem {
                    id: row.try_get("id")?,
                    at: row.try_get("at")?,
                    engine: row.try_get("engine")?,
                    command: row.try_get("command")?,
                    target: row.try_get("target")?,
                    capture: row.try_get("capture_id")?,
                    conclusion: row.try_get("conclusion")?,
                    found: row.try_get::<i64, _>("found")?.unsigned_abs(),
                })
            })
            .collect()
    }

    /// Races by verdict now: `open` ones by their proof, the others by their status.
    pub async fn counts(&self) -> Result<Counts> {
        counts(&self.pool).await
    }

    /// Counts after each change, the oldest first; thinned to about `most` points.
    pub async fn snapshots(&self, most: u32) -> Result<Vec<Snapshot>> {
        let total: i64 = sqlx::query("SELECT COUNT(*) AS n FROM snapshots")
            .fetch_one(&self.pool)
            .await?
            .try_get("n")?;
        let every = (total / i64::from(most.max(1))).max(1);
        let rows = sqlx::query(
            "SELECT at, counts FROM snapshots WHERE id % $1 = 0 \
             OR id = (SELECT MAX(id) FROM snapshots) ORDER BY id",
        )
        .bind(every)
        .fetch_all(&self.pool)
        .await?;
        rows.iter()
            .map(|row| {
                let counts = from_json("a count", &row.try_get::<String, _>("counts")?)?;
                Ok(Snapshot { at: row.try_get("at")?, counts })
            })
            .collect()
    }

    /// What people did, the newest first; about one race, or (`""`) about everything.
    pub async fn audit(&self, subject: &str, limit: u32) -> Result<Vec<AuditItem>> {
        let rows = sqlx::query(
            "SELECT at, actor, action, subject, detail FROM audit \
             WHERE $1 = '' OR subject = $1 ORDER BY id DESC LIMIT $2",
        )
        .bind(subject)
        .bind(i64::from(limit))
        .fetch_all(&self.pool)
        .await?;
        rows.iter()
            .map(|row| {
                Ok(AuditItem {
                    at: row.try_get("at")?,
                    actor: row.try_get("actor")?,
                    action: row.try_get("action")?,
                    subject: row.try_get("subject")?,
                    detail: row.try_get("detail")?,
                })
            })
            .collect()
    }
}

fn keys(rows: &[AnyRow]) -> Result<Vec<i64>> {
    rows.iter().map(|row| Ok(row.try_get("id")?)).collect()
}

pub(crate) fn history_item(row: &AnyRow) -> Result<HistoryItem> {
    let before: String = row.try_get("before_state")?;
    Ok(HistoryItem {
        id: row.try_get("id")?,
        at: row.try_get("at")?,
        actor: row.try_get("actor")?,
        action: row.try_get("action")?,
        reason: row.try_get("reason")?,
        before: if before.is_empty() { None } else { Some(from_json("a state", &before)?) },
        after: from_json("a state", &row.try_get::<String, _>("after_state")?)?,
        undone: row.try_get::<i64, _>("undone")? != 0,
    })
}

pub(crate) async fn counts<'e>(executor: impl Executor<'e, Database = Any>) -> Result<Counts> {
    let rows =
        sqlx::query("SELECT status, proof, COUNT(*) AS n FROM race_rows GROUP BY status, proof")
            .fetch_all(executor)
            .await?;
    let mut counts = Counts::new();
    for row in &rows {
        let status: String = row.try_get("status")?;
        let word = match row.try_get::<i64, _>("proof")? {
            _ if status != Status::Open.as_str() => status,
            50.. => "harmful".to_owned(),
            40.. => "confirmed".to_owned(),
            30.. => "observed".to_owned(),
            20.. => "predicted".to_owned(),
            _ => "potential".to_owned(),
        };
        *counts.entry(word).or_default() += row.try_get::<i64, _>("n")?.unsigned_abs();
    }
    Ok(counts)
}

fn order(sort: Sort) -> &'static str {
    match sort {
        Sort::Verdict => {
            "CASE r.status WHEN 'open' THEN 0 ELSE 1 END, r.proof DESC, r.race_rank DESC, r.number"
        }
        Sort::Rank => "r.race_rank DESC, r.number",
        Sort::LastSeen => "r.last_seen DESC, r.number",
        Sort::FirstSeen => "r.first_seen DESC, r.number",
        Sort::Number => "r.number",
    }
}

/// A WHERE clause made of this crate's own words; what the user typed is only ever bound.
struct Clause {
    sql: String,
    texts: Vec<String>,
}

impl Clause {
    fn of(filter: &Filter) -> Clause {
        let mut parts: Vec<String> = Vec::new();
        let mut texts: Vec<String> = Vec::new();
        let mut bind = |text: String| {
            texts.push(text);
            format!("${}", texts.len())
        };
        if !filter.status.is_empty() {
            let list: Vec<String> =
                filter.status.iter().map(|status| bind(status.as_str().to_owned())).collect();
            parts.push(format!("r.status IN ({})", list.join(",")));
        }
        if let Some(verdict) = filter.at_least {
            parts.push(format!("r.proof >= {}", crate::rows::proof_number(verdict)));
        }
        if !filter.proof.is_empty() {
            let list: Vec<String> = filter
                .proof
                .iter()
                .map(|verdict| crate::rows::proof_number(*verdict).to_string())
                .collect();
            parts.push(format!("r.proof IN ({})", list.join(",")));
        }
        for word in filter.search.to_lowercase().split_whitespace() {
            let pattern = bind(contains(word));
            parts.push(format!("(r.haystack LIKE {pattern} ESCAPE '\\')"));
        }
        if !filter.file.is_empty() {
            let pattern = bind(contains(&filter.file));
            parts.push(format!(
                "EXISTS (SELECT 1 FROM sites s WHERE s.race_id = r.id \
                 AND s.file LIKE {pattern} ESCAPE '\\')"
            ));
        }
        if !filter.assignee.is_empty() {
            let name = bind(filter.assignee.clone());
            parts.push(format!("r.assignee = {name}"));
        }
        if filter.regressions_only {
            parts.push("r.regression = 1".to_owned());
        }
        let sql = match parts.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", parts.join(" AND ")),
        };
        Clause { sql, texts }
    }

    fn bound(&self, sql: &str) -> sqlx::query::Query<'_, Any, sqlx::any::AnyArguments> {
        let mut query = sqlx::query(AssertSqlSafe(sql.to_owned()));
        for text in &self.texts {
            query = query.bind(text.as_str());
        }
        query
    }
}

/// A pattern that matches the text anywhere, and nothing but the text.
fn contains(text: &str) -> String {
    let literal = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{}%", literal.replace('\0', "\u{fffd}"))
}
