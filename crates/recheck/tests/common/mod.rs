//! Checks of a program's sources, as `racewarden check` makes them.

use std::path::{Path, PathBuf};

use racewarden_analysis::Options;
use racewarden_capture::{DirectRequest, capture_inputs};
use racewarden_models::Models;
use racewarden_recheck::{Checked, Request, check};

/// Checks these sources of the folder, with the cache or without one; `entered` hears of each stage.
pub fn check_sources(
    folder: &Path,
    sources: &[&str],
    cache: Option<&Path>,
    entered: &dyn Fn(&'static str),
) -> Checked {
    let request = DirectRequest {
        inputs: sources.iter().map(|name| folder.join(name)).collect(),
        cflags: Vec::new(),
        cache: folder.join("bitcode"),
    };
    let capture = capture_inputs(&request).unwrap_or_else(|error| panic!("{error}"));
    let units: Vec<PathBuf> = capture.units.into_iter().map(|unit| unit.bitcode).collect();
    let request = Request {
        units: &units,
        models: Models::builtin(),
        models_text: "",
        options: &Options::default(),
        cache: cache.map(Path::to_owned),
    };
    check(&request, entered).unwrap_or_else(|error| panic!("{error}"))
}

/// The whole report, to be held against another's.
pub fn text(checked: &Checked) -> String {
    serde_json::to_string_pretty(&checked.report).expect("a report is JSON")
}
