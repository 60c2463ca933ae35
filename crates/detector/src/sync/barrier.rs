//! Cyclic barriers.
//!
//! A thread may leave one phase when others already arrive at the next, and more threads than the
//! barrier's count may take turns at it, so every arrival gets the number of its phase and leaves
//! with it. A phase's clock is complete when its last member has arrived, and is forgotten when its
//! last member has left.

use alloc::collections::VecDeque;

use crate::clock::ClockPair;
use crate::thread::ThreadState;

#[derive(Debug, Default)]
struct Round {
    clocks: ClockPair,
    arrived: u32,
    left: u32,
}

/// One barrier.
#[derive(Debug)]
pub struct Barrier {
    count: u32,
    /// Number of the first round in the queue.
    first: u64,
    rounds: VecDeque<Round>,
}

impl Barrier {
    pub fn new(count: u32) -> Self {
        Self { count: count.max(1), first: 0, rounds: VecDeque::new() }
    }

    /// Before the thread waits. Returns the phase to hand to [`Barrier::leave`].
    pub fn arrive(&mut self, thread: &mut ThreadState) -> u64 {
        if self.rounds.back().is_none_or(|round| round.arrived == self.count) {
            self.rounds.push_back(Round::default());
        }
        let phase = self.first + self.rounds.len() as u64 - 1;
        if let Some(round) = self.rounds.back_mut() {
            round.clocks.join(&thread.clocks);
            round.arrived += 1;
        }
        thread.tick();
        phase
    }

    /// After the wait returned.
    pub fn leave(&mut self, thread: &mut ThreadState, phase: u64) {
        let index = phase.wrapping_sub(self.first) as usize;
        if let Some(round) = self.rounds.get_mut(index) {
            thread.clocks.join(&round.clocks);
            round.left += 1;
        }
        while self.rounds.front().is_some_and(|r| r.left == self.count) {
            self.rounds.pop_front();
            self.first += 1;
        }
    }
}
