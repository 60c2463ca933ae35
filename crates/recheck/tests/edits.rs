//! A kept result is worth what a new one is: after every edit of a series, the report with a cache
//! is the report without one, byte for byte.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use common::{check_sources, text};
use racewarden_recheck::Checked;

mod common;

const TABLE: &str = r#"#include <pthread.h>
#include "table.h"
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
struct row rows[8];
int hits;
static float share;
static long marks[4];

static int next(int key) {
    return key * 3 + 1;
}

void put(int key, int value) {
    pthread_mutex_lock(&lock);
    rows[key & 7].key = key;
    rows[key & 7].value = value * 2 + 1;
    pthread_mutex_unlock(&lock);
    hits = next(hits);
}

int get(int key) {
    int found = 0;
    if (key > 3)
        share = share / 2 + 1;
    marks[key & 3] = 5;
    pthread_mutex_lock(&lock);
    found = rows[key & 7].value;
    pthread_mutex_unlock(&lock);
    return found;
}
"#;

const MAIN: &str = r#"#include <pthread.h>
#include <stdio.h>
#include "table.h"

static void *fill(void *unused) {
    for (int key = 0; key < 8; key++)
        put(key, key);
    return unused;
}

int main(void) {
    pthread_t filler;
    pthread_create(&filler, 0, fill, 0);
    int sum = 0;
    for (int key = 0; key < 8; key++)
        sum += get(key);
    printf("%d %d\n", sum, hits);
    pthread_join(filler, 0);
    return 0;
}
"#;

const HEADER: &str = "struct row { int key; int value; };\nextern int hits;\n\
                      void put(int key, int value);\nint get(int key);\n";

/// File, old text and new text.
type Replaced = (&'static str, &'static str, &'static str);

/// A program's sources, and the folder of what is made of them.
struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    fn new() -> Project {
        let project = Project { folder: tempfile::tempdir().expect("a folder") };
        for (name, text) in [("table.h", HEADER), ("table.c", TABLE), ("main.c", MAIN)] {
            std::fs::write(project.path(name), text).expect("writable");
        }
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn edit(&self, file: &str, from: &str, to: &str) {
        let text = std::fs::read_to_string(self.path(file)).expect("a source");
        assert!(text.contains(from), "{file} has no {from:?}");
        std::fs::write(self.path(file), text.replacen(from, to, 1)).expect("writable");
    }

    fn check(&self, cache: Option<&Path>) -> Checked {
        check_sources(self.folder.path(), &["table.c", "main.c"], cache, &|_| {})
    }

    /// As `compare`, for an edit that the result is not reused after; whether contexts were.
    fn takes_over(&self, what: &str) -> bool {
        let taken = Cell::new(false);
        let entered = |stage: &'static str| taken.set(taken.get() || stage == "accesses");
        let (sources, cache) = (["table.c", "main.c"], self.path("cache"));
        let kept = check_sources(self.folder.path(), &sources, Some(&cache), &entered);
        assert_eq!(text(&kept), text(&self.check(None)), "{what}");
        assert!(!kept.reused, "{what}");
        taken.get()
    }

    /// Checks with the cache and without, holds one against the other, and says whether a kept
    /// result was used.
    fn compare(&self, what: &str) -> bool {
        let (kept, anew) = (self.check(Some(&self.path("cache"))), self.check(None));
        assert!(!anew.reused);
        assert_eq!(text(&kept), text(&anew), "{what}");
        kept.reused
    }
}

#[test]
fn reports_after_edits_are_those_of_a_whole_check() {
    let project = Project::new();
    assert!(!project.compare("the first check"));
    assert!(project.compare("no edit"));
    let races = project.check(None).report.races.len();
    assert!(races > 0, "`hits` is not guarded");

    // What the engine cannot tell.
    project.edit("table.c", "void put", "/* Stores a row.\n   Any thread. */\nvoid put");
    assert!(project.compare("moved lines"));
    project.edit("table.c", "value * 2 + 1", "value * 5 - 3");
    assert!(project.compare("another number stored"));
    project.edit("table.c", "share / 2 + 1", "(share + 8) / 4 - 2");
    assert!(project.compare("more computation of what is stored"));
    project.edit("main.c", "static void *fill", "\n\nstatic void *fill");
    assert!(project.compare("moved lines in another unit"));

    // What it can, and finds not to matter. Edits before have changed the number of instructions.
    project.edit("table.c", "key > 3", "key > 4");
    assert!(!project.compare("a condition"));
    project.edit("table.c", "key > 4", "key <= 5");
    assert!(project.compare("another condition"));
    project.edit("table.c", "key * 3 + 1", "key * 4 - 1");
    assert!(project.compare("another result"));
    project.edit("table.c", "= 5;", "= 6;");
    assert!(project.compare("another constant stored"));

    // What may matter.
    let get = "int get(int key)";
    let edits: [(&str, &[Replaced]); 5] = [
        ("an access", &[("table.c", "int found = 0;", "int found = 0;\n    hits++;")]),
        (
            "another lock",
            &[
                ("table.c", "lock(&lock);\n    found", "lock(&other);\n    found"),
                ("table.c", "unlock(&lock);\n    return", "unlock(&other);\n    return"),
            ],
        ),
        ("a global", &[("main.c", "int main", "int many;\nint main")]),
        (
            "a thread",
            &[
                ("main.c", "int sum = 0;", "pthread_t more;\n    int sum = 0;"),
                ("main.c", "int sum", "pthread_create(&more, 0, fill, 0);\n    int sum"),
            ],
        ),
        (
            "a signature",
            &[
                ("table.h", get, "int get(int key, int *out)"),
                ("table.c", get, "int get(int key, int *out)"),
                ("table.c", "return found", "*out = found;\n    return found"),
                ("main.c", "get(key)", "get(key, &many)"),
            ],
        ),
    ];
    for (what, places) in edits {
        for (file, from, to) in places {
            project.edit(file, from, to);
        }
        assert!(!project.compare(what), "{what}: not to be reused");
        assert!(project.compare(what), "{what}: the second time");
    }
    assert!(project.check(None).report.races.len() > races);
    project.edit("table.c", "hits++", "hits = 0");
    assert!(!project.compare("an edit"));
    project.edit("table.c", "hits = 0", "hits++");
    assert!(project.compare("taken back"));
}

#[test]
fn contexts_are_taken_over_when_no_call_was_changed() {
    let project = Project::new();
    assert!(!project.takes_over("the first check"));
    let found = "int found = 0;";
    project.edit("table.c", found, "int found = 0;\n    hits++;");
    assert!(project.takes_over("an access"));
    project.edit("table.c", found, "int more = rows[2].key;\n    int found = more & 0;");
    assert!(project.takes_over("a variable, after an access"));
    project.edit("table.c", "\n    hits++;", "");
    assert!(project.takes_over("an access taken away"));
    project.edit(
        "table.c",
        "    hits = next",
        "    if (value > 2) rows[0].key++;\n    hits = next",
    );
    assert!(project.takes_over("a branch in another function"));
    project.edit("main.c", "int sum = 0;", "int sum = 0, other = hits;");
    assert!(!project.takes_over("a variable of who starts threads"));

    project.edit("table.c", "    hits = next", "    get(value);\n    hits = next");
    assert!(!project.takes_over("a call"));
    project.edit("table.c", "    pthread_mutex_lock(&lock);\n    rows", "    rows");
    assert!(!project.takes_over("a lock taken away"));
    project.edit("table.c", "int hits;", "int hits;\nint *spare = &hits;");
    assert!(!project.takes_over("a global"));
    project.edit("table.c", "    get(value);", "    get(value);\n    spare = &rows[1].key;");
    assert!(!project.takes_over("where a pointer leads"));
}

#[test]
fn damaged_and_unusable_caches_change_nothing() {
    let project = Project::new();
    project.compare("the first check");
    let files = || {
        let folders = std::fs::read_dir(project.path("cache")).expect("a cache");
        folders.flat_map(|folder| {
            let files = std::fs::read_dir(folder.expect("an entry").path()).expect("a folder");
            files.map(|file| file.expect("an entry").path()).collect::<Vec<_>>()
        })
    };
    assert!(files().count() >= 5);
    for damage in [&b""[..], b"no cache", &[0xff; 4096]] {
        for file in files().collect::<Vec<_>>() {
            std::fs::write(file, damage).expect("writable");
        }
        assert!(!project.compare("damaged files"));
        assert!(project.compare("files made again"));
    }
    // A file where the folder should be.
    let blocked = project.path("blocked");
    std::fs::write(&blocked, "").expect("writable");
    assert_eq!(text(&project.check(Some(&blocked))), text(&project.check(None)));
}
