//! Real programs for the gate benchmarks: how they are built, run and given work.
//!
//! Their sources come from `bench/fetch`; `bench/confirm/build` copies, patches and captures them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, bail, ensure};
use serde_json::Value;

/// Where things are, from the command line.
pub struct Places {
    pub sources: PathBuf,
    pub racewarden: PathBuf,
    /// Only these programs, when any are named.
    pub only: Vec<String>,
    /// Most seconds for the steered runs of one test case.
    pub seconds: u64,
    folder: PathBuf,
    /// Removed at the end unless a folder was named.
    _temporary: Option<tempfile::TempDir>,
}

impl Places {
    /// Reads `[--sources FOLDER] [--racewarden FILE] [--seconds N] [--keep FOLDER] [PROGRAM…]`. What
    /// is built in a kept folder is not built again.
    pub fn from_arguments() -> anyhow::Result<Places> {
        let mut sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
        let mut racewarden = std::env::current_exe()?.with_file_name("racewarden");
        let mut only = Vec::new();
        let mut kept: Option<PathBuf> = None;
        let mut seconds: u64 = 150;
        let mut arguments = std::env::args().skip(2);
        while let Some(argument) = arguments.next() {
            let mut value =
                || arguments.next().with_context(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--keep" => kept = Some(value()?.into()),
                "--sources" => sources = value()?.into(),
                "--racewarden" => racewarden = value()?.into(),
                "--seconds" => {
                    seconds = value()?.parse::<u64>().context("--seconds takes a number")?;
                }
                word if word.starts_with('-') => bail!("{word} is no option of this command"),
                _ => only.push(argument),
            }
        }
        ensure!(
            racewarden.exists(),
            "{}: build the command first: cargo build --release -p racewarden",
            racewarden.display()
        );
        let (folder, temporary) = match kept {
            Some(folder) => (std::path::absolute(folder)?, None),
            None => {
                let temporary = tempfile::tempdir()?;
                (temporary.path().to_owned(), Some(temporary))
            }
        };
        std::fs::create_dir_all(&folder)?;
        Ok(Places { sources, racewarden, only, seconds, folder, _temporary: temporary })
    }

    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|one| one == name)
    }

    pub fn scratch(&self) -> &Path {
        &self.folder
    }

    pub fn cache(&self) -> PathBuf {
        self.folder.join("cache")
    }

    /// The command with its cache in the scratch folder.
    pub fn tool(&self, place: &Path) -> Command {
        let mut command = Command::new(&self.racewarden);
        command.current_dir(place).env("RACEWARDEN_CACHE", self.cache());
        command
    }
}

/// A program with the work it is given; each line of arguments is one test case.
pub struct Subject {
    pub name: &'static str,
    /// The captured target.
    pub target: &'static str,
    /// Its file below the build folder.
    pub file: &'static str,
    pub cases: &'static [&'static [&'static str]],
    /// Work for about a second, to measure what gates cost.
    pub long: &'static [&'static str],
    /// Work that is long beside what every run does once, and short enough to count its instructions.
    pub counted: &'static [&'static str],
}

pub const SUBJECTS: [Subject; 5] = [
    Subject {
        name: "pbzip2",
        target: "pbzip2",
        file: "pbzip2",
        cases: &[&["-k", "-c", "-p3", "-b1", "input"], &["-d", "-k", "-c", "-p3", "input.bz2"]],
        long: &["-k", "-c", "-p3", "-b1", "long-input"],
        counted: &["-k", "-c", "-p3", "-b1", "input"],
    },
    Subject {
        name: "sqlite3",
        target: "sqlite_threads",
        file: "sqlite_threads",
        cases: &[&[]],
        long: &["60000", "apart"],
        counted: &["8000", "apart"],
    },
    Subject {
        name: "zstd",
        target: "zstd",
        file: "programs/zstd",
        cases: &[&["-q", "-T3", "-B262144", "-c", "input"]],
        long: &["-q", "-T3", "-19", "-c", "long-input"],
        counted: &["-q", "-T3", "-B262144", "-c", "input"],
    },
    Subject {
        name: "pigz",
        target: "pigz",
        file: "pigz",
        cases: &[
            &["-k", "-c", "-p", "3", "-b", "128", "input"],
            &["-d", "-k", "-c", "-p", "3", "input.gz"],
        ],
        long: &["-k", "-c", "-p", "3", "-b", "128", "long-input"],
        counted: &["-k", "-c", "-p", "3", "-b", "128", "input"],
    },
    Subject {
        name: "leveldb",
        target: "leveldb_threads",
        file: "leveldb_threads",
        cases: &[&["database"]],
        long: &["database"],
        counted: &["database"],
    },
];

/// A captured build.
pub struct Built {
    pub subject: &'static Subject,
    pub place: PathBuf,
}

impl Built {
    /// Builds a subject under capture, with a patch of `bench/confirm/bugs` if one is named, and
    /// makes the files that its cases read.
    pub fn new(
        places: &Places,
        subject: &'static Subject,
        patch: Option<&str>,
    ) -> anyhow::Result<Built> {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("confirm");
        let place = places.scratch().join(patch.unwrap_or(subject.name));
        if place.join(".built").exists() {
            return Ok(Built { subject, place });
        }
        let mut build = Command::new(scripts.join("build"));
        build.arg(subject.name).arg(&places.sources).arg(&place).arg(&places.racewarden);
        build.env("RACEWARDEN_CACHE", places.cache());
        if let Some(patch) = patch {
            build.arg(scripts.join("bugs").join(format!("{patch}.patch")));
        }
        let status = build.status()?;
        ensure!(status.success(), "{} could not be built", subject.name);
        std::fs::write(place.join("input"), noise(1_500_000))?;
        let packed = match subject.name {
            "pbzip2" => Some("input.bz2"),
            "pigz" => Some("input.gz"),
            _ => None,
        };
        if let Some(packed) = packed {
            let mut pack = Command::new(place.join(subject.file));
            let output = pack.args(subject.cases[0]).current_dir(&place).output()?;
            std::fs::write(place.join(packed), output.stdout)?;
        }
        std::fs::write(place.join("long-input"), noise(9_000_000))?;
        std::fs::write(place.join(".built"), "")?;
        Ok(Built { subject, place })
    }

    /// The program as its own build made it.
    pub fn plain(&self) -> PathBuf {
        self.place.join(self.subject.file)
    }

    /// `racewarden check`'s report, in a file and read.
    pub fn candidates(&self, places: &Places) -> anyhow::Result<(PathBuf, Value)> {
        let file = self.place.join("candidates.json");
        if file.exists() {
            let text = std::fs::read_to_string(&file)?;
            return Ok((file, serde_json::from_str(&text)?));
        }
        let mut check = places.tool(&self.place);
        check.args(["check", self.subject.target, "--no-ledger", "--format", "json", "-o"]);
        report_of(check.arg(&file), &file)
    }
}

/// Runs a command that writes a report to `file`. Status 1 stands for open races.
pub fn report_of(command: &mut Command, file: &Path) -> anyhow::Result<(PathBuf, Value)> {
    let Output { status, stderr, .. } = command.output()?;
    let told = String::from_utf8_lossy(&stderr);
    ensure!(matches!(status.code(), Some(0 | 1)), "{command:?}: {status}: {told}");
    let text = std::fs::read_to_string(file)?;
    Ok((file.to_owned(), serde_json::from_str(&text)?))
}

/// Bytes that compress a little, the same every time.
pub fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 60) as u8
    };
    (0..length).map(|_| next()).collect()
}
