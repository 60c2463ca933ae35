//! `racewarden pod`: one machine of the fleet.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Context;
use clap::Subcommand;
use racewarden_finding::Frame;
use racewarden_pod::{
    Attendant, Backoff, Ended, Enrolment, HiveClient, Home, Session, is_switched_off,
};

use crate::gate::{Frames, user_saw_failure};

#[derive(clap::Args)]
#[command(after_help = "RACEWARDEN_POD=off makes every pod run its program plainly and send \
                        nothing. RACEWARDEN_POD_HOME moves the pod's folder.")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Join a project's fleet
    Enrol {
        /// The hive's address, such as https://hive.example:8420
        hive: String,
        project: String,
        /// A pod token of the project
        #[arg(long, env = "RACEWARDEN_POD_TOKEN", hide_env_values = true)]
        token: String,
        /// Agree to send reports (see `racewarden pod show` for what is in them)
        #[arg(long)]
        send: bool,
        /// Certificate authority of the hive, when no public one vouches for it (PEM)
        #[arg(long, value_name = "FILE")]
        authority: Option<PathBuf>,
    },
    /// Run the project's program once, with its own arguments, streams and exit status
    Run {
        project: String,
        /// Arguments of the program
        #[arg(last = true)]
        arguments: Vec<OsString>,
    },
    /// Run the program again and again, as often as the hive asks
    Daemon {
        project: String,
        /// Stop after this many runs
        #[arg(long)]
        runs: Option<u64>,
        /// Stop a run of which all threads are blocked for this long; it is reported as a hang
        #[arg(long, value_name = "SECONDS", default_value_t = 60)]
        stop_hanging: u64,
        #[arg(last = true)]
        arguments: Vec<OsString>,
    },
    /// Print exactly what waits to be sent
    Show { project: String },
    /// Send what waits
    Send { project: String },
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let home = Home::find();
    match args.action {
        Action::Enrol { hive, project, token, send, authority } => {
            enrol(&home, hive, project, token, send, authority)
        }
        Action::Run { project, arguments } => {
            // The program gets the interrupt from the terminal itself; this command outlives it.
            let ignored = Arc::new(AtomicBool::new(false));
            let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, ignored);
            let report = session(home, &project)?.run(&arguments, &Terminal::new(None))?;
            tell(&report.notes);
            Ok(exit_code(report.run.ended))
        }
        Action::Daemon { project, runs, stop_hanging, arguments } => {
            let terminal = Terminal::new(Some(Duration::from_secs(stop_hanging)));
            daemon(&session(home, &project)?, runs, &arguments, &terminal)
        }
        Action::Show { project } => {
            let waiting = session(home, &project)?.waiting()?;
            println!("{}", serde_json::to_string_pretty(&waiting)?);
            Ok(ExitCode::SUCCESS)
        }
        Action::Send { project } => {
            let sent = session(home, &project)?.drain()?;
            eprintln!("pod: {sent} reports sent");
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn enrol(
    home: &Home,
    hive: String,
    project: String,
    token: String,
    sending: bool,
    authority: Option<PathBuf>,
) -> anyhow::Result<ExitCode> {
    let authority = authority
        .map(|path| std::fs::read_to_string(&path).with_context(|| format!("{}", path.display())))
        .transpose()?;
    let client = HiveClient::with(&hive, &project, &token, authority.as_deref());
    let info = client.project().with_context(|| format!("cannot join {project}"))?;
    let public_key = info.public_key;
    home.save(&Enrolment { hive, project, token, public_key, sending, authority })?;
    let say = if sending { "reports are sent" } else { "no reports are sent (no --send)" };
    eprintln!("pod: joined {}; {say}", info.name);
    Ok(ExitCode::SUCCESS)
}

fn session(home: Home, project: &str) -> anyhow::Result<Session> {
    let enrolment = home.load(project)?;
    Ok(Session::open(home, enrolment)?)
}

/// The person at the terminal, and what this command knows of programs.
struct Terminal {
    stop_hanging: Option<Duration>,
}

impl Terminal {
    fn new(stop_hanging: Option<Duration>) -> Self {
        Terminal { stop_hanging }
    }
}

impl Attendant for Terminal {
    fn frames(&self, program: &Path, stack: &[u64]) -> Vec<Frame> {
        Frames::new(program, &[]).of(stack)
    }

    fn saw_failure(&self) -> bool {
        user_saw_failure()
    }

    fn stops_hanging_after(&self) -> Option<Duration> {
        self.stop_hanging
    }
}

/// Runs until told to stop. A hive that is away costs waiting, never an exit.
fn daemon(
    session: &Session,
    runs: Option<u64>,
    arguments: &[OsString],
    terminal: &Terminal,
) -> anyhow::Result<ExitCode> {
    let mut backoff = Backoff::default();
    let mut done = 0;
    while runs.is_none_or(|runs| done < runs) && !is_switched_off() {
        let pause = match session.run(arguments, terminal) {
            Ok(report) => {
                tell(&report.notes);
                backoff.succeeded();
                Duration::from_secs(report.next_poll_seconds.into())
            }
            Err(error) => {
                eprintln!("pod: {error}");
                backoff.failed(fraction_of_now())
            }
        };
        done += 1;
        if runs.is_none_or(|runs| done < runs) {
            std::thread::sleep(pause);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Enough randomness to keep pods from asking in step.
fn fraction_of_now() -> f64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    f64::from(now.unwrap_or_default().subsec_nanos()) / 1e9
}

fn tell(notes: &[String]) {
    for note in notes {
        eprintln!("pod: {note}");
    }
}

/// The program's own exit status; a signal as shells show it.
fn exit_code(ended: Ended) -> ExitCode {
    let code = match ended {
        Ended::Exit(code) => code,
        Ended::Signal(signal) => 128 + signal,
    };
    ExitCode::from(u8::try_from(code & 0xff).unwrap_or(1))
}
