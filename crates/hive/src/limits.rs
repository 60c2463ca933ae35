//! Rate limits: one token bucket a caller, in memory. Each hive limits for itself.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

/// Buckets kept at most; past that the fullest are forgotten, which only favours quiet callers.
const MAX_BUCKETS: usize = 100_000;

pub struct RateLimiter {
    per_second: f64,
    burst: f64,
    buckets: Mutex<HashMap<String, Bucket>>,
}

struct Bucket {
    tokens: f64,
    filled: Instant,
}

impl RateLimiter {
    pub fn new(per_second: f64, burst: f64) -> Self {
        RateLimiter { per_second, burst, buckets: Mutex::new(HashMap::new()) }
    }

    /// Whether `caller` may go on now.
    pub fn allow(&self, caller: &str) -> bool {
        self.allow_at(caller, Instant::now())
    }

    fn allow_at(&self, caller: &str, now: Instant) -> bool {
        let mut buckets = self.buckets.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if buckets.len() > MAX_BUCKETS {
            let (rate, burst) = (self.per_second, self.burst);
            buckets.retain(|_, bucket| bucket.level(now, rate, burst) < burst);
        }
        let (rate, burst) = (self.per_second, self.burst);
        let bucket =
            buckets.entry(caller.to_owned()).or_insert(Bucket { tokens: burst, filled: now });
        bucket.tokens = bucket.level(now, rate, burst);
        bucket.filled = now;
        if bucket.tokens < 1.0 {
            return false;
        }
        bucket.tokens -= 1.0;
        true
    }
}

impl Bucket {
    fn level(&self, now: Instant, rate: f64, burst: f64) -> f64 {
        let elapsed = now.saturating_duration_since(self.filled).as_secs_f64();
        (self.tokens + elapsed * rate).min(burst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_burst_passes_then_the_rate_holds_and_callers_are_apart() {
        let limiter = RateLimiter::new(2.0, 3.0);
        let start = Instant::now();
        let passed = (0..10).filter(|_| limiter.allow_at("a", start)).count();
        assert_eq!(passed, 3);
        assert!(limiter.allow_at("b", start));
        let later = start + Duration::from_secs(1);
        let passed = (0..10).filter(|_| limiter.allow_at("a", later)).count();
        assert_eq!(passed, 2);
    }
}
