//! Commands: read, decide, commit in one transaction, and again after a lost race.
//!
//! A command that creates starts with its transaction: one round trip. A command that changes reads its entities and its
//! key in one batch first: two. A replay or a key conflict is one round trip. The first execution of a command that writes
//! one entity and one event writes three items: six write units.

mod guard;
mod idempotent;
mod work;

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use belfry_core::commit::{CommitBody, Condition};
use belfry_core::{
    Command, Commit, Context, EventId, Failure, FoundItems, Item, Keep, Place, Refusal, Request, StoredResponse,
    Unwritable, WRITTEN_BY, Wanted, Write,
};
use uuid::Uuid;

pub(crate) use guard::Guard;
pub use guard::{KeyRecord, Mark};
pub use idempotent::{Tx, WorkError};
use work::Rendered;
pub(crate) use work::{Unanswered, Verdict, Work};

use crate::dynamo::{Outcome, Raced, wait};
use crate::metrics::CommandOutcome;
use crate::{Belfry, Error, outbox};

/// DynamoDB accepts at most this many items in one transaction.
const MAX_ITEMS: usize = 100;

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Executed<T = ()> {
    /// The command took effect with this request.
    Accepted {
        /// The response, as it is stored.
        response: StoredResponse,
        /// The output of the decision.
        output: T,
        /// The events that were committed with it.
        events: Vec<EventId>,
    },
    /// The command was refused.
    Refused {
        /// The response.
        response: StoredResponse,
        /// Whether the response is stored under the key.
        keep: Keep,
    },
    /// The stored response of an earlier request with this key.
    Replayed(StoredResponse),
    /// The key was already used with a different request.
    KeyConflict,
}

/// How a guarded unit of work ended.
pub(crate) enum GuardedOutcome {
    Accepted {
        response: Option<StoredResponse>,
        events: Vec<EventId>,
        /// How many optional writes existed already.
        dropped: usize,
    },
    Refused {
        keep: Keep,
        response: Option<StoredResponse>,
        failure: Failure,
    },
    Replayed(StoredResponse),
    KeyConflict,
    Duplicate,
}

/// How [`Belfry::commit`] ended.
#[derive(Debug)]
pub enum CommitOutcome {
    /// Written; some optional writes may have existed already.
    Committed {
        /// How many.
        dropped: usize,
    },
    /// Nothing is written, because conditions failed.
    Raced(Raced),
}

enum Looked {
    Ended(GuardedOutcome),
    Open(FoundItems),
}

/// One execution: its guard, and the id by which it recognises its own writes after a lost response.
pub(crate) struct Execution<'a> {
    pub(crate) name: &'a str,
    pub(crate) guard: Guard<'a>,
    id: Uuid,
    /// Whether each item says which execution wrote it, because no key and no mark does.
    is_stamped: bool,
}

impl<'a> Execution<'a> {
    pub(crate) fn new(name: &'a str, guard: Guard<'a>) -> Self {
        let is_stamped = matches!(guard, Guard::None);
        Self { name, guard, id: Uuid::now_v7(), is_stamped }
    }

    /// An execution whose caller recognises its own writes by their conditions.
    fn recognised_by_caller(name: &'a str) -> Self {
        Self { is_stamped: false, ..Self::new(name, Guard::None) }
    }
}

impl Belfry {
    /// Executes a command exactly once per idempotency key.
    ///
    /// `render` makes the response from the output or the refusal. It runs before the commit, and its response is stored
    /// with the effect. It may run several times.
    pub async fn execute<C: Command>(
        &self,
        request: &Request,
        command: &C,
        render: impl Fn(Result<&C::Output, &C::Refusal>) -> StoredResponse + Send + Sync,
    ) -> Result<Executed<C::Output>, Error>
    where
        C::Output: Send,
    {
        let render = |end: Result<&C::Output, &C::Refusal>| Some(render(end));
        let work = Rendered { command, render, output: Mutex::new(None) };
        let execution = Execution::new(C::NAME, Guard::Key(request));
        let mut races = 0;
        let ended = self.run_guarded(&self.context_of(request), &execution, &work, &mut races).await;
        self.finished(C::NAME, &ended, races);
        let output = work.output.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(match ended? {
            GuardedOutcome::Accepted { response: Some(response), events, .. } => match output {
                Some(output) => Executed::Accepted { response, output, events },
                None => Executed::Replayed(response),
            },
            GuardedOutcome::Refused { response: Some(response), keep, .. } => Executed::Refused { response, keep },
            GuardedOutcome::Replayed(response) => Executed::Replayed(response),
            _ => Executed::KeyConflict,
        })
    }

    /// Runs a command without an idempotency key, for jobs and sweepers. What it writes names the execution, so that a lost
    /// response is recognised and nothing is written twice.
    pub async fn run<C: Command>(&self, ctx: &Context, command: &C) -> Result<Result<C::Output, C::Refusal>, Error>
    where
        C::Output: Send,
        C::Refusal: Send,
    {
        let refusal = Mutex::new(None);
        let work = work::Plain { command, output: Mutex::new(None), refusal: &refusal };
        let execution = Execution::new(C::NAME, Guard::None);
        let ended = self.run_guarded(ctx, &execution, &work, &mut 0).await?;
        let output = work.output.into_inner().unwrap_or_else(PoisonError::into_inner);
        let refusal = refusal.into_inner().unwrap_or_else(PoisonError::into_inner);
        match (ended, output, refusal) {
            (GuardedOutcome::Accepted { .. }, Some(output), _) => Ok(Ok(output)),
            (GuardedOutcome::Refused { .. }, _, Some(refusal)) => Ok(Err(refusal)),
            _ => Err(Error::Contended { attempts: 1 }),
        }
    }

    /// Commits writes and events without a guard, once. Where a response may be lost, the caller must be able to tell: by
    /// conditions, or by ids that it derives.
    pub async fn commit(&self, ctx: &Context, commit: Commit<()>) -> Result<CommitOutcome, Error> {
        let (body, ()) = commit.into_parts();
        let execution = Execution::recognised_by_caller("commit");
        let (mut writes, _) = self.assemble(body, ctx, &execution, None)?;
        let all = writes.len();
        loop {
            match self.transact(&writes, ctx.deadline()).await? {
                Outcome::Committed => return Ok(CommitOutcome::Committed { dropped: all - writes.len() }),
                Outcome::Raced(raced) => {
                    if !raced.drop_existing(&mut writes) {
                        return Ok(CommitOutcome::Raced(raced));
                    }
                }
            }
        }
    }

    /// The loop of every command, consumer and job. Not generic, so that it is compiled once.
    pub(crate) async fn run_guarded(
        &self,
        ctx: &Context,
        execution: &Execution<'_>,
        work: &dyn Work,
        races: &mut u32,
    ) -> Result<GuardedOutcome, Error> {
        let policy = &self.0.config.retry;
        let started = tokio::time::Instant::now();
        let wanted = work.wanted();
        // If everything is assumed absent, start with the write. The failed write returns what stands there.
        let mut assumed = wanted.iter().all(|wanted| wanted.assumed_absent);
        let mut found = FoundItems::default();
        if !assumed {
            match self.look(ctx, execution, &wanted).await? {
                Looked::Ended(ended) => return Ok(ended),
                Looked::Open(items) => found = items,
            }
        }
        let mut dropped: HashSet<Place> = HashSet::new();
        loop {
            let ctx = ctx.at(self.now());
            let verdict = work.decide(&found, &ctx)?;
            if assumed && !wanted.is_empty() && !tests_assumptions(&verdict, &wanted) {
                assumed = false;
                match self.look(&ctx, execution, &wanted).await? {
                    Looked::Ended(ended) => return Ok(ended),
                    Looked::Open(items) => found = items,
                }
                continue;
            }
            let (body, response) = match verdict {
                Verdict::Commit(body, response) => (body, response),
                Verdict::Refuse { keep, response, failure } => {
                    return self.refuse(&ctx, execution, keep, response, failure).await;
                }
            };
            let (mut writes, events) = self.assemble(body, &ctx, execution, response.as_ref())?;
            writes.retain(|write| !(write.optional && dropped.contains(&write.place)));
            let raced = match self.transact(&writes, ctx.deadline()).await? {
                Outcome::Committed => {
                    return Ok(GuardedOutcome::Accepted { response, events, dropped: dropped.len() });
                }
                Outcome::Raced(raced) => raced,
            };
            *races += 1;
            let own = |item: &Item| belfry_core::item::text_of(item, WRITTEN_BY) == Some(&execution.id.to_string());
            if raced.standing.iter().filter_map(|(_, item)| item.as_ref()).any(own) {
                return Ok(GuardedOutcome::Accepted { response, events, dropped: dropped.len() });
            }
            if let Some(item) = execution.guard.place().and_then(|place| raced.item(&place).cloned()) {
                return execution.guard.met(&item, execution.id, response, events);
            }
            check_read_set(execution.name, &wanted, &writes, &raced)?;
            let late = ctx.deadline().is_some_and(|deadline| Instant::now() >= deadline);
            if *races >= policy.attempts || started.elapsed() >= policy.within || late {
                return Err(Error::Contended { attempts: *races });
            }
            let existing: Vec<Place> = writes
                .iter()
                .filter(|write| write.optional && raced.lost(&write.place))
                .map(|write| write.place.clone())
                .collect();
            let only_optional = existing.len() == raced.standing.len();
            dropped.extend(existing);
            if only_optional {
                continue;
            }
            assumed = false;
            // The first failed write is the read, if it returned every item that the decision depends on. After that,
            // others are at work: wait, and read after the wait and not before it.
            match learned(&wanted, &raced).filter(|_| *races == 1) {
                Some(items) => found = items,
                None => {
                    wait(policy, *races).await;
                    match self.look(&ctx, execution, &wanted).await? {
                        Looked::Ended(ended) => return Ok(ended),
                        Looked::Open(items) => found = items,
                    }
                }
            }
        }
    }

    /// Commits a decision with its guard. Returns `None` if something that it depends on has changed.
    pub(crate) async fn commit_guarded(
        &self,
        ctx: &Context,
        execution: &Execution<'_>,
        commit: Commit<()>,
    ) -> Result<Option<GuardedOutcome>, Error> {
        let (body, ()) = commit.into_parts();
        let (mut writes, events) = self.assemble(body, ctx, execution, None)?;
        let all = writes.len();
        loop {
            let raced = match self.transact(&writes, ctx.deadline()).await? {
                Outcome::Committed => {
                    let dropped = all - writes.len();
                    return Ok(Some(GuardedOutcome::Accepted { response: None, events, dropped }));
                }
                Outcome::Raced(raced) => raced,
            };
            if let Some(item) = execution.guard.place().and_then(|place| raced.item(&place).cloned()) {
                return execution.guard.met(&item, execution.id, None, events).map(Some);
            }
            if !raced.drop_existing(&mut writes) {
                return Ok(None);
            }
        }
    }

    /// Reads the guard's record and the read set in one batch.
    async fn look(&self, ctx: &Context, execution: &Execution<'_>, wanted: &[Wanted]) -> Result<Looked, Error> {
        let place = execution.guard.place();
        let places = wanted.iter().map(|wanted| wanted.place.clone()).chain(place.clone());
        let found = self.get_all(places, ctx.deadline()).await?;
        if let Some(item) = place.and_then(|place| found.0.get(&place))
            && execution.guard.is_live(item, self.now())
        {
            return execution.guard.met(item, execution.id, None, Vec::new()).map(Looked::Ended);
        }
        Ok(Looked::Open(found))
    }

    /// Stores a refusal, or reads what is stored under the key already.
    async fn refuse(
        &self,
        ctx: &Context,
        execution: &Execution<'_>,
        keep: Keep,
        response: Option<StoredResponse>,
        failure: Failure,
    ) -> Result<GuardedOutcome, Error> {
        if let Some(response) = &response {
            response.check()?;
        }
        match (&execution.guard, keep) {
            (Guard::Key(_), Keep::Store) => {
                // That a failed transaction said nothing about the key does not prove that it is absent. So the put has a
                // condition of its own, and its failure means replay.
                if let Some(write) = self.guard_write(ctx, execution, response.as_ref(), &[])?
                    && let Outcome::Raced(raced) = self.transact(std::slice::from_ref(&write), ctx.deadline()).await?
                    && let Some(item) = raced.item(&write.place)
                {
                    return Ok(match execution.guard.met(item, execution.id, response.clone(), Vec::new())? {
                        GuardedOutcome::Accepted { .. } => GuardedOutcome::Refused { keep, response, failure },
                        other => other,
                    });
                }
            }
            // A refusal that is not stored gives way to a response that is: a replay is a replay, whoever may do what by
            // now.
            (Guard::Key(_), _) => {
                if let Looked::Ended(ended) = self.look(ctx, execution, &[]).await? {
                    return Ok(ended);
                }
            }
            _ => {}
        }
        Ok(GuardedOutcome::Refused { keep, response, failure })
    }

    /// The writes of a transaction: the decision's, its events and its guard. Refuses what DynamoDB would refuse.
    pub(crate) fn assemble(
        &self,
        body: CommitBody,
        ctx: &Context,
        execution: &Execution<'_>,
        response: Option<&StoredResponse>,
    ) -> Result<(Vec<Write>, Vec<EventId>), Error> {
        let name = execution.name;
        let of_command = |problem: String| Unwritable(format!("{name}: {problem}"));
        if let Some(problem) = body.problem {
            return Err(of_command(problem.0).into());
        }
        if let Some(response) = response {
            response.check()?;
        }
        let mut writes = body.writes;
        let mut event_ids = Vec::with_capacity(body.events.len());
        for draft in body.events {
            let written = writes.iter().find(|write| Some(&write.place) == draft.place.as_ref());
            let version = draft.version.or_else(|| written.and_then(|write| write.version));
            let event = draft.stamped(ctx, version)?;
            writes.push(outbox::entry(self, &event, None)?);
            event_ids.push(event.event_id);
        }
        if execution.is_stamped {
            writes.iter_mut().for_each(|write| write.written_by(execution.id));
        }
        writes.extend(self.guard_write(ctx, execution, response, &event_ids)?);
        let mut seen = HashSet::new();
        if let Some(twice) = writes.iter().find(|write| !seen.insert(&write.place)) {
            return Err(of_command(format!("{} is written twice in one commit", twice.place)).into());
        }
        if writes.len() > MAX_ITEMS {
            return Err(of_command(format!("{} items in one commit; at most {MAX_ITEMS}", writes.len())).into());
        }
        Ok((writes, event_ids))
    }

    fn guard_write(
        &self,
        ctx: &Context,
        execution: &Execution<'_>,
        response: Option<&StoredResponse>,
        event_ids: &[EventId],
    ) -> Result<Option<Write>, Error> {
        execution.guard.write(&self.0.config, ctx.now(), execution.id, response, event_ids)
    }

    fn context_of(&self, request: &Request) -> Context {
        Context::new(self.now(), Uuid::now_v7())
            .with_actor(request.caller.subject.as_str())
            .with_trace(request.trace.clone())
            .with_deadline(request.deadline)
    }

    /// Counts and logs a command.
    fn finished(&self, command: &'static str, ended: &Result<GuardedOutcome, Error>, races: u32) {
        let outcome = match ended {
            Ok(GuardedOutcome::Accepted { .. }) => CommandOutcome::Accepted,
            Ok(GuardedOutcome::Refused { .. }) => CommandOutcome::Refused,
            Ok(GuardedOutcome::Replayed(_) | GuardedOutcome::Duplicate) => CommandOutcome::Replayed,
            Ok(GuardedOutcome::KeyConflict) => CommandOutcome::Conflicted,
            Err(Error::Contended { .. }) => CommandOutcome::Contended,
            Err(_) => CommandOutcome::Failed,
        };
        let races = match ended {
            Err(Error::Contended { attempts }) => *attempts,
            _ => races,
        };
        self.0.metrics.command(command, outcome, races);
        let outcome = outcome.as_str();
        match ended {
            Ok(GuardedOutcome::Accepted { events, .. }) => {
                let event_id = events.first().map(EventId::as_str);
                tracing::info!(command, outcome, races, event_id, "command finished");
            }
            Ok(_) => tracing::info!(command, outcome, races, "command finished"),
            Err(error) => tracing::error!(command, outcome, races, %error, "command failed"),
        }
    }
}

/// Whether a verdict that rests on assumptions tests all of them by itself. A refusal does not.
fn tests_assumptions(verdict: &Verdict, wanted: &[Wanted]) -> bool {
    let Verdict::Commit(body, _) = verdict else { return false };
    let creates = |write: &Write| matches!(write.condition, Condition::Absent) && !write.optional;
    wanted.iter().all(|wanted| body.writes.iter().any(|write| write.place == wanted.place && creates(write)))
}

/// A condition on an item that the command does not read would fail again and again.
fn check_read_set(name: &str, wanted: &[Wanted], writes: &[Write], raced: &Raced) -> Result<(), Error> {
    let outside = raced.standing.iter().map(|(place, _)| place).find(|place| {
        let is_optional = writes.iter().any(|write| write.optional && write.place == **place);
        !is_optional && wanted.iter().all(|wanted| wanted.place != **place)
    });
    match outside {
        // An expired record that DynamoDB has not deleted yet is not returned as absent by everyone at once.
        Some(place)
            if place.table.name != crate::tables::IDEMPOTENCY_KEYS.name
                && place.table.name != crate::tables::PROCESSED.name =>
        {
            Err(Unwritable(format!("{name}: condition on {place}, which is not in the read set")).into())
        }
        _ => Ok(()),
    }
}

/// The failed write was also the read, if it returned every item that the decision depends on.
fn learned(wanted: &[Wanted], raced: &Raced) -> Option<FoundItems> {
    let items = wanted.iter().map(|wanted| Some((wanted.place.clone(), raced.item(&wanted.place)?.clone())));
    items.collect::<Option<_>>().map(FoundItems)
}

pub(crate) fn failure_of(refusal: &impl Refusal) -> Failure {
    match refusal.keep() {
        Keep::RetryLater => Failure::Retry(refusal.to_string()),
        Keep::Store | Keep::DoNotStore => Failure::Reject(refusal.to_string()),
    }
}
