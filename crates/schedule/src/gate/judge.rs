//! From what many runs reported about one candidate race to a verdict.
//!
//! Only a meeting confirms (see the parent module). Everything else says how hard it was tried;
//! it never reads as "safe".

use std::collections::BTreeMap;

use super::events::{Event, ViolationKind};
use super::orders::Order;

/// A candidate is doubted only after this many waits in vain or misses, over both orders.
pub const DOUBT_THRESHOLD: u64 = 3;

/// Why an order was not enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NotEnforced {
    /// Neither side was executed while several threads lived.
    NeverMet,
    /// Only one side was.
    OneSideOnly,
    /// A side waited and nobody came.
    TimedOut,
    /// The partner came to other memory.
    DifferentAddresses,
    /// All other threads blocked while one was held: synchronisation orders them.
    OrderedBySynchronisation,
}

impl NotEnforced {
    pub fn as_str(self) -> &'static str {
        match self {
            NotEnforced::NeverMet => "never met",
            NotEnforced::OneSideOnly => "one side only",
            NotEnforced::TimedOut => "timed out",
            NotEnforced::DifferentAddresses => "different addresses",
            NotEnforced::OrderedBySynchronisation => "ordered by synchronisation seen",
        }
    }
}

/// What runs have shown about one target so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Runs in which the order was asked for.
    pub attempts: BTreeMap<Order, u64>,
    /// Runs in which both threads were caught at their accesses.
    pub met: BTreeMap<Order, u64>,
    /// Runs in which both accesses were then performed in the order.
    pub enforced: BTreeMap<Order, u64>,
    pub different_addresses: u64,
    /// Runs in which both sides were executed while several threads lived, every visit was watched,
    /// and no two threads came to common memory there.
    pub apart: u64,
    /// A run in which two threads came to the two sides on common memory.
    pub near: bool,
    /// Waits in vain, by the side that waited.
    pub timed_out: [u64; 2],
    pub others_blocked: [u64; 2],
    /// Which sides were executed while several threads lived.
    pub sides_reached: [bool; 2],
    /// Violations in runs where this target alone explains them, by order.
    pub violations: Vec<(Order, ViolationKind)>,
}

impl Tally {
    /// Adds what one run reported. `sides` are the target's gates.
    pub fn add_run(&mut self, number: u32, order: Order, sides: &[Vec<u32>; 2], events: &[Event]) {
        *self.attempts.entry(order).or_default() += 1;
        let count = |gate: &u32, counts: &mut [u64; 2]| {
            for (side, count) in sides.iter().zip(counts) {
                *count += u64::from(side.contains(gate));
            }
        };
        for event in events {
            match event {
                Event::Reached { gate, concurrent: true } => {
                    self.note_reached(sides, |one| one == *gate);
                }
                Event::TimedOut { gate } => count(gate, &mut self.timed_out),
                Event::OthersBlocked { gate } => count(gate, &mut self.others_blocked),
                Event::DifferentAddresses { target } if *target == number => {
                    self.different_addresses += 1;
                }
                Event::Met { target, order, .. } if *target == number => {
                    *self.met.entry(*order).or_default() += 1;
                }
                Event::Enforced { target, order } if *target == number => {
                    *self.enforced.entry(*order).or_default() += 1;
                }
                _ => {}
            }
        }
    }

    /// Takes only from a run which sides it came to: nothing was asked of it.
    pub fn note_reached(&mut self, sides: &[Vec<u32>; 2], is_reached: impl Fn(u32) -> bool) {
        for (side, reached) in sides.iter().zip(&mut self.sides_reached) {
            *reached |= side.iter().any(|gate| is_reached(*gate));
        }
    }

    /// Adds what a run showed in which nobody was held (see `Orders::survey`).
    pub fn add_survey(&mut self, number: u32, sides: &[Vec<u32>; 2], events: &[Event]) {
        let mut reached = [false, false];
        let mut near = false;
        let mut complete = true;
        for event in events {
            match event {
                Event::Reached { gate, concurrent: true } => {
                    for (side, reached) in sides.iter().zip(&mut reached) {
                        *reached |= side.contains(gate);
                    }
                }
                Event::Near { target, .. } => near |= *target == number,
                Event::Forgot { gate } => {
                    complete &= !sides.iter().any(|side| side.contains(gate));
                }
                _ => {}
            }
        }
        for (known, now) in self.sides_reached.iter_mut().zip(reached) {
            *known |= now;
        }
        self.near |= near;
        self.apart += u64::from(reached == [true, true] && !near && complete);
    }

    /// How often the two sides were seen at different memory, in tries that count in full. One
    /// hold compares one visit with those that come by, a watched run all visits with each other.
    fn tries_apart(&self) -> u64 {
        let watched = if self.near { 0 } else { self.apart };
        self.different_addresses / 3 + watched
    }

    pub fn is_met(&self) -> bool {
        self.met.values().any(|count| *count > 0)
    }

    pub fn is_met_in(&self, order: Order) -> bool {
        self.met.get(&order).is_some_and(|count| *count > 0)
    }

    /// How often all others blocked while a side was held, for the side with fewer such waits.
    /// One side alone says nothing: its partner may just have come and gone before.
    fn ordered_both_ways(&self) -> u64 {
        self.others_blocked[0].min(self.others_blocked[1])
    }

    /// Why no order could be enforced; the strongest reason first.
    pub fn why_not(&self) -> NotEnforced {
        match self.sides_reached {
            [false, false] => NotEnforced::NeverMet,
            [true, false] | [false, true] => NotEnforced::OneSideOnly,
            [true, true] if self.ordered_both_ways() >= DOUBT_THRESHOLD => {
                NotEnforced::OrderedBySynchronisation
            }
            [true, true] if self.different_addresses > 0 || self.tries_apart() > 0 => {
                NotEnforced::DifferentAddresses
            }
            [true, true] if self.ordered_both_ways() > 0 => NotEnforced::OrderedBySynchronisation,
            [true, true] => NotEnforced::TimedOut,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Judgement {
    /// Tried hard without success, with a reason to doubt it.
    LikelyFalse,
    /// Not decided.
    Open,
    Confirmed,
    Harmful,
}

/// A judgement with its reason when it is no proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assessment {
    pub judgement: Judgement,
    pub reason: Option<NotEnforced>,
}

/// The verdict that the tally supports.
pub fn judge(tally: &Tally) -> Assessment {
    if tally.is_met() {
        let harmful = tally.violations.iter().any(|(order, _)| tally.is_met_in(*order));
        let judgement = if harmful { Judgement::Harmful } else { Judgement::Confirmed };
        return Assessment { judgement, reason: None };
    }
    let reason = tally.why_not();
    let tried = match reason {
        NotEnforced::NeverMet | NotEnforced::OneSideOnly => 0,
        // Nobody came: the wait may just have been too short, so it counts for little.
        NotEnforced::TimedOut => tally.timed_out[0].min(tally.timed_out[1]) / 8,
        // Other visits may well come to the same memory.
        NotEnforced::DifferentAddresses => tally.tries_apart(),
        NotEnforced::OrderedBySynchronisation => tally.ordered_both_ways(),
    };
    let both_orders = Order::BOTH.iter().all(|order| tally.attempts.contains_key(order));
    let judgement = if both_orders && tried >= DOUBT_THRESHOLD {
        Judgement::LikelyFalse
    } else {
        Judgement::Open
    };
    Assessment { judgement, reason: Some(reason) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::events::Visit;

    fn sides() -> [Vec<u32>; 2] {
        [vec![1], vec![2]]
    }

    fn reached() -> Vec<Event> {
        vec![
            Event::Reached { gate: 1, concurrent: true },
            Event::Reached { gate: 2, concurrent: true },
        ]
    }

    fn met(order: Order) -> Event {
        let visit = |gate| Visit { thread: "main".into(), gate, occurrence: 1 };
        Event::Met { target: 0, order, leader: visit(1), follower: visit(2) }
    }

    #[test]
    fn one_meeting_confirms_and_an_attributed_violation_harms() {
        let mut tally = Tally::default();
        let mut events = reached();
        events.push(met(Order::Forward));
        tally.add_run(0, Order::Forward, &sides(), &events);
        assert_eq!(judge(&tally).judgement, Judgement::Confirmed);
        // A violation under an order in which the two never met proves nothing about them.
        tally.violations.push((Order::Backward, ViolationKind::Crash));
        assert_eq!(judge(&tally).judgement, Judgement::Confirmed);
        tally.violations.push((Order::Forward, ViolationKind::Hang));
        assert_eq!(judge(&tally).judgement, Judgement::Harmful);
    }

    #[test]
    fn what_was_never_executed_stays_open_however_often_it_was_tried() {
        let mut tally = Tally::default();
        for _ in 0..100 {
            for order in Order::BOTH {
                let events = [Event::Reached { gate: 1, concurrent: true }];
                tally.add_run(0, order, &sides(), &events);
            }
        }
        let assessment = judge(&tally);
        assert_eq!(assessment.judgement, Judgement::Open);
        assert_eq!(assessment.reason, Some(NotEnforced::OneSideOnly));
    }

    #[test]
    fn doubt_needs_both_orders_and_several_tries() {
        let mut tally = Tally::default();
        let mut events = reached();
        events.extend([Event::OthersBlocked { gate: 1 }, Event::OthersBlocked { gate: 2 }]);
        tally.add_run(0, Order::Forward, &sides(), &events);
        assert_eq!(judge(&tally).judgement, Judgement::Open);
        tally.add_run(0, Order::Backward, &sides(), &events);
        assert_eq!(judge(&tally).judgement, Judgement::Open);
        tally.add_run(0, Order::Backward, &sides(), &events);
        let assessment = judge(&tally);
        assert_eq!(assessment.judgement, Judgement::LikelyFalse);
        assert_eq!(assessment.reason, Some(NotEnforced::OrderedBySynchronisation));
    }

    #[test]
    fn a_partner_that_came_and_went_is_no_reason_to_doubt() {
        let mut tally = Tally::default();
        let mut events = reached();
        events.push(Event::OthersBlocked { gate: 1 });
        for _ in 0..10 {
            for order in Order::BOTH {
                tally.add_run(0, order, &sides(), &events);
            }
        }
        assert_eq!(judge(&tally).judgement, Judgement::Open);
    }

    #[test]
    fn time_outs_count_for_little() {
        let mut tally = Tally::default();
        let mut events = reached();
        events.extend([Event::TimedOut { gate: 1 }, Event::TimedOut { gate: 2 }]);
        for order in Order::BOTH {
            tally.add_run(0, order, &sides(), &events);
        }
        assert_eq!(judge(&tally).judgement, Judgement::Open);
    }

    #[test]
    fn sides_that_share_no_memory_in_several_watched_runs_are_doubted() {
        let mut tally = Tally::default();
        for order in Order::BOTH {
            tally.add_run(0, order, &sides(), &reached());
        }
        for _ in 0..2 {
            tally.add_survey(0, &sides(), &reached());
        }
        assert_eq!(judge(&tally).judgement, Judgement::Open);
        let mut incomplete = reached();
        incomplete.push(Event::Forgot { gate: 2 });
        tally.add_survey(0, &sides(), &incomplete);
        assert_eq!(judge(&tally).judgement, Judgement::Open);
        tally.add_survey(0, &sides(), &reached());
        assert_eq!(judge(&tally).judgement, Judgement::LikelyFalse);
        let visit = |gate| Visit { thread: "main".into(), gate, occurrence: 1 };
        let near = [Event::Near { target: 0, earlier: visit(1), later: visit(2), ended: false }];
        tally.add_survey(0, &sides(), &near);
        assert_eq!(judge(&tally).judgement, Judgement::Open);
    }

    #[test]
    fn other_targets_events_are_not_counted() {
        let mut tally = Tally::default();
        let events = [Event::TimedOut { gate: 9 }, Event::DifferentAddresses { target: 3 }];
        tally.add_run(0, Order::Forward, &sides(), &events);
        assert_eq!((tally.timed_out, tally.different_addresses), ([0, 0], 0));
        assert_eq!(tally.why_not(), NotEnforced::NeverMet);
    }
}
