//! A linker's own command line (`ld -r -o all.o a.o b.o`), told in the compiler driver's words so
//! that one recipe format serves both.

use std::path::{Path, PathBuf};

use crate::invocation::{Invocation, LinkWord, Phase};
use crate::response;

/// Options whose value is the next word.
const SEPARATE: [&str; 24] = [
    "-o",
    "--output",
    "-T",
    "--script",
    "-soname",
    "-h",
    "--soname",
    "-z",
    "-rpath",
    "--rpath",
    "-rpath-link",
    "-m",
    "-e",
    "--entry",
    "-u",
    "--undefined",
    "-dynamic-linker",
    "--dynamic-linker",
    "-I",
    "-Map",
    "--version-script",
    "--dynamic-list",
    "-y",
    "-plugin",
];

impl Invocation {
    /// Reads the words of an `ld` command.
    pub(crate) fn parse_linker(words: &[String], directory: &Path) -> Invocation {
        let words = response::expand(words, directory);
        let mut link = vec![LinkWord::Flag("-nostdlib".into())];
        let (mut output, mut shared, mut relocatable, mut files) = (None, false, false, false);
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            match word.as_str() {
                "-o" | "--output" => output = rest.next().map(PathBuf::from),
                "-shared" | "--shared" | "-Bshareable" => {
                    shared = true;
                    link.push(LinkWord::Flag("-shared".into()));
                }
                "-r" | "-i" | "--relocatable" => relocatable = true,
                "-Map" | "-plugin" => {
                    rest.next();
                }
                flag if SEPARATE.contains(&flag) => {
                    link.push(LinkWord::Flag(format!("-Wl,{flag}")));
                    link.extend(rest.next().map(|value| LinkWord::Flag(format!("-Wl,{value}"))));
                }
                flag if flag.starts_with("-L") || flag.starts_with("-l") => {
                    link.push(LinkWord::Flag(flag.to_owned()));
                }
                flag if flag.starts_with('-') => link.push(LinkWord::Flag(format!("-Wl,{flag}"))),
                file => {
                    files = true;
                    link.push(LinkWord::File(file.into()));
                }
            }
        }
        Invocation {
            phase: if files { Phase::Link } else { Phase::Other },
            cxx: false,
            output,
            sources: Vec::new(),
            compile: Vec::new(),
            link,
            shared,
            relocatable,
            remarks: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_link() {
        let words = shlex::split("-r -o all.o a.o b.o -z noexecstack").unwrap();
        let it = Invocation::parse_linker(&words, Path::new("/"));
        assert!(it.relocatable);
        assert_eq!(it.output.as_deref(), Some(Path::new("all.o")));
        let files = it.link.iter().filter(|word| matches!(word, LinkWord::File(_)));
        assert_eq!(files.count(), 2);
    }
}
