//! Pieces of a race page that the HTML report and the dashboard share.

use maud::{Markup, html};
use racewarden_finding::{LockMode, Race, Site, Verdict};

use super::highlight;
use crate::source::underline;
use crate::{Sources, words};

/// Lines of source shown before and after an access.
const CONTEXT: u32 = 6;

pub fn verdict_badge(verdict: Verdict) -> Markup {
    html! { span class={"badge " (verdict)} { (verdict) } }
}

/// Both sites side by side, with source, locks and stack.
pub fn sites(race: &Race, sources: &mut Sources) -> Markup {
    html! {
        div class="sites" {
            @for (site, side) in race.sites.iter().zip(["Left thread", "Right thread"]) {
                section class="site" aria-label=(side) { (one_site(site, side, sources)) }
            }
        }
    }
}

fn one_site(site: &Site, side: &str, sources: &mut Sources) -> Markup {
    let atomic = if site.atomic { "atomic " } else { "" };
    let lines = sources.around(&site.file, site.line, CONTEXT);
    html! {
        h3 { (side) }
        p class="thread" { @if site.thread.is_empty() { "some thread" } @else { (site.thread) } }
        p {
            strong { (atomic) (site.access) } " of " code { (site.lvalue) }
            " in " code { (site.function) }
        }
        p class="place" { (site.file) ":" (site.line) ":" (site.column) }
        @if lines.is_empty() {
            p class="missing" { "The source is not at hand." }
        } @else {
            div class="source" tabindex="0" role="region" aria-label={"Source around " (site.location())} {
                table {
                    @for (number, text) in &lines {
                        @let here = *number == site.line;
                        tr class=[here.then_some("here")] {
                            th scope="row" { (number) }
                            td { pre { (highlight::line(text, if here { underline(text, site) } else { None })) } }
                        }
                    }
                }
            }
        }
        h4 { "Locks held" }
        @if site.locks.is_empty() { p { "none" } } @else {
            ul {
                @for lock in &site.locks {
                    li {
                        code { (lock.name) }
                        @if lock.mode == LockMode::Read { " for reading" }
                        @if !lock.acquired_at.is_empty() { span class="place" { " since " (lock.acquired_at) } }
                    }
                }
            }
        }
        @if !site.stack.is_empty() {
            h4 { "Stack" }
            ol class="stack" {
                @for frame in &site.stack {
                    li { code { (frame.function) } span class="place" { " " (frame.file) ":" (frame.line) } }
                }
            }
        }
    }
}

/// Why nothing orders the accesses, what the forced orders did, the hint and the replay command.
pub fn account(race: &Race) -> Markup {
    let orders = words::forced_orders(race);
    html! {
        dl class="account" {
            dt { "Why nothing orders them" }
            @for reason in words::why_unordered(race) { dd { (reason) } }
            @if !orders.is_empty() {
                dt { "When each order was forced" }
                @for order in &orders {
                    dd { code { (race.sites[order.first].location()) } " first: " (order.result()) }
                }
            }
            @if let Some(harm) = words::harm(race) { dt { "Harm" } dd class="harm" { (harm) } }
            @if race.verdict.is_open() {
                @if let Some(hint) = words::fix_hint(race) { dt { "Hint at the fix" } dd { (hint) } }
            }
            @if let Some(command) = words::replay_command(race) {
                dt { "Replay" } dd { code class="command" { (command) } }
                @if let Some(schedule) = race.schedule() { dd class="schedule" { code { (schedule) } } }
            }
        }
    }
}
