//! Files that go, units that fail, captures that overlap or die.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use crate::project::{Project, said};

const MAIN: &str = "int part(void);\nint main(void) { return part(); }\n";

#[test]
fn a_generated_source_may_be_deleted() {
    let project = Project::new(&[("main.c", MAIN)]);
    project.capture(
        "gcc -c main.c
         echo 'int part(void) { return 5; }' > gen.c; gcc -c gen.c; rm gen.c
         gcc -o prog main.o gen.o; rm main.o gen.o",
    );
    assert_eq!(project.sources(), ["gen.c", "main.c"]);
    assert_eq!(project.relinked_status("prog"), 5);
}

#[test]
fn a_rejected_unit_is_told_and_the_rest_goes_on() {
    // Nested functions are gcc's alone.
    let nested = "int part(void) {\n  int inner(void) { return 6; }\n  return inner();\n}\n";
    let project = Project::new(&[("main.c", MAIN), ("part.c", nested)]);
    let told = project.capture("gcc -c main.c part.c && gcc -o prog main.o part.o");
    assert!(told.contains("part.c:2:"), "clang's own message is missing: {told}");
    assert!(told.contains("1 units captured, 1 failed"), "{told}");
    assert!(project.load().notes.iter().any(|note| note.incomplete));
    // The user's own object stands in for it.
    assert_eq!(project.relinked_status("prog"), 6);
}

#[test]
fn probes_of_a_configuration_are_left_out() {
    let project = Project::new(&[("main.c", MAIN), ("part.c", "int part(void) { return 0; }\n")]);
    project.capture(
        "for i in 1 2 3; do
           echo 'int main(void) { return 0; }' > conftest.c; gcc -o conftest conftest.c; rm conftest*
           echo 'int main(void) { return 0; }' > probe.c; gcc -o probe probe.c; ./probe; rm probe*
         done
         gcc -o prog main.c part.c",
    );
    assert_eq!(project.sources(), ["main.c", "part.c"]);
    assert_eq!(project.load().targets.len(), 1);
}

#[test]
fn unchanged_units_are_not_compiled_again() {
    let project = Project::new(&[("main.c", MAIN), ("part.c", "int part(void) { return 1; }\n")]);
    let build = "gcc -c main.c part.c && gcc -o prog main.o part.o";
    project.capture(build);
    let written = |source: &str| -> SystemTime {
        let capture = project.load();
        let unit = capture.units.iter().find(|unit| unit.source.ends_with(source)).unwrap();
        std::fs::metadata(&unit.bitcode).unwrap().modified().unwrap()
    };
    let before = (written("main.c"), written("part.c"));
    project.write("part.c", "int part(void) { return 2; }\n");
    project.write("main.c", MAIN);
    let told = project.capture(build);
    assert!(told.contains("2 units captured, 0 failed, 1 unchanged"), "{told}");
    assert_eq!(written("main.c"), before.0);
    assert_ne!(written("part.c"), before.1);
    assert_eq!(project.relinked_status("prog"), 2);
}

#[test]
fn a_failing_build_keeps_what_was_captured() {
    let project = Project::new(&[("main.c", MAIN)]);
    let output = project
        .racewarden(&["capture", "--", "sh", "-c", "gcc -c main.c; exit 3"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert_eq!(project.sources(), ["main.c"]);
}

#[test]
fn two_captures_at_once() {
    let project = Project::new(&[
        ("a/main.c", "int main(void) { return 1; }\n"),
        ("b/main.c", "int main(void) { return 2; }\n"),
    ]);
    // The store exists beforehand, so both find the same one.
    project.capture("true");
    // Each build ends only after the other has started.
    let start = |own: &str, other: &str| {
        let build = format!(
            "touch {own}.started; gcc -c {own}/main.c -o {own}/main.o
             for i in $(seq 600); do test -e {other}.started && break; sleep 0.1; done
             gcc -o prog-{own} {own}/main.o"
        );
        project
            .racewarden(&["capture", "--", "sh", "-ec", &build])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let both = [start("a", "b"), start("b", "a")];
    for child in both {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
    }
    assert_eq!(project.load().units.len(), 2);
    assert_eq!(project.relinked_status("prog-a"), 1);
    assert_eq!(project.relinked_status("prog-b"), 2);
}

#[test]
fn an_interrupted_capture_is_finished_by_the_next() {
    let project = Project::new(&[("main.c", MAIN), ("part.c", "int part(void) { return 8; }\n")]);
    let mut child = project
        .racewarden(&["capture", "--", "sh", "-ec", "gcc -c main.c; touch half; sleep 600"])
        .process_group(0)
        .spawn()
        .unwrap();
    let patience = Instant::now();
    while !project.root().join("half").exists() {
        assert!(patience.elapsed() < Duration::from_secs(120), "the build did not get half way");
        std::thread::sleep(Duration::from_millis(20));
    }
    let group = format!("-{}", child.id());
    assert!(Command::new("kill").args(["-KILL", "--", &group]).status().unwrap().success());
    child.wait().unwrap();
    assert!(project.load().units.is_empty(), "nothing was settled yet");

    let told = project.capture("gcc -c part.c && gcc -o prog main.o part.o");
    assert!(told.contains("finished an interrupted capture"), "{told}");
    assert_eq!(project.sources(), ["main.c", "part.c"]);
    assert_eq!(project.relinked_status("prog"), 8);
}
