//! One run of a gated program under orders, watched from outside.

use std::fs::File;
use std::io::IsTerminal;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use racewarden_pod::{Activity, activity, threads};
use racewarden_schedule::gate::{Event, Orders, ViolationKind};

use crate::interrupt;

/// How long all threads must be blocked before the run counts as hanging.
const HANG: Duration = Duration::from_millis(600);
/// Has the C library overwrite freed memory, so that a use after free fails instead of passing by
/// luck, and free blocks without a cache for each thread, so that a second `free` is noticed
/// whichever thread makes it. Costs little.
const HEAP_CHECKS: &str = "glibc.malloc.perturb=165:glibc.malloc.tcache_count=0";

/// The value of `GLIBC_TUNABLES` for a gated run: the user's own settings come last and win.
pub fn heap_checks() -> String {
    match std::env::var("GLIBC_TUNABLES") {
        Ok(own) if !own.is_empty() => format!("{HEAP_CHECKS}:{own}"),
        _ => HEAP_CHECKS.to_owned(),
    }
}

/// The signal by which the gate runtime tells a thread's stack.
const TELL_STACK: i32 = 62;

/// What to run.
#[derive(Debug, Clone)]
pub struct Program {
    pub path: PathBuf,
    pub arguments: Vec<String>,
    /// Given to every run as standard input; nothing without it.
    pub input: Option<PathBuf>,
    /// Where the program's output goes: to the user, or nowhere.
    pub show_output: bool,
}

/// How a run ended.
#[derive(Debug)]
pub struct RunEnd {
    pub events: Vec<Event>,
    pub duration: Duration,
    /// `None` when it was stopped because it hung or ran too long.
    pub status: Option<ExitStatus>,
    pub violation: Option<Violation>,
    /// The time was over while the program waited for something outside.
    pub timed_out: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub kind: ViolationKind,
    /// `SIGSEGV`, the assertion's text, what hangs.
    pub detail: String,
    /// Creation path of the thread, when it is known.
    pub thread: String,
    pub stack: Vec<u64>,
}

impl Violation {
    /// Whether the program failed in the same way: at the same assertion, or by the same signal. Where a signal
    /// comes may be chance.
    pub fn is_like(&self, other: &Violation) -> bool {
        (self.kind, &self.detail) == (other.kind, &other.detail)
    }
}

impl Program {
    /// Runs once under `orders`, at most for `limit`.
    pub fn run(&self, orders: &Orders, limit: Duration) -> anyhow::Result<RunEnd> {
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let (orders_file, report) = (folder.path().join("orders"), folder.path().join("report"));
        std::fs::write(&orders_file, orders.to_string()).context("cannot write gate orders")?;
        let mut command = Command::new(&self.path);
        command.args(&self.arguments).process_group(0);
        // The program may print its own name, which is not that of the cached file.
        command.arg0(program_name(&self.path));
        let value = format!("{}:{}", orders_file.display(), report.display());
        command.env("RACEWARDEN_GATE", value);
        command.env("GLIBC_TUNABLES", heap_checks());
        command.stdin(match &self.input {
            Some(path) => File::open(path).with_context(|| path.display().to_string())?.into(),
            None => Stdio::null(),
        });
        if !self.show_output {
            command.stdout(Stdio::null()).stderr(Stdio::null());
        }
        interrupt::heed();
        let begin = Instant::now();
        let mut child =
            command.spawn().with_context(|| format!("cannot run {}", self.path.display()))?;
        let end = watch(&mut child, begin, limit);
        // Whatever the program left behind in its group goes with it.
        kill_group(child.id());
        let (status, watched) = end?;
        let text = std::fs::read(&report).unwrap_or_default();
        let events = Event::parse_all(&String::from_utf8_lossy(&text));
        let timed_out = watched == Some(Stopped::TimeOver);
        let violation = violation_of(&events, status, watched);
        Ok(RunEnd { events, duration: begin.elapsed(), status, violation, timed_out })
    }
}

/// Cached programs are called `HASH-NAME`.
fn program_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split_once('-').map_or(name.as_ref(), |(_, name)| name).to_owned()
}

/// Paper 5, section 3.3.3: an interrupt may mean that the program failed, and only the user
/// knows. Without a terminal nobody is asked.
pub fn user_saw_failure() -> bool {
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return false;
    }
    eprint!("\nDid the program fail to do what it should? [y/N] ");
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

/// Why a run was stopped from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopped {
    Blocked,
    Spinning,
    TimeOver,
    /// The user interrupted it and says that it failed.
    Reported,
}

fn watch(
    child: &mut Child,
    begin: Instant,
    limit: Duration,
) -> anyhow::Result<(Option<ExitStatus>, Option<Stopped>)> {
    let mut blocked_since: Option<Instant> = None;
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((Some(status), None));
        }
        if interrupt::requested() {
            let end = stop(child, Stopped::Reported)?;
            anyhow::ensure!(user_saw_failure(), "interrupted");
            interrupt::dismiss();
            return Ok(end);
        }
        let now = activity(child.id());
        match now {
            Some(Activity::AllBlocked) => {
                let since = *blocked_since.get_or_insert_with(Instant::now);
                if since.elapsed() >= HANG {
                    return stop(child, Stopped::Blocked);
                }
            }
            _ => blocked_since = None,
        }
        if begin.elapsed() >= limit {
            let spinning = now == Some(Activity::Running);
            return stop(child, if spinning { Stopped::Spinning } else { Stopped::TimeOver });
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(40));
    }
}

fn stop(child: &mut Child, why: Stopped) -> anyhow::Result<(Option<ExitStatus>, Option<Stopped>)> {
    for thread in threads(child.id()) {
        // SAFETY: sends a signal to a thread of our own child, which has not been waited for.
        unsafe { libc::syscall(libc::SYS_tgkill, child.id(), thread, TELL_STACK) };
    }
    std::thread::sleep(Duration::from_millis(50));
    // It may have ended by itself at the last moment, but then it was late all the same.
    let _ = child.kill();
    child.wait()?;
    Ok((None, Some(why)))
}

fn kill_group(process: u32) {
    // SAFETY: the group was made for this child alone.
    unsafe { libc::kill(-(process as i32), libc::SIGKILL) };
}

fn violation_of(
    events: &[Event],
    status: Option<ExitStatus>,
    stopped: Option<Stopped>,
) -> Option<Violation> {
    let noted = |wanted: fn(ViolationKind) -> bool| {
        events.iter().find_map(|event| match event {
            Event::Violation { kind, detail, thread, stack } if wanted(*kind) => Some(Violation {
                kind: *kind,
                detail: detail.clone(),
                thread: thread.clone(),
                stack: stack.clone(),
            }),
            _ => None,
        })
    };
    let hang = |detail: &str| {
        let at = noted(|kind| kind == ViolationKind::Hang);
        let (thread, stack) = at.map(|at| (at.thread, at.stack)).unwrap_or_default();
        Violation { kind: ViolationKind::Hang, detail: detail.to_owned(), thread, stack }
    };
    match stopped {
        Some(Stopped::Blocked) => return Some(hang("all threads are blocked")),
        Some(Stopped::Spinning) => return Some(hang("no progress")),
        Some(Stopped::TimeOver) => return None,
        Some(Stopped::Reported) => {
            let kind = ViolationKind::Reported;
            let detail = "the user interrupted the program and reported a failure".to_owned();
            return Some(Violation { kind, detail, thread: String::new(), stack: Vec::new() });
        }
        None => {}
    }
    if let Some(seen) = noted(|kind| kind != ViolationKind::Hang) {
        return Some(seen);
    }
    // The runtime saw nothing (the stack was destroyed, say), but the kernel knows.
    let signal = status?.signal()?;
    let fatal =
        [libc::SIGSEGV, libc::SIGBUS, libc::SIGABRT, libc::SIGFPE, libc::SIGILL].contains(&signal);
    fatal.then(|| Violation {
        kind: ViolationKind::Crash,
        detail: format!("signal {signal}"),
        thread: String::new(),
        stack: Vec::new(),
    })
}
