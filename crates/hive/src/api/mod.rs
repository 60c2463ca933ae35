//! The HTTP interface, version 1. Described for machines in `openapi.json`, served at
//! `/v1/openapi.json`; a test holds the two together.

mod admin;
mod builds;
mod error;
mod pods;
mod results;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post, put};
use tokio::sync::Mutex;

pub use error::ApiError;
pub use results::build_report;

use crate::auth::TokenCache;
use crate::fleet::{Docket, Fleet};
use crate::keys::Keys;
use crate::limits::RateLimiter;
use crate::store::{Store, StoreError};
use crate::writer::Writer;

/// Everything but artefacts fits in this.
const BODY_LIMIT: usize = 4 << 20;
pub const ARTEFACT_LIMIT: usize = 512 << 20;

/// What all requests share.
pub struct State {
    pub store: Store,
    pub keys: Keys,
    pub writer: Writer,
    pub tokens: TokenCache,
    pub limits: RateLimiter,
    pub docket: Docket,
    moved: Mutex<BTreeSet<String>>,
    fleets: Mutex<HashMap<String, Arc<Mutex<Fleet>>>>,
}

impl State {
    /// `per_second` and `burst` limit each token.
    pub async fn new(store: Store, per_second: f64, burst: f64) -> Result<State, StoreError> {
        // Reports that were stored just before a crash may not have been judged.
        let docket = Docket::default();
        for (build, candidate) in store.reported_candidates().await? {
            docket.add(&build, candidate);
        }
        Ok(State {
            keys: Keys::load(&store).await?,
            writer: Writer::start(store.clone()),
            tokens: TokenCache::default(),
            limits: RateLimiter::new(per_second, burst),
            docket,
            moved: Mutex::new(BTreeSet::new()),
            fleets: Mutex::new(HashMap::new()),
            store,
        })
    }

    /// The build's fleet, loaded when it is not known or stale.
    async fn fleet(&self, build: &str) -> Result<Arc<Mutex<Fleet>>, StoreError> {
        let mut fleets = self.fleets.lock().await;
        if let Some(fleet) = fleets.get(build)
            && !fleet.lock().await.is_stale()
        {
            return Ok(fleet.clone());
        }
        let fleet = Arc::new(Mutex::new(Fleet::load(&self.store, build).await?));
        fleets.insert(build.to_owned(), fleet.clone());
        Ok(fleet)
    }

    /// Brings all verdicts up to date.
    pub async fn judge_open(&self) -> Result<(), StoreError> {
        for build in self.docket.clear(&self.store).await? {
            // Settled candidates are not handed out again.
            self.fleets.lock().await.remove(&build);
            self.moved.lock().await.insert(build);
        }
        Ok(())
    }

    /// Builds whose verdicts may have moved since the last call.
    pub async fn take_moved(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.moved.lock().await)
    }
}

pub fn router(state: Arc<State>) -> Router {
    let artefact = put(builds::upload_artefact)
        .layer(DefaultBodyLimit::max(ARTEFACT_LIMIT))
        .get(builds::download_artefact);
    Router::new()
        .route("/v1/health", get(admin::health))
        .route("/v1/openapi.json", get(admin::openapi))
        .route("/v1/projects", post(admin::create_project).get(admin::list_projects))
        .route("/v1/projects/{project}", get(admin::project))
        .route("/v1/projects/{project}/control", put(admin::set_control))
        .route("/v1/projects/{project}/tokens", post(admin::create_token).get(admin::list_tokens))
        .route("/v1/projects/{project}/tokens/{id}", axum::routing::delete(admin::revoke_token))
        .route("/v1/projects/{project}/audit", get(admin::audit))
        .route("/v1/projects/{project}/builds", post(builds::create))
        .route("/v1/projects/{project}/builds/latest", get(builds::latest))
        .route("/v1/projects/{project}/builds/{build}/artefact", artefact)
        .route("/v1/projects/{project}/assignments", post(pods::assign))
        .route("/v1/projects/{project}/reports", post(pods::report))
        .route("/v1/projects/{project}/builds/{build}/races", get(results::races))
        .route("/v1/projects/{project}/builds/{build}/fleet", get(results::fleet))
        .fallback(|| async { ApiError::not_found("no such address") })
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .with_state(state)
}

/// Names go into addresses, files and pages, so they are kept plain.
pub fn is_plain_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=64).contains(&name.len())
        && name.chars().all(plain)
        && !name.starts_with('.')
        && name != "latest"
}

fn check_name(what: &str, name: &str) -> Result<(), ApiError> {
    if is_plain_name(name) {
        return Ok(());
    }
    Err(ApiError::bad_request(format!(
        "a {what}'s name is 1 to 64 letters, digits, dots, dashes or underscores, does not start \
         with a dot and is not `latest`"
    )))
}

#[cfg(test)]
mod tests {
    use super::check_name;

    #[test]
    fn names_are_plain() {
        for good in ["redis", "redis-7.0", "a_b"] {
            assert!(check_name("project", good).is_ok(), "{good}");
        }
        for bad in ["", "..", ".git", "a/b", "a b", "<b>", "x' OR 1=1", "latest", &"a".repeat(65)] {
            assert!(check_name("project", bad).is_err(), "{bad}");
        }
    }
}
