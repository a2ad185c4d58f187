//! Units of work for the loop: a command with or without a response.

use std::any::Any;
use std::sync::{Mutex, PoisonError};

use belfry_core::commit::CommitBody;
use belfry_core::{Command, Context, Corrupt, Failure, FoundItems, Keep, ReadSet, Refusal, StoredResponse, Wanted};

use super::failure_of;

/// What was decided.
pub(crate) enum Verdict {
    Commit(CommitBody, Option<StoredResponse>),
    Refuse { keep: Keep, response: Option<StoredResponse>, failure: Failure },
}

/// A command without its types.
pub(crate) trait Work: Send + Sync {
    fn wanted(&self) -> Vec<Wanted>;
    fn decide(&self, found: &FoundItems, ctx: &Context) -> Result<Verdict, Corrupt>;
}

fn wanted<C: Command>(command: &C) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    command.reads().wanted(&mut wanted);
    wanted
}

/// A command, its response, and the output of its last decision.
pub(super) struct Rendered<'a, C: Command, R> {
    pub(super) command: &'a C,
    pub(super) render: R,
    pub(super) output: Mutex<Option<C::Output>>,
}

impl<C, R> Work for Rendered<'_, C, R>
where
    C: Command,
    C::Output: Send,
    R: Fn(Result<&C::Output, &C::Refusal>) -> Option<StoredResponse> + Send + Sync,
{
    fn wanted(&self) -> Vec<Wanted> {
        wanted(self.command)
    }

    fn decide(&self, found: &FoundItems, ctx: &Context) -> Result<Verdict, Corrupt> {
        let found = self.command.reads().output(found)?;
        Ok(match self.command.decide(found, ctx) {
            Ok(commit) => {
                let (body, output) = commit.into_parts();
                let response = (self.render)(Ok(&output));
                *self.output.lock().unwrap_or_else(PoisonError::into_inner) = Some(output);
                Verdict::Commit(body, response)
            }
            Err(refusal) => Verdict::Refuse {
                keep: refusal.keep(),
                response: (self.render)(Err(&refusal)),
                failure: failure_of(&refusal),
            },
        })
    }
}

/// A command without a response, whose caller wants the refusal.
pub(super) struct Plain<'a, C: Command> {
    pub(super) command: &'a C,
    pub(super) output: Mutex<Option<C::Output>>,
    pub(super) refusal: &'a Mutex<Option<C::Refusal>>,
}

impl<C: Command> Work for Plain<'_, C>
where
    C::Output: Send,
    C::Refusal: Send,
{
    fn wanted(&self) -> Vec<Wanted> {
        wanted(self.command)
    }

    fn decide(&self, found: &FoundItems, ctx: &Context) -> Result<Verdict, Corrupt> {
        let found = self.command.reads().output(found)?;
        Ok(match self.command.decide(found, ctx) {
            Ok(commit) => {
                let (body, output) = commit.into_parts();
                *self.output.lock().unwrap_or_else(PoisonError::into_inner) = Some(output);
                Verdict::Commit(body, None)
            }
            Err(refusal) => {
                let (keep, failure) = (refusal.keep(), failure_of(&refusal));
                *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(refusal);
                Verdict::Refuse { keep, response: None, failure }
            }
        })
    }
}

/// A command of a consumer.
pub(crate) struct Unanswered<C>(pub(crate) C);

impl<C: Command + Send> Work for Unanswered<C>
where
    C::Refusal: 'static,
{
    fn wanted(&self) -> Vec<Wanted> {
        wanted(&self.0)
    }

    fn decide(&self, found: &FoundItems, ctx: &Context) -> Result<Verdict, Corrupt> {
        Ok(match self.0.decide(self.0.reads().output(found)?, ctx) {
            Ok(commit) => Verdict::Commit(commit.into_parts().0, None),
            Err(refusal) => {
                // A failure keeps its kind: an outage stays an outage.
                let failure = (&refusal as &dyn Any).downcast_ref::<Failure>().cloned();
                let failure = failure.unwrap_or_else(|| failure_of(&refusal));
                Verdict::Refuse { keep: refusal.keep(), response: None, failure }
            }
        })
    }
}
