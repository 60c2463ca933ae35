//! How long to wait before asking a hive again that did not answer: twice as long each time, and
//! never the same for two pods, so that a hive that comes back is not run over.

use std::time::Duration;

const FIRST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(3600);

#[derive(Debug, Clone, Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    pub fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// The wait after one more failure. `dice` is random in 0..1: the wait is spread over the
    /// upper half of the interval.
    pub fn failed(&mut self, dice: f64) -> Duration {
        let interval = FIRST.saturating_mul(1 << self.failures.min(20)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        interval.mul_f64(0.5 + dice.clamp(0.0, 1.0) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_up_to_an_hour_and_starts_over_after_success() {
        let mut backoff = Backoff::default();
        let waits: Vec<u64> = (0..12).map(|_| backoff.failed(1.0).as_secs()).collect();
        assert_eq!(waits[..4], [5, 10, 20, 40]);
        assert_eq!(waits[11], 3600);
        backoff.succeeded();
        assert_eq!(backoff.failed(0.0), Duration::from_millis(2500));
    }
}
