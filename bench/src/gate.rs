//! What gates cost while they are inert, and while one race is being validated (paper 5, section
//! 4.2): processor time relative to the same program without gates, in rounds until the interval is
//! narrow or the time is over.
//!
//! All candidates of `check` are gated, as in a published build. Validating, one pair of gates that the
//! program really comes to is the target, with the usual wait: another pair in each round.
//!
//! The speed of a machine changes from one second to the next by more than gates cost. So a round runs
//! the two programs side by side on one processor, which turns from one to the other every few
//! milliseconds: whatever slows it down, slows down both. The median of the rounds' ratios counts,
//! with the 95 % interval that resampling the rounds gives.
//!
//! How many instructions run does not depend on the machine's mood at all, so they are counted, too, by
//! Valgrind's cachegrind, on less work.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use crate::real::{Built, Places, SUBJECTS, report_of};

/// Rounds go on until half of the interval is this narrow, in parts of the native time.
const NARROW: f64 = 0.003;
const FEWEST_ROUNDS: usize = 12;
const RESAMPLES: usize = 500;

pub fn run() -> anyhow::Result<()> {
    let places = Places::from_arguments()?;
    println!(
        "| program | gates reached | rounds | idle | validating one race | instructions, idle \
         | instructions, validating |"
    );
    println!("|---|---|---|---|---|---|---|");
    for subject in SUBJECTS.iter().filter(|subject| ["pbzip2", "sqlite3"].contains(&subject.name)) {
        if !places.wants(subject.name) {
            continue;
        }
        let built = Built::new(&places, subject, None)?;
        let (candidates, _) = built.candidates(&places)?;
        let gated = gated_program(&places, &built, &candidates)?;
        let gates = reached_gates(&built, &gated)?;
        measure(&places, &built, &gated, &gates)?;
    }
    Ok(())
}

/// Builds the gates without running anything under them but the one plain run.
fn gated_program(places: &Places, built: &Built, candidates: &Path) -> anyhow::Result<PathBuf> {
    let kept = built.place.join("gated");
    if kept.exists() {
        return Ok(kept);
    }
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
    std::fs::copy(newest.context("no gated program was built")?.path(), &kept)?;
    Ok(kept)
}

/// The gates that the program comes to while several threads live, found by a run with all of them.
fn reached_gates(built: &Built, gated: &Path) -> anyhow::Result<Vec<u32>> {
    let (orders, told) = (built.place.join("probe.orders"), built.place.join("probe.told"));
    let _ = std::fs::remove_file(&told);
    let all: Vec<String> = (0..MOST_PROBED).map(|gate| gate.to_string()).collect();
    let all = all.join(",");
    let text =
        format!("racewarden-gate 1\nwait-us 1\nrun-budget-us 1\ntarget 0 forward {all} {all}\n");
    std::fs::write(&orders, text)?;
    let mut probe = command(gated, built);
    probe.env("RACEWARDEN_GATE", format!("{}:{}", orders.display(), told.display()));
    probe.stderr(Stdio::null()).status()?;
    let reached: Vec<u32> = std::fs::read_to_string(&told)?
        .lines()
        .filter_map(|line| line.strip_prefix("reached ")?.strip_suffix(" 1")?.parse().ok())
        .collect();
    ensure!(reached.len() > 1, "{} comes to fewer than two gates", built.subject.name);
    Ok(reached)
}

/// As many gates as a build can have.
const MOST_PROBED: u32 = 1 << 16;

fn command(program: &Path, built: &Built) -> Command {
    let mut command = Command::new(program);
    command.args(built.subject.long).current_dir(&built.place).stdout(Stdio::null());
    command
}

/// Orders that validate one pair of gates: in each round another.
fn validate(place: &Path, gates: &[u32], round: usize) -> anyhow::Result<String> {
    let (first, second) = (gates[round % gates.len()], gates[(7 * round + 1) % gates.len()]);
    let (orders, told) = (place.join("one.orders"), place.join("one.told"));
    let text = format!(
        "racewarden-gate 1\nwait-us 200000\nrun-budget-us 200000\ntarget 0 forward {first} {second}\n"
    );
    std::fs::write(&orders, text)?;
    let _ = std::fs::remove_file(&told);
    Ok(format!("{}:{}", orders.display(), told.display()))
}

fn measure(places: &Places, built: &Built, gated: &Path, gates: &[u32]) -> anyhow::Result<()> {
    let plain = built.plain();
    // Each round's ratio to the native program: idle, validating.
    let mut ratios: [Vec<f64>; 2] = Default::default();
    // Once, unmeasured: files and caches are warm afterwards.
    side_by_side([&mut command(&plain, built), &mut command(gated, built)])?;
    let begin = Instant::now();
    let longest = Duration::from_secs(places.seconds);
    loop {
        let round = ratios[0].len();
        let narrow =
            || round.is_multiple_of(8) && ratios.iter().all(|all| interval(all).half() <= NARROW);
        if round >= FEWEST_ROUNDS && (begin.elapsed() >= longest || narrow()) {
            break;
        }
        for (which, ratios) in ratios.iter_mut().enumerate() {
            let mut native = command(&plain, built);
            let mut gated = command(gated, built);
            if which == 1 {
                gated.env("RACEWARDEN_GATE", validate(&built.place, gates, round)?);
            }
            // Whoever starts first has the processor to itself for a moment.
            let ratio = if round.is_multiple_of(2) {
                let [native, gated] = side_by_side([&mut native, &mut gated])?;
                gated / native
            } else {
                let [gated, native] = side_by_side([&mut gated, &mut native])?;
                gated / native
            };
            ratios.push(ratio);
        }
    }
    let counted = Instructions::count(built, &plain, gated, gates)?;
    println!(
        "| {} | {} | {} | {} | {} | {:.3}x | {:.3}x |",
        built.subject.name,
        gates.len(),
        ratios[0].len(),
        interval(&ratios[0]),
        interval(&ratios[1]),
        counted.idle,
        counted.validating,
    );
    Ok(())
}

/// How many instructions run, relative to the native program.
struct Instructions {
    idle: f64,
    /// The mean over some pairs of gates.
    validating: f64,
}

impl Instructions {
    fn count(built: &Built, plain: &Path, gated: &Path, gates: &[u32]) -> anyhow::Result<Self> {
        const PAIRS: usize = 5;
        let native = counted(built, plain, None)?;
        let idle = counted(built, gated, None)? / native;
        let mut validating = 0.0;
        for round in 0..PAIRS {
            // Spread over all gates, whatever their number.
            let round = round * gates.len() / PAIRS;
            let orders = validate(&built.place, gates, round)?;
            validating += counted(built, gated, Some(&orders))? / native / PAIRS as f64;
        }
        Ok(Instructions { idle, validating })
    }
}

fn counted(built: &Built, program: &Path, orders: Option<&str>) -> anyhow::Result<f64> {
    // Valgrind reads no debug information as new as the compiler's.
    let bare = built.place.join("counted");
    let stripped = Command::new("strip").arg("-g").arg("-o").arg(&bare).arg(program).status()?;
    ensure!(stripped.success(), "strip failed on {}", program.display());
    let mut count = Command::new("valgrind");
    // Code changes while it runs, and a thread whose wait is over must get its turn.
    count.args(["--tool=cachegrind", "--cache-sim=no", "--smc-check=all", "--fair-sched=yes"]);
    count.arg("--cachegrind-out-file=/dev/null").arg(&bare).args(built.subject.counted);
    count.current_dir(&built.place).stdout(Stdio::null());
    if let Some(orders) = orders {
        count.env("RACEWARDEN_GATE", orders);
    }
    let told = count.output().context("valgrind counts instructions")?.stderr;
    let told = String::from_utf8_lossy(&told).into_owned();
    let count = told
        .lines()
        .find_map(|line| line.split("refs:").nth(1))
        .map(|number| number.trim().replace(',', "").parse::<f64>());
    count.with_context(|| format!("no count of instructions in {told:?}"))?.map_err(Into::into)
}

/// A ratio with its 95 % interval.
struct Interval {
    ratio: f64,
    low: f64,
    high: f64,
}

impl Interval {
    fn half(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

impl std::fmt::Display for Interval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.3}x ({:.3} to {:.3})", self.ratio, self.low, self.high)
    }
}

fn interval(ratios: &[f64]) -> Interval {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize
    };
    let mut medians: Vec<f64> = (0..RESAMPLES)
        .map(|_| median(ratios.iter().map(|_| ratios[next() % ratios.len()]).collect()))
        .collect();
    medians.sort_by(f64::total_cmp);
    let at = |part: f64| medians[(part * (medians.len() - 1) as f64) as usize];
    Interval { ratio: median(ratios.to_vec()), low: at(0.025), high: at(0.975) }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Processor time of a run in seconds.
pub fn cpu(command: &mut Command) -> anyhow::Result<f64> {
    processor_time(timed(command, "").spawn()?.wait_with_output()?)
}

/// Processor times of two runs at once on one processor, in seconds.
fn side_by_side(commands: [&mut Command; 2]) -> anyhow::Result<[f64; 2]> {
    let [one, other] = commands.map(|command| timed(command, "taskset -c 0").spawn());
    let (one, other) = (one?, other?);
    Ok([processor_time(one.wait_with_output()?)?, processor_time(other.wait_with_output()?)?])
}

/// The command under a shell that measures it.
fn timed(command: &Command, wrapper: &str) -> Command {
    let mut timed = Command::new("bash");
    let script = format!("TIMEFORMAT='%3U %3S'; time {wrapper} \"$0\" \"$@\" 2>/dev/null");
    timed.args(["-c", &script]);
    timed.arg(command.get_program()).args(command.get_args());
    timed.stdout(Stdio::null()).stderr(Stdio::piped());
    if let Some(place) = command.get_current_dir() {
        timed.current_dir(place);
    }
    for (name, value) in command.get_envs() {
        timed.env(name, value.unwrap_or_default());
    }
    timed
}

fn processor_time(output: Output) -> anyhow::Result<f64> {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "a measured run failed: {text}");
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [user, system] = numbers[..] else { anyhow::bail!("no times in {text:?}") };
    Ok(user + system)
}

#[cfg(test)]
mod tests {
    use super::interval;

    #[test]
    fn disturbed_rounds_count_little() {
        let same = interval(&[1.0; 10]);
        assert!((same.ratio - 1.0).abs() < 1e-9 && same.half() < 1e-9);
        let mut ratios = vec![1.01; 30];
        ratios.extend([9.0; 4]);
        let found = interval(&ratios);
        assert!((found.ratio - 1.01).abs() < 1e-9 && found.half() < 1e-9);
    }
}
