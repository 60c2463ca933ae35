//! Programs under test: started in a group of their own, so that what they start can be stopped
//! with them, and stopped as a service manager would.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::interrupt;

/// What a program gets to shut down by itself after SIGTERM.
const GRACE: Duration = Duration::from_secs(3);

/// Starts `command` in a group of its own.
pub fn spawn_group(command: &mut Command) -> anyhow::Result<Child> {
    command.process_group(0);
    interrupt::heed();
    let program = command.get_program().to_owned();
    command.spawn().with_context(|| format!("cannot run {}", program.display()))
}

/// Waits for a child of [`spawn_group`]. `None` when the time ran out or the user interrupted: it
/// got SIGTERM, and SIGKILL when it did not heed that.
pub fn wait_at_most(child: &mut Child, limit: Duration) -> anyhow::Result<Option<ExitStatus>> {
    if let Some(status) = wait_until(child, Instant::now() + limit)? {
        return Ok(Some(status));
    }
    signal_group(child, libc::SIGTERM);
    if wait_for_shutdown(child)?.is_none() {
        signal_group(child, libc::SIGKILL);
        child.wait()?;
    }
    Ok(None)
}

fn wait_until(child: &mut Child, end: Instant) -> anyhow::Result<Option<ExitStatus>> {
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= end || interrupt::requested() {
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

fn wait_for_shutdown(child: &mut Child) -> anyhow::Result<Option<ExitStatus>> {
    let end = Instant::now() + GRACE;
    while Instant::now() < end {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(child.try_wait()?)
}

fn signal_group(child: &Child, signal: libc::c_int) {
    let Ok(group) = libc::pid_t::try_from(child.id()) else { return };
    // SAFETY: the group is the child's own, made for it by `spawn_group`; the child has not been
    // waited for, so its number is not in use by another.
    unsafe { libc::kill(-group, signal) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Child {
        spawn_group(Command::new("sh").args(["-c", script])).unwrap()
    }

    #[test]
    fn a_program_that_ends_tells_its_status() {
        let status = wait_at_most(&mut shell("exit 3"), Duration::from_secs(20)).unwrap();
        assert_eq!(status.unwrap().code(), Some(3));
    }

    #[test]
    fn a_server_is_stopped_with_its_children() {
        let mut child = shell("sleep 600 & wait");
        assert!(wait_at_most(&mut child, Duration::from_millis(200)).unwrap().is_none());
    }
}
