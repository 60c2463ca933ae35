//! One run of an enrolled program, from asking the hive to spooling the report.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use racewarden_proto::{AssignmentReply, AssignmentRequest, BuildInfo, PodReport};
use ring::rand::{SecureRandom, SystemRandom};

use crate::{
    ArtefactError, Attendant, ClientError, Enrolment, HiveClient, Home, ProgramRun, Spool,
    SpoolLimits, artefact, run_program,
};

/// The user's one switch: `RACEWARDEN_POD=off`.
pub fn is_switched_off() -> bool {
    std::env::var_os("RACEWARDEN_POD").is_some_and(|value| value == "off")
}

pub struct Session {
    home: Home,
    enrolment: Enrolment,
    client: HiveClient,
    spool: Spool,
}

/// What a run came to, for the person at the terminal.
#[derive(Debug)]
pub struct SessionReport {
    pub run: ProgramRun,
    /// What went wrong around the program, never in its way.
    pub notes: Vec<String>,
    pub next_poll_seconds: u32,
}

impl Session {
    pub fn open(home: Home, enrolment: Enrolment) -> std::io::Result<Session> {
        let spool = Spool::open(home.spool(&enrolment.project), SpoolLimits::default())?;
        Ok(Session { client: HiveClient::new(&enrolment), home, enrolment, spool })
    }

    /// Runs the program once. Only a program that cannot be had at all is an error: when the hive
    /// is away, the last verified build runs plainly.
    pub fn run(
        &self,
        arguments: &[OsString],
        attendant: &dyn Attendant,
    ) -> Result<SessionReport, ArtefactError> {
        let mut notes = Vec::new();
        let (info, hive_is_there) = self.build(&mut notes)?;
        // A hive that did not answer once is not asked again: each question costs a wait.
        let participates = self.enrolment.sending && !is_switched_off() && hive_is_there;
        let program =
            artefact::fetch(&self.client, &self.enrolment, &info, &self.home.artefacts())?;
        self.remember(&info);

        let reply = if participates { self.ask(&info, &mut notes) } else { None };
        let next_poll_seconds = reply.as_ref().map_or(600, |reply| reply.next_poll_seconds);
        let io = |source| ArtefactError::Io { path: program.clone(), source };
        let scratch = self.scratch().map_err(io)?;
        let (assignment, avoid) = match &reply {
            Some(reply) => (reply.assignment.as_ref(), reply.avoid.as_slice()),
            None => (None, [].as_slice()),
        };
        let run = run_program(&program, arguments, assignment, avoid, &scratch, attendant);
        let _ = fs::remove_dir_all(&scratch);
        let run = run.map_err(io)?;

        if let (Some(assignment), Some(outcome)) = (assignment, &run.outcome) {
            self.remember_gates(&info, &run.executed_gates);
            let report = PodReport {
                id: random_id(),
                ticket: assignment.ticket.clone(),
                outcome: outcome.clone(),
                executed_gates: run.executed_gates.clone(),
            };
            if let Err(error) = self.spool.add(&report) {
                notes.push(format!("the report could not be kept: {error}"));
            }
        }
        if participates {
            self.send(&mut notes);
        }
        Ok(SessionReport { run, notes, next_poll_seconds })
    }

    /// Sends what waits; `Ok` with the number of reports that left.
    pub fn drain(&self) -> Result<usize, ClientError> {
        self.spool.drain(&self.client)
    }

    /// Exactly what the next batches would hold.
    pub fn waiting(&self) -> std::io::Result<Vec<PodReport>> {
        self.spool.waiting()
    }

    /// The build to run, and whether the hive answered. Switched off, the hive hears nothing as
    /// long as there is a build to run.
    fn build(&self, notes: &mut Vec<String>) -> Result<(BuildInfo, bool), ArtefactError> {
        if is_switched_off()
            && let Some(info) = self.remembered()
        {
            return Ok((info, false));
        }
        match self.client.latest_build() {
            Ok(info) => Ok((info, true)),
            Err(error) => match self.remembered() {
                Some(info) => {
                    let waiting = self.spool.len().unwrap_or(0);
                    let name = &info.name;
                    notes.push(format!("{error}; running build {name}, {waiting} reports wait"));
                    Ok((info, false))
                }
                None => Err(error.into()),
            },
        }
    }

    fn ask(&self, info: &BuildInfo, notes: &mut Vec<String>) -> Option<AssignmentReply> {
        let request = AssignmentRequest {
            build: info.name.clone(),
            executed_gates: self.remembered_gates(info),
        };
        match self.client.assignment(&request) {
            Ok(reply) => Some(reply),
            Err(error) => {
                notes.push(format!("{error}; running plainly"));
                None
            }
        }
    }

    fn send(&self, notes: &mut Vec<String>) {
        if let Err(error) = self.spool.drain(&self.client) {
            let waiting = self.spool.len().unwrap_or(0);
            notes.push(format!("{error}; {waiting} reports wait to be sent"));
        }
    }

    fn scratch(&self) -> std::io::Result<PathBuf> {
        let folder = self.home.folder.join("runs").join(random_id());
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    fn remember(&self, info: &BuildInfo) {
        // Losing this costs only a run while the hive is away.
        let _ = fs::write(self.last_build_path(), serde_json::to_vec(info).unwrap_or_default());
    }

    fn remembered(&self) -> Option<BuildInfo> {
        serde_json::from_slice(&fs::read(self.last_build_path()).ok()?).ok()
    }

    fn last_build_path(&self) -> PathBuf {
        self.home.artefacts().join(format!("{}.last", self.enrolment.project))
    }

    fn gates_path(&self, info: &BuildInfo) -> PathBuf {
        self.home.artefacts().join(format!("{}.gates", info.sha256))
    }

    fn remembered_gates(&self, info: &BuildInfo) -> Vec<u32> {
        let bytes = fs::read(self.gates_path(info)).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    fn remember_gates(&self, info: &BuildInfo, executed: &[u32]) {
        let mut gates: BTreeSet<u32> = self.remembered_gates(info).into_iter().collect();
        gates.extend(executed);
        let _ = fs::write(self.gates_path(info), serde_json::to_vec(&gates).unwrap_or_default());
    }
}

fn random_id() -> String {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).expect("the system has a source of randomness");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
