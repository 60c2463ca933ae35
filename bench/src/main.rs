//! Benchmarks: one per subcommand, never part of the tests.

mod capture;
mod check;
mod gate;
mod hive;
mod ledger;
mod load;
mod lower;
mod odds;
mod predict;
mod real;
mod record;
mod run;
mod soak;
mod table;
mod table3;

use std::process::ExitCode;

const USAGE: &str = "\
usage: racewarden-bench COMMAND [OPTIONS] [PROGRAM…]

What is built is a program of its own, so build the command as well, in release:
  cargo build --release -p racewarden -p racewarden-bench
bench/fetch gets the sources of the real programs; --sources FOLDER names another place for them.

  capture   what capturing adds to a build
  check     the static engine beside `opt`, by size and by threads; --table for real programs
  lower     reading bitcode into the program model
  run       the dynamic engine beside ThreadSanitizer and Helgrind
  soak      memcached and redis watched under load for a long time
  record    recording beside ThreadSanitizer
  predict   a trace of a million events
  table3    races that three detectors predict from one recording (paper 3, Table III)
  gate      what gates cost, idle and validating, on pbzip2 and SQLite
  odds      steered runs against 10,000 plain ones, on rare bugs
  replay    how often a confirmed race replays, of 100
  table1    what becomes of real programs' candidates (paper 5, Table 1); --seconds N for each
  bugs      old bugs brought back into real programs
  hive      reports a hive takes, on both of its stores
  ledger    recording 25,000 races that are new, known and mostly known";

fn main() -> anyhow::Result<ExitCode> {
    let command = std::env::args().nth(1).unwrap_or_default();
    if std::env::args().any(|word| ["--help", "-h"].contains(&word.as_str())) {
        println!("{USAGE}");
        return Ok(ExitCode::SUCCESS);
    }
    let done = match command.as_str() {
        "bugs" => table::bugs(),
        "capture" => capture::run(),
        "check" => return check::run(),
        "gate" => gate::run(),
        "hive" => hive::run(),
        "ledger" => ledger::run(),
        "lower" => lower::run(),
        "odds" => odds::odds(),
        "predict" => predict::run(),
        "record" => record::run(),
        "replay" => odds::replay(),
        "run" => run::run(),
        "soak" => soak::run(),
        "table1" => table::table1(),
        "table3" => table3::run(),
        other => {
            eprintln!("racewarden-bench: no command {other:?}\n\n{USAGE}");
            return Ok(ExitCode::from(2));
        }
    };
    done.map(|()| ExitCode::SUCCESS)
}
