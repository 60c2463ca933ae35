//! `racewarden mark R3 suppressed --reason …`: what people decide about races.

use std::process::{Command, ExitCode};

use anyhow::bail;
use racewarden_ledger::Mark;

use crate::ledger_sink::LedgerArgs;

#[derive(clap::Args)]
pub struct Args {
    /// The races (R3)
    #[arg(value_name = "RACE", required = true)]
    races: Vec<String>,

    /// What it is: open, suppressed, benign, harmful, likely-false or fixed, after the races
    #[arg(long, value_name = "MARK")]
    r#as: Option<Mark>,

    /// Why, for others to read; a mark needs one
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,

    /// Give it to someone; an empty name takes it back
    #[arg(long, value_name = "NAME")]
    assign: Option<String>,

    /// Take the last change back
    #[arg(long, conflicts_with_all = ["as", "assign"])]
    undo: bool,

    /// Who says so [default: git's user name, else the login name]
    #[arg(long, value_name = "NAME", env = "RACEWARDEN_AUTHOR")]
    author: Option<String>,

    #[command(flatten)]
    ledger: LedgerArgs,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (races, mark) = split(&args)?;
    if mark.is_none() && args.assign.is_none() && !args.undo {
        bail!("say what to do: a mark such as `suppressed`, --assign NAME or --undo");
    }
    if mark.is_some() && args.reason.as_deref().unwrap_or("").trim().is_empty() {
        bail!("a mark needs a reason that others can read: --reason TEXT");
    }
    let author = args.author.clone().unwrap_or_else(who);
    let ledger = args.ledger.open()?;
    for race in races {
        let mut state = None;
        if let Some(mark) = mark {
            let reason = args.reason.as_deref().unwrap_or("");
            state = Some(ledger.mark(&race, mark, reason, &author)?);
        }
        if let Some(assignee) = &args.assign {
            state = Some(ledger.assign(&race, assignee, &author)?);
        }
        if args.undo {
            state = Some(ledger.undo(&race, &author)?);
        }
        if let Some(state) = state {
            let assignee = match state.assignee.as_str() {
                "" => String::new(),
                name => format!(", assigned to {name}"),
            };
            println!("{race}: {} (proof: {}){assignee}", state.status, state.proof);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The mark may simply follow the races: `mark R3 R4 suppressed`.
fn split(args: &Args) -> anyhow::Result<(Vec<String>, Option<Mark>)> {
    let mut races = args.races.clone();
    let mut mark = args.r#as;
    if let Some(last) = races.last().filter(|_| mark.is_none() && races.len() > 1)
        && let Ok(word) = last.parse::<Mark>()
    {
        mark = Some(word);
        races.pop();
    }
    if args.undo && mark.is_some() {
        bail!("--undo takes the last change back and goes with no mark");
    }
    Ok((races, mark))
}

/// Git's user name, else the login name.
pub fn who() -> String {
    let git = Command::new("git").args(["config", "user.name"]).output().ok();
    git.filter(|output| output.status.success())
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .or_else(|| std::env::var("USER").ok())
        .unwrap_or_else(|| "someone".to_owned())
}
