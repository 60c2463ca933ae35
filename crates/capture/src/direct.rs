//! Capture of files named on the command line: sources with their flags, and bitcode as it is.

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::invocation::{Invocation, LinkWord, source_language};
use crate::repeat::{Compilation, bitcode_in};
use crate::store::hash_of;
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
    let directory = std::env::current_dir().map_err(CaptureError::io("."))?;
    let flags = Invocation::parse(&request.cflags, &directory, false);
    let results: Vec<Result<(Unit, Vec<String>), CaptureError>> = request
        .inputs
        .par_iter()
        .map(|input| capture_one(&toolchain, request, &flags, &directory, input))
        .collect();

    let mut capture = Capture::default();
    let alone = results.len() == 1;
    for result in results {
        match result {
            Ok((unit, dropped)) => {
                capture.units.push(unit);
                capture.note_dropped(&dropped);
            }
            Err(CaptureError::Rejected { path, message }) if !alone => {
                let text = format!("{}: {message}", path.display());
                capture.notes.push(CaptureNote::new(true, text));
            }
            Err(error) => return Err(error),
        }
    }
    capture.notes.extend(
        flags.remarks.iter().map(|remark| CaptureNote::new(remark.incomplete, remark.text.clone())),
    );
    capture.targets.push(implicit_target(&capture.units, &flags, directory));
    Ok(capture)
}

impl Capture {
    fn note_dropped(&mut self, flags: &[String]) {
        for flag in flags {
            let text = format!("clang does not know {flag}; left out");
            let note = CaptureNote::new(false, text);
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }
}

fn implicit_target(units: &[Unit], flags: &Invocation, directory: PathBuf) -> Target {
    let name = units
        .first()
        .and_then(|unit| unit.source.file_stem())
        .map_or_else(|| "a.out".to_owned(), |stem| stem.to_string_lossy().into_owned());
    let mut link: Vec<LinkItem> = (0..units.len()).map(LinkItem::Unit).collect();
    link.extend(flags.link.iter().filter_map(|word| match word {
        LinkWord::Flag(flag) => Some(LinkItem::Flag(flag.clone())),
        LinkWord::File(path) => Some(LinkItem::File(directory.join(path))),
        LinkWord::Source(_) => None,
    }));
    Target {
        output: directory.join(&name),
        name,
        directory,
        kind: if flags.shared { TargetKind::SharedLibrary } else { TargetKind::Executable },
        cxx: units.iter().any(|unit| unit.language == Language::Cxx),
        link,
    }
}

fn capture_one(
    toolchain: &Toolchain,
    request: &DirectRequest,
    flags: &Invocation,
    directory: &Path,
    input: &Path,
) -> Result<(Unit, Vec<String>), CaptureError> {
    if !input.is_file() {
        return Err(CaptureError::NoSuchFile(input.to_owned()));
    }
    let mut words = request.cflags.clone();
    words.push(input.to_string_lossy().into_owned());
    let named = Invocation::parse(&words, directory, false);
    let Some(source) = named.sources.get(flags.sources.len()) else {
        if is_bitcode(input) {
            return Ok((bitcode_unit(input, directory)?, Vec::new()));
        }
        return Err(CaptureError::UnknownInput(input.to_owned()));
    };

    let mut compilation = Compilation::new(
        input.to_owned(),
        directory.to_owned(),
        source.language,
        flags.compile.clone(),
    );
    compilation.preprocessed = source.preprocessed;
    let captured = compilation.capture(toolchain, &request.cache)?.map_err(|rejection| {
        let message = format!("clang-22:\n{}", rejection.0);
        CaptureError::Rejected { path: input.to_owned(), message }
    })?;
    let unit = Unit {
        source: compilation.source,
        directory: compilation.directory,
        language: compilation.language,
        arguments: compilation.arguments,
        object: None,
        bitcode: bitcode_in(&request.cache, &captured.hash),
        hash: captured.hash,
    };
    Ok((unit, compilation.dropped))
}

fn bitcode_unit(input: &Path, directory: &Path) -> Result<Unit, CaptureError> {
    let content = std::fs::read(input).map_err(CaptureError::io(input))?;
    let bitcode = std::fs::canonicalize(input).map_err(CaptureError::io(input))?;
    Ok(Unit {
        source: input.to_owned(),
        directory: directory.to_owned(),
        language: Language::Bitcode,
        arguments: Vec::new(),
        object: None,
        bitcode,
        hash: hash_of(&content),
    })
}

fn is_bitcode(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "bc" || extension == "ll")
}

/// Whether `path` is, by its name, a source or bitcode that can be captured by itself.
pub fn is_capturable(path: &Path) -> bool {
    source_language(path).is_some() || is_bitcode(path)
}
