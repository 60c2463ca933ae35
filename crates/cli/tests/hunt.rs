//! `racewarden hunt` from a source file to verdicts, and back by replay.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

fn racewarden(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_racewarden"));
    command.current_dir(folder).stdin(Stdio::null());
    command.env("RACEWARDEN_CACHE", folder.join("cache"));
    command
}

fn hunt(folder: &Path, source: &Path, more: &[&str]) -> (Output, Value) {
    let output = racewarden(folder)
        .arg("hunt")
        .arg(source)
        .args(["--cflags=-pthread", "--format", "json"])
        .args(more)
        .output()
        .unwrap();
    let report = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (output, report)
}

fn verdicts_of(report: &Value, object: &str) -> Vec<String> {
    let races = report["races"].as_array().unwrap().iter();
    let on_object = races.filter(|race| race["object"].as_str().unwrap().contains(object));
    on_object.map(|race| race["verdict"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_bank_has_its_races_proved_and_its_look_alikes_spared() {
    let folder = tempfile::tempdir().unwrap();
    let bank = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/bank/bank.c");
    let (output, report) = hunt(folder.path(), &bank, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(report["conclusion"], "racy", "{report:#}");
    let proved = |verdict: &String| ["confirmed", "harmful"].contains(&verdict.as_str());
    for object in ["transfers_posted", "daily_rate", "session", "closing_balance"] {
        let verdicts = verdicts_of(&report, object);
        assert!(verdicts.iter().any(proved), "{object}: {verdicts:?}");
    }
    assert!(verdicts_of(&report, "session").contains(&"harmful".to_owned()), "{report:#}");
    for object in ["account", "fees", "per_teller", "requests", "bank_name", "opening_balance"] {
        let verdicts = verdicts_of(&report, object);
        assert!(!verdicts.iter().any(proved), "{object}: {verdicts:?}");
    }

    let harmful = report["races"].as_array().unwrap();
    let harmful = harmful.iter().find(|race| race["verdict"] == "harmful").unwrap();
    let name = harmful["id"].as_str().unwrap();
    let replay = racewarden(folder.path()).args(["replay", name]).output().unwrap();
    assert_eq!(replay.status.code(), Some(1), "{}", String::from_utf8_lossy(&replay.stderr));
}

#[test]
fn a_locked_program_is_race_free_and_a_missing_file_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("locked.c");
    let text = "#include <pthread.h>\n\
        static int n;\n\
        static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
        static void *work(void *a) {\n\
          pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m); return a; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); work(0);\n\
          pthread_join(t, 0); return n != 2; }\n";
    std::fs::write(&source, text).unwrap();
    let (output, report) = hunt(folder.path(), Path::new("locked.c"), &[]);
    assert_eq!((output.status.code(), &report["conclusion"]), (Some(0), &"race-free".into()));

    let missing = racewarden(folder.path()).args(["hunt", "nowhere.c"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("nowhere.c"));
}

#[test]
fn bitcode_that_no_engine_can_read_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("cut.bc"), b"BC\xc0\xde\x35\x14\0\0").unwrap();
    let output = racewarden(folder.path()).args(["hunt", "cut.bc"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("cut.bc: not readable as LLVM bitcode"), "{said}");
}

#[test]
fn a_program_that_never_exits_is_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("server.c");
    let text = "#include <pthread.h>\n#include <unistd.h>\n\
        static int hits;\n\
        static void *serve(void *a) { for (;;) { hits++; usleep(1000); } return a; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, serve, 0);\n\
          pthread_create(&t, 0, serve, 0); pause(); return 0; }\n";
    std::fs::write(&source, text).unwrap();
    let arguments = ["--for", "1s", "--engines", "check,run"];
    let (output, report) = hunt(folder.path(), Path::new("server.c"), &arguments);
    assert_eq!((output.status.code(), &report["conclusion"]), (Some(1), &"racy".into()));
}

/// Two threads that race, then a file that says so, then a wait that only a signal ends.
const WAITING: &str = "#include <fcntl.h>\n#include <pthread.h>\n#include <unistd.h>\n\
    static int hits;\n\
    static void *work(void *a) { hits++; return a; }\n\
    int main(void) { pthread_t t, u;\n\
      pthread_create(&t, 0, work, 0); pthread_create(&u, 0, work, 0);\n\
      pthread_join(t, 0); pthread_join(u, 0);\n\
      close(open(\"ready\", O_CREAT | O_WRONLY, 0600)); pause(); return 0; }\n";

/// Starts a hunt, interrupts it once the program waits, and gives what it reported.
fn interrupted_hunt(engines: &str) -> (Output, Value) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("waiting.c"), WAITING).unwrap();
    let child = racewarden(folder.path())
        .args(["hunt", "waiting.c", "--cflags=-pthread", "--format", "json"])
        .args(["--engines", engines, "--for", "500s", "--budget", "500s"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(240);
    while !folder.path().join("ready").exists() {
        assert!(Instant::now() < deadline, "the program never ran");
        std::thread::sleep(Duration::from_millis(20));
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let output = child.wait_with_output().unwrap();
    let report = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (output, report)
}

#[test]
fn an_interrupt_keeps_what_was_found() {
    let (output, report) = interrupted_hunt("check,run,predict,confirm");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let text = report.to_string();
    assert!(text.contains("interrupted before predict"), "{report:#}");
    assert_eq!(report["conclusion"], "racy", "the run saw the race: {report:#}");
}

#[test]
fn an_interrupt_while_confirming_keeps_the_candidates() {
    let (output, report) = interrupted_hunt("check,confirm");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(report.to_string().contains("interrupted"), "{report:#}");
    assert!(!verdicts_of(&report, "hits").is_empty(), "{report:#}");
}

#[test]
fn standard_input_is_given_to_every_run_and_is_empty_by_default() {
    let folder = tempfile::tempdir().unwrap();
    let text = "#include <pthread.h>\n#include <stdio.h>\n\
        static int n;\n\
        static void *work(void *a) { n++; return a; }\n\
        int main(void) { int c = getchar(); pthread_t t, u;\n\
          if (c == EOF) return 0;\n\
          pthread_create(&t, 0, work, 0); pthread_create(&u, 0, work, 0);\n\
          pthread_join(t, 0); pthread_join(u, 0); return 0; }\n";
    std::fs::write(folder.path().join("reader.c"), text).unwrap();
    std::fs::write(folder.path().join("input"), "x").unwrap();
    let engines = ["--engines", "check,run"];
    let (_, report) = hunt(folder.path(), Path::new("reader.c"), &engines);
    assert_eq!(report["conclusion"], "unknown", "{report:#}");
    assert!(report.to_string().contains("no second thread"), "the user is told: {report:#}");
    let given = ["--engines", "check,run", "--stdin", "input"];
    let (_, report) = hunt(folder.path(), Path::new("reader.c"), &given);
    assert_eq!(report["conclusion"], "racy", "{report:#}");
}
