//! A hive with twenty real pods: processes of their own, each with its own home and token.

use std::path::Path;
use std::process::{Command, Stdio};

use racewarden_finding::{AccessKind, Race, Report, Site, Verdict};
use racewarden_testkit::HiveProcess;
use serde_json::Value;

const RACEWARDEN: &str = env!("CARGO_BIN_EXE_racewarden");
const PODS: usize = 20;

const PROGRAM: &str = r#"
#include <pthread.h>

static long shared, guarded;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *argument)
{
    for (int i = 0; i < 20; i++) {
        shared++;
        pthread_mutex_lock(&lock);
        guarded++;
        pthread_mutex_unlock(&lock);
    }
    return argument;
}

int main(void)
{
    pthread_t one, two;
    pthread_create(&one, 0, work, 0);
    pthread_create(&two, 0, work, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    return 7;
}
"#;

fn candidate(line_text: &str, object: &str) -> Race {
    let line = PROGRAM.lines().position(|line| line.contains(line_text)).unwrap() as u32 + 1;
    let site = || Site {
        file: "program.c".into(),
        line,
        column: 0,
        function: "work".into(),
        access: AccessKind::Write,
        lvalue: object.into(),
        atomic: false,
        locks: vec![],
        thread: "work".into(),
        stack: Default::default(),
    };
    Race::new(site(), site(), object, Verdict::Potential)
}

fn racewarden(folder: &Path) -> Command {
    let mut command = Command::new(RACEWARDEN);
    command.current_dir(folder).stdin(Stdio::null());
    command.env("RACEWARDEN_CACHE", folder.join("cache"));
    command
}

fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn publish(folder: &Path, hive: &HiveProcess) {
    std::fs::write(folder.join("program.c"), PROGRAM).unwrap();
    let races = vec![candidate("shared++", "shared"), candidate("guarded++", "guarded")];
    let mut report = Report { races, ..Report::default() };
    report.finish();
    let text = serde_json::to_string(&report).unwrap();
    std::fs::write(folder.join("candidates.json"), text).unwrap();
    let developer = hive.token("app", "developer").unwrap();
    succeed(
        racewarden(folder)
            .args(["hive", "publish", "program.c", "--cflags=-pthread", "--project", "app"])
            .args(["--build", "1.0", "--report", "candidates.json"])
            .args(["--hive", &hive.url, "--token", &developer]),
    );
}

#[test]
fn twenty_pods_confirm_the_race_and_not_its_look_alike() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let database = format!("sqlite:{}", folder.join("hive.db").display());
    let hive = HiveProcess::start(Path::new(RACEWARDEN), &database).unwrap();
    hive.create_project("app").unwrap();
    publish(folder, &hive);

    let pods: Vec<_> = (0..PODS)
        .map(|number| {
            let home = folder.join(format!("pod{number}"));
            let token = hive.token("app", "pod").unwrap();
            let pod = |arguments: &[&str]| {
                let mut command = racewarden(folder);
                command.arg("pod").args(arguments).env("RACEWARDEN_POD_HOME", &home);
                command
            };
            succeed(&mut pod(&["enrol", &hive.url, "app", "--token", &token, "--send"]));
            pod(&["daemon", "app", "--runs", "4"]).spawn().unwrap()
        })
        .collect();
    for mut pod in pods {
        assert!(pod.wait().unwrap().success());
    }

    let path = "/projects/app/builds/1.0/races";
    let report = hive.call("GET", path, &hive.admin, &Value::Null).unwrap();
    let verdict = |object: &str| {
        let races = report["races"].as_array().unwrap();
        let race = races.iter().find(|race| race["object"] == object).unwrap();
        race["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(verdict("shared"), "confirmed", "{report:#}");
    assert!(["potential", "likely-false"].contains(&verdict("guarded").as_str()), "{report:#}");
    assert_eq!(report["conclusion"], "racy");

    let path = "/projects/app/builds/1.0/fleet";
    let fleet = hive.call("GET", path, &hive.admin, &Value::Null).unwrap();
    assert_eq!(fleet["pods"].as_array().unwrap().len(), PODS);
}

#[test]
fn the_program_runs_as_if_there_were_no_hive() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let database = format!("sqlite:{}", folder.join("hive.db").display());
    let hive = HiveProcess::start(Path::new(RACEWARDEN), &database).unwrap();
    hive.create_project("app").unwrap();
    publish(folder, &hive);
    let token = hive.token("app", "pod").unwrap();
    let pod = |arguments: &[&str]| {
        let mut command = racewarden(folder);
        command.arg("pod").args(arguments).env("RACEWARDEN_POD_HOME", folder.join("pod"));
        command
    };
    succeed(&mut pod(&["enrol", &hive.url, "app", "--token", &token, "--send"]));
    let status = || pod(&["run", "app"]).stderr(Stdio::null()).status().unwrap().code();
    assert_eq!(status(), Some(7), "the exit status is the program's own");
    let url = hive.url.clone();
    hive.kill();
    assert_eq!(status(), Some(7), "{url} is gone, the program still runs");

    let shown = pod(&["show", "app"]).output().unwrap();
    let waiting: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert!(waiting.is_array());
    let off = pod(&["run", "app"]).env("RACEWARDEN_POD", "off").status().unwrap();
    assert_eq!(off.code(), Some(7));
}
