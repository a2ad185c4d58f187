//! `DeadLettersRedriveRequested` → one part of a job: the next dead letters become REDRIVEN, each in one transaction with
//! its `DeadLetterRedriven`; the mark commits with the event that asks for the next part.
//!
//! A crash anywhere repeats the part: what is REDRIVEN already no longer matches, so nothing is redriven twice.

use domain::dead_letter::{DeadLetter, DeadLetterFilter, DeadLetterStatus, RedriveJob, Selection};
use domain::{Event, Fresh};
use futures_util::future::join_all;
use ledger::dead_letters::Order;
use ledger::{LedgerError, Outcome};
use messaging::{Effect, Failure};
use uuid::Uuid;

use crate::DeadLetters;

/// How many dead letters one part of a job redrives.
const PART: u16 = 100;

impl DeadLetters {
    pub(crate) async fn go_on(&self, event: &Event) -> Result<Effect, Failure> {
        let job = RedriveJob::parse(&event.payload)
            .map_err(|error| Failure::Reject(format!("payload is no redrive job: {:?}", error.classify())))?;
        let (letters, next) = match &job.selection {
            Selection::Ids(ids) => self.chosen(ids, job.cursor.as_deref()).await?,
            Selection::Filter(filter) => self.matching(filter, job.cursor.as_deref()).await?,
        };
        // A part that is repeated must not redrive what has failed again since it was asked for.
        let letters: Vec<DeadLetter> =
            letters.into_iter().filter(|letter| letter.created_at <= event.recorded_at).collect();
        let by = event.actor.as_deref().unwrap_or_default();
        let redriven = join_all(letters.iter().map(|letter| self.redrive_one(letter, by, event))).await;
        let redriven = redriven.into_iter().collect::<Result<Vec<bool>, _>>()?;
        let count = redriven.iter().filter(|redriven| **redriven).count();
        tracing::info!(job_id = %job.job_id, part = job.part, redriven = count, looked_at = letters.len(), "redrive job");
        let Some(next) = next else { return Ok(Effect::default()) };
        let next = RedriveJob { cursor: Some(next), part: job.part + 1, ..job };
        let next = next.requested(&Fresh::new(), event.actor.clone(), event.traceparent.clone());
        let next = next.map_err(|error| Failure::Reject(error.to_string()))?;
        Ok(Effect { writes: vec![self.events.put(&next)?], ..Effect::default() })
    }

    async fn chosen(&self, ids: &[Uuid], cursor: Option<&str>) -> Result<(Vec<DeadLetter>, Option<String>), Failure> {
        let done = cursor.and_then(|cursor| cursor.parse::<usize>().ok()).unwrap_or(0);
        let part: Vec<Uuid> = ids.iter().skip(done).take(PART.into()).copied().collect();
        let keys: Vec<_> = part.iter().map(|id| self.table.key(id)).collect();
        let found = self.ledger().get_all(&keys).await?;
        let letters = part.iter().map(|id| self.table.among(&found, id)).filter_map(Result::transpose);
        let letters = letters.collect::<Result<_, _>>().map_err(LedgerError::from)?;
        let done = done + part.len();
        Ok((letters, (done < ids.len()).then(|| done.to_string())))
    }

    async fn matching(
        &self,
        filter: &DeadLetterFilter,
        cursor: Option<&str>,
    ) -> Result<(Vec<DeadLetter>, Option<String>), Failure> {
        let open = DeadLetterFilter { status: Some(DeadLetterStatus::Open), ..filter.clone() };
        let page = self.table.list(self.ledger(), &open, (Order::OldestFirst, PART, cursor)).await?;
        Ok((page.rows, page.next))
    }

    /// Redrives one; not where somebody was first, or it is too old.
    async fn redrive_one(&self, letter: &DeadLetter, by: &str, job: &Event) -> Result<bool, LedgerError> {
        let fresh = Fresh::new();
        let Ok(redriven) = letter.redrive(by, &fresh, self.marks_kept) else { return Ok(false) };
        let event = redriven.handled_event(&fresh, job.traceparent.clone())?;
        let writes = [self.table.put(&redriven)?, self.events.put(&event)?];
        Ok(matches!(self.ledger().commit(&writes).await?, Outcome::Committed))
    }
}
