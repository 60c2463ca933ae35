//! A schedule: the order in which a handful of events must happen for a race to show.
//!
//! It is a printable string, so that it can be mailed, stored, put on a command line and replayed:
//!
//! ```text
//! rw1:main@deposit+14#1>worker.2@audit+9#3
//! ```
//!
//! Steps are separated by `>`; each is `thread@function+instruction#occurrence`. `thread` is the
//! creation path (`main`, then the ordinal of the child within its creator, `main.2.1`), which is
//! the same in every run that follows the schedule; `instruction` is the ordinal in the prepared
//! function, as the program model numbers it; `occurrence` counts that thread's visits from 1. A
//! `~` in front of a step holds its thread there until the racing pair, the last two steps, stands.

#![forbid(unsafe_code)]

use std::fmt;
use std::str::FromStr;

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

pub mod gate;

/// The version tag that every printed schedule opens with.
pub const VERSION: &str = "rw1";

/// One event: a thread's nth visit to an instruction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct Step {
    /// Creation path: empty for any thread, `main`, or `main.2.1`.
    pub thread: String,
    /// The symbol of the function.
    pub function: String,
    /// The instruction's ordinal in the prepared function.
    pub instruction: u32,
    /// 1 for the thread's first visit.
    pub occurrence: u64,
}

/// Steps in the order in which they must happen; threads run freely in between.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Schedule {
    pub steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParseError {
    Version,
    Step { index: usize, text: String },
}

// Written out, because the runtime links this crate and shall drag nothing else along.
impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseError::Version => write!(f, "a schedule starts with `{VERSION}:`"),
            ParseError::Step { index, text } => {
                write!(f, "step {index}: `{text}` is not `thread@function+instruction#occurrence`")
            }
        }
    }
}

impl std::error::Error for ParseError {}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{VERSION}:")?;
        for (index, step) in self.steps.iter().enumerate() {
            if index > 0 {
                f.write_str(">")?;
            }
            write!(f, "{step}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Step { thread, function, instruction, occurrence } = self;
        write!(f, "{thread}@{function}+{instruction}#{occurrence}")
    }
}

impl FromStr for Schedule {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let body = text
            .strip_prefix(VERSION)
            .and_then(|rest| rest.strip_prefix(':'))
            .ok_or(ParseError::Version)?;
        if body.is_empty() {
            return Ok(Schedule::default());
        }
        let steps = body
            .split('>')
            .enumerate()
            .map(|(index, text)| {
                parse_step(text).ok_or_else(|| ParseError::Step { index, text: text.to_owned() })
            })
            .collect::<Result<_, _>>()?;
        Ok(Schedule { steps })
    }
}

fn parse_step(text: &str) -> Option<Step> {
    let (thread, rest) = text.split_once('@')?;
    let (rest, occurrence) = rest.rsplit_once('#')?;
    let (function, instruction) = rest.rsplit_once('+')?;
    if function.is_empty() {
        return None;
    }
    Some(Step {
        thread: thread.to_owned(),
        function: function.to_owned(),
        instruction: instruction.parse().ok()?,
        occurrence: occurrence.parse().ok()?,
    })
}

#[cfg(feature = "serde")]
impl Serialize for Schedule {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> Deserialize<'de> for Schedule {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_and_reads_back() {
        let text = "rw1:main@deposit+14#1>main.2@_ZN4Bank5auditEv+9#3";
        let schedule: Schedule = text.parse().unwrap();
        assert_eq!(schedule.steps.len(), 2);
        assert_eq!(schedule.steps[1].thread, "main.2");
        assert_eq!(schedule.to_string(), text);
        assert_eq!("rw1:".parse::<Schedule>().unwrap(), Schedule::default());
    }

    #[test]
    fn says_what_is_wrong() {
        assert_eq!("main@f+1#1".parse::<Schedule>(), Err(ParseError::Version));
        let error = "rw1:main@f+1#1>oops".parse::<Schedule>().unwrap_err();
        assert_eq!(error, ParseError::Step { index: 1, text: "oops".into() });
        assert!("rw1:main@f+x#1".parse::<Schedule>().is_err());
    }
}
