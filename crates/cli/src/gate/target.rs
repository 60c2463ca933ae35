//! One candidate race in a campaign.

use std::collections::BTreeMap;

use racewarden_schedule::Schedule;
use racewarden_schedule::gate::{
    Event, HoldAt, Judgement, NotEnforced, Order, Tally, TargetOrder, Visit, judge,
};

use super::build::GatedProgram;
use super::plan::{Plan, Stalk};
use super::runner::{RunEnd, Violation};

/// How often all visits to either side have to be held before order seen there counts.
const LOOKS: u32 = 2;

/// A violation that this race explains.
#[derive(Debug, Clone)]
pub struct Harm {
    /// How that run was steered.
    pub plan: Plan,
    pub violation: Violation,
    pub meeting: Option<Meeting>,
}

/// How two threads met at their accesses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meeting {
    pub schedule: Schedule,
    /// Where they stood, the leader first; empty when that was not told.
    pub stacks: [Vec<u64>; 2],
}

#[derive(Debug)]
pub struct Target {
    /// Index into the races, and the number in orders and events.
    pub index: usize,
    pub sides: [Vec<u32>; 2],
    pub tally: Tally,
    /// How the two threads met, by order.
    pub meetings: BTreeMap<Order, Meeting>,
    pub harm: Option<Harm>,
    /// Both orders have been steered with delays, to see harm.
    pub harm_was_sought: bool,
    /// Exit codes of runs in which the order was enforced alone.
    pub exit_codes: BTreeMap<Order, i32>,
    pub longest_wait_us: u64,
    /// How likely it is real, as far as it is known beforehand: the larger, the sooner it is tried.
    pub priority: u32,
    /// Whether a run or the solver has shown it.
    pub shown: bool,
    /// Whether a side is known to hold a lock: whoever is held there keeps others from moving.
    pub locked: [bool; 2],
    /// Where the two sides came closest when nobody was held, in the order in which they came, or where
    /// they met.
    pub near: Option<[Visit; 2]>,
    /// The earlier thread had ended by then and nobody had joined it: nothing but chance or a
    /// hidden signal puts the two in order.
    pub outlived: bool,
    /// How often the program failed at one of its lines without a meeting.
    pub suspicion: u32,
    /// The choice of visits by which it met.
    pub stalk: Option<Stalk>,
    /// The choices of visits that were tried, and how often.
    pub stalked: BTreeMap<Stalk, u32>,
    /// Whether there was a run in which nobody was held.
    was_watched: bool,
}

impl Target {
    pub fn new(index: usize, sides: [Vec<u32>; 2]) -> Self {
        Target {
            index,
            sides,
            tally: Tally::default(),
            meetings: BTreeMap::new(),
            harm: None,
            harm_was_sought: false,
            exit_codes: BTreeMap::new(),
            longest_wait_us: 0,
            priority: 0,
            shown: false,
            locked: [false, false],
            near: None,
            outlived: false,
            suspicion: 0,
            stalk: None,
            stalked: BTreeMap::new(),
            was_watched: false,
        }
    }

    /// Whether both sites have gates; without, nothing can be learned.
    pub fn is_gated(&self) -> bool {
        self.sides.iter().all(|side| !side.is_empty())
    }

    pub fn order(&self, order: Order) -> TargetOrder {
        TargetOrder { number: self.index as u32, order, sides: self.sides.clone(), avoid: false }
    }

    /// Whether a run that looks for meetings in `order` should include it.
    pub fn wants(&self, order: Order) -> bool {
        self.is_gated()
            && !self.tally.is_met_in(order)
            && judge(&self.tally).judgement != Judgement::LikelyFalse
    }

    /// Whether a run that holds threads for long should include it: some visits being ordered says nothing
    /// of the last one, so that doubt has to wait until every visit to either side was held. What was shown
    /// is not doubted.
    pub fn wants_long_holds(&self, order: Order) -> bool {
        let undoubted = self.shown || self.is_doubted_too_soon();
        self.wants(order) || self.is_gated() && !self.tally.is_met() && undoubted
    }

    /// Whether it is doubted because threads were seen in order, and nobody has looked at all visits.
    pub fn is_doubted_too_soon(&self) -> bool {
        let judged = judge(&self.tally);
        let ordered = judged.reason == Some(NotEnforced::OrderedBySynchronisation);
        let looked = self.stalked.get(&Stalk::Either).is_some_and(|times| *times >= LOOKS);
        let out_of_reach = self.was_watched && self.near.is_none();
        judged.judgement == Judgement::LikelyFalse && ordered && !looked && !out_of_reach
    }

    /// Whether there is nothing more to learn about meetings.
    pub fn is_settled(&self) -> bool {
        Order::BOTH.iter().all(|order| !self.wants(*order))
    }

    /// Takes what a run showed about this race; returns whether its threads met.
    pub fn learn(
        &mut self,
        program: &GatedProgram,
        order: Order,
        wait_us: u64,
        end: &RunEnd,
    ) -> bool {
        self.tally.add_run(self.index as u32, order, &self.sides, &end.events);
        self.longest_wait_us = self.longest_wait_us.max(wait_us);
        let Some(meeting) = self.meeting_in(program, &end.events) else { return false };
        self.meetings.entry(order).or_insert(meeting);
        // Holding at that side has worked.
        self.near = held_first(&end.events, self.index as u32).or(self.near.take());
        true
    }

    /// Takes how threads were held when they met. The side that was held is the first one from then on.
    pub fn has_met_by(&mut self, stalk: Stalk) {
        let stalk = if stalk == Stalk::Second { Stalk::First } else { stalk };
        self.stalk.get_or_insert(stalk);
    }

    /// Takes what a run showed in which nobody was held.
    pub fn learn_survey(&mut self, end: &RunEnd) {
        self.was_watched = true;
        self.tally.add_survey(self.index as u32, &self.sides, &end.events);
        // The last one told is the closest.
        for event in &end.events {
            match event {
                Event::Near { target, earlier, later, ended } if *target == self.index as u32 => {
                    self.outlived |= ended;
                    self.near = Some([earlier.clone(), later.clone()]);
                }
                _ => {}
            }
        }
    }

    /// Takes at which visits its two sides came to common memory in a run in which nobody was held.
    pub fn was_seen_near(&mut self, earlier: Visit, later: Visit, ended: bool) {
        self.was_watched = true;
        self.outlived = ended;
        self.tally.near = true;
        self.tally.sides_reached = [true, true];
        self.near = Some([earlier, later]);
    }

    /// Whether a thread can be held at the side that comes first without stopping others.
    pub fn is_held_freely(&self) -> bool {
        self.near.as_ref().is_some_and(|[earlier, _]| {
            (0..2).any(|side| !self.locked[side] && self.sides[side].contains(&earlier.gate))
        })
    }

    /// Where to hold threads for long: at the side that comes first by itself, or at either.
    pub fn hold_at(&self, stalk: Stalk) -> Vec<HoldAt> {
        let Some([earlier, later]) = &self.near else { return Vec::new() };
        let at = |gate: u32, thread: &str, occurrence: u64| HoldAt {
            gate,
            thread: thread.to_owned(),
            occurrence,
        };
        match stalk {
            Stalk::First => vec![at(earlier.gate, "", 1)],
            Stalk::Second => vec![at(later.gate, "", 1)],
            Stalk::Closest => vec![at(earlier.gate, &earlier.thread, earlier.occurrence)],
            Stalk::Late => vec![at(earlier.gate, "", (earlier.occurrence * 3 / 4).max(1))],
            Stalk::Either if earlier.gate == later.gate => vec![at(earlier.gate, "", 1)],
            Stalk::Either => vec![at(earlier.gate, "", 1), at(later.gate, "", 1)],
        }
    }

    /// The gates that are to hold threads, if any.
    pub fn holding_gates(&self, stalk: Stalk) -> Option<Vec<u32>> {
        let gates: Vec<u32> = self.hold_at(stalk).iter().map(|hold| hold.gate).collect();
        (!gates.is_empty()).then_some(gates)
    }

    /// The meeting to show: the harmful one, else any.
    pub fn told_meeting(&self) -> Option<(Order, &Meeting)> {
        let harmful =
            self.harm.as_ref().and_then(|harm| Some((harm.plan.order, harm.meeting.as_ref()?)));
        harmful.or_else(|| self.meetings.iter().next().map(|(order, meeting)| (*order, meeting)))
    }

    /// How the threads met in a run, if they did.
    pub fn meeting_in(&self, program: &GatedProgram, events: &[Event]) -> Option<Meeting> {
        events.iter().enumerate().find_map(|(at, event)| match event {
            Event::Met { target, leader, follower, .. } if *target == self.index as u32 => {
                let steps = vec![program.step(leader)?, program.step(follower)?];
                let stacks = [leader, follower].map(|visit| stack_of(&events[at..], visit));
                Some(Meeting { schedule: Schedule { steps }, stacks })
            }
            _ => None,
        })
    }
}

/// The two visits of a target's meeting, the one of the thread that was held first.
fn held_first(events: &[Event], number: u32) -> Option<[Visit; 2]> {
    let (at, leader, follower) = events.iter().enumerate().find_map(|(at, event)| match event {
        Event::Met { target, leader, follower, .. } if *target == number => {
            Some((at, leader, follower))
        }
        _ => None,
    })?;
    let was_held = |wanted: &Visit| {
        events[..at].iter().any(|event| matches!(event, Event::Held { visit } if visit == wanted))
    };
    let pair = [leader.clone(), follower.clone()];
    if was_held(leader) {
        Some(pair)
    } else {
        let [leader, follower] = pair;
        was_held(&follower).then_some([follower, leader])
    }
}

/// Where a thread stood, as told after its meeting.
fn stack_of(events: &[Event], visit: &Visit) -> Vec<u64> {
    let told = events.iter().find_map(|event| match event {
        Event::Stood { thread, stack } if *thread == visit.thread => Some(stack.clone()),
        _ => None,
    });
    told.unwrap_or_default()
}
