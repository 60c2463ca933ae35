//! `racewarden check` as a user runs it: what is shown, set aside and explained, and what it makes
//! of input that is broken or incomplete.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use racewarden_finding::{Conclusion, NoteKind, Report, Verdict};

const TWO_RACES: &str = "\
#include <pthread.h>
int first, second, guarded;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_once_t control = PTHREAD_ONCE_INIT;
static void set_up(void) { guarded = 1; }
void *work(void *arg) {
  first++;
  second++;
  pthread_mutex_lock(&lock);
  guarded++;
  pthread_mutex_unlock(&lock);
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_once(&control, set_up);
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
";

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a scratch folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("writable");
    }
    folder
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new("timeout")
        .arg("120")
        .arg(env!("CARGO_BIN_EXE_racewarden"))
        .arg("check")
        .args(arguments)
        .current_dir(folder)
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .output()
        .expect("the binary runs")
}

fn report(folder: &Path, arguments: &[&str]) -> (Report, Option<i32>) {
    let output = run(folder, &[arguments, &["--format", "json"]].concat());
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{arguments:?}: {error}: {}", String::from_utf8_lossy(&output.stderr))
    });
    (report, output.status.code())
}

/// The objects of the races that are not set aside.
fn shown(report: &Report) -> Vec<&str> {
    let mut objects: Vec<&str> = report
        .races
        .iter()
        .filter(|race| race.verdict != Verdict::Suppressed)
        .map(|race| race.object.as_str())
        .collect();
    objects.sort_unstable();
    objects.dedup();
    objects
}

#[test]
fn why_names_the_digest_or_says_that_there_is_none() {
    let folder = folder(&[("a.c", TWO_RACES)]);
    let output = run(folder.path(), &["a.c", "--why", "a.c:10", "a.c:10"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0));
    assert!(text.contains("excluded by lock"), "{text}");
    let output = run(folder.path(), &["a.c", "--why", "a.c:7", "a.c:7"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("candidate: no digest excludes it"), "{text}");
    let output = run(folder.path(), &["a.c", "--why", "a.c:1", "a.c:7"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("a.c:1: no access"), "{text}");
}

#[test]
fn json_has_a_flag_of_its_own() {
    let folder = folder(&[("a.c", TWO_RACES)]);
    let short = run(folder.path(), &["a.c", "--json"]);
    let long = run(folder.path(), &["a.c", "--format", "json"]);
    assert_eq!((short.status.code(), long.status.code()), (Some(1), Some(1)));
    let read = |output: &Output| serde_json::from_slice::<Report>(&output.stdout);
    for output in [&short, &long] {
        let report = read(output).expect("a report");
        assert_eq!(shown(&report), ["first", "second"]);
    }
    assert_eq!(run(folder.path(), &["a.c", "--json", "--format", "text"]).status.code(), Some(2));
}

#[test]
fn a_baseline_sets_known_races_aside() {
    let folder = folder(&[("a.c", TWO_RACES)]);
    let (before, status) = report(folder.path(), &["a.c"]);
    assert_eq!((shown(&before), status), (vec!["first", "second"], Some(1)));
    fs::write(
        folder.path().join("base.json"),
        serde_json::to_vec(&before).expect("a report is JSON"),
    )
    .expect("writable");
    let (after, status) = report(folder.path(), &["a.c", "--baseline", "base.json"]);
    assert_eq!((shown(&after), status), (vec![], Some(0)));
    // A new race beside the known ones is shown.
    let more = TWO_RACES
        .replace("  pthread_mutex_lock(&lock);\n", "")
        .replace("  pthread_mutex_unlock(&lock);\n", "");
    fs::write(folder.path().join("a.c"), more).expect("writable");
    let (after, status) = report(folder.path(), &["a.c", "--baseline", "base.json"]);
    assert_eq!((shown(&after), status), (vec!["guarded"], Some(1)));
}

#[test]
fn suppressions_by_file_and_by_comment_set_races_aside_with_their_reason() {
    let text = TWO_RACES.replace("first++;", "first++; // racewarden: ignore: a rough count");
    let folder = folder(&[("a.c", &text), ("quiet", "# known\nobject second\n")]);
    let (alone, _) = report(folder.path(), &["a.c"]);
    assert_eq!(shown(&alone), ["second"]);
    let (both, status) = report(folder.path(), &["a.c", "--suppress", "quiet"]);
    assert_eq!((shown(&both), status), (vec![], Some(0)));
    let reasons: Vec<&str> =
        both.races.iter().flat_map(|race| &race.reasons).map(String::as_str).collect();
    assert!(reasons.contains(&"set aside in the code: a rough count"), "{reasons:?}");
    assert!(reasons.contains(&"suppressed by `object second`"), "{reasons:?}");
    // What is set aside still exists.
    assert_ne!(both.conclusion, Conclusion::RaceFree);
}

#[test]
fn paths_choose_what_is_shown() {
    let header = "static int inner;\nstatic void touch(void) { inner++; }\n";
    let main = format!("#include \"lib/inner.h\"\n{}", TWO_RACES.replace("first++;", "touch();"));
    let folder = folder(&[("lib/inner.h", header), ("a.c", &main)]);
    let (all, _) = report(folder.path(), &["a.c"]);
    assert_eq!(shown(&all), ["inner", "second"]);
    let (only, _) = report(folder.path(), &["a.c", "--only", "lib"]);
    assert_eq!(shown(&only), ["inner"]);
    let (rest, _) = report(folder.path(), &["a.c", "--skip", "lib"]);
    assert_eq!(shown(&rest), ["second"]);
}

#[test]
fn what_ran_once_is_no_lock_and_locks_have_the_names_of_the_source() {
    let text = TWO_RACES.replace("first++;", "pthread_once(&control, set_up); first++;").replace(
        "second++;",
        "struct box *b = arg; pthread_mutex_lock(&b->inner); second++; \
         pthread_mutex_unlock(&b->inner);",
    );
    let text = text
        .replace("int first", "struct box { int n; pthread_mutex_t inner; } boxes[2];\nint first")
        .replace("create(&a, 0, work, 0)", "create(&a, 0, work, &boxes[0])")
        .replace("create(&b, 0, work, 0)", "create(&b, 0, work, &boxes[1])");
    let folder = folder(&[("a.c", &text)]);
    let (report, _) = report(folder.path(), &["a.c"]);
    let locks = |object: &str| -> Vec<String> {
        let mut names: Vec<String> = report
            .races
            .iter()
            .filter(|race| race.object == object)
            .flat_map(|race| race.sites.iter())
            .flat_map(|site| site.locks.iter().map(|lock| lock.name.clone()))
            .collect();
        names.dedup();
        names
    };
    assert_eq!(locks("first"), Vec::<String>::new());
    assert_eq!(locks("second"), ["b->inner"]);
}

fn weakened(report: &Report) -> bool {
    report.notes.iter().any(|note| note.kind == NoteKind::Weakens)
}

#[test]
fn incomplete_programs_get_a_result_with_notes() {
    let threads = "#include <pthread.h>\nint n;\n";
    let start = "int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); n = 1; \
                 pthread_join(t, 0); return 0; }\n";
    let cases = [
        ("external", "extern void *mystery(void *);\nvoid *f(void *p) { return mystery(&n); }\n"),
        (
            "recursion",
            "int even(int), odd(int);\nint even(int k) { return k ? odd(k - 1) : n; }\n\
             int odd(int k) { return k ? even(k - 1) : 0; }\n\
             void *f(void *p) { return (void *)(long)even(9); }\n",
        ),
        (
            "irreducible",
            "void *f(void *p) { if (p) goto in; out: n++; in: if (n < 9) goto out; return 0; }\n",
        ),
    ];
    for (name, body) in cases {
        let folder = folder(&[("a.c", &format!("{threads}{body}{start}"))]);
        let (report, status) = report(folder.path(), &["a.c"]);
        assert_eq!(report.conclusion, Conclusion::Unknown, "{name}");
        assert_eq!(status, Some(i32::from(!report.races.is_empty())), "{name}");
        assert!(!report.races.is_empty() || weakened(&report), "{name}");
    }
}

#[test]
fn units_that_disagree_and_code_without_debug_information_are_checked() {
    let one = "#include <pthread.h>\nextern long shared;\nvoid *work(void *);\n\
               int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); shared = 1; \
               pthread_join(t, 0); return 0; }\n";
    let two = "int shared;\nvoid *work(void *p) { shared = 2; return p; }\n";
    let folder = folder(&[("one.c", one), ("two.c", two)]);
    let (found, status) = report(folder.path(), &["one.c", "two.c"]);
    assert_eq!((shown(&found), status), (vec!["shared"], Some(1)));
    for (source, bitcode) in [("one.c", "one.bc"), ("two.c", "two.bc")] {
        let made = Command::new("clang-22")
            .args(["-g0", "-O0", "-emit-llvm", "-c", source, "-o", bitcode])
            .current_dir(folder.path())
            .status();
        assert!(made.expect("clang-22 runs").success());
    }
    let (found, status) = report(folder.path(), &["one.bc", "two.bc"]);
    assert_eq!((found.races.is_empty(), status), (false, Some(1)));
}

#[test]
fn nothing_to_check_is_said_and_bad_input_names_the_file() {
    let folder = folder(&[
        ("empty.c", ""),
        ("library.c", "int n;\nvoid add(void) { n++; }\n"),
        ("wrong.c", "int main( {\n"),
        ("wrong.bc", "BC\u{c0}\u{de} and nothing more"),
    ]);
    for name in ["empty.c", "library.c"] {
        let (report, status) = report(folder.path(), &[name]);
        assert_eq!((report.conclusion, status), (Conclusion::Unknown, Some(0)), "{name}");
        assert!(weakened(&report), "{name}");
    }
    let (api, status) = report(folder.path(), &["library.c", "--api"]);
    assert_eq!((shown(&api), status), (vec!["n"], Some(1)));
    for name in ["wrong.c", "wrong.bc", "missing.c"] {
        let output = run(folder.path(), &[name]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{name}: {text}");
        assert!(text.contains(name), "{name}: {text}");
    }
}
