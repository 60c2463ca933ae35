//! One compilation repeated with clang-22.
//!
//! The bitcode is named by everything it depends on: flags, directory, and the path and content of
//! every file the preprocessor read. A unit that was captured before is first only asked for its
//! files (`-M`, a fraction of a compilation); when their name is known, nothing is compiled.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::store::{hash_of, hex, write_atomically};
use crate::{CaptureError, Language, Toolchain};

/// Changes whenever the same input would give other bitcode.
const VERSION: &str = "racewarden bitcode 3";

/// Flags clang may find unknown one after the other before a unit is given up.
const TRIES: usize = 12;

/// One source with its flags, as the user compiled it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Compilation {
    pub source: PathBuf,
    pub directory: PathBuf,
    pub language: Language,
    pub preprocessed: bool,
    pub arguments: Vec<String>,
    /// Flags of the user's that clang does not know.
    pub dropped: Vec<String>,
}

/// Clang's words when it rejects a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rejection(pub String);

/// Bitcode in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Captured {
    pub hash: String,
    /// Whether it was there before.
    pub reused: bool,
}

impl Compilation {
    pub fn new(
        source: PathBuf,
        directory: PathBuf,
        language: Language,
        arguments: Vec<String>,
    ) -> Self {
        let dropped = Vec::new();
        Compilation { source, directory, language, preprocessed: false, arguments, dropped }
    }

    /// Leaves out flags that clang is already known not to take.
    pub fn forget(&mut self, unknown: &[String]) {
        let (dropped, kept) = std::mem::take(&mut self.arguments)
            .into_iter()
            .partition(|argument| unknown.contains(argument));
        self.arguments = kept;
        self.dropped.extend::<Vec<String>>(dropped);
    }

    /// Puts the unit's bitcode into `folder`, unless it is there. Unknown flags are dropped on the
    /// way and kept in `self.dropped`.
    pub fn capture(
        &mut self,
        toolchain: &Toolchain,
        folder: &Path,
    ) -> Result<Result<Captured, Rejection>, CaptureError> {
        let seen = folder.join(format!("{}.seen", self.identity()));
        let scratch = tempfile::Builder::new()
            .prefix(".partial-")
            .tempdir_in(folder)
            .map_err(CaptureError::io(folder))?;
        let files = scratch.path().join("files.d");
        if seen.is_file() {
            let listed = self.run(toolchain, |command| {
                command.args(["-M", "-MT", "x", "-MF"]).arg(&files);
            })?;
            if listed.is_ok() {
                let hash = self.name(&files)?;
                if bitcode_in(folder, &hash).is_file() {
                    return Ok(Ok(Captured { hash, reused: true }));
                }
            }
        }
        let partial = scratch.path().join("unit.bc");
        let compiled = self.run(toolchain, |command| {
            command.args(["-O2", "-Xclang", "-disable-llvm-passes", "-g"]);
            command.args(["-MD", "-MT", "x", "-MF"]).arg(&files);
            command.args(["-emit-llvm", "-c", "-o"]).arg(&partial);
        })?;
        if let Err(rejection) = compiled {
            return Ok(Err(rejection));
        }
        let hash = self.name(&files)?;
        let bitcode = bitcode_in(folder, &hash);
        let reused = bitcode.is_file();
        if !reused {
            fs::rename(&partial, &bitcode).map_err(CaptureError::io(&bitcode))?;
        }
        write_atomically(&seen, b"")?;
        Ok(Ok(Captured { hash, reused }))
    }

    /// Runs clang on the source, dropping flags that it does not know.
    fn run(
        &mut self,
        toolchain: &Toolchain,
        purpose: impl Fn(&mut Command),
    ) -> Result<Result<(), Rejection>, CaptureError> {
        let driver =
            if self.language == Language::Cxx { &toolchain.clangxx } else { &toolchain.clang };
        let language = match (self.language, self.preprocessed) {
            (Language::Cxx, false) => "c++",
            (Language::Cxx, true) => "c++-cpp-output",
            (_, false) => "c",
            (_, true) => "cpp-output",
        };
        let mut result = Ok(());
        for _ in 0..TRIES {
            let mut command = Command::new(driver);
            // Out of reach of the interception that the build runs under.
            command.env_remove("LD_PRELOAD").env(crate::shim::NESTED, "1").stdin(Stdio::null());
            command.args(&self.arguments).arg("-Wno-everything");
            purpose(&mut command);
            command.args(["-x", language]).arg(&self.source).current_dir(&self.directory);
            let output = command.output().map_err(CaptureError::io(driver))?;
            if output.status.success() {
                return Ok(Ok(()));
            }
            let mut message = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
            if message.is_empty() {
                message = format!("clang ended with {}", output.status);
            }
            let unknown = unknown_flags(&message, &self.arguments);
            result = Err(Rejection(message));
            if unknown.is_empty() {
                break;
            }
            self.forget(&unknown);
        }
        Ok(result)
    }

    /// The same for every capture of this source with these flags, whatever its content.
    fn identity(&self) -> String {
        let mut flags: Vec<&str> =
            self.arguments.iter().chain(&self.dropped).map(String::as_str).collect();
        flags.sort_unstable();
        let place = format!("{}\0{}", self.directory.display(), self.source.display());
        hash_of(format!("{VERSION}\0{:?}\0{place}\0{}", self.language, flags.join("\0")).as_bytes())
    }

    /// SHA-256 of everything the bitcode depends on. `files` is a list as make reads it.
    fn name(&self, files: &Path) -> Result<String, CaptureError> {
        let mut hash = Sha256::new();
        hash.update(VERSION);
        hash.update([u8::from(self.preprocessed), self.language as u8]);
        for argument in &self.arguments {
            hash.update(argument.as_bytes());
            hash.update([0]);
        }
        hash.update(self.directory.as_os_str().as_encoded_bytes());
        let list = fs::read_to_string(files).map_err(CaptureError::io(files))?;
        let source = self.source.to_string_lossy().into_owned();
        for file in std::iter::once(source).chain(dependencies(&list)) {
            hash.update([0]);
            hash.update(file.as_bytes());
            let path = self.directory.join(&file);
            // A dependency list may name what is no file (`<stdin>`, a line marker's invention).
            hash.update(
                fs::read(&path).map(|content| Sha256::digest(&content)).unwrap_or_default(),
            );
        }
        Ok(hex(&hash.finalize()))
    }
}

pub(crate) fn bitcode_in(folder: &Path, hash: &str) -> PathBuf {
    folder.join(format!("{hash}.bc"))
}

/// The files of a make rule: `x: a.c b\ c.h \` over several lines.
fn dependencies(rule: &str) -> Vec<String> {
    let mut files = Vec::new();
    let mut file = String::new();
    let (_, list) = rule.split_once(':').unwrap_or(("", rule));
    let mut characters = list.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek()) {
            ('\\', Some('\n')) => {}
            ('\\', Some(' ' | '#' | '\\')) | ('$', Some('$')) => file.extend(characters.next()),
            (blank, _) if blank.is_whitespace() => {
                if !file.is_empty() {
                    files.push(std::mem::take(&mut file));
                }
            }
            (other, _) => file.push(other),
        }
    }
    if !file.is_empty() {
        files.push(file);
    }
    files
}

/// The flags among `arguments` that the driver's errors quote as unknown or unsupported.
fn unknown_flags(message: &str, arguments: &[String]) -> Vec<String> {
    let mut unknown = Vec::new();
    for line in message.lines().filter(|line| line.starts_with("clang") && line.contains("error:"))
    {
        let quoted: Vec<&str> = line.split('\'').skip(1).step_by(2).collect();
        for argument in arguments {
            let whole = quoted.iter().any(|quote| argument == quote);
            // "unsupported argument 'x' to option '-y='"
            let parts = quoted.len() == 2
                && argument.starts_with(quoted[1])
                && argument.ends_with(quoted[0]);
            if whole || parts {
                unknown.push(argument.clone());
            }
        }
    }
    unknown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_flags_clang_complains_of() {
        let arguments = ["-DX", "-fweird", "-mabi=odd", "-fok"].map(str::to_owned);
        let message = "clang-22: error: unknown argument: '-fweird'\n\
                       clang-22: error: unsupported argument 'odd' to option '-mabi='\n\
                       x.c:1:2: error: use of '-fok'";
        assert_eq!(unknown_flags(message, &arguments), ["-fweird", "-mabi=odd"]);
    }

    #[test]
    fn reads_a_make_rule() {
        let rule = "x: a.c \\\n  /usr/b\\ c.h d$$e.h\n";
        assert_eq!(dependencies(rule), ["a.c", "/usr/b c.h", "d$e.h"]);
    }

    #[test]
    fn what_did_not_change_is_not_compiled_again() {
        let folder = tempfile::tempdir().unwrap();
        let toolchain = Toolchain::find().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("a.h", "#define A 1\n");
        write("a.c", "#include \"a.h\"\nint x = A;\n");
        let capture = || {
            let flags = vec!["-fno-such-gcc-flag".to_owned()];
            let place = folder.path().to_owned();
            let mut unit = Compilation::new("a.c".into(), place, Language::C, flags);
            let captured = unit.capture(&toolchain, folder.path()).unwrap().unwrap();
            assert_eq!(unit.dropped, ["-fno-such-gcc-flag"]);
            captured
        };
        let first = capture();
        assert!(!first.reused);
        assert_eq!(capture(), Captured { reused: true, ..first.clone() });
        write("a.h", "#define A 2\n");
        let changed = capture();
        assert!(!changed.reused && changed.hash != first.hash);
    }

    #[test]
    fn a_rejection_is_told_in_clangs_words() {
        let folder = tempfile::tempdir().unwrap();
        let toolchain = Toolchain::find().unwrap();
        fs::write(folder.path().join("bad.c"), "int x = ;\n").unwrap();
        let mut unit = Compilation::new("bad.c".into(), folder.path().into(), Language::C, vec![]);
        let rejection = unit.capture(&toolchain, folder.path()).unwrap().unwrap_err();
        assert!(rejection.0.contains("bad.c:1:9: error"), "{}", rejection.0);
    }
}
