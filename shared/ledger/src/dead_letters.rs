//! Table of dead letters: one item per consumer and event (or message), and an index to list them by.
//!
//! The index `listed` has one partition per status and spread, in the order in which the letters were given up on: what
//! is open is found without reading what was handled long ago, and no single partition takes all writes.

use std::collections::HashSet;

use domain::Time;
use domain::dead_letter::{DeadLetter, DeadLetterFilter, DeadLetterStatus, GivenUp};
use domain::id::compose;
use futures_util::future::try_join_all;
use serde::Deserialize;
use uuid::Uuid;

use crate::Ledger;
use crate::aggregates::{Aggregate, Aggregates};
use crate::attempt::{Fate, fate};
use crate::commit::Outcome;
use crate::error::LedgerError;
use crate::item::{Item, Key, from_item, number, text};
use crate::read::Page;

/// The table.
pub type DeadLetters = Aggregates<DeadLetter>;

/// How many partitions each status is spread over.
const SPREAD: u64 = 4;

/// How long a dead letter is kept once it is handled.
pub(crate) const HANDLED_KEPT: std::time::Duration = std::time::Duration::from_secs(30 * 86_400);

/// How often to look again when others change the same dead letter.
const RACES: u32 = 5;

impl Aggregate for DeadLetter {
    type Id = Uuid;

    fn key(table: &str, id: &Uuid) -> Key {
        Key::new(table, "dead_letter_id", id.to_string())
    }

    fn id(&self) -> Uuid {
        self.dead_letter_id
    }

    fn version(&self) -> u64 {
        self.version
    }

    fn indexed(&self) -> Item {
        let spread = self.dead_letter_id.as_u64_pair().1 % SPREAD;
        let mut indexed = Item::from([
            ("listed".to_owned(), text(partition(self.status, spread))),
            ("listed_at".to_owned(), text(compose(&[&self.created_at.to_string(), &self.dead_letter_id.to_string()]))),
        ]);
        // An open one never expires.
        if let Some(handled) = self.handled.as_ref().filter(|_| self.status != DeadLetterStatus::Open) {
            indexed.insert("expires_at".to_owned(), number(handled.at.plus(HANDLED_KEPT).as_seconds() + 1));
        }
        indexed
    }
}

fn partition(status: DeadLetterStatus, spread: u64) -> String {
    compose(&[status.as_str(), &spread.to_string()])
}

#[derive(Deserialize)]
struct Listed {
    dead_letter_id: Uuid,
    listed_at: String,
}

/// In which order a list goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As people read lists.
    NewestFirst,
    /// As work is done.
    OldestFirst,
}

impl DeadLetters {
    /// Keeps what a consumer gave up on; says whether that changed anything. Whether it is new, open already, or open
    /// again after a redrive is decided on what stands there.
    pub async fn record(&self, ledger: &Ledger, given_up: &GivenUp) -> Result<bool, LedgerError> {
        let mut standing = None;
        for _ in 0..RACES {
            let Some(letter) = given_up.decide(standing.as_ref(), Time::now()) else { return Ok(false) };
            let write = self.put(&letter)?;
            match ledger.commit(std::slice::from_ref(&write)).await? {
                Outcome::Committed => return Ok(true),
                Outcome::Raced(raced) => {
                    // What stands there comes back with the refusal; nothing does where it has expired meanwhile.
                    standing = raced.standing(write.key()).map(|item| self.parse(item.clone())).transpose()?;
                }
            }
        }
        Err(LedgerError::Contended { attempts: RACES })
    }

    /// One page of the dead letters that match, and where the next one begins. The index tells which; the letters
    /// themselves are read consistently.
    pub async fn list(
        &self,
        ledger: &Ledger,
        filter: &DeadLetterFilter,
        (order, limit, after): (Order, u16, Option<&str>),
    ) -> Result<Page<DeadLetter>, LedgerError> {
        let limit = usize::from(limit);
        let mut listed = self.listed(ledger, filter, (order, limit + 1, after)).await?;
        let more = listed.len() > limit;
        listed.truncate(limit);
        let next = listed.last().filter(|_| more).map(|last| last.listed_at.clone());
        let keys: Vec<Key> = listed.iter().map(|listed| self.key(&listed.dead_letter_id)).collect();
        let found = ledger.get_all(&keys).await?;
        let rows = listed.iter().map(|listed| self.among(&found, &listed.dead_letter_id)).filter_map(Result::transpose);
        let mut rows: Vec<DeadLetter> = rows.collect::<Result<_, _>>()?;
        // The index lags: what it lists may have been handled since.
        rows.retain(|letter| filter.status.is_none_or(|status| status == letter.status));
        Ok(Page { rows, next })
    }

    /// How many match.
    pub async fn count(&self, ledger: &Ledger, filter: &DeadLetterFilter) -> Result<u64, LedgerError> {
        Ok(u64::try_from(self.count_up_to(ledger, filter, usize::MAX).await?).unwrap_or(u64::MAX))
    }

    /// How many match, counted up to `most`.
    pub async fn count_up_to(
        &self,
        ledger: &Ledger,
        filter: &DeadLetterFilter,
        most: usize,
    ) -> Result<usize, LedgerError> {
        Ok(self.listed(ledger, filter, (Order::OldestFirst, most, None)).await?.len())
    }

    async fn listed(
        &self,
        ledger: &Ledger,
        filter: &DeadLetterFilter,
        (order, limit, after): (Order, usize, Option<&str>),
    ) -> Result<Vec<Listed>, LedgerError> {
        let statuses =
            DeadLetterStatus::ALL.into_iter().filter(|status| filter.status.is_none_or(|one| one == *status));
        let partitions = statuses.flat_map(|status| (0..SPREAD).map(move |spread| partition(status, spread)));
        let queries = partitions.map(|partition| self.partition(ledger, filter, partition, (order, limit, after)));
        let mut listed: Vec<Listed> = try_join_all(queries).await?.into_iter().flatten().collect();
        listed.sort_by(|a, b| a.listed_at.cmp(&b.listed_at));
        if order == Order::NewestFirst {
            listed.reverse();
        }
        // A letter that changes its status between two queries is found by both.
        let mut seen = HashSet::new();
        listed.retain(|listed| seen.insert(listed.dead_letter_id));
        listed.truncate(limit);
        Ok(listed)
    }

    /// At most `limit` of one partition of the index that match, from behind `after`.
    async fn partition(
        &self,
        ledger: &Ledger,
        filter: &DeadLetterFilter,
        partition: String,
        (order, limit, after): (Order, usize, Option<&str>),
    ) -> Result<Vec<Listed>, LedgerError> {
        let (low, high) = bounds(filter, order, after);
        let mut conditions = Vec::new();
        let mut values = vec![(":listed", text(&partition)), (":low", text(low)), (":high", text(high))];
        let mut names = Vec::new();
        for (name, placeholder, value, condition) in [
            ("queue", ":queue", &filter.queue, "#queue = :queue"),
            ("event_type", ":event_type", &filter.event_type, "#event_type = :event_type"),
            ("reason", ":reason", &filter.reason, "contains(#reason, :reason)"),
        ] {
            if let Some(value) = value {
                conditions.push(condition);
                names.push(name);
                values.push((placeholder, text(value)));
            }
        }
        let mut found = Vec::new();
        let mut start = None;
        loop {
            let (items, next) = ledger
                .attempt(|| async {
                    let mut request = ledger
                        .client
                        .query()
                        .table_name(self.table())
                        .index_name("listed")
                        .key_condition_expression("listed = :listed AND listed_at BETWEEN :low AND :high")
                        .set_filter_expression((!conditions.is_empty()).then(|| conditions.join(" AND ")))
                        .scan_index_forward(order == Order::OldestFirst)
                        .set_exclusive_start_key(start.clone())
                        .set_limit(i32::try_from(limit).ok().filter(|_| conditions.is_empty()));
                    for (name, value) in &values {
                        request = request.expression_attribute_values(*name, value.clone());
                    }
                    for name in &names {
                        request = request.expression_attribute_names(format!("#{name}"), *name);
                    }
                    match request.send().await {
                        Ok(output) => Fate::Done((output.items.unwrap_or_default(), output.last_evaluated_key)),
                        Err(error) => fate(&error),
                    }
                })
                .await?;
            for item in items {
                found.push(from_item::<Listed>(self.table(), item)?);
            }
            start = next;
            if start.is_none() || found.len() >= limit {
                found.truncate(limit);
                return Ok(found);
            }
        }
    }
}

/// The part of a partition that a list may still show, both ends included. The text of a place is a time, a separator
/// and an id: what is smaller than a bare time lies before it, and a cursor's own place is left out by its neighbours.
fn bounds(filter: &DeadLetterFilter, order: Order, after: Option<&str>) -> (String, String) {
    // `~` sorts behind everything that a time begins with.
    let mut low = filter.since.map_or_else(|| "0".to_owned(), |since| since.to_string());
    let mut high = filter.until.map_or_else(|| "~".to_owned(), |until| until.to_string());
    match (order, after) {
        (_, None) => {}
        (Order::OldestFirst, Some(after)) => low = low.max(format!("{after}!")),
        // The longest text that is smaller than the place itself: its last character lowered, then anything.
        (Order::NewestFirst, Some(after)) => high = high.min(before(after)),
    }
    // DynamoDB refuses a range whose ends are the wrong way round; an empty one is what is meant.
    if low > high { (high.clone(), high) } else { (low, high) }
}

/// A text that is smaller than `place` and larger than every other place before it.
fn before(place: &str) -> String {
    let mut bytes = place.as_bytes().to_vec();
    match bytes.pop() {
        Some(last) => {
            bytes.push(last.saturating_sub(1));
            bytes.push(b'~');
            String::from_utf8(bytes).unwrap_or_default()
        }
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: &str = "2026-01-01T00:00:00.000Z#0192f0c1-0000-5000-8000-00000000000b";

    #[test]
    fn a_page_goes_on_right_behind_its_cursor_in_both_directions() {
        let older = PLACE.replace("0b", "0a");
        let newer = PLACE.replace("0b", "0c");
        let filter = DeadLetterFilter::default();
        let (low, high) = bounds(&filter, Order::NewestFirst, Some(PLACE));
        assert!(low <= older && older <= high && PLACE > high.as_str());
        let (low, high) = bounds(&filter, Order::OldestFirst, Some(PLACE));
        assert!(low <= newer && newer <= high && PLACE < low.as_str());
    }

    #[test]
    fn since_is_included_and_until_is_not() {
        let at = Time::parse("2026-01-01T00:00:00Z").ok();
        let (low, _) = bounds(&DeadLetterFilter { since: at, ..DeadLetterFilter::default() }, Order::NewestFirst, None);
        assert!(low.as_str() <= PLACE);
        let (_, high) =
            bounds(&DeadLetterFilter { until: at, ..DeadLetterFilter::default() }, Order::NewestFirst, None);
        assert!(PLACE > high.as_str());
    }

    #[test]
    fn a_range_that_holds_nothing_is_still_a_range() {
        let filter = DeadLetterFilter {
            since: Time::parse("2026-02-01T00:00:00Z").ok(),
            until: Time::parse("2026-01-01T00:00:00Z").ok(),
            ..DeadLetterFilter::default()
        };
        let (low, high) = bounds(&filter, Order::NewestFirst, None);
        assert!(low <= high);
    }
}
