//! Benchmarks: one per subcommand, never part of the tests.

mod capture;
mod gate;
mod hive;
mod lower;
mod predict;

fn main() -> anyhow::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("capture") => capture::run(),
        Some("gate") => gate::run(),
        Some("hive") => hive::run(),
        Some("lower") => lower::run(),
        Some("predict") => predict::run(),
        _ => anyhow::bail!("usage: racewarden-bench capture|gate|hive|lower|predict"),
    }
}
