//! Many small edits of a program of several units, one after the other: after each of them the report
//! that takes over what earlier checks have found is that of a whole check, byte for byte.
//!
//! The edits are chosen to matter where the engine looks closest: values that threads wait for, steps
//! of counts, bounds of loops, which lock is taken and when, what is added to a pointer, what a flag is
//! set to. Others add and take away statements: accesses, calls, variables, locks. Beside them are such as
//! do not matter to anything.

use std::cell::Cell;
use std::path::Path;

use common::{check_sources, text};
use racewarden_recheck::Checked;

mod common;

const HEADER: &str = "#include <pthread.h>\n#include <stdatomic.h>\n#include <stdint.h>\n\
    #include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n\
    extern pthread_mutex_t locks[2];\nextern long table[64];\nextern long total, rows, hits;\n\
    extern int payload, gate, marks[8];\nextern atomic_int ready, left;\n\
    void tell(int value);\nint wait_for(void);\nvoid fill(int half);\nvoid add(long amount, int mode);\n\
    int leave(void);\nlong *place(long *base, long number);\nint parity(int number);\n";

/// Each `@name@` is a knob: an edit gives it another of its values.
const UNITS: [(&str, &str); 3] = [
    (
        "sync.c",
        r#"#include "all.h"
pthread_mutex_t locks[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
atomic_int ready, left = 2;
int payload, gate = @closed@, marks[8];

void tell(int value) {
    @spared@
    payload = value @calculate@ 3;
    marks[value & 7] = @marked@;
    @told_more@
    atomic_store(&ready, @told@);
}

int wait_for(void) {
    while (atomic_load(&ready) @waits@ @awaited@)
        ;
    return payload;
}

int leave(void) {
    @said@
    return atomic_fetch_sub(&left, 1) == @last@;
}
"#,
    ),
    (
        "work.c",
        r#"#include "all.h"
long table[64];
long total, rows, hits;

int parity(int number) {
    @passed@
    if (number @compares@ @bound@)
        return number & @mask@;
    return 0;
}

void fill(int half) {
    @filled@
    if (half) {
        for (int i = @begin@; i < @end@; i++)
            table[i] += i;
    } else {
        for (int i = 0; i < @middle@; i++)
            table[i] -= i;
    }
}

static void set(long *to) {
    *to = 4;
}

void add(long amount, int mode) {
    long own;
    set(&own);
    @owned@
    if (mode @asks@ 0)
        pthread_mutex_lock(&locks[0]);
    total += amount * @factor@;
    if (mode @gives@ 0)
        pthread_mutex_unlock(&locks[0]);
    pthread_mutex_lock(&locks[@lock@]);
    rows += @step@;
    pthread_mutex_unlock(&locks[@lock@]);
    if (parity(mode))
        hits++;
    @more@
}

long *place(long *base, long number) {
    @kept@
    @placed@
    return (long *)((uintptr_t)base + (uintptr_t)(number * @apart@ + @after@));
}
"#,
    ),
    (
        "main.c",
        r#"#include "all.h"

static void *first(void *unused) {
    long local = @start@;
    @begins@
    tell(7);
    fill(0);
    for (int i = 0; i < 4; i++) {
        local = local @calculate@ i;
        add(local, @mode@);
    }
    *place(table, 1) = local;
    pthread_mutex_lock(&locks[1]);
    gate = @opened@;
    pthread_mutex_unlock(&locks[1]);
    leave();
    return unused;
}

static void *second(void *unused) {
    if (wait_for() > @start@)
        payload++;
    fill(1);
    pthread_mutex_lock(&locks[1]);
    int may = gate == @entered@;
    @unlocks@
    if (may)
        marks[0]++;
    add(2, 1);
    *place(table, 2) = 5;
    if (leave())
        hits = 0;
    return unused;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, first, 0);
    pthread_create(&two, 0, second, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    return (int)(total + rows + hits) @compares@ 9;
}
"#,
    ),
];

const KNOBS: [(&str, &[&str]); 34] = [
    ("calculate", &["+", "-", "*"]),
    ("told", &["1", "2"]),
    ("waits", &["!=", "==", "<"]),
    ("awaited", &["1", "2", "0"]),
    ("last", &["1", "2"]),
    ("compares", &[">", "<", "=="]),
    ("bound", &["10", "11", "0"]),
    ("mask", &["1", "3"]),
    ("begin", &["32", "30", "40"]),
    ("end", &["64", "63", "50"]),
    ("middle", &["32", "20", "36"]),
    ("asks", &["!=", "==", ">"]),
    ("gives", &["!=", "==", ">"]),
    ("factor", &["2", "3", "5"]),
    ("lock", &["0", "1"]),
    ("step", &["1", "2"]),
    ("apart", &["8", "16", "4"]),
    ("after", &["64", "128"]),
    ("start", &["0", "1", "6"]),
    ("closed", &["0", "1"]),
    ("marked", &["4", "5", "0"]),
    ("opened", &["1", "2", "0"]),
    ("entered", &["1", "2", "0"]),
    ("more", &["", "rows++;", "parity(3);", "long more = amount * 3; total += more;", "fill(0);"]),
    (
        "told_more",
        &[
            "",
            "marks[1]++;",
            "int twice = value * 2; payload = twice;",
            "long none[2]; none[0] = value; marks[2] = (int)none[0];",
        ],
    ),
    (
        "filled",
        &["", "rows++;", "static long calls; calls++;", "long *first = &table[half]; *first = 1;"],
    ),
    ("placed", &["", "total++;", "long by = number + 1; number = by - 1;"]),
    (
        "passed",
        &[
            "",
            "if (number > 2) hits += number;",
            "for (int i = 0; i < number; i++) marks[i & 7]--;",
            "long *to = number ? &total : &rows; ++*to;",
        ],
    ),
    (
        "spared",
        &[
            "",
            "long spare = value; spare *= 3;",
            "int spare = value; if (spare > 3) spare = 0;",
            "int spare = 0; for (int i = 0; i < value; i++) spare += i;",
            "int spare[2] = { value, 1 }; spare[1] = spare[0];",
        ],
    ),
    (
        "said",
        &["", "puts(\"left\");", "int spare = getpid(); spare++;", "long spare = 4; spare -= 2;"],
    ),
    (
        "kept",
        &[
            "",
            "uintptr_t spare = (uintptr_t)base; base = (long *)(spare + 0);",
            "uintptr_t spare = (uintptr_t)number; spare ^= 5;",
            "long *spare = base; base = spare;",
        ],
    ),
    (
        "owned",
        &[
            "",
            "int large = 0; if (own > 3) large = 1;",
            "if (own > 3) amount = 0;",
            "if (own > 3) rows++;",
            "own = 2;",
            "hits += own;",
        ],
    ),
    ("begins", &["", "local += hits;", "pthread_mutex_lock(&locks[0]); rows--;", "leave();"]),
    (
        "unlocks",
        &["pthread_mutex_unlock(&locks[1]);", "may &= 1; pthread_mutex_unlock(&locks[1]);", ""],
    ),
];

/// Another knob, which decides what one unit passes to another.
const MODES: &[&str] = &["1", "0", "i - 2"];

const EDITS: usize = 120;

struct Project {
    folder: tempfile::TempDir,
    /// The chosen value of each knob.
    chosen: Vec<usize>,
}

impl Project {
    fn new() -> Project {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("all.h"), HEADER).expect("writable");
        let project = Project { folder, chosen: vec![0; KNOBS.len() + 1] };
        project.write();
        project
    }

    fn values(knob: usize) -> (&'static str, &'static [&'static str]) {
        KNOBS.get(knob).copied().unwrap_or(("mode", MODES))
    }

    fn write(&self) {
        for (name, text) in UNITS {
            let mut text = text.to_owned();
            for (knob, &choice) in self.chosen.iter().enumerate() {
                let (name, values) = Project::values(knob);
                text = text.replace(&format!("@{name}@"), values[choice]);
            }
            assert!(!text.contains('@'), "{text}");
            std::fs::write(self.folder.path().join(name), text).expect("writable");
        }
    }

    /// The check, and whether contexts were taken over.
    fn check(&self, cache: Option<&Path>) -> (Checked, bool) {
        let taken = Cell::new(false);
        let entered = |stage: &'static str| taken.set(taken.get() || stage == "accesses");
        let sources = UNITS.map(|(name, _)| name);
        let checked = check_sources(self.folder.path(), &sources, cache, &entered);
        (checked, taken.get())
    }
}

/// Numbers that look random and are the same in every run (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }
}

#[test]
fn reports_after_random_edits_are_those_of_whole_checks() {
    let mut project = Project::new();
    let cache = project.folder.path().join("cache");
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let (mut reused, mut taken_over, mut reports) = (0, 0, std::collections::BTreeSet::new());
    let mut before = String::new();
    let mut changed = 0;
    for edit in 0..EDITS {
        let ((kept, taken), (anew, _)) = (project.check(Some(&cache)), project.check(None));
        taken_over += usize::from(taken);
        let report = text(&anew);
        assert_eq!(text(&kept), report, "edit {edit}: {:?}", project.chosen);
        reused += usize::from(kept.reused);
        changed += usize::from(before != report);
        before.clone_from(&report);
        reports.insert(report);
        let knob = numbers.below(project.chosen.len());
        let count = Project::values(knob).1.len();
        project.chosen[knob] = (project.chosen[knob] + 1 + numbers.below(count - 1)) % count;
        project.write();
    }
    // Otherwise the edits, or the program, show nothing.
    assert!(reused >= 5, "{reused} of {EDITS} were taken over");
    assert!(taken_over >= 5, "of {EDITS} the contexts of {taken_over} were taken over");
    assert!(reports.len() >= 3 && changed >= 3, "{} reports, {changed} changes", reports.len());
}
