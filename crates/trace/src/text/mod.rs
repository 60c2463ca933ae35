//! The STD text format: one event a line, `THREAD|operation(operand)|location`.
//!
//! Operations are `r`, `w`, `acq`, `rel`, `fork`, `join`, `begin` and `end`; `enter`, `exit`,
//! `branch`, `req` and `dummy`, which order nothing, are left out. Published traces have
//! defects (a fork logged twice, thread operands without their prefix, a recording that was cut
//! off), and a defect that is read as if it were not there yields races that do not exist. So
//! reading has two steps: [`parse`](parse::parse) refuses every line it cannot read, and
//! [`validate`](validate::validate) refuses what contradicts itself. What has only one sound
//! reading is repaired, and each [`Repair`] is told to the user.

mod parse;
mod validate;

use std::io::Write;

use crate::OrderTrace;

/// A defect that was mended, with the line it stood on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    pub line: u32,
    pub kind: RepairKind,
    pub text: String,
}

/// Repairs of one kind are told together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RepairKind {
    TruncatedLastLine,
    OrdersNothing,
    NoLocation,
    ThreadNamedWithoutPrefix,
    UnknownThread,
    RepeatedFork,
    LateFork,
    RepeatedJoin,
    EarlyJoin,
    EarlyEnd,
    LateBegin,
    ReleaseWithoutAcquire,
    ReusedThread,
    NestedAcquire,
}

/// Why a trace cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    #[error("not a trace in the STD format: it is empty")]
    Empty,
    #[error(
        "not a trace in the STD format: line 1 is `{0}`, not `THREAD|operation(operand)|location`"
    )]
    Foreign(String),
    #[error("line {line}: `{text}` is not `THREAD|operation(operand)|location`")]
    Line { line: u32, text: String },
    #[error(
        "line {line}: unknown operation `{operation}` (known: r w acq rel fork join begin end)"
    )]
    Operation { line: u32, operation: String },
    #[error("line {line}: {text}")]
    Contradiction { line: u32, text: String },
    #[error("more than 2^31 events")]
    TooLong,
}

/// A trace that was read, with what had to be mended.
#[derive(Debug, Clone, Default)]
pub struct ReadTrace {
    pub trace: OrderTrace,
    pub repairs: Vec<Repair>,
}

/// Reads a whole trace.
pub fn read(text: &[u8]) -> Result<ReadTrace, TextError> {
    let parsed = parse::parse(text)?;
    validate::validate(parsed)
}

/// Writes the trace; reading it gives the same events again.
pub fn write(trace: &OrderTrace, out: &mut dyn Write) -> std::io::Result<()> {
    for event in &trace.events {
        writeln!(out, "{}", trace.event_text(event))?;
    }
    Ok(())
}

/// One message per kind of repair: the first of them, and how many more there are.
pub fn repair_messages(repairs: &[Repair]) -> Vec<String> {
    let mut kinds: Vec<(RepairKind, u32, &str, usize)> = Vec::new();
    for repair in repairs {
        match kinds.iter_mut().find(|(kind, ..)| *kind == repair.kind) {
            Some((.., count)) => *count += 1,
            None => kinds.push((repair.kind, repair.line, &repair.text, 1)),
        }
    }
    kinds
        .into_iter()
        .map(|(_, line, text, count)| match count {
            1 => format!("line {line}: {text}"),
            _ => format!("line {line}: {text} (and {} more like it)", count - 1),
        })
        .collect()
}
