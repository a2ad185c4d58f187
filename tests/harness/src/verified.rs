//! `belfry verify` on the tables of a stack, in this process.

use std::time::Duration;

use ledger::Ledger;
use ledger::survey::Survey;
use verify::{Pace, Report, Terms};

use crate::Stack;

const DAY: Duration = Duration::from_secs(86_400);

/// Checks the tables that answer there; nothing may be under way for longer than `grace`.
pub async fn verified(dynamodb: aws_sdk_dynamodb::Client, grace: Duration) -> Report {
    verified_with(&Survey::of_stack(Ledger::new(dynamodb), "belfry-local"), grace, Duration::from_millis(20)).await
}

/// The same; what looks wrong is looked at again after `settle`.
pub async fn verified_with(survey: &Survey, grace: Duration, settle: Duration) -> Report {
    let pace = Pace { settle, ..Pace::default() };
    verify::verify(survey, &terms(grace), &pace, |_| {}).await.expect("the tables can be read")
}

/// The retention of a stack without settings of its own.
pub fn terms(grace: Duration) -> Terms {
    let kept = Some(DAY * 30);
    Terms { grace, since: None, events_kept: Some(DAY * 400), marks_kept: DAY * 30, notifications_kept: kept }
}

impl Stack {
    /// Checks its tables; everything must be at rest.
    pub async fn verify(&self) -> Report {
        verified(self.dynamodb().await, Duration::ZERO).await
    }
}
