//! Saga steps: what a step does, how it is undone and how it is settled, declared together.
//!
//! A service of a saga implements [`Step`] once. The kernel keeps the status of the step in the service's own table and
//! runs the declaration: there is no other code that decides when something is undone.
//!
//! ```
//! # use belfry_core::saga::{Asked, Status, Step};
//! # use belfry_core::{entity, Commit, Context, Failure, Get, Never, Stored};
//! # #[derive(serde::Serialize, serde::Deserialize)] struct Hold { loan_id: String }
//! # entity!(Hold in "holds" by loan_id);
//! struct ReserveStock;
//! impl Step for ReserveStock {
//!     type Record = Hold;
//!     type Do = Never;
//!     type Undo = Never;
//!     type Settle = Never;
//!     type Reads = ();
//! #   fn record(_: Asked<&Never, &Never, &Never>) -> Get<Hold> { unreachable!() }
//! #   fn status(_: &Hold) -> Status { Status::Done }
//! #   fn reads(&self, _: &Never) {}
//!     fn forward(&self, asked: &Never, found: (), ctx: &Context) -> Result<Commit<()>, Failure> { Ok(ctx.commit()) }
//!     fn undo(&self, because: &Never, done: &Stored<Hold>, ctx: &Context) -> Result<Commit<()>, Failure> {
//!         Ok(ctx.commit())
//!     }
//!     fn close(&self, because: &Never, ctx: &Context) -> Result<Commit<()>, Failure> { Ok(ctx.commit()) }
//!     fn settle(&self, because: &Never, done: &Stored<Hold>, ctx: &Context) -> Result<Commit<()>, Failure> {
//!         Ok(ctx.commit())
//!     }
//! }
//! ```
//!
//! Without its `undo`, the same step does not compile:
//!
//! ```compile_fail,E0046
//! # use belfry_core::saga::{Asked, Status, Step};
//! # use belfry_core::{entity, Commit, Context, Failure, Get, Never, Stored};
//! # #[derive(serde::Serialize, serde::Deserialize)] struct Hold { loan_id: String }
//! # entity!(Hold in "holds" by loan_id);
//! struct ReserveStock;
//! impl Step for ReserveStock {
//!     type Record = Hold;
//!     type Do = Never;
//!     type Undo = Never;
//!     type Settle = Never;
//!     type Reads = ();
//! #   fn record(_: Asked<&Never, &Never, &Never>) -> Get<Hold> { unreachable!() }
//! #   fn status(_: &Hold) -> Status { Status::Done }
//! #   fn reads(&self, _: &Never) {}
//!     fn forward(&self, asked: &Never, found: (), ctx: &Context) -> Result<Commit<()>, Failure> { Ok(ctx.commit()) }
//!     fn close(&self, because: &Never, ctx: &Context) -> Result<Commit<()>, Failure> { Ok(ctx.commit()) }
//!     fn settle(&self, because: &Never, done: &Stored<Hold>, ctx: &Context) -> Result<Commit<()>, Failure> {
//!         Ok(ctx.commit())
//!     }
//! }
//! ```

use crate::command::{Command, Failure, Found};
use crate::commit::Commit;
use crate::context::Context;
use crate::entity::{Entity, Stored};
use crate::event::{Event, Message};
use crate::read::{Get, ReadSet};

/// What a message asks of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked<D = (), U = (), S = ()> {
    /// Do it.
    Do(D),
    /// Undo it.
    Undo(U),
    /// Make it final.
    Settle(S),
}

impl<D, U, S> Asked<D, U, S> {
    /// The question without the message.
    pub const fn kind(&self) -> Asked {
        match self {
            Self::Do(_) => Asked::Do(()),
            Self::Undo(_) => Asked::Undo(()),
            Self::Settle(_) => Asked::Settle(()),
        }
    }
}

/// The status of a step, as its record stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It was done.
    Done,
    /// It was done and undone.
    Undone,
    /// It is final.
    Settled,
    /// It was undone before it was done. It will never be done.
    Closed,
}

/// What the service does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Run [`Step::forward`].
    Forward,
    /// Run [`Step::undo`].
    Undo,
    /// Run [`Step::settle`].
    Settle,
    /// Run [`Step::close`].
    Close,
    /// The message is late or doubled. It is acknowledged and changes nothing.
    Nothing,
    /// The messages contradict each other. Goes to the dead letters with this reason.
    Broken(&'static str),
}

/// The state machine of a step: what a message asks for, given the status of the record.
pub const fn next(status: Option<Status>, asked: Asked) -> Next {
    match (asked, status) {
        (Asked::Do(()), None) => Next::Forward,
        (Asked::Do(()), Some(_)) => Next::Nothing,
        (Asked::Undo(()), None) => Next::Close,
        (Asked::Undo(()), Some(Status::Done)) => Next::Undo,
        (Asked::Undo(()), Some(Status::Settled)) => Next::Broken("a settled step cannot be undone"),
        (Asked::Undo(()), Some(Status::Undone | Status::Closed)) => Next::Nothing,
        (Asked::Settle(()), Some(Status::Done)) => Next::Settle,
        (Asked::Settle(()), Some(Status::Settled)) => Next::Nothing,
        (Asked::Settle(()), None | Some(Status::Undone | Status::Closed)) => Next::Broken("there is nothing to settle"),
    }
}

/// What a message asks of a step of this type.
pub type AskedOf<'a, S> = Asked<&'a <S as Step>::Do, &'a <S as Step>::Undo, &'a <S as Step>::Settle>;

/// One step of a saga, in one service.
///
/// Each method returns the writes and events of its decision. The kernel commits them together with the processed mark
/// of the message, in one transaction.
pub trait Step: Send + Sync + 'static {
    /// What the service keeps of the step, in its own table.
    type Record: Entity;
    /// The message that triggers the step.
    type Do: Message;
    /// The messages that undo it. Use [`Never`](crate::Never) if nothing does.
    type Undo: Message;
    /// The message that makes it final.
    type Settle: Message;
    /// What `forward` reads besides the record.
    type Reads: ReadSet;

    /// Where the record of the saga is that a message belongs to.
    fn record(asked: AskedOf<'_, Self>) -> Get<Self::Record>
    where
        Self: Sized;

    /// The status that a record stores.
    fn status(record: &Self::Record) -> Status;

    /// What `forward` reads besides the record.
    fn reads(&self, asked: &Self::Do) -> Self::Reads;

    /// Does the step and creates its record; or reports, without a record, that it cannot be done.
    fn forward(
        &self,
        asked: &Self::Do,
        found: <Self::Reads as ReadSet>::Output,
        ctx: &Context,
    ) -> Result<Commit<()>, Failure>;

    /// Undoes what the record says was done.
    fn undo(&self, because: &Self::Undo, done: &Stored<Self::Record>, ctx: &Context) -> Result<Commit<()>, Failure>;

    /// Creates a closed record, so that a message to do the step that arrives later changes nothing.
    fn close(&self, because: &Self::Undo, ctx: &Context) -> Result<Commit<()>, Failure>;

    /// Makes the step final.
    fn settle(&self, because: &Self::Settle, done: &Stored<Self::Record>, ctx: &Context)
    -> Result<Commit<()>, Failure>;
}

/// A message to a step, as a command that the consumer runs with its processed mark.
#[doc(hidden)]
pub struct StepCommand<S: Step> {
    pub step: std::sync::Arc<S>,
    pub asked: Asked<S::Do, S::Undo, S::Settle>,
}

impl<S: Step> StepCommand<S> {
    /// The event types that concern the step.
    pub fn types() -> impl Iterator<Item = &'static str> {
        [S::Do::TYPES, S::Undo::TYPES, S::Settle::TYPES].into_iter().flatten().copied()
    }

    /// What an event of one of these types asks of the step.
    pub fn read(step: std::sync::Arc<S>, event: &Event) -> Result<Self, serde_json::Error> {
        let is_of = |types: &[&str]| types.contains(&event.event_type.as_str());
        let asked = if is_of(S::Do::TYPES) {
            Asked::Do(S::Do::read(event)?)
        } else if is_of(S::Undo::TYPES) {
            Asked::Undo(S::Undo::read(event)?)
        } else {
            Asked::Settle(S::Settle::read(event)?)
        };
        Ok(Self { step, asked })
    }

    fn asked(&self) -> AskedOf<'_, S> {
        match &self.asked {
            Asked::Do(asked) => Asked::Do(asked),
            Asked::Undo(because) => Asked::Undo(because),
            Asked::Settle(because) => Asked::Settle(because),
        }
    }
}

impl<S: Step> Command for StepCommand<S> {
    const NAME: &'static str = "saga step";
    type Reads = (Get<S::Record>, Option<S::Reads>);
    type Output = ();
    type Refusal = Failure;

    fn reads(&self) -> Self::Reads {
        let reads = match &self.asked {
            Asked::Do(asked) => Some(self.step.reads(asked)),
            Asked::Undo(_) | Asked::Settle(_) => None,
        };
        (S::record(self.asked()), reads)
    }

    fn decide(&self, (record, found): Found<Self>, ctx: &Context) -> Result<Commit<()>, Failure> {
        let step = &self.step;
        match (next(record.as_deref().map(S::status), self.asked.kind()), &self.asked, &record, found) {
            (Next::Forward, Asked::Do(asked), _, Some(found)) => step.forward(asked, found, ctx),
            (Next::Undo, Asked::Undo(because), Some(done), _) => step.undo(because, done, ctx),
            (Next::Close, Asked::Undo(because), _, _) => step.close(because, ctx),
            (Next::Settle, Asked::Settle(because), Some(done), _) => step.settle(because, done, ctx),
            (Next::Broken(problem), ..) => Err(Failure::Reject(problem.to_owned())),
            _ => Ok(ctx.commit()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DO: Asked = Asked::Do(());
    const UNDO: Asked = Asked::Undo(());
    const SETTLE: Asked = Asked::Settle(());

    #[test]
    fn an_undo_before_the_step_closes_it_for_good() {
        assert_eq!(next(None, UNDO), Next::Close);
        for asked in [DO, UNDO] {
            assert_eq!(next(Some(Status::Closed), asked), Next::Nothing);
        }
    }

    #[test]
    fn a_step_is_done_undone_and_settled_at_most_once() {
        for status in [Status::Done, Status::Undone, Status::Settled, Status::Closed] {
            assert_eq!(next(Some(status), DO), Next::Nothing, "{status:?}");
        }
        assert_eq!(next(Some(Status::Done), UNDO), Next::Undo);
        assert_eq!(next(Some(Status::Undone), UNDO), Next::Nothing);
        assert_eq!(next(Some(Status::Done), SETTLE), Next::Settle);
        assert_eq!(next(Some(Status::Settled), SETTLE), Next::Nothing);
    }

    #[test]
    fn contradicting_messages_are_reported() {
        assert!(matches!(next(Some(Status::Settled), UNDO), Next::Broken(_)));
        for status in [None, Some(Status::Undone), Some(Status::Closed)] {
            assert!(matches!(next(status, SETTLE), Next::Broken(_)), "{status:?}");
        }
    }
}
