//! What a gated program reports: one line per event, appended to a file with one `write` each, so
//! that whatever happened before a crash is there afterwards.

use std::fmt;

use super::Order;

/// How a run went against the program's specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ViolationKind {
    Crash,
    Assertion,
    Hang,
    /// The user said that the program failed to do what it should.
    Reported,
}

impl ViolationKind {
    pub fn as_str(self) -> &'static str {
        match self {
            ViolationKind::Crash => "crash",
            ViolationKind::Assertion => "assertion",
            ViolationKind::Hang => "hang",
            ViolationKind::Reported => "reported",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [
            ViolationKind::Crash,
            ViolationKind::Assertion,
            ViolationKind::Hang,
            ViolationKind::Reported,
        ]
        .into_iter()
        .find(|kind| kind.as_str() == text)
    }
}

/// A thread's visit to a gate, as schedules name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    /// Creation path (`main.2`).
    pub thread: String,
    pub gate: u32,
    /// Counts the thread's visits from 1.
    pub occurrence: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The runtime took its orders.
    Started,
    /// The system does not let the program change its own code: some gates can do nothing.
    Shut,
    /// First visit of a gate, and first visit of it while more than one thread lived.
    Reached { gate: u32, concurrent: bool },
    /// In a run where nobody waits: two threads came to the two sides on common memory, at these
    /// visits; whether the earlier one had ended by then.
    Near { target: u32, earlier: Visit, later: Visit, ended: bool },
    /// In such a run: two threads came to these gates, which no target stands for, on common memory.
    Common { earlier: Visit, later: Visit, ended: bool },
    /// In such a run: the gate was visited too often to remember all its memory.
    Forgot { gate: u32 },
    /// A thread is held.
    Held { visit: Visit },
    /// Nobody came within the wait.
    TimedOut { gate: u32 },
    /// While the thread was held, every other thread blocked for good: they wait for something
    /// that only the held thread can give.
    OthersBlocked { gate: u32 },
    /// The partner came, but to other memory.
    DifferentAddresses { target: u32 },
    /// Both threads stand right before their accesses to overlapping memory.
    Met { target: u32, order: Order, leader: Visit, follower: Visit },
    /// Where a thread of a meeting stands: code addresses as in a violation.
    Stood { thread: String, stack: Vec<u64> },
    /// The leader has performed its access.
    Led { target: u32 },
    /// The follower has performed its access after the leader's.
    Enforced { target: u32, order: Order },
    /// An order was kept from happening.
    Avoided { target: u32 },
    /// A step of the schedule was performed.
    Stepped { step: u32 },
    /// The last two steps' threads stand at their accesses at one instant; whether their memory
    /// overlaps.
    PairStands { overlapping: bool },
    /// The schedule could not be followed: nobody came for this step in time.
    Diverged { step: u32 },
    /// Code addresses, innermost first, relative to the program's load address.
    Violation { kind: ViolationKind, detail: String, thread: String, stack: Vec<u64> },
    /// The program ended by itself.
    Ended,
}

impl fmt::Display for Visit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.thread, self.gate, self.occurrence)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Started => write!(f, "started 1"),
            Event::Shut => write!(f, "shut"),
            Event::Reached { gate, concurrent } => {
                write!(f, "reached {gate} {}", u8::from(*concurrent))
            }
            Event::Near { target, earlier, later, ended } => {
                write!(f, "near {target} {earlier} {later} {}", u8::from(*ended))
            }
            Event::Common { earlier, later, ended } => {
                write!(f, "common {earlier} {later} {}", u8::from(*ended))
            }
            Event::Forgot { gate } => write!(f, "forgot {gate}"),
            Event::Held { visit } => write!(f, "held {visit}"),
            Event::TimedOut { gate } => write!(f, "timed-out {gate}"),
            Event::OthersBlocked { gate } => write!(f, "others-blocked {gate}"),
            Event::DifferentAddresses { target } => write!(f, "different {target}"),
            Event::Met { target, order, leader, follower } => {
                write!(f, "met {target} {} {leader} {follower}", order.as_str())
            }
            Event::Stood { thread, stack } => {
                write!(f, "stood {thread} ")?;
                write_stack(f, stack)
            }
            Event::Led { target } => write!(f, "led {target}"),
            Event::Enforced { target, order } => write!(f, "enforced {target} {}", order.as_str()),
            Event::Avoided { target } => write!(f, "avoided {target}"),
            Event::Stepped { step } => write!(f, "stepped {step}"),
            Event::PairStands { overlapping } => write!(f, "pair {}", u8::from(*overlapping)),
            Event::Diverged { step } => write!(f, "diverged {step}"),
            Event::Violation { kind, detail, thread, stack } => {
                write!(f, "violation {} {thread} ", kind.as_str())?;
                write_stack(f, stack)?;
                // Last, because it may hold anything but a line's end.
                write!(f, " {}", detail.replace(['\n', '\r'], " "))
            }
            Event::Ended => write!(f, "ended"),
        }
    }
}

impl Event {
    /// Reads one line; `None` for a line that is cut off or from a later version.
    pub fn parse(line: &str) -> Option<Event> {
        if let Some(rest) = line.strip_prefix("violation ") {
            return parse_violation(rest);
        }
        let words: Vec<&str> = line.split(' ').collect();
        Some(match words.as_slice() {
            ["started", "1"] => Event::Started,
            ["shut"] => Event::Shut,
            ["reached", gate, flag] => {
                Event::Reached { gate: gate.parse().ok()?, concurrent: *flag == "1" }
            }
            ["near", target, visits @ ..] if visits.len() == 7 => Event::Near {
                target: target.parse().ok()?,
                earlier: parse_visit(&visits[..3])?,
                later: parse_visit(&visits[3..6])?,
                ended: visits[6] == "1",
            },
            ["common", visits @ ..] if visits.len() == 7 => Event::Common {
                earlier: parse_visit(&visits[..3])?,
                later: parse_visit(&visits[3..6])?,
                ended: visits[6] == "1",
            },
            ["forgot", gate] => Event::Forgot { gate: gate.parse().ok()? },
            ["held", visit @ ..] => Event::Held { visit: parse_visit(visit)? },
            ["timed-out", gate] => Event::TimedOut { gate: gate.parse().ok()? },
            ["others-blocked", gate] => Event::OthersBlocked { gate: gate.parse().ok()? },
            ["different", target] => Event::DifferentAddresses { target: target.parse().ok()? },
            ["met", target, order, visits @ ..] if visits.len() == 6 => Event::Met {
                target: target.parse().ok()?,
                order: Order::parse(order)?,
                leader: parse_visit(&visits[..3])?,
                follower: parse_visit(&visits[3..])?,
            },
            ["stood", thread, stack] => {
                Event::Stood { thread: (*thread).to_owned(), stack: parse_stack(stack)? }
            }
            ["led", target] => Event::Led { target: target.parse().ok()? },
            ["enforced", target, order] => {
                Event::Enforced { target: target.parse().ok()?, order: Order::parse(order)? }
            }
            ["avoided", target] => Event::Avoided { target: target.parse().ok()? },
            ["stepped", step] => Event::Stepped { step: step.parse().ok()? },
            ["pair", flag] => Event::PairStands { overlapping: *flag == "1" },
            ["diverged", step] => Event::Diverged { step: step.parse().ok()? },
            ["ended"] => Event::Ended,
            _ => return None,
        })
    }

    /// Reads a whole report; the last line may have been cut off by a crash.
    pub fn parse_all(text: &str) -> Vec<Event> {
        let complete = text.rfind('\n').map_or("", |end| &text[..end]);
        complete.lines().filter_map(Event::parse).collect()
    }
}

fn write_stack(f: &mut fmt::Formatter<'_>, stack: &[u64]) -> fmt::Result {
    for (index, pc) in stack.iter().enumerate() {
        write!(f, "{}{pc:x}", if index > 0 { "," } else { "" })?;
    }
    Ok(())
}

fn parse_stack(text: &str) -> Option<Vec<u64>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    text.split(',').map(|pc| u64::from_str_radix(pc, 16).ok()).collect()
}

fn parse_visit(words: &[&str]) -> Option<Visit> {
    let [thread, gate, occurrence] = words else { return None };
    Some(Visit {
        thread: (*thread).to_owned(),
        gate: gate.parse().ok()?,
        occurrence: occurrence.parse().ok()?,
    })
}

fn parse_violation(rest: &str) -> Option<Event> {
    let mut words = rest.splitn(4, ' ');
    let kind = ViolationKind::parse(words.next()?)?;
    let thread = words.next()?.to_owned();
    let stack = parse_stack(words.next()?)?;
    let detail = words.next().unwrap_or_default().to_owned();
    Some(Event::Violation { kind, detail, thread, stack })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_prints_and_reads_back() {
        let visit = |thread: &str| Visit { thread: thread.into(), gate: 4, occurrence: 9 };
        let violation = |stack: Vec<u64>, detail: &str| Event::Violation {
            kind: ViolationKind::Assertion,
            detail: detail.into(),
            thread: "main.1".into(),
            stack,
        };
        let events = [
            Event::Started,
            Event::Shut,
            Event::Reached { gate: 3, concurrent: true },
            Event::Near { target: 4, earlier: visit("main.1"), later: visit("main"), ended: true },
            Event::Common { earlier: visit("main.1"), later: visit("main.2"), ended: false },
            Event::Forgot { gate: 3 },
            Event::Held { visit: visit("main") },
            Event::TimedOut { gate: 3 },
            Event::OthersBlocked { gate: 3 },
            Event::DifferentAddresses { target: 1 },
            Event::Met {
                target: 1,
                order: Order::Backward,
                leader: visit("main.2"),
                follower: visit("main"),
            },
            Event::Stood { thread: "main".into(), stack: vec![0xabc, 2] },
            Event::Stood { thread: "main.2".into(), stack: vec![] },
            Event::Led { target: 1 },
            Event::Enforced { target: 1, order: Order::Forward },
            Event::Avoided { target: 1 },
            Event::Stepped { step: 0 },
            Event::PairStands { overlapping: false },
            Event::Diverged { step: 2 },
            violation(vec![0x1f, 0x20], "a.c:3: f: x == y"),
            violation(vec![], ""),
            Event::Ended,
        ];
        let text: String = events.iter().map(|event| format!("{event}\n")).collect();
        assert_eq!(Event::parse_all(&text), events);
    }

    #[test]
    fn a_cut_off_last_line_is_left_out() {
        assert_eq!(Event::parse_all("started 1\nmet 1 forw"), [Event::Started]);
        assert_eq!(Event::parse_all("star"), []);
    }
}
