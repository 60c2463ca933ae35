//! What gates cost while they are inert, and while one race is being validated (paper 5, section
//! 4.2): processor time relative to the same program without gates, in interleaved rounds until the
//! mean's 95 % interval is narrow or the time is over.
//!
//! All candidates of `check` are gated, as in a published build. Validating, one of them is the
//! target with the usual wait: the first that the program really comes to.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::real::{Built, Places, SUBJECTS, noise, report_of};

/// Rounds go on until the interval is this narrow, in parts of the native time.
const NARROW: f64 = 0.002;
const FEWEST_ROUNDS: usize = 8;
const LONGEST: Duration = Duration::from_secs(100);

pub fn run() -> anyhow::Result<()> {
    let places = Places::from_arguments()?;
    println!(
        "| program | gates | rounds | idle | validating one race | elapsed time, validating |"
    );
    println!("|---|---|---|---|---|---|");
    for subject in SUBJECTS.iter().filter(|subject| ["pbzip2", "sqlite3"].contains(&subject.name)) {
        if !places.wants(subject.name) {
            continue;
        }
        let built = Built::new(&places, subject, None)?;
        // Enough work for a second or two.
        std::fs::write(built.place.join("input"), noise(8_000_000))?;
        let (candidates, report) = built.candidates(&places)?;
        let gated = gated_program(&places, &built, &candidates)?;
        let orders = orders_for(&places, &built, &gated, &report)?;
        measure(&built, &gated, &orders)?;
    }
    Ok(())
}

/// Builds the gates without running anything under them but the one plain run.
fn gated_program(places: &Places, built: &Built, candidates: &Path) -> anyhow::Result<PathBuf> {
    let file = built.place.join("gated.json");
    let mut confirm = places.tool(&built.place);
    confirm.args(["confirm", built.subject.target, "--no-ledger", "--format", "json"]);
    confirm.args(["--confirm-runs", "0", "--confirm-time", "0", "--report"]).arg(candidates);
    confirm.arg("-o").arg(&file).arg("--").args(built.subject.cases[0]);
    report_of(&mut confirm, &file)?;
    let ending = format!("-{}", built.subject.target);
    let entries = std::fs::read_dir(places.cache().join("instrumented"))?;
    let newest = entries
        .filter_map(|entry| entry.ok())
        .filter(|entry| entry.file_name().to_string_lossy().ends_with(&ending))
        .max_by_key(|entry| entry.metadata().and_then(|data| data.modified()).ok());
    Ok(newest.context("no gated program was built")?.path())
}

/// Orders with one target. Which gates the program comes to is found by a run with all of them.
fn orders_for(
    places: &Places,
    built: &Built,
    gated: &Path,
    report: &Value,
) -> anyhow::Result<PathBuf> {
    let count = report["races"].as_array().map_or(0, Vec::len) * 2;
    let (orders, told) = (places.scratch().join("probe"), places.scratch().join("told"));
    let gates: Vec<String> = (0..count).map(|gate| gate.to_string()).collect();
    let gates = gates.join(",");
    let text = format!(
        "racewarden-gate 1\nwait-us 1\nrun-budget-us 1\ntarget 0 forward {gates} {gates}\n"
    );
    std::fs::write(&orders, text)?;
    let mut probe = command(gated, built);
    probe.env("RACEWARDEN_GATE", format!("{}:{}", orders.display(), told.display()));
    probe.stderr(Stdio::null()).status()?;
    let reached: Vec<String> = std::fs::read_to_string(&told)?
        .lines()
        .filter_map(|line| Some(line.strip_prefix("reached ")?.strip_suffix(" 1")?.to_owned()))
        .collect();
    let [first, .., last] = reached.as_slice() else {
        anyhow::bail!("{} comes to fewer than two gates", built.subject.name)
    };
    let text = format!(
        "racewarden-gate 1\nwait-us 200000\nrun-budget-us 3000000\ntarget 0 forward {first} {last}\n"
    );
    let file = places.scratch().join(format!("{}.orders", built.subject.name));
    std::fs::write(&file, text)?;
    Ok(file)
}

fn command(program: &Path, built: &Built) -> Command {
    let mut command = Command::new(program);
    command.args(built.subject.cases[0]).current_dir(&built.place).stdout(Stdio::null());
    command
}

fn measure(built: &Built, gated: &Path, orders: &Path) -> anyhow::Result<()> {
    let told = orders.with_extension("told");
    let value = format!("{}:{}", orders.display(), told.display());
    let plain = built.plain();
    let [mut idle, mut active, mut elapsed] = [Vec::new(), Vec::new(), Vec::new()];
    let begin = Instant::now();
    // Once each, unmeasured: files and caches are warm afterwards.
    cost(&mut command(&plain, built))?;
    cost(&mut command(gated, built))?;
    let narrow = |ratios: &[f64]| interval(ratios).1 <= NARROW;
    while idle.len() < FEWEST_ROUNDS
        || (begin.elapsed() < LONGEST && !(narrow(&idle) && narrow(&active)))
    {
        // The order changes from round to round, so that a drift of the machine cancels out.
        let mut costs = [(0.0, 0.0); 3];
        for turn in 0..3 {
            let which = (turn + idle.len()) % 3;
            let mut command = command(if which == 0 { &plain } else { gated }, built);
            if which == 2 {
                command.env("RACEWARDEN_GATE", &value);
            }
            costs[which] = cost(&mut command)?;
        }
        idle.push(costs[1].0 / costs[0].0);
        active.push(costs[2].0 / costs[0].0);
        elapsed.push(costs[2].1 / costs[0].1);
    }
    let gates = std::fs::read_to_string(built.place.join("candidates.json"))?;
    let gates = serde_json::from_str::<Value>(&gates)?["races"].as_array().map_or(0, Vec::len);
    println!(
        "| {} | {gates} | {} | {} | {} | {} |",
        built.subject.name,
        idle.len(),
        shown(&idle),
        shown(&active),
        shown(&elapsed)
    );
    Ok(())
}

/// Geometric mean and half the width of its 95 % interval. The tenth at either end is left out:
/// another process had the machine then.
fn interval(ratios: &[f64]) -> (f64, f64) {
    let mut logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    logs.sort_by(f64::total_cmp);
    let cut = logs.len() / 10;
    let kept = &logs[cut..logs.len() - cut];
    let count = kept.len() as f64;
    let mean = kept.iter().sum::<f64>() / count;
    let variance =
        kept.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    (mean.exp(), 1.96 * (variance / count).sqrt())
}

fn shown(ratios: &[f64]) -> String {
    let (mean, half) = interval(ratios);
    format!("{mean:.3}x ± {half:.3}")
}

/// Processor time of a run in seconds.
pub fn cpu(command: &mut Command) -> anyhow::Result<f64> {
    Ok(cost(command)?.0)
}

/// Processor and elapsed time of a run in seconds, as the shell measures them.
fn cost(command: &mut Command) -> anyhow::Result<(f64, f64)> {
    let mut timed = Command::new("bash");
    timed.args(["-c", "TIMEFORMAT='%3U %3S %3R'; time \"$0\" \"$@\" 2>/dev/null"]);
    timed.arg(command.get_program()).args(command.get_args()).stdout(Stdio::null());
    if let Some(place) = command.get_current_dir() {
        timed.current_dir(place);
    }
    for (name, value) in command.get_envs() {
        timed.env(name, value.unwrap_or_default());
    }
    let output = timed.output()?;
    ensure!(output.status.success(), "{command:?} failed");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [user, system, real] = numbers[..] else { anyhow::bail!("no times in {text:?}") };
    Ok((user + system, real))
}

#[cfg(test)]
mod tests {
    use super::interval;

    #[test]
    fn the_interval_narrows_and_outliers_count_little() {
        let (mean, half) = interval(&[1.0; 10]);
        assert!((mean - 1.0).abs() < 1e-9 && half < 1e-9);
        let mut ratios = vec![1.01; 19];
        ratios.push(9.0);
        assert!((interval(&ratios).0 - 1.01).abs() < 1e-9);
    }
}
