//! Every annotated program under `tests/programs/static` is checked and held to its marks.
//!
//! `// RACE!` on a line: some candidate has an access there. `// NORACE`: none has. A program
//! without `RACE!` must be concluded race-free. `alarm(static): why` after a mark says that the
//! engine is known to warn there although it should not; the mark fails when that is no longer so.
//! The engine may not miss a race; `miss(static): why` is for a line where other engines name a race
//! that this one names at another marked line.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use racewarden_analysis::{Options, check};
use racewarden_finding::{Conclusion, Report, Site};
use racewarden_models::Models;
use rayon::prelude::*;

fn programs(folder: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).expect("the programs are there").flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        if path.is_dir() {
            programs(&path, out);
        } else if path.extension().is_some_and(|e| e == "c" || e == "cpp") {
            out.push(path);
        }
    }
}

fn checked(source: &Path, bitcode: &Path) -> Report {
    let cpp = source.extension().is_some_and(|e| e == "cpp");
    let text = std::fs::read_to_string(source).expect("readable");
    let mut command = Command::new(if cpp { "clang++-22" } else { "clang-22" });
    command.args(["-w", "-O2", "-Xclang", "-disable-llvm-passes", "-g", "-emit-llvm", "-c", "-o"]);
    let flags = text.lines().find_map(|line| line.strip_prefix("// flags: ")).unwrap_or_default();
    let status = command.arg(bitcode).arg(source).args(flags.split_whitespace()).status();
    assert!(status.expect("clang-22 runs").success(), "{}", source.display());
    let modelled = |symbol: &str| Models::builtin().for_function(symbol, true).is_some();
    let module =
        racewarden_bitcode::lower_file_flat(bitcode, &modelled).expect("clang's bitcode is valid");
    let options = Options { api: text.lines().any(|line| line == "// api") };
    check(&racewarden_ir::link(vec![module]), Models::builtin(), &options)
}

/// Where the program itself makes the access: a library's header is left for its caller.
fn line_in_program(site: &Site, source: &Path) -> Option<u32> {
    let outer = site.stack.iter().map(|frame| (frame.file.as_str(), frame.line));
    let mut places = std::iter::once((site.file.as_str(), site.line)).chain(outer);
    places.find(|(file, _)| Path::new(file).file_name() == source.file_name()).map(|place| place.1)
}

fn judge(source: &Path, report: &Report, problems: &mut Vec<String>) {
    let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = std::fs::read_to_string(source).expect("readable");
    let sites = report.races.iter().flat_map(|race| &race.sites);
    let warned: BTreeSet<u32> = sites.filter_map(|site| line_in_program(site, source)).collect();
    let mut racy = false;
    let mut alarm = false;
    for (index, line) in text.lines().enumerate() {
        let number = index as u32 + 1;
        let known = line.contains("alarm(static)");
        alarm |= known;
        if line.contains("// RACE!") && !known {
            racy = true;
            if !line.contains("miss(static)") && !warned.contains(&number) {
                problems.push(format!("{name}:{number}: missed race"));
            }
        } else if known && !warned.contains(&number) {
            problems.push(format!("{name}:{number}: the known false alarm is gone"));
        } else if line.contains("// NORACE") && !known && warned.contains(&number) {
            problems.push(format!("{name}:{number}: false alarm"));
        }
    }
    let expected = if racy || alarm { Conclusion::Unknown } else { Conclusion::RaceFree };
    if report.conclusion != expected {
        let notes: Vec<&str> = report.notes.iter().map(|note| note.text.as_str()).collect();
        problems.push(format!("{name}: {} instead of {expected}: {notes:?}", report.conclusion));
    }
}

#[test]
fn annotated_programs_get_the_result_that_they_state() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/static");
    let mut list = Vec::new();
    programs(&root, &mut list);
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let problems: Vec<String> = list
        .par_iter()
        .enumerate()
        .flat_map(|(index, source)| {
            let bitcode = scratch.path().join(format!("{index}.bc"));
            let mut problems = Vec::new();
            judge(source, &checked(source, &bitcode), &mut problems);
            problems
        })
        .collect();
    assert!(
        problems.is_empty(),
        "{} of {} programs' marks:\n{}",
        problems.len(),
        list.len(),
        problems.join("\n")
    );
}
