//! SARIF 2.1.0, for code-scanning hosts and editors.
//!
//! One run, one rule. A race's code flow has a thread flow per thread, which is what SARIF means
//! by them: the outermost frame first, the locks taken on the way, the access last.

use racewarden_finding::{Engine, Evidence, Note, NoteKind, Race, Report, Site, Verdict};
use serde_json::{Map, Value, json};

use crate::words;

const RULE: &str = "data-race";
/// The key of the fingerprint; its version changes with the way fingerprints are made.
const FINGERPRINT: &str = "racewardenRace/v1";
/// What relative paths are relative to.
const ROOT: &str = "SRCROOT";

/// How a result relates to an earlier report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Baseline {
    New,
    /// There before, with a weaker verdict.
    Updated,
    Unchanged,
    Absent,
}

impl Baseline {
    fn as_str(self) -> &'static str {
        match self {
            Baseline::New => "new",
            Baseline::Updated => "updated",
            Baseline::Unchanged => "unchanged",
            Baseline::Absent => "absent",
        }
    }
}

pub fn render(report: &Report) -> String {
    render_with_baseline(report, &[])
}

/// As [`render`], with the state of each race in the report's order; races past the end of the
/// list have none.
pub fn render_with_baseline(report: &Report, states: &[Baseline]) -> String {
    let mut results: Vec<Value> = report.races.iter().map(result).collect();
    for (result, state) in results.iter_mut().zip(states) {
        result["baselineState"] = json!(state.as_str());
    }
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": driver() },
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": { ROOT: { "description": { "text": "The folder of the build." } } },
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications":
                    report.notes.iter().map(notification).collect::<Vec<_>>(),
            }],
            "results": results,
            "properties": {
                "conclusion": report.conclusion,
                "excluded": report.excluded,
                "stats": report.stats,
            },
        }],
    });
    let mut text = serde_json::to_string_pretty(&log).expect("a JSON value is always valid JSON");
    text.push('\n');
    text
}

fn driver() -> Value {
    json!({
        "name": "racewarden",
        "semanticVersion": env!("CARGO_PKG_VERSION"),
        "rules": [{
            "id": RULE,
            "name": "DataRace",
            "shortDescription": { "text": "Two threads access one object, at least one writes, and nothing orders them." },
            "fullDescription": { "text": "A data race is undefined behaviour in C and C++: the compiler may assume that there is none." },
            "help": { "text": "Guard both accesses with the same lock, order them by a join or a condition, or make both atomic." },
            "defaultConfiguration": { "level": "warning" },
            "properties": { "tags": ["correctness", "concurrency"], "precision": "high" },
        }],
    })
}

fn level(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Harmful | Verdict::Confirmed | Verdict::Observed => "error",
        Verdict::Predicted | Verdict::Potential => "warning",
        Verdict::Suppressed | Verdict::Fixed | Verdict::LikelyFalse => "note",
    }
}

fn result(race: &Race) -> Value {
    let [a, b] = &race.sites;
    let mut result = json!({
        "ruleId": RULE,
        "ruleIndex": 0,
        "level": level(race.verdict),
        "message": { "text": message(race) },
        "locations": [location(a, None)],
        "relatedLocations": [location(b, Some((1, "the other access")))],
        "codeFlows": [{
            "message": { "text": "What each thread does on its way to the race." },
            "threadFlows": [thread_flow(a, 0), thread_flow(b, 1)],
        }],
        "partialFingerprints": { FINGERPRINT: race.fingerprint },
        "rank": f64::from(race.rank.min(100)),
        "properties": {
            "id": race.id,
            "verdict": race.verdict,
            "object": race.object,
            "reasons": race.reasons,
            "evidence": race.evidence,
        },
    });
    if race.verdict == Verdict::Suppressed {
        result["suppressions"] = json!([suppression(race)]);
    }
    if race.verdict == Verdict::Fixed {
        result["baselineState"] = json!("absent");
    }
    result
}

/// The first sentence is what hosts show in their lists, so it says everything needed.
fn message(race: &Race) -> String {
    let [a, b] = &race.sites;
    let mut text = format!(
        "Data race ({}) on {}: {} of {} in {} and {} of {} in {} at [{}](1).",
        race.verdict,
        escape(&race.object),
        a.access,
        escape(&a.lvalue),
        escape(&a.function),
        b.access,
        escape(&b.lvalue),
        escape(&b.function),
        escape(&b.location()),
    );
    for reason in words::why_unordered(race) {
        text.push_str(&format!(" {}.", escape(&reason)));
    }
    for order in words::forced_orders(race) {
        let first = escape(&race.sites[order.first].location());
        text.push_str(&format!(" With {first} first: {}.", escape(&order.result())));
    }
    if let Some(hint) = words::fix_hint(race).filter(|_| race.verdict.is_open()) {
        text.push_str(&format!(" Fix: {}.", escape(&hint)));
    }
    if let Some(command) = words::replay_command(race) {
        text.push_str(&format!(" Replay: {command}"));
    }
    text
}

/// Brackets make links in SARIF messages, so those of the program are escaped.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]")
}

fn suppression(race: &Race) -> Value {
    let by_person = |evidence: &&Evidence| evidence.engine == Engine::Person;
    let reason = race.evidence.iter().rfind(by_person).and_then(|e| e.text("reason"));
    json!({
        "kind": "external",
        "status": "accepted",
        "justification": reason.unwrap_or("suppressed in the ledger"),
    })
}

fn thread_flow(site: &Site, index: usize) -> Value {
    let mut steps = Vec::new();
    for frame in site.stack.iter().skip(1).rev() {
        let text = format!("in {}", escape(&frame.function));
        steps.push(step(&frame.file, frame.line, 0, &text, "unimportant"));
    }
    for lock in &site.locks {
        if let Some((file, line)) = lock.acquired_at.rsplit_once(':')
            && let Ok(line) = line.parse()
        {
            let text = format!("acquires {}", escape(&lock.name));
            steps.push(step(file, line, 0, &text, "important"));
        }
    }
    let text = format!("{}s {} in {}", site.access, escape(&site.lvalue), escape(&site.function));
    steps.push(step(&site.file, site.line, site.column, &text, "essential"));
    let thread = if site.thread.is_empty() { "some thread" } else { &site.thread };
    json!({
        "id": format!("thread {}", index + 1),
        "message": { "text": escape(thread) },
        "locations": steps,
    })
}

fn step(file: &str, line: u32, column: u32, text: &str, importance: &str) -> Value {
    let mut location = physical(file, line, column);
    location["message"] = json!({ "text": text });
    json!({ "location": location, "importance": importance })
}

fn location(site: &Site, related: Option<(u32, &str)>) -> Value {
    let mut location = physical(&site.file, site.line, site.column);
    if !site.function.is_empty() {
        location["logicalLocations"] =
            json!([{ "fullyQualifiedName": site.function, "kind": "function" }]);
    }
    if let Some((id, text)) = related {
        location["id"] = json!(id);
        location["message"] = json!({ "text": text });
    }
    location
}

fn physical(file: &str, line: u32, column: u32) -> Value {
    let mut region = Map::new();
    if line > 0 {
        region.insert("startLine".into(), json!(line));
        if column > 0 {
            region.insert("startColumn".into(), json!(column));
        }
    }
    let mut physical = json!({ "artifactLocation": artifact(file) });
    if !region.is_empty() {
        physical["region"] = Value::Object(region);
    }
    json!({ "physicalLocation": physical })
}

fn artifact(file: &str) -> Value {
    if file.starts_with('/') {
        json!({ "uri": format!("file://{}", percent_encode(file)) })
    } else {
        let relative = file.strip_prefix("./").unwrap_or(file);
        json!({ "uri": percent_encode(relative), "uriBaseId": ROOT })
    }
}

fn percent_encode(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => out.push(byte as char),
            b'-' | b'.' | b'_' | b'~' | b'/' | b'+' => out.push(byte as char),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn notification(note: &Note) -> Value {
    let level = match note.kind {
        NoteKind::Weakens => "warning",
        NoteKind::Info => "note",
    };
    json!({
        "level": level,
        "message": { "text": note.text },
        "descriptor": { "id": note.engine.as_str() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn snapshot() {
        insta::assert_snapshot!(render(&sample::report()));
    }

    #[test]
    fn paths_become_uris() {
        assert_eq!(artifact("a b/ü.c")["uri"], "a%20b/%C3%BC.c");
        assert_eq!(artifact("./a.c"), json!({"uri": "a.c", "uriBaseId": ROOT}));
        assert_eq!(artifact("/usr/a.h"), json!({"uri": "file:///usr/a.h"}));
    }

    #[test]
    fn a_place_without_a_line_has_no_region() {
        assert!(physical("a.c", 0, 0)["physicalLocation"].get("region").is_none());
    }
}
