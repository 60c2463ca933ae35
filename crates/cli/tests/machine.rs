//! The commands about the tool itself.

use std::process::{Command, Output};

fn racewarden(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_racewarden")).args(words).output().unwrap()
}

#[test]
fn doctor_finds_this_machine_fit() {
    let output = racewarden(&["doctor"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("clang version 22"), "{text}");
}

#[test]
fn doctor_tells_what_to_install() {
    let empty = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_racewarden"))
        .arg("doctor")
        .env("RACEWARDEN_CLANG", empty.path().join("clang-22"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("apt-get install clang-22"), "{text}");
}

#[test]
fn completions_and_manual_know_the_commands() {
    for words in [&["completions", "bash"][..], &["completions", "zsh"], &["man"]] {
        let output = racewarden(words);
        assert!(output.status.success());
        assert!(String::from_utf8_lossy(&output.stdout).contains("capture"), "{words:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    assert!(racewarden(&["man", folder.path().to_str().unwrap()]).status.success());
    assert!(folder.path().join("racewarden-capture.1").is_file());
}
