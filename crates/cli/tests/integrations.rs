//! What ties Racewarden to where people already are: the CMake example, completions, manual pages,
//! doctor.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn racewarden(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_racewarden"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn the_cmake_target_builds_under_capture_and_hunts() {
    let folder = tempfile::tempdir().unwrap();
    let example = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/integrations");
    for file in ["CMakeLists.txt", "hits.c"] {
        std::fs::copy(example.join(file), folder.path().join(file)).unwrap();
    }
    let cmake = |arguments: &[&str]| {
        Command::new("cmake")
            .args(arguments)
            .current_dir(folder.path())
            .env("RACEWARDEN_CACHE", folder.path().join("cache"))
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    let binary = format!("-DRACEWARDEN={}", env!("CARGO_BIN_EXE_racewarden"));
    let configured = cmake(&["-S", ".", "-B", "build", &binary]);
    assert!(configured.status.success(), "{}", text(&configured));
    let hunted = cmake(&["--build", "build", "--target", "races"]);
    let said = text(&hunted);
    assert!(!hunted.status.success(), "races fail the target: {said}");
    assert!(said.contains("conclusion: racy"), "{said}");
    assert!(said.contains("hits.c:10"), "{said}");
    assert!(folder.path().join("build/captured/.racewarden/ledger.db").is_file(), "{said}");
}

#[test]
fn every_shell_gets_completions_and_every_command_a_manual_page() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = racewarden(&["completions", shell]);
        assert!(output.status.success() && text(&output).contains("hunt"), "{shell}");
    }
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man");
    assert!(racewarden(&["man", pages.to_str().unwrap()]).status.success());
    for page in ["racewarden.1", "racewarden-hunt.1", "racewarden-mark.1", "racewarden-serve.1"] {
        assert!(Path::new(&pages).join(page).is_file(), "{page}");
    }
}

#[test]
fn doctor_names_what_is_there_and_what_is_missing() {
    let output = racewarden(&["doctor"]);
    let said = text(&output);
    assert!(output.status.success(), "the tests need what it asks for: {said}");
    for what in ["clang", "lld", "llvm-ar", "gdb", "cache"] {
        assert!(said.contains(what), "{what}: {said}");
    }
    let blind = Command::new(env!("CARGO_BIN_EXE_racewarden"))
        .arg("doctor")
        .env("RACEWARDEN_CLANG", "/nowhere/clang-22")
        .output()
        .unwrap();
    let said = text(&blind);
    assert_eq!(blind.status.code(), Some(2), "{said}");
    assert!(said.contains("MISSING") && said.contains("apt-get install"), "{said}");
}
