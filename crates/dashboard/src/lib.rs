//! The dashboard: pages over a ledger, for `racewarden serve` and for the hive.
//!
//! Rendered on the server, without script, without a build step and without a reference to any
//! other host, so that it works offline and under the strictest content security policy. It reads
//! and changes the ledger only through the ledger's own interface; people's acts go through forms
//! with a token that other sites cannot know ([`forms`]).
//!
//! Whoever serves it decides who may come in: the router has no log-in. A layer around it may put
//! an [`Actor`] into a request's extensions; the audit trail then names that person.

#![forbid(unsafe_code)]

mod captures;
mod chart;
mod error;
mod fleet;
mod forms;
mod guard;
mod layout;
mod list;
mod overview;
mod race;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use racewarden_ledger::Ledger;

pub use fleet::{FleetFuture, FleetSource, FleetView, PodView};

/// Who a request comes from, when a layer around the dashboard knows.
#[derive(Debug, Clone)]
pub struct Actor(pub String);

/// What to serve and how.
pub struct Options {
    pub ledger: Ledger,
    /// Where the pages hang: empty, or a path such as `/dashboard` without a final slash.
    pub base: String,
    /// Folders below which source may be shown; nothing outside them ever is, whatever path a
    /// finding names.
    pub source_roots: Vec<PathBuf>,
    /// Who acts when no layer says.
    pub author: String,
    /// Names the server answers to; empty for any. A server on a local address that answers to
    /// any name can be reached by a hostile page through a name of its own.
    pub hosts: Vec<String>,
    pub fleet: Option<Arc<dyn FleetSource>>,
}

impl Options {
    pub fn new(ledger: Ledger) -> Self {
        Options {
            ledger,
            base: String::new(),
            source_roots: Vec::new(),
            author: "someone".to_owned(),
            hosts: Vec::new(),
            fleet: None,
        }
    }
}

pub(crate) struct Shared {
    pub options: Options,
    pub form_token: String,
}

pub(crate) type State = axum::extract::State<Arc<Shared>>;

/// The pages as a router; `options.base` is for links only, nest the router there.
pub fn router(options: Options) -> std::io::Result<Router> {
    let shared = Arc::new(Shared { options, form_token: forms::new_token()? });
    Ok(Router::new()
        .route("/", get(overview::page))
        .route("/races", get(list::page))
        .route("/races/{id}", get(race::page))
        .route("/races/{id}/mark", post(forms::mark))
        .route("/races/{id}/assign", post(forms::assign))
        .route("/races/{id}/undo", post(forms::undo))
        .route("/captures", get(captures::page))
        .route("/captures/diff", get(captures::diff))
        .route("/fleet", get(fleet::page))
        .route("/audit", get(forms::audit))
        .route("/style.css", get(layout::style))
        .fallback(error::not_found)
        .layer(axum::middleware::from_fn_with_state(shared.clone(), guard::guard))
        .with_state(shared))
}
