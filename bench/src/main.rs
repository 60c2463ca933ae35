//! Benchmarks: one per subcommand, never part of the tests.

mod capture;
mod check;
mod gate;
mod hive;
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

const USAGE: &str = "usage: racewarden-bench \
    bugs|capture|check|gate|hive|lower|odds|predict|record|replay|run|soak|table1|table3";

fn main() -> anyhow::Result<std::process::ExitCode> {
    if std::env::args().nth(1).as_deref() == Some("check") {
        return check::run();
    }
    other().map(|()| std::process::ExitCode::SUCCESS)
}

fn other() -> anyhow::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("bugs") => table::bugs(),
        Some("capture") => capture::run(),
        Some("gate") => gate::run(),
        Some("hive") => hive::run(),
        Some("lower") => lower::run(),
        Some("odds") => odds::odds(),
        Some("predict") => predict::run(),
        Some("record") => record::run(),
        Some("replay") => odds::replay(),
        Some("run") => run::run(),
        Some("soak") => soak::run(),
        Some("table1") => table::table1(),
        Some("table3") => table3::run(),
        _ => anyhow::bail!(USAGE),
    }
}
