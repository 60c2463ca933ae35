//! Brings threads to a meeting at a candidate race and lets them go in the wanted order.
//!
//! ```text
//!            first side comes             partner comes, memory overlaps
//!    idle ───────────────────▶ holding ─────────────────────────────────▶ meeting
//!      ▲                          │ time-out, or all others blocked           │ leader's access,
//!      └──────────────────────────┴───────────────────────────────────────────┘ follower's access
//! ```
//!
//! At most one thread is held at a time, and only one meeting goes on. That is the rule by which
//! several targets of one run cannot disturb each other: a thread that comes to another target's
//! gate meanwhile passes as if the gate were not there. (Once the leader has performed its access,
//! the next hold may begin, so that two targets in a row can both be steered.) A held thread stands for every open target
//! that its gate belongs to, so one wait serves all of them.
//!
//! Either side is held, whichever comes first: the paper holds only the side that should be late
//! and then learns nothing from a run that follows the wanted order by itself.
//!
//! After a wait in vain, a gate lets 1, 3, 7… visits pass before it holds again, so that a hot
//! access cannot spend the run's budget at once and later visits get their turn; the seed shifts
//! which visits those are from run to run.

use std::collections::BTreeMap;

use super::events::{Event, Visit};
use super::orders::{HoldAt, Linger, Order, Orders};
use super::survey::Survey;

/// How many waits in vain one gate may cost in one run.
const WAITS_PER_GATE: u32 = 6;
/// The same where the orders say which visits to hold, in the cheapest waits: those that end because nobody
/// else can move. Whoever is held with a lock that all need may be let go at each visit but the last.
const WAITS_AT_CHOSEN: u32 = 60;
/// What any other wait there counts as.
const LONG_WAIT: u32 = 12;

/// A thread stands right before an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// Unique among living threads.
    pub thread: u32,
    pub visit: Visit,
    pub address: u64,
    pub size: u64,
    /// Whether it writes.
    pub writes: bool,
    pub atomic: bool,
    /// How many threads live.
    pub living: u32,
    /// How many threads were created and not joined, whether they live or not.
    pub unjoined: u32,
}

/// What the arriving or woken thread shall do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Go on as if there were no gate.
    Pass,
    /// Wait this long, or until woken or until all others are blocked; then call `wake`.
    Hold { wait_us: u64 },
    /// Perform the access now, then call `performed`.
    Lead,
    /// Wait until the leader has performed its access, then call `wake`.
    Follow,
    /// Wait this long without being woken, then call `wake` again.
    Linger { us: u64 },
    /// Perform the access now, as the second, then call `performed`.
    Perform,
}

/// Why a waiting thread runs again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    Called,
    TimedOut,
    OthersBlocked,
    /// All others have been waiting for a while, some with a time limit of their own.
    OthersIdle,
}

#[derive(Debug)]
struct Target {
    number: u32,
    order: Order,
    avoid: bool,
    done: bool,
    reported_different: bool,
    /// For each side, how many of its gates may still hold someone.
    holding: [u32; 2],
}

#[derive(Debug, Default)]
struct GateState {
    /// Targets this gate belongs to, and on which side.
    memberships: Vec<(usize, usize)>,
    reached: bool,
    reached_concurrently: bool,
    /// In waits, or where visits are chosen in short waits.
    waits_in_vain: u32,
    /// Whether it will hold nobody any more, whatever its targets.
    spent: bool,
    /// Visits to let pass before the next hold.
    skip: u64,
}

#[derive(Debug)]
struct Hold {
    arrival: Arrival,
    wait_us: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The leader is about to perform its access.
    Leading,
    /// The leader has; the follower is about to.
    Following,
}

#[derive(Debug)]
struct Meeting {
    target: usize,
    leader: u32,
    follower: u32,
    stage: Stage,
    follower_lingered: bool,
}

#[derive(Debug)]
pub struct Orchestrator {
    targets: Vec<Target>,
    gates: BTreeMap<u32, GateState>,
    holds: Vec<Hold>,
    most_holds: usize,
    /// Held threads that were let go by another thread's arrival and have to be woken.
    released: Vec<u32>,
    /// How many holds have begun.
    begun: u32,
    /// How many holds have ended without a meeting.
    given_up: usize,
    meeting: Option<Meeting>,
    wait_us: u64,
    budget_us: u64,
    seed: u64,
    linger: Linger,
    survey: Option<Survey>,
    hold_at: Vec<HoldAt>,
    /// Whether gates may have become superfluous since that was last asked.
    less_to_do: bool,
    events: Vec<Event>,
}

impl Orchestrator {
    pub fn new(orders: &Orders) -> Self {
        let mut gates: BTreeMap<u32, GateState> = BTreeMap::new();
        for (index, target) in orders.targets.iter().enumerate() {
            for (side, members) in target.sides.iter().enumerate() {
                for gate in members {
                    gates.entry(*gate).or_default().memberships.push((index, side));
                }
            }
        }
        for (gate, state) in &mut gates {
            // Visits that the orders choose are not left to chance.
            state.skip = if orders.hold_at.is_empty() { first_skip(orders.seed, *gate) } else { 0 };
        }
        let targets = orders.targets.iter().map(|target| Target {
            number: target.number,
            order: target.order,
            avoid: target.avoid,
            done: false,
            reported_different: false,
            holding: [0, 1].map(|side: usize| target.sides[side].len() as u32),
        });
        let mut orchestrator = Orchestrator {
            targets: targets.collect(),
            gates,
            holds: Vec::new(),
            most_holds: orders.holds.max(1) as usize,
            released: Vec::new(),
            begun: 0,
            given_up: 0,
            meeting: None,
            wait_us: orders.wait_us,
            budget_us: orders.run_budget_us,
            seed: orders.seed,
            linger: orders.linger,
            survey: orders.survey.then(|| Survey::new(&orders.targets)),
            hold_at: orders.hold_at.clone(),
            less_to_do: false,
            events: Vec::new(),
        };
        orchestrator.spend_unchosen();
        orchestrator
    }

    /// What has happened since the last call, for the report.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Whether someone is held or meets: then every arrival matters.
    pub fn is_busy(&self) -> bool {
        !self.holds.is_empty() || self.meeting.is_some()
    }

    /// How many holds have begun.
    pub fn holds_begun(&self) -> u32 {
        self.begun
    }

    /// A thread stands at a gate.
    pub fn arrive(&mut self, arrival: Arrival) -> Answer {
        let gate = arrival.visit.gate;
        let Some(state) = self.gates.get_mut(&gate) else { return Answer::Pass };
        // A thread that has ended unjoined might have lived longer.
        let could_live = self.survey.is_some() && arrival.unjoined > 0;
        let concurrent = arrival.living > 1 || could_live;
        if !state.reached || (concurrent && !state.reached_concurrently) {
            state.reached = true;
            state.reached_concurrently |= concurrent;
            self.events.push(Event::Reached { gate, concurrent });
        }
        if let Some(survey) = &mut self.survey {
            if concurrent {
                survey.visit(&arrival, &mut self.events);
            }
            return Answer::Pass;
        }
        let leading = self.meeting.as_ref().is_some_and(|meeting| meeting.stage == Stage::Leading);
        if !concurrent || leading {
            return Answer::Pass;
        }
        match (&self.meeting, self.holds.is_empty()) {
            (_, true) => self.consider_hold(arrival),
            (None, false) => self.try_to_meet(arrival),
            (Some(_), false) => Answer::Pass,
        }
    }

    fn most_waits(&self) -> u32 {
        let each = if self.hold_at.is_empty() { WAITS_PER_GATE } else { WAITS_AT_CHOSEN };
        each * self.most_holds as u32
    }

    /// Whether the orders let a thread be held at this visit.
    fn may_hold(&self, visit: &Visit) -> bool {
        self.hold_at.is_empty()
            || self.hold_at.iter().any(|hold| {
                hold.gate == visit.gate
                    && (hold.thread.is_empty() || hold.thread == visit.thread)
                    && hold.occurrence <= visit.occurrence
            })
    }

    fn try_to_meet(&mut self, arrival: Arrival) -> Answer {
        if self.holds.iter().any(|hold| hold.arrival.thread == arrival.thread) {
            return Answer::Pass;
        }
        let mut met = None;
        for (at, hold) in self.holds.iter().enumerate() {
            if let Some((target, side)) = self.common_target(&hold.arrival, &arrival) {
                met = Some((at, target, side));
                break;
            }
        }
        if let Some((at, target, side)) = met {
            return self.meet(at, target, side, &arrival);
        }
        self.tell_different(&arrival);
        if self.holds.len() < self.most_holds {
            return self.consider_hold(arrival);
        }
        Answer::Pass
    }

    /// The target that two arrivals are the two sides of, with the later one's side, if their
    /// accesses conflict on overlapping memory.
    fn common_target(&self, held: &Arrival, arrival: &Arrival) -> Option<(usize, usize)> {
        let conflicting = (held.writes || arrival.writes) && !(held.atomic && arrival.atomic);
        if !conflicting || !overlap(held, arrival) {
            return None;
        }
        let (arriving, waiting) = (self.memberships(arrival), self.memberships(held));
        let &(target, side) = arriving.iter().find(|&&(target, side)| {
            !self.targets[target].done && waiting.contains(&(target, 1 - side))
        })?;
        // Where each gate stands for both sides, the thread that was created earlier is the first
        // side: so an order means the same in every run.
        let both = waiting.contains(&(target, side)) && arriving.contains(&(target, 1 - side));
        let earlier = creation_order(&arrival.visit.thread) < creation_order(&held.visit.thread);
        Some((target, if both { usize::from(!earlier) } else { side }))
    }

    fn memberships(&self, arrival: &Arrival) -> &[(usize, usize)] {
        self.gates.get(&arrival.visit.gate).map_or(&[], |state| &state.memberships)
    }

    /// Notes for each target, once a run, that its other side is held at other memory.
    fn tell_different(&mut self, arrival: &Arrival) {
        let mut different = Vec::new();
        for hold in self.holds.iter().filter(|hold| !overlap(&hold.arrival, arrival)) {
            let waiting = self.memberships(&hold.arrival);
            for &(target, side) in self.memberships(arrival) {
                let state = &self.targets[target];
                if !state.done && !state.reported_different && waiting.contains(&(target, 1 - side))
                {
                    different.push(target);
                }
            }
        }
        for target in different {
            let state = &mut self.targets[target];
            if !state.reported_different {
                state.reported_different = true;
                self.events.push(Event::DifferentAddresses { target: state.number });
            }
        }
    }

    fn meet(
        &mut self,
        held: usize,
        target: usize,
        arriving_side: usize,
        arrival: &Arrival,
    ) -> Answer {
        let hold = self.holds.remove(held);
        // Whoever else waits goes on: the meeting shall have the program's other threads moving.
        self.released.extend(self.holds.drain(..).map(|hold| hold.arrival.thread));
        let state = &mut self.targets[target];
        state.done = true;
        self.less_to_do = true;
        let wanted = if state.avoid { state.order.reversed() } else { state.order };
        let arriving_leads = wanted.leading_side() == arriving_side;
        let (leader, follower) =
            if arriving_leads { (arrival, &hold.arrival) } else { (&hold.arrival, arrival) };
        if state.avoid {
            // An order may come about again; immunity never ends.
            state.done = false;
            self.events.push(Event::Avoided { target: state.number });
        } else {
            self.events.push(Event::Met {
                target: state.number,
                order: wanted,
                leader: leader.visit.clone(),
                follower: follower.visit.clone(),
            });
        }
        self.meeting = Some(Meeting {
            target,
            leader: leader.thread,
            follower: follower.thread,
            stage: Stage::Leading,
            follower_lingered: false,
        });
        if arriving_leads { Answer::Lead } else { Answer::Follow }
    }

    fn consider_hold(&mut self, arrival: Arrival) -> Answer {
        let most_waits = self.most_waits();
        if !self.may_hold(&arrival.visit) {
            return Answer::Pass;
        }
        let Some(state) = self.gates.get_mut(&arrival.visit.gate) else { return Answer::Pass };
        let open = state.memberships.iter().any(|&(target, side)| {
            let target = &self.targets[target];
            // To avoid an order, only the side that must not go first has to wait.
            !target.done && (!target.avoid || side == target.order.leading_side())
        });
        if !open || state.waits_in_vain >= most_waits || self.budget_us == 0 {
            return Answer::Pass;
        }
        if state.skip > 0 {
            state.skip -= 1;
            return Answer::Pass;
        }
        let wait_us = self.wait_us.min(self.budget_us);
        self.begun += 1;
        self.events.push(Event::Held { visit: arrival.visit.clone() });
        self.holds.push(Hold { arrival, wait_us });
        Answer::Hold { wait_us }
    }

    /// A waiting thread runs again, after `waited_us`.
    pub fn wake(&mut self, thread: u32, wake: Wake, waited_us: u64) -> Answer {
        if let Some(at) = self.holds.iter().position(|hold| hold.arrival.thread == thread) {
            // Of several that could go on, one does: it may come to where another one waits.
            let chosen = (self.seed as usize).wrapping_add(self.given_up) % self.holds.len();
            let stays = match wake {
                // Not meant for this hold.
                Wake::Called => true,
                Wake::OthersBlocked | Wake::OthersIdle => at != chosen,
                Wake::TimedOut => false,
            };
            let left = self.holds[at].wait_us.saturating_sub(waited_us);
            if stays && left > 0 {
                self.holds[at].wait_us = left;
                self.budget_us = self.budget_us.saturating_sub(waited_us);
                return Answer::Hold { wait_us: left };
            }
            self.give_up_hold(at, wake, waited_us);
            return Answer::Pass;
        }
        if let Some(meeting) = &mut self.meeting {
            if meeting.leader == thread {
                return match meeting.stage {
                    Stage::Leading => Answer::Lead,
                    // It was lingering after its access.
                    Stage::Following => Answer::Pass,
                };
            }
            if meeting.follower == thread {
                return self.wake_follower(wake);
            }
        }
        Answer::Pass
    }

    fn wake_follower(&mut self, wake: Wake) -> Answer {
        let Some(meeting) = &mut self.meeting else { return Answer::Pass };
        if meeting.stage == Stage::Leading && wake == Wake::Called {
            return Answer::Follow;
        }
        if meeting.stage == Stage::Leading {
            // The leader never came back from its access (a handler jumped away): let go.
            self.meeting = None;
            return Answer::Pass;
        }
        if let Linger::Follower { us } = self.linger
            && !meeting.follower_lingered
        {
            meeting.follower_lingered = true;
            return Answer::Linger { us };
        }
        Answer::Perform
    }

    fn give_up_hold(&mut self, at: usize, wake: Wake, waited_us: u64) {
        let alone = self.holds.len() == 1;
        let hold = self.holds.remove(at);
        self.given_up += 1;
        let gate = hold.arrival.visit.gate;
        let is_chosen = !self.hold_at.is_empty();
        // Where visits are chosen, short waits are counted, not measured.
        if !is_chosen || wake != Wake::OthersBlocked {
            self.budget_us = self.budget_us.saturating_sub(waited_us.min(hold.wait_us));
        }
        match wake {
            // The others are held, not blocked by the program's own synchronisation.
            Wake::OthersBlocked if !alone => {}
            // The wait was cut short, so it says nothing.
            Wake::OthersIdle => {}
            Wake::OthersBlocked => self.events.push(Event::OthersBlocked { gate }),
            Wake::Called | Wake::TimedOut => self.events.push(Event::TimedOut { gate }),
        }
        if let Some(state) = self.gates.get_mut(&gate) {
            let is_long = is_chosen && wake != Wake::OthersBlocked;
            state.waits_in_vain += if is_long { LONG_WAIT } else { 1 };
            if !is_chosen {
                let spread = 1 << state.waits_in_vain.min(16);
                state.skip = spread - 1 + mix(self.seed, u64::from(gate)) % spread;
            }
        }
        self.spend(gate);
    }

    /// A thread has performed its access. Answers `Linger` when it shall stay for a while, and
    /// whom to wake.
    pub fn performed(&mut self, thread: u32) -> (Answer, Option<u32>) {
        let Some(meeting) = &mut self.meeting else { return (Answer::Pass, None) };
        let target = &self.targets[meeting.target];
        let (number, order, avoid) = (target.number, target.order, target.avoid);
        if meeting.leader == thread && meeting.stage == Stage::Leading {
            meeting.stage = Stage::Following;
            let follower = meeting.follower;
            if !avoid {
                self.events.push(Event::Led { target: number });
            }
            let answer = match self.linger {
                Linger::Leader { us } => Answer::Linger { us },
                Linger::Nobody | Linger::Follower { .. } => Answer::Pass,
            };
            return (answer, Some(follower));
        }
        if meeting.follower == thread && meeting.stage == Stage::Following {
            self.meeting = None;
            if !avoid {
                self.events.push(Event::Enforced { target: number, order });
            }
        }
        (Answer::Pass, None)
    }

    /// The threads of a meeting that began with an arrival: the held one has to be woken.
    pub fn held_partner(&self, arriving: u32) -> Option<u32> {
        let meeting = self.meeting.as_ref()?;
        if meeting.leader == arriving {
            Some(meeting.follower)
        } else if meeting.follower == arriving {
            Some(meeting.leader)
        } else {
            None
        }
    }

    /// Held threads that have to be woken, because they are held no longer.
    pub fn take_released(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.released)
    }

    /// Whether the meeting that goes on keeps an order from happening instead of proving a race.
    pub fn is_avoiding(&self) -> bool {
        self.meeting.as_ref().is_some_and(|meeting| self.targets[meeting.target].avoid)
    }

    /// A thread is about to be created, under this path.
    pub fn thread_created(&mut self, path: &str) {
        if let Some(survey) = &mut self.survey {
            survey.thread_created(path);
        }
    }

    /// A thread has been joined.
    pub fn thread_joined(&mut self, path: &str) {
        if let Some(survey) = &mut self.survey {
            survey.thread_joined(path);
        }
    }

    /// Forgets a thread that ended at or after a gate.
    pub fn thread_ended(&mut self, thread: u32, path: &str) -> Option<u32> {
        if let Some(survey) = &mut self.survey {
            survey.thread_ended(path);
        }
        self.holds.retain(|hold| hold.arrival.thread != thread);
        let meeting = self.meeting.as_ref()?;
        let waiting = if meeting.leader == thread && meeting.stage == Stage::Leading {
            Some(meeting.follower)
        } else {
            None
        };
        if meeting.leader == thread || meeting.follower == thread {
            if meeting.leader == thread && meeting.stage == Stage::Following {
                return None;
            }
            self.meeting = None;
        }
        waiting
    }
}

fn overlap(a: &Arrival, b: &Arrival) -> bool {
    let end = |arrival: &Arrival| arrival.address.saturating_add(arrival.size);
    a.address < end(b) && b.address < end(a)
}

/// Even seeds hold first visits, because many accesses have no second one. Odd seeds let about
/// half of the gates start anywhere among the first visits, wider each time, so that a gate that
/// always comes first does not always take the only hold.
fn first_skip(seed: u64, gate: u32) -> u64 {
    let random = mix(seed, u64::from(gate));
    let first = seed.is_multiple_of(2) || random & 1 == 0;
    if first { 0 } else { 1 + (random >> 1) % (1 << seed.min(12)) }
}

/// Orders creation paths as threads were created: `main.2` before `main.10`.
fn creation_order(path: &str) -> Vec<u64> {
    path.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

fn mix(seed: u64, gate: u64) -> u64 {
    let mut value = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ gate.wrapping_add(0x1234_5678);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[path = "orchestrator_quiet.rs"]
mod quiet;

#[cfg(test)]
#[path = "orchestrator_tests.rs"]
mod tests;
