//! Whether a running program can still make progress, as the kernel tells it.

use std::path::PathBuf;

/// What the threads of a process do at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// Every thread waits on a futex without a time limit: nobody inside can wake anyone.
    AllBlocked,
    /// At least one thread computes.
    Running,
    /// Nobody computes, but a timer, a file or a peer may wake someone.
    Waiting,
}

/// Looks at all threads of `process`. `None` when it is gone or the kernel does not tell.
pub fn activity(process: u32) -> Option<Activity> {
    let mut all_blocked = true;
    let mut threads = 0;
    let mut running = false;
    for entry in std::fs::read_dir(format!("/proc/{process}/task")).ok()? {
        let directory: PathBuf = entry.ok()?.path();
        let line = std::fs::read_to_string(directory.join("syscall")).ok()?;
        threads += 1;
        let line = line.trim();
        running |= line == "running";
        all_blocked &= waits_for_good(line);
    }
    Some(match () {
        () if running || threads == 0 => Activity::Running,
        () if all_blocked => Activity::AllBlocked,
        () => Activity::Waiting,
    })
}

/// The numbers of all threads of `process`.
pub fn threads(process: u32) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    let mut threads: Vec<u32> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    threads.sort_unstable();
    threads
}

/// A line of `/proc/…/syscall`: the number, then the arguments in hexadecimal.
fn waits_for_good(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [number, _word, operation, _value, limit, ..] = words.as_slice() else { return false };
    let hex = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    let futex = *number == libc::SYS_futex.to_string();
    let waits = hex(operation).is_some_and(|operation| {
        matches!(
            operation as i32 & 0x7f,
            libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET | libc::FUTEX_LOCK_PI | libc::FUTEX_LOCK_PI2
        )
    });
    futex && waits && hex(limit) == Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_unlimited_futex_wait_blocks_for_good() {
        assert!(waits_for_good("202 0x7f00 0x80 0x2 0x0 0x0 0x0 0x7ffc 0x7f01"));
        assert!(waits_for_good("202 0x7f00 0x189 0x2 0x0 0x0 0xffffffff 0x7ffc 0x7f01"));
        assert!(!waits_for_good("202 0x7f00 0x80 0x2 0x7fff 0x0 0x0 0x7ffc 0x7f01"));
        assert!(!waits_for_good("202 0x7f00 0x81 0x1 0x0 0x0 0x0 0x7ffc 0x7f01"));
        assert!(!waits_for_good("0 0x0 0x7f00 0x400 0x0 0x0 0x0 0x7ffc 0x7f01"));
        assert!(!waits_for_good("running"));
        assert!(!waits_for_good(""));
    }

    /// The kernel shows a thread that asks about itself as being inside that very call, so the
    /// question has to be about another process.
    #[test]
    fn a_program_that_computes_is_running() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "echo ready; while :; do :; done"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = [0; 5];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while activity(child.id()) != Some(Activity::Running) {
            assert!(std::time::Instant::now() < deadline, "the loop is never seen running");
        }
        assert_eq!(threads(child.id()), [child.id()]);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
