//! Builds each program four times from the same sources: plain, with ThreadSanitizer, and for
//! `racewarden run` with and without pruning.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};

use super::programs::{Program, Source};

/// The four programs.
pub struct Built {
    pub folder: PathBuf,
    pub plain: PathBuf,
    pub tsan: PathBuf,
    pub pruned: PathBuf,
    pub whole: PathBuf,
}

impl Built {
    fn in_folder(folder: &Path) -> Built {
        Built {
            folder: folder.to_owned(),
            plain: folder.join("plain"),
            tsan: folder.join("tsan"),
            pruned: folder.join("pruned"),
            whole: folder.join("whole"),
        }
    }

    fn is_there(&self) -> bool {
        [&self.plain, &self.tsan, &self.pruned, &self.whole].iter().all(|file| file.is_file())
    }
}

pub struct Tools<'a> {
    racewarden: PathBuf,
    place: &'a Path,
}

/// Valgrind 3.19 does not read newer debug information.
const PLAIN: &str = "-gdwarf-4";
const SANITIZED: &str = "-g -fsanitize=thread";

impl<'a> Tools<'a> {
    pub fn new(racewarden: &Path, place: &'a Path) -> anyhow::Result<Self> {
        std::fs::create_dir_all(place)?;
        Ok(Tools { racewarden: racewarden.canonicalize()?, place })
    }

    pub fn build(&self, program: &Program) -> anyhow::Result<Built> {
        let folder = self.place.join(program.name);
        let kept = Built::in_folder(&folder);
        if kept.is_there() {
            return Ok(kept);
        }
        eprintln!("building {}", program.name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        let (pruned, whole) = match &program.source {
            Source::File { path, libraries } => self.build_file(&folder, path, libraries),
            Source::Tree { path, build, product } => self.build_tree(&folder, path, build, product),
        }?;
        std::fs::copy(pruned, &kept.pruned)?;
        std::fs::copy(whole, &kept.whole)?;
        for rest in ["tree", "cache-true", "cache-false"] {
            let _ = std::fs::remove_dir_all(folder.join(rest));
        }
        Ok(kept)
    }

    fn build_file(
        &self,
        folder: &Path,
        source: &Path,
        libraries: &[&str],
    ) -> anyhow::Result<(PathBuf, PathBuf)> {
        let cxx = source.extension().is_some_and(|extension| extension == "cpp");
        let compile = |name: &str, flags: &str| -> anyhow::Result<()> {
            let product = folder.join(name);
            let mut command = Command::new(if cxx { "clang++-22" } else { "clang-22" });
            command.args(["-O2", "-pthread"]).args(flags.split(' ')).arg(source);
            succeed(command.args(libraries).arg("-o").arg(&product))
        };
        let ours = |pruned: bool| {
            let mut command = self.racewarden(folder, pruned);
            command.arg(source);
            command.arg(format!("--cflags=-O2 -pthread {}", libraries.join(" ")));
            command.args(["--", "1", "1"]);
            let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            built_program(folder, pruned, &mut command, &name)
        };
        compile("plain", PLAIN)?;
        compile("tsan", SANITIZED)?;
        Ok((ours(true)?, ours(false)?))
    }

    fn build_tree(
        &self,
        folder: &Path,
        source: &Path,
        build: &str,
        product: &str,
    ) -> anyhow::Result<(PathBuf, PathBuf)> {
        let place = folder.join("tree");
        succeed(Command::new("cp").arg("-a").arg(source).arg(&place))?;
        let command = |flags: &str| {
            build
                .replace("{cc}", &format!("clang-22 {flags}"))
                .replace("{cxx}", &format!("clang++-22 {flags}"))
        };
        let make = |name: &str, flags: &str| -> anyhow::Result<()> {
            succeed(Command::new("sh").args(["-c", &command(flags)]).current_dir(&place))?;
            std::fs::copy(place.join(product), folder.join(name)).context(product.to_owned())?;
            Ok(())
        };
        make("plain", PLAIN)?;
        make("tsan", SANITIZED)?;
        let mut capture = Command::new(&self.racewarden);
        capture.args(["capture", "--", "sh", "-c", &command("-g")]);
        succeed(capture.current_dir(&place).env("RACEWARDEN_CACHE", folder.join("cache-true")))?;
        let name = Path::new(product).file_name().unwrap_or_default().to_string_lossy();
        let ours = |pruned: bool| {
            let mut command = self.racewarden(folder, pruned);
            command.arg(name.as_ref()).args(["--", "--version"]).current_dir(&place);
            built_program(folder, pruned, &mut command, &name)
        };
        Ok((ours(true)?, ours(false)?))
    }

    fn racewarden(&self, folder: &Path, pruned: bool) -> Command {
        let mut command = Command::new(&self.racewarden);
        command.args(["run", "--no-ledger"]);
        if !pruned {
            command.arg("--no-prune");
        }
        command.env("RACEWARDEN_CACHE", folder.join(format!("cache-{pruned}")));
        command
    }
}

/// Lets `racewarden run` build the program (and run it for a moment), then finds it in the cache.
fn built_program(
    folder: &Path,
    pruned: bool,
    command: &mut Command,
    name: &str,
) -> anyhow::Result<PathBuf> {
    let output = command.output()?;
    // Exit status 1 stands for races.
    if !matches!(output.status.code(), Some(0 | 1)) {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let cache = folder.join(format!("cache-{pruned}/instrumented"));
    let entries = std::fs::read_dir(&cache).with_context(|| cache.display().to_string())?;
    entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .find(|path| path.to_string_lossy().ends_with(&format!("-{name}")))
        .with_context(|| format!("no instrumented {name} in {}", cache.display()))
}

fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
