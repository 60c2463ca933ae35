//! What a watched run may leave out: each reason beside a twin in which the same access must stay.
//!
//! Marks at the ends of lines say what becomes of the plain accesses there: all of them are left out
//! (`OUT`), left out where locks order (`LOCK`), or watched (`IN`), but for so many.

use std::process::Command;

use racewarden_analysis::{Unwatched, UnwatchedPlaces, unwatched};
use racewarden_models::Models;

fn looked_at(text: &str, language: &str, foreign: bool) -> Unwatched {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let source = folder.path().join(format!("program.{language}"));
    std::fs::write(&source, text).expect("written");
    let bitcode = folder.path().join("program.bc");
    let compiler = if language == "c" { "clang-22" } else { "clang++-22" };
    let status = Command::new(compiler)
        .args(["-w", "-O2", "-Xclang", "-disable-llvm-passes", "-g", "-emit-llvm", "-c", "-o"])
        .args([&bitcode, &source])
        .status();
    assert!(status.expect("clang-22 runs").success());
    let modelled = |symbol: &str| Models::builtin().for_function(symbol, true).is_some();
    let modules =
        racewarden_bitcode::lower_units_flat(&[bitcode], &modelled).expect("clang's bitcode");
    unwatched(&racewarden_ir::link(modules), Models::builtin(), foreign, &|_| {})
}

fn holds(text: &str) -> Unwatched {
    holds_beside(text, false)
}

fn holds_beside(text: &str, foreign: bool) -> Unwatched {
    let found = looked_at(text, "c", foreign);
    let places = |places: &UnwatchedPlaces, line: usize| {
        let own = places.get("program.c").into_iter().flatten();
        own.filter(|at| at.line as usize == line).count()
    };
    for (index, text) in text.lines().enumerate() {
        let line = index + 1;
        let (out, lock) = (places(&found.always, line), places(&found.by_lock, line));
        let Some((_, mark)) = text.split_once("// ") else { continue };
        let (wanted, count) = mark.split_once(' ').expect("a mark and a number");
        let count: usize = count.parse().expect("a number");
        match wanted {
            "OUT" => assert_eq!((out, lock), (count, 0), "{line}: {text}\n{found:?}"),
            "LOCK" => assert_eq!((out, lock), (0, count), "{line}: {text}\n{found:?}"),
            "IN" => assert_eq!((out, lock), (count, 0), "{line}: {text}\n{found:?}"),
            other => panic!("{other}: no such mark"),
        }
    }
    found
}

const HEAD: &str = "#include <pthread.h>\n#include <stdlib.h>\n#include <string.h>\n\
    #define START(f, p) pthread_t t; pthread_create(&t, 0, f, p)\n#define END pthread_join(t, 0)\n";

#[test]
fn memory_that_no_other_thread_can_know() {
    let text = |argument: &str, mark: &str| {
        format!(
            "{HEAD}struct pair {{ int a, b; }};\n\
             __attribute__((noinline)) static void fill(struct pair *p) {{\n  p->a = 1; {mark}\n}}\n\
             static void *work(void *p) {{ fill(p); return 0; }}\n\
             int main(void) {{\n  struct pair own, other;\n  START(work, {argument});\n\
             fill(&own);\n  END;\n  return own.a;\n}}\n"
        )
    };
    // Each thread fills a pair of its own only if the thread is not given this one.
    let safe =
        text("0", "").replace("fill(p); return 0;", "struct pair mine; fill(&mine); return 0;");
    let safe = safe.replace("p->a = 1; ", "p->a = 1; // OUT 1");
    assert!(holds(&safe).reasons["confined"] > 0);
    holds(&text("&own", "// IN 0"));
}

#[test]
fn memory_that_is_not_written_while_there_are_threads() {
    let text = |late: &str, mark: &str| {
        format!(
            "{HEAD}static int table[8], sum;\n\
             static void *work(void *p) {{\n  int n = 0;\n\
             for (int i = 0; i < 8; i++) n += table[i]; {mark}\n  return (void *)(long)n;\n}}\n\
             int main(void) {{\n  table[3] = 4;\n  START(work, 0);\n  {late}\n  END;\n  return 0;\n}}\n"
        )
    };
    assert!(holds(&text("", "// OUT 1")).reasons["unchanged"] > 0);
    holds(&text("table[3] = 5;", "// IN 0"));
    holds(&text("memset(table, 0, sizeof table);", "// IN 0"));
}

#[test]
fn threads_that_are_created_later_or_joined_before() {
    let text = |before: &str, after: &str, mark: &str| {
        format!(
            "{HEAD}static int value;\n\
             static void *work(void *p) {{\n  value = 1; {mark}\n  return 0;\n}}\n\
             int main(void) {{\n  START(work, 0);\n  {before}\n  END;\n  {after}\n  return 0;\n}}\n"
        )
    };
    assert!(holds(&text("", "value = 2; // OUT 1", "// OUT 1")).reasons["order"] > 0);
    holds(&text("value = 2; // IN 0", "", "// IN 0"));
}

#[test]
fn freeing_is_writing() {
    let text = |first: &str, second: &str, mark: &str| {
        format!(
            "{HEAD}static int *value;\n\
             static void *work(void *p) {{\n  int n = *(int *)p; {mark}\n  return (void *)(long)n;\n}}\n\
             int main(void) {{\n  value = malloc(sizeof *value);\n  *value = 1;\n\
             START(work, value);\n  {first}\n  {second}\n  return 0;\n}}\n"
        )
    };
    holds(&text("END;", "free(value);", "// OUT 1"));
    holds(&text("free(value);", "END;", "// IN 0"));
}

#[test]
fn a_lock_on_all_sides() {
    let text = |write: &str, mark: &str| {
        format!(
            "{HEAD}static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\nstatic int value;\n\
             static void *work(void *p) {{\n  pthread_mutex_lock(&m);\n  value = 1; {mark}\n\
             pthread_mutex_unlock(&m);\n  return 0;\n}}\n\
             int main(void) {{\n  START(work, 0);\n  {write}\n  END;\n  return 0;\n}}\n"
        )
    };
    let locked = "pthread_mutex_lock(&m);\n  value = 2; // LOCK 1\n  pthread_mutex_unlock(&m);";
    assert!(holds(&text(locked, "// LOCK 1")).reasons["lock"] > 0);
    holds(&text("value = 2; // IN 0", "// IN 0"));
}

#[test]
fn what_is_not_published_yet() {
    let text = |before: &str, after: &str| {
        format!(
            "{HEAD}struct node {{ int value; }};\nstatic struct node *_Atomic head;\n\
             static void *work(void *p) {{\n  struct node *n = head;\n  if (n) n->value++;\n\
             return 0;\n}}\n\
             int main(void) {{\n  START(work, 0);\n  struct node *n = malloc(sizeof *n);\n\
             {before}\n  head = n;\n  {after}\n  END;\n  return 0;\n}}\n"
        )
    };
    assert!(holds(&text("n->value = 1; // OUT 1", "")).reasons["ownership"] > 0);
    holds(&text("", "n->value = 1; // IN 0"));
}

#[test]
fn a_barrier_between_them() {
    let text = |meet: &str, mark: &str| {
        format!(
            "{HEAD}static pthread_barrier_t b;\nstatic int value;\n\
             static void *work(void *p) {{\n  value = 1; {mark}\n  pthread_barrier_wait(&b);\n\
             return 0;\n}}\n\
             int main(void) {{\n  pthread_barrier_init(&b, 0, 2);\n  START(work, 0);\n\
             {meet}\n  END;\n  return 0;\n}}\n"
        )
    };
    let after = "pthread_barrier_wait(&b);\n  value = 2; // OUT 1";
    assert!(holds(&text(after, "// OUT 1")).reasons["barrier"] > 0);
    holds(&text("value = 2; // IN 0\n  pthread_barrier_wait(&b);", "// IN 0"));
}

#[test]
fn what_one_helper_allocates_for_several_callers() {
    let text = |late: &str, mark: &str| {
        format!(
            "{HEAD}static int *first, *second;\n\
             static void *make(size_t bytes) {{\n  void *p = malloc(bytes);\n\
             if (!p) exit(2);\n  return p;\n}}\n\
             static void *work(void *p) {{\n  int n = first[1]; {mark}\n\
             second[1] = n;\n  return 0;\n}}\n\
             int main(void) {{\n  first = make(8);\n  second = make(8);\n  first[1] = 1;\n\
             START(work, 0);\n  {late}\n  END;\n  return 0;\n}}\n"
        )
    };
    // The pointer and what it points to have one place.
    holds(&text("second[1] = 1;", "// OUT 1"));
    holds(&text("first[1] = 1;", "// IN 0"));
}

#[test]
fn a_place_is_left_out_only_if_all_of_it_can_be() {
    let text = |second: &str, mark: &str| {
        format!(
            "{HEAD}static int racy, safe;\n\
             __attribute__((noinline)) static void set(int *p) {{\n  *p = 1; {mark}\n}}\n\
             static void *work(void *p) {{ set(&racy); return 0; }}\n\
             int main(void) {{\n  set(&safe);\n  START(work, 0);\n  set({second});\n  END;\n\
             return 0;\n}}\n"
        )
    };
    holds(&text("&safe", "// OUT 1"));
    holds(&text("&racy", "// IN 0"));
}

#[test]
fn what_an_unknown_function_gets_stays_watched_and_nothing_else_does() {
    let text = |argument: &str, mark: &str| {
        format!(
            "{HEAD}extern void unknown(void *);\nstatic int given[2];\nstatic int *inside = given;\n\
             static int kept[2];\n\
             static void *work(void *p) {{\n  int n = given[1]; {mark}\n\
             n += kept[1]; // OUT 1\n  return (void *)(long)n;\n}}\n\
             int main(void) {{\n  kept[1] = 1;\n  START(work, 0);\n  unknown({argument});\n  END;\n\
             return 0;\n}}\n"
        )
    };
    holds(&text("0", "// OUT 1"));
    holds(&text("given", "// IN 0"));
    holds(&text("&inside", "// IN 0"));
}

#[test]
fn code_that_is_not_seen_leaves_only_what_it_cannot_know() {
    let text = |unseen: &str| {
        format!(
            "{HEAD}#include <dlfcn.h>\nextern void unknown(void *);\nstatic int value;\n\
             static void later(void) {{ value = 2; }}\n\
             __attribute__((noinline)) static void fill(int *p) {{\n  *p = 1; // OUT 1\n}}\n\
             static void *work(void *p) {{\n  int own[2];\n  fill(own);\n\
             int n = value; // IN 0\n  return (void *)(long)n;\n}}\n\
             int main(void) {{\n  START(work, 0);\n  {unseen}\n  END;\n  return 0;\n}}\n"
        )
    };
    for unseen in
        ["unknown(later);", "dlopen(\"x\", RTLD_NOW);", "((void (*)(void))dlsym(0, \"f\"))();"]
    {
        assert!(holds(&text(unseen)).limit.is_some(), "{unseen}");
    }
}

#[test]
fn what_unseen_code_calls_gets_anything() {
    let text = |linkage: &str, unseen: &str, mark: &str| {
        format!(
            "{HEAD}extern void unknown(void *);\n{linkage} void fill(int *p) {{\n  *p = 1; {mark}\n}}\n\
             static void *work(void *p) {{\n  int own[2];\n  fill(own);\n  return 0;\n}}\n\
             int main(void) {{\n  START(work, 0);\n  {unseen}\n  END;\n  return 0;\n}}\n"
        )
    };
    let inner = "__attribute__((noinline)) static";
    holds(&text(inner, "", "// OUT 1"));
    holds(&text(inner, "unknown(fill);", "// IN 0"));
    holds_beside(&text(inner, "", "// OUT 1"), true);
    holds_beside(&text("__attribute__((noinline))", "", "// IN 0"), true);
}

#[test]
fn atomic_and_volatile_accesses_are_never_left_out() {
    let found = looked_at(
        "static volatile int v;\nstatic _Atomic int a;\nint main(void) { v = 1; a = 2; return v + a; }\n",
        "c",
        false,
    );
    assert_eq!(found.places, 0);
}

const TEAM: &str = "static pthread_barrier_t b;\nstatic int threads;\nstatic long count;\nstatic int *table;\n\
    static void *work(void *p) {\n  long id = (long)p, low = count * id / threads;\n\
    long high = count * (id + 1) / threads;\n";

const CREATED: &str = "  return 0;\n}\n\
    int main(int argc, char **argv) {\n  pthread_t team[64];\n  threads = argc + 1;\n\
    count = 16 * argc;\n  table = calloc(count + 1, sizeof *table);\n\
    pthread_barrier_init(&b, 0, threads);\n\
    for (long id = 0; id < threads; id++) pthread_create(&team[id], 0, work, (void *)id);\n\
    for (long id = 0; id < threads; id++) pthread_join(team[id], 0);\n  return 0;\n}\n";

#[test]
fn a_part_for_each_thread() {
    // Beside the element, what leads there: nobody writes that while there are threads.
    let text = |bound: &str, wait: &str, late: &str, (loops, once): (&str, &str)| {
        format!(
            "{HEAD}{TEAM}  for (long i = low; i {bound} high; i++)\n    table[i] = 1; {loops}\n\
             {wait}\n  if (id == 0)\n    {late} {once}\n{CREATED}"
        )
    };
    let (wait, late) = ("pthread_barrier_wait(&b);", "table[count - 1] = 2;");
    let safe = text("<", wait, late, ("// OUT 2", "// OUT 3"));
    assert!(holds(&safe).reasons["part"] > 0);
    // The loop's accesses meet those of the thread that goes on.
    holds(&text("<", "", late, ("// IN 1", "// IN 2")));
    holds(&text("<=", wait, ";", ("// IN 1", "")));
}
