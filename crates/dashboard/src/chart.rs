//! Counts over time as SVG, with the numbers in a table for those who cannot see it.

use maud::{Markup, html};
use racewarden_ledger::{Counts, Snapshot};
use racewarden_report::words::utc;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 44.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 26.0;

/// Open races, the strongest at the bottom, where the eye goes first.
pub const OPEN: [&str; 5] = ["harmful", "confirmed", "observed", "predicted", "potential"];
const CLOSED: [&str; 4] = ["likely-false", "suppressed", "fixed", "obsolete"];

/// Open races by verdict, stacked.
pub fn by_verdict(snapshots: &[Snapshot]) -> Markup {
    let tallest = snapshots.iter().map(|s| sum(&s.counts, &OPEN)).max().unwrap_or(0);
    let scale = Scale::new(snapshots, tallest);
    html! {
        figure class="chart" {
            svg role="img" viewBox={"0 0 " (WIDTH) " " (HEIGHT)} aria-labelledby="verdicts-title" {
                title id="verdicts-title" { "Open races by verdict over time" }
                (scale.axes())
                @for level in (0..OPEN.len()).rev() {
                    polygon class=(OPEN[level]) points=(scale.area(snapshots, &OPEN[..=level])) {}
                }
                @for (index, word) in OPEN.iter().enumerate() {
                    rect class=(word) x=(LEFT + 100.0 * index as f64) y="8" width="11" height="11" {}
                    text x=(LEFT + 16.0 + 100.0 * index as f64) y="18" { (word) }
                }
            }
            (numbers(snapshots))
        }
    }
}

/// How many are open and how many were closed.
pub fn burn_down(snapshots: &[Snapshot]) -> Markup {
    let larger = |s: &Snapshot| sum(&s.counts, &OPEN).max(sum(&s.counts, &CLOSED));
    let scale = Scale::new(snapshots, snapshots.iter().map(larger).max().unwrap_or(0));
    html! {
        figure class="chart" {
            svg role="img" viewBox={"0 0 " (WIDTH) " " (HEIGHT)} aria-labelledby="burn-title" {
                title id="burn-title" { "Burn-down: open and closed races over time" }
                (scale.axes())
                polyline class="open-line" points=(scale.line(snapshots, &OPEN)) {}
                polyline class="closed-line" points=(scale.line(snapshots, &CLOSED)) {}
                rect class="open-key" x=(LEFT) y="8" width="11" height="11" {}
                text x=(LEFT + 16.0) y="18" { "open" }
                rect class="closed-key" x=(LEFT + 100.0) y="8" width="11" height="11" {}
                text x=(LEFT + 116.0) y="18" { "closed (dashed)" }
            }
            figcaption { "Closed: fixed, obsolete, suppressed or likely false." }
        }
    }
}

fn numbers(snapshots: &[Snapshot]) -> Markup {
    html! {
        details {
            summary { "The numbers" }
            div class="scroll" tabindex="0" role="region" aria-label="Counts over time" {
                table class="races" {
                    thead { tr { th { "Time" } @for word in OPEN.iter().chain(&CLOSED) { th { (word) } } } }
                    tbody {
                        @for snapshot in snapshots.iter().rev().take(30) {
                            tr {
                                td { (utc(snapshot.at)) }
                                @for word in OPEN.iter().chain(&CLOSED) {
                                    td class="number" { (snapshot.counts.get(*word).copied().unwrap_or(0)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

pub fn sum(counts: &Counts, words: &[&str]) -> u64 {
    words.iter().filter_map(|word| counts.get(*word)).sum()
}

struct Scale {
    first: i64,
    span: f64,
    tallest: f64,
    labels: (String, String),
}

impl Scale {
    fn new(snapshots: &[Snapshot], tallest: u64) -> Scale {
        let first = snapshots.first().map_or(0, |snapshot| snapshot.at);
        let last = snapshots.last().map_or(0, |snapshot| snapshot.at);
        Scale {
            first,
            span: (last - first).max(1) as f64,
            tallest: round_up(tallest) as f64,
            labels: (utc(first), utc(last)),
        }
    }

    fn x(&self, at: i64) -> f64 {
        let share = ((at - self.first) as f64 / self.span).clamp(0.0, 1.0);
        LEFT + share * (WIDTH - LEFT - 12.0)
    }

    fn y(&self, count: u64) -> f64 {
        HEIGHT - BOTTOM - count as f64 / self.tallest * (HEIGHT - BOTTOM - TOP)
    }

    /// Counts hold until the next change, so lines are steps; a single moment fills the width.
    fn steps(&self, snapshots: &[Snapshot], words: &[&str]) -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for snapshot in snapshots {
            let (x, y) = (self.x(snapshot.at), self.y(sum(&snapshot.counts, words)));
            if let Some(&(_, before)) = points.last() {
                points.push((x, before));
            }
            points.push((x, y));
        }
        if let Some(&(_, y)) = points.last() {
            points.push((WIDTH - 12.0, y));
        }
        points
    }

    fn line(&self, snapshots: &[Snapshot], words: &[&str]) -> String {
        print(&self.steps(snapshots, words))
    }

    fn area(&self, snapshots: &[Snapshot], words: &[&str]) -> String {
        let mut points = self.steps(snapshots, words);
        if let (Some(&(first, _)), Some(&(last, _))) = (points.first(), points.last()) {
            points.push((last, self.y(0)));
            points.push((first, self.y(0)));
        }
        print(&points)
    }

    fn axes(&self) -> Markup {
        html! {
            @for part in 0..=4u64 {
                @let count = self.tallest as u64 * part / 4;
                line class="grid" x1=(LEFT) x2=(WIDTH - 12.0) y1=(self.y(count)) y2=(self.y(count)) {}
                text x=(LEFT - 6.0) y=(self.y(count) + 4.0) text-anchor="end" { (count) }
            }
            text x=(LEFT) y=(HEIGHT - 8.0) { (self.labels.0) }
            text x=(WIDTH - 12.0) y=(HEIGHT - 8.0) text-anchor="end" { (self.labels.1) }
        }
    }
}

fn print(points: &[(f64, f64)]) -> String {
    points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join(" ")
}

/// The next number that four steps divide nicely: 4, 8, 20, 40, 80, 200…
fn round_up(count: u64) -> u64 {
    let mut unit = 4;
    loop {
        for factor in [1, 2, 5] {
            if unit * factor >= count {
                return unit * factor;
            }
        }
        unit *= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_on_round_numbers() {
        assert_eq!([0, 4, 5, 9, 21, 10_001].map(round_up), [4, 4, 8, 20, 40, 20_000]);
    }

    #[test]
    fn lines_are_steps_within_the_picture() {
        let at = |at, open| Snapshot { at, counts: [("observed".to_owned(), open)].into() };
        let snapshots = [at(1_000, 3), at(2_000, 1)];
        let scale = Scale::new(&snapshots, 3);
        let points = scale.steps(&snapshots, &OPEN);
        assert_eq!(points.len(), 4);
        assert_eq!(points[0].1, points[1].1, "level until the change");
        assert!(points.iter().all(|(x, y)| (LEFT..WIDTH).contains(x) && (0.0..HEIGHT).contains(y)));
        assert!(by_verdict(&[]).into_string().contains("<svg"));
    }
}
