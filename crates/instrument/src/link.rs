//! Linking by the target's recipe, with the runtime in front of the libraries.

use std::path::{Path, PathBuf};
use std::process::Command;

use racewarden_capture::{LinkItem, Target, TargetKind, Toolchain};
use sha2::{Digest, Sha256};

use crate::build::{hex, is_kept, partial_in};
use crate::{BuildRequest, InstrumentError, verifier};

/// What the runtime defines in place of the C library. Shared libraries must bind to it too, also
/// those that are only opened at run time, so these names leave the executable.
const EXPORTED: &[&str] = &[
    "__tsan_*",
    "Annotate*",
    "RunningOnValgrind",
    "__racewarden_*",
    "pthread_*",
    "thrd_*",
    "mtx_*",
    "cnd_*",
    "call_once",
    "ompt_start_tool",
    "__kmpc_*",
    "omp_*",
    "tss_*",
    "sem_*",
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "free",
    "cfree",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "valloc",
    "pvalloc",
    "_Zn*",
    "_Zd*",
    "mmap",
    "mmap64",
    "munmap",
    "mremap",
    "memcpy",
    "memmove",
    "memset",
    "memcmp",
    "str*",
    "fork",
    "vfork",
    "clone",
    "exec*",
    "exit",
    "_exit",
    "_Exit",
    "quick_exit",
    "atexit",
    "__cxa_*",
    "dlopen",
    "dlclose",
    "signal",
    "sigaction",
    "read",
    "write",
    "pread*",
    "pwrite*",
    "readv",
    "writev",
    "recv*",
    "send*",
    "epoll_*",
    "eventfd*",
    "close",
    "pipe*",
    "mq_*",
    "msgsnd",
    "msgrcv",
    "semop",
    "semtimedop",
    "socket*",
    "accept*",
    "connect",
    "raise",
    "kill",
    "sleep",
    "usleep",
    "nanosleep",
    "fopen*",
    "fclose",
    "fread*",
    "fwrite*",
    "fgets*",
    "fputs*",
    "fflush*",
];

pub(crate) fn link(
    request: &BuildRequest,
    target: &Target,
    objects: &[(usize, PathBuf)],
) -> Result<PathBuf, InstrumentError> {
    let toolchain = Toolchain::find()?;
    let driver = if target.cxx { &toolchain.clangxx } else { &toolchain.clang };
    let arguments = arguments(request, target, objects);
    let program =
        request.cache.join(format!("{}-{}", key(request, target, &arguments)?, target.name));
    if is_kept(&program) {
        return Ok(program);
    }
    let partial = partial_in(request.cache)?;
    let mut command = Command::new(driver);
    if target.directory.is_dir() {
        command.current_dir(&target.directory);
    }
    command.arg("-o").arg(partial.path()).args(&arguments);
    let mut output = command.output().map_err(InstrumentError::io(driver))?;
    if !output.status.success()
        && let Some(object) =
            verifier::supply(&String::from_utf8_lossy(&output.stderr), request.cache)?
    {
        output = command.arg(object).output().map_err(InstrumentError::io(driver))?;
    }
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
        return Err(InstrumentError::LinkFailed { target: target.name.clone(), message });
    }
    partial.persist(&program).map_err(|error| InstrumentError::io(&program)(error.error))?;
    Ok(program)
}

fn arguments(request: &BuildRequest, target: &Target, objects: &[(usize, PathBuf)]) -> Vec<String> {
    let object = |index: &usize| {
        objects
            .iter()
            .find(|(unit, _)| unit == index)
            .map(|(_, path)| path.to_string_lossy().into_owned())
    };
    let mut arguments = vec!["-fuse-ld=lld".to_owned()];
    let executable = target.kind == TargetKind::Executable;
    if !executable {
        arguments.push("-shared".to_owned());
    }
    // `--start-lib` makes objects behave as an archive's members; `--whole-archive` takes them all.
    let mut whole = false;
    for item in &target.link {
        match item {
            LinkItem::Unit(index) => arguments.extend(object(index)),
            LinkItem::Archive { members, objects: uncaptured, .. } => {
                let files = members.iter().filter_map(object);
                let files = files.chain(uncaptured.iter().map(|path| path.display().to_string()));
                if whole {
                    arguments.extend(files);
                } else {
                    arguments.push("-Wl,--start-lib".to_owned());
                    arguments.extend(files);
                    arguments.push("-Wl,--end-lib".to_owned());
                }
            }
            LinkItem::File(path) => arguments.push(path.to_string_lossy().into_owned()),
            LinkItem::Flag(flag) if is_dropped(flag) => {}
            LinkItem::Flag(flag) if flag.ends_with("whole-archive") => {
                whole = !flag.ends_with("no-whole-archive");
                arguments.push(flag.clone());
            }
            LinkItem::Flag(flag) => arguments.push(flag.clone()),
        }
    }
    if executable {
        arguments.extend(request.pass.link_flags());
        arguments.extend(runtime_link_arguments(request.runtime));
    } else {
        // The runtime lives once, in the executable.
        arguments.push("-Wl,--unresolved-symbols=ignore-all".to_owned());
    }
    arguments
}

/// What puts the runtime archive into an executable; goes after the program's own objects, whose
/// definitions win over the runtime's.
pub fn runtime_link_arguments(runtime: &Path) -> Vec<String> {
    let mut arguments = vec!["-Wl,-u,__racewarden_anchor".to_owned(), "-Wl,-z,muldefs".to_owned()];
    arguments.extend(EXPORTED.iter().map(|name| format!("-Wl,--export-dynamic-symbol={name}")));
    arguments.push(runtime.to_string_lossy().into_owned());
    arguments.extend(["-pthread", "-ldl", "-lm", "-lrt"].map(str::to_owned));
    arguments
}

/// Flags that contradict the runtime: it looks the C library's functions up at run time, and
/// another sanitizer's runtime would fight it for the same symbols.
fn is_dropped(flag: &str) -> bool {
    flag == "-static"
        || flag == "-static-pie"
        || flag.starts_with("-fsanitize")
        || flag.starts_with("-fuse-ld=")
        || flag == "-s"
        || flag == "-Wl,-s"
        || flag == "-Wl,--strip-all"
}

fn key(
    request: &BuildRequest,
    target: &Target,
    arguments: &[String],
) -> Result<String, InstrumentError> {
    let mut hash = Sha256::new();
    for argument in arguments {
        hash.update(argument.as_bytes());
        hash.update([0]);
    }
    let files = target.link.iter().filter_map(|item| match item {
        LinkItem::File(path) => Some(target.directory.join(path)),
        _ => None,
    });
    for file in files.chain([request.runtime.to_owned()]) {
        stamp(&mut hash, &file)?;
    }
    Ok(hex(&hash.finalize()[..16]))
}

/// Size and time stand for the content of a file that the user's build may replace.
fn stamp(hash: &mut Sha256, file: &Path) -> Result<(), InstrumentError> {
    let metadata = file.metadata().map_err(InstrumentError::io(file))?;
    hash.update(metadata.len().to_le_bytes());
    if let Ok(time) = metadata.modified()
        && let Ok(age) = time.duration_since(std::time::UNIX_EPOCH)
    {
        hash.update(age.as_nanos().to_le_bytes());
    }
    Ok(())
}
