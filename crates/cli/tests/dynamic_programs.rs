//! `racewarden run` held to every mark of the annotated programs.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use racewarden_testkit::engines::Engine;
use racewarden_testkit::marks::programs;
use racewarden_testkit::score::disagreements;

#[test]
fn run_agrees_with_the_marks() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/dynamic");
    let programs = programs(&root).unwrap();
    let engine = Engine::Run {
        racewarden: PathBuf::from(env!("CARGO_BIN_EXE_racewarden")),
        options: Vec::new(),
    };
    let scratch = tempfile::tempdir().unwrap();
    let problems = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = match engine.judge(program, scratch.path()) {
                        Ok(lines) => disagreements(program, &lines, "dynamic"),
                        Err(error) => vec![format!("{error:#}")],
                    };
                    problems.lock().unwrap().extend(found);
                }
            });
        }
    });
    let mut problems = problems.into_inner().unwrap();
    problems.sort();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
