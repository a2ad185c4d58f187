//! How far a soak came, and how to ask the same again: the seed alone does not say, since the time decides how many of its
//! steps are taken.

use std::fmt;

/// Longer than any soak: the steps end the next one.
const LONG: u64 = 86_400;

/// The steps that were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// The seed that they follow from.
    pub seed: u64,
    /// How many were taken at the same time.
    pub at_once: usize,
    /// How many.
    pub steps: usize,
    /// Why there were no more.
    pub ended_by: EndedBy,
}

/// What ended a soak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedBy {
    /// Its time was over.
    Time,
    /// All the steps that were asked for were taken.
    Steps,
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, at_once, steps, ended_by } = self;
        let why = match ended_by {
            EndedBy::Time => "the time was over",
            EndedBy::Steps => "no more were asked for",
        };
        writeln!(f, "{steps} steps taken: {why}")?;
        write!(f, "the same steps again: --seed {seed} --steps {steps} --seconds {LONG} --at-once {at_once}")
    }
}
