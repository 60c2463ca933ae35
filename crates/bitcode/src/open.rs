//! Files to models, alone or many at once.

use std::path::Path;

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use racewarden_ir as ir;
use rayon::prelude::*;

use crate::{Error, lower, prepare};

/// Opens a `.bc` or `.ll` file, told apart by content.
pub fn open<'ctx>(context: &'ctx Context, path: &Path) -> Result<Module<'ctx>, Error> {
    let bytes = std::fs::read(path).map_err(|source| Error::Read { path: path.into(), source })?;
    let not_bitcode = |message: String| Error::NotBitcode { path: path.into(), message };
    let name = path.to_string_lossy().replace('\0', "?");
    let buffer = MemoryBuffer::create_from_memory_range_copy(&bytes, &name);
    context.create_module_from_ir(buffer).map_err(|message| {
        let message = message.to_string_lossy();
        not_bitcode(message.trim().to_owned())
    })
}

/// Opens, prepares and lowers one file.
pub fn lower_file(path: impl AsRef<Path>) -> Result<ir::Module, Error> {
    let context = Context::create();
    let module = open(&context, path.as_ref())?;
    prepare(&module)?;
    Ok(lower(&module))
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
