//! Gated builds and their candidates.

use racewarden_finding::Race;
use serde::{Deserialize, Serialize};

use crate::GateTarget;

/// A race that the fleet is to judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    pub target: GateTarget,
    pub race: Race,
}

/// A developer announces a build; the artefact's bytes follow in a second request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuildUpload {
    /// Chosen by the developer: a version or commit.
    pub name: String,
    pub sha256: String,
    pub size: u64,
    /// How many gates the artefact has; a gate number at or past it is refused.
    pub gates: u32,
    pub candidates: Vec<Candidate>,
}

/// What a pod needs to fetch and trust an artefact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildInfo {
    pub project: String,
    pub name: String,
    pub sha256: String,
    pub size: u64,
    /// Ed25519 over [`artefact_message`], hex.
    pub signature: String,
}

/// The bytes that the hive signs: they bind the artefact to its project and build, so that an
/// old or foreign artefact cannot be passed off as this one.
pub fn artefact_message(project: &str, build: &str, sha256: &str) -> Vec<u8> {
    format!("racewarden artefact v1\n{project}\n{build}\n{sha256}\n").into_bytes()
}
