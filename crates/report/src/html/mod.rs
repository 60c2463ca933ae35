//! The report as one self-contained HTML file: no script, no reference to anything outside it.

mod highlight;
mod interleaving;
mod parts;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use racewarden_finding::{NoteKind, Race, Report};

pub use highlight::line as highlighted_line;
pub use interleaving::diagram;
pub use parts::{account, sites, verdict_badge};

use crate::{Sources, words};

/// Colours, source excerpts and diagrams, shared with the dashboard.
pub const STYLE: &str = include_str!("style.css");

pub fn render(report: &Report, sources: &mut Sources) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Racewarden report: " (report.conclusion) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { "Racewarden report" }
                    p class={"conclusion " (report.conclusion)} { "Conclusion: " strong { (report.conclusion) } }
                    (summary(report))
                    @for race in &report.races { (one_race(race, sources)) }
                    (notes(report))
                }
            }
        }
    };
    let mut text = page.into_string();
    text.push('\n');
    text
}

fn summary(report: &Report) -> Markup {
    html! {
        @if report.races.is_empty() { p { "No races." } } @else {
            div class="scroll" tabindex="0" role="region" aria-label="Races" {
                table class="races" {
                    thead { tr { th { "Race" } th { "Verdict" } th { "Rank" } th { "Object" } th { "Accesses" } } }
                    tbody {
                        @for race in &report.races {
                            tr {
                                td { a href={"#" (race.id)} { (race.id) } }
                                td { (verdict_badge(race.verdict)) }
                                td class="number" { (race.rank) }
                                td { code { (race.object) } }
                                td { @for site in &race.sites { div { (words::site_title(site)) } } }
                            }
                        }
                    }
                }
            }
        }
        @if !report.excluded.is_empty() {
            p {
                (report.excluded.values().sum::<u64>()) " pairs excluded: "
                @for (index, (reason, count)) in report.excluded.iter().enumerate() {
                    @if index > 0 { ", " } (reason) " " (count)
                }
            }
        }
    }
}

fn one_race(race: &Race, sources: &mut Sources) -> Markup {
    html! {
        article id=(race.id) {
            h2 { (race.id) " " (verdict_badge(race.verdict)) " " code { (race.object) } }
            (sites(race, sources))
            (account(race))
            (diagram(race))
            @if !race.evidence.is_empty() {
                h3 { "Evidence" }
                ul {
                    @for evidence in &race.evidence {
                        li { strong { (evidence.engine.as_str()) } ": " (words::evidence_line(evidence)) }
                    }
                }
            }
        }
    }
}

fn notes(report: &Report) -> Markup {
    html! {
        @if !report.notes.is_empty() {
            h2 { "Notes" }
            ul {
                @for note in &report.notes {
                    li {
                        @if note.kind == NoteKind::Weakens { strong { "Weakens the result " } }
                        "(" (note.engine.as_str()) "): " (note.text)
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn page() -> String {
        render(&sample::report(), &mut sample::sources())
    }

    #[test]
    fn snapshot() {
        let page = page().replace(STYLE, "/* style */").replace('>', ">\n");
        insta::assert_snapshot!(page);
    }

    #[test]
    fn refers_to_nothing_outside_and_names_stay_text() {
        let page = page();
        for forbidden in ["http://", "https://", "<script", "src=", "<link", "<b>statistics"] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
        assert!(page.contains("&lt;b&gt;statistics"));
    }
}
