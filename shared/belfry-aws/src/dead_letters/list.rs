//! Lists of dead letters. The index says which; the letters themselves are read consistently.

use std::collections::HashSet;

use belfry_core::commit::Expression;
use belfry_core::dead_letter::{DeadLetterFilter, DeadLetterStatus, LISTED};
use belfry_core::item::{from_item, text};
use belfry_core::{DeadLetter, Entity, Stored};
use futures_util::future::try_join_all;
use serde::Deserialize;
use uuid::Uuid;

use crate::dynamo::Query;
use crate::tables::DEAD_LETTERS;
use crate::{Belfry, Error, Page};

#[derive(Deserialize)]
struct Listed {
    dead_letter_id: Uuid,
    listed_at: String,
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As people read lists.
    NewestFirst,
    /// As work is done.
    OldestFirst,
}

impl Belfry {
    /// One page of the dead letters that match.
    pub async fn dead_letters(
        &self,
        filter: &DeadLetterFilter,
        order: Order,
        limit: u16,
        after: Option<&str>,
    ) -> Result<Page<Stored<DeadLetter>>, Error> {
        let limit = usize::from(limit);
        let mut listed = self.listed(filter, order, limit + 1, after).await?;
        let more = listed.len() > limit;
        listed.truncate(limit);
        let next = listed.last().filter(|_| more).map(|last| last.listed_at.clone());
        let letters: Vec<_> = listed.iter().map(|listed| DeadLetter::by_id(listed.dead_letter_id)).collect();
        let mut rows: Vec<Stored<DeadLetter>> = self.read(letters).await?.into_iter().flatten().collect();
        // The index lags: a letter that it lists may have been handled since.
        rows.retain(|letter| filter.status.is_none_or(|status| status == letter.status));
        Ok(Page { rows, next })
    }

    /// How many dead letters match, counted up to `most`.
    pub async fn count_dead_letters(&self, filter: &DeadLetterFilter, most: usize) -> Result<usize, Error> {
        Ok(self.listed(filter, Order::OldestFirst, most, None).await?.len())
    }

    async fn listed(
        &self,
        filter: &DeadLetterFilter,
        order: Order,
        limit: usize,
        after: Option<&str>,
    ) -> Result<Vec<Listed>, Error> {
        let wanted = |status: &DeadLetterStatus| filter.status.is_none_or(|wanted| wanted == *status);
        let statuses = DeadLetterStatus::ALL.into_iter().filter(wanted);
        let partitions = statuses.flat_map(DeadLetterStatus::partitions);
        let queries = partitions.map(|partition| self.listed_partition(filter, partition, order, limit, after));
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

    async fn listed_partition(
        &self,
        filter: &DeadLetterFilter,
        partition: String,
        order: Order,
        limit: usize,
        after: Option<&str>,
    ) -> Result<Vec<Listed>, Error> {
        let (low, high) = bounds(filter, order, after);
        let key = Expression::new(
            "#listed = :listed AND #listed_at BETWEEN :low AND :high",
            [(":listed", text(partition)), (":low", text(low)), (":high", text(high))],
        );
        let conditions: Vec<_> = [
            ("#queue = :queue", ":queue", &filter.queue),
            ("#event_type = :event_type", ":event_type", &filter.event_type),
            ("contains(#reason, :reason)", ":reason", &filter.reason),
        ]
        .into_iter()
        .filter_map(|(condition, placeholder, value)| Some((condition, (placeholder, text(value.as_ref()?)))))
        .collect();
        let mut query = Query::index(DEAD_LETTERS, LISTED.name, key).descending(order == Order::NewestFirst);
        if conditions.is_empty() {
            query = query.limit(u16::try_from(limit).unwrap_or(u16::MAX));
        } else {
            let (conditions, values): (Vec<_>, Vec<_>) = conditions.into_iter().unzip();
            query = query.filter(Expression::new(conditions.join(" AND "), values));
        }
        let found = self.query_until(query, |items| items.len() >= limit).await?;
        let items = found.items.into_iter().take(limit);
        Ok(items.map(|item| from_item(DEAD_LETTERS.name, item)).collect::<Result<_, _>>()?)
    }
}

/// The part of a partition that a list may still show, both ends included. A position is a time, a separator and an id: a
/// bare time sorts before it.
fn bounds(filter: &DeadLetterFilter, order: Order, after: Option<&str>) -> (String, String) {
    // `~` sorts after everything that a time starts with.
    let mut low = filter.since.map_or_else(|| "0".to_owned(), |since| since.to_string());
    let mut high = filter.until.map_or_else(|| "~".to_owned(), |until| until.to_string());
    match (order, after) {
        (_, None) => {}
        (Order::OldestFirst, Some(after)) => low = low.max(format!("{after}!")),
        (Order::NewestFirst, Some(after)) => high = high.min(just_before(after)),
    }
    // DynamoDB refuses a range whose ends are the wrong way round. An empty one is meant.
    if low > high { (high.clone(), high) } else { (low, high) }
}

/// A text that is smaller than this position and larger than every other position before it: its last character lowered,
/// then anything.
fn just_before(position: &str) -> String {
    let mut bytes = position.as_bytes().to_vec();
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
    use belfry_core::Timestamp;

    use super::*;

    const POSITION: &str = "2026-01-01T00:00:00.000Z#0192f0c1-0000-5000-8000-00000000000b";

    #[test]
    fn a_page_continues_right_after_its_cursor_in_both_directions() {
        let older = POSITION.replace("0b", "0a");
        let newer = POSITION.replace("0b", "0c");
        let filter = DeadLetterFilter::default();
        let (low, high) = bounds(&filter, Order::NewestFirst, Some(POSITION));
        assert!(low <= older && older <= high && POSITION > high.as_str());
        let (low, high) = bounds(&filter, Order::OldestFirst, Some(POSITION));
        assert!(low <= newer && newer <= high && POSITION < low.as_str());
    }

    #[test]
    fn since_is_included_and_until_is_not() {
        let at = Timestamp::parse("2026-01-01T00:00:00Z").ok();
        let (low, _) = bounds(&DeadLetterFilter { since: at, ..DeadLetterFilter::default() }, Order::NewestFirst, None);
        assert!(low.as_str() <= POSITION);
        let (_, high) =
            bounds(&DeadLetterFilter { until: at, ..DeadLetterFilter::default() }, Order::NewestFirst, None);
        assert!(POSITION > high.as_str());
    }

    #[test]
    fn an_empty_range_is_still_a_range() {
        let filter = DeadLetterFilter {
            since: Timestamp::parse("2026-02-01T00:00:00Z").ok(),
            until: Timestamp::parse("2026-01-01T00:00:00Z").ok(),
            ..DeadLetterFilter::default()
        };
        let (low, high) = bounds(&filter, Order::NewestFirst, None);
        assert!(low <= high);
    }
}
