//! What the engine has to look at grows with the program, and no faster.
//!
//! Time depends on the machine and on what else it does; the number of contexts and the largest
//! state that a function is entered in do not, and a check that takes for ever has shown in them
//! first. Each shape of program here is generated in two sizes, and what it may cost is stated.

use std::process::Command;

use racewarden_analysis::{Options, check};
use racewarden_models::Models;

struct Cost {
    contexts: u64,
    state: u64,
    threads: u64,
    /// How often two places of one object were compared.
    compared: u64,
}

fn cost(text: &str) -> Cost {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let (source, bitcode) = (folder.path().join("large.c"), folder.path().join("large.bc"));
    std::fs::write(&source, text).expect("written");
    let status = Command::new("clang-22")
        .args(["-w", "-O2", "-Xclang", "-disable-llvm-passes", "-g", "-emit-llvm", "-c", "-o"])
        .args([&bitcode, &source])
        .status();
    assert!(status.expect("clang-22 runs").success());
    let module = racewarden_bitcode::lower_file(&bitcode).expect("clang's bitcode is valid");
    let program = racewarden_ir::link(vec![module]);
    let report = check(&program, Models::builtin(), &Options::default());
    let said = |name: &str| report.stats[name].as_u64().expect("a number");
    Cost {
        contexts: said("contexts"),
        state: said("largest-state"),
        threads: said("threads"),
        compared: said("places-compared"),
    }
}

const HEAD: &str = "#include <pthread.h>\n#include <signal.h>\n#include <stdlib.h>\n\
    struct item { pthread_mutex_t lock; int key; struct item *next; };\n\
    static struct item items[8];\n";

/// Functions in levels, each of which calls two of the level below with other items, under a lock.
fn levels(count: usize) -> String {
    let mut text = HEAD.to_owned();
    for level in 0..count {
        for number in 0..6 {
            text += &format!(
                "static void f{level}_{number}(struct item *a, struct item *b) {{\n\
                   pthread_mutex_lock(&a->lock);\n  b->key += a->key;\n"
            );
            if level > 0 {
                let below = level - 1;
                let (first, second) = (number, (number + 1) % 6);
                text += &format!("  f{below}_{first}(a->next, b);\n  f{below}_{second}(b, a);\n");
            }
            text += "  pthread_mutex_unlock(&a->lock);\n}\n";
        }
    }
    let top = count - 1;
    text += "static void *work(void *p) {\n";
    for number in 0..6 {
        text += &format!("  f{top}_{number}(&items[{number}], p);\n");
    }
    text += "  return p;\n}\nint main(void) {\n  pthread_t t[2];\n\
        for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, work, &items[i]);\n\
        for (int i = 0; i < 2; i++) pthread_join(t[i], 0);\n  return 0;\n}\n";
    text
}

#[test]
fn levels_of_calls_cost_a_few_contexts_for_each_function() {
    let (small, large) = (cost(&levels(6)), cost(&levels(12)));
    // Eight ways to enter a function are told apart, and four states past that.
    assert!(small.contexts <= 12 * 6 * 6 + 2, "{} contexts", small.contexts);
    assert!(large.contexts <= 12 * 12 * 6 + 2, "{} contexts", large.contexts);
    // Each level holds one lock, and of each it is known which were taken after it.
    assert!(small.state <= 6 * 7, "a state of {}", small.state);
    assert!(large.state <= 12 * 13, "a state of {}", large.state);
}

/// A table of functions of which each may call all, as commands of a server do.
fn table(count: usize) -> String {
    let mut text = format!("{HEAD}static void (*table[{count}])(struct item *, int);\n");
    for number in 0..count {
        text += &format!(
            "static void f{number}(struct item *i, int n) {{\n\
               pthread_mutex_lock(&items[{}].lock);\n  i->key = n;\n\
               pthread_mutex_unlock(&items[{}].lock);\n\
               if (n) table[n % {count}](i->next, n - 1);\n}}\n",
            number % 8,
            number % 8,
        );
    }
    text += "static void *work(void *p) { table[3](p, 9); return p; }\nint main(void) {\n";
    for number in 0..count {
        text += &format!("  table[{number}] = f{number};\n");
    }
    text += "  pthread_t t;\n  pthread_create(&t, 0, work, &items[1]);\n\
        table[2](&items[0], 5);\n  pthread_join(t, 0);\n  return 0;\n}\n";
    text
}

#[test]
fn functions_that_call_each_other_cost_a_few_contexts_each() {
    let (small, large) = (cost(&table(30)), cost(&table(90)));
    assert!(small.contexts <= 2 * 12 * 30 + 2, "{} contexts", small.contexts);
    assert!(large.contexts <= 4 * small.contexts, "{} contexts", large.contexts);
    assert!(large.state <= small.state + 4, "a state of {} after {}", large.state, small.state);
}

/// A handler with functions below it, registered for some signals one by one.
fn signals(count: usize) -> String {
    let mut text = format!("{HEAD}static int seen;\n");
    for number in 0..30 {
        let below = match number {
            0 => "seen++;".to_owned(),
            _ => format!("f{}(n + 1);", number - 1),
        };
        text += &format!("static void f{number}(int n) {{ items[n & 7].key = n; {below} }}\n");
    }
    text += "static void handle(int n) { f29(n); }\nint main(void) {\n\
        struct sigaction act = { .sa_handler = handle };\n";
    for number in 0..count {
        text += &format!("  sigaction({}, &act, 0);\n", number + 1);
    }
    text += "  f29(1);\n  return seen;\n}\n";
    text
}

#[test]
fn one_handler_of_many_signals_costs_what_one_of_two_does() {
    let (small, large) = (cost(&signals(2)), cost(&signals(12)));
    assert_eq!((small.threads, small.contexts), (large.threads, large.contexts));
    assert!(large.state <= 2, "a state of {}", large.state);
}

/// Functions that each create a thread of their own and go on to the next.
fn starters(count: usize) -> String {
    let mut text = HEAD.to_owned();
    for number in 0..count {
        text += &format!(
            "static void *run{number}(void *p) {{ items[{}].key++; return p; }}\n",
            number % 8
        );
        let next = match number {
            0 => String::new(),
            _ => format!("start{}();", number - 1),
        };
        text += &format!(
            "static void start{number}(void) {{\n  pthread_t t;\n\
               pthread_create(&t, 0, run{number}, 0);\n  pthread_detach(t);\n  {next}\n}}\n"
        );
    }
    text += &format!("int main(void) {{ start{}(); return 0; }}\n", count - 1);
    text
}

#[test]
fn a_chain_of_creators_costs_two_contexts_for_each_thread() {
    for count in [20, 60, 600] {
        let Cost { contexts, state, threads, .. } = cost(&starters(count));
        let count = count as u64;
        assert_eq!(threads, count + 1);
        assert!(contexts <= 2 * count + 1, "{contexts} contexts of {count} threads");
        assert!(state <= count, "a state of {state} with {count} threads");
    }
}

/// One object that two threads access at so many different places.
fn places(count: usize) -> String {
    const EACH: usize = 500;
    let mut text = format!("{HEAD}static struct {{ int field[{count}]; }} large;\n");
    for (thread, step) in [("first", "++"), ("second", "--")] {
        for part in 0..count / EACH {
            text += &format!("static void {thread}_{part}(void) {{\n");
            for place in part * EACH..(part + 1) * EACH {
                text += &format!("  large.field[{place}]{step};\n");
            }
            text += "}\n";
        }
        text += &format!("static void *{thread}(void *p) {{\n");
        for part in 0..count / EACH {
            text += &format!("  {thread}_{part}();\n");
        }
        text += "  return p;\n}\n";
    }
    text += "int main(void) {\n  pthread_t t, u;\n  pthread_create(&t, 0, first, 0);\n\
        pthread_create(&u, 0, second, 0);\n  pthread_join(t, 0);\n  pthread_join(u, 0);\n\
        return 0;\n}\n";
    text
}

#[test]
fn places_of_one_object_are_compared_with_those_that_they_meet() {
    for count in [1_000, 4_000] {
        let compared = cost(&places(count)).compared;
        assert!(compared <= 3 * count as u64, "{compared} comparisons of {count} places");
    }
}
