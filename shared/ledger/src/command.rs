//! The command path: parse → decide → one transaction → answer.
//!
//! A command that creates begins with its transaction (one round trip); one that changes reads the aggregate and
//! the key in one batch first (two). A replay or a key conflict is one round trip either way. A first command
//! writes three items: aggregate, event, stored answer; six write units.
//!
//! Losing a race means reading again and deciding again, a bounded number of times.

use std::time::Duration;

use domain::{Caller, Event, Fingerprint, Fresh, IdempotencyKey};
use serde::Serialize;

use crate::commit::{Outcome, Raced, Write};
use crate::error::{Corrupt, LedgerError};
use crate::idempotency_keys::Record;
use crate::item::Key;
use crate::read::Found;
use crate::{Events, IdempotencyKeys, Ledger};

/// One kind of command. Everything it does with I/O is done for it.
pub trait Command {
    /// What the decision rests on.
    type Known;

    /// Whether to read before the first decision.
    fn begin(&self) -> Begin;

    /// The items that the decision rests on; every item that it writes under a condition must be among them.
    fn reads(&self) -> Vec<Key>;

    /// Makes sense of those items.
    fn known(&self, found: &Found) -> Result<Self::Known, Corrupt>;

    /// Decides. Pure, so that it can be asked again after a lost race.
    fn decide(&self, known: &Self::Known, fresh: &Fresh) -> Result<Decision, LedgerError>;
}

/// How a command begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// It mostly creates: assume that nothing is there, and let the failed write be the read.
    AssumeAbsent,
    /// It mostly changes: read first.
    Read,
}

/// What was decided.
#[derive(Debug)]
pub enum Decision {
    /// Change this, report that, answer so.
    Commit {
        /// The changed aggregates.
        writes: Vec<Write>,
        /// The events that report the change, each with an id of its own; none where nobody needs to know.
        events: Vec<Event>,
        /// The answer, stored with the change.
        answer: Answer,
    },
    /// The state does not allow it. The answer is stored too, and replayed even when the state has changed since.
    Refuse(Answer),
    /// Not for this caller, or not at this hour: nothing that the aggregate's state says. Answered and not stored, so
    /// that the same key is judged anew once the caller may; but what is stored under the key already is what counts.
    Decline(Answer),
}

/// An answer as it is given and stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body, byte for byte.
    pub body: String,
}

impl Answer {
    /// An answer with a JSON body.
    pub fn json(status: u16, body: &impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(Self { status, body: serde_json::to_string(body)? })
    }
}

/// Which request this is.
#[derive(Debug, Clone)]
pub struct Request {
    /// Whose key it is.
    pub caller: Caller,
    /// The key.
    pub key: IdempotencyKey,
    /// What was asked.
    pub fingerprint: Fingerprint,
}

/// A command that has come to an end.
#[derive(Debug, PartialEq, Eq)]
pub struct Execution {
    /// How it ended.
    pub outcome: Executed,
    /// How many races it lost on the way.
    pub races: u32,
}

/// How a command ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Executed {
    /// It took effect now.
    Accepted(Answer),
    /// The state did not allow it, or it was declined.
    Refused(Answer),
    /// It had been answered before.
    Replayed(Answer),
    /// The key was used for another request.
    KeyConflict,
}

/// Runs commands.
#[derive(Debug, Clone)]
pub struct Commands {
    /// Where everything is written.
    pub ledger: Ledger,
    /// The stored answers.
    pub keys: IdempotencyKeys,
    /// The events.
    pub events: Events,
    /// How long a key lives.
    pub key_ttl: Duration,
}

impl Commands {
    /// Executes a command once, however often it is asked.
    pub async fn execute<C: Command>(&self, request: &Request, command: &C) -> Result<Execution, LedgerError> {
        let mut races = 0;
        let outcome = self.run(request, command, &mut races).await?;
        Ok(Execution { outcome, races })
    }

    async fn run<C: Command>(&self, request: &Request, command: &C, races: &mut u32) -> Result<Executed, LedgerError> {
        let reads = command.reads();
        let mut known = match command.begin() {
            Begin::AssumeAbsent => command.known(&Found::default())?,
            Begin::Read => match self.read(request, &reads).await? {
                Read::Answered(executed) => return Ok(executed),
                Read::Open(found) => command.known(&found)?,
            },
        };
        let patience = self.ledger.patience;
        let begun = tokio::time::Instant::now();
        for attempt in 1..=patience.attempts {
            let fresh = Fresh::new();
            let raced = match command.decide(&known, &fresh)? {
                Decision::Refuse(answer) => return self.refuse(request, answer, &fresh).await,
                Decision::Decline(answer) => return self.decline(request, answer, &fresh).await,
                Decision::Commit { mut writes, events, answer } => {
                    for event in &events {
                        writes.push(self.events.put(event)?);
                    }
                    writes.push(self.keys.put(&self.record(request, (&answer, &events), &fresh), fresh.now)?);
                    match self.ledger.commit(&writes).await? {
                        Outcome::Committed => return Ok(Executed::Accepted(answer)),
                        Outcome::Raced(raced) => {
                            *races += 1;
                            raced
                        }
                    }
                }
            };
            if let Some(item) = raced.standing(&self.keys.key(&request.caller, &request.key)) {
                let record = self.keys.parse(item.clone())?;
                return Ok(answered(&record, request));
            }
            if attempt == patience.attempts || begun.elapsed() >= patience.within {
                break;
            }
            // The first race is often lost to nobody: the failed write was the read. After that, others are at work:
            // wait, and look after the wait and not before it.
            known = match learned(&raced, &reads).filter(|_| attempt == 1) {
                Some(found) => command.known(&found)?,
                None => {
                    patience.wait(attempt).await;
                    match self.read(request, &reads).await? {
                        Read::Answered(executed) => return Ok(executed),
                        Read::Open(found) => command.known(&found)?,
                    }
                }
            };
        }
        Err(LedgerError::Contended { attempts: *races })
    }

    async fn read(&self, request: &Request, reads: &[Key]) -> Result<Read, LedgerError> {
        let place = self.keys.key(&request.caller, &request.key);
        let keys: Vec<Key> = reads.iter().cloned().chain([place.clone()]).collect();
        let found = self.ledger.get_all(&keys).await?;
        if let Some(item) = found.get(&place) {
            let record = self.keys.parse(item.clone())?;
            if record.is_live(Fresh::new().now) {
                return Ok(Read::Answered(answered(&record, request)));
            }
        }
        Ok(Read::Open(found))
    }

    /// Stores a refusal. That the failed transaction said nothing of the key does not prove the key absent, so
    /// the put has a condition of its own, and its failure means replay.
    async fn refuse(&self, request: &Request, answer: Answer, fresh: &Fresh) -> Result<Executed, LedgerError> {
        let record = self.record(request, (&answer, &[]), fresh);
        match self.keys.put_alone(&self.ledger, &record, fresh.now).await? {
            None => Ok(Executed::Refused(answer)),
            Some(standing) => Ok(answered(&standing, request)),
        }
    }

    /// A command that began with its decision has not seen its key yet: a replay is a replay, whoever may do what by now.
    async fn decline(&self, request: &Request, answer: Answer, fresh: &Fresh) -> Result<Executed, LedgerError> {
        let stored = self.keys.get(&self.ledger, &request.caller, &request.key, fresh.now).await?;
        Ok(stored.map_or(Executed::Refused(answer), |record| answered(&record, request)))
    }

    fn record(&self, request: &Request, (answer, events): (&Answer, &[Event]), fresh: &Fresh) -> Record {
        let times = (fresh.now, fresh.now.plus(self.key_ttl));
        let event_ids = events.iter().map(|event| event.event_id.clone()).collect();
        self.keys.record((&request.caller, &request.key), &request.fingerprint, (answer, event_ids), times)
    }
}

enum Read {
    Answered(Executed),
    Open(Found),
}

fn answered(record: &Record, request: &Request) -> Executed {
    if record.fingerprint == request.fingerprint { Executed::Replayed(record.answer()) } else { Executed::KeyConflict }
}

/// The failed write was also the read, if it handed back every item that the decision rests on.
fn learned(raced: &Raced, reads: &[Key]) -> Option<Found> {
    let mut found = Found::default();
    for key in reads {
        found.insert(key.clone(), raced.standing(key)?.clone());
    }
    Some(found)
}
