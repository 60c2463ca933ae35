//! Capture of files named on the command line: sources with their flags, and bitcode as it is.

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::build::{Scope, settle};
use crate::database::capture_compilations;
use crate::inspect::link_pieces;
use crate::invocation::{Invocation, LinkWord, Phase, source_language};
use crate::record::{Piece, Product, ProductKind, Record, UnitRecord};
use crate::repeat::{Compilation, bitcode_in};
use crate::shim::write_record;
use crate::store::hash_of;
use crate::{
    BuildOutcome, Capture, CaptureError, CaptureNote, Language, LinkItem, Progress, Store, Target,
    TargetKind, Toolchain, Unit,
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

/// Captures `inputs` into a project's store, as a target that every command finds by its name.
pub fn capture_into(
    store: &Store,
    inputs: &[PathBuf],
    cflags: &[String],
    progress: &dyn Progress,
) -> Result<BuildOutcome, CaptureError> {
    Toolchain::find()?;
    let directory = std::env::current_dir().map_err(CaptureError::io("."))?;
    let flags = Invocation::parse(cflags, &directory, false);
    let mut invocations = Vec::new();
    let mut ready = Vec::new();
    for input in inputs {
        if !input.is_file() {
            return Err(CaptureError::NoSuchFile(input.clone()));
        }
        if is_bitcode(input) {
            ready.push(stored_bitcode(store, input, &directory)?);
            continue;
        }
        let words: Vec<String> =
            cflags.iter().cloned().chain([input.to_string_lossy().into_owned()]).collect();
        let mut invocation = Invocation::parse(&words, &directory, false);
        invocation.phase = Phase::Compile;
        invocation.output = None;
        if invocation.sources.len() == flags.sources.len() {
            return Err(CaptureError::UnknownInput(input.clone()));
        }
        invocation.sources.drain(..flags.sources.len());
        invocations.push((invocation, directory.clone()));
    }
    let (session, mut units) = capture_compilations(store, &invocations, progress)?;
    if let [UnitRecord { rejection: Some(message), compilation, .. }] = units.as_slice() {
        let path = compilation.source.clone();
        let message = format!("clang-22:\n{message}");
        session.close();
        return Err(CaptureError::Rejected { path, message });
    }
    write_record(&session, &Record { units: ready.clone(), ..Record::default() })?;
    units.extend(ready);
    let product = Some(product_of(inputs, &flags, &units, directory));
    write_record(&session, &Record { product, ..Record::default() })?;
    settle(store, session, Scope::All)
}

/// Bitcode is kept by content, so that the project does not depend on the file it came from.
fn stored_bitcode(
    store: &Store,
    input: &Path,
    directory: &Path,
) -> Result<UnitRecord, CaptureError> {
    let unit = bitcode_unit(input, directory)?;
    let kept = bitcode_in(&store.bitcode(), &unit.hash);
    std::fs::copy(&unit.bitcode, &kept).map_err(CaptureError::io(&kept))?;
    Ok(UnitRecord {
        compilation: Compilation::new(unit.source, unit.directory, unit.language, Vec::new()),
        hash: Some(unit.hash),
        rejection: None,
        reused: false,
        object: None,
        object_hash: None,
    })
}

fn product_of(
    inputs: &[PathBuf],
    flags: &Invocation,
    units: &[UnitRecord],
    directory: PathBuf,
) -> Product {
    let name = inputs.first().and_then(|input| input.file_stem()).unwrap_or("a.out".as_ref());
    let kind = if flags.shared { TargetKind::SharedLibrary } else { TargetKind::Executable };
    let mut pieces: Vec<Piece> = units.iter().map(|unit| Piece::Unit(unit.key())).collect();
    pieces.extend(link_pieces(flags, &directory, &[]));
    Product {
        output: directory.join(name),
        kind: ProductKind::Target(kind),
        cxx: units.iter().any(|unit| unit.compilation.language == Language::Cxx),
        pieces,
        directory,
        hash: None,
        inode: 0,
    }
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
