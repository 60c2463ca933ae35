//! The hive's store: SQLite in a file, or PostgreSQL when several hives share the load.
//!
//! One set of statements serves both; only column types differ, in `migrations/`. Every statement
//! is a constant with bound parameters, so no input ever becomes SQL.

mod builds;
mod projects;
mod reports;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sqlx::any::AnyPoolOptions;
use sqlx::{AnyPool, Executor};

pub use builds::{BuildRow, CandidateRow};
pub use projects::TokenRow;
pub use reports::{PodRow, ReportRow};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{0} is not a database URL: use sqlite:FILE or postgres://…")]
    Url(String),
    #[error("the hive's database: {0}")]
    Database(#[from] sqlx::Error),
    #[error("the hive's database could not be brought up to date: {0}")]
    Migration(#[from] sqlx::migrate::MigrateError),
    #[error("the hive's database holds {what} that cannot be read: {text}")]
    Corrupt { what: &'static str, text: String },
}

#[derive(Debug, Clone)]
pub struct Store {
    pool: AnyPool,
}

impl Store {
    /// Opens `sqlite:FILE` or `postgres://…` and brings its schema up to date.
    pub async fn open(url: &str) -> Result<Store, StoreError> {
        sqlx::any::install_default_drivers();
        let options = AnyPoolOptions::new().acquire_timeout(Duration::from_secs(10));
        if let Some(file) = url.strip_prefix("sqlite:") {
            let pool = options
                .max_connections(4)
                .after_connect(|connection, _| {
                    Box::pin(async move {
                        // FULL: what was acknowledged survives a power cut, not only a crash.
                        connection
                            .execute(
                                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
                                 PRAGMA busy_timeout = 10000; PRAGMA foreign_keys = ON;",
                            )
                            .await?;
                        Ok(())
                    })
                })
                .connect(&format!("sqlite:{file}?mode=rwc"))
                .await?;
            sqlx::migrate!("migrations/sqlite").run(&pool).await?;
            Ok(Store { pool })
        } else if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            let pool = options.max_connections(16).connect(url).await?;
            sqlx::migrate!("migrations/postgres").run(&pool).await?;
            Ok(Store { pool })
        } else {
            Err(StoreError::Url(url.to_owned()))
        }
    }

    /// The key called `name`, made by `make` the first time any hive asks for it.
    pub async fn key(&self, name: &str, make: &[u8]) -> Result<Vec<u8>, StoreError> {
        sqlx::query("INSERT INTO hive_keys (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING")
            .bind(name)
            .bind(make)
            .execute(&self.pool)
            .await?;
        let (value,): (Vec<u8>,) = sqlx::query_as("SELECT value FROM hive_keys WHERE name = $1")
            .bind(name)
            .fetch_one(&self.pool)
            .await?;
        Ok(value)
    }

    pub async fn audit(
        &self,
        project: &str,
        actor: &str,
        action: &str,
        detail: &str,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO hive_audit (id, at, project, actor, action, detail) \
             VALUES ($1, $2, $3, $4, $5, $6)",
        )
        .bind(crate::keys::random_hex(16))
        .bind(now())
        .bind(project)
        .bind(actor)
        .bind(action)
        .bind(detail)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// The newest entries first: time, actor, action, detail.
    pub async fn audit_log(
        &self,
        project: &str,
    ) -> Result<Vec<(i64, String, String, String)>, StoreError> {
        Ok(sqlx::query_as(
            "SELECT at, actor, action, detail FROM hive_audit WHERE project = $1 \
             ORDER BY at DESC, id LIMIT 500",
        )
        .bind(project)
        .fetch_all(&self.pool)
        .await?)
    }
}

pub fn now() -> i64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_secs()).unwrap_or(i64::MAX)
}
