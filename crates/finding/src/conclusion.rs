//! The one-word result of a command.

use serde::{Deserialize, Serialize};

use crate::{Note, NoteKind, Race};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conclusion {
    /// There is proof of a race.
    Racy,
    /// Every pair was excluded and nothing weakens that.
    RaceFree,
    /// Neither was shown.
    Unknown,
}

impl std::fmt::Display for Conclusion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Conclusion::Racy => "racy",
            Conclusion::RaceFree => "race-free",
            Conclusion::Unknown => "unknown",
        })
    }
}

/// `covers_all_runs` says whether the engine that ran speaks about every execution: only the
/// static engine does. A watched run without a race proves nothing about other runs.
///
/// A suppressed race still exists, so it keeps a program from being race-free.
pub fn conclude(races: &[Race], notes: &[Note], covers_all_runs: bool) -> Conclusion {
    if races.iter().any(|race| race.verdict.is_proof()) {
        Conclusion::Racy
    } else if covers_all_runs
        && races.is_empty()
        && !notes.iter().any(|note| note.kind == NoteKind::Weakens)
    {
        Conclusion::RaceFree
    } else {
        Conclusion::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AccessKind, Engine, Site, Verdict};

    fn race(verdict: Verdict) -> Race {
        let site = |line| Site {
            file: "a.c".into(),
            line,
            column: 1,
            function: "f".into(),
            access: AccessKind::Write,
            lvalue: "x".into(),
            atomic: false,
            locks: vec![],
            thread: "main".into(),
            stack: Default::default(),
        };
        Race::new(site(2), site(1), "x", verdict)
    }

    #[test]
    fn only_proof_makes_racy() {
        assert_eq!(conclude(&[race(Verdict::Observed)], &[], false), Conclusion::Racy);
        assert_eq!(conclude(&[race(Verdict::Predicted)], &[], true), Conclusion::Unknown);
        assert_eq!(conclude(&[race(Verdict::Potential)], &[], true), Conclusion::Unknown);
    }

    #[test]
    fn race_free_needs_full_coverage_and_no_weakening_note() {
        assert_eq!(conclude(&[], &[], true), Conclusion::RaceFree);
        assert_eq!(conclude(&[], &[], false), Conclusion::Unknown);
        let weak = Note::weakens(Engine::Check, "inline assembly in f");
        assert_eq!(conclude(&[], &[weak], true), Conclusion::Unknown);
        let info = Note::info(Engine::Check, "12 functions");
        assert_eq!(conclude(&[], &[info], true), Conclusion::RaceFree);
        assert_eq!(conclude(&[race(Verdict::Suppressed)], &[], true), Conclusion::Unknown);
    }

    #[test]
    fn sites_are_in_stable_order() {
        let r = race(Verdict::Potential);
        assert_eq!((r.sites[0].line, r.sites[1].line), (1, 2));
    }
}
