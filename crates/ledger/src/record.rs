//! Taking a report in: races meet by fingerprint, verdicts move by the rules of [`lifecycle`],
//! and what a complete check no longer finds is fixed.
//!
//! Everything of one report goes into one transaction: it is all there or not at all. Only what is
//! another than before is written, many rows at a time: of a race that says what it said the last
//! time no more than that it was seen.

use std::collections::BTreeSet;

use racewarden_finding::{Engine, Race, Report, Site, Verdict};
use rustc_hash::FxHashMap;
use sqlx::{AssertSqlSafe, Row};

use crate::insert::{
    Bind, HISTORY, RACES, Rows, SITES, history_row, insert, race_row, reasons_text, site_row,
    update,
};
use crate::known::{Known, load_known, stored_sites};
use crate::lifecycle::{self, Event};
use crate::matching::{Found, match_all};
use crate::memo::Memo;
use crate::memory::Memory;
use crate::places::Pair;
use crate::reported::Reported;
use crate::rows::{from_json, haystack, proof_number, race_id, to_json};
use crate::store::Writer;
use crate::{CaptureInfo, Error, Ledger, Named, Recorded, Result, RunInfo, State, Status};

impl Ledger {
    /// Records `report` and says how the ledger names its races now.
    pub async fn record_report(&self, report: &Report, run: &RunInfo) -> Result<Recorded> {
        let mut writer = self.writer().await?;
        let capture = match &run.capture {
            Some(capture) => Some(upsert_capture(&mut writer, capture, run).await?),
            None => None,
        };
        let run_row = insert_run(&mut writer, report, run, capture).await?;
        let memory = Memory::load(&mut writer).await?;
        let recorded = Recorded { run: run_row, capture, ..Recorded::default() };
        let mut merge = Merge { run, run_row, capture, memory, recorded };
        merge.races(&mut writer, report).await?;
        let Merge { recorded, .. } = merge;
        snapshot(&mut writer, run.at).await?;
        writer.commit().await?;
        Ok(recorded)
    }
}

/// A race of the report after it was taken in.
#[derive(Debug, Clone, Copy)]
struct Taken {
    row: i64,
    number: i64,
    verdict: Verdict,
}

pub(crate) struct Merge<'a> {
    pub(crate) run: &'a RunInfo,
    pub(crate) run_row: i64,
    pub(crate) capture: Option<i64>,
    pub(crate) memory: Memory,
    pub(crate) recorded: Recorded,
}

/// What is to be written of races that the ledger knew.
#[derive(Default)]
pub(crate) struct Changes {
    history: Rows,
    states: Rows,
    races: Rows,
    sites: Rows,
}

impl Merge<'_> {
    /// Merges every race of the report, and settles those that are not in it.
    async fn races(&mut self, writer: &mut Writer, report: &Report) -> Result<()> {
        let reported = Reported::of(report, self.run.engine);
        let found = match_all(writer, &reported, &self.memory, self.capture).await?;
        let mut taken = vec![None; found.len()];
        let changed = self.take_known(writer, &reported, &found, &mut taken).await?;
        self.take_new(writer, &reported, &found, &mut taken).await?;
        let taken: Vec<Taken> = taken.into_iter().flatten().collect();
        let mut names = Rows::default();
        for ((race, found), entry) in reported.races.iter().zip(&found).zip(&taken) {
            if found.new_name {
                let print = Bind::Text(race.fingerprint.0.clone());
                names.push([print, Bind::Number(found.ordinal), Bind::Number(entry.row)]);
            }
        }
        insert(writer, "aliases (fingerprint, ordinal, race_id)", names, "").await?;
        let mut seen: Vec<i64> = taken.iter().map(|entry| entry.row).collect();
        seen.sort_unstable();
        self.memory.seen(writer, &seen, self.run_row, self.capture).await?;
        self.insert_evidence(writer, &reported, &found, &taken, &changed).await?;
        self.memory.memos.store(writer).await?;
        self.settle_unseen(writer, &seen).await?;
        let name = |entry: Taken| Named { id: race_id(entry.number), verdict: entry.verdict };
        self.recorded.races = reported.groups.iter().map(|group| name(taken[*group])).collect();
        Ok(())
    }

    /// Takes in the races that the ledger knows; gives the rows about which the report says
    /// something else than the last one did.
    async fn take_known(
        &mut self,
        writer: &mut Writer,
        reported: &Reported<'_>,
        found: &[Found],
        taken: &mut [Option<Taken>],
    ) -> Result<Vec<i64>> {
        let (mut changed, mut moving, mut in_place) = (Vec::new(), Vec::new(), Vec::new());
        for (position, found) in found.iter().enumerate() {
            let Some(row) = found.row else { continue };
            let memo = self.memory.memos.get(row);
            let standing = self.memory.standing(row)?;
            let moves = standing.may_move(lifecycle::justified(&reported.races[position]));
            match memo.filter(|memo| memo.content == reported.contents[position]) {
                Some(memo) if !moves => {
                    let (number, verdict) = (memo.number, standing.verdict());
                    taken[position] = Some(Taken { row, number, verdict });
                    continue;
                }
                Some(_) => {}
                None => {
                    changed.push(row);
                    let places = reported.pairs[position].places;
                    if memo.is_none_or(|memo| memo.pair.places == places) {
                        in_place.push(row);
                    }
                }
            }
            moving.push((position, row));
        }
        let rows: Vec<i64> = moving.iter().map(|(_, row)| *row).collect();
        let mut known = load_known(writer, &rows).await?;
        let mut sites = stored_sites(writer, &in_place).await?;
        let others: BTreeSet<i64> = changed.iter().copied().collect();
        let mut changes = Changes::default();
        for (position, row) in moving {
            let mut entry = known.remove(&row).ok_or_else(|| lost(row))?;
            let race = &reported.races[position];
            self.seen_again(race, &mut entry, &mut changes)?;
            let (number, verdict) = (entry.number, entry.state.verdict());
            taken[position] = Some(Taken { row, number, verdict });
            if others.contains(&row) {
                let race = self.enriched(race, &entry, sites.remove(&row));
                self.replace(row, &race, &mut changes);
                let content = reported.contents[position];
                let ordinal = found[position].ordinal;
                self.memory.memos.set(row, &memo_of(content, &race, ordinal, number));
            }
        }
        changes.write(writer).await?;
        Ok(changed)
    }

    fn seen_again(&mut self, race: &Race, known: &mut Known, changes: &mut Changes) -> Result<()> {
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
            self.moved(changes, known, &next, &action, &race.reasons.join("; "));
            known.state = next;
        }
        Ok(())
    }

    /// The race with what is known of its places already: a run brings stacks, a check locks.
    /// Where the lines moved, what was known belongs to other lines and is replaced: then there are
    /// no `sites`.
    fn enriched(&self, race: &Race, known: &Known, sites: Option<[Site; 2]>) -> Race {
        let places = Pair::of(race).places;
        let same = |sites: &[Site; 2]| Pair::of_known(sites).places == places;
        let Some(sites) = sites.filter(same) else { return race.clone() };
        let before = Race { sites, object: known.object.clone(), ..race.clone() };
        // The static engine names objects best; what it found is told first.
        let (mut first, second) = match self.run.engine {
            Engine::Check => (race.clone(), before),
            _ => (before, race.clone()),
        };
        first.absorb(second);
        first
    }

    /// What is stored of the race from now on.
    fn replace(&self, row: i64, race: &Race, changes: &mut Changes) {
        changes.races.push([
            Bind::Number(row),
            Bind::Text(race.object.clone()),
            Bind::Number(i64::from(race.rank)),
            Bind::Number(self.run.at),
            Bind::Number(self.run_row),
            Bind::Text(reasons_text(race)),
            Bind::Text(haystack(race)),
        ]);
        for (site, side) in race.sites.iter().zip(0..) {
            changes.sites.push(site_row(site, row, side));
        }
    }

    async fn take_new(
        &mut self,
        writer: &mut Writer,
        reported: &Reported<'_>,
        found: &[Found],
        taken: &mut [Option<Taken>],
    ) -> Result<()> {
        let fresh: Vec<usize> =
            (0..found.len()).filter(|position| found[*position].row.is_none()).collect();
        if fresh.is_empty() {
            return Ok(());
        }
        let last: i64 = sqlx::query("SELECT COALESCE(MAX(number), 0) AS last FROM race_rows")
            .fetch_one(&mut **writer)
            .await?
            .try_get("last")?;
        let (mut rows, mut states) = (Rows::default(), Vec::new());
        for (number, position) in (last + 1..).zip(&fresh) {
            let race = &reported.races[*position];
            // A race may come in with doubts already.
            let verdict = lifecycle::justified(race);
            let event = Event::Seen { verdict, older_than_fix: false };
            let state = lifecycle::apply(&State::new(verdict.max(Verdict::Potential)), &event)?;
            self.recorded.new.push(race_id(number));
            rows.push(race_row(race, number, &state, self.run.at, self.run_row));
            states.push(state);
        }
        insert(writer, RACES, rows, "").await?;
        let keys = rows_after(writer, last).await?;
        let (mut sites, mut history) = (Rows::default(), Rows::default());
        for (((position, state), row), number) in fresh.iter().zip(states).zip(keys).zip(last + 1..)
        {
            let race = &reported.races[*position];
            for (site, side) in race.sites.iter().zip(0..) {
                sites.push(site_row(site, row, side));
            }
            let action = format!("found as {}", state.verdict());
            let (actor, reason) = (self.run.engine.as_str(), race.reasons.join("; "));
            history.push(history_row(row, self.run.at, actor, &action, &reason, None, &state));
            taken[*position] = Some(Taken { row, number, verdict: state.verdict() });
            let (content, ordinal) = (reported.contents[*position], found[*position].ordinal);
            self.memory.memos.set(row, &memo_of(content, race, ordinal, number));
        }
        insert(writer, SITES, sites, "").await?;
        insert(writer, HISTORY, history, "").await
    }

    /// Evidence that says what the latest of its engine said already is not stored again: a race
    /// that says what it said the last time has none to store.
    async fn insert_evidence(
        &self,
        writer: &mut Writer,
        reported: &Reported<'_>,
        found: &[Found],
        taken: &[Taken],
        changed: &[i64],
    ) -> Result<()> {
        let (mut rows, mut schedules) = (Rows::default(), Rows::default());
        let stored = stored_evidence(writer, changed).await?;
        let changed: BTreeSet<i64> = changed.iter().copied().collect();
        for ((race, entry), found) in reported.races.iter().zip(taken).zip(found) {
            let row = entry.row;
            if found.row.is_some() && !changed.contains(&row) {
                continue;
            }
            let known = stored.get(&row).map_or(&[][..], Vec::as_slice);
            for evidence in &race.evidence {
                let engine = evidence.engine.as_str();
                let detail = to_json(&evidence.detail);
                if !known.iter().any(|(by, said)| by == engine && *said == detail) {
                    rows.push([
                        Bind::Number(row),
                        Bind::Number(self.run_row),
                        Bind::Number(self.run.at),
                        Bind::Text(engine.to_owned()),
                        Bind::Text(detail),
                    ]);
                }
                if let Some(schedule) = evidence.text("schedule") {
                    schedules.push([
                        Bind::Number(row),
                        Bind::Number(self.run.at),
                        Bind::Text(engine.to_owned()),
                        Bind::Text(schedule.to_owned()),
                    ]);
                }
            }
        }
        insert(writer, "evidence (race_id, run_id, at, engine, detail)", rows, "").await?;
        let table = "schedules (race_id, at, engine, schedule)";
        insert(writer, table, schedules, " ON CONFLICT DO NOTHING").await
    }

    pub(crate) fn moved(
        &self,
        changes: &mut Changes,
        known: &Known,
        next: &State,
        action: &str,
        reason: &str,
    ) {
        let actor = self.run.engine.as_str();
        let before = Some(&known.state);
        let row = history_row(known.row, self.run.at, actor, action, reason, before, next);
        changes.history.push(row);
        changes.states.push(state_row(known.row, next));
    }
}

impl Changes {
    pub(crate) async fn write(self, writer: &mut Writer) -> Result<()> {
        insert(writer, HISTORY, self.history, "").await?;
        update(writer, "race_rows", STATE_COLUMNS, self.states).await?;
        let columns = ["object", "race_rank", "written_at", "written_in", "reasons", "haystack"];
        update(writer, "race_rows", &columns, self.races).await?;
        let replace = " ON CONFLICT (race_id, side) DO UPDATE SET file = excluded.file, \
                       line = excluded.line, function = excluded.function, body = excluded.body";
        insert(writer, SITES, self.sites, replace).await
    }
}

const STATE_COLUMNS: &[&str] =
    &["proof", "status", "regression", "assessment", "assignee", "fixed_in"];

fn state_row(row: i64, state: &State) -> [Bind; 7] {
    [
        Bind::Number(row),
        Bind::Number(proof_number(state.proof)),
        Bind::Text(state.status.as_str().to_owned()),
        Bind::Number(i64::from(state.regression)),
        Bind::Text(state.assessment.as_str().to_owned()),
        Bind::Text(state.assignee.clone()),
        Bind::Optional(state.fixed_in),
    ]
}

pub(crate) async fn store_state(writer: &mut Writer, row: i64, state: &State) -> Result<()> {
    update(writer, "race_rows", STATE_COLUMNS, Rows::one(state_row(row, state))).await
}

fn memo_of(content: u128, stored: &Race, ordinal: i64, number: i64) -> Memo {
    let pair = Pair::of_known(&stored.sites);
    Memo { content, pair, ordinal: u32::try_from(ordinal).unwrap_or(u32::MAX), number }
}

fn lost(row: i64) -> Error {
    Error::Damaged { what: "a race".into(), why: format!("row {row} is gone") }
}

/// What a move was, for the history.
fn describe(before: &State, after: &State) -> String {
    match (before.status, after.status) {
        (Status::Fixed | Status::Obsolete, Status::Open) => "regression".to_owned(),
        (a, b) if a != b => format!("{a} to {b}"),
        _ => format!("{} to {}", before.proof, after.proof),
    }
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

/// The rows of the races numbered after `last`, in the order of their numbers.
async fn rows_after(writer: &mut Writer, last: i64) -> Result<Vec<i64>> {
    let list = writer.backend.list("id", "number");
    let sql = format!("SELECT {list} AS rows FROM race_rows WHERE number > $1");
    let row = sqlx::query(AssertSqlSafe(sql)).bind(last).fetch_one(&mut **writer).await?;
    from_json("a list", &row.try_get::<String, _>("rows")?)
}

/// What engines said of these races already.
async fn stored_evidence(
    writer: &mut Writer,
    races: &[i64],
) -> Result<FxHashMap<i64, Vec<(String, String)>>> {
    let mut stored: FxHashMap<i64, Vec<(String, String)>> = FxHashMap::default();
    if races.is_empty() {
        return Ok(stored);
    }
    let sql = format!(
        "SELECT race_id, engine, detail FROM evidence WHERE race_id IN ({})",
        writer.backend.numbers(1)
    );
    let query = sqlx::query(AssertSqlSafe(sql)).bind(to_json(&races));
    for row in query.fetch_all(&mut **writer).await? {
        let said = (row.try_get("engine")?, row.try_get("detail")?);
        stored.entry(row.try_get("race_id")?).or_default().push(said);
    }
    Ok(stored)
}
