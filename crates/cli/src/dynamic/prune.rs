//! What `check` proves safe need not be watched.
//!
//! Which accesses those are is found once for a program and kept (see `racewarden_analysis`'s
//! `unwatched`). It is found by a process of its own that is given up when it takes too long; then
//! everything is watched.
//!
//! Accesses that only a lock keeps apart from others are left out for the engine that goes by
//! happens-before alone. The others learn from accesses under a lock which critical section came
//! before which, and would raise false alarms elsewhere without them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use racewarden_analysis::{Unwatched, UnwatchedPlaces};
use racewarden_capture::{Capture, LinkItem};
use racewarden_instrument::{Places, PlainAccess};

use crate::commands::check::Subject;
use crate::process::{spawn_group, wait_at_most};

/// How long a program may be looked at before it is built and run without that.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a watched run leaves out.
#[derive(Debug, Default)]
pub struct Pruned {
    pub places: Places,
    /// Places with plain accesses, and how many of them are left out by each reason.
    pub all: u64,
    pub reasons: BTreeMap<String, u64>,
    /// Why no more is left out.
    pub limit: Option<String>,
}

impl Pruned {
    /// Nothing, for a reason.
    fn nothing(limit: impl Into<String>) -> Pruned {
        Pruned { limit: Some(limit.into()), ..Pruned::default() }
    }

    pub fn left_out(&self) -> u64 {
        self.reasons.values().sum()
    }
}

/// The accesses that need not be watched; `locks_order` when the engine takes the order of critical
/// sections for an order.
pub fn prune(capture: &Capture, locks_order: bool) -> Pruned {
    let Some(target) = capture.targets.first() else { return Pruned::default() };
    let foreign = capture.notes.iter().any(|note| note.incomplete)
        || target.link.iter().any(has_foreign_code);
    let units: Vec<PathBuf> =
        target.units().iter().map(|unit| capture.units[*unit].bitcode.clone()).collect();
    match unwatched(&units, foreign) {
        Ok(found) => Pruned::new(found, locks_order),
        Err(error) => Pruned::nothing(format!("{error:#}")),
    }
}

impl Pruned {
    fn new(found: Unwatched, locks_order: bool) -> Pruned {
        let mut pruned = Pruned {
            all: found.places,
            reasons: found.reasons,
            limit: found.limit,
            ..Pruned::default()
        };
        let mut add = |places: UnwatchedPlaces| {
            for (file, list) in places {
                let own = list.into_iter().map(|at| PlainAccess {
                    line: at.line,
                    column: at.column,
                    write: at.write,
                });
                pruned.places.entry(file).or_default().extend(own);
            }
        };
        add(found.always);
        if locks_order {
            add(found.by_lock);
        } else {
            racewarden_analysis::BY_LOCK.iter().for_each(|reason| {
                pruned.reasons.remove(*reason);
            });
        }
        pruned
    }
}

/// Whether code comes with this that may use the program's functions and globals by their names.
fn has_foreign_code(item: &LinkItem) -> bool {
    match item {
        LinkItem::Archive { objects, .. } => !objects.is_empty(),
        LinkItem::File(path) => !is_shared_library(path),
        LinkItem::Unit(_) | LinkItem::Flag(_) => false,
    }
}

fn is_shared_library(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".so") || name.contains(".so.")
}

fn unwatched(units: &[PathBuf], foreign: bool) -> anyhow::Result<Unwatched> {
    let subject = Subject::new(None, false)?;
    let request = subject.request(units, true);
    if let Some(found) = racewarden_recheck::kept_unwatched(&request, foreign) {
        return Ok(found);
    }
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("unwatched").args(foreign.then_some("--foreign")).arg("--").args(units);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = wait_at_most(&mut spawn_group(&mut command)?, PATIENCE)?;
    anyhow::ensure!(status.is_some(), "it took too long to find what need not be watched");
    racewarden_recheck::kept_unwatched(&request, foreign)
        .ok_or_else(|| anyhow::anyhow!("what need not be watched could not be found"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shared_libraries_bring_no_code_that_names_the_program() {
        let file = |name: &str| has_foreign_code(&LinkItem::File(PathBuf::from(name)));
        assert!(file("a.o") && file("lib/libz.a"));
        assert!(!file("libz.so") && !file("lib/libz.so.1.2"));
        let archive = |objects| LinkItem::Archive {
            path: PathBuf::from("libown.a"),
            members: vec![0],
            objects,
        };
        assert!(!has_foreign_code(&archive(Vec::new())));
        assert!(has_foreign_code(&archive(vec![PathBuf::from("start.o")])));
    }

    #[test]
    fn accesses_that_a_lock_keeps_apart_are_left_out_for_happens_before_alone() {
        let at = |line| racewarden_analysis::PlainAccess { line, column: 1, write: true };
        let places = |line| BTreeMap::from([("a.c".to_owned(), [at(line)].into())]);
        let found = Unwatched {
            always: places(1),
            by_lock: places(2),
            places: 3,
            reasons: BTreeMap::from([("lock".to_owned(), 1), ("order".to_owned(), 1)]),
            limit: None,
        };
        let both = Pruned::new(found.clone(), true);
        assert_eq!((both.places["a.c"].len(), both.left_out()), (2, 2));
        let one = Pruned::new(found, false);
        assert_eq!((one.places["a.c"].len(), one.left_out()), (1, 1));
    }
}
