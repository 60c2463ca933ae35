//! `racewarden races`: what the ledger holds, one line a race.

use std::fmt::Write;
use std::process::ExitCode;

use racewarden_finding::Verdict;
use racewarden_ledger::{Entry, Filter, Page, Sort, Status};
use racewarden_report::{printable, words};

use crate::ledger_sink::LedgerArgs;
use crate::output::write_to_stdout;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    filter: FilterArgs,

    /// At most so many races; 0 for all
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u64,

    /// Leave out the first so many
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u64,

    /// Print JSON: the races as in a report, with their state
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    ledger: LedgerArgs,
}

/// Which races a command is about.
#[derive(clap::Args, Debug, Clone)]
pub struct FilterArgs {
    /// Words that must all occur in the object, files, functions or lvalues
    #[arg(value_name = "WORD")]
    search: Vec<String>,

    /// Closed races too
    #[arg(long, conflicts_with = "status")]
    all: bool,

    /// Only races of this status: open, likely-false, suppressed, fixed, obsolete; repeatable
    #[arg(long, value_name = "STATUS")]
    status: Vec<Status>,

    /// Only races proved at least so far: potential, predicted, observed, confirmed, harmful
    #[arg(long, value_name = "VERDICT")]
    at_least: Option<Verdict>,

    /// Only races with a site in a file whose path contains this
    #[arg(long, value_name = "PATH")]
    file: Option<String>,

    /// Only races of this person
    #[arg(long, value_name = "NAME")]
    assignee: Option<String>,

    /// Only races that came back after they were fixed
    #[arg(long)]
    regressions: bool,

    /// Order: verdict, rank, last-seen, first-seen, number
    #[arg(long, value_name = "ORDER", default_value = "verdict")]
    sort: Sort,
}

impl FilterArgs {
    pub fn filter(&self) -> Filter {
        Filter {
            status: match (self.all, self.status.is_empty()) {
                (true, _) => Vec::new(),
                (false, true) => vec![Status::Open],
                (false, false) => self.status.clone(),
            },
            at_least: self.at_least,
            search: self.search.join(" "),
            file: self.file.clone().unwrap_or_default(),
            assignee: self.assignee.clone().unwrap_or_default(),
            regressions_only: self.regressions,
            sort: self.sort,
            ..Filter::default()
        }
    }
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let ledger = args.ledger.open()?;
    let filter = Filter { limit: args.limit, offset: args.offset, ..args.filter.filter() };
    let page = ledger.races(&filter)?;
    let text = if args.json { json(&page)? } else { text(&page) };
    write_to_stdout(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn json(page: &Page) -> anyhow::Result<String> {
    let races: Vec<serde_json::Value> = page
        .entries
        .iter()
        .map(|entry| {
            serde_json::json!({
                "race": entry.race,
                "state": entry.state,
                "first_seen": entry.first_seen,
                "last_seen": entry.last_seen,
            })
        })
        .collect();
    let list = serde_json::json!({ "total": page.total, "races": races });
    Ok(serde_json::to_string_pretty(&list)? + "\n")
}

fn text(page: &Page) -> String {
    let mut out = String::new();
    for entry in &page.entries {
        let _ = writeln!(out, "{}", line(entry));
    }
    let shown = page.entries.len() as u64;
    let noun = if page.total == 1 { "race" } else { "races" };
    let _ = match shown == page.total {
        true => writeln!(out, "{} {noun}", page.total),
        false => writeln!(out, "{shown} of {} {noun}; see --limit and --offset", page.total),
    };
    out
}

/// `R1  harmful       95  a.c:41 write x  ×  b.c:58 read x`
pub fn line(entry: &Entry) -> String {
    let race = &entry.race;
    let mut tags = String::new();
    if entry.state.regression {
        tags.push_str("  [regression]");
    }
    if !entry.state.assessment.as_str().is_empty() {
        tags.push_str(&format!("  [{}]", entry.state.assessment.as_str()));
    }
    if !entry.state.assignee.is_empty() {
        tags.push_str(&format!("  @{}", entry.state.assignee));
    }
    let word = match entry.state.status {
        Status::Open => entry.state.proof.as_str(),
        other => other.as_str(),
    };
    printable(&format!(
        "{:<5} {word:<12} {:>3}  {}{tags}",
        race.id,
        race.rank,
        words::headline(race)
    ))
}
