//! Running other programs with a time limit.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;

/// What a command left behind.
#[derive(Debug)]
pub struct Output {
    /// `None` if a signal ended it.
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub timed_out: bool,
}

/// Runs a command to its end, or kills it when the time is up.
pub fn run(command: &mut Command, limit: Duration) -> anyhow::Result<Output> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {name}"))?;
    // Both pipes are drained while the command runs, or a full pipe would stop it.
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());
    let timed_out = !wait(&mut child, limit)?;
    if timed_out {
        child.kill()?;
    }
    let status = child.wait()?.code();
    let text = |reader: std::thread::JoinHandle<Vec<u8>>| {
        String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned()
    };
    Ok(Output { status, stdout: text(stdout), stderr: text(stderr), timed_out })
}

fn drain(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // A pipe that breaks has said all it will.
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

fn wait(child: &mut Child, limit: Duration) -> anyhow::Result<bool> {
    let start = Instant::now();
    while start.elapsed() < limit {
        if child.try_wait()?.is_some() {
            return Ok(true);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(child.try_wait()?.is_some())
}
