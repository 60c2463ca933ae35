//! What one run of a program cost.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};

/// Processor time in seconds, peak resident memory in megabytes, and what it printed.
pub struct Cost {
    pub cpu: f64,
    pub memory: f64,
    pub output: String,
}

/// Runs the command to its end. Race detectors may end it with a status of their own, so the
/// caller judges by the output.
pub fn cost_of(command: &mut Command) -> anyhow::Result<Cost> {
    let output = tempfile::NamedTempFile::new()?;
    let before = children_cpu()?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(output.reopen()?)
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {:?}", command.get_program()))?;
    let mut memory = 0.0;
    let status = loop {
        // A high-water mark, so only the last moment's growth can be missed.
        if let Some(peak) = peak_memory(child.id()) {
            memory = peak;
        }
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(Duration::from_millis(4));
    };
    use std::os::unix::process::ExitStatusExt;
    ensure!(status.signal().is_none(), "{command:?} ended with {status}");
    let text = std::fs::read(output.path())?;
    Ok(Cost {
        cpu: children_cpu()? - before,
        memory,
        output: String::from_utf8_lossy(&text).into_owned(),
    })
}

/// `VmHWM` of a live process in megabytes.
fn peak_memory(process: u32) -> Option<f64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kilobytes| kilobytes / 1024.0)
}

/// Seconds of processor time that waited-for children took (cutime and cstime of proc(5)'s stat,
/// in hundredths).
fn children_cpu() -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')').context("/proc/self/stat")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = fields[13].parse::<f64>()? + fields[14].parse::<f64>()?;
    Ok(ticks / 100.0)
}
