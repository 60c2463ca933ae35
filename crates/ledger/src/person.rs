//! What people do to races: mark, assign, undo. Each act is a move in the history, a person's
//! evidence, and a line in the audit trail.

use racewarden_finding::{Engine, Evidence};
use sqlx::{AssertSqlSafe, Row};

use crate::insert::{Bind, HISTORY, Rows, history_row, insert};
use crate::lifecycle::{self, Event, Mark};
use crate::query::history_item;
use crate::record::{snapshot, store_state};
use crate::rows::{RACE_COLUMNS, race_id, race_number, state, to_json};
use crate::store::Writer;
use crate::{Error, Ledger, Refusal, Result, State, now};

struct Target {
    row: i64,
    id: String,
    state: State,
}

impl Ledger {
    /// Sets a race's status by a person's word, which needs a reason.
    pub async fn mark(&self, id: &str, mark: Mark, reason: &str, author: &str) -> Result<State> {
        let reason = reason.trim();
        if reason.is_empty() {
            return Err(Refusal::NoReason.into());
        }
        let mut writer = self.writer().await?;
        let target = find(&mut writer, id).await?;
        let next = lifecycle::apply(&target.state, &Event::Marked(mark))?;
        let action = format!("marked {}", mark.as_str());
        self.act(&mut writer, &target, &next, &action, reason, author).await?;
        let evidence = Evidence::new(Engine::Person)
            .with("action", action)
            .with("author", author)
            .with("reason", reason);
        let row = [
            Bind::Number(target.row),
            Bind::Number(now()),
            Bind::Text(Engine::Person.as_str().to_owned()),
            Bind::Text(to_json(&evidence.detail)),
        ];
        insert(&mut writer, "evidence (race_id, at, engine, detail)", Rows::one(row), "").await?;
        writer.commit().await?;
        Ok(next)
    }

    /// Gives a race to someone; an empty name takes it back.
    pub async fn assign(&self, id: &str, assignee: &str, author: &str) -> Result<State> {
        let mut writer = self.writer().await?;
        let target = find(&mut writer, id).await?;
        let assignee = assignee.trim();
        let next = State { assignee: assignee.to_owned(), ..target.state.clone() };
        let action = match assignee {
            "" => "unassigned".to_owned(),
            name => format!("assigned to {name}"),
        };
        self.act(&mut writer, &target, &next, &action, "", author).await?;
        writer.commit().await?;
        Ok(next)
    }

    /// Takes back the last move that has not been undone, whoever made it. What was seen stays
    /// seen: the proof does not sink below what the evidence shows.
    pub async fn undo(&self, id: &str, author: &str) -> Result<State> {
        let mut writer = self.writer().await?;
        let target = find(&mut writer, id).await?;
        let row = sqlx::query(
            "SELECT id, at, actor, action, reason, before_state, after_state, undone FROM history \
             WHERE race_id = $1 AND undone = 0 AND before_state <> '' ORDER BY id DESC LIMIT 1",
        )
        .bind(target.row)
        .fetch_optional(&mut *writer)
        .await?
        .ok_or(Error::Refused(Refusal::NothingToUndo))?;
        let item = history_item(&row)?;
        let Some(before) = item.before else { return Err(Refusal::NothingToUndo.into()) };
        let next = State { proof: target.state.proof, ..before };
        let reason = format!("takes back: {}", item.action);
        self.act(&mut writer, &target, &next, "undo", &reason, author).await?;
        // Both the move and its undoing are over: the next undo goes one further back.
        sqlx::query("UPDATE history SET undone = 1 WHERE race_id = $1 AND id >= $2")
            .bind(target.row)
            .bind(item.id)
            .execute(&mut *writer)
            .await?;
        writer.commit().await?;
        Ok(next)
    }

    /// Writes a line into the audit trail.
    pub async fn note_act(
        &self,
        actor: &str,
        action: &str,
        subject: &str,
        detail: &str,
    ) -> Result<()> {
        let mut writer = self.writer().await?;
        audit(&mut writer, actor, action, subject, detail).await?;
        writer.commit().await?;
        Ok(())
    }

    async fn act(
        &self,
        writer: &mut Writer,
        target: &Target,
        next: &State,
        action: &str,
        reason: &str,
        author: &str,
    ) -> Result<()> {
        let before = Some(&target.state);
        let row = history_row(target.row, now(), author, action, reason, before, next);
        insert(writer, HISTORY, Rows::one(row), "").await?;
        store_state(writer, target.row, next).await?;
        audit(writer, author, action, &target.id, reason).await?;
        snapshot(writer, now()).await
    }
}

async fn find(writer: &mut Writer, id: &str) -> Result<Target> {
    let number = race_number(id)?;
    let sql = format!("SELECT {RACE_COLUMNS} FROM races r WHERE r.number = $1");
    let row = sqlx::query(AssertSqlSafe(sql))
        .bind(number)
        .fetch_optional(&mut **writer)
        .await?
        .ok_or_else(|| Error::NoSuchRace(id.to_owned()))?;
    Ok(Target { row: row.try_get("id")?, id: race_id(number), state: state(&row)? })
}

async fn audit(
    writer: &mut Writer,
    actor: &str,
    action: &str,
    subject: &str,
    detail: &str,
) -> Result<()> {
    let [actor, action, subject, detail] =
        [actor, action, subject, detail].map(|text| Bind::Text(text.to_owned()));
    let row = [Bind::Number(now()), actor, action, subject, detail];
    insert(writer, "audit (at, actor, action, subject, detail)", Rows::one(row), "").await
}
