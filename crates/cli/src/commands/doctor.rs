//! `racewarden doctor`: what is missing on this machine, and the command that installs it.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use racewarden_capture::Toolchain;

use crate::inputs::cache_directory;

#[derive(clap::Args)]
pub struct Args {}

/// One thing to look for.
struct Need {
    what: &'static str,
    used_for: &'static str,
    package: &'static str,
    /// Whether nothing works without it.
    required: bool,
    found: Option<String>,
}

pub fn run(_args: Args) -> anyhow::Result<ExitCode> {
    let needs = needs();
    for need in &needs {
        let (mark, detail) = match &need.found {
            Some(detail) => ("ok     ", detail.as_str()),
            None if need.required => ("MISSING", need.used_for),
            None => ("absent ", need.used_for),
        };
        println!("{mark}  {:<12} {detail}", need.what);
    }
    let cache = cache_directory();
    match std::fs::create_dir_all(&cache) {
        Ok(()) => println!("ok       {:<12} {}", "cache", cache.display()),
        Err(error) => println!("MISSING  {:<12} {}: {error}", "cache", cache.display()),
    }

    let packages = |required: bool| -> Vec<&str> {
        let missing = needs.iter().filter(|need| need.found.is_none() && need.required == required);
        let mut packages: Vec<&str> = missing.map(|need| need.package).collect();
        packages.dedup();
        packages
    };
    let (required, optional) = (packages(true), packages(false));
    if !optional.is_empty() {
        println!("\nfor the rest: apt-get install {}", optional.join(" "));
    }
    if required.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!("\ninstall what is missing: apt-get install {}", required.join(" "));
    Ok(ExitCode::from(2))
}

fn needs() -> Vec<Need> {
    let toolchain = Toolchain::find().ok();
    let clang = toolchain.as_ref().map(|found| found.clang.clone());
    let clangxx = toolchain.as_ref().map(|found| found.clangxx.clone());
    let companion = |name| toolchain.as_ref().map(|found| found.companion(name));
    let need = |what, used_for, package, required, path: Option<PathBuf>| Need {
        what,
        used_for,
        package,
        required,
        found: path.as_deref().and_then(version),
    };
    let mut needs = vec![
        need("clang", "every command: repeats compilations", "clang-22", true, clang),
        need("clang++", "C++ sources", "clang-22", true, clangxx),
        need(
            "lld",
            "run, record, confirm: links instrumented programs",
            "lld-22",
            true,
            companion("ld.lld"),
        ),
        need("llvm-ar", "archives in instrumented programs", "llvm-22", true, companion("llvm-ar")),
        need("gdb", "looking at a replayed crash", "gdb", false, Some("gdb".into())),
    ];
    let libraries = [
        ("libomp", "OpenMP programs", "libomp-22-dev", "libomp.so"),
        ("libc++", "programs built with -stdlib=libc++", "libc++-22-dev", "libc++.so"),
    ];
    needs.extend(libraries.map(|(what, used_for, package, file)| {
        let path = Path::new("/usr/lib/llvm-22/lib").join(file);
        let found = path.exists().then(|| path.display().to_string());
        Need { what, used_for, package, required: false, found }
    }));
    needs
}

/// The first line that the program says of itself; `None` when it cannot be run.
fn version(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    output.status.success().then(|| line.trim().to_owned())
}
