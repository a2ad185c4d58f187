//! What the turns come to: medians over the rounds, and ratios within each.

use crate::contenders::Contender;
use crate::timing::median;

use super::load::Turn;

/// All turns.
#[derive(Debug, Default)]
pub struct Turns(pub Vec<Turn>);

impl Turns {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many rounds there were.
    pub fn rounds(&self) -> usize {
        self.0.iter().map(|turn| turn.round + 1).max().unwrap_or_default()
    }

    /// The median over the rounds.
    pub fn median(&self, contender: Contender, connections: usize, value: fn(&Turn) -> f64) -> f64 {
        median(self.of(contender, connections).map(value))
    }

    /// How many turns were measured again.
    pub fn again(&self, contender: Contender, connections: usize) -> usize {
        self.of(contender, connections).map(|turn| turn.again).sum()
    }

    /// The median of the ratios within each round, so that what the machine does besides hits both sides.
    pub fn ratio(&self, one: Contender, other: Contender, connections: usize, value: fn(&Turn) -> f64) -> f64 {
        median(self.ratios(one, other, connections, value))
    }

    /// The ratio within each round.
    pub fn ratios(&self, one: Contender, other: Contender, connections: usize, value: fn(&Turn) -> f64) -> Vec<f64> {
        let of =
            |contender, round| self.of(contender, connections).find(|turn| turn.round == round).map_or(f64::NAN, value);
        (0..self.rounds()).map(|round| of(one, round) / of(other, round)).collect()
    }

    fn of(&self, contender: Contender, connections: usize) -> impl Iterator<Item = &Turn> {
        self.0.iter().filter(move |turn| turn.contender == contender && turn.connections == connections)
    }
}
