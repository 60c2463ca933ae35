//! What one run of a program cost.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};

/// Processor time in seconds, peak resident memory in megabytes, and what it printed.
pub struct Cost {
    pub cpu: f64,
    pub memory: f64,
    pub output: String,
}

/// Runs the command to its end, and `during` beside it with the process's id. Race detectors may end
/// it with a status of their own, so the caller judges by the output.
pub fn cost_of(
    command: &mut Command,
    during: impl FnOnce(u32) -> anyhow::Result<()> + Send,
) -> anyhow::Result<Cost> {
    use std::os::unix::process::ExitStatusExt;
    let output = tempfile::NamedTempFile::new()?;
    let before = children_cpu()?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(output.reopen()?)
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {:?}", command.get_program()))?;
    let process = child.id();
    let (memory, status) = std::thread::scope(|scope| {
        let beside = scope.spawn(move || during(process));
        let ended = watch(&mut child);
        match beside.join() {
            Ok(result) => result.and(ended),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })?;
    ensure!(status.signal().is_none(), "{command:?} ended with {status}");
    let text = std::fs::read(output.path())?;
    Ok(Cost {
        cpu: children_cpu()? - before,
        memory,
        output: String::from_utf8_lossy(&text).into_owned(),
    })
}

/// Waits for the end; returns the peak of its memory.
fn watch(child: &mut Child) -> anyhow::Result<(f64, ExitStatus)> {
    let mut memory = 0.0;
    loop {
        // A high-water mark, so only the last moment's growth can be missed.
        if let Some(peak) = peak_memory(child.id()) {
            memory = peak;
        }
        if let Some(status) = child.try_wait()? {
            return Ok((memory, status));
        }
        std::thread::sleep(Duration::from_millis(4));
    }
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
