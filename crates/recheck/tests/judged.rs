//! Edits after which other pairs are judged otherwise, or pairs are found that were not there: what is
//! taken over from the check before must not show.
//!
//! The program jumps, so that nothing is known of flags in it; then what was found in objects without other
//! accesses is kept. Each edit starts from the program as it was.

use std::cell::Cell;
use std::path::Path;

use common::{check_sources, text};
use racewarden_recheck::Checked;

mod common;

const PROGRAM: &str = r#"#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>
struct box { int width; int height; };
static jmp_buf out;
static atomic_int next;
static int work[64];
static int hits, rows, total, level, spare[4];
static struct box *box;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;

static void take(void) {
    int number = atomic_fetch_add(&next, 1);
    if (number < 64)
        work[number] = number;
}

static void count(void) {
    pthread_mutex_lock(&lock);
    total++;
    pthread_mutex_unlock(&lock);
}

static void fill(void) {
    struct box *own = malloc(sizeof *own);
    /* own */
    own->width = 1;
    own->height = level;
    box = own;
}

static int deeper(int number) {
    return number > 0 ? deeper(number - 1) : spare[1];
}

static void *run(void *unused);

static void idle(int number) {
    /* idle */
}

static void *run(void *unused) {
    take();
    count();
    rows++;
    idle(1);
    deeper(2);
    spare[2]++;
    return unused;
}

int main(void) {
    pthread_t one, two;
    if (setjmp(out))
        return 1;
    fill();
    pthread_create(&one, 0, run, 0);
    pthread_create(&two, 0, run, 0);
    hits++;
    fill();
    count();
    pthread_join(one, 0);
    pthread_join(two, 0);
    if (hits > 100)
        longjmp(out, 1);
    return box->width;
}
"#;

/// Where the statement goes, and the statement.
const EDITS: [(&str, &str); 23] = [
    ("idle", "rows++;"),
    ("idle", "hits++;"),
    ("idle", "hits = level;"),
    ("idle", "total++;"),
    ("idle", "next = 0;"),
    ("idle", "work[3] = 1;"),
    ("idle", "level = number;"),
    ("idle", "spare[2]++;"),
    ("idle", "if (box) box->height = 2;"),
    ("idle", "pthread_mutex_lock(&lock); level++; pthread_mutex_unlock(&lock);"),
    ("idle", "pthread_mutex_unlock(&lock);"),
    ("idle", "pthread_mutex_lock(&other);"),
    ("idle", "pthread_mutex_init(&lock, 0);"),
    ("idle", "pthread_t more; pthread_create(&more, 0, run, 0);"),
    ("idle", "count();"),
    ("idle", "deeper(number);"),
    ("idle", "if (number > 5) idle(number - 1);"),
    ("idle", "if (number > 5) run(0);"),
    ("idle", "fill();"),
    ("idle", "static int calls; calls++;"),
    ("idle", "int own = 3, *to = &own; *to = level;"),
    ("own", "box = own;"),
    ("own", "own->height = hits;"),
];

fn check(folder: &Path, cache: Option<&Path>) -> (Checked, bool) {
    let kept = Cell::new(false);
    let entered = |stage: &'static str| kept.set(kept.get() || stage == "words of kept pairs");
    let checked = check_sources(folder, &["program.c"], cache, &entered);
    (checked, kept.get())
}

#[test]
fn what_is_taken_over_does_not_show() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, cache) = (folder.path().join("program.c"), folder.path().join("cache"));
    let mut kept = Vec::new();
    let mut reports = std::collections::BTreeSet::new();
    for (at, statement) in EDITS {
        let mark = format!("/* {at} */");
        assert!(PROGRAM.contains(&mark));
        std::fs::write(&source, PROGRAM).expect("writable");
        check(folder.path(), Some(&cache));
        for text_now in [
            PROGRAM.replace(&mark, statement),
            PROGRAM.replace(&mark, &format!("{statement} spare[2]++;")),
        ] {
            std::fs::write(&source, text_now).expect("writable");
            let ((again, hold), (anew, _)) =
                (check(folder.path(), Some(&cache)), check(folder.path(), None));
            assert_eq!(text(&again), text(&anew), "after {statement}");
            reports.insert(text(&anew));
            if hold {
                kept.push(statement);
            }
        }
    }
    // Otherwise the edits show nothing.
    assert!(reports.len() > EDITS.len(), "{} reports", reports.len());
    let holds = |statement: &str| kept.contains(&statement);
    assert!(holds("work[3] = 1;") && holds("spare[2]++;"), "{kept:?}");
    assert!(
        !holds("next = 0;") && !holds("rows++;") && !holds("count();") && !holds("fill();"),
        "{kept:?}"
    );
}
