//! A table read whole, page by page and, where that is wanted, in several segments at once.

use super::{Seen, Unreadable, Whole};
use crate::Ledger;
use crate::attempt::{Fate, fate};
use crate::error::LedgerError;
use crate::item::Item;

/// One of several parts of a table that are read side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Which, from 0.
    pub index: u16,
    /// Of how many.
    pub of: u16,
}

/// Where a page begins.
#[derive(Debug, Clone)]
pub struct Place {
    segment: Segment,
    after: Option<Item>,
}

/// One page.
#[derive(Debug)]
pub struct Slice<T> {
    /// The rows, in no order.
    pub rows: Vec<Result<Seen<T>, Unreadable>>,
    /// Where the next page begins, if there is one.
    pub next: Option<Place>,
}

impl Place {
    /// The beginning of a segment.
    pub fn beginning(segment: Segment) -> Self {
        Self { segment, after: None }
    }
}

impl<T> Whole<T> {
    pub(super) async fn page(&self, ledger: &Ledger, place: &Place, limit: u16) -> Result<Slice<T>, LedgerError> {
        let Segment { index, of } = place.segment;
        let parallel = of > 1;
        let (items, next) = ledger
            .attempt(|| async {
                let request = ledger
                    .client
                    .scan()
                    .table_name(&self.table)
                    .consistent_read(true)
                    .limit(i32::from(limit))
                    .set_segment(parallel.then_some(i32::from(index)))
                    .set_total_segments(parallel.then_some(i32::from(of)))
                    .set_exclusive_start_key(place.after.clone());
                match request.send().await {
                    Ok(output) => Fate::Done((output.items.unwrap_or_default(), output.last_evaluated_key)),
                    Err(error) => fate(&error),
                }
            })
            .await?;
        let next = next.map(|after| Place { segment: place.segment, after: Some(after) });
        Ok(Slice { rows: items.iter().map(|item| self.seen(item)).collect(), next })
    }
}
