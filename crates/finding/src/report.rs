//! A race with its evidence, and the report that one command writes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Conclusion, Fingerprint, Site, Verdict};

/// The version of the JSON form.
pub const SCHEMA: &str = "racewarden/report/1";

/// Who found something out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    Capture,
    Check,
    Run,
    Predict,
    Confirm,
    Hive,
    Person,
}

impl std::str::FromStr for Engine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Engine::ALL
            .into_iter()
            .find(|engine| engine.as_str() == text)
            .ok_or_else(|| format!("`{text}` is not an engine"))
    }
}

impl Engine {
    pub const ALL: [Engine; 7] = [
        Engine::Capture,
        Engine::Check,
        Engine::Run,
        Engine::Predict,
        Engine::Confirm,
        Engine::Hive,
        Engine::Person,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Engine::Capture => "capture",
            Engine::Check => "check",
            Engine::Run => "run",
            Engine::Predict => "predict",
            Engine::Confirm => "confirm",
            Engine::Hive => "hive",
            Engine::Person => "person",
        }
    }
}

/// What one engine knows about a race.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    pub engine: Engine,
    /// Free per engine; documented in docs/report-format.md.
    #[serde(default)]
    pub detail: BTreeMap<String, serde_json::Value>,
}

impl Evidence {
    pub fn new(engine: Engine) -> Self {
        Evidence { engine, detail: BTreeMap::new() }
    }

    /// Adds one detail; the known keys are listed in docs/report-format.md.
    pub fn with(mut self, key: &str, value: impl Into<serde_json::Value>) -> Self {
        self.detail.insert(key.to_owned(), value.into());
        self
    }

    /// A detail that is a string.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.detail.get(key).and_then(serde_json::Value::as_str)
    }
}

/// An unordered pair of accesses to one object, not both reads, that nothing orders.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Race {
    /// Short name within one report or ledger: `R1`.
    pub id: String,
    pub fingerprint: Fingerprint,
    pub verdict: Verdict,
    /// 0 to 100; the higher, the more likely real and worth a look.
    pub rank: u32,
    /// The object both sites access (`accounts`, `struct conn.state`).
    pub object: String,
    /// The two sites, in a stable order.
    pub sites: [Site; 2],
    pub evidence: Vec<Evidence>,
    /// Why nothing excluded it, and what raised or lowered its rank.
    pub reasons: Vec<String>,
}

impl Race {
    /// A race with its sites in stable order and its fingerprint made; the id comes later, from
    /// the report or the ledger that takes it in.
    pub fn new(a: Site, b: Site, object: impl Into<String>, verdict: Verdict) -> Self {
        let object = object.into();
        let fingerprint = Fingerprint::of(&a, &b, &object);
        let sites = if b.key() < a.key() { [b, a] } else { [a, b] };
        Race {
            id: String::new(),
            fingerprint,
            verdict,
            rank: 50,
            object,
            sites,
            evidence: Vec::new(),
            reasons: Vec::new(),
        }
    }

    /// The schedule that replays the race, in its printed form: the one of the strongest engine.
    pub fn schedule(&self) -> Option<&str> {
        self.evidence
            .iter()
            .filter_map(|evidence| Some((evidence.engine, evidence.text("schedule")?)))
            .max_by_key(|(engine, _)| *engine)
            .map(|(_, schedule)| schedule)
    }
}

/// Whether a note weakens what the engine concludes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoteKind {
    /// The result may miss races because of this: no `race-free` with such a note.
    Weakens,
    /// Good to know.
    Info,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Note {
    pub engine: Engine,
    pub kind: NoteKind,
    pub text: String,
}

impl Note {
    pub fn weakens(engine: Engine, text: impl Into<String>) -> Self {
        Note { engine, kind: NoteKind::Weakens, text: text.into() }
    }

    pub fn info(engine: Engine, text: impl Into<String>) -> Self {
        Note { engine, kind: NoteKind::Info, text: text.into() }
    }
}

/// The result of one command, as every format shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub schema: String,
    pub conclusion: Conclusion,
    pub races: Vec<Race>,
    /// How many pairs were excluded, by reason.
    pub excluded: BTreeMap<String, u64>,
    pub notes: Vec<Note>,
    pub stats: BTreeMap<String, serde_json::Value>,
}

impl Default for Report {
    fn default() -> Self {
        Report {
            schema: SCHEMA.to_owned(),
            conclusion: Conclusion::Unknown,
            races: Vec::new(),
            excluded: BTreeMap::new(),
            notes: Vec::new(),
            stats: BTreeMap::new(),
        }
    }
}

impl Report {
    /// Sorts races (strongest verdict, then rank, then place), names those that have no id yet
    /// `R1…`, and sorts and deduplicates notes, so that the output never depends on the order of
    /// the work.
    pub fn finish(&mut self) {
        self.races.sort_by(|a, b| {
            (b.verdict, b.rank)
                .cmp(&(a.verdict, a.rank))
                .then_with(|| a.sites[0].key().cmp(&b.sites[0].key()))
                .then_with(|| a.sites[1].key().cmp(&b.sites[1].key()))
                .then_with(|| a.fingerprint.cmp(&b.fingerprint))
        });
        for (index, race) in self.races.iter_mut().enumerate() {
            if race.id.is_empty() {
                race.id = format!("R{}", index + 1);
            }
        }
        self.notes.sort();
        self.notes.dedup();
    }

    /// How many races have each verdict, the strongest first; verdicts without a race are absent.
    pub fn verdict_counts(&self) -> Vec<(Verdict, usize)> {
        let mut counts: BTreeMap<Verdict, usize> = BTreeMap::new();
        for race in &self.races {
            *counts.entry(race.verdict).or_default() += 1;
        }
        counts.into_iter().rev().collect()
    }

    /// Whether any race is still open: what exit status 1 stands for.
    pub fn has_open_races(&self) -> bool {
        self.races.iter().any(|race| race.verdict.is_open())
    }
}
