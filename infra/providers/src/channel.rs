//! What the four message channels share: a request is one message to one address, the fault in force applies to it, and
//! it is recorded. Each channel writes its own answers.

use axum::response::Response;
use jiff::Timestamp;

use crate::fault::{Mode, Target};
use crate::sent::{EmailParts, Outcome, Sent};
use crate::{Providers, lost_answer};

/// A message, parsed from a channel's request.
#[derive(Default)]
pub(crate) struct Message {
    pub(crate) to: Option<String>,
    pub(crate) subject: Option<String>,
    pub(crate) body: Option<String>,
    pub(crate) email: Option<EmailParts>,
}

/// The result that a channel puts into its own protocol.
pub(crate) enum SendResult {
    Accepted,
    Error,
    Rejected,
    Unavailable,
}

impl Providers {
    /// Records a well-formed message and answers as the fault in force demands.
    pub(crate) async fn accept(
        &self,
        channel: Target,
        message: Message,
        answer: impl FnOnce(SendResult) -> Response,
    ) -> Response {
        match self.record(channel, message) {
            Mode::Ok => answer(SendResult::Accepted),
            Mode::Error => answer(SendResult::Error),
            Mode::Reject => answer(SendResult::Rejected),
            Mode::Unavailable => answer(SendResult::Unavailable),
            Mode::Timeout => lost_answer::hold().await,
            Mode::DropAnswer => lost_answer::drop_connection(),
        }
    }

    /// Records an invalid request. It does not count against a fault: a fault set for one message is meant for a valid
    /// one.
    pub(crate) fn refuse(&self, channel: Target, message: Message) {
        self.state().sent.push(message.into_record(channel, Outcome::Rejected));
    }

    /// Records a message and returns the fault that applies to it.
    fn record(&self, channel: Target, message: Message) -> Mode {
        let mut state = self.state();
        let mode = state.faults.mode(channel);
        state.faults.count(channel);
        let outcome = match mode {
            Mode::Ok => Outcome::Accepted,
            Mode::Error => Outcome::Error,
            Mode::Reject => Outcome::Rejected,
            Mode::Unavailable => Outcome::Unavailable,
            Mode::Timeout => Outcome::TimedOut,
            Mode::DropAnswer => Outcome::AnswerDropped,
        };
        state.sent.push(message.into_record(channel, outcome));
        mode
    }
}

impl Message {
    fn into_record(self, channel: Target, outcome: Outcome) -> Sent {
        Sent {
            at: Timestamp::now(),
            channel,
            to: self.to,
            subject: self.subject,
            body: self.body,
            idempotency_key: None,
            outcome,
            email: self.email,
            payment: None,
        }
    }
}
