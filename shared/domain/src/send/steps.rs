//! The transitions of a send: claims, the outcome of an attempt, redrives and sweeps.

use std::time::Duration;

use uuid::Uuid;

use super::{Attempt, ChannelSend, DeliveryPolicy, REMEMBERED, SendState, WhenUncertain};
use crate::Time;
use crate::recipient::Skip;

/// A provider's `Retry-After` is followed up to this long.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(3_600);

/// A sweeper waits at least twice this long before it enqueues a send again. The wait doubles
const SHORTEST_SWEEP: Duration = Duration::from_secs(10);
/// up to this.
const LONGEST_SWEEP: Duration = Duration::from_secs(3_600);
/// A send that was enqueued this often without an attempt is stuck: after an hour, with the default waits.
const STUCK: u32 = 5;

/// The result of claiming a send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// The claim holds once this is stored.
    Taken(Box<ChannelSend>),
    /// The worker that held it died, and the channel gives up. This must be stored together with a dead letter.
    GivenUp(Box<ChannelSend>),
    /// Not before this time: the next retry, or the end of another worker's lease.
    Wait(Time),
    /// There is nothing to do.
    Settled,
}

/// The outcome of an attempt. Reasons never contain an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The provider accepted it.
    Sent,
    /// The provider failed. A retry may help.
    Failed(String),
    /// The provider is unreachable or throttles, and may say for how long.
    Unavailable(String, Option<Duration>),
    /// The provider will never accept it.
    Refused(String),
    /// There is no address to send it to.
    Skipped(Skip),
    /// It was handed over, and no response came.
    Unknown(String),
}

impl ChannelSend {
    /// Claims the send until the end of the lease, if it is free. A redrive reopens a send that was given up, once.
    pub fn claim(&self, by: Uuid, redrive: Option<Uuid>, policy: &DeliveryPolicy, now: Time) -> Claim {
        match self.state {
            SendState::Pending { next_retry_at: Some(at) } | SendState::Uncertain { next_retry_at: Some(at) }
                if at > now =>
            {
                Claim::Wait(at)
            }
            SendState::Pending { .. } | SendState::Uncertain { next_retry_at: Some(_) } => {
                Claim::Taken(Box::new(self.processing(by, policy, now)))
            }
            SendState::Processing { lease_until, .. } if lease_until > now => Claim::Wait(lease_until),
            SendState::Processing { .. } => {
                let gone = self.after(&AttemptOutcome::Unknown("its worker died".to_owned()), policy, now, 0.0);
                if gone.state.is_given_up() {
                    return Claim::GivenUp(Box::new(gone));
                }
                Claim::Taken(Box::new(gone.processing(by, policy, now)))
            }
            SendState::Failed { .. } | SendState::Uncertain { next_retry_at: None } if self.is_opened_by(redrive) => {
                let open = Self { attempt_count: 0, postponed: 0, opened_at: now, redrive, ..self.clone() };
                Claim::Taken(Box::new(open.processing(by, policy, now)))
            }
            SendState::Uncertain { next_retry_at: None }
            | SendState::Sent { .. }
            | SendState::Failed { .. }
            | SendState::Skipped { .. } => Claim::Settled,
        }
    }

    fn processing(&self, by: Uuid, policy: &DeliveryPolicy, now: Time) -> Self {
        let lease_until = now.plus(policy.lease);
        Self {
            state: SendState::Processing { locked_by: by, lease_until },
            // An unchanged due time saves the write of the index.
            due_at: self.due_at.max(lease_until),
            ..self.clone()
        }
    }

    /// Whether this redrive reopens the send: the send is given up, and the redrive is newer than the last one that did.
    /// Redrive ids sort by time, so a late message of an older redrive reopens nothing.
    pub fn is_opened_by(&self, redrive: Option<Uuid>) -> bool {
        self.state.is_given_up() && redrive > self.redrive
    }

    /// The send after an operator discarded it, if it was held for an operator. A FAILED send stays as it is.
    pub fn discarded(&self, now: Time) -> Option<Self> {
        let SendState::Uncertain { next_retry_at: None } = self.state else { return None };
        let words = "discarded by an operator";
        let last_error = match &self.last_error {
            Some(reason) => format!("{reason}; {words}"),
            None => words.to_owned(),
        };
        Some(Self { state: SendState::Failed { ended_at: now }, last_error: Some(last_error), ..self.clone() })
    }

    /// Whether sweepers enqueued it repeatedly and no worker attempted it.
    pub fn is_stuck(&self) -> bool {
        self.swept >= STUCK && self.state.ended_at().is_none() && !self.state.is_given_up()
    }

    /// Whether this claim still holds the send.
    pub fn is_held_by(&self, claim: Uuid) -> bool {
        matches!(self.state, SendState::Processing { locked_by, .. } if locked_by == claim)
    }

    /// The send after an attempt with this outcome. `random` is drawn evenly from 0 to 1.
    pub fn after(&self, outcome: &AttemptOutcome, policy: &DeliveryPolicy, now: Time, random: f64) -> Self {
        let counts = !matches!(outcome, AttemptOutcome::Unavailable(..) | AttemptOutcome::Skipped(_));
        let counted = self.attempt_count + u32::from(counts);
        let exhausted = counted >= policy.max_attempts;
        let retry = |attempt: u32| now.plus(policy.backoff.after(attempt, random));
        let (state, postponed) = match outcome {
            AttemptOutcome::Sent => (SendState::Sent { sent_at: now }, self.postponed),
            AttemptOutcome::Skipped(_) => (SendState::Skipped { ended_at: now }, self.postponed),
            AttemptOutcome::Refused(_) => (SendState::Failed { ended_at: now }, self.postponed),
            AttemptOutcome::Failed(_) if exhausted => (SendState::Failed { ended_at: now }, self.postponed),
            AttemptOutcome::Failed(_) => (SendState::Pending { next_retry_at: Some(retry(counted)) }, self.postponed),
            AttemptOutcome::Unavailable(..) if now.since(self.opened_at) >= policy.give_up_after => {
                (SendState::Failed { ended_at: now }, self.postponed)
            }
            AttemptOutcome::Unavailable(_, retry_after) => {
                let earliest = now.plus(retry_after.unwrap_or_default().min(LONGEST_RETRY_AFTER));
                let at = retry(self.postponed + 1).max(earliest);
                (SendState::Pending { next_retry_at: Some(at) }, self.postponed + 1)
            }
            AttemptOutcome::Unknown(_) if policy.when_uncertain == WhenUncertain::Hold => {
                (SendState::Uncertain { next_retry_at: None }, self.postponed)
            }
            AttemptOutcome::Unknown(_) if exhausted => (SendState::Failed { ended_at: now }, self.postponed),
            AttemptOutcome::Unknown(_) => {
                (SendState::Uncertain { next_retry_at: Some(retry(counted)) }, self.postponed)
            }
        };
        let due_at = match state {
            SendState::Pending { next_retry_at: Some(at) } | SendState::Uncertain { next_retry_at: Some(at) } => {
                at.plus(policy.grace)
            }
            _ => self.due_at,
        };
        let mut next = Self {
            state,
            attempt_count: counted,
            postponed,
            swept: 0,
            last_error: outcome.problem().or_else(|| self.last_error.clone()),
            due_at,
            ..self.clone()
        };
        next.attempts.push(Attempt { at: now, outcome: outcome.text() });
        let forgotten = next.attempts.len().saturating_sub(REMEMBERED);
        next.attempts.drain(..forgotten);
        next
    }

    /// The send after a sweeper enqueued it again. The wait until the next time grows, because a job that waits in a long
    /// queue is overdue too and must not be enqueued again and again.
    pub fn enqueued_again(&self, grace: Duration, now: Time) -> Self {
        let wait = grace.max(SHORTEST_SWEEP).saturating_mul(2 << self.swept.min(12)).min(LONGEST_SWEEP);
        Self { swept: self.swept + 1, due_at: now.plus(wait), ..self.clone() }
    }

    /// The send after a sweeper claimed it and could not enqueue it. The next sweep tries as soon as this one did.
    pub fn not_enqueued(&self, grace: Duration, now: Time) -> Self {
        Self { swept: self.swept.saturating_sub(1), due_at: now.plus(grace), ..self.clone() }
    }
}

impl AttemptOutcome {
    fn problem(&self) -> Option<String> {
        match self {
            Self::Sent => None,
            Self::Failed(reason) | Self::Unavailable(reason, _) | Self::Refused(reason) | Self::Unknown(reason) => {
                Some(reason.clone())
            }
            Self::Skipped(skip) => Some(skip.as_str().to_owned()),
        }
    }

    /// The outcome as the event story shows it.
    fn text(&self) -> String {
        match self {
            Self::Sent => "sent".to_owned(),
            Self::Failed(reason) => format!("failed: {reason}"),
            Self::Unavailable(reason, _) => format!("unavailable: {reason}"),
            Self::Refused(reason) => format!("refused: {reason}"),
            Self::Unknown(reason) => format!("unknown: {reason}"),
            Self::Skipped(skip) => format!("skipped: {}", skip.as_str()),
        }
    }
}
