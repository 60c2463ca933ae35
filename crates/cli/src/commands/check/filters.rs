//! Which races of a report are shown: path filters, suppressions and a baseline.
//!
//! A suppression file has one entry per line: a fingerprint, `file` or `file:line` (either
//! access), or `object NAME`; `#` starts a comment. In the code, a comment that contains
//! `racewarden: ignore` on the line of either access does the same; what follows is the reason.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use anyhow::Context;
use racewarden_finding::{Engine, Note, Race, Report, Site, Verdict};

use super::read;

pub struct Filters<'a> {
    pub all: bool,
    pub only: &'a [String],
    pub skip: &'a [String],
    pub baseline: Option<&'a Path>,
    pub suppress: Option<&'a Path>,
}

/// Rank below which a race is shown only with `--all`.
const LOW_RANK: u32 = 25;

/// Races that are shown without `--all`, those that rank highest: a report of a large program is
/// hundreds of megabytes otherwise, which nobody reads.
const MAX_SHOWN: usize = 1_000;

impl Filters<'_> {
    pub fn apply(&self, report: &mut Report) -> anyhow::Result<()> {
        let baseline = match self.baseline {
            Some(path) => fingerprints(path)?,
            None => BTreeSet::new(),
        };
        let entries = match self.suppress {
            Some(path) => entries(&read(path)?),
            None => Vec::new(),
        };
        let mut comments = Comments::default();
        for race in &mut report.races {
            let reason = if baseline.contains(&race.fingerprint.0) {
                Some("in the baseline".to_owned())
            } else if let Some(entry) = entries.iter().find(|entry| matches(entry, race)) {
                Some(format!("suppressed by `{entry}`"))
            } else {
                race.sites.iter().find_map(|site| comments.reason(site))
            };
            if let Some(reason) = reason {
                race.verdict = Verdict::Suppressed;
                race.reasons.push(reason);
            }
        }
        let before = report.races.len();
        report.races.retain(|race| self.wants(race));
        if !self.all {
            Self::select(&mut report.races);
        }
        let hidden = before - report.races.len();
        if hidden > 0 {
            let text = format!("{hidden} candidates are not shown; --all shows them");
            report.notes.push(Note::info(Engine::Check, text));
        }
        Ok(())
    }

    /// What the user's paths leave.
    fn wants(&self, race: &Race) -> bool {
        let any = |list: &[String]| {
            race.sites.iter().any(|site| list.iter().any(|path| below(&site.file, path)))
        };
        (self.only.is_empty() || any(self.only)) && !any(self.skip)
    }

    /// The races, best first, that stand for all: accesses inside system headers by one race for
    /// each pair of lines of the program that led there, low ranks only when nothing ranks higher,
    /// and no more than anyone reads.
    fn select(races: &mut Vec<Race>) {
        let mut order: Vec<usize> = (0..races.len()).collect();
        order.sort_by_key(|index| std::cmp::Reverse(races[*index].rank));
        let mut stood_for = BTreeSet::new();
        let mut kept = BTreeSet::new();
        for index in order {
            let race = &races[index];
            let new = match callers_of_system_code(race) {
                CallersOfSystemCode::None => true,
                CallersOfSystemCode::Lines(lines) => stood_for.insert(lines),
                CallersOfSystemCode::Unknown => false,
            };
            if new && kept.len() < MAX_SHOWN {
                kept.insert(index);
            }
        }
        let high = |race: &Race| race.rank >= LOW_RANK;
        let any_high = kept.iter().any(|index| high(&races[*index]));
        let mut indices = 0..;
        races.retain(|race| {
            let shown = indices.next().is_some_and(|index| kept.contains(&index));
            shown && (high(race) || !any_high)
        });
    }
}

enum CallersOfSystemCode {
    /// An access is in the program's own code.
    None,
    /// Both are in system headers, called from these places.
    Lines(Vec<(String, u32)>),
    /// Both are, and at least one was not called from the program's code.
    Unknown,
}

fn callers_of_system_code(race: &Race) -> CallersOfSystemCode {
    if !race.sites.iter().all(|site| is_system(&site.file)) {
        return CallersOfSystemCode::None;
    }
    let caller = |site: &Site| {
        let frame = site.stack.iter().find(|frame| !is_system(&frame.file))?;
        Some((frame.file.clone(), frame.line))
    };
    match race.sites.iter().map(caller).collect::<Option<Vec<_>>>() {
        Some(mut lines) => {
            lines.sort();
            CallersOfSystemCode::Lines(lines)
        }
        None => CallersOfSystemCode::Unknown,
    }
}

fn below(file: &str, path: &str) -> bool {
    let path = path.trim_end_matches('/');
    file == path
        || file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
        || file.contains(&format!("/{path}/"))
        || file.ends_with(&format!("/{path}"))
}

fn is_system(file: &str) -> bool {
    ["/usr/include/", "/usr/lib/", "/usr/local/include/"].iter().any(|p| file.starts_with(p))
}

fn fingerprints(path: &Path) -> anyhow::Result<BTreeSet<String>> {
    let report: Report = serde_json::from_str(&read(path)?)
        .with_context(|| format!("{}: not a report", path.display()))?;
    Ok(report.races.into_iter().map(|race| race.fingerprint.0).collect())
}

fn entries(text: &str) -> Vec<String> {
    text.lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect()
}

fn matches(entry: &str, race: &Race) -> bool {
    if let Some(object) = entry.strip_prefix("object ") {
        return race.object == object.trim();
    }
    race.fingerprint.0 == entry
        || race.sites.iter().any(|site| {
            let location = site.location();
            location == entry
                || location.ends_with(&format!("/{entry}"))
                || below(&site.file, entry)
        })
}

/// Suppressions in the source, each file read once.
#[derive(Default)]
struct Comments {
    files: HashMap<String, HashMap<u32, String>>,
}

const MARK: &str = "racewarden: ignore";

impl Comments {
    fn reason(&mut self, site: &Site) -> Option<String> {
        if let Some(marks) = self.files.get(&site.file) {
            return marks.get(&site.line).cloned();
        }
        let marks = self.files.entry(site.file.clone()).insert_entry(marks(&site.file));
        marks.get().get(&site.line).cloned()
    }
}

fn marks(file: &str) -> HashMap<u32, String> {
    let Ok(bytes) = std::fs::read(file) else { return HashMap::new() };
    let text = String::from_utf8_lossy(&bytes);
    let mut found = HashMap::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(at) = line.find(MARK) {
            let why = line[at + MARK.len()..].trim_start_matches([':', ' ']).trim_end_matches("*/");
            let why = why.trim();
            let reason = if why.is_empty() { "ignored in the code" } else { why };
            found.insert(index as u32 + 1, format!("set aside in the code: {reason}"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use racewarden_finding::{AccessKind, Frame};

    use super::*;

    #[test]
    fn entries_skip_comments_and_blank_lines() {
        assert_eq!(entries("# head\n\n a.c:3 # why\nobject total\n"), ["a.c:3", "object total"]);
    }

    fn race(file: &str, caller: u32, rank: u32) -> Race {
        let site = |access| Site {
            file: file.to_owned(),
            line: 7,
            column: 1,
            function: "push_back".to_owned(),
            access,
            lvalue: "last".to_owned(),
            atomic: false,
            locks: Vec::new(),
            thread: "main".to_owned(),
            stack: vec![Frame { function: "f".into(), file: "own.cpp".into(), line: caller }]
                .into(),
        };
        let sites = (site(AccessKind::Read), site(AccessKind::Write));
        Race { rank, ..Race::new(sites.0, sites.1, "v", Verdict::Potential) }
    }

    fn selected(mut races: Vec<Race>) -> Vec<u32> {
        Filters::select(&mut races);
        races.iter().map(|race| race.rank).collect()
    }

    #[test]
    fn system_headers_are_represented_by_their_callers() {
        let header = "/usr/include/c++/12/bits/stl_vector.h";
        let races = vec![race(header, 1, 50), race(header, 1, 60), race(header, 2, 40)];
        assert_eq!(selected(races), [60, 40]);
    }

    #[test]
    fn a_low_rank_is_shown_when_nothing_ranks_higher() {
        assert_eq!(selected(vec![race("own.cpp", 1, 5), race("own.cpp", 2, 9)]), [5, 9]);
        assert_eq!(selected(vec![race("own.cpp", 1, 5), race("own.cpp", 2, 90)]), [90]);
    }

    #[test]
    fn of_very_many_those_that_rank_highest_are_shown() {
        let many = (0..2 * MAX_SHOWN as u32).map(|line| race("a.c", line, 30 + line % 2)).collect();
        let shown = selected(many);
        assert_eq!(shown.len(), MAX_SHOWN);
        assert!(shown.iter().all(|rank| *rank == 31), "the others rank higher");
    }

    #[test]
    fn paths_match_by_whole_components() {
        assert!(below("src/net/a.c", "src/net"));
        assert!(below("/home/me/src/net/a.c", "src/net"));
        assert!(!below("src/network/a.c", "src/net"));
    }
}
