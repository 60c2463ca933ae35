//! What a pod tells its hive.

use racewarden_finding::Frame;
use serde::{Deserialize, Serialize};

/// Why a wanted order did not come about. None of these means that the race is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotEnforced {
    /// Neither access was reached.
    NeverMet,
    OneSideOnly,
    TimedOut,
    DifferentAddresses,
    /// Synchronisation that orders the two accesses was seen.
    Ordered,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ViolationKind {
    Crash,
    Hang,
    Assertion,
    /// The user said so when asked.
    User,
}

/// The program broke its specification while an order was enforced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Violation {
    pub kind: ViolationKind,
    /// The signal's name, or the assertion's text without values.
    pub what: String,
    pub stack: Vec<Frame>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Outcome {
    /// The wanted order happened on one address.
    Enforced {
        /// Hash of both call stacks: both orders must be seen in one context.
        context: String,
        /// Both threads stood at their accesses at one instant.
        same_instant: bool,
    },
    NotEnforced {
        reason: NotEnforced,
    },
    Violation {
        context: String,
        violation: Violation,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PodReport {
    /// Made by the pod, unique for it; sending a report again changes nothing.
    pub id: String,
    /// From the assignment.
    pub ticket: String,
    pub outcome: Outcome,
    /// Gates executed in this run.
    #[serde(default)]
    pub executed_gates: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportBatch {
    pub reports: Vec<PodReport>,
    /// Reports the pod had to drop since its last batch (spool full or too old).
    #[serde(default)]
    pub dropped: u64,
}

/// Sent only after everything accepted is on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportReceipt {
    pub accepted: u32,
    pub duplicates: u32,
    /// Ids of refused reports with the reason.
    pub refused: Vec<(String, String)>,
}
