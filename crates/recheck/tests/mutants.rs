//! The annotated programs with statements added, repeated and taken away: after each such edit, and after
//! it was taken back, the report that takes over what earlier checks have found is that of a whole check,
//! byte for byte.
//!
//! Where the statements go is chosen by numbers that are the same in every run. `RACEWARDEN_MUTANTS` says
//! how many edits each program gets; by default it is one of every few programs that gets one.

use std::path::{Path, PathBuf};

use common::{check_sources, text};

mod common;

/// Statements that may stand behind any other. Beside numbers in variables of their own, and ways around
/// them, there are calls, with a string literal and without, accesses, and addresses that are taken.
const STATEMENTS: [&str; 10] = [
    "{ long spare = 3; spare *= 5; }",
    "{ int spare = 3; if (spare > 2) spare--; else spare = 7; }",
    "{ int spare = 0; for (unsigned turn = 0; turn < 3; turn++) spare += (int)turn; }",
    "{ double spare = 1.5; switch ((int)spare) { case 1: spare = 2; break; default: spare = 4; } }",
    "{ extern int getpid(void); (void)getpid(); }",
    "{ extern int puts(const char *); puts(\"spare\"); }",
    "{ static int spare; spare++; }",
    "{ int spare = 1, *to = &spare; *to = 2; }",
    "{ extern int *__errno_location(void); int spare = *__errno_location(); spare++; }",
    "{ long spare; __atomic_store_n(&spare, 1, __ATOMIC_RELAXED); }",
];

/// Without being told otherwise, one program of so many is edited.
const ONE_OF: usize = 4;

/// Numbers that look random and are the same in every run (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }
}

/// The C programs below the folder, in order.
fn programs(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("the programs are there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            programs(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "c") {
            found.push(path);
        }
    }
}

/// The text after one edit; `None` where it has no line to be edited.
fn edited(text: &str, numbers: &mut Numbers) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let is_statement = |line: &str| {
        let code = line.split("//").next().unwrap_or_default().trim_end();
        let starts = ["return", "break", "continue", "goto", "case", "default", "else"];
        line.starts_with("    ")
            && code.ends_with(';')
            && !starts.iter().any(|word| code.trim_start().starts_with(word))
    };
    let begins = |at: usize| {
        let before = lines[at - 1].split("//").next().unwrap_or_default().trim_end();
        before.ends_with([';', '{', '}'])
    };
    let at: Vec<usize> =
        (1..lines.len()).filter(|&at| is_statement(lines[at]) && begins(at)).collect();
    let at = *at.get(numbers.below(at.len().max(1)))?;
    let chosen = numbers.below(STATEMENTS.len() + 3);
    let line = match STATEMENTS.get(chosen) {
        Some(statement) => format!("{} {statement}", lines[at].split("//").next()?),
        None if chosen == STATEMENTS.len() => ";".to_owned(),
        None => lines[at].split("//").next()?.repeat(2),
    };
    let mut edited = lines[..at].to_vec();
    edited.push(&line);
    edited.extend(&lines[at + 1..]);
    Some(edited.join("\n") + "\n")
}

/// Whether the compiler takes it.
fn compiles(source: &Path) -> bool {
    let arguments = ["-fsyntax-only", "-w"];
    let output = std::process::Command::new("clang-22").args(arguments).arg(source).output();
    output.is_ok_and(|output| output.status.success())
}

#[test]
fn reports_of_mutants_are_those_of_whole_checks() {
    let mut found = Vec::new();
    programs(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/static"),
        &mut found,
    );
    let asked = std::env::var("RACEWARDEN_MUTANTS").ok().and_then(|count| count.parse().ok());
    let (count, one_of) = asked.map_or((1, ONE_OF), |count: usize| (count, 1));
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    let (mut checked, mut reused) = (0, 0);
    for program in found.iter().step_by(one_of) {
        let folder = tempfile::tempdir().expect("a folder");
        let (source, cache) = (folder.path().join("program.c"), folder.path().join("cache"));
        let original = std::fs::read_to_string(program).expect("readable");
        let compare = |text_now: &str, what: &str| {
            std::fs::write(&source, text_now).expect("writable");
            let check = |cache| check_sources(folder.path(), &["program.c"], cache, &|_| {});
            let kept = check(Some(cache.as_path()));
            assert_eq!(
                text(&kept),
                text(&check(None)),
                "{} {what}:\n{text_now}",
                program.display()
            );
            kept.reused
        };
        std::fs::write(&source, &original).expect("writable");
        if !compiles(&source) {
            continue;
        }
        compare(&original, "as it is");
        for _ in 0..count {
            let Some(mutant) = edited(&original, &mut numbers) else { break };
            std::fs::write(&source, &mutant).expect("writable");
            if !compiles(&source) {
                continue;
            }
            checked += 1;
            reused += usize::from(compare(&mutant, "after an edit"));
            compare(&original, "with the edit taken back");
        }
    }
    println!("{checked} mutants, {reused} of them with a result that was there");
    // Otherwise the edits show nothing.
    assert!(checked >= 20 && reused >= checked / 8, "{reused} of {checked} were taken over");
}
