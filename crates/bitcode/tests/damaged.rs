//! Files that are not good bitcode give an error that names them; none takes the process down
//! without one.

mod common;

use std::path::Path;
use std::process::Command;

use common::Source;
use racewarden_bitcode::lower_file;

const PROGRAM: &str = "
struct node { int value; struct node *next; };
int table[4];
int sum(struct node *n) { int s = 0; for (; n; n = n->next) { s += n->value; table[s & 3]++; } return s; }
";

fn error(path: &Path) -> String {
    let message = lower_file(path).expect_err("the file is no bitcode").to_string();
    assert!(message.starts_with(&path.display().to_string()), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    message
}

#[test]
fn truncated_files() {
    let source = Source::new("a.c", PROGRAM);
    let bitcode = std::fs::read(source.compile(&[])).expect("bitcode is there");
    let path = source.folder().join("cut.bc");
    for length in [1, 4, 8, 20, 100, bitcode.len() / 2, bitcode.len() - 4] {
        std::fs::write(&path, &bitcode[..length]).expect("the file is written");
        error(&path);
    }
}

#[test]
fn foreign_and_missing_files() {
    let source = Source::new("a.c", PROGRAM);
    let path = source.folder().join("odd.bc");
    for bytes in [&b""[..], b"\n\n", b"hello", b"\x7fELF\x02\x01\x01", b"BC\xc0\xdeBC\xc0\xde"] {
        std::fs::write(&path, bytes).expect("the file is written");
        error(&path);
    }
    assert!(error(&source.folder().join("missing.bc")).contains("No such file"));
    error(source.folder());
}

#[test]
fn assembly_that_does_not_verify() {
    let text = "define i32 @f() {\n  %1 = add i32 %1, 1\n  ret i32 %1\n}\n";
    let source = Source::new("bad.ll", text);
    let message = error(&source.folder().join("bad.ll"));
    assert!(message.contains("Only PHI nodes may reference their own value"), "{message}");
}

/// Flips bits and reads the file in a process of its own, since LLVM may crash on it.
#[test]
fn flipped_bits() {
    const NAME: &str = "flipped_bits";
    if let Some(path) = std::env::var_os("RACEWARDEN_DAMAGED_FILE") {
        let _ = lower_file(path);
        return;
    }
    let source = Source::new("a.c", PROGRAM);
    let bitcode = std::fs::read(source.compile(&[])).expect("bitcode is there");
    let path = source.folder().join("flipped.bc");
    // A small generator of its own keeps the damage the same in every run.
    let mut state = 7_u64;
    for _ in 0..40 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let mut damaged = bitcode.clone();
        let at = 4 + (state >> 33) as usize % (bitcode.len() - 4);
        damaged[at] ^= 1 << (state >> 29 & 7);
        std::fs::write(&path, &damaged).expect("the file is written");
        let output = Command::new(std::env::current_exe().expect("this test's own binary"))
            .args(["--exact", NAME, "--nocapture"])
            .env("RACEWARDEN_DAMAGED_FILE", &path)
            .output()
            .expect("the test runs itself");
        let stderr = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(0) => {}
            Some(2) => assert!(stderr.contains("flipped.bc: not readable"), "{stderr}"),
            other => panic!("byte {at}: ended with {other:?}: {stderr}"),
        }
    }
}
