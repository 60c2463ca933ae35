//! What not to report, in TSan's format.
//!
//! Lines `race:pattern`, `race_top:pattern`, `called_from_lib:pattern` (matched against the stacks'
//! files) and, for objects, `race:global`; `*` stands for anything, `^` and `$` for the ends. They
//! come from `--suppressions`, from `suppressions=FILE` in `RACEWARDEN_OPTIONS` or `TSAN_OPTIONS`,
//! and from the program's own `__tsan_default_suppressions` and `__tsan_default_options`.

use std::path::Path;

use anyhow::Context as _;
use racewarden_finding::Race;

use super::records::RunFile;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Any frame of either stack, or the object.
    Anywhere,
    /// The innermost frame of either access.
    Top,
}

#[derive(Debug, Default)]
pub struct Suppressions {
    patterns: Vec<(Scope, String)>,
}

impl Suppressions {
    /// What the environment names.
    pub fn of_environment() -> anyhow::Result<Self> {
        let mut list = Suppressions::default();
        for name in ["TSAN_OPTIONS", "RACEWARDEN_OPTIONS"] {
            list.add_options(&std::env::var(name).unwrap_or_default())?;
        }
        Ok(list)
    }

    pub fn add_file(&mut self, path: &Path) -> anyhow::Result<()> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        self.add_text(&text);
        Ok(())
    }

    /// What the program brings along.
    pub fn add_program(&mut self, file: &RunFile) -> anyhow::Result<()> {
        for line in &file.suppressions {
            self.add_text(line);
        }
        for line in &file.options {
            self.add_options(line)?;
        }
        Ok(())
    }

    fn add_options(&mut self, options: &str) -> anyhow::Result<()> {
        let separators = |letter: char| letter.is_whitespace() || matches!(letter, ':' | ',');
        for option in options.split(separators) {
            if let Some(path) = option.strip_prefix("suppressions=") {
                self.add_file(Path::new(path.trim_matches(['"', '\''])))?;
            }
        }
        Ok(())
    }

    fn add_text(&mut self, text: &str) {
        let kinds = [
            ("race:", Scope::Anywhere),
            ("race_top:", Scope::Top),
            ("called_from_lib:", Scope::Anywhere),
        ];
        for line in text.lines().map(str::trim) {
            for (kind, scope) in kinds {
                if let Some(pattern) = line.strip_prefix(kind) {
                    let entry = (scope, pattern.trim().to_owned());
                    if !self.patterns.contains(&entry) {
                        self.patterns.push(entry);
                    }
                }
            }
        }
    }

    /// The pattern that the race falls under.
    pub fn matching(&self, race: &Race) -> Option<&str> {
        let hit = |(scope, pattern): &&(Scope, String)| {
            let frame =
                |function: &str, file: &str| wildcard(pattern, function) || wildcard(pattern, file);
            race.sites.iter().any(|site| {
                let outer = site.stack.iter().enumerate();
                frame(&site.function, &site.file)
                    || outer
                        .filter(|(depth, _)| *scope == Scope::Anywhere || *depth == 0)
                        .any(|(_, inner)| frame(&inner.function, &inner.file))
            }) || *scope == Scope::Anywhere && wildcard(pattern, &race.object)
        };
        self.patterns.iter().find(hit).map(|(_, pattern)| pattern.as_str())
    }
}

/// Whether `text` contains the pattern; `*` stands for anything, `^` and `$` for the ends.
fn wildcard(pattern: &str, text: &str) -> bool {
    let (pattern, at_start) = match pattern.strip_prefix('^') {
        Some(rest) => (rest, true),
        None => (pattern, false),
    };
    let (pattern, at_end) = match pattern.strip_suffix('$') {
        Some(rest) => (rest, true),
        None => (pattern, false),
    };
    if text.is_empty() || pattern.is_empty() {
        return false;
    }
    let mut rest = text;
    for (index, part) in pattern.split('*').enumerate() {
        let found = if index == 0 && at_start {
            rest.starts_with(part).then_some(0)
        } else {
            rest.find(part)
        };
        match found {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    !at_end || rest.is_empty() || pattern.ends_with('*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suppressions_match_as_tsan_does() {
        assert!(wildcard("worker", "my_worker_loop"));
        assert!(wildcard("work*loop", "my_worker_loop"));
        assert!(!wildcard("^worker", "my_worker"));
        assert!(wildcard("^my_*$", "my_worker"));
        assert!(!wildcard("other", "my_worker"));
        assert!(!wildcard("", "x"));
        let mut list = Suppressions::default();
        list.add_text("# comment\nrace:foo\ndeadlock:bar\n race_top:baz*\n");
        let expected = [(Scope::Anywhere, "foo".to_owned()), (Scope::Top, "baz*".to_owned())];
        assert_eq!(list.patterns, expected);
    }
}
