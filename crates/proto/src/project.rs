//! Projects, tokens and how pods are steered.

use serde::{Deserialize, Serialize};

/// What a token may do. Each may do what the ones before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Fetch artefacts, ask for work, send reports.
    Pod,
    /// Publish builds, read results.
    Developer,
    /// Projects, tokens, control, audit log.
    Admin,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Pod => "pod",
            Role::Developer => "developer",
            Role::Admin => "admin",
        }
    }

    pub fn parse(text: &str) -> Option<Role> {
        [Role::Pod, Role::Developer, Role::Admin].into_iter().find(|role| role.as_str() == text)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewProject {
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectInfo {
    pub name: String,
    pub control: Control,
    /// Verifies artefacts; pods keep it from their enrolment on. Hex.
    pub public_key: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    pub role: Role,
    #[serde(default)]
    pub note: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenInfo {
    pub id: String,
    pub role: Role,
    pub note: String,
    pub revoked: bool,
    /// Only in the answer that creates the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PodMode {
    Run,
    /// Work for one poll in ten.
    Slow,
    /// The kill switch: every pod runs its program plainly.
    Stop,
}

/// How a project's fleet behaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Control {
    pub pods: PodMode,
    /// Hand out orders to avoid. Off by default.
    pub immunity: bool,
    /// How many pods must agree before a verdict moves.
    pub corroboration: u32,
    pub base_wait_ms: u32,
}

impl Default for Control {
    fn default() -> Self {
        Control { pods: PodMode::Run, immunity: false, corroboration: 2, base_wait_ms: 200 }
    }
}
