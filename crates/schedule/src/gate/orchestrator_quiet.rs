//! Which arrivals need no decision, so that gates which can do no more cost as little as can be.

use super::Orchestrator;

impl Orchestrator {
    /// Whether arrivals at a gate can be left out as long as nobody is held: it will hold nobody
    /// any more, and its first visits have been told.
    pub fn is_quiet(&self, gate: u32) -> bool {
        self.gates.get(&gate).is_none_or(|state| {
            let open = state.memberships.iter().any(|&(target, _)| !self.targets[target].done);
            let spent = state.waits_in_vain >= self.most_waits() || self.budget_us == 0;
            let chosen =
                self.hold_at.is_empty() || self.hold_at.iter().any(|hold| hold.gate == gate);
            match &self.survey {
                Some(survey) => survey.is_done(gate),
                None => state.reached_concurrently && (!open || spent || !chosen),
            }
        })
    }

    /// The memory that matters while nobody more can be held and nobody meets: an arrival
    /// elsewhere can only tell that it is elsewhere, if it has not ([`Orchestrator::has_told`]).
    pub fn held_memory(&self) -> Option<(u64, u64)> {
        if self.meeting.is_some() || self.survey.is_some() || self.holds.len() < self.most_holds {
            return None;
        }
        let arrivals = || self.holds.iter().map(|hold| &hold.arrival);
        let from = arrivals().map(|arrival| arrival.address).min()?;
        let to = arrivals().map(|arrival| arrival.address.saturating_add(arrival.size)).max()?;
        Some((from, to))
    }

    /// Whether arrivals at a gate, at other memory than the held, have nothing new to tell before
    /// the next hold.
    pub fn has_told(&self, gate: u32) -> bool {
        self.gates.get(&gate).is_none_or(|state| {
            let waits = |target: usize, side: usize| {
                let others = self.holds.iter().map(|hold| self.memberships(&hold.arrival));
                others.flatten().any(|member| *member == (target, side))
            };
            state.reached_concurrently
                && state.memberships.iter().all(|&(target, side)| {
                    let state = &self.targets[target];
                    state.done || state.reported_different || !waits(target, 1 - side)
                })
        })
    }

    /// Whether an arrival can meet none of the held threads, whatever memory it comes to, and nobody
    /// more can be held.
    pub fn cannot_meet(&self, gate: u32, writes: bool, atomic: bool) -> bool {
        if self.meeting.is_some() || self.survey.is_some() || self.holds.len() < self.most_holds {
            return false;
        }
        self.gates.get(&gate).is_none_or(|state| {
            state.reached_concurrently
                && self.holds.iter().all(|hold| {
                    let held = &hold.arrival;
                    let conflicting = (held.writes || writes) && !(held.atomic && atomic);
                    let waiting = self.memberships(held);
                    !conflicting
                        || !state.memberships.iter().any(|&(target, side)| {
                            !self.targets[target].done && waiting.contains(&(target, 1 - side))
                        })
                })
        })
    }

    /// Whether a gate has nothing left to do in this run: it has been told of, it will hold nobody, and
    /// nobody will be held who could meet a thread there.
    pub fn is_finished(&self, gate: u32) -> bool {
        let Some(state) = self.gates.get(&gate) else { return self.survey.is_none() };
        let over = |&(target, side): &(usize, usize)| {
            let target = &self.targets[target];
            let idle = self.budget_us == 0 || state.spent && target.holding[1 - side] == 0;
            !target.avoid && (target.done || idle)
        };
        self.survey.is_none() && state.reached_concurrently && state.memberships.iter().all(over)
    }

    /// Whether gates may have been finished by something else than an arrival there, since this was
    /// last asked.
    pub fn take_less_to_do(&mut self) -> bool {
        std::mem::take(&mut self.less_to_do)
    }

    /// Takes note that a gate's waits are used up, if they are.
    pub(super) fn spend(&mut self, gate: u32) {
        self.less_to_do |= self.budget_us == 0;
        let most = self.most_waits();
        if self.gates.get(&gate).is_some_and(|state| state.waits_in_vain >= most) {
            self.spend_now(gate);
        }
    }

    /// Where the orders choose visits, no other gate ever holds anyone.
    pub(super) fn spend_unchosen(&mut self) {
        if self.hold_at.is_empty() {
            return;
        }
        let is_chosen = |gate: &u32| self.hold_at.iter().any(|hold| hold.gate == *gate);
        let unchosen: Vec<u32> =
            self.gates.keys().copied().filter(|gate| !is_chosen(gate)).collect();
        unchosen.into_iter().for_each(|gate| self.spend_now(gate));
    }

    fn spend_now(&mut self, gate: u32) {
        let Some(state) = self.gates.get_mut(&gate).filter(|state| !state.spent) else { return };
        state.spent = true;
        self.less_to_do = true;
        for &(target, side) in &state.memberships {
            let holding = &mut self.targets[target].holding[side];
            *holding = holding.saturating_sub(1);
        }
    }

    /// How many visits to a gate may pass without being told as long as nobody is held; they count
    /// as told. With several holds at one time every visit is wanted.
    pub fn take_skip(&mut self, gate: u32) -> u64 {
        if self.most_holds > 1 || self.survey.is_some() {
            return 0;
        }
        self.gates
            .get_mut(&gate)
            .filter(|state| state.reached_concurrently)
            .map_or(0, |state| std::mem::take(&mut state.skip))
    }
}
