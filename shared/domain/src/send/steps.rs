//! The steps of a send: who may take it on, and what becomes of it after an attempt.

use std::time::Duration;

use uuid::Uuid;

use super::{Attempt, ChannelSend, REMEMBERED, SendState, Terms, WhenUncertain};
use crate::Time;
use crate::recipient::Skip;

/// A provider that asks to be left alone is left alone for at most this long at a time.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(3_600);

/// A sweeper's waits are twice this at least, and double
const SHORTEST_SWEEP: Duration = Duration::from_secs(10);
/// up to this.
const LONGEST_SWEEP: Duration = Duration::from_secs(3_600);
/// A send that was sent for so often, and not tried, is stuck: after an hour, with the usual waits.
const STUCK: u32 = 5;

/// What an attempt to claim a send comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// It is the claimant's, once this is stored.
    Taken(Box<ChannelSend>),
    /// It cannot be taken on: whoever had it is gone, and nobody knows what they did. This is to be stored, and a dead
    /// letter with it.
    GivenUp(Box<ChannelSend>),
    /// Not before then: its next retry, or the end of somebody's lease.
    Wait(Time),
    /// Nothing is left to do.
    Settled,
}

/// How an attempt ended. Reasons are fixed words: never an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// The provider has taken it over.
    Sent,
    /// The provider failed; it may pass.
    Failed(String),
    /// The provider is out of reach or throttles, and may say for how long.
    Unavailable(String, Option<Duration>),
    /// It will never go out as it is.
    Refused(String),
    /// There is nobody to send it to (any more).
    Skipped(Skip),
    /// It was handed over, and no answer came.
    Unknown(String),
}

impl ChannelSend {
    /// Takes the send on until the end of the lease, if it is to be had. A redrive opens what was given up, once.
    pub fn claim(&self, by: Uuid, redrive: Option<Uuid>, terms: &Terms, now: Time) -> Claim {
        match self.state {
            SendState::Pending { next_retry_at: Some(at) } | SendState::Uncertain { next_retry_at: Some(at) }
                if at > now =>
            {
                Claim::Wait(at)
            }
            SendState::Pending { .. } | SendState::Uncertain { next_retry_at: Some(_) } => {
                Claim::Taken(Box::new(self.processing(by, terms, now)))
            }
            SendState::Processing { lease_until, .. } if lease_until > now => Claim::Wait(lease_until),
            SendState::Processing { .. } => {
                let gone = self.after(&Ended::Unknown("its worker died".to_owned()), terms, now, 0.0);
                if gone.state.is_given_up() {
                    return Claim::GivenUp(Box::new(gone));
                }
                // Two steps that are stored as one.
                let taken = gone.processing(by, terms, now);
                Claim::Taken(Box::new(Self { version: self.version + 1, ..taken }))
            }
            SendState::Failed { .. } | SendState::Uncertain { next_retry_at: None } if self.is_opened_by(redrive) => {
                let open = Self { attempt_count: 0, postponed: 0, opened_at: now, redrive, ..self.clone() };
                Claim::Taken(Box::new(open.processing(by, terms, now)))
            }
            SendState::Uncertain { next_retry_at: None }
            | SendState::Sent { .. }
            | SendState::Failed { .. }
            | SendState::Skipped { .. } => Claim::Settled,
        }
    }

    fn processing(&self, by: Uuid, terms: &Terms, now: Time) -> Self {
        let lease_until = now.plus(terms.lease);
        Self {
            state: SendState::Processing { locked_by: by, lease_until },
            // Where the sweeper would come later anyhow, its index need not be written.
            due_at: self.due_at.max(lease_until),
            version: self.version + 1,
            ..self.clone()
        }
    }

    /// Whether this redrive opens the send: it is given up, and the redrive is newer than the last one that did. Their
    /// ids are ours and sort by time, so a message of an older one that comes late opens nothing.
    pub fn is_opened_by(&self, redrive: Option<Uuid>) -> bool {
        self.state.is_given_up() && redrive > self.redrive
    }

    /// The send once an operator has decided that it need not be sent, if it was held for them. What has FAILED stays so.
    pub fn discarded(&self, now: Time) -> Option<Self> {
        let SendState::Uncertain { next_retry_at: None } = self.state else { return None };
        let words = "discarded by an operator";
        let last_error = match &self.last_error {
            Some(reason) => format!("{reason}; {words}"),
            None => words.to_owned(),
        };
        Some(Self {
            state: SendState::Failed { ended_at: now },
            last_error: Some(last_error),
            version: self.version + 1,
            ..self.clone()
        })
    }

    /// Whether sweepers have sent for it again and again, and nobody has tried it.
    pub fn is_stuck(&self) -> bool {
        self.swept >= STUCK && self.state.ended_at().is_none() && !self.state.is_given_up()
    }

    /// Whether this claim still holds the send.
    pub fn is_held_by(&self, claim: Uuid) -> bool {
        matches!(self.state, SendState::Processing { locked_by, .. } if locked_by == claim)
    }

    /// The send after an attempt that ended so; `random` is drawn evenly from 0 to 1.
    pub fn after(&self, ended: &Ended, terms: &Terms, now: Time, random: f64) -> Self {
        let counted = self.attempt_count
            + u32::from(matches!(ended, Ended::Sent | Ended::Failed(_) | Ended::Refused(_) | Ended::Unknown(_)));
        let exhausted = counted >= terms.max_attempts;
        let retry = |attempt: u32| now.plus(terms.backoff.after(attempt, random));
        let (state, postponed) = match ended {
            Ended::Sent => (SendState::Sent { sent_at: now }, self.postponed),
            Ended::Skipped(_) => (SendState::Skipped { ended_at: now }, self.postponed),
            Ended::Refused(_) => (SendState::Failed { ended_at: now }, self.postponed),
            Ended::Failed(_) if exhausted => (SendState::Failed { ended_at: now }, self.postponed),
            Ended::Failed(_) => (SendState::Pending { next_retry_at: Some(retry(counted)) }, self.postponed),
            Ended::Unavailable(..) if now.since(self.opened_at) >= terms.give_up_after => {
                (SendState::Failed { ended_at: now }, self.postponed)
            }
            Ended::Unavailable(_, wish) => {
                let wish = now.plus(wish.unwrap_or_default().min(LONGEST_RETRY_AFTER));
                let at = retry(self.postponed + 1).max(wish);
                (SendState::Pending { next_retry_at: Some(at) }, self.postponed + 1)
            }
            Ended::Unknown(_) if terms.when_uncertain == WhenUncertain::Hold => {
                (SendState::Uncertain { next_retry_at: None }, self.postponed)
            }
            Ended::Unknown(_) if exhausted => (SendState::Failed { ended_at: now }, self.postponed),
            Ended::Unknown(_) => (SendState::Uncertain { next_retry_at: Some(retry(counted)) }, self.postponed),
        };
        let due_at = match state {
            SendState::Pending { next_retry_at: Some(at) } | SendState::Uncertain { next_retry_at: Some(at) } => {
                at.plus(terms.grace)
            }
            _ => self.due_at,
        };
        let mut next = Self {
            state,
            attempt_count: counted,
            postponed,
            // Somebody came.
            swept: 0,
            last_error: ended.problem().or_else(|| self.last_error.clone()),
            due_at,
            version: self.version + 1,
            ..self.clone()
        };
        next.attempts.push(Attempt { at: now, outcome: ended.words() });
        let forgotten = next.attempts.len().saturating_sub(REMEMBERED);
        next.attempts.drain(..forgotten);
        next
    }

    /// The send once a sweeper has sent for it: the next one comes later and later, since what lies in a long queue is
    /// overdue too, and must not be put there again and again.
    pub fn sent_for(&self, grace: Duration, now: Time) -> Self {
        let wait = grace.max(SHORTEST_SWEEP).saturating_mul(2 << self.swept.min(12)).min(LONGEST_SWEEP);
        Self { swept: self.swept + 1, due_at: now.plus(wait), version: self.version + 1, ..self.clone() }
    }
}

impl Ended {
    fn problem(&self) -> Option<String> {
        match self {
            Self::Sent => None,
            Self::Failed(reason) | Self::Unavailable(reason, _) | Self::Refused(reason) | Self::Unknown(reason) => {
                Some(reason.clone())
            }
            Self::Skipped(skip) => Some(skip.as_str().to_owned()),
        }
    }

    /// What the story says of it.
    fn words(&self) -> String {
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
