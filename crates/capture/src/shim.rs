//! What happens when the build runs a compiler: the `racewarden` binary under the compiler's name.
//!
//! The user's own command runs with its own words and environment, and its exit status is the
//! shim's. Beside it the compilation is repeated with clang; the shim ends when both have, so the
//! sources may be gone afterwards.

use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::inspect::{archive_product, link_pieces};
use crate::invocation::{Invocation, Phase};
use crate::record::{Product, ProductKind, Record, UnitRecord};
use crate::repeat::Compilation;
use crate::session::Session;
use crate::store::{hash_of, write_json};
use crate::tools::{Tool, tool_of};
use crate::{CaptureError, TargetKind, Toolchain};

/// Set for whatever a compiler runs itself: its linker is not the build's.
pub(crate) const NESTED: &str = "RACEWARDEN_NESTED";
/// The folder of the capture under way.
pub(crate) const SESSION: &str = "RACEWARDEN_SESSION";
/// The folder with the shims.
pub(crate) const SHIMS: &str = "RACEWARDEN_SHIMS";
/// The program that a shim stands for, as the build named it.
pub(crate) const REAL: &str = "RACEWARDEN_REAL";

/// One call of a compiler, archiver or linker by a build under capture.
#[derive(Debug, Clone)]
pub struct Shim {
    /// The program's own name as the build gave it.
    argv0: OsString,
    words: Vec<OsString>,
    real: PathBuf,
}

impl Shim {
    /// The call that this process stands for, if it was started as a shim.
    pub fn from_environment() -> Option<Shim> {
        let mut words = std::env::args_os();
        let argv0 = words.next()?;
        let named = std::env::var_os(REAL).map(PathBuf::from);
        let own_name = Path::new(&argv0).file_name()?.to_string_lossy().into_owned();
        if named.is_none() && (std::env::var_os(SHIMS).is_none() || tool_of(&own_name).is_none()) {
            return None;
        }
        let shims = std::env::var_os(SHIMS).map(PathBuf::from);
        // gcc looks for its parts from its own name; a shim found on PATH would lead it astray.
        let astray = named.is_none();
        let real = find_real(named, &own_name, shims.as_deref());
        let argv0 = if astray { real.clone().into_os_string() } else { argv0 };
        Some(Shim { argv0, words: words.collect(), real })
    }

    /// Does what the build asked for, and captures it on the way.
    pub fn run(&self) -> ExitCode {
        let session = std::env::var_os(SESSION).map(PathBuf::from).and_then(Session::join);
        match session {
            Some(session) if std::env::var_os(NESTED).is_none() => self.capture(&session),
            _ => self.replace(),
        }
    }

    fn capture(&self, session: &Session) -> ExitCode {
        let Ok(directory) = std::env::current_dir() else { return self.replace() };
        let mut words: Vec<String> =
            self.words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let mut tool = tool_of(&base_name(&self.real));
        if tool == Some(Tool::Launcher) {
            if words.is_empty() {
                return self.replace();
            }
            tool = tool_of(&base_name(Path::new(&words.remove(0))));
        }
        // A compiler by another name, which CC or CXX told the capture of.
        let tool = tool.unwrap_or(Tool::Compiler { cxx: base_name(&self.real).contains("++") });
        match tool {
            Tool::Compiler { cxx } => {
                let invocation = Invocation::parse(&words, &directory, cxx);
                if invocation.phase == Phase::Other || is_probe(&invocation, &directory) {
                    return self.replace();
                }
                self.compile(session, &invocation, &directory)
            }
            Tool::Linker => {
                let invocation = Invocation::parse_linker(&words, &directory);
                if invocation.phase == Phase::Other {
                    return self.replace();
                }
                self.compile(session, &invocation, &directory)
            }
            Tool::Archiver => self.archive(session, &words, &directory),
            Tool::Launcher => self.replace(),
        }
    }

    /// Becomes the real program: nothing to capture.
    fn replace(&self) -> ExitCode {
        let error = self.command().exec();
        eprintln!("{}: {error}", self.real.display());
        ExitCode::from(127)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.real);
        command.arg0(&self.argv0).args(&self.words).env(NESTED, "1").env_remove(REAL);
        command
    }

    fn compile(&self, session: &Session, invocation: &Invocation, directory: &Path) -> ExitCode {
        let mut child = match self.command().spawn() {
            Ok(child) => child,
            Err(error) => {
                eprintln!("{}: {error}", self.real.display());
                return ExitCode::from(127);
            }
        };
        let units = capture_units(session, invocation, directory);
        let status = match child.wait() {
            Ok(status) => status,
            Err(error) => {
                eprintln!("{}: {error}", self.real.display());
                return ExitCode::FAILURE;
            }
        };
        if status.success() {
            let result = units.and_then(|units| record(session, invocation, directory, units));
            if let Err(error) = result {
                session.complain(&format!("{}: {error}", directory.display()));
            }
        }
        exit_code(status)
    }

    fn archive(&self, session: &Session, words: &[String], directory: &Path) -> ExitCode {
        let status = match self.command().status() {
            Ok(status) => status,
            Err(error) => {
                eprintln!("{}: {error}", self.real.display());
                return ExitCode::from(127);
            }
        };
        if status.success()
            && let Some(product) = archive_product(words, directory)
            && let Err(error) =
                write_record(session, &Record { product: Some(product), ..Record::default() })
        {
            session.complain(&error.to_string());
        }
        exit_code(status)
    }
}

/// A status as a shell tells it, so that a compiler killed by a signal fails the build too.
fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

fn base_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The program behind the shim: where the build pointed, else the first on `PATH` that is no shim.
fn find_real(named: Option<PathBuf>, own_name: &str, shims: Option<&Path>) -> PathBuf {
    let name = match named {
        Some(path) if path.components().count() > 1 => return path,
        Some(path) => path,
        None => PathBuf::from(own_name),
    };
    if let Some(absolute) = shims
        .and_then(|shims| std::fs::read_to_string(shims.join(format!(".real-{own_name}"))).ok())
    {
        return PathBuf::from(absolute);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .filter(|folder| Some(folder.as_path()) != shims)
        .map(|folder| folder.join(&name))
        .find(|file| file.is_file())
        .unwrap_or(name)
}

/// Configure scripts compile hundreds of one-line programs that belong to no target.
fn is_probe(invocation: &Invocation, directory: &Path) -> bool {
    let folders =
        ["CMakeFiles/CMakeTmp", "CMakeFiles/CMakeScratch", "CompilerIdC", "meson-private"];
    let inside = |path: &Path| {
        let text = path.to_string_lossy();
        folders.iter().any(|folder| text.contains(folder))
    };
    inside(directory)
        || invocation.output.as_deref().is_some_and(inside)
        || invocation.sources.iter().any(|source| {
            inside(&source.path)
                || source.path.file_stem().is_some_and(|stem| {
                    let stem = stem.to_string_lossy();
                    stem.starts_with("conftest") || stem == "autotest"
                })
        })
}

/// The invocation's sources captured into the session's store.
pub(crate) fn capture_units(
    session: &Session,
    invocation: &Invocation,
    directory: &Path,
) -> Result<Vec<UnitRecord>, CaptureError> {
    if invocation.sources.is_empty() {
        return Ok(Vec::new());
    }
    let toolchain = Toolchain::find()?;
    let unknown = session.unknown_flags();
    let mut units = Vec::new();
    for (index, source) in invocation.sources.iter().enumerate() {
        let mut compilation = Compilation::new(
            source.path.clone(),
            directory.to_owned(),
            source.language,
            invocation.compile.clone(),
        );
        compilation.preprocessed = source.preprocessed;
        compilation.forget(&unknown);
        let known = compilation.dropped.len();
        let outcome = compilation.capture(&toolchain, session.bitcode())?;
        session.learn_unknown_flags(&compilation.dropped[known..])?;
        let (hash, rejection, reused) = match outcome {
            Ok(captured) => (Some(captured.hash), None, captured.reused),
            Err(rejection) => (None, Some(rejection.0), false),
        };
        let object = invocation.object_of(index, directory);
        let object_hash = None;
        units.push(UnitRecord { compilation, hash, rejection, reused, object, object_hash });
    }
    Ok(units)
}

/// After the user's command succeeded: write down what was made.
fn record(
    session: &Session,
    invocation: &Invocation,
    directory: &Path,
    units: Vec<UnitRecord>,
) -> Result<(), CaptureError> {
    let output = invocation.linked_output(directory);
    let mut record = Record { units, remarks: invocation.remarks.clone(), product: None };
    for remark in &mut record.remarks {
        remark.in_object = invocation.phase == Phase::Compile;
    }
    for unit in &mut record.units {
        let object = unit.object.as_ref().and_then(|path| std::fs::read(path).ok());
        unit.object_hash = object.map(|bytes| hash_of(&bytes));
    }
    if invocation.phase == Phase::Link && output.is_file() {
        let keys: Vec<String> = record.units.iter().map(UnitRecord::key).collect();
        let kind = if invocation.relocatable {
            ProductKind::Object
        } else if invocation.shared {
            ProductKind::Target(TargetKind::SharedLibrary)
        } else {
            ProductKind::Target(TargetKind::Executable)
        };
        record.product = Some(Product {
            pieces: link_pieces(invocation, directory, &keys),
            directory: directory.to_owned(),
            kind,
            cxx: invocation.cxx
                || record
                    .units
                    .iter()
                    .any(|unit| unit.compilation.language == crate::Language::Cxx),
            hash: (kind == ProductKind::Object)
                .then(|| std::fs::read(&output).ok().map(|bytes| hash_of(&bytes)))
                .flatten(),
            inode: crate::inspect::inode(&output),
            output,
        });
    }
    write_record(session, &record)
}

pub(crate) fn write_record(session: &Session, record: &Record) -> Result<(), CaptureError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let thread = rayon::current_thread_index().unwrap_or_default();
    let name = format!("{now:024}-{}-{thread}.json", std::process::id());
    write_json(&session.records().join(name), record)
}
