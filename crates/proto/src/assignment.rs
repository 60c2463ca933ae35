//! What a hive asks of a pod.

use serde::{Deserialize, Serialize};

/// Which of the two accesses comes first. The primary order is the order in which the candidate
/// lists its sites.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    Primary,
    Alternate,
}

impl Order {
    pub const BOTH: [Order; 2] = [Order::Primary, Order::Alternate];

    pub fn other(self) -> Order {
        match self {
            Order::Primary => Order::Alternate,
            Order::Alternate => Order::Primary,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Order::Primary => "primary",
            Order::Alternate => "alternate",
        }
    }

    pub fn parse(text: &str) -> Option<Order> {
        Order::BOTH.into_iter().find(|order| order.as_str() == text)
    }
}

/// The gates of a candidate's two sites, as numbers in the artefact's gate table. One place in
/// the source may have several gates: templates, inline functions in several units.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateTarget {
    pub first: Vec<u32>,
    pub second: Vec<u32>,
}

impl GateTarget {
    pub fn gates(&self) -> impl Iterator<Item = u32> + '_ {
        self.first.iter().chain(&self.second).copied()
    }

    /// Whether a program that passes `executed` can meet the candidate.
    pub fn is_met_by(&self, executed: &std::collections::BTreeSet<u32>) -> bool {
        let any = |side: &[u32]| side.iter().any(|gate| executed.contains(gate));
        any(&self.first) && any(&self.second)
    }
}

/// A pod asks for work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AssignmentRequest {
    /// The build the pod has.
    pub build: String,
    /// Gates that this pod's program really executed so far, so that it is asked about races it
    /// can meet. Sorted, without repeats.
    #[serde(default)]
    pub executed_gates: Vec<u32>,
}

/// One race to try in one order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// Opaque to the pod and returned with the report; the hive recognises its own by it.
    pub ticket: String,
    /// Index of the candidate in the build.
    pub candidate: u32,
    pub target: GateTarget,
    pub order: Order,
    /// How long the early thread waits for the other.
    pub wait_ms: u32,
}

/// An order that is known to do harm and is to be kept from happening until the fix is out.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AvoidedOrder {
    pub target: GateTarget,
    pub order: Order,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssignmentReply {
    /// `None`: nothing to do now, run plainly.
    pub assignment: Option<Assignment>,
    /// Orders to steer away from; empty unless the project turned immunity on.
    #[serde(default)]
    pub avoid: Vec<AvoidedOrder>,
    /// Ask again no sooner than this.
    pub next_poll_seconds: u32,
}
