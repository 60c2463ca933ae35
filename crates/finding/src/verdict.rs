//! How far the proof of a race has come.
//!
//! ```text
//!   potential ──▶ observed ──┐
//!        └──────▶ predicted ─┴─▶ confirmed ──▶ harmful
//!   aside: likely-false, suppressed, fixed
//! ```
//! A verdict moves only with evidence; the asides never count as races.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Enough orders were tried without success to doubt it; the evidence says which.
    LikelyFalse,
    /// Gone from a later capture.
    Fixed,
    /// Set aside by a person, with a reason.
    Suppressed,
    /// No analysis could exclude it, and none has proved it.
    Potential,
    /// The solver has a feasible schedule that has not been replayed.
    Predicted,
    /// A run saw both accesses unordered by full happens-before.
    Observed,
    /// Both orders were enforced, or both threads were caught at their accesses at one instant.
    Confirmed,
    /// One of its orders crashes, hangs or fails an assertion.
    Harmful,
}

impl Verdict {
    /// Every verdict, the weakest first.
    pub const ALL: [Verdict; 8] = [
        Verdict::LikelyFalse,
        Verdict::Fixed,
        Verdict::Suppressed,
        Verdict::Potential,
        Verdict::Predicted,
        Verdict::Observed,
        Verdict::Confirmed,
        Verdict::Harmful,
    ];

    /// Whether this verdict alone proves that the race exists.
    ///
    /// `Predicted` is absent on purpose: a prediction proves a race only once its witness has
    /// been replayed, and then the verdict is `Confirmed`.
    pub fn is_proof(self) -> bool {
        matches!(self, Verdict::Observed | Verdict::Confirmed | Verdict::Harmful)
    }

    /// Whether a person should still look at the race.
    pub fn is_open(self) -> bool {
        self >= Verdict::Potential
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::LikelyFalse => "likely-false",
            Verdict::Fixed => "fixed",
            Verdict::Suppressed => "suppressed",
            Verdict::Potential => "potential",
            Verdict::Predicted => "predicted",
            Verdict::Observed => "observed",
            Verdict::Confirmed => "confirmed",
            Verdict::Harmful => "harmful",
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Verdict {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Verdict::ALL
            .into_iter()
            .find(|verdict| verdict.as_str() == text)
            .ok_or_else(|| format!("`{text}` is not a verdict"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_round_trips_and_equals_the_json_form() {
        for name in [
            "likely-false",
            "fixed",
            "suppressed",
            "potential",
            "predicted",
            "observed",
            "confirmed",
            "harmful",
        ] {
            let verdict: Verdict = name.parse().unwrap();
            assert_eq!(verdict.to_string(), name);
            assert_eq!(serde_json::to_string(&verdict).unwrap(), format!("\"{name}\""));
        }
        assert!("racy".parse::<Verdict>().is_err());
    }

    #[test]
    fn a_prediction_is_no_proof() {
        assert!(!Verdict::Predicted.is_proof());
        assert!(!Verdict::Potential.is_proof());
        assert!(Verdict::Observed.is_proof());
    }
}
