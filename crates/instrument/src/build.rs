//! From a captured target to an instrumented program.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use racewarden_capture::{Capture, TargetKind, Toolchain, Unit};
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::link::link;
use crate::machine::machine_for;
use crate::{Detect, InstrumentError, verifier};

/// What a mode does to one unit.
pub trait UnitPass: Sync {
    /// The mode's name, part of every cache key (`detect`, `record`, `gate`).
    fn name(&self) -> &'static str;

    /// Everything the result for `unit` depends on besides the bitcode: the options, the chosen
    /// instructions. Two runs with the same key must give the same module.
    fn key(&self, unit_index: usize) -> String;

    /// Changes the pristine module. Anything that names instructions by ordinal works here,
    /// after `racewarden_bitcode::prepare` and before any optimisation.
    fn apply(&self, module: &Module, unit_index: usize) -> Result<(), InstrumentError>;

    /// The LLVM pipeline that runs after [`UnitPass::apply`].
    fn pipeline(&self, unit: &Unit) -> String {
        let _ = unit;
        "default<O1>".to_owned()
    }

    /// Changes the module and optimises it.
    fn build<'c>(
        &self,
        module: &Module<'c>,
        unit_index: usize,
        optimise: Optimise<'_, 'c>,
    ) -> Result<(), InstrumentError> {
        self.apply(module, unit_index)?;
        optimise(module, None)
    }

    /// A plainer way to the same end, for a module that this pass cannot cope with.
    fn fallback(&self) -> Option<Box<dyn UnitPass + '_>> {
        None
    }

    /// Changes the module once more, after the pipeline. What is returned runs last.
    fn finish(
        &self,
        module: &Module,
        executable: bool,
    ) -> Result<Option<&'static str>, InstrumentError> {
        let _ = (module, executable);
        Ok(None)
    }

    /// Flags for the link, put before the runtime archive.
    fn link_flags(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Runs the given passes over a module, or the mode's pipeline.
pub type Optimise<'a, 'c> = &'a dyn Fn(&Module<'c>, Option<&str>) -> Result<(), InstrumentError>;

/// One instrumented build.
pub struct BuildRequest<'a> {
    pub capture: &'a Capture,
    /// Index into [`Capture::targets`].
    pub target: usize,
    pub pass: &'a dyn UnitPass,
    /// The runtime archive of the mode.
    pub runtime: &'a Path,
    /// Where objects and programs are kept, named by content.
    pub cache: &'a Path,
}

impl<'a> BuildRequest<'a> {
    /// A request for the detect mode with its default options.
    pub fn detect(
        capture: &'a Capture,
        pass: &'a Detect,
        runtime: &'a Path,
        cache: &'a Path,
    ) -> Self {
        BuildRequest { capture, target: 0, pass, runtime, cache }
    }
}

/// Builds the target and returns the program's path. An up-to-date program is returned as it is.
pub fn build_target(request: &BuildRequest) -> Result<PathBuf, InstrumentError> {
    let capture = request.capture;
    let target =
        capture.targets.get(request.target).ok_or(InstrumentError::NoSuchTarget(request.target))?;
    std::fs::create_dir_all(request.cache).map_err(InstrumentError::io(request.cache))?;
    let units = target.units();
    let objects: Vec<(usize, PathBuf)> = units
        .par_iter()
        .map(|&index| Ok((index, build_object(request, index)?)))
        .collect::<Result<_, InstrumentError>>()?;
    link(request, target, &objects)
}

fn build_object(request: &BuildRequest, index: usize) -> Result<PathBuf, InstrumentError> {
    let unit = &request.capture.units[index];
    let pipeline = request.pass.pipeline(unit);
    let executable = request
        .capture
        .targets
        .get(request.target)
        .is_some_and(|target| target.kind == TargetKind::Executable);
    let mut hash = Sha256::new();
    for part in [
        env!("CARGO_PKG_VERSION"),
        INSTRUMENT_REVISION,
        &unit.hash,
        request.pass.name(),
        &request.pass.key(index),
        &pipeline,
        if executable { "executable" } else { "library" },
    ] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let object = request.cache.join(format!("{}.o", hex(&hash.finalize())));
    if is_kept(&object) {
        return Ok(object);
    }
    match transform(request, request.pass, index, &pipeline, executable, &object) {
        Ok(()) => {}
        Err(error) => match request.pass.fallback() {
            Some(plainer) => {
                transform(request, &*plainer, index, &pipeline, executable, &object)?;
            }
            None => return Err(error),
        },
    }
    Ok(object)
}

/// Whether a file of the cache is there. It counts as used now, because those go first that were not used
/// for longest.
pub(crate) fn is_kept(path: &Path) -> bool {
    let Ok(file) = std::fs::File::open(path) else { return false };
    // Who may not write the time down may still use the file.
    let _ = file.set_modified(SystemTime::now());
    true
}

fn transform(
    request: &BuildRequest,
    pass: &dyn UnitPass,
    index: usize,
    pipeline: &str,
    executable: bool,
    object: &Path,
) -> Result<(), InstrumentError> {
    let unit = &request.capture.units[index];
    let context = Context::create();
    let module = open(&context, &unit.bitcode)?;
    let machine = machine_for(&module)?;
    let failed = |pass: &str| {
        let (path, pass) = (unit.source.clone(), pass.to_owned());
        move |error: inkwell::support::LLVMString| InstrumentError::PassFailed {
            path,
            pass,
            message: error.to_string(),
        }
    };
    let optimise = |module: &Module, passes: Option<&str>| {
        if passes.is_none() {
            verifier::guard_atomic_bodies(module);
            module.verify().map_err(failed(pass.name()))?;
        }
        let passes = passes.unwrap_or(pipeline);
        let options = PassBuilderOptions::create();
        module.run_passes(passes, &machine, options).map_err(failed(passes))
    };
    pass.build(&module, index, &optimise)?;
    if let Some(last) = pass.finish(&module, executable)? {
        module.run_passes(last, &machine, PassBuilderOptions::create()).map_err(failed(last))?;
    }
    module.verify().map_err(failed(pass.name()))?;
    emit(request.cache, &module, &unit.source, object)
}

/// Bitcode to object by clang itself: its code generator options (`.init_array`, unwind tables,
/// TLS dialect) are not all reachable through the C API, and must match the user's own objects.
fn emit(
    cache: &Path,
    module: &Module,
    source: &Path,
    object: &Path,
) -> Result<(), InstrumentError> {
    let toolchain = Toolchain::find()?;
    let bitcode = partial_in(cache)?;
    let failed = |message: String| InstrumentError::PassFailed {
        path: source.to_owned(),
        pass: "emitting the object".to_owned(),
        message,
    };
    if !module.write_bitcode_to_path(bitcode.path()) {
        return Err(failed(format!("cannot write {}", bitcode.path().display())));
    }
    // Written beside and renamed, so that two builds at once never see half a file.
    let partial = partial_in(cache)?;
    let output = Command::new(&toolchain.clang)
        .args(["-c", "-O2", "-Xclang", "-disable-llvm-passes", "-fPIC", "-w", "-x", "ir"])
        .arg(bitcode.path())
        .arg("-o")
        .arg(partial.path())
        .output()
        .map_err(InstrumentError::io(&toolchain.clang))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim_end().to_owned()));
    }
    partial.persist(object).map_err(|error| InstrumentError::io(object)(error.error))?;
    Ok(())
}

/// Another one whenever the same inputs may give another object than before: a digest of this crate's
/// sources, made when it is built.
const INSTRUMENT_REVISION: &str = env!("RACEWARDEN_PASSES");

pub(crate) fn open<'c>(context: &'c Context, path: &Path) -> Result<Module<'c>, InstrumentError> {
    // LLVM's words start with the path and end with a NUL.
    let bad = |message: String| {
        let own = format!("{}: ", path.display());
        let message = message.trim_end_matches(['\0', '\n']);
        let message = message.strip_prefix(&own).unwrap_or(message).to_owned();
        InstrumentError::BadBitcode { path: path.to_owned(), message }
    };
    let buffer = MemoryBuffer::create_from_file(path).map_err(|error| bad(error.to_string()))?;
    // Reads bitcode and textual IR alike.
    context.create_module_from_ir(buffer).map_err(|error| bad(error.to_string()))
}

pub(crate) fn partial_in(directory: &Path) -> Result<tempfile::NamedTempFile, InstrumentError> {
    tempfile::Builder::new()
        .prefix("partial-")
        .tempfile_in(directory)
        .map_err(InstrumentError::io(directory))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
