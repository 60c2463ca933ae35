//! Lines to events. Reading is most of the time that an order analysis of a large trace takes, so
//! names are looked up as byte slices of the input and numbers are kept as numbers.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use rustc_hash::FxHasher;

use super::{Repair, RepairKind, TextError};
use crate::{Event, Kind, Location, ThreadId};

type Names<'a> = HashMap<&'a [u8], u32, BuildHasherDefault<FxHasher>>;

/// Gives each name the next number, in order of appearance.
#[derive(Default)]
pub(super) struct Interner<'a> {
    ids: Names<'a>,
    pub names: Vec<Box<str>>,
}

impl<'a> Interner<'a> {
    fn intern(&mut self, name: &'a [u8]) -> u32 {
        let next = self.names.len() as u32;
        *self.ids.entry(name).or_insert_with(|| {
            self.names.push(String::from_utf8_lossy(name).into());
            next
        })
    }
}

/// The lines as they stand, before anything was checked across lines.
#[derive(Default)]
pub(super) struct Parsed<'a> {
    pub threads: Interner<'a>,
    pub variables: Interner<'a>,
    pub locks: Interner<'a>,
    pub locations: Interner<'a>,
    pub events: Vec<Event>,
    /// The line of each event.
    pub lines: Vec<u32>,
    pub repairs: Vec<Repair>,
}

pub(super) fn parse(text: &[u8]) -> Result<Parsed<'_>, TextError> {
    let mut parsed = Parsed::default();
    let estimate = text.len() / 24;
    parsed.events.reserve(estimate);
    parsed.lines.reserve(estimate);
    let mut rest = text;
    let mut line_number = 0u32;
    while !rest.is_empty() {
        line_number = line_number.checked_add(1).ok_or(TextError::TooLong)?;
        let (line, complete) = match rest.iter().position(|&byte| byte == b'\n') {
            Some(end) => {
                let line = &rest[..end];
                rest = &rest[end + 1..];
                (line, true)
            }
            None => (std::mem::take(&mut rest), false),
        };
        let line = line.strip_suffix(b"\r").unwrap_or(line).trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        match parsed.line(line, line_number) {
            Ok(()) => {}
            // A recording that was cut off ends within a line; the events before it are good.
            Err(_) if !complete && !parsed.events.is_empty() => parsed.repairs.push(Repair {
                line: line_number,
                kind: RepairKind::TruncatedLastLine,
                text: format!(
                    "the trace ends within a line (`{}`), which is left out",
                    shown(line)
                ),
            }),
            Err(TextError::Line { text, .. }) if parsed.events.is_empty() => {
                return Err(TextError::Foreign(text));
            }
            Err(error) => return Err(error),
        }
    }
    if parsed.events.is_empty() {
        return Err(TextError::Empty);
    }
    Ok(parsed)
}

impl<'a> Parsed<'a> {
    /// The line itself stands for a location that the trace does not give.
    fn unplaced(&mut self, line: u32) -> Location {
        let text = "no location; the number of the line stands for it".to_owned();
        self.repairs.push(Repair { line, kind: RepairKind::NoLocation, text });
        Location::number(line).unwrap_or(Location::named(0))
    }

    fn line(&mut self, line: &'a [u8], line_number: u32) -> Result<(), TextError> {
        let malformed = || TextError::Line { line: line_number, text: shown(line) };
        let bar = line.iter().position(|&b| b == b'|').ok_or_else(malformed)?;
        let (thread, rest) = (line[..bar].trim_ascii(), &line[bar + 1..]);
        let (operation, location) = fields(rest);
        let open = operation.iter().position(|&b| b == b'(').ok_or_else(malformed)?;
        let name = &operation[..open];
        let operand = operation[open + 1..].strip_suffix(b")").ok_or_else(malformed)?;
        if thread.is_empty() || location.is_some_and(<[u8]>::is_empty) {
            return Err(malformed());
        }
        if orders_nothing(name) {
            self.repairs.push(Repair {
                line: line_number,
                kind: RepairKind::OrdersNothing,
                text: format!("`{}` orders nothing; left out", shown(name)),
            });
            return Ok(());
        }
        let kind = kind_of(name)
            .ok_or_else(|| TextError::Operation { line: line_number, operation: shown(name) })?;
        if operand.is_empty() && !matches!(kind, Kind::Begin | Kind::End) {
            return Err(malformed());
        }
        let thread = ThreadId(self.threads.intern(thread));
        let object = match kind {
            Kind::Read | Kind::Write => self.variables.intern(operand),
            Kind::Acquire | Kind::Release => self.locks.intern(operand),
            Kind::Fork | Kind::Join => self.threads.intern(operand),
            _ => thread.0,
        };
        let location = match location.map(|text| (number(text), text)) {
            Some((Some(number), _)) => number,
            Some((None, text)) => Location::named(self.locations.intern(text)),
            None => self.unplaced(line_number),
        };
        self.events.push(Event { thread, kind, object, location });
        self.lines.push(line_number);
        if self.events.len() >= 1 << 31 { Err(TextError::TooLong) } else { Ok(()) }
    }
}

/// Splits `operation(operand)|location`. The operand may hold bars; the location may be missing.
fn fields(rest: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut from = 0;
    while let Some(close) = rest[from..].iter().position(|&b| b == b')') {
        let after = from + close + 1;
        let blanks = rest[after..].iter().take_while(|b| b.is_ascii_whitespace()).count();
        if rest.get(after + blanks) == Some(&b'|') {
            let location = rest[after + blanks + 1..].trim_ascii();
            return (rest[..after].trim_ascii(), Some(location));
        }
        from = after;
    }
    (rest.trim_ascii(), None)
}

/// Events that published tools log beside the ones that order: methods, branches, requests of
/// locks (the acquisition follows), fillers.
fn orders_nothing(name: &[u8]) -> bool {
    matches!(name, b"enter" | b"exit" | b"branch" | b"req" | b"dummy")
}

fn kind_of(name: &[u8]) -> Option<Kind> {
    Some(match name {
        b"r" => Kind::Read,
        b"w" => Kind::Write,
        b"acq" => Kind::Acquire,
        b"rel" => Kind::Release,
        b"fork" => Kind::Fork,
        b"join" => Kind::Join,
        b"begin" => Kind::Begin,
        b"end" => Kind::End,
        _ => return None,
    })
}

/// A decimal number in its shortest form, so that writing it gives the same text again.
fn number(text: &[u8]) -> Option<Location> {
    if text.len() > 10
        || !text.iter().all(u8::is_ascii_digit)
        || (text[0] == b'0' && text.len() > 1)
    {
        return None;
    }
    let value = text.iter().fold(0u64, |value, digit| value * 10 + u64::from(digit - b'0'));
    Location::number(u32::try_from(value).ok()?)
}

/// At most 60 characters of a line, for messages.
fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut shown: String = text.chars().filter(|c| !c.is_control()).take(60).collect();
    if text.chars().count() > 60 {
        shown.push('…');
    }
    shown
}
