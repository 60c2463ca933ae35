//! One compilation repeated with clang-22, in two steps.
//!
//! *Prepare* makes the source self-contained (`-E -frewrite-includes`: every include written out,
//! macros left alone, so that lines and columns stay the programmer's) and names the result by its
//! content. *Compile* turns that into bitcode and no longer needs the user's files: it can run after
//! a generated source is gone, beside the build, or not at all when the name is known already.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::store::hex;
use crate::{CaptureError, Language, Toolchain};

/// Changes whenever the same input would give other bitcode.
const VERSION: &str = "racewarden bitcode 2";

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
    /// Whether macros are expanded in the prepared text, which `-imacros` makes necessary.
    pub expanded: bool,
}

/// Clang's words when it rejects a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rejection(pub String);

impl Compilation {
    pub fn new(
        source: PathBuf,
        directory: PathBuf,
        language: Language,
        arguments: Vec<String>,
    ) -> Self {
        let expanded = arguments.iter().any(|argument| argument.starts_with("-imacros"));
        Compilation {
            source,
            directory,
            language,
            preprocessed: false,
            arguments,
            dropped: Vec::new(),
            expanded,
        }
    }

    fn driver<'a>(&self, toolchain: &'a Toolchain) -> &'a Path {
        if self.language == Language::Cxx { &toolchain.clangxx } else { &toolchain.clang }
    }

    fn language_flag(&self, prepared: bool) -> &'static str {
        let expanded = self.preprocessed || (prepared && self.expanded);
        match (self.language, expanded) {
            (Language::Cxx, false) => "c++",
            (Language::Cxx, true) => "c++-cpp-output",
            (_, false) => "c",
            (_, true) => "cpp-output",
        }
    }

    /// Leaves out flags that clang is already known not to take.
    pub fn forget(&mut self, unknown: &[String]) {
        let (dropped, kept) = std::mem::take(&mut self.arguments)
            .into_iter()
            .partition(|argument| unknown.contains(argument));
        self.arguments = kept;
        self.dropped.extend::<Vec<String>>(dropped);
    }

    /// Writes the self-contained text to `text` and returns its name. Unknown flags are dropped on
    /// the way and kept in `self.dropped`.
    pub fn prepare(
        &mut self,
        toolchain: &Toolchain,
        text: &Path,
    ) -> Result<Result<String, Rejection>, CaptureError> {
        if self.preprocessed {
            let source = self.directory.join(&self.source);
            fs::copy(&source, text).map_err(CaptureError::io(&source))?;
        } else if let Err(rejection) = self.preprocess(toolchain, text)? {
            return Ok(Err(rejection));
        }
        self.name(text).map(Ok)
    }

    fn preprocess(
        &mut self,
        toolchain: &Toolchain,
        text: &Path,
    ) -> Result<Result<(), Rejection>, CaptureError> {
        let mut result = Ok(());
        for _ in 0..TRIES {
            let mut command = quiet_clang(self.driver(toolchain));
            command.args(&self.arguments).args(["-Wno-everything", "-E", "-o"]).arg(text);
            if !self.expanded {
                command.arg("-frewrite-includes");
            }
            command.args(["-x", self.language_flag(false)]).arg(&self.source);
            result = run(command.current_dir(&self.directory))?;
            let Err(Rejection(message)) = &result else { break };
            let unknown = unknown_flags(message, &self.arguments);
            if unknown.is_empty() {
                break;
            }
            self.forget(&unknown);
        }
        Ok(result)
    }

    /// SHA-256 of everything the bitcode depends on.
    fn name(&self, text: &Path) -> Result<String, CaptureError> {
        let content = fs::read(text).map_err(CaptureError::io(text))?;
        let mut hash = Sha256::new();
        hash.update(VERSION);
        hash.update([u8::from(self.preprocessed), self.language as u8]);
        for argument in &self.arguments {
            hash.update(argument.as_bytes());
            hash.update([0]);
        }
        hash.update(self.source.as_os_str().as_encoded_bytes());
        hash.update([0]);
        hash.update(self.directory.as_os_str().as_encoded_bytes());
        hash.update([0]);
        hash.update(&content);
        Ok(hex(&hash.finalize()))
    }

    /// Makes `bitcode` from the prepared `text`, unless it is there. A rejection is remembered
    /// beside it, so that neither outcome is worked out twice.
    pub fn compile(
        &self,
        toolchain: &Toolchain,
        text: &Path,
        bitcode: &Path,
    ) -> Result<Result<(), Rejection>, CaptureError> {
        if let Some(known) = outcome(bitcode) {
            return Ok(known);
        }
        let folder = bitcode.parent().unwrap_or(Path::new("."));
        let partial = tempfile::Builder::new()
            .prefix(".partial-")
            .suffix(".bc")
            .tempfile_in(folder)
            .map_err(CaptureError::io(folder))?;
        let mut command = quiet_clang(self.driver(toolchain));
        command.args(without_includes(&self.arguments));
        command.args(["-O2", "-Xclang", "-disable-llvm-passes", "-g", "-Wno-everything"]);
        let name = self.source.file_name().unwrap_or_default();
        command.args(["-Xclang", "-main-file-name", "-Xclang"]).arg(name);
        command.arg(format!("-fdebug-compilation-dir={}", self.directory.display()));
        command.args(["-emit-llvm", "-c", "-o"]).arg(partial.path());
        command.args(["-x", self.language_flag(true)]).arg(text);
        if self.directory.is_dir() {
            command.current_dir(&self.directory);
        }
        match run(&mut command)? {
            Ok(()) => {
                partial.persist(bitcode).map_err(|error| CaptureError::io(bitcode)(error.error))?;
                Ok(Ok(()))
            }
            Err(Rejection(message)) => {
                let message =
                    message.replace(&*text.to_string_lossy(), &self.source.to_string_lossy());
                crate::store::write_atomically(
                    &bitcode.with_extension("rejected"),
                    message.as_bytes(),
                )?;
                Ok(Err(Rejection(message)))
            }
        }
    }
}

/// What is known of a unit whose bitcode goes to `bitcode`.
pub(crate) fn outcome(bitcode: &Path) -> Option<Result<(), Rejection>> {
    if bitcode.is_file() {
        return Some(Ok(()));
    }
    let message = fs::read_to_string(bitcode.with_extension("rejected")).ok()?;
    Some(Err(Rejection(message)))
}

/// Clang out of reach of the interception that the build runs under.
fn quiet_clang(driver: &Path) -> Command {
    let mut command = Command::new(driver);
    command
        .env_remove("LD_PRELOAD")
        .env(crate::shim::NESTED, "1")
        .stdin(std::process::Stdio::null());
    command
}

fn run(command: &mut Command) -> Result<Result<(), Rejection>, CaptureError> {
    let output = command.output().map_err(CaptureError::io(command.get_program()))?;
    if output.status.success() {
        return Ok(Ok(()));
    }
    let mut message = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
    if message.is_empty() {
        message = format!("clang ended with {}", output.status);
    }
    Ok(Err(Rejection(message)))
}

/// The forced includes are part of the prepared text already.
fn without_includes(arguments: &[String]) -> Vec<&String> {
    let mut kept = Vec::with_capacity(arguments.len());
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if matches!(word.as_str(), "-include" | "-imacros") {
            words.next();
        } else if !word.starts_with("-include") && !word.starts_with("-imacros") {
            kept.push(word);
        }
    }
    kept
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
    fn a_second_compile_is_not_made() {
        let folder = tempfile::tempdir().unwrap();
        let toolchain = Toolchain::find().unwrap();
        fs::write(folder.path().join("a.c"), "int x = __LINE__;\n").unwrap();
        let mut unit = Compilation::new(
            "a.c".into(),
            folder.path().into(),
            Language::C,
            vec!["-fno-such-gcc-flag".into()],
        );
        let text = folder.path().join("text");
        let name = unit.prepare(&toolchain, &text).unwrap().unwrap();
        assert_eq!(unit.dropped, ["-fno-such-gcc-flag"]);
        let bitcode = folder.path().join(format!("{name}.bc"));
        unit.compile(&toolchain, &text, &bitcode).unwrap().unwrap();
        fs::remove_file(&text).unwrap();
        // The text is gone, so only the stored result can answer.
        unit.compile(&toolchain, &text, &bitcode).unwrap().unwrap();
    }

    #[test]
    fn a_rejection_is_remembered_with_the_users_file_name() {
        let folder = tempfile::tempdir().unwrap();
        let toolchain = Toolchain::find().unwrap();
        fs::write(folder.path().join("bad.c"), "int x = ;\n").unwrap();
        let mut unit = Compilation::new("bad.c".into(), folder.path().into(), Language::C, vec![]);
        let text = folder.path().join("text");
        let name = unit.prepare(&toolchain, &text).unwrap().unwrap();
        let bitcode = folder.path().join(format!("{name}.bc"));
        let first = unit.compile(&toolchain, &text, &bitcode).unwrap().unwrap_err();
        assert!(first.0.contains("bad.c:1:9: error"), "{}", first.0);
        assert_eq!(outcome(&bitcode), Some(Err(first)));
    }
}
