//! What pods call: work to do, and reports of work done.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State as Shared};
use axum::http::HeaderMap;
use racewarden_proto::{
    Assignment, AssignmentReply, AssignmentRequest, Control, MAX_BATCH, Outcome, PodMode,
    PodReport, ReportBatch, ReportReceipt, Role,
};

use super::{ApiError, State, builds};
use crate::assign;
use crate::auth::{self, Caller};
use crate::judge::Finding;
use crate::keys::{Ticket, random_hex};
use crate::store::{ReportRow, now};

/// Stacks longer than this tell a person nothing more.
const MAX_FRAMES: usize = 256;
const MAX_TEXT: usize = 1_000;

pub async fn assign(
    Shared(state): Shared<Arc<State>>,
    Path(project): Path<String>,
    headers: HeaderMap,
    body: Result<Json<AssignmentRequest>, JsonRejection>,
) -> Result<Json<AssignmentReply>, ApiError> {
    let caller = auth::require(&state, &headers, &project, Role::Pod).await?;
    let Json(request) = body?;
    let control = control(&state, &project).await?;
    let build = builds::find(&state, &project, &request.build).await?;
    check_gates(&request.executed_gates, build.gates)?;

    let fleet = state.fleet(&build.id).await?;
    let mut fleet = fleet.lock().await;
    let newcomer = !fleet.knows(&caller.token);
    if newcomer {
        let enforced = state.store.enforced_by(&build.id, &caller.token).await?;
        fleet.add_pod(&caller.token, enforced);
    }
    if fleet.executed(&caller.token, &request.executed_gates) || newcomer {
        let gates: Vec<u32> = fleet.executed_gates(&caller.token).into_iter().collect();
        state.store.save_pod(&build.id, &caller.token, &gates, 0).await?;
    }
    let avoid = if control.immunity && control.pods != PodMode::Stop {
        fleet.avoid.clone()
    } else {
        Vec::new()
    };
    let works = match control.pods {
        PodMode::Run => true,
        PodMode::Slow => fleet.pod(&caller.token).is_some_and(|pod| pod.turn % 10 == 0),
        PodMode::Stop => false,
    };
    let choice = fleet
        .pod(&caller.token)
        .filter(|_| works)
        .and_then(|pod| assign::assign(&fleet.candidates, pod, control.base_wait_ms));
    let next_poll_seconds = if works { 1 } else { 600 };
    let Some(choice) = choice else {
        return Ok(Json(AssignmentReply { assignment: None, avoid, next_poll_seconds }));
    };
    fleet.handed_out(&caller.token, choice.candidate, choice.order);
    let ticket = Ticket {
        build: build.id.clone(),
        candidate: choice.candidate,
        order: choice.order,
        pod: caller.token,
        wait_ms: choice.wait_ms,
        issued: now(),
        nonce: random_hex(16),
    };
    let assignment = Some(Assignment {
        ticket: state.keys.seal(&ticket),
        candidate: choice.candidate,
        target: fleet.candidates[choice.candidate as usize].target.clone(),
        order: choice.order,
        wait_ms: choice.wait_ms,
    });
    Ok(Json(AssignmentReply { assignment, avoid, next_poll_seconds }))
}

pub async fn report(
    Shared(state): Shared<Arc<State>>,
    Path(project): Path<String>,
    headers: HeaderMap,
    body: Result<Json<ReportBatch>, JsonRejection>,
) -> Result<Json<ReportReceipt>, ApiError> {
    let caller = auth::require(&state, &headers, &project, Role::Pod).await?;
    let Json(batch) = body?;
    if batch.reports.len() > MAX_BATCH {
        return Err(ApiError::bad_request(format!("at most {MAX_BATCH} reports in one batch")));
    }
    let mut rows = Vec::new();
    let mut refused = Vec::new();
    for report in &batch.reports {
        match check_report(&state, &caller, report) {
            Ok(row) => rows.push(row),
            Err(why) => refused.push((report.id.chars().take(64).collect(), why.to_owned())),
        }
    }
    let checked = rows.len();
    let mut kept = rows.clone();
    let fresh: BTreeSet<String> = if rows.is_empty() {
        BTreeSet::new()
    } else {
        state.writer.write(rows).await.map_err(ApiError::unavailable)?.into_iter().collect()
    };
    kept.retain(|row| fresh.contains(&row.nonce));
    after_storing(&state, &caller, &batch, &kept).await?;
    let count = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    Ok(Json(ReportReceipt {
        accepted: count(fresh.len()),
        duplicates: count(checked - fresh.len()),
        refused,
    }))
}

/// A report counts only for the assignment that this very pod was given.
fn check_report(
    state: &State,
    caller: &Caller,
    report: &PodReport,
) -> Result<ReportRow, &'static str> {
    let ticket = state.keys.open(&report.ticket).ok_or("the ticket is not of this hive, or old")?;
    if ticket.pod != caller.token {
        return Err("the ticket was given to another pod");
    }
    let sound = |context: &str| {
        (1..=64).contains(&context.len()) && context.chars().all(|c| c.is_ascii_alphanumeric())
    };
    let mut violation_text = String::new();
    let finding = match &report.outcome {
        Outcome::Enforced { context, same_instant } if sound(context) => {
            Finding::Enforced { context: context.clone(), same_instant: *same_instant }
        }
        Outcome::NotEnforced { reason } => Finding::NotEnforced(*reason),
        Outcome::Violation { context, violation } if sound(context) => {
            let long = |text: &str| text.len() > MAX_TEXT;
            if violation.stack.len() > MAX_FRAMES
                || long(&violation.what)
                || violation.stack.iter().any(|f| long(&f.function) || long(&f.file))
            {
                return Err("the violation is too long");
            }
            violation_text = serde_json::to_string(violation).unwrap_or_default();
            Finding::Violation { context: context.clone(), kind: violation.kind }
        }
        _ => return Err("a context is 1 to 64 letters and digits"),
    };
    Ok(ReportRow {
        nonce: ticket.nonce,
        build: ticket.build,
        candidate: ticket.candidate,
        pod: ticket.pod,
        order: ticket.order,
        finding,
        violation: violation_text,
        wait_ms: ticket.wait_ms,
    })
}

/// Notes what has to be judged again, and what the pod executes. The reports are safe by now.
async fn after_storing(
    state: &State,
    caller: &Caller,
    batch: &ReportBatch,
    stored: &[ReportRow],
) -> Result<(), ApiError> {
    let Some(first) = stored.first() else { return Ok(()) };
    let build = first.build.clone();
    let fleet = state.fleet(&build).await?;
    let mut news = false;
    {
        let mut fleet = fleet.lock().await;
        for report in &batch.reports {
            news |= fleet.executed(&caller.token, &report.executed_gates);
        }
        for row in stored {
            if !matches!(row.finding, Finding::NotEnforced(_)) {
                fleet.enforced(&row.pod, row.candidate, row.order);
            }
        }
        if news || batch.dropped > 0 {
            let gates: Vec<u32> = fleet.executed_gates(&caller.token).into_iter().collect();
            state.store.save_pod(&build, &caller.token, &gates, batch.dropped).await?;
        }
    }
    for row in stored {
        state.docket.add(&row.build, row.candidate);
    }
    Ok(())
}

async fn control(state: &State, project: &str) -> Result<Control, ApiError> {
    let control = state.store.control(project).await?;
    control.ok_or_else(|| ApiError::not_found("no such project"))
}

fn check_gates(gates: &[u32], count: u32) -> Result<(), ApiError> {
    match gates.iter().find(|gate| **gate >= count) {
        Some(gate) => Err(ApiError::bad_request(format!("the build has no gate {gate}"))),
        None => Ok(()),
    }
}
