//! What `check` proves safe need not be watched.
//!
//! The static engine's answer is used only where it stands on its own: when nothing weakened it,
//! every race of the program is between two of its candidates, so an access on a line without a
//! candidate has none. A pair that was excluded because of a lock is another matter. The detector
//! learns from accesses under a lock which critical section came before which, and would raise
//! false alarms elsewhere without them; then everything is watched.
//!
//! Large programs are not checked first: it takes longer than it saves, and some unmodelled
//! function always weakens the answer there.

use std::path::Path;

use racewarden_capture::Capture;
use racewarden_finding::{NoteKind, Report};
use racewarden_instrument::Lines;

use crate::commands::check::check_capture;

/// Bytes of bitcode up to which a program is checked first.
const SMALL: u64 = 300_000;

/// Why pairs are excluded that need no lock: the structure of threads and of sharing.
const STRUCTURAL: &[&str] = &["order", "ownership", "argument", "thread-local", "atomic"];

/// The lines that may race, when it is known that no other does.
pub fn watched_lines(capture: &Capture) -> Option<Lines> {
    let size = |path: &Path| path.metadata().map_or(u64::MAX, |metadata| metadata.len());
    let total = capture.units.iter().fold(0, |sum, unit| size(&unit.bitcode).saturating_add(sum));
    if total > SMALL || capture.notes.iter().any(|note| note.incomplete) {
        return None;
    }
    lines_of(&check_capture(capture).ok()?)
}

fn lines_of(report: &Report) -> Option<Lines> {
    let weakened = report.notes.iter().any(|note| note.kind == NoteKind::Weakens);
    let by_lock = report.excluded.keys().any(|reason| !STRUCTURAL.contains(&reason.as_str()));
    if weakened || by_lock {
        return None;
    }
    let name = |file: &str| {
        let name = Path::new(file).file_name();
        name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    };
    let mut lines = Lines::new();
    for site in report.races.iter().flat_map(|race| &race.sites) {
        lines.insert((name(&site.file), site.line));
        lines.extend(site.stack.iter().map(|frame| (name(&frame.file), frame.line)));
    }
    Some(lines)
}

#[cfg(test)]
mod tests {
    use racewarden_finding::{Engine, Note};

    use super::*;

    #[test]
    fn only_an_answer_that_stands_on_its_own_is_used() {
        let mut report = Report::default();
        report.excluded.insert("order".to_owned(), 3);
        report.notes.push(Note::info(Engine::Check, "nothing of importance"));
        assert_eq!(lines_of(&report), Some(Lines::new()));
        report.excluded.insert("lock".to_owned(), 1);
        assert_eq!(lines_of(&report), None);
        report.excluded.remove("lock");
        report.notes.push(Note::weakens(Engine::Check, "an unresolved call"));
        assert_eq!(lines_of(&report), None);
    }
}
