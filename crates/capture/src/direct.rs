//! Capture of files named on the command line: sources with their flags, and bitcode as it is.

use std::path::{Path, PathBuf};
use std::process::Command;

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::{
    Capture, CaptureError, CaptureNote, Language, LinkItem, Target, TargetKind, Toolchain, Unit,
};

/// Files to capture together as one executable.
#[derive(Debug, Clone)]
pub struct DirectRequest {
    pub inputs: Vec<PathBuf>,
    /// The user's compile and link flags, already split.
    pub cflags: Vec<String>,
    /// Where bitcode goes; shared by all captures, entries are named by content.
    pub cache: PathBuf,
}

/// Captures `request.inputs`. A source that clang rejects is an error when it is the only input,
/// and a note when others remain.
pub fn capture_inputs(request: &DirectRequest) -> Result<Capture, CaptureError> {
    let toolchain = Toolchain::find()?;
    std::fs::create_dir_all(&request.cache).map_err(CaptureError::io(&request.cache))?;
    let results: Vec<Result<Unit, CaptureError>> =
        request.inputs.par_iter().map(|input| capture_one(&toolchain, request, input)).collect();

    let mut capture = Capture::default();
    let alone = results.len() == 1;
    for result in results {
        match result {
            Ok(unit) => capture.units.push(unit),
            Err(CaptureError::Rejected { path, message }) if !alone => {
                let text = format!("{}: {message}", path.display());
                capture.notes.push(CaptureNote { incomplete: true, text });
            }
            Err(error) => return Err(error),
        }
    }
    capture.targets.push(implicit_target(&capture.units, &request.cflags));
    Ok(capture)
}

fn implicit_target(units: &[Unit], cflags: &[String]) -> Target {
    let name = units
        .first()
        .and_then(|unit| unit.source.file_stem())
        .map_or_else(|| "a.out".to_owned(), |stem| stem.to_string_lossy().into_owned());
    let mut link: Vec<LinkItem> = (0..units.len()).map(LinkItem::Unit).collect();
    link.extend(cflags.iter().filter(|flag| is_link_flag(flag)).cloned().map(LinkItem::Flag));
    Target {
        output: PathBuf::from(&name),
        name,
        directory: std::env::current_dir().unwrap_or_default(),
        kind: TargetKind::Executable,
        cxx: units.iter().any(|unit| unit.language == Language::Cxx),
        link,
    }
}

fn is_link_flag(flag: &str) -> bool {
    flag.starts_with("-l")
        || flag.starts_with("-L")
        || flag.starts_with("-Wl,")
        || matches!(flag, "-pthread" | "-fopenmp" | "-static" | "-rdynamic")
        || flag.starts_with("-stdlib=")
}

fn capture_one(
    toolchain: &Toolchain,
    request: &DirectRequest,
    input: &Path,
) -> Result<Unit, CaptureError> {
    if !input.is_file() {
        return Err(CaptureError::NoSuchFile(input.to_owned()));
    }
    let language =
        language_of(input).ok_or_else(|| CaptureError::UnknownInput(input.to_owned()))?;
    let directory = std::env::current_dir().map_err(CaptureError::io("."))?;
    if language == Language::Bitcode {
        let content = std::fs::read(input).map_err(CaptureError::io(input))?;
        let bitcode = std::fs::canonicalize(input).map_err(CaptureError::io(input))?;
        return Ok(Unit {
            source: input.to_owned(),
            directory,
            language,
            arguments: Vec::new(),
            object: None,
            bitcode,
            hash: hex(&Sha256::digest(&content)),
        });
    }
    compile(toolchain, request, input, language, directory)
}

fn compile(
    toolchain: &Toolchain,
    request: &DirectRequest,
    input: &Path,
    language: Language,
    directory: PathBuf,
) -> Result<Unit, CaptureError> {
    let driver = if language == Language::Cxx { &toolchain.clangxx } else { &toolchain.clang };
    let arguments: Vec<String> =
        request.cflags.iter().filter(|flag| !is_pure_link_flag(flag)).cloned().collect();

    let preprocessed = run(Command::new(driver).args(&arguments).arg("-E").arg(input), input)?;
    let mut hash = Sha256::new();
    hash.update(&preprocessed);
    for argument in &arguments {
        hash.update([0]);
        hash.update(argument.as_bytes());
    }
    hash.update(input.as_os_str().as_encoded_bytes());
    hash.update(directory.as_os_str().as_encoded_bytes());
    let hash = hex(&hash.finalize());

    let bitcode = request.cache.join(format!("{hash}.bc"));
    if !bitcode.is_file() {
        // Written beside and renamed, so that two captures at once never see half a file.
        let partial = tempfile::Builder::new()
            .prefix("partial-")
            .suffix(".bc")
            .tempfile_in(&request.cache)
            .map_err(CaptureError::io(&request.cache))?;
        let mut command = Command::new(driver);
        command.args(&arguments).args(["-O2", "-Xclang", "-disable-llvm-passes", "-g"]);
        command.args(["-emit-llvm", "-c", "-o"]).arg(partial.path()).arg(input);
        run(&mut command, input)?;
        partial.persist(&bitcode).map_err(|error| CaptureError::io(&bitcode)(error.error))?;
    }
    let source = input.to_owned();
    Ok(Unit { source, directory, language, arguments, object: None, bitcode, hash })
}

fn is_pure_link_flag(flag: &str) -> bool {
    flag.starts_with("-l") || flag.starts_with("-L") || flag.starts_with("-Wl,")
}

fn run(command: &mut Command, input: &Path) -> Result<Vec<u8>, CaptureError> {
    let output = command.output().map_err(CaptureError::io(command.get_program()))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let message = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
    Err(CaptureError::Rejected { path: input.to_owned(), message: format!("clang-22:\n{message}") })
}

/// Whether `path` is, by its name, a source or bitcode that can be captured by itself.
pub fn is_capturable(path: &Path) -> bool {
    language_of(path).is_some()
}

fn language_of(path: &Path) -> Option<Language> {
    match path.extension()?.to_str()? {
        "c" | "i" => Some(Language::C),
        "cc" | "cpp" | "cxx" | "C" | "c++" | "ii" | "CPP" | "cp" => Some(Language::Cxx),
        "bc" | "ll" => Some(Language::Bitcode),
        _ => None,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
