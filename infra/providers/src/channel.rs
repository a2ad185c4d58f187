//! What the four message channels have in common: a request is one message to one address, it meets the fault that
//! is in force, and it is recorded. How an answer looks is each channel's own affair.

use axum::response::Response;
use jiff::Timestamp;

use crate::fault::{Mode, Target};
use crate::sent::{EmailParts, Outcome, Sent};
use crate::{Providers, unanswered};

/// A message as read from a channel's request.
#[derive(Default)]
pub(crate) struct Message {
    pub(crate) to: Option<String>,
    pub(crate) subject: Option<String>,
    pub(crate) body: Option<String>,
    pub(crate) email: Option<EmailParts>,
}

/// What a channel has to put into its own words when it answers at all.
pub(crate) enum Verdict {
    Accepted,
    Error,
    Rejected,
    Unavailable,
}

impl Providers {
    /// Takes a well-formed message, and answers as the fault in force demands.
    pub(crate) async fn take(
        &self,
        channel: Target,
        message: Message,
        answer: impl FnOnce(Verdict) -> Response,
    ) -> Response {
        match self.meet(channel, message) {
            Mode::Ok => answer(Verdict::Accepted),
            Mode::Error => answer(Verdict::Error),
            Mode::Reject => answer(Verdict::Rejected),
            Mode::Unavailable => answer(Verdict::Unavailable),
            Mode::Timeout => unanswered::held().await,
            Mode::DropAnswer => unanswered::broken(),
        }
    }

    /// Records a request that the provider refuses at the door. It is not counted against a fault: a fault for one
    /// message is meant for a message that would otherwise have gone out.
    pub(crate) fn refuse(&self, channel: Target, message: Message) {
        self.desk().sent.push(message.recorded(channel, Outcome::Rejected));
    }

    fn meet(&self, channel: Target, message: Message) -> Mode {
        let mut desk = self.desk();
        let mode = desk.faults.mode(channel);
        desk.faults.count(channel);
        let outcome = match mode {
            Mode::Ok => Outcome::Accepted,
            Mode::Error => Outcome::Error,
            Mode::Reject => Outcome::Rejected,
            Mode::Unavailable => Outcome::Unavailable,
            Mode::Timeout => Outcome::TimedOut,
            Mode::DropAnswer => Outcome::AnswerDropped,
        };
        desk.sent.push(message.recorded(channel, outcome));
        mode
    }
}

impl Message {
    fn recorded(self, channel: Target, outcome: Outcome) -> Sent {
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
