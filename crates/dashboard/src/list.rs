//! The list of races, with filter, search and pages.

use axum::extract::Query;
use maud::{Markup, html};
use racewarden_finding::Verdict;
use racewarden_ledger::{Entry, Filter, Sort, Status};
use racewarden_report::{html::verdict_badge, words};
use serde::Deserialize;

use crate::State;
use crate::chart::OPEN;
use crate::error::{Failure, Result};
use crate::layout::{self, Page, Tab};

const PAGE: u64 = 50;

/// What the address says; everything may be missing.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Wanted {
    q: String,
    status: String,
    verdict: String,
    file: String,
    assignee: String,
    regressions: String,
    sort: String,
    page: String,
}

impl Wanted {
    fn number(&self) -> u64 {
        self.page.parse().unwrap_or(1).clamp(1, 1_000_000)
    }

    fn filter(&self) -> Result<Filter> {
        let bad = Failure::BadRequest;
        let status = match self.status.as_str() {
            "" => vec![Status::Open],
            "all" => Vec::new(),
            name => vec![name.parse().map_err(bad)?],
        };
        let proof: Vec<Verdict> = match self.verdict.as_str() {
            "" => Vec::new(),
            name => vec![name.parse().map_err(Failure::BadRequest)?],
        };
        let sort: Sort = match self.sort.as_str() {
            "" => Sort::default(),
            name => name.parse().map_err(Failure::BadRequest)?,
        };
        Ok(Filter {
            status,
            proof,
            search: self.q.clone(),
            file: self.file.clone(),
            assignee: self.assignee.clone(),
            regressions_only: !self.regressions.is_empty(),
            sort,
            limit: PAGE,
            offset: (self.number() - 1) * PAGE,
            ..Filter::default()
        })
    }

    /// The address of another page of the same list.
    fn address(&self, base: &str, page: u64) -> String {
        let page = page.to_string();
        let pairs = [
            ("q", &self.q),
            ("status", &self.status),
            ("verdict", &self.verdict),
            ("file", &self.file),
            ("assignee", &self.assignee),
            ("regressions", &self.regressions),
            ("sort", &self.sort),
            ("page", &page),
        ];
        let query: Vec<String> = pairs
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| format!("{name}={}", encode(value)))
            .collect();
        format!("{base}/races?{}", query.join("&"))
    }
}

fn encode(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' => out.push(byte as char),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

pub async fn page(shared: State, Query(wanted): Query<Wanted>) -> Result<Page> {
    let base = &shared.options.base;
    let found = shared.options.ledger.races(&wanted.filter()?).await?;
    let (number, last) = (wanted.number(), found.total.div_ceil(PAGE).max(1));
    let body = html! {
        h1 { "Races" }
        (filter_form(base, &wanted))
        p role="status" id="total" { (found.total) @if found.total == 1 { " race" } @else { " races" } }
        @if !found.entries.is_empty() { (table(base, &found.entries)) }
        @if last > 1 {
            nav class="pages" aria-label="Pages of the list" {
                @if number > 1 { a rel="prev" href=(wanted.address(base, number - 1)) { "Previous" } }
                span { "Page " (number) " of " (last) }
                @if number < last { a rel="next" href=(wanted.address(base, number + 1)) { "Next" } }
            }
        }
    };
    Ok(layout::page(&shared, Tab::Races, "Races", &body))
}

fn filter_form(base: &str, wanted: &Wanted) -> Markup {
    html! {
        form class="filter" method="get" action={(base) "/races"} role="search" {
            div { label for="q" { "Search" } input type="search" id="q" name="q" value=(wanted.q) placeholder="object, file, function…"; }
            div {
                label for="status" { "Status" }
                select id="status" name="status" {
                    @let chosen = if wanted.status.is_empty() { "open" } else { &wanted.status };
                    @for name in Status::ALL.map(Status::as_str).into_iter().chain(["all"]) {
                        option value=(name) selected[name == chosen] { (name) }
                    }
                }
            }
            div {
                label for="verdict" { "Proof" }
                select id="verdict" name="verdict" {
                    option value="" { "any" }
                    @for name in OPEN { option value=(name) selected[name == wanted.verdict] { (name) } }
                }
            }
            div { label for="file" { "File" } input id="file" name="file" value=(wanted.file) size="14"; }
            div { label for="assignee" { "Assignee" } input id="assignee" name="assignee" value=(wanted.assignee) size="10"; }
            div {
                label for="sort" { "Order" }
                select id="sort" name="sort" {
                    @for sort in Sort::ALL { option value=(sort.as_str()) selected[sort.as_str() == wanted.sort] { (sort.as_str()) } }
                }
            }
            label class="line" {
                input type="checkbox" name="regressions" value="1" checked[!wanted.regressions.is_empty()];
                "Regressions only"
            }
            button type="submit" { "Filter" }
        }
    }
}

pub fn table(base: &str, entries: &[Entry]) -> Markup {
    html! {
        div class="scroll" tabindex="0" role="region" aria-label="List of races" {
            table class="races" {
                thead { tr { th scope="col" { "Race" } th scope="col" { "Verdict" } th scope="col" { "Rank" } th scope="col" { "Object" } th scope="col" { "Accesses" } } }
                tbody { @for entry in entries { (row(base, entry)) } }
            }
        }
    }
}

fn row(base: &str, entry: &Entry) -> Markup {
    let race = &entry.race;
    html! {
        tr {
            td { a href={(base) "/races/" (race.id)} { (race.id) } }
            td { (status_badge(entry)) }
            td class="number" { (race.rank) }
            td { code { (race.object) } (tags(entry)) }
            td class="wide" { @for site in &race.sites { span class="place" { (words::site_title(site)) } } }
        }
    }
}

pub fn status_badge(entry: &Entry) -> Markup {
    match entry.state.status {
        Status::Obsolete => html! { span class="badge obsolete" { "obsolete" } },
        _ => verdict_badge(entry.race.verdict),
    }
}

pub fn tags(entry: &Entry) -> Markup {
    html! {
        @if entry.state.regression { " " span class="tag regression" { "regression" } }
        @if !entry.state.assessment.as_str().is_empty() { " " span class="tag" { (entry.state.assessment.as_str()) } }
        @if !entry.state.assignee.is_empty() { " " span class="tag" { "@" (entry.state.assignee) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_carry_the_filter_and_escape_it() {
        let wanted = Wanted { q: "a&b c".into(), sort: "rank".into(), ..Wanted::default() };
        assert_eq!(wanted.address("/d", 3), "/d/races?q=a%26b%20c&sort=rank&page=3");
    }

    #[test]
    fn nonsense_is_a_bad_request_and_odd_pages_are_the_first() {
        let odd = Wanted { status: "nonsense".into(), ..Wanted::default() };
        assert!(matches!(odd.filter(), Err(Failure::BadRequest(_))));
        for page in ["", "0", "-1", "x", "99999999999999999999"] {
            let wanted = Wanted { page: page.into(), ..Wanted::default() };
            assert_eq!(wanted.filter().unwrap().offset, 0);
        }
    }
}
