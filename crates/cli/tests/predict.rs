//! The annotated programs in `tests/programs/predict`: from one recording, every marked race is
//! predicted and replayed, and nothing else is predicted at all.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use racewarden_finding::{Report, Verdict};
use racewarden_testkit::marks::{self, Truth};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/predict")
}

fn racewarden(arguments: &[&str]) -> Output {
    Command::new("timeout")
        .arg("120")
        .arg(env!("CARGO_BIN_EXE_racewarden"))
        .args(arguments)
        .output()
        .unwrap()
}

fn predict(arguments: &[&str]) -> Report {
    let output = racewarden(&[&["predict", "--format", "json"], arguments].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{arguments:?}: {error}: {}", String::from_utf8_lossy(&output.stderr))
    })
}

/// What disagrees with the marks. A prediction counts whether it was replayed or not.
fn disagreements(program: &marks::Program, report: &Report) -> Vec<String> {
    let lines: BTreeSet<u32> =
        report.races.iter().flat_map(|race| race.sites.iter().map(|site| site.line)).collect();
    let mut problems = Vec::new();
    for (line, mark) in &program.marks {
        if mark.truth == Truth::Race && !lines.contains(line) {
            problems.push(format!("{}:{line}: the race is missed", program.name));
        }
    }
    for line in lines {
        if program.marks.get(&line).is_none_or(|mark| mark.truth == Truth::NoRace) {
            problems.push(format!("{}:{line}: a false prediction", program.name));
        }
    }
    problems
}

/// A loaded machine may stop a replay, so one that failed is tried again; a false prediction
/// counts whenever it comes.
fn judge(program: &marks::Program) -> (Report, Vec<String>) {
    for _ in 0..2 {
        let report = predict(&[program.path.to_str().unwrap()]);
        let problems = disagreements(program, &report);
        let is_false = problems.iter().any(|problem| problem.contains("false prediction"));
        let is_replayed = report.races.iter().all(|race| race.verdict >= Verdict::Confirmed);
        if is_false || (problems.is_empty() && is_replayed) {
            return (report, problems);
        }
    }
    let report = predict(&[program.path.to_str().unwrap()]);
    let problems = disagreements(program, &report);
    (report, problems)
}

#[test]
fn annotated_programs() {
    let programs = marks::programs(&folder()).unwrap();
    assert!(programs.len() >= 50, "{} programs", programs.len());
    let next = AtomicUsize::new(0);
    let problems = Mutex::new(Vec::new());
    let verdicts: Mutex<BTreeMap<Verdict, usize>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (report, found) = judge(program);
                    problems.lock().unwrap().extend(found);
                    for race in &report.races {
                        *verdicts.lock().unwrap().entry(race.verdict).or_default() += 1;
                    }
                }
            });
        }
    });
    let problems = problems.into_inner().unwrap();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    let verdicts = verdicts.into_inner().unwrap();
    let all = verdicts.values().sum::<usize>();
    let confirmed: usize = [Verdict::Confirmed, Verdict::Harmful]
        .iter()
        .filter_map(|verdict| verdicts.get(verdict))
        .sum();
    assert!(confirmed * 100 >= all * 95, "{confirmed} of {all} were replayed");
}

/// The report on a program with its flags, without replays.
fn predict_only(program: &marks::Program) -> Report {
    let mut flags = program.flags.clone();
    if program.path.extension().is_some_and(|extension| extension == "cpp") {
        flags.push("-std=c++20".to_owned());
    }
    flags.push("-pthread".to_owned());
    let flags = format!("--cflags={}", flags.join(" "));
    predict(&[program.path.to_str().unwrap(), "--no-replay", "--no-ledger", &flags])
}

/// Nothing is predicted in programs that were written for other engines either: orders that come
/// from descriptors, streams, signals, declarations, jumps, atomics, assembly, OpenMP's runtime and
/// the ends of threads.
#[test]
fn nothing_is_predicted_in_safe_programs_of_other_engines() {
    let programs: Vec<marks::Program> = [
        "dynamic/adhoc",
        "dynamic/assembly",
        "dynamic/atomics",
        "dynamic/barriers",
        "dynamic/condvars",
        "dynamic/descriptors",
        "dynamic/ends",
        "dynamic/openmp",
        "dynamic/queues",
        "dynamic/requests",
        "dynamic/rwlocks",
        "dynamic/signals",
        "dynamic/streams",
        "openmp",
        "static/cpp",
        "static/openmp",
    ]
    .iter()
    .flat_map(|topic| marks::programs(&folder().join("..").join(topic)).unwrap())
    .filter(|program| program.name.contains("_safe."))
    .enumerate()
    // Every other one, but all that have regions.
    .filter(|(number, program)| number % 2 == 0 || !program.flags.is_empty())
    .map(|(_, program)| program)
    .collect();
    assert!(programs.len() >= 70, "{} programs", programs.len());
    let (next, problems) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let report = predict_only(program);
                    let cut =
                        report.notes.iter().find(|note| note.text.contains("followed only so far"));
                    if !report.races.is_empty() || cut.is_some() {
                        let races: Vec<String> =
                            report.races.iter().map(|race| format!("{:?}", race.sites)).collect();
                        let problem = format!("{}: {races:?} {cut:?}", program.name);
                        problems.lock().unwrap().push(problem);
                    }
                }
            });
        }
    });
    let problems = problems.into_inner().unwrap();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// What OpenMP's runtime does not order is still found.
#[test]
fn races_between_the_threads_of_a_team_are_predicted() {
    let programs = marks::programs(&folder().join("../openmp")).unwrap();
    let racy: Vec<_> = programs.iter().filter(|p| p.name.contains("_racy.")).collect();
    assert!(racy.len() >= 3);
    for program in racy {
        let problems = disagreements(program, &predict_only(program));
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }
}

/// Without the runtime's word nothing is predicted, and the report says why.
#[test]
fn a_silent_openmp_runtime_gives_no_predictions() {
    let program = folder().join("../openmp/two_locks_racy.c");
    let output = Command::new(env!("CARGO_BIN_EXE_racewarden"))
        .args(["predict", "--format", "json", "--no-replay", "--no-ledger", "--cflags=-fopenmp"])
        .arg(program)
        .env("OMP_TOOL", "disabled")
        .output()
        .unwrap();
    let report: Report = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report.races.is_empty(), "{:?}", report.races);
    let says = |words: &str| report.notes.iter().any(|note| note.text.contains(words));
    assert!(says("OpenMP runtime did not tell"), "{:?}", report.notes);
}

/// What a run has shown need not be predicted.
#[test]
fn known_races_are_left_out() {
    let program = folder().join("count_racy.c");
    let program = program.to_str().unwrap();
    let mut report = predict(&[program, "--no-replay"]);
    assert!(!report.races.is_empty());
    for race in &mut report.races {
        race.verdict = Verdict::Observed;
    }
    let file = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
    std::fs::write(file.path(), serde_json::to_vec(&report).unwrap()).unwrap();
    let rest = predict(&[program, "--no-replay", "--skip", file.path().to_str().unwrap()]);
    assert!(rest.races.is_empty(), "{:?}", rest.races);
    assert!(rest.notes.iter().any(|note| note.text.contains("known to race")), "{:?}", rest.notes);
}

/// Figure 1: each step of the ladder finds what the one before cannot.
#[test]
fn the_detectors_form_a_ladder() {
    let trace = tempfile::Builder::new().suffix(".rwt").tempfile().unwrap();
    let (trace, program) = (trace.path().to_str().unwrap(), folder().join("untaken_racy.c"));
    let output = racewarden(&["record", program.to_str().unwrap(), "-o", trace]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let count =
        |options: &[&str]| predict(&[&[trace, "--no-replay"], options].concat()).races.len();
    assert_eq!((count(&["--order-only"]), count(&["--no-branches"]), count(&[])), (0, 0, 1));
}

#[test]
fn bad_traces_are_refused_with_their_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    for (path, message) in [
        (file("foreign.rwt", b"\x7fELF and more"), "not a racewarden trace"),
        (file("future.rwt", b"RWT\x1a\x09\0\0\0\0\0\0\0"), "version 9"),
        (file("short.rwt", b"RWT\x1a\x01\0"), "cut off"),
        (file("empty.std", b""), "empty"),
        (file("lock.std", b"A|acq(l)|1\nB|acq(l)|2\n"), "line 2"),
        (file("words.std", b"hello\n"), "not a trace"),
    ] {
        let output = racewarden(&["predict", path.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(message) && said.contains(path.to_str().unwrap()), "{said}");
    }
}

#[test]
fn packed_traces_are_read_and_damaged_ones_refused() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("trace.std");
    std::fs::write(&plain, "A|w(x)|1\nB|w(x)|2\n").unwrap();
    let status = Command::new("gzip").arg(&plain).status().unwrap();
    assert!(status.success());
    let packed = folder.path().join("trace.std.gz");
    assert_eq!(predict(&[packed.to_str().unwrap()]).races.len(), 1);
    let bytes = std::fs::read(&packed).unwrap();
    std::fs::write(&packed, &bytes[..bytes.len() / 2]).unwrap();
    let output = racewarden(&["predict", packed.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("trace.std.gz"));
}

#[test]
fn a_trace_of_another_build_is_refused() {
    let trace = tempfile::Builder::new().suffix(".rwt").tempfile().unwrap();
    let trace = trace.path().to_str().unwrap();
    let program = |name: &str| folder().join(name).to_str().unwrap().to_owned();
    let output = racewarden(&["record", &program("count_racy.c"), "-o", trace]);
    assert!(output.status.success());
    let output = racewarden(&["predict", trace, &program("count_safe.c")]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("another build"), "{said}");
}

#[test]
fn loops_compute_the_same_recorded_in_either_way() {
    let trace = tempfile::Builder::new().suffix(".rwt").tempfile().unwrap();
    let path = trace.path().to_str().unwrap();
    let program = folder().join("loops_safe.c");
    let output = racewarden(&["record", program.to_str().unwrap(), "-o", path]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("total 22102"), "{said}");
    let output = racewarden(&["trace", "stats", path]);
    let stats = String::from_utf8_lossy(&output.stdout);
    assert!(stats.lines().any(|line| line.starts_with("loop ")), "{stats}");
    assert!(stats.lines().any(|line| line.starts_with("computed ")), "{stats}");
}

#[test]
fn a_recording_that_was_cut_off_still_gives_what_it_has() {
    let trace = tempfile::Builder::new().suffix(".rwt").tempfile().unwrap();
    let path = trace.path().to_str().unwrap();
    let program = folder().join("count_racy.c");
    assert!(racewarden(&["record", program.to_str().unwrap(), "-o", path]).status.success());
    let bytes = std::fs::read(path).unwrap();
    std::fs::write(path, &bytes[..bytes.len() - 7]).unwrap();
    let report = predict(&[path, "--no-replay"]);
    assert!(report.notes.iter().any(|note| note.text.contains("cut short")), "{:?}", report.notes);
}

#[test]
fn text_traces_have_exit_status_one_when_there_is_a_race() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.std");
    std::fs::write(&path, "A|w(x)|1\nA|acq(l)|2\nA|rel(l)|3\nB|acq(l)|4\nB|rel(l)|5\nB|w(x)|6\n")
        .unwrap();
    let output = racewarden(&["predict", path.to_str().unwrap(), "--format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let report: Report = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report.races[0].object, "x");
    assert_eq!(report.races[0].verdict, Verdict::Predicted);
}

#[test]
fn a_window_and_a_filter_leave_out_and_say_so() {
    let folder_of_traces = tempfile::tempdir().unwrap();
    let at = |name: &str| folder_of_traces.path().join(name).to_str().unwrap().to_owned();
    let (whole, first) = (at("whole.rwt"), at("first.rwt"));
    let program = folder().join("figure1.c").to_str().unwrap().to_owned();
    assert!(racewarden(&["record", &program, "-o", &whole]).status.success());
    assert!(racewarden(&["record", &program, "-o", &first, "--window", "12"]).status.success());
    let all = predict(&[&whole, "--no-replay", "--no-ledger"]);
    let some = predict(&[&first, "--no-replay", "--no-ledger"]);
    assert!(some.races.len() < all.races.len(), "{} of {}", some.races.len(), all.races.len());
    let says =
        |report: &Report, words: &str| report.notes.iter().any(|note| note.text.contains(words));
    assert!(says(&some, "first 12 events"), "{:?}", some.notes);
    // Only the lines of one race are left.
    let mut one = all.clone();
    one.races.truncate(1);
    let lines = at("one.json");
    std::fs::write(&lines, serde_json::to_vec(&one).unwrap()).unwrap();
    let filtered = predict(&[&whole, "--no-replay", "--no-ledger", "--filter", &lines]);
    let sites = |report: &Report| -> BTreeSet<u32> {
        report.races.iter().flat_map(|race| race.sites.iter().map(|site| site.line)).collect()
    };
    assert_eq!(sites(&filtered), sites(&one));
    assert!(sites(&filtered).len() < sites(&all).len());
    assert!(says(&filtered, "given lines"), "{:?}", filtered.notes);
}
