//! Files to models, alone or many at once.

use std::path::Path;

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use racewarden_ir as ir;
use rayon::prelude::*;

use crate::raw::Unit;
use crate::{Error, flatten, guard, lower, prepare};

/// Opens a `.bc` or `.ll` file, told apart by content, and checks that it is well formed.
pub fn open<'ctx>(context: &'ctx Context, path: &Path) -> Result<Module<'ctx>, Error> {
    let bytes = std::fs::read(path).map_err(|source| Error::Read { path: path.into(), source })?;
    let not_bitcode =
        |message: &str| Error::NotBitcode { path: path.into(), message: first_line(message, path) };
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(not_bitcode("the file is empty"));
    }
    guard::reading(path, || {
        let name = path.to_string_lossy().replace('\0', "?");
        let buffer = MemoryBuffer::create_from_memory_range_copy(&bytes, &name);
        let module = context
            .create_module_from_ir(buffer)
            .map_err(|message| not_bitcode(&message.to_string_lossy()))?;
        // With debug information LLVM has verified the module while reading it.
        if Unit::new(module.as_mut_ptr()).named_metadata(c"llvm.dbg.cu").is_empty() {
            module.verify().map_err(|message| not_bitcode(&message.to_string_lossy()))?;
        }
        Ok(module)
    })
}

/// LLVM's message without the file's name, which the error has already, and without the lines of
/// source and carets that follow.
fn first_line(message: &str, path: &Path) -> String {
    let line = message.trim().lines().next().unwrap_or_default();
    let line = line.strip_prefix(&*path.to_string_lossy()).unwrap_or(line);
    let line = line.trim_start_matches([':', ' ']);
    line.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Opens, prepares and lowers one file.
pub fn lower_file(path: impl AsRef<Path>) -> Result<ir::Module, Error> {
    let path = path.as_ref();
    let context = Context::create();
    let module = open(&context, path)?;
    guard::reading(path, || {
        prepare(&module)?;
        Ok(lower(&module))
    })
}

/// As [`lower_file`], with the C++ library's small functions in place; see [`crate::flatten`].
pub fn lower_file_flat(
    path: impl AsRef<Path>,
    modelled: &dyn Fn(&str) -> bool,
) -> Result<ir::Module, Error> {
    let path = path.as_ref();
    let context = Context::create();
    let module = open(&context, path)?;
    guard::reading(path, || {
        prepare(&module)?;
        flatten(&module, modelled)?;
        Ok(lower(&module))
    })
}

/// As [`lower_units`], with the C++ library's small functions in place.
pub fn lower_units_flat<P: AsRef<Path> + Sync>(
    paths: &[P],
    modelled: &(dyn Fn(&str) -> bool + Sync),
) -> Result<Vec<ir::Module>, Error> {
    let results: Vec<_> = paths.par_iter().map(|path| lower_file_flat(path, modelled)).collect();
    results.into_iter().collect()
}

/// Lowers many files, in their order; with `parallel`, on all cores, each file in an LLVM context
/// of its own. The first file that fails (by order, not by time) gives the error.
pub fn lower_units<P: AsRef<Path> + Sync>(
    paths: &[P],
    parallel: bool,
) -> Result<Vec<ir::Module>, Error> {
    let results: Vec<_> = if parallel {
        paths.par_iter().map(lower_file).collect()
    } else {
        paths.iter().map(lower_file).collect()
    };
    results.into_iter().collect()
}
