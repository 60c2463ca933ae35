//! The fleet: pods, how much of the sites they cover, and what came of their attempts. Fed by the
//! hive through [`FleetSource`]; a local ledger has none.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

use maud::{Markup, html};
use racewarden_report::words::utc;

use crate::State;
use crate::error::{Failure, Result};
use crate::layout::{self, Page, Tab};

#[derive(Debug, Clone, Default)]
pub struct PodView {
    pub name: String,
    pub project: String,
    pub build: String,
    /// Milliseconds since 1970.
    pub last_seen: i64,
    pub reports: u64,
    /// Gated sites that its runs came by.
    pub sites_executed: u64,
}

#[derive(Debug, Clone, Default)]
pub struct FleetView {
    pub pods: Vec<PodView>,
    pub sites_total: u64,
    /// Sites that some pod came by.
    pub sites_covered: u64,
    /// How attempts ended (`completed`, `crash`, `not-reached`…).
    pub outcomes: BTreeMap<String, u64>,
}

pub type FleetFuture<'a> =
    Pin<Box<dyn Future<Output = std::result::Result<FleetView, String>> + Send + 'a>>;

/// Who knows about pods.
pub trait FleetSource: Send + Sync {
    fn fleet(&self) -> FleetFuture<'_>;
}

pub async fn page(shared: State) -> Result<Page> {
    let body = match &shared.options.fleet {
        None => html! {
            h1 { "Fleet" }
            p { "No pods here: this dashboard shows a local ledger. A hive hands candidate races to pods and shows them on this page; see " code { "racewarden hive --help" } "." }
        },
        Some(source) => view(&source.fleet().await.map_err(Failure::Fleet)?),
    };
    Ok(layout::page(&shared, Tab::Fleet, "Fleet", &body))
}

fn view(fleet: &FleetView) -> Markup {
    let total = fleet.sites_total.max(1);
    html! {
        h1 { "Fleet" }
        ul class="cards" {
            li { div { strong { (fleet.pods.len()) } "pods" } }
            li { div { strong { (fleet.sites_covered) " / " (fleet.sites_total) } "sites covered" } }
            @for (outcome, count) in &fleet.outcomes { li { div { strong { (count) } (outcome) } } }
        }
        p {
            label for="coverage" { "Coverage of sites" }
            meter id="coverage" class="meter" min="0" max=(total) value=(fleet.sites_covered) { (fleet.sites_covered * 100 / total) " %" }
            " " (fleet.sites_covered * 100 / total) " %"
        }
        @if fleet.pods.is_empty() { p { "No pod has called yet." } } @else {
            div class="scroll" tabindex="0" role="region" aria-label="Pods" {
                table class="races" {
                    thead { tr { th { "Pod" } th { "Project" } th { "Build" } th { "Last seen" } th { "Reports" } th { "Sites" } } }
                    tbody {
                        @for pod in &fleet.pods {
                            tr {
                                td { (pod.name) } td { (pod.project) } td { code { (pod.build) } }
                                td { time { (utc(pod.last_seen)) } }
                                td class="number" { (pod.reports) } td class="number" { (pod.sites_executed) }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fleet_without_sites_divides_by_nothing() {
        assert!(view(&FleetView::default()).into_string().contains("0 %"));
    }
}
