//! Which run comes next: a pure decision with its own tests.

use std::time::Duration;

use racewarden_schedule::gate::{Linger, Order};

/// One run to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    pub order: Order,
    pub seed: u64,
    /// How many threads may be held at one time.
    pub holds: u32,
    pub wait: Duration,
    pub linger: Linger,
    /// Threads are held for long at one chosen place: which choice of visits.
    pub stalk: Option<Stalk>,
}

/// Which visits of the chosen place are held, see [`Target::hold_at`](super::target::Target).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stalk {
    /// All: whoever comes first stays.
    First,
    /// All visits to the side that comes second by itself: nobody else is disturbed, and whoever is about to
    /// come to the first side once more does.
    Second,
    /// From the visit on at which the two sides came closest in a watched run, by that thread.
    Closest,
    /// By whichever thread, from somewhat before that visit on.
    Late,
    /// All visits to either side: whoever comes to the last of them first waits for the other.
    Either,
}

impl Stalk {
    pub const ALL: [Stalk; 5] =
        [Stalk::First, Stalk::Second, Stalk::Closest, Stalk::Late, Stalk::Either];
}

/// How far the threads are pulled apart when harm is looked for.
pub const LINGER: Duration = Duration::from_millis(100);

/// Enough for a pool of threads that come to one line with memory of their own each.
pub const MANY: u32 = 16;

/// The `number`th run that looks for meetings. Orders alternate. Every other pair of runs holds
/// many threads at once and lets them go one by one: that finds the one of many threads that comes
/// to the same memory, but lets candidates disturb each other. Waits grow: the first runs wait
/// as little as the paper does, later ones up to twice the program's own duration, so that a
/// partner that comes late still comes.
pub fn meeting_run(number: u64, wait: Duration, natural: Duration) -> Plan {
    let order = if number.is_multiple_of(2) { Order::Forward } else { Order::Backward };
    let round = number / 2;
    let longest = (natural * 2).max(wait).min(Duration::from_secs(5)).max(wait);
    let grown = wait.saturating_mul(1 << round.min(6)).min(longest);
    let holds = if round.is_multiple_of(2) { 1 } else { MANY };
    Plan { order, seed: round, holds, wait: grown, linger: Linger::Nobody, stalk: None }
}

/// A run that holds threads at one chosen place for as long as the rest of the program may take.
pub fn stalking_run(order: Order, stalk: Stalk, wait: Duration, natural: Duration) -> Plan {
    let wait = (natural * 2 + wait).min(Duration::from_secs(10));
    Plan { order, seed: 0, holds: 1, wait, linger: Linger::Nobody, stalk: Some(stalk) }
}

/// The runs that look for harm once a race is met: each order, with either thread staying behind. On a
/// busy machine the other thread may not have come far meanwhile, so once more for longer.
pub fn harm_runs(wait: Duration) -> Vec<Plan> {
    let us = LINGER.as_micros() as u64;
    let long = us * 5;
    let mut plans = Vec::new();
    for linger in [
        Linger::Follower { us },
        Linger::Leader { us },
        Linger::Nobody,
        Linger::Follower { us: long },
        Linger::Leader { us: long },
    ] {
        for order in Order::BOTH {
            plans.push(Plan { order, seed: 0, holds: 1, wait, linger, stalk: None });
        }
    }
    plans
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn orders_alternate_and_waits_grow_to_the_programs_own_duration() {
        let plans: Vec<Plan> = (0..8).map(|n| meeting_run(n, 200 * MS, 1000 * MS)).collect();
        assert_eq!(plans[0].order, Order::Forward);
        assert_eq!(plans[1].order, Order::Backward);
        let waits: Vec<u128> = plans.iter().map(|plan| plan.wait.as_millis()).collect();
        assert_eq!(waits, [200, 200, 400, 400, 800, 800, 1600, 1600]);
        let holds: Vec<u32> = plans.iter().map(|plan| plan.holds).collect();
        assert_eq!(holds, [1, 1, MANY, MANY, 1, 1, MANY, MANY]);
        let last = meeting_run(40, 200 * MS, 1000 * MS);
        assert_eq!(last.wait.as_millis(), 2000);
        assert_eq!(meeting_run(40, 200 * MS, MS).wait.as_millis(), 200);
        assert_eq!(meeting_run(40, 200 * MS, 100_000 * MS).wait.as_millis(), 5000);
    }

    #[test]
    fn harm_is_looked_for_in_both_orders_with_either_thread_late() {
        let plans = harm_runs(200 * MS);
        assert_eq!(plans.len(), 10);
        for order in Order::BOTH {
            assert_eq!(plans.iter().filter(|plan| plan.order == order).count(), 5);
        }
    }
}
