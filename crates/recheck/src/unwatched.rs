//! Which accesses a watched run may leave out, kept by the content of the units.
//!
//! Unlike a report this holds for one text of the sources only: places are named by line.

use racewarden_analysis::Unwatched;
use racewarden_bitcode::Error;
use racewarden_ir::Module;
use rayon::prelude::*;

use crate::cache::{Cache, Key};
use crate::{REVISION, Request, Unit};

/// What was found before, if it was kept.
pub fn kept_unwatched(request: &Request<'_>, foreign: bool) -> Option<Unwatched> {
    let folder = request.cache.as_ref()?;
    Cache::new(folder).get(FOLDER, &key(request, foreign).ok()?)
}

/// Finds the accesses, and keeps them for the next time. `foreign`: code is linked that is in none of
/// the units.
pub fn unwatched(request: &Request<'_>, foreign: bool) -> Result<Unwatched, Error> {
    let cache = request.cache.as_deref().map(Cache::new);
    let modules: Vec<Result<Module, Error>> = request
        .units
        .par_iter()
        .map(|path| match &cache {
            Some(cache) => Unit::open(path, request, cache)?.module(path, request, cache),
            None => racewarden_bitcode::lower_file_flat(path, &request.modelled()),
        })
        .collect();
    let program = racewarden_ir::link(modules.into_iter().collect::<Result<_, _>>()?);
    let found = racewarden_analysis::unwatched(&program, request.models, foreign, &|_| {});
    if let Some(cache) = &cache {
        let key = key(request, foreign)?;
        cache.put(FOLDER, &key, &found);
        cache.trim(&key);
    }
    Ok(found)
}

pub(crate) const FOLDER: &str = "unwatched";

fn key(request: &Request<'_>, foreign: bool) -> Result<Key, Error> {
    let mut parts = vec![REVISION.as_bytes().to_vec(), request.models_text.as_bytes().to_vec()];
    parts.push(vec![u8::from(foreign)]);
    for path in request.units {
        let bytes = std::fs::read(path);
        parts.push(bytes.map_err(|source| Error::Read { path: path.clone(), source })?);
    }
    Ok(Key::of(parts.iter().map(Vec::as_slice)))
}
