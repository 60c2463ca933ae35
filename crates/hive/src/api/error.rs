//! Errors as JSON: `{"error": "…"}` with the right status, and nothing of the hive's insides.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::store::StoreError;

#[derive(Debug)]
pub struct ApiError {
    status: StatusCode,
    message: String,
}

impl ApiError {
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        ApiError { status, message: message.into() }
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        ApiError::new(StatusCode::BAD_REQUEST, message)
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        ApiError::new(StatusCode::NOT_FOUND, message)
    }

    pub fn conflict(message: impl Into<String>) -> Self {
        ApiError::new(StatusCode::CONFLICT, message)
    }

    pub fn too_many() -> Self {
        ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too many requests; slow down")
    }

    pub fn unavailable(message: impl Into<String>) -> Self {
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        eprintln!("hive: {error}");
        ApiError::unavailable("the hive's database is not available; try again later")
    }
}

impl From<JsonRejection> for ApiError {
    fn from(rejection: JsonRejection) -> Self {
        ApiError::new(rejection.status(), rejection.body_text())
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        if self.status.is_client_error() && self.status != StatusCode::NOT_FOUND {
            eprintln!("hive: refused ({}): {}", self.status.as_u16(), self.message);
        }
        let mut response =
            (self.status, Json(serde_json::json!({ "error": self.message }))).into_response();
        let retry =
            matches!(self.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
        if retry {
            response.headers_mut().insert("retry-after", axum::http::HeaderValue::from_static("5"));
        }
        response
    }
}
