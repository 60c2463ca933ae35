//! The witness schedule as a picture: a lane per thread, time downwards, held locks as bars, the
//! racing pair joined by a line. SVG without script; the same facts stand in its description for
//! those who cannot see it.
//!
//! The steps come from an evidence's `timeline`. Without one they are put together from what the
//! sites say (where locks were taken, then the access) in the order the schedule or a forced order
//! gives; the picture then says that it is a sketch.

use maud::{Markup, html};
use racewarden_finding::{AccessKind, Race, Site};
use serde_json::Value;

use crate::words;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Acquire,
    Release,
    Read,
    Write,
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Step {
    lane: usize,
    kind: Kind,
    text: String,
    place: String,
    racing: bool,
}

/// A lock held on a lane from one row to another.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Bar {
    lane: usize,
    column: usize,
    from: usize,
    to: usize,
    name: String,
}

const ROW: usize = 34;
const TOP: usize = 46;
const LANES: [usize; 2] = [180, 580];
const WIDTH: usize = 800;
/// More steps than this make no picture that anyone reads; the end, where the race is, is kept.
const MOST_STEPS: usize = 60;

/// The diagram of a race; there is always one, if only of two accesses.
pub fn diagram(race: &Race) -> Markup {
    let (steps, exact) = match timeline(race) {
        Some(steps) => (steps, true),
        None => (sketch(race), false),
    };
    let bars = bars(&steps);
    let height = TOP + steps.len() * ROW + 16;
    let description: Vec<String> = steps.iter().map(sentence).collect();
    html! {
        figure class="interleaving" {
            svg role="img" viewBox={"0 0 " (WIDTH) " " (height)} aria-labelledby={"il-t-" (race.id) " il-d-" (race.id)} {
                title id={"il-t-" (race.id)} { "Interleaving of " (race.id) }
                desc id={"il-d-" (race.id)} { (description.join("; ")) }
                @for (lane, x) in LANES.iter().enumerate() {
                    (lane_head(&race.sites[lane], *x, height))
                }
                @for bar in &bars { (bar_mark(bar)) }
                (racing_line(&steps))
                @for (row, step) in steps.iter().enumerate() { (step_mark(step, row)) }
            }
            figcaption {
                @if exact { "Time runs downwards. " } @else {
                    "Time runs downwards; sketched from the sites, as no engine left a full timeline. "
                }
                "Bars are held locks; the dashed line joins the racing accesses."
            }
        }
    }
}

fn lane_head(site: &Site, x: usize, height: usize) -> Markup {
    let name = if site.thread.is_empty() { "some thread" } else { &site.thread };
    html! {
        text class="lane" x=(x) y="20" text-anchor="middle" { (shorten(name, 46)) }
        line class="lane" x1=(x) y1="30" x2=(x) y2=(height - 8) {}
    }
}

fn bar_mark(bar: &Bar) -> Markup {
    let x = LANES[bar.lane] - 24 - bar.column * 14;
    let (y, end) = (TOP + bar.from * ROW + 6, TOP + bar.to * ROW + 26);
    html! {
        g {
            title { (bar.name) " held" }
            rect class={"bar bar" (bar.column % 3)} x=(x) y=(y) width="8" height=(end - y) rx="3" {}
        }
    }
}

fn step_mark(step: &Step, row: usize) -> Markup {
    let (x, y) = (LANES[step.lane], TOP + row * ROW + 16);
    let class = match (step.racing, step.kind) {
        (true, _) => "racing",
        (_, Kind::Acquire | Kind::Release) => "sync",
        _ => "step",
    };
    let what = match step.kind {
        Kind::Acquire => format!("lock {}", step.text),
        Kind::Release => format!("unlock {}", step.text),
        _ => step.text.clone(),
    };
    html! {
        g class=(class) {
            title { (sentence(step)) }
            circle cx=(x) cy=(y) r=(if step.racing { 7 } else { 4 }) {}
            text x=(x + 14) y=(y) { (shorten(&what, 25)) }
            text class="place" x=(x + 14) y=(y + 13) { (shorten(&step.place, 30)) }
        }
    }
}

fn racing_line(steps: &[Step]) -> Markup {
    let last = |lane| steps.iter().rposition(|step| step.lane == lane && step.racing);
    let y = |row: usize| TOP + row * ROW + 16;
    html! {
        @if let (Some(left), Some(right)) = (last(0), last(1)) {
            line class="race" x1=(LANES[0]) y1=(y(left)) x2=(LANES[1]) y2=(y(right)) {}
        }
    }
}

fn sentence(step: &Step) -> String {
    let thread = ["left thread", "right thread"][step.lane];
    let what = match step.kind {
        Kind::Acquire => format!("acquires {}", step.text),
        Kind::Release => format!("releases {}", step.text),
        Kind::Read | Kind::Write | Kind::Other => step.text.clone(),
    };
    let racing = if step.racing { ", racing" } else { "" };
    format!("{thread}: {what} {}{racing}", step.place).replace(" ,", ",").trim_end().to_owned()
}

fn shorten(text: &str, room: usize) -> String {
    let count = text.chars().count();
    if count <= room {
        return text.to_owned();
    }
    let tail: String = text.chars().skip(count - (room - 1)).collect();
    format!("…{tail}")
}

fn timeline(race: &Race) -> Option<Vec<Step>> {
    let list = race
        .evidence
        .iter()
        .rev()
        .find_map(|evidence| evidence.detail.get("timeline")?.as_array())
        .filter(|list| !list.is_empty())?;
    let skip = list.len().saturating_sub(MOST_STEPS);
    Some(list.iter().skip(skip).map(read_step).collect())
}

fn read_step(value: &Value) -> Step {
    let text = |key| value.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
    let kind_name = text("kind");
    let kind = match kind_name.as_str() {
        "acquire" => Kind::Acquire,
        "release" => Kind::Release,
        "read" => Kind::Read,
        "write" => Kind::Write,
        _ => Kind::Other,
    };
    let said = match (text("text"), kind) {
        (said, Kind::Acquire | Kind::Release) => said,
        (said, _) if said.is_empty() => kind_name,
        (said, _) => format!("{kind_name} {said}"),
    };
    let place = match (text("file"), value.get("line").and_then(Value::as_u64)) {
        (file, Some(line)) if !file.is_empty() => format!("{file}:{line}"),
        (file, _) => file,
    };
    Step {
        lane: value.get("thread").and_then(Value::as_u64).unwrap_or(0).min(1) as usize,
        kind,
        text: said,
        place,
        racing: value.get("racing").and_then(Value::as_bool).unwrap_or(false),
    }
}

/// The sites' locks and accesses, the side first that a harmful order names, else the left one.
fn sketch(race: &Race) -> Vec<Step> {
    let orders = words::forced_orders(race);
    let bad = orders.iter().find(|order| !matches!(order.outcome.as_str(), "completed" | ""));
    let first = bad.map_or(0, |order| order.first);
    let mut steps = Vec::new();
    for lane in [0, 1] {
        for lock in &race.sites[lane].locks {
            steps.push(Step {
                lane,
                kind: Kind::Acquire,
                text: lock.name.clone(),
                place: lock.acquired_at.clone(),
                racing: false,
            });
        }
    }
    for lane in [first, 1 - first] {
        let site = &race.sites[lane];
        steps.push(Step {
            lane,
            kind: match site.access {
                AccessKind::Read => Kind::Read,
                AccessKind::Write => Kind::Write,
            },
            text: format!("{} {}", site.access, site.lvalue),
            place: site.location(),
            racing: true,
        });
    }
    steps
}

/// Locks as bars: from their acquisition to their release, or to the last row.
fn bars(steps: &[Step]) -> Vec<Bar> {
    let last = steps.len().saturating_sub(1);
    let mut bars: Vec<Bar> = Vec::new();
    let mut open: [Vec<Option<usize>>; 2] = [Vec::new(), Vec::new()];
    for (row, step) in steps.iter().enumerate() {
        let lane = &mut open[step.lane];
        match step.kind {
            Kind::Acquire => {
                let column = lane.iter().position(Option::is_none).unwrap_or_else(|| {
                    lane.push(None);
                    lane.len() - 1
                });
                lane[column] = Some(bars.len());
                let name = step.text.clone();
                bars.push(Bar {
                    lane: step.lane,
                    column: column.min(6),
                    from: row,
                    to: last,
                    name,
                });
            }
            Kind::Release => {
                let held = lane
                    .iter_mut()
                    .rev()
                    .find(|slot| slot.is_some_and(|index: usize| bars[index].name == step.text));
                if let Some(index) = held.and_then(Option::take) {
                    bars[index].to = row;
                }
            }
            _ => {}
        }
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use racewarden_finding::{Engine, Evidence};
    use serde_json::json;

    #[test]
    fn locks_are_bars_from_acquire_to_release() {
        let mut race = sample::report().races[0].clone();
        let timeline = json!([
            {"thread": 0, "kind": "acquire", "text": "l", "file": "a.c", "line": 1},
            {"thread": 1, "kind": "acquire", "text": "m"},
            {"thread": 0, "kind": "write", "text": "x", "racing": true},
            {"thread": 0, "kind": "release", "text": "l"},
            {"thread": 1, "kind": "read", "text": "x", "racing": true},
            {"thread": 9, "kind": "release", "text": "never taken"}
        ]);
        race.evidence = vec![Evidence::new(Engine::Predict).with("timeline", timeline)];
        let steps = super::timeline(&race).unwrap();
        let bars = bars(&steps);
        let spans: Vec<_> = bars.iter().map(|bar| (bar.lane, bar.from, bar.to)).collect();
        assert_eq!(spans, [(0, 0, 3), (1, 1, 5)]);
        let svg = diagram(&race).into_string();
        assert!(svg.contains("class=\"race\""));
        assert!(svg.contains("left thread: write x, racing"));
    }

    #[test]
    fn without_a_timeline_the_harmful_order_is_sketched() {
        let race = sample::report().races[0].clone();
        let steps = sketch(&race);
        let lanes: Vec<_> = steps.iter().map(|step| (step.lane, step.kind)).collect();
        assert_eq!(lanes, [(1, Kind::Acquire), (1, Kind::Read), (0, Kind::Write)]);
        assert!(diagram(&race).into_string().contains("sketched"));
    }
}
