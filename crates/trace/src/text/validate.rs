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
//! | a release without its acquire, the lock free | held since as early as the trace allows |
//! | a release of a lock that another thread holds | refused |
//! | an acquire of a lock that its thread holds | re-entrant: the inner pair is left out |
//! | an acquire of a lock that another thread holds | refused |
//! | events after a join, fork again in between | a new thread of the same name |
//! | events after a join otherwise | the join waited only for the events before it |
//! | events before `begin` or after `end` | that `begin` or `end` is left out |
//!
//! A section that is read as longer than it was, and a join that is read as waiting for more than
//! it did, only rule schedules out: no repair makes a race of what is none.

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
    /// Per lock: where its last section ended in `events`.
    freed: FxHashMap<u32, usize>,
    /// Joins and ends that events of their thread follow.
    too_early: Vec<bool>,
    tokens: u32,
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
        freed: FxHashMap::default(),
        too_early: Vec::new(),
        tokens: 0,
        early: Vec::new(),
        events: Vec::with_capacity(events.len()),
        repairs,
    };
    let meant = validator.resolve_thread_operands(&events, &lines);
    validator.too_early = too_early(&events, &meant);
    for (number, (mut event, line)) in events.into_iter().zip(lines).enumerate() {
        if matches!(event.kind, Kind::Fork | Kind::Join) {
            event.object = meant[event.object as usize];
        }
        validator.event(number, event, line, &locks.names)?;
    }
    let Validator { threads, mut early, events, repairs, tokens, .. } = validator;
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
        tokens,
        events,
    };
    Ok(ReadTrace { trace, repairs })
}

/// Which joins and ends come before a later event of the same thread, with no fork in between.
fn too_early(events: &[Event], meant: &[u32]) -> Vec<bool> {
    let mut goes_on: Vec<bool> = vec![false; meant.len()];
    let mut early = vec![false; events.len()];
    for (number, event) in events.iter().enumerate().rev() {
        let own = event.thread.index();
        match event.kind {
            Kind::Fork => goes_on[meant[event.object as usize] as usize] = false,
            Kind::Join => early[number] = goes_on[meant[event.object as usize] as usize],
            Kind::End => early[number] = goes_on[own],
            _ => {}
        }
        // An end that is repeated is not more of the thread.
        goes_on[own] |= event.kind != Kind::End;
    }
    early
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

    fn event(
        &mut self,
        number: usize,
        mut event: Event,
        line: u32,
        locks: &[Box<str>],
    ) -> Result<(), TextError> {
        event.thread = self.current[event.thread.index()];
        if !self.is_alive(number, &event, line)? {
            return Ok(());
        }
        if self.first_event[event.thread.index()].is_none() {
            self.first_event[event.thread.index()] = Some(self.events.len());
        }
        let keep = match event.kind {
            Kind::Acquire => self.acquire(&event, line, locks)?,
            Kind::Release => self.release(&event, line, locks)?,
            Kind::Fork => self.fork(&mut event, line)?,
            Kind::Join => self.join(number, &mut event, line)?,
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

    /// Whether the event counts; it does not when it only says wrongly when its thread lives.
    fn is_alive(&mut self, number: usize, event: &Event, line: u32) -> Result<bool, TextError> {
        let thread = event.thread.index();
        let name = self.threads[thread].clone();
        let refuse = |text: String| Err(TextError::Contradiction { line, text });
        match self.life[thread] {
            Life::Ended if event.kind == Kind::End => {
                let text = format!("thread `{name}` ends again; left out");
                self.repair(line, RepairKind::EarlyEnd, text);
                return Ok(false);
            }
            Life::Joined if event.kind == Kind::End => {
                let text = format!("thread `{name}` ends after it was joined; left out");
                self.repair(line, RepairKind::EarlyEnd, text);
                return Ok(false);
            }
            Life::Ended => return refuse(format!("an event of thread `{name}` after its end")),
            Life::Joined => {
                return refuse(format!(
                    "an event of thread `{name}` after it was joined, without a new fork"
                ));
            }
            Life::Running if event.kind == Kind::Begin => {
                let text = format!("thread `{name}` begins after its first event; left out");
                self.repair(line, RepairKind::LateBegin, text);
                return Ok(false);
            }
            _ => {}
        }
        if event.kind == Kind::End && self.too_early[number] {
            let text = format!("thread `{name}` goes on after its end; the end is left out");
            self.repair(line, RepairKind::EarlyEnd, text);
            return Ok(false);
        }
        self.life[thread] = Life::Running;
        Ok(true)
    }

    fn acquire(&mut self, event: &Event, line: u32, locks: &[Box<str>]) -> Result<bool, TextError> {
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
                    self.freed.insert(event.object, self.events.len());
                }
                return Ok(outermost);
            }
            None => {}
            Some(_) => {
                return Err(TextError::Contradiction {
                    line,
                    text: format!(
                        "thread `{thread}` releases lock `{lock}`, which it does not hold"
                    ),
                });
            }
        }
        // The acquisition is not in the trace; the longest section that it allows is the one that
        // rules out most.
        let freed = self.freed.insert(event.object, self.events.len());
        let first = self.first_event[event.thread.index()].unwrap_or(self.events.len());
        let first = freed.map_or(first, |freed| first.max(freed + 1));
        let since = match freed {
            None => "the thread's first event",
            Some(_) => "the lock was last free",
        };
        self.early.push((first, Event { kind: Kind::Acquire, ..*event }));
        let text = format!(
            "thread `{thread}` releases lock `{lock}`, which it did not take; read as held since {since}"
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

    fn join(&mut self, number: usize, event: &mut Event, line: u32) -> Result<bool, TextError> {
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
        if self.too_early[number] {
            let text = format!(
                "thread `{name}` goes on after it is joined; the join waits only for what is before"
            );
            self.repair(line, RepairKind::EarlyJoin, text);
            let token = self.tokens;
            self.tokens += 1;
            if self.first_event[child.index()].is_some() {
                self.events.push(Event {
                    thread: child,
                    kind: Kind::Notify,
                    object: token,
                    ..*event
                });
            }
            (event.kind, event.object) = (Kind::Await, token);
            return Ok(true);
        }
        self.life[child.index()] = Life::Joined;
        event.object = child.0;
        Ok(true)
    }
}
