//! `cargo xtask tidy`: checks what ARCHITECTURE.md promises and the compiler does not.
//!
//! The walls are read off `cargo metadata`, the habits off the sources. Each complaint names the
//! place and the rule, so that it can be acted on without reading this file.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use serde_json::Value;

/// A dependency that only some crates may name.
const ONLY: [(&str, &[&str]); 4] = [
    ("inkwell", &["racewarden-bitcode", "racewarden-instrument"]),
    ("llvm-sys", &["racewarden-bitcode", "racewarden-instrument"]),
    ("z3", &["racewarden-predict"]),
    ("sqlx", &["racewarden-ledger", "racewarden-hive", "racewarden-testkit"]),
];

/// Crates that no other may depend on.
const LEAVES: [&str; 3] = ["racewarden", "racewarden-bench", "xtask"];

/// Crates that stand alone: no dependency of the workspace's, except those named.
const ALONE: [(&str, &[&str]); 5] = [
    ("racewarden-finding", &[]),
    ("racewarden-schedule", &[]),
    ("racewarden-models", &[]),
    ("racewarden-ir", &[]),
    ("racewarden-capture", &[]),
];

/// Crates whose code may hold `unsafe`.
const UNSAFE: [&str; 4] = ["bitcode", "instrument", "runtime", "cli"];

/// Words that mean input or output, which `analysis` and `detector` do none of.
const IO: [&str; 5] = ["std::fs", "std::net", "std::process", "println!", "std::io"];

const LONGEST_FILE: usize = 800;

pub fn run() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the workspace's root")?;
    let mut complaints = Vec::new();
    let packages = packages(root)?;
    ensure!(packages.len() > 10, "cargo metadata lists only {} packages", packages.len());
    for package in &packages {
        walls(package, &mut complaints);
    }
    for file in sources(root)? {
        let text = std::fs::read_to_string(root.join(&file))
            .with_context(|| file.display().to_string())?;
        habits(&file, &text, &mut complaints);
    }
    if complaints.is_empty() {
        return Ok(());
    }
    complaints.sort();
    for complaint in &complaints {
        println!("{complaint}");
    }
    bail!("{} complaints", complaints.len())
}

/// A workspace member and what it names in `[dependencies]`.
struct Package {
    name: String,
    dependencies: Vec<String>,
}

fn packages(root: &Path) -> anyhow::Result<Vec<Package>> {
    let mut packages = metadata(root)?;
    // The runtime is a workspace of its own.
    packages.extend(metadata(&root.join("crates/runtime"))?);
    Ok(packages)
}

fn metadata(folder: &Path) -> anyhow::Result<Vec<Package>> {
    if !folder.join("Cargo.toml").is_file() {
        return Ok(Vec::new());
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--no-deps"])
        .current_dir(folder)
        .output()
        .context("cargo metadata")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let listed = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    Ok(listed.iter().map(package_of).collect())
}

fn package_of(listed: &Value) -> Package {
    let dependencies = listed["dependencies"].as_array().into_iter().flatten();
    let normal = dependencies.filter(|dependency| dependency["kind"].is_null());
    Package {
        name: listed["name"].as_str().unwrap_or_default().to_owned(),
        dependencies: normal.filter_map(|one| one["name"].as_str()).map(str::to_owned).collect(),
    }
}

fn walls(package: &Package, complaints: &mut Vec<String>) {
    let Package { name, dependencies } = package;
    for dependency in dependencies {
        if let Some((_, allowed)) = ONLY.iter().find(|(guarded, _)| guarded == dependency)
            && !allowed.contains(&name.as_str())
        {
            complaints.push(format!("{name}: names {dependency}; only {} may", allowed.join(", ")));
        }
        if LEAVES.contains(&dependency.as_str()) {
            complaints.push(format!("{name}: depends on {dependency}, on which nothing may"));
        }
    }
    if name == "racewarden-detector" && !dependencies.is_empty() {
        complaints
            .push(format!("{name}: depends on {}, but stands alone", dependencies.join(", ")));
    }
    if let Some((_, allowed)) = ALONE.iter().find(|(alone, _)| alone == name) {
        let own = dependencies.iter().filter(|dependency| dependency.starts_with("racewarden"));
        for dependency in own.filter(|dependency| !allowed.contains(&dependency.as_str())) {
            complaints.push(format!("{name}: depends on {dependency}, but stands alone"));
        }
    }
}

/// Every Rust file that git knows, relative to the root.
fn sources(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let output = Command::new("git").args(["ls-files", "*.rs"]).current_dir(root).output()?;
    ensure!(output.status.success(), "git ls-files failed");
    let files = String::from_utf8(output.stdout)?;
    // A file deleted but not yet committed is no longer a source.
    Ok(files.lines().map(PathBuf::from).filter(|file| root.join(file).is_file()).collect())
}

fn habits(file: &Path, text: &str, complaints: &mut Vec<String>) {
    let path = file.display();
    let mut complain = |line: usize, rule: &str| complaints.push(format!("{path}:{line}: {rule}"));
    // What is said of the crate's own code ends where its tests begin.
    let code = text.split("#[cfg(test)]").next().unwrap_or(text);
    let lines = code.lines().count();
    let is_test = file.components().any(|part| part.as_os_str() == "tests");
    if lines > LONGEST_FILE && !is_test {
        complain(lines, "longer than 800 lines; is there a seam?");
    }
    let crate_name = file.strip_prefix("crates").ok().and_then(|rest| rest.iter().next()?.to_str());
    if let Some(name) = crate_name
        && file.ends_with("src/lib.rs")
        && !UNSAFE.contains(&name)
        && !text.contains("#![forbid(unsafe_code)]")
    {
        complain(1, "#![forbid(unsafe_code)] is missing");
    }
    if crate_name == Some("detector")
        && file.ends_with("src/lib.rs")
        && !text.contains("#![no_std]")
        && !text.contains("no_std")
    {
        complain(1, "the detector is no_std");
    }
    for (number, line) in text.lines().enumerate() {
        let number = number + 1;
        let unfinished =
            ["todo", "unimplemented"].iter().any(|word| line.contains(&format!("{word}!(")));
        if unfinished || line.contains(concat!("FIX", "ME")) || line.contains(concat!("TO", "DO:"))
        {
            complain(number, "unfinished work");
        }
        if line.trim_start().starts_with(concat!("#[", "ignore")) {
            complain(number, "a test that never runs checks nothing");
        }
    }
    if matches!(crate_name, Some("analysis" | "detector")) && !is_test {
        for (number, line) in code.lines().enumerate() {
            let does_io = IO.iter().any(|word| line.contains(word));
            if does_io && !line.trim_start().starts_with("//") {
                complain(number + 1, "this crate does no input or output");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints_of(name: &str, dependencies: &[&str]) -> Vec<String> {
        let dependencies = dependencies.iter().map(|name| (*name).to_owned()).collect();
        let mut complaints = Vec::new();
        walls(&Package { name: name.to_owned(), dependencies }, &mut complaints);
        complaints
    }

    #[test]
    fn walls_stand() {
        assert!(complaints_of("racewarden-bitcode", &["inkwell", "racewarden-ir"]).is_empty());
        assert_eq!(complaints_of("racewarden-analysis", &["inkwell"]).len(), 1);
        assert_eq!(complaints_of("racewarden-hive", &["z3", "racewarden"]).len(), 2);
        assert_eq!(complaints_of("racewarden-detector", &["libc"]).len(), 1);
        assert_eq!(complaints_of("racewarden-capture", &["racewarden-ir"]).len(), 1);
    }

    #[test]
    fn habits_are_checked() {
        let mut complaints = Vec::new();
        let text = format!("fn f() {{ {}!() }}\nuse std::fs;\n", "todo");
        habits(Path::new("crates/analysis/src/lib.rs"), &text, &mut complaints);
        assert_eq!(complaints.len(), 3, "{complaints:?}");
        complaints.clear();
        habits(
            Path::new("crates/capture/src/lib.rs"),
            "#![forbid(unsafe_code)]\n",
            &mut complaints,
        );
        assert!(complaints.is_empty(), "{complaints:?}");
    }
}
