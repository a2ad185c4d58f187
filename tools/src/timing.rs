//! Percentiles of times, and the median of anything.

use std::time::Duration;

/// Times of the same thing, sorted.
#[derive(Debug, Clone, Default)]
pub struct Times(Vec<Duration>);

impl Times {
    /// Of these.
    pub fn new(mut times: Vec<Duration>) -> Self {
        times.sort();
        Self(times)
    }

    /// So many percent took at most this many milliseconds.
    pub fn millis(&self, percent: usize) -> f64 {
        let index = (self.0.len() * percent / 100).min(self.0.len().saturating_sub(1));
        self.0.get(index).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
    }
}

impl std::fmt::Display for Times {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1} / {:.1}", self.millis(50), self.millis(99))
    }
}

/// The middle one.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_them_take_at_most_the_median() {
        let times = Times::new((1..=100).rev().map(Duration::from_millis).collect());
        assert_eq!((times.millis(50), times.millis(99)), (51.0, 100.0));
        assert!(Times::default().millis(50).is_nan());
    }

    #[test]
    fn the_median_is_in_the_middle_and_one_wild_value_does_not_move_it() {
        assert_eq!(median([3.0, 1.0, 1000.0]), 3.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median([]).is_nan());
    }
}
