//! Handlers without a command type: a closure that reads what it likes and returns a commit.

use std::ops::Deref;

use belfry_core::{Commit, Context, Entity, Failure, Keep, ReadSet, Request, Stored, StoredResponse};

use super::{Executed, Execution, Guard, GuardedOutcome, Looked};
use crate::dynamo::{Outcome, wait};
use crate::{Belfry, Error};

/// The context of an idempotent handler.
#[derive(Debug, Clone)]
pub struct Tx {
    ctx: Context,
    belfry: Belfry,
}

impl Deref for Tx {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.ctx
    }
}

impl Tx {
    /// Reads an entity consistently.
    pub async fn get<E: Entity>(&self, id: E::Id<'_>) -> Result<Option<Stored<E>>, Error> {
        self.belfry.get(id).await
    }

    /// Reads a set of items consistently.
    pub async fn read<R: ReadSet>(&self, set: R) -> Result<R::Output, Error> {
        self.belfry.read(set).await
    }
}

/// Why an idempotent handler did not return a commit.
#[derive(Debug)]
pub enum WorkError {
    /// It refuses the request with this response.
    Refused(Keep, StoredResponse),
    /// The kernel failed.
    Kernel(Error),
}

impl From<Error> for WorkError {
    fn from(error: Error) -> Self {
        Self::Kernel(error)
    }
}

impl Belfry {
    /// Makes a handler idempotent: the commit that it returns is written together with its response and the key.
    ///
    /// Only the commit may have effects. Two requests with the same key at the same moment both run `work`, and one of
    /// them loses; a request that loses a race runs it again.
    pub async fn idempotent<F, Fut>(&self, request: &Request, work: F) -> Result<Executed, Error>
    where
        F: Fn(Tx) -> Fut + Send + Sync,
        Fut: Future<Output = Result<Commit<StoredResponse>, WorkError>> + Send,
    {
        let base = self.context_of(request);
        let execution = Execution::new("idempotent handler", Guard::Key(request));
        let policy = &self.0.config.retry;
        for attempt in 1..=policy.attempts {
            if let Looked::Ended(ended) = self.look(&base, &execution, &[]).await? {
                return Ok(executed(ended));
            }
            let ctx = base.at(self.now());
            let commit = match work(Tx { ctx: ctx.clone(), belfry: self.clone() }).await {
                Ok(commit) => commit,
                Err(WorkError::Kernel(error)) => return Err(error),
                Err(WorkError::Refused(keep, response)) => {
                    let failure = Failure::Reject("refused".to_owned());
                    return Ok(executed(self.refuse(&ctx, &execution, keep, Some(response), failure).await?));
                }
            };
            let (body, response) = commit.into_parts();
            let (mut writes, events) = self.assemble(body, &ctx, &execution, Some(&response))?;
            loop {
                match self.transact(&writes, ctx.deadline()).await? {
                    Outcome::Committed => return Ok(Executed::Accepted { response, output: (), events }),
                    Outcome::Raced(raced) if raced.drop_existing(&mut writes) => {}
                    Outcome::Raced(_) => break,
                }
            }
            wait(policy, attempt).await;
        }
        Err(Error::Contended { attempts: policy.attempts })
    }
}

fn executed(ended: GuardedOutcome) -> Executed {
    match ended {
        GuardedOutcome::Accepted { response: Some(response), events, .. } => {
            Executed::Accepted { response, output: (), events }
        }
        GuardedOutcome::Refused { response: Some(response), keep, .. } => Executed::Refused { response, keep },
        GuardedOutcome::Replayed(response) => Executed::Replayed(response),
        _ => Executed::KeyConflict,
    }
}
