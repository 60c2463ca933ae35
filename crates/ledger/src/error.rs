//! What can go wrong with a ledger, by who must act.

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The place is wrong or out of reach: the user must name another one.
    #[error("ledger {place}: {source}")]
    Open { place: String, source: sqlx::Error },
    /// The ledger was made by a newer version, or its migrations were tampered with.
    #[error("ledger {place}: {source}")]
    Migrate { place: String, source: sqlx::migrate::MigrateError },
    #[error("ledger: {0}")]
    Database(#[from] sqlx::Error),
    /// Something stored is not what this version writes.
    #[error("ledger: {what} is damaged: {why}")]
    Damaged { what: String, why: String },
    #[error("no race {0} in the ledger")]
    NoSuchRace(String),
    #[error("no capture {0} in the ledger")]
    NoSuchCapture(String),
    #[error(transparent)]
    Refused(#[from] crate::Refusal),
    /// Another writer kept changing the same place.
    #[error("ledger: {0}")]
    Io(#[from] std::io::Error),
}

pub type Result<T> = std::result::Result<T, Error>;
