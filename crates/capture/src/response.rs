//! Response files: `@file` on a command line stands for the words in the file.

use std::path::Path;

/// Nesting deeper than this is a file that names itself.
const DEPTH: usize = 16;

/// The words with every readable `@file` replaced, relative to `directory`. A file that cannot be
/// read stays as it is, which is what compilers do.
pub(crate) fn expand(words: &[String], directory: &Path) -> Vec<String> {
    expand_to_depth(words, directory, DEPTH)
}

fn expand_to_depth(words: &[String], directory: &Path, depth: usize) -> Vec<String> {
    let mut expanded = Vec::with_capacity(words.len());
    for word in words {
        let content = word
            .strip_prefix('@')
            .filter(|_| depth > 0)
            .and_then(|file| std::fs::read(directory.join(file)).ok());
        match content {
            Some(content) => {
                let inner = split(&String::from_utf8_lossy(&content));
                expanded.extend(expand_to_depth(&inner, directory, depth - 1));
            }
            None => expanded.push(word.clone()),
        }
    }
    expanded
}

/// Words as gcc reads them from a response file: white space separates, either quote groups, and a
/// backslash takes the next character as it is, also inside quotes.
fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            ('\\', _) => word.get_or_insert_default().extend(characters.next()),
            (c, Some(open)) if c == open => quote = None,
            (c, Some(_)) => word.get_or_insert_default().push(c),
            ('"' | '\'', None) => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_as_gcc_does() {
        let text = "-DA=\"x y\" '-DB=1 2'\n\t-I/a\\ b -DC=\\\"s\\\" ''";
        assert_eq!(split(text), ["-DA=x y", "-DB=1 2", "-I/a b", "-DC=\"s\"", ""]);
    }

    #[test]
    fn expands_nested_files_and_keeps_unreadable_ones() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("outer"), "-c @inner").unwrap();
        std::fs::write(folder.path().join("inner"), "a.c").unwrap();
        std::fs::write(folder.path().join("self"), "@self").unwrap();
        let words = ["@outer", "@absent", "@self"].map(str::to_owned);
        assert_eq!(expand(&words, folder.path()), ["-c", "a.c", "@absent", "@self"]);
    }
}
