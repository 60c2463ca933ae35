//! The report is the same, byte for byte, whatever the number of threads it is made on.

use std::path::Path;
use std::process::Command;

use racewarden_analysis::{Options, check};
use racewarden_ir::Program;
use racewarden_models::Models;

/// A program of many functions on several levels, with locks, threads, recursion and calls
/// through a table, in which some accesses race.
fn source() -> String {
    let mut text = "#include <pthread.h>\n#include <stdlib.h>\n\
        static pthread_mutex_t locks[4];\nstatic int counts[64];\nstatic int bare;\n\
        struct node { int key; struct node *next; };\nstatic struct node *list;\n"
        .to_owned();
    for level in 0..6 {
        for number in 0..8 {
            let calls: String = if level == 0 {
                format!("if (n > 3) leaf(n - 1); counts[{number}]++;\n")
            } else {
                format!(
                    "f{}_{}(n); f{}_{}(n + 1);\n",
                    level - 1,
                    number,
                    level - 1,
                    (number + 3) % 8
                )
            };
            if level == 0 && number == 0 {
                text += "static void leaf(int n) { if (n > 0) leaf(n - 1); bare = n; }\n";
            }
            text += &format!(
                "static void f{level}_{number}(int n) {{\n\
                   pthread_mutex_lock(&locks[{}]);\n  counts[{}] += n;\n\
                   pthread_mutex_unlock(&locks[{}]);\n  {calls}}}\n",
                number % 4,
                level * 8 + number,
                number % 4,
            );
        }
    }
    text += "static void (*const table[])(int) = { f5_0, f5_1, f5_2, f5_3, f5_4 };\n\
        static void *work(void *p) {\n  for (int i = 0; i < 5; i++) table[i](i);\n\
          struct node *n = malloc(sizeof *n);\n  n->next = list;\n  list = n;\n  return p;\n}\n\
        int main(void) {\n  pthread_t a, b;\n  pthread_create(&a, 0, work, 0);\n\
          pthread_create(&b, 0, work, 0);\n  f5_6(1);\n  pthread_join(a, 0);\n\
          pthread_join(b, 0);\n  return bare;\n}\n";
    text
}

fn program(folder: &Path) -> Program {
    let source_file = folder.join("many.c");
    std::fs::write(&source_file, source()).expect("written");
    let bitcode = folder.join("many.bc");
    let status = Command::new("clang-22")
        .args(["-w", "-O2", "-Xclang", "-disable-llvm-passes", "-g", "-emit-llvm", "-c", "-o"])
        .args([&bitcode, &source_file])
        .status();
    assert!(status.expect("clang-22 runs").success());
    let module = racewarden_bitcode::lower_file(&bitcode).expect("clang's bitcode is valid");
    racewarden_ir::link(vec![module])
}

#[test]
fn reports_do_not_depend_on_the_number_of_threads() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let program = program(folder.path());
    let report = |threads: usize, api: bool| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let options = Options { api };
        let report = pool.install(|| check(&program, Models::builtin(), &options));
        serde_json::to_string_pretty(&report).expect("a report is JSON")
    };
    for api in [false, true] {
        let alone = report(1, api);
        assert!(alone.contains("\"bare\""), "the bare counter races:\n{alone}");
        for threads in [2, 4] {
            assert!(alone == report(threads, api), "{threads} threads, api {api}");
        }
    }
}
