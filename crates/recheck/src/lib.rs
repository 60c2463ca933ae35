//! Checks a program and keeps what was found, so that the next check after an edit only does what
//! the edit makes necessary.
//!
//! Everything is kept by content. A unit is known by its bitcode: what the engine can tell of it (its
//! [view](racewarden_analysis::View)) is kept under the bitcode's digest. A result is known by the
//! views of its units, the models and the options: it is kept as a [`Draft`] under their digest,
//! with places left open, and holds good for every program with those views. After an edit the units
//! that changed are lowered and viewed; when their views are what they were, the report is the kept
//! draft with the new places in it, and nothing is analysed. When they are not, the other units'
//! modules are there already; and where the edit has only changed what is computed or compared, the
//! engine looks whether it comes to what it has come to before, and where it has changed more than
//! that, whether contexts are what they were ([`draft_again`](racewarden_analysis::draft_again)).
//!
//! A kept file that is damaged, foreign or of another engine is as good as none. What cannot be kept
//! is made again: a cache never changes a result, and never fails a check.

#![forbid(unsafe_code)]

mod cache;
pub mod folder;
mod unwatched;

use std::path::PathBuf;

use racewarden_analysis::{Digest, Draft, Known, Options, Place, Places, Spot, View, place_in};
use racewarden_bitcode::Error;
use racewarden_finding::Report;
use racewarden_ir::{Alias, Function, Module, Program, Value};
use racewarden_models::Models;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use cache::{Cache, Key, MODULES};
pub use unwatched::{kept_unwatched, unwatched};

/// What is to be checked.
pub struct Request<'a> {
    /// The units' bitcode, in the order of the link.
    pub units: &'a [PathBuf],
    pub models: &'a Models,
    /// What the user adds to the built-in models, as it was written.
    pub models_text: &'a str,
    pub options: &'a Options,
    /// The folder where results are kept; none are without one.
    pub cache: Option<PathBuf>,
}

impl Request<'_> {
    /// Whether a model speaks for the function: such functions stay where they are.
    fn modelled(&self) -> impl Fn(&str) -> bool + Sync {
        |symbol: &str| self.models.for_function(symbol, true).is_some()
    }

    /// Whether a model speaks for a function of this name, should it have a body or not: that is not
    /// known before the units are linked.
    fn is_known(&self, symbol: &str) -> bool {
        let speaks = |has_body| self.models.for_function(symbol, has_body).is_some();
        speaks(false) || speaks(true)
    }
}

/// A report, and how it was come by.
pub struct Checked {
    pub report: Report,
    /// An earlier check's result was taken over.
    pub reused: bool,
}

/// Checks the program; `entered` hears the name of each stage as it begins.
pub fn check(request: &Request<'_>, entered: &dyn Fn(&'static str)) -> Result<Checked, Error> {
    entered("lowering");
    let Some(folder) = &request.cache else {
        let modelled = request.modelled();
        let units = racewarden_bitcode::lower_units_flat(request.units, &modelled)?;
        let program = racewarden_ir::link(units);
        let Request { models, options, .. } = request;
        let report = racewarden_analysis::check_in_stages(&program, models, options, entered);
        return Ok(Checked { report, reused: false });
    };
    let cache = Cache::new(folder);
    let units: Vec<Result<Unit, Error>> =
        request.units.par_iter().map(|path| Unit::open(path, request, &cache)).collect();
    let units: Vec<Unit> = units.into_iter().collect::<Result<_, _>>()?;
    let key = result_key(request, &units, |view| view.digest);
    let key = key.map(|digest| Key::from_bytes(&digest));
    if let Some(key) = &key
        && let Some(kept) = cache.get::<KeptDraft>("results", key)
        && let Some(report) = kept.report(&units, entered)
    {
        return Ok(Checked { report, reused: true });
    }
    let skeleton = result_key(request, &units, |view| view.skeleton);
    let frame = result_key(request, &units, |view| view.frame);
    let names = units.iter().map(|unit| unit.key.name().to_owned()).collect();
    let (modules, views): (Vec<Result<Module, Error>>, Vec<Option<View>>) = request
        .units
        .par_iter()
        .zip(units)
        .map(|(path, mut unit)| {
            let view = unit.view.take();
            (unit.module(path, request, &cache), view)
        })
        .unzip();
    let program = racewarden_ir::link(modules.into_iter().collect::<Result<_, _>>()?);
    let details = details(request, &program, &views);
    let bodies = of_functions(&program, &views, |places, symbol| places.body(symbol));
    let sums = of_functions(&program, &views, |places, symbol| places.sums(symbol));
    let Request { models, options, .. } = request;
    let (draft, reused) = match (skeleton, details, frame, bodies.zip(sums)) {
        (Some(skeleton), Some(details), Some(frame), Some((bodies, sums))) => {
            let known =
                Known { skeleton, details, frame, bodies, sums, units: names, kept: &cache };
            racewarden_analysis::draft_again(&program, models, options, &known, entered)
        }
        _ => (racewarden_analysis::draft(&program, models, options, entered), false),
    };
    entered("report");
    let report = draft.report(&|spot| place_in(&program, spot));
    if let Some(key) = key
        && let Some(kept) = KeptDraft::new(draft, &program)
    {
        entered("keeping");
        cache.put("results", &key, &kept);
        cache.trim(&key);
    }
    Ok(Checked { report, reused })
}

/// The digests of the functions' details, by their numbers in the program. None when a function that a
/// model speaks for has another name besides: what it is passed by that name was taken for a detail.
fn details(
    request: &Request<'_>,
    program: &Program,
    views: &[Option<View>],
) -> Option<Vec<Digest>> {
    let module = &program.module;
    let is_disguised = |alias: &Alias| match &alias.target {
        Value::Function(target) => {
            request.is_known(module.name_text(module.function(*target).name))
                && !request.is_known(module.name_text(alias.name))
        }
        _ => false,
    };
    if module.aliases.iter().any(is_disguised) {
        return None;
    }
    of_functions(program, views, |places, symbol| places.details(symbol))
}

/// What units say of their functions, by the functions' numbers in the program.
fn of_functions(
    program: &Program,
    views: &[Option<View>],
    part: impl Fn(&Places, &str) -> Option<Digest> + Sync,
) -> Option<Vec<Digest>> {
    let module = &program.module;
    let of = |(body, unit): (&Function, &u32)| {
        if body.is_declaration() {
            return Some(Digest::default());
        }
        part(&views.get(*unit as usize)?.as_ref()?.places, module.name_text(body.name))
    };
    module.functions.par_iter().zip(&program.function_units).map(of).collect()
}

/// A unit as far as it had to be looked into.
struct Unit {
    key: Key,
    view: Option<View>,
    /// There when the unit was not known.
    module: Option<Module>,
}

impl Unit {
    fn open(path: &PathBuf, request: &Request<'_>, cache: &Cache) -> Result<Unit, Error> {
        let bytes =
            std::fs::read(path).map_err(|source| Error::Read { path: path.clone(), source })?;
        let key = Key::of([REVISION.as_bytes(), request.models_text.as_bytes(), &bytes]);
        if let Some(view) = cache.get::<View>("units", &key) {
            return Ok(Unit { key, view: Some(view), module: None });
        }
        drop(bytes);
        let module = racewarden_bitcode::lower_file_flat(path, &request.modelled())?;
        let view = racewarden_analysis::view(&module, &|symbol| request.is_known(symbol));
        if let Some(view) = &view {
            cache.put("units", &key, view);
            cache.put(MODULES, &key, &module);
        }
        Ok(Unit { key, view, module: Some(module) })
    }

    /// The unit's module: of one that was known, the kept one.
    fn module(self, path: &PathBuf, request: &Request<'_>, cache: &Cache) -> Result<Module, Error> {
        match self.module.or_else(|| cache.get(MODULES, &self.key)) {
            Some(module) => Ok(module),
            None => racewarden_bitcode::lower_file_flat(path, &request.modelled()),
        }
    }
}

/// The engine's sources in one number.
const REVISION: &str = env!("RACEWARDEN_ENGINE");

/// What the result depends on, with so much of each unit; `None` when a unit has no view.
fn result_key(
    request: &Request<'_>,
    units: &[Unit],
    part: impl Fn(&View) -> Digest,
) -> Option<Digest> {
    let Options { api } = request.options;
    let mut hash = Sha256::new();
    for part in [REVISION.as_bytes(), &[u8::from(*api)], request.models_text.as_bytes()] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    for unit in units {
        hash.update(part(unit.view.as_ref()?));
    }
    Some(hash.finalize().into())
}

/// A draft whose spots are told by unit, symbol and the instruction's number in the unit's view.
#[derive(Serialize, Deserialize)]
struct KeptDraft {
    draft: Draft,
    /// Unit and symbol; the spots' functions are numbers in this list.
    functions: Vec<(u32, String)>,
}

impl KeptDraft {
    /// `None` when a spot is not in its unit's view.
    fn new(mut draft: Draft, program: &Program) -> Option<KeptDraft> {
        let module = &program.module;
        let mut functions = Vec::new();
        let mut known: FxHashMap<u32, (u32, Vec<u32>)> = FxHashMap::default();
        for spot in &mut draft.spots {
            let body = module.functions.get(spot.function as usize)?;
            let (number, insts) = known.entry(spot.function).or_insert_with(|| {
                let unit = program.function_units.get(spot.function as usize).copied();
                let symbol = module.name_text(body.name).to_owned();
                functions.push((unit.unwrap_or(u32::MAX), symbol));
                (functions.len() as u32 - 1, racewarden_analysis::numbers(body, module))
            });
            let inst = insts.get(spot.inst as usize).copied();
            let inst = inst.filter(|inst| *inst != u32::MAX)?;
            *spot = Spot { function: *number, inst, level: spot.level };
        }
        Some(KeptDraft { draft, functions })
    }

    /// The report for these units; `None` when they do not have all the places.
    fn report(&self, units: &[Unit], entered: &dyn Fn(&'static str)) -> Option<Report> {
        entered("report");
        let place = |spot: Spot| -> Option<Place> {
            let (unit, symbol) = self.functions.get(spot.function as usize)?;
            units.get(*unit as usize)?.view.as_ref()?.places.of(symbol, spot.inst, spot.level)
        };
        if !self.draft.spots.par_iter().all(|spot| place(*spot).is_some()) {
            return None;
        }
        Some(self.draft.report(&|spot| place(spot).unwrap_or_default()))
    }
}
