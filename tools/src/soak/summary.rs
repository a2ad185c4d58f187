//! What a soak did and came to, as a table.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use providers::{Outcome, Target};

use super::Soak;
use super::audit::all;

/// What a soak did.
#[derive(Debug)]
pub struct Summary {
    seed: u64,
    steps: BTreeMap<String, u64>,
    answers: BTreeMap<u16, u64>,
    counts: BTreeMap<&'static str, u64>,
    effects: BTreeMap<&'static str, u64>,
    slowest: Option<(Duration, String)>,
    violations: usize,
}

impl Soak {
    /// Counts what was done, and what came of it.
    pub async fn summary(&self, violations: usize) -> Summary {
        let survey = self.world.survey();
        let charges = self.world.backends.providers.sent(Some(Target::Payment)).len();
        let told = [Target::Email, Target::Sms, Target::Push, Target::Slack];
        let told = told.into_iter().flat_map(|channel| self.world.backends.providers.sent(Some(channel)));
        let outcomes: Vec<Outcome> = told.map(|sent| sent.outcome).collect();
        let reached = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Accepted | Outcome::AnswerDropped));
        let effects = BTreeMap::from([
            ("events", all(&survey, &survey.events).await.len()),
            ("notifications", all(&survey, &survey.notifications).await.len()),
            ("sends", all(&survey, &survey.sends).await.len()),
            ("orders", all(&survey, &survey.orders).await.len()),
            ("dead letters", all(&survey, &survey.dead_letters).await.len()),
            ("messages to providers", outcomes.len()),
            ("of them with effect", reached.count()),
            ("calls to the payment provider", charges),
        ]);
        let inner = self.log.lock();
        let mut answers = BTreeMap::new();
        for (status, _) in inner.asked.values().flat_map(|asked| &asked.answers) {
            *answers.entry(*status).or_default() += 1;
        }
        Summary {
            seed: self.options.seed,
            steps: inner.kinds.clone(),
            answers,
            counts: inner.counts.clone(),
            effects: effects.into_iter().map(|(name, count)| (name, count as u64)).collect(),
            slowest: inner.slowest.clone(),
            violations,
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = |name: &str, count: u64| writeln!(f, "| {name} | {count} |");
        row("seed", self.seed)?;
        row("steps", self.steps.values().sum())?;
        for (kind, count) in &self.steps {
            row(&format!("- {kind}"), *count)?;
        }
        for (status, count) in &self.answers {
            row(&format!("answers {status} to commands"), *count)?;
        }
        for (name, count) in self.counts.iter().chain(&self.effects) {
            row(name, *count)?;
        }
        if let Some((time, kind)) = &self.slowest {
            row(&format!("the slowest step, {kind}, in ms"), u64::try_from(time.as_millis()).unwrap_or(u64::MAX))?;
        }
        row("violations", self.violations as u64)
    }
}
