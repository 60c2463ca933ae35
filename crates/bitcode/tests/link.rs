//! Modules are joined by the linker's rules.

mod common;

use common::Source;
use racewarden_ir::{Callee, Module, NoteKind, Op, Program, Value, link};

fn program(units: &[&str]) -> Program {
    let modules: Vec<Module> = units
        .iter()
        .enumerate()
        .map(|(index, text)| Source::new(&format!("u{index}.c"), text).lower(&["-w", "-fcommon"]))
        .collect();
    link(modules)
}

/// Symbols of the functions that `caller` calls directly, with the unit each body is from.
fn calls(program: &Program, caller: &str) -> Vec<(String, u32)> {
    let module = &program.module;
    let caller = module.function_by_symbol(caller).expect("the caller is there");
    module
        .function(caller)
        .instructions
        .iter()
        .filter_map(|inst| match inst.op {
            Op::Call { callee: Callee::Direct(id), .. } => {
                let name = module.name_text(module.function(id).name).to_owned();
                Some((name, program.function_units[id.index()]))
            }
            _ => None,
        })
        .collect()
}

#[test]
fn declarations_resolve_to_definitions_and_statics_stay_private() {
    let program = program(&[
        "void g(void); static void h(void) {} void f(void) { g(); h(); }",
        "static int x; static void h(void) { x = 1; } void g(void) { h(); }",
    ]);
    assert_eq!(calls(&program, "f"), [("g".to_owned(), 1), ("h".to_owned(), 0)]);
    assert_eq!(calls(&program, "g"), [("h".to_owned(), 1)]);
    assert!(program.module.notes.is_empty(), "{:?}", program.module.notes);
}

#[test]
fn strong_wins_over_weak_and_common() {
    let program = program(&[
        "__attribute__((weak)) void g(void) {} int shared; void f(void) { g(); shared = 1; }",
        "void g(void) {} int shared = 7; long big;",
        "long big[4];",
    ]);
    assert_eq!(calls(&program, "f"), [("g".to_owned(), 1)]);
    let sizes = |name: &str| -> Vec<u64> {
        let module = &program.module;
        let named = module.globals.iter().filter(|g| module.name_text(g.name) == name);
        named.map(|global| global.size).collect()
    };
    assert_eq!(sizes("shared"), [4]);
    assert_eq!(sizes("big"), [32], "the largest common definition stays");
}

#[test]
fn conflicts_become_notes() {
    let program = program(&[
        "void g(int a) {} void f(void) { g(1); }",
        "void g(int a) {}",
        "void g(void); void e(void) { g(); }",
    ]);
    let texts: Vec<&str> = program
        .module
        .notes
        .iter()
        .filter(|note| note.kind == NoteKind::ConflictingDeclarations)
        .map(|note| note.text.as_str())
        .collect();
    assert_eq!(
        texts,
        [
            "g is defined in both u0.c and u1.c; the first is used",
            "u2.c declares g with 0 parameters, u0.c defines it with 1",
        ]
    );
}

#[test]
fn aliases_resolve_across_units() {
    let program = program(&[
        "void other(void); extern int seen; void f(void) { other(); seen = 1; }",
        "static void real(void) {} void other(void) __attribute__((alias(\"real\")));
         int store; extern int seen __attribute__((alias(\"store\")));",
    ]);
    assert_eq!(calls(&program, "f"), [("real".to_owned(), 1)]);
    let module = &program.module;
    let f = module.function(module.function_by_symbol("f").expect("f is there"));
    let stored: Vec<&Value> = f
        .instructions
        .iter()
        .filter_map(|inst| match &inst.op {
            Op::Store { address, .. } => Some(address),
            _ => None,
        })
        .collect();
    let [Value::Global(id)] = stored[..] else { panic!("one store to a global: {stored:?}") };
    assert_eq!(module.name_text(module.global(*id).name), "store");
}

#[test]
fn nothing_links_to_nothing() {
    assert!(link(Vec::new()).module.functions.is_empty());
}
