//! Vector clocks: for each thread slot, how much of that thread's past is known.

/// Grows on demand; a slot beyond the end is at zero.
#[derive(Default)]
pub struct Clock {
    times: Vec<u64>,
}

impl Clock {
    pub const fn new() -> Self {
        Clock { times: Vec::new() }
    }

    #[inline]
    pub fn get(&self, slot: usize) -> u64 {
        self.times.get(slot).copied().unwrap_or(0)
    }

    pub fn set(&mut self, slot: usize, time: u64) {
        if self.times.len() <= slot {
            self.times.resize(slot + 1, 0);
        }
        self.times[slot] = time;
    }

    /// Raises one slot, never lowers it.
    pub fn raise(&mut self, slot: usize, time: u64) {
        if self.get(slot) < time {
            self.set(slot, time);
        }
    }

    /// Learns everything `other` knows.
    pub fn join(&mut self, other: &Clock) {
        if self.times.len() < other.times.len() {
            self.times.resize(other.times.len(), 0);
        }
        for (mine, theirs) in self.times.iter_mut().zip(&other.times) {
            *mine = (*mine).max(*theirs);
        }
    }

    pub fn copy_from(&mut self, other: &Clock) {
        self.times.clear();
        self.times.extend_from_slice(&other.times);
    }

    pub fn clear(&mut self) {
        self.times.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }
}

/// The two relations kept side by side.
///
/// `full` is happens-before with lock edges: what it leaves unordered raced in this very run.
/// `weak` leaves a lock edge out unless the two critical sections conflict (an access in one reads
/// or writes what the other wrote): what only it leaves unordered was kept apart by the accident of
/// which thread took the lock first. This is the weak-causally-precedes relation, which subsumes
/// the paper's write/read relations of condition variables: the flag that the waiter reads and the
/// signaller wrote under the same lock is such a conflict, whether a signal was lost or not.
#[derive(Default)]
pub struct Clocks {
    pub full: Clock,
    pub weak: Clock,
}

impl Clocks {
    pub const fn new() -> Self {
        Clocks { full: Clock::new(), weak: Clock::new() }
    }

    pub fn join(&mut self, other: &Clocks) {
        self.full.join(&other.full);
        self.weak.join(&other.weak);
    }

    pub fn copy_from(&mut self, other: &Clocks) {
        self.full.copy_from(&other.full);
        self.weak.copy_from(&other.weak);
    }

    pub fn clear(&mut self) {
        self.full.clear();
        self.weak.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.full.is_empty()
    }
}
