//! How long to wait before trying again: `min(cap, base · 2^(attempt−1)) · (0.5 + rand)`.

use std::time::Duration;

/// The waits of one kind of retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The wait after the first attempt, before jitter.
    pub base: Duration,
    /// The longest wait, before jitter.
    pub cap: Duration,
}

impl Backoff {
    /// The wait after attempt number `attempt` (from 1), with `random` drawn evenly from 0 to 1.
    pub fn after(&self, attempt: u32, random: f64) -> Duration {
        let doublings = attempt.saturating_sub(1).min(30);
        let wait = self.base.saturating_mul(1 << doublings).min(self.cap);
        wait.mul_f64(0.5 + random.clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff = Backoff { base: Duration::from_secs(1), cap: Duration::from_secs(60) };

    #[test]
    fn the_wait_doubles_up_to_the_cap() {
        let waits: Vec<u64> = (1..=8).map(|attempt| BACKOFF.after(attempt, 0.5).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
    }

    #[test]
    fn jitter_runs_from_half_to_one_and_a_half() {
        assert_eq!(BACKOFF.after(3, 0.0), Duration::from_secs(2));
        assert_eq!(BACKOFF.after(3, 1.0), Duration::from_secs(6));
    }

    #[test]
    fn no_attempt_number_overflows() {
        assert_eq!(BACKOFF.after(u32::MAX, 0.5), Duration::from_secs(60));
        assert_eq!(BACKOFF.after(0, 0.5), Duration::from_secs(1));
    }
}
