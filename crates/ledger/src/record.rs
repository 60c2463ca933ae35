//! Taking a report in: races meet by fingerprint, verdicts move by the rules of [`lifecycle`],
//! and what a complete check no longer finds is fixed.
//!
//! Everything of one report goes into one transaction: it is all there or not at all.

use std::collections::BTreeSet;

use racewarden_finding::{Engine, PairIndex, Race, Report, Verdict};
use sqlx::{Any, AssertSqlSafe, Row, Transaction};

use crate::insert::{Bind, HISTORY, RACES, SITES, history_row, insert, race_row, site_rows};
use crate::lifecycle::{self, Event};
use crate::matching::{Known, Matcher, known_of, stored_sites};
use crate::rows::{haystack, proof_number, race_id, to_json};
use crate::store::placeholders;
use crate::{CaptureInfo, Ledger, Recorded, Result, RunInfo, State, Status};

/// Keys per query.
const CHUNK: usize = 200;

type Writer = Transaction<'static, Any>;

impl Ledger {
    /// Records `report` and gives back its races as the ledger knows them now.
    pub async fn record_report(&self, report: &Report, run: &RunInfo) -> Result<Recorded> {
        let mut writer = self.writer().await?;
        let capture = match &run.capture {
            Some(capture) => Some(upsert_capture(&mut writer, capture, run).await?),
            None => None,
        };
        let run_row = insert_run(&mut writer, report, run, capture).await?;
        let mut merge = Merge { run, run_row, capture, recorded: Recorded::default() };
        merge.recorded.run = run_row;
        merge.recorded.capture = capture;
        let known = merge.races(&mut writer, report).await?;
        if run.complete {
            merge.gone(&mut writer).await?;
        }
        merge.missed(&mut writer).await?;
        let Merge { mut recorded, .. } = merge;
        recorded.races = named(report, &known);
        snapshot(&mut writer, run.at).await?;
        writer.commit().await?;
        Ok(recorded)
    }
}

/// The report's races under their ledger names.
fn named(report: &Report, known: &[Known]) -> Vec<Race> {
    let mut races = report.races.clone();
    for (race, known) in races.iter_mut().zip(known) {
        race.id = race_id(known.number);
        race.verdict = known.state.verdict();
    }
    races
}

/// Each pair of accesses once, and for each race of the report which of them it is.
fn without_repetition(report: &Report) -> (Vec<Race>, Vec<usize>) {
    let mut races: Vec<Race> = Vec::new();
    let mut index = PairIndex::default();
    let groups = report
        .races
        .iter()
        .map(|race| match index.find(&races, race) {
            Some(position) => {
                races[position].absorb(race.clone());
                position
            }
            None => {
                index.insert(races.len(), race);
                races.push(race.clone());
                races.len() - 1
            }
        })
        .collect();
    (races, groups)
}

struct Merge<'a> {
    run: &'a RunInfo,
    run_row: i64,
    capture: Option<i64>,
    recorded: Recorded,
}

impl Merge<'_> {
    /// Merges every race of the report; gives the state of each afterwards, in its order.
    async fn races(&mut self, writer: &mut Writer, report: &Report) -> Result<Vec<Known>> {
        let (races, groups) = without_repetition(report);
        let mut matcher = Matcher::load(writer, &races, self.capture).await?;
        let mut known: Vec<Option<Known>> = Vec::new();
        let (mut fresh, mut aliases) = (Vec::new(), Vec::new());
        for (position, race) in races.iter().enumerate() {
            let found = matcher.find(race);
            if let Some(ordinal) = found.new_name {
                aliases.push((position, ordinal));
            }
            if found.known.is_none() {
                fresh.push(position);
            }
            known.push(found.known);
        }
        for (race, entry) in races.iter().zip(&mut known) {
            if let Some(entry) = entry {
                self.seen_again(writer, race, entry).await?;
            }
        }
        self.insert_new(writer, &races, &fresh, &mut known).await?;
        let known: Vec<Known> = known.into_iter().flatten().collect();
        let (mut names, mut sightings) = (Vec::new(), Vec::new());
        for (position, ordinal) in aliases {
            names.push(vec![
                Bind::Text(races[position].fingerprint.0.clone()),
                Bind::Number(ordinal),
                Bind::Number(known[position].row),
            ]);
        }
        for entry in &known {
            sightings.push(vec![Bind::Number(entry.row), Bind::Number(self.run_row)]);
        }
        insert(writer, "aliases (fingerprint, ordinal, race_id)", &names, "").await?;
        let once = " ON CONFLICT DO NOTHING";
        insert(writer, "sightings (race_id, run_id)", &sightings, once).await?;
        self.insert_evidence(writer, &races, &known).await?;
        Ok(groups.into_iter().map(|group| known[group].clone()).collect())
    }

    async fn seen_again(
        &mut self,
        writer: &mut Writer,
        race: &Race,
        known: &mut Known,
    ) -> Result<()> {
        // A command looks at the source as it is now, so going back to old source brings a race
        // back. Only the field runs old binaries on: captures are numbered as they come, so a
        // smaller number is one from before the fix.
        let older_than_fix = match (self.capture, known.state.fixed_in) {
            (Some(capture), Some(fixed_in)) => {
                self.run.engine == Engine::Hive && capture < fixed_in
            }
            _ => false,
        };
        let event = Event::Seen { verdict: lifecycle::justified(race), older_than_fix };
        let next = lifecycle::apply(&known.state, &event)?;
        if next.regression && !known.state.regression {
            self.recorded.regressions.push(race_id(known.number));
        }
        if next != known.state {
            let action = describe(&known.state, &next);
            self.moved(writer, known, &next, &action, &race.reasons.join("; ")).await?;
            known.state = next;
        }
        let race = &self.enriched(writer, race, known).await?;
        sqlx::query(
            "UPDATE races SET object = $1, race_rank = $2, last_seen = $3, last_run = $4, \
             reasons = $5, haystack = $6 WHERE id = $7",
        )
        .bind(&race.object)
        .bind(i64::from(race.rank))
        .bind(self.run.at)
        .bind(self.run_row)
        .bind(to_json(&race.reasons))
        .bind(haystack(race))
        .bind(known.row)
        .execute(&mut **writer)
        .await?;
        sqlx::query("DELETE FROM sites WHERE race_id = $1")
            .bind(known.row)
            .execute(&mut **writer)
            .await?;
        insert(writer, SITES, &site_rows(race, known.row), "").await
    }

    /// The race with what is known of its places already: a run brings stacks, a check locks.
    /// Where the lines moved, what was known belongs to other lines and is replaced.
    async fn enriched(&self, writer: &mut Writer, race: &Race, known: &Known) -> Result<Race> {
        let Some(stored) = &known.stored else { return Ok(race.clone()) };
        let sites = stored_sites(writer, known.row).await?;
        let before = Race { sites, object: stored.object.clone(), ..race.clone() };
        let alone = std::slice::from_ref(&before);
        if PairIndex::new(alone).find(alone, race).is_none() {
            return Ok(race.clone());
        }
        // The static engine names objects best; what it found is told first.
        let (mut first, second) = match self.run.engine {
            Engine::Check => (race.clone(), before),
            _ => (before, race.clone()),
        };
        first.absorb(second);
        first.reasons.dedup();
        Ok(first)
    }

    async fn insert_new(
        &mut self,
        writer: &mut Writer,
        races: &[Race],
        fresh: &[usize],
        known: &mut [Option<Known>],
    ) -> Result<()> {
        if fresh.is_empty() {
            return Ok(());
        }
        let last: i64 = sqlx::query("SELECT COALESCE(MAX(number), 0) AS last FROM races")
            .fetch_one(&mut **writer)
            .await?
            .try_get("last")?;
        let mut rows = Vec::new();
        let mut states = Vec::new();
        for (number, position) in (last + 1..).zip(fresh) {
            let race = &races[*position];
            // A race may come in with doubts already.
            let verdict = lifecycle::justified(race);
            let event = Event::Seen { verdict, older_than_fix: false };
            let state = lifecycle::apply(&State::new(verdict.max(Verdict::Potential)), &event)?;
            self.recorded.new.push(race_id(number));
            rows.push(race_row(race, number, &state, self.run.at, self.run_row));
            states.push(state);
        }
        insert(writer, RACES, &rows, "").await?;
        let keys = sqlx::query("SELECT id, number FROM races WHERE number > $1 ORDER BY number")
            .bind(last)
            .fetch_all(&mut **writer)
            .await?;
        let (mut sites, mut history) = (Vec::new(), Vec::new());
        for ((position, state), key) in fresh.iter().zip(states).zip(&keys) {
            let race = &races[*position];
            let (row, number) = (key.try_get("id")?, key.try_get("number")?);
            sites.extend(site_rows(race, row));
            let action = format!("found as {}", state.verdict());
            let (actor, reason) = (self.run.engine.as_str(), race.reasons.join("; "));
            history.push(history_row(row, self.run.at, actor, &action, &reason, None, &state));
            known[*position] = Some(Known { row, number, state, stored: None });
        }
        insert(writer, SITES, &sites, "").await?;
        insert(writer, HISTORY, &history, "").await
    }

    /// Evidence that says what the latest of its engine said already is not stored again.
    async fn insert_evidence(
        &self,
        writer: &mut Writer,
        races: &[Race],
        known: &[Known],
    ) -> Result<()> {
        let (mut rows, mut schedules) = (Vec::new(), Vec::new());
        let wanted: Vec<i64> = known.iter().map(|entry| entry.row).collect();
        let stored = stored_evidence(writer, &wanted).await?;
        for (race, entry) in races.iter().zip(known) {
            let row = entry.row;
            for evidence in &race.evidence {
                let engine = evidence.engine.as_str();
                let detail = to_json(&evidence.detail);
                if !stored.contains(&(row, engine.to_owned(), detail.clone())) {
                    rows.push(vec![
                        Bind::Number(row),
                        Bind::Number(self.run_row),
                        Bind::Number(self.run.at),
                        Bind::Text(engine.to_owned()),
                        Bind::Text(detail),
                    ]);
                }
                if let Some(schedule) = evidence.text("schedule") {
                    schedules.push(vec![
                        Bind::Number(row),
                        Bind::Number(self.run.at),
                        Bind::Text(engine.to_owned()),
                        Bind::Text(schedule.to_owned()),
                    ]);
                }
            }
        }
        insert(writer, "evidence (race_id, run_id, at, engine, detail)", &rows, "").await?;
        let table = "schedules (race_id, at, engine, schedule)";
        insert(writer, table, &schedules, " ON CONFLICT DO NOTHING").await
    }

    /// What a check of another capture of the same target had found, and this one did not. The
    /// evidence says whether a check found it: a hunt records what all engines found as one run.
    async fn gone(&mut self, writer: &mut Writer) -> Result<()> {
        let Some(capture) = self.capture else { return Ok(()) };
        let rows = sqlx::query(AssertSqlSafe(format!(
            "SELECT {} FROM races r WHERE r.status <> 'fixed' \
             AND NOT EXISTS (SELECT 1 FROM sightings s WHERE s.race_id = r.id AND s.run_id = $1) \
             AND EXISTS (SELECT 1 FROM evidence e JOIN runs u ON u.id = e.run_id \
                 WHERE e.race_id = r.id AND e.engine = 'check' AND u.target = $2) \
             AND NOT EXISTS (SELECT 1 FROM sightings s JOIN runs u ON u.id = s.run_id \
                 WHERE s.race_id = r.id AND u.capture_id = $3) \
             ORDER BY r.number",
            crate::rows::RACE_COLUMNS
        )))
        .bind(self.run_row)
        .bind(&self.run.target)
        .bind(capture)
        .fetch_all(&mut **writer)
        .await?;
        for row in rows {
            let known = known_of(&row)?;
            let next = lifecycle::apply(&known.state, &Event::Gone { capture })?;
            let label = self.run.capture.as_ref().map_or("", |capture| capture.label.as_str());
            let reason = format!(
                "a complete check of capture {capture}{} no longer finds it",
                if label.is_empty() { String::new() } else { format!(" ({label})") }
            );
            self.moved(writer, &known, &next, "fixed", &reason).await?;
            self.recorded.fixed.push(race_id(known.number));
        }
        Ok(())
    }

    /// Races that only runs had shown, and that so many runs of newer captures missed that chance
    /// does not explain it. A run of the capture that showed the race never counts against it.
    async fn missed(&mut self, writer: &mut Writer) -> Result<()> {
        if self.run.engine == Engine::Check || self.capture.is_none() {
            return Ok(());
        }
        let engine = self.run.engine.as_str();
        let rows = sqlx::query(AssertSqlSafe(format!(
            "SELECT {}, \
               (SELECT COUNT(*) FROM sightings s JOIN runs u ON u.id = s.run_id \
                  WHERE s.race_id = r.id AND u.engine = $1 AND u.target = $2) AS seen, \
               (SELECT COUNT(*) FROM runs u WHERE u.engine = $1 AND u.target = $2 \
                  AND u.id <= r.last_run) AS runs_before, \
               (SELECT COUNT(*) FROM runs u WHERE u.engine = $1 AND u.target = $2 \
                  AND u.id > r.last_run AND u.capture_id > (SELECT MAX(w.capture_id) FROM sightings s \
                    JOIN runs w ON w.id = s.run_id WHERE s.race_id = r.id)) AS misses \
             FROM races r WHERE r.status IN ('open', 'likely-false') AND r.last_run <> $3 \
             AND EXISTS (SELECT 1 FROM sightings s JOIN runs u ON u.id = s.run_id \
                 WHERE s.race_id = r.id AND u.engine = $1 AND u.target = $2) \
             AND NOT EXISTS (SELECT 1 FROM evidence e \
                 WHERE e.race_id = r.id AND e.engine = 'check') \
             ORDER BY r.number",
            crate::rows::RACE_COLUMNS
        )))
        .bind(engine)
        .bind(&self.run.target)
        .bind(self.run_row)
        .fetch_all(&mut **writer)
        .await?;
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
            self.moved(writer, &known, &next, "obsolete", &reason).await?;
            self.recorded.obsolete.push(race_id(known.number));
        }
        Ok(())
    }

    async fn moved(
        &self,
        writer: &mut Writer,
        known: &Known,
        next: &State,
        action: &str,
        reason: &str,
    ) -> Result<()> {
        let actor = self.run.engine.as_str();
        let before = Some(&known.state);
        let row = history_row(known.row, self.run.at, actor, action, reason, before, next);
        insert(writer, HISTORY, &[row], "").await?;
        store_state(writer, known.row, next).await
    }
}

/// What a move was, for the history.
fn describe(before: &State, after: &State) -> String {
    match (before.status, after.status) {
        (Status::Fixed | Status::Obsolete, Status::Open) => "regression".to_owned(),
        (a, b) if a != b => format!("{a} to {b}"),
        _ => format!("{} to {}", before.proof, after.proof),
    }
}

pub(crate) async fn store_state(writer: &mut Writer, row: i64, state: &State) -> Result<()> {
    sqlx::query(
        "UPDATE races SET proof = $1, status = $2, regression = $3, assessment = $4, \
         assignee = $5, fixed_in = $6 WHERE id = $7",
    )
    .bind(proof_number(state.proof))
    .bind(state.status.as_str())
    .bind(i64::from(state.regression))
    .bind(state.assessment.as_str())
    .bind(&state.assignee)
    .bind(state.fixed_in)
    .bind(row)
    .execute(&mut **writer)
    .await?;
    Ok(())
}

/// Counts by status, so that the overview can draw them over time.
pub(crate) async fn snapshot(writer: &mut Writer, at: i64) -> Result<()> {
    let counts = crate::query::counts(&mut **writer).await?;
    sqlx::query("INSERT INTO snapshots (at, counts) VALUES ($1, $2)")
        .bind(at)
        .bind(to_json(&counts))
        .execute(&mut **writer)
        .await?;
    Ok(())
}

async fn upsert_capture(writer: &mut Writer, capture: &CaptureInfo, run: &RunInfo) -> Result<i64> {
    sqlx::query(
        "INSERT INTO captures (hash, target, label, at, units) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (target, hash) DO NOTHING",
    )
    .bind(&capture.hash)
    .bind(&run.target)
    .bind(&capture.label)
    .bind(run.at)
    .bind(to_json(&capture.units))
    .execute(&mut **writer)
    .await?;
    let row = sqlx::query("SELECT id FROM captures WHERE target = $1 AND hash = $2")
        .bind(&run.target)
        .bind(&capture.hash)
        .fetch_one(&mut **writer)
        .await?;
    Ok(row.try_get("id")?)
}

async fn insert_run(
    writer: &mut Writer,
    report: &Report,
    run: &RunInfo,
    capture: Option<i64>,
) -> Result<i64> {
    let row = sqlx::query(
        "INSERT INTO runs (at, engine, command, target, capture_id, conclusion, complete, found, \
         excluded, notes, stats, program) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
         RETURNING id",
    )
    .bind(run.at)
    .bind(run.engine.as_str())
    .bind(&run.command)
    .bind(&run.target)
    .bind(capture)
    .bind(report.conclusion.to_string())
    .bind(i64::from(run.complete))
    .bind(i64::try_from(report.races.len()).unwrap_or(i64::MAX))
    .bind(to_json(&report.excluded))
    .bind(to_json(&report.notes))
    .bind(to_json(&report.stats))
    .bind(run.program.as_ref().map_or(String::new(), to_json))
    .fetch_one(&mut **writer)
    .await?;
    Ok(row.try_get("id")?)
}

async fn stored_evidence(
    writer: &mut Writer,
    races: &[i64],
) -> Result<BTreeSet<(i64, String, String)>> {
    let mut stored = BTreeSet::new();
    for chunk in races.chunks(CHUNK) {
        let sql = format!(
            "SELECT race_id, engine, detail FROM evidence WHERE race_id IN {}",
            placeholders(1, chunk.len())
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for race in chunk {
            query = query.bind(*race);
        }
        for row in query.fetch_all(&mut **writer).await? {
            stored.insert((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?));
        }
    }
    Ok(stored)
}
