//! Tasks of the repository itself: `cargo xtask <task>`.

use std::process::ExitCode;

mod hunt;
mod score;
mod tidy;

const USAGE: &str = "usage: cargo xtask <task>\n\ntasks:\n  hunt    what hunt concludes on the annotated programs\n  score   recall and false alarms on the annotated programs\n  tidy    the architecture's walls and the source's habits";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.split_first() {
        Some((task, rest)) if task == "hunt" => hunt::run(rest),
        Some((task, rest)) if task == "score" => score::run(rest),
        Some((task, _)) if task == "tidy" => tidy::run(),
        _ => Err(anyhow::anyhow!(USAGE)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}
