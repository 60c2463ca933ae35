//! What goes into the ledger and what comes out.

use std::collections::BTreeMap;

use racewarden_finding::{Engine, Evidence, Race, Verdict};
use serde::{Deserialize, Serialize};

use crate::{State, Status};

/// One compiled source of a capture.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UnitInfo {
    pub source: String,
    pub hash: String,
}

/// Which version of the program a run looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaptureInfo {
    /// Names the content: equal for equal programs.
    pub hash: String,
    /// What people call it: a revision, a date.
    pub label: String,
    pub units: Vec<UnitInfo>,
}

/// What it takes to run the program again as it was run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Program {
    /// Where the command ran.
    pub directory: String,
    /// The command's inputs: sources, or the name of a captured target.
    pub inputs: Vec<String>,
    pub cflags: String,
    pub arguments: Vec<String>,
    pub stdin: Option<String>,
}

/// The command that a report comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct RunInfo {
    pub engine: Engine,
    /// The command line, for the reader.
    pub command: String,
    pub program: Option<Program>,
    /// The program's name; races are gone or missed only with respect to their own target.
    pub target: String,
    pub capture: Option<CaptureInfo>,
    /// Whether the static engine looked at the whole target, and all it found is in the report.
    /// Only such a run can show that a race is gone.
    pub complete: bool,
    /// Milliseconds since 1970.
    pub at: i64,
}

impl RunInfo {
    pub fn new(engine: Engine, target: impl Into<String>) -> Self {
        RunInfo {
            engine,
            command: String::new(),
            program: None,
            target: target.into(),
            capture: None,
            complete: false,
            at: now(),
        }
    }
}

/// Milliseconds since 1970.
pub fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// A race as the ledger knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// With its ledger id, its current verdict, and the latest evidence of each engine.
    pub race: Race,
    pub state: State,
    pub first_seen: i64,
    pub last_seen: i64,
}

/// A race's name in the ledger, and its verdict there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub id: String,
    pub verdict: Verdict,
}

/// What recording a report did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recorded {
    pub run: i64,
    pub capture: Option<i64>,
    /// How the ledger names the report's races, in its order.
    pub races: Vec<Named>,
    /// Ids of races that the ledger had not known.
    pub new: Vec<String>,
    pub regressions: Vec<String>,
    pub fixed: Vec<String>,
    pub obsolete: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sort {
    /// Strongest proof first, then rank.
    #[default]
    Verdict,
    Rank,
    LastSeen,
    FirstSeen,
    Number,
}

impl Sort {
    pub const ALL: [Sort; 5] =
        [Sort::Verdict, Sort::Rank, Sort::LastSeen, Sort::FirstSeen, Sort::Number];

    pub fn as_str(self) -> &'static str {
        match self {
            Sort::Verdict => "verdict",
            Sort::Rank => "rank",
            Sort::LastSeen => "last-seen",
            Sort::FirstSeen => "first-seen",
            Sort::Number => "number",
        }
    }
}

impl std::str::FromStr for Sort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Sort::ALL
            .into_iter()
            .find(|sort| sort.as_str() == text)
            .ok_or_else(|| format!("`{text}` is not an order"))
    }
}

/// Which races to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Empty for all.
    pub status: Vec<Status>,
    /// Proofs of at least this strength.
    pub at_least: Option<Verdict>,
    /// Exactly these proofs; empty for all.
    pub proof: Vec<Verdict>,
    /// Words that must all occur in the object, files, functions or lvalues.
    pub search: String,
    pub file: String,
    pub assignee: String,
    pub regressions_only: bool,
    pub sort: Sort,
    /// 0 for no limit.
    pub limit: u64,
    pub offset: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    pub entries: Vec<Entry>,
    /// How many races match in all.
    pub total: u64,
}

/// One move in a race's life.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryItem {
    pub id: i64,
    pub at: i64,
    /// An engine's name, or a person's.
    pub actor: String,
    pub action: String,
    pub reason: String,
    pub before: Option<State>,
    pub after: State,
    pub undone: bool,
}

/// An evidence with when and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct EvidenceItem {
    pub at: i64,
    pub run: Option<i64>,
    pub evidence: Evidence,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleItem {
    pub at: i64,
    pub engine: String,
    pub schedule: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditItem {
    pub at: i64,
    pub actor: String,
    pub action: String,
    pub subject: String,
    pub detail: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureItem {
    pub id: i64,
    pub hash: String,
    pub target: String,
    pub label: String,
    pub at: i64,
    pub units: Vec<UnitInfo>,
    pub runs: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunItem {
    pub id: i64,
    pub at: i64,
    pub engine: String,
    pub command: String,
    pub target: String,
    pub capture: Option<i64>,
    pub conclusion: String,
    pub found: u64,
}

/// What changed between two captures of a target.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CaptureDiff {
    pub added: Vec<String>,
    pub removed: Vec<String>,
    pub changed: Vec<String>,
    /// Races seen in the newer capture only, in the older only, and in both.
    pub new: Vec<Entry>,
    pub gone: Vec<Entry>,
    pub kept: Vec<Entry>,
}

/// Races by status word (`open` is split by proof) at a moment.
pub type Counts = BTreeMap<String, u64>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub at: i64,
    pub counts: Counts,
}
