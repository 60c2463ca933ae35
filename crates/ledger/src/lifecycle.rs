//! How a race's state moves: pure functions, so that every rule has its own test.
//!
//! ```text
//!              seen (stronger evidence raises the proof)
//!              ┌──┐
//!   new ──▶  open ──▶ likely-false   enough orders tried, nothing proved
//!            ▲ ▲ ▲──▶ suppressed     a person, with a reason
//!            │ │ └──▶ fixed          gone from a check of a newer capture that saw it before
//!            │ └────▶ obsolete       missed so often that chance does not explain it
//!            └─ regression: a fixed or obsolete race seen in a capture that is not older
//! ```
//!
//! Two things are kept apart: the *proof* (how far engines came) only ever rises, by evidence; the
//! *status* says whether anyone should look. The verdict that reports show follows from both. A
//! person can set a race aside but cannot prove one: their word is the assessment.

use racewarden_finding::{Engine, Evidence, Race, Verdict};
use serde::{Deserialize, Serialize};

/// Whether a race wants attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    Open,
    LikelyFalse,
    Suppressed,
    Fixed,
    Obsolete,
}

impl Status {
    pub const ALL: [Status; 5] =
        [Status::Open, Status::LikelyFalse, Status::Suppressed, Status::Fixed, Status::Obsolete];

    pub fn as_str(self) -> &'static str {
        match self {
            Status::Open => "open",
            Status::LikelyFalse => "likely-false",
            Status::Suppressed => "suppressed",
            Status::Fixed => "fixed",
            Status::Obsolete => "obsolete",
        }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Status {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Status::ALL
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| format!("`{text}` is not a status"))
    }
}

/// What a person thinks of a race; it proves nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Assessment {
    #[default]
    None,
    Benign,
    Harmful,
}

impl Assessment {
    pub fn as_str(self) -> &'static str {
        match self {
            Assessment::None => "",
            Assessment::Benign => "benign",
            Assessment::Harmful => "harmful",
        }
    }

    pub(crate) fn from_column(text: &str) -> Assessment {
        match text {
            "benign" => Assessment::Benign,
            "harmful" => Assessment::Harmful,
            _ => Assessment::None,
        }
    }
}

/// Everything about a race that can move, and be moved back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Between `potential` and `harmful`.
    pub proof: Verdict,
    pub status: Status,
    /// It had been fixed or obsolete and came back.
    pub regression: bool,
    pub assessment: Assessment,
    pub assignee: String,
    /// The capture from which it was gone.
    #[serde(default)]
    pub fixed_in: Option<i64>,
}

impl State {
    pub fn new(proof: Verdict) -> State {
        State {
            proof,
            status: Status::Open,
            regression: false,
            assessment: Assessment::None,
            assignee: String::new(),
            fixed_in: None,
        }
    }

    /// The one word that reports show. An obsolete race counts as fixed there: it is gone, and
    /// the history says how that is known.
    pub fn verdict(&self) -> Verdict {
        match self.status {
            Status::Open => self.proof,
            Status::LikelyFalse => Verdict::LikelyFalse,
            Status::Suppressed => Verdict::Suppressed,
            Status::Fixed | Status::Obsolete => Verdict::Fixed,
        }
    }
}

/// What happened to a race.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// An engine reported it. `older_than_fix`: from a capture that was known before the one in
    /// which the race is gone, so that the sighting says nothing about the fix.
    Seen { verdict: Verdict, older_than_fix: bool },
    /// A complete check of `capture` no longer finds what a check of another capture had found.
    Gone { capture: i64 },
    /// So many runs missed it that chance does not explain it ([`misses_needed`]).
    Missed { capture: Option<i64> },
    /// A person said so.
    Marked(Mark),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Open,
    Suppressed,
    Benign,
    Harmful,
    LikelyFalse,
    Fixed,
}

impl Mark {
    pub const ALL: [Mark; 6] =
        [Mark::Open, Mark::Suppressed, Mark::Benign, Mark::Harmful, Mark::LikelyFalse, Mark::Fixed];

    pub fn as_str(self) -> &'static str {
        match self {
            Mark::Open => "open",
            Mark::Suppressed => "suppressed",
            Mark::Benign => "benign",
            Mark::Harmful => "harmful",
            Mark::LikelyFalse => "likely-false",
            Mark::Fixed => "fixed",
        }
    }
}

impl std::str::FromStr for Mark {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Mark::ALL.into_iter().find(|mark| mark.as_str() == text).ok_or_else(|| {
            let names = Mark::ALL.map(Mark::as_str).join(", ");
            format!("`{text}` is not a mark; use one of {names}")
        })
    }
}

/// Why a mark was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("a mark needs a reason that others can read")]
    NoReason,
    #[error("the race was {0}, which is proof: it can be suppressed or fixed, but is not false")]
    Proved(Verdict),
    #[error("nothing to undo")]
    NothingToUndo,
}

/// The state after `event`; the same state when the event changes nothing.
pub fn apply(state: &State, event: &Event) -> Result<State, Refusal> {
    let mut next = state.clone();
    match event {
        Event::Seen { verdict, older_than_fix } => seen(&mut next, *verdict, *older_than_fix),
        Event::Gone { capture } => {
            next.status = Status::Fixed;
            next.regression = false;
            next.fixed_in = Some(*capture);
        }
        Event::Missed { capture } => {
            if state.status == Status::Open || state.status == Status::LikelyFalse {
                next.status = Status::Obsolete;
                next.regression = false;
                next.fixed_in = *capture;
            }
        }
        Event::Marked(mark) => marked(&mut next, *mark)?,
    }
    Ok(next)
}

fn seen(state: &mut State, verdict: Verdict, older_than_fix: bool) {
    let was = state.proof;
    if verdict > state.proof {
        state.proof = verdict;
    }
    match state.status {
        Status::Open if verdict == Verdict::LikelyFalse && !was.is_proof() => {
            state.status = Status::LikelyFalse;
        }
        Status::LikelyFalse if verdict.is_proof() => state.status = Status::Open,
        // Whoever set it aside did not know that it does harm.
        Status::Suppressed if verdict == Verdict::Harmful && was < Verdict::Harmful => {
            state.status = Status::Open;
        }
        Status::Fixed | Status::Obsolete
            if !older_than_fix && verdict != Verdict::LikelyFalse && verdict.is_open() =>
        {
            state.status = Status::Open;
            state.regression = true;
        }
        _ => {}
    }
}

fn marked(state: &mut State, mark: Mark) -> Result<(), Refusal> {
    match mark {
        Mark::Open => {
            state.status = Status::Open;
            state.fixed_in = None;
        }
        Mark::Suppressed => state.status = Status::Suppressed,
        Mark::Benign => {
            state.status = Status::Suppressed;
            state.assessment = Assessment::Benign;
        }
        Mark::Harmful => {
            state.status = Status::Open;
            state.assessment = Assessment::Harmful;
        }
        Mark::LikelyFalse if state.proof.is_proof() => return Err(Refusal::Proved(state.proof)),
        Mark::LikelyFalse => state.status = Status::LikelyFalse,
        Mark::Fixed => state.status = Status::Fixed,
    }
    Ok(())
}

/// The verdict that a report's evidence carries: what it claims, lowered to what it shows.
///
/// `suppressed` and `fixed` are the ledger's own words, so a report that says them counts as a
/// sighting of whatever its evidence shows.
pub fn justified(race: &Race) -> Verdict {
    let by = |engines: &[Engine]| race.evidence.iter().any(|e| engines.contains(&e.engine));
    let said = |key: &str| race.evidence.iter().any(|evidence| is_set(evidence, key));
    let tried = by(&[Engine::Confirm, Engine::Hive]);
    let watched = tried || by(&[Engine::Run]);
    let shows = |verdict: Verdict| match verdict {
        Verdict::Harmful => watched && (tried || said("harm") || said("orders")),
        Verdict::Confirmed => tried || said("simultaneous") || said("replayed"),
        Verdict::Observed => watched,
        Verdict::Predicted => by(&[Engine::Predict]),
        _ => true,
    };
    if race.verdict == Verdict::LikelyFalse {
        return Verdict::LikelyFalse;
    }
    let claimed = if race.verdict.is_open() { race.verdict } else { Verdict::Observed };
    [Verdict::Harmful, Verdict::Confirmed, Verdict::Observed, Verdict::Predicted]
        .into_iter()
        .find(|verdict| *verdict <= claimed && shows(*verdict))
        .unwrap_or(Verdict::Potential)
}

fn is_set(evidence: &Evidence, key: &str) -> bool {
    match evidence.detail.get(key) {
        None | Some(serde_json::Value::Null | serde_json::Value::Bool(false)) => false,
        Some(serde_json::Value::String(text)) => !text.is_empty(),
        Some(serde_json::Value::Array(list)) => !list.is_empty(),
        Some(_) => true,
    }
}

/// How many runs in a row must miss a race, which `seen` of `runs` runs had shown, until the
/// chance that it is still there and was missed is under one in a hundred.
///
/// The frequency is estimated with Laplace's rule of succession, so that a race seen in the only
/// run there was does not vanish after two.
pub fn misses_needed(seen: u64, runs: u64) -> u64 {
    let frequency = (seen.min(runs) as f64 + 1.0) / (runs as f64 + 2.0);
    let misses = (0.01_f64).ln() / (1.0 - frequency).ln();
    (misses.ceil() as u64).max(3)
}

#[cfg(test)]
mod tests;
