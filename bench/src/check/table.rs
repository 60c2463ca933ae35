//! What the static engine finds in the six programs, as a table for the documentation.

use std::path::Path;

use anyhow::{Context, ensure};
use racewarden_finding::Report;
use serde_json::{Value, json};

use super::{Arguments, base_memory, checked, programs};

const BEGIN: &str = "<!-- made by `racewarden-bench check --table` -->";
const END: &str = "<!-- end -->";

/// Ranks below this are shown by `check --all` only.
const LOW_RANK: u32 = 25;

/// What a report says, in numbers.
pub fn summary(report: &Report, stages: &[(&'static str, f64)]) -> Value {
    let mut bands = [0u64; 4];
    let mut reduced = 0u64;
    let mut objects = std::collections::BTreeSet::new();
    for race in &report.races {
        bands[(race.rank.min(99) / 25) as usize] += 1;
        let covered = race.reasons.iter().any(|reason| reason.starts_with("covered by"));
        if race.rank >= LOW_RANK && !covered {
            reduced += 1;
            objects.insert(race.object.as_str());
        }
    }
    let took: serde_json::Map<String, Value> = stages
        .windows(2)
        .map(|pair| (pair[0].0.to_owned(), json!(pair[1].1 - pair[0].1)))
        .collect();
    json!({
        "warnings": report.races.len(),
        "reduced": reduced,
        "objects": objects.len(),
        "bands": bands,
        "excluded": report.excluded,
        "conclusion": report.conclusion.to_string(),
        "stats": report.stats,
        "stages": took,
    })
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

fn excluded(said: &Value) -> String {
    let Some(reasons) = said["excluded"].as_object() else { return String::new() };
    let list: Vec<String> =
        reasons.iter().map(|(reason, count)| format!("{reason} {}", number(count))).collect();
    list.join(", ")
}

/// A worker's result in one line.
pub fn in_words(said: &Value) -> String {
    let band = |index: usize| number(&said["bands"][index]);
    let stages: Vec<String> = said["stages"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(stage, seconds)| format!("{stage} {:.2}", seconds.as_f64().unwrap_or_default()))
        .collect();
    format!(
        "{} warnings, {} after reduction (rank 75+: {}, 50+: {}, 25+: {}, below: {}); excluded: \
         {}; {}\n    seconds: {}",
        number(&said["warnings"]),
        number(&said["reduced"]),
        band(3),
        band(2),
        band(1),
        band(0),
        excluded(said),
        said["conclusion"].as_str().unwrap_or_default(),
        stages.join(", "),
    )
}

pub fn run(arguments: &Arguments, scratch: &Path) -> anyhow::Result<()> {
    let base = base_memory(scratch)?;
    let mut text = String::from(
        "| program | units | warnings | after reduction | objects | 75+ | 50+ | 25+ | below | \
         excluded, by reason | time | peak memory |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    let wanted = |known: &&programs::Known| {
        arguments.names.is_empty() || arguments.names.iter().any(|name| name == known.name)
    };
    let mut failed = Vec::new();
    for known in programs::KNOWN.iter().filter(wanted) {
        let row = programs::capture(known, &arguments.places, scratch)
            .and_then(|subject| Ok((subject.files.len(), checked(&subject, 1)?)));
        match row {
            Ok((units, result)) => {
                let said = &result.said;
                let band = |index: usize| number(&said["bands"][index]);
                text += &format!(
                    "| {} | {units} | {} | {} | {} | {} | {} | {} | {} | {} | {:.1} s | {} MB |\n",
                    known.name,
                    number(&said["warnings"]),
                    number(&said["reduced"]),
                    number(&said["objects"]),
                    band(3),
                    band(2),
                    band(1),
                    band(0),
                    excluded(said),
                    result.cost.seconds,
                    (result.cost.kilobytes - base).max(0) / 1024,
                );
            }
            Err(error) => failed.push(format!("{}: {error:#}", known.name)),
        }
    }
    print!("{text}");
    if let Some(file) = &arguments.write {
        write(file, &text)?;
    }
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}

/// Puts the table between the file's marks.
fn write(file: &Path, table: &str) -> anyhow::Result<()> {
    let shown = file.display();
    let old = std::fs::read_to_string(file).with_context(|| shown.to_string())?;
    let marks = old.find(BEGIN).zip(old.find(END)).filter(|(begin, end)| begin < end);
    let (begin, end) = marks.with_context(|| format!("{shown}: no `{BEGIN}` … `{END}` in it"))?;
    let new = format!("{}{BEGIN}\n{table}{}", &old[..begin], &old[end..]);
    std::fs::write(file, new).with_context(|| shown.to_string())
}
