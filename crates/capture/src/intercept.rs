//! How the build's compilers lead to shims.
//!
//! A folder holds one link to the `racewarden` binary per tool name. A small library preloaded into
//! the build's processes turns the execution of a tool into that of its shim, whether the build
//! found it on `PATH`, through CC and CXX or by absolute path; nothing that the build can see
//! changes, so what a configuration step writes down is what it would have been. Where the library
//! cannot be used (`Interception::Path`, for builds driven by statically linked programs) the folder
//! goes first on `PATH` and into CC and CXX.
//!
//! May miss: tools started by statically linked programs or by raw system calls.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shim::{SESSION, SHIMS};
use crate::store::{hash_of, write_atomically};
use crate::tools::{tool_of, usual_names};
use crate::{CaptureError, Toolchain};

const PRELOAD: &str = include_str!("preload.c");

/// How the build's compilers lead to shims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interception {
    Preload,
    Path,
}

/// Makes the folder of shims and sets `command`'s environment so that its tools lead there.
pub(crate) fn intercept(
    command: &mut Command,
    words: &[OsString],
    session: &Path,
    cache: &Path,
    toolchain: &Toolchain,
    wanted: Interception,
) -> Result<Interception, CaptureError> {
    let shims = session.join("shims");
    std::fs::create_dir_all(&shims).map_err(CaptureError::io(&shims))?;
    let binary = std::env::current_exe().map_err(CaptureError::io("racewarden"))?;
    let chosen = chosen_compilers(words);
    let mut names: BTreeSet<String> = usual_names().into_iter().chain(tools_on_path()).collect();
    names.extend(chosen.iter().filter_map(|path| base_name(path)));
    for name in names {
        let link = shims.join(name);
        symlink(&binary, &link).map_err(CaptureError::io(&link))?;
    }
    command.env(SESSION, session).env(SHIMS, &shims);

    if wanted == Interception::Preload
        && let Some(library) = preload_library(cache, toolchain)
    {
        command.env("LD_PRELOAD", prepend(&library, "LD_PRELOAD", ":"));
        // gcc's address sanitizer insists on being first; a test program run by the build still is
        // whole with a library before it.
        command.env(
            "ASAN_OPTIONS",
            prepend(Path::new("verify_asan_link_order=0"), "ASAN_OPTIONS", ":"),
        );
        return Ok(Interception::Preload);
    }
    command.env("PATH", prepend(&shims, "PATH", ":"));
    for variable in ["CC", "CXX"] {
        redirect_variable(command, variable, &shims)?;
    }
    Ok(Interception::Path)
}

/// The preload library, compiled once per version into the cache.
fn preload_library(cache: &Path, toolchain: &Toolchain) -> Option<PathBuf> {
    let library = cache.join(format!("preload-{}.so", &hash_of(PRELOAD.as_bytes())[..16]));
    if library.is_file() {
        return Some(library);
    }
    std::fs::create_dir_all(cache).ok()?;
    let folder = tempfile::tempdir_in(cache).ok()?;
    let source = folder.path().join("preload.c");
    std::fs::write(&source, PRELOAD).ok()?;
    let made = folder.path().join("preload.so");
    let output = Command::new(&toolchain.clang)
        .args(["-shared", "-fPIC", "-O2", "-w", "-o"])
        .args([&made, &source])
        .arg("-ldl")
        .output()
        .ok()?;
    if !output.status.success() {
        return None;
    }
    std::fs::rename(&made, &library).ok()?;
    Some(library)
}

fn prepend(first: &Path, variable: &str, separator: &str) -> OsString {
    let mut value = first.as_os_str().to_owned();
    if let Some(rest) = std::env::var_os(variable).filter(|rest| !rest.is_empty()) {
        value.push(separator);
        value.push(rest);
    }
    value
}

/// Compilers named by CC and CXX, in the environment or among the command's words
/// (`make CC=mycc`, `-DCMAKE_C_COMPILER=…`).
fn chosen_compilers(words: &[OsString]) -> Vec<PathBuf> {
    let variables = ["CC", "CXX", "-DCMAKE_C_COMPILER", "-DCMAKE_CXX_COMPILER"];
    let mut values: Vec<String> =
        ["CC", "CXX"].iter().filter_map(|name| std::env::var(name).ok()).collect();
    for word in words {
        let word = word.to_string_lossy();
        if let Some((name, value)) = word.split_once('=')
            && variables.contains(&name)
        {
            values.push(value.to_owned());
        }
    }
    values
        .iter()
        .filter_map(|value| shlex::split(value)?.into_iter().next())
        .map(PathBuf::from)
        .collect()
}

fn base_name(path: &Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}

fn tools_on_path() -> Vec<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).filter_map(|folder| std::fs::read_dir(folder).ok());
    let names =
        folders.flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| tool_of(name).is_some()).collect()
}

/// `CC=/opt/bin/gcc -m32` becomes the shim called gcc, which is told where the real one is.
fn redirect_variable(
    command: &mut Command,
    variable: &str,
    shims: &Path,
) -> Result<(), CaptureError> {
    let Ok(value) = std::env::var(variable) else { return Ok(()) };
    let Some(mut words) = shlex::split(&value).filter(|words| !words.is_empty()) else {
        return Ok(());
    };
    let compiler = PathBuf::from(&words[0]);
    let Some(name) = base_name(&compiler) else { return Ok(()) };
    if compiler.components().count() > 1 {
        let place = shims.join(format!(".real-{name}"));
        write_atomically(&place, compiler.as_os_str().as_encoded_bytes())?;
    }
    words[0] = shims.join(name).display().to_string();
    command.env(variable, words.join(" "));
    Ok(())
}
