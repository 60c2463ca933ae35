//! Projects, tokens, control and the audit log.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State as Shared};
use axum::http::{HeaderMap, StatusCode};
use racewarden_proto::{Control, NewProject, NewToken, ProjectInfo, Role, TokenInfo};

use super::{ApiError, State, check_name, is_plain_name};
use crate::auth;

type Body<T> = Result<Json<T>, JsonRejection>;

pub async fn health(
    Shared(state): Shared<Arc<State>>,
) -> Result<Json<serde_json::Value>, ApiError> {
    state.store.project_names().await?;
    Ok(Json(serde_json::json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") })))
}

pub async fn openapi() -> ([(&'static str, &'static str); 1], &'static str) {
    ([("content-type", "application/json")], include_str!("../../openapi.json"))
}

pub async fn create_project(
    Shared(state): Shared<Arc<State>>,
    headers: HeaderMap,
    body: Body<NewProject>,
) -> Result<(StatusCode, Json<ProjectInfo>), ApiError> {
    let caller = auth::require(&state, &headers, "", Role::Admin).await?;
    let Json(NewProject { name }) = body?;
    check_name("project", &name)?;
    if !state.store.create_project(&name).await? {
        return Err(ApiError::conflict("there is a project of that name"));
    }
    state.store.audit(&name, &caller.token, "create-project", "").await?;
    let public_key = state.keys.public_key();
    Ok((StatusCode::CREATED, Json(ProjectInfo { name, control: Control::default(), public_key })))
}

pub async fn list_projects(
    Shared(state): Shared<Arc<State>>,
    headers: HeaderMap,
) -> Result<Json<Vec<String>>, ApiError> {
    auth::require(&state, &headers, "", Role::Admin).await?;
    Ok(Json(state.store.project_names().await?))
}

pub async fn project(
    Shared(state): Shared<Arc<State>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Json<ProjectInfo>, ApiError> {
    auth::require(&state, &headers, &name, Role::Pod).await?;
    let control =
        state.store.control(&name).await?.ok_or_else(|| ApiError::not_found("no such project"))?;
    Ok(Json(ProjectInfo { name, control, public_key: state.keys.public_key() }))
}

pub async fn set_control(
    Shared(state): Shared<Arc<State>>,
    Path(project): Path<String>,
    headers: HeaderMap,
    body: Body<Control>,
) -> Result<Json<Control>, ApiError> {
    let caller = auth::require(&state, &headers, &project, Role::Admin).await?;
    let Json(control) = body?;
    if control.corroboration == 0 || !(1..=60_000).contains(&control.base_wait_ms) {
        return Err(ApiError::bad_request(
            "corroboration is at least 1 and base_wait_ms from 1 to 60000",
        ));
    }
    state.store.set_control(&project, &control).await?;
    let detail = serde_json::to_string(&control).unwrap_or_default();
    state.store.audit(&project, &caller.token, "set-control", &detail).await?;
    Ok(Json(control))
}

pub async fn create_token(
    Shared(state): Shared<Arc<State>>,
    Path(project): Path<String>,
    headers: HeaderMap,
    body: Body<NewToken>,
) -> Result<(StatusCode, Json<TokenInfo>), ApiError> {
    let caller = auth::require(&state, &headers, &project, Role::Admin).await?;
    let Json(new) = body?;
    if new.note.len() > 200 || new.note.chars().any(char::is_control) {
        return Err(ApiError::bad_request(
            "a note has at most 200 bytes and no control characters",
        ));
    }
    if state.store.control(&project).await?.is_none() {
        return Err(ApiError::not_found("no such project"));
    }
    let token = auth::create_token(&state.store, &project, new.role, &new.note).await?;
    let detail = format!("{} {}", new.role.as_str(), token.id);
    state.store.audit(&project, &caller.token, "create-token", &detail).await?;
    Ok((StatusCode::CREATED, Json(token)))
}

pub async fn list_tokens(
    Shared(state): Shared<Arc<State>>,
    Path(project): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Vec<TokenInfo>>, ApiError> {
    auth::require(&state, &headers, &project, Role::Admin).await?;
    let rows = state.store.tokens(&project).await?;
    let tokens = rows.into_iter().map(|row| TokenInfo {
        id: row.id,
        role: row.role,
        note: row.note,
        revoked: row.revoked,
        secret: None,
    });
    Ok(Json(tokens.collect()))
}

pub async fn revoke_token(
    Shared(state): Shared<Arc<State>>,
    Path((project, id)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<StatusCode, ApiError> {
    let caller = auth::require(&state, &headers, &project, Role::Admin).await?;
    if !is_plain_name(&id) || !state.store.revoke_token(&project, &id).await? {
        return Err(ApiError::not_found("no such token"));
    }
    state.store.audit(&project, &caller.token, "revoke-token", &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub async fn audit(
    Shared(state): Shared<Arc<State>>,
    Path(project): Path<String>,
    headers: HeaderMap,
) -> Result<Json<serde_json::Value>, ApiError> {
    auth::require(&state, &headers, &project, Role::Admin).await?;
    let entries: Vec<serde_json::Value> = state
        .store
        .audit_log(&project)
        .await?
        .into_iter()
        .map(|(at, actor, action, detail)| {
            serde_json::json!({ "at": at, "actor": actor, "action": action, "detail": detail })
        })
        .collect();
    Ok(Json(serde_json::Value::Array(entries)))
}
