//! `racewarden show R3`: one race with its evidence and its history.

use std::fmt::Write;
use std::process::ExitCode;

use racewarden_ledger::{BlockingLedger, Entry};
use racewarden_report::words::utc;
use racewarden_report::{printable, words};

use crate::ledger_sink::LedgerArgs;
use crate::output::{sources, text_options, write_to_stdout};

#[derive(clap::Args)]
pub struct Args {
    /// The race: its name (R3) or its fingerprint
    #[arg(value_name = "RACE")]
    race: String,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    ledger: LedgerArgs,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let ledger = args.ledger.open()?;
    let entry = ledger.race(&args.race)?;
    let text = if args.json { json(&ledger, &entry)? } else { text(&ledger, &entry)? };
    write_to_stdout(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn text(ledger: &BlockingLedger, entry: &Entry) -> anyhow::Result<String> {
    let id = &entry.race.id;
    let mut out = racewarden_report::text_of_race(&entry.race, text_options(true), &mut sources());
    let state = &entry.state;
    let _ = writeln!(out, "status    {} (proof: {})", state.status, state.proof);
    if state.regression {
        let _ = writeln!(out, "          a regression: it had been gone");
    }
    if !state.assessment.as_str().is_empty() {
        let _ = writeln!(out, "assessed  {}", state.assessment.as_str());
    }
    if !state.assignee.is_empty() {
        let _ = writeln!(out, "assignee  {}", printable(&state.assignee));
    }
    let _ = writeln!(out, "seen      {} to {}", utc(entry.first_seen), utc(entry.last_seen));
    let _ = writeln!(out, "name      {}", entry.race.fingerprint);
    for schedule in ledger.schedules(id)? {
        let _ = writeln!(out, "schedule  {} ({})", printable(&schedule.schedule), schedule.engine);
    }
    let _ = writeln!(out, "\nevidence");
    for item in ledger.evidence(id)? {
        let line = words::evidence_line(&item.evidence);
        let engine = item.evidence.engine.as_str();
        let _ = writeln!(out, "  {}  {engine:<8} {}", utc(item.at), printable(&line));
    }
    let _ = writeln!(out, "\nhistory");
    for item in ledger.history(id)? {
        let undone = if item.undone { " (undone)" } else { "" };
        let reason = if item.reason.is_empty() { "" } else { ": " };
        let line = format!("{}{reason}{}{undone}", item.action, item.reason);
        let actor = printable(&item.actor);
        let _ = writeln!(out, "  {}  {actor:<8} {}", utc(item.at), printable(&line));
    }
    Ok(out)
}

fn json(ledger: &BlockingLedger, entry: &Entry) -> anyhow::Result<String> {
    let id = &entry.race.id;
    let history: Vec<serde_json::Value> = ledger
        .history(id)?
        .into_iter()
        .map(|item| {
            serde_json::json!({
                "at": item.at, "actor": item.actor, "action": item.action,
                "reason": item.reason, "after": item.after, "undone": item.undone,
            })
        })
        .collect();
    let schedules: Vec<String> =
        ledger.schedules(id)?.into_iter().map(|item| item.schedule).collect();
    let shown = serde_json::json!({
        "race": entry.race,
        "state": entry.state,
        "first_seen": entry.first_seen,
        "last_seen": entry.last_seen,
        "schedules": schedules,
        "program": ledger.program(id)?,
        "history": history,
    });
    Ok(serde_json::to_string_pretty(&shown)? + "\n")
}
