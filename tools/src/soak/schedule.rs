//! What is asked, step by step: all of it follows from the seed. A step that needs another one's answer names it by its
//! number, so nothing depends on what happened to be there first.

use harness::Fault;
use providers::{Mode, Target};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::people::{CUSTOMERS, PEOPLE, UNITS};

/// One step.
#[derive(Debug, Clone)]
pub struct Step {
    /// Its number.
    pub n: usize,
    /// What is asked.
    pub op: Op,
    /// How many times at once, with the same key.
    pub copies: usize,
}

/// What is asked. `of` is the number of an earlier step.
#[derive(Debug, Clone)]
pub enum Op {
    Grant { user: usize, unit: usize },
    Revoke { user: usize, unit: usize },
    Reserve { customer: usize, restaurant: usize, agency: bool },
    Decide { of: usize, verb: &'static str },
    Act { of: usize, staff: usize, action: &'static str },
    Place { customer: usize, lines: Vec<(usize, u64)> },
    Cancel { of: usize },
    HandIn { to: usize, urgent: bool },
    HandInAgain { of: usize },
    HandInOther { of: usize },
    ReadNewest { person: usize },
    ReadAll { person: usize },
    Look { person: usize },
    Again { of: usize },
    Twist { of: usize },
    Move { person: usize },
    Restock { available: u64 },
    Redeliver { of: usize, times: u32 },
    Poison { queue: &'static str, body: &'static str },
    Provider { target: Target, mode: Mode, times: u32 },
    ForgetKeys,
    Engine { operation: &'static str, faults: Vec<Fault> },
    Kill,
    Sweep { task: &'static str },
    Operate { nth: usize, redrive: bool },
    RedriveAll,
    Republish { of: usize },
    Verify,
}

impl Op {
    /// The kind, as the summary names it.
    pub fn kind(&self) -> String {
        let debug = format!("{self:?}");
        debug.split([' ', '{']).next().unwrap_or_default().to_owned()
    }
}

/// The steps of a seed, one after the other.
#[derive(Debug)]
pub struct Schedule {
    rng: StdRng,
    n: usize,
    commands: Vec<usize>,
    reservations: Vec<usize>,
    orders: Vec<usize>,
    handed_in: Vec<usize>,
}

const QUEUES: [&str; 8] = [
    "fanout-customer",
    "fanout-restaurant-user",
    "fanout-admin-user",
    "inventory",
    "payment",
    "order",
    "deliver-email",
    "redrives",
];

const POISON: [&str; 4] = ["poison", "{}", "{\"specversion\": \"1.0\"}", "\u{1F4A3}"];

const READS: [&str; 3] = ["BatchGetItem", "GetItem", "Query"];
const WRITES: [&str; 4] = ["TransactWriteItems", "TransactWriteItems", "PutItem", "UpdateItem"];
const QUEUE_CALLS: [&str; 4] = ["SendMessageBatch", "SendMessage", "ReceiveMessage", "DeleteMessageBatch"];

impl Schedule {
    /// The steps of this seed.
    pub fn new(seed: u64) -> Self {
        let rng = StdRng::seed_from_u64(seed);
        Self { rng, n: 0, commands: vec![], reservations: vec![], orders: vec![], handed_in: vec![] }
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        *from.choose(&mut self.rng).expect("something to choose from")
    }

    fn below(&mut self, end: usize) -> usize {
        self.rng.random_range(0..end)
    }

    /// One of the last of these steps: what is long past is at rest.
    fn recent(&mut self, steps: fn(&Self) -> &Vec<usize>) -> Option<usize> {
        let last = steps(self).len();
        let back = last.min(40);
        if back == 0 {
            return None;
        }
        let index = last - 1 - self.below(back);
        Some(steps(self)[index])
    }

    fn op(&mut self) -> Option<Op> {
        let user = self.below(CUSTOMERS);
        let person = self.below(PEOPLE);
        Some(match self.below(1000) {
            0..90 => Op::Grant { user, unit: self.below(UNITS) },
            90..160 => Op::Revoke { user, unit: self.below(UNITS) },
            160..235 => Op::Reserve { customer: user, restaurant: self.below(2), agency: self.rng.random_bool(0.5) },
            235..290 => {
                let verb = self.pick(&["accept", "reject", "cancel"]);
                Op::Decide { of: self.recent(|steps| &steps.reservations)?, verb }
            }
            290..365 => {
                let action = self.pick(&["CONFIRMED", "CONFIRMED", "REJECTED", "DISMISSED", "POSTPONED"]);
                Op::Act { of: self.recent(|steps| &steps.reservations)?, staff: self.below(3), action }
            }
            365..475 => {
                let lines = 1 + self.below(3);
                let lines = (0..lines).map(|_| (self.below(UNITS), self.rng.random_range(1..4))).collect();
                Op::Place { customer: user, lines }
            }
            475..525 => Op::Cancel { of: self.recent(|steps| &steps.orders)? },
            525..595 => Op::HandIn { to: person, urgent: self.rng.random_bool(0.4) },
            595..615 => Op::HandInAgain { of: self.recent(|steps| &steps.handed_in)? },
            615..625 => Op::HandInOther { of: self.recent(|steps| &steps.handed_in)? },
            625..650 => Op::ReadNewest { person },
            650..660 => Op::ReadAll { person },
            660..690 => Op::Look { person },
            690..760 => Op::Again { of: self.recent(|steps| &steps.commands)? },
            760..785 => Op::Twist { of: self.recent(|steps| &steps.commands)? },
            785..795 => Op::Move { person },
            795..803 => Op::Restock { available: self.rng.random_range(0..20) },
            803..843 => Op::Redeliver { of: self.recent(|steps| &steps.commands)?, times: self.rng.random_range(1..4) },
            843..851 => Op::Poison { queue: self.pick(&QUEUES), body: self.pick(&POISON) },
            851..891 => self.provider(),
            891..893 => Op::ForgetKeys,
            893..953 => self.engine(),
            953..965 => Op::Kill,
            965..975 => Op::Sweep { task: self.pick(&["outbox", "sends", "orders"]) },
            975..987 => Op::Operate { nth: self.below(1000), redrive: self.rng.random_bool(0.8) },
            987..990 => Op::RedriveAll,
            990..998 => Op::Republish { of: self.recent(|steps| &steps.commands)? },
            _ => Op::Verify,
        })
    }

    fn provider(&mut self) -> Op {
        let targets = [Target::Email, Target::Sms, Target::Push, Target::Slack, Target::Payment, Target::Payment];
        let modes = [Mode::Error, Mode::Reject, Mode::Unavailable, Mode::Timeout, Mode::DropAnswer, Mode::DropAnswer];
        Op::Provider { target: self.pick(&targets), mode: self.pick(&modes), times: self.rng.random_range(1..4) }
    }

    fn engine(&mut self) -> Op {
        let anywhere = [Fault::Throttled, Fault::NotSent, Fault::AnswerLost, Fault::Internal];
        let (operation, faults): (_, &[Fault]) = match self.below(10) {
            0..2 => (self.pick(&READS), &anywhere),
            2..7 => match self.pick(&WRITES) {
                "TransactWriteItems" => (
                    "TransactWriteItems",
                    &[
                        Fault::Conflict,
                        Fault::InProgress,
                        Fault::Throttled,
                        Fault::NotSent,
                        Fault::AnswerLost,
                        Fault::AnswerLost,
                    ],
                ),
                write => (write, &anywhere),
            },
            _ => match self.pick(&QUEUE_CALLS) {
                "SendMessageBatch" => {
                    ("SendMessageBatch", &[Fault::PartlyAway, Fault::PartlyRefused, Fault::NotSent, Fault::AnswerLost])
                }
                call => (call, &[Fault::NotSent, Fault::AnswerLost]),
            },
        };
        // Mostly what a patient caller does not notice; now and then more than anybody is patient for.
        let times = if self.rng.random_bool(0.2) { self.rng.random_range(8..25) } else { self.rng.random_range(1..4) };
        Op::Engine { operation, faults: (0..times).map(|_| self.pick(faults)).collect() }
    }
}

impl Iterator for Schedule {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let op = loop {
            // What refers to an earlier step has none at the beginning.
            if let Some(op) = self.op() {
                break op;
            }
        };
        let n = self.n;
        self.n += 1;
        match op {
            Op::Reserve { .. } => self.reservations.push(n),
            Op::Place { .. } => self.orders.push(n),
            Op::HandIn { .. } => self.handed_in.push(n),
            _ => {}
        }
        let is_command = matches!(
            op,
            Op::Grant { .. }
                | Op::Revoke { .. }
                | Op::Reserve { .. }
                | Op::Decide { .. }
                | Op::Act { .. }
                | Op::Place { .. }
                | Op::Cancel { .. }
        );
        let mut copies = 1;
        if is_command {
            self.commands.push(n);
            if self.rng.random_bool(0.25) {
                copies = self.rng.random_range(2..5);
            }
        }
        Some(Step { n, op, copies })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_asks_the_same_and_every_kind_of_step_is_among_it() {
        let steps = |seed| Schedule::new(seed).take(5_000).map(|step| format!("{step:?}")).collect::<Vec<_>>();
        assert_eq!(steps(7), steps(7));
        assert_ne!(steps(7), steps(8));
        let kinds: std::collections::BTreeSet<String> =
            Schedule::new(7).take(5_000).map(|step| step.op.kind()).collect();
        assert_eq!(kinds.len(), 28, "{kinds:?}");
    }
}
