//! Which races of a report are shown: path filters, suppressions and a baseline.
//!
//! A suppression file has one entry per line: a fingerprint, `file` or `file:line` (either
//! access), or `object NAME`; `#` starts a comment. In the code, a comment that contains
//! `racewarden: ignore` on the line of either access does the same; what follows is the reason.

use std::collections::{BTreeMap, BTreeSet};
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
        report.races.retain(|race| self.shows(race));
        let hidden = before - report.races.len();
        if hidden > 0 {
            let text = format!("{hidden} candidates are not shown; --all shows them");
            report.notes.push(Note::info(Engine::Check, text));
        }
        Ok(())
    }

    fn shows(&self, race: &Race) -> bool {
        let any = |list: &[String]| {
            race.sites.iter().any(|site| list.iter().any(|path| below(&site.file, path)))
        };
        if !self.only.is_empty() && !any(self.only) || any(self.skip) {
            return false;
        }
        let system = race.sites.iter().all(|site| is_system(&site.file));
        self.all || (!system && race.rank >= LOW_RANK)
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
    files: BTreeMap<String, BTreeMap<u32, String>>,
}

const MARK: &str = "racewarden: ignore";

impl Comments {
    fn reason(&mut self, site: &Site) -> Option<String> {
        let marks = self.files.entry(site.file.clone()).or_insert_with(|| marks(&site.file));
        marks.get(&site.line).cloned()
    }
}

fn marks(file: &str) -> BTreeMap<u32, String> {
    let Ok(bytes) = std::fs::read(file) else { return BTreeMap::new() };
    let text = String::from_utf8_lossy(&bytes);
    let mut found = BTreeMap::new();
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
    use super::*;

    #[test]
    fn entries_skip_comments_and_blank_lines() {
        assert_eq!(entries("# head\n\n a.c:3 # why\nobject total\n"), ["a.c:3", "object total"]);
    }

    #[test]
    fn paths_match_by_whole_components() {
        assert!(below("src/net/a.c", "src/net"));
        assert!(below("/home/me/src/net/a.c", "src/net"));
        assert!(!below("src/network/a.c", "src/net"));
    }
}
