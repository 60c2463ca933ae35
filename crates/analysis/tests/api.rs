//! Libraries: any thread may call any exported function at any time.

use std::process::Command;

use racewarden_analysis::{Options, check};
use racewarden_finding::{Conclusion, Report};
use racewarden_models::Models;

fn checked(text: &str) -> Report {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let source = folder.path().join("library.c");
    std::fs::write(&source, text).expect("written");
    let bitcode = folder.path().join("library.bc");
    let status = Command::new("clang-22")
        .args(["-w", "-O2", "-Xclang", "-disable-llvm-passes", "-g", "-emit-llvm", "-c", "-o"])
        .args([&bitcode, &source])
        .status();
    assert!(status.expect("clang-22 runs").success());
    let module = racewarden_bitcode::lower_file(&bitcode).expect("clang's bitcode is valid");
    check(&racewarden_ir::link(vec![module]), Models::builtin(), &Options { api: true })
}

const LOCK: &str = "#include <pthread.h>\n\
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\nstatic int count;\n\
    void add(int n) {\n  pthread_mutex_lock(&lock);\n  count += n;\n\
      pthread_mutex_unlock(&lock);\n}\n";

#[test]
fn two_exported_functions_race_with_each_other() {
    let report = checked(&(LOCK.to_owned() + "int get(void) { return count; }\n"));
    assert_eq!(report.conclusion, Conclusion::Unknown);
    let mut threads: Vec<&str> = report
        .races
        .iter()
        .flat_map(|race| race.sites.iter().map(|site| site.thread.as_str()))
        .collect();
    threads.sort_unstable();
    threads.dedup();
    assert_eq!(threads, ["add (called from outside, many)", "get (called from outside, many)"]);
}

#[test]
fn a_library_that_locks_everywhere_is_race_free() {
    let get = "int get(void) {\n  pthread_mutex_lock(&lock);\n  int n = count;\n\
          pthread_mutex_unlock(&lock);\n  return n;\n}\n";
    let report = checked(&(LOCK.to_owned() + get));
    assert_eq!(report.conclusion, Conclusion::RaceFree, "{:?} {:?}", report.races, report.notes);
}

#[test]
fn a_thread_of_the_library_races_with_its_callers_and_those_with_main() {
    let report = checked(
        "#include <pthread.h>\nstatic int from_thread, from_main;\n\
         static void *work(void *p) { from_thread = 1; return p; }\n\
         void start(void) { pthread_t t; pthread_create(&t, 0, work, 0); }\n\
         int get(void) { return from_thread + from_main; }\n\
         int main(void) { from_main = 2; return 0; }\n",
    );
    let raced = |name: &str, function: &str| {
        report.races.iter().any(|race| {
            race.object == name && race.sites.iter().any(|site| site.function == function)
        })
    };
    assert!(raced("from_thread", "get"), "{:?}", report.races);
    assert!(raced("from_main", "get"), "{:?}", report.races);
}
