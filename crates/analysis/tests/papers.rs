//! What the papers derive about their figures beyond which lines race: reasons and ranks.

use std::path::{Path, PathBuf};
use std::process::Command;

use racewarden_analysis::{Options, check, why};
use racewarden_finding::{Race, Report};
use racewarden_ir::Program;
use racewarden_models::Models;

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/static/papers").join(name)
}

fn program(name: &str) -> Program {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let bitcode = scratch.path().join("a.bc");
    let status = Command::new("clang-22")
        .args(["-w", "-O2", "-Xclang", "-disable-llvm-passes", "-g", "-emit-llvm", "-c", "-o"])
        .arg(&bitcode)
        .arg(source(name))
        .status();
    assert!(status.expect("clang-22 runs").success(), "{name}");
    racewarden_ir::link(vec![racewarden_bitcode::lower_file(&bitcode).expect("valid bitcode")])
}

fn report(name: &str) -> Report {
    check(&program(name), Models::builtin(), &Options::default())
}

/// The line of the source that has this text.
fn line(name: &str, text: &str) -> u32 {
    let content = std::fs::read_to_string(source(name)).expect("readable");
    let at = content.lines().position(|line| line.contains(text));
    at.unwrap_or_else(|| panic!("{name} has no {text}")) as u32 + 1
}

fn race(report: &Report, first: u32, second: u32) -> &Race {
    let lines = |race: &Race| {
        let mut lines = [race.sites[0].line, race.sites[1].line];
        lines.sort_unstable();
        lines
    };
    let mut wanted = [first, second];
    wanted.sort_unstable();
    let found = report.races.iter().find(|race| lines(race) == wanted);
    found.unwrap_or_else(|| panic!("no race of lines {first} and {second}"))
}

#[test]
fn acquisition_histories_exclude_the_bogus_pair_and_the_cover_ranks_the_later_one_lower() {
    let name = "history_figure_2.c";
    let report = report(name);
    let (a6, b2) = (line(name, "x = 3;"), line(name, "x = 0;"));
    let (b6, b9) = (line(name, "x = 2;"), line(name, "x = 1;"));
    let (covering, covered) = (race(&report, a6, b2), race(&report, a6, b9));
    assert!(covering.rank > covered.rank, "{} against {}", covering.rank, covered.rank);
    assert!(covered.reasons.iter().any(|reason| reason.starts_with("covered by")));
    let places = [a6, b6].map(|line| format!("{name}:{line}"));
    let reasons =
        why(&program(name), Models::builtin(), &Options::default(), &places[0], &places[1]);
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    assert!(reasons[0].contains("excluded by history"), "{reasons:?}");
}

#[test]
fn relays_filters_lower_the_rank_and_are_named() {
    let name = "relay_figure_12.c";
    let report = report(name);
    let real = race(&report, line(name, "real = 1;"), line(name, "real = 2;"));
    let booted = race(&report, line(name, "booted = 1;"), line(name, "booted = 2;"));
    let same = race(&report, line(name, "same = 1;"), line(name, "same = 1;"));
    for (filtered, filter) in [(booted, "RELAY filter 3"), (same, "RELAY filter 4")] {
        assert!(real.rank > filtered.rank, "{} against {}", real.rank, filtered.rank);
        assert!(filtered.reasons.iter().any(|r| r.contains(filter)), "{:?}", filtered.reasons);
    }
}

#[test]
fn non_parallel_threads_are_ranked_lower_as_of_one_start_function() {
    let name = "relay_figure_10.c";
    let report = report(name);
    let state = line(name, "state = MASTER;");
    let own = race(&report, state, state);
    assert!(own.rank < 85, "{}", own.rank);
}
