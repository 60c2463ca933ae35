//! The dashboard on a hive: the pages of the `dashboard` crate over a ledger that verdicts flow
//! into, behind the hive's own tokens.
//!
//! Pages show every project, so they open only for an administrator of the whole hive: the
//! browser asks for a name and a password, the password is the token, the name goes into the
//! audit trail.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State as Shared};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use racewarden_dashboard::{Actor, FleetFuture, FleetSource, FleetView, Options, PodView};
use racewarden_finding::Engine;
use racewarden_ledger::{Ledger, RunInfo};
use racewarden_proto::Role;

use crate::api::{State, build_report};
use crate::auth;
use crate::store::StoreError;

const BASE: &str = "/dashboard";

/// The pages below `/dashboard`.
pub fn routes(state: Arc<State>, ledger: Ledger) -> std::io::Result<Router> {
    let fleet: Arc<dyn FleetSource> = Arc::new(Fleet { state: state.clone() });
    let options = Options { base: BASE.to_owned(), fleet: Some(fleet), ..Options::new(ledger) };
    let pages = racewarden_dashboard::router(options)?;
    let guarded = pages.layer(middleware::from_fn_with_state(state, admit));
    Ok(Router::new().nest(BASE, guarded))
}

/// Brings the ledger up to the verdicts of one build.
pub async fn record(state: &State, ledger: &Ledger, build: &str) -> Result<(), String> {
    let text = |error: StoreError| error.to_string();
    let Some(row) = state.store.build_by_id(build).await.map_err(text)? else { return Ok(()) };
    let report = build_report(state, &row.id).await.map_err(text)?;
    let run = RunInfo {
        command: format!("build {}", row.name),
        ..RunInfo::new(Engine::Hive, row.project)
    };
    ledger.record_report(&report, &run).await.map_err(|error| error.to_string())?;
    Ok(())
}

async fn admit(
    Shared(state): Shared<Arc<State>>,
    headers: HeaderMap,
    mut request: Request,
    next: Next,
) -> Response {
    let Some((name, token)) = basic_credentials(&headers) else { return ask() };
    let mut bearer = HeaderMap::new();
    if let Ok(value) = HeaderValue::from_str(&format!("Bearer {token}")) {
        bearer.insert("authorization", value);
    }
    if auth::require(&state, &bearer, "", Role::Admin).await.is_err() {
        return ask();
    }
    let name = if name.is_empty() { "administrator".to_owned() } else { name };
    request.extensions_mut().insert(Actor(name));
    next.run(request).await
}

fn ask() -> Response {
    let how = [("www-authenticate", "Basic realm=\"Racewarden hive\", charset=\"UTF-8\"")];
    (StatusCode::UNAUTHORIZED, how, "The password is an administrator's token.\n").into_response()
}

fn basic_credentials(headers: &HeaderMap) -> Option<(String, String)> {
    let value = headers.get("authorization")?.to_str().ok()?;
    let text = String::from_utf8(decode_base64(value.strip_prefix("Basic ")?)?).ok()?;
    let (name, token) = text.split_once(':')?;
    Some((name.to_owned(), token.to_owned()))
}

/// Standard base64 with or without padding; `None` for anything else.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count) = (0u32, 0);
    for symbol in text.trim_end_matches('=').bytes() {
        let value = match symbol {
            b'A'..=b'Z' => symbol - b'A',
            b'a'..=b'z' => symbol - b'a' + 26,
            b'0'..=b'9' => symbol - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(bytes)
}

struct Fleet {
    state: Arc<State>,
}

impl FleetSource for Fleet {
    fn fleet(&self) -> FleetFuture<'_> {
        Box::pin(async { view(&self.state).await.map_err(|error| error.to_string()) })
    }
}

/// Every project's newest build with its pods.
async fn view(state: &State) -> Result<FleetView, StoreError> {
    let mut fleet = FleetView::default();
    let mut outcomes: BTreeMap<String, u64> = BTreeMap::new();
    for project in state.store.project_names().await? {
        let Some(build) = state.store.latest_build(&project).await? else { continue };
        let mut covered = std::collections::BTreeSet::new();
        for pod in state.store.pods(&build.id).await? {
            covered.extend(pod.executed_gates.iter().copied());
            fleet.pods.push(PodView {
                reports: state.store.reports_of(&build.id, &pod.pod).await?,
                name: pod.pod,
                project: project.clone(),
                build: build.name.clone(),
                last_seen: pod.seen.saturating_mul(1000),
                sites_executed: pod.executed_gates.len() as u64,
            });
        }
        fleet.sites_total += u64::from(build.gates);
        fleet.sites_covered += covered.len() as u64;
        for (outcome, count) in state.store.outcomes(&build.id).await? {
            *outcomes.entry(outcome).or_default() += count;
        }
    }
    fleet.outcomes = outcomes;
    Ok(fleet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_read_as_browsers_send_them() {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", HeaderValue::from_static("Basic YW5uOnJ3X2FfYg=="));
        let expected = Some(("ann".to_owned(), "rw_a_b".to_owned()));
        assert_eq!(basic_credentials(&headers), expected);
        for wrong in ["Basic", "Basic %%%", "Basic YW5u", "Bearer rw_a_b"] {
            headers.insert("authorization", HeaderValue::from_static(wrong));
            assert_eq!(basic_credentials(&headers), None, "{wrong}");
        }
    }
}
