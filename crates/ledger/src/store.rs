//! Opening a ledger, its migrations and its transactions.
//!
//! One set of statements serves both backends: `$1` placeholders, integers and text, and blobs for
//! caches; what is said differently there stands here ([`Backend`]). Writers take turns (SQLite: `BEGIN IMMEDIATE` with a busy timeout; PostgreSQL: an advisory lock for the
//! transaction), because merging races by fingerprint and numbering them must not interleave.

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::time::Duration;

use sqlx::any::{Any, AnyPoolOptions};
use sqlx::migrate::Migrator;
use sqlx::{AnyConnection, AnyPool, Executor, Transaction};

use crate::{Error, Result};

static SQLITE: Migrator = sqlx::migrate!("migrations/sqlite");
static POSTGRES: Migrator = sqlx::migrate!("migrations/postgres");

/// Any number, as long as nobody else uses it for an advisory lock in the same database.
const WRITER_LOCK: &str = "SELECT pg_advisory_xact_lock(7227324401)";
const MIGRATION_TRIES: u32 = 50;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    Sqlite,
    Postgres,
}

impl Backend {
    /// The numbers of the JSON list bound as `$parameter`, as a query: no statement has room for
    /// thousands of parameters.
    pub(crate) fn numbers(self, parameter: usize) -> String {
        match self {
            Backend::Sqlite => format!("SELECT value FROM json_each(${parameter})"),
            Backend::Postgres => format!(
                "SELECT CAST(value AS BIGINT) \
                 FROM json_array_elements_text(CAST(${parameter} AS JSON))"
            ),
        }
    }

    /// As [`numbers`](Self::numbers), of texts.
    pub(crate) fn texts(self, parameter: usize) -> String {
        match self {
            Backend::Sqlite => self.numbers(parameter),
            Backend::Postgres => {
                format!("SELECT value FROM json_array_elements_text(CAST(${parameter} AS JSON))")
            }
        }
    }

    /// An aggregate: all numbers of a column as one JSON list. The driver takes longer over a row
    /// than over the number in it.
    pub(crate) fn list(self, column: &str, order: &str) -> String {
        match self {
            Backend::Sqlite => format!("json_group_array({column} ORDER BY {order})"),
            Backend::Postgres => format!("CAST(json_agg({column} ORDER BY {order}) AS TEXT)"),
        }
    }
}

/// A transaction that no other writer interleaves with.
pub(crate) struct Writer {
    pub backend: Backend,
    transaction: Transaction<'static, Any>,
}

impl Writer {
    pub async fn commit(self) -> Result<()> {
        Ok(self.transaction.commit().await?)
    }
}

impl Deref for Writer {
    type Target = AnyConnection;

    fn deref(&self) -> &AnyConnection {
        &self.transaction
    }
}

impl DerefMut for Writer {
    fn deref_mut(&mut self) -> &mut AnyConnection {
        &mut self.transaction
    }
}

/// The store of races and evidence.
#[derive(Debug, Clone)]
pub struct Ledger {
    pub(crate) pool: AnyPool,
    pub(crate) backend: Backend,
}

impl Ledger {
    /// Opens the ledger at `place`, a PostgreSQL URL or the path of an SQLite file, which is made
    /// when it is not there, and brings its tables up to date.
    pub async fn open(place: &str) -> Result<Ledger> {
        sqlx::any::install_default_drivers();
        let backend = if is_url(place) { Backend::Postgres } else { Backend::Sqlite };
        let url = match backend {
            Backend::Postgres => place.to_owned(),
            Backend::Sqlite => sqlite_url(place)?,
        };
        let pool = AnyPoolOptions::new()
            .max_connections(8)
            .acquire_timeout(Duration::from_secs(30))
            .after_connect(move |connection, _| {
                Box::pin(async move {
                    if backend == Backend::Sqlite {
                        // FULL: what was acknowledged is on the disk, whatever crashes.
                        connection.execute("PRAGMA busy_timeout = 30000").await?;
                        connection.execute("PRAGMA journal_mode = WAL").await?;
                        connection.execute("PRAGMA synchronous = FULL").await?;
                        connection.execute("PRAGMA foreign_keys = ON").await?;
                        // A first report of a large program is written once, not page by page
                        // again as the cache overflows; in KiB, and taken only as it is needed.
                        connection.execute("PRAGMA cache_size = -65536").await?;
                        // What a statement of many rows keeps to take itself back.
                        connection.execute("PRAGMA temp_store = MEMORY").await?;
                    }
                    Ok(())
                })
            })
            .connect(&url)
            .await
            .map_err(|source| Error::Open { place: shown(place), source })?;
        let ledger = Ledger { pool, backend };
        ledger.migrate(place).await?;
        Ok(ledger)
    }

    /// Migrates; two processes that open a new ledger at once may get in each other's way, so a
    /// failure is only final when it repeats.
    async fn migrate(&self, place: &str) -> Result<()> {
        let migrator = match self.backend {
            Backend::Sqlite => &SQLITE,
            Backend::Postgres => &POSTGRES,
        };
        let mut tries = 0;
        loop {
            match migrator.run(&self.pool).await {
                Ok(()) => return Ok(()),
                Err(
                    sqlx::migrate::MigrateError::Execute(_)
                    | sqlx::migrate::MigrateError::ExecuteMigration(..)
                    | sqlx::migrate::MigrateError::Dirty(_),
                ) if tries < MIGRATION_TRIES => {
                    tries += 1;
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Err(source) => return Err(Error::Migrate { place: shown(place), source }),
            }
        }
    }

    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Closes all connections; SQLite then folds its write-ahead log into the file.
    pub async fn close(self) {
        self.pool.close().await;
    }

    pub(crate) async fn writer(&self) -> Result<Writer> {
        let transaction = match self.backend {
            Backend::Sqlite => self.pool.begin_with("BEGIN IMMEDIATE").await?,
            Backend::Postgres => {
                let mut transaction = self.pool.begin().await?;
                transaction.execute(WRITER_LOCK).await?;
                transaction
            }
        };
        Ok(Writer { backend: self.backend, transaction })
    }
}

fn is_url(place: &str) -> bool {
    place.starts_with("postgres://") || place.starts_with("postgresql://")
}

/// The place without a password, for messages.
pub fn shown(place: &str) -> String {
    if !is_url(place) {
        return place.to_owned();
    }
    match (place.split_once("://"), place.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://…@{host}"),
        _ => place.to_owned(),
    }
}

fn sqlite_url(place: &str) -> Result<String> {
    if let Some(folder) = Path::new(place).parent().filter(|folder| !folder.as_os_str().is_empty())
    {
        std::fs::create_dir_all(folder)?;
    }
    let mut path = String::new();
    for c in place.chars() {
        match c {
            '%' => path.push_str("%25"),
            '?' => path.push_str("%3F"),
            '#' => path.push_str("%23"),
            c => path.push(c),
        }
    }
    Ok(format!("sqlite://{path}?mode=rwc"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_do_not_reach_messages() {
        assert_eq!(shown("postgres://me:secret@host/db"), "postgres://…@host/db");
        assert_eq!(shown("a/ledger.db"), "a/ledger.db");
    }
}
