//! Builds, their artefacts and their candidates.

use racewarden_finding::{Race, Verdict};
use racewarden_proto::{BuildUpload, GateTarget};

use super::{Store, StoreError, now};

/// Artefacts are kept in the database, so that every hive on it can serve them and one backup
/// holds everything; in pieces, so that none needs the whole in memory.
const CHUNK: usize = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildRow {
    pub id: String,
    pub project: String,
    pub name: String,
    pub sha256: String,
    pub size: u64,
    pub gates: u32,
    pub signature: String,
    pub complete: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CandidateRow {
    pub index: u32,
    pub target: GateTarget,
    pub race: Race,
    pub verdict: Verdict,
    /// The last judgement in words, empty before the first.
    pub judgement: String,
}

type BuildTuple = (String, String, String, String, i64, i64, String, i64);

fn build_row(row: BuildTuple) -> BuildRow {
    let (id, project, name, sha256, size, gates, signature, complete) = row;
    BuildRow {
        id,
        project,
        name,
        sha256,
        size: size.unsigned_abs(),
        gates: u32::try_from(gates).unwrap_or(0),
        signature,
        complete: complete != 0,
    }
}

impl Store {
    /// Stores a build with its candidates; `false` when the project has a build of that name.
    pub async fn create_build(
        &self,
        id: &str,
        project: &str,
        upload: &BuildUpload,
        signature: &str,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.pool.begin().await?;
        let done = sqlx::query(
            "INSERT INTO hive_builds (id, project, name, sha256, size, gates, signature, created) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING",
        )
        .bind(id)
        .bind(project)
        .bind(&upload.name)
        .bind(&upload.sha256)
        .bind(i64::try_from(upload.size).unwrap_or(i64::MAX))
        .bind(i64::from(upload.gates))
        .bind(signature)
        .bind(now())
        .execute(&mut *transaction)
        .await?;
        if done.rows_affected() == 0 {
            return Ok(false);
        }
        for (index, candidate) in upload.candidates.iter().enumerate() {
            sqlx::query(
                "INSERT INTO hive_candidates (build, idx, target, race) VALUES ($1, $2, $3, $4)",
            )
            .bind(id)
            .bind(i64::try_from(index).unwrap_or(i64::MAX))
            .bind(serde_json::to_string(&candidate.target).unwrap_or_default())
            .bind(serde_json::to_string(&candidate.race).unwrap_or_default())
            .execute(&mut *transaction)
            .await?;
        }
        transaction.commit().await?;
        Ok(true)
    }

    pub async fn store_artefact(&self, build: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin().await?;
        sqlx::query("DELETE FROM hive_artefact_chunks WHERE build = $1")
            .bind(build)
            .execute(&mut *transaction)
            .await?;
        for (sequence, chunk) in bytes.chunks(CHUNK).enumerate() {
            sqlx::query("INSERT INTO hive_artefact_chunks (build, seq, bytes) VALUES ($1, $2, $3)")
                .bind(build)
                .bind(i64::try_from(sequence).unwrap_or(i64::MAX))
                .bind(chunk)
                .execute(&mut *transaction)
                .await?;
        }
        sqlx::query("UPDATE hive_builds SET complete = 1 WHERE id = $1")
            .bind(build)
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Piece `sequence` of an artefact, `None` past its end.
    pub async fn artefact_chunk(
        &self,
        build: &str,
        sequence: i64,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let row: Option<(Vec<u8>,)> =
            sqlx::query_as("SELECT bytes FROM hive_artefact_chunks WHERE build = $1 AND seq = $2")
                .bind(build)
                .bind(sequence)
                .fetch_optional(&self.pool)
                .await?;
        Ok(row.map(|(bytes,)| bytes))
    }

    pub async fn build(&self, project: &str, name: &str) -> Result<Option<BuildRow>, StoreError> {
        let row: Option<BuildTuple> = sqlx::query_as(
            "SELECT id, project, name, sha256, size, gates, signature, complete \
             FROM hive_builds WHERE project = $1 AND name = $2",
        )
        .bind(project)
        .bind(name)
        .fetch_optional(&self.pool)
        .await?;
        Ok(row.map(build_row))
    }

    pub async fn build_by_id(&self, id: &str) -> Result<Option<BuildRow>, StoreError> {
        let row: Option<BuildTuple> = sqlx::query_as(
            "SELECT id, project, name, sha256, size, gates, signature, complete \
             FROM hive_builds WHERE id = $1",
        )
        .bind(id)
        .fetch_optional(&self.pool)
        .await?;
        Ok(row.map(build_row))
    }

    /// The newest build whose artefact is complete.
    pub async fn latest_build(&self, project: &str) -> Result<Option<BuildRow>, StoreError> {
        let row: Option<BuildTuple> = sqlx::query_as(
            "SELECT id, project, name, sha256, size, gates, signature, complete \
             FROM hive_builds WHERE project = $1 AND complete = 1 \
             ORDER BY created DESC, id DESC LIMIT 1",
        )
        .bind(project)
        .fetch_optional(&self.pool)
        .await?;
        Ok(row.map(build_row))
    }

    pub async fn candidates(&self, build: &str) -> Result<Vec<CandidateRow>, StoreError> {
        let rows: Vec<(i64, String, String, String, String)> = sqlx::query_as(
            "SELECT idx, target, race, verdict, judgement \
             FROM hive_candidates WHERE build = $1 ORDER BY idx",
        )
        .bind(build)
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter()
            .map(|(index, target, race, verdict, judgement)| {
                Ok(CandidateRow {
                    index: u32::try_from(index).unwrap_or(u32::MAX),
                    target: serde_json::from_str(&target)
                        .map_err(|_| StoreError::Corrupt { what: "a target", text: target })?,
                    race: serde_json::from_str(&race)
                        .map_err(|_| StoreError::Corrupt { what: "a candidate", text: race })?,
                    verdict: verdict
                        .parse()
                        .map_err(|text| StoreError::Corrupt { what: "a verdict", text })?,
                    judgement,
                })
            })
            .collect()
    }

    pub async fn set_judgement(
        &self,
        build: &str,
        candidate: u32,
        verdict: Verdict,
        judgement: &str,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE hive_candidates SET verdict = $3, judgement = $4 WHERE build = $1 AND idx = $2",
        )
        .bind(build)
        .bind(i64::from(candidate))
        .bind(verdict.as_str())
        .bind(judgement)
        .execute(&self.pool)
        .await?;
        Ok(())
    }
}
