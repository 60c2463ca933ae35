//! Builds the runtime once per mode and hands the archives to `include_bytes!`.
//!
//! The runtime is not a workspace member: it needs its own profile (panic=abort, one code unit) and
//! must never share a compiled `std` configuration with the tool. It is built by a nested cargo in
//! its own target folder, so that the outer cargo's lock is not waited for.

use std::path::{Path, PathBuf};
use std::process::Command;

const MODES: [&str; 3] = ["detect", "record", "gate"];

fn main() {
    let manifest = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(variable("OUT_DIR"));
    let runtime = manifest.join("../runtime");
    for watched in ["Cargo.toml", "Cargo.lock", "src"] {
        println!("cargo::rerun-if-changed={}", runtime.join(watched).display());
    }
    for dependency in ["detector", "trace", "schedule"] {
        println!("cargo::rerun-if-changed={}", manifest.join("..").join(dependency).display());
    }
    for mode in MODES {
        let archive = build(&runtime, &out, mode);
        let kept = out.join(format!("runtime-{mode}.a"));
        std::fs::copy(&archive, &kept).unwrap_or_else(|error| {
            panic!("cannot copy {} to {}: {error}", archive.display(), kept.display())
        });
    }
}

fn build(runtime: &Path, out: &Path, mode: &str) -> PathBuf {
    let target_directory = out.join("runtime");
    let mut command = Command::new(variable("CARGO"));
    command
        .args(["build", "--release", "--locked", "--lib", "--no-default-features", "--features"])
        .arg(mode)
        .arg("--manifest-path")
        .arg(runtime.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target_directory)
        // What the outer cargo set is about the outer build: coverage or lint flags must not leak
        // into code that runs inside other people's programs.
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        // Without unwind tables pthread_exit and cancellation end their unwinding at the runtime's
        // frames and jump on, as glibc does at the end of a stack; with tables they would abort.
        .env("RUSTFLAGS", "-C force-unwind-tables=no")
        .env_remove("RUSTC_WRAPPER")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("CARGO_TARGET_DIR");
    let status = command.status().unwrap_or_else(|error| panic!("cannot run cargo: {error}"));
    assert!(status.success(), "building the {mode} runtime failed");
    target_directory.join("release/libracewarden_runtime.a")
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
