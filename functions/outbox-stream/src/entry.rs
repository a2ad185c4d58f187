//! A stream record, as far as it can be read.

use aws_lambda_events::dynamodb::EventRecord;
use domain::{Event, EventId};
use ledger::{Corrupt, Events};

#[derive(Debug)]
pub enum Entry {
    Readable(Event),
    Unreadable { event_id: EventId, problem: Corrupt },
    Foreign,
}

impl Entry {
    pub fn parse(events: &Events, record: &EventRecord) -> Self {
        match events.parse(record.change.new_image.clone()) {
            Ok(event) => Self::Readable(event),
            Err(problem) => match events.parse_id(record.change.keys.clone()) {
                Ok(event_id) => Self::Unreadable { event_id, problem },
                Err(_) => Self::Foreign,
            },
        }
    }

    pub fn event(&self) -> Option<&Event> {
        match self {
            Self::Readable(event) => Some(event),
            Self::Unreadable { .. } | Self::Foreign => None,
        }
    }
}
