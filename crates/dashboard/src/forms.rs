//! What people do, as forms.
//!
//! Every form carries a token that is made when the server starts and stands only in its own
//! pages: another site can make a browser send a form here, but cannot know the token. A browser
//! that tells where a form comes from is checked for that too.

use axum::Extension;
use axum::extract::{Form, Path};
use axum::http::{HeaderMap, header};
use axum::response::Redirect;
use maud::html;
use racewarden_ledger::Mark;
use racewarden_report::words::utc;
use serde::Deserialize;

use crate::error::{Failure, Result};
use crate::layout::{self, Page, Tab};
use crate::{Actor, Shared, State};

type Who = Option<Extension<Actor>>;

/// A token nobody can guess.
pub fn new_token() -> std::io::Result<String> {
    use std::io::Read;
    let mut bytes = [0; 24];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[derive(Deserialize)]
pub struct MarkForm {
    token: String,
    mark: String,
    reason: String,
}

#[derive(Deserialize)]
pub struct AssignForm {
    token: String,
    assignee: String,
}

#[derive(Deserialize)]
pub struct UndoForm {
    token: String,
}

pub async fn mark(
    shared: State,
    who: Who,
    Path(id): Path<String>,
    headers: HeaderMap,
    Form(form): Form<MarkForm>,
) -> Result<Redirect> {
    check(&shared, &headers, &form.token)?;
    let mark: Mark = form.mark.parse().map_err(Failure::BadRequest)?;
    let author = author(&shared, who);
    shared.options.ledger.mark(&id, mark, &form.reason, &author).await?;
    Ok(back(&shared, &id))
}

pub async fn assign(
    shared: State,
    who: Who,
    Path(id): Path<String>,
    headers: HeaderMap,
    Form(form): Form<AssignForm>,
) -> Result<Redirect> {
    check(&shared, &headers, &form.token)?;
    let author = author(&shared, who);
    shared.options.ledger.assign(&id, &form.assignee, &author).await?;
    Ok(back(&shared, &id))
}

pub async fn undo(
    shared: State,
    who: Who,
    Path(id): Path<String>,
    headers: HeaderMap,
    Form(form): Form<UndoForm>,
) -> Result<Redirect> {
    check(&shared, &headers, &form.token)?;
    let author = author(&shared, who);
    shared.options.ledger.undo(&id, &author).await?;
    Ok(back(&shared, &id))
}

fn author(shared: &Shared, who: Who) -> String {
    who.map_or_else(|| shared.options.author.clone(), |Extension(Actor(name))| name)
}

/// The id was found in the ledger, so it is an id and nothing else; still nothing but letters
/// and digits goes into an address.
fn back(shared: &Shared, id: &str) -> Redirect {
    let id: String = id.chars().filter(char::is_ascii_alphanumeric).collect();
    Redirect::to(&format!("{}/races/{id}", shared.options.base))
}

fn check(shared: &Shared, headers: &HeaderMap, token: &str) -> Result<()> {
    let site = headers.get("sec-fetch-site").and_then(|value| value.to_str().ok());
    let foreign = site.is_some_and(|site| site != "same-origin" && site != "none");
    let origin = headers.get(header::ORIGIN).and_then(|value| value.to_str().ok());
    let host = headers.get(header::HOST).and_then(|value| value.to_str().ok());
    let other_origin = origin.is_some_and(|origin| {
        origin.split_once("://").map(|(_, rest)| rest) != host && origin != "null"
    });
    if foreign || other_origin || !same(token, &shared.form_token) {
        return Err(Failure::ForeignForm);
    }
    Ok(())
}

/// Compares without telling by its time how much was right.
fn same(given: &str, wanted: &str) -> bool {
    given.len() == wanted.len()
        && given.bytes().zip(wanted.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

pub async fn audit(shared: State) -> Result<Page> {
    let acts = shared.options.ledger.audit("", 500).await?;
    let base = &shared.options.base;
    let body = html! {
        h1 { "Audit trail" }
        p class="soft" { "What people did, the latest first." }
        @if acts.is_empty() { p { "Nobody did anything yet." } } @else {
            div class="scroll" tabindex="0" role="region" aria-label="Audit trail" {
                table class="races" {
                    thead { tr { th { "Time" } th { "Who" } th { "What" } th { "Race" } th { "Why" } } }
                    tbody {
                        @for act in &acts {
                            tr {
                                td { time { (utc(act.at)) } }
                                td { (act.actor) }
                                td { (act.action) }
                                td { a href={(base) "/races/" (act.subject)} { (act.subject) } }
                                td class="wide" { (act.detail) }
                            }
                        }
                    }
                }
            }
        }
    };
    Ok(layout::page(&shared, Tab::Audit, "Audit trail", &body))
}
