//! Failures as pages.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use maud::html;
use racewarden_ledger::Error as LedgerError;

use crate::State;
use crate::layout::{Tab, bare};

pub type Result<T> = std::result::Result<T, Failure>;

#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("the form is stale or came from another site: load the page again and retry")]
    ForeignForm,
    #[error("{0}")]
    BadRequest(String),
    #[error("{0}")]
    Fleet(String),
}

impl Failure {
    fn status(&self) -> StatusCode {
        match self {
            Failure::Ledger(LedgerError::NoSuchRace(_) | LedgerError::NoSuchCapture(_)) => {
                StatusCode::NOT_FOUND
            }
            Failure::Ledger(LedgerError::Refused(_)) => StatusCode::UNPROCESSABLE_ENTITY,
            Failure::ForeignForm => StatusCode::FORBIDDEN,
            Failure::BadRequest(_) => StatusCode::BAD_REQUEST,
            Failure::Ledger(_) | Failure::Fleet(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let body = html! {
            h1 { "That did not work" }
            p role="alert" { (self) }
        };
        (self.status(), bare("Racewarden", &body)).into_response()
    }
}

pub async fn not_found(shared: State) -> Response {
    let body = html! {
        h1 { "No such page" }
        p { "The address may be mistyped, or the page may have moved." }
    };
    let page = crate::layout::page(&shared, Tab::None, "No such page", &body);
    (StatusCode::NOT_FOUND, page).into_response()
}
