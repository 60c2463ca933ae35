//! Benchmarks: one per subcommand, never part of the tests.

mod hive;
mod predict;

fn main() -> anyhow::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("hive") => hive::run(),
        Some("predict") => predict::run(),
        _ => anyhow::bail!("usage: racewarden-bench hive|predict"),
    }
}
