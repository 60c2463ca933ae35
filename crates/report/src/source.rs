//! Source lines for reports.
//!
//! Paths in a finding are as the compiler was given them, so they are looked up below a few
//! folders: where the command runs, and where the units were compiled. A file that is not there
//! any more costs a report its source lines and nothing else.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use racewarden_finding::Site;

/// Files larger than this are not quoted: nobody wrote them by hand.
const LARGEST_FILE: u64 = 32 << 20;

/// Where a report takes source lines from.
pub struct Sources {
    roots: Vec<PathBuf>,
    confined: bool,
    files: BTreeMap<String, Option<Vec<String>>>,
}

impl Sources {
    /// Looks relative paths up below each of `roots`, in their order.
    pub fn below(roots: impl IntoIterator<Item = PathBuf>) -> Self {
        Sources { roots: roots.into_iter().collect(), confined: false, files: BTreeMap::new() }
    }

    /// As [`below`](Self::below), for servers: what lies outside the folders, by `..`, by an
    /// absolute path or by a link, is not shown, whatever a finding says.
    pub fn confined_below(roots: impl IntoIterator<Item = PathBuf>) -> Self {
        let roots = roots.into_iter().filter_map(|root| root.canonicalize().ok()).collect();
        Sources { roots, confined: true, files: BTreeMap::new() }
    }

    /// A report without source lines.
    pub fn none() -> Self {
        Sources::below([])
    }

    /// Gives the text of a file, as if it stood on the disk.
    pub fn with_file(mut self, name: &str, text: &str) -> Self {
        self.files.insert(name.to_owned(), Some(text.lines().map(str::to_owned).collect()));
        self
    }

    /// Line `number`, counted from 1.
    pub fn line(&mut self, file: &str, number: u32) -> Option<&str> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.lines(file)?.get(index).map(String::as_str)
    }

    /// The lines around `number`, with their numbers.
    pub fn around(&mut self, file: &str, number: u32, context: u32) -> Vec<(u32, String)> {
        let Some(lines) = self.lines(file) else { return Vec::new() };
        let first = number.saturating_sub(context).max(1);
        let last = number.saturating_add(context);
        (first..=last)
            .filter_map(|line| Some((line, lines.get(line as usize - 1)?.clone())))
            .collect()
    }

    fn read_below(&self, root: &Path, file: &str) -> Option<Vec<String>> {
        let path = root.join(file);
        if !self.confined {
            return read(&path);
        }
        let path = path.canonicalize().ok()?;
        self.roots.iter().any(|root| path.starts_with(root)).then(|| read(&path))?
    }

    fn lines(&mut self, file: &str) -> Option<&Vec<String>> {
        if !self.files.contains_key(file) {
            let lines = self.roots.iter().find_map(|root| self.read_below(root, file));
            self.files.insert(file.to_owned(), lines);
        }
        self.files.get(file)?.as_ref()
    }
}

fn read(path: &Path) -> Option<Vec<String>> {
    let data = std::fs::metadata(path).ok()?;
    if !data.is_file() || data.len() > LARGEST_FILE {
        return None;
    }
    let bytes = std::fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
}

/// The characters of `line` that the access stands on, as a range of character positions.
///
/// Debug information points at an operator as often as at the operand, so the lvalue as the
/// programmer wrote it is looked for first, and its occurrence nearest to the column wins.
pub fn underline(line: &str, site: &Site) -> Option<std::ops::Range<usize>> {
    let column = usize::try_from(site.column).ok()?.checked_sub(1);
    let nearest = line
        .match_indices(site.lvalue.as_str())
        .filter(|(at, text)| !text.is_empty() && stands_alone(line, *at, at + text.len()))
        .map(|(at, _)| at)
        .min_by_key(|at| at.abs_diff(column.unwrap_or(0)));
    let characters = |byte: usize| line.get(..byte).map(|head| head.chars().count());
    if let Some(at) = nearest {
        return Some(characters(at)?..characters(at + site.lvalue.len())?);
    }
    let start = characters(column?)?;
    let length = line.chars().skip(start).take_while(|c| is_word(*c)).count().max(1);
    (start < line.chars().count()).then(|| start..start + length)
}

fn stands_alone(line: &str, start: usize, end: usize) -> bool {
    let before = line[..start].chars().next_back();
    let after = line[end..].chars().next();
    !before.is_some_and(is_word) && !after.is_some_and(is_word)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Makes foreign text safe for a terminal: no escape sequence gets through, a tab becomes spaces.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => out.push_str("    "),
            c if c.is_control() => out.push('\u{fffd}'),
            // Marks that reorder what follows could make a report show other code than there is.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn marked(line: &str, lvalue: &str, column: u32) -> Option<String> {
        let mut site = sample::report().races[0].sites[0].clone();
        (site.lvalue, site.column) = (lvalue.to_owned(), column);
        let range = underline(line, &site)?;
        Some(line.chars().skip(range.start).take(range.len()).collect())
    }

    #[test]
    fn underlines_the_lvalue_nearest_to_the_column() {
        assert_eq!(marked("x = x + xx;", "x", 1).as_deref(), Some("x"));
        assert_eq!(marked("a->n += b->n;", "b->n", 6).as_deref(), Some("b->n"));
        assert_eq!(marked("MACRO(total);", "counter.value", 1).as_deref(), Some("MACRO"));
        assert_eq!(marked("++;", "gone", 1).as_deref(), Some("+"));
        assert_eq!(marked("short", "gone", 40), None);
        assert_eq!(marked("äöü x", "x", 0).as_deref(), Some("x"));
        assert_eq!(marked("äöü", "gone", 2), None, "a column inside a character");
    }

    #[test]
    fn a_missing_file_gives_no_lines() {
        let mut sources = Sources::below([PathBuf::from("/nonexistent")]);
        assert_eq!(sources.line("a.c", 1), None);
        let mut sources = Sources::none().with_file("a.c", "one\ntwo\nthree");
        assert_eq!(sources.line("a.c", 0), None);
        assert_eq!(sources.line("a.c", 3), Some("three"));
        assert_eq!(sources.around("a.c", 3, 1).len(), 2);
        assert_eq!(sources.around("a.c", u32::MAX, 1).len(), 0);
    }

    #[test]
    fn a_server_shows_nothing_outside_its_folders() {
        let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let outside = manifest.join("Cargo.toml");
        let mut sources = Sources::confined_below([manifest.join("src")]);
        assert!(sources.line("lib.rs", 1).is_some());
        for path in ["../Cargo.toml", outside.to_str().unwrap(), "/etc/passwd"] {
            assert_eq!(sources.line(path, 1), None, "{path}");
        }
    }

    #[test]
    fn escape_sequences_do_not_get_through() {
        assert_eq!(printable("a\x1b[31mb\tc\u{202e}"), "a\u{fffd}[31mb    c\u{fffd}");
    }
}
