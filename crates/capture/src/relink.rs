//! Linking a target again from other objects than the user's: instrumented ones.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{CaptureError, LinkItem, Target, TargetKind, Toolchain};

/// Makes the command that links `target` with `objects[unit]` in place of each captured unit,
/// everything else and the order as in the user's own link. It runs where the user's ran, so
/// relative paths hold. Archives are made again in `scratch`, which must exist, so that the linker
/// still takes only the members it needs.
pub fn link_command(
    toolchain: &Toolchain,
    target: &Target,
    objects: &[PathBuf],
    scratch: &Path,
    output: &Path,
) -> Result<Command, CaptureError> {
    if target.kind == TargetKind::StaticLibrary {
        return Err(CaptureError::NotLinked(target.name.clone()));
    }
    let object = |unit: &usize| {
        objects
            .get(*unit)
            .ok_or_else(|| CaptureError::NoObject { target: target.name.clone(), unit: *unit })
    };
    let mut command = Command::new(if target.cxx { &toolchain.clangxx } else { &toolchain.clang });
    // The recipe's flags were meant for another driver; what clang finds superfluous is no matter.
    command.arg("-Wno-unused-command-line-argument").arg("-o").arg(output);
    if target.directory.is_dir() {
        command.current_dir(&target.directory);
    }
    for (position, item) in target.link.iter().enumerate() {
        match item {
            LinkItem::Unit(unit) => {
                command.arg(object(unit)?);
            }
            LinkItem::Archive { path, members, objects: uncaptured } => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let archive = scratch.join(format!("{position}-{name}"));
                let mut files = members.iter().map(object).collect::<Result<Vec<_>, _>>()?;
                files.extend(uncaptured);
                make_archive(toolchain, &archive, &files)?;
                command.arg(archive);
            }
            LinkItem::File(path) => {
                command.arg(path);
            }
            LinkItem::Flag(flag) => {
                command.arg(flag);
            }
        }
    }
    Ok(command)
}

/// `q` appends, so that two members of one base name both stay.
fn make_archive(
    toolchain: &Toolchain,
    archive: &Path,
    files: &[&PathBuf],
) -> Result<(), CaptureError> {
    if archive.exists() {
        std::fs::remove_file(archive).map_err(CaptureError::io(archive))?;
    }
    let tool = toolchain.companion("llvm-ar");
    let mut command = Command::new(&tool);
    command.arg("qcS").arg(archive).args(files);
    let made = command.output().map_err(CaptureError::io(&tool))?;
    let indexed =
        Command::new(&tool).arg("s").arg(archive).output().map_err(CaptureError::io(&tool))?;
    for output in [made, indexed] {
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
            return Err(CaptureError::Rejected { path: archive.to_owned(), message });
        }
    }
    Ok(())
}
