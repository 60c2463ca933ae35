//! Captures, and what changed between two of them.

use axum::extract::Query;
use maud::{Markup, html};
use racewarden_ledger::Entry;
use racewarden_report::words::utc;
use serde::Deserialize;

use crate::State;
use crate::error::Result;
use crate::layout::{self, Page, Tab};
use crate::list::table;

pub async fn page(shared: State) -> Result<Page> {
    let base = &shared.options.base;
    let captures = shared.options.ledger.captures().await?;
    let body = html! {
        h1 { "Captures" }
        p class="soft" { "Versions of the program that engines looked at, the latest first. Choose two to compare." }
        @if captures.is_empty() { p { "None yet." } } @else {
            form method="get" action={(base) "/captures/diff"} {
                div class="scroll" tabindex="0" role="region" aria-label="Captures" {
                    table class="races" {
                        thead { tr { th { "Old" } th { "New" } th { "Capture" } th { "Target" } th { "Revision" } th { "Time" } th { "Units" } th { "Commands" } } }
                        tbody {
                            @for (index, capture) in captures.iter().enumerate() {
                                tr {
                                    td { input type="radio" name="old" value=(capture.id) aria-label={"Old: capture " (capture.id)} checked[index == 1.min(captures.len() - 1)]; }
                                    td { input type="radio" name="new" value=(capture.id) aria-label={"New: capture " (capture.id)} checked[index == 0]; }
                                    td { "#" (capture.id) " " code { (short(&capture.hash)) } }
                                    td { code { (capture.target) } }
                                    td { (capture.label) }
                                    td { time { (utc(capture.at)) } }
                                    td class="number" { (capture.units.len()) }
                                    td class="number" { (capture.runs) }
                                }
                            }
                        }
                    }
                }
                p { button type="submit" { "Compare" } }
            }
        }
    };
    Ok(layout::page(&shared, Tab::Captures, "Captures", &body))
}

fn short(hash: &str) -> String {
    hash.chars().take(10).collect()
}

#[derive(Deserialize)]
pub struct Pair {
    old: i64,
    new: i64,
}

pub async fn diff(shared: State, Query(pair): Query<Pair>) -> Result<Page> {
    let base = &shared.options.base;
    let diff = shared.options.ledger.capture_diff(pair.old, pair.new).await?;
    let body = html! {
        h1 { "From capture #" (pair.old) " to #" (pair.new) }
        h2 { "Units" }
        p { (diff.added.len()) " added, " (diff.removed.len()) " removed, " (diff.changed.len()) " changed" }
        @for (word, units) in [("Added", &diff.added), ("Removed", &diff.removed), ("Changed", &diff.changed)] {
            @if !units.is_empty() {
                details open[units.len() <= 10] {
                    summary { (word) " (" (units.len()) ")" }
                    ul { @for unit in units { li { code { (unit) } } } }
                }
            }
        }
        (races(base, "New races", &diff.new))
        (races(base, "Races not seen any more", &diff.gone))
        (races(base, "Races in both", &diff.kept))
    };
    Ok(layout::page(&shared, Tab::Captures, "Difference of captures", &body))
}

fn races(base: &str, title: &str, entries: &[Entry]) -> Markup {
    const MOST: usize = 200;
    html! {
        h2 { (title) " (" (entries.len()) ")" }
        @if !entries.is_empty() { (table(base, &entries[..entries.len().min(MOST)])) }
        @if entries.len() > MOST { p class="soft" { "The first " (MOST) " are shown." } }
    }
}
