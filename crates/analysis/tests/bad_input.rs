//! Programs that are hard on the engine: each must give a result, and the right one, before the
//! test runner loses patience.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use racewarden_analysis::{Options, check};
use racewarden_finding::{Conclusion, Note, NoteKind, Report};
use racewarden_models::Models;

/// Checks a C program or LLVM's textual form of one, as the file's name says.
fn checked(name: &str, text: &str) -> Report {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let source = folder.path().join(name);
    std::fs::write(&source, text).expect("written");
    let bitcode = folder.path().join("out.bc");
    compile(&source, &bitcode);
    let module = racewarden_bitcode::lower_file(&bitcode).expect("clang's bitcode is valid");
    check(&racewarden_ir::link(vec![module]), Models::builtin(), &Options::default())
}

/// Checks units that are linked together.
fn linked(units: &[(&str, &str)], debug: &str) -> Report {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let modules = units.iter().map(|(name, text)| {
        let source = folder.path().join(name);
        std::fs::write(&source, text).expect("written");
        let bitcode = folder.path().join(format!("{name}.bc"));
        compile_with(&source, &bitcode, debug);
        racewarden_bitcode::lower_file(&bitcode).expect("clang's bitcode is valid")
    });
    let program = racewarden_ir::link(modules.collect());
    check(&program, Models::builtin(), &Options::default())
}

fn compile(source: &Path, bitcode: &Path) {
    compile_with(source, bitcode, "-g");
}

fn compile_with(source: &Path, bitcode: &Path, debug: &str) {
    let status = Command::new("clang-22")
        .args(["-w", "-O2", "-Xclang", "-disable-llvm-passes", debug, "-emit-llvm", "-c", "-o"])
        .args([bitcode, source])
        .status();
    assert!(status.expect("clang-22 runs").success(), "{}", source.display());
}

const HEAD: &str = "#include <pthread.h>\n\
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\nstatic int guarded, bare;\n";

const MAIN: &str = "int main(void) {\n  pthread_t t;\n  pthread_create(&t, 0, work, 0);\n\
      work(0);\n  pthread_join(t, 0);\n  return 0;\n}\n";

fn objects(report: &Report) -> Vec<&str> {
    let mut objects: Vec<&str> = report.races.iter().map(|race| race.object.as_str()).collect();
    objects.sort_unstable();
    objects.dedup();
    objects
}

#[test]
fn a_chain_of_thousands_of_calls_keeps_its_lock() {
    let mut text = HEAD.to_owned() + "static void f0(int n) { guarded += n; }\n";
    for depth in 1..3000 {
        let _ = writeln!(text, "static void f{depth}(int n) {{ f{}(n + 1); }}", depth - 1);
    }
    text += "static void *work(void *p) {\n  pthread_mutex_lock(&lock);\n  f2999(1);\n\
          pthread_mutex_unlock(&lock);\n  return p;\n}\n";
    let report = checked("chain.c", &(text + MAIN));
    assert_eq!(report.conclusion, Conclusion::RaceFree, "{:?}", report.notes);
}

#[test]
fn a_recursion_of_hundreds_of_functions_ends() {
    let count = 300;
    let mut text = HEAD.to_owned();
    for number in 0..count {
        let _ = writeln!(text, "static void f{number}(int n);");
    }
    for number in 0..count {
        let next = (number + 1) % count;
        let far = (number * 7 + 3) % count;
        let touch = if number == 7 { "bare = n;" } else { "" };
        let _ = writeln!(
            text,
            "static void f{number}(int n) {{\n\
             if (n > 0) {{ f{next}(n - 1); f{far}(n - 2); }} {touch} }}"
        );
    }
    text += "static void *work(void *p) { f0(100); return p; }\n";
    let report = checked("recursion.c", &(text + MAIN));
    assert_eq!(objects(&report), ["bare"]);
}

#[test]
fn loops_with_two_entries_are_followed() {
    let text = HEAD.to_owned()
        + "int rand(void);\n\
          static void *work(void *p) {\n  int n = p ? 1 : 0;\n  pthread_mutex_lock(&lock);\n\
          if (n) goto second;\nfirst:\n  guarded++;\n  if (rand() > 100) goto out;\n\
          second:\n  guarded--;\n  if (guarded < 50) goto first;\nout:\n\
          pthread_mutex_unlock(&lock);\n  bare++;\n  return p;\n}\n"
        + MAIN;
    let report = checked("irreducible.c", &text);
    assert_eq!(objects(&report), ["bare"]);
}

/// As clang writes it when a program generator has written a function.
#[test]
fn a_function_of_a_million_instructions_is_checked() {
    let mut body = String::new();
    let blocks = 100_000;
    for block in 0..blocks {
        let next = if block + 1 == blocks { "out".to_owned() } else { format!("b{}", block + 1) };
        let _ = write!(
            body,
            "b{block}:\n  %v{block} = load i32, ptr @steady\n  %w{block} = add i32 %v{block}, 1\n\
             store i32 %w{block}, ptr %own\n  %c{block} = icmp sgt i32 %v{block}, {block}\n\
             br i1 %c{block}, label %t{block}, label %{next}\n\
             t{block}:\n  %x{block} = mul i32 %v{block}, 3\n  %y{block} = add i32 %x{block}, 5\n\
             %z{block} = xor i32 %y{block}, 7\n  store i32 %z{block}, ptr %own\n\
             br label %{next}\n",
        );
    }
    let text = format!(
        "target triple = \"x86_64-pc-linux-gnu\"\n@steady = internal global i32 0\n\
         @bare = internal global i32 0\n\
         declare i32 @pthread_create(ptr, ptr, ptr, ptr)\ndeclare i32 @pthread_join(i64, ptr)\n\
         define internal ptr @work(ptr %p) {{\nentry:\n  %own = alloca i32\n  br label %b0\n{body}\
         out:\n  store i32 1, ptr @bare\n  ret ptr %p\n}}\n\
         define i32 @main() {{\n  %t = alloca i64\n\
           %r = call i32 @pthread_create(ptr %t, ptr null, ptr @work, ptr null)\n\
           %q = call ptr @work(ptr null)\n  %h = load i64, ptr %t\n\
           %j = call i32 @pthread_join(i64 %h, ptr null)\n  ret i32 0\n}}\n"
    );
    let report = checked("huge.ll", &text);
    assert_eq!(objects(&report), ["bare"]);
}

/// A program in LLVM's textual form whose threads run `work`.
fn threaded(work: &str) -> String {
    format!(
        "target triple = \"x86_64-pc-linux-gnu\"\n@steady = internal global i32 0\n\
         @bare = internal global i32 0\n\
         declare i32 @pthread_create(ptr, ptr, ptr, ptr)\ndeclare i32 @pthread_join(i64, ptr)\n\
         {work}\n\
         define i32 @main() {{\n  %t = alloca i64\n\
           %r = call i32 @pthread_create(ptr %t, ptr null, ptr @work, ptr null)\n\
           %q = call ptr @work(ptr null)\n  %h = load i64, ptr %t\n\
           %j = call i32 @pthread_join(i64 %h, ptr null)\n  ret i32 0\n}}\n"
    )
}

/// A table of a parser or an interpreter: as many ways out of one block, and into another.
#[test]
fn a_switch_with_tens_of_thousands_of_cases_is_checked() {
    let (mut cases, mut blocks, mut ways) = (String::new(), String::new(), String::new());
    for case in 0..60_000 {
        let _ = writeln!(cases, "    i32 {case}, label %b{case}");
        let _ = writeln!(blocks, "b{case}:\n  br label %out");
        let _ = write!(ways, ", [{case}, %b{case}]");
    }
    let text = threaded(&format!(
        "define internal ptr @work(ptr %p) {{\nentry:\n  %v = load i32, ptr @steady\n\
           switch i32 %v, label %none [\n{cases}  ]\nnone:\n  br label %out\n{blocks}\
         out:\n  %x = phi i32 [-1, %none]{ways}\n  store i32 %x, ptr @bare\n  ret ptr %p\n}}\n"
    ));
    let report = checked("switch.ll", &text);
    assert_eq!(objects(&report), ["bare"]);
}

#[test]
fn a_hundred_thousand_places_that_race_are_not_compared_one_by_one() {
    let mut stores = String::new();
    for number in 0..100_000 {
        let _ = writeln!(stores, "  store i32 {number}, ptr @bare");
    }
    let work = format!("define internal ptr @work(ptr %p) {{\n{stores}  ret ptr %p\n}}");
    let report = checked("places.ll", &threaded(&work));
    assert_eq!(objects(&report), ["bare"]);
    assert!(report.notes.iter().any(|note| note.text.contains("further pairs")));
}

#[test]
fn a_chain_of_tens_of_thousands_of_calls_is_followed() {
    let mut work =
        "define internal void @f0(i32 %n) {\n  store i32 %n, ptr @bare\n  ret void\n}\n".to_owned();
    let last = 50_000;
    for depth in 1..=last {
        let _ = writeln!(
            work,
            "define internal void @f{depth}(i32 %n) {{\n  call void @f{}(i32 %n)\n  ret void\n}}",
            depth - 1
        );
    }
    let _ = writeln!(
        work,
        "define internal ptr @work(ptr %p) {{\n  call void @f{last}(i32 1)\n  ret ptr %p\n}}"
    );
    let report = checked("deep.ll", &threaded(&work));
    assert_eq!(objects(&report), ["bare"]);
}

/// Every place that races is named, but not every pair of them.
#[test]
fn thousands_of_places_that_race_do_not_make_millions_of_candidates() {
    let places = 300;
    let mut text = HEAD.to_owned() + "static void *work(void *p) {\n";
    for _ in 0..places {
        text += "  bare++;\n";
    }
    text += "  return p;\n}\n";
    let report = checked("places.c", &(text + MAIN));
    assert!(report.races.len() < 30_000, "{}", report.races.len());
    let mut lines: Vec<u32> =
        report.races.iter().flat_map(|race| race.sites.iter().map(|site| site.line)).collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), places);
    assert!(report.notes.iter().any(|note| note.text.contains("further pairs")));
}

/// One unit says that `total` is a long and `step` takes two arguments, the other knows better.
#[test]
fn units_that_declare_things_differently_are_linked() {
    let one = "int total;\nint step(int by) { return total += by; }\n";
    let other = HEAD.to_owned()
        + "extern long total;\nint step(int a, int b);\n\
           static void *work(void *p) { step(1, 2); total = 5; return p; }\n"
        + MAIN;
    let report = linked(&[("one.c", one), ("other.c", &other)], "-g");
    assert_eq!(objects(&report), ["total"]);
    let functions: Vec<&str> = report
        .races
        .iter()
        .flat_map(|race| race.sites.iter().map(|site| site.function.as_str()))
        .collect();
    assert!(functions.contains(&"step") && functions.contains(&"work"), "{functions:?}");
}

#[test]
fn a_function_that_nobody_knows_weakens_the_result() {
    let text = HEAD.to_owned()
        + "void elsewhere(int *);\nstatic void *work(void *p) { elsewhere(&guarded); return p; }\n"
        + MAIN;
    let report = checked("missing.c", &text);
    assert_eq!(report.conclusion, Conclusion::Unknown);
    let weakened = |note: &Note| note.kind == NoteKind::Weakens && note.text.contains("elsewhere");
    assert!(report.notes.iter().any(weakened), "{:?}", report.notes);
}

#[test]
fn without_debug_information_the_functions_are_named() {
    let text = HEAD.to_owned() + "static void *work(void *p) { bare++; return p; }\n" + MAIN;
    let report = linked(&[("plain.c", &text)], "-g0");
    assert_eq!(objects(&report), ["bare"]);
    assert!(report.races.iter().all(|race| race.sites.iter().all(|site| site.function == "work")));
}
