//! The programs that are measured, how each is built and what it is given to do.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::ensure;

use super::cost::{Cost, cost_of};
use crate::load::{self, Talk};

/// How long a server under Helgrind may take to come up.
const PATIENCE: Duration = Duration::from_secs(120);

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
    /// Arguments; `{threads}`, `{input}` and `{port}` are filled in.
    arguments: &'static [&'static str],
    load: Option<Load>,
    /// Whether its threads wait for each other by loops of loads: beside others on one processor such a
    /// program takes as long as the scheduler lets it.
    pub spins: bool,
}

/// What a server has to do.
struct Load {
    talk: Talk,
    clients: usize,
    /// How often each client says it.
    questions: u64,
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
        load: None,
        spins: false,
    };
    let tree = |name: &'static str, package: &str, build, product, arguments| Program {
        name,
        source: Source::Tree { path: sources.join(package), build, product },
        arguments,
        load: None,
        spins: false,
    };
    let server = |load: Load, program: Program| Program { load: Some(load), ..program };
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
        tree(
            "pigz",
            "pigz",
            "make clean; make pigz CC='{cc} -w'",
            "pigz",
            &["-k", "-c", "-p", "{threads}", "{input}"],
        ),
        tree(
            "sqlite3",
            "sqlite3",
            concat!(
                "test -f sqlite3.c || { ./configure --disable-tcl --disable-readline && make sqlite3.c; }; ",
                "{cc} -O2 -w -DSQLITE_THREADSAFE=1 -DSQLITE_OMIT_LOAD_EXTENSION -I. sqlite3.c ",
                env!("CARGO_MANIFEST_DIR"),
                "/kernels/database.c -o database -lpthread -lm"
            ),
            "database",
            &["{threads}", "6000"],
        ),
        server(
            Load { talk: load::talk_memcached, clients: load::CLIENTS, questions: 15_000 },
            tree(
                "memcached",
                "memcached",
                "test -f Makefile && make clean; ./configure CC='{cc}' && make -j2 memcached",
                "memcached",
                &["-l", "127.0.0.1", "-p", "{port}", "-U", "0", "-t", "{threads}", "-u", "root"],
            ),
        ),
        server(
            // Its threads are only used while there are twice as many clients with something to say.
            Load { talk: load::talk_redis_at_once, clients: 12, questions: 400 },
            Program {
                spins: true,
                ..tree(
                    "redis",
                    "redis",
                    concat!(
                        "make -C src clean; CFLAGS=-I/usr/include/liblzf LDFLAGS='-latomic -llzf' ",
                        "make -j2 MALLOC=libc CC='{cc}' redis-server"
                    ),
                    "src/redis-server",
                    &[
                        "--port",
                        "{port}",
                        "--save",
                        "",
                        "--appendonly",
                        "no",
                        "--io-threads",
                        "{threads}",
                        "--io-threads-do-reads",
                        "yes",
                    ],
                )
            },
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
        let Some(Load { talk, clients, questions }) = self.load else {
            let cost = cost_of(command.args(arguments), !self.spins, |_| Ok(()))?;
            ensure!(!cost.output.is_empty(), "{} printed nothing: {command:?}", self.name);
            return Ok(cost);
        };
        let port = load::free_port()?;
        command.args(arguments.iter().map(|text| text.replace("{port}", &port.to_string())));
        cost_of(&command, !self.spins, |process| {
            let loaded = load::await_server(port, PATIENCE)
                .and_then(|()| load::clients(port, talk, clients, questions, || ()));
            let stopped = Command::new("kill").arg(process.to_string()).status()?;
            ensure!(loaded? == questions * clients as u64, "questions without an answer");
            ensure!(stopped.success(), "{} was gone before it was stopped", self.name);
            Ok(())
        })
    }
}

/// Text that compresses as prose does, the same every time.
pub fn words(length: usize) -> Vec<u8> {
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
