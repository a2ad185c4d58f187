//! The outbox: the way of an event from committed to published, as states of its item in the events table.
//!
//! PENDING → PUBLISHED by the relay; PENDING → IN_FLIGHT (claimed, with a lease) → PUBLISHED by a sweeper; FAILED if it
//! cannot be published as it is. Each step is one conditional update. The sparse index `unpublished` holds what is not
//! PUBLISHED, by status and due time. It only finds candidates; the conditions decide.

mod due;
mod entry;
mod history;
mod publish;
mod queues;
mod state;

pub use due::DuePartition;
pub use entry::{OutboxEntry, StoredEvent, ingest, ingested_content, place};
pub(crate) use entry::{entry, read_id, read_stored};
pub use history::{History, PastEvent};
pub(crate) use publish::{Publication, Published, Unpublished, UnpublishedOutcome, unpublished_outcome};
pub use queues::{OutboundMessage, SendError};
pub use state::republish;
pub(crate) use state::{Claimed, Holder, PublishState};
