//! Benchmarks: one per subcommand, never part of the tests.

mod capture;
mod gate;
mod hive;
mod lower;
mod predict;
mod record;
mod run;
mod table3;

const USAGE: &str = "usage: racewarden-bench capture|gate|hive|lower|predict|record|run|table3";

fn main() -> anyhow::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("capture") => capture::run(),
        Some("gate") => gate::run(),
        Some("hive") => hive::run(),
        Some("lower") => lower::run(),
        Some("predict") => predict::run(),
        Some("record") => record::run(),
        Some("run") => run::run(),
        Some("table3") => table3::run(),
        _ => anyhow::bail!(USAGE),
    }
}
