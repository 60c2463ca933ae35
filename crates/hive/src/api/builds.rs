//! Publishing and fetching gated builds.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State as Shared};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use racewarden_proto::{BuildInfo, BuildUpload, Role};

use super::{ARTEFACT_LIMIT, ApiError, State, check_name, is_plain_name};
use crate::auth;
use crate::keys::{random_hex, sha256_hex};
use crate::store::BuildRow;

const MAX_CANDIDATES: usize = 100_000;

pub async fn create(
    Shared(state): Shared<Arc<State>>,
    Path(project): Path<String>,
    headers: HeaderMap,
    body: Result<Json<BuildUpload>, JsonRejection>,
) -> Result<(StatusCode, Json<BuildInfo>), ApiError> {
    let caller = auth::require(&state, &headers, &project, Role::Developer).await?;
    let Json(upload) = body?;
    check_upload(&upload)?;
    if state.store.control(&project).await?.is_none() {
        return Err(ApiError::not_found("no such project"));
    }
    let signature = state.keys.sign_artefact(&project, &upload.name, &upload.sha256);
    if !state.store.create_build(&random_hex(8), &project, &upload, &signature).await? {
        return Err(ApiError::conflict("the project has a build of that name"));
    }
    state.store.audit(&project, &caller.token, "create-build", &upload.name).await?;
    let BuildUpload { name, sha256, size, .. } = upload;
    Ok((StatusCode::CREATED, Json(BuildInfo { project, name, sha256, size, signature })))
}

fn check_upload(upload: &BuildUpload) -> Result<(), ApiError> {
    check_name("build", &upload.name)?;
    let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    if upload.sha256.len() != 64 || !upload.sha256.chars().all(hex) {
        return Err(ApiError::bad_request("sha256 is 64 lower-case hex digits"));
    }
    if upload.size > ARTEFACT_LIMIT as u64 || upload.candidates.len() > MAX_CANDIDATES {
        return Err(ApiError::bad_request("the artefact or the list of candidates is too large"));
    }
    let beyond = upload
        .candidates
        .iter()
        .find(|candidate| candidate.target.gates().any(|gate| gate >= upload.gates));
    match beyond {
        Some(candidate) => Err(ApiError::bad_request(format!(
            "candidate {} names a gate that the artefact does not have",
            candidate.race.id
        ))),
        None => Ok(()),
    }
}

pub async fn upload_artefact(
    Shared(state): Shared<Arc<State>>,
    Path((project, name)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, ApiError> {
    // Nothing of the body is read before it is known who sends it and that it is expected.
    let caller = auth::require(&state, &headers, &project, Role::Developer).await?;
    let build = find(&state, &project, &name).await?;
    if build.complete {
        return Err(ApiError::conflict("the build has its artefact already"));
    }
    let announced = usize::try_from(build.size).unwrap_or(0).min(ARTEFACT_LIMIT);
    let bytes = axum::body::to_bytes(body, announced)
        .await
        .map_err(|_| ApiError::bad_request("the artefact is not the one that was announced"))?;
    if bytes.len() as u64 != build.size || sha256_hex(&bytes) != build.sha256 {
        return Err(ApiError::bad_request("the artefact is not the one that was announced"));
    }
    state.store.store_artefact(&build.id, &bytes).await?;
    state.store.audit(&project, &caller.token, "upload-artefact", &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub async fn latest(
    Shared(state): Shared<Arc<State>>,
    Path(project): Path<String>,
    headers: HeaderMap,
) -> Result<Json<BuildInfo>, ApiError> {
    auth::require(&state, &headers, &project, Role::Pod).await?;
    let build = state
        .store
        .latest_build(&project)
        .await?
        .ok_or_else(|| ApiError::not_found("the project has no complete build"))?;
    let BuildRow { project, name, sha256, size, signature, .. } = build;
    Ok(Json(BuildInfo { project, name, sha256, size, signature }))
}

pub async fn download_artefact(
    Shared(state): Shared<Arc<State>>,
    Path((project, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    auth::require(&state, &headers, &project, Role::Pod).await?;
    let build = find(&state, &project, &name).await?;
    if !build.complete {
        return Err(ApiError::not_found("the artefact has not been uploaded"));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(build.size).unwrap_or(0));
    let mut sequence = 0;
    while let Some(chunk) = state.store.artefact_chunk(&build.id, sequence).await? {
        bytes.extend(chunk);
        sequence += 1;
    }
    let mut response = Body::from(bytes).into_response();
    let kind = axum::http::HeaderValue::from_static("application/octet-stream");
    response.headers_mut().insert("content-type", kind);
    Ok(response)
}

pub async fn find(state: &State, project: &str, name: &str) -> Result<BuildRow, ApiError> {
    if !is_plain_name(name) {
        return Err(ApiError::not_found("no such build"));
    }
    let build = state.store.build(project, name).await?;
    build.ok_or_else(|| ApiError::not_found("no such build"))
}
