//! Projects and tokens.

use racewarden_proto::{Control, Role};

use super::{Store, StoreError, now};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    pub id: String,
    /// Empty for an administrator of the whole hive.
    pub project: String,
    pub role: Role,
    pub secret_hash: String,
    pub note: String,
    pub revoked: bool,
}

type TokenTuple = (String, String, String, String, String, i64);

fn token(
    (id, project, role, secret_hash, note, revoked): TokenTuple,
) -> Result<TokenRow, StoreError> {
    let role =
        Role::parse(&role).ok_or_else(|| StoreError::Corrupt { what: "a role", text: role })?;
    Ok(TokenRow { id, project, role, secret_hash, note, revoked: revoked != 0 })
}

impl Store {
    /// `false` when there is a project of that name.
    pub async fn create_project(&self, name: &str) -> Result<bool, StoreError> {
        let control = serde_json::to_string(&Control::default()).unwrap_or_default();
        let done = sqlx::query(
            "INSERT INTO hive_projects (name, control, created) VALUES ($1, $2, $3) \
             ON CONFLICT DO NOTHING",
        )
        .bind(name)
        .bind(control)
        .bind(now())
        .execute(&self.pool)
        .await?;
        Ok(done.rows_affected() == 1)
    }

    pub async fn project_names(&self) -> Result<Vec<String>, StoreError> {
        let rows: Vec<(String,)> = sqlx::query_as("SELECT name FROM hive_projects ORDER BY name")
            .fetch_all(&self.pool)
            .await?;
        Ok(rows.into_iter().map(|(name,)| name).collect())
    }

    pub async fn control(&self, project: &str) -> Result<Option<Control>, StoreError> {
        let row: Option<(String,)> =
            sqlx::query_as("SELECT control FROM hive_projects WHERE name = $1")
                .bind(project)
                .fetch_optional(&self.pool)
                .await?;
        row.map(|(text,)| {
            serde_json::from_str(&text)
                .map_err(|_| StoreError::Corrupt { what: "a project's control", text })
        })
        .transpose()
    }

    /// How many pods must agree in the project of a build.
    pub async fn corroboration(&self, build: &str) -> Result<u32, StoreError> {
        let row: Option<(String,)> =
            sqlx::query_as("SELECT project FROM hive_builds WHERE id = $1")
                .bind(build)
                .fetch_optional(&self.pool)
                .await?;
        let control = match row {
            Some((project,)) => self.control(&project).await?,
            None => None,
        };
        Ok(control.unwrap_or_default().corroboration)
    }

    pub async fn set_control(&self, project: &str, control: &Control) -> Result<(), StoreError> {
        let text = serde_json::to_string(control).unwrap_or_default();
        sqlx::query("UPDATE hive_projects SET control = $2 WHERE name = $1")
            .bind(project)
            .bind(text)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    pub async fn insert_token(&self, row: &TokenRow) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO hive_tokens (id, project, role, secret_hash, note, created) \
             VALUES ($1, $2, $3, $4, $5, $6)",
        )
        .bind(&row.id)
        .bind(&row.project)
        .bind(row.role.as_str())
        .bind(&row.secret_hash)
        .bind(&row.note)
        .bind(now())
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    pub async fn token(&self, id: &str) -> Result<Option<TokenRow>, StoreError> {
        let row: Option<TokenTuple> = sqlx::query_as(
            "SELECT id, project, role, secret_hash, note, revoked FROM hive_tokens WHERE id = $1",
        )
        .bind(id)
        .fetch_optional(&self.pool)
        .await?;
        row.map(token).transpose()
    }

    pub async fn tokens(&self, project: &str) -> Result<Vec<TokenRow>, StoreError> {
        let rows: Vec<TokenTuple> = sqlx::query_as(
            "SELECT id, project, role, secret_hash, note, revoked FROM hive_tokens \
             WHERE project = $1 ORDER BY created, id",
        )
        .bind(project)
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(token).collect()
    }

    /// `false` when the project has no such token.
    pub async fn revoke_token(&self, project: &str, id: &str) -> Result<bool, StoreError> {
        let done =
            sqlx::query("UPDATE hive_tokens SET revoked = $3 WHERE project = $1 AND id = $2")
                .bind(project)
                .bind(id)
                .bind(now())
                .execute(&self.pool)
                .await?;
        Ok(done.rows_affected() == 1)
    }
}
