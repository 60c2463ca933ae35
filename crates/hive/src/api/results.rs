//! What developers read: the races with their verdicts, and the fleet.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State as Shared};
use axum::http::HeaderMap;
use racewarden_finding::{Engine, Evidence, Report, conclude};
use racewarden_proto::Role;

use super::{ApiError, State, builds};
use crate::auth;
use crate::store::StoreError;

/// The build's races as a report, the same JSON that every command writes.
pub async fn races(
    Shared(state): Shared<Arc<State>>,
    Path((project, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Json<Report>, ApiError> {
    auth::require(&state, &headers, &project, Role::Developer).await?;
    let build = builds::find(&state, &project, &name).await?;
    state.judge_open().await?;
    Ok(Json(build_report(&state, &build.id).await?))
}

/// A build's candidates with the hive's verdicts and evidence.
pub async fn build_report(state: &State, build: &str) -> Result<Report, StoreError> {
    let mut report = Report::default();
    for row in state.store.candidates(build).await? {
        let mut race = row.race;
        race.verdict = race.verdict.max(row.verdict);
        if row.verdict == racewarden_finding::Verdict::LikelyFalse && !race.verdict.is_proof() {
            race.verdict = row.verdict;
        }
        if let Ok(detail) =
            serde_json::from_str::<BTreeMap<String, serde_json::Value>>(&row.judgement)
        {
            race.evidence.push(Evidence { engine: Engine::Hive, detail });
        }
        report.races.push(race);
    }
    let reports = state.store.report_count(build).await?;
    report.stats.insert("reports".into(), reports.into());
    report.conclusion = conclude(&report.races, &report.notes, false);
    report.finish();
    Ok(report)
}

/// Pods of a build: what they execute, what they had to drop, when they were last heard of.
pub async fn fleet(
    Shared(state): Shared<Arc<State>>,
    Path((project, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Json<serde_json::Value>, ApiError> {
    auth::require(&state, &headers, &project, Role::Developer).await?;
    let build = builds::find(&state, &project, &name).await?;
    let pods: Vec<serde_json::Value> = state
        .store
        .pods(&build.id)
        .await?
        .into_iter()
        .map(|pod| {
            serde_json::json!({
                "pod": pod.pod,
                "executed_gates": pod.executed_gates.len(),
                "dropped_reports": pod.dropped,
                "seen": pod.seen,
            })
        })
        .collect();
    Ok(Json(serde_json::json!({ "gates": build.gates, "pods": pods })))
}
