//! Follows a schedule: its steps happen in their order, everything else runs freely.
//!
//! A thread that arrives for a step waits until all earlier steps have been performed. The last
//! two steps are the racing pair: the first of them also waits until the second's thread stands
//! at its gate, so that both are caught at one instant, which proves the race once more.
//!
//! Some steps cannot finish before later ones begin (a condition wait, a join): a step that has
//! been entered but not finished for a while counts as performed once the next step's thread
//! stands there. A visit that is named again later (a `pthread_once` that runs its routine, the
//! return from a condition wait) is meant to have *returned* there.
//!
//! A step whose thread is written with a `~` in front (`~main.1`) is no step but a *hold*: the
//! thread waits there until the racing pair stands, because what it does next would spoil the
//! schedule. Holds come first in the list and nobody waits for them.

use std::collections::BTreeMap;

use super::events::Event;
use super::orders::StepGate;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepAnswer {
    /// The visit is no step of the schedule.
    NotMine,
    /// Wait to be woken, or for the patience; then call `woken`.
    Wait { step: usize },
    /// Perform the instruction, then call `performed`.
    Go { step: usize },
}

/// How far the schedule has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    Underway,
    Complete,
    Diverged,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Expected,
    Standing,
    Entered,
    Performed,
    /// A hold: nobody waits for it.
    Hold,
}

impl State {
    fn is_done(self) -> bool {
        matches!(self, State::Performed | State::Hold)
    }
}

/// Address and size.
type Memory = (u64, u64);

/// The thread that a hold names.
fn held_thread(step: &StepGate) -> Option<&str> {
    step.thread.strip_prefix('~')
}

#[derive(Debug)]
pub struct Enforcement {
    steps: Vec<StepGate>,
    states: Vec<State>,
    /// For each step its return, where the schedule names it.
    returns: Vec<Option<usize>>,
    /// What each standing step is about to access.
    memory: Vec<Vec<Memory>>,
    /// The last gate beside a step's own that each thread passed, and its memory.
    beside: BTreeMap<String, Vec<(u32, Memory)>>,
    diverged: bool,
    pair_reported: bool,
    events: Vec<Event>,
}

impl Enforcement {
    pub fn new(steps: Vec<StepGate>) -> Self {
        let state = |step| if held_thread(step).is_some() { State::Hold } else { State::Expected };
        let states = steps.iter().map(state).collect();
        let same = |a: &StepGate, b: &StepGate| {
            (&a.thread, a.gate, a.occurrence) == (&b.thread, b.gate, b.occurrence)
        };
        let named_again = |at: usize| {
            let later = steps[at + 1..].iter().position(|later| same(&steps[at], later));
            later.map(|offset| at + 1 + offset)
        };
        Enforcement {
            returns: (0..steps.len()).map(named_again).collect(),
            memory: vec![Vec::new(); steps.len()],
            beside: BTreeMap::new(),
            steps,
            states,
            diverged: false,
            pair_reported: false,
            events: Vec::new(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    pub fn progress(&self) -> Progress {
        if self.diverged {
            Progress::Diverged
        } else if self.states.iter().all(|state| state.is_done()) {
            Progress::Complete
        } else {
            Progress::Underway
        }
    }

    /// A thread stands at a gate for the nth time.
    pub fn arrive(
        &mut self,
        thread: &str,
        gate: u32,
        occurrence: u64,
        memory: Memory,
    ) -> StepAnswer {
        if self.diverged {
            return StepAnswer::NotMine;
        }
        if self.steps.iter().any(|step| step.beside.contains(&gate)) {
            let passed = self.beside.entry(thread.to_owned()).or_default();
            passed.retain(|(other, _)| *other != gate);
            passed.push((gate, memory));
        }
        let mine = self.steps.iter().zip(&self.states).position(|(step, state)| {
            *state == State::Expected
                && step.gate == gate
                && (step.thread.is_empty() || step.thread == thread)
                && step.occurrence == occurrence
        });
        let Some(step) = mine else { return self.hold(thread, gate, occurrence) };
        self.states[step] = State::Standing;
        let passed = self.beside.get(thread).into_iter().flatten();
        let beside = &self.steps[step].beside;
        let others = passed.filter(|(gate, _)| beside.contains(gate)).map(|(_, memory)| *memory);
        self.memory[step] = others.chain([memory]).collect();
        self.notice_pair();
        self.decide(step)
    }

    fn hold(&mut self, thread: &str, gate: u32, occurrence: u64) -> StepAnswer {
        let found = self.steps.iter().position(|step| {
            held_thread(step) == Some(thread) && step.gate == gate && step.occurrence == occurrence
        });
        match found {
            Some(step) if !self.pair_reported => StepAnswer::Wait { step },
            _ => StepAnswer::NotMine,
        }
    }

    fn notice_pair(&mut self) {
        let [.., State::Standing, State::Standing] = self.states.as_slice() else { return };
        let [.., first, second] = self.memory.as_slice() else { return };
        if !self.pair_reported {
            self.pair_reported = true;
            let overlap = |&(a, m): &Memory, &(b, n): &Memory| {
                a < b.saturating_add(n) && b < a.saturating_add(m)
            };
            let overlapping = first.iter().any(|one| second.iter().any(|two| overlap(one, two)));
            self.events.push(Event::PairStands { overlapping });
        }
    }

    fn decide(&mut self, step: usize) -> StepAnswer {
        if self.states[step] == State::Hold {
            return match self.pair_reported {
                true => StepAnswer::Go { step },
                false => StepAnswer::Wait { step },
            };
        }
        let earlier_done = self.states[..step].iter().all(|state| state.is_done());
        let leads_pair = step + 2 == self.steps.len();
        if earlier_done && (!leads_pair || self.pair_reported) {
            self.enter(step);
            StepAnswer::Go { step }
        } else {
            StepAnswer::Wait { step }
        }
    }

    fn enter(&mut self, step: usize) {
        self.states[step] = State::Entered;
        if let Some(back) = self.returns[step] {
            self.states[back] = State::Entered;
        }
    }

    /// A waiting thread runs again because something changed.
    pub fn woken(&mut self, step: usize) -> StepAnswer {
        if self.diverged { StepAnswer::Go { step } } else { self.decide(step) }
    }

    /// A waiting thread has been patient for a short while: a step that was entered and does not
    /// come back may be one that needs a later step.
    pub fn nudge(&mut self, step: usize) -> StepAnswer {
        if !self.diverged
            && step > 0
            && self.states[step - 1] == State::Entered
            && self.states[..step - 1].iter().all(|state| state.is_done())
        {
            self.states[step - 1] = State::Performed;
            self.events.push(Event::Stepped { step: step as u32 - 1 });
        }
        self.woken(step)
    }

    /// A waiting thread's patience has ended: the schedule is given up and everyone runs freely.
    pub fn give_up(&mut self, step: usize) -> StepAnswer {
        if self.states[step] == State::Hold {
            return StepAnswer::Go { step };
        }
        if !self.diverged {
            // The pair's first step may go alone when its partner never comes to stand there.
            let earlier_done = self.states[..step].iter().all(|state| state.is_done());
            if earlier_done && step + 2 == self.steps.len() {
                self.enter(step);
                return StepAnswer::Go { step };
            }
            self.diverged = true;
            let missing = self.states.iter().position(|state| !state.is_done());
            self.events.push(Event::Diverged { step: missing.unwrap_or(step) as u32 });
        }
        StepAnswer::Go { step }
    }

    /// A step's instruction has been performed; everyone who waits has to be woken.
    pub fn performed(&mut self, step: usize) {
        for step in [Some(step), self.returns[step]].into_iter().flatten() {
            if !self.states[step].is_done() {
                self.states[step] = State::Performed;
                self.events.push(Event::Stepped { step: step as u32 });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(thread: &str, gate: u32, occurrence: u64) -> StepGate {
        StepGate { thread: thread.into(), gate, beside: Vec::new(), occurrence }
    }

    const MEMORY: (u64, u64) = (64, 4);

    #[test]
    fn steps_happen_in_their_order() {
        let steps = vec![step("main", 1, 1), step("main.1", 2, 1), step("main.2", 3, 1)];
        let mut schedule = Enforcement::new(steps);
        assert_eq!(schedule.arrive("main.2", 3, 1, MEMORY), StepAnswer::Wait { step: 2 });
        assert_eq!(schedule.arrive("main.1", 2, 1, MEMORY), StepAnswer::Wait { step: 1 });
        assert_eq!(schedule.take_events(), [Event::PairStands { overlapping: true }]);
        assert_eq!(schedule.woken(1), StepAnswer::Wait { step: 1 });
        assert_eq!(schedule.arrive("main", 1, 1, MEMORY), StepAnswer::Go { step: 0 });
        assert_eq!(schedule.woken(1), StepAnswer::Wait { step: 1 });
        schedule.performed(0);
        assert_eq!(schedule.woken(2), StepAnswer::Wait { step: 2 });
        assert_eq!(schedule.woken(1), StepAnswer::Go { step: 1 });
        schedule.performed(1);
        assert_eq!(schedule.woken(2), StepAnswer::Go { step: 2 });
        schedule.performed(2);
        assert_eq!(schedule.progress(), Progress::Complete);
    }

    #[test]
    fn only_the_named_thread_and_visit_are_steps() {
        let mut schedule = Enforcement::new(vec![step("main.1", 2, 3), step("", 4, 1)]);
        assert_eq!(schedule.arrive("main.1", 2, 1, MEMORY), StepAnswer::NotMine);
        assert_eq!(schedule.arrive("main.2", 2, 3, MEMORY), StepAnswer::NotMine);
        assert_eq!(schedule.arrive("main.1", 2, 3, MEMORY), StepAnswer::Wait { step: 0 });
        assert_eq!(schedule.arrive("main.9", 4, 1, (68, 4)), StepAnswer::Wait { step: 1 });
        assert_eq!(schedule.take_events(), [Event::PairStands { overlapping: false }]);
    }

    #[test]
    fn the_pair_waits_for_each_other_and_then_gives_up() {
        let mut schedule = Enforcement::new(vec![step("a", 1, 1), step("b", 2, 1)]);
        assert_eq!(schedule.arrive("a", 1, 1, MEMORY), StepAnswer::Wait { step: 0 });
        assert_eq!(schedule.give_up(0), StepAnswer::Go { step: 0 });
        schedule.performed(0);
        assert_eq!(schedule.progress(), Progress::Underway);
        assert_eq!(schedule.arrive("b", 2, 1, MEMORY), StepAnswer::Go { step: 1 });
        assert!(!schedule.take_events().iter().any(|e| matches!(e, Event::PairStands { .. })));
    }

    #[test]
    fn a_step_that_never_comes_diverges_and_frees_everyone() {
        let steps = vec![step("a", 1, 1), step("b", 2, 1), step("c", 3, 1), step("d", 4, 1)];
        let mut schedule = Enforcement::new(steps);
        assert_eq!(schedule.arrive("b", 2, 1, MEMORY), StepAnswer::Wait { step: 1 });
        assert_eq!(schedule.give_up(1), StepAnswer::Go { step: 1 });
        assert_eq!(schedule.take_events(), [Event::Diverged { step: 0 }]);
        assert_eq!(schedule.progress(), Progress::Diverged);
        assert_eq!(schedule.arrive("c", 3, 1, MEMORY), StepAnswer::NotMine);
    }

    #[test]
    fn a_held_thread_waits_for_the_pair_and_nobody_waits_for_it() {
        let steps = vec![step("~main.3", 9, 2), step("a", 1, 1), step("b", 2, 1)];
        let mut schedule = Enforcement::new(steps);
        assert_eq!(schedule.arrive("main.3", 9, 1, MEMORY), StepAnswer::NotMine);
        assert_eq!(schedule.arrive("main.3", 9, 2, MEMORY), StepAnswer::Wait { step: 0 });
        assert_eq!(schedule.arrive("b", 2, 1, MEMORY), StepAnswer::Wait { step: 2 });
        assert_eq!(schedule.woken(0), StepAnswer::Wait { step: 0 });
        assert_eq!(schedule.arrive("a", 1, 1, MEMORY), StepAnswer::Go { step: 1 });
        assert_eq!(schedule.woken(0), StepAnswer::Go { step: 0 });
        schedule.performed(0);
        schedule.performed(1);
        schedule.performed(2);
        assert_eq!(schedule.progress(), Progress::Complete);
    }

    #[test]
    fn a_copy_stands_at_both_places_that_it_accesses() {
        let copy = StepGate { beside: vec![1], ..step("a", 2, 1) };
        let mut schedule = Enforcement::new(vec![copy, step("b", 3, 1)]);
        assert_eq!(schedule.arrive("a", 1, 1, (64, 4)), StepAnswer::NotMine);
        assert_eq!(schedule.arrive("a", 2, 1, (128, 4)), StepAnswer::Wait { step: 0 });
        assert_eq!(schedule.arrive("b", 3, 1, (66, 1)), StepAnswer::Wait { step: 1 });
        assert_eq!(schedule.take_events(), [Event::PairStands { overlapping: true }]);
    }

    #[test]
    fn a_blocking_step_lets_the_next_one_go() {
        let steps = vec![step("a", 1, 1), step("b", 2, 1), step("c", 3, 1), step("d", 4, 1)];
        let mut schedule = Enforcement::new(steps);
        assert_eq!(schedule.arrive("a", 1, 1, MEMORY), StepAnswer::Go { step: 0 });
        assert_eq!(schedule.arrive("b", 2, 1, MEMORY), StepAnswer::Wait { step: 1 });
        assert_eq!(schedule.nudge(1), StepAnswer::Go { step: 1 });
        schedule.performed(0);
        assert_eq!(schedule.take_events(), [Event::Stepped { step: 0 }]);
    }

    #[test]
    fn a_visit_that_is_named_again_has_returned_there() {
        let again = || step("a", 1, 1);
        let steps = vec![again(), step("b", 2, 1), again(), step("c", 3, 1), step("d", 4, 1)];
        let mut schedule = Enforcement::new(steps);
        assert_eq!(schedule.arrive("a", 1, 1, MEMORY), StepAnswer::Go { step: 0 });
        assert_eq!(schedule.arrive("b", 2, 1, MEMORY), StepAnswer::Wait { step: 1 });
        assert_eq!(schedule.nudge(1), StepAnswer::Go { step: 1 });
        schedule.performed(1);
        assert_eq!(schedule.arrive("c", 3, 1, MEMORY), StepAnswer::Wait { step: 3 });
        assert_eq!(schedule.arrive("d", 4, 1, MEMORY), StepAnswer::Wait { step: 4 });
        assert_eq!(schedule.woken(3), StepAnswer::Wait { step: 3 });
        schedule.performed(0);
        assert_eq!(schedule.woken(3), StepAnswer::Go { step: 3 });
    }
}
