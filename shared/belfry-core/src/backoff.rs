//! Retries: how long to wait, how often to try.

use std::time::Duration;

/// The wait between attempts: `min(cap, base · 2^(attempt−1)) · jitter`, at least `least`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backoff {
    /// The wait after the first attempt, before jitter.
    pub base: Duration,
    /// The longest wait, before jitter.
    pub cap: Duration,
    /// The shortest wait, after jitter.
    pub least: Duration,
    /// The factor that each wait is multiplied with, drawn evenly from this range.
    pub jitter: (f64, f64),
}

impl Default for Backoff {
    fn default() -> Self {
        Self { base: Duration::from_secs(1), cap: Duration::from_secs(60), least: Duration::ZERO, jitter: (0.5, 1.5) }
    }
}

impl Backoff {
    /// The wait after this attempt (the first is 1), with `random` drawn evenly from 0 to 1.
    pub fn after(&self, attempt: u32, random: f64) -> Duration {
        let doublings = attempt.saturating_sub(1).min(30);
        let wait = self.base.saturating_mul(1 << doublings).min(self.cap);
        let (low, high) = self.jitter;
        wait.mul_f64(low + random.clamp(0.0, 1.0) * (high - low)).max(self.least)
    }
}

/// How often a call is tried, and for how long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryPolicy {
    /// The maximum number of attempts, the first included.
    pub attempts: u32,
    /// The waits between them.
    pub backoff: Backoff,
    /// No new attempt starts after this long. Shorter than a function's timeout, so that callers get our answer and not
    /// the platform's.
    pub within: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 8,
            backoff: Backoff { base: Duration::from_millis(10), cap: Duration::from_millis(400), ..Backoff::default() },
            within: Duration::from_secs(3),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_the_cap() {
        let waits: Vec<u64> = (1..=8).map(|attempt| Backoff::default().after(attempt, 0.5).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
    }

    #[test]
    fn jitter_runs_from_half_to_one_and_a_half() {
        assert_eq!(Backoff::default().after(3, 0.0), Duration::from_secs(2));
        assert_eq!(Backoff::default().after(3, 1.0), Duration::from_secs(6));
    }

    #[test]
    fn no_wait_is_shorter_than_the_least() {
        let patient = Backoff { least: Duration::from_secs(5), ..Backoff::default() };
        assert_eq!(patient.after(1, 0.0), Duration::from_secs(5));
        assert_eq!(patient.after(4, 0.5), Duration::from_secs(8));
    }

    #[test]
    fn no_attempt_number_overflows() {
        assert_eq!(Backoff::default().after(u32::MAX, 0.5), Duration::from_secs(60));
        assert_eq!(Backoff::default().after(0, 0.5), Duration::from_secs(1));
    }
}
