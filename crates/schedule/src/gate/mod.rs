//! How threads are steered at gates: the decisions, without the waiting.
//!
//! A *gate* is a place right before one instruction of the program; the gate pass numbers them.
//! The code here is told that a thread arrived at a gate and answers what it shall do. The
//! runtime, which does the waiting, lives in the program; the controlling process writes the
//! [`Orders`] and reads the [`Event`]s. Both sides share this module, so they cannot disagree.
//!
//! Follows section 3.4 of CoRD (paper 5) with one deviation that makes the proof sound. The paper
//! takes "both orders could be enforced" as proof; but two critical sections under one lock can
//! be enforced in both orders too. Here a race is proved only by a *meeting*: one thread is held
//! right before its access, with whatever locks it holds, while another thread stands right before
//! a conflicting access to overlapping memory. Nothing that either thread did can order the two
//! accesses then, because neither has been performed and both are next.
//!
//! What it may miss: a meeting needs both threads to come within the wait; see [`Orchestrator`]
//! for how the waits are spread.

mod common;
mod enforcement;
mod events;
mod judge;
mod orchestrator;
mod orders;
mod survey;

pub use enforcement::{Enforcement, Progress, StepAnswer};
pub use events::{Event, ViolationKind, Visit};
pub use judge::{Assessment, Judgement, NotEnforced, Tally, judge};
pub use orchestrator::{Answer, Arrival, Orchestrator, Wake};
pub use orders::{HoldAt, Linger, Order, Orders, OrdersError, StepGate, TargetOrder};
