//! What one run of a program cost, on one processor that others may share or on all of them.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, ensure};

/// Processor time in seconds, peak resident memory in megabytes, and what it printed.
pub struct Cost {
    pub cpu: f64,
    pub memory: f64,
    pub output: String,
}

/// Tells the program's process id, then becomes the program; at the end its processor time is told. All
/// measured programs share one processor, the first that may be used: whatever its speed is, it is so for
/// all of them. (`time` of a subshell alone would be told by the subshell, which is gone.)
const MEASURED: &str = "TIMEFORMAT='%3U %3S'; \
    all=$(taskset -cp $$); all=${all##*: }; one=${all%%[-,]*}; [ \"$SPREAD\" ] && one=$all; \
    time { ( echo $BASHPID >&2; exec taskset -c $one \"$0\" \"$@\" 2>/dev/null ); }";

/// Runs the command to its end, and `during` beside it with the process's id. Race detectors may end
/// it with a status of their own, so the caller judges by the output.
pub fn cost_of(
    command: &Command,
    on_one_processor: bool,
    during: impl FnOnce(u32) -> anyhow::Result<()> + Send,
) -> anyhow::Result<Cost> {
    let output = tempfile::NamedTempFile::new()?;
    let mut child = Command::new("bash")
        .args(["-c", MEASURED])
        .env("SPREAD", if on_one_processor { "" } else { "yes" })
        .arg(command.get_program())
        .args(command.get_args())
        .stdin(Stdio::null())
        .stdout(output.reopen()?)
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start bash")?;
    let mut told = BufReader::new(child.stderr.take().context("no standard error")?);
    let mut first = String::new();
    told.read_line(&mut first)?;
    let process: u32 = first.trim().parse().with_context(|| format!("no process id: {first:?}"))?;
    let (memory, cpu) = std::thread::scope(|scope| {
        let beside = scope.spawn(move || during(process));
        let ended = watch(&mut child, process, told);
        match beside.join() {
            Ok(result) => result.and(ended),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
    .with_context(|| format!("{command:?}"))?;
    let text = std::fs::read(output.path())?;
    Ok(Cost { cpu, memory, output: String::from_utf8_lossy(&text).into_owned() })
}

/// Waits for the end; returns the peak of the program's memory and its processor time.
fn watch(
    child: &mut Child,
    process: u32,
    mut told: impl Read + Send,
) -> anyhow::Result<(f64, f64)> {
    let (sender, receiver) = channel();
    let (memory, text) = std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut text = String::new();
            // Nothing told shows below.
            let _ = told.read_to_string(&mut text);
            let _ = sender.send(text);
        });
        let mut memory = 0.0;
        loop {
            // A high-water mark, so only the last moment's growth can be missed.
            if let Some(peak) = peak_memory(process) {
                memory = peak;
            }
            match receiver.recv_timeout(Duration::from_millis(4)) {
                Ok(text) => return (memory, text),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return (memory, String::new()),
            }
        }
    });
    let status = child.wait()?;
    // The shell's way to say that a signal ended it.
    ensure!(status.code().is_some_and(|code| code < 128), "ended with {status}");
    let times: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [user, system] = times[..] else { anyhow::bail!("no times in {text:?}") };
    Ok((memory, user + system))
}

/// `VmHWM` of a live process in megabytes.
fn peak_memory(process: u32) -> Option<f64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kilobytes| kilobytes / 1024.0)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::cost_of;

    #[test]
    fn time_and_output_of_a_run_are_told() {
        let mut command = Command::new("bash");
        command.args(["-c", "echo done; exit 66"]);
        let mut seen = 0;
        let cost = cost_of(&command, true, |process| {
            seen = process;
            Ok(())
        });
        let cost = cost.unwrap();
        assert_eq!(cost.output, "done\n");
        assert!(cost.cpu >= 0.0 && seen > 0);
        assert!(
            cost_of(Command::new("bash").args(["-c", "kill -9 $$"]), false, |_| Ok(())).is_err()
        );
    }
}
