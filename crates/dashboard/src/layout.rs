//! The frame of every page.

use axum::http::header;
use axum::response::{Html, IntoResponse};
use maud::{DOCTYPE, Markup, html};

use crate::Shared;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    Overview,
    Races,
    Captures,
    Fleet,
    Audit,
    None,
}

const TABS: [(Tab, &str, &str); 5] = [
    (Tab::Overview, "/", "Overview"),
    (Tab::Races, "/races", "Races"),
    (Tab::Captures, "/captures", "Captures"),
    (Tab::Fleet, "/fleet", "Fleet"),
    (Tab::Audit, "/audit", "Audit"),
];

/// A finished page.
pub type Page = Html<String>;

pub fn page(shared: &Shared, tab: Tab, title: &str, body: &Markup) -> Page {
    let base = &shared.options.base;
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Racewarden" }
                link rel="stylesheet" href={(base) "/style.css"};
                link rel="icon" href="data:,";
            }
            body {
                a class="skip" href="#content" { "Skip to the content" }
                header {
                    a class="brand" href={(base) "/"} { "Racewarden" }
                    nav aria-label="Pages" {
                        @for (which, path, name) in TABS {
                            a href={(base) (path)} aria-current=[(which == tab).then_some("page")] { (name) }
                        }
                    }
                }
                main id="content" { (body) }
            }
        }
    };
    Html(markup.into_string())
}

/// A page for failures, which may not even have a ledger to speak of.
pub fn bare(title: &str, body: &Markup) -> Page {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
            }
            body { main { (body) } }
        }
    };
    Html(markup.into_string())
}

pub async fn style() -> impl IntoResponse {
    let text = concat!(include_str!("../../report/src/html/style.css"), include_str!("style.css"));
    let headers = [
        (header::CONTENT_TYPE, "text/css; charset=utf-8"),
        (header::CACHE_CONTROL, "max-age=3600"),
    ];
    (headers, text)
}
