//! Who is calling: bearer tokens, `rw_<id>_<secret>`.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, StatusCode};
use racewarden_proto::{Role, TokenInfo};

use crate::api::{ApiError, State, is_plain_name};
use crate::keys::{random_hex, sha256_hex};
use crate::store::{Store, StoreError, TokenRow};

/// How long a token is trusted without asking the database again: a revoked token stops working
/// within this time on every hive.
const CACHE_SECONDS: u64 = 2;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub token: String,
    pub project: String,
    pub role: Role,
}

#[derive(Default)]
pub struct TokenCache {
    known: Mutex<HashMap<String, (TokenRow, Instant)>>,
}

impl TokenCache {
    async fn get(&self, store: &Store, id: &str) -> Result<Option<TokenRow>, StoreError> {
        let lock = || self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((row, at)) = lock().get(id)
            && at.elapsed() < Duration::from_secs(CACHE_SECONDS)
        {
            return Ok(Some(row.clone()));
        }
        let row = store.token(id).await?;
        let mut known = lock();
        known.retain(|_, (_, at)| at.elapsed() < Duration::from_secs(CACHE_SECONDS));
        if let Some(row) = &row {
            known.insert(id.to_owned(), (row.clone(), Instant::now()));
        }
        Ok(row)
    }
}

/// Lets the call pass only with a valid token of `project` and at least `role`.
pub async fn require(
    state: &State,
    headers: &HeaderMap,
    project: &str,
    role: Role,
) -> Result<Caller, ApiError> {
    let denied = || ApiError::new(StatusCode::UNAUTHORIZED, "a valid token is needed");
    let text = headers
        .get("authorization")
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "))
        .ok_or_else(denied)?;
    let (id, secret) =
        text.strip_prefix("rw_").and_then(|rest| rest.split_once('_')).ok_or_else(denied)?;
    // Wrong guesses are limited before the database is asked.
    if !state.limits.allow(id) {
        return Err(ApiError::too_many());
    }
    let row = state.tokens.get(&state.store, id).await?.ok_or_else(denied)?;
    // Comparing hashes of random secrets tells a guesser nothing, however long it takes.
    if row.revoked || sha256_hex(secret.as_bytes()) != row.secret_hash {
        return Err(denied());
    }
    // A token of another project learns nothing, not even whether this project exists.
    let whole_hive = row.project.is_empty() && row.role == Role::Admin;
    if (row.project != project && !whole_hive) || row.role < role {
        return Err(ApiError::new(StatusCode::FORBIDDEN, "this token may not do that"));
    }
    // No project has such a name, and no store need see it.
    if !project.is_empty() && !is_plain_name(project) {
        return Err(ApiError::not_found("no such project"));
    }
    Ok(Caller { token: row.id, project: row.project, role: row.role })
}

pub async fn create_token(
    store: &Store,
    project: &str,
    role: Role,
    note: &str,
) -> Result<TokenInfo, StoreError> {
    let secret = random_hex(32);
    let row = TokenRow {
        id: random_hex(8),
        project: project.to_owned(),
        role,
        secret_hash: sha256_hex(secret.as_bytes()),
        note: note.to_owned(),
        revoked: false,
    };
    store.insert_token(&row).await?;
    let secret = Some(format!("rw_{}_{secret}", row.id));
    Ok(TokenInfo { id: row.id, role, note: row.note, revoked: false, secret })
}

/// The first administrator's token, made on the hive's own machine.
pub async fn create_admin_token(database: &str) -> Result<String, StoreError> {
    let store = Store::open(database).await?;
    let token = create_token(&store, "", Role::Admin, "made on the hive's machine").await?;
    store.audit("", "console", "create-admin-token", &token.id).await?;
    Ok(token.secret.unwrap_or_default())
}
