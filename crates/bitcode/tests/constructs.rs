//! One small program per construct, and the model it becomes.

mod common;

use common::Source;
use racewarden_ir::{Callee, Module, NoteKind, Op, parse, print, verify};

/// Lowers, checks that the model is well formed and reads back from its text, and gives the text
/// of one function.
fn function(module: &Module, symbol: &str) -> String {
    let text = checked(module);
    let start = text.find(&format!(" \"{symbol}\" ")).expect("the function is there");
    let start = text[..start].rfind("function ").expect("it is a function");
    let end = text[start..].find("\n}\n").map_or(text.len(), |end| start + end + 3);
    text[start..end].to_owned()
}

fn checked(module: &Module) -> String {
    if let Err(errors) = verify(module) {
        panic!("{errors:?}\n{}", print(module));
    }
    let text = print(module);
    let read = parse(&text).expect("the text reads back");
    assert!(print(&read) == text, "the text changes when it is read back");
    text
}

fn c(text: &str) -> Module {
    Source::new("a.c", text).lower(&["-w"])
}

fn cpp(text: &str) -> Module {
    Source::new("a.cpp", text).lower(&["-w"])
}

#[test]
fn atomics_and_fences() {
    let module = c("#include <stdatomic.h>
        atomic_int a; _Atomic long l; volatile int v;
        int f(int x) {
            atomic_store_explicit(&a, 1, memory_order_release);
            x += atomic_load_explicit(&a, memory_order_acquire);
            x += atomic_fetch_add(&l, 2);
            int old = 0;
            atomic_compare_exchange_strong_explicit(&a, &old, x, memory_order_acq_rel, memory_order_relaxed);
            atomic_thread_fence(memory_order_seq_cst);
            v = x;
            return v;
        }");
    insta::assert_snapshot!(function(&module, "f"));
}

#[test]
fn memory_intrinsics_and_by_value_arguments() {
    let module = c("struct big { long a[8]; int tail; };
        struct big g;
        void use(struct big *);
        void f(struct big b, struct big *p) { *p = b; __builtin_memset(p, 0, sizeof *p);
            struct big copy = g; use(&copy); __builtin_memmove(p, p->a + 1, 8); }");
    insta::assert_snapshot!(function(&module, "f"));
}

#[test]
fn variadic_functions() {
    let module = c("#include <stdarg.h>
        int sum(int n, ...) { va_list l; va_start(l, n); int s = va_arg(l, int); va_end(l); return s; }
        int f(void) { return sum(2, 3, 4); }");
    insta::assert_snapshot!(function(&module, "f"));
    assert!(function(&module, "sum").contains("variadic"));
}

#[test]
fn indirect_calls_and_tables_of_functions() {
    let module = c("static int one(int x) { return x; } static int two(int x) { return x; }
        struct ops { int flags; int (*run)(int); };
        static const struct ops table[2] = { { 1, one }, { 2, two } };
        int f(int i, int (*p)(int)) { return table[i].run(3) + p(4); }");
    insta::assert_snapshot!(function(&module, "f"));
    let text = print(&module);
    let table = text.lines().find(|line| line.contains("\"table\"")).expect("the table");
    insta::assert_snapshot!(table);
}

#[test]
fn virtual_calls_know_their_slot() {
    let text = "struct Shape { virtual int area(int) = 0; virtual int sides() = 0; };
        int f(Shape *s) { return s->area(1) + s->sides(); }
        struct Ops { int (*run)(Ops *); }; struct Device { Ops *ops; };
        int g(Device *d) { return d->ops->run(d->ops); }";
    let slots = |module: &Module, symbol: &str| -> Vec<Option<u64>> {
        let id = module.function_by_symbol(symbol).expect("the function is there");
        let calls = module.function(id).instructions.iter().filter_map(|inst| match &inst.op {
            Op::Call { callee: Callee::Virtual { slot, .. }, .. } => Some(Some(*slot)),
            Op::Call { callee: Callee::Indirect(_), .. } => Some(None),
            _ => None,
        });
        calls.collect()
    };
    for flags in [&["-w"][..], &["-w", "-O0"]] {
        let module = Source::new("a.cpp", text).lower(flags);
        checked(&module);
        assert_eq!(slots(&module, "_Z1fP5Shape"), [Some(0), Some(8)], "{flags:?}");
    }
    let module = cpp(text);
    assert_eq!(slots(&module, "_Z1gP6Device"), [None], "a struct of pointers is no virtual table");
}

#[test]
fn exceptions() {
    let module = cpp("struct Guard { ~Guard(); }; void may();
        int f() { Guard g; try { may(); } catch (int e) { return e; } return 0; }");
    insta::assert_snapshot!(function(&module, "_Z1fv"));
}

#[test]
fn thread_local_storage() {
    let module = c("_Thread_local int mine; extern _Thread_local int theirs;
        int f(void) { mine = 1; return theirs; }");
    insta::assert_snapshot!(checked(&module));
}

#[test]
fn inline_assembly_is_noted() {
    let module = c("int f(int *p) { asm volatile(\"\" ::: \"memory\");
        asm volatile(\"incl %0\" : \"+m\"(*p)); return *p; }
        asm(\".globl odd\");");
    let asm: Vec<&str> = module
        .notes
        .iter()
        .filter(|note| note.kind == NoteKind::InlineAssembly)
        .map(|note| note.text.as_str())
        .collect();
    assert_eq!(
        asm,
        ["inline assembly is not modelled: incl $0", "assembly at file scope is not modelled",]
    );
    insta::assert_snapshot!(function(&module, "f"));
}

#[test]
fn asm_goto_may_go_anywhere() {
    let module = c("int f(int x) { asm goto(\"cmp %0, 1\" :: \"r\"(x) :: away); return 1;
        away: return 2; }");
    assert!(function(&module, "f").contains("indirectjump undef:ty0, (bb1, bb2)"));
}

#[test]
fn switches_and_computed_gotos() {
    let module =
        c("int f(int x) { switch (x) { case 1: return 5; case 7: return 6; default: return 9; } }
        int g(int x) { static void *to[] = { &&a, &&b }; goto *to[x]; a: return 1; b: return 2; }");
    insta::assert_snapshot!(function(&module, "f"));
    assert!(function(&module, "g").contains("indirectjump"));
}

#[test]
fn aliases_and_ifuncs_are_resolved() {
    let module = c("static int real(int x) { return x; }
        int other(int) __attribute__((alias(\"real\")));
        static int fast(int x) { return x; } static int slow(int x) { return x; }
        int have(void);
        static void *pick(void) { return have() ? fast : slow; }
        int chosen(int) __attribute__((ifunc(\"pick\")));
        int f(void) { return other(1) + chosen(2); }");
    let text = function(&module, "f");
    assert!(text.contains("; real"), "{text}");
    assert!(text.contains("; chosen"), "{text}");
    // Which implementation runs is decided at start, so the model tries each.
    let chosen = function(&module, "chosen");
    assert!(chosen.contains("; fast") && chosen.contains("; slow"), "{chosen}");
}

#[test]
fn constructors_run_by_priority() {
    let module = cpp("int side(); int late = side();
        __attribute__((constructor(200))) void second() {}
        __attribute__((constructor(101))) void first() {}
        __attribute__((destructor)) void last() {}");
    let names = |list: &[racewarden_ir::FunctionId]| -> Vec<String> {
        list.iter().map(|id| module.name_text(module.function(*id).name).to_owned()).collect()
    };
    assert_eq!(names(&module.constructors), ["_Z5firstv", "_Z6secondv", "_GLOBAL__sub_I_a.cpp"]);
    assert_eq!(names(&module.destructors), ["_Z4lastv"]);
}

#[test]
fn wide_and_vector_values() {
    let module = c("typedef int v4 __attribute__((vector_size(16)));
        __int128 wide(void) { return ((__int128)1 << 100) + 5; }
        v4 f(v4 a, v4 b) { a[1] = 7; return __builtin_shufflevector(a, b, 0, 5, 2, 7) + b; }
        long double ld(void) { return 1.5L; }");
    assert!(function(&module, "wide").contains("wide(5, 68719476736)"));
    insta::assert_snapshot!(function(&module, "f"));
    checked(&module);
}

#[test]
fn unoptimised_functions_are_prepared_too() {
    let source = Source::new("a.c", "int f(int x) { int y = x + 1; return y; }");
    let text = function(&source.lower(&["-O0"]), "f");
    assert!(!text.contains("alloca"), "{text}");
}

#[test]
fn without_debug_information_there_is_a_note() {
    let module = Source::new("a.c", "int g; int f(void) { return g; }").lower(&["-g0"]);
    assert_eq!(module.notes[0].kind, NoteKind::NoDebugInfo);
    assert!(function(&module, "f").contains("path \"g\" \"\""), "globals still go by name");
}

#[test]
fn the_cpp_library_lowers_with_both_implementations() {
    let text = "#include <thread>\n#include <mutex>\n#include <future>\n#include <string>
        std::mutex m; int x;
        int main() { std::thread t([] { std::lock_guard<std::mutex> g(m); x++; });
            auto f = std::async([] { return std::string(\"a\"); }); t.join(); return f.get().size(); }";
    for library in ["-stdlib=libstdc++", "-stdlib=libc++"] {
        let module = Source::new("a.cpp", text).lower(&[library]);
        let unknown = module.notes.iter().filter(|note| note.kind != NoteKind::Other);
        assert_eq!(unknown.count(), 0, "{library}: {:?}", module.notes);
        checked(&module);
    }
}

#[test]
fn rust_bitcode_lowers() {
    let source = Source::new(
        "a.rs",
        "use std::sync::{Arc, Mutex};
        static mut RAW: u32 = 0;
        fn main() {
            let shared = Arc::new(Mutex::new(vec![1u64]));
            let other = Arc::clone(&shared);
            let thread = std::thread::spawn(move || { other.lock().unwrap().push(3); unsafe { RAW += 1 } });
            unsafe { RAW += 2 };
            thread.join().unwrap();
        }",
    );
    for opt in ["0", "2"] {
        let status = std::process::Command::new("rustc")
            .current_dir(source.folder())
            .args(["-g", "-C", &format!("opt-level={opt}"), "--emit=llvm-bc", "a.rs"])
            .status()
            .expect("rustc is installed");
        assert!(status.success());
        let module =
            racewarden_bitcode::lower_file(source.folder().join("a.bc")).expect("it lowers");
        let text = checked(&module);
        assert!(text.contains("path \"a::RAW\""));
        let unknown = module.notes.iter().filter(|note| note.kind != NoteKind::Other);
        assert_eq!(unknown.count(), 0, "{:?}", module.notes);
    }
}
