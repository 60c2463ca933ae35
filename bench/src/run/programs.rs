//! The programs that are measured, how each is built and what it is given to do.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::ensure;

use super::cost::{Cost, cost_of};

/// How a program comes to be.
pub enum Source {
    /// One file, compiled with `-O2`.
    File { path: PathBuf, libraries: &'static [&'static str] },
    /// A tree with a build of its own; `{cc}` and `{cxx}` in the command are the compilers.
    Tree { path: PathBuf, build: &'static str, product: &'static str },
}

pub struct Program {
    pub name: &'static str,
    pub source: Source,
    /// Arguments; `{threads}` and `{input}` are filled in.
    arguments: &'static [&'static str],
}

/// Bytes of the compressors' input.
const INPUT: usize = 12_000_000;

pub fn all(sources: &Path) -> Vec<Program> {
    let kernel = |name: &'static str, file: &str, arguments: &'static [&'static str]| Program {
        name,
        source: Source::File {
            path: Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels").join(file),
            libraries: &["-lm"],
        },
        arguments,
    };
    let tree = |name: &'static str, package: &str, build, product, arguments| Program {
        name,
        source: Source::Tree { path: sources.join(package), build, product },
        arguments,
    };
    vec![
        kernel("fft", "fft.c", &["{threads}", "1024"]),
        kernel("lu", "lu.c", &["{threads}", "1024"]),
        kernel("radix", "radix.c", &["{threads}", "6000000"]),
        kernel("nbody", "nbody.c", &["{threads}", "8000"]),
        kernel("water", "water.c", &["{threads}", "2400"]),
        kernel("cluster", "cluster.cpp", &["{threads}", "60000"]),
        tree(
            "pbzip2",
            "pbzip2",
            "make clean; make CXX='{cxx} -Wno-reserved-user-defined-literal'",
            "pbzip2",
            &["-k", "-c", "-p{threads}", "{input}"],
        ),
        tree(
            "zstd",
            "libzstd",
            "make -C programs clean; make -j2 -C programs zstd CC='{cc}' HAVE_LZMA=0 HAVE_ZLIB=0 HAVE_LZ4=0 ZSTD_NO_ASM=1",
            "programs/zstd",
            &["-q", "-c", "-6", "-T{threads}", "-B1048576", "{input}"],
        ),
    ]
}

impl Program {
    pub fn present(&self) -> bool {
        match &self.source {
            Source::File { path, .. } => path.is_file(),
            Source::Tree { path, .. } => path.is_dir(),
        }
    }

    /// The arguments for a run with so many threads; the input is made in `folder` when needed.
    pub fn arguments(&self, threads: u32, folder: &Path) -> anyhow::Result<Vec<String>> {
        let input = folder.join("input");
        if self.arguments.contains(&"{input}") && !input.is_file() {
            std::fs::write(&input, words(INPUT))?;
        }
        let fill = |argument: &&str| {
            argument
                .replace("{threads}", &threads.to_string())
                .replace("{input}", &input.to_string_lossy())
        };
        Ok(self.arguments.iter().map(fill).collect())
    }

    /// Runs a variant and makes sure that it did its work.
    pub fn run(&self, mut command: Command, arguments: &[String]) -> anyhow::Result<Cost> {
        let cost = cost_of(command.args(arguments))?;
        ensure!(!cost.output.is_empty(), "{} printed nothing: {command:?}", self.name);
        Ok(cost)
    }
}

/// Text that compresses as prose does, the same every time.
fn words(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    let vocabulary: Vec<Vec<u8>> =
        (0..4000).map(|_| (0..2 + next(8)).map(|_| b'a' + next(26) as u8).collect()).collect();
    let mut text = Vec::with_capacity(length + 16);
    while text.len() < length {
        // The smaller of two draws: some words are common.
        let word = next(4000).min(next(4000)) as usize;
        text.extend_from_slice(&vocabulary[word]);
        text.push(if next(12) == 0 { b'\n' } else { b' ' });
    }
    text
}
