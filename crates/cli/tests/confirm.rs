//! The annotated programs in `tests/programs/confirm`: every candidate must get the verdict that
//! the program states, every time.
//!
//! A line's `pair(N kind)` makes it a side of candidate N; `verdict(N): …` at the top states what
//! must come out: `harmful crash|hang|assertion`, `confirmed`, `likely-false`, or `unproved`
//! (anything but a proof). `RACEWARDEN_REPEAT` sets how often each program is tried.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use racewarden_finding::{AccessKind, Engine, Note, NoteKind, Race, Report, Site, Verdict};

struct Annotated {
    path: PathBuf,
    report: Report,
    /// By candidate number: the words after `verdict(N):`.
    expected: BTreeMap<u32, String>,
    /// Fingerprint of each candidate.
    names: BTreeMap<u32, String>,
}

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/confirm")
}

fn read(path: &Path) -> Annotated {
    let text = std::fs::read_to_string(path).unwrap();
    let mut sides: BTreeMap<u32, Vec<Site>> = BTreeMap::new();
    let mut expected = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(rest) = line.strip_prefix("// verdict(") {
            let (number, words) = rest.split_once("): ").unwrap();
            expected.insert(number.parse().unwrap(), words.trim().to_owned());
        }
        for mark in line.split("pair(").skip(1) {
            let (number, kind) = mark.split(')').next().unwrap().split_once(' ').unwrap();
            let access = if kind == "write" { AccessKind::Write } else { AccessKind::Read };
            sides.entry(number.parse().unwrap()).or_default().push(Site {
                file: path.to_string_lossy().into_owned(),
                line: index as u32 + 1,
                column: 0,
                function: String::new(),
                access,
                lvalue: format!("candidate {number}"),
                atomic: false,
                locks: vec![],
                thread: String::new(),
                stack: Default::default(),
            });
        }
    }
    let mut report = Report::default();
    let mut names = BTreeMap::new();
    for (number, sites) in sides {
        let [a, b] = <[Site; 2]>::try_from(sites).unwrap_or_else(|sites| {
            panic!("{}: candidate {number} has {} sides", path.display(), sites.len())
        });
        let race = Race::new(a, b, format!("candidate {number}"), Verdict::Potential);
        names.insert(number, race.fingerprint.0.clone());
        report.races.push(race);
    }
    assert_eq!(names.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    Annotated { path: path.to_owned(), report, expected, names }
}

fn racewarden(cache: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_racewarden"));
    command.env("RACEWARDEN_CACHE", cache).current_dir(cache);
    command
}

fn confirm(program: &Annotated, cache: &Path) -> Report {
    confirm_with(program, cache, "")
}

fn confirm_with(program: &Annotated, cache: &Path, cflags: &str) -> Report {
    let candidates = cache.join("candidates.json");
    std::fs::write(&candidates, serde_json::to_string(&program.report).unwrap()).unwrap();
    let output = racewarden(cache)
        .args(["confirm", "--format", "json", "--cflags", cflags, "--report"])
        .arg(&candidates)
        .arg(&program.path)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("{error}: {text}\n{}", String::from_utf8_lossy(&output.stderr))
    })
}

fn found<'r>(report: &'r Report, program: &Annotated, number: u32) -> &'r Race {
    report.races.iter().find(|race| race.fingerprint.0 == program.names[&number]).unwrap()
}

fn detail(race: &Race, key: &str) -> Option<serde_json::Value> {
    race.evidence.iter().rev().find_map(|evidence| evidence.detail.get(key).cloned())
}

fn check(program: &Annotated, report: &Report) {
    for (number, expected) in &program.expected {
        let race = found(report, program, *number);
        let (verdict, harm) = expected.split_once(' ').unwrap_or((expected, ""));
        let context = format!(
            "{} candidate {number}: {} instead of {expected}; {:?}",
            program.path.display(),
            race.verdict,
            race.evidence
        );
        match verdict {
            "unproved" => assert!(!race.verdict.is_proof(), "{context}"),
            _ => assert_eq!(race.verdict.as_str(), verdict, "{context}"),
        }
        if !harm.is_empty() {
            let words = detail(race, "harm").unwrap();
            assert!(words.as_str().unwrap().starts_with(harm), "{context}");
        }
        if race.verdict >= Verdict::Confirmed {
            let schedule = detail(race, "schedule").unwrap();
            assert!(schedule.as_str().unwrap().starts_with("rw1:main"), "{context}");
            check_timeline(race, &context);
        }
    }
}

/// The picture of a proved race: both accesses marked, each on its own lane, and the violation's
/// place in the source.
fn check_timeline(race: &Race, context: &str) {
    let timeline = detail(race, "timeline").unwrap();
    let racing: Vec<_> = timeline
        .as_array()
        .unwrap()
        .iter()
        .filter(|step| step["racing"] == true)
        .map(|step| (step["thread"].as_u64().unwrap(), step["line"].as_u64().unwrap()))
        .collect();
    let mut lanes: Vec<_> = racing.clone();
    lanes.sort_unstable();
    let expected = [0, 1].map(|lane| (lane as u64, u64::from(race.sites[lane].line)));
    assert_eq!(lanes, expected, "{context}");
    for site in &race.sites {
        assert_eq!(site.stack.first().map(|frame| frame.line), Some(site.line), "{context}");
    }
    if let Some(violation) = detail(race, "violation") {
        let innermost = &violation["stack"][0]["line"];
        let stands = innermost.as_u64().is_some_and(|line| line > 0);
        assert!(stands || violation["kind"] == "hang", "{context}");
    }
}

fn repetitions() -> usize {
    std::env::var("RACEWARDEN_REPEAT").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

fn all() -> Vec<Annotated> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(programs()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

#[test]
fn every_candidate_gets_its_verdict_every_time() {
    let cache = tempfile::tempdir().unwrap();
    let programs = all();
    assert!(programs.len() >= 40, "{} programs", programs.len());
    for program in &programs {
        for _ in 0..repetitions() {
            check(program, &confirm(program, cache.path()));
        }
    }
}

/// Gated code is found where the optimiser has put it, and behind landing marks for branches.
#[test]
fn optimised_and_hardened_code_is_entered_too() {
    let cache = tempfile::tempdir().unwrap();
    for flags in ["-O2", "-O2 -fcf-protection=full", "-Os"] {
        for name in ["small_helpers.c", "out_of_line.c", "late_teardown.c"] {
            let program = read(&programs().join(name));
            check(&program, &confirm_with(&program, cache.path(), flags));
        }
    }
}

#[test]
fn a_confirmed_race_replays_from_its_printed_schedule() {
    let cache = tempfile::tempdir().unwrap();
    for name in ["late_teardown.c", "lost_wakeup.c", "statistics.c", "copied.c"] {
        let program = read(&programs().join(name));
        let report = confirm(&program, cache.path());
        let race = report.races.first().unwrap();
        let file = cache.path().join("confirmed.json");
        std::fs::write(&file, serde_json::to_string(&report).unwrap()).unwrap();
        for _ in 0..repetitions() {
            let mut command = racewarden(cache.path());
            command.args(["replay", "--race", &race.id, "--report"]).arg(&file);
            let output = command.arg(&program.path).output().unwrap();
            let told = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{name}: {told}");
            assert!(told.contains("both threads stood at their accesses"), "{name}: {told}");
            if let Some(harm) = detail(race, "harm") {
                let kind = harm.as_str().unwrap().split([' ', ':']).next().unwrap().to_owned();
                assert!(told.contains(&kind), "{name}: {told}");
            }
        }
    }
}

#[test]
fn a_schedule_of_many_steps_is_followed_to_the_letter() {
    let cache = tempfile::tempdir().unwrap();
    let source = programs().join("lost_update.c");
    let replay = |schedule: &str| {
        let output = racewarden(cache.path())
            .args(["replay", "--attempts", "1", "--schedule", schedule])
            .arg(&source)
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    // Both read, then both write: one deposit is lost.
    let lost = "rw1:main.2@deposit+0#1>main.1@deposit+0#1>main.1@deposit+2#1>main.2@deposit+2#1";
    // One after the other: nothing is lost, and the last two steps are of one thread.
    let kept = "rw1:main.2@deposit+0#1>main.2@deposit+2#1>main.1@deposit+0#1>main.1@deposit+2#1";
    for _ in 0..repetitions() {
        let (code, told) = replay(lost);
        assert_eq!(code, Some(1), "{told}");
        // The program speaks of itself by its own name.
        assert!(told.contains("lost_update: "), "{told}");
        assert!(told.contains("replay: assertion: "), "{told}");
    }
    let (code, told) = replay(kept);
    assert_eq!(code, Some(0), "{told}");
    assert!(!told.contains("assertion"), "{told}");
}

#[test]
fn a_schedule_can_name_a_later_visit_to_a_call() {
    const ROUNDS: &str = r#"
#include <assert.h>
#include <pthread.h>

static int round_now;

static void begin(int number) { round_now = number; }

static void *look(void *unused) {
    int seen = round_now;
    int later = round_now;
    assert(seen != 1 || later != 2);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, look, 0);
    for (int number = 1; number <= 3; number++)
        begin(number);
    pthread_join(thread, 0);
    return 0;
}
"#;
    let cache = tempfile::tempdir().unwrap();
    let source = cache.path().join("rounds.c");
    std::fs::write(&source, ROUNDS).unwrap();
    // One look after the first round, the other between the second and the third.
    let schedule = "rw1:main@main+8#1>main.1@look+0#1>main@main+8#2\
                    >main.1@look+1#1>main@begin+0#3";
    for _ in 0..repetitions() {
        let output = racewarden(cache.path())
            .args(["replay", "--attempts", "1", "--schedule", schedule])
            .arg(&source)
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("replay: assertion: "), "{told}");
    }
}

#[test]
fn the_programs_own_handler_still_runs() {
    let cache = tempfile::tempdir().unwrap();
    let program = read(&programs().join("own_handler.c"));
    let report = confirm(&program, cache.path());
    let race = report.races.first().unwrap();
    // Noted on the way, then left to the program.
    assert_eq!(detail(race, "harm").unwrap(), "crash: SIGSEGV, handled by the program");
}

#[test]
fn without_a_report_all_engines_find_the_candidates() {
    let cache = tempfile::tempdir().unwrap();
    let output = racewarden(cache.path())
        .args(["confirm", "--format", "json", "--no-ledger"])
        .arg(programs().join("lost_update.c"))
        .output()
        .unwrap();
    let report: Report = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{report:?}");
    let engines: Vec<_> = report.races[0].evidence.iter().map(|one| one.engine).collect();
    for engine in [Engine::Check, Engine::Run, Engine::Predict, Engine::Confirm] {
        assert!(engines.contains(&engine), "{engine:?} is missing: {report:?}");
    }
    assert_eq!(report.races[0].verdict, Verdict::Harmful);
}

/// A program that refuses writable code to everyone in its process, as hardened systems do.
const HARDENED: &str = r#"
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int mprotect(void *from, size_t length, int how) {
    if ((how & PROT_WRITE) && (how & PROT_EXEC)) {
        errno = EACCES;
        return -1;
    }
    return (int)syscall(SYS_mprotect, from, length, how);
}

static int balance;
static void *deposit(void *unused) {
    balance++;
    return unused;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, deposit, 0);
    pthread_create(&other, 0, deposit, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
"#;

#[test]
fn a_system_that_keeps_code_as_it_is_weakens_the_result() {
    let cache = tempfile::tempdir().unwrap();
    let source = cache.path().join("hardened.c");
    std::fs::write(&source, HARDENED).unwrap();
    let candidates = cache.path().join("candidates.json");
    let check = racewarden(cache.path())
        .args(["check", "--format", "json", "--no-ledger", "-o"])
        .args([&candidates, &source])
        .output()
        .unwrap();
    assert_eq!(check.status.code(), Some(1), "{check:?}");
    let output = racewarden(cache.path())
        .args(["confirm", "--format", "json", "--no-ledger", "--report"])
        .args([&candidates, &source])
        .output()
        .unwrap();
    let report: Report = serde_json::from_slice(&output.stdout).unwrap();
    let told =
        |note: &Note| note.kind == NoteKind::Weakens && note.text.contains("change its own code");
    assert!(report.notes.iter().any(told), "{report:?}");
    assert_eq!(report.races[0].verdict, Verdict::Potential);
}

#[test]
fn bad_input_is_told_and_exits_with_two() {
    let cache = tempfile::tempdir().unwrap();
    let source = programs().join("lost_update.c");
    let broken = cache.path().join("broken.json");
    std::fs::write(&broken, "{").unwrap();
    for arguments in [
        vec!["replay", "--schedule", "rw9:x"],
        vec!["replay", "--schedule", "rw1:main@nowhere+1#1>main.1@nowhere+2#1"],
        vec!["replay"],
        vec!["confirm", "--report", "no-such-file.json"],
        vec!["confirm", "--report", broken.to_str().unwrap()],
    ] {
        let output = racewarden(cache.path()).args(&arguments).arg(&source).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.starts_with("racewarden: "), "{arguments:?}: {told}");
        assert!(!told.contains("panicked"), "{arguments:?}: {told}");
    }
}

#[test]
fn a_harmful_race_replays_under_the_debugger() {
    use std::io::Write;
    let cache = tempfile::tempdir().unwrap();
    let program = read(&programs().join("late_teardown.c"));
    let report = confirm(&program, cache.path());
    let file = cache.path().join("confirmed.json");
    std::fs::write(&file, serde_json::to_string(&report).unwrap()).unwrap();
    let mut gdb = racewarden(cache.path())
        .args(["replay", "--gdb", "--race", &report.races[0].id, "--report"])
        .arg(&file)
        .arg(&program.path)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let commands = b"show environment RACEWARDEN_GATE\nrun\nbacktrace\nkill\nquit\n";
    gdb.stdin.take().unwrap().write_all(commands).unwrap();
    let output = gdb.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("RACEWARDEN_GATE = "), "{told}");
    // A container may forbid debugging altogether.
    if !told.contains("ptrace") {
        assert!(told.contains("SIGSEGV") && told.contains("worker"), "{told}");
    }
}
