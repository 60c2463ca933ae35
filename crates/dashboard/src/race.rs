//! The page of one race: both sites, the account, the interleaving, evidence and history, and the
//! forms with which people act on it.

use axum::extract::Path;
use maud::{Markup, html};
use racewarden_ledger::{Entry, EvidenceItem, HistoryItem, Mark, ScheduleItem, Status};
use racewarden_report::words::{self, utc};
use racewarden_report::{Sources, html as parts};

use crate::error::Result;
use crate::layout::{self, Page, Tab};
use crate::list::{status_badge, tags};
use crate::{Shared, State};

pub async fn page(shared: State, Path(id): Path<String>) -> Result<Page> {
    let ledger = &shared.options.ledger;
    let entry = ledger.race(&id).await?;
    let id = entry.race.id.clone();
    let (evidence, history) = (ledger.evidence(&id).await?, ledger.history(&id).await?);
    let schedules = ledger.schedules(&id).await?;
    let roots = shared.options.source_roots.clone();
    let race = entry.race.clone();
    // Reading sources may touch a slow disk.
    let sites = tokio::task::spawn_blocking(move || {
        parts::sites(&race, &mut Sources::confined_below(roots)).into_string()
    })
    .await
    .unwrap_or_default();
    let title = format!("{id} {}", entry.race.object);
    let body = html! {
        h1 { (id) " " (status_badge(&entry)) " " code { (entry.race.object) } }
        p class="soft" {
            "Rank " (entry.race.rank) ", proof " (entry.state.proof)
            ", first seen " time { (utc(entry.first_seen)) } ", last seen " time { (utc(entry.last_seen)) }
            (tags(&entry))
        }
        (maud::PreEscaped(sites))
        h2 { "What is known" }
        (parts::account(&entry.race))
        h2 { "Interleaving" }
        (parts::diagram(&entry.race))
        div class="two" {
            section { h2 { "Evidence" } (evidence_list(&evidence)) (schedule_list(&schedules)) }
            section { h2 { "History" } (history_list(&history)) }
        }
        h2 { "Decide" }
        (acts(&shared, &entry))
    };
    Ok(layout::page(&shared, Tab::Races, &title, &body))
}

fn evidence_list(evidence: &[EvidenceItem]) -> Markup {
    html! {
        @if evidence.is_empty() { p { "None." } }
        ol class="timeline" {
            @for item in evidence {
                li {
                    time { (utc(item.at)) } " " strong { (item.evidence.engine.as_str()) } ": "
                    (words::evidence_line(&item.evidence))
                }
            }
        }
    }
}

fn schedule_list(schedules: &[ScheduleItem]) -> Markup {
    html! {
        @if !schedules.is_empty() {
            h3 { "Schedules" }
            ul { @for item in schedules { li { code { (item.schedule) } " " span class="soft" { "(" (item.engine) ")" } } } }
        }
    }
}

fn history_list(history: &[HistoryItem]) -> Markup {
    html! {
        ol class="timeline" {
            @for item in history {
                li class=[item.undone.then_some("undone")] {
                    time { (utc(item.at)) } " " strong { (item.actor) } ": " (item.action)
                    @if !item.reason.is_empty() { " – " (item.reason) }
                    @if item.undone { " (undone)" }
                }
            }
        }
    }
}

fn acts(shared: &Shared, entry: &Entry) -> Markup {
    let address = format!("{}/races/{}", shared.options.base, entry.race.id);
    let token = html! { input type="hidden" name="token" value=(shared.form_token); };
    let proved = entry.state.proof.is_proof();
    html! {
        div class="acts" {
            form method="post" action={(address) "/mark"} {
                (token)
                label for="mark" { "Mark as" }
                select id="mark" name="mark" {
                    @for mark in Mark::ALL {
                        @if !(mark == Mark::LikelyFalse && proved) {
                            option value=(mark.as_str()) selected[mark == Mark::Suppressed] { (mark.as_str()) }
                        }
                    }
                }
                label for="reason" { "Reason, for others to read" }
                textarea id="reason" name="reason" rows="2" required {}
                button type="submit" { "Mark" }
            }
            div {
                form method="post" action={(address) "/assign"} {
                    (token)
                    label for="assignee" { "Assign to (empty: nobody)" }
                    input id="assignee" name="assignee" value=(entry.state.assignee);
                    button type="submit" { "Assign" }
                }
                form method="post" action={(address) "/undo"} {
                    (token)
                    p class="soft" { "Takes back the last change of status, whoever made it." }
                    button class="plain" type="submit" { "Undo" }
                }
            }
        }
        @if entry.state.status != Status::Open {
            p class="soft" { "It is " (entry.state.status) "; mark it " code { "open" } " to bring it back." }
        }
    }
}
