//! The first page: how many races there are, how that changed, and what came in last.

use maud::html;
use racewarden_ledger::{Filter, Status};
use racewarden_report::words::utc;

use crate::State;
use crate::chart::{self, OPEN};
use crate::error::Result;
use crate::layout::{self, Page, Tab};
use crate::list::table;

const POINTS: u32 = 200;

pub async fn page(shared: State) -> Result<Page> {
    let ledger = &shared.options.ledger;
    let base = &shared.options.base;
    let counts = ledger.counts().await?;
    let snapshots = ledger.snapshots(POINTS).await?;
    let top = Filter { status: vec![Status::Open], limit: 8, ..Filter::default() };
    let worst = ledger.races(&top).await?;
    let back = Filter { regressions_only: true, ..top };
    let regressions = ledger.races(&back).await?;
    let runs = ledger.runs(10).await?;
    let body = html! {
        h1 { "Overview" }
        ul class="cards" {
            @for word in OPEN {
                li { a class=(word) href={(base) "/races?verdict=" (word)} {
                    strong { (counts.get(word).copied().unwrap_or(0)) } (word)
                } }
            }
            @for status in [Status::Fixed, Status::Suppressed, Status::LikelyFalse, Status::Obsolete] {
                li { a class=(status) href={(base) "/races?status=" (status)} {
                    strong { (counts.get(status.as_str()).copied().unwrap_or(0)) } (status)
                } }
            }
        }
        div class="two" {
            section { h2 { "Open races by verdict" } (chart::by_verdict(&snapshots)) }
            section { h2 { "Burn-down" } (chart::burn_down(&snapshots)) }
        }
        @if regressions.total > 0 {
            h2 { "Came back" }
            (table(base, &regressions.entries))
        }
        h2 { "Strongest open races" }
        @if worst.entries.is_empty() { p { "None." } } @else { (table(base, &worst.entries)) }
        h2 { "Latest commands" }
        @if runs.is_empty() { p { "Nothing was recorded yet." } } @else {
            div class="scroll" tabindex="0" role="region" aria-label="Latest commands" {
                table class="races" {
                    thead { tr { th { "Time" } th { "Engine" } th { "Target" } th { "Conclusion" } th { "Races" } } }
                    tbody {
                        @for run in &runs {
                            tr {
                                td { time { (utc(run.at)) } }
                                td { (run.engine) }
                                td { code { (run.target) } }
                                td { (run.conclusion) }
                                td class="number" { (run.found) }
                            }
                        }
                    }
                }
            }
        }
    };
    Ok(layout::page(&shared, Tab::Overview, "Overview", &body))
}
