//! `racewarden run` held to every mark of the annotated programs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use racewarden_finding::{Report, Verdict};
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

/// Runs a program of the given source under `racewarden run` with further options.
fn report_of(source: &str, options: &[&str], environment: &[(&str, &str)]) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("program.c");
    std::fs::write(&file, source).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_racewarden"))
        .args(["run", "--format", "json", "--timeout", "100", "--cflags=-pthread"])
        .args(options)
        .arg(&file)
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("no report: {}", String::from_utf8_lossy(&output.stderr)))
}

/// Past the memory cap new memory goes unwatched, and the report says so; orders are still
/// followed, so nothing is reported that is not there.
#[test]
fn the_memory_cap_is_kept_and_told() {
    let source = r#"
        #include <pthread.h>
        #include <stdlib.h>
        static char *block;
        static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        static void *fill(void *argument) {
            pthread_mutex_lock(&mutex);
            for (size_t at = 0; at < 64u << 20; at += 4096) block[at]++;
            pthread_mutex_unlock(&mutex);
            return argument;
        }
        int main(void) {
            block = calloc(64u << 20, 1);
            pthread_t thread;
            pthread_create(&thread, NULL, fill, NULL);
            fill(NULL);
            pthread_join(thread, NULL);
        }"#;
    let capped = report_of(source, &["--memory-limit", "1"], &[]);
    let told = |report: &Report| report.notes.iter().any(|note| note.text.contains("memory limit"));
    assert!(told(&capped), "{:?}", capped.notes);
    assert!(capped.races.is_empty(), "{:?}", capped.races);
    let free = report_of(source, &[], &[]);
    assert!(!told(&free), "{:?}", free.notes);
}

/// The two accesses are kept apart only by the accident of lock order, again and again.
const ACCIDENT: &str = r#"
    #include <pthread.h>
    #include <sched.h>
    #include <stdlib.h>
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static int data, turn, rounds;
    static int hidden(int amount) {
        __asm__ volatile("lock xaddl %0, %1" : "+r"(amount), "+m"(turn));
        return amount;
    }
    static void visit(void) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    static void *second(void *argument) {
        for (int i = 0; i < rounds; i++) {
            while (hidden(0) != 2 * i + 1) sched_yield();
            visit();
            data++;
            visit();
            hidden(1);
        }
        return argument;
    }
    int main(int count, char **arguments) {
        rounds = ROUNDS;
        pthread_t thread;
        pthread_create(&thread, NULL, second, NULL);
        for (int i = 0; i < rounds; i++) {
            while (hidden(0) != 2 * i) sched_yield();
            visit();
            data++;
            visit();
            hidden(1);
        }
        pthread_join(thread, NULL);
    }"#;

/// MSM-short tells a suspicion at once, MSM-long when it has repeated, happens-before never.
#[test]
fn the_engines_differ_in_what_they_suspect() {
    let suspected = |rounds: &str, engine: &str| {
        let source = ACCIDENT.replace("ROUNDS", rounds);
        let report = report_of(&source, &["--engine", engine], &[]);
        assert!(report.races.iter().all(|race| race.verdict == Verdict::Potential), "{report:?}");
        !report.races.is_empty()
    };
    assert!(suspected("1", "short"));
    assert!(!suspected("1", "long"));
    assert!(suspected("6", "long"));
    assert!(!suspected("6", "hb"));
}

/// TSan's ways to say what not to report all work.
#[test]
fn suppressions_come_from_everywhere() {
    let source = |hook: &str| {
        format!(
            r#"#include <pthread.h>
            {hook}
            static int data;
            static void *benign_writer(void *argument) {{ data++; return argument; }}
            int main(void) {{
                pthread_t one, two;
                pthread_create(&one, 0, benign_writer, 0);
                pthread_create(&two, 0, benign_writer, 0);
                pthread_join(one, 0);
                pthread_join(two, 0);
            }}"#
        )
    };
    let is_open = |report: &Report| report.races.iter().any(|race| race.verdict.is_open());
    let plain = source("");
    assert!(is_open(&report_of(&plain, &[], &[])));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("list");
    std::fs::write(&file, "# ours\nrace:benign_*\n").unwrap();
    let path = file.to_str().unwrap();
    assert!(!is_open(&report_of(&plain, &["--suppressions", path], &[])));
    let option = format!("suppressions={path}");
    assert!(!is_open(&report_of(&plain, &[], &[("TSAN_OPTIONS", &option)])));
    assert!(!is_open(&report_of(&plain, &[], &[("RACEWARDEN_OPTIONS", &option)])));
    let hook =
        r#"const char *__tsan_default_suppressions(void) { return "race_top:benign_writer\n"; }"#;
    assert!(!is_open(&report_of(&source(hook), &[], &[])));
}

/// A program linked by `racewarden link` tells its race as text, symbolised, and leaves with the
/// status that TSan's runtime would.
#[test]
fn a_linked_program_tells_its_race_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let source = r#"
        #include <pthread.h>
        static int shared_counter;
        static void *count(void *argument) { shared_counter++; return argument; }
        int main(void) {
            pthread_t one, two;
            pthread_create(&one, 0, count, 0);
            pthread_create(&two, 0, count, 0);
            pthread_join(one, 0);
            pthread_join(two, 0);
            return 0;
        }"#;
    std::fs::write(place("program.c"), source).unwrap();
    let compiled = Command::new("clang-22")
        .args(["-g", "-fsanitize=thread", "-c", "-o"])
        .arg(place("program.o"))
        .arg(place("program.c"))
        .status()
        .unwrap();
    assert!(compiled.success());
    let linked = Command::new(env!("CARGO_BIN_EXE_racewarden"))
        .args(["link", "--c", "-o"])
        .arg(place("program"))
        .arg(place("program.o"))
        .status()
        .unwrap();
    assert!(linked.success());
    let output = Command::new(place("program")).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("data race on shared_counter"), "{text}");
    assert!(text.contains("program.c:4"), "{text}");
    // It tells of one race while the program runs: there is nothing to conclude yet.
    assert!(text.contains("holds no lock") && !text.contains("conclusion"), "{text}");
    assert_eq!(output.status.code(), Some(66), "{text}");
    std::fs::write(place("list"), "race:count\n").unwrap();
    let option = format!("suppressions={}", place("list").display());
    let output = Command::new(place("program")).env("TSAN_OPTIONS", option).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!text.contains("data race") && output.status.success(), "{text}");
}
