//! What must hold across lines, and the repairs that have only one sound reading.
//!
//! | defect | what is done |
//! |---|---|
//! | `fork(124)` where the thread is called `T124` (or the other way) | repaired: the thread meant |
//! | a fork or join of a thread without events | kept, told |
//! | a second fork before the thread's first event | the second is left out |
//! | a fork of a thread that already runs | left out: the thread did not wait for it |
//! | a second join | left out |
//! | a release without its acquire, the lock unused before | held since the thread's first event |
//! | a release without its acquire otherwise | refused |
//! | an acquire of a lock that its thread holds | re-entrant: the inner pair is left out |
//! | an acquire of a lock that another thread holds | refused |
//! | events after a join, fork again in between | a new thread of the same name |
//! | events after a join otherwise; before `begin`; after `end` | refused |

use rustc_hash::FxHashMap;

use super::parse::Parsed;
use super::{ReadTrace, Repair, RepairKind, TextError};
use crate::{Event, Kind, OrderTrace, ThreadId};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    /// Neither forked nor seen.
    New,
    Forked,
    Running,
    Ended,
    Joined,
}

struct Validator {
    threads: Vec<Box<str>>,
    life: Vec<Life>,
    /// The thread that a name stands for now: a name used again after a join is a new thread.
    current: Vec<ThreadId>,
    first_event: Vec<Option<usize>>,
    /// Per lock: its holder and the depth of re-entry.
    held: FxHashMap<u32, (ThreadId, u32)>,
    /// Locks that were taken at least once.
    used: FxHashMap<u32, u32>,
    /// Acquisitions to put in front of an event of `events`.
    early: Vec<(usize, Event)>,
    events: Vec<Event>,
    repairs: Vec<Repair>,
}

pub(super) fn validate(parsed: Parsed<'_>) -> Result<ReadTrace, TextError> {
    let Parsed { threads, variables, locks, locations, events, lines, repairs } = parsed;
    let count = threads.names.len();
    let mut validator = Validator {
        threads: threads.names,
        life: vec![Life::New; count],
        current: (0..count as u32).map(ThreadId).collect(),
        first_event: vec![None; count],
        held: FxHashMap::default(),
        used: FxHashMap::default(),
        early: Vec::new(),
        events: Vec::with_capacity(events.len()),
        repairs,
    };
    let meant = validator.resolve_thread_operands(&events, &lines);
    for (mut event, line) in events.into_iter().zip(lines) {
        if matches!(event.kind, Kind::Fork | Kind::Join) {
            event.object = meant[event.object as usize];
        }
        validator.event(event, line, &locks.names)?;
    }
    let Validator { threads, mut early, events, repairs, .. } = validator;
    let events = if early.is_empty() {
        events
    } else {
        early.sort_by_key(|(index, _)| *index);
        insert_early(events, &early)
    };
    let trace = OrderTrace {
        threads,
        variables: variables.names,
        locks: locks.names,
        location_names: locations.names,
        tokens: 0,
        events,
    };
    Ok(ReadTrace { trace, repairs })
}

fn insert_early(events: Vec<Event>, early: &[(usize, Event)]) -> Vec<Event> {
    let mut result = Vec::with_capacity(events.len() + early.len());
    let mut next = early.iter().peekable();
    for (index, event) in events.into_iter().enumerate() {
        while let Some((_, acquire)) = next.next_if(|(at, _)| *at == index) {
            result.push(*acquire);
        }
        result.push(event);
    }
    result
}

impl Validator {
    fn repair(&mut self, line: u32, kind: RepairKind, text: String) {
        self.repairs.push(Repair { line, kind, text });
    }

    /// For each name, the thread that it means as an operand of fork and join.
    fn resolve_thread_operands(&mut self, events: &[Event], lines: &[u32]) -> Vec<u32> {
        let mut has_events = vec![false; self.threads.len()];
        let mut named_at: Vec<Option<u32>> = vec![None; self.threads.len()];
        for (event, line) in events.iter().zip(lines) {
            has_events[event.thread.index()] = true;
            if matches!(event.kind, Kind::Fork | Kind::Join) {
                named_at[event.object as usize].get_or_insert(*line);
            }
        }
        let mut meant: Vec<u32> = (0..self.threads.len() as u32).collect();
        for index in 0..self.threads.len() {
            let Some(line) = named_at[index].filter(|_| !has_events[index]) else { continue };
            let name = self.threads[index].clone();
            let other: Box<str> = match name.strip_prefix('T') {
                Some(number) => number.into(),
                None => format!("T{name}").into(),
            };
            match self.threads.iter().position(|thread| *thread == other) {
                Some(target) if has_events[target] => {
                    meant[index] = target as u32;
                    self.repair(
                        line,
                        RepairKind::ThreadNamedWithoutPrefix,
                        format!("thread `{name}` has no events; taken to mean `{other}`"),
                    );
                }
                _ => self.repair(
                    line,
                    RepairKind::UnknownThread,
                    format!("thread `{name}` is named here but has no events"),
                ),
            }
        }
        meant
    }

    fn event(&mut self, mut event: Event, line: u32, locks: &[Box<str>]) -> Result<(), TextError> {
        event.thread = self.current[event.thread.index()];
        self.check_alive(&event, line)?;
        if self.first_event[event.thread.index()].is_none() {
            self.first_event[event.thread.index()] = Some(self.events.len());
        }
        let keep = match event.kind {
            Kind::Acquire => self.acquire(&event, line, locks)?,
            Kind::Release => self.release(&event, line, locks)?,
            Kind::Fork => self.fork(&mut event, line)?,
            Kind::Join => self.join(&mut event, line)?,
            Kind::End => {
                self.life[event.thread.index()] = Life::Ended;
                true
            }
            _ => true,
        };
        if keep {
            self.events.push(event);
        }
        Ok(())
    }

    fn check_alive(&mut self, event: &Event, line: u32) -> Result<(), TextError> {
        let life = &mut self.life[event.thread.index()];
        let name = &self.threads[event.thread.index()];
        let refuse = |text: String| Err(TextError::Contradiction { line, text });
        match *life {
            Life::Ended => return refuse(format!("an event of thread `{name}` after its end")),
            Life::Joined => {
                return refuse(format!(
                    "an event of thread `{name}` after it was joined, without a new fork"
                ));
            }
            Life::Running if event.kind == Kind::Begin => {
                return refuse(format!("thread `{name}` begins after its first event"));
            }
            _ => *life = Life::Running,
        }
        Ok(())
    }

    fn acquire(&mut self, event: &Event, line: u32, locks: &[Box<str>]) -> Result<bool, TextError> {
        *self.used.entry(event.object).or_default() += 1;
        match self.held.get_mut(&event.object) {
            None => {
                self.held.insert(event.object, (event.thread, 1));
                Ok(true)
            }
            Some((holder, depth)) if *holder == event.thread => {
                *depth += 1;
                let text = format!(
                    "thread `{}` takes lock `{}` again while it holds it; read as a re-entrant lock",
                    self.threads[event.thread.index()],
                    locks[event.object as usize]
                );
                self.repair(line, RepairKind::NestedAcquire, text);
                Ok(false)
            }
            Some((holder, _)) => Err(TextError::Contradiction {
                line,
                text: format!(
                    "thread `{}` takes lock `{}`, which thread `{}` holds",
                    self.threads[event.thread.index()],
                    locks[event.object as usize],
                    self.threads[holder.index()]
                ),
            }),
        }
    }

    fn release(&mut self, event: &Event, line: u32, locks: &[Box<str>]) -> Result<bool, TextError> {
        let lock = &locks[event.object as usize];
        let thread = self.threads[event.thread.index()].clone();
        match self.held.get_mut(&event.object) {
            Some((holder, depth)) if *holder == event.thread => {
                *depth -= 1;
                let outermost = *depth == 0;
                if outermost {
                    self.held.remove(&event.object);
                }
                return Ok(outermost);
            }
            None if !self.used.contains_key(&event.object) => {}
            _ => {
                return Err(TextError::Contradiction {
                    line,
                    text: format!(
                        "thread `{thread}` releases lock `{lock}`, which it does not hold"
                    ),
                });
            }
        }
        // Nobody took the lock before: the only reading is that the recording began while the
        // thread held it.
        *self.used.entry(event.object).or_default() += 1;
        let first = self.first_event[event.thread.index()].unwrap_or(self.events.len());
        self.early.push((first, Event { kind: Kind::Acquire, ..*event }));
        let text = format!(
            "thread `{thread}` releases lock `{lock}`, which it never took; read as held since the thread's first event"
        );
        self.repair(line, RepairKind::ReleaseWithoutAcquire, text);
        Ok(true)
    }

    fn fork(&mut self, event: &mut Event, line: u32) -> Result<bool, TextError> {
        let child = self.current[event.object as usize];
        let name = self.threads[child.index()].clone();
        if child == event.thread {
            let text = format!("thread `{name}` forks itself");
            return Err(TextError::Contradiction { line, text });
        }
        match self.life[child.index()] {
            Life::New => self.life[child.index()] = Life::Forked,
            Life::Forked => {
                let text = format!("thread `{name}` is forked again before it ran; left out");
                self.repair(line, RepairKind::RepeatedFork, text);
                return Ok(false);
            }
            Life::Running => {
                let text =
                    format!("thread `{name}` is forked here but already ran; the fork is left out");
                self.repair(line, RepairKind::LateFork, text);
                return Ok(false);
            }
            Life::Ended | Life::Joined => {
                let text = format!("thread `{name}` is forked after it ended; a new thread");
                self.repair(line, RepairKind::ReusedThread, text);
                let again = ThreadId(self.threads.len() as u32);
                self.threads.push(format!("{name}'{}", again.0).into());
                self.life.push(Life::Forked);
                self.first_event.push(None);
                self.current[event.object as usize] = again;
            }
        }
        event.object = self.current[event.object as usize].0;
        Ok(true)
    }

    fn join(&mut self, event: &mut Event, line: u32) -> Result<bool, TextError> {
        let child = self.current[event.object as usize];
        let name = self.threads[child.index()].clone();
        if child == event.thread {
            let text = format!("thread `{name}` joins itself");
            return Err(TextError::Contradiction { line, text });
        }
        if self.life[child.index()] == Life::Joined {
            let text = format!("thread `{name}` is joined again; left out");
            self.repair(line, RepairKind::RepeatedJoin, text);
            return Ok(false);
        }
        self.life[child.index()] = Life::Joined;
        event.object = child.0;
        Ok(true)
    }
}
