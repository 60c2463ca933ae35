//! The memory state machines MSM-short and MSM-long, as pure functions.
//!
//! # MSM-short (section 4.2.3, Figure 3)
//!
//! Six states. `TS` is the stored segment, `t` the accessing thread, `L` its lockset, `C` the
//! candidate lockset; `->` is "happens before in the hybrid relation", `||` its absence.
//!
//! ```text
//! New              any                       -> Exclusive-Read / Exclusive-Write, TS := t
//! Exclusive-Write  TS -> t                   -> Exclusive-Read / Exclusive-Write, TS := t
//!                  TS || t, L not empty      -> Shared-Modified, TS := t, C := L
//!                  TS || t, L empty          -> Race
//! Exclusive-Read   read,  TS -> t            -> Exclusive-Read, TS := t
//!                  read,  TS || t            -> Shared-Read, TS kept, C := L
//!                  write, TS -> t            -> Exclusive-Write, TS := t
//!                  write, TS || t, L not {}  -> Shared-Modified, TS := t, C := L
//!                  write, TS || t, L empty   -> Race
//! Shared-Read      read                      -> Shared-Read, C := C & L
//!                  write, TS -> t            -> Shared-Modified, C := C & L
//!                  write, TS || t, C & L {}  -> Race, otherwise Shared-Modified, C := C & L
//! Shared-Modified  C & L not empty           -> Shared-Modified, C := C & L
//!                  C & L empty, TS -> t      -> Exclusive-Read / Exclusive-Write, TS := t
//!                  C & L empty, TS || t      -> Race
//! Race             any                       -> Race, silent
//! ```
//!
//! Two places where the paper's prose and its pseudo-code differ, decided by the prose:
//! the pseudo-code of Shared-Read's write sends every parallel write to Race, the prose only one
//! with "no lock protecting it"; and an ordered read in Exclusive-Read updates `TS`, which the
//! pseudo-code leaves out although "TS_old is the segment of the prior access".
//!
//! # MSM-long (sections 2.1, 4.2.1, 4.2.4)
//!
//! The paper gives its principles (eight states, two Shared-Modified states, happens-before looked
//! at only after the lockset has failed, a report deferred until the pattern repeats) and refers to
//! an earlier paper for the table. This is the machine derived from them:
//!
//! ```text
//! New, Exclusive-Read, Shared-Read           as MSM-short, but no state reports at once:
//! Exclusive-*      TS || t, not read/read    -> Shared-Modified-1, TS := t, C := L
//! Shared-Read      write                     -> Shared-Modified-1, C := C & L
//! Shared-Modified-1                             (lockset analysis alone)
//!                  C & L not empty           -> Shared-Modified-1, C := C & L
//!                  C & L empty, TS -> t      -> Exclusive-*, TS := t
//!                  C & L empty, TS || t      -> Shared-Modified-2, TS := t, C := L   (deferred)
//! Shared-Modified-2                             (one insufficiency is known)
//!                  C & L not empty           -> Shared-Modified-2, C := C & L
//!                  C & L empty, TS -> t      -> Exclusive-Suspect, TS := t
//!                  C & L empty, TS || t      -> Race
//! Exclusive-Suspect                             (ordered again, but the insufficiency is kept)
//!                  TS -> t                   -> Exclusive-Suspect, TS := t
//!                  TS || t, read after read  -> Exclusive-Suspect, TS kept
//!                  TS || t, otherwise, L {}  -> Race
//!                  TS || t, otherwise        -> Shared-Modified-2, TS := t, C := L
//! Race             any                       -> Race, silent
//! ```
//!
//! Exclusive-Suspect is the eighth state: without it one ordered access in between would make the
//! machine forget that the pattern has occurred, and the repetition would be deferred again.
//!
//! # What they may miss
//!
//! One segment and one lockset a location: section 4.2.5 names the unprotected initialisation that
//! races with a thread holding an unrelated lock. The exact relation beside the machine reports
//! such a pair whenever it is unordered in the run.

use alloc::vec::Vec;

use crate::access::{ByteMask, Kind, SiteId};
use crate::clock::Epoch;
use crate::lockset::LocksetId;

/// The states of both machines; Shared-Modified-2 and Exclusive-Suspect belong to MSM-long.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Phase {
    New,
    ExclusiveWrite,
    ExclusiveRead,
    SharedRead,
    SharedModified,
    SharedModified2,
    ExclusiveSuspect,
    Race,
}

impl core::fmt::Display for Phase {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::New => "New",
            Self::ExclusiveWrite => "Exclusive-Write",
            Self::ExclusiveRead => "Exclusive-Read",
            Self::SharedRead => "Shared-Read",
            Self::SharedModified => "Shared-Modified",
            Self::SharedModified2 => "Shared-Modified-2",
            Self::ExclusiveSuspect => "Exclusive-Suspect",
            Self::Race => "Race",
        })
    }
}

/// Which machine judges the hybrid relation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MachineKind {
    Short,
    Long,
    /// None: full happens-before alone.
    Off,
}

/// The machine's variables for the bytes that share them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Machine {
    pub bytes: ByteMask,
    pub phase: Phase,
    /// `TS_d`: segment, place and kind of the access it stands for.
    pub segment: Epoch,
    pub site: SiteId,
    pub kind: Kind,
    /// `C_d`.
    pub candidates: LocksetId,
    /// `S_d`, one segment per thread: a thread that has been joined counts no longer.
    pub threads: Vec<Epoch>,
}

/// What the machine is told about the access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Input {
    pub write: bool,
    /// `TS_d -> TS_t` in the hybrid relation.
    pub ordered: bool,
    /// `L_t` is empty.
    pub unlocked: bool,
    /// `C_d & L_t` is empty; asked for in the shared states only.
    pub meet_empty: bool,
}

/// The next state and what happens to the variables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    pub phase: Phase,
    /// `TS_d := TS_t`.
    pub take_segment: bool,
    pub candidates: Candidates,
}

/// What happens to the candidate lockset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Candidates {
    /// Not tracked in the next state.
    Unused,
    /// `C_d := L_t`.
    Start,
    /// `C_d := C_d & L_t`.
    Refine,
}

fn exclusive(write: bool) -> Outcome {
    let phase = if write { Phase::ExclusiveWrite } else { Phase::ExclusiveRead };
    Outcome { phase, take_segment: true, candidates: Candidates::Unused }
}

fn shared(phase: Phase, take_segment: bool, candidates: Candidates) -> Outcome {
    Outcome { phase, take_segment, candidates }
}

const RACE: Outcome =
    Outcome { phase: Phase::Race, take_segment: false, candidates: Candidates::Unused };

/// One transition of MSM-short.
pub fn step_short(phase: Phase, input: Input) -> Outcome {
    let Input { write, ordered, unlocked, meet_empty } = input;
    match phase {
        Phase::New => exclusive(write),
        Phase::ExclusiveWrite | Phase::ExclusiveRead if ordered => exclusive(write),
        Phase::ExclusiveRead if !write => shared(Phase::SharedRead, false, Candidates::Start),
        Phase::ExclusiveWrite | Phase::ExclusiveRead if unlocked => RACE,
        Phase::ExclusiveWrite | Phase::ExclusiveRead => {
            shared(Phase::SharedModified, true, Candidates::Start)
        }
        Phase::SharedRead if !write => shared(Phase::SharedRead, false, Candidates::Refine),
        Phase::SharedRead if !ordered && meet_empty => RACE,
        Phase::SharedRead => shared(Phase::SharedModified, false, Candidates::Refine),
        Phase::SharedModified if !meet_empty => {
            shared(Phase::SharedModified, false, Candidates::Refine)
        }
        Phase::SharedModified if ordered => exclusive(write),
        Phase::SharedModified | Phase::Race => RACE,
        // MSM-long's own states do not occur here; being suspicious is the safe answer.
        Phase::SharedModified2 | Phase::ExclusiveSuspect => RACE,
    }
}

/// One transition of MSM-long. `last_was_write` tells the kind of the access behind `TS_d`.
pub fn step_long(phase: Phase, last_was_write: bool, input: Input) -> Outcome {
    let Input { write, ordered, unlocked, meet_empty } = input;
    let suspect = Outcome {
        phase: Phase::ExclusiveSuspect,
        take_segment: true,
        candidates: Candidates::Unused,
    };
    match phase {
        Phase::New => exclusive(write),
        Phase::ExclusiveWrite | Phase::ExclusiveRead if ordered => exclusive(write),
        Phase::ExclusiveRead if !write => shared(Phase::SharedRead, false, Candidates::Start),
        Phase::ExclusiveWrite | Phase::ExclusiveRead => {
            shared(Phase::SharedModified, true, Candidates::Start)
        }
        Phase::SharedRead if !write => shared(Phase::SharedRead, false, Candidates::Refine),
        Phase::SharedRead => shared(Phase::SharedModified, false, Candidates::Refine),
        Phase::SharedModified | Phase::SharedModified2 if !meet_empty => {
            shared(phase, false, Candidates::Refine)
        }
        Phase::SharedModified if ordered => exclusive(write),
        Phase::SharedModified => shared(Phase::SharedModified2, true, Candidates::Start),
        Phase::SharedModified2 if ordered => suspect,
        Phase::SharedModified2 => RACE,
        Phase::ExclusiveSuspect if ordered => suspect,
        Phase::ExclusiveSuspect if !write && !last_was_write => {
            Outcome { take_segment: false, ..suspect }
        }
        Phase::ExclusiveSuspect if unlocked => RACE,
        Phase::ExclusiveSuspect => shared(Phase::SharedModified2, true, Candidates::Start),
        Phase::Race => RACE,
    }
}
