//! What hives and pods say to each other, version 1.
//!
//! Everything a pod sends is in [`PodReport`] and [`AssignmentRequest`], and nothing else is ever
//! sent: site numbers, the order that was tried, the outcome, and call stacks as function names
//! and line numbers. No arguments, no environment, no values, no file contents. `racewarden pod
//! show` prints exactly these messages.

#![forbid(unsafe_code)]

mod assignment;
mod build;
mod project;
mod report;

pub use assignment::{
    Assignment, AssignmentReply, AssignmentRequest, AvoidedOrder, GateTarget, Order,
};
pub use build::{BuildInfo, BuildUpload, Candidate, artefact_message};
pub use project::{Control, NewProject, NewToken, PodMode, ProjectInfo, Role, TokenInfo};
pub use report::{
    NotEnforced, Outcome, PodReport, ReportBatch, ReportReceipt, Violation, ViolationKind,
};

/// The path prefix of this version of the API.
pub const PREFIX: &str = "/v1";

/// Most reports in one batch; a pod with more sends several.
pub const MAX_BATCH: usize = 500;
