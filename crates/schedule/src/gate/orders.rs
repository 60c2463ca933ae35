//! What the controlling process asks of a gated program for one run.
//!
//! A text file, one order per line, so that it can be read, kept and written by hand:
//!
//! ```text
//! racewarden-gate 1
//! wait-us 200000
//! run-budget-us 3000000
//! seed 1
//! holds 1
//! waits-at-exit
//! linger late 50000
//! target 0 forward 12,13 40
//! target 1 backward 12,13 12,13
//! avoid 2 forward 7 9
//! hold-at 12 main.1 3
//! idle-us 60000
//! step main.1 12 1
//! ```
//!
//! `target NUMBER ORDER GATES GATES` names a candidate race by the gates of its two sides.
//! `avoid` has the same form and keeps that order from happening instead (immunity).
//! `hold-at GATE THREAD OCCURRENCE` restricts holding: with such lines, a thread is held only there,
//! at that visit and all later ones, and for a long time; all other gates only complete meetings. A
//! thread `*` is any thread. `idle-us` ends such a hold early when all others have been waiting
//! so long. With `survey` nobody is held at all: the run tells which targets' sides come to common
//! memory.
//! `step THREAD GATES OCCURRENCE` lines, in their order, are a schedule to follow; a thread `*` is
//! any thread.

use std::fmt::{self, Write as _};

/// The first line of every orders file.
const HEADER: &str = "racewarden-gate 1";

/// Which side of a target goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// The first side's access is performed before the second side's.
    Forward,
    Backward,
}

impl Order {
    pub const BOTH: [Order; 2] = [Order::Forward, Order::Backward];

    /// The index of the side that goes first.
    pub fn leading_side(self) -> usize {
        match self {
            Order::Forward => 0,
            Order::Backward => 1,
        }
    }

    pub fn reversed(self) -> Order {
        match self {
            Order::Forward => Order::Backward,
            Order::Backward => Order::Forward,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Order::Forward => "forward",
            Order::Backward => "backward",
        }
    }

    pub fn parse(text: &str) -> Option<Order> {
        Order::BOTH.into_iter().find(|order| order.as_str() == text)
    }
}

/// Which thread of a meeting stays behind for a while, to widen the window in which the enforced
/// order can do harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Linger {
    #[default]
    Nobody,
    /// The thread that went first waits right after its access.
    Leader { us: u64 },
    /// The thread that goes second waits longer right before its access.
    Follower { us: u64 },
}

/// One candidate race to steer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetOrder {
    /// The controller's number for it; events carry it back.
    pub number: u32,
    pub order: Order,
    /// The gates of the two sides; a source line may have several (templates, inlined copies).
    pub sides: [Vec<u32>; 2],
    /// Keep this order from happening instead of bringing it about.
    pub avoid: bool,
}

/// A step of a schedule, by gate number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepGate {
    /// Creation path, empty for any thread.
    pub thread: String,
    /// The last gate before the instruction.
    pub gate: u32,
    /// Other gates of the same instruction, which are passed before that one: a copy reads one
    /// place and writes another.
    pub beside: Vec<u32>,
    pub occurrence: u64,
}

/// The only place where threads are held, for a long time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldAt {
    pub gate: u32,
    /// Creation path, empty for any thread.
    pub thread: String,
    /// The first visit at which it is held, from 1.
    pub occurrence: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orders {
    /// How long one thread waits at a gate for its partner.
    pub wait_us: u64,
    /// How much waiting in total one run may cost.
    pub run_budget_us: u64,
    /// Varies which visits are held, from run to run.
    pub seed: u64,
    /// How many threads may be held at one time.
    pub holds: u32,
    /// Whether the program's end waits a while for threads that still run: a program that does not
    /// join its threads would take them along.
    pub waits_at_exit: bool,
    pub linger: Linger,
    /// Hold nobody; tell which targets' sides come to common memory.
    pub survey: bool,
    /// Where alone to hold; empty for everywhere.
    pub hold_at: Vec<HoldAt>,
    /// A hold ends when all other threads have been waiting for so long, with or without a time
    /// limit of their own; 0 never.
    pub idle_us: u64,
    pub targets: Vec<TargetOrder>,
    pub steps: Vec<StepGate>,
}

impl Default for Orders {
    fn default() -> Self {
        Orders {
            wait_us: 200_000,
            run_budget_us: 3_000_000,
            seed: 0,
            holds: 1,
            waits_at_exit: false,
            linger: Linger::Nobody,
            survey: false,
            hold_at: Vec::new(),
            idle_us: 0,
            targets: Vec::new(),
            steps: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrdersError {
    Header,
    Line { line: usize, text: String },
}

impl fmt::Display for OrdersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OrdersError::Header => write!(f, "orders start with `{HEADER}`"),
            OrdersError::Line { line, text } => write!(f, "line {line}: `{text}` is not an order"),
        }
    }
}

impl std::error::Error for OrdersError {}

impl fmt::Display for Orders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}")?;
        writeln!(f, "wait-us {}", self.wait_us)?;
        writeln!(f, "run-budget-us {}", self.run_budget_us)?;
        writeln!(f, "seed {}", self.seed)?;
        writeln!(f, "holds {}", self.holds)?;
        if self.waits_at_exit {
            writeln!(f, "waits-at-exit")?;
        }
        match self.linger {
            Linger::Nobody => {}
            Linger::Leader { us } => writeln!(f, "linger leader {us}")?,
            Linger::Follower { us } => writeln!(f, "linger follower {us}")?,
        }
        if self.survey {
            writeln!(f, "survey")?;
        }
        if self.idle_us > 0 {
            writeln!(f, "idle-us {}", self.idle_us)?;
        }
        for hold in &self.hold_at {
            writeln!(f, "hold-at {} {} {}", hold.gate, or_any(&hold.thread), hold.occurrence)?;
        }
        for target in &self.targets {
            let word = if target.avoid { "avoid" } else { "target" };
            let [first, second] = &target.sides;
            let (first, second) = (gate_list(first), gate_list(second));
            let order = target.order.as_str();
            writeln!(f, "{word} {} {order} {first} {second}", target.number)?;
        }
        for step in &self.steps {
            let gates: Vec<u32> = step.beside.iter().copied().chain([step.gate]).collect();
            let (thread, gates) = (or_any(&step.thread), gate_list(&gates));
            writeln!(f, "step {thread} {gates} {}", step.occurrence)?;
        }
        Ok(())
    }
}

/// A thread's name, or `*` for any.
fn or_any(thread: &str) -> &str {
    if thread.is_empty() { "*" } else { thread }
}

fn named(thread: &str) -> String {
    if thread == "*" { String::new() } else { thread.to_owned() }
}

fn gate_list(gates: &[u32]) -> String {
    let mut text = String::new();
    for (index, gate) in gates.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let _ = write!(text, "{comma}{gate}");
    }
    text
}

impl std::str::FromStr for Orders {
    type Err = OrdersError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut lines = text.lines().enumerate();
        if lines.next().map(|(_, line)| line.trim()) != Some(HEADER) {
            return Err(OrdersError::Header);
        }
        let mut orders = Orders::default();
        for (index, line) in lines {
            if line.trim().is_empty() {
                continue;
            }
            orders
                .take_line(line)
                .ok_or_else(|| OrdersError::Line { line: index + 1, text: line.to_owned() })?;
        }
        Ok(orders)
    }
}

impl Orders {
    fn take_line(&mut self, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["wait-us", number] => self.wait_us = number.parse().ok()?,
            ["run-budget-us", number] => self.run_budget_us = number.parse().ok()?,
            ["seed", number] => self.seed = number.parse().ok()?,
            ["waits-at-exit"] => self.waits_at_exit = true,
            ["holds", number] => self.holds = number.parse().ok()?,
            ["linger", "leader", us] => self.linger = Linger::Leader { us: us.parse().ok()? },
            ["linger", "follower", us] => self.linger = Linger::Follower { us: us.parse().ok()? },
            [word @ ("target" | "avoid"), number, order, first, second] => {
                self.targets.push(TargetOrder {
                    number: number.parse().ok()?,
                    order: Order::parse(order)?,
                    sides: [parse_gates(first)?, parse_gates(second)?],
                    avoid: *word == "avoid",
                });
            }
            ["survey"] => self.survey = true,
            ["idle-us", number] => self.idle_us = number.parse().ok()?,
            ["hold-at", gate, thread, occurrence] => self.hold_at.push(HoldAt {
                gate: gate.parse().ok()?,
                thread: named(thread),
                occurrence: occurrence.parse().ok()?,
            }),
            ["step", thread, gates, occurrence] => {
                let mut beside = parse_gates(gates)?;
                let gate = beside.pop()?;
                let (thread, occurrence) = (named(thread), occurrence.parse().ok()?);
                self.steps.push(StepGate { thread, gate, beside, occurrence });
            }
            _ => return None,
        }
        Some(())
    }

    /// Every gate that has to be active for these orders, sorted, each once.
    pub fn gates(&self) -> Vec<u32> {
        let in_targets = self.targets.iter().flat_map(|target| target.sides.iter().flatten());
        let in_steps = self.steps.iter().flat_map(|step| step.beside.iter().chain([&step.gate]));
        let mut gates: Vec<u32> = in_targets.chain(in_steps).copied().collect();
        gates.sort_unstable();
        gates.dedup();
        gates
    }
}

fn parse_gates(text: &str) -> Option<Vec<u32>> {
    text.split(',').map(|gate| gate.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_and_reads_back() {
        let target = |number, order, avoid| TargetOrder {
            number,
            order,
            sides: [vec![12, 13], vec![40]],
            avoid,
        };
        let orders = Orders {
            wait_us: 7,
            run_budget_us: 8,
            seed: 9,
            holds: 4,
            waits_at_exit: true,
            linger: Linger::Follower { us: 50 },
            survey: true,
            hold_at: vec![HoldAt { gate: 12, thread: "main.1".into(), occurrence: 3 }],
            idle_us: 6,
            targets: vec![target(0, Order::Forward, false), target(3, Order::Backward, true)],
            steps: vec![
                StepGate { thread: "main.1".into(), gate: 2, beside: vec![1], occurrence: 3 },
                StepGate { thread: String::new(), gate: 40, beside: vec![], occurrence: 1 },
            ],
        };
        assert_eq!(orders.to_string().parse::<Orders>(), Ok(orders.clone()));
        assert_eq!(orders.gates(), [1, 2, 12, 13, 40]);
    }

    #[test]
    fn says_what_is_wrong() {
        assert_eq!("".parse::<Orders>(), Err(OrdersError::Header));
        let error = "racewarden-gate 1\nseed 1\ntarget 1 sideways 1 2".parse::<Orders>();
        let text = "target 1 sideways 1 2".to_owned();
        assert_eq!(error, Err(OrdersError::Line { line: 3, text }));
    }
}
