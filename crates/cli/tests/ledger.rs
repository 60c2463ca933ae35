//! The life of a race as the commands show it: named once, followed through edits, set aside and
//! taken back, fixed, reopened. The static engine finds the races, so nothing depends on a run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const RACY: &str = "\
#include <pthread.h>
struct stats { int hits, misses; };
static struct stats totals;
static int configured;
static void *worker(void *argument) {
  struct stats *mine = &totals;
  mine->hits++;
  configured = 1;
  return argument;
}
int main(void) {
  pthread_t first, second;
  pthread_create(&first, 0, worker, 0);
  pthread_create(&second, 0, worker, 0);
  pthread_join(first, 0);
  pthread_join(second, 0);
  return totals.hits;
}
";

/// A folder with one source and a ledger of its own.
struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let project = Project { folder: tempfile::tempdir().unwrap() };
        project.write(RACY);
        project
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn ledger(&self) -> PathBuf {
        self.path().join("ledger.db")
    }

    fn write(&self, text: &str) {
        std::fs::write(self.path().join("stats.c"), text).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_racewarden"));
        command.args(arguments).current_dir(self.path()).stdin(Stdio::null());
        command.env("RACEWARDEN_CACHE", self.path().join("cache"));
        command.env("RACEWARDEN_LEDGER", self.ledger());
        command.env("RACEWARDEN_AUTHOR", "ada");
        command
    }

    /// Runs a command that must end with `status`; gives its output.
    fn run(&self, arguments: &[&str], status: i32) -> String {
        let output = self.command(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    fn check(&self) -> Value {
        let output = self.command(&["check", "stats.c", "--format", "json"]).output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", said(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Name and status of every race that the ledger knows.
    fn states(&self) -> Vec<(String, String)> {
        let list: Value =
            serde_json::from_str(&self.run(&["races", "--all", "--json"], 0)).unwrap();
        let races = list["races"].as_array().unwrap().iter();
        let mut states: Vec<(String, String)> = races
            .map(|entry| {
                let word = |value: &Value| value.as_str().unwrap().to_owned();
                (word(&entry["race"]["id"]), word(&entry["state"]["status"]))
            })
            .collect();
        states.sort();
        states
    }

    fn shown(&self, race: &str) -> Value {
        serde_json::from_str(&self.run(&["show", race, "--json"], 0)).unwrap()
    }

    /// The name of the one race on an object, and of a write against a write.
    fn race_on(&self, report: &Value, object: &str) -> String {
        let races = report["races"].as_array().unwrap();
        let race = races.iter().find(|race| {
            let sites = race["sites"].as_array().unwrap();
            race["object"].as_str().unwrap().contains(object)
                && sites.iter().all(|site| site["access"] == "write")
        });
        let race = race.unwrap_or_else(|| panic!("no race on {object}: {report:#}"));
        race["id"].as_str().unwrap().to_owned()
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn edits_that_change_nothing_keep_every_name() {
    let project = Project::new();
    let first = project.check();
    let before = project.states();
    assert!(before.len() >= 2, "{first:#}");
    assert!(before.iter().all(|(_, status)| status == "open"));

    let moved = format!(
        "/* a licence\n * of several lines\n */\n\n{RACY}\nint unrelated(void) {{ return 3; }}\n"
    );
    let renamed = moved.replace("mine", "own_numbers").replace("argument", "unused");
    let grown = renamed
        .replace("static int configured;", "static int configured;\nstatic int another;")
        .replace("  configured = 1;", "  int local = 4;\n  (void)local;\n  configured = 1;");
    for text in [&moved, &renamed, &grown] {
        project.write(text);
        project.check();
        assert_eq!(project.states(), before, "after:\n{text}");
    }
}

#[test]
fn a_fix_is_noticed_and_its_return_is_a_regression() {
    let project = Project::new();
    let report = project.check();
    let name = project.race_on(&report, "configured");

    let fixed = RACY.replace("static int configured;", "static _Atomic int configured;");
    project.write(&fixed);
    let output = project.command(&["check", "stats.c"]).output().unwrap();
    assert!(said(&output).contains(&format!("fixed {name}")), "{}", said(&output));
    assert!(project.states().contains(&(name.clone(), "fixed".to_owned())));
    assert!(!project.run(&["races"], 0).contains("configured"), "a fixed race is not listed");
    assert!(project.run(&["races", "--status", "fixed"], 0).contains("configured"));

    project.write(RACY);
    project.check();
    let shown = project.shown(&name);
    assert_eq!(shown["state"]["status"], "open");
    assert_eq!(shown["state"]["regression"], true);
    assert!(project.run(&["races", "--regressions"], 0).contains("[regression]"));
    let actions: Vec<&str> = shown["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["action"].as_str().unwrap())
        .collect();
    assert!(actions.len() >= 3, "found, fixed, reopened: {actions:?}");
}

#[test]
fn people_set_races_aside_with_a_reason_and_take_it_back() {
    let project = Project::new();
    let name = project.race_on(&project.check(), "configured");

    let refused = project.command(&["mark", &name, "suppressed"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "no reason was given");
    assert!(said(&refused).contains("reason"));

    project.run(&["mark", &name, "suppressed", "--reason", "set once, to one value"], 0);
    assert!(!project.run(&["races"], 0).contains(&format!("{name} ")));
    let again = project.check();
    let race = again["races"].as_array().unwrap().iter().find(|race| race["id"] == name.as_str());
    assert_eq!(race.unwrap()["verdict"], "suppressed", "a later check heeds it");
    assert!(project.run(&["show", &name], 0).contains("set once, to one value"));

    project.run(&["mark", &name, "--assign", "grace"], 0);
    assert_eq!(project.shown(&name)["state"]["assignee"], "grace");
    project.run(&["mark", &name, "--undo"], 0);
    assert_eq!(project.shown(&name)["state"]["assignee"], "");
    project.run(&["mark", &name, "--undo"], 0);
    let shown = project.shown(&name);
    assert_eq!(shown["state"]["status"], "open");
    let history = shown["history"].as_array().unwrap();
    assert!(history.iter().any(|item| item["undone"] == true && item["actor"] == "ada"));

    let unknown =
        project.command(&["mark", "R999", "suppressed", "--reason", "x"]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(2));
    let unknown = project.command(&["show", "R999"]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(2));
    assert!(said(&unknown).contains("R999"), "{}", said(&unknown));
}

#[test]
fn only_new_races_fail_a_difference() {
    let project = Project::new();
    let save = |name: &str| {
        let arguments = ["check", "stats.c", "--format", "json", "--output", name];
        let output = project.command(&arguments).output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", said(&output));
    };
    save("old.json");
    project.write(&format!("\n\n{RACY}"));
    save("moved.json");
    let same = project.run(&["diff", "old.json", "moved.json", "--fail-on", "new"], 0);
    assert!(same.contains("0 new, 0 worse, 0 gone"), "{same}");

    let worse = RACY.replace("  mine->hits++;", "  mine->hits++;\n  mine->misses++;");
    project.write(&worse);
    save("new.json");
    let text = project.run(&["diff", "old.json", "new.json", "--fail-on", "new"], 1);
    assert!(text.lines().any(|line| line.starts_with("new") && line.contains("misses")), "{text}");
    project.run(&["diff", "old.json", "new.json", "--fail-on", "none"], 0);
    project.run(&["diff", "new.json", "old.json", "--fail-on", "new"], 0);
    project.run(&["diff", "new.json", "old.json", "--fail-on", "any"], 1);

    // The same by the ledger's captures: the newest has the highest number.
    let text = project.run(&["diff", "1", "3"], 1);
    assert!(text.contains("misses"), "{text}");
    let missing = project.command(&["diff", "old.json", "nowhere.json"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(2));
    assert!(said(&missing).contains("nowhere.json"));
}

#[test]
fn reports_come_out_of_the_ledger_in_every_format() {
    let project = Project::new();
    let name = project.race_on(&project.check(), "configured");
    project.run(&["mark", &name, "benign", "--reason", "see <design>"], 0);
    for format in ["text", "json", "sarif", "html"] {
        let text = project.run(&["report", "--format", format], 1);
        assert!(text.contains("hits"), "{format}: {text}");
        assert!(!text.contains("see <design>") || format != "html", "HTML in reasons stays text");
    }
    let output = project.command(&["races", "--ledger", "nowhere/ledger.db"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    let project = Project::new();
    project.check();
    let before = project.states();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|number| {
                let project = &project;
                scope.spawn(move || {
                    let source = format!("other{number}.c");
                    let text = RACY.replace("configured", &format!("configured{number}"));
                    std::fs::write(project.path().join(&source), text).unwrap();
                    project.command(&["check", &source]).output().unwrap()
                })
            })
            .collect();
        for writer in writers {
            let output = writer.join().unwrap();
            assert_eq!(output.status.code(), Some(1), "{}", said(&output));
            assert!(!said(&output).contains("cannot"), "{}", said(&output));
        }
    });
    let after = project.states();
    assert_eq!(after.len(), before.len() * 5, "{after:?}");
    let names: std::collections::BTreeSet<&String> = after.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), after.len(), "every race has a name of its own");
    for number in 0..4 {
        let found = project.run(&["races", &format!("configured{number}")], 0);
        assert!(found.contains(&format!("other{number}.c")), "{found}");
    }
}
