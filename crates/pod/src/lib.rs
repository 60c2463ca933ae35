//! The pod (CoRD section 3.2): runs a gated program, tries the order that the hive asks for, and
//! reports what came of it.
//!
//! The first rule is to stay out of the program's way. Whatever happens to the hive or the network,
//! the program runs, with its own arguments, streams and exit status; reports wait on disk. The
//! second is to send nothing that was not agreed to: sending is off until enrolment turns it on,
//! `RACEWARDEN_POD=off` turns everything off, and what is sent is only what `proto` defines.

#![forbid(unsafe_code)]

mod activity;
mod artefact;
mod backoff;
mod client;
mod enrolment;
mod program;
mod session;
mod spool;

pub use activity::{Activity, activity, threads};
pub use artefact::{ArtefactError, verify};
pub use backoff::Backoff;
pub use client::{ClientError, HiveClient};
pub use enrolment::{Enrolment, EnrolmentError, Home};
pub use program::{Attendant, Ended, ProgramRun, run_program};
pub use session::{Session, SessionReport, is_switched_off};
pub use spool::{Spool, SpoolLimits};
