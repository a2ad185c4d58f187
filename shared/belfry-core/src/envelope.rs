//! The envelope of an event on a queue: CloudEvents 1.0 in JSON.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Event, EventId, Timestamp, Trace};

/// The version of the CloudEvents specification that is written and read.
const SPECVERSION: &str = "1.0";

/// The wire form. The specification wants extension attributes in lower case without separators.
#[derive(Debug, Serialize, Deserialize)]
struct Envelope {
    specversion: String,
    id: EventId,
    source: String,
    #[serde(rename = "type")]
    event_type: String,
    subject: String,
    time: Timestamp,
    datacontenttype: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dataschema: Option<String>,
    aggregatetype: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    aggregateversion: Option<u64>,
    recordedat: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    actor: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    traceparent: Option<String>,
    data: Value,
}

/// The message is not an event that this release can read.
#[derive(Debug, thiserror::Error)]
pub enum NotAnEvent {
    /// Not the form of an envelope. Says where but not what, because the error's own text may quote the body.
    #[error("not a CloudEvents envelope: {:?} error at line {} column {}", .0.classify(), .0.line(), .0.column())]
    Unreadable(#[source] serde_json::Error),
    /// A version of the specification that this release does not know.
    #[error("unknown specversion")]
    UnknownVersion,
}

/// Writes an event as a message body.
pub fn write(event: &Event, dataschema: Option<&str>) -> Result<String, serde_json::Error> {
    let body = serde_json::to_string(&Envelope {
        specversion: SPECVERSION.to_owned(),
        id: event.event_id.clone(),
        source: format!("/belfry/{}", event.aggregate_type),
        event_type: event.event_type.clone(),
        subject: event.aggregate_id.clone(),
        time: event.occurred_at,
        datacontenttype: "application/json".to_owned(),
        dataschema: dataschema.map(str::to_owned),
        aggregatetype: event.aggregate_type.clone(),
        aggregateversion: event.version,
        recordedat: event.recorded_at,
        actor: event.actor.clone(),
        traceparent: event.traceparent.as_ref().map(Trace::to_string),
        data: event.payload.clone(),
    })?;
    // SQS refuses these two characters in a body, and JSON need not escape them.
    Ok(body.replace('\u{fffe}', "\\ufffe").replace('\u{ffff}', "\\uffff"))
}

/// Reads a message body.
pub fn read(body: &str) -> Result<Event, NotAnEvent> {
    let envelope: Envelope = serde_json::from_str(body).map_err(NotAnEvent::Unreadable)?;
    if envelope.specversion != SPECVERSION {
        return Err(NotAnEvent::UnknownVersion);
    }
    Ok(Event {
        event_id: envelope.id,
        event_type: envelope.event_type,
        aggregate_type: envelope.aggregatetype,
        aggregate_id: envelope.subject,
        version: envelope.aggregateversion,
        occurred_at: envelope.time,
        recorded_at: envelope.recordedat,
        actor: envelope.actor,
        // A broken trace context is no reason to lose an event.
        traceparent: envelope.traceparent.as_deref().and_then(|text| Trace::parse(text).ok()),
        payload: envelope.data,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event() -> Event {
        Event {
            event_id: EventId::parse("e-1").expect("an id"),
            event_type: "BookBorrowed".to_owned(),
            aggregate_type: "Copy".to_owned(),
            aggregate_id: "QA76#2".to_owned(),
            version: Some(3),
            occurred_at: Timestamp::parse("2026-01-31T12:00:00Z").expect("a time"),
            recorded_at: Timestamp::parse("2026-01-31T12:00:01Z").expect("a time"),
            actor: Some("desk".to_owned()),
            traceparent: Trace::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").ok(),
            payload: serde_json::json!({"reader": "ada"}),
        }
    }

    fn written(event: &Event) -> String {
        write(event, Some("urn:belfry:schema:BookBorrowed")).expect("a body")
    }

    #[test]
    fn a_written_event_is_read_again() {
        assert_eq!(read(&written(&event())).expect("an event"), event());
    }

    #[test]
    fn the_attributes_of_cloudevents_are_there() {
        let body: Value = serde_json::from_str(&written(&event())).expect("json");
        assert_eq!(body["specversion"], "1.0");
        assert_eq!(body["id"], "e-1");
        assert_eq!(body["type"], "BookBorrowed");
        assert_eq!(body["source"], "/belfry/Copy");
        assert_eq!(body["dataschema"], "urn:belfry:schema:BookBorrowed");
        assert_eq!(body["time"], "2026-01-31T12:00:00.000Z");
    }

    #[test]
    fn characters_that_sqs_refuses_are_escaped() {
        let mut strange = event();
        strange.payload = serde_json::json!({"reason": "\u{fffe}\u{ffff}\u{10ffff}"});
        let body = written(&strange);
        assert!(!body.contains(['\u{fffe}', '\u{ffff}']), "{body}");
        assert_eq!(read(&body).expect("an event"), strange);
    }

    #[test]
    fn a_refusal_does_not_quote_the_body() {
        let problem = read("\"alice@example.com\"").expect_err("not an envelope").to_string();
        assert_eq!(problem, "not a CloudEvents envelope: Data error at line 1 column 19");
    }

    #[test]
    fn other_bodies_are_refused() {
        let newer = written(&event()).replace("\"specversion\":\"1.0\"", "\"specversion\":\"2.0\"");
        assert!(matches!(read(&newer), Err(NotAnEvent::UnknownVersion)));
        for body in ["", "{}", "[]", "not json", "{\"specversion\":\"1.0\"}"] {
            assert!(matches!(read(body), Err(NotAnEvent::Unreadable(_))), "{body}");
        }
    }
}
